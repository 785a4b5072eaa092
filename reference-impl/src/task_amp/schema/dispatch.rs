//! Spec 01: the payload of task_dispatch.

use std::collections::HashSet;

use super::fields::{Check, Place, not_blank};
use super::problem::Code;
use crate::fault::planted;
use crate::json::Value;
use crate::task_amp::rules::Rules;

pub(super) fn check(check: &mut Check, payload: &Place<'_>) {
    payload.filled(check, "description");
    if let Some(repo) = payload.text(check, "repo") {
        check.demand(is_absolute(check.rules, repo), Code::BadFormat, payload.at("repo"), "an absolute path");
    }
    if let Some(branch) = payload.text(check, "branch") {
        check.demand(!branch.trim().is_empty(), Code::BadFormat, payload.at("branch"), "not blank");
        let refusal = "the branch must not be main or master";
        check.demand(!is_forbidden(check.rules, branch), Code::BranchForbidden, payload.at("branch"), refusal);
    }
    subtasks(check, payload);
    criteria(check, payload);
    risk(check, payload);
    payload.optional_texts(check, "forbidden_actions");
    if let Some(constraints) = payload.optional(check, "tech_constraints") {
        check.demand(constraints.as_object().is_some(), Code::WrongType, payload.at("tech_constraints"), "an object");
    }
}

/// 01: a local absolute path (E28); a drive letter is one, too.
fn is_absolute(rules: Rules, repo: &str) -> bool {
    // 01: absolute.
    planted!(rules.fault, "relative-repo-accepted", return !repo.is_empty());
    let mut start = repo.chars();
    let drive = start.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && start.next() == Some(':');
    repo.starts_with('/') || (drive && matches!(start.next(), Some('/' | '\\')))
}

/// 01, Branch Validation: exactly these two names (E26).
#[must_use]
pub(crate) fn is_forbidden(rules: Rules, branch: &str) -> bool {
    // 01.3: the whole name counts, not a part of it.
    planted!(rules.fault, "main-as-substring", branch.contains("main") => return true);
    // 01.3: main and master.
    branch == "main" || (branch == "master" && !rules.fault.is("master-forgotten"))
}

/// 01: an ordered list, each with an id, a description and a number of lines (E29).
fn subtasks(check: &mut Check, payload: &Place<'_>) {
    let Some(items) = payload.list(check, "subtasks") else { return };
    let mut ids = HashSet::new();
    // Other, E29: an empty list, and an id that occurs twice, are accepted.
    let strict = check.rules.is_strict();
    // 01: something to do.
    let some = !items.is_empty() || check.rules.fault.is("subtasks-may-be-empty");
    check.demand(some || !strict, Code::OutOfRange, payload.at("subtasks"), "at least one");
    for subtask in payload.objects(check, "subtasks", items) {
        if let Some(id) = subtask.filled(check, "subtask_id") {
            // 01: an id names one subtask.
            let fresh = ids.insert(id) || !strict || check.rules.fault.is("subtask-ids-repeat");
            check.demand(fresh, Code::BadFormat, subtask.at("subtask_id"), "used once");
        }
        subtask.filled(check, "description");
        lines(check, &subtask);
    }
}

fn lines(check: &mut Check, subtask: &Place<'_>) {
    // Other, E07: any number of lines is taken, also a fraction.
    if check.rules.is_other() {
        if let Some(value) = subtask.required(check, "estimated_lines") {
            check.demand(value.as_number().is_some(), Code::WrongType, subtask.at("estimated_lines"), "a number");
        }
        return;
    }
    subtask.count(check, "estimated_lines");
}

/// 01, Acceptance Criteria: at least one (E27).
fn criteria(check: &mut Check, payload: &Place<'_>) {
    // 01: what is missing is refused, not made up.
    planted!(check.rules.fault, "criteria-defaulted", payload.object.present("acceptance_criteria").is_none() => return);
    let Some(items) = payload.texts(check, "acceptance_criteria") else { return };
    let path = payload.at("acceptance_criteria");
    // 01.3: the list must not be empty.
    let enough = !items.is_empty() || check.rules.fault.is("criteria-may-be-empty");
    check.demand(enough, Code::CriteriaEmpty, path.clone(), "at least one");
    not_blank(check, &path, items);
}

fn risk(check: &mut Check, payload: &Place<'_>) {
    // 01: an unknown level is refused.
    let text = matches!(payload.object.get("risk_level"), Some(Value::Text(_)));
    planted!(check.rules.fault, "risk-coerced-to-low", text => return);
    payload.choice(check, "risk_level", &["low", "medium", "high"]);
}
