//! The HTML report: one self-contained page with all details.
//!
//! This file lays out the page; [`overview`] renders levels and requirements, [`filters`] what finds them, [`case`] cases, [`message`] exchanges,
//! [`pretty`] the bodies in them. The template escapes every value for HTML, and [`printable`] filters the finished page, so
//! that it contains no hidden character. No data is written into the script.

use std::collections::BTreeSet;
use std::io;

use askama::Template;
use sha2::{Digest as _, Sha256};

use self::case::{CaseRenderer, RowsView, Whole};
use self::filters::{Facetted, Filter};
use self::message::Budget;
use self::overview::ProtocolView;
use super::{baseline, cause, printable, view};
use crate::record::RunRecord;
use anchors::Anchors;
use badge::Badge;

mod anchors;
mod badge;
mod case;
mod exploration;
mod filters;
mod message;
mod overview;
mod pretty;

const STYLE: &str = include_str!("../../templates/report.css");
const SCRIPT: &str = include_str!("../../templates/report.js");

/// Bytes that exchanges of findings may add to the page.
const FINDINGS_BUDGET: usize = 1_100_000;
/// Bytes that exchanges of passed cases may add to the page.
const PASSED_BUDGET: usize = 400_000;
/// Numbers of cases that the page shows whole. A page of 10,000 cases is meant to stay under 5 MB.
const WHOLE: Whole = Whole { findings: 200, passed: 200 };

/// Writes `record` as one HTML file that needs no network.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let page = page(record).render().map_err(io::Error::other)?;
    out.write_all(printable::block(page.trim_end()).as_bytes())?;
    out.write_all(b"\n")
}

#[derive(Template)]
#[template(path = "report.html", whitespace = "minimize")]
struct Page {
    policy: String,
    target: String,
    conclusion: String,
    conclusion_badge: Badge,
    advice: Vec<String>,
    cut_short: String,
    facts: Vec<(&'static str, String)>,
    totals: Vec<Total>,
    total: u64,
    protocols: Vec<ProtocolView>,
    baseline: String,
    known: Vec<(&'static str, String)>,
    filters: Vec<Filter>,
    finding_filters: Vec<Filter>,
    findings: usize,
    passed: usize,
    not_run: usize,
    requirements: usize,
    passed_cut: bool,
    findings_cut: bool,
    has_violations: bool,
}

struct Total {
    badge: Badge,
    number: u64,
    /// Its part of the bar, in thousandths, and the start of that part.
    start: u64,
    length: u64,
}

fn page(record: &RunRecord) -> Page {
    let mut findings_budget = Budget(FINDINGS_BUDGET);
    let mut passed_budget = Budget(PASSED_BUDGET);
    let mut whole = WHOLE;
    let mut open = Vec::new();
    let mut taken = BTreeSet::new();
    let mut protocols = Vec::new();
    let known = baseline::known(record);
    for protocol in &record.protocols {
        let anchors = Anchors::new(protocol, &mut taken);
        let causes = cause::causes(protocol, &known);
        let facetted = Facetted::new(protocol, &causes);
        let renderer = CaseRenderer {
            protocol,
            anchors: &anchors,
            facetted: &facetted,
            spent_on_findings: &mut findings_budget,
            spent_on_passed: &mut passed_budget,
            whole: &mut whole,
            open: &mut open,
        };
        protocols.push(overview::protocol(record, protocol, &anchors, &causes, renderer));
    }
    let summary = &record.summary;
    let good = summary.exit_code == 0;
    let badge = match summary.exit_code {
        0 if record.baseline.as_ref().is_some_and(|baseline| !baseline.known.is_empty()) => {
            Badge { word: "no new failures", shape: "\u{2713}" }
        }
        0 => Badge { word: "conformant", shape: "\u{2713}" },
        1 => Badge { word: "not conformant", shape: "\u{2715}" },
        _ => Badge { word: "undecided", shape: "?" },
    };
    Page {
        policy: policy(),
        target: printable::short(&record.target.name, 300),
        conclusion: without_word(&summary.conclusion, badge.word),
        conclusion_badge: badge,
        advice: summary.advice.iter().map(|line| printable::short(line, 500)).collect(),
        cut_short: printable::short(summary.cut_short.as_deref().unwrap_or_default(), 500),
        facts: facts(record),
        totals: totals(record),
        total: summary.cases.rows().iter().map(|(_, n)| n).sum(),
        baseline: baseline::heading(record).unwrap_or_default(),
        known: baseline::lines(record).into_iter().map(|line| (line.label, line.text)).collect(),
        filters: filters::of_requirements(record),
        finding_filters: filters::of_findings(record, &known),
        findings: protocols.iter().map(|p| p.findings.len() + in_rows(&p.brief_findings)).sum(),
        passed: protocols.iter().map(|p| p.passed.len() + in_rows(&p.brief_passed)).sum(),
        not_run: protocols.iter().flat_map(|p| &p.not_run).map(|(_, cases)| cases.len()).sum::<usize>()
            + protocols.iter().map(|p| p.not_selected).sum::<usize>(),
        requirements: protocols.iter().map(|p| p.requirements.len()).sum(),
        passed_cut: passed_budget.0 == 0,
        findings_cut: findings_budget.0 == 0 && !good,
        has_violations: protocols.iter().any(|protocol| !protocol.violations.is_empty()),
        protocols,
    }
}

fn in_rows(suites: &[RowsView]) -> usize {
    suites.iter().flat_map(|suite| &suite.groups).map(|group| group.rows.len() + group.unlisted).sum()
}

/// The conclusion without its first word, which the badge already shows.
fn without_word(conclusion: &str, word: &str) -> String {
    let rest = conclusion.strip_prefix(word).map(|rest| rest.trim_start_matches([':', ',', ' ']));
    printable::short(rest.unwrap_or(conclusion), 500)
}

/// The policy forbids loading anything, and permits only the page's own script and style, by hash: markup that slipped
/// through the escaping would have no effect.
fn policy() -> String {
    // The hash of the text in the page, whose line ends may differ from those of the source file.
    let hash = |text: &str| data_encoding::BASE64.encode(&Sha256::digest(&*printable::block(text)));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("kind", record.target.kind.to_string()),
        ("profile", record.profile.word().to_owned()),
        ("seed", record.seed.to_string()),
    ];
    if record.identity_seed != record.seed {
        facts.push(("identity seed", record.identity_seed.to_string()));
    }
    let asked = &record.asked;
    facts.extend(asked.levels.iter().map(|level| ("required", format!("level {level}"))));
    if !asked.only.is_empty() {
        facts.push(("only", asked.only.join(", ")));
    }
    if !asked.requirements.is_empty() {
        facts.push(("requirements", asked.requirements.join(", ")));
    }
    facts.extend(asked.shard.iter().map(|shard| ("shard", shard.clone())));
    facts.push(("started", record.started_at.clone()));
    facts.push(("took", printable::duration(record.summary.elapsed_ms)));
    facts.push(("requests", record.summary.requests.to_string()));
    for (transport, counts) in view::by_transport(&record.protocols) {
        facts.push(("over", format!("{transport}: {counts}")));
    }
    facts.extend(view::retried(record).map(|retried| ("retried", retried)));
    facts.push(("exit code", record.summary.exit_code.to_string()));
    facts.push(("proofmark", record.proofmark.clone()));
    let shown = |(label, text): (_, String)| (label, printable::short(&text, 600));
    facts.into_iter().map(shown).collect()
}

fn totals(record: &RunRecord) -> Vec<Total> {
    let rows = record.summary.cases.rows();
    let all: u64 = rows.iter().map(|(_, n)| n).sum::<u64>().max(1);
    let mut before = 0;
    let mut totals = Vec::new();
    for (verdict, number) in rows {
        let (start, end) = (before * 1000 / all, (before + number) * 1000 / all);
        totals.push(Total { badge: Badge::verdict(verdict), number, start, length: end - start });
        before += number;
    }
    totals
}
