//! Where a role works: the ledger, the time, and what it writes.

use std::sync::Arc;

use crate::fault::planted;
use crate::json::{Object, Value};
use crate::task_amp::ack::Ack;
use crate::task_amp::ledger::{Ledger, State, Task};
use crate::task_amp::message::{Draft, Shared};
use crate::task_amp::message_id;
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::rules::Rules;
use crate::task_amp::schema::{Code, Problem};

/// How roles are set up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// The timeout that the coordinator writes into its messages, in seconds.
    pub(crate) ack_timeout_sec: Option<i64>,
    /// Whether the executor looks whether a repository is there. A library cannot: its caller does the work.
    pub(crate) looks_at_files: bool,
}

/// An entry of the error log (binding.md, section 5).
#[derive(Debug, Clone)]
pub(crate) struct LogEntry {
    pub(crate) receiver: Option<Role>,
    pub(crate) problem: Problem,
    pub(crate) message: Option<String>,
    pub(crate) task: Option<String>,
}

/// What a role does.
#[derive(Debug, Clone)]
pub(crate) enum Output {
    /// Writes a message.
    Message(Shared),
    /// Writes an ACK.
    Ack(Ack),
    /// Writes to the error log.
    Error(LogEntry),
    /// Wants the work of a dispatch done.
    Work(Shared),
    /// Wants the review of a request done.
    Review(Shared),
}

/// The workplace of the roles during one event.
#[derive(Debug)]
pub(crate) struct Desk<'l> {
    pub(crate) ledger: &'l mut Ledger,
    pub(crate) rules: Rules,
    pub(crate) settings: &'l Settings,
    /// The roles that work here.
    pub(crate) active: &'l [Role],
    /// Unix milliseconds.
    pub(crate) now: i64,
    pub(crate) outputs: Vec<Output>,
}

/// What an escalation says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Alarm {
    pub(crate) kind: &'static str,
    pub(crate) severity: &'static str,
    pub(crate) description: String,
    pub(crate) affected: Vec<String>,
    pub(crate) suggested: Vec<&'static str>,
}

impl<'l> Desk<'l> {
    pub(crate) fn new(ledger: &'l mut Ledger, settings: &'l Settings, active: &'l [Role], now: i64) -> Self {
        let rules = ledger.rules;
        Self { ledger, rules, settings, active, now, outputs: Vec::new() }
    }

    /// Whether a role works here.
    #[must_use]
    pub(crate) fn is_active(&self, role: Role) -> bool {
        self.active.contains(&role)
    }

    /// Whether a role may do nothing for a task.
    #[must_use]
    pub(crate) fn is_halted(&self, role: Role, task: &str) -> bool {
        self.ledger.task(task).is_some_and(|task| task.is_halted(role))
    }

    /// Keeps a message for the end of the suspension.
    pub(crate) fn postpone(&mut self, message: &Shared) {
        let task = self.ledger.open(&message.task, self.now);
        if !task.pending.iter().any(|other| other.id == message.id) {
            task.pending.push(message.clone());
        }
    }

    /// Writes an ACK (spec 00, requires_ack).
    pub(crate) fn ack(&mut self, message: &Shared) {
        if !message.requires_ack() {
            return;
        }
        // 00: each message, in each round.
        let judged = |task: &Task| message.kind == Kind::Result && task.last(Kind::Verdict).is_some();
        planted!(self.rules.fault, "acks-of-the-first-round", self.ledger.task(&message.task).is_some_and(judged) => return);
        planted!(self.rules.fault, "unfinished-work-not-acknowledged", message.text("completion_status") == "partial" => return);
        let ack = Ack::of(self.rules, message, message.to, self.now);
        self.ledger.acked(&ack, self.now);
        self.outputs.push(Output::Ack(ack));
    }

    /// Writes a message.
    pub(crate) fn emit(&mut self, draft: Draft) -> Shared {
        let mut id_ms = self.now;
        // 00: the moment at which it is made.
        planted!(self.rules.fault, "msg-id-of-the-start", known in self.ledger.task(&draft.task) => id_ms = known.created_at);
        let used = |ms| self.ledger.message(&message_id::make(self.rules, draft.kind, &draft.task, ms)).is_some();
        // 00: globally unique, also within one millisecond (E10).
        while used(id_ms) && !self.rules.fault.is("msg-id-collides") {
            id_ms += 1;
        }
        let message = Arc::new(draft.build(self.rules, self.now, id_ms));
        self.ledger.store(&message, self.now);
        self.outputs.push(Output::Message(message.clone()));
        message
    }

    /// Writes to the error log.
    pub(crate) fn log(&mut self, receiver: Role, problem: Problem, message: &Shared) {
        self.ledger.refused(&message.id);
        self.outputs.push(Output::Error(LogEntry {
            receiver: Some(receiver),
            problem,
            message: Some(message.id.clone()),
            task: Some(message.task.clone()),
        }));
    }

    /// Reports to the admin (spec 05).
    pub(crate) fn escalate(&mut self, from: Role, task: &str, alarm: Alarm) -> Shared {
        let rules = self.rules;
        let known = self.ledger.open(task, self.now);
        let locks = alarm.kind == "hallucination_lock";
        let status = if locks { State::Locked } else { known.state };
        let snapshot = known.snapshot(rules, status);
        // Other, E56: a warning does not bind its sender.
        let suspends = alarm.severity == "critical" || (alarm.severity == "warning" && !rules.is_other());
        // 05.3: critical means suspended.
        let suspends = suspends && !rules.fault.is("critical-keeps-running");
        // 05: the one that reports.
        let culprit = if rules.fault.is("triggered-by-wrong") { "reviewer" } else { from.name() };
        // 05: false only at info.
        let raised = rules.fault.is("warning-goes-on") && alarm.severity == "info";
        let texts = |items: Vec<String>| items.into_iter().map(Value::from).collect::<Vec<_>>();
        let mut payload = Object::from([
            ("escalation_type", alarm.kind.into()),
            ("severity", if raised { "warning" } else { alarm.severity }.into()),
            ("triggered_by", culprit.into()),
            ("description", alarm.description.into()),
            ("affected_msgs", texts(alarm.affected).into()),
            ("system_state_snapshot", snapshot.into()),
        ]);
        if !alarm.suggested.is_empty() {
            payload.set("suggested_actions", texts(alarm.suggested.into_iter().map(str::to_owned).collect()));
        }
        payload.set("auto_suspended", suspends);
        self.emit(Draft::new(Kind::Escalation, from, task, payload))
    }

    /// Refuses a message that no role can act on: an entry in the error log, and an escalation (spec 05, No Silent Failure).
    pub(crate) fn stuck(&mut self, role: Role, message: &Shared, problem: &Problem, kind: &'static str) {
        // 05.3: a failure leaves a trace.
        planted!(self.rules.fault, "swallowed-exception", return);
        let (id, task) = (message.id.clone(), message.task.clone());
        self.log(role, problem.clone(), message);
        self.report(role, &task, &id, problem, kind);
    }

    /// Reports a message that was refused.
    pub(crate) fn report(&mut self, role: Role, task: &str, id: &str, problem: &Problem, kind: &'static str) {
        // 01.3: a forbidden branch triggers an escalation.
        planted!(self.rules.fault, "branch-refused-silently", problem.code == Code::BranchForbidden => return);
        // 01.3: each of them.
        let before = self.ledger.task(task).is_some_and(|task| task.count(Kind::Escalation) > 0);
        planted!(self.rules.fault, "branch-reported-once", before && problem.code == Code::BranchForbidden => return);
        let alarm = Alarm {
            // 05.4: the type for this.
            kind: if self.rules.fault.is("stuck-is-conflict") { "conflict" } else { kind },
            severity: self.mild(),
            description: format!("{task}: the {} cannot act on {id}: {}", role.name(), problem.message),
            affected: vec![id.to_owned()],
            suggested: vec!["Reissue the revised task", "Terminate the current task"],
        };
        self.escalate(role, task, alarm);
    }

    /// The severity of a report after which everything goes on (E56).
    #[must_use]
    pub(crate) fn mild(&self) -> &'static str {
        // Other, E56: false with a warning.
        if self.rules.is_other() { "warning" } else { "info" }
    }
}
