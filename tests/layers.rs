//! Modules import only what the map in the crate's documentation permits, and only `cli` names the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[path = "layers/graph.rs"]
mod graph;
#[path = "layers/words.rs"]
mod words;

/// One row of the map: a module and its permitted imports.
#[derive(Debug)]
struct Row {
    module: String,
    imports: BTreeSet<String>,
}

/// A line that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    place: String,
    what: String,
}

/// Reads the table in the documentation of the crate.
fn map(lib: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in lib.lines().filter_map(|line| line.strip_prefix("//! | [`")) {
        let (module, rest) = line.split_once("`]").expect("a module in the first column");
        let words = rest.trim_end_matches([' ', '|']).rsplit('|').next().expect("a last column").trim();
        let above = || rows.iter().map(|row| row.module.clone()).collect::<BTreeSet<_>>();
        let names = |text: &str| -> BTreeSet<String> {
            let names: BTreeSet<_> = text.split(", ").map(str::to_owned).collect();
            assert!(names.is_subset(&above()), "{module} names {text}, one of which is not above it");
            names
        };
        let imports = match words.split_once(" but ") {
            _ if words == "nothing" => BTreeSet::new(),
            _ if words == "above" => above(),
            Some(("above", except)) => above().difference(&names(except)).cloned().collect(),
            _ => names(words),
        };
        rows.push(Row { module: module.to_owned(), imports });
    }
    rows
}

/// The modules of this crate that a line of code names, behind `crate::`.
fn imported(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        match rest.strip_prefix('{') {
            None => found.push(name(rest)),
            Some(list) => {
                let mut depth = 0_i32;
                let mut start = true;
                for (at, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        c if start && c.is_alphabetic() => {
                            found.push(name(&list[at..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

/// Every breach in one file. `path` counts from `src/`.
fn breaches(path: &str, text: &str, rows: &[Row]) -> Vec<Breach> {
    let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    let depth = path.trim_end_matches("/mod.rs").split('/').count();
    let row = rows.iter().find(|row| row.module == module);
    let mut found = Vec::new();
    let mut breach = |line: usize, what: String| found.push(Breach { place: format!("src/{path}:{line}"), what });
    // Braces may span lines, so the lines of a statement are joined.
    let mut open = String::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if code.contains("proofmark_reference") && module != "cli" {
            breach(index + 1, format!("{module} uses proofmark_reference, which only cli may use"));
        }
        if code.starts_with(&format!("use {}", "super::".repeat(depth))) {
            breach(index + 1, "a path to the root of the crate that is not written `crate::`".to_owned());
        }
        // A file of tests may import more than its module.
        let Some(row) = row.filter(|_| !path.ends_with("/tests.rs")) else { continue };
        if !open.is_empty() || code.contains("crate::{") {
            open.push_str(code);
            if open.matches('{').count() > open.matches('}').count() {
                continue;
            }
        }
        let code = if open.is_empty() { code.to_owned() } else { std::mem::take(&mut open) };
        for name in imported(&code) {
            let fine = name == module || row.imports.contains(&name);
            // A macro or an item at the root is not a module.
            if !fine && rows.iter().any(|row| row.module == name) {
                breach(index + 1, format!("{module} imports {name}, which the map does not permit"));
            }
        }
    }
    found
}

/// The modules of an import cycle, if any.
fn cycle(imports: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        module: &str,
        imports: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(at) = way.iter().position(|earlier| earlier == module) {
            return Some(way[at..].to_vec());
        }
        if !done.insert(module.to_owned()) {
            return None;
        }
        way.push(module.to_owned());
        let found = imports.get(module).and_then(|names| names.iter().find_map(|next| visit(next, imports, way, done)));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|module| visit(module, imports, &mut Vec::new(), &mut done))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Every source file but the root, by its path from `src/`.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).expect("below src").to_string_lossy().replace('\\', "/");
            (name, std::fs::read_to_string(path).expect("a source file"))
        })
        .filter(|(name, _)| name != "lib.rs" && name != "main.rs")
        .collect()
}

fn lib() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("the root of the crate")
}

#[test]
fn every_module_has_one_row_of_the_map() {
    let lib = lib();
    let mut declared: Vec<_> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    declared.extend(lib.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')));
    let rows = map(&lib);
    let mut mapped: Vec<_> = rows.iter().map(|row| row.module.as_str()).collect();
    declared.sort_unstable();
    mapped.sort_unstable();
    assert_eq!(declared, mapped);
}

#[test]
fn modules_import_only_what_the_map_permits() {
    let rows = map(&lib());
    let found: Vec<_> = sources().iter().flat_map(|(path, text)| breaches(path, text, &rows)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn imports_are_acyclic() {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources() {
        let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let names = imported(&code).into_iter().filter(|name| *name != module);
        imports.entry(module.clone()).or_default().extend(names);
    }
    assert_eq!(cycle(&imports), None);
    assert!(imports["run"].contains("judge"), "the reader of imports found no import of judge");
}

#[test]
fn files_have_no_import_cycles() {
    let edges = graph::Graph::new(&sources()).edges();
    assert!(edges["matcher/equals"].contains("matcher/definition"), "a re-export is not followed: {edges:#?}");
    assert_eq!(graph::cycles(&edges), Vec::<BTreeSet<String>>::new());
}

#[test]
fn a_cycle_between_files_is_found_through_a_re_export() {
    let of = |files: &[(&str, &str)]| {
        let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        graph::cycles(&graph::Graph::new(&files).edges())
    };
    let facade = "mod one;\nmod two;\npub use one::One;\npub use two::Two;\n";
    let one = ("a/one.rs", "use super::Two;\npub struct One(Two);\n");
    let leaf = "pub struct Two;\n#[cfg(test)]\nmod tests {\n    use super::super::One;\n}\n";
    assert!(of(&[("a/mod.rs", facade), one, ("a/two.rs", leaf)]).is_empty());
    let found =
        of(&[("a/mod.rs", facade), one, ("a/two.rs", "pub struct Two;\npub type Both = (crate::a::One, Two);\n")]);
    assert_eq!(found, [BTreeSet::from(["a/one".to_owned(), "a/two".to_owned()])]);
    let table = "mod one;\npub trait Row {}\npub const ALL: &[&dyn Row] = &[&one::One];\n";
    let row = "use super::Row;\npub struct One;\nimpl Row for One {}\n";
    assert_eq!(of(&[("a/mod.rs", table), ("a/one.rs", row)]).len(), 1);
}

#[test]
fn generic_modules_are_free_of_protocol_words() {
    let words = words::words(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut used = Vec::new();
    let found: Vec<_> =
        sources().iter().flat_map(|(path, text)| words::breaches(path, text, &words, &mut used)).collect();
    assert!(found.is_empty(), "{found:#?}");
    let unused = words::unused(&used);
    assert!(unused.is_empty(), "permitted words that do not occur, remove them from the list: {unused:?}");
}

#[test]
fn protocol_words_are_found_in_code_and_in_texts() {
    let words = words::words(Path::new(env!("CARGO_MANIFEST_DIR")));
    let found = |path: &str, line: &str| words::breaches(path, line, &words, &mut Vec::new()).len();
    for line in [
        "    let subprotocol = \"amp.v1\";",
        "    if slug == \"agentic\" {",
        "use crate::protocol::amp_core::identity;",
        "/// As RFC 002 section 5.1 demands.",
        "    protocol.find(\"AGENTIC-6.1-21\")",
        "    Some((\"amps\", rest)) => (true, rest),",
        "const KINDS: &[&str] = &[\"did:web:x\"];",
        "    AmpCore => true,",
    ] {
        assert_eq!(found("transport/session.rs", line), 1, "{line}");
        assert_eq!(found("protocol/amp_core/mod.rs", line), 0, "{line}");
    }
    for line in ["    let sample = clamp(stamp);", "/// Its result: nothing.", "pub mod agentically;"] {
        assert_eq!(found("transport/session.rs", line), 0, "{line}");
    }
}

const SABOTAGED: &str =
    "//! | [`value`] | words | nothing |\n//! | [`wire`] | bytes | value |\n//! | [`cli`] | door | above |\n";

#[test]
fn a_forbidden_import_is_found_however_it_is_written() {
    let rows = map(SABOTAGED);
    for (path, line) in [
        ("value/mod.rs", "use crate::wire::json;"),
        ("value/path.rs", "    let x = crate::wire::show(&y);"),
        ("wire/json.rs", "use crate::{value::{Path, Value}, cli::Failure};"),
        ("wire/json.rs", "use crate::{\n    value::Value,\n    cli,\n};"),
        ("value/mod.rs", "pub use crate::cli;"),
        ("value.rs", "use super::wire;"),
        ("value/path.rs", "use super::super::wire;"),
        ("wire/mod.rs", "use proofmark_reference::Config;"),
    ] {
        let found = breaches(path, &format!("//! Docs.\n{line}\n"), &rows);
        assert_eq!(found.len(), 1, "{path}: {line}: {found:?}");
    }
    for (path, line) in [
        ("wire/json.rs", "use crate::value::Value;"),
        ("wire/json.rs", "// use crate::cli::Failure;"),
        ("wire/json.rs", "use super::hex;"),
        ("cli/check.rs", "use crate::wire; use proofmark_reference::serve;"),
        ("value/mod.rs", "    $crate::wire!();"),
    ] {
        assert_eq!(breaches(path, line, &rows), [], "{path}: {line}");
    }
}

#[test]
fn a_cycle_is_found() {
    let of = |pairs: &[(&str, &str)]| {
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in pairs {
            imports.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        imports
    };
    assert_eq!(cycle(&of(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    assert!(cycle(&of(&[("a", "b"), ("a", "d"), ("b", "c"), ("c", "d"), ("c", "a")])).is_some());
}

#[test]
#[should_panic(expected = "not above it")]
fn a_map_that_names_a_lower_row_is_rejected() {
    map("//! | [`value`] | words | wire |\n//! | [`wire`] | bytes | value |\n");
}
