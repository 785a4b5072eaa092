//! One task: its messages, its state, and what follows from both.

use std::collections::{BTreeMap, BTreeSet};

use crate::fault::planted;
use crate::json::{Object, Value};
use crate::task_amp::message::Shared;
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::rules::Rules;
use crate::task_amp::time;

/// Where a task stands (E04; binding.md, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Planned,
    AwaitingApproval,
    Dispatched,
    Executing,
    AwaitingReview,
    InReview,
    Rejected,
    Approved,
    Locked,
    Cancelled,
}

impl State {
    /// Its word in records.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Dispatched => "dispatched",
            Self::Executing => "executing",
            Self::AwaitingReview => "awaiting_review",
            Self::InReview => "in_review",
            Self::Rejected => "rejected",
            Self::Approved => "approved",
            Self::Locked => "locked",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A deadline of a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// The ACK of a message.
    Ack(String),
    /// The next write of an agent with an open assignment.
    Heartbeat(Role),
}

impl Timer {
    /// Whether it waits for the ACK of a message of a type.
    pub(super) fn is_of(&self, kind: &str) -> bool {
        matches!(self, Self::Ack(id) if id.starts_with(kind))
    }
}

/// A message in the order of its arrival.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) message: Shared,
    /// When it was stored, in Unix milliseconds.
    pub(crate) at: i64,
    pub(crate) acked: bool,
    /// Whether its missing ACK was reported.
    pub(crate) reported: bool,
    /// Whether its addressee refused it.
    pub(crate) refused: bool,
    /// Of a verdict: whether a review request waited for it (E69).
    pub(crate) invited: bool,
}

/// What is known about a task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) state: State,
    /// The payload that waits for approval, or was approved.
    pub(crate) plan: Option<Object>,
    pub(crate) approved: bool,
    /// The current CI status.
    pub(crate) ci: Option<Object>,
    /// Verdicts `rejected` that were received for the task (E43).
    pub(crate) rejects: i64,
    /// Whether all roles are suspended.
    pub(crate) suspended: bool,
    /// Roles that suspended themselves.
    pub(crate) stopped: BTreeSet<Role>,
    pub(crate) resumed_at: i64,
    /// The last message that its addressee acknowledged.
    pub(crate) last_success: Option<String>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) deadlines: BTreeSet<(i64, Timer)>,
    /// Timers that ran out during a suspension.
    pub(crate) parked: Vec<Timer>,
    pub(crate) last_write: BTreeMap<Role, i64>,
    /// Agents whose silence was reported and that have not written since.
    pub(crate) silent: BTreeSet<Role>,
    /// Messages that arrived for a suspended role.
    pub(crate) pending: Vec<Shared>,
    /// The ids of control calls that were obeyed.
    pub(crate) controls: BTreeSet<String>,
}

impl Task {
    pub(super) fn new(id: &str, now: i64) -> Self {
        Self {
            id: id.to_owned(),
            created_at: now,
            updated_at: now,
            state: State::Planned,
            plan: None,
            approved: false,
            ci: None,
            rejects: 0,
            suspended: false,
            stopped: BTreeSet::new(),
            resumed_at: now,
            last_success: None,
            entries: Vec::new(),
            deadlines: BTreeSet::new(),
            parked: Vec::new(),
            last_write: BTreeMap::new(),
            silent: BTreeSet::new(),
            pending: Vec::new(),
            controls: BTreeSet::new(),
        }
    }

    /// The last message of a type.
    #[must_use]
    pub(crate) fn last(&self, kind: Kind) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.message.kind == kind)
    }

    fn last_at(&self, kind: Kind) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.message.kind == kind)
    }

    /// How many messages of a type there are.
    #[must_use]
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.entries.iter().filter(|entry| entry.message.kind == kind).count()
    }

    /// The entry of a message.
    #[must_use]
    pub(crate) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.message.id == id)
    }

    pub(super) fn entry_mut(&mut self, id: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.message.id == id)
    }

    /// Whether a message of one type came after the last one of another type, which there is.
    #[must_use]
    pub(crate) fn is_after(&self, kind: Kind, other: Kind) -> bool {
        self.last_at(kind).is_some_and(|at| self.last_at(other).is_none_or(|before| at > before))
    }

    /// The results that answer the last dispatch, in order.
    #[must_use]
    pub(crate) fn results(&self) -> Vec<&Shared> {
        let start = self.last_at(Kind::Dispatch).unwrap_or(self.entries.len());
        let results = self.entries[start..].iter().filter(|entry| entry.message.kind == Kind::Result);
        results.map(|entry| &entry.message).collect()
    }

    /// The ids of the subtasks of the last dispatch, in order.
    #[must_use]
    pub(crate) fn subtasks(&self) -> Vec<String> {
        let dispatch = self.last(Kind::Dispatch).map(|entry| &entry.message);
        let items = dispatch.map(|dispatch| dispatch.list("subtasks")).unwrap_or_default();
        let id = |item: &Value| item.as_object()?.text("subtask_id").map(str::to_owned);
        items.iter().filter_map(id).collect()
    }

    /// The subtasks of the last dispatch without a result.
    #[must_use]
    pub(crate) fn open_subtasks(&self) -> Vec<String> {
        let results = self.results();
        let answered = |id: &String| results.iter().any(|result| result.text("subtask_id") == id);
        self.subtasks().into_iter().filter(|id| !answered(id)).collect()
    }

    /// Whether every subtask of the last dispatch is complete.
    #[must_use]
    pub(crate) fn is_complete(&self) -> bool {
        let results = self.results();
        let complete = |id: &String| {
            let last = results.iter().rev().find(|result| result.text("subtask_id") == id);
            last.is_some_and(|result| result.text("completion_status") == "complete")
        };
        let subtasks = self.subtasks();
        !subtasks.is_empty() && subtasks.iter().all(complete)
    }

    /// When the agent got the work that it has not finished; `None` without an open assignment (E62).
    #[must_use]
    pub(crate) fn assigned_at(&self, role: Role) -> Option<i64> {
        let (kind, open) = match role {
            Role::Executor => (Kind::Dispatch, !self.open_subtasks().is_empty()),
            Role::Reviewer => (Kind::Request, self.is_after(Kind::Request, Kind::Verdict)),
            Role::Admin | Role::Coordinator | Role::System => return None,
        };
        self.last(kind).filter(|entry| open && !entry.refused).map(|entry| entry.at)
    }

    /// Whether a role may do nothing for this task now (spec 05, Critical = Suspend All).
    #[must_use]
    pub(crate) fn is_halted(&self, role: Role) -> bool {
        self.suspended || self.stopped.contains(&role)
    }

    /// Whether no work is left to do.
    #[must_use]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Approved | State::Cancelled)
    }

    /// The task record (binding.md, section 6).
    #[must_use]
    pub(crate) fn record(&self, rules: Rules) -> Object {
        let member = |name| self.last(Kind::Dispatch).and_then(|entry| entry.message.payload().get(name)).cloned();
        let planned = |name| self.plan.as_ref().and_then(|plan| plan.get(name)).cloned();
        let fact = |name| member(name).or_else(|| planned(name)).unwrap_or(Value::Null);
        // Other, E04: names of the published implementation, and another word for the end.
        let (id, count) = if rules.is_other() { ("id", "qa_retry_count") } else { ("task_id", "reject_count") };
        let done = rules.is_other() && self.state == State::Approved;
        let status = if done { "done" } else { self.state.name() };
        let locked = self.state == State::Locked;
        Object::from([
            (id, self.id.as_str().into()),
            ("status", status.into()),
            ("risk_level", fact("risk_level")),
            ("branch", fact("branch")),
            ("repo", fact("repo")),
            (count, self.rejects.into()),
            ("lock_state", if locked { "halted" } else { "active" }.into()),
            ("suspended", self.suspended.into()),
            ("last_successful_msg_id", self.last_success.clone().into()),
            ("created_at", time::format(rules, self.created_at).into()),
            ("updated_at", time::format(rules, self.updated_at).into()),
        ])
    }

    /// The snapshot of an escalation (spec 05, system_state_snapshot).
    #[must_use]
    pub(crate) fn snapshot(&self, rules: Rules, status: State) -> Object {
        // 05: the state at the time of reporting.
        let rejects = if rules.fault.is("snapshot-constant") { 0 } else { self.rejects };
        let invented =
            rules.fault.is("last-success-invented").then(|| format!("task_dispatch-{}-1700000000000", self.id));
        Object::from([
            ("task_status", status.name().into()),
            ("reject_count", rejects.into()),
            ("last_successful_msg_id", invented.or_else(|| self.last_success.clone()).into()),
        ])
    }

    /// Notes a write of an agent: its silence is counted anew (E62).
    pub(super) fn wrote(&mut self, role: Role, now: i64, limit_ms: i64) {
        self.last_write.insert(role, now);
        self.updated_at = now;
        if self.silent.remove(&role) && self.assigned_at(role).is_some() {
            self.deadlines.insert((now + limit_ms, Timer::Heartbeat(role)));
        }
    }

    /// Since when an agent with an open assignment has written nothing.
    #[must_use]
    pub(crate) fn silent_since(&self, rules: Rules, role: Role) -> Option<i64> {
        let assigned = self.assigned_at(role)?.max(self.resumed_at);
        // 05.4: each write starts the count anew.
        planted!(rules.fault, "heartbeat-not-reset", return Some(assigned));
        Some(self.last_write.get(&role).map_or(assigned, |wrote| assigned.max(*wrote)))
    }
}
