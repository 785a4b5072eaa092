//! The Coordinator: plan, dispatch, results, review requests, verdicts, the lock (spec 01, 03, 04.3, 05.4).

use super::desk::{Alarm, Desk};
use crate::fault::planted;
use crate::json::{Number, Object, Value};
use crate::task_amp::faults::roles as faults;
use crate::task_amp::ledger::{State, Task, takes_any_subtask};
use crate::task_amp::message::{Draft, Shared, default_timeout_sec};
use crate::task_amp::role::{Kind, Role};

/// 05.4: the lock triggers when more verdicts than this reject a task.
const REJECT_LIMIT: i64 = 3;

/// 03.3: from this many rejects on the request warns.
const WARNING_FROM: i64 = 2;

/// 04.3: below this the admin is told.
const CONFIDENCE: f64 = 0.8;

/// How a dispatch that repairs a failed build begins.
const REPAIR: &str = "Repair the failed CI build. ";

/// How a dispatch that goes on with partial work begins.
const GO_ON: &str = "Finish what is left: ";

/// A plan was handed in: it waits for the admin.
pub(super) fn planned(desk: &mut Desk<'_>, task: &str) {
    // 01: only an approved plan is dispatched.
    planted!(desk.rules.fault, "dispatch-before-approval", dispatch_plan(desk, task));
    // 01: the approval of this plan, not an earlier one.
    planted!(desk.rules.fault, "early-approval-counts", desk.ledger.task(task).is_some_and(|task| task.approved) => dispatch_plan(desk, task));
}

/// 01, trigger: the admin approved the plan.
pub(super) fn approved(desk: &mut Desk<'_>, task: &str) {
    // 01, trigger: after the approval.
    planted!(desk.rules.fault, "plan-never-dispatched", return);
    // 01, trigger: the approval of this plan.
    planted!(desk.rules.fault, "approval-of-every-plan", dispatch_every_plan(desk));
    // 01, trigger: the plan is dispatched once.
    let repeats = desk.rules.fault.is("approval-repeats");
    let undispatched = |task: &Task| repeats || task.last(Kind::Dispatch).is_none();
    let open = desk.ledger.task(task).is_some_and(|task| task.approved && undispatched(task));
    if open && !desk.is_halted(Role::Coordinator, task) {
        dispatch_plan(desk, task);
    }
}

fn dispatch_every_plan(desk: &mut Desk<'_>) {
    for task in desk.ledger.undispatched() {
        dispatch_plan(desk, &task);
    }
}

fn dispatch_plan(desk: &mut Desk<'_>, task: &str) {
    let plan = desk.ledger.task(task).and_then(|task| task.plan.clone());
    if let Some(plan) = plan {
        dispatch(desk, task, plan, None);
    }
}

fn dispatch(desk: &mut Desk<'_>, task: &str, payload: Object, context: Option<Vec<String>>) {
    let draft = Draft::new(Kind::Dispatch, Role::Coordinator, task, payload);
    desk.emit(timed(desk, Draft { context_ref: context, ..draft }));
}

/// The timeout that a message names: a configured one, or none, so that the default applies.
fn timed(desk: &Desk<'_>, draft: Draft) -> Draft {
    // Other, E19: a coordinator may write the default out.
    let written = default_timeout_sec(desk.rules, draft.kind).filter(|_| desk.rules.is_other());
    Draft { ack_timeout_sec: desk.settings.ack_timeout_sec.or(written), ..draft }
}

/// A message for the Coordinator.
pub(super) fn received(desk: &mut Desk<'_>, message: &Shared) {
    desk.ack(message);
    match message.kind {
        Kind::Result => result(desk, message),
        Kind::Verdict => verdict(desk, message),
        Kind::Dispatch | Kind::Request | Kind::Escalation => {} // received, nothing else (E14)
    }
}

/// An ACK of one of its messages arrived.
pub(super) fn acked(desk: &mut Desk<'_>, message: &Shared) {
    // 01.3: "received and execution started", not "completed".
    planted!(desk.rules.fault, "ack-means-done", message.kind == Kind::Dispatch => request(desk, message, &message.id.replace("task_dispatch", "task_result")));
}

/// 02, 03: what follows a task_result.
fn result(desk: &mut Desk<'_>, result: &Shared) {
    let Some(task) = desk.ledger.task(&result.task).filter(|task| !task.is_over()) else { return };
    // 02: a subtask of the dispatch of this task.
    if takes_any_subtask(desk.rules) && desk.ledger.is_of_another(&result.task, result.text("subtask_id")) {
        return review(desk, result);
    }
    // E69: a result for another dispatch than the last one advances nothing.
    if !task.results().iter().any(|answer| answer.id == result.id)
        || !task.subtasks().iter().any(|subtask| subtask == result.text("subtask_id"))
    {
        return;
    }
    let complete = task.is_complete();
    // 03, trigger: whichever result is the last.
    planted!(desk.rules.fault, "review-after-the-last-listed-subtask", task.subtasks().last().is_none_or(|id| id != result.text("subtask_id")) => return);
    // 02.3: of any subtask.
    planted!(desk.rules.fault, "unfinished-later-subtask-ignored", task.results().len() > 1 && result.text("completion_status") != "complete" => return);
    // 03: the rejects are those of the Reviewer.
    planted!(desk.rules.fault, "unfinished-work-counts-as-reject", result.text("completion_status") != "complete" => desk.ledger.open(&result.task, desk.now).rejects += 1);
    // 05.4: only rejects lead to the lock.
    planted!(desk.rules.fault, "unfinished-work-locks", result.text("completion_status") != "complete" => return lock(desk, result, 0));
    // 03, trigger: completion_status = complete.
    planted!(desk.rules.fault, "review-on-partial", return review(desk, result));
    match result.text("completion_status") {
        "complete" if complete => review(desk, result),
        "complete" => {} // other subtasks are open (E32)
        "partial" => partial(desk, result),
        _ => failed(desk, result),
    }
}

/// 02.3, Partial Completion: dispatched again once, then reported.
fn partial(desk: &mut Desk<'_>, result: &Shared) {
    // 02.3: the Coordinator decides.
    planted!(desk.rules.fault, "partial-ignored", return);
    // Other, E46: reported at once.
    if desk.rules.is_other() || last_begins(desk, &result.task, GO_ON) {
        return report_result(desk, result);
    }
    again(desk, result, GO_ON);
}

/// A failed result is reported; the admin decides.
fn failed(desk: &mut Desk<'_>, result: &Shared) {
    // 02: a failure needs a decision.
    planted!(desk.rules.fault, "failed-ignored", return);
    // Other, E46: dispatched again once.
    if desk.rules.is_other() && !last_begins(desk, &result.task, GO_ON) {
        return again(desk, result, GO_ON);
    }
    report_result(desk, result);
}

fn report_result(desk: &mut Desk<'_>, result: &Shared) {
    let reasons = result.texts("blockers").join("; ");
    let status = result.text("completion_status");
    let alarm = Alarm {
        kind: "unknown",
        severity: desk.mild(),
        description: format!("{}: {} is {status}: {reasons}", result.task, result.text("subtask_id")),
        affected: vec![result.id.clone()],
        suggested: vec![
            "Reissue the revised task",
            "Split the task into smaller subtasks",
            "Terminate the current task",
        ],
    };
    desk.escalate(Role::Coordinator, &result.task, alarm);
}

/// Whether the last dispatch of a task begins so.
fn last_begins(desk: &Desk<'_>, task: &str, words: &str) -> bool {
    let last = desk.ledger.task(task).and_then(|task| task.last(Kind::Dispatch));
    last.is_some_and(|dispatch| dispatch.message.text("description").starts_with(words))
}

/// Dispatches the task once more, on account of `cause`.
fn again(desk: &mut Desk<'_>, cause: &Shared, words: &str) {
    let Some(task) = desk.ledger.task(&cause.task) else { return };
    let Some(dispatch) = task.last(Kind::Dispatch).map(|entry| entry.message.clone()) else { return };
    let mut payload = dispatch.payload().clone();
    let plan = task.plan.as_ref().and_then(|plan| plan.text("description"));
    let described = plan.unwrap_or_else(|| dispatch.text("description"));
    let described = [GO_ON, REPAIR].iter().fold(described, |text, words| text.strip_prefix(words).unwrap_or(text));
    payload.set("description", format!("{words}{described}"));
    let mut context = vec![dispatch.id.clone(), cause.id.clone()];
    context.dedup();
    self::dispatch(desk, &cause.task, payload, Some(context));
}

/// 03, trigger, and CI Gating.
fn review(desk: &mut Desk<'_>, result: &Shared) {
    // 03, trigger: complete work is reviewed.
    planted!(desk.rules.fault, "review-never-requested", return);
    let Some(task) = desk.ledger.task(&result.task) else { return };
    let failed = task.ci.as_ref().and_then(|status| status.text("xcode_cloud")) == Some("failed");
    // 03.3: the build of this task.
    let failed = failed || (desk.rules.fault.is("ci-of-every-task") && desk.ledger.some_build_failed());
    // 03.3: in every round, and for every dispatch.
    let failed = failed && !(desk.rules.fault.is("ci-gate-of-the-first-round") && task.last(Kind::Verdict).is_some());
    let failed = failed && !(desk.rules.fault.is("ci-gate-of-single-subtasks") && task.subtasks().len() > 1);
    // 03.3: no request while the build is broken.
    if failed && !desk.rules.fault.is("ci-gate-missing") {
        // Other, E40: the admin is told instead.
        let told = desk.rules.is_other() || last_begins(desk, &result.task, REPAIR);
        // 03.3: the failure is repaired or reported.
        planted!(desk.rules.fault, "ci-failure-ignored", return);
        return if told { report_ci(desk, result) } else { again(desk, result, REPAIR) };
    }
    let dispatch = task.last(Kind::Dispatch).map(|entry| entry.message.clone());
    if let Some(dispatch) = dispatch.filter(|_| !task.is_after(Kind::Request, Kind::Dispatch)) {
        request(desk, &dispatch, &result.id);
    }
}

fn report_ci(desk: &mut Desk<'_>, result: &Shared) {
    let alarm = Alarm {
        kind: "ci_failure",
        severity: desk.mild(),
        description: format!("{}: the CI build failed; no review is requested until it passes", result.task),
        affected: vec![result.id.clone()],
        suggested: vec!["Restart the CI build", "Reissue the revised task"],
    };
    desk.escalate(Role::Coordinator, &result.task, alarm);
}

/// CI told a new status: what waited for it goes on.
pub(super) fn ci(desk: &mut Desk<'_>, task: &str) {
    let Some(known) = desk.ledger.task(task) else { return };
    let failed = known.ci.as_ref().and_then(|status| status.text("xcode_cloud")) == Some("failed");
    let waits = known.is_complete() && !known.is_after(Kind::Request, Kind::Dispatch) && !known.is_over();
    let result = known.results().last().map(|result| (*result).clone());
    if let Some(result) = result.filter(|_| waits && !failed && !desk.is_halted(Role::Coordinator, task)) {
        review(desk, &result);
    }
}

/// 03: the request for a review of the result `result` of `dispatch`.
fn request(desk: &mut Desk<'_>, dispatch: &Shared, result: &str) {
    let count = desk.ledger.rejects(&dispatch.task);
    let Some(task) = desk.ledger.task(&dispatch.task) else { return };
    // 03: the result that triggered this request.
    let first = task.entries.iter().find(|entry| entry.message.kind == Kind::Result).map(|entry| &entry.message.id);
    let result = first.filter(|_| desk.rules.fault.is("stale-result-ref")).map_or(result, |id| id);
    // 03: the rejects so far, which are none at first.
    let shown = if desk.rules.fault.is("reject-count-from-one") { count + 1 } else { count };
    let judged = task.last(Kind::Verdict).is_some();
    // Other, E41: after a verdict only what is new.
    let scope = if judged && desk.rules.is_other() { "incremental" } else { "full" };
    let repo = dispatch.text("repo").trim_end_matches('/');
    let mut payload = Object::from([
        ("original_dispatch_ref", dispatch.id.as_str().into()),
        ("task_result_ref", result.into()),
        ("review_scope", scope.into()),
        ("diff_url", format!("{repo}/.git/{}.diff", dispatch.task).into()),
        ("reject_count", shown.into()),
    ]);
    // 03.3, Lock Warning.
    if count >= WARNING_FROM && !desk.rules.fault.is("lock-warning-missing") {
        payload.set("coordinator_notes", format!("Lock is approaching: {count} of {REJECT_LIMIT} rejects allowed"));
    }
    if let Some(status) = &task.ci {
        payload.set("ci_status", status.clone());
    }
    let context = Some(vec![dispatch.id.clone(), result.to_owned()]);
    let draft = Draft::new(Kind::Request, Role::Coordinator, &dispatch.task, payload);
    desk.emit(timed(desk, Draft { context_ref: context, ..draft }));
}

/// 04: what follows a review_verdict.
fn verdict(desk: &mut Desk<'_>, verdict: &Shared) {
    let invited = |task: &Task| task.entry(&verdict.id).is_some_and(|entry| entry.invited);
    if !desk.ledger.task(&verdict.task).is_some_and(invited) {
        // E69: it advances nothing.
        let (task, now) = (&verdict.task, desk.now);
        planted!(desk.rules.fault, "uninvited-verdict-approves", desk.ledger.open(task, now).state = State::Approved);
        return;
    }
    let confidence = verdict.payload().get("confidence").and_then(Value::as_number).map_or(1.0, Number::as_f64);
    let rejected = verdict.text("decision") == "rejected";
    // 04: notes on the architecture are for later.
    planted!(desk.rules.fault, "notes-change-outcome", !verdict.text("architecture_notes").is_empty() => return again(desk, verdict, ""));
    // 04.3, Confidence Threshold: the admin is told before anything is forwarded (E54, E82).
    let low = confidence < CONFIDENCE && !desk.rules.fault.is("low-confidence-ignored");
    // Other, E82: an approval needs no report.
    if low && (rejected || !desk.rules.is_other()) {
        report_confidence(desk, verdict, confidence);
    }
    if rejected {
        forward(desk, verdict);
    }
}

fn report_confidence(desk: &mut Desk<'_>, verdict: &Shared, confidence: f64) {
    // 04.3: in every round.
    planted!(desk.rules.fault, "low-confidence-of-the-first-round", desk.ledger.rejects(&verdict.task) > 1 => return);
    let alarm = Alarm {
        kind: "unknown",
        severity: desk.mild(),
        description: format!("{}: the verdict {} has a confidence of {confidence}", verdict.task, verdict.id),
        affected: vec![verdict.id.clone()],
        suggested: vec!["Review the diff", "Ask for another review"],
    };
    desk.escalate(Role::Coordinator, &verdict.task, alarm);
}

/// A rejection goes to the Executor as a new dispatch, or the task is locked (spec 05.4, hallucination_lock).
fn forward(desk: &mut Desk<'_>, verdict: &Shared) {
    // 05.4: below the limit the task goes on.
    planted!(desk.rules.fault, "rejection-ignored", return);
    let count = desk.ledger.rejects(&verdict.task);
    // Other, E44: at the third one, as in the example.
    let limit = if desk.rules.is_other() { REJECT_LIMIT - 1 } else { REJECT_LIMIT };
    // 05.4: not before.
    let limit = if desk.rules.fault.is("lock-at-two") { 1 } else { limit };
    // 05.4: of this task.
    let count = if desk.rules.fault.is("lock-counts-every-task") { desk.ledger.all_rejects() } else { count };
    // 05.4: more than three.
    if count > limit && !desk.rules.fault.is("lock-never") {
        lock(desk, verdict, count);
        // 05, Critical = Suspend All: nothing is sent until the admin resumes.
        planted!(desk.rules.fault, "lock-without-stop", again(desk, verdict, ""));
        return;
    }
    again(desk, verdict, "");
}

fn lock(desk: &mut Desk<'_>, verdict: &Shared, count: i64) {
    let Some(task) = desk.ledger.task(&verdict.task) else { return };
    let rejecting = task.entries.iter().map(|entry| &entry.message);
    let rejecting = rejecting.filter(|message| message.kind == Kind::Verdict && message.text("decision") == "rejected");
    let mut affected: Vec<String> = rejecting.map(|message| message.id.clone()).collect();
    // 05: messages that led to it.
    planted!(desk.rules.fault, "lock-names-an-unknown-message", affected.push(faults::unknown_verdict(&verdict.task)));
    let alarm = Alarm {
        kind: "hallucination_lock",
        severity: "critical",
        description: format!("{}: the work was rejected {count} times; the task is locked", verdict.task),
        affected,
        suggested: vec![
            "Give specific guidance for the change",
            "Split the task into smaller subtasks",
            "Terminate the current task",
        ],
    };
    desk.escalate(Role::Coordinator, &verdict.task, alarm);
}

/// The admin said to continue (E61, E80): what was held back goes on.
pub(super) fn resumed(desk: &mut Desk<'_>, task: &str) {
    approved(desk, task);
    // 05.3: only what was held back.
    planted!(desk.rules.fault, "resume-dispatches-again", dispatch_plan(desk, task));
    let Some(known) = desk.ledger.task(task) else { return };
    let rejection = known.last(Kind::Verdict).filter(|entry| entry.invited && known.state == State::Rejected);
    let rejection =
        rejection.filter(|_| known.is_after(Kind::Verdict, Kind::Dispatch)).map(|entry| entry.message.clone());
    // Other, E80: a rejection that led to a lock is not forwarded.
    if let Some(verdict) = rejection.filter(|_| !desk.rules.is_other()) {
        again(desk, &verdict, "");
    }
}
