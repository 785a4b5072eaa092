//! `canonical-json`: a JSON text and the hash of its canonical form.

use super::kind::{Kind, LibraryCall, Vector, readings};
use crate::value::Value;
use crate::wire::canonical::{self, Form};
use crate::wire::json;

pub(super) struct CanonicalJson;

impl Kind for CanonicalJson {
    fn name(&self) -> &'static str {
        "canonical-json"
    }

    fn summary(&self) -> &'static str {
        "A JSON text, its canonical form, and the SHA-256 of that form."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["input", "canonical", "bytes", "sha256"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let digests = readings(vector, vector.text("sha256")?, |digest| ("equals", Value::text(digest)));
        // The digest decides, so that tolerated forms are recognised; the text shows where the forms differ.
        let mut expect = vec![("/body/sha256", "any-of", digests, false)];
        if vector.tolerated.is_empty() {
            expect.insert(0, ("/body/canonical", "equals", Value::text(vector.text("canonical")?), false));
        }
        Ok(LibraryCall {
            operation: "canonicalize",
            with: vec![("json", Value::text(vector.text("input")?))],
            expect,
            twin: None,
        })
    }

    fn confirm(&self, vector: &Vector, form: Option<Form>) -> Result<(), String> {
        let input = vector.text("input")?;
        let value = json::parse(input.as_bytes()).map_err(|error| error.to_string())?;
        let form = form.ok_or("the protocol has no canonical form")?;
        let written = canonical::write(&value, form);
        if written != vector.text("canonical")? {
            return Err(written);
        }
        let digest = canonical::sha256_of(written.as_bytes());
        if digest == vector.text("sha256")? { Ok(()) } else { Err(digest) }
    }
}
