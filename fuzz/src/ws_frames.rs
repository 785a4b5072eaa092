//! Frames of a WebSocket: the result for the start of a stream stays the same with more bytes, agrees with the library of
//! the reference, and writes back to the received bytes.
//!
//! The input is a few choices (see `generate::halves`) and a stream, which is used unchanged and after a frame
//! from the choices.

use std::io::Cursor;

use arbitrary::{Result, Unstructured};
use proofmark::transport::frame::{self, Decoded, Frame, Header, Side};
use tungstenite::protocol::frame::FrameHeader;

use crate::generate;

/// Bytes of a stream that are added one by one.
const PREFIXES: usize = 300;

/// Checks one input.
///
/// # Panics
///
/// If more bytes change the result of fewer; if a frame does not write back to its bytes; or if the other library reads
/// another frame.
pub fn run(data: &[u8]) {
    let (mut u, stream) = generate::halves(data);
    let limit = *u.choose(&[1 << 20, 1000, 125, 0]).unwrap_or(&1000);
    for sender in [Side::Client, Side::Server] {
        look(stream, sender, limit);
        if let Ok(frame) = made(&mut u, sender) {
            let bytes = frame.encode();
            look(&bytes, sender, limit);
            look(&[&bytes, stream].concat(), sender, limit);
        }
    }
}

/// A frame, which may be wrong in every part that its sender controls.
fn made(u: &mut Unstructured<'_>, sender: Side) -> Result<Frame> {
    let masks = (sender == Side::Client) != u.ratio(1, 8)?;
    let length = *u.choose(&[0, 1, 5, 124, 125, 126, 127, 200, 65_535, 65_536])?;
    Ok(Frame {
        last: u.ratio(7, 8)?,
        reserved: if u.ratio(1, 8)? { u.arbitrary()? } else { 0 },
        opcode: u.int_in_range(0..=15)?,
        mask: if masks { Some(u.arbitrary()?) } else { None },
        payload: u.arbitrary::<u8>().map(|first| (0..length).map(|n| first ^ n as u8).collect())?,
    })
}

fn look(stream: &[u8], sender: Side, limit: usize) {
    let decided = frame::decode(stream, sender, limit);
    let shown = || format!("{sender:?} up to {limit}: {decided:?} of {:02x?}", &stream[..stream.len().min(PREFIXES)]);
    match &decided {
        Decoded::Frame(header) => whole(stream, *header, limit, &shown()),
        Decoded::Partial(size) => {
            assert!(size.is_none_or(|size| size > stream.len() as u64), "{}", shown());
        }
        Decoded::TooLong(length) => assert!(*length > limit as u64, "{}", shown()),
        Decoded::Broken(why) => assert!(!why.is_empty(), "{}", shown()),
    }
    // Fewer bytes must give the result of all bytes, or require more.
    for length in 0..stream.len().min(PREFIXES) {
        let early = frame::decode(&stream[..length], sender, limit);
        match (&early, &decided) {
            (Decoded::Partial(None), _) => {}
            (Decoded::Partial(Some(size)), Decoded::Frame(header)) => {
                assert!(*size == header.size as u64 && length < header.size, "{length} bytes: {early:?}; {}", shown());
            }
            _ => assert_eq!(early, decided, "{length} bytes; {}", shown()),
        }
    }
    agree(stream, &decided, &shown);
}

/// A complete frame writes back to its bytes: its encoding is unique.
fn whole(stream: &[u8], header: Header, limit: usize, shown: &str) {
    let bytes = &stream[..header.size];
    let mut payload = bytes[header.payload..].to_vec();
    assert!(payload.len() <= limit.max(125), "{shown}");
    if let Some(key) = header.mask {
        frame::mask(&mut payload, key);
    }
    let frame = Frame { last: header.last, reserved: 0, opcode: header.opcode, mask: header.mask, payload };
    assert_eq!(frame.encode(), bytes, "{shown}");
}

/// The header as read by another library.
fn agree(stream: &[u8], decided: &Decoded, shown: &dyn Fn() -> String) {
    match (FrameHeader::parse(&mut Cursor::new(stream)), decided) {
        // It reads frames that the harness calls broken, and leaves the refusal to its callers.
        (_, Decoded::Broken(_)) => {}
        (Ok(Some((theirs, length))), Decoded::Frame(header)) => {
            let opcode = u8::from(theirs.opcode);
            let ours = (header.last, header.opcode, header.mask, (header.size - header.payload) as u64);
            assert_eq!((theirs.is_final, opcode, theirs.mask, length), ours, "{}", shown());
        }
        (Ok(Some((_, length))), Decoded::TooLong(ours)) => assert_eq!(length, *ours, "{}", shown()),
        (Ok(_), _) => {}
        (Err(error), _) => panic!("only the harness reads it ({error}): {}", shown()),
    }
}
