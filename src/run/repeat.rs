//! Steps that send several messages: lists, retries at a busy target, `until` and `quiet`.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::case::CaseSession;
use super::runner::Runner;
use crate::exchange::{Encoded, Exchange};
use crate::walk::{Planned, Walk};

/// The pause between two tries of a polling step.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum number of messages of one polling step.
const ROUNDS: usize = 600;

/// How often a message is retried at a busy target.
const BUSY_TRIES: u32 = 4;

/// Maximum number of consecutive retries of the run, for a target that is always busy.
const BUSY_WAITS: usize = 1_000;

/// The first pause before a retry; each further one is twice as long.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause that a target can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often in a row, in the whole run, a target gets the pause that it asks for: one that always asks would make a run endless.
const PAUSES_ASKED_FOR: usize = 40;

impl Runner<'_> {
    pub(super) async fn send_all(
        &self,
        case: &CaseSession<'_>,
        mut walk: Option<&mut Walk<'_>>,
        planned: Planned<'_>,
        messages: Vec<Encoded>,
    ) -> Vec<Exchange> {
        let rounds = messages.into_iter().enumerate();
        if planned.step.at_once {
            return join_all(rounds.map(|(round, message)| self.send(case, None, planned, round, message))).await;
        }
        let mut exchanges = Vec::new();
        for (round, message) in rounds {
            exchanges.push(self.send_patiently(case, walk.as_deref_mut(), planned, round, message).await);
        }
        exchanges
    }

    /// Retries a message while the target is busy, since cases run concurrently and a target may limit their number. The last
    /// answer counts.
    async fn send_patiently(
        &self,
        case: &CaseSession<'_>,
        mut walk: Option<&mut Walk<'_>>,
        planned: Planned<'_>,
        round: usize,
        message: Encoded,
    ) -> Exchange {
        let protocol = case.context.plan.knowledge.protocol;
        let mut pause = BUSY_PAUSE;
        for _ in 0..BUSY_TRIES {
            let exchange = self.send(case, walk.as_deref_mut(), planned, round, message.clone()).await;
            if !protocol.is_busy(&exchange) {
                self.busy.store(0, Ordering::Relaxed);
                return exchange;
            }
            let in_a_row = self.busy.fetch_add(1, Ordering::Relaxed);
            if in_a_row >= BUSY_WAITS {
                return exchange;
            }
            let asked_for =
                protocol.busy_for(&exchange, case.context.plan.target).filter(|asked| *asked <= LONGEST_PAUSE);
            match asked_for.filter(|_| in_a_row < PAUSES_ASKED_FOR) {
                Some(asked_for) => tokio::time::sleep(asked_for.max(pause)).await,
                None => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
        self.send(case, walk, planned, round, message).await
    }

    /// Repeats a step until its expectations hold or its time is up, with a new message each time.
    pub(super) async fn until(
        &self,
        case: &CaseSession<'_>,
        walk: &mut Walk<'_>,
        planned: Planned<'_>,
        messages: &[Encoded],
        limit: Duration,
    ) -> Vec<Exchange> {
        let begun = Instant::now();
        let mut exchanges = Vec::new();
        let Some(first) = messages.first() else { return exchanges };
        loop {
            let again = if exchanges.is_empty() { None } else { walk.message_again(planned, exchanges.len()) };
            let message = again.unwrap_or_else(|| first.clone());
            let exchange = self.send(case, Some(walk), planned, exchanges.len(), message).await;
            let holds = walk.holds(planned, &exchange);
            exchanges.push(exchange);
            if holds || begun.elapsed() + PAUSE > limit || exchanges.len() >= ROUNDS {
                return exchanges;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Repeats a step for a fixed time.
    pub(super) async fn quiet(
        &self,
        case: &CaseSession<'_>,
        planned: Planned<'_>,
        messages: &[Encoded],
        during: Duration,
    ) -> Vec<Exchange> {
        let begun = Instant::now();
        let mut exchanges = Vec::new();
        while exchanges.len() < ROUNDS {
            for message in messages {
                let round = exchanges.len() % messages.len().max(1);
                exchanges.push(self.send(case, None, planned, round, message.clone()).await);
            }
            if begun.elapsed() >= during || messages.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE / 4).await;
        }
        exchanges
    }
}
