//! Frames of the TCP transport (RFC 002 section 4.2): four bytes of length, one byte of type, the payload.
//!
//! The length is big-endian and counts the type byte. Some implementations leave the type byte out (erratum E80);
//! [`Framing::Bare`] is theirs.

use crate::target::FrameTypes;

/// Frame types of RFC 002 section 4.2.
pub mod kind {
    /// An AMP message.
    pub const AMP_MESSAGE: u8 = 0x01;
    /// The transport handshake, both directions.
    pub const HANDSHAKE: u8 = 0x02;
    /// Keep-alive.
    pub const PING: u8 = 0x03;
    /// Its answer.
    pub const PONG: u8 = 0x04;
    /// An announced close.
    pub const GOAWAY: u8 = 0x05;
    /// A transport error.
    pub const ERROR: u8 = 0x06;

    /// The name of a frame type.
    pub fn name(kind: u8) -> Option<&'static str> {
        ["AMP_MESSAGE", "HANDSHAKE", "PING", "PONG", "GOAWAY", "ERROR"].get(usize::from(kind.checked_sub(1)?)).copied()
    }
}

/// The types that keep a connection going.
pub const TYPES: FrameTypes = FrameTypes { message: kind::AMP_MESSAGE, ping: Some(kind::PING), pong: Some(kind::PONG) };

/// No frame is longer: what the two sides agree on is at most what the longest handshake of a suite announces.
pub const LONGEST: u64 = 64 << 20;

/// Whether frames have a type byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// As RFC 002 has it.
    #[default]
    Typed,
    /// Length and payload alone; every frame is read as [`kind::AMP_MESSAGE`].
    Bare,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The type byte.
    pub kind: u8,
    /// What follows it.
    pub payload: Vec<u8>,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length of 0, which leaves no room for the type byte.
    #[error("a frame of length 0, without room for its type byte")]
    Empty,
    /// A declared length beyond the limit.
    #[error("a frame of declared length {declared}, beyond the limit of {limit}")]
    TooLong {
        /// The declared length, type byte included.
        declared: u32,
        /// The longest length allowed, type byte included.
        limit: usize,
    },
}

impl Frame {
    /// The bytes of this frame; a bare one leaves the type out. Payloads beyond 4 GiB do not occur.
    pub fn encode(&self, framing: Framing) -> Vec<u8> {
        encode(self.kind, &self.payload, framing)
    }
}

/// The bytes of a frame.
pub fn encode(kind: u8, payload: &[u8], framing: Framing) -> Vec<u8> {
    let typed = framing == Framing::Typed;
    let length = u32::try_from(payload.len() + usize::from(typed)).unwrap_or(u32::MAX);
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(typed.then_some(kind));
    bytes.extend_from_slice(payload);
    bytes
}

/// Decodes frames from a stream of bytes.
#[derive(Clone, Debug)]
pub struct Decoder {
    framing: Framing,
    limit: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were given out already.
    used: usize,
    taken: u64,
}

impl Decoder {
    /// A decoder for payloads of up to `max_payload` bytes, the type byte not counted (erratum E72).
    pub fn new(framing: Framing, max_payload: usize) -> Self {
        let limit = max_payload.saturating_add(usize::from(framing == Framing::Typed));
        Self { framing, limit, buffer: Vec::new(), used: 0, taken: 0 }
    }

    /// Adds bytes. They are buffered until decoded, so call [`Self::next_frame`] until it returns `None` before
    /// pushing again.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, or `None` if more bytes are needed.
    ///
    /// # Errors
    ///
    /// [`FrameError`] as soon as the length is invalid, before the payload has arrived. The stream cannot be
    /// read any further then.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.buffer[self.used..];
        let Some((head, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let declared = u32::from_be_bytes(*head);
        let typed = self.framing == Framing::Typed;
        if typed && declared == 0 {
            return Err(FrameError::Empty);
        }
        let length = usize::try_from(declared).unwrap_or(usize::MAX);
        if length > self.limit {
            return Err(FrameError::TooLong { declared, limit: self.limit });
        }
        let Some(content) = rest.get(..length) else { return Ok(None) };
        let frame = match (typed, content) {
            (true, [kind, payload @ ..]) => Frame { kind: *kind, payload: payload.to_vec() },
            _ => Frame { kind: kind::AMP_MESSAGE, payload: content.to_vec() },
        };
        self.used += 4 + length;
        self.taken += 4 + length as u64;
        Ok(Some(frame))
    }

    /// The buffered bytes of an incomplete frame: at the end of a stream, a truncated frame.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.used..]
    }

    /// Bytes of all frames given out: the offset of [`Self::rest`] in the stream.
    pub fn offset(&self) -> u64 {
        self.taken
    }
}

/// Splits a whole stream: its frames, and the bytes after the last one.
///
/// # Errors
///
/// As [`Decoder::next_frame`].
pub fn decode(bytes: &[u8], framing: Framing, max_payload: usize) -> Result<(Vec<Frame>, Vec<u8>), FrameError> {
    let mut decoder = Decoder::new(framing, max_payload);
    decoder.push(bytes);
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next_frame()? {
        frames.push(frame);
    }
    Ok((frames, decoder.rest().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap()
    }

    /// PM-AMP-F02, F05, F07, F09 and F10.
    #[test]
    fn the_vectors() {
        for (bytes, kind, payload) in [
            (
                "0000002702a36776657273696f6e01686163636570746564f56c6d61785f6d73675f73697a651a00100000",
                kind::HANDSHAKE,
                "a36776657273696f6e01686163636570746564f56c6d61785f6d73675f73697a651a00100000",
            ),
            ("000000050370696e67", kind::PING, "70696e67"),
            ("000000050470696e67", kind::PONG, "70696e67"),
            (
                "0000001605a266726561736f6e00676d65737361676563627965",
                kind::GOAWAY,
                "a266726561736f6e00676d65737361676563627965",
            ),
            ("000000017f", 0x7f, ""),
        ] {
            let frame = Frame { kind, payload: hex(payload) };
            assert_eq!(frame.encode(Framing::Typed), hex(bytes));
            assert_eq!(decode(&hex(bytes), Framing::Typed, 1 << 20), Ok((vec![frame], vec![])));
        }
        assert_eq!(decode(&hex("00000000"), Framing::Typed, 1 << 20), Err(FrameError::Empty));
    }

    #[test]
    fn frames_are_decoded_for_any_chunking() {
        let frames: Vec<Frame> = (0..5).map(|n| Frame { kind: n, payload: vec![n; usize::from(n) * 7] }).collect();
        for framing in [Framing::Typed, Framing::Bare] {
            let stream: Vec<u8> = frames.iter().flat_map(|frame| frame.encode(framing)).collect();
            for step in 1..stream.len() {
                let mut decoder = Decoder::new(framing, 100);
                let mut found = Vec::new();
                for piece in stream.chunks(step) {
                    decoder.push(piece);
                    while let Some(frame) = decoder.next_frame().unwrap() {
                        found.push(frame);
                    }
                }
                assert_eq!(decoder.rest(), b"");
                assert_eq!(decoder.offset(), stream.len() as u64);
                let payloads = |frames: &[Frame]| frames.iter().map(|frame| frame.payload.clone()).collect::<Vec<_>>();
                assert_eq!(payloads(&found), payloads(&frames));
                if framing == Framing::Typed {
                    assert_eq!(found, frames);
                }
            }
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_the_payload() {
        let limit = |length: u32| decode(&length.to_be_bytes(), Framing::Typed, 10);
        assert_eq!(limit(11), Ok((vec![], 11_u32.to_be_bytes().to_vec())));
        assert_eq!(limit(12), Err(FrameError::TooLong { declared: 12, limit: 11 }));
        assert_eq!(limit(u32::MAX), Err(FrameError::TooLong { declared: u32::MAX, limit: 11 }));
        assert_eq!(
            decode(&11_u32.to_be_bytes(), Framing::Bare, 10),
            Err(FrameError::TooLong { declared: 11, limit: 10 })
        );
        assert!(decode(&[0; 4], Framing::Bare, 10).is_ok());
        assert_eq!(kind::name(1), Some("AMP_MESSAGE"));
        assert_eq!((kind::name(0), kind::name(7)), (None, None));
    }
}
