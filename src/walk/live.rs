//! What walks found while the target answered. A walk over the same exchanges finds the same, so judging need not repeat it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::parts::{Judged, Part};
use crate::exchange::Exchanges;

/// What a walk found, and the exchanges that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The result.
    pub judged: Judged,
    /// Why the target rejected its messages, if it did.
    pub refused: Option<String>,
    exchanges: Exchanges,
}

/// The walks of a run that came to their end, by position in the plan and part.
#[derive(Default)]
pub struct Walks(Mutex<HashMap<(usize, Part), Walked>>);

impl Walks {
    /// Keeps the result of a walk over `exchanges`.
    pub fn keep(&self, position: usize, part: Part, found: (Judged, Option<String>), exchanges: &Exchanges) {
        let (judged, refused) = found;
        let walked = Walked { judged, refused, exchanges: exchanges.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((position, part), walked);
    }

    /// The result of the walk over these exchanges. `None` if no walk took them, or if they were changed since.
    pub fn over(&self, position: usize, part: Part, exchanges: &Exchanges) -> Option<Walked> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(position, part)).filter(|walked| walked.exchanges.is_same(exchanges)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::exchange::testing::exchange;
    use crate::exchange::{Ended, Incoming, Transport};

    #[test]
    fn a_result_is_of_the_exchanges_that_the_walk_took() {
        let judged = Judged {
            findings: Vec::new(),
            readings: Vec::new(),
            edits: Vec::new(),
            outcomes: BTreeMap::new(),
            because: "found".to_owned(),
            reason: None,
        };
        let walks = Walks::default();
        let exchanges: Exchanges = vec![exchange(0, Transport::Http, Incoming::nothing(Ended::Complete))].into();
        walks.keep(3, Part::Case, (judged, None), &exchanges);
        let over = |position, part, exchanges: &Exchanges| walks.over(position, part, exchanges).is_some();
        assert!(over(3, Part::Case, &exchanges));
        assert!(!over(3, Part::Twin, &exchanges) && !over(2, Part::Case, &exchanges));
        let mut changed = exchanges.clone();
        assert!(over(3, Part::Case, &changed), "a copy of the same");
        changed[0].step += 1;
        assert!(!over(3, Part::Case, &changed) && over(3, Part::Case, &exchanges));
        let equal: Exchanges = vec![exchanges[0].clone()].into();
        assert!(!over(3, Part::Case, &equal), "another try with equal answers");
    }
}
