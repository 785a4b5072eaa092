//! Faults of making messages.

use crate::fault::Planted;
use crate::instant::Instant;
use crate::json::{self, Object, Value};
use crate::meshai::codes::Code;
use crate::meshai::message::Kind;
use crate::meshai::origin::Origin;
use crate::meshai::refusal::Refusal;

/// `execution-time-seconds`: Seconds, as a fraction.
pub(in crate::meshai) fn seconds(milliseconds: i64) -> Value {
    let text = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
    json::read(text.as_bytes()).unwrap_or(Value::Null)
}

/// Faults of the payload of a response.
pub(in crate::meshai) fn payload(payload: &mut Object, fault: Planted) {
    let rename = |payload: &mut Object, from: &str, to: &str| {
        if let Some(value) = payload.remove(from) {
            payload.set(to, value);
        }
    };
    if fault.is("result-renamed") {
        rename(payload, "result", "data");
    }
    if fault.is("status-renamed") {
        rename(payload, "status", "state");
    }
    if fault.is("result-as-text")
        && let Some(result) = payload.get_mut("result")
    {
        *result = Value::Text(result.write());
    }
    if fault.is("metadata-text") && payload.get("metadata").is_some() {
        payload.set("metadata", "none");
    }
    if let Some(metadata) = payload.get_mut("metadata").and_then(Value::as_object_mut) {
        if fault.is("tokens-as-text") {
            metadata.set("tokens_consumed", "0");
        }
        if fault.is("model-as-list") {
            metadata.set("model_used", Vec::new());
        }
    }
    if fault.is("error-beside-result") {
        payload.set("error", Object::from([("code", "NONE".into()), ("message", "no error".into())]));
    }
}

/// Faults of the payload of an error message.
pub(in crate::meshai) fn error(payload: &mut Object, refusal: &Refusal, fault: Planted) {
    if fault.is("error-as-string") {
        payload.set("error", refusal.message.as_str());
    }
    if fault.is("error-flat") {
        *payload = Object::from([
            ("error_code", refusal.code.name().into()),
            ("error_message", refusal.message.as_str().into()),
        ]);
    }
    if fault.is("error-with-success") {
        payload.set("status", "success");
    }
}

/// `error-as-response`: Whether an error is answered by a response of status failed.
pub(in crate::meshai) fn as_response(code: Code, payload: &mut Object, fault: Planted) -> bool {
    let planted = fault.is("error-as-response") && code == Code::CapabilityNotFound
        || fault.is("context-error-as-response") && code == Code::ContextNotFound;
    if planted {
        payload.set("status", "failed");
        payload.remove("error");
    }
    planted
}

/// Faults of the members of a message.
pub(in crate::meshai) fn message(message: &mut Object, origin: &Origin, kind: Kind, now: Instant, fault: Planted) {
    let id = message.get("id").cloned().unwrap_or(Value::Null);
    match &origin.id {
        Some(request) if fault.is("reply-id-is-request-id") => message.set("id", request.as_str()),
        _ if fault.is("error-id-constant") && kind == Kind::Error => message.set("id", "error"),
        _ if fault.is("id-number") => message.set("id", 17),
        _ => {}
    }
    if fault.is("id-missing-in-errors") && kind == Kind::Error {
        message.remove("id");
    }
    match &origin.timestamp {
        Some(copied) if fault.is("timestamp-copied") => message.set("timestamp", copied.as_str()),
        _ if fault.is("timestamp-epoch") => message.set("timestamp", now.unix_milliseconds() / 1000),
        _ if fault.is("timestamp-date-only") => message.set("timestamp", &now.with_milliseconds()[..10]),
        _ if fault.is("timestamp-constant") => message.set("timestamp", "2025-01-27T10:00:00Z"),
        _ if fault.is("timestamp-missing-in-errors") && kind == Kind::Error => drop(message.remove("timestamp")),
        _ => {}
    }
    let type_name = match kind {
        Kind::Response if fault.is("response-type-event") => Some("event"),
        Kind::Response if fault.is("response-type-barred") => Some("request|response|event|error"),
        _ => None,
    };
    if let Some(name) = type_name {
        message.set("type", name);
    }
    if fault.is("source-missing-in-errors") && kind == Kind::Error {
        message.remove("source");
    }
    if fault.is("payload-as-list")
        && kind == Kind::Response
        && let Some(payload) = message.remove("payload")
    {
        message.set("payload", vec![payload]);
    }
    if fault.is("response-without-headers") && kind == Kind::Response {
        message.remove("headers");
    }
    authentication(message, fault);
    let mut lifted = None;
    if kind == Kind::Response
        && let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut)
    {
        if fault.is("correlation-missing") {
            headers.remove("correlation_id");
        }
        if fault.is("correlation-own-id") {
            headers.set("correlation_id", id);
        }
        if fault.is("correlation-at-top") {
            lifted = headers.remove("correlation_id");
        }
        if fault.is("correlation-empty") {
            headers.set("correlation_id", "");
        }
        let upper = headers.text("correlation_id").map(str::to_lowercase);
        if let Some(lower) = upper.filter(|_| fault.is("correlation-lower-case")) {
            headers.set("correlation_id", lower);
        }
    }
    if let Some(correlation) = lifted {
        message.set("correlation_id", correlation);
    }
}

/// Faults of credentials in replies.
fn authentication(message: &mut Object, fault: Planted) {
    let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut) else { return };
    if fault.is("reply-authentication-without-type") {
        headers.set("authentication", Object::from([("token", "e30.e30.e30".into())]));
    }
    if fault.is("reply-token-masked") {
        headers.set("authentication", Object::from([("type", "jwt".into()), ("token", "***".into())]));
    }
}

/// `parse-drops-unknown`: Keeps only the members of the structure block.
pub(in crate::meshai) fn known_only(envelope: &mut Object) {
    envelope.retain(|name, _| ["protocol", "message"].contains(&name));
    if let Some(inner) = envelope.get_mut("message").and_then(Value::as_object_mut) {
        let known = ["id", "type", "timestamp", "source", "destination", "headers", "payload"];
        inner.retain(|name, _| known.contains(&name));
    }
}

/// `parse-drops-headers`: Loses the headers.
pub(in crate::meshai) fn without_headers(envelope: &mut Object) {
    if let Some(inner) = envelope.get_mut("message").and_then(Value::as_object_mut) {
        inner.remove("headers");
    }
}
