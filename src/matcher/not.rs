//! `not`: an expectation that must not hold.

use super::conditions::describe;
use super::{ArgumentError, Check, Compiler, Expectation, Matcher, Mismatch, Outcome, show_or_absent};
use crate::value::Value;

/// Holds if the expectation does not hold, for any reason.
pub(super) struct Not;

impl Matcher for Not {
    fn name(&self) -> &'static str {
        "not"
    }

    fn summary(&self) -> &'static str {
        "The expectation does not hold: the value differs, has another type, or is absent."
    }

    fn example(&self) -> &'static str {
        "{ at: /body, not: { at: /error, type: string } }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Reversed { expectation: compiler.expectation(argument, &[])?, wanted: describe(argument) }))
    }
}

struct Reversed {
    expectation: Expectation,
    /// The description of the expectation.
    wanted: String,
}

impl Check for Reversed {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        match self.expectation.look(observed) {
            Outcome::Mismatch(_) => Outcome::HOLDS,
            open @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open,
            Outcome::Holds(_) => Outcome::Mismatch(Mismatch {
                path: self.expectation.at.clone(),
                expected: format!("not {}", self.wanted),
                observed: show_or_absent(observed.and_then(|value| self.expectation.at.resolve(value))),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn the_outcome_is_inverted() {
        let written = r#"{"at":"/a","not":{"at":"/b","equals":1}}"#;
        assert!(holds(written, r#"{"a":{"b":2}}"#));
        assert!(holds(written, "{}"));
        assert_eq!(look_at_nothing(written), Outcome::HOLDS);
        assert_eq!(mismatch(written, r#"{"a":{"b":1}}"#), ["/a/b", "not /b equals 1", "1"]);
    }

    #[test]
    fn a_vacuous_outcome_stays_vacuous() {
        assert!(matches!(look(r#"{"not":{"each":{"equals":1}}}"#, "[]"), Outcome::Vacuous(_)));
    }

    #[test]
    fn the_argument_is_a_single_expectation() {
        assert_eq!(refusal(r#"{"not":[{"equals":1}]}"#)[0], "/not");
        assert_eq!(refusal(r#"{"not":{"equal":1}}"#)[2], "did you mean `equals`?");
    }
}
