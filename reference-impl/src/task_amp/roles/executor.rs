//! The Executor: checks a dispatch, has it carried out, reports the result (spec 01.3, 02).

use std::path::Path;

use super::desk::{Desk, Output};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::task_amp::message::{Draft, Shared};
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::schema::{Code, Problem, is_forbidden};

/// What became of the work on one subtask.
#[derive(Debug, Clone, Default)]
pub(crate) struct Done {
    pub(crate) subtask: String,
    /// `complete`, `partial` or `failed`.
    pub(crate) status: String,
    pub(crate) files_changed: Vec<String>,
    pub(crate) lines_added: i64,
    pub(crate) lines_removed: i64,
    /// One entry for each criterion that could be judged; the others are null.
    pub(crate) criteria_met: Vec<Option<bool>>,
    pub(crate) log: Vec<Object>,
    pub(crate) commit: Option<String>,
    pub(crate) blockers: Vec<String>,
}

/// A dispatch for the Executor.
pub(super) fn received(desk: &mut Desk<'_>, dispatch: &Shared) {
    // 01.3, Branch Validation: before anything else.
    if is_forbidden(desk.rules, dispatch.text("branch")) && !desk.rules.fault.is("main-executed") {
        let problem = Problem::new(Code::BranchForbidden, "/payload/branch", "the branch must not be main or master");
        return desk.stuck(Role::Executor, dispatch, &problem, "branch_violation");
    }
    // 01: the directory contains .git (E28: a file of this name counts).
    let repository = Path::new(dispatch.text("repo")).join(".git").exists();
    let usable = repository || !desk.settings.looks_at_files || desk.rules.fault.is("git-dir-unchecked");
    if !usable {
        let problem = Problem::new(Code::UnresolvedRef, "/payload/repo", "the repository has no .git");
        return desk.stuck(Role::Executor, dispatch, &problem, "unknown");
    }
    // 02.3: every new dispatch, of every task.
    planted!(desk.rules.fault, "third-dispatch-ignored", desk.ledger.task(&dispatch.task).is_some_and(|task| task.count(Kind::Dispatch) > 2) => return);
    planted!(desk.rules.fault, "second-task-dropped", desk.ledger.is_busy_elsewhere(&dispatch.task) => return);
    // 01.3, ACK on Start: received, and execution starts.
    if !acknowledges_last(desk) {
        desk.ack(dispatch);
    }
    desk.outputs.push(Output::Work(dispatch.clone()));
}

/// 01.3: the ACK means that execution has started, so it comes before the result.
fn acknowledges_last(desk: &Desk<'_>) -> bool {
    desk.rules.fault.is("ack-after-the-result")
}

/// The work on a subtask is done.
pub(super) fn worked(desk: &mut Desk<'_>, dispatch: &Shared, done: &[Done]) {
    // 02: one result for each subtask.
    planted!(desk.rules.fault, "result-for-whole-task", return report(desk, dispatch, &whole(dispatch, done)));
    let mut ordered: Vec<&Done> = done.iter().collect();
    // 01: an ordered list.
    planted!(desk.rules.fault, "subtasks-reversed", ordered.reverse());
    // 01.3: completion is said by a task_result.
    planted!(desk.rules.fault, "result-never-sent", return);
    for done in ordered {
        // 02: whatever became of it.
        planted!(desk.rules.fault, "unfinished-work-unanswered", done.status != "complete" => continue);
        report(desk, dispatch, done);
    }
    if acknowledges_last(desk) {
        desk.ack(dispatch);
    }
}

/// `result-for-whole-task`: everything under an id of its own.
fn whole(dispatch: &Shared, done: &[Done]) -> Done {
    Done { subtask: format!("{}-ALL", dispatch.task), ..done.first().cloned().unwrap_or_default() }
}

/// 02: the result of one subtask.
fn report(desk: &mut Desk<'_>, dispatch: &Shared, done: &Done) {
    let numbered = |items: Vec<Value>| Value::List(items);
    // 02: those of the dispatch that the result answers.
    let first =
        desk.rules.fault.is("criteria-of-the-first-dispatch").then(|| desk.ledger.first_dispatch(&dispatch.task));
    let criteria = first.flatten();
    let criteria = criteria.as_ref().unwrap_or(dispatch).texts("acceptance_criteria");
    // 02: the criteria of the dispatch, one by one.
    let answered = if desk.rules.fault.is("criteria-met-short") { 1 } else { criteria.len() };
    let (mut met, mut notes) = (Vec::new(), Vec::new());
    for index in 0..answered {
        // 02.3, Self Assessment: null rather than a guess.
        let guess = desk.rules.fault.is("guess-true").then_some(true);
        let judged = done.criteria_met.get(index).copied().flatten().or(guess);
        met.push(judged.map_or(Value::Null, Value::Bool));
        // 02: one remark for each criterion.
        planted!(desk.rules.fault, "notes-shortened", index > 0 => continue);
        notes.push(if judged.is_some() { "checked" } else { "left to the review" }.into());
    }
    // 02: what was changed, not what was planned.
    let planned = desk.rules.fault.is("files-changed-from-plan");
    let planned: &[&str] = if planned { &["NOTES.txt", "README.md"] } else { &[] };
    let files = done.files_changed.iter().map(String::as_str).chain(planned.iter().copied());
    // 02: what became of the work.
    let status = if desk.rules.fault.is("always-complete") { "complete" } else { done.status.as_str() };
    let mut payload = Object::from([
        ("subtask_id", done.subtask.as_str().into()),
        ("completion_status", status.into()),
        (
            "diff_summary",
            Object::from([
                ("files_changed", numbered(files.map(Value::from).collect())),
                ("lines_added", done.lines_added.into()),
                ("lines_removed", done.lines_removed.into()),
            ])
            .into(),
        ),
        ("self_assessment", Object::from([("criteria_met", numbered(met)), ("notes", numbered(notes))]).into()),
        ("work_log", numbered(done.log.iter().cloned().map(Value::Object).collect())),
    ]);
    // 02: given when the work was committed.
    let commit = done.commit.as_ref().filter(|_| !desk.rules.fault.is("commit-hash-dropped"));
    if let Some(hash) = commit {
        payload.set("commit_hash", hash.as_str());
    }
    let blockers: Vec<Value> = done.blockers.iter().map(|text| text.as_str().into()).collect();
    // Other, E73: an empty list with complete work.
    if done.status != "complete" || !blockers.is_empty() || desk.rules.is_other() {
        payload.set("blockers", blockers);
    }
    let draft = Draft::new(Kind::Result, Role::Executor, &dispatch.task, payload);
    desk.emit(Draft { context_ref: Some(vec![dispatch.id.clone()]), ..draft });
}
