//! An exchange as expectations see it: the outcome, the fault, the reply, and the copies that reached the next hop; the same
//! for an endpoint and for a library.

use super::compare;
use super::difference::Rules;
use super::{block, finder, hosting, message, operations, settings};
use crate::exchange::{Ended, Exchange, Transport};
use crate::protocol::{ObservationContext, base_view, payload};
use crate::value::{Path, Value};
use crate::wire::json::{self, OddityKind};

/// Copies that are read of one exchange at most.
const COPIES: usize = 16;

/// What a node answered, before it is judged.
pub(super) struct Answer {
    /// The reply as a value, if it is JSON.
    pub(super) reply: Option<Value>,
    /// The bytes of a reply.
    pub(super) bytes: Vec<u8>,
    /// The faults that were found: the codes as they are spelled.
    pub(super) codes: Vec<String>,
    /// Where the first code was found.
    pub(super) code_at: String,
    /// The bytes of each copy that reached the next hop, or that a library returned.
    pub(super) copies: Vec<Vec<u8>>,
    /// Faults that reached a listener of proofmark.
    pub(super) sent_faults: usize,
    /// `accepted`, `forwarded`, `fault`, `dropped`, `refused` or `silent`.
    pub(super) outcome: &'static str,
}

/// Adds to the general observation:
///
/// | place | holds |
/// |---|---|
/// | `/outcome` | `accepted`, `forwarded`, `fault`, `dropped` (success, and nothing reached the next hop), `refused` (no success, and no fault), `silent` |
/// | `/code`, `/spelling`, `/code_at`, `/faults` | the code without prefix, as it is spelled, where it is, and the number of faults |
/// | `/reply` | the reply, if it is a message: `message`, `header`, `body` |
/// | `/copies`, `/copy` | the copies at the next hop, and the first: `message`, `blocks`, `marks`, `readable` |
/// | `/differences` | how the first copy differs from what was sent: `row`, `at`, `expected`, `observed` |
/// | `/sent_message` | the message as it was sent |
/// | `/target` | what the target file says: `intermediary`, `blocks_at`, `version_detect`, and what it lacks |
/// | `/result`, `/rpc_code` | the answer of a library |
pub(super) fn observe(exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
    let mut view = base_view(exchange, context.target, context.clock);
    let mut put = |name: &str, value: Value| view.set_member(name, value);
    put("target", target(context));
    let rpc =
        (exchange.sent.transport == Transport::Adapter).then(|| json::parse(&exchange.received.body.0).ok()).flatten();
    if let Some(rpc) = &rpc {
        let error = rpc.member("error").and_then(|error| error.member("code")).cloned();
        put("status", Value::Integer(if error.is_some() { 400 } else { 200 }));
        if let Some(error) = error {
            // A node object that a library cannot set up is an option that it leaves out.
            if matches!(error, Value::Integer(-32601 | -32001)) {
                put("code", Value::Integer(-32601));
            }
            put("rpc_code", error);
        }
        if let Some(result) = rpc.member("result") {
            put("result", decoded(result));
        }
    }
    if !operations::carries_message(&exchange.operation) {
        return view;
    }
    if rpc.as_ref().is_some_and(|rpc| rpc.member("result").is_none()) {
        view.set_member("outcome", Value::text("refused"));
        return view;
    }
    let sent = sent(exchange).and_then(|bytes| json::parse(&bytes).ok());
    let answer = answer(exchange, context);
    let mut put = |name: &str, value: Value| view.set_member(name, value);
    put("outcome", Value::text(answer.outcome));
    put("faults", Value::from((answer.codes.len().max(answer.sent_faults)) as u64));
    if let Some(code) = answer.codes.first() {
        put("code", Value::text(finder::bare(code)));
        put("spelling", Value::text(code));
        put("code_at", Value::text(&answer.code_at));
    }
    if let Some(reply) = answer.reply.as_ref().filter(|reply| is_message(reply)) {
        put("reply", parts(reply));
    }
    let copies: Vec<Value> = answer.copies.iter().map(|bytes| copy(bytes, context)).collect();
    if let (Some(first), Some(sent)) = (copies.first().and_then(|copy| copy.member("message")), &sent) {
        let rules = Rules::of(context, hops(exchange));
        let rows = compare::compare(sent, first, &rules).into_iter().map(|difference| {
            Value::map([
                ("row", Value::text(difference.row)),
                ("at", Value::text(difference.at.to_string())),
                ("expected", Value::text(difference.expected)),
                ("observed", Value::text(difference.observed)),
            ])
        });
        put("differences", Value::Array(rows.collect()));
    }
    if let Some(first) = copies.first() {
        put("copy", first.clone());
    }
    put("copies", Value::Array(copies.into()));
    if let Some(sent) = sent {
        put("sent_message", sent);
    }
    view
}

/// The nodes that lower the ttl of a message before it reaches its end.
pub(super) fn hops(exchange: &Exchange) -> i128 {
    if exchange.operation != operations::CHAIN {
        return 1;
    }
    let hop = exchange.sent.url.rsplit('/').next().and_then(|hop| hop.parse::<i128>().ok()).unwrap_or(1);
    CHAIN_LENGTH - hop + 1
}

/// The relays of a chain (binding, section 8).
const CHAIN_LENGTH: i128 = 3;

/// What a target file says about the target.
fn target(context: &ObservationContext<'_>) -> Value {
    let target = context.target;
    let blocks_at = message::blocks_at(target, context.known);
    // The guess of the harness may be accepted; a body that the target file names may not.
    let named = settings::member(target, "refused", "body");
    let names_refused_body = named.is_some_and(|body| *body != Value::Null);
    let has = |name: &str| Value::Bool(context.known.get(name).is_some_and(|value| *value != Value::Null));
    Value::map([
        ("intermediary", Value::text(if settings::is_active(target) { "active" } else { "forwarding" })),
        ("blocks_at", blocks_at.map_or(Value::Null, Value::text)),
        ("names_blocks_at", Value::Bool(message::names_blocks_at(target, context.known))),
        ("version_detect", Value::text(settings::text(target, "version", "detect", "field"))),
        ("filters", Value::Bool(target.setting("memorygram_filter") == Some(&Value::Bool(true)))),
        ("assumed_role", has("assumed_role")),
        ("not_assumed_role", has("not_assumed_role")),
        ("known_type", has("known_type")),
        ("reinserting_type", has("reinserting_type")),
        ("failing_type", has("failing_type")),
        ("refused_body", has("refused_body")),
        ("names_refused_body", Value::Bool(names_refused_body)),
        ("accepted_reply", has("accepted_reply")),
        ("next_hop", Value::Bool(settings::knows_next_hop(target))),
    ])
}

/// The result of a library, with every member in hex also as a value: `message_hex` as `message`, if it is JSON.
fn decoded(result: &Value) -> Value {
    let mut whole = result.clone();
    for (key, value) in result.as_map().unwrap_or_default() {
        let Some(name) = key.as_text().and_then(|name| name.strip_suffix("_hex")) else { continue };
        let bytes = value.as_text().and_then(unhex);
        if let Some(bytes) = bytes {
            if let Ok(value) = json::parse(&bytes) {
                whole.set_member(name, value);
            }
            whole.set_member(&format!("{name}_text"), Value::text(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    whole
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok()
}

/// The bytes of the message that was sent.
pub(super) fn sent(exchange: &Exchange) -> Option<Vec<u8>> {
    let operation = operations::find(&exchange.operation)?;
    payload(operation, exchange)
}

/// Whether a body is offered as a message (E86).
pub(super) fn is_message(reply: &Value) -> bool {
    reply.member("Envelope").is_some()
}

/// What a node answered to a message.
pub(super) fn answer(exchange: &Exchange, context: &ObservationContext<'_>) -> Answer {
    if exchange.sent.transport == Transport::Adapter { of_library(exchange) } else { of_endpoint(exchange, context) }
}

fn of_endpoint(exchange: &Exchange, context: &ObservationContext<'_>) -> Answer {
    let received = &exchange.received;
    let whole = received.ended == Ended::Complete;
    let mut bytes = received.body.0.to_vec();
    let mut reply = whole.then(|| json::parse(&bytes).ok()).flatten();
    let first = settings::word(context.target, "fault_code_at");
    let found = reply.as_ref().and_then(|reply| finder::find(reply, first));
    let (mut codes, mut code_at) = found.map_or_else(|| (Vec::new(), String::new()), |found| (found.codes, found.at));
    let mut copies = Vec::new();
    let mut sent_faults = 0;
    for arrival in received.arrived.iter().filter(|arrival| !arrival.host.is_empty()) {
        let arrived = json::parse(&arrival.body.0).ok();
        let fault = arrived.as_ref().and_then(|body| finder::find(body, first));
        match fault {
            Some(fault) => {
                sent_faults += fault.codes.len();
                if codes.is_empty() {
                    (codes, code_at) = (fault.codes, fault.at);
                    (bytes, reply) = (arrival.body.0.to_vec(), arrived);
                } else {
                    codes.extend(fault.codes);
                }
            }
            None if arrival.host == hosting::NEXT_HOP && copies.len() < COPIES => copies.push(arrival.body.0.to_vec()),
            None => {}
        }
    }
    let success = received.status.is_some_and(|status| (200..300).contains(&status));
    let passes = operations::goes_through_relay(&exchange.operation);
    let outcome = match received.ended {
        _ if !codes.is_empty() => "fault",
        _ if passes && !copies.is_empty() => "forwarded",
        Ended::TimedOut => "silent",
        Ended::Closed(_) | Ended::Unreachable(_) | Ended::NotSent(_) => "refused",
        Ended::Complete | Ended::TooLong if !success => "refused",
        Ended::Complete | Ended::TooLong if passes => "dropped",
        Ended::Complete | Ended::TooLong => "accepted",
    };
    Answer { reply, bytes, codes, code_at, copies, sent_faults, outcome }
}

fn of_library(exchange: &Exchange) -> Answer {
    let rpc = json::parse(&exchange.received.body.0).ok();
    let result = rpc.and_then(|rpc| rpc.member("result").cloned());
    let nothing = Value::Null;
    let found = result.as_ref().unwrap_or(&nothing);
    let list = |name: &str| found.member(name).and_then(Value::as_array).unwrap_or_default();
    let hex = |value: Option<&Value>| value.and_then(Value::as_text).and_then(unhex);
    let codes: Vec<String> = list("faults")
        .iter()
        .filter_map(|fault| fault.member("code").and_then(Value::as_text).map(str::to_owned))
        .collect();
    let copies: Vec<Vec<u8>> = list("forwarded_hex").iter().take(COPIES).filter_map(|copy| hex(Some(copy))).collect();
    let fault = list("faults").first().and_then(|fault| hex(fault.member("message_hex")));
    let bytes = fault.or_else(|| hex(found.member("reply_hex"))).unwrap_or_default();
    let passes = operations::goes_through_relay(&exchange.operation);
    let outcome = match found.member("outcome").and_then(Value::as_text) {
        _ if !codes.is_empty() => "fault",
        Some("delivered") if !passes => "accepted",
        Some("forwarded") if passes && !copies.is_empty() => "forwarded",
        Some("delivered" | "forwarded") => "dropped",
        Some("fault") => "refused",
        _ => "silent",
    };
    Answer {
        reply: json::parse(&bytes).ok(),
        bytes,
        codes,
        code_at: "/faults/0/code".to_owned(),
        copies,
        sent_faults: 0,
        outcome,
    }
}

/// A message with its header and body.
pub(super) fn parts(whole: &Value) -> Value {
    let mut parts = vec![("message", whole.clone())];
    for (name, place) in [("header", "/Envelope/Header"), ("body", "/Envelope/Body")] {
        if let Some(part) = message::at(whole, place) {
            parts.push((name, part.clone()));
        }
    }
    Value::map(parts)
}

/// A copy at the next hop.
pub(super) fn copy(bytes: &[u8], context: &ObservationContext<'_>) -> Value {
    let Ok(document) = json::read(bytes) else { return Value::map([("readable", Value::Bool(false))]) };
    let place = message::blocks_at(context.target, context.known).and_then(|place| Path::parse(&place).ok());
    let blocks =
        place.and_then(|place| place.resolve(&document.value).and_then(Value::as_array).map(<[Value]>::to_vec));
    let blocks = blocks.unwrap_or_default();
    let marks = blocks.iter().filter_map(block::mark).map(Value::text).collect();
    let repeats = document.oddities.iter().any(|oddity| matches!(oddity.kind, OddityKind::DuplicateMember(_)));
    let mut copy = parts(&document.value);
    copy.set_member("blocks", Value::Array(blocks.into()));
    copy.set_member("marks", Value::Array(marks));
    copy.set_member("readable", Value::Bool(true));
    copy.set_member("repeats", Value::Bool(repeats));
    copy
}
