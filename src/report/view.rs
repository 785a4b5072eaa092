//! Groupings of a record that several reports share, so that they agree on violations and undecided cases.

use std::collections::{BTreeMap, BTreeSet};

use super::{printable, shape};
use crate::exchange::{Ended, Exchange, Incoming, Stray, Transport};
use crate::record::{CaseRecord, FindingRecord, LevelRecord, ProtocolRecord, RequirementRecord, RunRecord};
use crate::verdict::{Grant, NotRun, Verdict};

/// A requirement that was not met, with its cases.
pub(super) struct UnmetRequirement<'a> {
    /// Id of the requirement; empty if a case names none.
    pub id: &'a str,
    /// Its entry, if the record has one.
    pub requirement: Option<&'a RequirementRecord>,
    /// Each case with its findings about the requirement, in the order of the record. The findings may be empty if the
    /// verdict of a case has none.
    pub cases: Vec<(&'a CaseRecord, Vec<&'a FindingRecord>)>,
}

/// Whether the selection of the run left a case out. The reports count such cases and do not list them: of one selected case the
/// others are no news.
pub(super) fn is_not_selected(case: &CaseRecord) -> bool {
    case.reason == Some(NotRun::NotSelected)
}

/// Whether the target could not be judged at all: no case was, and the summary says why and what to do.
pub(super) fn is_unready(record: &RunRecord) -> bool {
    let judged = |verdict: Verdict| matches!(verdict, Verdict::Pass | Verdict::Fail | Verdict::Warn);
    let totals = record.summary.cases.rows();
    !record.summary.advice.is_empty() && totals.iter().all(|(verdict, count)| *count == 0 || !judged(*verdict))
}

/// The requirements of `protocol` with `verdict` ([`Verdict::Fail`] or [`Verdict::Warn`]), in the order of the catalogue.
///
/// Waived cases do not count.
pub(super) fn unmet_requirements(protocol: &ProtocolRecord, verdict: Verdict) -> Vec<UnmetRequirement<'_>> {
    let index = requirement_index(protocol);
    // Requirements that are not in the catalogue come last, by id.
    let mut groups: BTreeMap<(usize, &str), UnmetRequirement<'_>> = BTreeMap::new();
    for case in &protocol.cases {
        if case.verdict == Verdict::NotRun || case.verdict < verdict {
            continue;
        }
        let found = |finding: &&FindingRecord| finding.verdict == verdict;
        let mut ids: Vec<&str> = Vec::new();
        for finding in case.findings.iter().filter(found) {
            if !ids.contains(&finding.requirement.as_str()) {
                ids.push(&finding.requirement);
            }
        }
        if ids.is_empty() && case.verdict == verdict {
            ids.push(case.covers.first().map_or("", String::as_str));
        }
        for id in ids {
            let at = index.get(id).copied();
            let findings = case.findings.iter().filter(found);
            groups
                .entry((at.unwrap_or(usize::MAX), id))
                .or_insert_with(|| UnmetRequirement {
                    id,
                    requirement: at.and_then(|at| protocol.requirements.get(at)),
                    cases: Vec::new(),
                })
                .cases
                .push((case, findings.filter(|f| f.requirement == id).collect()));
        }
    }
    groups.into_values().collect()
}

/// Position of each requirement of `protocol` in its catalogue.
pub(super) fn requirement_index(protocol: &ProtocolRecord) -> BTreeMap<&str, usize> {
    let entries = protocol.requirements.iter().enumerate();
    entries.map(|(at, r)| (r.id.as_str(), at)).collect()
}

/// The undecided cases of `protocol`, by the reason in words without ids and digests, the most frequent first.
///
/// Known ones do not count: the reports list them apart.
pub(super) fn undecided<'r>(
    protocol: &'r ProtocolRecord,
    known: &BTreeSet<&str>,
) -> Vec<(Verdict, String, Vec<&'r CaseRecord>)> {
    let mut groups: BTreeMap<(Verdict, String), Vec<&CaseRecord>> = BTreeMap::new();
    for case in &protocol.cases {
        let is_known = known.contains(case.id.as_str());
        if matches!(case.verdict, Verdict::Inconclusive | Verdict::Error) && !is_known {
            let reason = match case.because.as_str() {
                "" => case.findings.first().map_or("no reason given", |f| f.observed.as_str()),
                because => because,
            };
            groups.entry((case.verdict, shape::shape(reason))).or_default().push(case);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().map(|((verdict, reason), cases)| (verdict, reason, cases)).collect();
    groups.sort_by_key(|(_, _, cases)| std::cmp::Reverse(cases.len()));
    groups
}

/// How many cases of `protocol` were not run, by reason.
pub(super) fn not_run(protocol: &ProtocolRecord) -> Vec<(&'static str, usize)> {
    let mut counts: BTreeMap<Option<NotRun>, usize> = BTreeMap::new();
    for case in &protocol.cases {
        if case.verdict == Verdict::NotRun {
            *counts.entry(case.reason).or_default() += 1;
        }
    }
    let word = |reason: Option<NotRun>| reason.map_or("no reason given", NotRun::word);
    counts.into_iter().map(|(r, count)| (word(r), count)).collect()
}

/// The cases that passed only when they were retried, in one sentence.
pub(super) fn retried(record: &RunRecord) -> Option<String> {
    let cases = record.protocols.iter().flat_map(|protocol| &protocol.cases).filter(|case| case.retry > 0);
    let ids: Vec<&str> = cases.map(|case| case.id.as_str()).collect();
    let (first, others) = ids.split_first()?;
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    Some(format!("passed when retried alone, after a timeout among concurrent cases: {first}{more}"))
}

/// The verdicts over each transport, for each protocol with several: `ws` and `120 pass, 3 fail`. In a run of several
/// protocols it comes with the protocol: `one ws`.
pub(super) fn by_transport(protocols: &[ProtocolRecord]) -> Vec<(String, String)> {
    let several = protocols.len() > 1;
    let of_protocol = |protocol| {
        let rows = transports(protocol).into_iter();
        rows.map(move |(transport, counts)| match several {
            true => (format!("{} {transport}", protocol.protocol), counts),
            false => (transport.to_owned(), counts),
        })
    };
    protocols.iter().flat_map(of_protocol).collect()
}

fn transports(protocol: &ProtocolRecord) -> Vec<(&'static str, String)> {
    let mut counts: BTreeMap<Transport, BTreeMap<Verdict, usize>> = BTreeMap::new();
    for case in &protocol.cases {
        *counts.entry(case.transport).or_default().entry(case.verdict).or_default() += 1;
    }
    if counts.len() < 2 {
        return Vec::new();
    }
    let words = |verdicts: BTreeMap<Verdict, usize>| {
        let shown = Verdict::ALL.into_iter().filter_map(|verdict| {
            let number = verdicts.get(&verdict)?;
            Some(format!("{number} {}", verdict.word()))
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    counts.into_iter().map(|(transport, verdicts)| (transport.name(), words(verdicts))).collect()
}

/// The difference between claim and measurement, and what blocks a level.
pub(super) fn claim_and_blocking(level: &LevelRecord) -> String {
    let blocking = blocking(level);
    match (level.claimed, level.outcome) {
        _ if level.unobservable => "not observable at this kind of target".to_owned(),
        (false, _) if level.met => "met, though the target does not claim it".to_owned(),
        (true, Grant::Refused) => format!("not met: {blocking}"),
        (_, Grant::Granted | Grant::GrantedWaived) => beside(level),
        _ => blocking,
    }
}

/// The outcome of a level in words: `granted, 2 waived`.
pub(super) fn outcome_words(level: &LevelRecord) -> String {
    match level.outcome {
        Grant::GrantedWaived => format!("granted, {} waived", level.waived.len()),
        other => other.word().to_owned(),
    }
}

/// What a level that was granted rests on, and what did not stand in its way: `40 held, 3 not exercised, 12 not claimed`.
fn beside(level: &LevelRecord) -> String {
    let counts = [
        (level.held, "held"),
        (level.not_exercised.len() as u64, "not exercised"),
        (level.not_claimed.len() as u64, "not claimed"),
        (level.not_observable, "not observable"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

/// What keeps a level undecided: each cause with what to do about it and the requirements that it concerns.
pub(super) struct Cause<'a> {
    /// The verdict or the reason.
    pub what: &'static str,
    /// Why, in words.
    pub why: &'a str,
    /// What to do.
    pub advice: &'a str,
    /// The requirements.
    pub requirements: Vec<&'a str>,
}

/// What keeps `level` undecided, the cause of most requirements first. Nothing for a level that is decided or not claimed.
pub(super) fn causes(level: &LevelRecord) -> Vec<Cause<'_>> {
    if level.outcome != Grant::Undecided || !level.claimed || level.unobservable {
        return Vec::new();
    }
    let mut causes: Vec<Cause<'_>> = Vec::new();
    for because in &level.because {
        let what = because.reason.map_or(because.verdict.word(), NotRun::word);
        let same = |cause: &&mut Cause<'_>| cause.what == what && cause.why == because.why;
        match causes.iter_mut().find(same) {
            Some(cause) => cause.requirements.push(&because.requirement),
            None => causes.push(Cause {
                what,
                why: &because.why,
                advice: &because.advice,
                requirements: vec![&because.requirement],
            }),
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.requirements.len()));
    if !level.uncovered.is_empty() {
        causes.push(Cause {
            what: "without a case",
            why: "proofmark has no case for it yet",
            advice: "`proofmark coverage` prints the gaps; `proofmark new case` writes a case to fill in",
            requirements: level.uncovered.iter().map(String::as_str).collect(),
        });
    }
    causes
}

/// What blocks `level`, such as `3 fail, 1 not-exercised, 2 without a case`.
pub(super) fn blocking(level: &LevelRecord) -> String {
    let mut counts: BTreeMap<(std::cmp::Reverse<Verdict>, Option<NotRun>), usize> = BTreeMap::new();
    for because in &level.because {
        let key = (std::cmp::Reverse(because.verdict), because.reason);
        *counts.entry(key).or_default() += 1;
    }
    let mut parts: Vec<String> = counts
        .into_iter()
        .map(|((verdict, reason), n)| format!("{n} {}", reason.map_or(verdict.0.word(), NotRun::word)))
        .collect();
    if !level.uncovered.is_empty() {
        parts.push(format!("{} without a case", level.uncovered.len()));
    }
    parts.join(", ")
}

/// Whether a case covers a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage<'a> {
    /// At least one case does.
    Covered,
    /// No case does, although the requirement is testable.
    Gap,
    /// Not testable; the catalogue gives the reason.
    Untestable(&'a str),
}

impl Coverage<'_> {
    /// Its name in reports.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::Gap => "gap",
            Self::Untestable(_) => "untestable",
        }
    }
}

/// Reads [`RequirementRecord::uncovered`]: `gap`, or the catalogue's reason with or without `untestable: ` before it.
pub(super) fn coverage(requirement: &RequirementRecord) -> Coverage<'_> {
    match requirement.uncovered.as_deref() {
        None => Coverage::Covered,
        Some(reason) if reason.is_empty() || reason == "gap" || reason.starts_with("gap:") => Coverage::Gap,
        Some(reason) => Coverage::Untestable(reason.strip_prefix("untestable:").unwrap_or(reason).trim()),
    }
}

/// Suite and name of a case id: the parts before and after the `#`.
pub(super) fn split_id(id: &str) -> (&str, &str) {
    id.split_once('#').unwrap_or(("", id))
}

/// The exchange of `finding`.
///
/// Without an index it is the last exchange of the case, if the finding has a path into an answer.
pub(super) fn shown_by<'a>(case: &'a CaseRecord, finding: Option<&FindingRecord>) -> Option<&'a Exchange> {
    match finding.and_then(|finding| finding.exchange) {
        Some(at) => case.exchanges.get(at),
        None => case.exchanges.last(),
    }
}

/// The exchange of the twin that corresponds to `exchange`.
pub(super) fn twin_of<'a>(case: &'a CaseRecord, exchange: &Exchange) -> Option<&'a Exchange> {
    let same = |twin: &&Exchange| twin.step == exchange.step && twin.round == exchange.round;
    case.twin.iter().find(same)
}

/// `POST http://127.0.0.1:1/x`, safe to print.
pub(super) fn request_line(exchange: &Exchange) -> String {
    let sent = &exchange.sent;
    let method = printable::short(&sent.method, 80);
    match sent.transport {
        Transport::Http => format!("{method} {}", printable::short(&sent.url, 400)),
        Transport::Ws | Transport::Tcp => format!("{method} on {}", printable::short(&sent.url, 400)),
        Transport::Tree => format!("{method} {} (tree)", printable::short(&sent.url, 400)),
        Transport::Adapter => format!("{method} (adapter)"),
    }
}

/// `422 in 3 ms`, or why there was no answer, safe to print.
pub(super) fn answer_line(exchange: &Exchange) -> String {
    let took = printable::duration(exchange.elapsed_ms);
    format!("{} in {took}", outcome(&exchange.received))
}

/// Characters of the text of a refusal.
const REFUSAL_LENGTH: usize = 200;

/// The text of an answer that refuses: the body of a status from 400 on, or the error of an adapter, on one line and safe to
/// print. `None` for other answers, and for a body that is empty or not text.
pub(super) fn refusal_text(exchange: &Exchange) -> Option<String> {
    let received = &exchange.received;
    let text = match exchange.sent.transport {
        Transport::Adapter => {
            let answer: serde_json::Value = serde_json::from_slice(&received.body.0).ok()?;
            answer.get("error").filter(|error| !error.is_null())?.to_string()
        }
        _ if received.status.is_some_and(|status| status >= 400) => received.body.text()?.to_owned(),
        _ => return None,
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, rest) = match text.char_indices().nth(REFUSAL_LENGTH) {
        Some((end, _)) => (&text[..end], "..."),
        None => (text.as_str(), ""),
    };
    (!shown.is_empty()).then(|| format!("{}{rest}", printable::line(shown)))
}

/// The status of an answer, and how it ended if it is incomplete.
pub(super) fn outcome(received: &Incoming) -> String {
    let ended = match &received.ended {
        Ended::Complete => None,
        Ended::TooLong => Some("longer than the limit".to_owned()),
        Ended::TimedOut => Some("timed out".to_owned()),
        Ended::Closed(how) => Some(format!("closed: {}", printable::short(how, 200))),
        Ended::Unreachable(why) => Some(format!("unreachable: {}", printable::short(why, 200))),
        Ended::NotSent(why) => Some(format!("not sent: {}", printable::short(why, 200))),
    };
    match (received.status, ended) {
        (Some(status), None) => status.to_string(),
        (Some(status), Some(ended)) => format!("{status}, {ended}"),
        (None, Some(ended)) => ended,
        (None, None) => "answered".to_owned(),
    }
}

/// The messages at hosts that belong to no case, without those that came after their case had passed: a sender may go on
/// repeating what no case waits for any more.
pub(super) fn notable_strays(protocol: &ProtocolRecord) -> Vec<&Stray> {
    let passed = |id: &str| protocol.cases.iter().any(|case| case.id == id && case.verdict == Verdict::Pass);
    protocol.strays.iter().filter(|stray| !stray.case.as_deref().is_some_and(passed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_without_a_case_is_a_gap_or_untestable() {
        let read = |uncovered: Option<&str>| {
            let requirement = RequirementRecord {
                id: "X-1".to_owned(),
                section: "1".to_owned(),
                keyword: "MUST".to_owned(),
                level: "L0".to_owned(),
                summary: String::new(),
                verdict: Verdict::NotRun,
                reason: None,
                uncovered: uncovered.map(str::to_owned),
                errata: Vec::new(),
                cases: Vec::new(),
            };
            match coverage(&requirement) {
                Coverage::Untestable(why) => format!("untestable {why}"),
                other => other.word().to_owned(),
            }
        };
        assert_eq!(read(None), "covered");
        assert_eq!(read(Some("gap")), "gap");
        assert_eq!(read(Some("gap: no route to it")), "gap");
        assert_eq!(read(Some("untestable: prose")), "untestable prose");
        assert_eq!(read(Some("prose cannot be judged")), "untestable prose cannot be judged");
    }

    #[test]
    fn a_transport_comes_with_its_protocol_if_there_are_several() {
        let protocol = |slug: &str, transports: &[&str]| -> ProtocolRecord {
            let case = |transport| {
                serde_json::json!({
                    "id": "p/a#1", "transport": transport, "verdict": "pass", "covers": [], "elapsed_ms": 1, "at": "a:1:1",
                })
            };
            let record = serde_json::json!({
                "protocol": slug, "spec": "", "suite_hash": "", "levels": [], "features": [], "requirements": [],
                "cases": transports.iter().map(case).collect::<Vec<_>>(),
            });
            serde_json::from_value(record).expect("a record")
        };
        let rows = |protocols: &[ProtocolRecord]| {
            let rows = by_transport(protocols).into_iter();
            rows.map(|(transport, counts)| format!("{transport}: {counts}")).collect::<Vec<_>>()
        };
        let both = protocol("one", &["http", "http", "tcp"]);
        assert_eq!(rows(std::slice::from_ref(&both)), ["http: 2 pass", "tcp: 1 pass"]);
        // One with a single transport has no rows.
        assert_eq!(rows(&[both, protocol("two", &["ws"])]), ["one http: 2 pass", "one tcp: 1 pass"]);
    }

    #[test]
    fn a_late_message_of_a_passed_case_is_not_notable() {
        let case = |name: &str, verdict: &str| serde_json::json!({ "id": name, "transport": "http", "verdict": verdict, "covers": [], "elapsed_ms": 1, "at": "a:1:1" });
        let stray = |of: Option<&str>| serde_json::json!({ "host": "peer", "kind": "http", "at_ms": 1, "case": of });
        let record = serde_json::json!({
            "protocol": "one", "spec": "", "suite_hash": "", "levels": [], "features": [], "requirements": [],
            "cases": [case("p/a#fine", "pass"), case("p/a#broken", "fail")],
            "strays": [stray(Some("p/a#fine")), stray(Some("p/a#broken")), stray(Some("p/a#unknown")), stray(None)],
        });
        let protocol: ProtocolRecord = serde_json::from_value(record).expect("a record");
        let notable: Vec<_> = notable_strays(&protocol).into_iter().map(|stray| stray.case.as_deref()).collect();
        assert_eq!(notable, [Some("p/a#broken"), Some("p/a#unknown"), None]);
    }

    #[test]
    fn a_case_id_has_a_suite_and_a_name() {
        assert_eq!(split_id("agentic/deposit#refuses[1]@adapter"), ("agentic/deposit", "refuses[1]@adapter"));
        assert_eq!(split_id("no-suite"), ("", "no-suite"));
    }
}
