//! `each`: all elements meet expectations.

use super::conditions::{Conditions, Open, elements, gather, inside};
use super::{ArgumentError, Check, Compiler, Matcher, Outcome};
use crate::value::Value;

/// Holds if every element meets the expectations and there is at least one element.
pub(super) struct Each;

impl Matcher for Each {
    fn name(&self) -> &'static str {
        "each"
    }

    fn summary(&self) -> &'static str {
        "Every element of the array, or every value of the map, meets the expectation or the list of them; without \
         elements the check is vacuous."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/items, each: [{ at: /id, type: string }, { at: /size, within: { min: 0 } }] }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Every(Conditions::compile(argument, compiler)?)))
    }
}

struct Every(Conditions);

impl Check for Every {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(elements) = observed.and_then(elements) else {
            return Outcome::mismatch(format!("an array or map whose elements have {}", self.0.wanted), observed);
        };
        let mut readings = Vec::new();
        let mut held = false;
        let mut open = Open::default();
        for (token, element) in elements {
            match self.0.look(Some(element)) {
                Outcome::Mismatch(mismatch) => return Outcome::Mismatch(inside(token, mismatch)),
                other @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open.note(other),
                Outcome::Holds(seen) => {
                    held = true;
                    gather(&mut readings, seen);
                }
            }
        }
        if held {
            return Outcome::Holds(readings);
        }
        open.outcome().unwrap_or_else(|| Outcome::Vacuous("there are no elements".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn all_elements_and_all_values_of_a_map_are_checked() {
        assert!(holds(r#"{"each":{"type":"string"}}"#, r#"["a","b"]"#));
        assert!(holds(r#"{"each":[{"at":"/n","exists":true},{"type":"object"}]}"#, r#"{"a":{"n":1},"b":{"n":2}}"#));
    }

    #[test]
    fn a_mismatch_shows_which_element_and_where() {
        let written = r#"{"at":"/items","each":[{"type":"object"},{"at":"/n","equals":1}]}"#;
        assert_eq!(mismatch(written, r#"{"items":[{"n":1},{"n":2}]}"#), ["/items/1/n", "1", "2"]);
        assert_eq!(mismatch(written, r#"{"items":{"a/b":{}}}"#), ["/items/a~1b/n", "1", "nothing"]);
        let expected = "an array or map whose elements have type \"object\" and /n equals 1";
        assert_eq!(mismatch(written, r#"{"items":5}"#), ["/items", expected, "5"]);
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn an_empty_array_is_vacuous() {
        let vacuous = Outcome::Vacuous("there are no elements".into());
        assert_eq!(look(r#"{"each":{"type":"string"}}"#, "[]"), vacuous);
        assert_eq!(look(r#"{"each":{"each":{"type":"string"}}}"#, "[[],[]]"), vacuous);
        assert_eq!(look(r#"{"each":{"each":{"type":"string"}}}"#, r#"[[],["a"]]"#), Outcome::HOLDS);
    }

    #[test]
    fn a_nested_mistake_is_reported_at_its_place() {
        assert_eq!(refusal(r#"{"each":[{"type":"string"},{"at":"/a","typ":"string"}]}"#)[0], "/each/1/typ");
        assert_eq!(refusal(r#"{"each":[]}"#)[..2], ["/each", "is an empty list, which checks nothing"]);
    }
}
