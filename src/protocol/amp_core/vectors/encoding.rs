//! `amp-deterministic` and `amp-sig-input`: the bytes that are signed, and the encoding that makes them.

use super::common::{self, any_of, at, bytes, expect, reading, refusals, refused_call, same};
use crate::protocol::amp_core::sig_input;
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Twin, Vector, VectorResult};
use crate::wire::canonical::Form;
use crate::wire::cbor::{self, Limits, OddityKind};

pub(super) struct Deterministic;

impl Kind for Deterministic {
    fn name(&self) -> &'static str {
        "amp-deterministic"
    }

    fn summary(&self) -> &'static str {
        "CBOR and its deterministic encoding; bytes without one are rejected."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["cbor", "deterministic", "also"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let input = Value::text(vector.text("cbor")?);
        let refused = common::requires_rejection(vector);
        let good = if refused {
            Vec::new()
        } else {
            vec![at("/result/cbor", "equals", Value::text(vector.text("deterministic")?))]
        };
        let mut refusals = refusals(vector);
        if let Some(also) = vector.value("also") {
            // A key twice: a reader that keeps one of the two writes a map without the other.
            refusals.push(reading("one of the two is left", false, vec![at("/result/cbor", "one-of", also.clone())]));
        }
        let twin = refused.then(|| Twin {
            with: vec![("cbor", Value::text("a2616202616101"))],
            assume: vec![("/result/cbor", "equals", Value::text("a2616101616202"))],
        });
        Ok(LibraryCall {
            operation: "encode-deterministic",
            with: vec![("cbor", input)],
            expect: expect(vector, good, refusals),
            twin,
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let duplicate = |document: &cbor::Document| {
            document.oddities.iter().any(|oddity| matches!(oddity.kind, OddityKind::DuplicateKey { .. }))
        };
        match (cbor::read(&bytes(vector, "cbor")?, Limits::default()), vector.value("deterministic")) {
            (Ok(document), Some(_)) => same(vector, "deterministic", &cbor::write(&document.value)),
            (Ok(document), None) if duplicate(&document) || vector.result == VectorResult::Acceptable => Ok(()),
            (Ok(document), None) => Err(format!("read {}", crate::wire::show(&document.value))),
            (Err(error), Some(_)) => Err(error.to_string()),
            (Err(_), None) => Ok(()),
        }
    }
}

pub(super) struct SigInput;

impl Kind for SigInput {
    fn name(&self) -> &'static str {
        "amp-sig-input"
    }

    fn summary(&self) -> &'static str {
        "A message, or headers and a body, and the bytes that its signature is over."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["message", "headers", "body", "sig_input", "refusal"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let wanted = at("/result/sig_input", "equals", Value::text(vector.text("sig_input")?));
        let mut readings = vec![reading("as ruled", false, vec![wanted])];
        if vector.value("refusal").is_some() {
            let refused = at("/result/code", "exists", Value::Bool(true));
            readings.extend([reading("the message is refused as incomplete", true, vec![refused]), refused_call(true)]);
        }
        readings.extend(common::refusals_of_other_encoding(vector, "body"));
        let with = match vector.value("message") {
            Some(_) => vec![("message", Value::Bytes(bytes(vector, "message").map_err(|_| "message")?))],
            None => vec![
                ("headers", vector.value("headers").ok_or("headers")?.clone()),
                ("body", Value::text(vector.text("body")?)),
            ],
        };
        Ok(LibraryCall { operation: "sig-input", with, expect: vec![any_of(readings, false)], twin: None })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let parse = |name| cbor::parse(&bytes(vector, name)?).map_err(|error| error.to_string());
        let made = match vector.value("headers") {
            None => sig_input::of_plain(&parse("message")?),
            Some(headers) => {
                let envelope = super::build::envelope(headers).ok_or("valid headers")?;
                sig_input::encode(&envelope, &cbor::write(&parse("body")?))
            }
        };
        same(vector, "sig_input", &made)
    }
}
