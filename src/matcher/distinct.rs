//! `distinct`: no two elements are equal.

use std::collections::HashMap;

use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};

/// Holds if no two elements are equal, or have equal values at a place.
pub(super) struct Distinct;

impl Matcher for Distinct {
    fn name(&self) -> &'static str {
        "distinct"
    }

    fn summary(&self) -> &'static str {
        "No two elements of the array are equal; with `by`, no two elements have equal values at that place."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/items, distinct: { by: /id } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let Value::Map(members) = argument else {
            return Err(ArgumentError::new(format!("needs an empty map, or a map with `by`, not {}", show(argument))));
        };
        let mut by = Path::default();
        for (key, value) in members {
            match (key.as_text(), value.as_text().map(Path::parse)) {
                (Some("by"), Some(Ok(path))) => by = path,
                (Some("by"), _) => return Err(ArgumentError::new("needs a path as `by`")),
                _ => return Err(ArgumentError::new(format!("has an unknown key {}, expected `by`", show(key)))),
            }
        }
        Ok(Box::new(Unique(by)))
    }
}

struct Unique(Path);

impl Check for Unique {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(items) = observed.and_then(Value::as_array) else {
            return Outcome::mismatch("an array", observed);
        };
        let mut seen: HashMap<u64, Vec<(usize, &Value)>> = HashMap::new();
        let mut count = 0;
        for (at, value) in items.iter().enumerate().filter_map(|(at, item)| Some((at, self.0.resolve(item)?))) {
            let alike = seen.entry(value.meaning_hash()).or_default();
            if let Some((earlier, _)) = alike.iter().find(|(_, known)| known.same_as(value)) {
                return Outcome::Mismatch(Mismatch {
                    path: Path::default().child(at.to_string()),
                    expected: format!("a value other than that of element {earlier}"),
                    observed: show(value),
                });
            }
            alike.push((at, value));
            count += 1;
        }
        if count < 2 {
            return Outcome::Vacuous("there are fewer than two elements to compare".into());
        }
        Outcome::HOLDS
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, mismatch, refusal};
    use super::*;

    #[test]
    fn repeated_elements_are_mismatches_and_others_hold() {
        assert!(holds(r#"{"distinct":{}}"#, r#"[1,2,"1"]"#));
        assert_eq!(mismatch(r#"{"distinct":{}}"#, "[1,2,1]"), ["/2", "a value other than that of element 0", "1"]);
        assert!(holds(r#"{"distinct":{"by":"/id"}}"#, r#"[{"id":1,"a":1},{"id":2,"a":1}]"#));
        assert_eq!(mismatch(r#"{"distinct":{"by":"/id"}}"#, r#"[{"id":1},{"a":2},{"id":1}]"#)[0], "/2");
    }

    #[test]
    fn fewer_than_two_elements_are_vacuous() {
        assert!(matches!(look(r#"{"distinct":{}}"#, "[1]"), Outcome::Vacuous(_)));
        assert!(matches!(look(r#"{"distinct":{"by":"/id"}}"#, r#"[{"id":1},{}]"#), Outcome::Vacuous(_)));
    }

    #[test]
    fn an_invalid_argument_is_rejected() {
        assert_eq!(refusal(r#"{"distinct":true}"#)[0], "/distinct");
        assert_eq!(refusal(r#"{"distinct":{"at":"/id"}}"#)[0], "/distinct");
        for written in [r#"{"distinct":{"by":5}}"#, r#"{"distinct":{"by":"id"}}"#] {
            assert_eq!(refusal(written)[..2], ["/distinct", "needs a path as `by`"], "{written}");
        }
    }
}
