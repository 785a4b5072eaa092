//! Why no target may take a message, where every reading agrees (binding, sections 3 and 6).

use super::{auth, envelope, hmac, jwt, known};
use crate::protocol::{Defect, ObservationContext};
use crate::value::Value;
use crate::wire::json;

/// The defect of a message in bytes, if it has one for certain.
pub(super) fn of(bytes: &[u8], context: &ObservationContext<'_>) -> Option<Defect> {
    let defect = |requirement, because: &str| Some(Defect { requirement, because: because.to_owned() });
    // A repeated member, a byte order mark or a deep nesting is left to the reader of the target (E08).
    let Ok(body) = json::parse(bytes) else {
        let is_text = std::str::from_utf8(bytes).is_ok();
        let plain = serde_json::from_slice::<serde_json::Value>(bytes).is_err();
        return if is_text && plain && !bytes.starts_with(b"\xef\xbb\xbf") {
            defect("MESHAI-2.3-02", "a body that is not a JSON text")
        } else {
            None
        };
    };
    if has_repeats(&body) {
        return None;
    }
    if body.as_map().is_none() {
        return defect("MESHAI-2.3-02", "a body that is not an object");
    }
    match body.member("protocol") {
        None => return defect("MESHAI-2.3-03", "no `protocol`"),
        Some(Value::Text(protocol)) => match envelope::version(protocol) {
            Some(("AMP" | "AIP", 1, _)) => {}
            Some(("AMP" | "AIP", ..)) => return defect("MESHAI-11-06", "another major version"),
            Some(_) => return defect("MESHAI-2.3-04", "another protocol"),
            None => return defect("MESHAI-11-02", "a malformed version"),
        },
        Some(_) => return defect("MESHAI-2.3-03", "a `protocol` that is not a text"),
    }
    let Some(message) = body.member("message").filter(|message| message.as_map().is_some()) else {
        return defect("MESHAI-2.3-05", "no object `message`");
    };
    match message.member("type").map(Value::as_text) {
        None => return defect("MESHAI-2.3-09", "no `type`"),
        // Other spellings are tolerated by nobody but in capitals (E04).
        Some(Some(kind)) if ["request", "response", "event", "error"].contains(&kind.to_ascii_lowercase().as_str()) => {
        }
        Some(_) => return defect("MESHAI-2.3-11", "an unknown `type`"),
    }
    match message.member("payload") {
        None => return defect("MESHAI-2.3-33", "no `payload`"),
        Some(payload) if payload.as_map().is_none() => {
            return defect("MESHAI-2.3-34", "a `payload` that is not an object");
        }
        Some(_) => {}
    }
    credentials(message, context)
}

/// Credentials that cannot be valid.
fn credentials(message: &Value, context: &ObservationContext<'_>) -> Option<Defect> {
    let defect = |requirement, because: &str| Some(Defect { requirement, because: because.to_owned() });
    let headers = message.member("headers");
    let member = |name: &str| headers.and_then(|headers| headers.member(name)).filter(|value| **value != Value::Null);
    if let (Some(key), Some(signature)) = (known::secret(context.target, "hmac"), member("signature")) {
        let (recipe, _) = auth::recipe(context.target);
        let digest = hmac::hmac_sha256(key.as_bytes(), &hmac::signed_bytes(message, recipe));
        let value = signature.member("value").and_then(Value::as_text).unwrap_or_default();
        // A number that a double does not hold has no single canonical form (E103).
        if auth::decoded(value).as_deref() != Some(&digest[..]) && numbers_are_plain(message) {
            return defect("MESHAI-7.1-12", "a signature that does not verify");
        }
    }
    // Where the header field of HTTP carries a valid token too, the message alone decides nothing (E69).
    let own = context.target.setting("auth_carrier").and_then(Value::as_text) == Some("message");
    if let (Some(key), Some(authentication), true) =
        (known::secret(context.target, "jwt"), member("authentication"), own)
    {
        let token = authentication.member("token").and_then(Value::as_text).unwrap_or_default();
        let now = context.clock.0.div_euclid(1_000_000_000);
        match jwt::claims(token, key.as_bytes()) {
            None => return defect("MESHAI-7.1-06", "a token whose signature does not verify"),
            Some(claims) if !jwt::is_current(&claims, now - 61) => {
                return defect("MESHAI-7.1-05", "an expired token");
            }
            Some(_) => {}
        }
    }
    None
}

fn has_repeats(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_repeats),
        Value::Map(members) => {
            let mut names: Vec<&str> = members.iter().filter_map(|(name, _)| name.as_text()).collect();
            names.sort_unstable();
            names.windows(2).any(|pair| pair[0] == pair[1]) || members.iter().any(|(_, member)| has_repeats(member))
        }
        _ => false,
    }
}

fn numbers_are_plain(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(numbers_are_plain),
        Value::Map(members) => members.iter().all(|(_, member)| numbers_are_plain(member)),
        Value::Integer(number) => number.abs() < 1 << 53,
        Value::Decimal(_) | Value::Float(_) => false,
        _ => true,
    }
}
