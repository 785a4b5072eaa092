//! The registry and the peer agents that proofmark plays for a target (binding, section 9).

use super::envelope;
use crate::exchange::{HostArrival, HostReply, HostedKind};
use crate::template::{format_time, parse_time};
use crate::value::Value;
use crate::wire::json;

/// The time in the reply to a message that has none.
const THEN: &str = "2025-01-27T10:00:00Z";

/// The reply to a message at a host: the registry registers every agent and finds none, a peer serves every request, an
/// event and a callback are taken. `state` counts the messages of a case, so that each reply has an id of its own.
pub(super) fn reply(arrival: &HostArrival, state: &mut Value) -> Option<HostReply> {
    if arrival.hosted.kind != HostedKind::Http {
        return None;
    }
    let text = |text: &str| Value::text(text);
    let count = state.as_integer().unwrap_or(0) + 1;
    *state = Value::Integer(count);
    if arrival.hosted.host == "callback" {
        return Some(message(&Value::map::<&str>([])));
    }
    if arrival.hosted.method == "GET" {
        return Some(message(&Value::map([("status", text("healthy"))])));
    }
    let asked = envelope::read(&arrival.body)?;
    if envelope::member_of_message(&asked, "type").and_then(Value::as_text) != Some("request") {
        return Some(HostReply::status(202));
    }
    let destination = envelope::member_of_message(&asked, "destination");
    let named = |name: &str| destination.and_then(|place| place.member(name)).and_then(Value::as_text);
    let result = match (arrival.hosted.host.as_str(), named("capability")) {
        ("registry", Some("registration")) => Value::map([("registered", Value::Bool(true))]),
        ("registry", Some("discovery")) => Value::map([("agents", Value::Array(Vec::new().into()))]),
        _ => Value::map([("served_by", text(&arrival.hosted.host))]),
    };
    let id = envelope::member_of_message(&asked, "id").and_then(Value::as_text).unwrap_or("unknown");
    let agent = named("agent_id").unwrap_or("pm-peer");
    // A peer below `/failing` reports an error for every request; one that does not ask for a later retry, as a lack of
    // resources would. Every peer does where the parameters say `fail`.
    let told = envelope::member_of_message(&asked, "payload").and_then(|payload| payload.member("parameters"));
    let told = told.and_then(|parameters| parameters.member("fail")) == Some(&Value::Bool(true));
    let fails = told || arrival.hosted.path.contains("/failing");
    let failure = || {
        let error = [("code", text("TIMEOUT")), ("message", text("this peer fails"))];
        Value::map([("error", Value::map(error))])
    };
    let payload = || Value::map([("status", text("success")), ("result", result)]);
    // The present by the clock of the sender: a client may refuse an old reply, and the reply depends on the message alone.
    let sent_at = envelope::member_of_message(&asked, "timestamp").and_then(Value::as_text).and_then(parse_time);
    let now = sent_at.map_or_else(|| THEN.to_owned(), |at| format!("{}Z", format_time(at)));
    let mut reply = Value::map([
        ("id", Value::text(format!("{id}-r{count}"))),
        ("type", text(if fails { "error" } else { "response" })),
        ("timestamp", text(&now)),
        ("source", Value::map([("agent_id", text(agent))])),
        ("headers", Value::map([("correlation_id", text(id)), ("priority", Value::Integer(5))])),
        ("payload", if fails { failure() } else { payload() }),
    ]);
    if let Some(sender) = envelope::sender(&asked) {
        reply.set_member("destination", Value::map([("agent_id", Value::text(sender))]));
    }
    let protocol = asked.member("protocol").and_then(Value::as_text).unwrap_or("AMP/1.0");
    Some(message(&Value::map([("protocol", text(protocol)), ("message", reply)])))
}

fn message(body: &Value) -> HostReply {
    HostReply::Message {
        status: 200,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: json::compact(body).into_bytes(),
    }
}
