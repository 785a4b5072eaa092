//! Credentials and signatures of the messages that proofmark sends (binding, section 7).

use super::hmac::{self, Recipe};
use super::{envelope, jwt, known};
use crate::protocol::{Inputs, ObservationContext};
use crate::target::Target;
use crate::template::parse_time;
use crate::value::Value;

/// How long a token is valid, in seconds (binding, section 7).
const VALID_S: i128 = 600;

const SECOND: i128 = 1_000_000_000;

/// The longest run after whose start the time of a message is taken for the present, in seconds.
const LONGEST_RUN_S: i128 = 30 * 24 * 3_600;

/// The place of the correlation id of a message that repeats its own id.
const SAME_AS_ID: &str = "same-as-id";

/// Where credentials travel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Header,
    Message,
    Both,
}

/// The method by which the target authenticates its peers.
enum Method {
    None,
    ApiKey(String),
    Jwt { key: Vec<u8>, alg: String },
}

/// The message with its correlation id, its credentials and its signature.
///
/// # Errors
///
/// An input that is malformed.
pub(super) fn protected(body: Value, inputs: &Inputs, context: &ObservationContext<'_>) -> Result<Value, String> {
    let mut body = body;
    let Some(Value::Map(_)) = body.member("message") else { return Ok(body) };
    fill_correlation(&mut body);
    if carrier(inputs, context.target) != Carrier::Header
        && let Some((kind, token)) = credential(&body, inputs, context)?
    {
        let value = Value::map([
            ("type", Value::text(kind)),
            ("token", Value::text(&token)),
            ("credentials", Value::text(token)),
        ]);
        in_headers(&mut body, "authentication", value);
    }
    if let Some(signature) = signature(&body, inputs, context)? {
        in_headers(&mut body, "signature", signature);
    }
    Ok(body)
}

/// The header fields of a request with this body.
pub(super) fn header_fields(
    body: Option<&Value>,
    inputs: &Inputs,
    context: &ObservationContext<'_>,
) -> Vec<(String, String)> {
    if carrier(inputs, context.target) == Carrier::Message {
        return Vec::new();
    }
    let body = body.unwrap_or(&Value::Null);
    let Ok(Some((kind, token))) = credential(body, inputs, context) else { return Vec::new() };
    match kind {
        "api_key" => {
            let stated = known::stated(context.target);
            vec![(stated.header, format!("{} {token}", stated.scheme).trim_start().to_owned())]
        }
        _ => vec![("authorization".to_owned(), format!("Bearer {token}"))],
    }
}

/// The header fields of the request that opens a WebSocket: a token for the agent that will send over it (binding, section 8). An
/// API key is one of the credentials of the target, which the transport adds.
pub(super) fn upgrade_fields(inputs: &Inputs, context: &ObservationContext<'_>) -> Vec<(String, String)> {
    if carrier(inputs, context.target) == Carrier::Message {
        return Vec::new();
    }
    let (Method::Jwt { key, alg }, Some(sender)) =
        (method(context.target), inputs.get("sender").and_then(Value::as_text))
    else {
        return Vec::new();
    };
    let claims = claims(sender, context.clock.0.div_euclid(SECOND), None, context);
    vec![("authorization".to_owned(), format!("Bearer {}", jwt::make(&claims, &key, &alg)))]
}

/// Replaces the placeholder of the correlation id by the id of the message (binding, section 3).
fn fill_correlation(body: &mut Value) {
    let id = envelope::member_of_message(body, "id").cloned();
    let headers = body.member("message").and_then(|message| message.member("headers"));
    let asked = headers.and_then(|headers| headers.member("correlation_id")).and_then(Value::as_text);
    if let (Some(SAME_AS_ID), Some(id)) = (asked, id) {
        in_headers(body, "correlation_id", id);
    }
}

/// Sets a header member of a message, if it has an object there.
fn in_headers(body: &mut Value, name: &str, value: Value) {
    let Value::Map(members) = body else { return };
    let message = members.iter_mut().find(|(key, _)| key.as_text() == Some("message"));
    let Some((_, Value::Map(members))) = message else { return };
    let headers = members.iter_mut().find(|(key, _)| key.as_text() == Some("headers"));
    if let Some((_, headers @ Value::Map(_))) = headers {
        headers.set_member(name, value);
    }
}

fn carrier(inputs: &Inputs, target: &Target) -> Carrier {
    let own = inputs.get("auth").and_then(|auth| auth.member("carrier")).and_then(Value::as_text);
    match own.or_else(|| target.setting("auth_carrier").and_then(Value::as_text)) {
        Some("header") => Carrier::Header,
        Some("message") => Carrier::Message,
        _ => Carrier::Both,
    }
}

/// The kind and the value of the credential of a message; `None` if there is none.
fn credential(
    body: &Value,
    inputs: &Inputs,
    context: &ObservationContext<'_>,
) -> Result<Option<(&'static str, String)>, String> {
    let changes = match inputs.get("auth") {
        Some(Value::Bool(false)) => return Ok(None),
        None | Some(Value::Bool(true)) => None,
        Some(changes @ Value::Map(_)) => Some(changes),
        Some(other) => return Err(format!("`auth` is false or a map, not {}", crate::wire::show(other))),
    };
    let given = changes.and_then(|changes| changes.member("token")).and_then(Value::as_text);
    let sender = envelope::sender(body).unwrap_or_default();
    Ok(match method(context.target) {
        Method::None => given.map(|token| ("jwt", token.to_owned())),
        Method::ApiKey(key) => Some(("api_key", given.map_or(key, str::to_owned))),
        Method::Jwt { key, alg } => {
            let token = given.map_or_else(
                || {
                    let claims = claims(&sender, present(body, context), changes, context);
                    jwt::make(&claims, &key, &alg)
                },
                str::to_owned,
            );
            Some(("jwt", token))
        }
    })
}

fn method(target: &Target) -> Method {
    if let Some(key) = known::secret(target, "jwt") {
        let alg = target.setting("jwt").and_then(|jwt| jwt.member("alg")).and_then(Value::as_text).unwrap_or("HS256");
        return Method::Jwt { key: key.into_bytes(), alg: alg.to_owned() };
    }
    known::secret(target, "api-key").map_or(Method::None, Method::ApiKey)
}

/// When a message is sent, in seconds since 1970: by its own timestamp if that lies in the run, otherwise the start of the run. A
/// run may last longer than a token is valid.
fn present(body: &Value, context: &ObservationContext<'_>) -> i128 {
    let begun = context.clock.0.div_euclid(SECOND);
    let stated = envelope::member_of_message(body, "timestamp").and_then(Value::as_text).and_then(parse_time);
    let stated = stated.map(|instant| instant.div_euclid(SECOND));
    stated.filter(|second| (begun..begun + LONGEST_RUN_S).contains(second)).unwrap_or(begun)
}

/// The claims of a token that is made at `now` for a sender (binding, section 7): `sub`, `agent_id`, `capabilities`, `iat`, `exp`
/// and `aud`, with those of the target file, and then `changes.claims`; a null removes one.
fn claims(sender: &str, now: i128, changes: Option<&Value>, context: &ObservationContext<'_>) -> Value {
    let mut claims = Value::map([
        ("sub", Value::text(sender)),
        ("agent_id", Value::text(sender)),
        ("capabilities", Value::Array(Vec::new().into())),
        ("iat", Value::Integer(now)),
        ("exp", Value::Integer(now + VALID_S)),
        ("aud", Value::text("amp-mesh")),
    ]);
    let own = context.target.setting("jwt").and_then(|jwt| jwt.member("claims"));
    let changed = changes.and_then(|changes| changes.member("claims"));
    for (name, value) in own.into_iter().chain(changed).filter_map(Value::as_map).flatten() {
        if let Some(name) = name.as_text() {
            claims.set_member(name, value.clone());
        }
    }
    if let Value::Map(members) = &mut claims {
        members.retain(|(_, value)| *value != Value::Null);
    }
    claims
}

/// The recipe and the spelling of signatures at a target.
pub(super) fn recipe(target: &Target) -> (Recipe, bool) {
    let word = |name: &str| target.setting("hmac").and_then(|hmac| hmac.member(name)).and_then(Value::as_text);
    (word("canonical").and_then(Recipe::named).unwrap_or_default(), word("encoding") == Some("hex"))
}

/// The signature of a message, if the target has a key for it.
fn signature(body: &Value, inputs: &Inputs, context: &ObservationContext<'_>) -> Result<Option<Value>, String> {
    let changes = match inputs.get("sign") {
        Some(Value::Bool(false)) => return Ok(None),
        None | Some(Value::Bool(true)) => None,
        Some(changes @ Value::Map(_)) => Some(changes),
        Some(other) => return Err(format!("`sign` is false or a map, not {}", crate::wire::show(other))),
    };
    let text = |name: &str| changes.and_then(|changes| changes.member(name)).and_then(Value::as_text);
    let configured = known::secret(context.target, "hmac");
    let Some(key) = text("key").map(str::to_owned).or(configured) else { return Ok(None) };
    let (recipe, hex) = recipe(context.target);
    let Some(message) = body.member("message") else { return Ok(None) };
    let mut covered = message.clone();
    let left_out = changes.and_then(|changes| changes.member("without")).and_then(Value::as_array).unwrap_or_default();
    if let Value::Map(members) = &mut covered {
        members.retain(|(name, _)| !left_out.contains(name));
    }
    let digest = hmac::hmac_sha256(key.as_bytes(), &hmac::signed_bytes(&covered, recipe));
    let mut digest = digest.to_vec();
    let number = |name: &str| {
        let number = changes.and_then(|changes| changes.member(name)).and_then(Value::as_integer);
        number.and_then(|number| usize::try_from(number).ok())
    };
    // The byte with this index is wrong in one bit.
    if let Some(byte) = number("flip").and_then(|index| digest.get_mut(index)) {
        *byte ^= 1;
    }
    digest.truncate(number("truncate").unwrap_or(usize::MAX));
    let value = match hex {
        true => data_encoding::HEXLOWER.encode(&digest),
        false => data_encoding::BASE64.encode(&digest),
    };
    let algorithm = text("algorithm").unwrap_or("HMAC-SHA256");
    Ok(Some(Value::map([("algorithm", Value::text(algorithm)), ("value", Value::text(value))])))
}

/// The state of the signature of a message of the target: `none`, `valid`, `invalid`, or `unknown` without a key.
pub(super) fn state_of(message: &Value, target: &Target) -> &'static str {
    let signature = message.member("headers").and_then(|headers| headers.member("signature"));
    let Some(signature) = signature.filter(|signature| **signature != Value::Null) else { return "none" };
    let Some(key) = known::secret(target, "hmac") else { return "unknown" };
    let value = signature.member("value").and_then(Value::as_text).unwrap_or_default();
    let (recipe, _) = recipe(target);
    let digest = hmac::hmac_sha256(key.as_bytes(), &hmac::signed_bytes(message, recipe));
    match decoded(value) {
        Some(bytes) if bytes == digest => "valid",
        _ => "invalid",
    }
}

/// The bytes of a signature value, in base64 or hexadecimal (E71).
pub(super) fn decoded(value: &str) -> Option<Vec<u8>> {
    let hex = || data_encoding::HEXLOWER.decode(value.as_bytes()).ok();
    if value.len() == 64 { hex() } else { None }.or_else(|| data_encoding::BASE64.decode(value.as_bytes()).ok())
}
