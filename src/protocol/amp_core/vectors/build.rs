//! `amp-build-plain` and `amp-build-encrypted`: messages made from fixed headers, keys and nonces.

use super::common::{self, any_of, at, bytes, fixed, hex, if_reported, inputs, library_call, reading, same, unsigned};
use crate::protocol::amp_core::key_selection::Purpose;
use crate::protocol::amp_core::{document, message, seal, sig_input, sign};
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Vector, VectorResult};
use crate::wire::canonical::Form;
use crate::wire::cbor;

/// The content of a message, independent of the order of its members: its length, and every member. The order within a body
/// of several members is free as well (E09), so a plain one is compared by the signature alone.
fn in_any_order(vector: &Vector) -> Result<Vec<Value>, &'static str> {
    let length = vector.text("message")?.len();
    let length = Value::Integer(i128::try_from(length).map_err(|_| "message")?);
    let entries = vector.value("entries").and_then(Value::as_array).ok_or("entries")?;
    let entries = entries.iter().filter(|entry| !is_ordered_body(entry)).cloned();
    Ok(vec![at("/result/message", "length", length), at("/result/message", "contains-text", Value::array(entries))])
}

/// Whether this member of a message is a body with a map of several members.
fn is_ordered_body(entry: &Value) -> bool {
    let Some(member) = hex(Some(entry)) else { return false };
    let parsed = cbor::parse(&[&[0xa1], member.as_slice()].concat());
    parsed.is_ok_and(|map| map.member("body").is_some_and(has_order))
}

/// Whether a map of several members is in the value.
fn has_order(value: &Value) -> bool {
    match value {
        Value::Map(members) => members.len() > 1 || members.iter().any(|(key, of)| has_order(key) || has_order(of)),
        Value::Array(items) => items.iter().any(has_order),
        Value::Tag(_, inner) => has_order(inner),
        _ => false,
    }
}

/// Headers in the spelling of the adapter protocol as an envelope of CBOR.
pub(in crate::protocol::amp_core) fn envelope(headers: &Value) -> Option<Value> {
    let members = headers.as_map()?.iter().map(|(name, value)| {
        let value = match name.as_text()? {
            "id" | "reply_to" | "thread_id" => Value::Bytes(hex(Some(value))?),
            "v" | "typ" | "ts" | "ttl" => Value::from(unsigned(Some(value))?),
            _ => value.clone(),
        };
        Some((name.clone(), value))
    });
    members.collect::<Option<_>>().map(Value::Map)
}

/// The body in its deterministic encoding; without one, that of null.
fn body(vector: &Vector) -> Result<Vec<u8>, String> {
    match vector.value("body") {
        None => Ok(cbor::write(&Value::Null)),
        Some(_) => Ok(cbor::write(&cbor::parse(&bytes(vector, "body")?).map_err(|error| error.to_string())?)),
    }
}

/// The envelope with what every message has: a version, a sender and a signature over this body.
fn signed(vector: &Vector, body: &[u8]) -> Result<Value, String> {
    let sender = vector.value("sender").ok_or("no sender")?;
    let seed = hex(sender.member("ed25519_seed")).and_then(|seed| seed.try_into().ok()).ok_or("no seed")?;
    let mut envelope = vector.value("headers").and_then(envelope).ok_or("valid headers")?;
    if envelope.member("v").is_none() {
        envelope.set_member("v", Value::Integer(1));
    }
    envelope.set_member("from", sender.member("did").cloned().unwrap_or(Value::Null));
    let input = sig_input::encode(&envelope, body);
    same(vector, "sig_input", &input)?;
    envelope.set_member("sig", Value::Bytes(sign::sign(&seed, &input).to_vec()));
    Ok(envelope)
}

pub(super) struct BuildPlain;

impl Kind for BuildPlain {
    fn name(&self) -> &'static str {
        "amp-build-plain"
    }

    fn summary(&self) -> &'static str {
        "A sender, headers and a body, and the resulting message; its members may be in any order."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["sender", "headers", "body", "ext", "sig_input", "message", "entries"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        // The message shows it as well: its signature is over this Sig_Input.
        let mut good = vec![if_reported("/result/sig_input", "equals", Value::text(vector.text("sig_input")?))];
        good.extend(in_any_order(vector)?);
        let mut readings = vec![reading("as ruled", false, good)];
        readings.extend(common::refusals_of_other_encoding(vector, "body"));
        Ok(LibraryCall {
            operation: "build-plain",
            with: inputs(vector, &["sender", "headers", "body", "ext"]),
            expect: vec![
                any_of(readings, false),
                ("/result/message", "equals", Value::text(vector.text("message")?), true),
            ],
            twin: None,
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let body = body(vector)?;
        let mut envelope = signed(vector, &body)?;
        envelope.set_member("body", cbor::parse(&body).map_err(|error| error.to_string())?);
        if vector.value("ext").is_some() {
            envelope.set_member("ext", cbor::parse(&bytes(vector, "ext")?).map_err(|error| error.to_string())?);
        }
        same(vector, "message", &cbor::write(&envelope))
    }
}

pub(super) struct BuildEncrypted;

impl Kind for BuildEncrypted {
    fn name(&self) -> &'static str {
        "amp-build-encrypted"
    }

    fn summary(&self) -> &'static str {
        "A sender, the document of a recipient, headers, a body and a nonce, and the resulting message."
    }

    fn keys(&self) -> &'static [&'static str] {
        &[
            "sender",
            "recipient_document",
            "headers",
            "body",
            "nonce",
            "sig_input",
            "plaintext",
            "ciphertext",
            "message",
            "entries",
            "twin",
        ]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let exists = |place: &str| at(place, "exists", Value::Bool(true));
        let expect = if vector.result == VectorResult::Invalid {
            let refused = ["/result/code", "/rpc_code"].map(|place| reading("refused", false, vec![exists(place)]));
            vec![any_of(refused.to_vec(), false), ("/result/message", "absent", Value::Bool(true), false)]
        } else {
            let mut good = Vec::new();
            for name in ["sig_input", "plaintext", "nonce", "ciphertext"] {
                good.push(if_reported(&format!("/result/{name}"), "equals", Value::text(vector.text(name)?)));
            }
            good.extend(in_any_order(vector)?);
            let message = Value::text(vector.text("message")?);
            let mut readings = vec![reading("as ruled", false, good)];
            readings.extend(common::refusals_of_other_encoding(vector, "body"));
            vec![any_of(readings, false), ("/result/message", "equals", message, true)]
        };
        let names = ["sender", "recipient_document", "headers", "body", "nonce"];
        let built = |_: &Vector| vec![("/result/message", "type", Value::text("string"))];
        library_call(vector, "build-encrypted", &names, expect, built)
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let Ok(nonce) = fixed::<24>(vector, "nonce") else {
            return common::must(vector.result == VectorResult::Invalid, "a nonce of invalid length");
        };
        let document = vector.value("recipient_document").ok_or("no document")?;
        let document = document::read(document).map_err(|error| error.to_string())?;
        let recipient =
            document.select(&document.id, Purpose::Agreement, 0).chosen.map_err(|error| error.to_string())?;
        let sender = vector.value("sender").and_then(|sender| hex(sender.member("x25519_private")));
        let private = sender.and_then(|key| key.try_into().ok()).ok_or("no private key")?;
        let body = body(vector)?;
        same(vector, "plaintext", &body)?;
        same(vector, "ciphertext", &seal::seal(&private, &recipient.public_key, &nonce, &body))?;
        let mut envelope = signed(vector, &body)?;
        envelope.set_member("enc", message::enc(&body, &private, &recipient.public_key, &nonce));
        same(vector, "message", &cbor::write(&envelope))
    }
}
