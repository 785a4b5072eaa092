//! The application (binding.md, 11): echo, count, fail, slow.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::Connection;

use super::super::codes::{Code, typ};
use super::super::did;
use super::super::message_id;
use super::super::receive::Authentic;
use super::super::store::{kept, queue, seen};
use super::channel::{Carrier, Channel};
use super::replies::Cause;
use super::{Answer, Later, Node};
use crate::cbor::Cbor;
use crate::fault::planted;

/// Maximum duration of a slow request, in milliseconds.
const SLOW_LIMIT: u64 = 60_000;

impl Node {
    /// 4.3: a REQUEST gets an ACK, and then its outcome.
    pub(super) fn request(&self, db: &Connection, message: &Authentic, now: u64) -> rusqlite::Result<Answer> {
        let (voice, cause, fault) = (self.voice(now), Cause::of(&message.headers), self.rules().fault);
        let body = &message.body;
        let op = body.get("op").and_then(Cbor::as_text);
        // 15.1: an op that is unknown, whatever its name is.
        let inherited = op.is_some_and(|op| ["constructor", "__proto__", "toString"].contains(&op));
        planted!(fault, "http-500-for-inherited-names", inherited => return Err(rusqlite::Error::InvalidQuery));
        let companions = &self.0.settings.companions;
        if op.is_some_and(|op| companions.maintenance.iter().any(|closed| closed == op)) {
            // 15.3: out of service for a while.
            let code = if fault.is("unavailable-as-5001") { Code::InternalError } else { Code::Unavailable };
            return Ok(Answer::refused(voice, cause, &code.into()));
        }
        let runs = kept::count(db, kept::RUNS)?;
        let data = body.get("data").cloned().unwrap_or(Cbor::Null);
        let said = match op {
            Some("echo") => (typ::RESPONSE, Cbor::map([("data", data)])),
            Some("count") => (typ::RESPONSE, Cbor::map([("count", runs.into())])),
            // 16.1: a failure is not reported as success.
            Some("fail") if fault.is("proc-ok-for-failure") => (typ::PROC_OK, Cbor::map([])),
            Some("fail") => (typ::PROC_FAIL, failure("failure requested")),
            Some("slow") => {
                let wanted = body.get("ms").and_then(Cbor::as_unsigned).unwrap_or(0);
                let mut after = Duration::from_millis(wanted.min(SLOW_LIMIT));
                let response = Cbor::map([("data", data)]);
                if !self.0.settings.serves {
                    return Ok(self.confirmed(message, vec![(typ::RESPONSE, response)], now));
                }
                let mut slot = None;
                if let Some(capacity) = companions.capacity {
                    slot = self.0.load.slot(did::without_fragment(&message.headers.from), capacity);
                    if slot.is_none() {
                        // 15.3: at capacity.
                        let code = if fault.is("overload-as-4001") { Code::BadRequest } else { Code::Overloaded };
                        return Ok(Answer::refused(voice, cause, &code.into()));
                    }
                }
                let mut outcome = Ok(response);
                if let Some(deadline) = companions.deadline.filter(|deadline| *deadline < after) {
                    // 15.3: work that takes too long is given up.
                    let code = if fault.is("timeout-as-5001") { Code::InternalError } else { Code::Timeout };
                    (after, outcome) = (deadline, Err(code));
                }
                // RFC 006, 6.1: the work goes on.
                let mut said = Vec::new();
                if self.rules().companions {
                    said.push((typ::PROCESSING, Cbor::map([("cancellable", false.into())])));
                }
                let later = Later { after, message: Box::new(message.clone()), outcome, slot };
                return Ok(Answer { later: Some(later), ..self.confirmed(message, said, now) });
            }
            // E40: any body is valid; an unsupported one is an outcome of processing.
            _ => (typ::PROC_FAIL, failure("unknown op")),
        };
        let mut replies = vec![said];
        // Other, E40: PROC_OK announces that only the RESPONSE follows.
        if self.rules().is_other() && replies[0].0 == typ::RESPONSE {
            replies.insert(0, (typ::PROC_OK, Cbor::map([])));
        }
        // 4.3: a request with a RESPONSE has not failed.
        let answered = replies.last().is_some_and(|(kind, _)| *kind == typ::RESPONSE);
        planted!(self.rules().fault, "proc-fail-beside-response", answered => replies.push((typ::PROC_FAIL, failure("done"))));
        Ok(self.confirmed(message, replies, now))
    }

    /// Sends an answer when it is due: on the connection, else to the queue for polling.
    pub(super) fn answer_later(&self, cause: (String, Vec<u8>), later: Later, channel: &Channel) {
        let (node, out) = (self.clone(), channel.out.clone());
        let connected = channel.carrier != Carrier::Http;
        tokio::spawn(async move {
            tokio::time::sleep(later.after).await;
            let now = node.now();
            let Later { message, outcome, slot, .. } = later;
            drop(slot);
            let reply = match outcome {
                Ok(body) => node.answer_to(&message, typ::RESPONSE, body, now),
                Err(code) => node.voice(now).error(Cause::of(&message.headers), &code.into()),
            };
            let sent = match out.filter(|_| connected) {
                Some(out) => out.send(reply.clone()).await.is_ok(),
                None => false,
            };
            node.remember_later(cause, reply, sent, now).await;
        });
    }

    async fn remember_later(&self, (from, id): (String, Vec<u8>), reply: Bytes, sent: bool, now: u64) {
        let (me, sender) = (did::without_fragment(self.did()).to_owned(), self.cache_key(&from));
        let reply_id = super::envelope::peek(&reply).id.unwrap_or_else(|| message_id::fresh(now, self.rules()));
        let work = self.0.store.write(move |db| {
            seen::add_reply(db, &sender, &id, &reply)?;
            if !sent {
                let expires_at = now.saturating_add(super::replies::TTL);
                let parcel = queue::Parcel { sender: &me, id: &reply_id, raw: &reply, expires_at };
                let recipient = did::without_fragment(&from).to_owned();
                // A full queue drops an answer, which the sender can request again.
                queue::put(db, parcel, &[recipient], None)?.ok();
            }
            Ok::<_, rusqlite::Error>(())
        });
        work.await.ok(); // the node is closing: a repeated request is answered again
    }
}

fn failure(reason: &str) -> Cbor {
    Cbor::map([("error", Cbor::map([("reason", reason.into())]))])
}
