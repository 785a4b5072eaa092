//! The runner of a run, with all that its cases share.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use super::kept::Kept;
use super::mailbox::Mailbox;
use super::twins::Twins;
use crate::exchange::TargetClass;
use crate::target::Limits;
use crate::transport::Connections;
use crate::transport::host::Hosts;
use crate::walk::Walks;

/// The time of an answer above which a target counts as slow, in milliseconds.
const SLOW_MS: u64 = 150;

/// Runs cases against one target, with one set of connections, mailboxes, limits and counters.
pub struct Runner<'r> {
    pub(super) connections: &'r Connections,
    pub(super) limits: &'r Limits,
    pub(super) start: Instant,
    /// Whether cases run even where the probes show that none can be judged.
    pub(super) judges_every_target: bool,
    /// Whether a case that fails after waiting is retried alone.
    pub(super) retries: bool,
    pub(super) secrets: Vec<String>,
    pub(super) requests: AtomicU64,
    /// Consecutive messages without an answer.
    pub(super) unanswered: AtomicUsize,
    pub(super) answered: AtomicU64,
    /// Consecutive pauses because the target was busy.
    pub(super) busy: AtomicUsize,
    /// Bytes of bodies that the run keeps in memory.
    pub(super) stored: AtomicU64,
    /// Bytes of all bodies of the run.
    pub(super) read: AtomicU64,
    /// Long answers that arrived lately.
    pub(super) kept: Mutex<Kept>,
    /// How many fetches in a row the target refused, and when it refused the last one, in milliseconds after the start.
    pub(super) fetches_refused: AtomicUsize,
    pub(super) fetch_refused_ms: AtomicU64,
    /// How far cases have advanced the clock of the target, by kind of target: in milliseconds, with the number of adapter
    /// restarts at that time.
    pub(super) clocks: Mutex<BTreeMap<TargetClass, (u64, u64)>>,
    /// How long answers over connections that stay open take lately, in milliseconds.
    pub(super) answer_ms: AtomicU64,
    /// Twins that cases share.
    pub(super) twins: Twins,
    /// What the walks through the cases of the plan found.
    pub(super) walks: Walks,
    /// The cases that sent each message, by its id.
    pub(super) senders: Mutex<HashMap<Vec<u8>, Vec<String>>>,
    /// The pages fetched from mailboxes of the target, by owner.
    pub(super) mailboxes: Mutex<BTreeMap<String, Mailbox>>,
    /// The peers that proofmark hosts for the target, once they are started.
    pub(super) hosts: OnceCell<Option<Arc<Hosts>>>,
}

impl<'r> Runner<'r> {
    /// A runner for the target of `connections`. `start` is the time of the clock in the facts of the run.
    pub fn new(connections: &'r Connections, limits: &'r Limits, start: Instant) -> Self {
        Self {
            connections,
            limits,
            start,
            judges_every_target: false,
            retries: true,
            secrets: connections.secrets().map(str::to_owned).collect(),
            requests: AtomicU64::new(0),
            unanswered: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            stored: AtomicU64::new(0),
            read: AtomicU64::new(0),
            kept: Mutex::default(),
            fetches_refused: AtomicUsize::new(0),
            fetch_refused_ms: AtomicU64::new(0),
            clocks: Mutex::default(),
            answer_ms: AtomicU64::new(0),
            twins: Twins::default(),
            walks: Walks::default(),
            senders: Mutex::default(),
            mailboxes: Mutex::default(),
            hosts: OnceCell::new(),
        }
    }

    /// Runs the cases even at a target that is not ready ([`crate::walk::readiness`]), as the proof of the floor needs it.
    #[must_use]
    pub fn at_every_target(self) -> Self {
        Self { judges_every_target: true, ..self }
    }

    /// Retries no case: for a target that is meant to fail.
    #[must_use]
    pub fn without_retries(self) -> Self {
        Self { retries: false, ..self }
    }

    /// What the walks through the cases of the plan found while they ran.
    pub fn walks(&self) -> &Walks {
        &self.walks
    }

    /// Messages sent so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Takes note of how long an answer over a connection that stays open took.
    pub(super) fn answered_within(&self, milliseconds: u64) {
        // A moving average; an update that is lost does not matter.
        let before = self.answer_ms.load(Ordering::Relaxed);
        self.answer_ms.store((before * 7 + milliseconds) / 8, Ordering::Relaxed);
    }

    /// Whether answers take so long that more messages at once would only make them slower.
    pub(super) fn is_slow(&self) -> bool {
        self.answer_ms.load(Ordering::Relaxed) > SLOW_MS
    }

    /// Stores that a case sends the message with this id.
    pub(super) fn sends(&self, case: &str, id: Vec<u8>) {
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        let cases = senders.entry(id).or_default();
        if !cases.iter().any(|known| known == case) {
            cases.push(case.to_owned());
        }
    }

    /// Whether a message with one of these ids was sent by other cases only.
    pub(super) fn is_of_another(&self, case: &str, ids: &[Vec<u8>]) -> bool {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = ids.iter().filter_map(|id| senders.get(id)).peekable();
        known.peek().is_some() && known.all(|cases| !cases.iter().any(|sender| sender == case))
    }

    /// Milliseconds since the start of the run.
    pub(super) fn now_ms(&self) -> u64 {
        milliseconds(self.start.elapsed())
    }
}

/// A duration in whole milliseconds.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_belongs_to_another_case_if_only_others_have_sent_what_it_refers_to() {
        let connections = Connections::default();
        let limits = Limits::default();
        let runner = Runner::new(&connections, &limits, Instant::now());
        let id = |text: &str| text.as_bytes().to_vec();
        runner.sends("p/s#one", id("1"));
        runner.sends("p/s#two", id("2"));
        runner.sends("p/s#one", id("both"));
        runner.sends("p/s#two", id("both"));
        assert!(runner.is_of_another("p/s#one", &[id("new"), id("2")]));
        assert!(!runner.is_of_another("p/s#one", &[id("new"), id("1")]));
        assert!(!runner.is_of_another("p/s#one", &[id("both")]), "an id of the suite that several cases send");
        assert!(!runner.is_of_another("p/s#one", &[id("new")]), "what it refers to is unknown");
        assert!(!runner.is_of_another("p/s#one", &[id("2"), id("1")]));
    }
}
