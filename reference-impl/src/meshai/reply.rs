//! Making messages: replies to a request, and the envelope of every message (2.3, 3.2, 6.1).

use super::codes::Code;
use super::faults::reply as faults;
use super::message::{Kind, TIMEOUT_MS};
use super::origin::Origin;
use super::refusal::Refusal;
use super::rules::Rules;
use super::{ids, time, version};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// A served request.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    /// The agent that answers.
    pub(crate) agent: String,
    /// `success`, `partial` or `failed`.
    pub(crate) status: &'static str,
    pub(crate) result: Value,
    pub(crate) metadata: Option<Object>,
    /// The HTTP status.
    pub(crate) http: u16,
    /// How long it took.
    pub(crate) elapsed_ms: i64,
    /// Further members of the payload.
    pub(crate) beside: Object,
}

impl Served {
    pub(crate) fn new(agent: &str, result: impl Into<Value>) -> Self {
        let (agent, result) = (agent.to_owned(), result.into());
        Self { agent, status: "success", result, metadata: None, http: 200, elapsed_ms: 0, beside: Object::new() }
    }
}

/// How a reply travels, where that decides about its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    Http,
    WebSocket,
    /// The call of a library, over any transport.
    Library,
}

/// The response to a request (3.2).
#[must_use]
pub(crate) fn response(origin: &Origin, served: Served, now: Instant, rules: Rules) -> Object {
    let Served { agent, status, result, metadata, elapsed_ms, beside, .. } = served;
    let mut headers = headers(origin, origin.correlation(rules), rules);
    // 3.2, E07: milliseconds.
    let elapsed: Value =
        if rules.fault.is("execution-time-seconds") { faults::seconds(elapsed_ms) } else { elapsed_ms.into() };
    let elapsed = if rules.fault.is("execution-time-text") { elapsed_ms.to_string().into() } else { elapsed };
    let elapsed = if rules.fault.is("execution-time-negative") { (-1).into() } else { elapsed };
    if !rules.is_other() {
        headers.set("execution_time_ms", elapsed);
    }
    // 3.2: responses of every status are correlated.
    planted!(rules.fault, "failed-without-correlation", status == "failed" => drop(headers.remove("correlation_id")));
    // Other, E24: partial is accepted wherever success is.
    let status = if rules.is_other() && status == "success" { "partial" } else { status };
    // 3.2: success, partial or failed.
    let status = if rules.fault.is("status-ok") && status == "success" { "ok" } else { status };
    let status = if rules.fault.is("status-upper-case") && status == "success" { "SUCCESS" } else { status };
    let mut payload = Object::from([("status", status.into()), ("result", result)]);
    if let Some(metadata) = metadata.filter(|_| !rules.is_other()) {
        payload.set("metadata", metadata);
    }
    beside.iter().for_each(|(name, value)| payload.set(name, value.clone()));
    faults::payload(&mut payload, rules.fault);
    envelope(origin, &agent, Kind::Response, headers, payload, now, rules)
}

/// The error message for a refusal (6.1).
#[must_use]
pub(crate) fn error(
    origin: &Origin,
    agent: &str,
    refusal: &Refusal,
    carrier: Carrier,
    now: Instant,
    rules: Rules,
) -> Object {
    // Other, E14: over HTTP the exchange tells what the error is about.
    let correlation = origin.correlation(rules).filter(|_| !rules.is_other() || carrier == Carrier::WebSocket);
    let correlation = correlation.filter(|_| !rules.fault.is("error-without-correlation"));
    // 6.1: whatever the error is.
    let about_input = rules.fault.is("schema-error-without-correlation") && refusal.code == Code::InvalidSchema;
    let about_contexts = rules.fault.is("context-error-without-correlation") && refusal.code == Code::ContextNotFound;
    let correlation = correlation.filter(|_| !about_input && !about_contexts);
    let headers = headers(origin, correlation, rules);
    let code: Value = match refusal.name(rules) {
        // 6.2: upper case with underscores.
        name if rules.fault.is("error-code-lower") => name.to_lowercase().replace('_', "-").into(),
        name if rules.fault.is("error-code-prefixed") => format!("AMP_{name}").into(),
        // 6.1: a string.
        _ if rules.fault.is("error-code-number") => i64::from(refusal.code.status()).into(),
        name => name.into(),
    };
    let mut error = Object::from([("code", code), ("message", refusal.message.as_str().into())]);
    // 6.1: for people.
    planted!(rules.fault, "error-message-missing", drop(error.remove("message")));
    if !refusal.details.is_empty() {
        error.set("details", refusal.details.clone());
    }
    planted!(rules.fault, "error-details-text", error.set("details", "see the manual"));
    let mut payload = Object::from([("error", error.into())]);
    faults::error(&mut payload, refusal, rules.fault);
    let kind = if faults::as_response(refusal.code, &mut payload, rules.fault) { Kind::Response } else { Kind::Error };
    envelope(origin, agent, kind, headers, payload, now, rules)
}

/// The headers of every message.
fn headers(origin: &Origin, correlation: Option<&str>, rules: Rules) -> Object {
    let mut headers = Object::new();
    if let Some(correlation) = correlation {
        headers.set("correlation_id", correlation);
    }
    // Other, E06, E15: null stands for an absent member.
    if rules.is_other() {
        headers.set("authentication", Value::Null);
        return headers;
    }
    headers.set("priority", origin.priority.unwrap_or(5));
    planted!(rules.fault, "reply-priority-text", headers.set("priority", "5"));
    headers.set("timeout_ms", i64::try_from(TIMEOUT_MS).unwrap_or(i64::MAX));
    headers.set("routing_hints", Object::new());
    headers
}

/// A message that answers `origin`, or nothing.
#[must_use]
pub(crate) fn envelope(
    origin: &Origin,
    agent: &str,
    kind: Kind,
    headers: Object,
    payload: Object,
    now: Instant,
    rules: Rules,
) -> Object {
    let mut source = Object::from([("agent_id", agent.into())]);
    if rules.is_other() {
        source.set("session_id", Value::Null);
    }
    // 2.3: the source is the sender itself.
    planted!(rules.fault, "source-copied", requester in origin.requester.as_deref() => source.set("agent_id", requester));
    planted!(rules.fault, "source-empty", source.set("agent_id", ""));
    let mut destination = Object::new();
    // 2.3, E21: a reply goes to the requester.
    if let Some(requester) = &origin.requester {
        destination.set("agent_id", requester.as_str());
        planted!(rules.fault, "destination-not-swapped", destination.set("agent_id", agent));
    }
    let mut message = Object::from([
        ("id", ids::fresh().into()),
        ("type", kind.name().into()),
        ("timestamp", time::stamp(now, rules).into()),
        ("source", source.into()),
        ("destination", destination.into()),
        ("headers", headers.into()),
        ("payload", payload.into()),
    ]);
    // Other, E02: a reply needs no destination.
    let omitted = rules.is_other() || rules.fault.is("destination-not-sent");
    if omitted && kind != Kind::Request {
        message.remove("destination");
    }
    faults::message(&mut message, origin, kind, now, rules.fault);
    let protocol = version::of_reply(origin.protocol.as_deref(), rules);
    let mut envelope = Object::from([("protocol", protocol.into()), ("message", message.into())]);
    // 2.3: protocol stands at the top.
    planted!(rules.fault, "protocol-not-sent", drop(envelope.remove("protocol")));
    envelope
}
