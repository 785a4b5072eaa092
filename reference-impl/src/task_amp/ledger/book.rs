//! The ledger: every task, and how each stored fact changes it.

use std::collections::{BTreeMap, HashMap};

use super::task::{Entry, State, Task, Timer};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::task_amp::ack::Ack;
use crate::task_amp::message::Shared;
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::rules::Rules;

/// How long an agent may be silent (spec 05.4, heartbeat_timeout).
pub(crate) const HEARTBEAT_SEC: i64 = 1800;

/// What an instruction of the admin says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instruction {
    Continue,
    Cancel,
    Stop,
}

/// Every task.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) rules: Rules,
    heartbeat_ms: i64,
    pub(crate) tasks: BTreeMap<String, Task>,
    ids: HashMap<String, Shared>,
}

impl Ledger {
    #[must_use]
    pub(crate) fn new(rules: Rules, heartbeat_sec: Option<i64>) -> Self {
        // 05.4: 30 minutes.
        let limit = if rules.fault.is("heartbeat-five-minutes") { 300 } else { HEARTBEAT_SEC };
        let heartbeat_ms = heartbeat_sec.unwrap_or(limit) * 1000;
        Self { rules, heartbeat_ms, tasks: BTreeMap::new(), ids: HashMap::new() }
    }

    /// The message with this id.
    #[must_use]
    pub(crate) fn message(&self, id: &str) -> Option<&Shared> {
        self.ids.get(id)
    }

    #[must_use]
    pub(crate) fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// The record of a task, which is created if there is none (E04).
    pub(crate) fn open(&mut self, id: &str, now: i64) -> &mut Task {
        self.tasks.entry(id.to_owned()).or_insert_with(|| Task::new(id, now))
    }

    /// Rejects that count for a task.
    #[must_use]
    pub(crate) fn rejects(&self, task: &str) -> i64 {
        // 03: of the current task.
        planted!(self.rules.fault, "reject-count-shared", return self.all_rejects());
        self.task(task).map_or(0, |task| task.rejects)
    }

    /// Rejects of all tasks, which some faults count.
    #[must_use]
    pub(crate) fn all_rejects(&self) -> i64 {
        self.tasks.values().map(|task| task.rejects).sum()
    }

    /// A message was stored. `false` if it is known.
    pub(crate) fn stored(&mut self, message: &Shared, now: i64) -> bool {
        if self.ids.contains_key(&message.id) {
            return false;
        }
        self.store(message, now);
        true
    }

    /// A message was stored, whatever its id.
    pub(crate) fn store(&mut self, message: &Shared, now: i64) {
        let (rules, limit) = (self.rules, self.heartbeat_ms);
        self.ids.insert(message.id.clone(), message.clone());
        let task = self.open(&message.task, now);
        let invited = message.kind == Kind::Verdict && task.is_after(Kind::Request, Kind::Verdict);
        let entry = Entry { message: message.clone(), at: now, acked: false, reported: false, refused: false, invited };
        task.entries.push(entry);
        if let Some(timeout) = message.ack_timeout_ms(rules) {
            // 00: the time starts with the message.
            let start = if rules.fault.is("ack-timeout-from-the-start-of-the-task") { task.created_at } else { now };
            task.deadlines.insert((start.saturating_add(timeout), Timer::Ack(message.id.clone())));
        }
        task.wrote(message.from, now, limit);
        let before = task.state;
        match message.kind {
            Kind::Dispatch => {
                task.state = State::Dispatched;
                task.silent.remove(&Role::Executor);
                task.deadlines.insert((now + limit, Timer::Heartbeat(Role::Executor)));
            }
            Kind::Result if task.is_complete() && !task.is_over() => task.state = State::AwaitingReview,
            Kind::Result => {}
            Kind::Request => {
                task.state = State::InReview;
                task.silent.remove(&Role::Reviewer);
                task.deadlines.insert((now + limit, Timer::Heartbeat(Role::Reviewer)));
            }
            Kind::Verdict if invited => judged(rules, task, message),
            Kind::Verdict => {} // nobody asked for it (E69)
            Kind::Escalation => escalated(rules, task, message),
        }
        // 05: only the admin ends a lock.
        if before == State::Locked {
            task.state = before;
        }
    }

    /// An ACK was stored. One that does not come from the addressee does not count (E20).
    pub(crate) fn acked(&mut self, ack: &Ack, now: i64) {
        let Some(message) = self.ids.get(&ack.message).cloned() else { return };
        let limit = self.heartbeat_ms;
        let (rules, from_anyone) = (self.rules, self.takes_any_ack());
        let Some(task) = self.tasks.get_mut(&message.task) else { return };
        task.wrote(ack.actor, now, limit);
        if ack.actor != message.to && !from_anyone {
            return;
        }
        // 00: the ACK of the receiver, whichever role that is.
        planted!(rules.fault, "only-executor-acks-count", ack.actor != Role::Executor => return);
        // 00: the ACK of this message.
        let kind = message.kind.name();
        planted!(rules.fault, "one-ack-for-all-of-its-type", task.deadlines.retain(|(_, timer)| !timer.is_of(kind)));
        task.deadlines.retain(|(_, timer)| *timer != Timer::Ack(message.id.clone()));
        task.parked.retain(|timer| *timer != Timer::Ack(message.id.clone()));
        if let Some(entry) = task.entry_mut(&message.id) {
            entry.acked = true;
        }
        task.last_success = Some(message.id.clone());
        if message.kind == Kind::Dispatch && task.state == State::Dispatched {
            task.state = State::Executing;
        }
    }

    /// Whether an ACK by a third role counts.
    #[must_use]
    pub(crate) fn takes_any_ack(&self) -> bool {
        // 00: the receiver acknowledges.
        self.rules.fault.is("ack-from-anyone")
    }

    /// What an instruction of the admin makes the roles do.
    #[must_use]
    pub(crate) fn meant(&self, instruction: Instruction) -> Instruction {
        // 05.3: the admin may choose otherwise than the sender of an escalation suggests.
        planted!(self.rules.fault, "cancel-ignored", instruction == Instruction::Cancel => return Instruction::Continue);
        instruction
    }

    /// Whether an instruction of any role counts.
    #[must_use]
    pub(crate) fn obeys_anyone(&self) -> bool {
        // 05: the admin is the sole arbiter.
        self.rules.fault.is("resume-by-anyone")
    }

    /// The addressee refused a message that the store has; nothing is expected of it any more (E81).
    pub(crate) fn refused(&mut self, id: &str) {
        let Some(message) = self.ids.get(id) else { return };
        let Some(task) = self.tasks.get_mut(&message.task) else { return };
        task.deadlines.retain(|(_, timer)| *timer != Timer::Ack(id.to_owned()));
        if let Some(entry) = task.entry_mut(id) {
            entry.refused = true;
        }
    }

    /// An agent wrote something else for a task.
    pub(crate) fn wrote(&mut self, task: &str, role: Role, now: i64) {
        let limit = self.heartbeat_ms;
        self.open(task, now).wrote(role, now, limit);
    }

    /// A plan was handed in (E25).
    pub(crate) fn planned(&mut self, task: &str, plan: &Object, now: i64) {
        let task = self.open(task, now);
        task.plan = Some(plan.clone());
        task.state = State::AwaitingApproval;
        task.updated_at = now;
    }

    /// The admin approved the plan.
    pub(crate) fn approved(&mut self, task: &str, now: i64) {
        let task = self.open(task, now);
        task.approved = true;
        task.state = State::Planned;
        task.updated_at = now;
    }

    /// The tasks whose plan was not dispatched yet.
    pub(crate) fn undispatched(&self) -> Vec<String> {
        let waits = |task: &Task| task.plan.is_some() && task.last(Kind::Dispatch).is_none();
        self.tasks.iter().filter(|(_, task)| waits(task)).map(|(id, _)| id.clone()).collect()
    }

    /// Whether the build of any task failed.
    pub(crate) fn some_build_failed(&self) -> bool {
        let failed = |task: &Task| task.ci.as_ref().and_then(|ci| ci.text("xcode_cloud")) == Some("failed");
        self.tasks.values().any(failed)
    }

    /// Whether a missing ACK of any task was reported to the admin.
    pub(crate) fn some_ack_reported(&self) -> bool {
        let reports = |entry: &Entry| entry.message.text("escalation_type") == "ack_timeout";
        self.tasks.values().any(|task| task.entries.iter().any(reports))
    }

    /// Whether another task than this one has a subtask of this id.
    pub(crate) fn is_of_another(&self, task: &str, subtask: &str) -> bool {
        let others = self.tasks.values().filter(|other| other.id != task);
        others.flat_map(Task::subtasks).any(|id| id == subtask)
    }

    /// Whether another task than this one has work that is not finished.
    pub(crate) fn is_busy_elsewhere(&self, task: &str) -> bool {
        self.tasks.values().any(|other| other.id != task && !other.open_subtasks().is_empty())
    }

    /// The first dispatch of a task.
    pub(crate) fn first_dispatch(&self, task: &str) -> Option<Shared> {
        let entries = &self.tasks.get(task)?.entries;
        entries.iter().map(|entry| &entry.message).find(|message| message.kind == Kind::Dispatch).cloned()
    }

    /// CI told its status.
    pub(crate) fn ci(&mut self, task: &str, status: &Object, now: i64) {
        let rules = self.rules;
        let task = self.open(task, now);
        // 03.3: the present status.
        planted!(rules.fault, "ci-first-status-stays", task.ci.is_some() => return);
        planted!(rules.fault, "ci-of-a-suspended-task-lost", task.suspended => return);
        task.ci = Some(status.clone());
        task.updated_at = now;
    }

    /// The admin gave an instruction (E61).
    pub(crate) fn instructed(&mut self, task: &str, instruction: Instruction, control: Option<&str>, now: i64) {
        let (rules, limit) = (self.rules, self.heartbeat_ms);
        let lost = rules.fault.is("resume-lost");
        // 05: the instruction is for its task.
        let every = self.tasks.values_mut();
        planted!(rules.fault, "resume-of-every-task", every.for_each(|task| task.suspended = false));
        let every = self.tasks.values_mut();
        planted!(rules.fault, "cancel-of-every-task", instruction == Instruction::Cancel => every.for_each(|task| task.state = State::Cancelled));
        let task = self.open(task, now);
        task.controls.extend(control.map(str::to_owned));
        task.updated_at = now;
        if instruction == Instruction::Stop {
            task.suspended = true;
            return;
        }
        // 05: the instruction ends the suspension.
        task.suspended = task.suspended && lost;
        task.stopped.clear();
        task.resumed_at = now;
        match instruction {
            Instruction::Cancel => task.state = State::Cancelled,
            Instruction::Continue if task.state == State::Locked => task.state = State::Rejected,
            Instruction::Continue | Instruction::Stop => {}
        }
        for timer in std::mem::take(&mut task.parked) {
            let span = match &timer {
                Timer::Ack(id) => task.entry(id).and_then(|entry| entry.message.ack_timeout_ms(rules)),
                Timer::Heartbeat(_) => Some(limit),
            };
            task.deadlines.extend(span.map(|span| (now + span, timer)));
        }
    }

    /// The earliest timer of a task that has run out by `now`, taken out. Those of a suspended task are put aside.
    pub(crate) fn due(&mut self, task: &str, now: i64) -> Option<(i64, Timer)> {
        let limit = self.heartbeat_ms;
        let rules = self.rules;
        let task = self.tasks.get_mut(task)?;
        loop {
            let (at, timer) = task.deadlines.first().filter(|(at, _)| *at <= now)?.clone();
            task.deadlines.pop_first();
            if task.suspended {
                task.parked.push(timer);
                continue;
            }
            match &timer {
                Timer::Ack(id) => {
                    // 00: one report for each message.
                    let again = rules.fault.is("ack-report-every-tick");
                    let entry = task.entry_mut(id).filter(|entry| !entry.acked && (again || !entry.reported));
                    let Some(entry) = entry else { continue };
                    entry.reported = true;
                    task.deadlines.extend(again.then(|| (now + 1000, timer.clone())));
                    return Some((at, timer));
                }
                Timer::Heartbeat(role) => {
                    let Some(since) = task.silent_since(rules, *role) else { continue };
                    if since + limit > now {
                        task.deadlines.insert((since + limit, timer));
                        continue;
                    }
                    if task.silent.insert(*role) {
                        return Some((at, timer));
                    }
                }
            }
        }
    }

    /// When the next timer of a task runs out.
    #[must_use]
    pub(crate) fn next(&self, task: &str) -> Option<i64> {
        self.task(task)?.deadlines.first().map(|(at, _)| *at)
    }
}

/// Spec 04: what a verdict changes.
fn judged(rules: Rules, task: &mut Task, verdict: &Shared) {
    if verdict.text("decision") == "rejected" {
        task.rejects += 1;
        task.state = State::Rejected;
        return;
    }
    // 04.3: a minor issue does not block.
    planted!(rules.fault, "minor-counts-as-reject", !verdict.list("issues").is_empty() => task.rejects += 1);
    // 03.2: the rejects are counted; repaired work is approved.
    planted!(rules.fault, "repair-counts-as-reject", verdict.text("decision") == "approved_with_fix" => task.rejects += 1);
    task.state = State::Approved;
}

/// Spec 05: what an escalation changes.
fn escalated(rules: Rules, task: &mut Task, escalation: &Shared) {
    let suspended = escalation.payload().get("auto_suspended") == Some(&Value::Bool(true));
    let critical = escalation.text("severity") == "critical";
    // 05, Critical = Suspend All: every role, not only the one that reports.
    let everybody = critical && !rules.fault.is("only-sender-suspends");
    // 05, Critical = Suspend All: each time.
    let critical_ones = task.entries.iter().filter(|entry| entry.message.text("severity") == "critical").count();
    let everybody = everybody && !(critical_ones > 1 && rules.fault.is("second-suspension-ignored"));
    task.suspended |= everybody;
    if suspended {
        task.stopped.insert(escalation.from);
    }
    if escalation.text("escalation_type") == "hallucination_lock" {
        task.state = State::Locked;
    }
    // Whoever reports a missing ACK, it is reported (E22).
    if escalation.text("escalation_type") == "ack_timeout" {
        for id in escalation.texts("affected_msgs") {
            if let Some(entry) = task.entry_mut(id) {
                entry.reported = true;
            }
        }
    }
}
