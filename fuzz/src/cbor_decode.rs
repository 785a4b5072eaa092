//! The reader of CBOR against that of the reference, against its own writers, and against every truncation of its input.
//!
//! The input is used twice: as bytes, and as the choices for a value and its encoding.

use arbitrary::{Result, Unstructured};
use proofmark::value::Value;
use proofmark::wire::cbor::{
    self, CborErrorKind, Document, Layout, Limits, OddityKind, annotate, diagnostic_bytes, read, read_prefix,
    read_sequence, write, write_as, write_styled,
};
use serde_json::json;

use crate::{generate, reference};

/// Reports of deviations end there, so that a missing one beyond it means nothing.
const ODDITIES: usize = 1000;

/// The number of items up to which every truncation of the input is read too.
const SHORT: usize = 96;

/// Checks one input.
///
/// # Panics
///
/// If harness and reference disagree about what is CBOR or about its deterministic encoding; if a deterministic input is not
/// the output of the writer; if output in any layout does not read back; or if a truncated item is not incomplete.
pub fn run(data: &[u8]) {
    look(data);
    if let Ok((value, bytes)) = made(&mut Unstructured::new(data)) {
        let read = look(&bytes).unwrap_or_else(|| panic!("what was written is not read: {bytes:02x?}"));
        assert_eq!(write(&read.value), write(&value), "{value:?} in {bytes:02x?}");
    }
}

/// A value, and its bytes in some style.
fn made(u: &mut Unstructured<'_>) -> Result<(Value, Vec<u8>)> {
    let style = generate::style(u)?;
    let value = generate::cbor(u)?;
    let bytes = write_styled(&value, style);
    Ok((value, bytes))
}

fn look(bytes: &[u8]) -> Option<Document> {
    let document = match read(bytes, Limits::default()) {
        Ok(document) => document,
        Err(error) => {
            assert!(error.offset <= bytes.len(), "{error} lies outside of {bytes:02x?}");
            // The reference counts levels from 0 and so accepts one more, and has no limit on items.
            let limited = matches!(error.kind, CborErrorKind::TooDeep(_) | CborErrorKind::TooManyItems(_));
            assert!(limited || theirs(bytes).is_none(), "only the reference takes {bytes:02x?}: {error}");
            return None;
        }
    };
    let written = write(&document.value);
    let repeated = document.oddities.iter().any(|oddity| matches!(oddity.kind, OddityKind::DuplicateKey { .. }));
    // Outside the scope of the writer: rule 3 of RFC 001 section 8.1, and tags, which include big numbers.
    let big = |kind: &OddityKind| matches!(kind, OddityKind::SmallBignum | OddityKind::PaddedBignum);
    let plain = document.oddities.iter().all(|oddity| big(&oddity.kind));
    assert_eq!(plain, written == bytes && !repeated, "{bytes:02x?}: {:?}", document.oddities);
    if repeated || document.oddities.len() < ODDITIES {
        assert_eq!(theirs(bytes), (!repeated).then(|| written.clone()), "{bytes:02x?}");
    }
    for layout in Layout::ALL {
        let written_so = write_as(&document.value, layout);
        let again = cbor::parse(&written_so).unwrap_or_else(|error| panic!("{error}: {layout:?} of {bytes:02x?}"));
        // Members with one key keep their order, whichever that is, in all layouts but this one.
        if !(repeated && layout == Layout::Reversed) {
            assert_eq!(write(&again), written, "{layout:?} of {bytes:02x?}");
        }
    }
    let _ = diagnostic_bytes(bytes);
    let _ = annotate(bytes);
    cut(bytes);
    Some(document)
}

/// The deterministic encoding by the reference; `None` if it refuses the bytes.
fn theirs(bytes: &[u8]) -> Option<Vec<u8>> {
    let result = reference::amp("encode_deterministic", &json!({ "cbor": reference::hex(bytes) }));
    result.get("cbor").map(|_| reference::bytes(&result, "cbor"))
}

/// A complete item: trailing bytes do not change it, and fewer bytes are incomplete.
fn cut(bytes: &[u8]) {
    let twice = [bytes, bytes].concat();
    let (_, rest) = read_prefix(&twice, Limits::default()).expect("it is read alone");
    assert_eq!(rest, bytes);
    assert_eq!(read_sequence(&twice, Limits::default()).map(|items| items.len()), Ok(2));
    for length in 0..if bytes.len() <= SHORT { bytes.len() } else { 0 } {
        match read(&bytes[..length], Limits::default()) {
            Ok(_) => panic!("{length} bytes of {bytes:02x?} are enough"),
            Err(error) => assert!(error.is_incomplete(), "{length} bytes of {bytes:02x?}: {error}"),
        }
    }
}
