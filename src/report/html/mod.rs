//! One self-contained page: the place where an investigation ends.
//!
//! This file lays out the page; [`case`] draws cases, [`message`] draws exchanges, [`pretty`] indents bodies. The
//! template escapes every value for HTML, and the finished page passes through [`printable`] once more, so that no
//! hidden character reaches the reader, whichever way it came. No data is written into the script.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use askama::Template;
use sha2::{Digest as _, Sha256};

use self::case::{CaseView, Drawer};
use self::message::Budget;
use super::{printable, view};
use crate::record::{FeatureState, LevelRecord, ProtocolRecord, RequirementRecord, RunRecord};
use crate::verdict::{Grant, NotRun, Verdict};

mod case;
mod message;
mod pretty;

const STYLE: &str = include_str!("../../../templates/report.css");
const SCRIPT: &str = include_str!("../../../templates/report.js");

/// Bytes that exchanges of findings may add to the page.
const FINDINGS_BUDGET: usize = 16_000_000;
/// Bytes that exchanges of passed cases may add to the page.
const PASSED_BUDGET: usize = 3_000_000;
/// Failed cases that are expanded from the start.
const CASES_OPEN: usize = 5;
/// Characters of what a target declares of itself.
const DECLARED_LENGTH: usize = 16 * 1024;

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
    cut_short: String,
    facts: Vec<(&'static str, String)>,
    totals: Vec<Total>,
    total: u64,
    protocols: Vec<ProtocolView>,
    filters: Vec<Filter>,
    findings: usize,
    passed: usize,
    not_run: usize,
    requirements: usize,
    passed_cut: bool,
    findings_cut: bool,
}

/// A verdict or grant as a word with a shape: colour alone says nothing.
#[derive(Clone, Copy)]
struct Badge {
    word: &'static str,
    shape: &'static str,
}

impl Badge {
    fn class(&self) -> String {
        self.word.replace(' ', "-")
    }

    fn verdict(verdict: Verdict) -> Self {
        let shape = match verdict {
            Verdict::Pass => "\u{2713}",
            Verdict::Warn => "!",
            Verdict::Fail => "\u{2715}",
            Verdict::Inconclusive => "?",
            Verdict::Error => "\u{25b2}",
            Verdict::NotRun => "\u{2013}",
        };
        Self { word: verdict.word(), shape }
    }

    fn grant(grant: Grant) -> Self {
        let shape = match grant {
            Grant::Granted => "\u{2713}",
            Grant::Refused => "\u{2715}",
            Grant::Undecided => "?",
        };
        Self { word: grant.word(), shape }
    }
}

struct Total {
    badge: Badge,
    number: u64,
    /// Its part of the bar, in thousandths, and where that begins.
    start: u64,
    length: u64,
}

struct ProtocolView {
    slug: String,
    spec: String,
    suite_hash: String,
    levels: Vec<LevelView>,
    features: Vec<FeatureView>,
    declared: String,
    waivers: Vec<WaiverView>,
    requirements: Vec<RequirementView>,
    findings: Vec<CaseView>,
    passed: Vec<CaseView>,
    not_run: Vec<(&'static str, Vec<NotRunView>)>,
}

struct LevelView {
    name: String,
    badge: Badge,
    claimed: bool,
    /// What the claim and the measurement say together, where they disagree.
    disagreement: &'static str,
    blocking: String,
    groups: Vec<(Badge, &'static str, Vec<RequirementLink>)>,
    uncovered: Vec<RequirementLink>,
}

struct FeatureView {
    name: String,
    about: String,
    state: &'static str,
    advice: String,
    probes: Vec<String>,
}

struct WaiverView {
    what: String,
    reason: String,
    at: String,
    stale: String,
}

/// What the page says of a requirement wherever it is mentioned.
struct RequirementLink {
    id: String,
    /// Empty if the catalogue has no such entry.
    anchor: String,
    keyword: String,
    level: String,
    section: String,
    summary: String,
    badge: Option<Badge>,
}

struct RequirementView {
    link: RequirementLink,
    badge: Badge,
    reason: &'static str,
    coverage: &'static str,
    why_not: String,
    errata: String,
    cases: Vec<CaseLink>,
    more_cases: Vec<CaseLink>,
}

struct CaseLink {
    anchor: String,
    name: String,
    badge: Badge,
}

struct NotRunView {
    anchor: String,
    id: String,
    because: String,
}

/// One group of toggles over the requirements.
struct Filter {
    key: &'static str,
    title: &'static str,
    values: Vec<(String, usize)>,
}

/// Fragment ids: the id that it stands for, as far as HTML allows, so that links survive the next run.
struct Anchors<'a> {
    cases: BTreeMap<&'a str, (String, Verdict)>,
    requirements: BTreeMap<&'a str, (String, usize)>,
}

impl<'a> Anchors<'a> {
    fn new(protocol: &'a ProtocolRecord, taken: &mut BTreeSet<String>) -> Self {
        let mut fresh = |prefix: &str, id: &str| {
            let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            let mut name: String = id.chars().map(|c| if kept(c) { c } else { '-' }).take(120).collect();
            name.insert_str(0, prefix);
            while !taken.insert(name.clone()) {
                name.push_str("-again");
            }
            name
        };
        let cases = protocol.cases.iter().map(|case| (case.id.as_str(), (fresh("case-", &case.id), case.verdict)));
        let cases = cases.collect();
        let entries = protocol.requirements.iter().enumerate();
        let requirements = entries.map(|(at, r)| (r.id.as_str(), (fresh("req-", &r.id), at))).collect();
        Self { cases, requirements }
    }

    fn case(&self, id: &str) -> String {
        self.cases.get(id).map_or(String::new(), |(anchor, _)| anchor.clone())
    }

    fn requirement(&self, protocol: &ProtocolRecord, id: &str, verdict: Option<Verdict>) -> RequirementLink {
        let known = self.requirements.get(id);
        let entry = known.and_then(|(_, at)| protocol.requirements.get(*at));
        let text = |of: fn(&RequirementRecord) -> &String, most| {
            entry.map_or(String::new(), |r| printable::short(of(r), most))
        };
        RequirementLink {
            id: printable::short(id, 100),
            anchor: known.map_or(String::new(), |(anchor, _)| anchor.clone()),
            keyword: text(|r| &r.keyword, 20),
            level: text(|r| &r.level, 30),
            section: text(|r| &r.section, 40),
            summary: text(|r| &r.summary, 1000),
            badge: verdict.map(Badge::verdict),
        }
    }
}

fn page(record: &RunRecord) -> Page {
    let mut findings_budget = Budget(FINDINGS_BUDGET);
    let mut passed_budget = Budget(PASSED_BUDGET);
    let mut open = CASES_OPEN;
    let mut taken = BTreeSet::new();
    let mut protocols = Vec::new();
    for protocol in &record.protocols {
        let anchors = Anchors::new(protocol, &mut taken);
        let drawer = Drawer {
            protocol,
            anchors: &anchors,
            findings: &mut findings_budget,
            passed: &mut passed_budget,
            open: &mut open,
        };
        protocols.push(protocol_view(record, protocol, &anchors, drawer));
    }
    let summary = &record.summary;
    let good = summary.exit_code == 0;
    Page {
        policy: policy(),
        target: printable::short(&record.target.name, 300),
        conclusion: printable::short(&summary.conclusion, 500),
        conclusion_badge: match summary.exit_code {
            0 => Badge { word: "conformant", shape: "\u{2713}" },
            1 => Badge { word: "not conformant", shape: "\u{2715}" },
            _ => Badge { word: "undecided", shape: "?" },
        },
        cut_short: printable::short(summary.cut_short.as_deref().unwrap_or_default(), 500),
        facts: facts(record),
        totals: totals(record),
        total: summary.cases.rows().iter().map(|(_, n)| n).sum(),
        filters: filters(record),
        findings: protocols.iter().map(|p| p.findings.len()).sum(),
        passed: protocols.iter().map(|p| p.passed.len()).sum(),
        not_run: protocols.iter().flat_map(|p| &p.not_run).map(|(_, cases)| cases.len()).sum(),
        requirements: protocols.iter().map(|p| p.requirements.len()).sum(),
        passed_cut: passed_budget.0 == 0,
        findings_cut: findings_budget.0 == 0 && !good,
        protocols,
    }
}

/// Nothing may be loaded, and of all scripts and styles only the page's own, known by their hashes, may act: markup
/// that slipped through the escaping would still be inert.
fn policy() -> String {
    let hash = |text: &str| data_encoding::BASE64.encode(&Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("kind", record.target.kind.clone()),
        ("profile", record.profile.word().to_owned()),
        ("seed", record.seed.to_string()),
    ];
    if record.identity_seed != record.seed {
        facts.push(("identity seed", record.identity_seed.to_string()));
    }
    let asked = &record.asked;
    facts.extend(asked.level.iter().map(|level| ("asked for", format!("level {level}"))));
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

fn filters(record: &RunRecord) -> Vec<Filter> {
    let all = || record.protocols.iter().flat_map(|protocol| &protocol.requirements);
    let values = |of: &dyn Fn(&RequirementRecord) -> String| {
        let mut values: Vec<(String, usize)> = Vec::new();
        for requirement in all() {
            let value = of(requirement);
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, count)) => *count += 1,
                None => values.push((value, 1)),
            }
        }
        values
    };
    let mut verdicts = values(&|r| r.verdict.word().to_owned());
    verdicts.sort_by_key(|(word, _)| Verdict::ALL.iter().position(|verdict| verdict.word() == word));
    let mut levels = values(&|r| printable::short(&r.level, 30));
    levels.sort();
    vec![
        Filter { key: "verdict", title: "Verdict", values: verdicts },
        Filter { key: "keyword", title: "Keyword", values: values(&|r| printable::short(&r.keyword, 20)) },
        Filter { key: "level", title: "Level", values: levels },
        Filter { key: "coverage", title: "Coverage", values: values(&|r| view::coverage(r).word().to_owned()) },
    ]
}

fn protocol_view(
    record: &RunRecord,
    protocol: &ProtocolRecord,
    anchors: &Anchors<'_>,
    mut drawer: Drawer<'_>,
) -> ProtocolView {
    let mut findings = Vec::new();
    for verdict in [Verdict::Fail, Verdict::Error, Verdict::Inconclusive, Verdict::Warn] {
        let cases = protocol.cases.iter().filter(|case| case.verdict == verdict);
        findings.extend(cases.map(|case| drawer.case(case)));
    }
    let passed = protocol.cases.iter().filter(|case| case.verdict == Verdict::Pass);
    let passed = passed.map(|case| drawer.case(case)).collect();
    let declared = record.target.declared.get(&protocol.protocol);
    let declared = declared.and_then(|value| serde_json::to_string_pretty(value).ok()).unwrap_or_default();
    ProtocolView {
        slug: printable::short(&protocol.protocol, 60),
        spec: printable::short(&protocol.spec, 300),
        suite_hash: printable::short(&protocol.suite_hash, 80),
        levels: protocol.levels.iter().map(|level| level_view(protocol, level, anchors)).collect(),
        features: protocol
            .features
            .iter()
            .map(|feature| FeatureView {
                name: printable::short(&feature.feature, 80),
                about: printable::short(&feature.about, 400),
                state: match feature.state {
                    FeatureState::Offered => "offered",
                    FeatureState::Absent => "absent",
                    FeatureState::Unclear => "unclear",
                    FeatureState::Unknown => "unknown",
                },
                advice: printable::short(&feature.advice, 600),
                probes: feature
                    .exchanges
                    .iter()
                    .take(20)
                    .map(|probe| format!("{}: {}", view::request_line(probe), view::answer_line(probe)))
                    .collect(),
            })
            .collect(),
        declared: printable::cut(&declared, DECLARED_LENGTH).into_owned(),
        waivers: protocol
            .waivers
            .iter()
            .map(|waiver| WaiverView {
                what: printable::short(&waiver.what, 200),
                reason: printable::short(&waiver.reason, 600),
                at: printable::short(&waiver.at, 300),
                stale: printable::short(waiver.stale.as_deref().unwrap_or_default(), 300),
            })
            .collect(),
        requirements: protocol.requirements.iter().map(|r| requirement_view(protocol, r, anchors)).collect(),
        findings,
        passed,
        not_run: not_run(protocol, anchors),
    }
}

fn level_view(protocol: &ProtocolRecord, level: &LevelRecord, anchors: &Anchors<'_>) -> LevelView {
    let mut groups: Vec<(Badge, &'static str, Vec<RequirementLink>)> = Vec::new();
    let mut because: Vec<_> = level.because.iter().collect();
    because.sort_by_key(|because| (std::cmp::Reverse(because.verdict), because.reason));
    for because in because {
        let (badge, reason) = (Badge::verdict(because.verdict), because.reason.map_or("", NotRun::word));
        let link = anchors.requirement(protocol, &because.requirement, None);
        match groups.last_mut() {
            Some((known, why, links)) if known.word == badge.word && *why == reason => links.push(link),
            _ => groups.push((badge, reason, vec![link])),
        }
    }
    LevelView {
        name: printable::short(&level.level, 60),
        badge: Badge::grant(level.outcome),
        claimed: level.claimed,
        disagreement: match (level.claimed, level.outcome) {
            (true, Grant::Refused) => "The target claims it, and does not keep it.",
            (true, Grant::Undecided) => "The target claims it; the run could not show it.",
            (false, Grant::Granted) => "The target keeps it without claiming it.",
            _ => "",
        },
        blocking: view::blocking(level),
        groups,
        uncovered: level.uncovered.iter().map(|id| anchors.requirement(protocol, id, None)).collect(),
    }
}

fn requirement_view(
    protocol: &ProtocolRecord,
    requirement: &RequirementRecord,
    anchors: &Anchors<'_>,
) -> RequirementView {
    let coverage = view::coverage(requirement);
    let link = |id: &String| {
        let (anchor, verdict) = anchors.cases.get(id.as_str()).cloned().unwrap_or((String::new(), Verdict::NotRun));
        let name = printable::short(view::split_id(id).1, 120);
        (verdict, CaseLink { anchor, name, badge: Badge::verdict(verdict) })
    };
    let mut cases: Vec<_> = requirement.cases.iter().map(link).collect();
    // The worst first: they are what the reader looks for.
    cases.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
    let mut cases: Vec<_> = cases.into_iter().map(|(_, link)| link).collect();
    let more_cases = cases.split_off(cases.len().min(4));
    RequirementView {
        link: anchors.requirement(protocol, &requirement.id, None),
        badge: Badge::verdict(requirement.verdict),
        reason: requirement.reason.map_or("", NotRun::word),
        coverage: coverage.word(),
        why_not: match coverage {
            view::Coverage::Untestable(why) => printable::short(why, 600),
            _ => String::new(),
        },
        errata: printable::short(&requirement.errata.join(", "), 200),
        cases,
        more_cases,
    }
}

fn not_run(protocol: &ProtocolRecord, anchors: &Anchors<'_>) -> Vec<(&'static str, Vec<NotRunView>)> {
    let mut groups: BTreeMap<Option<NotRun>, Vec<NotRunView>> = BTreeMap::new();
    for case in protocol.cases.iter().filter(|case| case.verdict == Verdict::NotRun) {
        groups.entry(case.reason).or_default().push(NotRunView {
            anchor: anchors.case(&case.id),
            id: printable::short(&case.id, 300),
            because: printable::short(&case.because, 600),
        });
    }
    let word = |reason: Option<NotRun>| reason.map_or("no reason given", NotRun::word);
    groups.into_iter().map(|(reason, cases)| (word(reason), cases)).collect()
}
