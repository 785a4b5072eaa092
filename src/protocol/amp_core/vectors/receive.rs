//! `amp-receive`: a message, and whether it is to be taken.

use super::common::{self, Expected, any_of, at, bytes, hex, if_reported, library_call, must, reading, unsigned};
use crate::protocol::amp_core::key_selection::Purpose;
use crate::protocol::amp_core::sig_input::Material;
use crate::protocol::amp_core::{codes, did, document, message, sign};
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Vector, VectorResult};
use crate::wire::canonical::Form;
use crate::wire::cbor;

pub(super) struct Receive;

/// The outcome for acceptance; all other outcomes are codes.
const ACCEPT: &str = "accept";

impl Kind for Receive {
    fn name(&self) -> &'static str {
        "amp-receive"
    }

    fn summary(&self) -> &'static str {
        "A message and a recipient with its clock and documents: accepted with this body, or refused with this code."
    }

    fn keys(&self) -> &'static [&'static str] {
        &[
            "message",
            "self",
            "now",
            "documents",
            "trusted_relays",
            "original",
            "outcomes",
            "tolerate",
            "headers",
            "body",
            "body_wire",
            "encrypted",
            "signer",
            "twin",
        ]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        vector.text("message")?;
        let mut vector = vector.clone();
        // No relay is trusted unless the vector lists it, regardless of the configuration of the target.
        if vector.value("trusted_relays").is_none() {
            vector.fields.push(("trusted_relays".to_owned(), Value::Array(Vec::new().into())));
        }
        let names = ["message", "self", "now", "documents", "trusted_relays", "original"];
        let accepted = |vector: &Vector| {
            let accepted = reading("accepted", false, vec![at("/outcome", "equals", Value::text("accepted"))]);
            vec![("", "any-of", Value::array([accepted].into_iter().chain(unsupported(vector))))]
        };
        library_call(&vector, "receive", &names, expected(&vector)?, accepted)
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let outcomes = vector.value("outcomes").and_then(Value::as_array).unwrap_or_default();
        match outcomes {
            [only] if only.as_text() == Some(ACCEPT) => sound(vector),
            [only] => refused(vector, only.as_integer().unwrap_or(0)),
            _ => Ok(()), // Several outcomes are permitted, and proofmark prefers none.
        }
    }
}

fn expected(vector: &Vector) -> Result<Vec<Expected>, &'static str> {
    let listed = |name| vector.value(name).and_then(Value::as_array);
    let outcomes = listed("outcomes").filter(|outcomes| !outcomes.is_empty()).ok_or("outcomes")?;
    let mut readings: Vec<Value> = outcomes.iter().map(|outcome| outcome_reading(vector, outcome, false)).collect();
    let tolerated = listed("tolerate").unwrap_or_default();
    readings.extend(tolerated.iter().map(|outcome| outcome_reading(vector, outcome, true)));
    readings.extend(unsupported(vector));
    Ok(match (vector.result, vector.strict) {
        (VectorResult::Acceptable, Some(_)) => {
            let refused = reading("refused", false, vec![at("/outcome", "equals", Value::text("refused"))]);
            let either = vec![reading("accepted", false, accepted(vector)), refused];
            vec![any_of(either, false), any_of(readings, true)]
        }
        _ => vec![any_of(readings, false)],
    })
}

/// The answer of a library that does not support the type (E39), if the type is assigned and no library has to support it.
fn unsupported(vector: &Vector) -> Option<Value> {
    let envelope = cbor::parse(&hex(vector.value("message"))?).ok()?;
    let name = codes::type_name(unsigned(envelope.member("typ"))?)?;
    let required = ["MESSAGE", "ACK", "ERROR", "HELLO", "HELLO_ACK", "HELLO_REJECT"].contains(&name);
    (!required).then(|| outcome_reading(vector, &Value::Integer(1005), true))
}

fn outcome_reading(vector: &Vector, outcome: &Value, tolerated: bool) -> Value {
    if outcome.as_text() == Some(ACCEPT) {
        return reading("accepted", tolerated, accepted(vector));
    }
    let refused = at("/outcome", "equals", Value::text("refused"));
    let code = at("/code", "equals", outcome.clone());
    reading(format!("refused with {}", crate::wire::show(outcome)), tolerated, vec![refused, code])
}

/// The expected observations of an accepted message, as far as the vector defines them. Everything except the outcome
/// is an optional member of the result (binding, section 10), so it is judged only if it is there.
fn accepted(vector: &Vector) -> Vec<Value> {
    let mut all = vec![at("/outcome", "equals", Value::text("accepted"))];
    if let Some(body) = vector.value("body") {
        let mut forms: Vec<Value> = vector.value("body_wire").into_iter().chain([body]).cloned().collect();
        // A library may decode the body, and its adapter writes the value again, in the deterministic form.
        if let Some(value) = hex(Some(body)).and_then(|bytes| cbor::parse(&bytes).ok()) {
            let again = Value::text(common::show_hex(&cbor::write(&value)));
            if !forms.contains(&again) {
                forms.push(again);
            }
        }
        all.push(if_reported("/result/body", "one-of", Value::Array(forms.into())));
    }
    if let Some(encrypted) = vector.value("encrypted") {
        all.push(if_reported("/result/encrypted", "equals", encrypted.clone()));
    }
    if let Some(method) = vector.value("signer").and_then(Value::as_text) {
        let names = [method, did::without_fragment(method)].map(Value::text);
        all.push(if_reported("/result/signer", "one-of", Value::Array(names.to_vec().into())));
    }
    for (name, value) in vector.value("headers").and_then(Value::as_map).unwrap_or_default() {
        let place = format!("/result/headers/{}", name.as_text().unwrap_or_default());
        all.push(match value {
            // Integers may be reported as decimal text.
            Value::Integer(number) => {
                if_reported(&place, "one-of", Value::array([value.clone(), Value::text(number.to_string())]))
            }
            value => if_reported(&place, "equals", value.clone()),
        });
    }
    all
}

/// Whether proofmark too finds the message sound: it opens, its signature verifies, its body is that of the vector.
fn sound(vector: &Vector) -> Result<(), String> {
    let (material, verified) = verified(vector)?;
    must(verified, "a signature that does not verify")?;
    common::same(vector, "body", &material.body_bytes())
}

/// Reads the message, opens it, and verifies its signature with the key that its document gives.
fn verified(vector: &Vector) -> Result<(Material, bool), String> {
    let data = bytes(vector, "message")?;
    let envelope = cbor::parse(&data).map_err(|error| error.to_string())?;
    let from = envelope.member("from").and_then(Value::as_text).ok_or("no sender")?;
    let now =
        vector.value("now").and_then(Value::as_integer).and_then(|now| i64::try_from(now).ok()).ok_or("no `now`")?;
    let documents = vector.value("documents").and_then(Value::as_array).unwrap_or_default();
    let of = |document: &&Value| document.member("id").and_then(Value::as_text) == Some(did::without_fragment(from));
    let document = match documents.iter().find(of) {
        Some(document) => document.clone(),
        None => document::expand(did::without_fragment(from)).map_err(|error| error.to_string())?,
    };
    let document = document::read(&document).map_err(|error| error.to_string())?;
    let choose = |purpose| document.select(from, purpose, now).chosen.map_err(|error| error.to_string());
    let plaintext = if envelope.member("enc").is_some() {
        let me = vector.value("self").ok_or("no `self`")?;
        let private = hex(me.member("x25519_private")).and_then(|key| key.try_into().ok()).ok_or("no private key")?;
        let sender = choose(Purpose::Agreement)?.public_key;
        let (variant, plaintext) = message::open(&envelope, &private, &[sender]).map_err(|error| error.to_string())?;
        must(variant == crate::protocol::amp_core::seal::Variant::Right, variant.words())?;
        Some(plaintext)
    } else {
        None
    };
    let material = Material::read(&data, plaintext).map_err(|error| error.to_string())?;
    let key = choose(Purpose::Signature)?.public_key;
    let signature = material.signature().ok_or("no signature")?;
    let verified = sign::verify_strict(&key, &material.sig_input(), signature);
    Ok((material, verified))
}

/// Whether proofmark sees the reason for a refusal, for the codes that have one reason.
fn refused(vector: &Vector, code: i128) -> Result<(), String> {
    let data = bytes(vector, "message")?;
    let Ok(envelope) = cbor::parse(&data) else {
        return must(code == 1001, "bytes that are not CBOR, which is code 1001");
    };
    let number = |name| envelope.member(name).and_then(|value| unsigned(Some(value))).map(i128::from);
    match code {
        1002 => must(!verified(vector)?.1, "a signature that verifies"),
        1003 => {
            let now = vector.value("now").and_then(Value::as_integer).ok_or("no `now`")?;
            let (ts, ttl) = (number("ts").ok_or("no ts")?, number("ttl").ok_or("no ttl")?);
            must(now > ts + ttl || ts > now + 30_000, "a message that is neither expired nor from the future")
        }
        1004 => must(number("v") != Some(1), "a version that is supported"),
        1005 => {
            let typ = envelope.member("typ").and_then(|typ| unsigned(Some(typ)));
            must(typ.is_some_and(|typ| codes::type_name(typ).is_none()), "a type that is assigned")?;
            must(verified(vector)?.1, "a signature that does not verify")
        }
        _ => Ok(()), // 1001 and 3001 have many reasons.
    }
}
