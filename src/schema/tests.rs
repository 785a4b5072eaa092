//! Holds readers and schemas together.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::bundle::Bundle;
use crate::source::{Node, Source, asked, parse, parse_json};
use crate::suite::{read_manifest, read_suite};

/// A kind of map that a reader takes apart, by the words it uses in messages, and the definition that describes it: schema
/// and name, where the empty name is the root.
type Kind = (&'static str, fn() -> Schema, &'static str);

const MAPS: &[Kind] = &[
    ("a suite", suite, ""),
    ("a case", suite, "Case"),
    ("a row", suite, "Row"),
    ("a step", suite, "Step"),
    ("a request", suite, "Request"),
    ("an edit", suite, "Edit"),
    ("bytes", suite, "Hex"),
    ("an expectation", suite, "Expectation"),
    ("a built value", suite, "Built"),
    ("a manifest", manifest, ""),
    ("claims", manifest, "Claims"),
    ("a level claim", manifest, "LevelClaim"),
    ("a set-up", manifest, "Setup"),
    ("a feature", manifest, "Feature"),
    ("what a fuzzer goes by", manifest, "Fuzz"),
    ("a catalogue", requirements, ""),
    ("a requirement", requirements, "Requirement"),
    ("a vector file", vectors, ""),
    ("a group", vectors, "Group"),
    ("what a group gives to its vectors", vectors, "Shared"),
    ("a vector", vectors, "Vector"),
    ("a tolerated reading", vectors, "Tolerated"),
    ("a target file", target, ""),
    ("a credential", target, "Credential"),
    ("a route", target, "Route"),
    ("limits", target, "Limits"),
    ("a waiver", target, "Waiver"),
];

/// One document for each reader in which every kind of map is there, so that the reader asks for all of its keys.
const SUITE: &str = "
suite: p/area
cases:
  - case: a
    covers: [P-1]
    for_each: [{ row: x }]
    let: { v: { base: min, set: { /a: 1 }, remove: [/b] } }
    steps:
      - send: deposit
        edit:
          - { remove: /a, set: /a, to: 1, rename: /a, repeat: /a, whole: 1, truncate: 1, bytes: { hex: '00' },
              replace: a, flip: 1, insert: { hex: '00' }, at: 1, cut: 1, overwrite: b, header: h }
        expect: [{ at: /status, equals: 200 }]
      - request: { method: GET, path: / }
";
const MANIFEST: &str = "
protocol: p
claims: { level: { feature: f, at: /x }, default: L0 }
setup: [{ steps: [{ pause: 1s }] }]
features: [{ feature: f, about: a, absent: run }]
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
routes: { export: { path: /x } }
limits: { request: 1s }
waivers: [{ case: x, reason: r }]
";

fn source(text: &str) -> Arc<Source> {
    Arc::new(Source { name: "document".into(), text: text.into() })
}

fn read(kind: &str, source: &Arc<Source>) -> bool {
    match kind {
        "suite" => read_suite(source).is_ok(),
        "manifest" => read_manifest(source).is_ok(),
        "requirements" => crate::requirement::load(source).is_ok(),
        "vectors" => crate::vector::load(source).is_ok(),
        _ => crate::target::load(source).is_ok(),
    }
}

fn definition(schema: &Schema, name: &str) -> Value {
    let schema = schema.as_value();
    let found = if name.is_empty() { Some(schema) } else { schema["$defs"].get(name) };
    found.unwrap_or_else(|| panic!("no definition {name}")).clone()
}

fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Properties that readers take as they come: those that a table elsewhere lists.
fn by_table(what: &str) -> BTreeSet<String> {
    match what {
        "an expectation" => {
            let own = crate::protocol::ALL.iter().flat_map(|protocol| protocol.matchers());
            crate::matcher::ALL.iter().chain(own).map(|matcher| matcher.name().to_owned()).collect()
        }
        "a vector" | "what a group gives to its vectors" => {
            crate::vector::KINDS.iter().flat_map(|kind| kind.keys()).map(|key| (*key).to_owned()).collect()
        }
        _ => BTreeSet::new(),
    }
}

#[test]
fn every_schema_has_the_keys_that_its_reader_asks_for_and_no_others() {
    let keys = asked::during(|| {
        for (kind, text) in [
            ("suite", SUITE),
            ("manifest", MANIFEST),
            ("requirements", CATALOGUE),
            ("vectors", VECTORS),
            ("target", TARGET),
        ] {
            read(kind, &source(text));
        }
    });
    let known: BTreeSet<_> = MAPS.iter().map(|(what, ..)| *what).collect();
    assert_eq!(keys.keys().copied().collect::<BTreeSet<_>>(), known, "kinds of map: readers and schemas");
    for (what, schema, name) in MAPS {
        let definition = definition(&schema(), name);
        let mut properties: BTreeSet<String> =
            definition["properties"].as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
        for taken in by_table(what) {
            assert!(properties.remove(&taken), "{what}: the schema lacks {taken}");
        }
        let asked: BTreeMap<&str, bool> = keys[what].clone();
        assert_eq!(properties, asked.keys().map(|key| (*key).to_owned()).collect(), "{what}");
        // What a reader demands of an edit depends on the change that it makes.
        let demanded = asked.iter().filter(|(_, demanded)| **demanded && *what != "an edit");
        let required = strings(&definition["required"]);
        for (key, _) in demanded {
            assert!(required.contains(*key), "{what}: the reader demands {key}, the schema does not");
        }
    }
}

#[test]
fn every_key_and_every_definition_is_described() {
    for schema in [suite(), manifest(), requirements(), vectors(), target(), record()] {
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

#[test]
fn no_object_is_left_out_of_the_table_of_maps() {
    for (schema, title) in [(suite(), "suite"), (manifest(), "manifest"), (requirements(), "requirements")]
        .into_iter()
        .chain([(vectors(), "vectors"), (target(), "target")])
    {
        for (name, definition) in schema.as_value()["$defs"].as_object().into_iter().flatten() {
            let object = definition.get("properties").is_some();
            assert!(!object || MAPS.iter().any(|(_, _, known)| known == name), "{title}: {name}");
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
fn every_shipped_file_is_as_its_schema_says() {
    let bundle = Bundle::embedded();
    let mut seen = BTreeMap::<&str, usize>::new();
    // Also protocols that have a catalogue and nothing else yet.
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
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
fn every_target_file_of_the_repository_is_as_its_schema_says() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["examples/targets", "reference-impl/targets"] {
        for path in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let text = std::fs::read_to_string(&path).expect("a target file");
            let document = json_of(&parse(&source(&text)).unwrap_or_else(|problems| panic!("{problems:?}")));
            let wrong: Vec<_> = validator(&target()).iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{}: {wrong:#?}", path.display());
        }
    }
}

/// What a reader takes, its schema takes; what the second refuses, so does the first.
#[test]
fn readers_and_schemas_take_and_refuse_the_same_documents() {
    let schemas: [(&str, Schema); 4] =
        [("suite", suite()), ("manifest", manifest()), ("requirements", requirements()), ("target", target())];
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
            "suite: p/a\ncases: [{ case: 'a-${row.row}', covers: P-1, for_each: [{ row: x, e: [{ remove: /a }], m: equals, s: [{ pause: 1s }] }], steps: '${row.s}' }]\n",
        ),
        (
            "suite",
            "suite: p/a\ncases: [{ case: a, covers: P-1, for_each: [{ row: x, e: [{ remove: /a }], m: equals }], steps: [{ send: x, edit: '${row.e}', expect: [{ '${row.m}': 1 }] }] }]\n",
        ),
        ("manifest", MANIFEST),
        ("requirements", CATALOGUE),
        ("target", limits),
        (
            "target",
            "url: http://h\nplaces: { hash: /a, other: [/b, 'header:x'] }\nstatuses: { 400: [422] }\noptions: { auth: true }\n",
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
        ("suite", good.replace("send: deposit", "until: soon, send: deposit")),
        ("suite", good.replace("send: deposit", "layout: wide, send: deposit")),
        ("suite", good.replace("send: deposit", "edit: [{ remove: /a, whole: 1 }], send: deposit")),
        ("suite", good.replace("send: deposit", "edit: [{ flip: -1 }], send: deposit")),
        ("suite", good.replace("send: deposit", "edit: [{ bytes: 5 }], send: deposit")),
        ("suite", good.replace("send: deposit", "optional: yes please, send: deposit")),
        ("suite", good.replace("send: deposit", "with: { p: { base: min, sett: 1 } }, send: deposit")),
        ("suite", good.replace("send: deposit", "request: { method: GET }")),
        ("suite", "suite: p/a\ncases: []\n".to_owned()),
        ("manifest", MANIFEST.replace("absent: run", "absent: maybe")),
        ("manifest", MANIFEST.replace("default", "defualt")),
        ("requirements", CATALOGUE.replace("MUST", "OUGHT")),
        ("requirements", CATALOGUE.replace("testable: both", "testable: 'no'")),
        ("requirements", CATALOGUE.replace("section: '1'", "section: 1")),
        ("target", limits.replace("250ms", "soon")),
        ("target", limits.replace("http://h", "ftp://h")),
        ("target", "protocol: agentic\n".to_owned()),
        ("target", "url: http://h\nwaivers: [{ case: a, requirement: b, reason: c }]\n".to_owned()),
        ("target", "url: http://h\ncredentials: { a: { value: s } }\n".to_owned()),
        ("target", "url: http://h\nname: ~\n".to_owned()),
    ] {
        assert_eq!(both(kind, &text), (false, false), "{text}");
    }
}

#[test]
fn a_matcher_is_a_key_of_an_expectation_with_its_sentence_and_an_example() {
    let properties = definition(&suite(), "Expectation")["properties"].clone();
    assert_eq!(properties["equals"]["examples"], json!([5]));
    assert!(
        properties["same-package"]["description"].as_str().is_some_and(|text| text.starts_with("Only for agentic."))
    );
}
