//! `same-items`: these elements in any order.

use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{ByMeaning, Path, Value};

/// Holds if the array has exactly the elements of the argument, with the same multiplicity, in any order.
pub(super) struct SameItems;

impl Matcher for SameItems {
    fn name(&self) -> &'static str {
        "same-items"
    }

    fn summary(&self) -> &'static str {
        "The value is an array of exactly these elements, in any order. A repeated element must occur as often as in \
        the argument."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/capabilities, same-items: [echo, relay] }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        match argument {
            // An empty list is valid here: the array must be empty.
            Value::Array(items) => Ok(Box::new(Items(items.to_vec()))),
            other => Err(ArgumentError::new(format!("needs a list, not {}", show(other)))),
        }
    }
}

struct Items(Vec<Value>);

impl Check for Items {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(items) = observed.and_then(Value::as_array) else {
            return Outcome::mismatch(format!("in any order {}", show_all(&self.0)), observed);
        };
        // The list may be a captured one, which has as many elements as the target likes.
        let mut places = ByMeaning::of(self.0.iter());
        let mut taken = vec![false; self.0.len()];
        let left = |taken: &[bool]| -> Vec<&Value> {
            self.0.iter().zip(taken).filter(|(_, taken)| !**taken).map(|(wanted, _)| wanted).collect()
        };
        // Equality is transitive, so taking the first match never leaves a later element without its match.
        for (index, item) in items.iter().enumerate() {
            match places.take(item, |at| self.0[at].same_as(item)) {
                Some(at) => taken[at] = true,
                None => {
                    let expected = match left(&taken).as_slice() {
                        [] => format!("no more elements than {}", show_all(&self.0)),
                        left => format!("one of {}", show_all(left.iter().copied())),
                    };
                    let path = Path::default().child(index.to_string());
                    return Outcome::Mismatch(Mismatch { path, expected, observed: show(item) });
                }
            }
        }
        let left = left(&taken);
        if left.is_empty() {
            return Outcome::HOLDS;
        }
        Outcome::mismatch(format!("also {}", show_all(left)), observed)
    }
}

fn show_all<'v>(items: impl IntoIterator<Item = &'v Value>) -> String {
    show(&Value::Array(items.into_iter().cloned().collect()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn what_is_missing_is_named_in_its_order() {
        assert_eq!(mismatch(r#"{"same-items":[1,2,3,2]}"#, "[2]")[1], "also [1,2,3]");
        assert_eq!(mismatch(r#"{"same-items":[1,2,3,2]}"#, "[2,5]")[..2], ["/1", "one of [1,2,3]"]);
        assert!(holds(r#"{"same-items":[{"a":1,"a":2},{"a":2,"a":1}]}"#, r#"[{"a":1,"a":2},{"a":2,"a":1}]"#));
        assert!(!holds(r#"{"same-items":[{"a":1,"a":2}]}"#, r#"[{"a":2,"a":1}]"#));
    }

    #[test]
    fn order_is_ignored_but_repetition_is_not() {
        assert!(holds(r#"{"same-items":[1,{"a":1},1]}"#, r#"[{"a":1.0},1,1]"#));
        assert!(holds(r#"{"same-items":[]}"#, "[]"));
        assert!(!holds(r#"{"same-items":[1,2]}"#, "[1,1]"));
    }

    #[test]
    fn an_extra_element_is_a_mismatch_at_its_place() {
        let written = r#"{"at":"/l","same-items":[1,2]}"#;
        assert_eq!(mismatch(written, r#"{"l":[2,3]}"#), ["/l/1", "one of [1]", "3"]);
        assert_eq!(mismatch(written, r#"{"l":[2,1,1]}"#), ["/l/2", "no more elements than [1,2]", "1"]);
    }

    #[test]
    fn a_missing_element_is_a_mismatch() {
        let written = r#"{"same-items":[1,2]}"#;
        assert_eq!(mismatch(written, "[2]"), ["", "also [1]", "[2]"]);
        assert_eq!(mismatch(written, "1"), ["", "in any order [1,2]", "1"]);
        assert!(matches!(look_at_nothing(r#"{"same-items":[]}"#), Outcome::Mismatch(_)));
    }

    #[test]
    fn the_items_are_a_list() {
        assert_eq!(refusal(r#"{"same-items":1}"#)[..2], ["/same-items", "needs a list, not 1"]);
    }
}
