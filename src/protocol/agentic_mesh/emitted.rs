//! What a target made in an exchange, each as a sweep judges it: forwarded copies, replies and faults, with what is known of
//! the message that caused them.

use super::block::Vocabulary;
use super::compare::is_uri;
use super::{finder, graph, message, number, operations, view};
use crate::exchange::{Exchange, Transport};
use crate::protocol::ObservationContext;
use crate::value::{Path, Value};
use crate::wire::json::{self, OddityKind};

/// Statuses that say that there is no node at this address, or none that takes a message now or in this time.
const NO_NODE: [u16; 11] = [401, 403, 404, 405, 407, 408, 410, 415, 429, 501, 503];

/// | place | holds |
/// |---|---|
/// | `/kind` | `copy`, `reply`, `fault`, or `answer` for what the target did with each message |
/// | `/message`, `/header`, `/body` | the message and its parts |
/// | `/json` | whether the bytes are JSON; `/utf8`, `/mark` (a byte order mark), `/repeats` (a member name twice) |
/// | `/blocks` | its header blocks |
/// | `/spelling`, `/standard`, `/exact` | the code of a fault, the standard code that it means, and whether that is its spelling |
/// | `/outcome` | of the exchange |
/// | `/inbound` | what was sent: `readable`, `components`, `plain-version`, `ttl-left`, `mandatory`, `sound-graph`, `object-graph`, `failing`, `body-fields`, `sound`, `trace`, `id` |
pub(super) fn of(exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
    if !operations::carries_message(&exchange.operation) {
        return Vec::new();
    }
    let answer = view::answer(exchange, context);
    let inbound = inbound(&view::sent(exchange).unwrap_or_default(), view::hops(exchange), context);
    let mut found = Vec::new();
    for bytes in &answer.copies {
        found.push(message(bytes, "copy", &inbound, context));
    }
    let is_fault = !answer.codes.is_empty();
    let is_offered = answer.reply.as_ref().map_or_else(|| claims_message(&answer.bytes), view::is_message);
    if is_offered || is_fault {
        let mut reply = message(&answer.bytes, if is_fault { "fault" } else { "reply" }, &inbound, context);
        if let Some(spelling) = answer.codes.first() {
            reply.set_member("code", Value::text(finder::bare(spelling)));
            reply.set_member("spelling", Value::text(spelling));
            reply.set_member("code_at", Value::text(&answer.code_at));
            if let Some(standard) = finder::standard(spelling) {
                reply.set_member("standard", Value::text(format!("amp:{standard}")));
                reply.set_member("exact", Value::Bool(finder::is_exact(spelling)));
            }
        }
        found.push(reply);
    }
    let there = exchange.received.status.is_none_or(|status| !NO_NODE.contains(&status));
    let of_media_type = answer.outcome == "refused" && has_other_media_type(exchange, context);
    if exchange.sent.transport == Transport::Http && there && !of_media_type {
        found.push(Value::map([
            ("kind", Value::text("answer")),
            ("outcome", Value::text(answer.outcome)),
            ("faults", Value::from(answer.codes.len() as u64)),
            ("inbound", inbound),
        ]));
    }
    found
}

/// Whether the message was sent in another media type than the one that calibration found; a node may refuse that one by any
/// status, without a fault (binding, section 5.3).
fn has_other_media_type(exchange: &Exchange, context: &ObservationContext<'_>) -> bool {
    let found = context.known.get("media_type").and_then(Value::as_text);
    let mut sent = exchange.sent.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.is_some_and(|found| sent.any(|(_, sent)| !sent.eq_ignore_ascii_case(found)))
}

/// Whether bytes that are not JSON were offered as a message: whatever their content type (E86), they are if they have an Envelope.
fn claims_message(bytes: &[u8]) -> bool {
    bytes.windows(10).any(|window| window == b"\"Envelope\"")
}

fn message(bytes: &[u8], kind: &str, inbound: &Value, context: &ObservationContext<'_>) -> Value {
    let document = json::read(bytes);
    let odd = |wanted: &dyn Fn(&OddityKind) -> bool| {
        Value::Bool(document.as_ref().is_ok_and(|document| document.oddities.iter().any(|odd| wanted(&odd.kind))))
    };
    let mut seen =
        document.as_ref().map_or_else(|_| Value::Map(Vec::new().into()), |document| view::parts(&document.value));
    let mut put = |name: &str, value: Value| seen.set_member(name, value);
    put("kind", Value::text(kind));
    // A library need not write its faults as messages (binding, section 9).
    put("json", Value::Bool(document.is_ok() || bytes.is_empty()));
    put("utf8", Value::Bool(std::str::from_utf8(bytes).is_ok()));
    put("mark", Value::Bool(bytes.starts_with("\u{feff}".as_bytes())));
    put("repeats", odd(&|kind| matches!(kind, OddityKind::DuplicateMember(_))));
    put("inbound", inbound.clone());
    if let Ok(document) = &document {
        let place = message::blocks_at(context.target, context.known).and_then(|place| Path::parse(&place).ok());
        let blocks = place.as_ref().and_then(|place| place.resolve(&document.value)).and_then(Value::as_array);
        put("blocks", Value::Array(blocks.unwrap_or_default().iter().map(shown).collect()));
        let node = message::at(&document.value, "/Envelope/Body/fault/node").and_then(Value::as_text);
        if let Some(node) = node {
            put("node-is-uri", Value::Bool(is_uri(node)));
        }
    }
    seen
}

/// A header block, with whether its role is a URI.
fn shown(block: &Value) -> Value {
    let mut shown = block.clone();
    if let Some(role) = block.member("role") {
        shown.set_member("role-is-uri", Value::Bool(role.as_text().is_some_and(is_uri)));
    }
    shown
}

/// What is known of a message that was sent.
fn inbound(bytes: &[u8], hops: i128, context: &ObservationContext<'_>) -> Value {
    // A number beyond binary64 may be refused as input that is not JSON (E37).
    let read = json::parse(bytes).ok().filter(|whole| !number::overflows(whole));
    let whole = read.as_ref().unwrap_or(&Value::Null);
    let place = |path: &str| message::at(whole, path);
    let is_map = |path: &str| place(path).is_some_and(|value| value.as_map().is_some());
    let is_text = |path: &str| place(path).is_some_and(|value| value.as_text().is_some());
    let is_list = |path: &str| place(path).is_some_and(|value| value.as_array().is_some());
    let flag = |name: &'static str, value: bool| (name, Value::Bool(value));
    let sealed = place("/Envelope/Header/encryption").is_some_and(|entry| *entry != Value::Null);
    let components = is_map("/Envelope/Header") && is_map("/Envelope/Body") && is_map("/Envelope/MemoryGram");
    let version = place("/Envelope/Header/version");
    let ttl = match place("/Envelope/Header/ttl") {
        Some(Value::Integer(ttl)) => Some(*ttl),
        _ => None,
    };
    let vocabulary = Vocabulary::of(context.target);
    let actors = place("/Envelope/Header/roles").and_then(Value::as_array).unwrap_or_default();
    // Calibration puts blocks to the other places, too.
    let configured = message::blocks_at(context.target, context.known);
    let places = configured.into_iter().chain(super::knowledge::block_places().map(str::to_owned));
    let mandatory = places.filter_map(|at| message::at(whole, &at)).any(|blocks| match blocks {
        Value::Array(blocks) => blocks.iter().any(|block| vocabulary.may_be_due(block, actors)),
        _ => true,
    });
    // E63: the code of a block that fails is the choice of the node.
    let blocks = message::blocks_at(context.target, context.known).and_then(|at| message::at(whole, &at));
    let fails = |block: &Value| {
        let kind = block.member("type").and_then(Value::as_text);
        kind.is_some() && kind == vocabulary.failing.kind.as_deref()
    };
    let failing = blocks.and_then(Value::as_array).unwrap_or_default().iter().any(fails);
    let graph = place("/Envelope/MemoryGram");
    let body = is_text("/Envelope/Body/task") && is_list("/Envelope/Body/expectedOutput");
    let fields = is_text("/Envelope/Header/messageId")
        && is_text("/Envelope/Header/traceId")
        && is_list("/Envelope/Header/roles")
        && is_text("/Envelope/Header/routingIntent")
        && ttl.is_some();
    let mut known = vec![
        flag("readable", read.is_some()),
        flag("components", components),
        flag("plain-version", version.is_none_or(|version| version.as_text() == Some("1.0"))),
        flag("ttl-left", ttl.is_some_and(|ttl| ttl > hops)),
        flag("mandatory", mandatory),
        flag("sound-graph", graph.is_some_and(graph::is_sound)),
        flag("object-graph", !sealed && graph.is_some_and(|graph| graph.as_map().is_some())),
        flag("failing", failing),
        flag("body-fields", body),
        flag("sound", components && fields),
    ];
    for (name, path) in [("trace", "/Envelope/Header/traceId"), ("id", "/Envelope/Header/messageId")] {
        if let Some(value) = place(path).filter(|value| value.as_text().is_some()) {
            known.push((name, value.clone()));
        }
    }
    Value::map(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_message_only_with_an_envelope() {
        assert!(!claims_message(b"OK") && !claims_message(b"<html><body>Accepted</body></html>"));
        assert!(claims_message(br#"{"Envelope":{"Header":{},}}"#));
    }
}
