//! Sends one message and collects its answers.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::case::CaseSession;
use super::runner::{Runner, milliseconds};
use super::schedule::PATIENCE_WITH_A_LIBRARY;
use crate::exchange::{Arrival, Body, ChannelAction, Encoded, Ended, Exchange, Incoming, Outgoing, Transport, mask};
use crate::plan::SETUP_STEPS;
use crate::protocol::Channel;
use crate::target::Limits;
use crate::transport::{Delivery, Wait};
use crate::walk::{Planned, Walk};

/// Bytes of bodies in memory above which a run reads less of each body.
const STORED_BYTES: u64 = 96 << 20;

/// The same for all bodies, with those that share their memory: each is read, judged and written.
const READ_BYTES: u64 = 256 << 20;

impl Runner<'_> {
    /// The limits, with a smaller body size once the bodies of the run use much memory.
    fn limits_left(&self) -> Limits {
        let mut limits = self.limits.clone();
        let (stored, read) = (self.stored.load(Ordering::Relaxed), self.read.load(Ordering::Relaxed));
        if stored > STORED_BYTES || read > READ_BYTES {
            limits.body = limits.body.min(64 << 10);
        }
        limits
    }

    /// Opens a new connection for a party whose connection the target closed after an answer, which is permitted after a
    /// rejection, and repeats the set-up of the party on it. A connection that the case itself opened stays closed, since the
    /// case tests it. Returns false if no connection was opened.
    async fn return_to(&self, case: &CaseSession<'_>, walk: &Walk<'_>, planned: Planned<'_>) -> bool {
        if planned.number >= SETUP_STEPS || !case.session.was_left(planned.actor()).await {
            return false;
        }
        let times = case.returns.fetch_add(1, Ordering::Relaxed) + 1;
        let setup = walk.rebuild_setup(planned.actor(), times);
        if setup.is_empty() {
            return false;
        }
        case.session.forget(planned.actor()).await;
        for (step, messages) in setup {
            for message in messages {
                Box::pin(self.send(case, None, step, 0, message)).await;
            }
        }
        true
    }

    /// Sends a message and collects its answers. On a connection that stays open the walk decides when they are sufficient.
    pub(super) async fn send(
        &self,
        case: &CaseSession<'_>,
        mut walk: Option<&mut Walk<'_>>,
        planned: Planned<'_>,
        round: usize,
        mut message: Encoded,
    ) -> Exchange {
        let actor = planned.actor().to_owned();
        let operation = message.operation.clone();
        let (transport, action) = (message.transport, message.action.clone());
        // A set-up is not judged, and a case whose set-up fails shows nothing.
        message.spelling = case.spelling.filter(|_| planned.number < SETUP_STEPS).map(|spelling| {
            // What is repeated until it holds would hold as soon as it is written in another way.
            let round = if planned.step.until.is_some() { 0 } else { round };
            let key = format!("{} {} {round} {actor}", spelling.key, planned.number);
            spelling.spellings.of(&key)
        });
        self.requests.fetch_add(1, Ordering::Relaxed);
        let returned = match walk.as_deref() {
            Some(walk) if message.action == ChannelAction::Message => self.return_to(case, walk, planned).await,
            _ => false,
        };
        let limits = self.limits_left();
        let silent = self.answered.load(Ordering::Relaxed) == 0
            && self.unanswered.load(Ordering::Relaxed) >= PATIENCE_WITH_A_LIBRARY;
        let clock_ms = case.clock_ms.load(Ordering::Relaxed);
        let exchange = |sent: &Outgoing, received: &Incoming| Exchange {
            step: planned.number,
            round,
            actor: actor.clone(),
            operation: operation.clone(),
            sent: sent.clone(),
            received: received.clone(),
            started_ms: 0,
            elapsed_ms: 0,
            hosted: None,
            clock_ms,
        };
        let mut answered_ms = None;
        let Delivery { mut sent, mut received, begun } = if silent && transport == Transport::Adapter {
            // The adapter has not answered any call yet; each further call would cost a timeout.
            Delivery::unsent(message, "the adapter did not answer earlier calls")
        } else {
            let protocol = case.context.plan.knowledge.protocol;
            let profile = &case.context.plan.target.channel;
            if let Some(id) = protocol.channel().and_then(|channel| channel.id_of(&message.body)) {
                self.sends(case.id, id);
            }
            let of_another = |arrival: &Arrival| {
                protocol.channel().is_some_and(|channel| self.is_of_another(case.id, &channel.refers_to(arrival)))
            };
            let unrelated = |sent: &Outgoing, arrival: &Arrival| match action {
                ChannelAction::Message => {
                    let unrelated = |channel: &dyn Channel| channel.is_unrelated(&sent.body.0, arrival);
                    profile.is_keep_alive(arrival)
                        || protocol.channel().is_some_and(unrelated)
                        || transport.is_channel() && of_another(arrival)
                }
                _ => profile.is_ping(arrival),
            };
            let mut enough = |sent: &Outgoing, received: &Incoming| match walk.as_deref_mut() {
                Some(walk) => {
                    let only = |channel: &dyn Channel, arrival| channel.is_only_answer(&sent.body.0, arrival);
                    let ends = |arrival| protocol.channel().is_some_and(|channel| only(channel, arrival));
                    walk.content(planned, exchange(sent, received))
                        || walk.is_probing() && received.arrived.iter().any(ends)
                }
                None => !received.arrived.iter().all(|arrival| unrelated(sent, arrival)),
            };
            let settle = planned.step.settle.as_ref();
            let at_least = settle.map_or(Duration::ZERO, |settle| case.context.plan.time(settle));
            // A set-up is not judged, so later answers do not matter.
            let fail_fast = case.fail_fast || planned.number >= SETUP_STEPS;
            let wait = Wait {
                none: planned.step.without_waiting,
                fail_fast,
                at_least,
                unrelated: &unrelated,
                enough: &mut enough,
            };
            let mailbox = self.mailbox(case, &exchange, &message);
            let mut expected = self.expect(case, &message);
            let carry = self.connections.carry(&case.session, &actor, message, &limits, wait);
            let mut carried = self.while_expecting(expected.as_mut(), carry).await;
            if let Some(expected) = expected {
                // What arrives at hosts later is not part of the time that the answer took.
                answered_ms = Some(milliseconds(carried.begun.elapsed()));
                self.collect(case, expected, &exchange, &mut carried).await;
            }
            if transport.is_channel() {
                let Delivery { sent, received, .. } = &mut carried;
                let all = received.arrived.len();
                if let Some(first) = received.arrived.first() {
                    self.answered_within(first.at_ms);
                }
                received.arrived.retain(|arrival| !of_another(arrival));
                let nothing = received.arrived.iter().all(|arrival| profile.is_keep_alive(arrival));
                let is_message = action == ChannelAction::Message && received.ended == Ended::Complete;
                if received.arrived.len() < all && nothing && is_message && !enough(sent, received) {
                    received.ended = Ended::TimedOut;
                }
            }
            if transport == Transport::Http {
                let first = exchange(&carried.sent, &carried.received);
                self.fetch(case, &first, mailbox, &mut carried, &mut enough).await;
            }
            if transport == Transport::Adapter {
                let first = exchange(&carried.sent, &carried.received);
                self.ask_again(case, &first, &mut carried).await;
            }
            carried
        };
        if returned {
            sent.method.push_str(" on a new connection");
        }
        let elapsed_ms = answered_ms.unwrap_or_else(|| milliseconds(begun.elapsed()));
        match received.ended {
            Ended::Complete | Ended::TooLong => {
                self.unanswered.store(0, Ordering::Relaxed);
                self.answered.fetch_add(1, Ordering::Relaxed);
            }
            // On a connection that stays open, a close after or instead of an answer is a kind of answer.
            Ended::Closed(_) if transport.is_channel() => {
                if !received.arrived.is_empty() {
                    self.unanswered.store(0, Ordering::Relaxed);
                    self.answered.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ended::NotSent(_) => {}
            Ended::TimedOut | Ended::Closed(_) | Ended::Unreachable(_) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.redact(&mut received);
        self.keep(&mut received);
        Exchange {
            step: planned.number,
            round,
            actor,
            operation,
            sent,
            received,
            started_ms: milliseconds(begun.saturating_duration_since(self.start)),
            elapsed_ms,
            hosted: None,
            clock_ms,
        }
    }

    /// Counts the memory of an answer, and shares that of equal ones.
    fn keep(&self, received: &mut Incoming) {
        self.read.fetch_add(size(received), Ordering::Relaxed);
        // A poisoned lock only means that another case panicked.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.stored.fetch_add(kept.keep(received), Ordering::Relaxed);
    }

    /// Counts a message that the target sent to a host, since it shows that the target is alive.
    pub(super) fn counted(&self, received: &mut Incoming) {
        self.keep(received);
        self.unanswered.store(0, Ordering::Relaxed);
    }

    /// Redacts every secret that a target repeats.
    pub(super) fn redact(&self, received: &mut Incoming) {
        for secret in &self.secrets {
            redact(&mut received.body, secret);
            received.arrived.iter_mut().for_each(|arrival| redact(&mut arrival.body, secret));
            for (_, value) in &mut received.headers {
                *value = value.replace(secret.as_str(), "<redacted>");
            }
        }
    }
}

/// Bytes of the bodies in an answer.
pub(super) fn size(received: &Incoming) -> u64 {
    (received.body.len() + received.arrived.iter().map(|arrival| arrival.body.len()).sum::<usize>()) as u64
}

/// Redacts a secret in an answer; keeps the length in bytes that are not text.
fn redact(body: &mut Body, secret: &str) {
    match body.text() {
        Some(text) if text.contains(secret) => *body = text.replace(secret, "<redacted>").into_bytes().into(),
        Some(_) => {}
        None if memchr::memmem::find(&body.0, secret.as_bytes()).is_none() => {}
        None => mask(body.to_mut(), secret.as_bytes()),
    }
}
