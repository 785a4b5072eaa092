//! Fetching from the mailboxes of a target.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::case::CaseSession;
use super::mailbox::{Known, Mailbox};
use super::runner::{Runner, milliseconds};
use crate::exchange::{Arrival, ArrivalKind, Body, Encoded, Ended, Exchange, Incoming, Outgoing, Transport};
use crate::transport::{Delivery, Session, Wait};

/// How many refused fetches in a row suspend fetching for [`FETCH_REST`].
const FETCH_TRIES: usize = 3;

/// How long fetching is suspended after [`FETCH_TRIES`] refusals.
const FETCH_REST: Duration = Duration::from_secs(5);

/// The first pause between two tries to fetch an answer. Each further one is twice as long, up to [`LONGEST_PAUSE`]: most answers
/// come soon or never.
const FETCH_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause between two tries to fetch an answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How many times the reply limit it may take to fetch the pages that the target still announces.
const PATIENCE: u32 = 3;

/// Pages that are fetched for one message without a pause.
const PAGES: usize = 64;

/// Mailboxes that are kept: a long campaign uses a new owner for each input.
const MAILBOXES: usize = 4096;

impl Runner<'_> {
    /// The mailbox that may receive the answers to a message, as it is before the message is sent.
    pub(super) fn mailbox(
        &self,
        case: &CaseSession<'_>,
        exchange: &dyn Fn(&Outgoing, &Incoming) -> Exchange,
        message: &Encoded,
    ) -> Option<Known> {
        if message.transport != Transport::Http {
            return None;
        }
        let sent = Outgoing {
            transport: message.transport,
            method: message.method.clone(),
            url: String::new(),
            headers: Vec::new(),
            body: Body::from(message.body.clone()),
        };
        let seen_in = case.context.observation_context(message.transport);
        let unanswered = exchange(&sent, &Incoming::nothing(Ended::TimedOut));
        let owner = case.context.plan.knowledge.protocol.mailbox()?.owner(&unanswered, &seen_in)?;
        Some(self.with_mailbox(&owner, |mailbox| mailbox.sends(&owner, &message.body)))
    }

    fn with_mailbox<T>(&self, owner: &str, work: impl FnOnce(&mut Mailbox) -> T) -> T {
        let mut mailboxes = self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        if mailboxes.len() >= MAILBOXES && !mailboxes.contains_key(owner) {
            mailboxes.clear();
        }
        work(mailboxes.entry(owner.to_owned()).or_default())
    }

    /// Whether the target has recently refused several fetches in a row.
    fn is_fetching_refused(&self) -> bool {
        let since = self.now_ms().saturating_sub(self.fetch_refused_ms.load(Ordering::Relaxed));
        self.fetches_refused.load(Ordering::Relaxed) >= FETCH_TRIES && since < milliseconds(FETCH_REST)
    }

    /// Makes the call for what a library did not hand out with its answer.
    pub(super) async fn ask_again(&self, case: &CaseSession<'_>, first: &Exchange, carried: &mut Delivery) {
        let rules = case.context.plan.knowledge.protocol.mailbox();
        let Some(call) = rules.and_then(|rules| rules.withheld(first)) else { return };
        self.requests.fetch_add(1, Ordering::Relaxed);
        let fetched = self.call(&first.actor, call).await;
        if fetched.received.ended == Ended::Complete {
            let at_ms = milliseconds(carried.begun.elapsed());
            let (kind, host) = (ArrivalKind::Polled, String::new());
            carried.received.arrived.push(Arrival { kind, code: None, body: fetched.received.body, at_ms, host });
        }
    }

    /// Sends a request that is not of a case, and returns at its first answer.
    pub(super) async fn call(&self, actor: &str, request: Encoded) -> Delivery {
        let mut nothing = |_: &Outgoing, _: &Incoming| true;
        let unrelated = |_: &Outgoing, _: &Arrival| false;
        let wait = Wait {
            none: false,
            fail_fast: false,
            at_least: Duration::ZERO,
            unrelated: &unrelated,
            enough: &mut nothing,
        };
        self.connections.carry(&Session::default(), actor, request, self.limits, wait).await
    }

    /// Fetches pages from the mailbox of the sender until the answer is complete. Every waiting case with the same sender sees
    /// each page, since a target need not offer it twice.
    pub(super) async fn fetch(
        &self,
        case: &CaseSession<'_>,
        first: &Exchange,
        mailbox: Option<Known>,
        carried: &mut Delivery,
        enough: &mut (dyn FnMut(&Outgoing, &Incoming) -> bool + '_),
    ) {
        let seen_in = case.context.observation_context(first.sent.transport);
        let Some(rules) = case.context.plan.knowledge.protocol.mailbox() else { return };
        let Some(known) = mailbox else { return };
        let (owner, mut seen) = (known.owner.as_str(), known.fetched);
        if rules.fetch(first, &seen_in, None).is_none() {
            return;
        }
        let (mut pages, mut more, mut pause) = (0, false, FETCH_PAUSE);
        // The answer itself may have taken as long as the limit, and a page must be read before its absence means anything.
        let begun = Instant::now();
        loop {
            let at_ms = milliseconds(carried.begun.elapsed());
            for body in self.with_mailbox(owner, |mailbox| mailbox.since(&mut seen, &known, rules)) {
                let (kind, host) = (ArrivalKind::Polled, String::new());
                carried.received.arrived.push(Arrival { kind, code: None, body, at_ms, host });
            }
            if enough(&carried.sent, &carried.received)
                || self.is_fetching_refused()
                || (!more && begun.elapsed() >= self.limits.reply)
            {
                return;
            }
            if begun.elapsed() >= self.limits.reply * PATIENCE {
                // The missing answer may be on a page that the target has not delivered yet. It did answer, so this is no silence.
                carried.received.ended = Ended::TooLong;
                return;
            }
            let behind = self.with_mailbox(owner, |mailbox| mailbox.cursor.clone());
            let Some(fetch) = rules.fetch(first, &seen_in, behind.as_deref()) else { return };
            self.requests.fetch_add(1, Ordering::Relaxed);
            let fetched = self.call(&first.actor, fetch).await;
            let good = fetched.received.ended == Ended::Complete && fetched.received.status == Some(200);
            if !good && behind.is_some() {
                // The target may have dropped the cursor; the first page always exists.
                self.with_mailbox(owner, |mailbox| mailbox.cursor = None);
            }
            if !good {
                self.fetches_refused.fetch_add(1, Ordering::Relaxed);
                self.fetch_refused_ms.store(self.now_ms(), Ordering::Relaxed);
                continue;
            }
            self.fetches_refused.store(0, Ordering::Relaxed);
            let body = fetched.received.body;
            let next = rules.page(&body.0).filter(|next| behind.as_ref() != Some(&next.cursor));
            more = next.as_ref().is_some_and(|next| next.more);
            self.with_mailbox(owner, |mailbox| mailbox.take(body, next.map(|next| next.cursor), rules));
            // A target that always announces another page is polled at a limited rate.
            if !more {
                tokio::time::sleep(pause_before(self.limits.reply.saturating_sub(begun.elapsed()), &mut pause)).await;
            } else if pages >= PAGES {
                tokio::time::sleep(FETCH_PAUSE).await;
            }
            pages += 1;
        }
    }
}

/// The pause before the next try, with so much time left: the last try is when it is up. Sets the pause after that.
fn pause_before(left: Duration, pause: &mut Duration) -> Duration {
    let now = *pause;
    *pause = (2 * now).min(LONGEST_PAUSE);
    now.min(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_come_is_fetched_a_last_time_at_the_limit() {
        let (mut left, mut pause) = (Duration::from_secs(5), FETCH_PAUSE);
        let mut pauses = Vec::new();
        while !left.is_zero() {
            let next = pause_before(left, &mut pause);
            left -= next;
            pauses.push(milliseconds(next));
        }
        assert_eq!(pauses, [200, 400, 800, 1000, 1000, 1000, 600]);
    }
}
