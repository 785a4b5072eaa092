//! Granting levels (DESIGN section 3).

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Because, CaseRecord, LevelRecord, RequirementRecord};
use crate::requirement::{Keyword, Requirement};
use crate::suite::LevelSet;
use crate::verdict::{Grant, NotRun, Profile, Verdict};
use crate::walk::Context;

/// The outcome of each level, from its requirements.
///
/// A level is granted only if each of its demands that this kind of target can show was seen to hold. A demand does not bind
/// a target that leaves out an option which it may leave out, and a demand whose condition never came up does not stand in
/// the way; the record counts both, and what held. A demand that binds a role which the target does not claim does not count. `claims` are
/// the levels that count as claimed; `waived` are the requirements that were not met and are waived.
pub(super) fn levels(
    context: &Context<'_>,
    requirements: &[RequirementRecord],
    cases: &[CaseRecord],
    optional: &BTreeMap<String, bool>,
    claims: LevelSet,
    waived: &BTreeSet<String>,
) -> Vec<LevelRecord> {
    let knowledge = context.plan.knowledge;
    let by_id: BTreeMap<&str, &CaseRecord> = cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let mut records = Vec::new();
    let all = &knowledge.manifest.levels;
    let own = |entry: &Requirement| all.position(&entry.level);
    for (position, level) in all.iter().enumerate() {
        let claimed = claims.contains(position);
        // A level without requirements depends on the levels that it includes.
        let has_own = knowledge.catalogue.requirements.iter().any(|entry| own(entry) == Some(position));
        let mut because = Vec::new();
        let mut uncovered = Vec::new();
        let mut set_aside = Vec::new();
        let mut not_exercised = Vec::new();
        let mut not_claimed = Vec::new();
        let mut shown = 0;
        let (mut held, mut not_observable) = (0_u64, 0_u64);
        for (requirement, entry) in requirements.iter().zip(&knowledge.catalogue.requirements) {
            // Strict-only requirements do not block a level under the lenient profile.
            if entry.strict_only && context.facts.profile == Profile::Lenient {
                continue;
            }
            let of_this_level = own(entry).is_some_and(|own| level.closure.contains(own));
            if !of_this_level || !context.plan.scope.claims_role_of(entry) {
                continue;
            }
            if !entry.keyword.is_demand() || entry.testable == crate::requirement::Testable::No {
                continue;
            }
            debug_assert_ne!(entry.keyword, Keyword::May);
            if requirement.verdict == Verdict::Pass && (!has_own || own(entry) == Some(position)) {
                shown += 1;
            }
            let left_out = || {
                let mut covering = requirement.cases.iter().filter_map(|id| by_id.get(id.as_str())).peekable();
                covering.peek().is_some()
                    && covering.all(|case| {
                        optional.contains_key(&case.id)
                            || matches!(case.reason, Some(NotRun::Unobservable | NotRun::Waived))
                    })
            };
            if waived.contains(&requirement.id) {
                set_aside.push(requirement.id.clone());
            }
            held += u64::from(matches!(requirement.verdict, Verdict::Pass | Verdict::Warn));
            not_observable += u64::from(requirement.reason == Some(NotRun::Unobservable));
            let blocks = match (requirement.verdict, requirement.reason) {
                (Verdict::Pass | Verdict::Warn, _) => false,
                (Verdict::Fail | Verdict::Inconclusive | Verdict::Error, _) => true,
                (Verdict::NotRun, Some(NotRun::Unobservable | NotRun::Waived)) => false,
                (Verdict::NotRun, Some(NotRun::NotClaimed)) if left_out() => {
                    not_claimed.push(requirement.id.clone());
                    false
                }
                (Verdict::NotRun, Some(NotRun::NotExercised)) if !is_selected_partly(requirement, &by_id) => {
                    not_exercised.push(requirement.id.clone());
                    false
                }
                (Verdict::NotRun, Some(NotRun::NotClaimed | NotRun::NotExercised | NotRun::NotSelected)) => true,
                (Verdict::NotRun, None) => {
                    uncovered.push(requirement.id.clone());
                    false
                }
            };
            if requirement.uncovered.is_some() {
                if requirement.reason != Some(NotRun::Unobservable) && !uncovered.contains(&requirement.id) {
                    uncovered.push(requirement.id.clone());
                }
                continue;
            }
            if blocks {
                because.push(because_of(requirement, &by_id, claimed));
            }
        }
        let outcome = if because.iter().any(|entry| entry.verdict == Verdict::Fail) {
            Grant::Refused
        } else if claimed && because.is_empty() && uncovered.is_empty() && shown > 0 {
            if set_aside.is_empty() { Grant::Granted } else { Grant::GrantedWaived }
        } else {
            Grant::Undecided
        };
        records.push(LevelRecord {
            level: level.name.value.clone(),
            outcome,
            claimed,
            met: false,
            unobservable: !context.plan.scope.observable_levels().contains(position),
            because,
            uncovered,
            waived: set_aside,
            not_exercised,
            not_claimed,
            held,
            not_observable,
        });
    }
    records
}

/// Whether the selection left out some of the cases of a requirement: one of them might have exercised it.
fn is_selected_partly(requirement: &RequirementRecord, by_id: &BTreeMap<&str, &CaseRecord>) -> bool {
    let mut cases = requirement.cases.iter().filter_map(|id| by_id.get(id.as_str()));
    cases.any(|case| case.reason == Some(NotRun::NotSelected))
}

/// Why a requirement stands in the way of a level, and, if asked for, what to do about it.
fn because_of(requirement: &RequirementRecord, by_id: &BTreeMap<&str, &CaseRecord>, explain: bool) -> Because {
    let (verdict, reason) = (requirement.verdict, requirement.reason);
    let mut because =
        Because { requirement: requirement.id.clone(), verdict, reason, why: String::new(), advice: String::new() };
    if verdict == Verdict::Fail || !explain {
        return because;
    }
    let cases = || requirement.cases.iter().filter_map(|id| by_id.get(id.as_str())).copied();
    let is_cause = |case: &&CaseRecord| match verdict {
        Verdict::NotRun => case.reason.is_some() && (reason.is_none() || case.reason == reason),
        _ => case.outcomes.get(&requirement.id) == Some(&verdict),
    };
    if let Some(case) = cases().find(is_cause) {
        because.why = match (case.because.as_str(), case.findings.first()) {
            ("", Some(finding)) => finding.observed.clone(),
            (why, _) => why.to_owned(),
        };
    }
    because.advice = match (verdict, reason) {
        (Verdict::NotRun, Some(NotRun::NotSelected)) => {
            "run it without --only, --requirement and --shard, or judge the records of all shards together".to_owned()
        }
        (Verdict::NotRun, Some(NotRun::NotExercised)) => "run all of its cases".to_owned(),
        (Verdict::NotRun, Some(NotRun::NotClaimed)) => {
            "if the target offers it, say so in the target file: `levels`, `features` or `routes`".to_owned()
        }
        (Verdict::Error, _) => {
            "check that the target answers there in time; `limits: { request: 30s }` in the target file waits longer"
                .to_owned()
        }
        _ => match cases().find(is_cause) {
            Some(case) => format!("look at the answers of {}; its replay command repeats them", case.id),
            None => format!("`proofmark explain {}` prints its cases", requirement.id),
        },
    };
    because
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Transport::Http;
    use crate::judge::testing::{Run, answered, getting, knowledge};
    use crate::record::ProtocolRecord;

    const MUST: &str = "MUST, level: L0, testable: both";

    /// A case that says nothing of an answer without items.
    const LISTED: &str = "  - { case: listed, covers: [T-2], \
                          steps: [{ send: get, expect: [{ at: /body, each: [{ type: string }] }] }] }\n";

    fn outcomes(record: &ProtocolRecord) -> Vec<Grant> {
        record.levels.iter().map(|level| level.outcome).collect()
    }

    #[test]
    fn a_level_is_granted_for_demands_of_its_own_or_if_it_has_none_for_those_that_it_includes() {
        let first = getting("first", "covers: [T-1]");
        let claiming_l1 = |requirements: &[(&str, &str)], cases: &str| {
            let knowledge = knowledge("", requirements, cases);
            let mut run = Run::new(&knowledge, &[Http]);
            run.target.levels = vec!["L1".to_owned()];
            run.judge(|ready| Some(answered(ready, 200)))
        };
        let without_own = claiming_l1(&[("T-1", MUST)], &first);
        assert_eq!(outcomes(&without_own), [Grant::Granted, Grant::Granted]);
        assert_eq!(without_own.levels[1].held, 1);
        let own = ("T-2", "MUST, level: L1, testable: both");
        let shown = claiming_l1(&[("T-1", MUST), own], &(first.clone() + &getting("second", "covers: [T-2]")));
        assert_eq!(outcomes(&shown), [Grant::Granted, Grant::Granted]);
        assert_eq!(shown.levels.iter().map(|level| level.held).collect::<Vec<_>>(), [1, 2]);
        // What is its own never came up.
        let not_shown = claiming_l1(&[("T-1", MUST), own], &(first + LISTED));
        assert_eq!(outcomes(&not_shown), [Grant::Granted, Grant::Undecided]);
        assert_eq!(not_shown.levels[1].not_exercised, ["T-2"]);
    }

    #[test]
    fn a_level_names_what_stands_in_its_way_and_what_to_do_about_it() {
        let second = getting("second", "covers: [T-2]");
        let beyond = getting("second", "covers: [T-2], needs: [L1]");
        let assuming = "  - { case: second, covers: [T-2], steps: [{ send: get, \
                        assume: [{ at: /status, equals: 200 }], expect: [{ at: /status, equals: 200 }] }] }\n";
        let partly = second.clone() + LISTED;
        let (refused, undecided) = (Grant::Refused, Grant::Undecided);
        let not_run = |reason: NotRun| (Verdict::NotRun, Some(reason));
        for (cases, only, status, outcome, found, why, advice) in [
            (second.as_str(), &[][..], Some(500), refused, (Verdict::Fail, None), "", ""),
            (
                &second,
                &[],
                None,
                undecided,
                (Verdict::Error, None),
                "the case did not run",
                "check that the target answers there in time",
            ),
            (
                assuming,
                &[],
                Some(500),
                undecided,
                (Verdict::Inconclusive, None),
                "step 1 (get) precondition not met",
                "look at the answers of toy/area#second",
            ),
            (
                &beyond,
                &[],
                Some(200),
                undecided,
                not_run(NotRun::NotClaimed),
                "the case needs level L1; the target claims L0",
                "if the target offers it, say so in the target file",
            ),
            (
                &second,
                &["toy/area#first"],
                Some(200),
                undecided,
                not_run(NotRun::NotSelected),
                "no pattern of --only matches it",
                "run it without --only",
            ),
            (
                &partly,
                &["toy/area#first", "toy/area#listed"],
                Some(200),
                undecided,
                not_run(NotRun::NotExercised),
                "the answers contained nothing to judge",
                "run all of its cases",
            ),
        ] {
            let cases = getting("first", "covers: [T-1]") + cases;
            let knowledge = knowledge("", &[("T-1", MUST), ("T-2", MUST)], &cases);
            let mut run = Run::new(&knowledge, &[Http]);
            run.selection.only = only.iter().map(|pattern| (*pattern).to_owned()).collect();
            let status = |name: &str| if name == "first" { Some(200) } else { status };
            let record = run.judge(|ready| Some(answered(ready, status(&ready.case.name)?)));
            let level = &record.levels[0];
            let because = &level.because[0];
            assert_eq!((level.outcome, level.because.len()), (outcome, 1), "{level:?}");
            assert_eq!((because.requirement.as_str(), because.verdict, because.reason), ("T-2", found.0, found.1));
            for (text, expected) in [(&because.why, why), (&because.advice, advice)] {
                assert!(text.starts_with(expected) && text.is_empty() == expected.is_empty(), "{because:?}");
            }
            // How to reach a level is said only of levels that the target claims.
            let beyond = &record.levels[1].because;
            assert!(!beyond.is_empty() && beyond.iter().all(|found| found.why.is_empty() && found.advice.is_empty()));
        }
    }

    #[test]
    fn what_binds_only_in_the_strict_profile_stands_in_the_way_only_there() {
        let requirements = [("T-1", MUST), ("T-2", "MUST, level: L0, testable: both, strict-only: true")];
        let cases = getting("first", "covers: [T-1]") + &getting("second", "covers: [T-2]");
        let knowledge = knowledge("", &requirements, &cases);
        for (profile, outcome, because) in
            [(Profile::Lenient, Grant::Granted, &[][..]), (Profile::Strict, Grant::Undecided, &["T-2"])]
        {
            let mut run = Run::new(&knowledge, &[Http]);
            run.profile = profile;
            let record = run.judge(|ready| (ready.case.name.value == "first").then(|| answered(ready, 200)));
            let found: Vec<_> = record.levels[0].because.iter().map(|found| found.requirement.as_str()).collect();
            assert_eq!((record.levels[0].outcome, found.as_slice()), (outcome, because));
        }
    }

    #[test]
    fn advice_and_what_cannot_be_seen_do_not_stand_in_the_way_of_a_level() {
        let requirements = [
            ("T-1", MUST),
            ("T-SHOULD", "SHOULD, level: L0, testable: both"),
            ("T-MAY", "MAY, level: L0, testable: both"),
            ("T-NO", "MUST, level: L0, testable: no, why-not: It binds readers"),
            ("T-LIBRARY", "MUST, level: L0, testable: library"),
        ];
        let cases = getting("first", "covers: [T-1]") + &getting("second", "covers: [T-SHOULD, T-MAY]");
        let knowledge = knowledge("", &requirements, &cases);
        let record = Run::new(&knowledge, &[Http])
            .judge(|ready| (ready.case.name.value == "first").then(|| answered(ready, 200)));
        let level = &record.levels[0];
        assert_eq!(level.outcome, Grant::Granted, "{level:?}");
        assert!(level.because.is_empty() && level.uncovered.is_empty(), "{level:?}");
    }
}
