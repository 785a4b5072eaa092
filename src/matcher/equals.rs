//! `equals`: the same JSON value.

use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show, show_or_absent};
use crate::value::{Value, first_difference};

/// Holds if the value equals the argument: numbers by IEEE 754 value, members in any order.
pub(super) struct Equals;

impl Matcher for Equals {
    fn name(&self) -> &'static str {
        "equals"
    }

    fn summary(&self) -> &'static str {
        "The value equals the argument: numbers by IEEE 754 value, members in any order, strings code point for code \
        point."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/limit, equals: 5 }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(EqualTo(argument.clone())))
    }
}

struct EqualTo(Value);

impl Check for EqualTo {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(value) = observed else {
            return Outcome::mismatch(show(&self.0), None);
        };
        match first_difference(&self.0, value) {
            None => Outcome::HOLDS,
            Some(difference) => Outcome::Mismatch(Mismatch {
                path: difference.path,
                expected: show_or_absent(difference.left.as_ref()),
                observed: show_or_absent(difference.right.as_ref()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::parse;

    fn check(expected: &str, observed: &str) -> Outcome {
        let argument = parse(expected.as_bytes()).unwrap();
        let check = Equals.compile(&argument, &Compiler::new(&[])).unwrap();
        check.check(Some(&parse(observed.as_bytes()).unwrap()))
    }

    #[test]
    fn values_are_compared_not_spellings() {
        assert_eq!(check("5", "5.0"), Outcome::HOLDS);
        assert_eq!(check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#), Outcome::HOLDS);
    }

    #[test]
    fn a_difference_is_reported_at_its_place() {
        let Outcome::Mismatch(mismatch) = check(r#"{"a":[1,2]}"#, r#"{"a":[1,"2"]}"#) else {
            panic!("a string is not a number");
        };
        assert_eq!(mismatch.path.to_string(), "/a/1");
        assert_eq!((mismatch.expected.as_str(), mismatch.observed.as_str()), ("2", "\"2\""));
    }

    #[test]
    fn an_absent_value_never_equals_a_value() {
        let check = Equals.compile(&Value::Null, &Compiler::new(&[])).unwrap();
        assert!(matches!(check.check(None), Outcome::Mismatch(_)));
    }
}
