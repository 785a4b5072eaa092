//! What a target sends to hosts because of one message: it belongs to the exchange of that message.

use std::time::Instant;

use futures_util::future::Future;

use super::case::CaseSession;
use super::hosts::FENCE_GRACE;
use super::runner::{Runner, milliseconds};
use crate::exchange::{Arrival, ArrivalKind, Body, Encoded, Ended, Exchange, HostedKind, Incoming, Outgoing};
use crate::protocol::{Consequences, Fence};
use crate::transport::Delivery;
use crate::transport::host::{Arrived, Guest};

/// Arrivals that are kept for one message.
const KEPT: usize = 64;

/// The arrivals that one message causes.
pub(super) struct Expected {
    plan: Consequences,
    guest: Guest,
    /// When each arrived, in milliseconds after the start of the run, until the message has been sent.
    found: Vec<Arrival>,
}

impl Runner<'_> {
    /// Has what a message causes delivered to its exchange. `None` if it has no consequences, or the run has no hosts.
    pub(super) fn expect(&self, case: &CaseSession<'_>, message: &Encoded) -> Option<Expected> {
        let hosting = case.context.plan.knowledge.protocol.hosting()?;
        let plan = hosting.consequences(message, &case.context.observation_context(message.transport))?;
        let guest = self.hosts.get()?.as_ref()?.join(case.id, "", true);
        plan.values.iter().for_each(|value| guest.claim(value));
        Some(Expected { plan, guest, found: Vec::new() })
    }

    /// Awaits `work`, and replies meanwhile to what the message causes.
    pub(super) async fn while_expecting<T>(&self, expected: Option<&mut Expected>, work: impl Future<Output = T>) -> T {
        let Some(expected) = expected else { return work.await };
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                arrived = expected.guest.next() => expected.take(arrived, self),
            }
        }
    }

    /// Waits for what a message causes after its answer, and adds it to the answer.
    pub(super) async fn collect(
        &self,
        case: &CaseSession<'_>,
        mut expected: Expected,
        exchange: &dyn Fn(&Outgoing, &Incoming) -> Exchange,
        carried: &mut Delivery,
    ) {
        let hosting = case.context.plan.knowledge.protocol.hosting();
        let answered = exchange(&carried.sent, &carried.received);
        let seen_in = case.context.observation_context(carried.sent.transport);
        let unreachable = matches!(carried.received.ended, Ended::Unreachable(_));
        let over = unreachable || hosting.is_some_and(|hosting| hosting.rules_out(&answered, &seen_in));
        let is_refused = |carried: &Delivery| {
            let answered = exchange(&carried.sent, &carried.received);
            hosting.is_some_and(|hosting| hosting.rules_out(&answered, &seen_in))
        };
        if !over {
            let begun = Instant::now();
            let end = begun + expected.plan.within;
            while expected.found.is_empty() && expected.wait(begun + expected.plan.within / 2, self).await {}
            // Where nothing has arrived by then, a later message that does arrive ends the wait.
            let mut passed = false;
            if expected.found.is_empty()
                && !expected.plan.counts
                && let Some(fence) = expected.plan.fence.take()
            {
                passed = self.pass_fence(case, fence, &mut expected, end, &is_refused).await;
            }
            while expected.found.is_empty() && !passed && expected.wait(end, self).await {}
        }
        let decide = over && !unreachable || expected.plan.counts && !expected.found.is_empty();
        if decide && let Some(fence) = expected.plan.fence.take() {
            let end = Instant::now() + expected.plan.within;
            self.pass_fence(case, fence, &mut expected, end, &is_refused).await;
        }
        // The first byte was sent this long after the start of the run.
        let sent_ms = milliseconds(carried.begun.saturating_duration_since(self.start));
        for mut arrival in expected.found {
            arrival.at_ms = arrival.at_ms.saturating_sub(sent_ms);
            carried.received.arrived.push(arrival);
        }
    }

    /// Sends the fence, and waits until its consequence has arrived, or until the target has refused it: then it has none.
    /// Returns whether its consequence has arrived before `end`.
    async fn pass_fence(
        &self,
        case: &CaseSession<'_>,
        fence: Fence,
        expected: &mut Expected,
        end: Instant,
        is_refused: &dyn Fn(&Delivery) -> bool,
    ) -> bool {
        let Some(hosts) = self.hosts.get().and_then(Option::as_ref) else { return false };
        let mut guest = hosts.join(case.id, "", true);
        guest.claim(&fence.value);
        let (mut passed, mut refused) = (false, false);
        {
            let work = self.call("a", *fence.message);
            tokio::pin!(work);
            let mut sent = false;
            while !(sent && (passed || refused)) && Instant::now() < end {
                tokio::select! {
                    carried = &mut work, if !sent => { sent = true; refused = is_refused(&carried); }
                    arrived = guest.next() => { reply_as_usual(arrived); passed = true; }
                    arrived = expected.guest.next() => expected.take(arrived, self),
                    () = tokio::time::sleep_until(tokio::time::Instant::from_std(end)) => {}
                }
            }
        }
        self.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if passed || refused {
            // A message that the fence overtook follows shortly after it.
            let end = Instant::now() + FENCE_GRACE;
            while expected.wait(end, self).await {}
        }
        passed
    }
}

impl Expected {
    /// Replies to an arrival and keeps it.
    fn take(&mut self, arrived: Arrived, runner: &Runner<'_>) {
        let arrival = arrived.arrival.clone();
        reply_as_usual(arrived);
        let kind = match arrival.hosted.kind {
            HostedKind::WsUpgrade => ArrivalKind::WsUpgrade,
            HostedKind::WsBinary => ArrivalKind::WsBinary,
            HostedKind::WsText => ArrivalKind::WsText,
            HostedKind::TcpFrame => ArrivalKind::TcpFrame,
            HostedKind::Http | HostedKind::Nothing | HostedKind::Fence => ArrivalKind::CalledBack,
        };
        let mut received = Incoming::nothing(Ended::Complete);
        received.body = Body::from(arrival.body);
        runner.redact(&mut received);
        runner.counted(&mut received);
        if self.found.len() < KEPT {
            self.found.push(Arrival {
                kind,
                code: arrival.hosted.code,
                body: received.body,
                at_ms: arrival.at_ms,
                host: arrival.hosted.host,
            });
        }
    }

    /// Waits for one arrival until `end`. Returns false if there was none.
    async fn wait(&mut self, end: Instant, runner: &Runner<'_>) -> bool {
        let next = tokio::time::timeout_at(tokio::time::Instant::from_std(end), self.guest.next());
        match next.await {
            Ok(arrived) => {
                self.take(arrived, runner);
                true
            }
            Err(_) => false,
        }
    }
}

fn reply_as_usual(arrived: Arrived) {
    let usual = arrived.usual.clone();
    arrived.reply(usual);
}
