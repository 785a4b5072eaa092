//! The known-good message (binding, section 1.1), its places at a target, and the identity of a message in its bytes.

use super::settings;
use crate::exchange::Encoded;
use crate::protocol::{Known, ObservationContext};
use crate::target::Target;
use crate::value::{self, Path, Value};
use crate::wire::json;

/// The place of header blocks in messages as suites write them (E01).
pub(super) const BLOCKS: &str = "/Envelope/Header/headers";
/// The place of the nonce in messages as suites write them.
pub(super) const NONCE: &str = "/Envelope/Body/context/proofmark";
/// The place of the version in messages as suites write them (E06).
pub(super) const VERSION: &str = "/Envelope/Header/version";

/// What every generated identity begins with, so that it is found in the bytes of any message.
const PREFIX: &str = "pm-";
/// The fewest characters after the prefix.
const FEWEST: usize = 20;
/// Identities of one message at most.
const IDENTITIES: usize = 16;

/// BASE without its identity.
const BASE: &str = r#"{"Envelope":{
  "Header":{"messageId":"","traceId":"","roles":["planner","vendor"],"routingIntent":"direct","ttl":8},
  "Body":{"task":"echo","expectedOutput":["echo"],"context":{"proofmark":""}},
  "MemoryGram":{"nodes":[{"id":"n1","type":"plan","metadata":{"importance":0.5,"decay":0.1}},
                         {"id":"n2","type":"issue","metadata":{"importance":0.25}}],
                "edges":[{"source":"n1","target":"n2","weight":0.5,"context":"supports"}],
                "mode":"snapshot","encoding":"json"}}}"#;

/// The body that BASE has, and the one that a target refuses.
const REFUSED: &str = r#"{"task":"proofmark-refuse","expectedOutput":["none"],"context":{}}"#;

/// BASE as this target takes it, without its identity.
pub(super) fn base(target: &Target) -> Value {
    let mut base = json::parse(BASE.as_bytes()).unwrap_or(Value::Null);
    if let Some(body) = settings::member(target, "accepted", "body").filter(|body| body.as_map().is_some()) {
        put(&mut base, "/Envelope/Body", body.clone());
    }
    for (name, place) in
        [("header", "/Envelope/Header"), ("body", "/Envelope/Body"), ("memorygram", "/Envelope/MemoryGram")]
    {
        let added = settings::member(target, "base", name).and_then(Value::as_map).unwrap_or_default();
        for (key, value) in added {
            if let (Some(key), Ok(path)) = (key.as_text(), Path::parse(place)) {
                let _ = value::set(&mut base, &path.child(key), value.clone());
            }
        }
    }
    with_nonce(&mut base, "");
    base
}

/// The body that the target answers with a fault; `None` if it has none.
pub(super) fn refused_body(target: &Target) -> Option<Value> {
    match settings::member(target, "refused", "body") {
        Some(Value::Null) => None,
        Some(body) => Some(body.clone()),
        None => json::parse(REFUSED.as_bytes()).ok(),
    }
}

/// Sets the nonce, with a context for it.
fn with_nonce(message: &mut Value, nonce: &str) {
    let context = at(message, "/Envelope/Body/context");
    if context.is_none_or(|context| context.as_map().is_none()) {
        put(message, "/Envelope/Body/context", Value::Map(Vec::new().into()));
    }
    put(message, NONCE, Value::text(nonce));
}

fn put(message: &mut Value, place: &str, value: Value) {
    if let Ok(path) = Path::parse(place) {
        let _ = value::set(message, &path, value); // a target file may leave no parent for it
    }
}

/// BASE with an identity that is made of `identity`.
pub(super) fn identified(target: &Target, identity: &str) -> Value {
    let mut message = base(target);
    put(&mut message, "/Envelope/Header/messageId", Value::text(format!("{PREFIX}{identity}")));
    put(&mut message, "/Envelope/Header/traceId", Value::text(format!("{PREFIX}trace-{identity}")));
    with_nonce(&mut message, &format!("{PREFIX}nonce-{identity}"));
    message
}

/// The value at a place of a message.
pub(super) fn at<'m>(message: &'m Value, place: &str) -> Option<&'m Value> {
    Path::parse(place).ok()?.resolve(message)
}

/// The place of header blocks at a target; `None` for a target without them.
pub(super) fn blocks_at(target: &Target, known: &Known) -> Option<String> {
    match settings::word(target, "header_blocks_at") {
        Some("none") => None,
        Some("auto") | None => {
            let found = known.get("blocks_at").and_then(Value::as_text);
            Some(found.unwrap_or(BLOCKS).to_owned())
        }
        Some(place) => Some(place.to_owned()),
    }
}

/// Whether the target file or the library names the place of header blocks, so that calibration does not find it.
pub(super) fn names_blocks_at(target: &Target, known: &Known) -> bool {
    let described = known.get("describes_blocks_at") == Some(&Value::Bool(true));
    described || settings::word(target, "header_blocks_at").is_some_and(|place| place != "auto")
}

/// Moves header blocks, nonce and version of a message to the places of the target.
pub(super) fn place(message: &mut Value, context: &ObservationContext<'_>) {
    let blocks = blocks_at(context.target, context.known).unwrap_or_else(|| BLOCKS.to_owned());
    shift(message, BLOCKS, &blocks);
    shift(message, NONCE, settings::word(context.target, "nonce_at").unwrap_or(NONCE));
    shift(message, VERSION, settings::text(context.target, "version", "at", VERSION));
}

fn shift(message: &mut Value, from: &str, to: &str) {
    if from == to {
        return;
    }
    let (Ok(from), Ok(to)) = (Path::parse(from), Path::parse(to)) else { return };
    let Some(found) = from.resolve(message).cloned() else { return };
    if value::set(message, &to, found).is_ok() {
        let _ = value::remove(message, &from);
    }
}

/// The identities in the bytes of a message: nonce, messageId and traceId, however damaged the message is.
pub(super) fn identities(bytes: &[u8]) -> Vec<Vec<u8>> {
    let prefix = PREFIX.as_bytes();
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut from = 0;
    while let Some(start) = bytes[from..].windows(prefix.len()).position(|window| window == prefix) {
        let start = from + start;
        let rest = &bytes[start + prefix.len()..];
        let length =
            rest.iter().take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-');
        let length = length.count();
        let whole = bytes[start..start + prefix.len() + length].to_vec();
        if length >= FEWEST && !found.contains(&whole) && found.len() < IDENTITIES {
            found.push(whole);
        }
        from = start + prefix.len() + length;
    }
    found
}

/// The message with which a target shows that it has gone on after `message`: BASE with an identity of its own, and the value
/// that is found in its copy, also in one whose body is sealed.
pub(super) fn fence(message: &Encoded, context: &ObservationContext<'_>) -> (Encoded, Vec<u8>) {
    use sha2::{Digest, Sha256};
    let identity = data_encoding::HEXLOWER.encode(&Sha256::digest(&message.body)[..16]);
    let mut body = identified(context.target, &format!("fence-{identity}"));
    place(&mut body, context);
    let mut fence = message.clone();
    fence.body = json::compact(&body).into_bytes();
    let media_type = context.known.get("media_type").and_then(Value::as_text);
    for (name, value) in &mut fence.headers {
        if let Some(media_type) = media_type.filter(|_| name.eq_ignore_ascii_case("content-type")) {
            media_type.clone_into(value);
        }
    }
    fence.action = crate::exchange::ChannelAction::Message;
    (fence, format!("fence-{identity}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_found_in_damaged_messages() {
        let text = br#"{"messageId":"pm-0123456789abcdef0123","traceId":"pm-short","x":"pm-nonce-0123456789abcdef"#;
        let found: Vec<String> = identities(text).into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
        assert_eq!(found, ["pm-0123456789abcdef0123", "pm-nonce-0123456789abcdef"]);
    }

    #[test]
    fn a_target_file_changes_base() {
        let mut target = Target::new(crate::exchange::TargetClass::Endpoint, "t");
        let body = json::parse(br#"{"task":"sum","expectedOutput":["total"]}"#).unwrap();
        target.settings.insert("accepted".into(), Value::map([("body", body)]));
        target.settings.insert("base".into(), Value::map([("header", Value::map([("ttl", Value::Integer(3))]))]));
        let base = identified(&target, "0123");
        assert_eq!(at(&base, "/Envelope/Header/ttl"), Some(&Value::Integer(3)));
        assert_eq!(at(&base, "/Envelope/Body/task"), Some(&Value::text("sum")));
        assert_eq!(at(&base, NONCE), Some(&Value::text("pm-nonce-0123")));
    }
}
