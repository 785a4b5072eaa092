//! Counts the results of the expectations of a case, by requirement.

use std::collections::BTreeMap;

use crate::requirement::RequirementId;
use crate::verdict::Verdict;

/// The results for one requirement.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Expectations that decide it.
    pub(super) wanted: usize,
    /// Of these, the expectations that were evaluated.
    pub(super) looked_at: std::collections::BTreeSet<(usize, u8, usize)>,
    /// Number of times that an expectation held.
    pub(super) held: usize,
    /// Number of vacuous evaluations: the observation had no value to check.
    pub(super) vacuous: usize,
    /// Number of inconclusive evaluations.
    pub(super) undecided: usize,
    /// The worst failed expectation.
    pub(super) worst: Option<Verdict>,
}

impl Tally {
    pub(super) fn fail(&mut self, verdict: Verdict) {
        self.worst = self.worst.max(Some(verdict));
    }

    /// The verdict of the requirement; `stop` is the verdict of expectations that were not evaluated since the case ended early.
    pub(super) fn outcome(&self, stop: Option<Verdict>) -> Verdict {
        match (self.worst, stop) {
            (Some(Verdict::Fail), _) => Verdict::Fail,
            (worst, Some(stop)) if self.looked_at.len() < self.wanted || self.wanted == 0 => {
                stop.max(worst.unwrap_or(Verdict::NotRun))
            }
            (Some(worst), _) if self.undecided == 0 => worst,
            _ if self.undecided > 0 => Verdict::Inconclusive,
            (Some(worst), _) => worst,
            // One vacuous expectation makes the requirement vacuous.
            (None, _) if self.vacuous > 0 || self.held == 0 => Verdict::NotRun,
            (None, _) => Verdict::Pass,
        }
    }
}

/// The tallies of a case, by requirement.
pub(super) type Tallies<'p> = BTreeMap<&'p RequirementId, Tally>;
