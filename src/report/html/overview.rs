//! The overview above the cases: levels, features, waivers and requirements, with the links between them.

use std::collections::{BTreeMap, BTreeSet};

use super::anchors::{Anchors, RequirementLink};
use super::badge::Badge;
use super::case::{CaseRenderer, CaseView, RowsView};
use super::exploration::{self, ExplorationView};
use super::filters;
use crate::record::{FeatureRecord, FeatureState, LevelRecord, ProtocolRecord, RequirementRecord, RunRecord};
use crate::report::cause::Cause;
use crate::report::{printable, view};
use crate::verdict::{Grant, NotRun, Verdict};

/// Maximum number of characters of the target's self-description.
const DECLARED_LENGTH: usize = 16 * 1024;
/// Maximum number of causes of violations.
const CAUSES_SHOWN: usize = 50;
/// Maximum number of requirements that are linked at a cause.
const REQUIREMENTS_LINKED: usize = 12;
/// Maximum number of cases that are linked directly at a requirement.
const CASES_LINKED: usize = 4;
/// Maximum number of further cases that are linked there, of those that did not pass.
const MORE_LINKED: usize = 12;

pub(super) struct ProtocolView {
    pub(super) slug: String,
    pub(super) spec: String,
    pub(super) suite_hash: String,
    pub(super) levels: Vec<LevelView>,
    pub(super) violations: Vec<ViolationView>,
    pub(super) features: Vec<FeatureView>,
    pub(super) declared: String,
    pub(super) waivers: Vec<WaiverView>,
    pub(super) exploration: Option<ExplorationView>,
    pub(super) requirements: Vec<RequirementView>,
    pub(super) findings: Vec<CaseView>,
    /// Findings for which the page has only a line.
    pub(super) brief_findings: Vec<RowsView>,
    pub(super) passed: Vec<CaseView>,
    /// Passed cases for which the page has only a line.
    pub(super) brief_passed: Vec<RowsView>,
    pub(super) not_run: Vec<(&'static str, Vec<NotRunView>)>,
    pub(super) not_selected: usize,
}

pub(super) struct LevelView {
    pub(super) name: String,
    pub(super) badge: Badge,
    pub(super) claimed: bool,
    /// The difference between claim and measurement, if any.
    pub(super) disagreement: &'static str,
    pub(super) blocking: String,
    /// What keeps it undecided, and what to do.
    pub(super) causes: Vec<CauseView>,
    /// Requirements that did not pass. Those of a level before are not repeated.
    pub(super) groups: Vec<(Badge, &'static str, Vec<RequirementLink>)>,
    /// How many of them the levels before list.
    pub(super) listed_before: usize,
    pub(super) uncovered: Vec<RequirementLink>,
}

pub(super) struct CauseView {
    pub(super) what: &'static str,
    pub(super) why: String,
    pub(super) advice: String,
    pub(super) requirements: Vec<RequirementLink>,
}

/// Violations with one probable cause.
pub(super) struct ViolationView {
    /// Its value in the filter of causes.
    pub(super) key: String,
    /// What the requirement of the example demands.
    pub(super) sentence: String,
    pub(super) headline: String,
    /// How many cases fail with it, and how many it keeps undecided.
    pub(super) extent: String,
    pub(super) example: CaseLink,
    pub(super) requirements: Vec<RequirementLink>,
    pub(super) more_requirements: usize,
}

pub(super) struct FeatureView {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) state: &'static str,
    pub(super) advice: String,
    pub(super) probes: Vec<String>,
}

pub(super) struct WaiverView {
    pub(super) what: String,
    pub(super) reason: String,
    pub(super) at: String,
    pub(super) stale: String,
}

pub(super) struct RequirementView {
    pub(super) link: RequirementLink,
    pub(super) badge: Badge,
    pub(super) reason: &'static str,
    pub(super) coverage: &'static str,
    pub(super) why_not: String,
    pub(super) errata: String,
    pub(super) cases: Vec<CaseLink>,
    pub(super) more_cases: Vec<CaseLink>,
    /// The number of cases that are not linked here.
    pub(super) unlinked: usize,
}

pub(super) struct CaseLink {
    pub(super) anchor: String,
    pub(super) name: String,
    /// Its verdict, if the requirement has another.
    pub(super) badge: Option<Badge>,
}

pub(super) struct NotRunView {
    pub(super) anchor: String,
    pub(super) id: String,
    pub(super) because: String,
}

/// Renders `protocol`, with its cases by `renderer`.
pub(super) fn protocol(
    record: &RunRecord,
    protocol: &ProtocolRecord,
    anchors: &Anchors<'_>,
    causes: &[Cause<'_>],
    mut renderer: CaseRenderer<'_>,
) -> ProtocolView {
    let with = |verdict: Verdict| protocol.cases.iter().filter(move |case| case.verdict == verdict);
    let worst_first = [Verdict::Fail, Verdict::Error, Verdict::Inconclusive, Verdict::Warn];
    let (findings, brief_findings) = renderer.cases(worst_first.into_iter().flat_map(with));
    let (passed, brief_passed) = renderer.cases(with(Verdict::Pass));
    let declared = record.target.declared.get(&protocol.protocol);
    let declared = declared.and_then(|value| serde_json::to_string_pretty(value).ok()).unwrap_or_default();
    ProtocolView {
        slug: printable::short(&protocol.protocol, 60),
        exploration: protocol.exploration.as_ref().map(exploration::view),
        spec: printable::short(&protocol.spec, 300),
        suite_hash: printable::short(&protocol.suite_hash, 80),
        levels: level_views(protocol, anchors),
        violations: violations(protocol, anchors, causes),
        features: protocol.features.iter().map(feature_view).collect(),
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
        brief_findings,
        passed,
        brief_passed,
        not_run: not_run(protocol, anchors),
        not_selected: protocol.cases.iter().filter(|case| view::is_not_selected(case)).count(),
    }
}

fn violations(protocol: &ProtocolRecord, anchors: &Anchors<'_>, causes: &[Cause<'_>]) -> Vec<ViolationView> {
    let causes = causes.iter().take(CAUSES_SHOWN).enumerate().map(|(number, cause)| {
        let (case, finding) = cause.example;
        let shown = cause.requirements.iter().take(REQUIREMENTS_LINKED);
        let sentence = finding.map(|finding| anchors.requirement(protocol, &finding.requirement, None).summary);
        ViolationView {
            key: filters::key(&printable::short(&protocol.protocol, 60), number),
            sentence: sentence.unwrap_or_default(),
            headline: printable::short(&cause.headline(), 300),
            extent: cause.extent(),
            example: CaseLink {
                anchor: anchors.case(&case.id),
                name: printable::short(view::split_id(&case.id).1, 120),
                badge: Some(Badge::verdict(case.verdict)),
            },
            requirements: shown.map(|id| anchors.requirement(protocol, id, None)).collect(),
            more_requirements: cause.requirements.len().saturating_sub(REQUIREMENTS_LINKED),
        }
    });
    causes.collect()
}

fn feature_view(feature: &FeatureRecord) -> FeatureView {
    let probes = feature.exchanges.iter().take(20);
    FeatureView {
        name: printable::short(&feature.feature, 80),
        about: printable::short(&feature.about, 400),
        state: match feature.state {
            FeatureState::Offered => "offered",
            FeatureState::Absent => "absent",
            FeatureState::Unclear => "unclear",
            FeatureState::Unanswered => "no answer",
            FeatureState::Unknown => "unknown",
        },
        advice: printable::short(&feature.advice, 600),
        probes: probes.map(|probe| format!("{}: {}", view::request_line(probe), view::answer_line(probe))).collect(),
    }
}

fn level_views(protocol: &ProtocolRecord, anchors: &Anchors<'_>) -> Vec<LevelView> {
    let mut listed = BTreeSet::new();
    protocol.levels.iter().map(|level| level_view(protocol, level, anchors, &mut listed)).collect()
}

fn level_view<'r>(
    protocol: &ProtocolRecord,
    level: &'r LevelRecord,
    anchors: &Anchors<'_>,
    listed: &mut BTreeSet<&'r str>,
) -> LevelView {
    let mut groups: Vec<(Badge, &'static str, Vec<RequirementLink>)> = Vec::new();
    let mut because: Vec<_> = level.because.iter().collect();
    because.sort_by_key(|because| (std::cmp::Reverse(because.verdict), because.reason));
    let mut listed_before = 0;
    for because in because {
        // A level demands what the levels before it demand.
        if !listed.insert(&because.requirement) {
            listed_before += 1;
            continue;
        }
        let (badge, reason) = (Badge::verdict(because.verdict), because.reason.map_or("", NotRun::word));
        let link = anchors.requirement(protocol, &because.requirement, None);
        match groups.last_mut() {
            Some((known, why, links)) if known.word == badge.word && *why == reason => {
                links.push(link);
            }
            _ => groups.push((badge, reason, vec![link])),
        }
    }
    let causes = view::causes(level).into_iter().map(|cause| CauseView {
        what: cause.what,
        why: printable::short(cause.why, 600),
        advice: printable::short(cause.advice, 600),
        requirements: cause.requirements.iter().map(|id| anchors.requirement(protocol, id, None)).collect(),
    });
    let causes: Vec<_> = causes.collect();
    // The causes name the same requirements.
    let (groups, uncovered) = match causes.is_empty() {
        true => (groups, level.uncovered.iter().map(|id| anchors.requirement(protocol, id, None)).collect()),
        false => (Vec::new(), Vec::new()),
    };
    LevelView {
        name: printable::short(&level.level, 60),
        badge: Badge::grant(level.outcome),
        claimed: level.claimed,
        disagreement: match (level.claimed, level.outcome) {
            (true, Grant::Refused) => "The target claims this level but violates it.",
            (true, Grant::Undecided) => "The target claims this level, but the run could not confirm it.",
            _ if level.unobservable => "Not observable at this kind of target.",
            (false, _) if level.met => "The target meets this level without claiming it.",
            _ => "",
        },
        blocking: match level.outcome {
            Grant::GrantedWaived => [view::outcome_words(level), view::claim_and_blocking(level)].join("; "),
            Grant::Granted => view::claim_and_blocking(level),
            _ => view::blocking(level),
        },
        listed_before: if causes.is_empty() { listed_before } else { 0 },
        causes,
        groups,
        uncovered,
    }
}

fn requirement_view(
    protocol: &ProtocolRecord,
    requirement: &RequirementRecord,
    anchors: &Anchors<'_>,
) -> RequirementView {
    let coverage = view::coverage(requirement);
    let link = |id: &String| {
        let (anchor, verdict) = anchors.cases.get(id.as_str()).cloned()?;
        let name = printable::short(view::split_id(id).1, 120);
        let badge = (verdict != requirement.verdict).then(|| Badge::verdict(verdict));
        Some((verdict, CaseLink { anchor, name, badge }))
    };
    let mut cases: Vec<_> = requirement.cases.iter().filter_map(link).collect();
    // The worst verdicts first.
    cases.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
    let mut more = cases.split_off(cases.len().min(CASES_LINKED));
    let all = more.len();
    more.retain(|(verdict, _)| !matches!(verdict, Verdict::Pass | Verdict::NotRun));
    more.truncate(MORE_LINKED);
    let link = |(_, link): (Verdict, CaseLink)| link;
    RequirementView {
        link: anchors.requirement(protocol, &requirement.id, None),
        badge: Badge::verdict(requirement.verdict),
        reason: match (requirement.verdict, requirement.reason) {
            (Verdict::NotRun, Some(reason)) => reason.word(),
            _ => "",
        },
        coverage: coverage.word(),
        why_not: match coverage {
            view::Coverage::Untestable(why) => printable::short(why, 600),
            _ => String::new(),
        },
        errata: printable::short(&requirement.errata.join(", "), 200),
        cases: cases.into_iter().map(link).collect(),
        unlinked: all - more.len(),
        more_cases: more.into_iter().map(link).collect(),
    }
}

fn not_run(protocol: &ProtocolRecord, anchors: &Anchors<'_>) -> Vec<(&'static str, Vec<NotRunView>)> {
    let mut groups: BTreeMap<Option<NotRun>, Vec<NotRunView>> = BTreeMap::new();
    let listed = protocol.cases.iter().filter(|case| !view::is_not_selected(case));
    for case in listed.filter(|case| case.verdict == Verdict::NotRun) {
        groups.entry(case.reason).or_default().push(NotRunView {
            anchor: anchors.case(&case.id),
            id: printable::short(&case.id, 300),
            because: printable::short(&case.because, 600),
        });
    }
    let word = |reason: Option<NotRun>| reason.map_or("no reason given", NotRun::word);
    groups.into_iter().map(|(reason, cases)| (word(reason), cases)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_level_lists_what_the_levels_before_do_not() {
        let because = |ids: &[&str]| {
            let one = |id: &&str| json!({ "requirement": id, "verdict": "fail" });
            ids.iter().map(one).collect::<Vec<_>>()
        };
        let level = |name: &str, ids: &[&str]| json!({ "level": name, "outcome": "refused", "claimed": true, "because": because(ids) });
        let record = json!({
            "protocol": "p", "spec": "", "suite_hash": "", "features": [], "requirements": [], "cases": [],
            "levels": [level("L0", &["P-1"]), level("L1", &["P-1", "P-2"]), level("L2", &["P-1", "P-2"])],
        });
        let record: ProtocolRecord = serde_json::from_value(record).expect("a record");
        let anchors = Anchors::new(&record, &mut BTreeSet::new());
        let cards = level_views(&record, &anchors);
        let listed = |card: &LevelView| {
            let ids = card.groups.iter().flat_map(|(.., links)| links).map(|link| link.id.clone());
            (ids.collect::<Vec<_>>(), card.listed_before)
        };
        let listed: Vec<_> = cards.iter().map(listed).collect();
        assert_eq!(listed, [(vec!["P-1".to_owned()], 0), (vec!["P-2".to_owned()], 1), (Vec::new(), 2)]);
    }
}
