//! Answers that a target keeps for the sender to fetch, and what has been fetched of them.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Engine, Talk, milliseconds};
use crate::exchange::{Arrival, Body, Encoded, Ended, Exchange, Incoming, Outgoing, Transport};
use crate::transport::{Carried, Session, Wait};

/// How often a target may refuse to let answers be fetched before nobody tries any more.
const FETCH_TRIES: usize = 3;

/// The pause between two tries to fetch an answer.
const FETCH_PAUSE: Duration = Duration::from_millis(200);

/// How many times the time of an answer it may take to fetch what a target says that it still has.
const PATIENCE: u32 = 3;

/// Pages that are fetched for one message without a pause.
const PAGES: usize = 64;

/// Pages that are kept for those who wait.
const PAGES_KEPT: usize = 256;
/// What has been fetched of the answers for one party.
#[derive(Default)]
pub(super) struct Mailbox {
    /// The place behind the last page.
    cursor: Option<String>,
    /// Pages that are not kept any more.
    dropped: usize,
    pages: VecDeque<Body>,
}

impl Mailbox {
    /// How many pages have been fetched.
    fn fetched(&self) -> usize {
        self.dropped + self.pages.len()
    }

    /// The pages from a number on, which becomes that of the next one.
    fn since(&mut self, seen: &mut usize) -> Vec<Body> {
        let new = self.pages.iter().skip(seen.saturating_sub(self.dropped)).cloned().collect();
        *seen = self.fetched();
        new
    }

    /// Takes a page. The same page again is no news.
    fn take(&mut self, page: Body, next: Option<String>) {
        if next.is_some() {
            self.cursor = next;
        }
        if self.pages.back() != Some(&page) {
            self.pages.push_back(page);
        }
        if self.pages.len() > PAGES_KEPT {
            self.pages.pop_front();
            self.dropped += 1;
        }
    }
}

impl Engine<'_> {
    /// Whose answers a message may have, and how many pages of those have been fetched before it is sent.
    pub(super) fn mailbox(
        &self,
        talk: &Talk<'_>,
        exchange: &dyn Fn(&Outgoing, &Incoming) -> Exchange,
        message: &Encoded,
    ) -> Option<(String, usize)> {
        if message.transport != Transport::Http {
            return None;
        }
        let sent = Outgoing {
            transport: message.transport,
            method: message.method.clone(),
            url: String::new(),
            headers: Vec::new(),
            body: Body(message.body.clone()),
        };
        let sight = talk.context.sight(message.transport);
        let unanswered = exchange(&sent, &Incoming::nothing(Ended::TimedOut));
        let owner = talk.context.plan.knowledge.protocol.mailbox(&unanswered, &sight)?;
        let fetched = self.with_mailbox(&owner, |mailbox| mailbox.fetched());
        Some((owner, fetched))
    }

    fn with_mailbox<T>(&self, owner: &str, work: impl FnOnce(&mut Mailbox) -> T) -> T {
        let mut mailboxes = self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        work(mailboxes.entry(owner.to_owned()).or_default())
    }

    /// Fetches what a target keeps for the sender instead of answering at once, while that is what is missing. What is
    /// fetched is seen by every case with the same sender that waits, since a target need not offer it twice.
    pub(super) async fn fetch(
        &self,
        talk: &Talk<'_>,
        first: &Exchange,
        mailbox: Option<(String, usize)>,
        carried: &mut Carried,
        enough: &mut (dyn FnMut(&Outgoing, &Incoming) -> bool + '_),
    ) {
        let sight = talk.context.sight(first.sent.transport);
        let protocol = talk.context.plan.knowledge.protocol;
        let Some((owner, mut seen)) = mailbox else { return };
        if protocol.fetch(first, &sight, None).is_none() {
            return;
        }
        let (mut pages, mut more) = (0, false);
        loop {
            let at_ms = milliseconds(carried.begun.elapsed());
            for body in self.with_mailbox(&owner, |mailbox| mailbox.since(&mut seen)) {
                carried.received.arrived.push(Arrival { kind: "polled".to_owned(), code: None, body, at_ms });
            }
            if enough(&carried.sent, &carried.received)
                || self.fetches_refused.load(Ordering::Relaxed) >= FETCH_TRIES
                || (!more && carried.begun.elapsed() >= self.limits.reply)
            {
                return;
            }
            if carried.begun.elapsed() >= self.limits.reply * PATIENCE {
                // What is missing may be among what the target has not let go of yet.
                carried.received.ended = Ended::TimedOut;
                return;
            }
            let behind = self.with_mailbox(&owner, |mailbox| mailbox.cursor.clone());
            let Some(fetch) = protocol.fetch(first, &sight, behind.as_deref()) else { return };
            let mut nothing = |_: &Outgoing, _: &Incoming| true;
            let beside = |_: &Outgoing, _: &Arrival| false;
            let wait =
                Wait { none: false, hasty: false, at_least: Duration::ZERO, beside: &beside, enough: &mut nothing };
            let session = Session::default();
            let fetched = self.connections.carry(&session, &first.actor, fetch, self.limits, wait).await;
            self.requests.fetch_add(1, Ordering::Relaxed);
            let good = fetched.received.ended == Ended::Complete && fetched.received.status == Some(200);
            if !good && behind.is_some() {
                // A place may be forgotten; the start is always there.
                self.with_mailbox(&owner, |mailbox| mailbox.cursor = None);
            }
            if !good {
                self.fetches_refused.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            self.fetches_refused.store(0, Ordering::Relaxed);
            let body = fetched.received.body;
            let next = protocol.next(&body.0).filter(|(next, _)| behind.as_ref() != Some(next));
            more = next.as_ref().is_some_and(|(_, more)| *more);
            self.with_mailbox(&owner, |mailbox| mailbox.take(body, next.map(|(next, _)| next)));
            // Whoever always has another page is given time as well.
            if !more || pages >= PAGES {
                tokio::time::sleep(FETCH_PAUSE).await;
            }
            pages += 1;
        }
    }
}
