//! `none`: no element meets expectations.

use super::conditions::{Conditions, Open, elements};
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};

/// Holds if no element meets all the expectations.
pub(super) struct NoneOf;

impl Matcher for NoneOf {
    fn name(&self) -> &'static str {
        "none"
    }

    fn summary(&self) -> &'static str {
        "The value is an array or map without an element that meets the expectation or all of the list; an empty one \
        holds."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/items, none: { at: /id, equals: m-1 } }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(WithoutMatch(Conditions::compile(argument, compiler)?)))
    }
}

struct WithoutMatch(Conditions);

impl Check for WithoutMatch {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let expected = || format!("no element with {}", self.0.wanted);
        let Some(elements) = observed.and_then(elements) else {
            return Outcome::mismatch(format!("an array or map with {}", expected()), observed);
        };
        let mut missed = false;
        let mut open = Open::default();
        for (token, element) in elements {
            match self.0.look(Some(element)) {
                Outcome::Mismatch(_) => missed = true,
                other @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open.note(other),
                Outcome::Holds(_) => {
                    return Outcome::Mismatch(Mismatch {
                        path: Path::default().child(token),
                        expected: expected(),
                        observed: show(element),
                    });
                }
            }
        }
        if let Some(undecided) = open.undecided() {
            return undecided;
        }
        open.outcome().filter(|_| !missed).unwrap_or(Outcome::HOLDS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn other_elements_and_no_elements_hold() {
        let written = r#"{"none":[{"at":"/a","equals":1},{"at":"/b","equals":2}]}"#;
        assert!(holds(written, r#"[{"a":1},{"b":2}]"#));
        assert!(holds(written, "[]"));
    }

    #[test]
    fn a_matching_element_is_a_mismatch() {
        let written = r#"{"at":"/l","none":{"equals":1}}"#;
        assert_eq!(mismatch(written, r#"{"l":[0,1]}"#), ["/l/1", "no element with equals 1", "1"]);
    }

    #[test]
    fn a_missing_list_is_a_mismatch() {
        let written = r#"{"none":{"equals":1}}"#;
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
        assert_eq!(mismatch(written, "5"), ["", "an array or map with no element with equals 1", "5"]);
    }

    #[test]
    fn vacuous_elements_are_vacuous() {
        assert!(matches!(look(r#"{"none":{"each":{"equals":1}}}"#, "[[],[]]"), Outcome::Vacuous(_)));
        assert!(holds(r#"{"none":{"each":{"equals":1}}}"#, "[[],[2]]"));
    }

    #[test]
    fn a_nested_mistake_is_reported_at_its_place() {
        assert_eq!(refusal(r#"{"none":{"at":"x","equals":1}}"#)[0], "/none/at");
    }
}
