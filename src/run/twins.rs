//! Twins that several cases share.
//!
//! The rows of a table often edit the same message, so their twins differ in nothing but random values. The first of them that
//! is accepted stands for all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::MutexGuard;

use crate::exchange::{Exchanges, Transport};
use crate::plan::ReadyCase;

/// The twins of a run that were sent.
#[derive(Default)]
pub(super) struct Twins(Mutex<HashMap<(u64, Transport), Slot>>);

/// What became of the first twin of its kind.
pub(super) type Slot = Arc<tokio::sync::Mutex<First>>;

/// The first twin of its kind.
#[derive(Clone, Default)]
pub(super) enum First {
    /// Not sent yet.
    #[default]
    Open,
    /// The target accepted it.
    Accepted(Shared),
    /// It did not, so that each case sends its own.
    Refused,
}

/// A twin that the target accepted.
#[derive(Clone)]
pub(super) struct Shared {
    /// The position in the plan of the case that sent it.
    pub(super) of: usize,
    pub(super) exchanges: Exchanges,
    pub(super) started_ms: u64,
}

impl Twins {
    /// The slot of the twin of a case; `None` if the twin cannot stand for others.
    pub(super) fn slot(&self, ready: &ReadyCase<'_>) -> Option<Slot> {
        // Another spelling is of one case, and a clock that is advanced shows to all cases.
        let own = ready.spelling.is_some() || ready.case.advances_clock() || ready.case.ends_target;
        let key = ready.case.twin_key.filter(|_| !own)?;
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(slots.entry((key, ready.transport)).or_default()))
    }
}

/// Waits until the first twin of a kind was sent. Holds the slot only while nobody has sent it.
pub(super) async fn first(slot: &Slot) -> (First, Option<MutexGuard<'_, First>>) {
    let slot = slot.lock().await;
    match &*slot {
        First::Open => (First::Open, Some(slot)),
        found => (found.clone(), None),
    }
}
