//! A role with a ledger of its own: the library, and a process of one role.

use std::sync::Arc;

use super::ack::Ack;
use super::ledger::{Instruction, Ledger, Task};
use super::message::{Message, Shared};
use super::role::{Kind, Role};
use super::roles::{Desk, Event, LogEntry, Output, Settings, decide};
use super::rules::Rules;
use super::schema::{self, Code, Problem};
use crate::json::{Object, Value};

/// One role.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) rules: Rules,
    pub(crate) role: Role,
    pub(crate) ledger: Ledger,
    settings: Settings,
    /// The present time in Unix milliseconds; whoever drives the engine moves it.
    pub(crate) now: i64,
}

impl Engine {
    pub(crate) fn new(rules: Rules, role: Role, now: i64, settings: Settings, heartbeat_sec: Option<i64>) -> Self {
        Self { rules, role, ledger: Ledger::new(rules, heartbeat_sec), settings, now }
    }

    /// Lets the role decide about an event that the ledger knows.
    pub(crate) fn decide(&mut self, event: &Event) -> Vec<Output> {
        let active = [self.role];
        let mut desk = Desk::new(&mut self.ledger, &self.settings, &active, self.now);
        decide(&mut desk, event);
        desk.outputs
    }

    /// An entry of the error log.
    pub(crate) fn error(&self, problem: Problem, message: Option<&str>, task: Option<&str>) -> Output {
        let (message, task) = (message.map(str::to_owned), task.map(str::to_owned));
        Output::Error(LogEntry { receiver: Some(self.role), problem, message, task })
    }

    /// Notes a message of somebody else, for later.
    pub(crate) fn learn(&mut self, value: &Value) {
        let message = value.as_object().and_then(Message::read);
        if let Some(message) = message.filter(|_| schema::check(self.rules, value).is_empty()) {
            self.ledger.stored(&Arc::new(message), self.now);
        }
    }

    /// Intro: a message is checked before anything else.
    pub(crate) fn receive(&mut self, value: &Value) -> Vec<Output> {
        let problems = schema::check(self.rules, value);
        let message = value.as_object().and_then(Message::read).map(Arc::new);
        let member = |name| value.as_object().and_then(|message| message.text(name));
        // 01.3: a forbidden branch is for the executor to report.
        let left = self.role == Role::Executor && problems.iter().all(|problem| problem.code == Code::BranchForbidden);
        if let Some(problem) = problems.into_iter().next().filter(|_| !left) {
            return vec![self.error(problem, member("msg_id"), member("task_id"))];
        }
        let Some(message) = message else { return Vec::new() };
        if let Some(known) = self.ledger.message(&message.id).cloned() {
            if known.object != message.object {
                let problem = Problem::new(Code::DuplicateMsgId, "/msg_id", "used by another message");
                return vec![self.error(problem, Some(&message.id), Some(&message.task))];
            }
            return self.decide(&Event::Redelivered(message));
        }
        let mine = message.to == self.role && self.ledger.task(&message.task).is_some();
        let problem = self.ledger.context(&message).into_iter().next().filter(|_| mine);
        if let Some(problem) = problem {
            return vec![self.error(problem, Some(&message.id), Some(&message.task))];
        }
        self.ledger.store(&message, self.now);
        self.decide(&Event::Stored(message))
    }

    /// An ACK was written.
    pub(crate) fn acked(&mut self, ack: &Ack) -> Vec<Output> {
        self.ledger.acked(ack, self.now);
        match self.ledger.message(&ack.message).cloned() {
            Some(message) => self.decide(&Event::Acked(message)),
            None => Vec::new(), // of nothing that is known
        }
    }

    /// A plan was handed in.
    pub(crate) fn planned(&mut self, task: &str, plan: &Object) -> Vec<Output> {
        let problems = schema::check_payload(self.rules, Kind::Dispatch, plan);
        if let Some(problem) = problems.into_iter().next() {
            return vec![self.error(problem, None, Some(task))];
        }
        self.ledger.planned(task, plan, self.now);
        self.decide(&Event::Planned(task.to_owned()))
    }

    /// The plan was approved.
    pub(crate) fn approved(&mut self, task: &str) -> Vec<Output> {
        self.ledger.approved(task, self.now);
        self.decide(&Event::Approved(task.to_owned()))
    }

    /// CI told its status.
    pub(crate) fn ci(&mut self, task: &str, status: &Object) -> Vec<Output> {
        self.ledger.ci(task, status, self.now);
        self.decide(&Event::Ci(task.to_owned()))
    }

    /// The admin gave an instruction.
    pub(crate) fn instructed(&mut self, task: &str, instruction: Instruction) -> Vec<Output> {
        let instruction = self.ledger.meant(instruction);
        self.ledger.instructed(task, instruction, None, self.now);
        if instruction != Instruction::Continue {
            return Vec::new();
        }
        self.decide(&Event::Resumed(task.to_owned()))
    }

    /// Whether the role may do nothing for a task now.
    #[must_use]
    pub(crate) fn is_halted(&self, task: &str) -> bool {
        self.ledger.task(task).is_some_and(|task| task.is_halted(self.role))
    }

    /// Moves the time; the outputs in the order in which timers ran out.
    pub(crate) fn advance(&mut self, to: i64) -> Vec<Output> {
        let mut outputs = Vec::new();
        loop {
            let due = |task: &Task| Some((task.deadlines.first()?.0, task.id.clone()));
            let next = self.ledger.tasks.values().filter_map(due).min();
            let Some((at, task)) = next.filter(|(at, _)| *at <= to) else { break };
            self.now = self.now.max(at);
            while let Some((_, timer)) = self.ledger.due(&task, self.now) {
                outputs.extend(self.decide(&Event::Fired(task.clone(), timer)));
            }
        }
        self.now = self.now.max(to);
        outputs
    }

    /// The last dispatch with this subtask.
    #[must_use]
    pub(crate) fn dispatch(&self, subtask: &str) -> Option<Shared> {
        let found = self.ledger.tasks.values().filter(|task| task.subtasks().iter().any(|id| id == subtask));
        let dispatches = found.filter_map(|task| task.last(Kind::Dispatch)).map(|entry| entry.message.clone());
        dispatches.max_by(|left, right| left.id.rsplit('-').next().cmp(&right.id.rsplit('-').next()))
    }
}
