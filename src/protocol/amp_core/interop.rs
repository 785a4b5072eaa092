//! `interop-report.json`: the report that the authors of RFC 001 request from implementations (section 1.5.2), in the
//! schema of their conformance suite.
//!
//! A vector of that suite is a section of an appendix, such as `001:A.4`, and so are the requirements of the catalogue that
//! its bytes demand: their verdicts are its verdict. Two entries read otherwise than their name (erratum E82): `001:A.1`
//! lists keys and holds when the keys belong together, and `001:A.6` is judged by the corrected message.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use crate::record::{CaseRecord, RequirementRecord, RunRecord};
use crate::report::{Format, json, printable};
use crate::verdict::Verdict;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "interop",
    file_name: "interop-report.json",
    summary: "the report that the authors of RFC 001 collect, by published vector (amp-core)",
    write,
    has_evidence: false,
};

/// The only version of the suite that the schema allows.
const SUITE: &str = "2026-02-07-draft-v1";

/// The protocol of the record.
const PROTOCOL: &str = "amp-core";

/// The requirements of the suite, except those of the appendices of RFC 001 and RFC 002.
const ELSEWHERE: &[&str] = &[
    "003:A.1",
    "003:A.5",
    "003:A.15",
    "004:A.2",
    "004:A.15",
    "004:A.23",
    "005:A.4",
    "005:A.14",
    "005:A.20",
    "006:A.2",
    "006:A.15",
    "006:A.17",
    "007:A.9",
    "007:A.17a",
    "007:A.17b",
    "007:A.18",
    "007:A.21",
];

/// The requirements of these appendices.
const REQUIRED: &[&str] = &["001:A.1", "001:A.2", "001:A.6", "002:A.1", "002:A.2"];

#[derive(Serialize)]
struct Interop {
    suite_version: &'static str,
    implementation: Implementation,
    run: Run,
    results: Vec<Entry>,
}

#[derive(Serialize)]
struct Implementation {
    id: String,
    version: String,
}

#[derive(Serialize)]
struct Run {
    executed_at: String,
    environment: Environment,
}

#[derive(Serialize)]
struct Environment {
    os: &'static str,
    arch: &'static str,
    runtime: String,
    notes: String,
}

#[derive(Serialize)]
struct Entry {
    vector_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    notes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_ref: Option<String>,
}

/// The cases of a record, by id.
type Cases<'r> = BTreeMap<&'r str, &'r CaseRecord>;

/// Writes the entries of the suite that RFC 001 and RFC 002 print, in their order, and then the others as skipped.
///
/// # Errors
///
/// Those of `out`.
fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let ours = record.protocols.iter().find(|protocol| protocol.protocol == PROTOCOL);
    let mut vectors: BTreeMap<(&str, u32), Vec<&RequirementRecord>> = BTreeMap::new();
    for requirement in ours.iter().flat_map(|protocol| &protocol.requirements) {
        if let Some(place) = appendix(&requirement.section) {
            vectors.entry(place).or_default().push(requirement);
        }
    }
    let cases: Cases<'_> =
        ours.iter().flat_map(|protocol| &protocol.cases).map(|case| (case.id.as_str(), case)).collect();
    let mut results: Vec<Entry> =
        vectors.iter().map(|((rfc, number), demands)| entry(format!("{rfc}:A.{number}"), demands, &cases)).collect();
    let missing = REQUIRED.iter().filter(|id| !results.iter().any(|entry| entry.vector_id == **id));
    let skipped = missing.map(|id| skip(id, "amp-core was not part of this run")).collect::<Vec<_>>();
    results.extend(skipped);
    results.extend(ELSEWHERE.iter().map(|id| skip(id, "proofmark checks RFC 001 and the binding of RFC 002")));
    let declared = record.target.declared.get(PROTOCOL);
    let said = |name: &str| declared.and_then(|said| said.get(name)).and_then(serde_json::Value::as_str);
    let report = Interop {
        suite_version: SUITE,
        implementation: Implementation {
            id: shown(said("name").unwrap_or(&record.target.name)),
            version: shown(said("version").unwrap_or("unknown")),
        },
        run: Run {
            executed_at: printable::line(&record.started_at).into_owned(),
            environment: Environment {
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                runtime: format!("proofmark {}", record.proofmark),
                notes: format!(
                    "seed {}, profile {}, suite {}",
                    record.seed,
                    record.profile.word(),
                    ours.map_or("none", |protocol| &protocol.suite_hash)
                ),
            },
        },
        results,
    };
    json::write_visible(&report, out)
}

/// The RFC and the number of a section of an appendix A: sections are `A.4`, and `002-A.4` for those of RFC 002.
fn appendix(section: &str) -> Option<(&'static str, u32)> {
    let (rfc, rest) = match section.strip_prefix("002-") {
        Some(rest) => ("002", rest),
        None => ("001", section),
    };
    Some((rfc, rest.strip_prefix("A.")?.parse().ok()?))
}

/// `fail` if one requirement fails, `pass` if all decided ones hold and none is open, else `skip`.
fn entry(vector_id: String, demands: &[&RequirementRecord], cases: &Cases<'_>) -> Entry {
    let of =
        |verdicts: &[Verdict]| demands.iter().filter(|demand| verdicts.contains(&demand.verdict)).collect::<Vec<_>>();
    let ids =
        |found: &[&&RequirementRecord]| found.iter().map(|demand| demand.id.as_str()).collect::<Vec<_>>().join(", ");
    let failed = of(&[Verdict::Fail]);
    let open = of(&[Verdict::Inconclusive, Verdict::Error]);
    let held = of(&[Verdict::Pass, Verdict::Warn]);
    let (status, mut notes) = if !failed.is_empty() {
        ("fail", format!("violates {}", ids(&failed)))
    } else if !open.is_empty() {
        ("skip", format!("inconclusive: {}", ids(&open)))
    } else if held.is_empty() {
        ("skip", "not run".to_owned())
    } else {
        let idle = of(&[Verdict::NotRun]).into_iter().filter(|demand| demand.uncovered.is_none()).collect::<Vec<_>>();
        ("pass", if idle.is_empty() { String::new() } else { format!("{} was not run", ids(&idle)) })
    };
    if vector_id == "001:A.6" {
        let also = if notes.is_empty() { "" } else { "; " };
        notes = format!("{notes}{also}judged by the corrected message: the printed ciphertext does not open (E01)");
    }
    // A case that shows the verdict, not one of the others that cover the requirement.
    let shows = |demand: &RequirementRecord, id: &&String| {
        let outcomes = cases.get(id.as_str()).map(|case| &case.outcomes);
        outcomes.and_then(|outcomes| outcomes.get(&demand.id)) == Some(&demand.verdict)
    };
    let shown = failed.first().or(if status == "pass" { held.first() } else { None });
    let evidence_ref = shown.and_then(|demand| demand.cases.iter().find(|id| shows(demand, id))).cloned();
    Entry { vector_id, status, notes, evidence_ref }
}

fn skip(vector_id: &str, notes: &str) -> Entry {
    Entry { vector_id: vector_id.to_owned(), status: "skip", notes: notes.to_owned(), evidence_ref: None }
}

/// A self-description of the target, safe to display; never empty, because the schema requires a character.
fn shown(text: &str) -> String {
    let text = printable::line(text).into_owned();
    if text.is_empty() { "unknown".to_owned() } else { text }
}
