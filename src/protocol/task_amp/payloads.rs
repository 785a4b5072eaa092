//! The payloads of the five types (sections 01.2 to 05.2), and their conditional members.

use super::members::{Kind, Rule, Violation, may, members, must, violation};
use crate::value::Value;
use crate::wire::show;

const DISPATCH: &[Rule] = &[
    must("description", "TASK-01.2-01", "TASK-01.2-02", Kind::Text),
    must("repo", "TASK-01.2-04", "TASK-01.2-05", Kind::Text),
    must("branch", "TASK-01.2-07", "TASK-01.2-08", Kind::Text),
    must("subtasks", "TASK-01.2-12", "TASK-01.2-13", Kind::Elements(SUBTASK)),
    must("acceptance_criteria", "TASK-01.2-18", "TASK-01.2-19", Kind::Texts),
    must("risk_level", "TASK-01.2-23", "TASK-01.2-24", Kind::OneOf(&["low", "medium", "high"])),
    may("forbidden_actions", "TASK-01.2-28", Kind::Texts),
    may("tech_constraints", "TASK-01.2-31", Kind::Object),
];

const SUBTASK: &[Rule] = &[
    must("subtask_id", "TASK-01.2-14", "TASK-01.2-14", Kind::Text),
    must("description", "TASK-01.2-15", "TASK-01.2-15", Kind::Text),
    must("estimated_lines", "TASK-01.2-16", "TASK-01.2-16", Kind::Number),
];

const RESULT: &[Rule] = &[
    must("subtask_id", "TASK-02.2-01", "TASK-02.2-02", Kind::Text),
    must("completion_status", "TASK-02.2-04", "TASK-02.2-05", Kind::OneOf(&["complete", "partial", "failed"])),
    must("diff_summary", "TASK-02.2-07", "TASK-02.2-08", Kind::Members(DIFF)),
    must("self_assessment", "TASK-02.2-16", "TASK-02.2-17", Kind::Members(ASSESSMENT)),
    must("work_log", "TASK-02.2-24", "TASK-02.2-25", Kind::Elements(LOG)),
    may("commit_hash", "TASK-02.2-31", Kind::Text),
    may("blockers", "TASK-02.2-35", Kind::Texts),
];

const DIFF: &[Rule] = &[
    must("files_changed", "TASK-02.2-09", "TASK-02.2-10", Kind::Texts),
    must("lines_added", "TASK-02.2-11", "TASK-02.2-12", Kind::Whole),
    must("lines_removed", "TASK-02.2-13", "TASK-02.2-14", Kind::Whole),
];

const ASSESSMENT: &[Rule] = &[
    must("criteria_met", "TASK-02.2-18", "TASK-02.2-19", Kind::Ternaries),
    must("notes", "TASK-02.2-21", "TASK-02.2-22", Kind::Texts),
];

const LOG: &[Rule] = &[
    must("timestamp", "TASK-02.2-26", "TASK-02.2-26", Kind::Text),
    must("action", "TASK-02.2-27", "TASK-02.2-27", Kind::Text),
    must("file", "TASK-02.2-28", "TASK-02.2-28", Kind::Text),
    must("detail", "TASK-02.2-29", "TASK-02.2-29", Kind::Text),
];

const REQUEST: &[Rule] = &[
    must("original_dispatch_ref", "TASK-03.2-01", "TASK-03.2-02", Kind::Text),
    must("task_result_ref", "TASK-03.2-04", "TASK-03.2-05", Kind::Text),
    must("review_scope", "TASK-03.2-07", "TASK-03.2-08", Kind::OneOf(&["full", "incremental"])),
    must("diff_url", "TASK-03.2-10", "TASK-03.2-11", Kind::Text),
    must("reject_count", "TASK-03.2-13", "TASK-03.2-14", Kind::Whole),
    may("coordinator_notes", "TASK-03.2-17", Kind::Text),
    may("ci_status", "TASK-03.2-19", Kind::Object),
];

const VERDICT: &[Rule] = &[
    must("decision", "TASK-04.2-01", "TASK-04.2-02", Kind::OneOf(&["approved", "approved_with_fix", "rejected"])),
    must("criteria_results", "TASK-04.2-04", "TASK-04.2-05", Kind::Elements(CRITERION)),
    may("issues", "TASK-04.2-12", Kind::Elements(ISSUE)),
    may("architecture_notes", "TASK-04.2-27", Kind::Text),
    must("confidence", "TASK-04.2-29", "TASK-04.2-30", Kind::Number),
];

const CRITERION: &[Rule] = &[
    must("criterion", "TASK-04.2-06", "TASK-04.2-06", Kind::Text),
    must("passed", "TASK-04.2-07", "TASK-04.2-08", Kind::BooleanOrNull),
    must("evidence", "TASK-04.2-09", "TASK-04.2-10", Kind::Text),
];

const ISSUE: &[Rule] = &[
    must("severity", "TASK-04.2-13", "TASK-04.3-05", Kind::OneOf(&["critical", "major", "minor"])),
    must("file", "TASK-04.2-14", "TASK-04.2-14", Kind::Text),
    must("line", "TASK-04.2-15", "TASK-04.2-15", Kind::WholeOrNull),
    must("description", "TASK-04.2-16", "TASK-04.2-16", Kind::Text),
    must("suggested_fix", "TASK-04.2-17", "TASK-04.2-17", Kind::Text),
];

const FIX: &[Rule] = &[
    must("file", "TASK-04.2-20", "TASK-04.2-20", Kind::Text),
    // Both tokens for the order of imports are accepted (E51).
    must(
        "change_type",
        "TASK-04.2-21",
        "TASK-04.2-22",
        Kind::OneOf(&["typo", "lint", "whitespace", "import", "import_order"]),
    ),
    must("diff_lines", "TASK-04.2-23", "TASK-04.2-23", Kind::Whole),
];

const ESCALATION: &[Rule] = &[
    must(
        "escalation_type",
        "TASK-05.2-01",
        "TASK-05.2-02",
        Kind::OneOf(&[
            "hallucination_lock",
            "ack_timeout",
            "branch_violation",
            "ci_failure",
            "conflict",
            "heartbeat_timeout",
            "permission_denied",
            "unknown",
        ]),
    ),
    must("severity", "TASK-05.2-03", "TASK-05.2-04", Kind::OneOf(&["critical", "warning", "info"])),
    must(
        "triggered_by",
        "TASK-05.2-05",
        "TASK-05.2-06",
        Kind::OneOf(&["coordinator", "executor", "reviewer", "system"]),
    ),
    must("description", "TASK-05.2-07", "TASK-05.2-08", Kind::Text),
    must("affected_msgs", "TASK-05.2-10", "TASK-05.2-11", Kind::Texts),
    must("system_state_snapshot", "TASK-05.2-13", "TASK-05.2-14", Kind::Members(SNAPSHOT)),
    may("suggested_actions", "TASK-05.2-20", Kind::Texts),
    must("auto_suspended", "TASK-05.2-21", "TASK-05.2-22", Kind::Boolean),
];

const SNAPSHOT: &[Rule] = &[
    must("task_status", "TASK-05.2-15", "TASK-05.2-15", Kind::Text),
    must("reject_count", "TASK-05.2-16", "TASK-05.2-16", Kind::Whole),
    must("last_successful_msg_id", "TASK-05.2-17", "TASK-05.2-17", Kind::TextOrNull),
];

/// The violations of the payload of a type.
pub(super) fn violations(kind: &str, payload: &Value, place: &str, found: &mut Vec<Violation>) {
    let rules = match kind {
        "task_dispatch" => DISPATCH,
        "task_result" => RESULT,
        "review_request" => REQUEST,
        "review_verdict" => VERDICT,
        "escalation" => ESCALATION,
        _ => return,
    };
    members(payload, rules, place, found);
    match kind {
        "task_dispatch" => dispatch(payload, place, found),
        "task_result" => result(payload, place, found),
        "review_verdict" => verdict(payload, place, found),
        "escalation" => escalation(payload, place, found),
        _ => {}
    }
}

fn text<'v>(payload: &'v Value, name: &str) -> Option<&'v str> {
    payload.member(name).and_then(Value::as_text)
}

fn dispatch(payload: &Value, place: &str, found: &mut Vec<Violation>) {
    if payload.member("acceptance_criteria").and_then(Value::as_array).is_some_and(<[Value]>::is_empty) {
        let place = format!("{place}/acceptance_criteria");
        found.push(violation("TASK-01.3-04", place, "no acceptance criteria".to_owned()));
    }
    if text(payload, "branch") == Some("") {
        found.push(violation("TASK-01.2-08", format!("{place}/branch"), "an empty branch".to_owned()));
    }
    if let Some(repo) = text(payload, "repo")
        && !is_absolute(repo)
    {
        let place = format!("{place}/repo");
        found.push(violation("TASK-01.2-05", place, format!("`{repo}`, which is not an absolute path")));
    }
}

/// A path from the root, or one that begins with a drive letter.
fn is_absolute(repo: &str) -> bool {
    let drive = |bytes: &[u8]| matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    repo.starts_with('/') || repo.starts_with("\\\\") || drive(repo.as_bytes())
}

fn result(payload: &Value, place: &str, found: &mut Vec<Violation>) {
    let status = text(payload, "completion_status").unwrap_or_default();
    let without = matches!(payload.member("blockers"), None | Some(Value::Null));
    let requirement = match status {
        "partial" => "TASK-02.2-33",
        "failed" => "TASK-02.2-34",
        _ => "",
    };
    if without && !requirement.is_empty() {
        found.push(violation(requirement, format!("{place}/blockers"), format!("no blockers with status {status}")));
    }
    // Upper-case digits and short hashes are tolerated.
    if let Some(hash) = text(payload, "commit_hash")
        && (hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        found.push(violation("TASK-02.2-31", format!("{place}/commit_hash"), format!("the commit hash `{hash}`")));
    }
}

fn verdict(payload: &Value, place: &str, found: &mut Vec<Violation>) {
    let decision = text(payload, "decision").unwrap_or_default();
    let is_empty = |list: Option<&Value>| list.and_then(Value::as_array).is_none_or(<[Value]>::is_empty);
    if decision == "rejected" && is_empty(payload.member("issues")) {
        found.push(violation("TASK-04.2-12", format!("{place}/issues"), "a rejection without issues".to_owned()));
    }
    if let Some(confidence) = payload.member("confidence").and_then(Value::as_f64)
        && !(0.0..=1.0).contains(&confidence)
    {
        found.push(violation("TASK-04.2-31", format!("{place}/confidence"), format!("the confidence {confidence}")));
    }
    // With another decision the fixes are judged in the strict profile only (E83).
    if decision != "approved_with_fix" {
        return;
    }
    let here = format!("{place}/direct_fixes");
    let Some(fixes) = payload.member("direct_fixes").filter(|fixes| **fixes != Value::Null) else {
        found.push(violation("TASK-04.2-19", here, "approved_with_fix without direct_fixes".to_owned()));
        return;
    };
    let Some(fixes) = fixes.as_array() else {
        found.push(violation("TASK-04.2-19", here, format!("{} as direct_fixes", show(fixes))));
        return;
    };
    for (index, fix) in fixes.iter().enumerate() {
        let here = format!("{here}/{index}");
        if fix.as_map().is_none() {
            found.push(violation("TASK-04.2-20", here, format!("{} as a direct fix", show(fix))));
            continue;
        }
        members(fix, FIX, &here, found);
        if let Some(lines) = fix.member("diff_lines").and_then(Value::as_integer)
            && lines >= 5
        {
            found.push(violation("TASK-04.2-24", format!("{here}/diff_lines"), format!("{lines} changed lines")));
        }
    }
}

fn escalation(payload: &Value, place: &str, found: &mut Vec<Violation>) {
    if text(payload, "severity") == Some("critical") && payload.member("auto_suspended") == Some(&Value::Bool(false)) {
        let place = format!("{place}/auto_suspended");
        found.push(violation("TASK-05.3-01", place, "a critical escalation that suspends nothing".to_owned()));
    }
}
