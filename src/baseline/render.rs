//! A baseline as YAML.

use crate::record::KnownFailure;

/// The first lines of a new baseline.
pub(super) const HEAD: &str = "# Known failures of a target, for `proofmark check --baseline`.
# `proofmark baseline update REPORT.JSON --baseline FILE` adds new failures and removes fixed ones.
# Keys of an entry: case, fingerprint, kind (bug, wontfix or disputed), cause, owner, link, expires (YYYY-MM-DD), note.
";

/// An entry of the list, two columns deep.
pub(super) fn entry(known: &KnownFailure) -> String {
    let mut text = String::new();
    match known.cases.as_slice() {
        [case] => text.push_str(&format!("  - case: {}\n", quoted(case))),
        cases => {
            text.push_str("  - case:\n");
            for case in cases {
                text.push_str(&format!("      - {}\n", quoted(case)));
            }
        }
    }
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("    {key}: {value}\n"));
        }
    };
    line("fingerprint", &known.fingerprint);
    line("kind", known.kind.word());
    let optional = |value: &str| if value.is_empty() { String::new() } else { quoted(value) };
    line("cause", &optional(&known.cause));
    line("owner", &optional(&known.owner));
    line("link", &optional(&known.link));
    line("expires", known.expires.as_deref().unwrap_or_default());
    line("note", &optional(&known.note));
    text
}

/// An item of the list of cases that may not run.
pub(super) fn pattern(pattern: &str) -> String {
    format!("  - {}\n", quoted(pattern))
}

/// A text as a double-quoted scalar. Texts from a target may contain anything.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if crate::report::printable::is_hidden(c) => match u32::from(c) {
                code @ 0..=0xff => quoted.push_str(&format!("\\x{code:02x}")),
                code @ 0x100..=0xffff => quoted.push_str(&format!("\\u{code:04x}")),
                code => quoted.push_str(&format!("\\U{code:08x}")),
            },
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::KnownKind;
    use crate::source::Source;

    #[test]
    fn an_entry_is_read_back_whatever_it_contains() {
        let hostile = "a \"b\" \\ \u{1b}[2J\n\u{202e}x\u{e0041} # : - 'q' {}";
        let mut known = KnownFailure {
            cases: vec!["p/a#b[1]@ws".to_owned()],
            fingerprint: "cause-000000000000".to_owned(),
            cause: hostile.to_owned(),
            kind: KnownKind::Disputed,
            owner: hostile.to_owned(),
            link: "https://example.com/#1".to_owned(),
            expires: Some("2027-01-31".to_owned()),
            note: "123".to_owned(),
            at: String::new(),
            matched: Vec::new(),
            stale: Vec::new(),
            expired: false,
        };
        for cases in [vec!["p/a#b[1]@ws"], vec!["*", "p/a#\"?"]] {
            known.cases = cases.into_iter().map(str::to_owned).collect();
            let text = format!("{HEAD}known-failures:\n{}", entry(&known));
            let source = Arc::new(Source { name: "b.yaml".to_owned(), text: text.into() });
            let mut read = crate::baseline::load(&source).unwrap_or_else(|found| panic!("{found:?}: {}", source.text));
            read.entries[0].at.clear();
            assert_eq!(read.entries, [known.clone()], "{}", source.text);
        }
    }
}
