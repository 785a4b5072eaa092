//! What came of the baseline of a run, in lines that every report shows.

use std::collections::BTreeSet;

use super::printable;
use crate::record::{KnownFailure, RunRecord};

/// Lines of each kind that are listed.
const LINES_SHOWN: usize = 50;

/// One line about a baseline.
pub(super) struct Line {
    /// `known`, `expired`, `stale`, `not run`, `unused`, or nothing for the count of lines that are not listed.
    pub(super) label: &'static str,
    /// The line, without hidden characters.
    pub(super) text: String,
}

/// The cases that failed or were inconclusive for a cause that the baseline lists, by id.
pub(super) fn known(record: &RunRecord) -> BTreeSet<&str> {
    record.baseline.iter().flat_map(|baseline| &baseline.known).map(String::as_str).collect()
}

/// The heading: the file, and how many failures are known.
pub(super) fn heading(record: &RunRecord) -> Option<String> {
    let baseline = record.baseline.as_ref()?;
    let known = printable::count(baseline.known.len(), "known failure", "known failures");
    Some(format!("{known} of {}", printable::short(&baseline.file, 200)))
}

/// What the baseline says: its entries by state, and the cases that should have run.
pub(super) fn lines(record: &RunRecord) -> Vec<Line> {
    let Some(baseline) = &record.baseline else { return Vec::new() };
    let mut lines = Vec::new();
    let mut add = |label: &'static str, texts: Vec<String>| {
        let more = texts.len().saturating_sub(LINES_SHOWN);
        lines
            .extend(texts.into_iter().take(LINES_SHOWN).map(|text| Line { label, text: printable::short(&text, 600) }));
        if more > 0 {
            lines.push(Line { label: "", text: format!("and {more} more") });
        }
    };
    let of = |is_shown: &dyn Fn(&&KnownFailure) -> bool| baseline.entries.iter().filter(is_shown).collect::<Vec<_>>();
    let expired = of(&|entry| entry.expired);
    add("expired", expired.into_iter().map(|entry| format!("{} ({})", described(entry), entry.at)).collect());
    let stale = baseline
        .entries
        .iter()
        .flat_map(|entry| entry.stale.iter().map(move |stale| format!("{}: {} ({})", stale.case, stale.why, entry.at)));
    add("stale", stale.collect());
    add("not run", baseline.unexpected_not_run.clone());
    let unused = baseline.unused_patterns.iter();
    add("unused", unused.map(|pattern| format!("{pattern}: no case that it matches was skipped")).collect());
    let known = of(&|entry| !entry.expired && !entry.matched.is_empty());
    add("known", known.into_iter().map(described).collect());
    lines
}

/// `3 cases, bug, owner alice, LINK, until 2027-01-31: CAUSE; NOTE`.
pub(super) fn described(entry: &KnownFailure) -> String {
    let mut parts = vec![printable::count(entry.matched.len(), "case", "cases"), entry.kind.word().to_owned()];
    if !entry.owner.is_empty() {
        parts.push(format!("owner {}", entry.owner));
    }
    if !entry.link.is_empty() {
        parts.push(entry.link.clone());
    }
    parts.extend(entry.expires.iter().map(|day| format!("until {day}")));
    let what = if entry.cause.is_empty() { &entry.fingerprint } else { &entry.cause };
    let note = if entry.note.is_empty() { String::new() } else { format!("; {}", entry.note) };
    let first = entry.cases.first().map_or("", String::as_str);
    format!("{}: {what}{note}; {first}", parts.join(", "))
}

/// The known failure of a failed case, for a report that lists each case.
pub(super) fn entry_of<'r>(record: &'r RunRecord, id: &str) -> Option<&'r KnownFailure> {
    let baseline = record.baseline.as_ref()?;
    baseline.entries.iter().find(|entry| !entry.expired && entry.matched.iter().any(|matched| matched == id))
}
