//! Faults of signatures.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::json::{Object, Value};
use crate::meshai::canonical;
use crate::meshai::keyed::{ALGORITHM, Signing, keyed};

/// `hmac-drops-empty-headers`: Leaves headers out that are empty without the signature.
pub(in crate::meshai) fn drop_empty_headers(message: &mut Object) {
    if message.get("headers").and_then(Value::as_object).is_some_and(Object::is_empty) {
        message.remove("headers");
    }
}

/// `hmac-top-level-only`: Keeps nested members only if a member at the top has their name.
pub(in crate::meshai) fn only_top_level_names(message: &Object) -> Object {
    fn filter(object: &Object, names: &[String]) -> Object {
        let keep = object.iter().filter(|(name, _)| names.iter().any(|known| known == name));
        let inner = |value: &Value| match value {
            Value::Object(object) => filter(object, names).into(),
            other => other.clone(),
        };
        keep.map(|(name, value)| (name.to_owned(), inner(value))).collect()
    }
    let names: Vec<String> = message.iter().map(|(name, _)| name.to_owned()).collect();
    filter(message, &names)
}

/// `hmac-payload-only`: The payload alone.
pub(in crate::meshai) fn payload(message: &Object) -> Object {
    message.get("payload").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// `hmac-truncated-accepted`: Compares only as many bytes as were sent.
pub(in crate::meshai) fn begins(mac: &Hmac<Sha256>, sent: &[u8]) -> bool {
    !sent.is_empty() && mac.clone().finalize().into_bytes().starts_with(sent)
}

/// `hmac-payload-skipped-on-verify`: Accepts a signature over the message without its payload.
pub(in crate::meshai) fn without_payload(message: &Object, signing: &Signing, sent: &[u8]) -> bool {
    let mut message = message.clone();
    if let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut) {
        headers.remove("signature");
    }
    message.remove("payload");
    keyed(&signing.key, canonical::text(&message, signing.recipe).as_bytes()).verify_slice(sent).is_ok()
}

/// `hmac-key-first-half`: Whether a key with the same first half made the signature; only the last byte is varied.
pub(in crate::meshai) fn half_key(covered: &[u8], signing: &Signing, sent: &[u8]) -> bool {
    (0..=u8::MAX).any(|last| {
        let mut key = signing.key.clone();
        if let Some(byte) = key.last_mut() {
            *byte = last;
        }
        keyed(&key, covered).verify_slice(sent).is_ok()
    })
}

/// `hmac-reply-cut`: Attaches a signature of half the length.
pub(in crate::meshai) fn attach(message: &mut Object, value: &str) {
    let signature = Object::from([("algorithm", ALGORITHM.into()), ("value", value.into())]);
    if let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut) {
        headers.set("signature", signature);
    }
}

/// `hmac-signature-as-text`: Writes the signature as a text.
pub(in crate::meshai) fn attach_text(message: &mut Object) {
    if let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut) {
        headers.set("signature", ALGORITHM);
    }
}
