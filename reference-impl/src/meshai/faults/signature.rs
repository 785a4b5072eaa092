//! Faults of signatures.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::json::{Number, Object, Value};
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

/// `hmac-drops-every-signature`: Leaves out the members named `signature` at every depth.
pub(in crate::meshai) fn without_signatures(message: &Object) -> Object {
    let inner = |value: &Value| match value {
        Value::Object(object) => without_signatures(object).into(),
        other => other.clone(),
    };
    let kept = message.iter().filter(|(name, _)| *name != "signature");
    kept.map(|(name, value)| (name.to_owned(), inner(value))).collect()
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

/// `hmac-names-case-folded`: Members sorted without regard to case.
pub(in crate::meshai) fn case_folded(message: &Object) -> Vec<u8> {
    sorted(&Value::Object(message.clone()), str::to_lowercase).into_bytes()
}

/// `hmac-names-by-code-point`: Members sorted by code points, as by the bytes of UTF-8.
pub(in crate::meshai) fn by_code_point(message: &Object) -> Vec<u8> {
    sorted(&Value::Object(message.clone()), str::to_owned).into_bytes()
}

fn sorted(value: &Value, key: fn(&str) -> String) -> String {
    match value {
        Value::Object(object) => {
            let mut members: Vec<(&str, &Value)> = object.iter().collect();
            members.sort_by_key(|(name, _)| key(name));
            let write = |(name, value): (&str, &Value)| format!("{}:{}", Value::from(name).write(), sorted(value, key));
            format!("{{{}}}", members.into_iter().map(write).collect::<Vec<_>>().join(","))
        }
        Value::List(items) => {
            format!("[{}]", items.iter().map(|item| sorted(item, key)).collect::<Vec<_>>().join(","))
        }
        other => other.write(),
    }
}

/// `hmac-integers-of-32-bits`: Keeps the lower half of an integer.
pub(in crate::meshai) fn narrowed(message: &Object) -> Object {
    fn narrow(value: &Value) -> Value {
        match value {
            Value::Object(object) => narrowed(object).into(),
            Value::List(items) => items.iter().map(narrow).collect::<Vec<Value>>().into(),
            Value::Number(number) if !number.spelling().contains(['.', 'e', 'E']) => half(number),
            other => other.clone(),
        }
    }
    message.iter().map(|(name, value)| (name.to_owned(), narrow(value))).collect()
}

fn half(number: &Number) -> Value {
    let Some(whole) = number.as_integer() else { return number.clone().into() };
    #[expect(clippy::cast_possible_truncation, reason = "this is the mistake")]
    let half = whole as i32;
    i64::from(half).into()
}

/// `hmac-html-escapes`: Escapes what has a meaning in HTML, as some libraries do by default.
pub(in crate::meshai) fn html_escaped(text: &str) -> Vec<u8> {
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026").into_bytes()
}

/// `hmac-escapes-in-capitals`: Writes the digits of escapes in capitals.
pub(in crate::meshai) fn capital_escapes(text: &str) -> Vec<u8> {
    text.replace("\\u001f", "\\u001F").into_bytes()
}

/// `hmac-null-accepted`: Whether the signature is null.
pub(in crate::meshai) fn is_null(message: &Object) -> bool {
    let headers = message.get("headers").and_then(Value::as_object);
    headers.is_some_and(|headers| matches!(headers.get("signature"), Some(Value::Null)))
}
