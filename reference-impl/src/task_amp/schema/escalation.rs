//! Spec 05: the payload of escalation.

use super::fields::{Check, Place, excused, ids, integer, severities};
use super::problem::Code;
use crate::json::Value;

/// 05, escalation_type.
pub(crate) const TYPES: [&str; 8] = [
    "hallucination_lock",
    "ack_timeout",
    "branch_violation",
    "ci_failure",
    "conflict",
    "heartbeat_timeout",
    "permission_denied",
    "unknown",
];

const SEVERITIES: [&str; 3] = ["critical", "warning", "info"];

pub(super) fn check(check: &mut Check, payload: &Place<'_>) {
    payload.choice(check, "escalation_type", &TYPES);
    let severity = payload.choice(check, "severity", severities(check.rules, &SEVERITIES));
    payload.choice(check, "triggered_by", &["coordinator", "executor", "reviewer", "system"]);
    payload.filled(check, "description");
    if let Some(items) = payload.texts(check, "affected_msgs") {
        ids(check, &payload.at("affected_msgs"), items);
    }
    snapshot(check, payload);
    payload.optional_texts(check, "suggested_actions");
    let suspended = payload.boolean(check, "auto_suspended");
    let running = match severity {
        // 05.3: critical stops.
        Some("critical") => check.rules.fault.is("critical-may-run"),
        // Other, E56: only critical is bound.
        Some("warning") => check.rules.is_other() || check.rules.fault.is("warning-may-run"),
        _ => true, // info, or refused already
    };
    let refusal = "true unless the severity is info";
    check.demand(suspended != Some(false) || running, Code::SuspendRequired, payload.at("auto_suspended"), refusal);
}

/// 05: state, rejects and the last success (E59).
fn snapshot(check: &mut Check, payload: &Place<'_>) {
    let Some(snapshot) = payload.object(check, "system_state_snapshot") else { return };
    snapshot.text(check, "task_status");
    if let Some(count) = snapshot.required(check, "reject_count") {
        let valid = integer(check.rules, count).is_some();
        let valid = valid || excused(check, count);
        check.demand(valid, Code::WrongType, snapshot.at("reject_count"), "an integer");
    }
    let last = snapshot.object.get("last_successful_msg_id");
    // 05: required.
    let there = last.is_some() || check.rules.fault.is("last-success-optional");
    check.demand(there, Code::MissingField, snapshot.at("last_successful_msg_id"), "required");
    let valid = last.is_none_or(|last| matches!(last, Value::Text(_) | Value::Null));
    check.demand(valid, Code::WrongType, snapshot.at("last_successful_msg_id"), "a string or null");
}
