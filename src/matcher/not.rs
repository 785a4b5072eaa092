//! `not`: an expectation that does not hold.

use super::conditions::describe;
use super::{ArgumentError, Check, Compiler, Expectation, Matcher, Mismatch, Outcome, show_or_absent};
use crate::value::Value;

/// Holds if the expectation departs, for whatever cause.
pub(super) struct Not;

impl Matcher for Not {
    fn name(&self) -> &'static str {
        "not"
    }

    fn summary(&self) -> &'static str {
        "The expectation does not hold, be it that the value is another, has another type or is not there."
    }

    fn example(&self) -> &'static str {
        "{ at: /body, not: { at: /error, type: string } }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Reversed { expectation: compiler.expectation(argument, &[])?, says: describe(argument) }))
    }
}

struct Reversed {
    expectation: Expectation,
    /// The expectation in words.
    says: String,
}

impl Check for Reversed {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        match self.expectation.look(observed) {
            Outcome::Departs(_) => Outcome::HOLDS,
            open @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open,
            Outcome::Holds(_) => Outcome::Departs(Mismatch {
                path: self.expectation.at.clone(),
                expected: format!("not {}", self.says),
                observed: show_or_absent(observed.and_then(|value| self.expectation.at.resolve(value))),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{departure, holds, look, look_at_nothing, refusal};
    use super::*;

    #[test]
    fn what_departs_holds_and_what_holds_departs() {
        let written = r#"{"at":"/a","not":{"at":"/b","equals":1}}"#;
        assert!(holds(written, r#"{"a":{"b":2}}"#));
        assert!(holds(written, "{}"));
        assert_eq!(look_at_nothing(written), Outcome::HOLDS);
        assert_eq!(departure(written, r#"{"a":{"b":1}}"#), ["/a/b", "not /b equals 1", "1"]);
    }

    #[test]
    fn what_shows_nothing_still_shows_nothing() {
        assert!(matches!(look(r#"{"not":{"each":{"equals":1}}}"#, "[]"), Outcome::Vacuous(_)));
    }

    #[test]
    fn it_is_one_expectation_that_is_reversed() {
        assert_eq!(refusal(r#"{"not":[{"equals":1}]}"#)[0], "/not");
        assert_eq!(refusal(r#"{"not":{"equal":1}}"#)[2], "did you mean `equals`?");
    }
}
