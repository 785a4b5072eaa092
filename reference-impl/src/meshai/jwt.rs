//! JSON Web Tokens with HS256 (7.1, E70).

use data_encoding::BASE64URL_NOPAD;
use hmac::Mac;

use super::careless;
use super::keyed::keyed;
use super::rules::Rules;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{self, Object, Value};

/// The audience of this protocol in the published code (E70).
pub(crate) const AUDIENCE: &str = "amp-mesh";

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// The token of these claims.
#[must_use]
pub(crate) fn make(claims: &Object, key: &[u8]) -> String {
    let signed = [HEADER, &claims.write()].map(|part| BASE64URL_NOPAD.encode(part.as_bytes())).join(".");
    let mac = keyed(key, signed.as_bytes()).finalize().into_bytes();
    format!("{signed}.{}", BASE64URL_NOPAD.encode(&mac))
}

/// Verifies a token and returns its claims.
///
/// # Errors
///
/// The reason why it is not valid.
pub(crate) fn check(token: &str, key: &[u8], now: Instant, rules: Rules) -> Result<Object, String> {
    let parts: Vec<&str> = token.split('.').collect();
    planted!(rules.fault, "jwt-two-segments-accepted", parts.len() == 2 => return read(parts[1]));
    let &[header, claims, mac] = parts.as_slice() else { return Err("a token has three parts".to_owned()) };
    let algorithm = read(header)?.text("alg").map(str::to_owned);
    // 7.1, E70: only HS256; alg none is not a signature.
    planted!(rules.fault, "jwt-alg-none", algorithm.as_deref() == Some("none") => return read(claims));
    if algorithm.as_deref() != Some("HS256") {
        return Err("the algorithm must be HS256".to_owned());
    }
    let signed = &token[..header.len() + 1 + claims.len()];
    let mac = BASE64URL_NOPAD.decode(mac.as_bytes()).map_err(|_| "the signature is not base64url".to_owned())?;
    // 7.1: the signature, in constant time.
    let genuine =
        keyed(key, signed.as_bytes()).verify_slice(&mac).is_ok() || careless::token(rules.fault, header, &mac);
    let genuine = genuine || rules.fault.is("jwt-empty-signature-accepted") && mac.is_empty();
    let genuine = genuine || rules.fault.is("jwt-signature-length-only") && mac.len() == 32;
    if !genuine && !rules.fault.is("jwt-not-verified") {
        return Err("the signature does not match".to_owned());
    }
    let claims = read(claims)?;
    let seconds = now.unix_milliseconds().div_euclid(1000);
    let time = |name: &str| claims.present(name).map(|value| value.as_number().map(json::Number::as_f64));
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
    let seconds = seconds as f64;
    // E70: clocks differ by a minute at most.
    let leeway = if rules.is_other() { 60.0 } else { 0.0 };
    let leeway = if rules.fault.is("jwt-leeway-an-hour") { 3600.0 } else { leeway };
    match time("exp") {
        // 7.1: a token expires.
        _ if rules.fault.is("jwt-expiry-unchecked") => {}
        Some(Some(end)) if seconds < end + leeway => {}
        // 7.1, strict: every token expires.
        None if rules.is_other() || rules.fault.is("jwt-exp-optional") => {}
        _ => return Err("the token has expired, or never does".to_owned()),
    }
    if let Some(start) = time("nbf")
        && start.is_none_or(|start| seconds + leeway < start)
    {
        return Err("the token is not valid yet".to_owned());
    }
    let ours = |value: &Value| value.as_text() == Some(AUDIENCE);
    let addressed = match claims.present("aud") {
        Some(Value::List(audiences)) => audiences.iter().any(ours),
        Some(audience) => ours(audience) || rules.fault.is("jwt-audience-unchecked"),
        None => true,
    };
    if addressed { Ok(claims) } else { Err("the token is for another audience".to_owned()) }
}

/// The object in a part of a token.
fn read(part: &str) -> Result<Object, String> {
    let bytes = BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| "a part is not base64url".to_owned())?;
    match json::read(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err("a part is not a JSON object".to_owned()),
    }
}
