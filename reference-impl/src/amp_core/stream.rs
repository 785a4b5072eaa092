//! Streams (6.2, 6.3): the receiver and the sender, each a state machine without a clock.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::bodies::{StreamData, StreamEnd, StreamStart};
use super::codes::{Code, typ};
use super::faults::stream as faults;
use super::rules::Rules;
use crate::cbor::Cbor;
use crate::fault::planted;

/// The largest stream that is taken, in bytes.
pub(crate) const MAX_TOTAL_SIZE: u64 = 64 * 1024 * 1024;

/// The most chunks that are taken: one of 64 bytes each is as small as anybody needs.
pub(crate) const MAX_TOTAL_CHUNKS: u64 = 1024 * 1024;

/// The states of a receiver (6.3). IDLE is before its creation, VERIFY is left as soon as it is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiverState {
    /// Chunks may arrive.
    Receiving,
    /// The end arrived.
    Done,
}

impl ReceiverState {
    /// Its name in 6.3.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Receiving => "RECEIVING",
            Self::Done => "DONE",
        }
    }
}

/// A stream that is being received.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    rules: Rules,
    start: StreamStart,
    state: ReceiverState,
    /// Chunks by index: memory is only allocated for received chunks.
    chunks: BTreeMap<u64, Vec<u8>>,
    /// The order of arrival of the chunks.
    arrival: Vec<u64>,
    received: u64,
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// Whether every chunk is there.
    pub(crate) complete: bool,
    /// Whether the hash is right; only of a complete stream.
    pub(crate) verified: bool,
    /// The bytes, if they are verified.
    pub(crate) data: Option<Vec<u8>>,
    /// The number of distinct received chunks.
    pub(crate) chunks_received: u64,
    /// The error that the sender gets instead of an ACK with verified true.
    pub(crate) code: Option<Code>,
}

impl Receiver {
    /// Begins to receive.
    ///
    /// # Errors
    ///
    /// 4004 for numbers that contradict each other or another hash, 5004 for a stream that is too large.
    pub(crate) fn open(start: StreamStart, rules: Rules) -> Result<Self, Code> {
        let fault = rules.fault;
        // E59: SHA-256 is the only hash. Other, E59: the name is read without regard to case.
        let sha256 =
            start.hash_algo == "sha256" || (rules.is_other() && start.hash_algo.eq_ignore_ascii_case("sha256"));
        if !sha256 && !fault.is("stream-hash-algo-unchecked") {
            return Err(Code::SchemaViolation);
        }
        // 6.2, E58: a size is believed only within reason.
        let large = start.total_size > MAX_TOTAL_SIZE || start.total_chunks > MAX_TOTAL_CHUNKS;
        if large {
            return Err(Code::Overloaded);
        }
        // E58: the three numbers are consistent. Other, E58: checked at the end.
        let chunks = match start.chunk_size {
            0 => (start.total_size == 0).then_some(0),
            size => Some(start.total_size.div_ceil(size)),
        };
        if chunks != Some(start.total_chunks) && !rules.is_other() && !fault.is("stream-numbers-unchecked") {
            return Err(Code::SchemaViolation);
        }
        let state = ReceiverState::Receiving;
        Ok(Self { rules, start, state, chunks: BTreeMap::new(), arrival: Vec::new(), received: 0 })
    }

    /// Its state.
    #[must_use]
    pub(crate) fn state(&self) -> ReceiverState {
        self.state
    }

    /// The announcement.
    #[must_use]
    pub(crate) fn start(&self) -> &StreamStart {
        &self.start
    }

    /// The chunk with this index, if it arrived.
    #[must_use]
    pub(crate) fn held(&self, index: u64) -> Option<&[u8]> {
        self.chunks.get(&index).map(Vec::as_slice)
    }

    /// Marks the stream as ended: no further chunks are accepted (6.3).
    pub(crate) fn close(&mut self) {
        self.state = ReceiverState::Done;
    }

    /// The number of distinct received chunks.
    #[must_use]
    pub(crate) fn chunks_received(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// Accepts a chunk; a repeated one changes nothing (E62).
    ///
    /// # Errors
    ///
    /// 4001 after the end, 4004 for an index or a size that does not fit.
    pub(crate) fn chunk(&mut self, mut index: u64, data: &[u8]) -> Result<(), Code> {
        let fault = self.rules.fault;
        if self.is_over() {
            return Err(Code::BadRequest);
        }
        // 6.2: the index is below the number of chunks.
        if index >= self.start.total_chunks && !fault.is("stream-index-unchecked") {
            return Err(Code::SchemaViolation);
        }
        planted!(fault, "stream-index-in-a-byte", index &= 0xff);
        // 6.2: the first copy of a chunk counts.
        let overwrites = fault.is("stream-duplicate-overwrites") || self.state == ReceiverState::Done;
        if self.chunks.contains_key(&index) && !overwrites {
            planted!(fault, "stream-duplicate-refused", return self.break_off());
            return Ok(());
        }
        // 6.2: chunks have the announced size, the last one has the rest. Other, E58: checked at the end.
        let wrong_size = self.size_of(index) != Some(data.len() as u64) && !fault.is("stream-chunk-size-unchecked");
        let too_much = self.received.saturating_add(data.len() as u64) > MAX_TOTAL_SIZE;
        if (wrong_size && !self.rules.is_other() && index < self.start.total_chunks) || too_much {
            return Err(Code::SchemaViolation);
        }
        self.received += data.len() as u64;
        if self.chunks.insert(index, data.to_vec()).is_none() {
            self.arrival.push(index);
        }
        Ok(())
    }

    /// Ends the stream with an error, which the protocol does not do here.
    fn break_off(&mut self) -> Result<(), Code> {
        self.state = ReceiverState::Done;
        Err(Code::BadRequest)
    }

    /// The data in the order of arrival.
    fn arrived(&self) -> Vec<u8> {
        self.arrival.iter().filter_map(|index| self.chunks.get(index)).flatten().copied().collect()
    }

    /// 6.3: after DONE nothing changes.
    fn is_over(&self) -> bool {
        self.state == ReceiverState::Done && !self.rules.fault.is("stream-chunk-after-end")
    }

    /// The size of the chunk with this index.
    fn size_of(&self, index: u64) -> Option<u64> {
        let StreamStart { total_size, chunk_size, .. } = self.start;
        Some(total_size.checked_sub(index.checked_mul(chunk_size)?)?.min(chunk_size))
    }

    /// The end of the stream: every chunk has arrived, their total size is as announced, and their hash is `hash`.
    ///
    /// A gap leaves the stream open, since a late chunk may still close it (E57).
    ///
    /// # Errors
    ///
    /// 4001 if it ended before.
    pub(crate) fn end(&mut self, hash: &[u8]) -> Result<End, Code> {
        let fault = self.rules.fault;
        if self.is_over() {
            return Err(Code::BadRequest);
        }
        // 6.2: a is bitmap complete, b hash, c compare, d reject.
        let complete = self.chunks_received() == self.start.total_chunks;
        let early = fault.is("stream-ends-early");
        let complete = complete || early;
        let mut data: Vec<u8> = self.chunks.values().flatten().copied().collect();
        planted!(fault, "stream-hash-arrival-order", data = self.arrived());
        planted!(fault, "stream-order-as-text", data = faults::by_text(&self.chunks));
        let chunks_received = self.chunks_received();
        if !complete {
            let code = Some(Code::SchemaViolation);
            return Ok(End { complete, verified: false, data: None, chunks_received, code });
        }
        self.state = ReceiverState::Done;
        let sized = data.len() as u64 == self.start.total_size || early;
        let verified = (sized && self.is_hash(&data, hash)) || fault.is("stream-hash-unchecked");
        let code = (!verified).then_some(Code::SchemaViolation);
        Ok(End { complete, verified, data: verified.then_some(data), chunks_received, code })
    }

    /// 6.2: SHA-256 of the raw bytes in index order, without lengths or encoding, compared as a whole.
    fn is_hash(&self, data: &[u8], hash: &[u8]) -> bool {
        let fault = self.rules.fault;
        let mut hasher = Sha256::new();
        hasher.update(data);
        planted!(fault, "stream-hash-over-encoding", hasher = faults::over_encoding(self.chunks.values()));
        planted!(fault, "stream-hash-with-lengths", hasher = faults::with_lengths(self.chunks.values()));
        let computed = hasher.finalize();
        planted!(fault, "stream-hash-prefix", return computed.starts_with(hash));
        computed.as_slice().ct_eq(hash).into()
    }
}

/// The states of a sender (6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SenderState {
    /// Before the first message.
    Idle,
    /// STREAM_START was sent.
    Sending,
    /// STREAM_END was sent.
    AwaitAck,
    /// It is over.
    Done,
}

impl SenderState {
    /// Its name in 6.3.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idle => "IDLE",
            Self::Sending => "SENDING",
            Self::AwaitAck => "AWAIT_ACK",
            Self::Done => "DONE",
        }
    }
}

/// What happens to a sender that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SenderEvent {
    /// An ACK arrived; the stream and its `verified`.
    Ack {
        /// Its stream_id.
        stream_id: Option<String>,
        /// Its verified.
        verified: Option<bool>,
    },
    /// An ERROR arrived.
    Error,
    /// The wait timed out.
    Timeout,
}

/// A stream that is being sent.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    rules: Rules,
    state: SenderState,
    start: StreamStart,
    data: Vec<u8>,
    next: u64,
    /// Whether the transfer failed; known when it is complete.
    failed: bool,
}

impl Sender {
    /// A stream of `data` in chunks of `chunk_size` bytes.
    ///
    /// # Errors
    ///
    /// 4001 for a chunk size of zero with data to send.
    pub(crate) fn open(
        stream_id: &str,
        data: Vec<u8>,
        chunk_size: u64,
        filename: &str,
        content_type: &str,
        rules: Rules,
    ) -> Result<Self, Code> {
        let total_size = data.len() as u64;
        let total_chunks = match chunk_size {
            0 if total_size > 0 => return Err(Code::BadRequest),
            0 => 0,
            size => total_size.div_ceil(size),
        };
        let start = StreamStart {
            stream_id: stream_id.to_owned(),
            content_type: content_type.to_owned(),
            filename: filename.to_owned(),
            total_size,
            total_chunks,
            chunk_size,
            hash_algo: "sha256".to_owned(),
        };
        Ok(Self { rules, state: SenderState::Idle, start, data, next: 0, failed: false })
    }

    /// Whether the transfer failed.
    #[must_use]
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// The next message as type and body: START, the chunks in order, END; then `None`.
    pub(crate) fn next(&mut self) -> Option<(u64, Cbor)> {
        match self.state {
            SenderState::Idle => {
                self.state = SenderState::Sending;
                Some((typ::STREAM_START, self.start.cbor()))
            }
            SenderState::Sending if self.next < self.start.total_chunks => {
                let mut index = self.next;
                planted!(self.rules.fault, "stream-chunks-backwards", index = self.start.total_chunks - 1 - index);
                self.next += 1;
                // 6.2: the index counts from zero.
                let shown = if self.rules.fault.is("stream-index-from-one") { index + 1 } else { index };
                let chunk =
                    StreamData { stream_id: self.start.stream_id.clone(), index: shown, data: self.slice(index) };
                Some((typ::STREAM_DATA, chunk.cbor()))
            }
            SenderState::Sending => {
                self.state = SenderState::AwaitAck;
                let hash = Sha256::digest(&self.data).to_vec();
                Some((typ::STREAM_END, StreamEnd { stream_id: self.start.stream_id.clone(), hash }.cbor()))
            }
            SenderState::AwaitAck | SenderState::Done => None,
        }
    }

    fn slice(&self, index: u64) -> Vec<u8> {
        let size = usize::try_from(self.start.chunk_size).unwrap_or(usize::MAX);
        let start = usize::try_from(index).unwrap_or(usize::MAX).saturating_mul(size).min(self.data.len());
        self.data[start..start.saturating_add(size).min(self.data.len())].to_vec()
    }

    /// The result of an event while it waits; otherwise the event is ignored.
    pub(crate) fn event(&mut self, event: &SenderEvent) -> SenderState {
        if self.state != SenderState::AwaitAck {
            return self.state;
        }
        let own = |stream_id: &Option<String>| {
            stream_id.as_ref() == Some(&self.start.stream_id) || self.rules.fault.is("stream-sender-any-ack")
        };
        let outcome = match event {
            SenderEvent::Ack { stream_id, verified } if own(stream_id) => verified.map(|verified| !verified),
            SenderEvent::Ack { .. } => None, // a plain ACK, or one for another stream
            SenderEvent::Error => Some(true),
            // 6.3: no ACK is a failure.
            SenderEvent::Timeout => Some(!self.rules.fault.is("stream-timeout-as-success")),
        };
        if let Some(failed) = outcome {
            (self.state, self.failed) = (SenderState::Done, failed);
        }
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"hello proofmark!!";

    fn sent(chunk_size: u64) -> (Sender, StreamStart, Vec<Cbor>, Cbor) {
        let mut sender = Sender::open("s", DATA.to_vec(), chunk_size, "f", "a/b", Rules::PLAIN).expect("a stream");
        let mut bodies = Vec::new();
        while let Some((_, body)) = sender.next() {
            bodies.push(body);
        }
        let (start, end) = (sender.start.clone(), bodies.pop().expect("an end"));
        bodies.remove(0);
        (sender, start, bodies, end)
    }

    fn take(receiver: &mut Receiver, chunk: &Cbor) -> Result<(), Code> {
        let index = chunk.get("index").and_then(Cbor::as_unsigned).expect("an index");
        receiver.chunk(index, chunk.get("data").and_then(Cbor::as_bytes).expect("bytes"))
    }

    fn hash(end: &Cbor) -> &[u8] {
        end.get("hash").and_then(Cbor::as_bytes).expect("bytes")
    }

    #[test]
    fn chunks_may_arrive_in_any_order() {
        let (_, start, chunks, end) = sent(5);
        assert_eq!(chunks.len(), 4);
        let mut orders = 0;
        for order in 0..256_usize {
            let order = [order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6];
            if (0..4).any(|index| !order.contains(&index)) {
                continue;
            }
            orders += 1;
            let mut receiver = Receiver::open(start.clone(), Rules::PLAIN).expect("a stream");
            for index in order {
                take(&mut receiver, &chunks[index]).expect("a valid chunk");
            }
            let end = receiver.end(hash(&end)).expect("the first end");
            assert_eq!((end.verified, end.data.as_deref(), end.code), (true, Some(DATA), None));
            assert_eq!(
                (receiver.end(&[]), take(&mut receiver, &chunks[0])),
                (Err(Code::BadRequest), Err(Code::BadRequest))
            );
        }
        assert_eq!(orders, 24);
    }

    #[test]
    fn a_gap_can_still_be_closed() {
        let (_, start, chunks, end) = sent(8);
        let mut receiver = Receiver::open(start, Rules::PLAIN).expect("a stream");
        take(&mut receiver, &chunks[2]).expect("a valid chunk");
        take(&mut receiver, &chunks[0]).expect("a valid chunk");
        let gap = receiver.end(hash(&end)).expect("an end");
        assert_eq!((gap.complete, gap.verified, gap.chunks_received), (false, false, 2));
        assert_eq!(receiver.chunk(0, b"XXXXXXXX"), Ok(()));
        assert_eq!(
            (receiver.chunk(3, b"x"), receiver.chunk(u64::MAX, b"x")),
            (Err(Code::SchemaViolation), Err(Code::SchemaViolation))
        );
        assert_eq!(receiver.chunk(1, b"short"), Err(Code::SchemaViolation));
        take(&mut receiver, &chunks[1]).expect("a valid chunk");
        assert!(receiver.end(hash(&end)).is_ok_and(|end| end.verified));
    }

    #[test]
    fn a_wrong_hash_does_not_verify() {
        let (_, start, chunks, end) = sent(8);
        for wrong in [&[][..], &hash(&end)[..31], &[0; 32]] {
            let mut receiver = Receiver::open(start.clone(), Rules::PLAIN).expect("a stream");
            chunks.iter().for_each(|chunk| take(&mut receiver, chunk).expect("a valid chunk"));
            let end = receiver.end(wrong).expect("an end");
            assert_eq!(
                (end.complete, end.verified, end.data, end.code),
                (true, false, None, Some(Code::SchemaViolation))
            );
        }
    }

    #[test]
    fn inconsistent_announcements_are_rejected() {
        let start =
            |total_size, total_chunks, chunk_size| StreamStart { total_size, total_chunks, chunk_size, ..sent(8).1 };
        let open = |start| Receiver::open(start, Rules::PLAIN).err();
        assert_eq!((open(start(17, 3, 8)), open(start(0, 0, 0)), open(start(0, 0, 8))), (None, None, None));
        for bad in [start(17, 2, 8), start(17, 3, 0), start(0, 1, 8), start(1, u64::MAX, 1)] {
            assert!(open(bad).is_some());
        }
        assert_eq!(open(start(1 << 62, 1 << 62, 1)), Some(Code::Overloaded));
        assert_eq!(open(StreamStart { hash_algo: "md5".into(), ..start(17, 3, 8) }), Some(Code::SchemaViolation));
    }

    #[test]
    fn a_sender_waits_for_its_own_confirmation() {
        let ack = |stream_id: &str, verified| SenderEvent::Ack { stream_id: Some(stream_id.into()), verified };
        let after = |event: &SenderEvent| {
            let mut sender = sent(8).0;
            (sender.event(event), sender.failed())
        };
        assert_eq!(after(&ack("s", Some(true))), (SenderState::Done, false));
        assert_eq!(after(&ack("s", Some(false))), (SenderState::Done, true));
        assert_eq!(
            (after(&ack("s", None)).0, after(&ack("t", Some(true))).0),
            (SenderState::AwaitAck, SenderState::AwaitAck)
        );
        assert_eq!(
            (after(&SenderEvent::Error), after(&SenderEvent::Timeout)),
            ((SenderState::Done, true), (SenderState::Done, true))
        );
        let mut idle = Sender::open("s", Vec::new(), 0, "f", "a/b", Rules::PLAIN).expect("an empty stream");
        assert_eq!(idle.event(&SenderEvent::Error), SenderState::Idle);
        assert_eq!(
            [idle.next(), idle.next(), idle.next()].map(|next| next.map(|(typ, _)| typ)),
            [Some(0x13), Some(0x15), None]
        );
        assert!(Sender::open("s", vec![1], 0, "f", "a/b", Rules::PLAIN).is_err());
    }
}
