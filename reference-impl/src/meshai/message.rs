//! Receiving messages (2.3): from bytes to the members that the operations need.
//!
//! [`parse`] reads the body, [`check`] the structure. The strict reading of E02 throughout: what the structure block shows is
//! required, except the header members with defaults (E15).

use super::faults::message as faults;
use super::refusal::{Cause, Refusal};
use super::rules::Rules;
use super::{careless, codes::Code, time};
use crate::fault::planted;
use crate::json::{self, Object, Value};

/// The default of `headers.timeout_ms` (E15).
pub(crate) const TIMEOUT_MS: u64 = 30_000;

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Response,
    Event,
    Error,
}

impl Kind {
    /// The value of `type`.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Event => "event",
            Self::Error => "error",
        }
    }

    /// The kind that `type` names.
    #[must_use]
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Request, Self::Response, Self::Event, Self::Error].into_iter().find(|kind| kind.name() == name)
    }
}

/// A message whose structure is right.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    /// The object under `message`.
    pub(crate) inner: Object,
    /// Empty only in the other variant.
    pub(crate) id: String,
    /// The sender; empty only in the other variant.
    pub(crate) source: String,
    /// `destination.agent_id`.
    pub(crate) to: Option<String>,
    /// `destination.capability`.
    pub(crate) wanted: Option<String>,
    pub(crate) timeout_ms: u64,
    pub(crate) payload: Object,
}

impl Message {
    /// The header members.
    #[must_use]
    pub(crate) fn header(&self, name: &str) -> Option<&Value> {
        self.inner.present("headers").and_then(Value::as_object).and_then(|headers| headers.present(name))
    }
}

/// Reads a body: one strict JSON text (E03) that is an object.
///
/// # Errors
///
/// Anything else.
pub(crate) fn parse(bytes: &[u8], rules: Rules) -> Result<Object, Refusal> {
    careless::read(rules.fault, bytes);
    let value = match json::read(bytes) {
        Ok(value) => value,
        Err(error) => {
            // 2.3, E03: comments and trailing commas are no JSON.
            planted!(rules.fault, "comments-tolerated", value in faults::read_with_comments(bytes) => return Ok(value));
            planted!(rules.fault, "truncated-is-empty", return Ok(faults::completed(bytes)));
            planted!(rules.fault, "crash-on-non-json", return Err(Refusal::crash(error.to_string())));
            let unreadable = Refusal::new(Code::InvalidSchema, format!("the body is not JSON: {error}"));
            return Err(Refusal { cause: Cause::Unreadable, ..unreadable });
        }
    };
    careless::look(rules.fault, &value, 0);
    match value {
        Value::Object(mut envelope) => {
            // 8.2: the body is one envelope.
            planted!(rules.fault, "inner-message-accepted", faults::wrap(&mut envelope));
            Ok(envelope)
        }
        value => {
            // 2.3, 13: one object, never a batch.
            planted!(rules.fault, "crash-on-non-object", return Err(Refusal::crash(value.write())));
            Err(Refusal::envelope("", "a message is a JSON object"))
        }
    }
}

/// Checks the structure of 2.3.
///
/// # Errors
///
/// The first member that is missing or of a wrong type.
pub(crate) fn check(envelope: &Object, rules: Rules) -> Result<Message, Refusal> {
    // 2.3: protocol is a string.
    let unchecked = rules.fault.is("any-protocol-accepted") || rules.fault.is("protocol-optional");
    if envelope.text("protocol").is_none() && !unchecked {
        return Err(Refusal::envelope("/protocol", "protocol must be a string"));
    }
    let inner = envelope.get("message").and_then(Value::as_object);
    let inner = inner.ok_or_else(|| Refusal::envelope("/message", "message must be an object"))?;
    let kind = kind(inner, rules)?;
    let strict = !rules.is_other();
    let id = demand_text(inner, "/message", "id", strict && !rules.fault.is("id-optional"))?;
    let timestamp = demand_text(inner, "/message", "timestamp", strict && !rules.fault.is("timestamp-optional"))?;
    // E11: a date-time with a zone.
    if timestamp.as_deref().is_some_and(|text| time::parse(text).is_none())
        && strict
        && !rules.fault.is("timestamp-unchecked")
    {
        return Err(Refusal::envelope("/message/timestamp", "timestamp must be an RFC 3339 date-time"));
    }
    let source = demand_object(inner, "source", strict && !rules.fault.is("source-optional"))?;
    let sender = demand_text(&source, "/message/source", "agent_id", strict && !rules.fault.is("source-optional"))?;
    optional_text(&source, "/message/source", "session_id", strict)?;
    let destination = demand_object(inner, "destination", strict && !rules.fault.is("destination-optional"))?;
    let to = optional_text(&destination, "/message/destination", "agent_id", true)?;
    let wanted = optional_text(&destination, "/message/destination", "capability", strict)?;
    let headers = demand_object(inner, "headers", strict)?;
    let timeout_ms = check_headers(&headers, rules)?;
    let payload = match inner.get("payload") {
        Some(Value::Object(payload)) => payload.clone(),
        // 2.3: the payload is an object.
        Some(_) if rules.fault.is("payload-not-checked") => return Err(Refusal::crash("the payload has no members")),
        Some(Value::Null) if rules.fault.is("null-payload-accepted") => faults::assumed(wanted.as_deref()),
        None if rules.fault.is("payload-optional") => faults::assumed(wanted.as_deref()),
        _ => return Err(Refusal::envelope("/message/payload", "payload must be an object")),
    };
    let (id, source) = (id.unwrap_or_default(), sender.unwrap_or_default());
    Ok(Message { kind, inner: inner.clone(), id, source, to, wanted, timeout_ms, payload })
}

/// 2.3, E04: the type is one of four words.
fn kind(inner: &Object, rules: Rules) -> Result<Kind, Refusal> {
    let name = inner.text("type");
    let found = name.and_then(Kind::parse);
    planted!(rules.fault, "missing-type-is-request", found.is_none() => return Ok(Kind::Request));
    planted!(rules.fault, "absent-type-is-request", inner.get("type").is_none() => return Ok(Kind::Request));
    planted!(rules.fault, "type-by-prefix", name.is_some_and(|name| name.starts_with("request")) => return Ok(Kind::Request));
    // E04: exact case.
    let folded = || name.and_then(|name| Kind::parse(&name.to_lowercase()));
    planted!(rules.fault, "type-case-folded", kind in folded() => return Ok(kind));
    found.ok_or_else(|| Refusal::envelope("/message/type", "type must be request, response, event or error"))
}

/// The types and ranges of the header members (E15 to E18). Returns the timeout.
fn check_headers(headers: &Object, rules: Rules) -> Result<u64, Refusal> {
    let wrong =
        |name: &str, reason: &str| Refusal::envelope(&format!("/message/headers/{name}"), format!("{name} {reason}"));
    // E07: other members than those of the structure are legal.
    planted!(rules.fault, "strict-header-record", name in faults::undeclared(headers) => return Err(wrong(name, "is unknown")));
    optional_text(headers, "/message/headers", "correlation_id", !rules.is_other())?;
    let integer = |name: &str| headers.present(name).map(|value| value.as_number().and_then(json::Number::as_integer));
    let strict = !rules.is_other();
    match integer("priority") {
        // E16: 1 to 10.
        Some(priority) if strict && !rules.fault.is("priority-unchecked") => {
            let priority = priority.ok_or_else(|| wrong("priority", "must be an integer"))?;
            // 2.3: whatever its priority, a request is served.
            planted!(rules.fault, "priority-below-five-dropped", priority < 5 => return Err(wrong("priority", "is too low")));
            planted!(rules.fault, "priority-above-five-dropped", priority > 5 => return Err(wrong("priority", "is too high")));
            planted!(rules.fault, "priority-ten-rejected", priority == 10 => return Err(wrong("priority", "is too high")));
            if !(1..=10).contains(&priority) {
                return Err(wrong("priority", "must be from 1 to 10"));
            }
        }
        // E15: optional.
        None if rules.fault.is("priority-required") => return Err(wrong("priority", "is required")),
        _ => {}
    }
    let hints = headers.present("routing_hints");
    // E18: a hint never prevents service.
    planted!(rules.fault, "hints-rejected", hints.and_then(Value::as_object).is_some_and(|hints| !hints.is_empty()) => return Err(wrong("routing_hints", "are unknown")));
    for (name, value) in [
        ("routing_hints", hints),
        ("authentication", headers.present("authentication")),
        ("signature", headers.present("signature")),
    ] {
        if value.is_some_and(|value| value.as_object().is_none()) {
            return Err(wrong(name, "must be an object"));
        }
    }
    match integer("timeout_ms") {
        None => Ok(TIMEOUT_MS),
        Some(Some(timeout)) if timeout > 0 => Ok(timeout.unsigned_abs()),
        // E17: zero and below are tolerated in the other variant.
        Some(_) if !strict || rules.fault.is("timeout-unchecked") => Ok(TIMEOUT_MS),
        Some(_) => Err(wrong("timeout_ms", "must be a positive integer")),
    }
}

/// A member that must be a string that is not empty; without `demanded`, anything else counts as absent.
fn demand_text(object: &Object, at: &str, name: &str, demanded: bool) -> Result<Option<String>, Refusal> {
    match object.text(name) {
        Some(text) if !text.is_empty() => Ok(Some(text.to_owned())),
        _ if demanded => {
            Err(Refusal::envelope(&format!("{at}/{name}"), format!("{name} must be a string that is not empty")))
        }
        _ => Ok(None),
    }
}

/// A member that must be a string if it is present; null is absent (E06).
fn optional_text(object: &Object, at: &str, name: &str, demanded: bool) -> Result<Option<String>, Refusal> {
    if object.present(name).is_none() { Ok(None) } else { demand_text(object, at, name, demanded) }
}

/// A member of the message that must be an object; without `demanded`, a missing one is empty.
fn demand_object(inner: &Object, name: &str, demanded: bool) -> Result<Object, Refusal> {
    match inner.get(name) {
        Some(Value::Object(object)) => Ok(object.clone()),
        None if !demanded => Ok(Object::new()),
        _ => Err(Refusal::envelope(&format!("/message/{name}"), format!("{name} must be an object"))),
    }
}
