//! Locates the bytes of a member.

use std::ops::Range;

use super::limits::Limits;
use super::read::Reader;
use super::{CborError, read_prefix};
use crate::value::{Path, Value};

/// The bytes of the item at `path`: the first match, tags skipped, as in [`Path::resolve`].
///
/// `None` if the bytes do not start with a well-formed item within the default limits, or if the path does not resolve.
pub fn span_of(bytes: &[u8], path: &Path) -> Option<Range<usize>> {
    let limits = Limits::default();
    // Read the whole item first, so that a path never resolves in invalid CBOR.
    read_prefix(bytes, limits).ok()?;
    let mut reader = Reader::new(bytes, 0, limits);
    for token in path.tokens() {
        if !enter(&mut reader, token).ok()? {
            return None;
        }
        // This reads and counts everything before the item again; the first pass has bounded it.
        reader = Reader::new(bytes, reader.at, limits);
    }
    let start = reader.at;
    reader.value(1).ok()?;
    Some(start..reader.at)
}

/// Moves the reader to the child that `token` names; `false` if there is no such child.
fn enter(reader: &mut Reader<'_>, token: &str) -> Result<bool, CborError> {
    let mut offset = reader.at;
    let mut head = reader.head()?;
    while head.major == 6 {
        offset = reader.at;
        head = reader.head()?;
    }
    // Names are compared by the rule of `Path`, so that both agree.
    let wanted = Path::default().child(token);
    match head.major {
        4 => {
            let mut left = reader.count(head, offset)?;
            let mut index = 0_usize;
            while reader.another(&mut left) {
                if index.to_string() == token {
                    return Ok(true);
                }
                index += 1;
                reader.value(1)?;
            }
        }
        5 => {
            let mut left = reader.count(head, offset)?;
            while reader.another(&mut left) {
                let key = reader.value(1)?;
                if wanted.resolve(&Value::Map(vec![(key, Value::Null)].into())).is_some() {
                    return Ok(true);
                }
                reader.value(1)?;
            }
        }
        _ => {}
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, write_as};
    use super::*;

    #[test]
    fn spans_are_found_in_every_layout() {
        let value = Value::map([
            ("v", Value::Integer(1)),
            (
                "body",
                Value::Array(
                    vec![
                        Value::Tag(24, Box::new(Value::map([("a~/", Value::text("x"))]))),
                        Value::Map(vec![(Value::Integer(-3), Value::Bytes(vec![1, 2, 3]))].into()),
                    ]
                    .into(),
                ),
            ),
        ]);
        for layout in Layout::ALL {
            let bytes = write_as(&value, layout);
            for path in ["", "/v", "/body", "/body/0", "/body/0/a~0~1", "/body/1/-3"] {
                let path = Path::parse(path).unwrap();
                let span = span_of(&bytes, &path).unwrap();
                let found = super::super::parse(&bytes[span]).unwrap();
                assert!(found.same_as(path.resolve(&value).unwrap()), "{layout:?} {path}");
            }
            for path in ["/w", "/body/2", "/body/00", "/v/0", "/body/1/3"] {
                assert_eq!(span_of(&bytes, &Path::parse(path).unwrap()), None);
            }
        }
        // {"a": 1, "a": 2}: the first one counts, as in `Path`.
        assert_eq!(span_of(&[0xa2, 0x61, 0x61, 1, 0x61, 0x61, 2], &Path::parse("/a").unwrap()), Some(3..4));
        assert_eq!(span_of(&[0xa1, 0x61], &Path::default()), None);
        assert_eq!(span_of(&[], &Path::default()), None);
    }
}
