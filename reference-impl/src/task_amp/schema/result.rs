//! Spec 02: the payload of task_result.

use super::fields::{Check, Place, not_blank};
use super::problem::Code;
use crate::fault::planted;
use crate::json::Value;
use crate::task_amp::time;

pub(super) fn check(check: &mut Check, payload: &Place<'_>) {
    payload.filled(check, "subtask_id");
    let status = payload.choice(check, "completion_status", &["complete", "partial", "failed"]);
    if let Some(summary) = payload.object(check, "diff_summary") {
        summary.texts(check, "files_changed");
        summary.count(check, "lines_added");
        summary.count(check, "lines_removed");
    }
    if let Some(assessment) = payload.object(check, "self_assessment") {
        criteria_met(check, &assessment);
        assessment.texts(check, "notes");
    }
    work_log(check, payload);
    if let Some(hash) = payload.optional_text(check, "commit_hash") {
        // E37: 7 to 64 digits, shorter ones under the lenient reading.
        let shortest = if check.rules.is_other() { 1 } else { 7 };
        // 02: hexadecimal digits.
        let digits = hash.bytes().all(|byte| byte.is_ascii_hexdigit()) || check.rules.fault.is("commit-hash-unchecked");
        let valid = digits && (shortest..=64).contains(&hash.len());
        check.demand(valid, Code::BadFormat, payload.at("commit_hash"), "7 to 64 hexadecimal digits");
    }
    blockers(check, payload, status);
}

/// 02: true, false, or null for what the executor cannot verify itself (E33).
fn criteria_met(check: &mut Check, assessment: &Place<'_>) {
    let Some(items) = assessment.list(check, "criteria_met") else { return };
    for (index, item) in items.iter().enumerate() {
        // 02.3: null is legal.
        let null = *item == Value::Null && !check.rules.fault.is("bool-only-criteria");
        let valid = null || matches!(item, Value::Bool(_));
        // 02: not a number or a text that stands for one of the three.
        let valid = valid || check.rules.fault.is("criteria-met-unchecked");
        let path = format!("{}/{index}", assessment.at("criteria_met"));
        check.demand(valid, Code::WrongType, path, "true, false or null");
    }
}

/// 02: four members in each entry (E35).
fn work_log(check: &mut Check, payload: &Place<'_>) {
    let Some(items) = payload.list(check, "work_log") else { return };
    for entry in payload.objects(check, "work_log", items) {
        if let Some(text) = entry.text(check, "timestamp") {
            // Other, E13, E35: any text is a time here.
            let valid = check.rules.is_other() || is_iso(check, text);
            // 02: a time.
            let valid = valid || check.rules.fault.is("work-log-time-unchecked");
            check.demand(valid, Code::BadFormat, entry.at("timestamp"), "ISO 8601");
        }
        for name in ["action", "file", "detail"] {
            entry.text(check, name);
        }
    }
}

/// E13: a nested time needs no offset.
fn is_iso(check: &Check, text: &str) -> bool {
    time::parse(check.rules, text).is_some() || time::parse(check.rules, &format!("{text}Z")).is_some()
}

/// 02, Partial Completion: required unless the work is complete (E36, E73).
fn blockers(check: &mut Check, payload: &Place<'_>, status: Option<&str>) {
    let path = payload.at("blockers");
    // 02: an array, however the work ended.
    let alone = status == Some("partial") && payload.object.text("blockers").is_some();
    planted!(check.rules.fault, "one-blocker-as-text", alone => return);
    let items = payload.optional_texts(check, "blockers");
    // 02: partial needs a reason as failed does.
    let exempt = status == Some("partial") && check.rules.fault.is("blockers-only-when-failed");
    if !matches!(status, Some("partial" | "failed")) || exempt {
        return;
    }
    // 02: a reason, not an empty list.
    planted!(check.rules.fault, "blockers-may-be-empty", items.is_some() => return);
    // Other, E36: an empty list is a list.
    let given = items.is_some_and(|items| !items.is_empty() || check.rules.is_other());
    check.demand(given, Code::BlockersRequired, path.clone(), "required when the work is not complete");
    not_blank(check, &path, items.unwrap_or_default());
}
