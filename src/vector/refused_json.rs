//! `refused-json`: bytes that a JSON reader must reject.

use super::kind::{Kind, LibraryCall, Twin, Vector, VectorResult};
use crate::value::Value;
use crate::wire::canonical::Form;
use crate::wire::json;

pub(super) struct RefusedJson;

impl Kind for RefusedJson {
    fn name(&self) -> &'static str {
        "refused-json"
    }

    fn summary(&self) -> &'static str {
        "Bytes that are not JSON, or not I-JSON where the result is acceptable: a library rejects them with an error."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["input_hex"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let bytes = bytes(vector)?;
        let strict_only = vector.result == VectorResult::Acceptable;
        Ok(LibraryCall {
            operation: "canonicalize",
            with: vec![("json", Value::Bytes(bytes))],
            expect: vec![("/status", "equals", Value::Integer(400), strict_only)],
            twin: Some(Twin {
                with: vec![("json", Value::text(r#"{"b":[1,2],"a":"x"}"#))],
                assume: vec![("/body/canonical", "equals", Value::text(r#"{"a":"x","b":[1,2]}"#))],
            }),
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        match (json::read(&bytes(vector)?), vector.result) {
            (Err(_), _) => Ok(()),
            (Ok(document), VectorResult::Acceptable) if !document.oddities.is_empty() => Ok(()),
            (Ok(document), _) => Err(format!("read as {}", crate::wire::show(&document.value))),
        }
    }
}

fn bytes(vector: &Vector) -> Result<Vec<u8>, &'static str> {
    data_encoding::HEXLOWER.decode(vector.text("input_hex")?.as_bytes()).map_err(|_| "input_hex")
}
