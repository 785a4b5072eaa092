//! What a server keeps between messages besides its logs: nothing that section 4 knows of.
//!
//! The model processes each message in isolation (section 4). E51 tolerates a filter of repeats, which is here, and so is
//! the state of the planted faults that need one.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of remembered messages.
const REMEMBERED: usize = 4096;

/// The memory of one server or one library.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    seen: HashSet<String>,
    /// The same in the order of arrival.
    order: VecDeque<String>,
    /// The kinds of node whose last message was refused.
    refusing: HashSet<String>,
    /// Until when nothing is answered.
    dead: Option<Instant>,
}

impl Memory {
    /// Whether this node has processed a message with this id before; it is remembered from now on.
    pub(crate) fn is_repeat(&self, node: &str, message_id: &str) -> bool {
        let mut kept = self.kept();
        let key = format!("{node}\n{message_id}");
        if !kept.seen.insert(key.clone()) {
            return true;
        }
        kept.order.push_back(key);
        if kept.order.len() > REMEMBERED
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.seen.remove(&oldest);
        }
        false
    }

    /// Whether the last message to a node was refused, and that this one is or is not.
    pub(crate) fn refused_last(&self, node: &str, refused: bool) -> bool {
        let mut kept = self.kept();
        if refused { !kept.refusing.insert(node.to_owned()) } else { kept.refusing.remove(node) }
    }

    /// Answers nothing for a while.
    pub(crate) fn die_for(&self, span: Duration) {
        self.kept().dead = Some(Instant::now() + span);
    }

    /// Whether nothing is answered now.
    pub(crate) fn is_dead(&self) -> bool {
        self.kept().dead.is_some_and(|until| until > Instant::now())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
