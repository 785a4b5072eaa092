//! Counting what the expectations of a case showed, requirement by requirement.

use std::collections::BTreeMap;

use crate::requirement::RequirementId;
use crate::verdict::Verdict;

/// What was seen of one requirement.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Expectations that bear on it.
    pub(super) wanted: usize,
    /// Of these, the ones that were looked at.
    pub(super) looked_at: std::collections::BTreeSet<(usize, u8, usize)>,
    /// Observations that were as they should be.
    pub(super) held: usize,
    /// Expectations that had nothing to look at.
    pub(super) vacuous: usize,
    /// Observations that decide nothing.
    pub(super) undecided: usize,
    /// The worst departure.
    pub(super) worst: Option<Verdict>,
}

impl Tally {
    pub(super) fn depart(&mut self, verdict: Verdict) {
        self.worst = self.worst.max(Some(verdict));
    }

    /// What came of the requirement; `stop` is what an early end of the case makes of what was not looked at.
    pub(super) fn outcome(&self, stop: Option<Verdict>) -> Verdict {
        match (self.worst, stop) {
            (Some(Verdict::Fail), _) => Verdict::Fail,
            (worst, Some(stop)) if self.looked_at.len() < self.wanted || self.wanted == 0 => {
                stop.max(worst.unwrap_or(Verdict::NotRun))
            }
            (Some(worst), _) if self.undecided == 0 => worst,
            _ if self.undecided > 0 => Verdict::Inconclusive,
            (Some(worst), _) => worst,
            // One expectation without anything to look at makes the whole vacuous.
            (None, _) if self.vacuous > 0 || self.held == 0 => Verdict::NotRun,
            (None, _) => Verdict::Pass,
        }
    }
}

/// The tallies of a case, by requirement.
pub(super) type Tallies<'p> = BTreeMap<&'p RequirementId, Tally>;
