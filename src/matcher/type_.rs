//! `type`: a value of some type.

use super::argument::{either, word};
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, argument, show, show_or_absent};
use crate::value::{Path, Value};

/// Holds if the value has the type, or one of the types.
pub(super) struct Type;

impl Matcher for Type {
    fn name(&self) -> &'static str {
        "type"
    }

    fn summary(&self) -> &'static str {
        "The value is of the type, or of one in the list: string, number, integer (a number without a fraction, \
         however it is written), uint (a number in plain digits, or a CBOR integer, that is not negative), boolean, null, array, object, \
         bytes."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/id, type: [string, integer] }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let kinds = match argument {
            Value::Array(_) => argument::list(argument)?
                .iter()
                .enumerate()
                .map(|(index, name)| kind(name).map_err(|error| error.under(index.to_string())))
                .collect::<Result<_, _>>()?,
            name => vec![kind(name)?],
        };
        Ok(Box::new(OfType(kinds)))
    }
}

/// The names. All but `integer` and `uint` are the names that [`Value::type_name`] returns.
const KINDS: [&str; 9] = ["string", "number", "integer", "uint", "boolean", "null", "array", "object", "bytes"];

fn kind(name: &Value) -> Result<&'static str, ArgumentError> {
    word(name, &KINDS.map(|kind| (kind, kind)))
}

struct OfType(Vec<&'static str>);

impl Check for OfType {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let is = |kind: &&str| {
            observed.is_some_and(|value| match *kind {
                "integer" => is_whole(value),
                "uint" => matches!(value, Value::Integer(number) if *number >= 0),
                kind => value.type_name() == kind,
            })
        };
        if self.0.iter().any(is) {
            return Outcome::HOLDS;
        }
        Outcome::Mismatch(Mismatch {
            path: Path::default(),
            expected: either(&self.0),
            observed: match observed {
                Some(Value::Null) | None => show_or_absent(observed),
                Some(value) => format!("{} {}", value.type_name(), show(value)),
            },
        })
    }
}

fn is_whole(value: &Value) -> bool {
    match value {
        Value::Integer(_) => true,
        // Plain digits are an integer even if a double cannot represent them exactly.
        Value::Decimal(text) if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) => true,
        other => other.as_f64().is_some_and(|float| float.is_finite() && float.fract() == 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn every_type_holds_for_its_values_and_for_no_others() {
        let values = ["\"a\"", "1.5", "true", "null", "[]", "{}"];
        for (index, kind) in ["string", "number", "boolean", "null", "array", "object"].into_iter().enumerate() {
            for (other, value) in values.into_iter().enumerate() {
                assert_eq!(holds(&format!(r#"{{"type":"{kind}"}}"#), value), index == other, "{kind} {value}");
            }
        }
        let bytes = super::super::testing::expectation(r#"{"type":"bytes"}"#);
        assert_eq!(bytes.check(&Value::Bytes(vec![1])), Outcome::HOLDS);
    }

    #[test]
    fn an_integer_is_recognised_by_value() {
        for whole in ["5", "-5", "5.0", "1e3", "-0", &"9".repeat(400)] {
            assert!(holds(r#"{"type":"integer"}"#, whole), "{whole}");
        }
        for other in ["5.5", "1e-3", "\"5\"", "true", "1e400"] {
            assert!(!holds(r#"{"type":"integer"}"#, other), "{other}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_a_mismatch() {
        assert_eq!(
            mismatch(r#"{"at":"/id","type":["string","null"]}"#, r#"{"id":5}"#),
            ["/id", "string or null", "number 5"]
        );
        assert!(matches!(look_at_nothing(r#"{"type":"null"}"#), Outcome::Mismatch(_)));
    }

    #[test]
    fn an_unknown_type_is_refused() {
        let choice = "string, number, integer, uint, boolean, null, array, object or bytes";
        assert_eq!(
            refusal(r#"{"type":["string","interger"]}"#),
            ["/type/1", &format!("needs {choice}, not \"interger\""), "did you mean `integer`?"]
        );
        assert_eq!(refusal(r#"{"type":5}"#)[0], "/type");
        assert_eq!(refusal(r#"{"type":[]}"#)[0], "/type");
    }
}
