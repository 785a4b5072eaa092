//! `some`: at least one element meets expectations.

use super::conditions::{Conditions, Open, elements};
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome};
use crate::value::{Path, Value};

/// Holds if one element meets all the expectations.
pub(super) struct SomeOf;

impl Matcher for SomeOf {
    fn name(&self) -> &'static str {
        "some"
    }

    fn summary(&self) -> &'static str {
        "At least one element of the array, or one value of the map, meets the expectation or all of the list."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/items, some: [{ at: /type, equals: ack }, { at: /id, equals: m-1 }] }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(AtLeastOne(Conditions::compile(argument, compiler)?)))
    }
}

struct AtLeastOne(Conditions);

impl Check for AtLeastOne {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let expected = || format!("an element with {}", self.0.wanted);
        let Some(elements) = observed.and_then(elements) else {
            return Outcome::mismatch(format!("an array or map with {}", expected()), observed);
        };
        let mut count = 0;
        let mut nearest: Option<Miss> = None;
        let mut open = Open::default();
        for (token, element) in elements {
            count += 1;
            match self.0.look(Some(element)) {
                Outcome::Holds(readings) => return Outcome::Holds(readings),
                other @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open.note(other),
                Outcome::Mismatch(mismatch) => {
                    let met = self.met(element);
                    if nearest.as_ref().is_none_or(|nearest| met > nearest.met) {
                        nearest = Some(Miss { met, token, mismatch });
                    }
                }
            }
        }
        // The undecided element may meet them.
        if let Some(undecided) = open.undecided() {
            return undecided;
        }
        let observed = match (nearest, open.outcome()) {
            (Some(miss), _) => format!("{count} elements, none of which matches; {}", miss.describe()),
            (None, Some(vacuous)) => return vacuous,
            (None, None) => "no elements".to_owned(),
        };
        Outcome::Mismatch(Mismatch { path: Path::default(), expected: expected(), observed })
    }
}

impl AtLeastOne {
    /// The number of expectations that the element meets.
    fn met(&self, element: &Value) -> usize {
        self.0.all.iter().filter(|expectation| matches!(expectation.check(element), Outcome::Holds(_))).count()
    }
}

/// An element that does not match.
struct Miss {
    met: usize,
    token: String,
    mismatch: Mismatch,
}

impl Miss {
    fn describe(&self) -> String {
        let place = Path::default().child(self.token.as_str()).join(&self.mismatch.path);
        format!("the closest has {} at {place} instead of {}", self.mismatch.observed, self.mismatch.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    const WRITTEN: &str = r#"{"at":"/l","some":[{"at":"/a","equals":1},{"at":"/b","equals":2}]}"#;

    #[test]
    fn one_element_that_meets_all_is_enough() {
        assert!(holds(WRITTEN, r#"{"l":[5,{"a":1},{"a":1,"b":2}]}"#));
        assert!(holds(WRITTEN, r#"{"l":{"x":{"a":1,"b":2}}}"#));
    }

    #[test]
    fn partial_matches_are_mismatches_with_the_closest() {
        let expected = "an element with /a equals 1 and /b equals 2";
        assert_eq!(
            mismatch(WRITTEN, r#"{"l":[5,{"a":1,"b":3},{"b":2}]}"#),
            ["/l", expected, "3 elements, none of which matches; the closest has 3 at /1/b instead of 2"]
        );
        assert_eq!(mismatch(WRITTEN, r#"{"l":[]}"#), ["/l", expected, "no elements"]);
        assert_eq!(mismatch(WRITTEN, r#"{"l":5}"#)[1], format!("an array or map with {expected}"));
        assert!(matches!(look_at_nothing(WRITTEN), Outcome::Mismatch(_)));
    }

    #[test]
    fn vacuous_elements_are_vacuous() {
        assert!(matches!(look(r#"{"some":{"each":{"equals":1}}}"#, "[[],[]]"), Outcome::Vacuous(_)));
        assert!(matches!(look(r#"{"some":{"each":{"equals":1}}}"#, "[[],[2]]"), Outcome::Mismatch(_)));
    }

    #[test]
    fn a_nested_mistake_is_reported_at_its_place() {
        assert_eq!(refusal(r#"{"some":[{"equals":1},5]}"#)[0], "/some/1");
    }
}
