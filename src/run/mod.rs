//! Runs a plan: sends the messages of the walks, concurrently and within every limit, and returns the exchanges.
//!
//! Answers are judged here only as far as they decide the next step. Start with [`Runner`], which has the connections,
//! mailboxes, limits and counters of a run. `case` runs the steps of one case, `repeat` repeats a step, `send` sends one
//! message. `retry` retries a case that failed after
//! waiting. `twins` keeps the twins that several cases share.

mod case;
mod consequences;
mod fetch;
mod hosts;
mod kept;
mod mailbox;
mod progress;
mod repeat;
mod retry;
mod runner;
mod schedule;
mod send;
mod spelling;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod time_and_files_tests;
mod twins;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;

use crate::exchange::Exchange;
use crate::plan::{Plan, ReadyCase};
use crate::walk::{CaseTranscript, Context, Facts, Part, Transcript};

pub use hosts::start_hosts;
pub use progress::{Event, Silent, Sink};
pub use runner::Runner;
pub use schedule::longest;

/// How long to wait for late messages at hosts at the end of a run.
const LATE: Duration = Duration::from_millis(50);

impl Runner<'_> {
    /// Runs every case that `plan` selects. `cancel` becomes true when the run is to end early.
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
                () = cancelled(cancel) => Some("the run was interrupted".to_owned()),
            }
        };
        transcript.cut_short = cut_short;
        if let Some(hosts) = self.hosts.get().and_then(Option::as_ref) {
            // Messages in flight to a host still count.
            tokio::time::sleep(LATE).await;
            (transcript.strays, transcript.more_strays) = hosts.strays();
        }
        transcript.cases.resize_with(plan.cases.len(), || None);
        transcript
    }

    /// Probes the features that some of the cases need, and runs no case: for callers that generate cases. The transcript has
    /// no cases; its `cut_short` is the reason if the target cannot be probed.
    pub async fn probe(&self, plan: &Plan<'_>, chosen: &BTreeSet<usize>, facts: Facts) -> Transcript {
        let mut transcript = Transcript::default();
        transcript.cut_short = self.probe_features(plan, Some(chosen), facts, &mut transcript).await;
        transcript
    }

    /// Runs one case against a probed target, alone or concurrently with others.
    pub async fn run_case(&self, context: &Context<'_>, ready: &ReadyCase<'_>) -> CaseTranscript {
        let transcript = self.case(context, ready, None).await;
        self.released(transcript.exchanges.iter().chain(&transcript.twin));
        transcript
    }

    /// Runs one case with identities of its own for each number.
    pub async fn run_case_again(&self, context: &Context<'_>, ready: &ReadyCase<'_>, number: u64) -> CaseTranscript {
        let transcript = self.case_once(context, ready, None, number).await;
        self.released(transcript.exchanges.iter().chain(&transcript.twin));
        transcript
    }

    /// Runs the steps of one part of a case, and waits for one sufficient answer of each. Only [`Runner::run_case`] waits for
    /// contradicting answers. The text is the reason for an early end that no exchange shows.
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

    /// Subtracts bodies from the memory that the run keeps, since its caller has them.
    fn released<'e>(&self, exchanges: impl Iterator<Item = &'e Exchange>) {
        let bytes: u64 = exchanges.map(|exchange| send::size(&exchange.received)).sum();
        for held in [&self.stored, &self.read] {
            let _ = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(held.saturating_sub(bytes)));
        }
    }
}

async fn cancelled(mut cancel: watch::Receiver<bool>) {
    loop {
        if *cancel.borrow() {
            return;
        }
        if cancel.changed().await.is_err() {
            // The sender was dropped, so the run can no longer be cancelled.
            std::future::pending::<()>().await;
        }
    }
}
