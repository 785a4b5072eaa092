//! Store and forward (8.3, 16.5; RFC 002, 6.2; RFC 003, 5): messages for others, stored unchanged.

use bytes::Bytes;
use rusqlite::Connection;

use super::super::bodies::{AckSource, Body};
use super::super::codes::{Code, typ};
use super::super::did;
use super::super::document::Resolve;
use super::super::envelope;
use super::super::key_selection::signature_key;
use super::super::message::{Headers, Message};
use super::super::receive::{self, Authentic, Recipient};
use super::super::rejection::{Rejection, Stage};
use super::super::signature;
use super::super::store::{queue, seen};
use super::channel::Channel;
use super::federation::Way;
use super::replies::{Cause, Complaint};
use super::{Answer, Node, Outcome, Taken};
use crate::cbor::{self, Cbor};
use crate::fault::planted;
use crate::store::StoreError;

/// The number of messages read at a time for delivery on a connection.
const DRAIN_PAGE: usize = 16;

impl Node {
    /// The recipients of a message that are not this node.
    pub(super) fn others(&self, headers: &Headers) -> Vec<String> {
        let others = headers.to.all().iter().filter(|to| !self.is_me(to));
        others.map(|to| did::without_fragment(to).to_owned()).collect()
    }

    /// Queues a message, or delivers it immediately, and acknowledges it.
    pub(super) async fn pass_on(
        &self,
        bytes: &Bytes,
        others: Vec<String>,
        channel: &Channel,
        depth: usize,
        now: u64,
    ) -> Taken {
        let (documents, settings, rules) = (self.documents(), &self.0.settings, self.rules());
        let recipient =
            Recipient { rules, me: &settings.me, documents: documents.as_ref(), versions: &settings.versions, now };
        let (message, authentic) = match receive::in_transit(bytes, recipient) {
            Ok(passed) => passed,
            Err(rejection) => return self.refuse(bytes, rejection, now).await,
        };
        if let Some(taken) = self.out_of_turn(&message.headers, channel, depth, now) {
            // RFC 002, A.6: what is refused is not passed on.
            planted!(rules.fault, "principal-refused-but-queued", self.queue_refused(&message, bytes, others).await);
            return taken;
        }
        // RFC 002, 2: the bytes survive the transport.
        let raw =
            if rules.fault.is("relay-reencodes") { envelope::encode(&message, rules).into() } else { bytes.clone() };
        let (node, headers) = (self.clone(), message.headers);
        let ways: Vec<Option<Way>> = others.iter().map(|other| self.way_on(other)).collect();
        let for_work = (headers.clone(), others.clone());
        let answered = self.0.store.write(move |db| {
            let (headers, others) = for_work;
            node.queue_up(db, &headers, &raw, authentic.as_ref(), &others, ways, now)
        });
        let Ok(Ok(answer)) = answered.await else {
            let rejection = Rejection::new(Code::Unavailable, Stage::Recipient, "the database failed");
            return self.refuse(bytes, rejection, now).await;
        };
        for other in &others {
            self.0.directory.announce(other);
        }
        if answer.wakes {
            self.0.sending.notify_one();
        }
        let Answer { replies, status, refusal, .. } = answer;
        let outcome = match refusal {
            Some(code) => Outcome::Rejected(Rejection::new(code, Stage::Recipient, "not taken for delivery")),
            None => Outcome::Passed,
        };
        let silent = headers.typ == typ::ERROR;
        let replies = if silent { Vec::new() } else { replies };
        Taken { replies, status, refusal, silent, outcome, close: false }
    }

    #[expect(clippy::too_many_arguments, reason = "the whole of a message on its way, in one transaction")]
    fn queue_up(
        &self,
        db: &Connection,
        headers: &Headers,
        raw: &Bytes,
        authentic: Option<&Authentic>,
        others: &[String],
        ways: Vec<Option<Way>>,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let (voice, cause, rules) = (self.voice(now), Cause::of(headers), self.rules());
        let sender = did::without_fragment(&headers.from);
        if let Some(seen) = seen::find(db, sender, &headers.id, now)? {
            let replies = seen.replies.into_iter().map(Bytes::from).collect();
            return Ok(Answer { status: seen.status, cached: true, ..Answer::of(replies) });
        }
        let mut wakes = false;
        if let Some(authentic) = authentic {
            wakes = self.commit_delivery(db, authentic, others, now)?;
        }
        // 8.3: a message with ttl 0 is delivered immediately or not at all, and lifetimes are never extended.
        let immediate = headers.ttl == 0;
        let stored_for = immediate && rules.fault.is("relay-stores-ttl-zero");
        if immediate && !stored_for {
            let reached = others.iter().filter(|other| self.0.directory.hand_over(other, raw) > 0).count();
            if reached < others.len() {
                let reason = "TTL=0 requires immediate delivery";
                return Ok(Answer::refused(voice, cause, &Complaint::because(Code::RelayRejected, reason)));
            }
        } else {
            let mut expires_at = if stored_for { now.saturating_add(60_000) } else { headers.expiry() };
            planted!(rules.fault, "relay-forgets-long-lifetimes", headers.ttl > u64::from(u32::MAX / 2) => expires_at = now);
            let parcel = queue::Parcel { sender, id: &headers.id, raw, expires_at };
            // 8.3, 16.5: kept until the recipient has it.
            let forgets = rules.fault.is("relay-forgets-offline");
            let kept = if forgets { self.hand_over_all(others, raw) } else { queue::put(db, parcel, others, None)? };
            if kept.is_err() {
                return Ok(Answer::refused(voice, cause, &Code::Overloaded.into()));
            }
            for (other, way) in others.iter().zip(ways) {
                if let Some(way) = way {
                    wakes |= self.hand_on(db, headers, raw, other, &way, now)?;
                }
            }
        }
        // 16.1, E42: confirmations are not confirmed.
        let control = matches!(headers.typ, 0x00..=0x0f | typ::HELLO..=typ::HELLO_REJECT) && headers.typ != typ::PING;
        let replies = if control { Vec::new() } else { vec![voice.ack("relay", cause, Vec::new())] };
        let mut answer = Answer::of(replies);
        answer.wakes = wakes;
        // A message for this node as well is remembered with the replies of the recipient.
        if others.len() == headers.to.all().len() {
            let replies = answer.replies.iter().map(|reply| reply.to_vec()).collect();
            let entry = seen::Seen { status: answer.status, replies };
            seen::remember(db, sender, &headers.id, headers.expiry(), &entry)?;
        }
        Ok(answer)
    }

    /// 16.5; RFC 003, 5.5: the ACK of a recipient ends the custody of what it acknowledges.
    fn commit_delivery(
        &self,
        db: &Connection,
        message: &Authentic,
        senders: &[String],
        now: u64,
    ) -> rusqlite::Result<bool> {
        let Some(reply_to) = message.headers.reply_to.as_ref().filter(|_| message.headers.typ == typ::ACK) else {
            return Ok(false);
        };
        let Ok(Body::Ack(ack)) = receive::admit(message, self.rules()) else { return Ok(false) };
        if ack.source != AckSource::Recipient {
            return Ok(false);
        }
        let (recipient, mut wakes) = (did::without_fragment(&message.headers.from), false);
        for sender in senders {
            // 16.5: only the ACK of a recipient counts, and only for this recipient.
            planted!(self.rules().fault, "relay-any-ack-ends", queue::delivered_to_all(db, sender, reply_to)?);
            if queue::find(db, sender, reply_to, recipient)?.is_some() {
                planted!(self.rules().fault, "relay-first-ack-ends", queue::delivered_to_all(db, sender, reply_to)?);
                planted!(self.rules().fault, "relay-ack-cumulative", queue::up_to(db, sender, reply_to, recipient)?);
                queue::delivered(db, sender, reply_to, recipient)?;
                wakes |= self.report_commit(db, sender, reply_to, recipient, now)?;
            }
        }
        Ok(wakes)
    }

    /// A party has connected: its waiting messages are delivered (8.3).
    pub(super) fn connected(&self, party: &str, channel: &Channel) {
        let Some((out, news)) = self.0.directory.register(party, channel).filter(|_| self.relays()) else { return };
        let (node, party) = (self.clone(), party.to_owned());
        tokio::spawn(async move {
            let mut after = 0;
            loop {
                let Ok(page) = node.waiting(&party, after, DRAIN_PAGE).await else { return };
                for (place, raw) in page.messages {
                    after = place;
                    if out.send(raw.into()).await.is_err() {
                        return;
                    }
                }
                if !page.more {
                    tokio::select! {
                        () = news.notified() => {}
                        () = out.closed() => {
                            // 8.3: the other connections of a party remain.
                            planted!(node.rules().fault, "relay-close-ends-all", node.0.directory.forget(&party));
                            return;
                        }
                    }
                }
            }
        });
    }

    /// What expired before this time is not delivered, and deleted (8.3).
    pub(super) fn oldest_alive(&self, now: u64) -> u64 {
        if self.rules().fault.is("relay-delivers-expired") { 0 } else { now }
    }

    /// Delivers a message to the open connections, without storing it.
    fn hand_over_all<E>(&self, others: &[String], raw: &Bytes) -> Result<(), E> {
        for other in others {
            self.0.directory.hand_over(other, raw);
        }
        Ok(())
    }

    /// Queues a message that was refused.
    async fn queue_refused(&self, message: &Message, raw: &Bytes, others: Vec<String>) {
        let (headers, raw) = (message.headers.clone(), raw.clone());
        let work = self.0.store.write(move |db| {
            let (sender, expires_at) = (did::without_fragment(&headers.from), headers.expiry());
            queue::put(db, queue::Parcel { sender, id: &headers.id, raw: &raw, expires_at }, &others, None)
        });
        work.await.ok(); // the fault is in the attempt
    }

    /// RFC 002, 6.3: whether `sig` is a signature of `data` by a trusted relay.
    pub(crate) async fn is_from_relay(&self, relay: &str, data: &[u8], sig: &[u8]) -> bool {
        if !self.0.settings.trusted_relays.iter().any(|trusted| did::is_same(trusted, relay)) {
            return false;
        }
        let now = self.now();
        self.fetch_document(relay, now).await;
        let Some(document) = self.documents().resolve(relay) else { return false };
        let key = signature_key(&document, relay, now, self.rules());
        key.is_ok_and(|key| signature::verify(&key.public_key, data, sig, self.rules()))
    }

    /// Removes the messages of a page, as if they were confirmed.
    async fn drop_page(&self, page: &queue::Page) -> Result<(), StoreError> {
        let places: Vec<i64> = page.messages.iter().map(|(place, _)| *place).collect();
        let drop = move |db: &Connection| places.iter().try_for_each(|place| queue::drop_place(db, *place));
        self.0.store.write(drop).await?.ok(); // the fault is in the attempt
        Ok(())
    }

    async fn waiting(&self, consumer: &str, after: i64, limit: usize) -> Result<queue::Page, StoreError> {
        let alive_at = self.oldest_alive(self.now());
        let consumer = did::without_fragment(consumer).to_owned();
        let page = self.0.store.read(move |db| queue::page(db, &consumer, after, limit, alive_at)).await?;
        page.map_err(|error| StoreError::Transaction(error.to_string()))
    }

    /// RFC 002, 6.2: a page of what waits for `consumer`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database cannot be used now.
    pub(crate) async fn poll(&self, consumer: &str, after: i64, limit: usize) -> Result<Vec<u8>, StoreError> {
        let page = self.waiting(consumer, after, limit).await?;
        // 16.5: polling is not a confirmation.
        planted!(self.rules().fault, "relay-drops-after-poll", self.drop_page(&page).await?);
        let fault = self.rules().fault;
        let cursor = match page.messages.last().filter(|_| page.more) {
            // 6.2: a cursor moves forward.
            Some(_) if fault.is("poll-cursor-stands-still") => Some(format!("after-{after}")),
            Some((place, _)) => Some(format!("after-{place}")),
            None => None,
        };
        // 6.2: has_more requires a cursor.
        let cursor = cursor.filter(|_| !fault.is("poll-more-without-cursor"));
        let entry = |raw: Vec<u8>| match cbor::read(&raw, cbor::Limits::default()) {
            // 6.2: an entry is bytes.
            Ok(item) if fault.is("poll-messages-as-maps") => item.value,
            _ => Cbor::Bytes(raw),
        };
        let messages = page.messages.into_iter().map(|(_, raw)| entry(raw)).collect();
        let wrapper = Cbor::map([
            ("messages", Cbor::Array(messages)),
            ("next_cursor", cursor.map_or(Cbor::Null, Cbor::Text)),
            ("has_more", page.more.into()),
        ]);
        Ok(cbor::encode(&wrapper))
    }
}
