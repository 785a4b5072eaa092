//! The signed replies of a node to a message: ACK, ERROR and others (15.1, 16.1).

use bytes::Bytes;

use super::super::batch;
use super::super::build;
use super::super::codes::{Code, typ};
use super::super::did;
use super::super::document::Resolve;
use super::super::error;
use super::super::faults::node as faults;
use super::super::keys::Identity;
use super::super::message::{Headers, To};
use super::super::negotiation;
use super::super::rules::Rules;
use crate::cbor::Cbor;
use crate::fault::planted;

/// The lifetime of the messages of a node: the default of 8.3.
pub(crate) const TTL: u64 = 86_400_000;

/// The sender, the time, and the readings of a reply.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    pub(crate) me: &'a Identity,
    pub(crate) rules: Rules,
    pub(crate) now: u64,
}

/// The answered message: its sender, its id, and whether it had several recipients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause<'a> {
    pub(crate) from: &'a str,
    pub(crate) id: &'a [u8],
    pub(crate) several: bool,
    /// The conversation that it belongs to, which answers stay in (4.1.1).
    pub(crate) thread: Option<&'a [u8]>,
}

impl<'a> Cause<'a> {
    /// The message with these headers.
    pub(crate) fn of(headers: &'a Headers) -> Self {
        Self {
            from: &headers.from,
            id: &headers.id,
            several: matches!(headers.to, To::Many(_)),
            thread: headers.thread_id.as_deref(),
        }
    }
}

/// The content of an ERROR (4.4, 15.1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Complaint {
    pub(crate) code: Code,
    pub(crate) details: Option<Cbor>,
    pub(crate) batch_index: Option<usize>,
}

impl From<Code> for Complaint {
    fn from(code: Code) -> Self {
        Self { code, details: None, batch_index: None }
    }
}

impl Complaint {
    /// The complaint with a detail for the reader.
    pub(crate) fn because(code: Code, reason: &str) -> Self {
        let details = Some(Cbor::map([("reason", reason.into())]));
        Self { code, details, batch_index: None }
    }
}

impl Voice<'_> {
    fn headers(self, to: &str, kind: u64, reply_to: Option<&[u8]>) -> Headers {
        let to = To::One(did::without_fragment(to).to_owned());
        let mut headers = Headers::new(self.me, to, kind, self.now, TTL, self.rules);
        headers.reply_to = reply_to.map(<[u8]>::to_vec);
        headers
    }

    /// The headers of an answer, in the thread of the answered message.
    fn answering(self, cause: Cause<'_>, kind: u64, reply_to: Option<&[u8]>) -> Headers {
        let mut headers = self.headers(cause.from, kind, reply_to);
        headers.thread_id = cause.thread.map(<[u8]>::to_vec);
        // 4.1.1: the thread is that of the conversation, whatever message is answered.
        let (fault, thread) = (self.rules.fault, cause.thread);
        planted!(fault, "thread-id-remembered", headers.thread_id = faults::first_thread(cause.from, thread));
        planted!(self.rules.fault, "thread-id-is-reply-to", cause.thread.is_some() => headers.thread_id = Some(cause.id.to_vec()));
        headers
    }

    /// A reply of any type.
    pub(crate) fn reply(self, kind: u64, cause: Cause<'_>, body: Cbor) -> Bytes {
        let is_result = matches!(kind, typ::RESPONSE | typ::PROC_OK | typ::PROC_FAIL);
        // E43: a result references its request.
        let reply_to = (!(is_result && self.rules.fault.is("result-without-reply-to"))).then_some(cause.id);
        let headers = self.answering(cause, kind, reply_to);
        build::plain(self.me, headers, body, None, self.rules).message.into()
    }

    /// A message without reply_to.
    pub(crate) fn unrelated(self, kind: u64, cause: Cause<'_>, body: Cbor) -> Bytes {
        build::plain(self.me, self.headers(cause.from, kind, None), body, None, self.rules).message.into()
    }

    /// A message of the handshake (13.2).
    pub(crate) fn handshake(self, said: negotiation::Send, cause: Cause<'_>, reply_to: Option<&[u8]>) -> Bytes {
        let headers = Headers { v: said.v, ..self.headers(cause.from, said.typ, reply_to) };
        build::plain(self.me, headers, said.body, None, self.rules).message.into()
    }

    /// A reply that only the sender can read; `None` if it has no key for that.
    pub(crate) fn sealed_reply(
        self,
        documents: &dyn Resolve,
        kind: u64,
        cause: Cause<'_>,
        body: &Cbor,
    ) -> Option<Bytes> {
        let document = documents.resolve(cause.from)?;
        let headers = self.answering(cause, kind, Some(cause.id));
        build::sealed(self.me, &document, headers, body, None, self.rules).ok().map(|built| built.message.into())
    }

    /// 16.1: the message arrived. `source` is the role of the node: `recipient` or `relay`.
    pub(crate) fn ack(self, source: &str, cause: Cause<'_>, more: Vec<(&str, Cbor)>) -> Bytes {
        let fault = self.rules.fault;
        // 16.1: an agent acknowledges for itself, and a relay never for the recipient.
        let source = match source {
            "recipient" if fault.is("ack-says-relay") => "relay",
            "relay" if fault.is("relay-acks-as-recipient") => "recipient",
            source => source,
        };
        // 4.4: milliseconds.
        let received_at = if fault.is("ack-time-in-seconds") { self.now / 1000 } else { self.now };
        let mut body = Cbor::map([("received_at", received_at.into())]);
        // 16.1: source is always present.
        if !fault.is("ack-without-source") {
            body.set("ack_source", source.into());
        }
        // 16.1: of several recipients, which one. Other, E45: also of one.
        if source == "recipient" && (cause.several || self.rules.is_other()) {
            let target = did::without_fragment(&self.me.did);
            // E45: the target is the recipient that confirms.
            let target = if fault.is("ack-target-sender") { did::without_fragment(cause.from) } else { target };
            body.set("ack_target", target.into());
        }
        for (name, value) in more {
            body.set(name, value);
        }
        // 16.1: which message it is for.
        let reply_to = (!fault.is("ack-without-reply-to")).then_some(cause.id);
        let mut headers = self.answering(cause, typ::ACK, reply_to);
        // 2.3: delivery is confirmed to the sender.
        planted!(fault, "ack-to-itself", headers.to = To::One(self.me.did.clone()));
        build::plain(self.me, headers, body, None, self.rules).message.into()
    }

    /// 15.1: the ERROR about a message.
    pub(crate) fn error(self, cause: Cause<'_>, complaint: &Complaint) -> Bytes {
        let mut body = error::body(complaint.code, complaint.details.clone(), self.rules);
        // 4.4: counted from zero.
        let first = usize::from(self.rules.fault.is("batch-index-from-one"));
        let index = complaint.batch_index.map(|index| index + first);
        body.batch_index = index.map(|index| u64::try_from(index).unwrap_or(u64::MAX));
        error::build(self.me, cause.from, Some(cause.id), &body, self.now, self.rules).message.into()
    }

    /// 4.5: several messages in one.
    pub(crate) fn batch(self, to: &str, items: &[Bytes]) -> Bytes {
        let body = batch::body(items.iter().map(|item| item.to_vec()).collect());
        let headers = self.headers(to, typ::BATCH, None);
        build::plain(self.me, headers, body, None, self.rules).message.into()
    }
}

/// The HTTP status that goes with an ERROR (binding.md, 4).
#[must_use]
pub(crate) fn status(code: Code) -> u16 {
    match code.number() {
        1001..=1005 | 4001..=4004 => 400,
        3005 => 429,
        3001..=3004 => 403,
        2001 | 2002 => 404,
        2003 | 5002 | 5004 => 503,
        2004 => 410,
        5003 => 504,
        _ => 500, // 5001
    }
}
