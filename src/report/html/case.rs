//! Cases on the page: expected and observed values, and every message.

use std::collections::{BTreeMap, BTreeSet};

use super::anchors::{Anchors, RequirementLink};
use super::badge::Badge;
use super::filters::{Facets, Facetted};
use super::message::{self, Budget, ExchangeView, Looked};
use crate::record::{CaseRecord, FindingRecord, ProtocolRecord};
use crate::report::{cause, printable, view};
use crate::verdict::Verdict;

/// Findings shown of one case.
const FINDINGS_SHOWN: usize = 40;
/// Exchanges shown of one case.
const EXCHANGES_SHOWN: usize = 60;
/// Number of failed cases that are expanded initially.
const CASES_OPEN: usize = 5;
/// Characters that say why a case with a line of its own did not pass.
const ROW_LENGTH: usize = 160;
/// Requirements linked in the line of such a case.
const COVERS_LINKED: usize = 3;
/// Characters of an expected or observed value.
const VALUE_LENGTH: usize = 4000;

pub(super) struct CaseView {
    pub(super) anchor: String,
    pub(super) suite: String,
    pub(super) name: String,
    pub(super) badge: Badge,
    pub(super) open: bool,
    pub(super) facets: Facets,
    pub(super) about: String,
    pub(super) because: String,
    pub(super) elapsed: String,
    pub(super) at: String,
    pub(super) replay: String,
    pub(super) covers: Vec<RequirementLink>,
    pub(super) findings: Vec<FindingView>,
    pub(super) findings_left_out: usize,
    pub(super) edits: Vec<String>,
    /// Id of the case that sent the twin, if another one did.
    pub(super) twin_of: String,
    pub(super) readings: Vec<ReadingView>,
    /// The exchanges that show the failure, if not all of them do.
    pub(super) shown_by: Vec<ExchangeView>,
    /// The others, in order.
    pub(super) exchanges: Vec<ExchangeView>,
    /// Exchanges of the twin without a counterpart in the case, for example if only the twin was sent.
    pub(super) twin_only: Vec<ExchangeView>,
    pub(super) exchanges_left_out: usize,
}

pub(super) struct FindingView {
    pub(super) badge: Badge,
    pub(super) requirement: RequirementLink,
    /// Whether the previous finding has the same requirement, so that its text is not repeated.
    pub(super) continued: bool,
    pub(super) expected: String,
    pub(super) observed: String,
    pub(super) path: String,
    /// Title of the exchange of the finding, or the empty string.
    pub(super) exchange: String,
    pub(super) at: String,
    pub(super) strict_only: bool,
    pub(super) note: String,
}

/// Cases of one suite, a line each.
pub(super) struct RowsView {
    pub(super) suite: String,
    /// The rows by verdict and why they did not pass, in words that are the same for thousands of cases at a target that cannot
    /// do much.
    pub(super) groups: Vec<GroupView>,
}

/// Cases of one suite with the same verdict for the same reason.
pub(super) struct GroupView {
    pub(super) badge: Badge,
    pub(super) why: String,
    pub(super) rows: Vec<RowView>,
    /// Cases that are only counted.
    pub(super) unlisted: usize,
}

/// A case in one line.
pub(super) struct RowView {
    pub(super) anchor: String,
    pub(super) name: String,
    pub(super) badge: Badge,
    pub(super) facets: Facets,
    pub(super) elapsed: String,
    /// Anchor and id of the first requirements that it covers, and the number of the others.
    pub(super) covers: Vec<(String, String)>,
    pub(super) more_covers: usize,
}

pub(super) struct ReadingView {
    pub(super) reading: String,
    pub(super) tolerated: bool,
    pub(super) at: String,
}

/// Numbers of cases that the page still shows whole, with what was sent and received; the others have a line each.
pub(super) struct Whole {
    pub(super) findings: usize,
    pub(super) passed: usize,
}

/// Renders the cases of a protocol; findings have their own budget.
pub(super) struct CaseRenderer<'a> {
    pub(super) protocol: &'a ProtocolRecord,
    pub(super) anchors: &'a Anchors<'a>,
    pub(super) facetted: &'a Facetted<'a>,
    pub(super) spent_on_findings: &'a mut Budget,
    pub(super) spent_on_passed: &'a mut Budget,
    pub(super) whole: &'a mut Whole,
    /// The requirements for which a failed case is rendered expanded: the first case of each, up to a number.
    pub(super) open: &'a mut Vec<String>,
}

impl CaseRenderer<'_> {
    /// The first of `cases` whole, as long as there is room for them on the page, and the rest by suite, in a line each.
    pub(super) fn cases<'c>(&mut self, cases: impl Iterator<Item = &'c CaseRecord>) -> (Vec<CaseView>, Vec<RowsView>) {
        let mut whole = Vec::new();
        let mut brief: BTreeMap<&str, Vec<GroupView>> = BTreeMap::new();
        for case in cases {
            let left = if case.verdict == Verdict::Pass { &mut self.whole.passed } else { &mut self.whole.findings };
            let listed = !self.anchors.case(&case.id).is_empty();
            if *left > 0 && listed {
                *left -= 1;
                whole.push(self.case(case));
            } else {
                let groups = brief.entry(view::split_id(&case.id).0).or_default();
                let (why, badge) = (why(case), Badge::verdict(case.verdict));
                let same = |group: &GroupView| group.why == why && group.badge.word == badge.word;
                let at = groups.iter().position(same).unwrap_or_else(|| {
                    groups.push(GroupView { badge, why, rows: Vec::new(), unlisted: 0 });
                    groups.len() - 1
                });
                if listed {
                    groups[at].rows.push(self.row(case));
                } else {
                    groups[at].unlisted += 1;
                }
            }
        }
        let brief = brief.into_iter().map(|(suite, groups)| RowsView { suite: printable::short(suite, 200), groups });
        (whole, brief.collect())
    }

    fn row(&self, case: &CaseRecord) -> RowView {
        let link = |id: &String| {
            let anchor = self.anchors.requirements.get(id.as_str()).map(|(anchor, _)| anchor.clone());
            (anchor.unwrap_or_default(), printable::short(id, 100))
        };
        RowView {
            anchor: self.anchors.case(&case.id),
            name: printable::short(view::split_id(&case.id).1, 300),
            badge: Badge::verdict(case.verdict),
            facets: self.facets(case),
            elapsed: if case.elapsed_ms > 0 { printable::duration(case.elapsed_ms) } else { String::new() },
            covers: case.covers.iter().take(COVERS_LINKED).map(link).collect(),
            more_covers: case.covers.len().saturating_sub(COVERS_LINKED),
        }
    }

    fn case(&mut self, case: &CaseRecord) -> CaseView {
        let budget = match case.verdict {
            Verdict::Pass | Verdict::NotRun => &mut *self.spent_on_passed,
            _ => &mut *self.spent_on_findings,
        };
        let edits: Vec<String> = case
            .edits
            .iter()
            .take(EXCHANGES_SHOWN)
            .map(|edit| format!("Step {}: {}", edit.step + 1, printable::short(&edit.edit, VALUE_LENGTH)))
            .collect();
        let (mut shown_by, mut exchanges) = exchanges(case, &edits, budget);
        // There may be hundreds of such cases, so one line states all exchanges of a case that are left out.
        for shown in [&mut shown_by, &mut exchanges] {
            shown.retain(|exchange| exchange.sides.is_some());
        }
        let paired = |twin: &&crate::exchange::Exchange| {
            let same = |e: &crate::exchange::Exchange| e.step == twin.step && e.round == twin.round;
            !case.exchanges.iter().any(same)
        };
        let twin_only = case.twin.iter().filter(paired).take(EXCHANGES_SHOWN);
        let twin_only = twin_only.map(|twin| message::exchange(twin, None, &Looked::default(), &[], budget)).collect();
        let open = self.opens(case);
        let (suite, name) = view::split_id(&case.id);
        CaseView {
            anchor: self.anchors.case(&case.id),
            suite: printable::short(suite, 200),
            name: printable::short(name, 300),
            badge: Badge::verdict(case.verdict),
            open,
            facets: self.facets(case),
            about: printable::short(&case.about, 1000),
            because: printable::short(&case.because, VALUE_LENGTH),
            elapsed: printable::duration(case.elapsed_ms),
            at: printable::short(&case.at, 300),
            replay: printable::short(&case.replay, VALUE_LENGTH),
            covers: case
                .covers
                .iter()
                .map(|id| self.anchors.requirement(self.protocol, id, case.outcomes.get(id).copied()))
                .collect(),
            findings: self.findings(case),
            findings_left_out: case.findings.len().saturating_sub(FINDINGS_SHOWN),
            edits,
            twin_of: printable::short(&case.twin_of, 300),
            readings: case
                .readings
                .iter()
                .take(FINDINGS_SHOWN)
                .map(|reading| ReadingView {
                    reading: printable::short(&reading.reading, VALUE_LENGTH),
                    tolerated: reading.tolerated,
                    at: printable::short(&reading.at, 300),
                })
                .collect(),
            exchanges_left_out: case.exchanges.len() - exchanges.len() - shown_by.len(),
            shown_by,
            exchanges,
            twin_only,
        }
    }

    /// What the filters need; nothing filters passed cases.
    fn facets(&self, case: &CaseRecord) -> Facets {
        if matches!(case.verdict, Verdict::Pass | Verdict::NotRun) { Facets::default() } else { self.facetted.of(case) }
    }

    /// Whether `case` is the first case that violates one of the first few violated requirements.
    fn opens(&mut self, case: &CaseRecord) -> bool {
        let broken = case.findings.iter().find(|finding| finding.verdict == Verdict::Fail);
        let Some(broken) = broken.filter(|_| case.verdict == Verdict::Fail) else {
            return false;
        };
        let first = self.open.len() < CASES_OPEN && !self.open.contains(&broken.requirement);
        if first {
            self.open.push(broken.requirement.clone());
        }
        first
    }

    fn findings(&self, case: &CaseRecord) -> Vec<FindingView> {
        let mut views = Vec::new();
        let mut before: Option<&FindingRecord> = None;
        for finding in case.findings.iter().take(FINDINGS_SHOWN) {
            let mut view = self.finding(case, finding);
            let same = |b: &FindingRecord| b.requirement == finding.requirement && b.verdict == finding.verdict;
            view.continued = before.is_some_and(same);
            before = Some(finding);
            views.push(view);
        }
        views
    }

    fn finding(&self, case: &CaseRecord, finding: &FindingRecord) -> FindingView {
        let shown = finding.exchange.and_then(|at| case.exchanges.get(at));
        FindingView {
            badge: Badge::verdict(finding.verdict),
            requirement: self.anchors.requirement(self.protocol, &finding.requirement, None),
            continued: false,
            expected: printable::passage(&finding.expected, VALUE_LENGTH),
            observed: printable::passage(&finding.observed, VALUE_LENGTH),
            path: printable::short(&finding.path, 300),
            exchange: shown.map_or(String::new(), |exchange| {
                format!("{} ({})", view::request_line(exchange), view::answer_line(exchange))
            }),
            at: printable::short(&finding.at, 300),
            strict_only: finding.strict_only,
            note: printable::short(&finding.note, VALUE_LENGTH),
        }
    }
}

/// Why a case with a line of its own did not pass.
fn why(case: &CaseRecord) -> String {
    let finding = cause::telling(case).filter(|_| case.verdict != Verdict::Pass);
    let why = finding.map_or_else(|| case.because.clone(), |finding| cause::sentence(case, finding));
    printable::short(&why, ROW_LENGTH)
}

/// The exchanges that show the failure, and the others. If all show it, or none, they stay together.
fn exchanges(case: &CaseRecord, edits: &[String], budget: &mut Budget) -> (Vec<ExchangeView>, Vec<ExchangeView>) {
    let failed = case.findings.iter().filter(|finding| finding.verdict == Verdict::Fail);
    let telling: BTreeSet<usize> = failed.filter_map(|finding| finding.exchange).collect();
    let limit = case.exchanges.len().min(EXCHANGES_SHOWN);
    // What shows the failure comes first, also where the page becomes too large.
    let (first, rest): (Vec<usize>, Vec<usize>) = (0..limit).partition(|at| telling.contains(at));
    let first = views(case, &first, edits, budget);
    let rest = views(case, &rest, edits, budget);
    if rest.is_empty() { (Vec::new(), first) } else { (first, rest) }
}

fn views(case: &CaseRecord, which: &[usize], edits: &[String], budget: &mut Budget) -> Vec<ExchangeView> {
    let mut views = Vec::new();
    for (at, exchange) in which.iter().map(|at| (*at, &case.exchanges[*at])) {
        let mut looked = Looked::default();
        for finding in &case.findings {
            // Without an index, the last answer is the one that was judged.
            if finding.exchange.unwrap_or(case.exchanges.len() - 1) == at {
                looked.add(&finding.path);
            }
        }
        views.push(message::exchange(exchange, view::twin_of(case, exchange), &looked, edits, budget));
    }
    views
}
