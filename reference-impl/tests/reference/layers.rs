//! Checks the rules of the source: modules import only what the map in the documentation of the crate permits, no files
//! import each other, and a planted fault takes at most one line in the path of a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module by its path from the root, such as `["agentic", "tables", "facts"]`.
type Module = Vec<String>;

/// Every file of the library by its module, without tests.
fn sources() -> BTreeMap<Module, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("below src").with_extension("");
        let mut module: Module = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        module.pop_if(|last| last == "mod" || last == "lib");
        let text = std::fs::read_to_string(&path).expect("a source file");
        (module, text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned())
    };
    paths.into_iter().filter(|path| !path.ends_with("main.rs")).map(read).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// Program text without comments and visibilities.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let text = lines.join("\n");
    let mut parts = text.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// The paths that a `use` names, each in full: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let (mut depth, mut start) = (0_i32, 0);
    let tree = format!("{tree},");
    for (at, c) in tree.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            let part = tree[start..at].trim();
            start = at + 1;
            match part.split_once('{') {
                Some((head, inner)) => {
                    expand(&format!("{prefix}{}", head.trim()), inner.trim_end().trim_end_matches('}'), found);
                }
                None if part.is_empty() => {}
                None => found.push(format!("{prefix}{part}")),
            }
        }
    }
}

/// Every path in a program text that may lead to another module.
fn paths(text: &str) -> Vec<String> {
    let code = code(text);
    let mut found = Vec::new();
    let mut rest = String::new();
    for statement in code.split_inclusive(';') {
        let line_start = statement.rfind("use ").filter(|at| {
            let before = statement[..*at].trim_end();
            before.is_empty() || before.ends_with(['}', ';', ']', ')', '{']) || before.ends_with("pub")
        });
        match line_start {
            Some(at) => {
                rest.push_str(&statement[..at]);
                expand("", statement[at + 4..].trim_end_matches(';'), &mut found);
            }
            None => rest.push_str(statement),
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    found.extend(rest.split(|c| !is_part(c)).filter(|word| word.contains("::")).map(str::to_owned));
    found
}

/// The module that a path means, if it is one of this crate: the longest part of it that is a file.
fn resolve(current: &Module, path: &str, known: &BTreeSet<Module>) -> Option<Module> {
    let mut parts: Vec<&str> = path.split("::").map(|part| part.split(" as ").next().unwrap_or(part).trim()).collect();
    let mut base = match *parts.first()? {
        "crate" => Vec::new(),
        "self" => current.clone(),
        "super" => current[..current.len().checked_sub(1)?].to_vec(),
        child => {
            let mut module = current.clone();
            module.push(child.to_owned());
            return known.contains(&module).then(|| resolve(current, &format!("self::{path}"), known)).flatten();
        }
    };
    parts.remove(0);
    while parts.first() == Some(&"super") {
        base.pop();
        parts.remove(0);
    }
    for part in parts {
        base.push(part.to_owned());
        if !known.contains(&base) {
            base.pop();
            break;
        }
    }
    Some(base)
}

/// The imports of each module.
fn imports(sources: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let known: BTreeSet<Module> = sources.keys().cloned().collect();
    let of = |module: &Module, text: &str| {
        let named = paths(text).into_iter().filter_map(|path| resolve(module, &path, &known));
        named.filter(|other| other != module).collect()
    };
    sources.iter().map(|(module, text)| (module.clone(), of(module, text))).collect()
}

/// The modules of an import cycle, if any.
fn circle(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    fn visit(
        module: &Module,
        imports: &BTreeMap<Module, BTreeSet<Module>>,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<Vec<Module>> {
        if let Some(at) = way.iter().position(|earlier| earlier == module) {
            return Some(way[at..].to_vec());
        }
        if !done.insert(module.clone()) {
            return None;
        }
        way.push(module.clone());
        let next = imports.get(module).into_iter().flatten();
        let found = next.filter_map(|next| visit(next, imports, way, done)).next();
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|module| visit(module, imports, &mut Vec::new(), &mut done))
}

/// The rows of the map in the documentation of the crate: a module and its permitted imports.
fn map(lib: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut rows: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in lib.lines().filter_map(|line| line.strip_prefix("//! | `")) {
        let (module, rest) = line.split_once('`').expect("a module in the first column");
        let words = rest.trim_end_matches([' ', '|']).rsplit('|').next().expect("a last column").trim();
        let above: BTreeSet<String> = rows.iter().map(|(name, _)| name.clone()).collect();
        let names = |text: &str| text.split(", ").map(str::to_owned).collect::<BTreeSet<String>>();
        let permitted = match words.strip_prefix("above") {
            Some("") => above.clone(),
            Some(except) => {
                above.difference(&names(except.strip_prefix(" but ").expect("above but"))).cloned().collect()
            }
            None if words == "nothing" => BTreeSet::new(),
            None => names(words),
        };
        assert!(permitted.is_subset(&above), "{module} names a module that is not above it");
        rows.push((module.to_owned(), permitted));
    }
    rows
}

#[test]
fn modules_import_only_what_the_map_permits() {
    let sources = sources();
    let rows = map(&std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("lib.rs"));
    let mapped: BTreeSet<&str> = rows.iter().map(|(module, _)| module.as_str()).collect();
    let there: BTreeSet<&str> = sources.keys().filter_map(|module| module.first()).map(String::as_str).collect();
    assert_eq!(mapped, there, "the rows of the map and the modules differ");
    let mut breaches = Vec::new();
    for (module, imported) in imports(&sources) {
        let Some((name, permitted)) = module.first().and_then(|top| rows.iter().find(|(name, _)| name == top)) else {
            continue;
        };
        for other in imported {
            match other.first() {
                Some(top) if top == name || permitted.contains(top) => {}
                _ => breaches.push(format!("{} imports {}", module.join("::"), other.join("::"))),
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn no_files_import_each_other() {
    let imports = imports(&sources());
    let of = |module: &[&str]| imports[&module.iter().map(|part| (*part).to_owned()).collect::<Module>()].len();
    assert!(
        of(&["agentic", "deposit"]) > 5 && of(&["amp_core", "node"]) > 5,
        "the reader of imports found too few imports"
    );
    // The `mod.rs` of a folder declares its modules; only uses count.
    let found = circle(&imports).map(|found| found.iter().map(|module| module.join("::")).collect::<Vec<_>>());
    assert_eq!(found, None);
}

/// Why a planted fault takes more than one line.
fn more_than_a_line(line: &str) -> Option<&'static str> {
    let (open, close) = (line.matches(['(', '[']).count(), line.matches([')', ']']).count());
    let asked = line.find(".is(\"");
    if line.contains("planted!(") {
        return (open != close || !line.ends_with(';')).then_some("a call that continues in the next line");
    }
    asked?;
    // If the block contains a rule, the fault only enables or disables it: `if !fault.is(..) && rule {`.
    let lets = line.contains("|| ") || line.contains('!');
    match line {
        _ if line.starts_with("&&") && !lets => Some("a condition of a block for the fault"),
        _ if line.ends_with('{') && !lets => Some("a block for the fault"),
        _ => None, // an expression
    }
}

#[test]
fn a_fault_takes_one_line_in_the_code_of_a_rule() {
    let mut breaches = Vec::new();
    let sources = sources();
    // A protocol is a folder with a table of faults.
    let protocols: BTreeSet<&String> =
        sources.keys().filter(|module| module.len() == 2 && module[1] == "fault").map(|module| &module[0]).collect();
    assert!(!protocols.is_empty());
    for (module, text) in &sources {
        let protocol = module.first().is_some_and(|top| protocols.contains(top));
        // The code of faults is in `faults`; `careless` has those of parsers, outside the code of rules.
        if !protocol || module.get(1).is_some_and(|part| ["faults", "fault", "careless"].contains(&part.as_str())) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            let line = line.split("// ").next().unwrap_or_default().trim();
            if let Some(why) = more_than_a_line(line) {
                breaches.push(format!("{} line {}: {why}: {line}", module.join("::"), index + 1));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn the_readers_detect_violations() {
    let known: BTreeSet<Module> =
        [&["a"][..], &["a", "b"], &["c"]].map(|m| m.iter().map(|p| (*p).to_owned()).collect()).into();
    let module = |path: &[&str]| path.iter().map(|part| (*part).to_owned()).collect::<Module>();
    let text = "use crate::{a::b::{Thing, Other}, c};\nfn f() { super::c::g(); }\npub(crate) use super::a;\n";
    let found: BTreeSet<_> = paths(text).iter().filter_map(|path| resolve(&module(&["a"]), path, &known)).collect();
    assert_eq!(found, [module(&["a"]), module(&["a", "b"]), module(&["c"])].into());
    let two = BTreeMap::from([(module(&["a"]), [module(&["c"])].into()), (module(&["c"]), [module(&["a"])].into())]);
    assert!(circle(&two).is_some());
    for bad in [
        "if rules.fault.is(\"x\") {",
        "if rules.fault.is(\"x\") && cond {",
        "&& rules.fault.is(\"x\")",
        "planted!(",
        "let x = if rules.fault.is(\"x\") {",
    ] {
        assert!(more_than_a_line(bad).is_some() || bad == "planted!(", "{bad}");
    }
    for good in [
        "planted!(rules.fault, \"x\", f());",
        "let x = if rules.fault.is(\"x\") { 1 } else { 2 };",
        "if a && !rules.fault.is(\"x\") {",
    ] {
        assert_eq!(more_than_a_line(good), None, "{good}");
    }
}
