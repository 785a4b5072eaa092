//! `within`: a number in a range.

use super::bounds::Bounds;
use super::{ArgumentError, Check, Compiler, Matcher, Outcome};
use crate::value::Value;

/// Holds if the value is a number in the range, bounds included.
pub(super) struct Within;

impl Matcher for Within {
    fn name(&self) -> &'static str {
        "within"
    }

    fn summary(&self) -> &'static str {
        "The value is a number from `min` to `max`, both included; either may be omitted."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/ttl, within: { min: 1, max: 3600 } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Inside(Bounds::of_numbers(argument)?)))
    }
}

struct Inside(Bounds);

impl Check for Inside {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        if observed.is_some_and(|value| self.0.hold(value)) {
            return Outcome::HOLDS;
        }
        Outcome::mismatch(format!("a number {}", self.0), observed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn numbers_in_the_range_hold() {
        assert!(holds(r#"{"within":{"min":1,"max":3}}"#, "3.0"));
        assert!(holds(r#"{"within":{"min":-0.5}}"#, "1e300"));
        assert!(matches!(look_at_nothing(r#"{"within":{"min":1}}"#), Outcome::Mismatch(_)));
    }

    #[test]
    fn other_numbers_and_other_values_are_mismatches() {
        let written = r#"{"at":"/ttl","within":{"min":1,"max":3}}"#;
        assert_eq!(mismatch(written, r#"{"ttl":4}"#), ["/ttl", "a number from 1 to 3", "4"]);
        assert_eq!(mismatch(written, r#"{"ttl":"2"}"#), ["/ttl", "a number from 1 to 3", "\"2\""]);
    }

    #[test]
    fn a_range_needs_a_bound() {
        assert_eq!(refusal(r#"{"within":{"min":"1"}}"#)[..2], ["/within/min", "needs a number, not \"1\""]);
        assert_eq!(refusal(r#"{"within":5}"#)[1], "needs a map of min or max, not 5");
        assert!(refusal(r#"{"within":{}}"#)[2].starts_with("for example"));
    }
}
