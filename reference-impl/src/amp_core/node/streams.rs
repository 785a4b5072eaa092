//! Streams (6.2, 6.3) as they are received: the rules are in [`stream`](super::super::stream), the chunks in the store.

use rusqlite::Connection;

use super::super::bodies::{Body, DocSend, StreamData, StreamEnd, StreamStart};
use super::super::codes::{Code, typ};
use super::super::did;
use super::super::faults::node as faults;
use super::super::receive::Authentic;
use super::super::store::{kept, streams};
use super::super::stream::{MAX_TOTAL_SIZE, Receiver};
use super::replies::{Cause, Complaint};
use super::{Answer, Node};
use crate::cbor::{self, Limits};
use crate::fault::planted;

/// Maximum number of open streams per sender (binding.md, 11).
const OPEN_LIMIT: usize = 16;

/// The idle timeout of a stream, and how long its name is kept after its end, in milliseconds (E57).
const STREAM_TIMEOUT: u64 = 300_000;

impl Node {
    fn stream_refused(&self, message: &Authentic, code: Code, reason: &str, now: u64) -> Answer {
        Answer::refused(self.voice(now), Cause::of(&message.headers), &Complaint::because(code, reason))
    }

    /// 6.2: the announcement.
    pub(super) fn stream_start(
        &self,
        db: &Connection,
        message: &Authentic,
        start: &StreamStart,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let sender = did::without_fragment(&message.headers.from);
        if let Err(code) = Receiver::open(start.clone(), self.rules()) {
            return Ok(self.stream_refused(message, code, "the stream cannot be taken", now));
        }
        if streams::count_open(db, sender)? >= OPEN_LIMIT {
            return Ok(self.stream_refused(message, Code::Overloaded, "too many open streams", now));
        }
        let timeout = now.saturating_add(STREAM_TIMEOUT);
        // E60: a sender uses each name once.
        let mut is_free = streams::open(db, sender, &start.stream_id, &message.body_bytes, timeout)?;
        planted!(self.rules().fault, "stream-inherited-names", faults::is_inherited(&start.stream_id) => is_free = false);
        planted!(self.rules().fault, "stream-names-normalised", faults::is_similar_open(db, sender, &start.stream_id)? => is_free = false);
        if !is_free {
            return Ok(self.stream_refused(message, Code::BadRequest, "the stream_id is taken", now));
        }
        Ok(self.confirmed(message, Vec::new(), now))
    }

    /// The receiver of a stream, without its chunks.
    fn receiver(&self, db: &Connection, sender: &str, stream_id: &str) -> rusqlite::Result<Option<Receiver>> {
        let Some((start, state)) = streams::find(db, sender, stream_id)? else { return Ok(None) };
        let body = cbor::read(&start, Limits::default()).ok().map(|item| item.value);
        let start = body.and_then(|body| Body::read(typ::STREAM_START, &body, self.rules()).ok());
        let mut receiver = match start {
            Some(Body::StreamStart(start)) => Receiver::open(start, self.rules()).ok(),
            _ => None, // not written by this program
        };
        if let Some(receiver) = receiver.as_mut().filter(|_| state != "open") {
            receiver.close();
        }
        Ok(receiver)
    }

    /// 6.2: a chunk.
    pub(super) fn stream_data(
        &self,
        db: &Connection,
        message: &Authentic,
        data: &StreamData,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let sender = did::without_fragment(&message.headers.from);
        let Some(mut receiver) = self.receiver(db, sender, &data.stream_id)? else {
            return Ok(self.stream_refused(message, Code::BadRequest, "unknown stream", now));
        };
        if let Some(first) = streams::chunk(db, sender, &data.stream_id, data.index)? {
            receiver.chunk(data.index, &first).ok(); // it was taken before
        }
        // Chunks that are larger than announced are counted one by one.
        let oversized = data.data.len() as u64 > receiver.start().chunk_size;
        let room = MAX_TOTAL_SIZE.saturating_sub(data.data.len() as u64);
        if oversized && streams::size(db, sender, &data.stream_id)? > room {
            return Ok(self.stream_refused(message, Code::Overloaded, "too large", now));
        }
        if let Err(code) = receiver.chunk(data.index, &data.data) {
            return Ok(self.stream_refused(message, code, "the chunk does not fit", now));
        }
        if let Some(held) = receiver.held(data.index) {
            streams::put(db, sender, &data.stream_id, data.index, held)?;
        }
        streams::prolong(db, sender, &data.stream_id, now.saturating_add(STREAM_TIMEOUT))?;
        // 6.3: the reply with stream_id is sent once, at the end.
        planted!(self.rules().fault, "stream-many-final-acks", return Ok(self.final_ack(message, data, now)));
        Ok(self.confirmed(message, Vec::new(), now))
    }

    /// The ACK of a successfully completed stream.
    fn final_ack(&self, message: &Authentic, data: &StreamData, now: u64) -> Answer {
        let more = vec![("stream_id", data.stream_id.as_str().into()), ("verified", true.into())];
        Answer::of(vec![self.voice(now).ack("recipient", Cause::of(&message.headers), more)])
    }

    /// 6.2, 6.3: the end: one ACK with `verified`, or an ERROR.
    pub(super) fn stream_end(
        &self,
        db: &Connection,
        message: &Authentic,
        end: &StreamEnd,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let sender = did::without_fragment(&message.headers.from);
        let Some(mut receiver) = self.receiver(db, sender, &end.stream_id)? else {
            return Ok(self.stream_refused(message, Code::BadRequest, "unknown stream", now));
        };
        for (index, data) in streams::chunks(db, sender, &end.stream_id)? {
            receiver.chunk(index, &data).ok(); // it was taken before
        }
        let ended = match receiver.end(&end.hash) {
            Ok(ended) => ended,
            Err(code) => return Ok(self.stream_refused(message, code, "the stream is over", now)),
        };
        // E57: a stream with a gap stays open, since the chunk may be late.
        if ended.complete {
            streams::close(db, sender, &end.stream_id, if ended.verified { "done" } else { "failed" })?;
        }
        if let Some(data) = ended.data {
            let start = receiver.start();
            let document = DocSend::new(&start.content_type, &start.filename, data);
            let body = cbor::encode(&document.cbor());
            // A stream that cannot be stored is verified as well.
            kept::put(db, "document", &document.hash, sender, &start.filename, &body)?;
        }
        let mut named = end.stream_id.clone();
        planted!(self.rules().fault, "stream-ack-names-another", named.push_str("-1"));
        let more = |verified: bool| {
            vec![
                ("stream_id", named.as_str().into()),
                ("chunks_received", ended.chunks_received.into()),
                ("verified", verified.into()),
            ]
        };
        let (voice, cause) = (self.voice(now), Cause::of(&message.headers));
        match ended.code {
            None => Ok(Answer::of(vec![voice.ack("recipient", cause, more(true))])),
            // Other, E56: or an ACK with `verified` false.
            Some(_) if self.rules().is_other() => Ok(Answer::of(vec![voice.ack("recipient", cause, more(false))])),
            Some(code) => Ok(self.stream_refused(message, code, "the stream does not match its announcement", now)),
        }
    }
}
