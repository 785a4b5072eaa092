//! `all-of`: several expectations on one value.

use super::conditions::Conditions;
use super::{ArgumentError, Check, Compiler, Matcher, Outcome};
use crate::value::Value;

/// Holds if all expectations of the list hold.
pub(super) struct AllOf;

impl Matcher for AllOf {
    fn name(&self) -> &'static str {
        "all-of"
    }

    fn summary(&self) -> &'static str {
        "All expectations of the list hold on the value."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/error, all-of: [{ at: /code, equals: 404 }, { at: /message, type: string }] }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(All(Conditions::compile(argument, compiler)?)))
    }
}

struct All(Conditions);

impl Check for All {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        self.0.look(observed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn the_first_mismatch_is_reported() {
        let written = r#"{"at":"/a","all-of":[{"type":"object"},{"at":"/b","equals":1},{"at":"/c","equals":1}]}"#;
        assert!(holds(written, r#"{"a":{"b":1,"c":1}}"#));
        assert_eq!(mismatch(written, r#"{"a":{"b":2,"c":2}}"#), ["/a/b", "1", "2"]);
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn one_vacuous_expectation_makes_the_whole_vacuous() {
        let written = r#"{"all-of":[{"type":"array"},{"each":{"equals":1}}]}"#;
        assert_eq!(look(written, "[]"), Outcome::Vacuous("there are no elements".into()));
        assert!(holds(written, "[1]"));
    }

    #[test]
    fn a_nested_mistake_is_reported_at_its_place() {
        assert_eq!(refusal(r#"{"all-of":[{"type":"array"},{}]}"#)[..2], ["/all-of/1", "has no matcher"]);
        assert_eq!(refusal(r#"{"all-of":[]}"#)[0], "/all-of");
    }
}
