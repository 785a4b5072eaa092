//! Message signing by HMAC-SHA256 (7.1, 7.2, E71, E72), and the keyed hash that tokens use as well.

use data_encoding::{BASE64, HEXLOWER};
use hmac::Mac;

use super::canonical::{self, Recipe};
use super::faults::signature as faults;
use super::keyed::{ALGORITHM, Encoding, Signing, keyed};
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// E71: the bytes that are signed: the message without its signature.
#[must_use]
pub(crate) fn signed_bytes(message: &Object, recipe: Recipe, rules: Rules) -> Vec<u8> {
    let mut message = message.clone();
    if let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut) {
        headers.remove("signature");
        planted!(rules.fault, "hmac-null-signature-hashed", headers.set("signature", Value::Null));
        planted!(rules.fault, "hmac-headers-not-covered", *headers = Object::new());
    }
    // E71: an emptied headers stays.
    planted!(rules.fault, "hmac-drops-empty-headers", faults::drop_empty_headers(&mut message));
    // E71: nothing else of that name is left out.
    planted!(rules.fault, "hmac-drops-every-signature", message = faults::without_signatures(&message));
    // E71: the whole message, at every depth.
    planted!(rules.fault, "hmac-top-level-only", message = faults::only_top_level_names(&message));
    planted!(rules.fault, "hmac-payload-only", message = faults::payload(&message));
    planted!(rules.fault, "hmac-source-not-covered", drop(message.remove("source")));
    planted!(rules.fault, "hmac-timestamp-not-covered", drop(message.remove("timestamp")));
    planted!(rules.fault, "hmac-destination-not-covered", drop(message.remove("destination")));
    planted!(rules.fault, "hmac-id-not-covered", drop(message.remove("id")));
    // E71: UTF-8, not escapes.
    let recipe = if rules.fault.is("hmac-ascii-escapes") { Recipe::PythonCompact } else { recipe };
    planted!(rules.fault, "hmac-names-case-folded", return faults::case_folded(&message));
    planted!(rules.fault, "hmac-names-by-code-point", return faults::by_code_point(&message));
    planted!(rules.fault, "hmac-integers-of-32-bits", message = faults::narrowed(&message));
    let text = canonical::text(&message, recipe);
    planted!(rules.fault, "hmac-html-escapes", return faults::html_escaped(&text));
    planted!(rules.fault, "hmac-escapes-in-capitals", return faults::capital_escapes(&text));
    planted!(rules.fault, "hmac-insertion-order", return message.write().into_bytes());
    text.into_bytes()
}

/// Signs a message in place.
pub(crate) fn sign(message: &mut Object, signing: &Signing, rules: Rules) {
    let mac = keyed(&signing.key, &signed_bytes(message, signing.recipe, rules)).finalize().into_bytes();
    // Other, E71: hexadecimal is what the published code writes.
    let hex = signing.encoding == Encoding::Hex || rules.is_other();
    // 7.2: base64 with padding.
    let value = if hex || rules.fault.is("hmac-reply-hex") { HEXLOWER.encode(&mac) } else { BASE64.encode(&mac) };
    planted!(rules.fault, "hmac-reply-cut", return faults::attach(message, &BASE64.encode(&mac[..16])));
    let algorithm = if rules.fault.is("hmac-reply-algorithm") { "HS256" } else { ALGORITHM };
    let signature = Object::from([("algorithm", algorithm.into()), ("value", value.into())]);
    planted!(rules.fault, "hmac-signature-as-text", return faults::attach_text(message));
    match message.get_mut("headers").and_then(Value::as_object_mut) {
        Some(headers) => headers.set("signature", signature),
        None => message.set("headers", Object::from([("signature", signature.into())])),
    }
}

/// Verifies the signature of a message that has one.
///
/// # Errors
///
/// The reason why it is not valid.
pub(crate) fn verify(message: &Object, signing: &Signing, rules: Rules) -> Result<(), String> {
    let headers = message.get("headers").and_then(Value::as_object);
    let signature = headers.and_then(|headers| headers.get("signature")).and_then(Value::as_object);
    let signature = signature.ok_or("the signature is not an object")?;
    // 7.1: the value is compared.
    planted!(rules.fault, "hmac-never-checked", return Ok(()));
    // 7.2: any other algorithm counts as no signature.
    if signature.text("algorithm") != Some(ALGORITHM) && !rules.fault.is("hmac-algorithm-ignored") {
        return Err(format!("the algorithm must be {ALGORITHM}"));
    }
    let value = signature.text("value").ok_or("the value is not a string")?;
    planted!(rules.fault, "hmac-empty-value-accepted", value.is_empty() => return Ok(()));
    // E71: both spellings are read.
    let hex = HEXLOWER.decode(value.as_bytes()).ok().filter(|bytes| bytes.len() == 32);
    let expected =
        hex.or_else(|| BASE64.decode(value.as_bytes()).ok()).ok_or("the value is neither base64 nor hexadecimal")?;
    let covered = signed_bytes(message, signing.recipe, rules);
    let mac = keyed(&signing.key, &covered);
    // 7.2: all 32 bytes, in constant time.
    planted!(rules.fault, "hmac-truncated-accepted", faults::begins(&mac, &expected) => return Ok(()));
    planted!(rules.fault, "hmac-payload-skipped-on-verify", faults::without_payload(message, signing, &expected) => return Ok(()));
    planted!(rules.fault, "hmac-key-first-half", faults::half_key(&covered, signing, &expected) => return Ok(()));
    mac.verify_slice(&expected).map_err(|_| "the value does not match".to_owned())
}
