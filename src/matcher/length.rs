//! `length`: the number of characters, elements or members.

use super::bounds::Bounds;
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};

/// Holds if the length is as given.
pub(super) struct Length;

impl Matcher for Length {
    fn name(&self) -> &'static str {
        "length"
    }

    fn summary(&self) -> &'static str {
        "The value has this many characters (Unicode code points) of a text, bytes of a byte string, elements of an \
         array or members of a map."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/items, length: { min: 1, max: 100 } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(OfLength(Bounds::of_counts(argument)?)))
    }
}

struct OfLength(Bounds);

impl Check for OfLength {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let length = observed.and_then(|value| match value {
            Value::Text(text) => Some(text.chars().count()),
            Value::Bytes(bytes) => Some(bytes.len()),
            Value::Array(items) => Some(items.len()),
            Value::Map(members) => Some(members.len()),
            _ => None, // Other values have no length.
        });
        match (length, observed) {
            (Some(length), _) if self.0.hold_count(length) => Outcome::HOLDS,
            (Some(length), Some(value)) => Outcome::Mismatch(Mismatch {
                path: Path::default(),
                expected: format!("length {}", self.0),
                observed: format!("length {length}: {}", show(value)),
            }),
            _ => Outcome::mismatch(format!("a text, array or map of length {}", self.0), observed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{expectation, holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn characters_bytes_elements_and_members_count() {
        assert!(holds(r#"{"length":2}"#, "\"é🚀\""));
        assert!(holds(r#"{"length":{"max":2}}"#, "[1,2]"));
        assert!(holds(r#"{"length":{"min":1,"max":1}}"#, r#"{"a":1}"#));
        assert!(holds(r#"{"length":0}"#, "\"\""));
        assert_eq!(expectation(r#"{"length":2}"#).check(&Value::Bytes(vec![0xc3, 0xa9])), Outcome::HOLDS);
    }

    #[test]
    fn other_lengths_and_other_types_are_mismatches() {
        assert_eq!(mismatch(r#"{"at":"/l","length":1}"#, r#"{"l":[1,2]}"#), ["/l", "length 1", "length 2: [1,2]"]);
        assert_eq!(mismatch(r#"{"length":1}"#, "5"), ["", "a text, array or map of length 1", "5"]);
        assert!(matches!(look_at_nothing(r#"{"length":0}"#), Outcome::Mismatch(_)));
    }

    #[test]
    fn a_length_is_a_non_negative_integer() {
        assert_eq!(refusal(r#"{"length":-1}"#)[..2], ["/length", "needs a non-negative integer, not -1"]);
        assert_eq!(refusal(r#"{"length":{"min":"1"}}"#)[0], "/length/min");
    }
}
