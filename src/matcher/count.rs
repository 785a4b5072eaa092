//! `count`: how many elements meet expectations.

use super::argument::members;
use super::bounds::Bounds;
use super::conditions::{Conditions, Open, elements};
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};

/// Holds if the number of elements that meet the expectations is within `is`.
pub(super) struct Count;

impl Matcher for Count {
    fn name(&self) -> &'static str {
        "count"
    }

    fn summary(&self) -> &'static str {
        "The number of elements of the array, or values of the map, that meet the expectation or list of expectations \
        in `of` is as in `is`."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/items, count: { of: { at: /type, equals: ack }, is: { max: 1 } } }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let members = members(argument, &["of", "is"])?;
        let of = members.require("of", |of| Conditions::compile(of, compiler))?;
        Ok(Box::new(Counted { of, is: members.require("is", Bounds::of_counts)? }))
    }
}

struct Counted {
    of: Conditions,
    is: Bounds,
}

impl Check for Counted {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let expected = format!("count {} of elements with {}", self.is, self.of.wanted);
        let Some((value, elements)) = observed.and_then(|value| Some((value, elements(value)?))) else {
            return Outcome::mismatch(format!("an array or map with {expected}"), observed);
        };
        let (mut count, mut mismatched, mut undecided, mut open) = (0, 0, 0, Open::default());
        for (_, element) in elements {
            match self.of.look(Some(element)) {
                Outcome::Holds(_) => count += 1,
                Outcome::Mismatch(_) => mismatched += 1,
                other @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => {
                    undecided += usize::from(matches!(other, Outcome::Undecided(_)));
                    open.note(other);
                }
            }
        }
        // An undecided element may or may not count: the outcome is undecided if that matters.
        let held = (count..=count + undecided).filter(|count| self.is.hold_count(*count)).count();
        if held > 0 && held <= undecided {
            return open.outcome().unwrap_or(Outcome::HOLDS);
        }
        match open.outcome() {
            Some(open) if count + mismatched + undecided == 0 => open,
            _ if self.is.hold_count(count) => Outcome::HOLDS,
            _ => Outcome::Mismatch(Mismatch {
                path: Path::default(),
                expected,
                observed: format!("count {count} in {}", show(value)),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn the_elements_that_meet_all_are_counted() {
        assert!(holds(r#"{"count":{"of":{"equals":1},"is":2}}"#, "[1,2,1.0]"));
        assert!(holds(r#"{"count":{"of":[{"equals":1}],"is":{"max":1}}}"#, r#"{"a":1,"b":2}"#));
        assert!(holds(r#"{"count":{"of":{"equals":1},"is":0}}"#, "[]"));
    }

    #[test]
    fn another_count_is_a_mismatch() {
        let written = r#"{"at":"/l","count":{"of":{"equals":1},"is":{"min":2}}}"#;
        let expected = "count at least 2 of elements with equals 1";
        assert_eq!(mismatch(written, r#"{"l":[1,2]}"#), ["/l", expected, "count 1 in [1,2]"]);
        assert_eq!(mismatch(written, r#"{"l":5}"#), ["/l", &format!("an array or map with {expected}"), "5"]);
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn vacuous_elements_are_vacuous() {
        let written = r#"{"count":{"of":{"each":{"equals":1}},"is":0}}"#;
        assert!(matches!(look(written, "[[]]"), Outcome::Vacuous(_)));
        assert!(holds(written, "[[],[2]]"));
        assert!(holds(r#"{"count":{"of":{"each":{"equals":1}},"is":1}}"#, "[[],[1],[2]]"));
    }

    #[test]
    fn both_keys_are_required() {
        assert_eq!(refusal(r#"{"count":{"of":{"equals":1}}}"#)[..2], ["/count", "needs the key `is`"]);
        assert_eq!(refusal(r#"{"count":{"is":1}}"#)[1], "needs the key `of`");
        assert_eq!(refusal(r#"{"count":{"of":{"equal":1},"is":1}}"#)[0], "/count/of/equal");
        assert_eq!(refusal(r#"{"count":{"of":{"equals":1},"is":"one"}}"#)[0], "/count/is");
    }
}
