//! Envelopes: their parts, and the version that they name.

use crate::value::Value;
use crate::wire::json;

/// The member of the message of an envelope.
pub fn member_of_message<'v>(envelope: &'v Value, name: &str) -> Option<&'v Value> {
    envelope.member("message").and_then(|message| message.member(name))
}

/// The agent that sent an envelope.
pub fn sender(envelope: &Value) -> Option<String> {
    member_of_message(envelope, "source")?.member("agent_id")?.as_text().map(str::to_owned)
}

/// The correlation id of an envelope.
pub fn correlation(envelope: &Value) -> Option<&str> {
    member_of_message(envelope, "headers")?.member("correlation_id")?.as_text()
}

/// An envelope in bytes: an object with an object `message`.
pub fn read(bytes: &[u8]) -> Option<Value> {
    json::parse(bytes).ok().filter(is_envelope)
}

/// Whether a value is an envelope, as far as it can be told from another value.
pub fn is_envelope(value: &Value) -> bool {
    value.member("message").is_some_and(|message| message.as_map().is_some())
}

/// Whether a frame over WebSocket is none of the protocol (E78): a top-level handshake or heartbeat.
pub fn is_keep_alive(frame: &Value) -> bool {
    let kind = frame.member("type").and_then(Value::as_text);
    frame.member("message").is_none() && matches!(kind, Some("handshake" | "heartbeat"))
}

/// The family and the version that a `protocol` member names: two numbers without leading zeros (section 11).
pub fn version(protocol: &str) -> Option<(&str, u64, u64)> {
    let (family, version) = protocol.split_once('/')?;
    let (major, minor) = version.split_once('.')?;
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (plain && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok()).flatten()
    };
    Some((family, number(major)?, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_plain_numbers() {
        assert_eq!(version("AMP/1.0"), Some(("AMP", 1, 0)));
        assert_eq!(version("AIP/12.99"), Some(("AIP", 12, 99)));
        for wrong in ["AMP/1", "AMP/1.0.0", "AMP/01.0", "AMP1.0", "AMP/", "AMP/1.", "AMP/one", "AMP/+1.0"] {
            assert_eq!(version(wrong), None, "{wrong}");
        }
    }
}
