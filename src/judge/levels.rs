//! Granting levels (DESIGN section 3).

use std::collections::BTreeMap;

use crate::record::{Because, CaseRecord, LevelRecord, RequirementRecord};
use crate::requirement::{Keyword, Requirement};
use crate::suite::LevelSet;
use crate::verdict::{Grant, NotRun, Profile, Verdict};
use crate::walk::Context;

/// The outcome of each level, from its requirements.
///
/// A level is granted only if each of its demands that is observable at this kind of target passed. A demand does not apply if
/// it depends on an option that the target may leave out and does, or if it binds a role that the target does not claim.
/// `claims` are the levels that count as claimed.
pub(super) fn levels(
    context: &Context<'_>,
    requirements: &[RequirementRecord],
    cases: &[CaseRecord],
    optional: &BTreeMap<String, bool>,
    claims: LevelSet,
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
        let mut shown = 0;
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
            let blocks = match (requirement.verdict, requirement.reason) {
                (Verdict::Pass | Verdict::Warn, _) => false,
                (Verdict::Fail | Verdict::Inconclusive | Verdict::Error, _) => true,
                (Verdict::NotRun, Some(NotRun::Unobservable | NotRun::Waived)) => false,
                (Verdict::NotRun, Some(NotRun::NotClaimed)) => !left_out(),
                (Verdict::NotRun, Some(NotRun::NotExercised | NotRun::NotSelected)) => true,
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
                because.push(Because {
                    requirement: requirement.id.clone(),
                    verdict: requirement.verdict,
                    reason: requirement.reason,
                });
            }
        }
        let outcome = if because.iter().any(|entry| entry.verdict == Verdict::Fail) {
            Grant::Refused
        } else if claimed && because.is_empty() && uncovered.is_empty() && shown > 0 {
            Grant::Granted
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
        });
    }
    records
}
