//! Spec 03: the payload of review_request.

use super::fields::{Check, Place};
use super::problem::Code;
use crate::task_amp::message_id;
use crate::task_amp::role::Kind;

pub(super) fn check(check: &mut Check, payload: &Place<'_>, task: Option<&str>) {
    reference(check, payload, "original_dispatch_ref", Kind::Dispatch, task);
    reference(check, payload, "task_result_ref", Kind::Result, task);
    payload.choice(check, "review_scope", &["full", "incremental"]);
    if let Some(url) = payload.text(check, "diff_url") {
        // Other, E42: any text that is not empty.
        let valid = if check.rules.is_other() { !url.is_empty() } else { is_url_or_path(url) };
        // 03: a URL or a path.
        let valid = valid || check.rules.fault.is("diff-url-unchecked");
        check.demand(valid, Code::BadFormat, payload.at("diff_url"), "an http URL or a path");
    }
    payload.count(check, "reject_count");
    payload.optional_text(check, "coordinator_notes");
    if let Some(status) = payload.optional(check, "ci_status") {
        check.demand(status.as_object().is_some(), Code::WrongType, payload.at("ci_status"), "an object");
    }
}

/// 03: the id of a message of this type, of the same task under the strict reading.
fn reference(check: &mut Check, payload: &Place<'_>, name: &str, kind: Kind, task: Option<&str>) {
    let Some(text) = payload.text(check, name) else { return };
    let parts = message_id::parse(check.rules, text);
    let of_kind = parts.is_some_and(|parts| parts.kind == kind);
    // 03: of the type that the member says.
    let of_kind = of_kind || (parts.is_some() && check.rules.fault.is("ref-type-unchecked"));
    check.demand(of_kind, Code::BadFormat, payload.at(name), &format!("the msg_id of a {}", kind.name()));
    // Other, E69: a message of another task may be named.
    let same = match (parts, task) {
        (Some(parts), Some(task)) => parts.task == task || check.rules.is_other(),
        _ => true, // refused already
    };
    // 03: of the same task.
    let same = same || check.rules.fault.is("ref-task-unchecked");
    check.demand(same, Code::UnresolvedRef, payload.at(name), "a message of the same task");
}

/// E42: an http URL, or a path: it contains a slash or ends as a diff.
fn is_url_or_path(text: &str) -> bool {
    let path = text.contains('/') || text.ends_with(".diff") || text.ends_with(".patch");
    path && !text.contains(char::is_whitespace)
}
