//! The rules of a message (sections 00 to 05 of the specification) under which every reading of the errata rejects it.
//!
//! Stricter evidence than in the suites: what an entry of the errata tolerates, or asks for in the strict profile only, is not
//! a violation here. Findings of the fuzzer, the store that proofmark hosts, and the confirmation of vectors rest on it.

use super::id::{self, TYPES};
use super::members::{Kind, Rule, Violation, may, members, must, violation};
use super::payloads;
use crate::value::Value;

const ENVELOPE: &[Rule] = &[
    must("msg_id", "TASK-00.1-01", "TASK-00.1-02", Kind::Text),
    must("protocol_version", "TASK-00.1-10", "TASK-00.1-11", Kind::Text),
    must("type", "TASK-00.1-13", "TASK-00.1-14", Kind::OneOf(TYPES)),
    must(
        "from",
        "TASK-00.1-15",
        "TASK-00.1-16",
        Kind::OneOf(&["admin", "coordinator", "executor", "reviewer", "system"]),
    ),
    must("to", "TASK-00.1-17", "TASK-00.1-18", Kind::OneOf(&["admin", "coordinator", "executor", "reviewer"])),
    must("task_id", "TASK-00.1-19", "TASK-00.1-20", Kind::Text),
    must("timestamp", "TASK-00.1-22", "TASK-00.1-23", Kind::Text),
    must("requires_ack", "TASK-00.1-25", "TASK-00.1-26", Kind::Boolean),
    may("ack_timeout_sec", "TASK-00.1-32", Kind::Whole),
    may("context_ref", "TASK-00.1-38", Kind::Texts),
    must("payload", "TASK-00.1-42", "TASK-00.1-43", Kind::Object),
];

/// Every violation of a message, those of the envelope first. Empty for a message that some reading accepts.
pub(super) fn violations(message: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    if message.as_map().is_none() {
        found.push(violation("TASK-I-04", "", "a body that is not an object".to_owned()));
        return found;
    }
    members(message, ENVELOPE, "", &mut found);
    let text = |name: &str| message.member(name).and_then(Value::as_text);
    if let Some(version) = text("protocol_version")
        && !is_compatible(version)
    {
        found.push(violation("TASK-00.1-12", "/protocol_version", format!("the version `{version}`")));
    }
    if let Some(task) = text("task_id")
        && !id::is_task(task)
    {
        found.push(violation("TASK-00.1-20", "/task_id", format!("the task_id `{task}`")));
    }
    if let Some(timestamp) = text("timestamp") {
        match id::time(timestamp) {
            id::Time::Invalid => {
                found.push(violation("TASK-00.1-23", "/timestamp", format!("the timestamp `{timestamp}`")));
            }
            id::Time::WithoutOffset => {
                found.push(violation("TASK-00.1-24", "/timestamp", format!("`{timestamp}`, a time without an offset")));
            }
            id::Time::Valid => {}
        }
    }
    if let Some(msg_id) = text("msg_id") {
        identity(msg_id, text("type"), text("task_id"), &mut found);
    }
    let Some(kind) = text("type") else { return found };
    route(kind, text("from"), text("to"), &mut found);
    if let Some(payload) = message.member("payload").filter(|payload| payload.as_map().is_some()) {
        payloads::violations(kind, payload, "/payload", &mut found);
    }
    found
}

/// The version of the specification, and its later minor versions, which a receiver may take as compatible (E12).
fn is_compatible(version: &str) -> bool {
    version.strip_prefix("AMP/1.").is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit()))
}

/// The form of msg_id, and its agreement with type and task_id.
fn identity(msg_id: &str, kind: Option<&str>, task: Option<&str>, found: &mut Vec<Violation>) {
    let Some(parts) = id::parts(msg_id) else {
        found.push(violation("TASK-00.1-03", "/msg_id", format!("the msg_id `{msg_id}`")));
        return;
    };
    if kind.is_some_and(|kind| TYPES.contains(&kind) && kind != parts.kind) {
        found.push(violation("TASK-00.1-04", "/msg_id", format!("the msg_id `{msg_id}` of another type")));
    }
    if task.is_some_and(|task| task != parts.task) {
        found.push(violation("TASK-00.1-05", "/msg_id", format!("the msg_id `{msg_id}` of another task")));
    }
}

/// The routes of the head cards (E14). What the admin sends is left open.
fn route(kind: &str, from: Option<&str>, to: Option<&str>, found: &mut Vec<Violation>) {
    let (Some(from), Some(to)) = (from, to) else { return };
    let (requirement, senders, receiver): (&str, &[&str], &str) = match kind {
        "task_dispatch" => ("TASK-01.1-01", &["coordinator"], "executor"),
        "task_result" => ("TASK-02.1-01", &["executor"], "coordinator"),
        "review_request" => ("TASK-03.1-01", &["coordinator"], "reviewer"),
        "review_verdict" => ("TASK-04.1-01", &["reviewer"], "coordinator"),
        "escalation" => ("TASK-05.1-02", &["coordinator", "executor", "reviewer", "system"], "admin"),
        _ => return,
    };
    if from == "admin" {
        return;
    }
    if !senders.contains(&from) || to != receiver {
        found.push(violation(requirement, "/to", format!("a {kind} from {from} to {to}")));
    }
}
