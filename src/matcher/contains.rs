//! `contains`: an element of an array, or a substring of a text.

use super::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;

/// Holds if the array has the element, or the text has the substring.
pub(super) struct Contains;

impl Matcher for Contains {
    fn name(&self) -> &'static str {
        "contains"
    }

    fn summary(&self) -> &'static str {
        "The value is an array with an element that equals the argument, or a text in which the argument, a \
         text too, occurs."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/capabilities, contains: echo }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        if argument.as_text() == Some("") {
            // An empty text is meaningful for an array but always holds for a text, and the argument does not tell
            // which is meant.
            let hint = "for an empty element of an array, write `some: { equals: \"\" }`";
            return Err(ArgumentError::new("is an empty text, which every text contains").hint(hint));
        }
        Ok(Box::new(Containing(argument.clone())))
    }
}

struct Containing(Value);

impl Check for Containing {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let (holds, expected) = match (observed, &self.0) {
            (Some(Value::Array(items)), wanted) => {
                (items.iter().any(|item| wanted.same_as(item)), format!("an array with the element {}", show(wanted)))
            }
            (Some(Value::Text(text)), Value::Text(wanted)) => {
                (text.contains(wanted.as_str()), format!("a text with {} in it", show(&self.0)))
            }
            (_, Value::Text(_)) => (false, format!("an array or text with {} in it", show(&self.0))),
            (_, wanted) => (false, format!("an array with the element {}", show(wanted))),
        };
        if holds { Outcome::HOLDS } else { Outcome::mismatch(expected, observed) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn an_element_or_a_part_holds() {
        assert!(holds(r#"{"contains":5}"#, "[1,5.0]"));
        assert!(holds(r#"{"contains":"b"}"#, "\"abc\""));
        assert!(holds(r#"{"contains":"b"}"#, r#"["a","b"]"#));
    }

    #[test]
    fn a_substring_of_an_element_is_not_an_element() {
        let written = r#"{"at":"/l","contains":"b"}"#;
        let expected = ["/l", "an array with the element \"b\"", r#"["abc"]"#];
        assert_eq!(mismatch(written, r#"{"l":["abc"]}"#), expected);
        assert_eq!(mismatch(written, r#"{"l":"xyz"}"#), ["/l", "a text with \"b\" in it", "\"xyz\""]);
        assert_eq!(mismatch(written, r#"{"l":{"b":1}}"#)[1], "an array or text with \"b\" in it");
        assert_eq!(mismatch(r#"{"contains":5}"#, "\"5\""), ["", "an array with the element 5", "\"5\""]);
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn an_empty_text_is_rejected() {
        assert_eq!(refusal(r#"{"contains":""}"#)[..2], ["/contains", "is an empty text, which every text contains"]);
    }
}
