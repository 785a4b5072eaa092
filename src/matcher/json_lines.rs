//! `json-lines`: JSON documents inside a text, one on each line.

use super::conditions::Conditions;
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};
use crate::wire::json;

/// Holds if every line of the text is JSON and the array of the documents meets the expectations.
pub(super) struct JsonLines;

impl Matcher for JsonLines {
    fn name(&self) -> &'static str {
        "json-lines"
    }

    fn summary(&self) -> &'static str {
        "The value is a text whose non-blank lines are JSON documents, and the array of these documents meets the \
         expectation or the list of them."
    }

    fn example(&self) -> &'static str {
        "{ at: /text, json-lines: [{ length: { min: 1 } }, { at: /0/type, equals: start }] }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Documents(Conditions::compile(argument, compiler)?)))
    }
}

struct Documents(Conditions);

impl Check for Documents {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        const EXPECTED: &str = "a text with JSON on every line";
        let Some(text) = observed.and_then(Value::as_text) else {
            return Outcome::mismatch(EXPECTED, observed);
        };
        let mut documents = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match json::parse(line.as_bytes()) {
                Ok(document) => documents.push(document),
                Err(error) => {
                    return Outcome::Mismatch(Mismatch {
                        path: Path::default(),
                        expected: EXPECTED.into(),
                        observed: format!("line {}: {}: {error}", index + 1, show(&Value::text(line))),
                    });
                }
            }
        }
        self.0.look(Some(&Value::Array(documents.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn blank_lines_are_ignored() {
        let written = r#"{"json-lines":[{"length":2},{"at":"/1/n","equals":2}]}"#;
        assert!(holds(written, r#""{\"n\":1}\r\n\n{\"n\":2}\n""#));
        assert_eq!(mismatch(written, r#""{\"n\":1}\n{\"n\":3}""#), ["/1/n", "2", "3"]);
        assert!(matches!(look(r#"{"json-lines":{"each":{"type":"object"}}}"#, "\"\""), Outcome::Vacuous(_)));
    }

    #[test]
    fn an_invalid_line_is_a_mismatch_with_its_number() {
        let written = r#"{"json-lines":{"length":1}}"#;
        let expected = "a text with JSON on every line";
        assert_eq!(
            mismatch(written, r#""1\n\n{\n""#),
            ["", expected, "line 3: \"{\": expected a member name in quotes at byte 1"]
        );
        assert_eq!(mismatch(written, "[1]"), ["", expected, "[1]"]);
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn the_argument_is_one_or_more_expectations() {
        assert_eq!(refusal(r#"{"json-lines":5}"#)[..2], ["/json-lines", "needs a map with a matcher, not 5"]);
    }
}
