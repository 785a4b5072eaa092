//! `byte-length`: the number of bytes.

use super::bounds::Bounds;
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};

/// Holds if the number of bytes is as given.
pub(super) struct ByteLength;

impl Matcher for ByteLength {
    fn name(&self) -> &'static str {
        "byte-length"
    }

    fn summary(&self) -> &'static str {
        "The value is a byte string of this many bytes, or a text of this many bytes in UTF-8."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/nonce, byte-length: 24 }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(OfBytes(Bounds::of_counts(argument)?)))
    }
}

struct OfBytes(Bounds);

impl Check for OfBytes {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let length = observed.and_then(|value| match value {
            Value::Text(text) => Some(text.len()),
            Value::Bytes(bytes) => Some(bytes.len()),
            _ => None, // The bytes of other values depend on how they are written.
        });
        match (length, observed) {
            (Some(length), _) if self.0.hold_count(length) => Outcome::HOLDS,
            (Some(length), Some(value)) => Outcome::Mismatch(Mismatch {
                path: Path::default(),
                expected: format!("byte length {}", self.0),
                observed: format!("byte length {length}: {}", show(value)),
            }),
            _ => Outcome::mismatch(format!("a byte string or text of byte length {}", self.0), observed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{expectation, holds, mismatch, refusal};
    use super::*;

    #[test]
    fn bytes_of_utf8_and_byte_strings_count() {
        assert!(holds(r#"{"byte-length":6}"#, "\"é🚀\""));
        assert_eq!(expectation(r#"{"byte-length":{"min":2}}"#).check(&Value::Bytes(vec![0, 1])), Outcome::HOLDS);
    }

    #[test]
    fn other_lengths_and_other_types_are_mismatches() {
        assert_eq!(mismatch(r#"{"byte-length":1}"#, "\"é\""), ["", "byte length 1", "byte length 2: \"é\""]);
        assert_eq!(mismatch(r#"{"byte-length":1}"#, "[1]"), ["", "a byte string or text of byte length 1", "[1]"]);
    }

    #[test]
    fn a_length_is_a_non_negative_integer() {
        assert_eq!(refusal(r#"{"byte-length":1.5}"#)[..2], ["/byte-length", "needs a non-negative integer, not 1.5"]);
    }
}
