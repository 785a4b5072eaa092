//! `ordered`: elements in order.

use std::cmp::Ordering;

use super::argument::{members, word};
use super::{
    ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, bounds, read_path, show, show_or_absent, time,
};
use crate::value::{Path, Value};

/// Holds if the elements of an array are in order.
pub(super) struct Ordered;

impl Matcher for Ordered {
    fn name(&self) -> &'static str {
        "ordered"
    }

    fn summary(&self) -> &'static str {
        "The elements of the array are in order of the value at `by` in each [default: the element itself], compared \
         as `as`: number (by value), text (by code points) or time [default: number or text, as the first element]. \
         `direction` is ascending or descending; with `strictly` no two are equal. With fewer than two elements the \
         check is vacuous."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/items, ordered: { by: /sent, as: time, direction: descending, strictly: true } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let members = members(argument, &["by", "as", "direction", "strictly"])?;
        let kinds = [("number", Kind::Number), ("text", Kind::Text), ("time", Kind::Time)];
        let directions = [("ascending", Ordering::Less), ("descending", Ordering::Greater)];
        Ok(Box::new(Order {
            by: members.read("by", read_path)?.unwrap_or_default(),
            kind: members.read("as", |kind| word(kind, &kinds))?,
            wanted: members.read("direction", |direction| word(direction, &directions))?.unwrap_or(Ordering::Less),
            strictly: members.flag("strictly")?,
        }))
    }
}

/// How elements are compared.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Text,
    Time,
}

struct Order {
    /// The place in each element that is compared.
    by: Path,
    /// `None`: by the type of the first element.
    kind: Option<Kind>,
    /// How an element must compare to the next one.
    wanted: Ordering,
    strictly: bool,
}

impl Check for Order {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(items) = observed.and_then(Value::as_array) else {
            return Outcome::mismatch("an array", observed);
        };
        if items.len() < 2 {
            return Outcome::Vacuous("there are fewer than two elements to compare".into());
        }
        let keys = || items.iter().map(|item| self.by.resolve(item));
        let kind = self.kind.unwrap_or(match keys().next().flatten() {
            Some(Value::Text(_)) => Kind::Text,
            _ => Kind::Number, // Other values are not numbers, so they are mismatches.
        });
        if let Some((index, key)) = keys().enumerate().find(|(_, key)| !key.is_some_and(|key| kind.admits(key))) {
            return self.mismatch(index, kind.in_words().into(), show_or_absent(key));
        }
        let pairs = keys().flatten().zip(keys().flatten().skip(1)).enumerate();
        for (index, (before, after)) in pairs {
            let order = kind.compare(before, after);
            if order != Some(self.wanted) && (self.strictly || order != Some(Ordering::Equal)) {
                return self.mismatch(index + 1, self.in_words(before), show(after));
            }
        }
        Outcome::HOLDS
    }
}

impl Order {
    fn mismatch(&self, index: usize, expected: String, observed: String) -> Outcome {
        let path = Path::default().child(index.to_string()).join(&self.by);
        Outcome::Mismatch(Mismatch { path, expected, observed })
    }

    fn in_words(&self, before: &Value) -> String {
        let order = if self.wanted == Ordering::Less { "greater than" } else { "less than" };
        let or_same = if self.strictly { "" } else { " or equal to" };
        format!("{order}{or_same} the previous element, {}", show(before))
    }
}

impl Kind {
    fn admits(self, value: &Value) -> bool {
        self.compare(value, value).is_some()
    }

    fn compare(self, left: &Value, right: &Value) -> Option<Ordering> {
        match self {
            Self::Number => bounds::compare(left, right),
            // UTF-8 keeps the order of code points.
            Self::Text => Some(left.as_text()?.cmp(right.as_text()?)),
            Self::Time => {
                let instant = |value: &Value| Some(time::read(value.as_text()?).ok()?.instant);
                Some(instant(left)?.cmp(&instant(right)?))
            }
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Time => "an RFC 3339 date-time",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn numbers_texts_and_times_are_ordered() {
        assert!(holds(r#"{"ordered":{}}"#, "[2,2.5,10,10.0]"));
        assert!(holds(r#"{"ordered":{}}"#, r#"["10","2","é"]"#));
        assert!(holds(r#"{"ordered":{"direction":"descending"}}"#, "[3,2,2]"));
        let times = r#"[{"t":"2026-08-22T12:00:00+02:00"},{"t":"2026-08-22T11:00:00Z"}]"#;
        assert!(holds(r#"{"ordered":{"by":"/t","as":"time","strictly":true}}"#, times));
        assert!(!holds(r#"{"ordered":{"by":"/t"}}"#, times));
    }

    #[test]
    fn an_element_out_of_order_is_a_mismatch_at_its_place() {
        let written = r#"{"at":"/l","ordered":{"by":"/n"}}"#;
        assert_eq!(
            mismatch(written, r#"{"l":[{"n":1},{"n":3},{"n":2}]}"#),
            ["/l/2/n", "greater than or equal to the previous element, 3", "2"]
        );
        let strictly = r#"{"ordered":{"direction":"descending","strictly":true}}"#;
        assert_eq!(mismatch(strictly, "[2,1,1]"), ["/2", "less than the previous element, 1", "1"]);
    }

    #[test]
    fn an_element_that_cannot_be_compared_is_a_mismatch() {
        assert_eq!(mismatch(r#"{"ordered":{}}"#, r#"[1,"2"]"#), ["/1", "a number", "\"2\""]);
        assert_eq!(mismatch(r#"{"ordered":{}}"#, r#"["1",2]"#), ["/1", "a text", "2"]);
        assert_eq!(mismatch(r#"{"ordered":{"by":"/n"}}"#, r#"[{"n":1},{}]"#), ["/1/n", "a number", "nothing"]);
        let time = r#"{"ordered":{"as":"time"}}"#;
        assert_eq!(mismatch(time, r#"["today","tomorrow"]"#), ["/0", "an RFC 3339 date-time", "\"today\""]);
        assert_eq!(mismatch(time, "{}"), ["", "an array", "{}"]);
        assert!(matches!(look_at_nothing(time), Outcome::Mismatch(_)));
    }

    #[test]
    fn fewer_than_two_elements_are_vacuous() {
        assert!(matches!(look(r#"{"ordered":{}}"#, "[]"), Outcome::Vacuous(_)));
        assert!(matches!(look(r#"{"ordered":{}}"#, "[1]"), Outcome::Vacuous(_)));
    }

    #[test]
    fn unknown_orders_are_rejected() {
        assert_eq!(refusal(r#"{"ordered":{"by":"n"}}"#)[0], "/ordered/by");
        assert_eq!(refusal(r#"{"ordered":{"as":"numbers"}}"#)[2], "did you mean `number`?");
        assert_eq!(refusal(r#"{"ordered":{"direction":"up"}}"#)[0], "/ordered/direction");
        assert_eq!(refusal(r#"{"ordered":{"strict":true}}"#)[2], "did you mean `strictly`?");
        assert_eq!(refusal(r#"{"ordered":true}"#)[0], "/ordered");
    }
}
