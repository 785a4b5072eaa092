//! The Reviewer: reads what a request names, and judges (spec 03.3, 04).

use super::desk::{Desk, Output};
use crate::fault::planted;
use crate::json::{Number, Object, Value};
use crate::task_amp::message::{Draft, Shared};
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::schema::{Code, Problem};

/// What a review found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Judgement {
    /// `approved`, `approved_with_fix` or `rejected`.
    pub(crate) decision: String,
    pub(crate) confidence: Option<f64>,
    pub(crate) issues: Vec<Object>,
    pub(crate) direct_fixes: Vec<Object>,
    pub(crate) evidence: String,
}

/// A review request.
pub(super) fn received(desk: &mut Desk<'_>, request: &Shared) {
    // 03.3, Context Completeness: without the dispatch and the result there is no review.
    if let Some(problem) = unreadable(desk, request).filter(|_| !desk.rules.fault.is("review-without-context")) {
        return desk.stuck(Role::Reviewer, request, &problem, "unknown");
    }
    // 03.3: this request can be read.
    planted!(desk.rules.fault, "unreadable-request-remembered", desk.ledger.task(&request.task).is_some_and(|task| task.entries.iter().any(|entry| entry.refused)) => return);
    desk.ack(request);
    // 03: a request of either scope is answered.
    planted!(desk.rules.fault, "incremental-unanswered", request.text("review_scope") == "incremental" => return);
    desk.outputs.push(Output::Review(request.clone()));
}

/// The first reference of a request that does not lead to a message of its type and task.
fn unreadable(desk: &Desk<'_>, request: &Shared) -> Option<Problem> {
    let named = [("original_dispatch_ref", Kind::Dispatch), ("task_result_ref", Kind::Result)];
    let missing = named.into_iter().find(|(name, kind)| {
        let message = desk.ledger.message(request.text(name));
        !message.is_some_and(|message| message.kind == *kind && message.task == request.task)
    });
    missing.map(|(name, _)| {
        Problem::new(Code::UnresolvedRef, format!("/payload/{name}"), format!("{name} is not readable"))
    })
}

/// 04.1: the request came once more.
pub(super) fn redelivered(desk: &mut Desk<'_>, request: &Shared) {
    // 04.1: one verdict for each request.
    planted!(desk.rules.fault, "verdict-twice", desk.outputs.push(Output::Review(request.clone())));
}

/// 04: the review is done.
pub(super) fn reviewed(desk: &mut Desk<'_>, request: &Shared, judgement: &Judgement) {
    let rejects = judgement.decision == "rejected";
    // 04.3: a critical issue blocks.
    let passes = rejects && desk.rules.fault.is("approve-despite-critical");
    let decision = if passes { "approved" } else { judgement.decision.as_str() };
    let dispatch = desk.ledger.message(request.text("original_dispatch_ref")).cloned();
    let criteria = dispatch.as_ref().map(|dispatch| dispatch.texts("acceptance_criteria")).unwrap_or_default();
    let criteria = if criteria.is_empty() { vec!["the dispatch"] } else { criteria };
    let result = |criterion: &&str| {
        Value::Object(Object::from([
            ("criterion", (*criterion).into()),
            ("passed", (!rejects).into()),
            ("evidence", judgement.evidence.as_str().into()),
        ]))
    };
    // 04: the criteria of the dispatch, one by one.
    let answered = if desk.rules.fault.is("criteria-results-shortened") { 1 } else { criteria.len() };
    let objects = |items: &[Object]| Value::List(items.iter().cloned().map(Value::Object).collect());
    let mut payload = Object::from([
        ("decision", decision.into()),
        ("criteria_results", Value::List(criteria.iter().take(answered).map(result).collect())),
    ]);
    let mut issues = judgement.issues.clone();
    if rejects && issues.is_empty() {
        issues.push(issue("major", "the work does not meet the criteria"));
    }
    if !issues.is_empty() {
        payload.set("issues", objects(&issues));
    }
    if decision == "approved_with_fix" {
        payload.set("direct_fixes", objects(&judgement.direct_fixes));
    }
    // 04: from 0 to 1.
    payload.set("confidence", Value::Number(Number::from_share(judgement.confidence.unwrap_or(0.9).clamp(0.0, 1.0))));
    let context = vec![request.id.clone()];
    let draft = Draft::new(Kind::Verdict, Role::Reviewer, &request.task, payload);
    desk.emit(Draft { context_ref: Some(context), ..draft });
}

/// An issue that concerns the whole of the work.
#[must_use]
pub(crate) fn issue(severity: &str, description: &str) -> Object {
    Object::from([
        ("severity", severity.into()),
        ("file", "NOTES.txt".into()),
        ("line", Value::Number(1.into())),
        ("description", description.into()),
        ("suggested_fix", "Do what the dispatch describes".into()),
    ])
}
