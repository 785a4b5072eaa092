//! Frames on TCP (RFC 002, 4.2 and 4.3): four bytes of length, one of type, payload.

use super::rules::Rules;

/// The largest payload that every endpoint takes (RFC 002, 3.2).
pub(crate) const DEFAULT_MAX_PAYLOAD: usize = 1024 * 1024;

/// Frame types (RFC 002, 4.3).
pub(crate) mod kind {
    pub(crate) const AMP_MESSAGE: u8 = 0x01;
    pub(crate) const HANDSHAKE: u8 = 0x02;
    pub(crate) const PING: u8 = 0x03;
    pub(crate) const PONG: u8 = 0x04;
    pub(crate) const GOAWAY: u8 = 0x05;
    pub(crate) const ERROR: u8 = 0x06;
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its type, assigned or not.
    pub(crate) kind: u8,
    /// Its payload.
    pub(crate) payload: Vec<u8>,
}

/// Invalid framing; the connection cannot recover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    /// The length leaves no room for the type byte.
    #[error("frame length 0")]
    Empty,
    /// The payload is larger than was agreed.
    #[error("frame too large")]
    TooLarge,
}

/// The bytes of a frame. A payload of 4 GiB or more cannot be framed and is cut.
#[must_use]
pub(crate) fn encode(kind: u8, payload: &[u8], rules: Rules) -> Vec<u8> {
    let counted = payload.len() + 1 - uncounted(rules);
    let length = u32::try_from(counted).unwrap_or(u32::MAX);
    // RFC 002, 4.2: big-endian.
    let length = if rules.fault.is("tcp-length-little-endian") { length.to_le_bytes() } else { length.to_be_bytes() };
    [&length[..], &[kind], payload].concat()
}

/// How many bytes of type and payload the length excludes.
fn uncounted(rules: Rules) -> usize {
    // RFC 002, 4.2: the length counts the type byte.
    usize::from(rules.fault.is("tcp-length-without-type"))
}

/// Decodes frames from a stream of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Decoder {
    buffer: Vec<u8>,
    max_payload: usize,
    rules: Rules,
}

impl Decoder {
    /// A decoder that takes payloads of up to `max_payload` bytes; the type byte does not count (E72).
    #[must_use]
    pub(crate) fn new(max_payload: usize, rules: Rules) -> Self {
        Self { buffer: Vec::new(), max_payload, rules }
    }

    /// Changes the limit, as the handshake does.
    pub(crate) fn set_max_payload(&mut self, max_payload: usize) {
        self.max_payload = max_payload;
    }

    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes);
    }

    /// The next frame, if it is complete. A length is checked as soon as it is known, before its bytes.
    ///
    /// # Errors
    ///
    /// [`FrameError`]; the decoder is unusable afterwards.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(length) = self.buffer.first_chunk::<4>().map(|length| u32::from_be_bytes(*length)) else {
            return Ok(None);
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(uncounted(self.rules));
        // RFC 002, 4.2: at least the type byte.
        if length == 0 {
            if !self.rules.fault.is("tcp-length-zero-skipped") {
                return Err(FrameError::Empty);
            }
            self.buffer.drain(..4);
            return self.next();
        }
        // RFC 002, 4.2: at most the agreed limit.
        if length - 1 > self.max_payload && !self.rules.fault.is("tcp-max-size-unchecked") {
            return Err(FrameError::TooLarge);
        }
        if self.buffer.len() - 4 < length {
            return Ok(None);
        }
        let rest = self.buffer.split_off(4 + length);
        let whole = std::mem::replace(&mut self.buffer, rest);
        Ok(Some(Frame { kind: whole[4], payload: whole[5..].to_vec() }))
    }

    /// Type and payload of an incomplete frame, as far as they have arrived.
    pub(crate) fn cut(&mut self) -> Option<(u8, Vec<u8>)> {
        let rest = std::mem::take(&mut self.buffer);
        Some((*rest.get(4)?, rest.get(5..)?.to_vec()))
    }

    /// The bytes of an incomplete frame.
    #[must_use]
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_for_any_chunking() {
        let bytes = [encode(kind::PING, b"ping", Rules::PLAIN), encode(0x7f, b"", Rules::PLAIN)].concat();
        assert_eq!(data_encoding::HEXLOWER.encode(&bytes), "000000050370696e67000000017f");
        let mut decoder = Decoder::new(4, Rules::PLAIN);
        let mut frames = Vec::new();
        for byte in &bytes {
            decoder.push(std::slice::from_ref(byte));
            frames.extend(decoder.next().expect("valid frames"));
        }
        let kinds: Vec<(u8, usize)> = frames.iter().map(|frame| (frame.kind, frame.payload.len())).collect();
        assert_eq!((kinds, decoder.rest().len()), (vec![(kind::PING, 4), (0x7f, 0)], 0));
    }

    #[test]
    fn lengths_are_judged_before_their_bytes() {
        let next = |bytes: &[u8]| {
            let mut decoder = Decoder::new(4, Rules::PLAIN);
            decoder.push(bytes);
            decoder.next()
        };
        assert_eq!(next(&[0, 0, 0, 0]), Err(FrameError::Empty));
        assert_eq!((next(&[0, 0, 0, 6]), next(&[0, 0, 0, 5])), (Err(FrameError::TooLarge), Ok(None)));
        assert_eq!(next(&[0xff; 4]), Err(FrameError::TooLarge));
    }
}
