//! The kind of vector of this protocol: `task-message`, a message and whether it is valid.

use super::defect;
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Twin, Vector, VectorResult};
use crate::wire::canonical::Form;
use crate::wire::json;

/// A message in full, as JSON text or as bytes, and what a validator says of it.
pub(super) struct Validation;

impl Kind for Validation {
    fn name(&self) -> &'static str {
        "task-message"
    }

    fn summary(&self) -> &'static str {
        "A message as JSON text, and whether it is valid; for an invalid one also the same message without its defect."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["message", "twin", "code"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let call = |name: &'static str| -> Result<_, &'static str> {
            Ok(vec![("message", Value::Bytes(vector.text(name)?.as_bytes().to_vec()))])
        };
        let valid = |valid: bool, strict: bool| ("/result/valid", "equals", Value::Bool(valid), strict);
        let expect = match (vector.result, vector.strict) {
            (VectorResult::Valid, _) => vec![valid(true, false)],
            (VectorResult::Invalid, _) => {
                let mut expect = vec![valid(false, false)];
                if let Some(code) = vector.value("code") {
                    // Codes are compared under strict only (binding, section 5).
                    let named = Value::map([("at", Value::text("/code")), ("equals", code.clone())]);
                    expect.push(("/result/errors", "some", named, true));
                }
                expect
            }
            (VectorResult::Acceptable, strict) => {
                let mut expect = vec![("/result/valid", "type", Value::text("boolean"), false)];
                match strict {
                    Some(VectorResult::Valid) => expect.push(valid(true, true)),
                    Some(VectorResult::Invalid) => expect.push(valid(false, true)),
                    _ => {}
                }
                expect
            }
        };
        let twin = match vector.value("twin") {
            Some(_) => Some(Twin { with: call("twin")?, assume: vec![("/result/valid", "equals", Value::Bool(true))] }),
            None => None,
        };
        Ok(LibraryCall { operation: "submit", with: call("message")?, expect, twin })
    }

    /// Compares the vector with the rules of the harness: every reading rejects an invalid message, and none a valid one.
    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let found = |name: &'static str| -> Result<Vec<&'static str>, String> {
            let text = vector.text(name).map_err(|key| format!("no {key}"))?;
            match json::parse(text.as_bytes()) {
                Ok(message) => Ok(defect::requirements(&message)),
                Err(_) => Ok(vec!["TASK-I-04"]),
            }
        };
        let broken = found("message")?;
        match vector.result {
            VectorResult::Valid | VectorResult::Acceptable if broken.is_empty() => {}
            VectorResult::Invalid if !broken.is_empty() || vector.strict.is_some() => {}
            VectorResult::Invalid => return Err("no rule is broken".to_owned()),
            _ => return Err(format!("it breaks {}", broken.join(", "))),
        }
        if vector.value("twin").is_some() {
            let broken = found("twin")?;
            if !broken.is_empty() {
                return Err(format!("its twin breaks {}", broken.join(", ")));
            }
        }
        Ok(())
    }
}
