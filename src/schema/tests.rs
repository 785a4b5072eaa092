//! Checks that readers, tables and schemas agree.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::bundle::Bundle;
use crate::source::{Node, asked, parse_json};
use crate::suite::{read_manifest, read_suite};

/// One document for each reader that contains every kind of map, so that the reader reads all of its keys.
const SUITE: &str = "
suite: p/area
cases:
  - case: a
    covers: [P-1]
    for-each: [{ row: x }]
    let: { v: { base: min, set: { /a: 1 }, remove: [/b] } }
    steps:
      - send: deposit
        edit:
          - { remove: /a, set: /a, to: 1, rename: /a, duplicate: /a, replace-message: 1, truncate: 1, bytes: { hex: '00' },
              replace: a, flip: 1, insert: { hex: '00' }, at: 1, cut: 1, overwrite: b, header: h }
        expect: [{ at: /status, equals: 200 }]
      - request: { method: GET, path: / }
";
const MANIFEST: &str = "
protocol: p
levels: [{ name: L0 }, { name: L1, includes: [L0] }]
roles: [{ role: server }]
target-kinds: [{ kind: endpoint, reached-over: [http], levels: [L1] }]
claims: { level: { feature: f, at: /x }, default: L0 }
setup: [{ steps: [{ pause: 1s }] }]
hosts: [{ host: h, about: a, reply: { status: 200 } }]
features: [{ feature: f, about: a, if-missing: run }]
timeouts: { quiet: { default: 1s, about: a } }
clock: [{ step: { send: deposit } }]
fuzz:
  operations: { deposit: P-1 }
  answered: [{ at: /status, equals: 200 }]
  accepted: [{ at: /status, equals: 200 }]
  alive: [{ send: deposit }]
  members: { a: '${bytes 00}' }
";
const CATALOGUE: &str = "
protocol: p
spec: s
requirements:
  - { id: P-1, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both }
";
const VECTORS: &str = r#"{"schema": 1, "kind": "refused-json", "protocol": "p", "source": "s", "count": 1, "groups": [
  {"group": "g", "with": {"input_hex": "7b"}, "tests": [{"id": "A", "about": "a", "input_hex": "7b", "result": "valid",
    "tolerated": [{"reading": "r", "sha256": "00"}]}]}]}"#;
const TARGET: &str = "
url: http://127.0.0.1:1
credentials: { a: { env: X } }
hooks: { reset: [x], load: [x] }
hosts: { h: { listen: '127.0.0.1:1' } }
routes: { export: { path: /x } }
launch: { command: x, environment: { A: { env: X } }, ready: { delay: 1s } }
limits: { request: 1s }
tree: { root: x }
waivers: [{ case: x, reason: r }]
";
const BASELINE: &str = "
known-failures: [{ case: x, fingerprint: cause-0a1b2c3d4e5f, kind: bug }]
expected-not-run: [x]
";

fn source(text: &str) -> Arc<Source> {
    Arc::new(Source { name: "document".into(), text: text.to_owned().into() })
}

fn read(kind: &str, source: &Arc<Source>) -> bool {
    match kind {
        "suite" => read_suite(source).is_ok(),
        "manifest" => read_manifest(source).is_ok(),
        "requirements" => crate::requirement::load(source).is_ok(),
        "vectors" => crate::vector::load(source, &[]).is_ok(),
        "baseline" => crate::baseline::load(source).is_ok(),
        _ => crate::target::load(source, &[]).is_ok(),
    }
}

fn definition(schema: &Schema, name: &str) -> Value {
    let schema = schema.as_value();
    let found = if name.is_empty() { Some(schema) } else { schema["$defs"].get(name) };
    found.unwrap_or_else(|| panic!("no definition {name}")).clone()
}

/// Every shape of every data file, each once.
fn shapes() -> Vec<&'static Shape> {
    let mut found: Vec<&'static Shape> = vec![&crate::template::BUILT];
    for shape in FILES.iter().flat_map(|(_, root)| reachable(root)) {
        if !found.iter().any(|known| std::ptr::eq(*known, shape)) {
            found.push(shape);
        }
    }
    found
}

#[test]
fn readers_read_every_key_of_every_table() {
    let keys = asked::during(|| {
        for (kind, text) in [
            ("suite", SUITE),
            ("manifest", MANIFEST),
            ("requirements", CATALOGUE),
            ("vectors", VECTORS),
            ("target", TARGET),
            ("baseline", BASELINE),
        ] {
            read(kind, &source(text));
        }
    });
    for shape in shapes() {
        let read = keys.get(shape.name).unwrap_or_else(|| panic!("no reader opens {}", shape.name));
        let table: BTreeSet<&str> = shape.names().collect();
        assert_eq!(*read, table, "{}: the keys read differ from its table", shape.name);
    }
}

#[test]
fn tables_are_complete_and_in_kebab_case() {
    let mut names = BTreeSet::new();
    for shape in shapes() {
        assert!(names.insert(shape.name), "two shapes are called {}", shape.name);
        assert!(shape.about.ends_with('.'), "{}: {}", shape.name, shape.about);
        let mut seen = BTreeSet::new();
        for row in shape.keys {
            let place = format!("`{}` of {}", row.name, shape.name);
            assert!(seen.insert(row.name), "{place} is defined twice");
            let kebab = row.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
            assert!(kebab, "{place} is not in kebab-case");
            assert!(row.about.ends_with('.') && !row.about.contains('\n'), "{place}: {}", row.about);
            assert!(row.formerly.iter().all(|old| shape.key(old).is_none()), "{place}: an earlier name is also a key");
        }
        let ruled = match shape.choice {
            Choice::Any => &[],
            Choice::OneOf(keys) | Choice::SomeOf(keys) => keys,
        };
        let implied = shape.implies.iter().flat_map(|(key, _, other)| [key, other]);
        for key in ruled.iter().chain(implied) {
            assert!(shape.key(key).is_some(), "a rule of {} names `{key}`", shape.name);
        }
    }
}

#[test]
fn every_example_is_valid_by_its_schema() {
    for (_, root) in FILES {
        let schema = of(root, "");
        for shape in reachable(root) {
            for row in shape.keys {
                let node =
                    parse(&source(row.example)).unwrap_or_else(|problems| panic!("{}: {problems:?}", row.example));
                let document = json_of(&node);
                let value = document.get(row.name).unwrap_or_else(|| panic!("`{}` has no `{}`", row.example, row.name));
                let mut one = schema.as_value().clone();
                let own = property(row, shape.rows);
                for key in ["required", "oneOf", "anyOf", "allOf", "additionalProperties", "properties", "type"] {
                    one.as_object_mut().expect("a schema is an object").remove(key);
                }
                one.as_object_mut()
                    .expect("a schema is an object")
                    .extend(own.as_object().cloned().unwrap_or_default());
                let one = Schema::try_from(one).expect("a schema");
                let wrong: Vec<_> = validator(&one).iter_errors(value).map(|error| error.to_string()).collect();
                assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", row.name, shape.name);
            }
        }
    }
}

#[test]
fn an_earlier_name_is_an_error_that_suggests_the_new_one() {
    for shape in shapes() {
        for row in shape.keys {
            for old in row.formerly {
                let text = format!("{{ {old}: x }}");
                let node = parse(&source(&text)).unwrap_or_else(|problems| panic!("{problems:?}"));
                let mut problems = crate::source::Problems::default();
                crate::source::Fields::new(&node, shape, &mut problems).finish(&mut problems);
                let shown: Vec<_> = problems.0.iter().map(ToString::to_string).collect();
                let wanted = format!("document:1:3: `{old}` was renamed to `{}`", row.name);
                assert!(shown.iter().any(|line| line.starts_with(&wanted)), "{}: {shown:#?}", shape.name);
                let unknown = format!("has no key `{old}`");
                assert!(!shown.iter().any(|line| line.contains(&unknown)), "{}: {shown:#?}", shape.name);
            }
        }
    }
}

#[test]
fn every_definition_is_described() {
    for schema in [suite(), manifest(), requirements(), vectors(), target(), super::baseline(), record()] {
        let schema = schema.as_value();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let definitions = schema["$defs"].as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
        for (name, definition) in definitions.chain([("the root", schema)]) {
            let about = definition["description"].as_str().unwrap_or_default();
            // The record's own types are described where they are defined.
            assert!(!about.is_empty() || name == "Body", "{}: {name} is not described", schema["title"]);
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                let described = property["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(described, "{}: {name}.{key} is not described", schema["title"]);
            }
        }
    }
}

fn validator(schema: &Schema) -> jsonschema::Validator {
    jsonschema::draft202012::new(schema.as_value()).expect("a schema of draft 2020-12")
}

fn json_of(node: &Node) -> Value {
    serde_json::from_str(&crate::wire::json::compact(&node.to_value())).expect("a JSON value")
}

#[test]
fn every_shipped_file_is_valid_by_its_schema() {
    let bundle = Bundle::new(proofmark_data::FILES);
    let mut seen = BTreeMap::<&str, usize>::new();
    // Includes protocols that only have a catalogue.
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites");
    for entry in std::fs::read_dir(folder).expect("the suites").flatten() {
        let slug = &*entry.file_name().to_string_lossy().into_owned();
        let yaml = bundle.files(slug, ".yaml").into_iter().map(|file| (file, parse(file)));
        let json = bundle.files(slug, ".json").into_iter().map(|file| (file, parse_json(file)));
        for (file, node) in yaml.chain(json) {
            let name = file.name.rsplit('/').next().unwrap_or_default();
            let (kind, schema) = match name {
                "requirements.yaml" => ("requirements", requirements()),
                "protocol.yaml" => ("manifest", manifest()),
                _ if name.ends_with(".json") => ("vectors", vectors()),
                _ => ("suite", suite()),
            };
            *seen.entry(kind).or_default() += 1;
            let document = json_of(&node.unwrap_or_else(|problems| panic!("{problems:?}")));
            let wrong: Vec<_> = validator(&schema)
                .iter_errors(&document)
                .map(|error| format!("{}: {}: {error}", file.name, error.instance_path()))
                .collect();
            assert!(wrong.is_empty(), "{wrong:#?}");
        }
    }
    assert!(["requirements", "manifest", "vectors", "suite"].iter().all(|kind| seen.contains_key(kind)), "{seen:?}");
}

#[test]
fn every_target_file_is_valid_by_its_schema() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in ["examples/targets", "reference-impl/targets"] {
        for path in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let text = std::fs::read_to_string(&path).expect("a target file");
            let document = json_of(&parse(&source(&text)).unwrap_or_else(|problems| panic!("{problems:?}")));
            let wrong: Vec<_> = validator(&target()).iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{}: {wrong:#?}", path.display());
        }
    }
}

/// A document that a reader accepts, its schema accepts too; a document that the schema rejects, the reader rejects
/// too.
#[test]
fn readers_and_schemas_accept_the_same_documents() {
    let schemas: [(&str, Schema); 5] = [
        ("suite", suite()),
        ("manifest", manifest()),
        ("requirements", requirements()),
        ("target", target()),
        ("baseline", super::baseline()),
    ];
    let both = |kind: &str, text: &str| {
        let schema = &schemas.iter().find(|(name, _)| *name == kind).expect("a kind").1;
        let node = parse(&source(text)).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        (read(kind, &source(text)), validator(schema).is_valid(&json_of(&node)))
    };
    let step = |step: &str| format!("suite: p/a\ncases: [{{ case: a, covers: P-1, steps: [{step}] }}]\n");
    let good = step("{ send: deposit, expect: [{ at: /status, equals: 200 }] }");
    let limits = "url: http://h\nlimits: { request: 250ms }\n";
    for (kind, text) in [
        ("suite", good.as_str()),
        (
            "suite",
            "suite: p/a\ncases: [{ case: 'a-${row.row}', covers: P-1, for-each: [{ row: x, s: [{ pause: 1s }] }], steps: '${row.s}' }]\n",
        ),
        (
            "suite",
            "suite: p/a\ncases: [{ case: a, covers: P-1, for-each: [{ row: x, e: [{ remove: /a }], m: equals }], steps: [{ send: x, edit: '${row.e}', expect: [{ '${row.m}': 1 }] }] }]\n",
        ),
        ("manifest", MANIFEST),
        ("requirements", CATALOGUE),
        ("target", limits),
        ("baseline", BASELINE),
        (
            "target",
            "url: http://h\nplaces: { hash: /a, other: [/b, 'header:x'] }\nstatuses: { 400: [422] }\nfeatures: { auth: true }\n",
        ),
    ] {
        assert_eq!(both(kind, text), (true, true), "{text}");
    }
    for (kind, text) in [
        ("suite", good.replace("send", "sned")),
        ("suite", good.replace("at:", "att:")),
        ("suite", good.replace("deposit", "5")),
        ("suite", good.replace("case: a", "case: 'A b'")),
        ("suite", good.replace("covers: P-1", "covers: { a: 1 }")),
        ("suite", good.replace("send: deposit", "send: deposit, pause: 1s")),
        ("suite", good.replace("send: deposit", "until: 5 minutes, send: deposit")),
        ("suite", good.replace("send: deposit", "layout: wide, send: deposit")),
        ("suite", good.replace("send: deposit", "edit: [{ remove: /a, whole: 1 }], send: deposit")),
        ("suite", good.replace("send: deposit", "edit: [{ flip: -1 }], send: deposit")),
        ("suite", good.replace("send: deposit", "edit: [{ bytes: 5 }], send: deposit")),
        ("suite", good.replace("send: deposit", "optional: yes please, send: deposit")),
        ("suite", good.replace("send: deposit", "with: { p: { base: min, sett: 1 } }, send: deposit")),
        ("suite", good.replace("send: deposit", "request: { method: GET }")),
        ("suite", "suite: p/a\ncases: []\n".to_owned()),
        ("manifest", MANIFEST.replace("if-missing: run", "if-missing: maybe")),
        ("manifest", MANIFEST.replace("default", "defualt")),
        ("requirements", CATALOGUE.replace("MUST", "OUGHT")),
        ("requirements", CATALOGUE.replace("testable: both", "testable: 'no'")),
        ("requirements", CATALOGUE.replace("section: '1'", "section: 1")),
        ("requirements", CATALOGUE.replace("section", "auhtor: me, section")),
        ("requirements", CATALOGUE.replace("summary", "why_not: x, summary")),
        ("suite", good.replace("send: deposit", "settle: 1s, send: deposit")),
        ("target", limits.replace("250ms", "soon")),
        ("target", limits.replace("http://h", "ftp://h")),
        ("target", "protocol: agentic\n".to_owned()),
        ("target", "url: http://h\nwaivers: [{ case: a, requirement: b, reason: c }]\n".to_owned()),
        ("target", "url: http://h\ncredentials: { a: { value: s } }\n".to_owned()),
        ("target", "url: http://h\nname: ~\n".to_owned()),
        ("baseline", BASELINE.replace("kind: bug", "kind: flaw")),
        ("baseline", BASELINE.replace("cause-0a", "cause-0A")),
        ("baseline", BASELINE.replace("kind: bug", "kind: bug, expires: soon")),
        ("baseline", BASELINE.replace("case: x, ", "")),
        ("baseline", BASELINE.replace("kind: bug", "kind: bug, ownr: me")),
    ] {
        assert_eq!(both(kind, &text), (false, false), "{text}");
    }
}

#[test]
fn matchers_are_documented_keys_of_expectations() {
    let properties = definition(&suite(), "Expectation")["properties"].clone();
    assert_eq!(properties["equals"]["examples"], json!([5]));
    assert!(
        properties["same-package"]["description"].as_str().is_some_and(|text| text.starts_with("Only for agentic."))
    );
}
