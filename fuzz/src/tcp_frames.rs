//! Frames on a byte stream: in any pieces, the frames are the same, in both readers of the harness and in that of the
//! reference, and they write back to the received bytes.
//!
//! The input is a few choices (see `generate::halves`) and a stream, which is used unchanged and after frames
//! from the choices.

use arbitrary::{Result, Unstructured};
use proofmark::protocol::amp_core::frame::{self, Decoder, Frame, FrameError, Framing};
use proofmark::transport::tcp;
use serde_json::json;

use crate::{generate, reference};

/// Truncations of a stream that the reference reads too.
const CUTS: usize = 6;

/// Checks one input.
///
/// # Panics
///
/// If a stream gives other frames in pieces than at once, or in another reader; or if its frames do not write back to it.
pub fn run(data: &[u8]) {
    let (mut u, stream) = generate::halves(data);
    let limit = *u.choose(&[1 << 20, 100, 4, 0]).unwrap_or(&100);
    let made = made(&mut u).unwrap_or_default();
    for stream in [stream.to_vec(), [&made, stream].concat()] {
        for framing in [Framing::Typed, Framing::Bare] {
            look(&mut u, &stream, framing, limit);
        }
    }
}

/// Some frames, as bytes.
fn made(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut stream = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        let length = u.int_in_range(0..=12)?;
        let (kind, payload) = (u.arbitrary()?, u.bytes(length)?);
        stream.extend(frame::encode(kind, payload, Framing::Typed));
    }
    Ok(stream)
}

/// The content of a stream: its frames, and the rest or the error after the last one.
type Split = (Vec<Frame>, std::result::Result<Vec<u8>, FrameError>);

fn look(u: &mut Unstructured<'_>, stream: &[u8], framing: Framing, limit: usize) {
    let whole = split(&[stream], framing, limit);
    let pieces = generate::pieces(u, stream);
    assert_eq!(split(&pieces, framing, limit), whole, "{framing:?} up to {limit} in {pieces:02x?}");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(split(&bytes, framing, limit), whole, "{framing:?} up to {limit} in {stream:02x?}, byte by byte");
    assert_eq!(by_transport(stream, framing, limit), whole, "{framing:?} up to {limit} in {stream:02x?}");
    write_back(stream, framing, &whole);
    if framing == Framing::Bare {
        return; // not in the reference
    }
    let mut cuts: Vec<usize> =
        pieces.iter().scan(0, |at, piece| Some(std::mem::replace(at, *at + piece.len()))).collect();
    cuts.truncate(CUTS);
    for cut in cuts.into_iter().chain([stream.len()]) {
        let ours = split(&[&stream[..cut]], framing, limit);
        let ours = ours.1.ok().map(|rest| (ours.0, rest));
        assert_eq!(theirs(&stream[..cut], limit), ours, "the reference up to {limit} in {:02x?}", &stream[..cut]);
    }
}

fn split(pieces: &[&[u8]], framing: Framing, limit: usize) -> Split {
    let mut decoder = Decoder::new(framing, limit);
    let (mut frames, mut given) = (Vec::new(), 0);
    for piece in pieces {
        decoder.push(piece);
        given += piece.len() as u64;
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
        assert_eq!(decoder.offset() + decoder.rest().len() as u64, given, "bytes got lost in {pieces:02x?}");
    }
    (frames, Ok(decoder.rest().to_vec()))
}

/// The same by the reader that the transport uses.
fn by_transport(stream: &[u8], framing: Framing, limit: usize) -> Split {
    let (typed, bare) = (tcp::Framing::Typed, tcp::Framing::Bare);
    let (mut frames, mut rest) = (Vec::new(), stream);
    loop {
        match tcp::decode(rest, if framing == Framing::Typed { typed } else { bare }, limit) {
            tcp::Decoded::Frame { kind, payload, size } => {
                frames.push(Frame {
                    kind: kind.unwrap_or(frame::kind::AMP_MESSAGE),
                    payload: rest[payload..size].to_vec(),
                });
                rest = &rest[size..];
            }
            tcp::Decoded::Partial(size) => {
                assert!(size.is_none_or(|size| size > rest.len() as u64), "{size:?} bytes are there: {rest:02x?}");
                assert_eq!(size.is_none(), rest.len() < 4, "{rest:02x?}");
                return (frames, Ok(rest.to_vec()));
            }
            tcp::Decoded::TooLong(declared) => {
                let declared = u32::try_from(declared).expect("a length has four bytes");
                let limit = limit + usize::from(framing == Framing::Typed);
                return (frames, Err(FrameError::TooLong { declared, limit }));
            }
            tcp::Decoded::Broken(_) => return (frames, Err(FrameError::Empty)),
        }
    }
}

fn write_back(stream: &[u8], framing: Framing, (frames, rest): &Split) {
    let mut written = Vec::new();
    for one in frames {
        let bytes = one.encode(framing);
        let kind = (framing == Framing::Typed).then_some(one.kind);
        assert_eq!(tcp::encode(kind, &one.payload).as_ref(), Ok(&bytes), "{one:?}");
        written.extend(bytes);
    }
    assert!(stream.starts_with(&written), "{frames:?} of {stream:02x?}");
    if let Ok(rest) = rest {
        assert_eq!([&written[..], rest].concat(), stream);
    }
}

/// The same by the reference; `None` if it refuses the stream.
fn theirs(stream: &[u8], limit: usize) -> Option<(Vec<Frame>, Vec<u8>)> {
    let result = reference::amp("frame_decode", &json!({ "data": reference::hex(stream), "max_size": limit }));
    let frames = result.get("frames")?.as_array().expect("frames are an array");
    let frame = |frame: &serde_json::Value| Frame {
        kind: frame["type"].as_u64().and_then(|kind| u8::try_from(kind).ok()).expect("a type is a byte"),
        payload: reference::bytes(frame, "payload"),
    };
    Some((frames.iter().map(frame).collect(), reference::bytes(&result, "rest")))
}
