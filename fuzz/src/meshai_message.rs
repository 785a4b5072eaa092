//! Messages and tokens of meshai: harness and reference sign and verify alike, and no reader panics.
//!
//! The first byte gives the number of bytes of a token; the rest is the text of an envelope. From the envelope, tokens are made
//! as well: it stands for the claims, and each of them is signed, unsigned, under another key and of another algorithm.

use proofmark::protocol::meshai::{envelope, hmac, jwt};
use proofmark::value::Value;
use proofmark::wire::json;
use serde_json::json;

use crate::reference;

const KEY: &str = "proofmark-meshai-hmac-key-32byte";

/// Checks one input.
///
/// # Panics
///
/// If harness and reference write other signed bytes, if a signature does not verify in the reference or still does after a
/// change, or if the reference takes a token whose signature the harness does not verify.
pub fn run(data: &[u8]) {
    let Some((length, rest)) = data.split_first() else { return };
    let (token, body) = rest.split_at(usize::from(*length).min(rest.len()));
    if let Ok(token) = std::str::from_utf8(token) {
        look_at_token(token);
    }
    if let Some(found) = envelope::read(body) {
        look_at_message(&found);
    }
    if let Ok(claims @ Value::Map(_)) = json::parse(body)
        && is_plain(&claims, 0)
    {
        look_at_claims(&claims);
    }
}

/// The time at which tokens are checked: 2025-02-01T00:00:00Z.
const NOW: (&str, i128) = ("2025-02-01T00:00:00Z", 1_738_368_000);

fn is_taken(token: &str) -> bool {
    let params = json!({ "token": token, "key": reference::hex(KEY.as_bytes()), "now": NOW.0 });
    reference::meshai("check_jwt", &params).is_ok_and(|result| result["valid"] == true)
}

/// Tokens with these claims: only one that is signed as it says, is current and is for this audience may be taken.
fn look_at_claims(claims: &Value) {
    let signed = jwt::make(claims, KEY.as_bytes(), "HS256");
    let audience = match claims.member("aud") {
        None | Some(Value::Null) => true,
        Some(Value::Array(all)) => all.iter().any(|one| one.as_text() == Some("amp-mesh")),
        Some(one) => one.as_text() == Some("amp-mesh"),
    };
    let expected = audience && claims.member("exp").is_some() && jwt::is_current(claims, NOW.1);
    assert!(
        expected || !is_taken(&signed),
        "the reference takes an expired or a foreign token: {}",
        json::compact(claims)
    );
    let other_key = jwt::make(claims, b"another-key-of-32-bytes-in-length", "HS256");
    // The signature of one algorithm in the name of another.
    let confused = ["none", "None", "HS512", "RS256", ""].map(|alg| jwt::make(claims, KEY.as_bytes(), alg));
    let unsigned = signed.rsplit_once('.').map(|(parts, _)| format!("{parts}."));
    let zeros = unsigned.as_ref().map(|parts| format!("{parts}{}", data_encoding::BASE64URL_NOPAD.encode(&[0; 32])));
    // A header that names a key of its own does not choose the key.
    let named = |header: &[u8]| data_encoding::BASE64URL_NOPAD.encode(header);
    let named = named(br#"{"alg":"HS256","typ":"JWT","kid":"none"}"#);
    let named = other_key.split_once('.').map(|(_, rest)| format!("{named}.{rest}"));
    for token in confused.iter().chain(&unsigned).chain(&zeros).chain(&named).chain([&other_key]) {
        assert!(!is_taken(token), "the reference takes {token}");
    }
}

fn look_at_token(token: &str) {
    let ours = jwt::claims(token, KEY.as_bytes());
    assert!(!is_taken(token) || ours.is_some(), "the reference takes {token:?}");
}

fn look_at_message(found: &Value) {
    // Beyond this a number has no single canonical form (E103), and a repeated member no single reading (E08).
    if !is_plain(found, 0) {
        return;
    }
    let mut signed = found.clone();
    let Some(message) = signed.member("message").cloned() else { return };
    if message.member("headers").is_none_or(|headers| headers.as_map().is_none()) {
        return;
    }
    let ours = hmac::signed_bytes(&message, hmac::Recipe::Jcs);
    let text = json::compact(found);
    let Ok(native) = serde_json::from_str::<serde_json::Value>(&text) else { return };
    if let Ok(theirs) = reference::meshai("canonical", &json!({ "envelope": native })) {
        assert_eq!(reference::bytes(&theirs, "bytes"), ours, "{text}");
    }
    let value = data_encoding::BASE64.encode(&hmac::hmac_sha256(KEY.as_bytes(), &ours));
    let signature = Value::map([("algorithm", Value::text("HMAC-SHA256")), ("value", Value::text(value))]);
    let Some(Value::Map(_)) = signed.member("message") else { return };
    let mut message = message;
    if let Value::Map(members) = &mut message {
        for (name, member) in members.iter_mut() {
            if name.as_text() == Some("headers") {
                member.set_member("signature", signature.clone());
            }
        }
    }
    signed.set_member("message", message.clone());
    let verdict = |envelope: &Value| {
        let raw = reference::hex(json::compact(envelope).as_bytes());
        let params = json!({ "raw": raw, "key": reference::hex(KEY.as_bytes()) });
        reference::meshai("verify", &params).ok().map(|result| result["valid"] == true)
    };
    if let Some(valid) = verdict(&signed) {
        assert!(valid, "the reference does not verify {}", json::compact(&signed));
        message.set_member("x-changed", Value::Integer(1));
        signed.set_member("message", message);
        assert_ne!(verdict(&signed), Some(true), "the reference takes a changed message {}", json::compact(&signed));
    }
}

fn is_plain(value: &Value, depth: usize) -> bool {
    if depth > 32 {
        return false;
    }
    match value {
        Value::Array(items) => items.iter().all(|item| is_plain(item, depth + 1)),
        Value::Map(members) => {
            let mut names: Vec<&str> = members.iter().filter_map(|(name, _)| name.as_text()).collect();
            names.sort_unstable();
            names.windows(2).all(|pair| pair[0] != pair[1])
                && members.iter().all(|(_, member)| is_plain(member, depth + 1))
        }
        Value::Integer(number) => number.abs() < 1 << 53,
        Value::Decimal(_) | Value::Float(_) => false,
        _ => true,
    }
}
