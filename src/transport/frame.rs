//! WebSocket frames (RFC 6455 section 5): the writer permits every mistake, the reader none.

/// The end of a WebSocket, which decides whether frames are masked (RFC 6455 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that connected.
    Client,
    /// The end that was connected to.
    Server,
}

/// The opcodes of frames (RFC 6455 section 5.2).
pub mod opcode {
    /// A further fragment of a message.
    pub const CONTINUATION: u8 = 0;
    /// A text message, or its first fragment.
    pub const TEXT: u8 = 1;
    /// A binary message, or its first fragment.
    pub const BINARY: u8 = 2;
    /// The end of what this side sends.
    pub const CLOSE: u8 = 8;
    /// A question whether the other side is there.
    pub const PING: u8 = 9;
    /// The answer to it.
    pub const PONG: u8 = 10;
}

/// The longest payload of a control frame (RFC 6455 section 5.5).
const CONTROL: u64 = 125;

/// A frame, valid or invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether it is the last of its message.
    pub last: bool,
    /// The three reserved bits, as a number from 0 to 7; other bits are left out.
    pub reserved: u8,
    /// The opcode: a number from 0 to 15; other bits are ignored.
    pub opcode: u8,
    /// The key that its payload is masked with.
    pub mask: Option<[u8; 4]>,
    /// The payload, not masked.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A whole message or control frame without a mask.
    pub fn whole(opcode: u8, payload: impl Into<Vec<u8>>) -> Self {
        Self { last: true, reserved: 0, opcode, mask: None, payload: payload.into() }
    }

    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let length = self.payload.len();
        let mut bytes = Vec::with_capacity(length + 14);
        bytes.push(u8::from(self.last) << 7 | (self.reserved & 7) << 4 | self.opcode & 15);
        let masked = u8::from(self.mask.is_some()) << 7;
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(length @ 0..=125), _) => bytes.push(masked | length),
            (_, Ok(length)) => {
                bytes.push(masked | 126);
                bytes.extend_from_slice(&length.to_be_bytes());
            }
            _ => {
                bytes.push(masked | 127);
                bytes.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        bytes.extend(self.mask.iter().flatten());
        let start = bytes.len();
        bytes.extend_from_slice(&self.payload);
        if let Some(key) = self.mask {
            mask(&mut bytes[start..], key);
        }
        bytes
    }
}

/// Masks a payload, or takes the mask off again (RFC 6455 section 5.3).
pub fn mask(payload: &mut [u8], key: [u8; 4]) {
    for (byte, key) in payload.iter_mut().zip(key.into_iter().cycle()) {
        *byte ^= key;
    }
}

/// The header of a complete frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether it is the last of its message.
    pub last: bool,
    /// The opcode.
    pub opcode: u8,
    /// The key that its payload is masked with.
    pub mask: Option<[u8; 4]>,
    /// Where its payload begins.
    pub payload: usize,
    /// Its size in bytes, header included.
    pub size: usize,
}

/// The result of decoding the start of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A frame.
    Frame(Header),
    /// An incomplete frame, and its total size if known.
    Partial(Option<u64>),
    /// A frame with a payload of so many bytes, which is longer than is read.
    TooLong(u64),
    /// An invalid frame, and the reason.
    Broken(String),
}

/// Decodes a frame from `sender` at the start of `bytes`, with at most `limit` bytes of payload. An invalid frame is
/// reported as early as possible, without waiting for the declared bytes.
pub fn decode(bytes: &[u8], sender: Side, limit: usize) -> Decoded {
    let broken = |why: &str| Decoded::Broken(why.to_owned());
    let &[first, second, ref rest @ ..] = bytes else { return Decoded::Partial(None) };
    let (last, opcode) = (first >> 7 == 1, first & 15);
    if first >> 4 & 7 != 0 {
        return broken("reserved bits of a frame are set, and no extension was agreed on");
    }
    if matches!(opcode, 3..=7 | 11..) {
        return Decoded::Broken(format!("{opcode} is a reserved opcode"));
    }
    match (sender, second >> 7) {
        (Side::Server, 1) => return broken("a server masked a frame"),
        (Side::Client, 0) => return broken("a client did not mask a frame"),
        _ => {}
    }
    let control = opcode & 8 != 0;
    if control && !last {
        return broken("a control frame is fragmented");
    }
    let (declared, extended) = match second & 127 {
        126 => (rest.first_chunk().map(|length| u64::from(u16::from_be_bytes(*length))), 2),
        127 => (rest.first_chunk().map(|length| u64::from_be_bytes(*length)), 8),
        length => (Some(u64::from(length)), 0),
    };
    if control && (extended > 0 || declared.is_some_and(|declared| declared > CONTROL)) {
        return broken("a control frame is longer than 125 bytes");
    }
    let Some(declared) = declared else { return Decoded::Partial(None) };
    if declared >> 63 == 1 {
        return broken("the highest bit of a length is set");
    }
    if (extended == 2 && declared <= CONTROL) || (extended == 8 && declared <= u64::from(u16::MAX)) {
        return broken("a length is not encoded in the fewest bytes");
    }
    if !control && declared > limit as u64 {
        return Decoded::TooLong(declared);
    }
    let masked = if sender == Side::Client { 4 } else { 0 };
    let payload = 2 + extended + masked;
    let size = payload as u64 + declared;
    if size > bytes.len() as u64 {
        return Decoded::Partial(Some(size));
    }
    let mask = if masked > 0 { rest[extended..].first_chunk().copied() } else { None };
    Decoded::Frame(Header { last, opcode, mask, payload, size: usize::try_from(size).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip() {
        for length in [0, 1, 125, 126, 65_535, 65_536, 70_000] {
            for (sender, mask_key) in [(Side::Client, Some([1, 2, 3, 250])), (Side::Server, None)] {
                let payload: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
                let frame = Frame { mask: mask_key, ..Frame::whole(opcode::BINARY, payload.clone()) };
                let mut bytes = frame.encode();
                for cut in [0, 1, 2, 3, 9, bytes.len() - 1] {
                    if cut < bytes.len() {
                        assert!(matches!(decode(&bytes[..cut], sender, length), Decoded::Partial(_)), "{length} {cut}");
                    }
                }
                let Decoded::Frame(header) = decode(&bytes, sender, length) else { panic!("{length}") };
                assert_eq!(header.size, bytes.len());
                assert_eq!((header.last, header.opcode, header.mask), (true, opcode::BINARY, mask_key));
                if let Some(key) = header.mask {
                    mask(&mut bytes[header.payload..], key);
                }
                assert!(bytes[header.payload..] == payload);
                if length > 0 {
                    assert_eq!(decode(&bytes, sender, length - 1), Decoded::TooLong(length as u64));
                }
            }
        }
    }

    /// RFC 6455 section 5.7.
    #[test]
    fn the_examples_of_the_specification() {
        let mask = Some([0x37, 0xfa, 0x21, 0x3d]);
        let masked = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(Frame { mask, ..Frame::whole(opcode::TEXT, "Hello") }.encode(), masked);
        assert_eq!(Frame::whole(opcode::PING, "Hello").encode(), b"\x89\x05Hello");
        let first = Frame { last: false, ..Frame::whole(opcode::TEXT, "Hel") };
        assert_eq!(first.encode(), b"\x01\x03Hel");
        assert_eq!(&Frame::whole(opcode::BINARY, vec![0; 65_536]).encode()[..10], b"\x82\x7f\0\0\0\0\0\x01\0\0");
    }

    #[test]
    fn invalid_frames_are_reported_immediately() {
        let cases: [(&[u8], Side, &str); 10] = [
            (b"\xc2\x00", Side::Server, "reserved bits"),
            (b"\x83\x00", Side::Server, "reserved opcode"),
            (b"\x8b\x00", Side::Server, "reserved opcode"),
            (b"\x82\x80", Side::Server, "masked"),
            (b"\x82\x00", Side::Client, "did not mask"),
            (b"\x09\x00", Side::Server, "fragmented"),
            (b"\x89\x7e", Side::Server, "125"),
            (b"\x82\x7e\x00\x7d", Side::Server, "fewest bytes"),
            (b"\x82\x7f\0\0\0\0\0\0\xff\xff", Side::Server, "fewest bytes"),
            (b"\x82\x7f\x80\0\0\0\0\0\0\0", Side::Server, "highest bit"),
        ];
        for (bytes, sender, part) in cases {
            match decode(bytes, sender, 1_000) {
                Decoded::Broken(why) => assert!(why.contains(part), "{bytes:02x?}: {why}"),
                other => panic!("{bytes:02x?}: {other:?}"),
            }
        }
        assert_eq!(decode(b"\x82\x7f\x00\0\0\x01\0\0\0\0", Side::Server, 1_000), Decoded::TooLong(1 << 32));
    }
}
