//! Violations by cause: findings of the same operation that show the same difference at the same place.
//!
//! One defect of a target fails many cases and requirements. Their findings differ in ids, times and digests, so these are
//! left out of the comparison.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::shape::{shape, stable, without_ids};
use super::{printable, view};
use crate::record::{CaseRecord, CauseRecord, FindingRecord, ProtocolRecord};
use crate::verdict::Verdict;

/// Bytes up to which the headline of a cause shows a text as it was said.
const PLAIN: usize = 120;

/// Findings with one probable cause.
pub(super) struct Cause<'a> {
    /// What the findings have in common.
    kind: Kind<'a>,
    /// The differences that they show: one, unless a mistake shows in several ways.
    differences: BTreeSet<Difference<'a>>,
    /// What was expected and observed, as long as it is the same in all of them.
    said: Option<(&'a str, &'a str)>,
    /// The case with the fewest messages, and its finding. The finding is missing if the case has none.
    pub example: (&'a CaseRecord, Option<&'a FindingRecord>),
    /// The requirements that it violates, in the order of the catalogue.
    pub requirements: Vec<&'a str>,
    /// The cases that fail with it, in the order of the record.
    pub cases: Vec<&'a CaseRecord>,
    /// How many cases decide nothing as long as it lasts.
    pub blocks: usize,
}

impl Cause<'_> {
    /// The cause in one line, without ids and digests. Its texts come from the target: print them with care.
    pub(super) fn headline(&self) -> String {
        let Difference { operation, place, expected, observed } = match &self.kind {
            Kind::Mistake(mistake) => return (*mistake).to_owned(),
            Kind::Difference(difference) => difference,
        };
        // Texts that are equal in all findings are shown, unless they are long or differ from run to run.
        let is_plain = |text: &str| text.len() <= PLAIN && without_ids(text) == text;
        let said = self.said.filter(|(expected, observed)| is_plain(expected) && is_plain(observed));
        let (expected, observed) = said.unwrap_or((expected, observed));
        match self.example.1 {
            Some(_) => words(operation, place, expected, observed),
            None => observed.to_owned(),
        }
    }

    /// `4 cases`, or with those that it keeps undecided `4 cases, and 27 are undecided because of it`.
    pub(super) fn extent(&self) -> String {
        let cases = printable::count(self.cases.len(), "case", "cases");
        match self.blocks {
            0 => cases,
            1 => format!("{cases}, and 1 is undecided because of it"),
            blocks => format!("{cases}, and {blocks} are undecided because of it"),
        }
    }

    /// The cause for the record.
    pub(super) fn record(&self) -> CauseRecord {
        let reason = match &self.kind {
            Kind::Mistake(mistake) => stable_reason("", "", "", mistake),
            Kind::Difference(difference) => difference.reason(),
        };
        CauseRecord {
            fingerprint: reason.fingerprint,
            text: self.headline(),
            requirements: self.requirements.iter().map(|id| (*id).to_owned()).collect(),
            cases: self.cases.len() as u64,
            blocks: self.blocks as u64,
            example: self.example.0.id.clone(),
        }
    }

    /// The cases that it keeps undecided: they build on a prerequisite that the violated requirements are about, or on the same
    /// observation.
    fn blocked(&self, protocol: &ProtocolRecord, undecided: &[(&str, String)]) -> usize {
        let explains = |ids: &[String]| ids.iter().any(|id| self.requirements.contains(&id.as_str()));
        let of_features = protocol.features.iter().filter(|feature| explains(&feature.explained_by));
        let of_features: u64 = of_features.map(|feature| feature.blocks).sum();
        let builds_on_it = |(because, shape): &&(&str, String)| {
            self.differences.iter().any(|difference| {
                let Difference { operation, place, expected, observed } = difference;
                because.contains(&format!("({operation})")) && shape.ends_with(&words("", place, expected, observed))
            })
        };
        usize::try_from(of_features).unwrap_or(usize::MAX) + undecided.iter().filter(builds_on_it).count()
    }
}

/// A finding in one line: `send: expected one of 200, 201 at /status, observed 400`. Its texts come from the target: print them
/// with care.
pub(super) fn sentence(case: &CaseRecord, finding: &FindingRecord) -> String {
    let operation = view::shown_by(case, Some(finding)).map_or("", |exchange| exchange.operation.as_str());
    words(operation, &finding.path, &finding.expected, &finding.observed)
}

/// The finding that decides the verdict of a case; a warning may come before the failure.
pub(super) fn telling(case: &CaseRecord) -> Option<&FindingRecord> {
    case.findings.iter().find(|finding| finding.verdict == case.verdict).or(case.findings.first())
}

fn words(operation: &str, place: &str, expected: &str, observed: &str) -> String {
    let colon = if operation.is_empty() { "" } else { ": " };
    let at = if place.is_empty() { "" } else { " at " };
    format!("{operation}{colon}expected {expected}{at}{place}, observed {observed}")
}

/// The causes of the failed cases of `protocol`: first the one that keeps most cases undecided, then the one with most cases.
/// Waived cases do not count.
///
/// Known failures do not count either: the reports list them apart.
pub(super) fn causes<'r>(protocol: &'r ProtocolRecord, known: &BTreeSet<&str>) -> Vec<Cause<'r>> {
    let index = view::requirement_index(protocol);
    let mut groups: BTreeMap<Kind<'_>, Cause<'_>> = BTreeMap::new();
    for case in protocol.cases.iter().filter(|case| case.verdict == Verdict::Fail && !known.contains(case.id.as_str()))
    {
        let mut failed: Vec<Option<&FindingRecord>> =
            case.findings.iter().filter(|finding| finding.verdict == Verdict::Fail).map(Some).collect();
        if failed.is_empty() {
            failed.push(None);
        }
        for finding in failed {
            let operation = view::shown_by(case, finding).map_or("", |exchange| exchange.operation.as_str());
            let requirement = finding
                .map_or_else(|| case.covers.first().map_or("", String::as_str), |finding| finding.requirement.as_str());
            let difference = Difference::of(operation, case, finding);
            let mistake = finding.and_then(|finding| finding.mistake.as_ref());
            let kind = mistake
                .map_or_else(|| Kind::Difference(difference.clone()), |mistake| Kind::Mistake(mistake.text.as_str()));
            let said = finding.map(|finding| (finding.expected.as_str(), finding.observed.as_str()));
            let cause = groups.entry(kind.clone()).or_insert_with(|| Cause {
                kind,
                differences: BTreeSet::new(),
                said,
                example: (case, finding),
                requirements: Vec::new(),
                cases: Vec::new(),
                blocks: 0,
            });
            cause.differences.insert(difference);
            if cause.said != said {
                cause.said = None;
            }
            if !cause.requirements.contains(&requirement) {
                cause.requirements.push(requirement);
            }
            if cause.cases.last().is_none_or(|last| last.id != case.id) {
                cause.cases.push(case);
            }
            if effort(case, finding) < effort(cause.example.0, cause.example.1) {
                cause.example = (case, finding);
            }
        }
    }
    let mut causes: Vec<_> = groups.into_values().collect();
    let undecided = protocol.cases.iter().filter(|case| case.verdict == Verdict::Inconclusive);
    let undecided: Vec<_> = undecided.map(|case| (case.because.as_str(), shape(&case.because))).collect();
    for cause in &mut causes {
        cause.requirements.sort_by_key(|id| index.get(id).copied().unwrap_or(usize::MAX));
        cause.blocks = cause.blocked(protocol, &undecided);
    }
    causes.sort_by_key(|cause| (Reverse(cause.blocks), Reverse(cause.cases.len()), Reverse(cause.requirements.len())));
    causes
}

/// How much a reader has to read to understand a finding, for a comparison: a mistake that it shows itself comes before one that
/// it follows from, and fewer messages before more.
fn effort(case: &CaseRecord, finding: Option<&FindingRecord>) -> (bool, usize) {
    let mistake = finding.and_then(|finding| finding.mistake.as_ref());
    (mistake.is_some_and(|mistake| mistake.follows), case.exchanges.len())
}

/// The requirements that a failed case of `protocol` violates.
pub(super) fn violated<'a>(causes: &[Cause<'a>]) -> BTreeSet<&'a str> {
    causes.iter().flat_map(|cause| &cause.requirements).copied().collect()
}

/// Why a case failed or was not decided, without anything that differs between two runs: ids, digests, times, ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reason {
    /// Identifies the cause across runs, seeds and targets: `cause-` and twelve hexadecimal digits.
    pub fingerprint: String,
    /// The cause in one line. It comes from the target: print it with care.
    pub text: String,
    /// The known mistake that it comes from. It is no part of the fingerprint: other failures of the run decide whether it is
    /// recognised, and a fingerprint is of one case alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mistake: Option<String>,
}

/// The reasons for the verdict of a case, sorted and without duplicates: of each failed finding if it failed, else of its
/// explanation. Empty for a case that passed or did not run.
pub fn reasons(case: &CaseRecord) -> Vec<Reason> {
    let explained = || vec![stable_reason("", "", "", &case.because)];
    let mut reasons = match case.verdict {
        Verdict::Fail => {
            let failed = case.findings.iter().filter(|finding| finding.verdict == Verdict::Fail);
            let of_findings: Vec<_> = failed.map(|finding| reason_of(case, finding)).collect();
            if of_findings.is_empty() { explained() } else { of_findings }
        }
        Verdict::Inconclusive | Verdict::Error => match case.findings.first() {
            Some(finding) if case.because.is_empty() => vec![reason_of(case, finding)],
            _ => explained(),
        },
        Verdict::Pass | Verdict::Warn | Verdict::NotRun => Vec::new(),
    };
    reasons.sort();
    reasons.dedup();
    reasons
}

fn reason_of(case: &CaseRecord, finding: &FindingRecord) -> Reason {
    let operation = view::shown_by(case, Some(finding)).map_or("", |exchange| exchange.operation.as_str());
    let mistake = finding.mistake.as_ref().map(|mistake| mistake.text.clone());
    Reason { mistake, ..Difference::of(operation, case, Some(finding)).reason() }
}

fn stable_reason(operation: &str, place: &str, expected: &str, observed: &str) -> Reason {
    let (place, expected, observed) = (stable(place), stable(expected), stable(observed));
    let mut digest = Sha256::new();
    for part in [operation, &place, &expected, &observed] {
        // The length keeps the parts apart.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let hex: String = digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let text = if expected.is_empty() { observed } else { words(operation, &place, &expected, &observed) };
    let text = if text.is_empty() { "no reason given".to_owned() } else { text };
    Reason { fingerprint: format!("cause-{hex}"), text, mistake: None }
}

/// What findings of one cause have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind<'a> {
    /// A mistake that the judge recognised.
    Mistake(&'a str),
    /// What they show.
    Difference(Difference<'a>),
}

/// The difference that a finding shows, without its values.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Difference<'a> {
    operation: &'a str,
    place: String,
    expected: String,
    observed: String,
}

impl<'a> Difference<'a> {
    fn of(operation: &'a str, case: &CaseRecord, finding: Option<&FindingRecord>) -> Self {
        let (place, expected, observed) = match finding {
            Some(finding) => (&finding.path, &finding.expected, &finding.observed),
            None => (&String::new(), &String::new(), &case.because),
        };
        let observed = if place == "/status" && is_success(observed) { "2xx".to_owned() } else { shape(observed) };
        Self { operation, place: without_positions(place), expected: shape(expected), observed }
    }

    fn reason(&self) -> Reason {
        stable_reason(self.operation, &self.place, &self.expected, &self.observed)
    }
}

/// Whether `status` is one of the statuses of HTTP that mean success: to accept what is invalid is one defect with any of them.
fn is_success(status: &str) -> bool {
    status.parse::<u16>().is_ok_and(|status| (200..300).contains(&status))
}

/// A JSON Pointer with `*` for each position in a list.
fn without_positions(path: &str) -> String {
    let is_position = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = path.split('/').map(|part| if is_position(part) { "*" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A failed case of `requirement` whose answer to a deposit has another status.
    fn failed(id: &str, requirement: &str, observed: &str) -> serde_json::Value {
        json!({
            "id": id, "transport": "http", "verdict": "fail", "covers": [requirement], "elapsed_ms": 1, "at": "a:1:1",
            "findings": [{ "requirement": requirement, "verdict": "fail", "expected": "201", "observed": observed, "path": "/status", "at": "a:1:1" }],
        })
    }

    fn undecided(id: &str, because: &str) -> serde_json::Value {
        json!({
            "id": id, "transport": "http", "verdict": "inconclusive", "because": because, "covers": ["P-9"], "elapsed_ms": 1, "at": "a:1:1",
        })
    }

    fn protocol(features: &serde_json::Value, cases: &[serde_json::Value]) -> ProtocolRecord {
        let record = json!({
            "protocol": "p", "spec": "P", "suite_hash": "", "levels": [], "features": features, "requirements": [], "cases": cases,
        });
        serde_json::from_value(record).expect("a record")
    }

    #[test]
    fn the_cause_that_keeps_most_cases_undecided_comes_first() {
        let feature = json!([{
            "feature": "stores", "about": "It stores.", "state": "absent", "blocks": 3, "explained_by": ["P-2"],
        }]);
        let cases = vec![failed("p/a#1", "P-1", "500"), failed("p/a#2", "P-1", "500"), failed("p/a#3", "P-2", "400")];
        let record = protocol(&feature, &cases);
        let causes = causes(&record, &BTreeSet::new());
        let found: Vec<_> =
            causes.iter().map(|cause| (cause.requirements[0], cause.cases.len(), cause.blocks)).collect();
        assert_eq!(found, [("P-2", 1, 3), ("P-1", 2, 0)]);
        assert_eq!(causes[0].extent(), "1 case, and 3 are undecided because of it");
        assert_eq!(causes[1].extent(), "2 cases");

        // Without the feature the cause with more cases comes first.
        let record = protocol(&json!([]), &cases);
        let first = super::causes(&record, &BTreeSet::new()).remove(0).record();
        assert_eq!((first.requirements, first.cases, first.blocks), (vec!["P-1".to_owned()], 2, 0));
        assert_eq!((first.text.as_str(), first.example.as_str()), ("expected 201 at /status, observed 500", "p/a#1"));
        assert_eq!(first.fingerprint, reasons(&record.cases[0])[0].fingerprint);
    }

    #[test]
    fn a_cause_shows_the_words_that_all_its_findings_have_in_common() {
        let text_of = |observed: [&str; 2]| {
            let cases = observed.map(|observed| failed(&format!("p/a#{}", observed.len()), "P-1", observed));
            let record = protocol(&json!([]), &cases);
            causes(&record, &BTreeSet::new()).iter().map(Cause::headline).collect::<Vec<_>>()
        };
        assert_eq!(text_of(["\"silent\"", "\"silent\""]), ["expected 201 at /status, observed \"silent\""]);
        assert_eq!(text_of(["\"silent\"", "\"closed\""]), ["expected 201 at /status, observed \"…\""]);
        // An id differs in the next run.
        let id = "\"0f3b1c2d4e5f6071\"";
        assert_eq!(text_of([id, id]), ["expected 201 at /status, observed \"…\""]);
        let long = format!("\"{}\"", "o".repeat(PLAIN));
        assert_eq!(text_of([&long, &long]), ["expected 201 at /status, observed \"…\""]);
    }

    #[test]
    fn a_case_that_builds_on_the_same_observation_depends_on_its_cause() {
        let why = "step 1 () precondition not met: expected 201 at /status, observed 500";
        let other = "step 1 () precondition not met: expected 201 at /status, observed 409";
        let cases = [failed("p/a#1", "P-1", "500"), undecided("p/a#2", why), undecided("p/a#3", other)];
        let record = protocol(&json!([]), &cases);
        assert_eq!(causes(&record, &BTreeSet::new())[0].blocks, 1);
    }

    #[test]
    fn positions_in_lists_are_not_part_of_a_place() {
        assert_eq!(without_positions("/packages/12/title"), "/packages/*/title");
        assert_eq!(without_positions("/status"), "/status");
        assert_eq!(without_positions(""), "");
    }
}
