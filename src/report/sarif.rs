//! SARIF 2.1.0, the format in which code scanning services take findings: a rule for each requirement that is not met, and a
//! result for each finding, at the line of the suite that it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::{Value, json};

use super::{baseline, cause, json as record_json, printable, view};
use crate::record::{CaseRecord, FindingRecord, ProtocolRecord, RequirementRecord, RunRecord};
use crate::verdict::Verdict;

/// Characters of one text. The texts of a target can be long.
const TEXT_LENGTH: usize = 2000;

/// Results of one run; services refuse files with more.
const RESULTS: usize = 5000;

/// Writes `record` as SARIF: one run for each protocol.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let runs: Vec<Value> = record.protocols.iter().map(|protocol| run(record, protocol)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    });
    record_json::write_visible(&log, out)
}

fn run(record: &RunRecord, protocol: &ProtocolRecord) -> Value {
    let known = baseline::known(record);
    let requirements: BTreeMap<&str, &RequirementRecord> =
        protocol.requirements.iter().map(|requirement| (requirement.id.as_str(), requirement)).collect();
    let mut rules = Vec::new();
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    let mut results = Vec::new();
    let mut left_out = 0_usize;
    for case in &protocol.cases {
        for finding in case.findings.iter().filter(|finding| level(finding.verdict).is_some()) {
            if results.len() == RESULTS {
                left_out += 1;
                continue;
            }
            let rule = *index.entry(finding.requirement.as_str()).or_insert_with(|| {
                rules.push(rule(
                    protocol,
                    &finding.requirement,
                    requirements.get(finding.requirement.as_str()).copied(),
                ));
                rules.len() - 1
            });
            results.push(result(case, finding, rule, &known));
        }
    }
    json!({
        "tool": { "driver": {
            "name": "proofmark",
            "version": text(&record.proofmark),
            "rules": rules,
        }},
        "automationDetails": { "id": format!("proofmark/{}/", text(&protocol.protocol)) },
        "invocations": [{
            "executionSuccessful": record.summary.cut_short.is_none(),
            "exitCode": record.summary.exit_code,
        }],
        "results": results,
        "properties": {
            "target": text(&record.target.name),
            "spec": text(&protocol.spec),
            "profile": record.profile.word(),
            "seed": record.seed,
            "conclusion": text(&record.summary.conclusion),
            "resultsLeftOut": left_out,
        },
    })
}

/// How a finding counts; `None` if it does not tell of a violation.
fn level(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Fail => Some("error"),
        Verdict::Warn => Some("warning"),
        Verdict::Pass | Verdict::Inconclusive | Verdict::Error | Verdict::NotRun => None,
    }
}

fn rule(protocol: &ProtocolRecord, id: &str, requirement: Option<&RequirementRecord>) -> Value {
    let Some(requirement) = requirement else { return json!({ "id": text(id) }) };
    let RequirementRecord { summary, keyword, section, .. } = requirement;
    let help = format!("{summary} {keyword} of {}, section {section}.", protocol.spec);
    json!({
        "id": text(id),
        "shortDescription": { "text": text(&requirement.summary) },
        "help": { "text": text(&help) },
        "properties": {
            "keyword": text(&requirement.keyword),
            "level": text(&requirement.level),
            "section": text(&requirement.section),
        },
    })
}

fn result(case: &CaseRecord, finding: &FindingRecord, rule: usize, known: &BTreeSet<&str>) -> Value {
    let sentence = format!("{}: {}", finding.requirement, cause::sentence(case, finding));
    let mut result = json!({
        "ruleId": text(&finding.requirement),
        "ruleIndex": rule,
        "level": level(finding.verdict),
        "message": { "text": text(&format!("{sentence}. Replay: {}", case.replay)) },
        "locations": [location(&finding.at)],
        "partialFingerprints": { "proofmarkCase/v1": text(&format!("{} {}", case.id, finding.requirement)) },
        "properties": { "case": text(&case.id), "transport": case.transport.name(), "path": text(&finding.path) },
    });
    if known.contains(case.id.as_str()) {
        result["suppressions"] = json!([{ "kind": "external", "justification": "a known failure of the baseline" }]);
    }
    if let Some(exchange) = view::shown_by(case, Some(finding)) {
        result["properties"]["request"] = text(&view::request_line(exchange)).into();
        result["properties"]["answer"] = text(&view::answer_line(exchange)).into();
    }
    result
}

/// The place `file:line:column` of a suite.
fn location(at: &str) -> Value {
    let mut parts = at.rsplitn(3, ':');
    let column = parts.next().and_then(|part| part.parse::<u64>().ok()).filter(|number| *number > 0);
    let line = parts.next().and_then(|part| part.parse::<u64>().ok()).filter(|number| *number > 0);
    match (parts.next(), line, column) {
        (Some(file), Some(line), Some(column)) => json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": line, "startColumn": column },
        }}),
        _ => json!({ "physicalLocation": { "artifactLocation": { "uri": uri(at) } } }),
    }
}

/// A path as a URI reference: a relative one stays relative.
fn uri(path: &str) -> String {
    const KEPT: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    percent_encoding::utf8_percent_encode(&printable::short(path, TEXT_LENGTH), KEPT).to_string()
}

fn text(text: &str) -> String {
    printable::short(text, TEXT_LENGTH)
}
