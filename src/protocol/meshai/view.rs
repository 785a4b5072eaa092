//! An exchange as expectations see it: the reply that answers the sent message, its parts, and what it amounts to (binding,
//! section 1).

use super::{auth, envelope, operations};
use crate::exchange::{Arrival, ArrivalKind, Ended, Exchange, Transport};
use crate::protocol::{ObservationContext, Operation, Protocol, Readiness, base_view, hosted_view};
use crate::target::Target;
use crate::value::{Path, Value};
use crate::wire::json;

/// Messages that are read of one exchange at most.
const MESSAGES: usize = 256;

/// The answer of an adapter that does not offer a method.
const NOT_OFFERED: i128 = -32601;

/// Places of the list of agents (E29), of the outcome of a negotiation (E43), and of a context (E47).
const AGENTS: &[&str] = &["/message/payload/result/agents", "/message/payload/agents", "/message/payload/result"];
const OUTCOME: &[&str] = &[
    "/message/payload/result/accepted",
    "/message/payload/result/can_execute",
    "/message/payload/result/available",
    "/message/payload/result/supported",
];
const CONTEXT: &[&str] = &["/message/payload/result/context"];

/// Places of the id of an entry of a discovery result (E29).
const ENTRY_IDS: &[&str] = &["/agent/id", "/identity/id", "/id", "/agent_id", ""];

/// Adds to the general observation:
///
/// | place | holds |
/// |---|---|
/// | `/outcome` | `served` (a response with status success or partial), `failed`, `error` (an error envelope), `refused` (no envelope, status 4xx), `closed` (by the server, over WebSocket), `ok` (2xx without an envelope), `crash` (5xx without an envelope), `silent`, `returned` (by a library), `other` |
/// | `/code` | the code of an error envelope, as it stands |
/// | `/answer_text` | all that arrived as text: header fields, the body, every frame |
/// | `/envelope`, `/message`, `/payload`, `/result`, `/error`, `/reply_headers` | the reply and its parts |
/// | `/version` | `family`, `major` and `minor` of its `protocol` |
/// | `/signature` | `state` of its signature (`none`, `valid`, `invalid`, `unknown`), and the `size` of its value in bytes |
/// | `/agents`, `/ids`, `/count` | the list of a discovery result, and the ids of its entries |
/// | `/accepted`, `/context` | the outcome of a negotiation, and a context |
/// | `/replies` | every message that arrived over a WebSocket, in order, with the same parts |
/// | `/frames` | what arrived over a WebSocket: `kind`, `code`, `text` |
/// | `/sent` | the message that was sent |
/// | `/target/rate_limited` | whether the target is declared to limit the rate |
/// | `/target/rate_requests`, `/target/rate_window_ms` | how many requests it takes in which window, if that is given |
/// | `/target/discovery_match` | whether discovery is declared to match all capabilities or any: `all`, `any` or `either` |
/// | `/target/canonical` | the form of messages that it is declared to sign, if the target file says so |
/// | `/returned`, `/rpc_code` | the result of a library, or the code of its error |
pub(super) fn observe(exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
    let mut view = base_view(exchange, context.target, context.clock);
    let read = Read::of(exchange);
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            view.set_member(name, value);
        }
    };
    put("sent", sent(exchange));
    let limited = context.target.options.get("rate-limit") == Some(&true);
    let matching = context.target.setting("discovery_match").and_then(Value::as_text).unwrap_or("either");
    let limit = |name: &str| context.target.setting("rate_limit").and_then(|limit| limit.member(name)).cloned();
    let mut declared = vec![("rate_limited", Value::Bool(limited)), ("discovery_match", Value::text(matching))];
    declared.extend(limit("requests").map(|requests| ("rate_requests", requests)));
    declared.extend(limit("window_ms").map(|window| ("rate_window_ms", window)));
    let canonical = context.target.setting("hmac").and_then(|hmac| hmac.member("canonical")).cloned();
    declared.extend(canonical.map(|canonical| ("canonical", canonical)));
    put("target", Some(Value::map(declared)));
    put("outcome", Some(Value::text(read.outcome)));
    put("answer_text", Some(Value::text(whole(exchange))));
    put("code", read.code.clone());
    put("returned", read.returned.clone());
    put("rpc_code", read.rpc_code.map(Value::Integer));
    if let Some(reply) = &read.reply {
        for (name, value) in parts(reply, context.target) {
            put(name, Some(value));
        }
    } else if let Some(found) = read.returned.as_ref().and_then(|returned| returned.member("context")) {
        put("context", Some(found.clone()));
    }
    if exchange.sent.transport == Transport::Ws {
        put("frames", Some(frames(exchange)));
        let replies = read.all.iter().map(|reply| {
            let mut seen = Value::map(parts(reply, context.target));
            seen.set_member("outcome", Value::text(kind_of(reply).0));
            seen
        });
        put("replies", Some(Value::Array(replies.collect())));
    }
    view
}

/// All that arrived as text: header fields, the body, and every frame; what an adapter sent in hex is decoded.
fn whole(exchange: &Exchange) -> String {
    let received = &exchange.received;
    let mut text = String::new();
    let mut add = |bytes: &[u8]| {
        text.push_str(&String::from_utf8_lossy(bytes));
        text.push('\n');
    };
    received.headers.iter().for_each(|(_, value)| add(value.as_bytes()));
    add(&received.body.0);
    received.arrived.iter().for_each(|arrival| add(&arrival.body.0));
    if exchange.sent.transport == Transport::Adapter {
        raw_of(exchange).iter().for_each(|bytes| add(bytes));
    }
    text
}

/// A message at a host, with the same parts.
pub(super) fn hosted(protocol: &dyn Protocol, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
    let mut view = hosted_view(protocol, exchange);
    if let Some(found) = envelope::read(&exchange.received.body.0) {
        for (name, value) in parts(&found, context.target) {
            view.set_member(name, value);
        }
    }
    view
}

/// Whether the target took a message: what twins and set-up steps rest on.
pub(super) fn accepted(operation: &Operation, seen: &Value) -> bool {
    let outcome = seen.member("outcome").and_then(Value::as_text).unwrap_or_default();
    if operations::carries_message(operation) {
        // An event need not be answered by a message (E26).
        let event = matches!(operation.name, "notify" | "context-event");
        return outcome == "served" || event && matches!(outcome, "ok" | "silent");
    }
    if operation.method.is_some() {
        return outcome == "returned";
    }
    if operation.channel.is_some() {
        return seen.member("ended").and_then(Value::as_text) == Some("complete");
    }
    let status = seen.member("status").and_then(Value::as_integer).and_then(|status| u16::try_from(status).ok());
    status.is_some_and(|status| operation.accepts(status))
}

/// Whether an answer is an error message with this code.
pub(super) fn reports(exchange: &Exchange, code: &str) -> bool {
    Read::of(exchange).code.as_ref().and_then(Value::as_text) == Some(code)
}

/// What the answer to a probe says about the target: a health endpoint may be open where messages need credentials, and a
/// refusal of credentials may have any status (E63).
pub(super) fn readiness(exchange: &Exchange) -> Readiness {
    let carries =
        |operation: &&Operation| operation.name == exchange.operation && operations::carries_message(operation);
    if exchange.sent.transport == Transport::Adapter {
        return Readiness::ByStatus;
    }
    if !operations::OPERATIONS.iter().any(|operation| carries(&operation)) {
        return Readiness::Silent;
    }
    let read = Read::of(exchange);
    let named = read.code.as_ref().and_then(Value::as_text) == Some("AUTHENTICATION_FAILED");
    let bare = read.outcome == "refused" && matches!(exchange.received.status, Some(401 | 403 | 407));
    if read.outcome == "error" && named || bare { Readiness::NeedsCredentials } else { Readiness::ByStatus }
}

/// Every message of the target in an exchange: `kind` is `reply`, `call` (to a host) or `built` (by a library), `host` the host
/// that was called, `answers` the message that it answers, `json` whether it is a JSON document.
pub(super) fn emitted(exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
    let mut found = Vec::new();
    let mut add = |kind: &str, bytes: &[u8], answers: Option<&Value>| {
        let parsed = json::parse(bytes).ok();
        let mut seen = match parsed.as_ref().filter(|value| envelope::is_envelope(value)) {
            Some(envelope) => Value::map(parts(envelope, context.target)),
            None => Value::map::<&str>([]),
        };
        seen.set_member("kind", Value::text(kind));
        seen.set_member("json", Value::Bool(parsed.is_some()));
        seen.set_member("operation", Value::text(&exchange.operation));
        if let Some(hosted) = &exchange.hosted {
            seen.set_member("host", Value::text(&hosted.host));
        }
        seen.set_member("text", Value::text(String::from_utf8_lossy(bytes).chars().take(2_000).collect::<String>()));
        if let Some(body) = parsed {
            seen.set_member("body", body);
        }
        if let Some(answers) = answers {
            seen.set_member("answers", answers.clone());
        }
        found.push(seen);
    };
    let received = &exchange.received;
    if let Some(hosted) = &exchange.hosted {
        if hosted.kind.is_arrival() && hosted.method == "POST" && received.ended == Ended::Complete {
            add("call", &received.body.0, None);
        }
        return found;
    }
    let sent = sent(exchange);
    let carries = |name: &str| {
        operations::OPERATIONS.iter().any(|operation| operation.name == name && operations::carries_message(operation))
    };
    // An event may be answered by anything (E26).
    let is_event = matches!(exchange.operation.as_str(), "notify" | "context-event");
    match exchange.sent.transport {
        Transport::Adapter => {
            let kind = if carries(&exchange.operation) { "reply" } else { "built" };
            // A message that proofmark gave is not one of the library.
            let own = !matches!(exchange.operation.as_str(), "encode" | "parse");
            let outcome = Read::of(exchange).outcome;
            let judged = |bytes: &[u8]| {
                let plain = kind == "reply" && (is_event || outcome != "ok" || bytes.is_empty());
                envelope::read(bytes).is_some() || !plain
            };
            for bytes in raw_of(exchange).into_iter().filter(|bytes| own && judged(bytes)) {
                add(kind, &bytes, sent.as_ref().filter(|_| kind == "reply"));
            }
        }
        Transport::Ws => {
            let answered = received.arrived.iter().any(|arrival| is_only_answer(&exchange.sent.body.0, arrival));
            for arrival in received.arrived.iter().filter(|arrival| arrival.kind == ArrivalKind::WsText).take(MESSAGES)
            {
                let skipped = json::parse(&arrival.body.0).is_ok_and(|frame| envelope::is_keep_alive(&frame));
                if !skipped {
                    // Beside the answer to this message, one without a correlation id is late and answers an earlier frame.
                    let late = answered
                        && envelope::read(&arrival.body.0).is_some_and(|reply| envelope::correlation(&reply).is_none());
                    add("reply", &arrival.body.0, sent.as_ref().filter(|_| !late));
                }
            }
        }
        _ => {
            let served = received.status.is_some_and(|status| (200..300).contains(&status));
            let read = envelope::read(&received.body.0).is_some();
            let whole = received.ended == Ended::Complete && !received.body.is_empty();
            // A refusal may have a body of its own, an answer to a message may not.
            if whole && carries(&exchange.operation) && (served && !is_event || read) {
                add("reply", &received.body.0, sent.as_ref());
            }
        }
    }
    found
}

/// Whether an arrival over a WebSocket answers another message than the one sent last.
pub(super) fn is_unrelated(message: &[u8], arrival: &Arrival) -> bool {
    if arrival.kind != ArrivalKind::WsText {
        return false;
    }
    let Ok(frame) = json::parse(&arrival.body.0) else { return false };
    if envelope::is_keep_alive(&frame) {
        return true;
    }
    let Some(asked) = envelope::read(message) else { return false };
    envelope::correlation(&frame).is_some_and(|id| !answers(&asked, id))
}

/// Whether a frame answers a message by its correlation id. Each message has one answer (binding, section 2).
pub(super) fn is_only_answer(message: &[u8], arrival: &Arrival) -> bool {
    if arrival.kind != ArrivalKind::WsText {
        return false;
    }
    let (Ok(frame), Some(asked)) = (json::parse(&arrival.body.0), envelope::read(message)) else { return false };
    !envelope::is_keep_alive(&frame) && envelope::correlation(&frame).is_some_and(|id| answers(&asked, id))
}

/// Whether a correlation id belongs to a message: its id or its own correlation id (E13).
fn answers(asked: &Value, id: &str) -> bool {
    let own = envelope::member_of_message(asked, "id").and_then(Value::as_text);
    own.is_none() || own == Some(id) || envelope::correlation(asked) == Some(id)
}

/// The answer to a message.
struct Read {
    outcome: &'static str,
    code: Option<Value>,
    reply: Option<Value>,
    /// Every envelope that arrived over a WebSocket.
    all: Vec<Value>,
    returned: Option<Value>,
    rpc_code: Option<i128>,
}

impl Read {
    fn of(exchange: &Exchange) -> Self {
        match exchange.sent.transport {
            Transport::Adapter => Self::of_library(exchange),
            Transport::Ws => Self::of_socket(exchange),
            _ => Self::of_http(exchange),
        }
    }

    fn nothing(outcome: &'static str) -> Self {
        Self { outcome, code: None, reply: None, all: Vec::new(), returned: None, rpc_code: None }
    }

    fn with(reply: Value) -> Self {
        let (outcome, code) = kind_of(&reply);
        Self { code, reply: Some(reply), ..Self::nothing(outcome) }
    }

    fn of_http(exchange: &Exchange) -> Self {
        let received = &exchange.received;
        let Some(status) = received.status else { return Self::nothing("silent") };
        if received.ended == Ended::Complete
            && let Some(reply) = envelope::read(&received.body.0)
        {
            return Self::with(reply);
        }
        Self::nothing(by_status(status))
    }

    fn of_socket(exchange: &Exchange) -> Self {
        let asked = envelope::read(&exchange.sent.body.0);
        let texts =
            exchange.received.arrived.iter().filter(|arrival| arrival.kind == ArrivalKind::WsText).take(MESSAGES);
        let all: Vec<Value> = texts.filter_map(|arrival| envelope::read(&arrival.body.0)).collect();
        let correlated = all.iter().find(|reply| {
            asked.as_ref().is_some_and(|asked| envelope::correlation(reply).is_some_and(|id| answers(asked, id)))
        });
        // Without a correlation id the only reply is meant (binding, section 8).
        let only = || all.iter().find(|reply| envelope::correlation(reply).is_none());
        let other = || all.first().filter(|_| asked.is_none());
        let closed = exchange.received.arrived.iter().any(|arrival| arrival.kind == ArrivalKind::WsClose)
            || matches!(exchange.received.ended, Ended::Closed(_));
        let read = match correlated.or_else(only).or_else(other) {
            Some(reply) => Self::with(reply.clone()),
            None if closed => Self::nothing("closed"),
            None if !all.is_empty() => Self::nothing("other"),
            None => Self::nothing("silent"),
        };
        Self { all, ..read }
    }

    fn of_library(exchange: &Exchange) -> Self {
        let Ok(rpc) = json::parse(&exchange.received.body.0) else { return Self::nothing("silent") };
        if let Some(error) = rpc.member("error") {
            return Self::of_library_error(error);
        }
        let Some(result) = rpc.member("result").cloned() else { return Self::nothing("other") };
        // The message itself, or the first of several.
        let reply = raw_of(exchange).first().and_then(|bytes| envelope::read(bytes));
        let handled = exchange.sent.method == "meshai/handle";
        let read = match reply {
            Some(reply) if handled => Self::with(reply),
            Some(reply) => Self { reply: Some(reply), ..Self::nothing("returned") },
            None if handled => {
                let status = result.member("http_status").and_then(Value::as_integer);
                Self::nothing(by_status(status.and_then(|status| u16::try_from(status).ok()).unwrap_or(200)))
            }
            None => Self::nothing("returned"),
        };
        Self { returned: Some(result), ..read }
    }

    /// The errors of the adapter protocol (binding, section 11).
    fn of_library_error(error: &Value) -> Self {
        let code = error.member("code").and_then(Value::as_integer).unwrap_or_default();
        let named = error.member("data").and_then(|data| data.member("code")).cloned();
        let (outcome, usual) = match code {
            -32001 => ("error", None),
            -32002 => ("refused", Some("AUTHENTICATION_FAILED")),
            -32003 => ("refused", None),
            -32004 => ("error", Some("TIMEOUT")),
            -32099 => ("crash", None),
            _ => ("other", None),
        };
        let offered = code != NOT_OFFERED;
        let named = if offered { named.or_else(|| usual.map(Value::text)) } else { Some(Value::Integer(code)) };
        Self { code: named, returned: error.member("data").cloned(), rpc_code: Some(code), ..Self::nothing(outcome) }
    }
}

fn by_status(status: u16) -> &'static str {
    match status {
        200..=299 => "ok",
        400..=499 => "refused",
        500..=599 => "crash",
        _ => "other",
    }
}

/// What an envelope amounts to as an answer, and the code of an error.
fn kind_of(reply: &Value) -> (&'static str, Option<Value>) {
    let member = |name: &str| envelope::member_of_message(reply, name);
    let payload = member("payload");
    let code = payload.and_then(|payload| payload.member("error")).and_then(|error| error.member("code")).cloned();
    match member("type").and_then(Value::as_text) {
        Some("error") => ("error", code),
        Some("response") => match payload.and_then(|payload| payload.member("status")).and_then(Value::as_text) {
            Some("success" | "partial") => ("served", None),
            Some("failed") => ("failed", None),
            _ => ("other", None),
        },
        _ => ("other", None),
    }
}

/// The parts of an envelope, by their place in an observation.
fn parts(found: &Value, target: &Target) -> Vec<(&'static str, Value)> {
    let mut parts = vec![("envelope", found.clone())];
    let mut put = |name: &'static str, value: Option<&Value>| {
        if let Some(value) = value {
            parts.push((name, value.clone()));
        }
    };
    let message = found.member("message");
    let payload = envelope::member_of_message(found, "payload");
    put("message", message);
    put("reply_headers", envelope::member_of_message(found, "headers"));
    put("payload", payload);
    put("result", payload.and_then(|payload| payload.member("result")));
    put("error", payload.and_then(|payload| payload.member("error")));
    let context = first(found, &places(target, "context"), CONTEXT);
    put("context", context);
    if let Some(agents) = agents(found, target) {
        let ids = agents.iter().map(|entry| entry_id(entry).unwrap_or(Value::Null)).collect();
        parts.push(("count", Value::from(agents.len() as u64)));
        parts.push(("ids", Value::Array(ids)));
        parts.push(("agents", Value::Array(agents.into())));
    }
    if let Some(accepted) = negotiated(found, target) {
        parts.push(("accepted", Value::Bool(accepted)));
    }
    if let Some((family, major, minor)) = found.member("protocol").and_then(Value::as_text).and_then(envelope::version)
    {
        let version = [("family", Value::text(family)), ("major", Value::from(major)), ("minor", Value::from(minor))];
        parts.push(("version", Value::map(version)));
    }
    if let Some(message) = message {
        let value = envelope::member_of_message(found, "headers").and_then(|headers| headers.member("signature"));
        let value = value.and_then(|signature| signature.member("value")).and_then(Value::as_text);
        let size = value.and_then(auth::decoded).map(|bytes| Value::from(bytes.len() as u64));
        let mut signature = Value::map([("state", Value::text(auth::state_of(message, target)))]);
        if let Some(size) = size {
            signature.set_member("size", size);
        }
        parts.push(("signature", signature));
    }
    parts
}

/// The places that a target file gives for a value.
fn places<'t>(target: &'t Target, name: &str) -> Vec<&'t str> {
    target.places(name).iter().map(String::as_str).collect()
}

fn first<'v>(found: &'v Value, own: &[&str], usual: &[&str]) -> Option<&'v Value> {
    own.iter().chain(usual).find_map(|place| Path::parse(place).ok()?.resolve(found))
}

fn agents(found: &Value, target: &Target) -> Option<Vec<Value>> {
    let own = places(target, "discovery");
    let lists = own.iter().chain(AGENTS).filter_map(|place| Path::parse(place).ok()?.resolve(found)?.as_array());
    lists.map(<[Value]>::to_vec).next()
}

fn entry_id(entry: &Value) -> Option<Value> {
    let texts = ENTRY_IDS.iter().filter_map(|place| Path::parse(place).ok()?.resolve(entry)?.as_text());
    texts.map(Value::text).next()
}

fn negotiated(found: &Value, target: &Target) -> Option<bool> {
    match kind_of(found) {
        ("failed", _) => Some(false),
        ("error", Some(Value::Text(code))) if code == "CAPABILITY_NOT_FOUND" || code == "INSUFFICIENT_RESOURCES" => {
            Some(false)
        }
        _ => match first(found, &places(target, "negotiation"), OUTCOME) {
            Some(Value::Bool(accepted)) => Some(*accepted),
            _ => None,
        },
    }
}

/// The message that was sent, as a value.
fn sent(exchange: &Exchange) -> Option<Value> {
    match exchange.sent.transport {
        Transport::Adapter => {
            let call = json::parse(&exchange.sent.body.0).ok()?;
            let params = call.member("params")?;
            match params.member("raw").and_then(Value::as_text) {
                Some(hex) => json::parse(&data_encoding::HEXLOWER.decode(hex.as_bytes()).ok()?).ok(),
                None => Some(params.clone()),
            }
        }
        _ => json::parse(&exchange.sent.body.0).ok(),
    }
}

/// The messages in the result of a library, in bytes.
fn raw_of(exchange: &Exchange) -> Vec<Vec<u8>> {
    let Ok(rpc) = json::parse(&exchange.received.body.0) else { return Vec::new() };
    let Some(result) = rpc.member("result") else { return Vec::new() };
    let decode = |hex: &Value| data_encoding::HEXLOWER.decode(hex.as_text()?.as_bytes()).ok();
    let sent = result.member("sent").and_then(Value::as_array).unwrap_or_default();
    let listed = sent.iter().filter_map(|entry| decode(entry.member("raw").unwrap_or(entry)));
    result.member("raw").and_then(decode).into_iter().chain(listed).take(MESSAGES).collect()
}

fn frames(exchange: &Exchange) -> Value {
    let shown = |arrival: &Arrival| {
        let mut frame = Value::map([("kind", Value::text(arrival.kind.name()))]);
        if let Some(code) = arrival.code {
            frame.set_member("code", Value::from(u64::from(code)));
        }
        if let Some(text) = arrival.body.text() {
            frame.set_member("text", Value::text(text));
        }
        frame
    };
    Value::Array(exchange.received.arrived.iter().take(MESSAGES).map(shown).collect())
}
