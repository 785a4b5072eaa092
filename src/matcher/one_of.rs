//! `one-of`: one of several values.

use super::{ArgumentError, Check, Compiler, Matcher, Outcome, argument, show};
use crate::value::Value;

/// Holds if the value equals one in the list.
pub(super) struct OneOf;

impl Matcher for OneOf {
    fn name(&self) -> &'static str {
        "one-of"
    }

    fn summary(&self) -> &'static str {
        "The value equals one in the list, compared as by `equals`."
    }

    fn example(&self) -> &'static str {
        "{ at: /status, one-of: [400, 404] }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Among(argument::list(argument)?.to_vec())))
    }
}

struct Among(Vec<Value>);

impl Check for Among {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        if observed.is_some_and(|value| self.0.iter().any(|permitted| permitted.same_as(value))) {
            return Outcome::HOLDS;
        }
        let permitted: Vec<String> = self.0.iter().map(show).collect();
        Outcome::mismatch(format!("one of {}", permitted.join(", ")), observed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn any_of_the_values_holds() {
        assert!(holds(r#"{"one-of":[400,404]}"#, "404"));
        assert!(holds(r#"{"one-of":[null,{"a":1}]}"#, r#"{"a":1.0}"#));
        assert!(matches!(look_at_nothing(r#"{"one-of":[null]}"#), Outcome::Mismatch(_)));
    }

    #[test]
    fn a_value_outside_is_a_mismatch_with_the_choice() {
        let written = r#"{"at":"/status","one-of":[400,404]}"#;
        assert_eq!(mismatch(written, r#"{"status":500}"#), ["/status", "one of 400, 404", "500"]);
    }

    #[test]
    fn the_argument_is_a_list_that_is_not_empty() {
        assert_eq!(
            refusal(r#"{"one-of":400}"#),
            ["/one-of", "needs a list, not 400", "for example `{ at: /status, one-of: [400, 404] }`"]
        );
        assert_eq!(refusal(r#"{"one-of":[]}"#)[1], "needs a list that is not empty");
    }
}
