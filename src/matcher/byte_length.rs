//! `byte-length`: how many bytes there are.

use super::bounds::Bounds;
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};

/// Holds if the number of bytes is the wanted one.
pub(super) struct ByteLength;

impl Matcher for ByteLength {
    fn name(&self) -> &'static str {
        "byte-length"
    }

    fn summary(&self) -> &'static str {
        "The value is a byte string of so many bytes, or a text of so many in UTF-8."
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
            _ => None, // Nothing else has bytes that do not depend on how it is written.
        });
        match (length, observed) {
            (Some(length), _) if self.0.hold_count(length) => Outcome::HOLDS,
            (Some(length), Some(value)) => Outcome::Departs(Mismatch {
                path: Path::default(),
                expected: format!("byte length {}", self.0),
                observed: format!("byte length {length}: {}", show(value)),
            }),
            _ => Outcome::departs(format!("a byte string or text of byte length {}", self.0), observed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{departure, expectation, holds, refusal};
    use super::*;

    #[test]
    fn bytes_of_utf8_and_byte_strings_count() {
        assert!(holds(r#"{"byte-length":6}"#, "\"é🚀\""));
        assert_eq!(expectation(r#"{"byte-length":{"min":2}}"#).check(&Value::Bytes(vec![0, 1])), Outcome::HOLDS);
    }

    #[test]
    fn another_length_departs_and_so_does_what_has_none() {
        assert_eq!(departure(r#"{"byte-length":1}"#, "\"é\""), ["", "byte length 1", "byte length 2: \"é\""]);
        assert_eq!(departure(r#"{"byte-length":1}"#, "[1]"), ["", "a byte string or text of byte length 1", "[1]"]);
    }

    #[test]
    fn a_length_is_a_whole_number_from_0() {
        assert_eq!(refusal(r#"{"byte-length":1.5}"#)[..2], ["/byte-length", "needs a whole number from 0, not 1.5"]);
    }
}
