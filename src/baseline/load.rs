//! Reading a baseline.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::NaiveDate;

use super::keys::{BASELINE, KNOWN};
use crate::record::{BaselineRecord, KnownFailure, KnownKind};
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, Yaml, parse};
use crate::suggest::nearest;

/// Reads a baseline.
///
/// # Errors
///
/// Everything that is wrong in the file.
pub fn load(source: &Arc<Source>) -> Result<BaselineRecord, Vec<Diagnostic>> {
    let root = parse(source)?;
    let mut problems = Problems::default();
    let baseline = read(source, &root, &mut problems);
    problems.check(baseline)
}

fn read(source: &Arc<Source>, root: &Node, problems: &mut Problems) -> BaselineRecord {
    // A file with only comments is an empty baseline.
    let nothing = Node { value: Yaml::Map(Vec::new()), span: root.span.clone() };
    let root = if root.value == Yaml::Null { &nothing } else { root };
    let mut fields = Fields::new(root, &BASELINE, problems);
    let entries = fields.list("known-failures", problems);
    let entries: Vec<KnownFailure> = entries.iter().filter_map(|node| read_known(node, problems)).collect();
    let patterns = fields.texts_if_any("expected-not-run", problems);
    fields.finish(problems);
    BaselineRecord {
        file: source.name.clone(),
        entries,
        expected_not_run: patterns.map(|patterns| patterns.into_iter().map(|pattern| pattern.value).collect()),
        ..BaselineRecord::default()
    }
}

fn read_known(node: &Node, problems: &mut Problems) -> Option<KnownFailure> {
    let before = problems.0.len();
    let mut fields = Fields::new(node, &KNOWN, problems);
    let cases = fields.texts("case", problems);
    let fingerprint = fields.text("fingerprint", problems);
    let kind = word(&mut fields, problems);
    let cause = fields.text("cause", problems);
    let owner = fields.text("owner", problems);
    let link = fields.text("link", problems);
    let expires = fields.text("expires", problems);
    let note = fields.text("note", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    let mut first_of: BTreeMap<&str, String> = BTreeMap::new();
    for case in &cases {
        if let Some(first) = first_of.insert(&case.value, case.span.place()) {
            let message = format!("`{}` is listed twice; first at {first}", case.value);
            problems.note(Diagnostic::new(&case.span, message).hint("remove one of them"));
        }
    }
    if cases.is_empty() && problems.0.len() == before {
        problems.note(Diagnostic::new(&span, "a known failure needs at least one case"));
    }
    if let Some(text) = &fingerprint {
        let hex = text.strip_prefix("cause-").unwrap_or_default();
        if hex.len() != 12 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            let message =
                format!("invalid fingerprint `{}`: expected `cause-` and twelve hexadecimal digits", text.value);
            let hint = "`proofmark baseline update` writes the fingerprints of a record";
            problems.note(Diagnostic::new(&text.span, message).hint(hint));
        }
    }
    if let Some(text) = &expires {
        let is_day = text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok();
        if !is_day {
            let message = format!("invalid date `{}`: expected YYYY-MM-DD", text.value);
            problems.note(Diagnostic::new(&text.span, message).hint("such as 2027-01-31"));
        }
    }
    let value = |text: Option<Located<String>>| text.map(|text| text.value);
    Some(KnownFailure {
        cases: cases.into_iter().map(|case| case.value).collect(),
        fingerprint: value(fingerprint)?,
        cause: value(cause).unwrap_or_default(),
        kind: kind?,
        owner: value(owner).unwrap_or_default(),
        link: value(link).unwrap_or_default(),
        expires: value(expires),
        note: value(note).unwrap_or_default(),
        at: span.place(),
        matched: Vec::new(),
        stale: Vec::new(),
        expired: false,
    })
}

fn word(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<KnownKind> {
    let text = fields.text("kind", problems)?;
    let found = KnownKind::ALL.into_iter().find(|kind| kind.word() == text.value);
    if found.is_none() {
        let words = || KnownKind::ALL.into_iter().map(KnownKind::word);
        let message =
            format!("invalid kind `{}`: expected one of {}", text.value, words().collect::<Vec<_>>().join(", "));
        problems.note(Diagnostic::new(&text.span, message).did_you_mean(nearest(&text, words())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BaselineRecord, Vec<String>> {
        let source = Arc::new(Source { name: "baseline.yaml".to_owned(), text: text.to_owned().into() });
        load(&source).map_err(|found| found.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn an_empty_file_is_an_empty_baseline() {
        for text in ["", "# nothing yet\n", "known-failures: []\n", "{}"] {
            let read = read(text).unwrap_or_else(|found| panic!("{text:?}: {found:?}"));
            assert_eq!((read.entries.len(), read.expected_not_run), (0, None), "{text:?}");
        }
        assert_eq!(read("expected-not-run: []\n").expect("a baseline").expected_not_run, Some(Vec::new()));
    }

    #[test]
    fn every_mistake_is_reported_at_its_place() {
        let good = "known-failures:\n  - case: a/b#c\n    fingerprint: cause-0a1b2c3d4e5f\n    kind: bug\n    expires: 2027-01-31\n";
        let known = read(good).expect("a baseline");
        assert_eq!(known.entries[0].expires.as_deref(), Some("2027-01-31"));
        assert_eq!(known.entries[0].at, "baseline.yaml:2:5");
        for (from, to, wanted) in [
            (
                "cause-0a1b2c3d4e5f",
                "cause-xyz",
                "baseline.yaml:3:18: invalid fingerprint `cause-xyz`: expected `cause-` and",
            ),
            (
                "kind: bug",
                "kind: bgu",
                "baseline.yaml:4:11: invalid kind `bgu`: expected one of bug, wontfix, disputed (did you",
            ),
            ("2027-01-31", "2027-02-30", "baseline.yaml:5:14: invalid date `2027-02-30`: expected YYYY-MM-DD"),
            ("2027-01-31", "soon", "baseline.yaml:5:14: invalid date `soon`"),
            ("fingerprint:", "fingerprnt:", "baseline.yaml:3:5: a known failure has no key `fingerprnt`"),
            ("    kind: bug\n", "", "baseline.yaml:2:5: a known failure needs the key `kind`"),
            ("a/b#c", "[a, a]", "baseline.yaml:2:15: `a` is listed twice; first at baseline.yaml:2:12"),
            ("a/b#c", "[]", "baseline.yaml:2:5: a known failure needs at least one case"),
            ("known-failures:\n", "known-failures: 5\nx:\n", "baseline.yaml:1:17: `known-failures` must be a list"),
        ] {
            assert!(good.contains(from));
            let found = read(&good.replacen(from, to, 1)).expect_err(to);
            assert!(found.iter().any(|line| line.starts_with(wanted)), "{to}: {found:#?}");
        }
    }
}
