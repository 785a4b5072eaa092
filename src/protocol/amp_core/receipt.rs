//! Receipts of transfer between relays: COSE_Sign1 over CBOR (RFC 002 section 6.5, RFC 9052 section 4.2, E79).

use super::identity::Identity;
use super::key_selection::Purpose;
use super::{did, party, sign};
use crate::protocol::ObservationContext;
use crate::value::Value;
use crate::wire::cbor;

/// The tag of COSE_Sign1 (RFC 9052 section 2); it may be left out.
const TAG: u64 = 18;

/// Header parameters (RFC 9052 section 3.1), and the algorithm of Ed25519.
const ALGORITHM: i128 = 1;
const KEY_ID: i128 = 4;
const EDDSA: i128 = -8;

/// The signed bytes (RFC 9052 section 4.4).
fn structure(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    cbor::write(&Value::array([
        Value::text("Signature1"),
        Value::Bytes(protected.to_vec()),
        Value::Bytes(Vec::new()),
        Value::Bytes(payload.to_vec()),
    ]))
}

/// A receipt over these bytes.
pub(super) fn write(payload: Vec<u8>, signer: &Identity) -> Value {
    let algorithm = (Value::Integer(ALGORITHM), Value::Integer(EDDSA));
    let key = (Value::Integer(KEY_ID), Value::Bytes(signer.signing_method().as_bytes().to_vec()));
    let protected = cbor::write(&Value::Map(vec![algorithm, key].into()));
    let signature = signer.sign(&structure(&protected, &payload)).to_vec();
    let parts =
        vec![Value::Bytes(protected), Value::Map(Vec::new().into()), Value::Bytes(payload), Value::Bytes(signature)];
    Value::Bytes(cbor::write(&Value::Tag(TAG, Box::new(Value::Array(parts.into())))))
}

/// A receipt as expectations see it: `state` is `valid` if the target has signed it, `payload` is its content.
pub(super) fn read(bytes: &[u8], context: &ObservationContext<'_>) -> Value {
    let state = |word: &str| Value::map([("state", Value::text(word))]);
    let parts = match cbor::parse(bytes) {
        Ok(Value::Tag(TAG, inner)) => *inner,
        Ok(other) => other,
        Err(_) => return state("malformed"),
    };
    let Value::Array(parts) = parts else { return state("malformed") };
    let [Value::Bytes(protected), _, Value::Bytes(payload), Value::Bytes(signature)] = parts.as_slice() else {
        return state("malformed");
    };
    let header = cbor::parse(protected).unwrap_or(Value::Null);
    let parameter = |label: i128| {
        let members = header.as_map().unwrap_or_default();
        members.iter().find(|(key, _)| *key == Value::Integer(label)).map(|(_, value)| value)
    };
    // Another algorithm than EdDSA (RFC 9053 section 2.2) cannot be judged here.
    let judged = parameter(ALGORITHM).is_none_or(|algorithm| *algorithm == Value::Integer(EDDSA));
    let named = match parameter(KEY_ID) {
        Some(Value::Bytes(id)) => String::from_utf8(id.clone()).ok().filter(|id| did::is_did_url(id)),
        Some(Value::Text(id)) => Some(id.to_string()).filter(|id| did::is_did_url(id)),
        _ => None,
    };
    let signer = named.unwrap_or_else(|| party::target_did(context).to_owned());
    let document = party::document_of(&signer, context).filter(|_| judged);
    let key = document.and_then(|document| {
        document.select(&signer, Purpose::Signature, party::now_ms(context)).chosen.ok().map(|key| key.public_key)
    });
    let mut view = match key {
        None => state("unresolved"),
        Some(key) if sign::verify_strict(&key, &structure(protected, payload), signature) => state("valid"),
        Some(_) => state("invalid"),
    };
    if let Ok(payload) = cbor::parse(payload) {
        view.set_member("payload", payload);
    }
    view
}
