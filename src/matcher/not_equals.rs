//! `not-equals`: another JSON value.

use super::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;

/// Holds if a value is present and does not equal the argument.
pub(super) struct NotEquals;

impl Matcher for NotEquals {
    fn name(&self) -> &'static str {
        "not-equals"
    }

    fn summary(&self) -> &'static str {
        "A value is present and does not equal the argument, compared as by `equals`."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/nonce, not-equals: \"0000\" }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(OtherThan(argument.clone())))
    }
}

struct OtherThan(Value);

impl Check for OtherThan {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        match observed {
            Some(value) if !self.0.same_as(value) => Outcome::HOLDS,
            _ => Outcome::mismatch(format!("a value other than {}", show(&self.0)), observed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch};
    use super::*;

    #[test]
    fn another_value_holds_and_another_spelling_is_a_mismatch() {
        assert!(holds(r#"{"not-equals":5}"#, "6"));
        assert!(holds(r#"{"not-equals":5}"#, "\"5\""));
        assert_eq!(mismatch(r#"{"at":"/n","not-equals":5}"#, r#"{"n":5.0}"#), ["/n", "a value other than 5", "5.0"]);
    }

    #[test]
    fn a_missing_value_is_a_mismatch() {
        assert!(matches!(look_at_nothing(r#"{"not-equals":5}"#), Outcome::Mismatch(_)));
    }
}
