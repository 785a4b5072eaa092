//! Which source file uses what another one defines.
//!
//! An edge goes to the file in which an item is defined: a re-export is followed to its definition, so that a `mod.rs` may
//! list what its folder offers without depending on it. Tests at the end of a file do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

/// A module by its names from the root of the crate.
type Module = Vec<String>;

/// An import by `use`: the path, the local name, and whether it is a re-export.
struct Use {
    path: Vec<String>,
    name: String,
    public: bool,
}

/// Files and their imports of each other.
pub(crate) struct Graph {
    uses: BTreeMap<Module, Vec<Use>>,
    code: BTreeMap<Module, String>,
}

static USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("a pattern"));
static TESTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\n#\[cfg\(test\)\]\nmod \w+ \{").expect("a pattern"));
static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//[^\n]*").expect("a pattern"));
static DECLARED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(?:pub(?:\([^)]*\))?\s+)?mod \w+;").expect("a pattern"));
static ROOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").expect("a pattern"));
static RELATIVE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(^|[^\w:])(\w+((?:::\w+)+))").expect("a pattern"));

/// The source without comments and without the tests at its end.
pub(crate) fn without_tests(text: &str) -> &str {
    TESTS.find(text).map_or(text, |found| &text[..found.start()])
}

/// The module that a file is, by its path from `src/`.
fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The paths in the tree of a `use`.
fn expand(tree: &str, prefix: &[String], public: bool, found: &mut Vec<Use>) {
    let mut depth = 0_usize;
    let mut parts = vec![String::new()];
    for c in tree.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("one part at least").push(c);
    }
    let words = |text: &str| -> Vec<String> {
        text.split("::").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        if let Some((before, rest)) = part.split_once('{') {
            let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
            expand(inner, &[prefix, &words(before)].concat(), public, found);
            continue;
        }
        let (path, alias) = part.split_once(" as ").map_or((part, None), |(path, alias)| (path, Some(alias.trim())));
        let path = [prefix, &words(path)].concat();
        let last = path.iter().rev().find(|word| *word != "self").cloned().unwrap_or_default();
        found.push(Use { path, name: alias.map_or(last, str::to_owned), public });
    }
}

impl Graph {
    /// The graph of source files, each a path from `src/` and its text.
    pub(crate) fn new(sources: &[(String, String)]) -> Self {
        let (mut uses, mut code) = (BTreeMap::new(), BTreeMap::new());
        for (path, text) in sources {
            let text = COMMENT.replace_all(without_tests(text), "").into_owned();
            let mut found = Vec::new();
            for parts in USE.captures_iter(&text) {
                expand(&parts[2], &[], parts.get(1).is_some(), &mut found);
            }
            uses.insert(module(path), found);
            let text = USE.replace_all(&text, "");
            code.insert(module(path), DECLARED.replace_all(&text, "").into_owned());
        }
        Self { uses, code }
    }

    fn is_module(&self, module: &[String]) -> bool {
        self.uses.contains_key(module)
    }

    /// The module where a path in a module starts, and the rest of the path.
    fn start(&self, from: &[String], path: &[String]) -> Option<(Module, Vec<String>)> {
        match path.first()?.as_str() {
            "crate" => Some((Module::new(), path[1..].to_vec())),
            "self" => Some((from.to_vec(), path[1..].to_vec())),
            "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                Some((from[..from.len().checked_sub(up)?].to_vec(), path[up..].to_vec()))
            }
            child => self.is_module(&[from, &[child.to_owned()]].concat()).then(|| (from.to_vec(), path.to_vec())),
        }
    }

    /// The module that defines the item at a path; `None` for a module itself, and for other crates.
    fn definition(&self, from: &[String], path: &[String], depth: usize) -> Option<Module> {
        if depth > 8 {
            return None;
        }
        let Some((mut at, rest)) = self.start(from, path) else {
            let known = self.uses.get(from)?.iter().find(|known| Some(&known.name) == path.first())?;
            let whole = [&known.path[..], &path[1..]].concat();
            return (whole != path).then(|| self.definition(from, &whole, depth + 1)).flatten();
        };
        let mut rest: Vec<String> = rest.into_iter().filter(|word| word != "self").collect();
        while let Some(next) = rest.first()
            && self.is_module(&[&at[..], std::slice::from_ref(next)].concat())
        {
            at.push(rest.remove(0));
        }
        let first = rest.first()?;
        let known = self.uses.get(&at)?.iter().find(|known| known.name == *first);
        let known = known.map(|known| [&known.path[..], &rest[1..]].concat()).filter(|whole| whole != path);
        known.and_then(|whole| self.definition(&at, &whole, depth + 1)).or(Some(at))
    }

    /// What each module uses of which other ones.
    pub(crate) fn edges(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut edges = BTreeMap::new();
        for (from, uses) in &self.uses {
            let words = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
            let code = &self.code[from];
            let named: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            // A re-export counts where the file uses the item itself.
            let used = uses.iter().filter(|known| !known.public || named.contains(known.name.as_str()));
            let mut paths: Vec<Vec<String>> = used.map(|known| known.path.clone()).collect();
            paths.extend(ROOTED.find_iter(code).map(|found| words(found.as_str())));
            paths.extend(RELATIVE.captures_iter(code).map(|found| words(&found[2])));
            let to = paths.iter().filter_map(|path| self.definition(from, path, 0)).filter(|to| to != from);
            edges.insert(from.join("/"), to.map(|to| to.join("/")).collect());
        }
        edges
    }
}

/// The groups of modules in which each uses every other one, directly or not.
pub(crate) fn cycles(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reach = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> = edges.get(from).into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next.clone()) {
                open.extend(edges.get(next).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = edges.keys().map(|from| (from, reach(from))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (from, to) in &reached {
        let group: BTreeSet<String> =
            to.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*from))).cloned().collect();
        if group.len() > 1 && !found.contains(&group) {
            found.push(group);
        }
    }
    found
}
