//! Sending: the first copy, the repeats (16.3), and what ends them (16.1, 16.5).
//!
//! A message stays in the store until it is confirmed, permanently rejected, or expired; [`Node::tick`] returns what is
//! due.

use bytes::Bytes;
use rusqlite::Connection;

use super::super::ack;
use super::super::bodies::{Ack, AckSource, ErrorBody};
use super::super::build;
use super::super::codes::{self, typ};
use super::super::did;
use super::super::document::Resolve;
use super::super::envelope;
use super::super::message::{Content, Headers, To};
use super::super::message_id;
use super::super::receive::Authentic;
use super::super::retry::{self, LastError};
use super::super::store::outbound::{self, Outbound};
use super::super::store::{queue, seen, streams};
use super::replies::{Cause, Complaint, TTL};
use super::{Answer, Node, from_hex};
use crate::cbor::{self, Cbor, Limits};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::store::StoreError;

/// The path of RFC 002, 6.1.
pub(crate) const MESSAGES: &str = "/amp/v1/messages";

/// Something to send.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) to: To,
    /// Where to; empty if the caller carries it.
    pub(crate) url: String,
    pub(crate) typ: u64,
    pub(crate) body: Cbor,
    /// In milliseconds.
    pub(crate) ttl: u64,
    pub(crate) encrypt: bool,
}

/// A copy to carry.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) id: Vec<u8>,
    pub(crate) url: String,
    /// The path for a URL of HTTP without one.
    pub(crate) path: String,
    pub(crate) recipient: String,
    pub(crate) message: Bytes,
}

/// The result of a tick.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ticked {
    pub(crate) sent: Vec<Outgoing>,
    /// Ids of unconfirmed messages.
    pub(crate) failed: Vec<Vec<u8>>,
}

impl Order {
    /// Reads the members of a control request (E95).
    ///
    /// # Errors
    ///
    /// A text about the missing or invalid member.
    pub(crate) fn of_json(request: &Object) -> Result<Self, String> {
        let party = |value: &Value| value.as_text().filter(|text| did::is_did(text)).map(str::to_owned);
        let to = match request.present("to") {
            Some(Value::List(list)) if !list.is_empty() => list.iter().map(party).collect::<Option<_>>().map(To::Many),
            Some(value) => party(value).map(To::One),
            None => None,
        };
        let typ = match request.present("typ") {
            None => Some(typ::MESSAGE),
            Some(Value::Text(name)) => codes::type_code(name),
            Some(value) => unsigned(value),
        };
        let body = match request.text("body_cbor") {
            Some(digits) => {
                from_hex(digits).and_then(|bytes| cbor::read(&bytes, Limits::default()).ok()).map(|i| i.value)
            }
            None => request.get("body").map_or(Some(Cbor::Null), of_json),
        };
        let ttl = request.present("ttl").map_or(Some(TTL), unsigned);
        Ok(Self {
            to: to.ok_or("to is a DID or an array of them")?,
            url: request.text("url").unwrap_or_default().to_owned(),
            typ: typ.ok_or("typ is a type")?,
            body: body.ok_or("body cannot be written in CBOR")?,
            ttl: ttl.ok_or("ttl is a number of milliseconds")?,
            encrypt: matches!(request.get("encrypt"), Some(Value::Bool(true))),
        })
    }
}

fn unsigned(value: &Value) -> Option<u64> {
    match value {
        Value::Text(digits) => digits.parse().ok(),
        _ => u64::try_from(value.as_number()?.as_integer()?).ok(), // not a number
    }
}

/// A JSON value as CBOR: integers as integers, other numbers as floats.
fn of_json(value: &Value) -> Option<Cbor> {
    Some(match value {
        Value::Null => Cbor::Null,
        Value::Bool(truth) => Cbor::Bool(*truth),
        Value::Text(text) => Cbor::Text(text.clone()),
        Value::List(list) => Cbor::Array(list.iter().map(of_json).collect::<Option<_>>()?),
        Value::Object(object) => {
            let pairs = object.iter().map(|(name, value)| Some((Cbor::from(name), of_json(value)?)));
            Cbor::Map(pairs.collect::<Option<_>>()?)
        }
        Value::Number(number) => match number.as_integer() {
            Some(integer) => match u64::try_from(integer) {
                Ok(unsigned) => Cbor::Unsigned(unsigned),
                Err(_) => Cbor::Negative((-1 - integer).unsigned_abs()),
            },
            None => Cbor::Float(number.as_f64()),
        },
    })
}

impl Node {
    /// Makes a message and sees to it that it is sent until it is confirmed.
    ///
    /// # Errors
    ///
    /// A text with the reason why it cannot be created or stored.
    pub(crate) async fn send(&self, order: Order) -> Result<Outgoing, String> {
        let (now, rules, me) = (self.now(), self.rules(), &self.0.settings.me);
        let Order { to, url, typ, body, ttl, encrypt } = order;
        let recipient = to.all().first().cloned().unwrap_or_default();
        let mut headers = Headers::new(me, to, typ, now, ttl, rules);
        headers.v = if codes::is_handshake(typ) { 1 } else { self.0.settings.versions.last().copied().unwrap_or(1) };
        let (id, expiry) = (headers.id.clone(), headers.expiry());
        let built = if encrypt {
            self.fetch_document(&recipient, now).await;
            let document = self.documents().resolve(&recipient).ok_or("the document of the recipient cannot be had")?;
            build::sealed(me, &document, headers, &body, None, rules).map_err(|code| code.name().to_owned())?
        } else {
            build::plain(me, headers, body, None, rules)
        };
        // The caller delivers the first copy of a message without URL, so it counts as sent.
        let (attempts, next_at) = if url.is_empty() { (1, self.next_copy(1, now)) } else { (0, now) };
        let new = Outbound {
            id: id.clone(),
            url: url.clone(),
            path: MESSAGES.to_owned(),
            recipient: recipient.clone(),
            message: built.message.clone(),
            attempts,
            expires_at: i64::try_from(expiry).unwrap_or(i64::MAX),
            state: String::new(),
        };
        self.put_outbound(new, next_at).await?;
        Ok(Outgoing { id, url, path: MESSAGES.to_owned(), recipient, message: built.message.into() })
    }

    pub(super) async fn put_outbound(&self, new: Outbound, next_at: u64) -> Result<(), String> {
        // 2.3, 16.5: kept before it is sent.
        let kept = self.0.store.write(move |db| outbound::insert(db, &new, next_at)).await;
        let kept = kept.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        self.0.sending.notify_one();
        if kept { Ok(()) } else { Err("too many messages are waiting".to_owned()) }
    }

    /// Returns when there is something new to send.
    pub(crate) async fn wants_to_send(&self) {
        self.0.sending.notified().await;
    }

    /// When the copy behind the `attempts`-th is due: the time for a confirmation, and the wait of 16.3.
    fn next_copy(&self, attempts: u32, now: u64) -> u64 {
        now.saturating_add(self.0.settings.ack_timeout).saturating_add(self.wait(attempts, None).unwrap_or_default())
    }

    /// The wait of 16.3 in milliseconds; `None` if the last error ends the attempts.
    fn wait(&self, attempts: u32, last: Option<LastError>) -> Option<u64> {
        let wait = retry::delay(attempts, chance() * retry::MAX_JITTER, last, None, self.rules())?;
        Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
    }

    /// The due messages by the clock of the node; also removes expired ones.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database cannot be used now.
    pub(crate) async fn tick(&self) -> Result<Ticked, StoreError> {
        let (node, now) = (self.clone(), self.now());
        // Most ticks find nothing due; reading does not block the writer.
        let idle = self.0.store.read(move |db| nothing_to_do(db, now)).await?;
        if matches!(idle, Ok(true)) {
            return Ok(Ticked::default());
        }
        let ticked = self.0.store.write(move |db| node.tick_on(db, now)).await?;
        ticked.map_err(|error| StoreError::Transaction(error.to_string()))
    }

    fn tick_on(&self, db: &Connection, now: u64) -> rusqlite::Result<Ticked> {
        let (mut ticked, rules) = (Ticked::default(), self.rules());
        for due in outbound::due(db, now)? {
            let expired = due.expires_at < super::store::stored(now) && retry::expiry_counts(rules);
            // 16.3: at most five copies.
            let enough = due.attempts >= retry::MAX_ATTEMPTS && !rules.fault.is("retry-for-ever");
            // 16.3, 16.5: unconfirmed messages are sent again.
            let given_up = due.attempts >= 1 && rules.fault.is("retry-never");
            if expired || enough || given_up {
                outbound::settle(db, &due.id, "failed")?;
                ticked.failed.push(due.id);
                continue;
            }
            let attempts = due.attempts + 1;
            // 16.3: the same id, and the same bytes.
            let (mut id, mut message) = (due.id.clone(), due.message.clone());
            planted!(rules.fault, "retry-with-new-id", attempts > 1 => (id, message) = self.rebuilt(&due, now));
            outbound::sent(db, &due.id, &id, &message, self.next_copy(attempts, now))?;
            let (url, path, recipient) = (due.url, due.path, due.recipient);
            ticked.sent.push(Outgoing { id, url, path, recipient, message: message.into() });
        }
        outbound::prune(db, now)?;
        seen::prune(db, now)?;
        streams::prune(db, now)?;
        queue::prune(db, self.oldest_alive(now))?;
        Ok(ticked)
    }

    fn rebuilt(&self, due: &Outbound, now: u64) -> (Vec<u8>, Vec<u8>) {
        let (rules, me) = (self.rules(), &self.0.settings.me);
        match envelope::parse(&due.message, rules).map(|message| (message.headers, message.content)) {
            Ok((headers, Content::Plain { body, .. })) => {
                let id = message_id::fresh(now, rules);
                let headers = Headers { id: id.clone(), ts: now, ..headers };
                (id, build::plain(me, headers, body, None, rules).message)
            }
            _ => (due.id.clone(), due.message.clone()), // encrypted
        }
    }

    /// 16.1, 16.5: an ACK ends the wait if its sender is authorised.
    pub(super) fn acknowledged(
        &self,
        db: &Connection,
        message: &Authentic,
        given: &Ack,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let Some(reply_to) = &message.headers.reply_to else { return Ok(Answer::none()) };
        let Some(sent) = outbound::find(db, reply_to)? else { return Ok(Answer::none()) };
        let Ok(original) = envelope::parse(&sent.message, self.rules()) else { return Ok(Answer::none()) };
        let trusted = &self.0.settings.trusted_relays;
        match ack::validate(&message.headers, given, &original.headers, trusted, self.rules()) {
            Ok(()) => {
                // 16.5: a relay confirms delivery as well as the recipient does.
                if given.source == AckSource::Recipient || !self.rules().fault.is("retry-after-relay-ack") {
                    outbound::settle(db, reply_to, "confirmed")?;
                }
                Ok(Answer::none())
            }
            // 16.1: an ACK that does not match its source is rejected, and confirms nothing.
            Err(fault) => {
                let cause = Cause::of(&message.headers);
                Ok(Answer::refused(self.voice(now), cause, &Complaint::because(fault.code, fault.reason)))
            }
        }
    }

    /// 16.3: a permanent ERROR ends the retries, any other starts the wait for the next copy.
    pub(super) fn complained(
        &self,
        db: &Connection,
        headers: &Headers,
        error: &ErrorBody,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let Some(sent) = self.answered_by(db, headers)? else { return Ok(Answer::none()) };
        let last = LastError { code: error.code, retry: error.retry };
        match self.wait(sent.attempts.max(1), Some(last)) {
            // 16.3: the wait begins.
            Some(_) if self.rules().fault.is("retry-at-once-after-error") => outbound::reschedule(db, &sent.id, now)?,
            Some(wait) => outbound::reschedule(db, &sent.id, now.saturating_add(wait))?,
            None => outbound::settle(db, &sent.id, "failed")?,
        }
        Ok(Answer::none())
    }

    /// 16.1: any other reply of a recipient shows as well that the message has arrived.
    pub(super) fn replied(&self, db: &Connection, headers: &Headers) -> rusqlite::Result<Answer> {
        if let Some(sent) = self.answered_by(db, headers)? {
            outbound::settle(db, &sent.id, "confirmed")?;
        }
        Ok(Answer::none())
    }

    /// The message that `headers` answer, if they are from somebody it went to or a trusted relay.
    fn answered_by(&self, db: &Connection, headers: &Headers) -> rusqlite::Result<Option<Outbound>> {
        let Some(reply_to) = &headers.reply_to else { return Ok(None) };
        let Some(sent) = outbound::find(db, reply_to)? else { return Ok(None) };
        let Ok(original) = envelope::parse(&sent.message, self.rules()) else { return Ok(None) };
        let parties = original.headers.to.all().iter().chain(&self.0.settings.trusted_relays);
        let entitled = parties.into_iter().any(|party| did::is_same(party, &headers.from));
        Ok(entitled.then_some(sent))
    }

    /// What became of a message that was sent.
    ///
    /// # Errors
    ///
    /// A text, if the message is unknown.
    pub(crate) async fn outbound_state(&self, id: Vec<u8>) -> Result<Object, String> {
        let found = self.0.store.read(move |db| outbound::find(db, &id)).await;
        let found = found.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let found = found.ok_or("unknown message")?;
        Ok(Object::from([("state", found.state.into()), ("attempts", i64::from(found.attempts).into())]))
    }
}

fn nothing_to_do(db: &Connection, now: u64) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM outbound WHERE state = 'waiting' AND next_at <= ?1)
               AND NOT EXISTS (SELECT 1 FROM seen WHERE keep_until < ?1)
               AND NOT EXISTS (SELECT 1 FROM parcel WHERE expires_at < ?1)
               AND NOT EXISTS (SELECT 1 FROM stream WHERE timeout_at < ?1)";
    db.prepare_cached(sql)?.query_row([super::store::stored(now)], |row| row.get(0))
}

/// A number from 0 up to 1.
fn chance() -> f64 {
    let bytes = message_id::random();
    let bits = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}
