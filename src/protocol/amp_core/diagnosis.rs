//! Names the mistake in Sig_Input that wrong signatures, wrong results and refusals of one library come from.

use super::key_selection::Purpose;
use super::sig_input::Material;
use super::vectors::envelope;
use super::{alternatives, explain, party, reading, sign, view};
use crate::exchange::{Exchange, Transport};
use crate::protocol::{Diagnosis, Failure, ObservationContext};
use crate::value::Value;
use crate::wire::cbor;

/// How the words of a mistake begin.
const WRONG: &str = "Sig_Input is not that of section 8.1: with ";
/// The words for one that is in no table.
const UNKNOWN: &str = "Sig_Input is not that of section 8.1, and no usual mistake explains it";
/// The place of the bytes that a library computes.
const COMPUTED: &str = "/result/sig_input";
/// The code of an ERROR that says that the signature is invalid (section 15.1).
const INVALID_SIGNATURE: i128 = 1002;

pub(super) struct SigInputs;

impl Diagnosis for SigInputs {
    fn mistakes(&self, failure: &Failure<'_>) -> Vec<String> {
        let wrong = |words: String| format!("{WRONG}{words}");
        if failure.path != COMPUTED {
            return explain::differences_in(failure.observed).into_iter().map(wrong).collect();
        }
        let Some((material, computed)) = computed(failure.exchange) else { return Vec::new() };
        if computed == material.sig_input() {
            return Vec::new();
        }
        match alternatives::find(&material, |bytes| bytes == computed) {
            Some(found) => explain::candidates(&found.differences, &found.also).into_iter().map(wrong).collect(),
            None => vec![UNKNOWN.to_owned()],
        }
    }

    fn explains(&self, mistake: &str, failure: &Failure<'_>) -> bool {
        let Some(words) = mistake.strip_prefix(WRONG) else {
            return mistake == UNKNOWN && explain::is_unexplained(failure.observed);
        };
        if failure.path == COMPUTED {
            return computed(failure.exchange)
                .is_some_and(|(material, computed)| alternatives::with_all(&material, words) == Some(computed));
        }
        if let Some((wanted, signed)) = explain::inputs_in(failure.observed) {
            return Material::shown_by(&wanted)
                .is_some_and(|material| alternatives::with_all(&material, words) == Some(signed));
        }
        // A recipient computes what a sender signs.
        let Some(sent) = sent(failure.exchange, &failure.context) else { return false };
        let Some(wrong) = alternatives::with_all(&sent, words) else { return false };
        let seen = view::observe(failure.exchange, &failure.context);
        if is_accepted(&seen) {
            return verifies_over(&wrong, &sent, &failure.context);
        }
        says_invalid(&seen) && !verifies_over(&wrong, &sent, &failure.context)
    }
}

/// What a library was given, and the Sig_Input that it computed of it.
fn computed(exchange: &Exchange) -> Option<(Material, Vec<u8>)> {
    let (params, result) = view::call(exchange)?;
    let computed = hex(result.member("sig_input"))?;
    let body = hex(params.member("body"));
    // A message that it was given, or made.
    if let Some(message) = hex(params.member("message").or(result.member("message"))) {
        let material = Material::read(&message, None).ok()?;
        let plaintext = material.is_closed().then(|| body.unwrap_or_else(|| cbor::write(&Value::Null)));
        return Some((Material::read(&message, plaintext).ok()?, computed));
    }
    let mut envelope = envelope(params.member("headers")?)?;
    if envelope.member("v").is_none() {
        envelope.set_member("v", Value::Integer(1));
    }
    let body = body.map_or(Some(Value::Null), |body| cbor::parse(&body).ok())?;
    envelope.set_member("body", body);
    Some((Material::of(envelope, None), computed))
}

fn is_accepted(seen: &Value) -> bool {
    seen.member("outcome").and_then(Value::as_text) == Some("accepted")
        || seen.member("result").and_then(|result| result.member("valid")) == Some(&Value::Bool(true))
}

/// Whether the target answered that the signature of the message is invalid.
fn says_invalid(seen: &Value) -> bool {
    let result = seen.member("result").and_then(|result| result.member("code"));
    [seen.member("code"), result].into_iter().flatten().any(|code| code.as_integer() == Some(INVALID_SIGNATURE))
}

/// Whether the signature of a message is one over other bytes than its Sig_Input.
fn verifies_over(bytes: &[u8], message: &Material, context: &ObservationContext<'_>) -> bool {
    let key = || {
        let from = message.envelope().member("from")?.as_text()?;
        let document = party::document_of(from, context)?;
        document.select(from, Purpose::Signature, party::now_ms(context)).chosen.ok()
    };
    let signature = message.signature().unwrap_or_default();
    key().is_some_and(|key| sign::verify(&key.public_key, bytes, signature))
}

/// The message whose signature the target was to verify, opened if it was encrypted for a party whose keys are known.
fn sent(exchange: &Exchange, context: &ObservationContext<'_>) -> Option<Material> {
    let bytes = match exchange.sent.transport {
        Transport::Adapter => {
            let (params, _) = view::call(exchange)?;
            hex(params.member("message").or(params.member("ack")))?
        }
        _ => exchange.sent.body.0.to_vec(),
    };
    let material = Material::read(&bytes, None).ok()?;
    if !material.is_closed() {
        return Some(material);
    }
    let envelope = material.envelope();
    let plaintext = reading::open(envelope, envelope.member("enc")?, context);
    Material::read(&bytes, plaintext).ok()
}

fn hex(value: Option<&Value>) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER.decode(value?.as_text()?.as_bytes()).ok()
}
