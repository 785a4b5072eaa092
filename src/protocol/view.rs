//! What every protocol sees of an exchange, before it adds its own reading.

use chrono::DateTime;

use super::definition::Protocol;
use crate::exchange::{Ended, Exchange, Transport};
use crate::target::Target;
use crate::template::{Clock, format_time};
use crate::value::Value;
use crate::wire::json;

/// The places that depend on the times of an exchange.
const ELAPSED: &str = "elapsed_ms";
const SPAN: &str = "span";

/// The protocol-independent part of the observation of an exchange:
///
/// | place | holds |
/// |---|---|
/// | `/status` | status code, as the protocol names it where the target has aliases; for an adapter 200 for a result |
/// | `/headers/<name>` | header field, name in lower case, the first of several |
/// | `/media-type` | media type of the body, in lower case, without parameters |
/// | `/body` | the body as a value, if it is JSON |
/// | `/text` | the body as text, if it is UTF-8 |
/// | `/files`, `/skipped` | for a tree: the files that were read, see [`super::TreePlan`] |
/// | `/size` | bytes of the body |
/// | `/ended` | `complete`, `too-long`, `timed-out`, `closed`, `unreachable` or `not-sent` (the connection was closed after an earlier answer) |
/// | `/elapsed_ms` | milliseconds from the first byte sent to the last byte read |
/// | `/span/from`, `/span/to` | when the target can have made its answer, RFC 3339, clock skew included |
/// | `/sent` | the body that was sent, as a value, if it was JSON |
/// | `/rpc_error` | the error of an adapter in words: `error -32603: out of memory` |
pub fn base(exchange: &Exchange, target: &Target, clock: Clock) -> Value {
    let received = &exchange.received;
    let mut view: Vec<(Value, Value)> = Vec::new();
    let mut put = |name: &str, value: Value| view.push((Value::text(name), value));
    if let Some(status) = received.status {
        put("status", Value::Integer(i128::from(target.status(status))));
    }
    put("headers", fields(&received.headers));
    if let Some(media_type) = received.header("content-type") {
        put("media-type", Value::text(bare(media_type)));
    }
    if exchange.sent.transport == Transport::Http {
        if received.ended == Ended::Complete
            && let Ok(body) = json::parse(&received.body.0)
        {
            put("body", target.names.to_wire(body));
        }
        if let Ok(sent) = json::parse(&exchange.sent.body.0) {
            put("sent", target.names.to_wire(sent));
        }
    }
    if let Some(error) = rpc_error(exchange) {
        put("rpc_error", Value::text(error));
    }
    if exchange.sent.transport == Transport::Tree {
        if let Ok(sent) = json::parse(&exchange.sent.body.0) {
            put("sent", sent);
        }
        if let Ok(found) = json::parse(&received.body.0) {
            put("skipped", found.member("skipped").cloned().unwrap_or(Value::Integer(0)));
            put("files", Value::Array(files(&found).into()));
        }
    } else if let Some(text) = received.body.text() {
        put("text", Value::text(text));
    }
    put("size", Value::from(received.body.len() as u64));
    let ended = match received.ended {
        Ended::Complete => "complete",
        Ended::TooLong => "too-long",
        Ended::TimedOut => "timed-out",
        Ended::Closed(_) => "closed",
        Ended::Unreachable(_) => "unreachable",
        Ended::NotSent(_) => "not-sent",
    };
    put("ended", Value::text(ended));
    put(ELAPSED, Value::from(exchange.elapsed_ms));
    put(SPAN, span(exchange, target, clock));
    Value::Map(view.into())
}

/// Sets the places that depend on the times of the exchange, in an observation of it from before they were known.
pub fn set_times(view: &mut Value, exchange: &Exchange, target: &Target, clock: Clock) {
    view.set_member(ELAPSED, Value::from(exchange.elapsed_ms));
    view.set_member(SPAN, span(exchange, target, clock));
}

/// The error that an adapter answered, with its number and its message.
fn rpc_error(exchange: &Exchange) -> Option<String> {
    if exchange.sent.transport != Transport::Adapter {
        return None;
    }
    let answer = json::parse(&exchange.received.body.0).ok()?;
    let error = answer.member("error").filter(|error| **error != Value::Null)?;
    let code = error.member("code").map_or_else(|| "without a code".to_owned(), json::compact);
    let message = error.member("message").and_then(Value::as_text).unwrap_or_default();
    Some(if message.is_empty() { format!("error {code}") } else { format!("error {code}: {message}") })
}

/// The observation of a message that the target sent to a host:
///
/// | place | holds |
/// |---|---|
/// | `/host` | name of the host |
/// | `/kind` | `http`, `ws-upgrade`, `ws-binary`, `ws-text` or `tcp-frame` |
/// | `/method`, `/path` | of an HTTP request, or of the request that opened the WebSocket |
/// | `/query/<name>` | parameter of the query, percent-decoded, the first of several |
/// | `/code` | type byte of a TCP frame |
/// | `/headers/<name>`, `/media-type` | as for an answer |
/// | `/body` | the body as a value, if the protocol can read it |
/// | `/text`, `/bytes`, `/size` | the body as text, if it is UTF-8; its bytes; their number |
/// | `/ended` | `complete`, or `too-long` if it was cut |
/// | `/at_ms` | milliseconds after the start of the run |
/// | `/reply/status`, `/reply/body` | the reply of the host |
pub fn hosted(protocol: &dyn Protocol, exchange: &Exchange) -> Value {
    let received = &exchange.received;
    let hosted = exchange.hosted.clone().unwrap_or_default();
    let mut view: Vec<(Value, Value)> = Vec::new();
    let mut put = |name: &str, value: Value| view.push((Value::text(name), value));
    put("host", Value::text(&hosted.host));
    put("kind", Value::text(hosted.kind.name()));
    if !hosted.method.is_empty() {
        put("method", Value::text(&hosted.method));
    }
    let (path, query) = hosted.path.split_once('?').unwrap_or((&hosted.path, ""));
    put("path", Value::text(path));
    let mut parameters: Vec<(Value, Value)> = Vec::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let name = Value::text(&*name);
        if !parameters.iter().any(|(earlier, _)| *earlier == name) {
            parameters.push((name, Value::text(&*value)));
        }
    }
    put("query", Value::Map(parameters.into()));
    if let Some(code) = hosted.code {
        put("code", Value::from(u64::from(code)));
    }
    put("headers", fields(&received.headers));
    if let Some(media_type) = received.header("content-type") {
        put("media-type", Value::text(bare(media_type)));
    }
    if let Some(body) = protocol.codec().decode(&received.body.0).filter(|_| !received.body.is_empty()) {
        put("body", body);
    }
    if let Some(text) = received.body.text() {
        put("text", Value::text(text));
    }
    put("bytes", Value::Bytes(received.body.0.to_vec()));
    put("size", Value::from(received.body.len() as u64));
    put("ended", Value::text(if received.ended == Ended::TooLong { "too-long" } else { "complete" }));
    put("at_ms", Value::from(exchange.started_ms));
    let mut reply: Vec<(Value, Value)> = Vec::new();
    if let Some(status) = exchange.sent.method.strip_prefix("reply ").and_then(|status| status.parse::<u64>().ok()) {
        reply.push((Value::text("status"), Value::from(status)));
    }
    if let Some(body) = protocol.codec().decode(&exchange.sent.body.0).filter(|_| !exchange.sent.body.is_empty()) {
        reply.push((Value::text("body"), body));
    }
    put("reply", Value::Map(reply.into()));
    Value::Map(view.into())
}

/// Header fields by their names in lower case, the first of several.
fn fields(list: &[(String, String)]) -> Value {
    let mut headers: Vec<(Value, Value)> = Vec::new();
    for (name, value) in list {
        let name = Value::text(name.to_ascii_lowercase());
        if !headers.iter().any(|(earlier, _)| *earlier == name) {
            headers.push((name, Value::text(value)));
        }
    }
    Value::Map(headers.into())
}

/// A media type in lower case, without parameters.
fn bare(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The files that were read, each with its content as a value if it is JSON.
fn files(found: &Value) -> Vec<Value> {
    let read = |file: &Value| {
        let mut file = file.clone();
        let text = file.member("text").and_then(Value::as_text);
        if let Some(content) = text.and_then(|text| json::parse(text.as_bytes()).ok()) {
            file.set_member("json", content);
        }
        file
    };
    match found.member("files") {
        Some(Value::Array(files)) => files.iter().map(read).collect(),
        _ => Vec::new(),
    }
}

/// From just before the first byte was sent to just after the last was read, widened by the clock skew, and shifted by
/// the difference that the Date header shows if that is more than a second.
fn span(exchange: &Exchange, target: &Target, clock: Clock) -> Value {
    const MILLISECOND: i128 = 1_000_000;
    // The clock of the target is where cases have advanced it to.
    let advanced = i128::from(exchange.clock_ms) * MILLISECOND;
    let sent = clock.0 + i128::from(exchange.started_ms) * MILLISECOND + advanced;
    let read = sent + i128::from(exchange.elapsed_ms) * MILLISECOND;
    let offset = exchange
        .received
        .header("date")
        .and_then(|date| DateTime::parse_from_rfc2822(date).ok())
        .map(|date| i128::from(date.timestamp()) * 1_000_000_000 - read)
        // A Date header may come from the clock of the machine, which is independent of a test clock.
        .map(|offset| if (offset + advanced).abs() < offset.abs() { 0 } else { offset })
        .filter(|offset| offset.abs() > 2_000 * MILLISECOND)
        .unwrap_or(0);
    let skew = i128::try_from(target.limits.clock_skew.as_nanos()).unwrap_or(0);
    let show = |instant: i128| {
        let fraction = instant.rem_euclid(1_000_000_000) / MILLISECOND;
        Value::text(format!("{}.{fraction:03}Z", format_time(instant)))
    };
    Value::map([("from", show(sent + offset - skew)), ("to", show(read + offset + skew + 1_000 * MILLISECOND))])
}
