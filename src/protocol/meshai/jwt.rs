//! Tokens: JWT with HS256 (section 7.1, E70).

use data_encoding::BASE64URL_NOPAD;

use super::hmac::hmac_sha256;
use crate::value::Value;
use crate::wire::json;

/// A token over claims. `alg` is written into the header as it is; `none` brings an empty signature.
pub fn make(claims: &Value, key: &[u8], alg: &str) -> String {
    let header = format!("{{\"alg\":\"{alg}\",\"typ\":\"JWT\"}}");
    let signed = format!(
        "{}.{}",
        BASE64URL_NOPAD.encode(header.as_bytes()),
        BASE64URL_NOPAD.encode(json::compact(claims).as_bytes())
    );
    if alg == "none" {
        return format!("{signed}.");
    }
    let signature = hmac_sha256(key, signed.as_bytes());
    format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
}

/// The claims of a token whose signature verifies under `key` and whose algorithm is HS256, expired or not.
pub fn claims(token: &str, key: &[u8]) -> Option<Value> {
    let mut parts = token.split('.');
    let (header, body, signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let decode = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).ok();
    let head = json::parse(&decode(header)?).ok()?;
    if head.member("alg").and_then(Value::as_text) != Some("HS256") {
        return None;
    }
    let signed = &token[..header.len() + 1 + body.len()];
    let is_signed = decode(signature)?.as_slice() == hmac_sha256(key, signed.as_bytes()).as_slice();
    if is_signed { json::parse(&decode(body)?).ok().filter(|claims| claims.as_map().is_some()) } else { None }
}

/// Whether claims hold at an instant, in seconds after 1970.
pub fn is_current(claims: &Value, now: i128) -> bool {
    let number = |name: &str| claims.member(name).and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
    let now = now as f64;
    number("exp").is_none_or(|end| now < end) && number("nbf").is_none_or(|start| start <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"proofmark-meshai-hmac-key-32byte";

    #[test]
    fn a_token_is_read_back_under_its_key_alone() {
        let claims = Value::map([("sub", Value::text("a")), ("exp", Value::Integer(10))]);
        let token = make(&claims, KEY, "HS256");
        assert_eq!(super::claims(&token, KEY), Some(claims.clone()));
        assert_eq!(super::claims(&token, b"another"), None);
        assert_eq!(super::claims(&make(&claims, KEY, "none"), KEY), None);
        assert_eq!(super::claims(&format!("{token}.x"), KEY), None);
        assert!(is_current(&claims, 9) && !is_current(&claims, 10));
    }
}
