//! What only the store can know about a valid message: whether its task is known, and whether it fits its dispatch.

use super::book::Ledger;
use crate::json::{Object, Value};
use crate::task_amp::message::Message;
use crate::task_amp::role::Kind;
use crate::task_amp::rules::Rules;
use crate::task_amp::schema::{Code, Problem};

impl Ledger {
    /// Problems of a valid message with its task.
    #[must_use]
    pub(crate) fn context(&self, message: &Message) -> Vec<Problem> {
        let uninvited = matches!(message.kind, Kind::Result | Kind::Request | Kind::Verdict);
        let Some(task) = self.task(&message.task) else {
            // Other, E69, E71: what arrives for an unknown task is stored.
            let refused = uninvited && self.rules.is_strict();
            // 00: the task has a record.
            let refused = refused && !self.rules.fault.is("unknown-task-accepted");
            let problem = || Problem::new(Code::UnknownTask, "/task_id", "no such task");
            return refused.then(problem).into_iter().collect();
        };
        match task.last(Kind::Dispatch) {
            Some(dispatch) => alignment(self.rules, message, dispatch.message.payload()),
            None => Vec::new(), // nothing to compare with
        }
    }
}

/// Whether `subtask-of-any-task` is planted: a result may name a subtask of another task.
#[must_use]
pub(crate) fn takes_any_subtask(rules: Rules) -> bool {
    rules.fault.is("subtask-of-any-task")
}

/// Problems of a result with the dispatch that it answers (spec 02, subtask_id and self_assessment).
#[must_use]
pub(crate) fn alignment(rules: Rules, message: &Message, dispatch: &Object) -> Vec<Problem> {
    // Other, E32, E33: a schema cannot know the dispatch.
    if rules.is_other() || message.kind != Kind::Result {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let items = |name| dispatch.get(name).and_then(Value::as_list).unwrap_or_default();
    let subtask = message.text("subtask_id");
    let id = |item: &Value| item.as_object().and_then(|item| item.text("subtask_id")) == Some(subtask);
    // 02: a subtask of the dispatch.
    let known =
        items("subtasks").iter().any(id) || rules.fault.is("unknown-subtask-accepted") || takes_any_subtask(rules);
    if !known {
        problems.push(Problem::new(Code::UnresolvedRef, "/payload/subtask_id", "a subtask of the dispatch"));
    }
    let assessment = message.payload().get("self_assessment").and_then(Value::as_object);
    let answers = assessment.and_then(|members| members.get("criteria_met")).and_then(Value::as_list);
    let criteria = items("acceptance_criteria").len();
    // 02: one answer for each criterion.
    let counted = !rules.fault.is("criteria-count-unchecked");
    if answers.is_some_and(|answers| answers.len() != criteria && counted) {
        let path = "/payload/self_assessment/criteria_met";
        problems.push(Problem::new(Code::OutOfRange, path, format!("{criteria} entries, one for each criterion")));
    }
    problems
}
