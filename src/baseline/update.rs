//! Writing a baseline from a record.
//!
//! Entries that still hold keep their lines, with everything that people wrote there. Only entries that change are written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::apply::{Cases, State};
use super::load::load;
use super::render;
use crate::record::{BaselineRecord, KnownFailure, KnownKind, RunRecord};
use crate::report::Reason;
use crate::source::{Diagnostic, Node, Source, Yaml, parse};
use crate::verdict::Verdict;

/// One difference between the old and the new baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A case that fails, with its cause.
    Added {
        /// The case.
        case: String,
        /// The cause in words.
        cause: String,
    },
    /// A case that no longer fails with its cause, and why it is dropped.
    Dropped {
        /// The pattern of the old entry.
        case: String,
        /// The reason.
        why: String,
    },
    /// A case that did not run.
    AddedNotRun(String),
    /// A pattern of cases that may not run, which matches no such case any more.
    DroppedNotRun(String),
}

/// A baseline that was brought up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The new text of the file.
    pub text: String,
    /// Its content.
    pub baseline: BaselineRecord,
    /// What changed.
    pub changes: Vec<Change>,
    /// Whether comments of the old file could not be kept, because it is not written one entry after the other.
    pub comments_lost: bool,
}

/// An entry on its way from the old file to the new one.
struct Entry {
    /// Its position in the old file.
    old: Option<usize>,
    /// What it becomes; `None` if it is dropped.
    new: Option<KnownFailure>,
}

/// The baseline of `record`, made from the old file if there is one. `list_not_run`: also list the cases that did not run, in a
/// file that does not list them yet.
///
/// # Errors
///
/// Everything that is wrong in the old file.
pub fn update(old: Option<&Arc<Source>>, record: &RunRecord, list_not_run: bool) -> Result<Updated, Vec<Diagnostic>> {
    let before = old.map(load).transpose()?.unwrap_or_default();
    let cases = Cases::new(record);
    let mut changes = Vec::new();
    let entries = entries(&before, &cases, record, &mut changes);
    let patterns = match (&before.expected_not_run, list_not_run) {
        (None, false) => None,
        (known, _) => Some(not_run(known.as_deref().unwrap_or_default(), &cases, &mut changes)),
    };
    let baseline = BaselineRecord {
        file: before.file.clone(),
        entries: entries.iter().filter_map(|entry| entry.new.clone()).collect(),
        expected_not_run: patterns.as_ref().map(|patterns| patterns.iter().map(|(_, text)| text.clone()).collect()),
        ..BaselineRecord::default()
    };
    if let Some(source) = old.filter(|source| holds(&source.text, &baseline)) {
        return Ok(Updated { text: source.text.to_string(), baseline, changes, comments_lost: false });
    }
    let edited = old.and_then(|source| edit(source, &before, &entries, patterns.as_deref()));
    let (text, comments_lost) = match edited.filter(|text| holds(text, &baseline)) {
        Some(text) => (text, false),
        None => {
            let lost = old.is_some_and(|source| source.text.lines().any(|line| line.trim_start().starts_with('#')));
            (whole(&baseline), lost)
        }
    };
    Ok(Updated { text, baseline, changes, comments_lost })
}

fn entries(before: &BaselineRecord, cases: &Cases<'_>, record: &RunRecord, changes: &mut Vec<Change>) -> Vec<Entry> {
    let day = record.started_at.get(..10).unwrap_or_default();
    let mut covered: BTreeSet<(String, &str)> = BTreeSet::new();
    let mut entries: Vec<Entry> = Vec::new();
    for (at, known) in before.entries.iter().enumerate() {
        let mut kept = KnownFailure { cases: Vec::new(), ..known.clone() };
        for pattern in &known.cases {
            match cases.state(pattern, &known.fingerprint) {
                State::Holds(ids) => {
                    covered.extend(ids.into_iter().map(|id| (id, known.fingerprint.as_str())));
                    kept.cases.push(pattern.clone());
                }
                State::Open => kept.cases.push(pattern.clone()),
                State::Stale(why) => {
                    changes.push(Change::Dropped { case: pattern.clone(), why: why.to_owned() });
                }
            }
        }
        entries.push(Entry { old: Some(at), new: (!kept.cases.is_empty()).then_some(kept) });
    }
    let mut added: BTreeMap<&str, (&Reason, Vec<String>)> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (case, causes) in cases.failed() {
        for cause in causes {
            if covered.contains(&(case.id.clone(), cause.fingerprint.as_str())) {
                continue;
            }
            changes.push(Change::Added { case: case.id.clone(), cause: cause.text.clone() });
            let (_, ids) = added.entry(&cause.fingerprint).or_insert_with(|| {
                order.push(&cause.fingerprint);
                (cause, Vec::new())
            });
            ids.push(case.id.clone());
        }
    }
    for fingerprint in order {
        let Some((cause, ids)) = added.remove(fingerprint) else { continue };
        let is_same = |known: &&mut KnownFailure| {
            known.fingerprint == fingerprint && known.expires.as_deref().is_none_or(|expires| expires >= day)
        };
        if let Some(known) = entries.iter_mut().filter_map(|entry| entry.new.as_mut()).find(is_same) {
            known.cases.extend(ids);
            continue;
        }
        let new = KnownFailure {
            cases: ids,
            fingerprint: fingerprint.to_owned(),
            cause: crate::report::printable::short(&cause.text, 300),
            kind: KnownKind::Bug,
            owner: String::new(),
            link: String::new(),
            expires: None,
            note: String::new(),
            at: String::new(),
            matched: Vec::new(),
            stale: Vec::new(),
            expired: false,
        };
        entries.push(Entry { old: None, new: Some(new) });
    }
    entries
}

/// The patterns of the cases that may not run, each with its position in the old list.
fn not_run(known: &[String], cases: &Cases<'_>, changes: &mut Vec<Change>) -> Vec<(Option<usize>, String)> {
    let mut patterns = Vec::new();
    let mut covered: BTreeSet<&str> = BTreeSet::new();
    for (at, pattern) in known.iter().enumerate() {
        if cases.is_used(pattern) {
            covered.extend(cases.matched(pattern).map(|case| case.id.as_str()));
            patterns.push((Some(at), pattern.clone()));
        } else {
            changes.push(Change::DroppedNotRun(pattern.clone()));
        }
    }
    let mut added: BTreeSet<String> = BTreeSet::new();
    for case in cases.not_run().filter(|case| !covered.contains(case.id.as_str())) {
        let whole = case.id.split_once('[').map_or(case.id.as_str(), |(whole, _)| whole);
        // One pattern stands for a table none of whose rows ran.
        let is_whole = cases.matched(whole).all(|row| row.verdict == Verdict::NotRun);
        let pattern = if is_whole { whole } else { &case.id };
        if added.insert(pattern.to_owned()) {
            changes.push(Change::AddedNotRun(pattern.to_owned()));
            patterns.push((None, pattern.to_owned()));
        }
    }
    patterns
}

/// The file written anew.
fn whole(baseline: &BaselineRecord) -> String {
    let mut text = render::HEAD.to_owned();
    let mut section = |key: &str, items: Vec<String>| match items.as_slice() {
        [] => text.push_str(&format!("{key}: []\n")),
        items => {
            text.push_str(&format!("{key}:\n"));
            items.iter().for_each(|item| text.push_str(item));
        }
    };
    section(KNOWN_FAILURES, baseline.entries.iter().map(render::entry).collect());
    if let Some(patterns) = &baseline.expected_not_run {
        section(EXPECTED_NOT_RUN, patterns.iter().map(|pattern| render::pattern(pattern)).collect());
    }
    text
}

const KNOWN_FAILURES: &str = "known-failures";
const EXPECTED_NOT_RUN: &str = "expected-not-run";

/// Whether `text` is read as `baseline`.
fn holds(text: &str, baseline: &BaselineRecord) -> bool {
    let source = Arc::new(Source { name: String::new(), text: text.to_owned().into() });
    let Ok(read) = load(&source) else { return false };
    let plain = |entries: &[KnownFailure]| -> Vec<KnownFailure> {
        entries.iter().map(|entry| KnownFailure { at: String::new(), ..entry.clone() }).collect()
    };
    plain(&read.entries) == plain(&baseline.entries) && read.expected_not_run == baseline.expected_not_run
}

/// The old text with the changes of its lists; `None` if a list is not written one item after the other.
fn edit(
    source: &Arc<Source>,
    before: &BaselineRecord,
    entries: &[Entry],
    patterns: Option<&[(Option<usize>, String)]>,
) -> Option<String> {
    let root = parse(source).ok()?;
    let lines: Vec<&str> = source.text.split_inclusive('\n').collect();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let old_entries = entries.iter().filter_map(|entry| {
        let known = before.entries.get(entry.old?)?;
        let new = entry.new.as_ref().map(|new| (new.cases == known.cases, render::entry(new)));
        Some(new)
    });
    let added: Vec<String> = entries
        .iter()
        .filter(|entry| entry.old.is_none())
        .filter_map(|entry| entry.new.as_ref())
        .map(render::entry)
        .collect();
    edit_list(&root, &lines, KNOWN_FAILURES, &old_entries.collect::<Vec<_>>(), &added, &mut edits)?;
    if let Some(patterns) = patterns {
        let count = before.expected_not_run.as_ref().map_or(0, Vec::len);
        let is_kept = |at: usize| patterns.iter().any(|(old, _)| *old == Some(at));
        let kept: Vec<_> = (0..count).map(|at| is_kept(at).then(|| (true, String::new()))).collect();
        let added = patterns.iter().filter(|(old, _)| old.is_none());
        let added: Vec<String> = added.map(|(_, pattern)| render::pattern(pattern)).collect();
        edit_list(&root, &lines, EXPECTED_NOT_RUN, &kept, &added, &mut edits)?;
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = String::new();
    let mut next = 0;
    for (range, new) in edits {
        if range.start < next {
            return None;
        }
        lines[next..range.start].iter().for_each(|line| text.push_str(line));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&new);
        next = range.end;
    }
    lines[next..].iter().for_each(|line| text.push_str(line));
    Some(text)
}

/// Adds the edits of one list. `old` has for each of its items whether it stays as it is, and its new text; `None` if it is
/// dropped.
fn edit_list(
    root: &Node,
    lines: &[&str],
    key: &str,
    old: &[Option<(bool, String)>],
    added: &[String],
    edits: &mut Vec<(Range<usize>, String)>,
) -> Option<()> {
    let empty = Vec::new();
    let members = match &root.value {
        Yaml::Map(members) => members,
        Yaml::Null => &empty,
        _ => return None,
    };
    let line_of = |span: &crate::source::Span| span.line_column().0 - 1;
    let is_comment = |line: &usize| lines.get(*line).is_some_and(|line| line.trim_start().starts_with('#'));
    // Comments directly before an item or a key belong to it.
    let with_comments = |line: usize, floor: usize| (floor..line).rev().take_while(is_comment).last().unwrap_or(line);
    let section = |items: &[String]| match items {
        [] => format!("{key}: []\n"),
        items => format!("{key}:\n{}", items.concat()),
    };
    let Some(at) = members.iter().position(|(name, _)| name.name == key) else {
        edits.push((lines.len()..lines.len(), section(added)));
        return Some(());
    };
    let key_line = line_of(&members[at].0.span);
    let following = members.iter().map(|(name, _)| line_of(&name.span)).filter(|line| *line > key_line).min();
    let end = following.map_or(lines.len(), |line| with_comments(line, key_line + 1));
    let Yaml::Sequence(items) = &members[at].1.value else { return None };
    if items.len() != old.len() {
        return None;
    }
    if items.is_empty() {
        if !added.is_empty() {
            edits.push((key_line..key_line + 1, section(added)));
        }
        return Some(());
    }
    let starts: Vec<usize> = items.iter().map(|item| line_of(&item.span)).collect();
    let is_item = |line: &usize| lines.get(*line).is_some_and(|text| text.trim_start().starts_with("- "));
    if starts[0] <= key_line || !starts.is_sorted_by(|a, b| a < b) || !starts.iter().all(is_item) {
        return None;
    }
    let mut froms = Vec::new();
    let mut floor = key_line + 1;
    for start in &starts {
        froms.push(with_comments(*start, floor));
        floor = *start + 1;
    }
    if old.iter().all(Option::is_none) && added.is_empty() {
        edits.push((key_line..end, section(&[])));
        return Some(());
    }
    for (index, new) in old.iter().enumerate() {
        let until = froms.get(index + 1).copied().unwrap_or(end);
        match new {
            Some((true, _)) => {}
            None => edits.push((froms[index]..until, String::new())),
            Some((false, new)) => {
                let comments = lines[froms[index]..until].iter().filter(|line| line.trim_start().starts_with('#'));
                edits.push((froms[index]..until, comments.copied().collect::<String>() + new));
            }
        }
    }
    if !added.is_empty() {
        edits.push((end..end, added.concat()));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A record with these cases: id, verdict, and what was observed.
    fn record(cases: &[(&str, &str, &str)]) -> RunRecord {
        let case = |(id, verdict, observed): &(&str, &str, &str)| {
            let finding = json!({
                "requirement": "X-1", "verdict": verdict, "expected": "200", "observed": observed, "path": "/status",
                "at": "x.yaml:1:1",
            });
            let reason = (*verdict == "not-run").then_some(if observed.is_empty() { "not-claimed" } else { observed });
            json!({
                "id": id, "transport": "http", "verdict": verdict, "reason": reason, "covers": ["X-1"],
                "outcomes": { "X-1": verdict }, "elapsed_ms": 0, "at": "x.yaml:1:1",
                "findings": if *verdict == "fail" { vec![finding] } else { Vec::new() }, "exchanges": [], "replay": "",
            })
        };
        let record = json!({
            "schema": crate::record::SCHEMA, "proofmark": "0", "seed": 1, "identity_seed": 1, "profile": "lenient",
            "started_at": "2026-11-20T12:00:00.000Z", "asked": {},
            "target": { "kind": "endpoint", "name": "x" },
            "protocols": [{
                "protocol": "p", "spec": "s", "suite_hash": "h", "levels": [], "features": [], "requirements": [],
                "cases": cases.iter().map(case).collect::<Vec<_>>(),
            }],
            "summary": {
                "cases": { "pass": 0, "warn": 0, "fail": 0, "inconclusive": 0, "error": 0, "not-run": 0 },
                "requests": 0, "elapsed_ms": 0, "exit_code": 0, "conclusion": "",
            },
        });
        serde_json::from_value(record).expect("a record")
    }

    fn file(text: &str) -> Arc<Source> {
        Arc::new(Source { name: "baseline.yaml".to_owned(), text: text.to_owned().into() })
    }

    fn updated(old: Option<&str>, record: &RunRecord) -> Updated {
        let old = old.map(file);
        let updated = update(old.as_ref(), record, false).unwrap_or_else(|found| panic!("{found:?}"));
        assert!(holds(&updated.text, &updated.baseline), "{}", updated.text);
        updated
    }

    /// The same record, judged with a baseline.
    fn applied(text: &str, mut record: RunRecord) -> BaselineRecord {
        record.baseline = Some(load(&file(text)).unwrap_or_else(|found| panic!("{found:?}")));
        crate::baseline::apply(&mut record);
        record.baseline.expect("a baseline")
    }

    #[test]
    fn a_new_baseline_has_an_entry_for_each_cause_and_knows_every_failure() {
        let failed = [("p/a#one", "fail", "500"), ("p/a#two[x]", "fail", "500"), ("p/a#three", "fail", "404")];
        let new = updated(None, &record(&failed));
        let cases: Vec<_> = new.baseline.entries.iter().map(|entry| entry.cases.clone()).collect();
        assert_eq!(cases, [vec!["p/a#one", "p/a#two[x]"], vec!["p/a#three"]]);
        let result = applied(&new.text, record(&failed));
        assert_eq!(result.known, ["p/a#one", "p/a#two[x]", "p/a#three"]);
        assert!(result.entries.iter().all(|entry| entry.stale.is_empty() && !entry.expired));
    }

    #[test]
    fn another_cause_of_a_known_case_is_not_known() {
        let text = updated(None, &record(&[("p/a#one", "fail", "500")])).text;
        let result = applied(&text, record(&[("p/a#one", "fail", "404")]));
        assert_eq!(result.known, Vec::<String>::new());
        assert_eq!(result.entries[0].stale[0].why, "the case fails for another cause");
    }

    #[test]
    fn an_entry_that_shows_nothing_is_stale_unless_the_run_left_it_open() {
        let text = updated(None, &record(&[("p/a#one", "fail", "500")])).text;
        let why = |cases: &[(&str, &str, &str)]| {
            let result = applied(&text, record(cases));
            result.entries[0].stale.first().map(|stale| stale.why.clone())
        };
        assert_eq!(why(&[("p/a#one", "pass", "")]).as_deref(), Some("the case passes"));
        assert_eq!(why(&[("p/a#one", "not-run", "")]).as_deref(), Some("the case was not run"));
        assert_eq!(why(&[("p/a#other", "pass", "")]).as_deref(), Some("no case matches it"));
        assert_eq!(why(&[("p/a#one", "not-run", "not-selected")]), None);
        assert_eq!(why(&[("p/a#one", "error", "")]), None);
    }

    #[test]
    fn an_expired_entry_counts_no_longer() {
        let failed = [("p/a#one", "fail", "500")];
        let text = updated(None, &record(&failed)).text;
        // The run started on 2026-11-20.
        for (day, expired) in [("2026-11-19", true), ("2026-11-20", false), ("2027-01-01", false)] {
            let text = format!("{text}    expires: {day}\n");
            let result = applied(&text, record(&failed));
            assert_eq!((result.entries[0].expired, result.known.is_empty()), (expired, expired), "{day}");
            let left_out = applied(&text, record(&[("p/a#one", "not-run", "not-selected")]));
            assert!(!left_out.entries[0].expired, "{day}");
        }
    }

    #[test]
    fn a_case_that_did_not_run_must_be_listed() {
        let cases = [("p/a#one", "not-run", ""), ("p/a#two", "pass", ""), ("p/a#left", "not-run", "not-selected")];
        assert_eq!(applied("{}", record(&cases)).unexpected_not_run, Vec::<String>::new());
        let result = applied("expected-not-run: []", record(&cases));
        assert_eq!(result.unexpected_not_run, ["p/a#one"]);
        let result = applied("expected-not-run: ['p/a#o*', 'p/a#two', 'p/a#left']", record(&cases));
        assert_eq!(result.unexpected_not_run, Vec::<String>::new());
        assert_eq!(result.unused_patterns, ["p/a#two"]);
    }

    #[test]
    fn an_update_keeps_what_people_wrote() {
        let fingerprint = |observed: &str| {
            updated(None, &record(&[("p/a#one", "fail", observed)])).baseline.entries[0].fingerprint.clone()
        };
        let (five, four) = (fingerprint("500"), fingerprint("404"));
        let old = format!(
            "# Ours.\nexpected-not-run:\n  # no socket\n  - p/ws#*\n  - p/gone\n\nknown-failures:\n  # The first.\n  - case: [p/a#one, p/a#two]  # both\n    fingerprint: {five}\n    kind: wontfix\n    owner: alice\n    link: https://x/1\n\n  # The second.\n  - case: p/a#three\n    fingerprint: {four}\n    kind: bug\n  # The third.\n  - {{ case: p/a#four, fingerprint: {five}, kind: disputed, note: later }}\n# End.\n"
        );
        let now = record(&[
            ("p/a#one", "fail", "500"),
            ("p/a#two", "fail", "500"),
            ("p/a#three", "pass", ""),
            ("p/a#four", "fail", "500"),
            ("p/a#five", "fail", "404"),
            ("p/ws#one", "not-run", ""),
            ("p/mesh#one[a]", "not-run", ""),
            ("p/mesh#one[b]", "not-run", ""),
        ]);
        let new = updated(Some(&old), &now);
        assert!(!new.comments_lost);
        let kept = old
            .replace("  - p/gone\n\n", "  - \"p/mesh#one\"\n")
            .replace(&format!("  # The second.\n  - case: p/a#three\n    fingerprint: {four}\n    kind: bug\n"), "");
        let (before, after) = kept.split_once("# End.\n").expect("the end");
        assert!(new.text.starts_with(before), "{}", new.text);
        assert!(
            new.text.contains(&format!("  - case: \"p/a#five\"\n    fingerprint: {four}\n    kind: bug\n")),
            "{}",
            new.text
        );
        assert!(new.text.contains("# End.\n"), "{after}{}", new.text);
        assert_eq!(
            new.changes,
            [
                Change::Dropped { case: "p/a#three".to_owned(), why: "the case passes".to_owned() },
                Change::Added {
                    case: "p/a#five".to_owned(),
                    cause: "expected 200 at /status, observed 404".to_owned()
                },
                Change::DroppedNotRun("p/gone".to_owned()),
                Change::AddedNotRun("p/mesh#one".to_owned()),
            ]
        );
        let again = updated(Some(&new.text), &now);
        assert_eq!((again.text, again.changes), (new.text, Vec::new()));
    }

    #[test]
    fn one_fixed_case_of_an_entry_is_dropped_from_it() {
        let failed = [("p/a#one", "fail", "500"), ("p/a#two", "fail", "500")];
        let old = updated(None, &record(&failed))
            .text
            .replace("    kind: bug\n", "    kind: bug\n    owner: alice # who else\n");
        let new = updated(Some(&old), &record(&[failed[0], ("p/a#two", "pass", "")]));
        assert_eq!(new.baseline.entries[0].cases, ["p/a#one"]);
        assert_eq!(new.baseline.entries[0].owner, "alice");
        assert!(new.text.starts_with("# Known failures"), "{}", new.text);
        let none = updated(Some(&new.text), &record(&[("p/a#one", "pass", "")]));
        assert!(none.text.ends_with("known-failures: []\n"), "{}", none.text);
    }

    #[test]
    fn a_file_in_another_form_is_written_anew_and_says_so() {
        let text = updated(None, &record(&[("p/a#one", "fail", "500")])).baseline.entries[0].fingerprint.clone();
        let old = format!("# Mine.\nknown-failures: [{{ case: p/a#one, fingerprint: {text}, kind: disputed }}]\n");
        let new = updated(Some(&old), &record(&[("p/a#one", "fail", "500"), ("p/a#two", "fail", "404")]));
        assert!(new.comments_lost, "{}", new.text);
        assert_eq!(new.baseline.entries.len(), 2);
        assert_eq!(new.baseline.entries[0].kind, KnownKind::Disputed);
        let same = updated(Some(&old), &record(&[("p/a#one", "fail", "500")]));
        assert_eq!((same.text.as_str(), same.comments_lost), (old.as_str(), false));
    }
}
