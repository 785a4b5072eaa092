//! `mesh-process`: a message and a node, and what the node makes of it.

use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Twin, Vector, VectorResult};
use crate::wire::canonical::Form;
use crate::wire::json;

use super::finder;

/// A message that a node processes.
pub(super) struct Process;

impl Kind for Process {
    fn name(&self) -> &'static str {
        "mesh-process"
    }

    fn summary(&self) -> &'static str {
        "A message and the configuration of a node: it is delivered, forwarded as the given message, or answered with one \
         fault."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["node", "message", "code", "codes", "forwarded", "ttl_after", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let node = vector.value("node").ok_or("node")?.clone();
        let message = vector.text("message")?;
        let relays = node.member("kind").and_then(Value::as_text) == Some("intermediary");
        let operation = if relays { super::operations::RELAY } else { super::operations::DELIVER };
        let with = |text: &str| -> Result<Vec<(&'static str, Value)>, &'static str> {
            let message = json::parse(text.as_bytes()).map_err(|_| "message")?;
            Ok(vec![("message", message), ("node", node.clone())])
        };
        let outcome = if relays { "forwarded" } else { "accepted" };
        let mut expect = Vec::new();
        let mut twin = None;
        if vector.result == VectorResult::Invalid {
            let codes = match (vector.value("code"), vector.value("codes")) {
                (Some(code), None) => vec![code.clone()],
                (Some(code), Some(Value::Array(others))) => {
                    std::iter::once(code.clone()).chain(others.iter().cloned()).collect()
                }
                _ => return Err("code"),
            };
            let strict = codes.first().cloned().ok_or("code")?;
            expect.push(("/outcome", "equals", Value::text("fault"), false));
            expect.push(("/code", "one-of", Value::Array(codes.into()), false));
            expect.push(("/code", "equals", strict, true));
            expect.push(("/copies", "length", Value::Integer(0), false));
            let good = vector.text("twin")?;
            twin = Some(Twin { with: with(good)?, assume: vec![("/outcome", "equals", Value::text(outcome))] });
        } else {
            expect.push(("/outcome", "equals", Value::text(outcome), false));
            if let Some(Value::Text(forwarded)) = vector.value("forwarded") {
                let forwarded = json::parse(forwarded.as_bytes()).map_err(|_| "forwarded")?;
                expect.push(("/copy/message", "includes", without_trace(forwarded), false));
            }
        }
        if let Some(ttl) = vector.value("ttl_after") {
            expect.push(("/result/ttl_after", "equals", ttl.clone(), false));
        }
        Ok(LibraryCall { operation, with: with(message)?, expect, twin })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let message = vector.text("message").map_err(str::to_owned)?;
        json::parse(message.as_bytes()).map_err(|error| error.to_string())?;
        let code = vector.value("code").and_then(Value::as_text);
        match code {
            Some(code) if !finder::CODES.contains(&code) => Err(format!("no standard code {code}")),
            None if vector.result == VectorResult::Invalid => Err("no code".to_owned()),
            _ => Ok(()),
        }
    }
}

/// A forwarded message without its traceId, whose new value is up to the node (E23).
fn without_trace(mut message: Value) -> Value {
    let path = crate::value::Path::parse("/Envelope/Header/traceId").unwrap_or_default();
    let _ = crate::value::remove(&mut message, &path);
    message
}
