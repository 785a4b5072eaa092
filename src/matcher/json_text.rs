//! `json-text`: a JSON document inside a text.

use super::conditions::Conditions;
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::value::{Path, Value};
use crate::wire::json;

/// Holds if the text is JSON and its document meets the expectations.
pub(super) struct JsonText;

impl Matcher for JsonText {
    fn name(&self) -> &'static str {
        "json-text"
    }

    fn summary(&self) -> &'static str {
        "The value is a text that is a JSON document, and the document meets the expectation or every expectation of \
        the list."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/content, json-text: { at: /error/code, equals: 404 } }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Document(Conditions::compile(argument, compiler)?)))
    }
}

struct Document(Conditions);

impl Check for Document {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(text) = observed.and_then(Value::as_text) else {
            return Outcome::mismatch("a text that is JSON", observed);
        };
        match json::parse(text.as_bytes()) {
            Ok(document) => self.0.look(Some(&document)),
            Err(error) => Outcome::Mismatch(Mismatch {
                path: Path::default(),
                expected: "a text that is JSON".into(),
                observed: format!("{}: {error}", show(&Value::text(text))),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn the_document_is_checked_not_its_text() {
        let written = r#"{"at":"/t","json-text":[{"at":"/a","equals":1},{"type":"object"}]}"#;
        assert!(holds(written, r#"{"t":" {\"a\": 1.0} "}"#));
        assert_eq!(mismatch(written, r#"{"t":"{\"a\":2}"}"#), ["/t/a", "1", "2"]);
    }

    #[test]
    fn invalid_json_is_a_mismatch_with_the_reason() {
        let written = r#"{"at":"/t","json-text":{"type":"object"}}"#;
        assert_eq!(
            mismatch(written, r#"{"t":"{a"}"#),
            ["/t", "a text that is JSON", "\"{a\": expected a member name in quotes at byte 1"]
        );
        assert_eq!(mismatch(written, r#"{"t":{}}"#), ["/t", "a text that is JSON", "{}"]);
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn the_argument_is_one_or_more_expectations() {
        assert_eq!(refusal(r#"{"json-text":[{"equal":1}]}"#)[0], "/json-text/0/equal");
        assert_eq!(refusal(r#"{"json-text":[]}"#)[0], "/json-text");
    }
}
