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

#[cfg(test)]
mod tests {
    use super::*;

    /// A tally of so many expectations, of which so many were evaluated.
    fn tally(wanted: usize, looked_at: usize) -> Tally {
        Tally { wanted, looked_at: (0..looked_at).map(|position| (0, 1, position)).collect(), ..Tally::default() }
    }

    #[test]
    fn the_outcome_is_what_the_expectations_and_the_end_of_the_case_leave() {
        use Verdict::{Error, Fail, Inconclusive, NotRun, Pass, Warn};
        let held = |held: usize, tally: Tally| Tally { held, ..tally };
        let vacuous = |tally: Tally| Tally { vacuous: 1, ..tally };
        let undecided = |tally: Tally| Tally { undecided: 1, ..tally };
        let worst = |verdict: Verdict, tally: Tally| Tally { worst: Some(verdict), ..tally };
        for (row, tally, stop, outcome) in [
            ("nothing was looked at", tally(1, 0), None, NotRun),
            ("all hold", held(2, tally(2, 2)), None, Pass),
            ("one of them had nothing to check", vacuous(held(1, tally(2, 2))), None, NotRun),
            ("one of them is open", undecided(held(1, tally(2, 2))), None, Inconclusive),
            ("one is open, one warns", undecided(worst(Warn, tally(2, 2))), None, Inconclusive),
            ("one warns", held(1, worst(Warn, tally(2, 2))), None, Warn),
            ("one fails, one is open", undecided(worst(Fail, tally(2, 2))), None, Fail),
            ("the case ended before the second", held(1, tally(2, 1)), Some(Inconclusive), Inconclusive),
            ("the case ended with an error", held(1, tally(2, 1)), Some(Error), Error),
            ("the case ended, and the first warns", worst(Warn, tally(2, 1)), Some(NotRun), Warn),
            ("the case ended, and the first fails", worst(Fail, tally(2, 1)), Some(Error), Fail),
            ("the case ended after the last", held(2, tally(2, 2)), Some(Error), Pass),
            ("the case ended after the last, which warns", held(1, worst(Warn, tally(2, 2))), Some(Error), Warn),
            ("the case ended, and none was wanted", tally(0, 0), Some(Error), Error),
            ("the case ended, and what none wanted holds", held(1, tally(0, 1)), Some(Error), Error),
        ] {
            assert_eq!(tally.outcome(stop), outcome, "{row}");
        }
        let mut twice = tally(1, 1);
        twice.fail(Fail);
        twice.fail(Warn);
        assert_eq!(twice.worst, Some(Fail));
    }
}
