//! The body (sections 2.2 and 4.5): its fields, and what the ultimate receiver does with it.

use super::code::Code;
use super::failure::{Failure, problem};
use super::faults;
use super::message::Message;
use super::node::Node;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// The members of section 2.2.
const KNOWN: [&str; 3] = ["task", "expectedOutput", "context"];

/// 2.2: checks the required fields. They bind the ultimate receiver (E27, E62).
///
/// # Errors
///
/// `amp:Sender`.
pub(crate) fn check(message: &Message, node: &Node, rules: &Rules) -> Result<(), Failure> {
    let Some(body) = message.body() else { return Ok(()) }; // an earlier step has checked it
    let mut reasons = Vec::new();
    match body.get("task") {
        Some(Value::Text(_)) => {}
        None if rules.fault.is("task-unchecked") => {}
        Some(_) if rules.fault.is("task-any-type") => {}
        Some(Value::List(tasks)) if tasks.len() == 1 && rules.fault.is("task-in-a-list") => {}
        other => reasons.push(problem("task", "a string", other)),
    }
    match body.get("expectedOutput") {
        Some(Value::List(_)) => {}
        None if rules.fault.is("expected-output-unchecked") => {}
        Some(Value::Text(_)) if rules.fault.is("expected-output-string") => {}
        other => reasons.push(problem("expectedOutput", "an array", other)),
    }
    match body.get("context") {
        None if rules.fault.is("context-required") => reasons.push("context is missing".to_owned()),
        None | Some(Value::Null | Value::Object(_)) => {} // null is not judged
        Some(_) if rules.fault.is("context-any-type") => {}
        other => reasons.push(problem("context", "an object", other)),
    }
    // 2.2: arbitrary task parameters.
    let nested = faults::structure::has_nested_context(body);
    planted!(rules.fault, "context-flat-only", nested => reasons.push("context is nested".to_owned()));
    // Security: a node that cannot read an encrypted field processes the rest.
    let locked = faults::structure::has_foreign_name(body);
    planted!(rules.fault, "encrypted-field-refused", locked => reasons.push("invalid member name".to_owned()));
    // Other, E53, E79: an agreement may be closed at the receiver, never at a relay.
    if let Some(name) = unknown(body).filter(|_| rules.is_other() && node.is_receiver()) {
        reasons.push(format!("unknown member {name}"));
    }
    Failure::of(Code::Sender, reasons).map_or(Ok(()), Err)
}

/// A member that section 2.2 does not know; the one that intermediaries of this implementation add is not meant.
#[must_use]
pub(crate) fn unknown(body: &Object) -> Option<&str> {
    body.iter().map(|(name, _)| name).find(|name| !KNOWN.contains(name) && *name != "servedBy")
}

/// A body that was processed, for the delivery log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// The word at `/Envelope/Body/context/proofmark` (binding.md, 1), if any.
    pub(crate) nonce: Option<String>,
    pub(crate) message_id: String,
    pub(crate) trace_id: String,
    pub(crate) task: String,
}

impl Delivery {
    fn of(message: &Message) -> Self {
        let body = message.body();
        let context = body.and_then(|body| body.get("context")).and_then(Value::as_object);
        let text = |name: &str| message.header_text(name).unwrap_or_default().to_owned();
        Self {
            nonce: context.and_then(|context| context.text("proofmark")).map(str::to_owned),
            message_id: text("messageId"),
            trace_id: text("traceId"),
            task: body.and_then(|body| body.text("task")).unwrap_or_default().to_owned(),
        }
    }
}

/// 4.5, 4.7 step 8: the ultimate receiver processes the task. The result is the Body of the reply, if the task has one.
///
/// # Errors
///
/// `amp:Receiver` if the task is refused.
pub(crate) fn process(message: &Message, node: &Node, rules: &Rules) -> Result<(Delivery, Option<Object>), Failure> {
    let Some(body) = message.body() else { return Ok((Delivery::of(message), None)) };
    // 4: a path may have no intermediary.
    let direct = !message.header_text("traceId").is_some_and(|trace| trace.contains(";hop="));
    planted!(rules.fault, "hop-trail-required", direct => return Err(Failure::sender("no intermediary sent this")));
    // Other, E76: a receiver without the key refuses what it cannot read.
    if rules.is_other() && message.is_encrypted() {
        return Err(Failure::new(Code::Receiver, "no key for this message"));
    }
    let task = body.text("task").unwrap_or_default();
    let agreed = node.tasks.iter().find(|(known, _)| known == task).map(|(_, accepted)| *accepted);
    if agreed == Some(false) {
        return Err(Failure::new(Code::Receiver, format!("the task {task} is refused")));
    }
    let delivery = Delivery::of(message);
    // Other, E70: acceptance without a reply.
    if task != "echo" || agreed.is_none() || rules.variant.is_other_as_declared() {
        return Ok((delivery, None));
    }
    let context = body.get("context").cloned().unwrap_or(Value::Null);
    let mut result = Object::from([("echo", context)]);
    planted!(rules.fault, "echo-empty", result = Object::new());
    let mut reply =
        Object::from([("task", task.into()), ("expectedOutput", Value::List(Vec::new())), ("context", result.into())]);
    // 2.2: replies are messages.
    planted!(rules.fault, "reply-without-task", reply.retain(|name, _| name == "context"));
    Ok((delivery, Some(reply)))
}
