//! The effect of each type of message on the node, and its replies (section 11 of binding.md).

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::super::bodies::{Body, DocRequest};
use super::super::codes::{Code, typ};
use super::super::did;
use super::super::faults::node as faults;
use super::super::receive::Authentic;
use super::super::role::Role;
use super::super::store::kept;
use super::replies::{Cause, Complaint};
use super::{Answer, Node};
use crate::cbor::{self, Cbor, Limits};
use crate::fault::planted;

/// How large a document may be that is sent in one message.
const INLINE_LIMIT: usize = 1024 * 1024;

/// The replies of an application, in addition to the ACK, each with its type.
pub(super) type Said = Vec<(u64, Cbor)>;

impl Node {
    /// Processes `message`. Changes and answer belong to one transaction; an ERROR in the answer keeps them.
    pub(super) fn apply(&self, db: &Connection, message: &Authentic, body: Body, now: u64) -> rusqlite::Result<Answer> {
        let headers = &message.headers;
        let (voice, cause) = (self.voice(now), Cause::of(headers));
        // 4.6: evidence of a delegation belongs to CAP_INVOKE.
        if self.has_stray_evidence(message) {
            return Ok(Answer::refused(voice, cause, &Complaint::because(Code::BadRequest, "delegation")));
        }
        let asks = || [typ::DOC_REQUEST, typ::CRED_REQUEST, typ::DELEG_REVOKE, typ::DELEG_QUERY].contains(&headers.typ);
        let malformed = || Answer::refused(self.voice(now), Cause::of(headers), &Code::InvalidMessage.into());
        planted!(self.rules().fault, "requests-of-full-unanswered", asks() => return Ok(Answer::none()));
        match (headers.typ, body) {
            (typ::PING, body) => Ok(self.pong(message, &body, now)),
            (typ::HELLO, Body::Hello(versions)) => Ok(self.greet(&versions, cause, now)),
            (typ::HELLO_ACK | typ::HELLO_REJECT, _) => Ok(Answer::none()),
            (typ::ACK, Body::Ack(ack)) => self.acknowledged(db, message, &ack, now),
            (typ::ERROR, Body::Error(error)) => self.complained(db, headers, &error, now),
            (typ::PONG | typ::PROC_OK | typ::PROC_FAIL | typ::RESPONSE, _) => self.replied(db, headers),
            (typ::MESSAGE, _) => {
                kept::count(db, kept::RUNS)?;
                Ok(self.confirmed(message, Vec::new(), now))
            }
            (typ::CAP_DECLARE | typ::CAP_RESULT | typ::CONTACT_RESPONSE..=typ::INPUT_REQUIRED, _) => {
                self.replied(db, headers)
            }
            (typ::CONTACT_REQUEST, _) => Ok(self.contact_requested(message, now)),
            (typ::CAP_QUERY | typ::CAP_INVOKE, _) if !self.has_application() => Ok(self.not_offered(cause, now)),
            (typ::CAP_QUERY, _) => Ok(self.declare(message, now)),
            (typ::CAP_INVOKE, _) => self.invoke(db, message, now),
            (typ::REQUEST, _) if !self.has_application() => Ok(self.not_offered(cause, now)),
            (typ::REQUEST, _) => self.request(db, message, now),
            (typ::STREAM_START..=typ::STREAM_END | typ::DOC_SEND..=typ::DELEG_QUERY, _) if !self.has_application() => {
                Ok(self.not_offered(cause, now))
            }
            (typ::STREAM_START, Body::StreamStart(start)) => self.stream_start(db, message, &start, now),
            (typ::STREAM_DATA, Body::StreamData(data)) => self.stream_data(db, message, &data, now),
            (typ::STREAM_END, Body::StreamEnd(end)) => self.stream_end(db, message, &end, now),
            (typ::DOC_SEND, Body::DocSend(document)) => {
                let (hash, name) = (&document.hash, &document.filename);
                self.keep(db, message, "document", hash, name, now)
            }
            (typ::DOC_REQUEST, Body::DocRequest(request)) => {
                let found = self.find_document(db, &request)?;
                let Some(body) = found else {
                    let mut code = Code::BadRequest;
                    planted!(self.rules().fault, "document-unknown-malformed", code = Code::InvalidMessage);
                    return Ok(Answer::refused(voice, cause, &Complaint::because(code, "unknown document")));
                };
                Ok(self.confirmed(message, vec![(typ::DOC_SEND, body)], now))
            }
            (typ::CRED_ISSUE..=typ::CRED_VERIFY, _) => {
                // 4.4: what a complete body says does not make it malformed.
                planted!(self.rules().fault, "credential-unknown-malformed", return Ok(malformed()));
                self.keep(db, message, "credential", &Sha256::digest(&message.body_bytes), "", now)
            }
            (typ::DELEG_GRANT..=typ::DELEG_QUERY, _) => {
                let name = message.body.get("delegation_id").and_then(Cbor::as_text).unwrap_or_default();
                // 4.4: an id names something.
                let named = !name.is_empty() || self.rules().fault.is("delegation-id-empty-accepted");
                if headers.typ != typ::DELEG_GRANT && !named {
                    return Ok(Answer::refused(voice, cause, &Complaint::because(Code::BadRequest, "delegation_id")));
                }
                // 4.4: what a complete body says does not make it malformed.
                planted!(self.rules().fault, "delegation-unknown-malformed", return Ok(malformed()));
                match headers.typ {
                    typ::DELEG_GRANT if self.rules().companions => self.grant(db, message, now),
                    typ::DELEG_REVOKE if self.rules().companions => self.revoke(db, message, name, now),
                    _ => self.keep(db, message, "delegation", &Sha256::digest(&message.body_bytes), name, now),
                }
            }
            // Only reachable with a planted fault.
            _ => Ok(self.confirmed(message, Vec::new(), now)),
        }
    }

    /// Whether the node is somebody's agent, and not a relay alone.
    fn has_application(&self) -> bool {
        self.0.settings.role != Role::Relay
    }

    fn not_offered(&self, cause: Cause<'_>, now: u64) -> Answer {
        Answer::refused(self.voice(now), cause, &Code::UnknownType.into())
    }

    /// 16.1: an ACK, followed by the replies of the application.
    pub(super) fn confirmed(&self, message: &Authentic, said: Said, now: u64) -> Answer {
        let (voice, cause) = (self.voice(now), Cause::of(&message.headers));
        let mut replies = vec![voice.ack("recipient", cause, Vec::new())];
        replies.extend(said.into_iter().map(|(kind, body)| self.answer_to(message, kind, body, now)));
        // 16.1: arrival is acknowledged before processing.
        planted!(self.rules().fault, "ack-after-processing", replies.rotate_left(1));
        Answer::of(replies)
    }

    /// A reply with content: encrypted if the answered message was.
    pub(super) fn answer_to(&self, message: &Authentic, kind: u64, body: Cbor, now: u64) -> bytes::Bytes {
        let (voice, cause) = (self.voice(now), Cause::of(&message.headers));
        // RFC 006, 6: provisional answers name the request.
        planted!(self.rules().fault, "processing-without-reply-to", kind == typ::PROCESSING => return voice.unrelated(kind, cause, body));
        let secret = message.encrypted && matches!(kind, typ::RESPONSE | typ::DOC_SEND | typ::CAP_RESULT);
        let documents = self.documents();
        let sealed = secret.then(|| voice.sealed_reply(documents.as_ref(), kind, cause, &body)).flatten();
        sealed.unwrap_or_else(|| voice.reply(kind, cause, body))
    }

    /// 4.3, E41: PING gets PONG.
    fn pong(&self, message: &Authentic, body: &Body, now: u64) -> Answer {
        let (voice, cause, rules) = (self.voice(now), Cause::of(&message.headers), self.rules());
        // 4.4: PONG has no payload.
        let mut payload = Cbor::Null;
        planted!(rules.fault, "pong-echoes-body", payload = faults::echo(body));
        let mut replies = vec![voice.reply(typ::PONG, cause, payload)];
        // E43: a PONG references its PING.
        planted!(rules.fault, "pong-without-reply-to", replies = vec![voice.unrelated(typ::PONG, cause, Cbor::Null)]);
        // Other, E41: an additional ACK is harmless.
        if rules.is_other() {
            replies.insert(0, voice.ack("recipient", cause, Vec::new()));
        }
        Answer::of(replies)
    }

    /// Keeps a body and confirms it.
    pub(super) fn keep(
        &self,
        db: &Connection,
        message: &Authentic,
        kind: &str,
        hash: &[u8],
        name: &str,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let sender = did::without_fragment(&message.headers.from);
        if kept::put(db, kind, hash, sender, name, &message.body_bytes)? {
            return Ok(self.confirmed(message, Vec::new(), now));
        }
        Ok(Answer::refused(self.voice(now), Cause::of(&message.headers), &Code::Overloaded.into()))
    }

    /// 6.1: the document that a request names, as the body of DOC_SEND.
    fn find_document(&self, db: &Connection, request: &DocRequest) -> rusqlite::Result<Option<Cbor>> {
        let found = match (&request.hash, &request.doc_id) {
            (Some(hash), _) => kept::by_hash(db, "document", hash)?,
            (None, Some(name)) => kept::by_name(db, "document", name)?,
            (None, None) => None,
        };
        // 4.5: DOC_SEND is for small documents.
        let small = found.filter(|(_, body)| body.len() <= INLINE_LIMIT || self.rules().fault.is("doc-send-unlimited"));
        let body = small.and_then(|(_, body)| cbor::read(&body, Limits::default()).ok()).map(|item| item.value);
        // 4.4: a document requested by type has that type.
        Ok(body.filter(|body| {
            request.accept.is_none() || body.get("content_type").and_then(Cbor::as_text) == request.accept.as_deref()
        }))
    }
}
