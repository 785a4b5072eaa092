//! Running a plan: sends what the walks ask for, concurrently and within every limit, and returns what was exchanged.
//!
//! Nothing is judged here but what decides the next step. Start with [`Runner`]: it has the one set of connections, mailboxes,
//! limits and counters of a run. `case` takes the steps of one case, `repeat` repeats a step, `send` sends one message.

mod case;
mod hosts;
mod mailbox;
mod repeat;
mod schedule;
mod send;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod time_and_files_tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{OnceCell, watch};

use crate::exchange::Exchange;
use crate::plan::{Plan, ReadyCase};
use crate::target::Limits;
use crate::transport::Connections;
use crate::transport::host::Hosts;
use crate::walk::{CaseTranscript, Context, Facts, Part, Transcript};
use mailbox::Mailbox;

pub use hosts::start_hosts;

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This many cases will be run.
    Planned(usize),
    /// A case has ended.
    Done(String),
}

/// Receives the progress of a run.
pub trait Sink: Sync {
    /// Takes an event.
    fn event(&self, event: Event);
}

/// Ignores every event.
pub struct Silent;

impl Sink for Silent {
    fn event(&self, _: Event) {}
}

/// How long late messages at hosts are waited for when a run is over.
const LATE: Duration = Duration::from_millis(50);

/// Runs cases against one target, with one set of connections, mailboxes, limits and counters.
pub struct Runner<'r> {
    connections: &'r Connections,
    limits: &'r Limits,
    start: Instant,
    secrets: Vec<String>,
    requests: AtomicU64,
    /// Messages in a row that got no answer.
    unanswered: AtomicUsize,
    answered: AtomicU64,
    /// Pauses in a row that were taken because the target was busy.
    busy: AtomicUsize,
    /// Bytes of bodies that the run holds in memory.
    stored: AtomicU64,
    /// How many fetches in a row the target refused, and when it refused the last one, in milliseconds after the start.
    fetches_refused: AtomicUsize,
    fetch_refused_ms: AtomicU64,
    /// How far the clock of the target is ahead, by kind of target, because cases have advanced it: in milliseconds, with how
    /// often the adapter had been lost then.
    clocks: Mutex<BTreeMap<&'static str, (u64, u64)>>,
    /// The pages fetched from mailboxes of the target, by owner.
    mailboxes: Mutex<BTreeMap<String, Mailbox>>,
    /// The peers that proofmark plays for the target, once they are started.
    hosts: OnceCell<Option<Arc<Hosts>>>,
}

impl<'r> Runner<'r> {
    /// A runner for the target behind `connections`. `start` is the instant of the clock in the facts of the run.
    pub fn new(connections: &'r Connections, limits: &'r Limits, start: Instant) -> Self {
        Self {
            connections,
            limits,
            start,
            secrets: connections.secrets().map(str::to_owned).collect(),
            requests: AtomicU64::new(0),
            unanswered: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            stored: AtomicU64::new(0),
            fetches_refused: AtomicUsize::new(0),
            fetch_refused_ms: AtomicU64::new(0),
            clocks: Mutex::default(),
            mailboxes: Mutex::default(),
            hosts: OnceCell::new(),
        }
    }

    /// Messages sent so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Runs every case that `plan` selects. `cancel` turns true when the run is to end early.
    pub async fn run_all(
        &self,
        plan: &Plan<'_>,
        facts: Facts,
        cancel: watch::Receiver<bool>,
        sink: &dyn Sink,
    ) -> Transcript {
        let selected = plan.selected();
        self.run_within_limits(plan, selected.as_ref(), facts, cancel, sink).await
    }

    /// As [`Runner::run_all`], for some of the cases: `chosen` holds their positions in the plan. Only features that those
    /// cases, the baseline and the claims depend on are probed; every other feature stays unknown.
    pub async fn run_some(
        &self,
        plan: &Plan<'_>,
        chosen: &BTreeSet<usize>,
        facts: Facts,
        cancel: watch::Receiver<bool>,
        sink: &dyn Sink,
    ) -> Transcript {
        self.run_within_limits(plan, Some(chosen), facts, cancel, sink).await
    }

    async fn run_within_limits(
        &self,
        plan: &Plan<'_>,
        chosen: Option<&BTreeSet<usize>>,
        facts: Facts,
        cancel: watch::Receiver<bool>,
        sink: &dyn Sink,
    ) -> Transcript {
        let mut transcript = Transcript::default();
        let deadline = tokio::time::sleep(self.limits.run);
        tokio::pin!(deadline);
        let cut_short = {
            let work = self.probe_and_run(plan, chosen, facts, &mut transcript, sink);
            tokio::pin!(work);
            tokio::select! {
                ended = &mut work => ended,
                () = &mut deadline => Some(format!("the run took longer than {:?}", self.limits.run)),
                () = cancelled(cancel) => Some("it was interrupted".to_owned()),
            }
        };
        transcript.cut_short = cut_short;
        if let Some(hosts) = self.hosts.get().and_then(Option::as_ref) {
            // Messages that are under way to a host still count.
            tokio::time::sleep(LATE).await;
            (transcript.strays, transcript.more_strays) = hosts.strays();
        }
        transcript.cases.resize_with(plan.cases.len(), || None);
        transcript
    }

    /// Probes what the target offers, for some of the cases, and runs none of them: for callers that generate cases.
    /// The transcript has no cases, and says why the target cannot be probed if it cannot.
    pub async fn probe(&self, plan: &Plan<'_>, chosen: &BTreeSet<usize>, facts: Facts) -> Transcript {
        let mut transcript = Transcript::default();
        transcript.cut_short = self.probe_features(plan, Some(chosen), facts, &mut transcript).await;
        transcript
    }

    /// Runs one case against a target that was probed, alone or beside others.
    pub async fn run_case(&self, context: &Context<'_>, ready: &ReadyCase<'_>) -> CaseTranscript {
        let transcript = self.case(context, ready).await;
        self.released(transcript.exchanges.iter().chain(&transcript.twin));
        transcript
    }

    /// Takes the steps of one part of a case, and waits for one sufficient answer of each. A second answer that contradicts it
    /// is only seen by [`Runner::run_case`]. The text says why it ended if no exchange shows it.
    pub async fn run_part(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        part: Part,
    ) -> (Vec<Exchange>, Option<String>) {
        let found = self.walk(context, ready, part, self.now_ms(), true).await;
        self.released(found.0.iter());
        found
    }

    /// Counts bodies as no longer held by the run, since its caller has them.
    fn released<'e>(&self, exchanges: impl Iterator<Item = &'e Exchange>) {
        let bytes: u64 = exchanges.map(|exchange| send::size(&exchange.received)).sum();
        let _ = self.stored.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(held.saturating_sub(bytes)));
    }

    /// Milliseconds since the start of the run.
    fn now_ms(&self) -> u64 {
        milliseconds(self.start.elapsed())
    }
}

async fn cancelled(mut cancel: watch::Receiver<bool>) {
    loop {
        if *cancel.borrow() {
            return;
        }
        if cancel.changed().await.is_err() {
            // The sender is gone, so that the run cannot be cancelled any more.
            std::future::pending::<()>().await;
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
