//! `exists`: whether a value is present.

use super::{ArgumentError, Check, Compiler, Matcher, Outcome, argument};
use crate::value::Value;

/// Holds if a value is present, null included, or with `false` if it is absent.
pub(super) struct Exists;

impl Matcher for Exists {
    fn name(&self) -> &'static str {
        "exists"
    }

    fn summary(&self) -> &'static str {
        "With true: a value is present, which may be null. With false: the value is absent."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/error/code, exists: true }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Presence(argument::flag(argument)?)))
    }
}

struct Presence(bool);

impl Check for Presence {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        if observed.is_some() == self.0 {
            return Outcome::HOLDS;
        }
        Outcome::mismatch(if self.0 { "a value" } else { "nothing" }, observed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, mismatch, refusal};

    #[test]
    fn null_is_present_and_a_missing_member_is_not() {
        assert!(holds(r#"{"at":"/a","exists":true}"#, r#"{"a":null}"#));
        assert!(holds(r#"{"at":"/b","exists":false}"#, r#"{"a":null}"#));
        assert_eq!(mismatch(r#"{"at":"/a/b","exists":true}"#, r#"{"a":{}}"#), ["/a/b", "a value", "nothing"]);
        assert_eq!(mismatch(r#"{"at":"/a","exists":false}"#, r#"{"a":null}"#), ["/a", "nothing", "null"]);
    }

    #[test]
    fn only_true_and_false_are_arguments() {
        assert_eq!(refusal(r#"{"exists":"yes"}"#)[..2], ["/exists", "needs true or false, not \"yes\""]);
    }
}
