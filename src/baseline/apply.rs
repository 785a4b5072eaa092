//! Comparing a judged run with its baseline.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::glob;
use crate::record::{BaselineRecord, CaseRecord, KnownFailure, RunRecord, StaleCase};
use crate::report::{Reason, reasons};
use crate::verdict::{NotRun, Verdict};

/// The state of one pattern of a known failure in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// These cases fail with the cause.
    Holds(Vec<String>),
    /// The run does not decide it: a case was not selected, or its verdict is inconclusive or an error.
    Open,
    /// No case fails with the cause; the text says why.
    Stale(&'static str),
}

/// The cases of a record, found by pattern.
pub(super) struct Cases<'r> {
    all: Vec<&'r CaseRecord>,
    /// By id, and by the part of the id before the row.
    by_name: BTreeMap<&'r str, Vec<usize>>,
    /// The causes of the cases that failed or were inconclusive.
    causes: Vec<Vec<Reason>>,
    /// The requirements without which no level is granted.
    demanded: BTreeSet<&'r str>,
}

impl<'r> Cases<'r> {
    pub(super) fn new(record: &'r RunRecord) -> Self {
        let all: Vec<_> = record.protocols.iter().flat_map(|protocol| &protocol.cases).collect();
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, case) in all.iter().enumerate() {
            by_name.entry(&case.id).or_default().push(at);
            if let Some((whole, _)) = case.id.split_once('[') {
                by_name.entry(whole).or_default().push(at);
            }
        }
        let is_known_kind = |case: &CaseRecord| matches!(case.verdict, Verdict::Fail | Verdict::Inconclusive);
        let of = |case: &&CaseRecord| if is_known_kind(case) { reasons(case) } else { Vec::new() };
        let causes = all.iter().map(of).collect();
        let requirements = record.protocols.iter().flat_map(|protocol| &protocol.requirements);
        let demanded = requirements.filter(|requirement| requirement.is_demand());
        let demanded = demanded.map(|requirement| requirement.id.as_str()).collect();
        Self { all, by_name, causes, demanded }
    }

    /// The cases that failed, and those that were inconclusive about a demand, with their causes. One bug of a target leaves
    /// many cases inconclusive, so that both may be known. An error is not: it says nothing about the target.
    pub(super) fn failed(&self) -> impl Iterator<Item = (&'r CaseRecord, &[Reason])> {
        let is_failed = |case: &CaseRecord| match case.verdict {
            Verdict::Fail => true,
            Verdict::Inconclusive => case
                .outcomes
                .iter()
                .any(|(id, verdict)| *verdict == Verdict::Inconclusive && self.demanded.contains(id.as_str())),
            _ => false,
        };
        let all = self.all.iter().zip(&self.causes);
        all.filter(move |(case, _)| is_failed(case)).map(|(case, causes)| (*case, causes.as_slice()))
    }

    /// The cases that did not run, other than those that the selection or a waiver excludes.
    pub(super) fn not_run(&self) -> impl Iterator<Item = &'r CaseRecord> {
        self.all.iter().copied().filter(|case| {
            case.verdict == Verdict::NotRun && !matches!(case.reason, Some(NotRun::NotSelected | NotRun::Waived))
        })
    }

    /// The positions of the cases that `pattern` matches, as [`glob`] does.
    fn matching(&self, pattern: &str) -> Vec<usize> {
        match pattern.contains(['*', '?']) {
            true => (0..self.all.len()).filter(|at| glob(pattern, &self.all[*at].id)).collect(),
            false => self.by_name.get(pattern).cloned().unwrap_or_default(),
        }
    }

    /// The cases that `pattern` matches.
    pub(super) fn matched(&self, pattern: &str) -> impl Iterator<Item = &'r CaseRecord> {
        self.matching(pattern).into_iter().map(|at| self.all[at])
    }

    /// The state of one pattern of a known failure.
    pub(super) fn state(&self, pattern: &str, fingerprint: &str) -> State {
        let matching = self.matching(pattern);
        let shows = |at: &&usize| self.causes[**at].iter().any(|cause| cause.fingerprint == fingerprint);
        let holds: Vec<String> = matching.iter().filter(shows).map(|at| self.all[*at].id.clone()).collect();
        if !holds.is_empty() {
            return State::Holds(holds);
        }
        let cases = || matching.iter().map(|at| self.all[*at]);
        let is_open = |case: &CaseRecord| {
            case.reason == Some(NotRun::NotSelected) || matches!(case.verdict, Verdict::Inconclusive | Verdict::Error)
        };
        if cases().any(is_open) {
            return State::Open;
        }
        let has = |verdict: Verdict| cases().any(|case| case.verdict == verdict);
        State::Stale(if has(Verdict::Fail) {
            "the case fails for another cause"
        } else if has(Verdict::Pass) || has(Verdict::Warn) {
            "the case passes"
        } else if has(Verdict::NotRun) {
            "the case was not run"
        } else {
            "no case matches it"
        })
    }

    /// Whether the selection left out every case that `pattern` matches.
    fn is_not_selected(&self, pattern: &str) -> bool {
        let matching = self.matching(pattern);
        !matching.is_empty() && matching.iter().all(|at| self.all[*at].reason == Some(NotRun::NotSelected))
    }

    /// Whether `pattern` of the cases that may not run matches one that did not.
    pub(super) fn is_used(&self, pattern: &str) -> bool {
        self.matching(pattern).into_iter().any(|at| self.all[at].verdict == Verdict::NotRun)
    }
}

/// Compares a judged run with its baseline, if it has one: which failures are known, which entries are stale or have expired,
/// and which cases should have run. Pure: the day is that of the start of the run.
pub fn apply(record: &mut RunRecord) {
    let Some(mut baseline) = record.baseline.take() else { return };
    let day = record.started_at.get(..10).unwrap_or_default();
    let cases = Cases::new(record);
    let mut known: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let BaselineRecord { entries, expected_not_run, .. } = &mut baseline;
    for entry in entries.iter_mut() {
        compare(entry, &cases, day);
    }
    for entry in entries.iter().filter(|entry| !entry.expired) {
        for case in &entry.matched {
            known.entry(case.clone()).or_default().insert(&entry.fingerprint);
        }
    }
    let is_known = |case: &CaseRecord, causes: &[Reason]| {
        let known = known.get(&case.id);
        known.is_some_and(|known| causes.iter().all(|cause| known.contains(cause.fingerprint.as_str())))
    };
    let known_ids: Vec<String> =
        cases.failed().filter(|(case, causes)| is_known(case, causes)).map(|(case, _)| case.id.clone()).collect();
    let mut unexpected = Vec::new();
    let mut unused = Vec::new();
    if let Some(patterns) = expected_not_run {
        let mut expected: BTreeSet<&str> = BTreeSet::new();
        for pattern in patterns.iter() {
            expected.extend(cases.matching(pattern).into_iter().map(|at| cases.all[at].id.as_str()));
            if !cases.is_used(pattern) {
                unused.push(pattern.clone());
            }
        }
        unexpected
            .extend(cases.not_run().filter(|case| !expected.contains(case.id.as_str())).map(|case| case.id.clone()));
    }
    baseline.known = known_ids;
    baseline.unexpected_not_run = unexpected;
    baseline.unused_patterns = unused;
    record.baseline = Some(baseline);
}

fn compare(entry: &mut KnownFailure, cases: &Cases<'_>, day: &str) {
    entry.matched.clear();
    entry.stale.clear();
    for pattern in &entry.cases {
        match cases.state(pattern, &entry.fingerprint) {
            State::Holds(ids) => entry.matched.extend(ids),
            State::Open => {}
            State::Stale(why) => entry.stale.push(StaleCase { case: pattern.clone(), why: why.to_owned() }),
        }
    }
    entry.matched.sort();
    entry.matched.dedup();
    // Dates of this form compare as text.
    let is_past = entry.expires.as_deref().is_some_and(|expires| expires < day);
    entry.expired = is_past && !entry.cases.iter().all(|pattern| cases.is_not_selected(pattern));
}
