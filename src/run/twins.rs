//! Twins that several cases share.
//!
//! The rows of a table often edit the same message, so their twins differ in nothing but generated values. One of them stands for
//! all if the target accepts it: that of the first case in the plan, whichever case needs it first, so that a seed sends the same
//! messages each time.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

use crate::exchange::{Exchanges, Transport};
use crate::plan::{Plan, ReadyCase};

/// The twins that cases of a run share. Empty until the cases are known.
#[derive(Default)]
pub(super) struct Twins(OnceLock<HashMap<(u64, Transport), Slot>>);

/// One of them.
#[derive(Clone)]
pub(super) struct Slot {
    /// The position in the plan of the case whose twin it is.
    pub(super) of: usize,
    /// Once it was sent.
    pub(super) sent: Arc<Mutex<Option<Sent>>>,
}

/// A twin that was sent, and what became of it.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) exchanges: Exchanges,
    pub(super) started_ms: u64,
    /// Why it ended early, if no exchange shows the reason.
    pub(super) stopped: Option<String>,
    pub(super) is_accepted: bool,
}

impl Twins {
    /// Finds out which of the cases at these positions of the plan share a twin.
    pub(super) fn prepare(&self, plan: &Plan<'_>, positions: &[usize]) {
        let mut found: HashMap<(u64, Transport), (usize, usize)> = HashMap::new();
        for position in positions {
            if let Some(key) = key(&plan.cases[*position]) {
                found.entry(key).or_insert((*position, 0)).1 += 1;
            }
        }
        let shared = found.into_iter().filter(|(_, (_, cases))| *cases > 1);
        let slots = shared.map(|(key, (of, _))| (key, Slot { of, sent: Arc::default() }));
        // A runner that runs several selections has the twins of the first.
        let _ = self.0.set(slots.collect());
    }

    /// The twin that a case shares with others, if it does.
    pub(super) fn slot(&self, ready: &ReadyCase<'_>) -> Option<&Slot> {
        self.0.get()?.get(&key(ready)?)
    }
}

/// What cases with the same twin have in common. Another spelling is of one case, and a clock that is advanced shows to all.
fn key(ready: &ReadyCase<'_>) -> Option<(u64, Transport)> {
    let own = ready.spelling.is_some() || ready.case.advances_clock() || ready.case.ends_target;
    ready.case.twin_key.filter(|_| !own).map(|key| (key, ready.transport))
}
