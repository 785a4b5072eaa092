//! Spec 04: the payload of review_verdict.

use super::fields::{Check, Place, integer, severities};
use super::problem::Code;
use crate::fault::planted;
use crate::json::{Number, Value};

/// 04.3: the kinds of direct fixes (E51: both spellings of the last one).
const CHANGE_TYPES: [&str; 5] = ["typo", "lint", "whitespace", "import", "import_order"];

/// 04.3: fewer lines than this.
const FIX_LIMIT: i64 = 5;

const SEVERITIES: [&str; 3] = ["critical", "major", "minor"];

pub(super) fn check(check: &mut Check, payload: &Place<'_>) {
    let decision = payload.choice(check, "decision", &["approved", "approved_with_fix", "rejected"]);
    criteria_results(check, payload);
    issues(check, payload, decision);
    direct_fixes(check, payload, decision);
    payload.optional_text(check, "architecture_notes");
    confidence(check, payload);
}

/// 04: one by one, each with a text, a judgement and evidence (E47, E48).
fn criteria_results(check: &mut Check, payload: &Place<'_>) {
    let Some(items) = payload.list(check, "criteria_results") else { return };
    check.demand(!items.is_empty(), Code::CriteriaEmpty, payload.at("criteria_results"), "at least one");
    for entry in payload.objects(check, "criteria_results", items) {
        entry.text(check, "criterion");
        let passed = entry.object.get("passed");
        // 04: required.
        let there = passed.is_some() || check.rules.fault.is("passed-optional");
        check.demand(there, Code::MissingField, entry.at("passed"), "required");
        let valid = passed.is_none_or(|passed| matches!(passed, Value::Bool(_) | Value::Null));
        // 04: a boolean.
        let valid = valid || check.rules.fault.is("passed-unchecked");
        check.demand(valid, Code::WrongType, entry.at("passed"), "a boolean");
        entry.text(check, "evidence");
    }
}

/// 04: required when the decision is rejected (E49, E50).
fn issues(check: &mut Check, payload: &Place<'_>, decision: Option<&str>) {
    // 04: whatever the decision.
    planted!(check.rules.fault, "issues-unread-unless-rejected", decision != Some("rejected") => return);
    let value = payload.optional(check, "issues");
    if is_left_alone(check, value) {
        return;
    }
    let items = value.and_then(Value::as_list);
    let list = value.is_none() || items.is_some();
    check.demand(list, Code::WrongType, payload.at("issues"), "an array");
    // 04: an empty list says nothing.
    let some = items.is_some_and(|items| !items.is_empty() || check.rules.fault.is("rejected-without-issues"));
    let needed = decision == Some("rejected") && list;
    check.demand(!needed || some, Code::IssuesRequired, payload.at("issues"), "required when rejected");
    let items = items.unwrap_or_default();
    for issue in payload.objects(check, "issues", items) {
        let severity = issue.choice(check, "severity", severities(check.rules, &SEVERITIES));
        for name in ["file", "description", "suggested_fix"] {
            issue.text(check, name);
        }
        let line = issue.object.get("line");
        // 04: required.
        let there = line.is_some() || check.rules.fault.is("line-optional");
        check.demand(there, Code::MissingField, issue.at("line"), "required");
        let valid = line.is_none_or(|line| *line == Value::Null || integer(check.rules, line).is_some());
        check.demand(valid, Code::WrongType, issue.at("line"), "an integer");
        let blocks = decision == Some("approved") && matches!(severity, Some("critical" | "major"));
        // Other, E50: what the sender made of its issues is its own affair.
        let allowed = !blocks || check.rules.is_other();
        // 04.3: critical and major block.
        let allowed = allowed || check.rules.fault.is("blocking-issue-approved");
        check.demand(allowed, Code::OutOfRange, issue.at("severity"), "not with an approval");
    }
}

/// 04.3, Direct Fix Scope (E51, E52, E53, E83).
fn direct_fixes(check: &mut Check, payload: &Place<'_>, decision: Option<&str>) {
    let fixed = decision == Some("approved_with_fix");
    // Other, E83: of no interest with another decision.
    if check.rules.is_other() && !fixed {
        return;
    }
    let value = payload.optional(check, "direct_fixes");
    if is_left_alone(check, value) {
        return;
    }
    let items = value.and_then(Value::as_list);
    check.demand(value.is_none() || items.is_some(), Code::WrongType, payload.at("direct_fixes"), "an array");
    // Other, E53: an empty list is a list.
    let given = items.is_some_and(|items| !items.is_empty() || check.rules.is_other());
    // 04: required with this decision.
    let fixed = fixed && !check.rules.fault.is("direct-fixes-optional");
    let refusal = "required when approved with fixes";
    check.demand(given || !fixed, Code::DirectFixesRequired, payload.at("direct_fixes"), refusal);
    for fix in payload.objects(check, "direct_fixes", items.unwrap_or_default()) {
        fix.text(check, "file");
        change_type(check, &fix);
        let Some(lines) = fix.integer(check, "diff_lines") else { continue };
        // 04.3: below five.
        let limit = if check.rules.fault.is("fix-limit-inclusive") { FIX_LIMIT + 1 } else { FIX_LIMIT };
        // Other, E52: zero and less are below five.
        let counted = lines > 0 || check.rules.is_other();
        check.demand(lines < limit && counted, Code::FixOutOfRange, fix.at("diff_lines"), "1 to 4");
    }
}

fn change_type(check: &mut Check, fix: &Place<'_>) {
    let Some(kind) = fix.text(check, "change_type") else { return };
    // 04.3: import_order is one of them.
    let unknown = kind == "import_order" && check.rules.fault.is("import-order-unknown");
    // 04.3: nothing else may be repaired.
    let known = CHANGE_TYPES.contains(&kind) || check.rules.fault.is("fix-kind-unchecked");
    let refusal = format!("one of {}", CHANGE_TYPES.join(", "));
    check.demand(known && !unknown, Code::FixOutOfRange, fix.at("change_type"), &refusal);
}

/// 04: a number from 0 to 1.
fn confidence(check: &mut Check, payload: &Place<'_>) {
    let Some(value) = payload.required(check, "confidence") else { return };
    let path = payload.at("confidence");
    // 04: a number.
    planted!(check.rules.fault, "confidence-unchecked", value.as_number().is_none() => return);
    let Some(number) = value.as_number().map(Number::as_f64) else {
        check.add(Code::WrongType, path, "a number");
        return;
    };
    // 04: a share, not a percentage.
    let most = if check.rules.fault.is("confidence-in-percent") { 100.0 } else { 1.0 };
    check.demand((0.0..=most).contains(&number), Code::OutOfRange, path, "0.0 to 1.0");
}

/// Whether a mistake leaves issues or direct fixes alone that are not a list.
fn is_left_alone(check: &Check, value: Option<&Value>) -> bool {
    // 04: an array.
    check.rules.fault.is("verdict-lists-unchecked") && value.is_some_and(|value| value.as_list().is_none())
}
