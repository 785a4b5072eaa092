//! `absent`: no value, or null.

use super::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;

/// Holds if the value is absent, or with `or-null` if it is absent or null.
pub(super) struct Absent;

impl Matcher for Absent {
    fn name(&self) -> &'static str {
        "absent"
    }

    fn summary(&self) -> &'static str {
        "With true: the value is absent. With `or-null`: the value is absent or null."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/result, absent: or-null }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        match argument {
            Value::Bool(true) => Ok(Box::new(Absence { or_null: false })),
            Value::Text(word) if word == "or-null" => Ok(Box::new(Absence { or_null: true })),
            other => {
                let error = ArgumentError::new(format!("needs true or or-null, not {}", show(other)));
                Err(if *other == Value::Bool(false) { error.hint("write `exists: true`") } else { error })
            }
        }
    }
}

struct Absence {
    or_null: bool,
}

impl Check for Absence {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        match observed {
            None => Outcome::HOLDS,
            Some(Value::Null) if self.or_null => Outcome::HOLDS,
            Some(_) => Outcome::mismatch(if self.or_null { "nothing or null" } else { "nothing" }, observed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, mismatch, refusal};

    #[test]
    fn null_counts_as_absent_only_on_request() {
        assert!(holds(r#"{"at":"/b","absent":true}"#, "{}"));
        assert!(holds(r#"{"at":"/b","absent":"or-null"}"#, "{}"));
        assert!(holds(r#"{"at":"/b","absent":"or-null"}"#, r#"{"b":null}"#));
        assert_eq!(mismatch(r#"{"at":"/b","absent":true}"#, r#"{"b":null}"#), ["/b", "nothing", "null"]);
        assert_eq!(mismatch(r#"{"at":"/b","absent":"or-null"}"#, r#"{"b":1}"#), ["/b", "nothing or null", "1"]);
    }

    #[test]
    fn false_hints_at_exists() {
        assert_eq!(
            refusal(r#"{"absent":false}"#),
            ["/absent", "needs true or or-null, not false", "write `exists: true`"]
        );
        assert!(refusal(r#"{"absent":"null"}"#)[2].starts_with("for example"));
    }
}
