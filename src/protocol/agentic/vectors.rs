//! Kinds of vectors of this protocol.
//!
//! `content-hash`: a message and the hash that names it.

use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Vector, readings};
use crate::wire::canonical::{self, Form};
use crate::wire::json;

pub(super) struct ContentHash;

impl Kind for ContentHash {
    fn name(&self) -> &'static str {
        "content-hash"
    }

    fn summary(&self) -> &'static str {
        "A message as JSON text and its content hash, in hex of either case with or without the name of the algorithm."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["input", "canonical", "bytes", "sha256"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let digests = readings(vector, vector.text("sha256")?, |digest| {
            ("matches", Value::text(format!("^(?i:(sha256:)?{digest})$")))
        });
        Ok(LibraryCall {
            operation: "content-hash",
            with: vec![("json", Value::text(vector.text("input")?))],
            expect: vec![("/result/hash", "any-of", digests, false)],
            twin: None,
        })
    }

    fn confirm(&self, vector: &Vector, form: Option<Form>) -> Result<(), String> {
        let value = json::parse(vector.text("input")?.as_bytes()).map_err(|error| error.to_string())?;
        let form = form.ok_or("the protocol has no canonical form")?;
        let digest = canonical::sha256(&value, form);
        if digest == vector.text("sha256")? { Ok(()) } else { Err(digest) }
    }
}
