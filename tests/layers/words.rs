//! Words of protocols, which generic modules must not contain.

use super::graph::without_tests;

/// Words of the protocols that are not in their tables and catalogues.
const WORDS: &[&str] = &[
    // Identifiers, media types, headers and documents of the specifications.
    "did:",
    "x-amp-",
    "RFC 001",
    "RFC 002",
    "package_id",
    "content_hash",
    "principal",
    // Messages.
    "deposit",
    "HELLO",
    "GOAWAY",
    "BATCH",
    "PROC_OK",
    "CAP_QUERY",
    // Future protocols.
    "agentic-mesh",
    "agentic_mesh",
    "meshai",
    "MeshAI",
    "task-amp",
    "task_amp",
];

/// Permitted lines, each by its file and its beginning, with the reason.
const PERMITTED: &[(&str, &str, &str)] = &[
    ("protocol/mod.rs", "pub mod ", "a protocol is declared in this table"),
    ("protocol/mod.rs", "    &", "the rows of protocols, on a line of their own"),
    ("cli/args.rs", "  proofmark ", "a command that can be copied needs a protocol that exists"),
];

/// Every word: the fixed ones, and those of the existing protocols.
pub(crate) fn words(root: &std::path::Path) -> Vec<String> {
    let mut words: Vec<String> = WORDS.iter().map(|word| (*word).to_owned()).collect();
    for protocol in proofmark::protocol::ALL {
        let slug = protocol.slug();
        words.extend([slug.to_owned(), slug.replace('-', "_")]);
        let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
        words.push(slug.split('-').map(capital).collect());
        // `amp-core` is also called by its first part; that of `task-amp` is a plain word.
        words.extend(slug.split('-').next().filter(|part| *part != "task").map(str::to_owned));
        words.extend(protocol.url_schemes().iter().map(|scheme| scheme.name.to_owned()));
        words.extend(
            protocol.operations().iter().map(|operation| operation.name).filter(is_distinct).map(str::to_owned),
        );
        words.extend(protocol.settings().iter().map(|setting| setting.name).filter(is_distinct).map(str::to_owned));
        words.extend(protocol.matchers().iter().map(|matcher| matcher.name()).filter(is_distinct).map(str::to_owned));
        words.extend(protocol.vector_kinds().iter().map(|kind| kind.name()).filter(is_distinct).map(str::to_owned));
        words.extend(protocol.reports().iter().map(|format| format.name.to_owned()));
        let catalogue = root.join("suites").join(slug).join("requirements.yaml");
        let catalogue = std::fs::read_to_string(catalogue).expect("the catalogue of a protocol");
        let id = catalogue.lines().find_map(|line| line.trim().strip_prefix("- id: ")).expect("a requirement");
        words.push(id.split_once('-').map_or(id, |(prefix, _)| prefix).to_owned() + "-");
    }
    words.sort();
    words.dedup();
    words
}

/// Whether a name is more than a plain English word.
fn is_distinct(name: &&str) -> bool {
    name.contains(['-', '_'])
}

/// Whether a line has a word that is not part of a longer one.
fn has(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_part);
        let next = line[at + word.len()..].chars().next();
        // What ends with a colon is the beginning of a longer text, or the end of an English sentence.
        let ends =
            if word.ends_with(is_part) { !next.is_some_and(is_part) } else { !next.is_none_or(char::is_whitespace) };
        !before && ends
    })
}

/// Whether a file belongs to no protocol. `path` counts from `src/`.
fn is_generic(path: &str) -> bool {
    let folders = proofmark::protocol::ALL.iter().map(|protocol| protocol.slug().replace('-', "_"));
    let of_protocol = folders.into_iter().any(|name| path.starts_with(&format!("protocol/{name}/")));
    !of_protocol && !path.ends_with("/tests.rs")
}

/// Every line of a generic file with a protocol word that is not permitted, and the used permissions.
pub(crate) fn breaches(path: &str, text: &str, words: &[String], used: &mut Vec<usize>) -> Vec<String> {
    if !is_generic(path) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in without_tests(text).lines().enumerate() {
        let Some(word) = words.iter().find(|word| has(line, word)) else { continue };
        let permitted = PERMITTED.iter().position(|(file, start, _)| *file == path && line.starts_with(start));
        match permitted {
            Some(row) => used.push(row),
            None => found.push(format!("src/{path}:{}: `{word}` in: {}", index + 1, line.trim())),
        }
    }
    found
}

/// Permissions that no line needs.
pub(crate) fn unused(used: &[usize]) -> Vec<&'static str> {
    let rows = PERMITTED.iter().enumerate();
    rows.filter(|(row, _)| !used.contains(row)).map(|(_, (file, ..))| *file).collect()
}
