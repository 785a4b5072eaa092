//! One transaction: facts that are stored, the roles that hear of them, and what those answer.

use std::collections::VecDeque;

use rusqlite::Connection;

use super::state::{Options, State};
use crate::fault::planted;
use crate::json::Object;
use crate::task_amp::ack::Ack;
use crate::task_amp::log::{self, Row, What};
use crate::task_amp::message::{Message, Shared};
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::roles::{Desk, Event, LogEntry, Output, decide};
use crate::task_amp::rules::Rules;
use crate::task_amp::time;

/// How many answers may follow from one fact: far more than any correct sequence has.
const ANSWER_LIMIT: usize = 1000;

/// Work outside the transaction.
#[derive(Debug)]
pub(crate) enum Job {
    /// Of a dispatch.
    Work(Shared),
    /// Of a request, with the dispatch and the result that it names.
    Review(Shared, Option<Shared>, Option<Shared>),
}

/// One transaction.
pub(crate) struct Turn<'t> {
    pub(crate) db: &'t Connection,
    pub(crate) state: &'t mut State,
    pub(super) options: &'t Options,
    pub(super) rules: Rules,
    /// Work to start afterwards.
    pub(super) jobs: Vec<Job>,
    /// The place of the last row.
    pub(super) last: i64,
}

impl State {
    /// The review of a request.
    pub(super) fn review(&self, request: &Shared) -> Job {
        let message = |name| self.ledger.message(request.text(name)).cloned();
        Job::Review(request.clone(), message("original_dispatch_ref"), message("task_result_ref"))
    }

    /// Work that was taken on and not finished.
    pub(super) fn unfinished(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for task in self.ledger.tasks.values().filter(|task| !task.is_over()) {
            let active = self.active.of(&task.id);
            let last = |kind| task.last(kind).filter(|entry| entry.acked && !entry.refused);
            if active.contains(&Role::Executor) && task.assigned_at(Role::Executor).is_some() {
                jobs.extend(last(Kind::Dispatch).map(|entry| Job::Work(entry.message.clone())));
            }
            if active.contains(&Role::Reviewer) && task.assigned_at(Role::Reviewer).is_some() {
                jobs.extend(last(Kind::Request).map(|entry| self.review(&entry.message)));
            }
        }
        jobs
    }
}

impl<'t> Turn<'t> {
    pub(super) fn new(db: &'t Connection, state: &'t mut State, options: &'t Options) -> Self {
        Self { db, state, options, rules: options.rules, jobs: Vec::new(), last: 0 }
    }

    /// The rules, for the code of faults.
    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// The present time in general.
    pub(crate) fn time(&self) -> i64 {
        self.state.clock.now(None)
    }

    /// Keeps an ACK, whatever it acknowledges.
    pub(crate) fn keep_stray_ack(&mut self, ack: &Ack) -> rusqlite::Result<()> {
        let now = self.time();
        self.keep_ack(ack, now).map(drop)
    }

    /// The present time of a task.
    pub(super) fn now(&self, task: &str) -> i64 {
        self.state.clock.now(Some(task))
    }

    pub(super) fn append(&mut self, what: What, row: &Row) -> rusqlite::Result<i64> {
        self.last = log::append(self.db, what, row)?;
        Ok(self.last)
    }

    /// Stores a message: the single source of truth has it when the transaction ends.
    pub(super) fn store(&mut self, message: &Shared, written_by: Option<Role>, now: i64) -> rusqlite::Result<i64> {
        let mut row = Row {
            at: now,
            task: Some(message.task.clone()),
            message: Some(message.id.clone()),
            kind: Some(message.kind.name().to_owned()),
            sender: Some(message.from.name().to_owned()),
            receiver: Some(message.to.name().to_owned()),
            actor: written_by.map(|role| role.name().to_owned()),
            body: message.object.write(),
            ..Row::default()
        };
        // 02, SSOT writer: the Executor writes its result.
        let addressee = message.to.name().to_owned();
        planted!(self.rules.fault, "writer-recorded-as-addressee", message.kind == Kind::Result => row.actor = Some(addressee));
        // Intro, SSOT: an accepted message is persisted.
        planted!(self.rules.fault, "kept-in-memory", return Ok(self.last + 1));
        self.append(What::Message, &row)
    }

    /// Lets the roles that work on a task act on an event, and on what follows from it.
    pub(super) fn drive(&mut self, task: &str, event: Event) -> rusqlite::Result<()> {
        let active = self.state.active.of(task);
        let mut queue = VecDeque::from([event]);
        for _ in 0..ANSWER_LIMIT {
            let Some(event) = queue.pop_front() else { return Ok(()) };
            let now = self.now(task);
            let mut desk = Desk::new(&mut self.state.ledger, &self.options.settings, &active, now);
            decide(&mut desk, &event);
            for output in desk.outputs {
                self.perform(output, now, &mut queue)?;
            }
        }
        Ok(())
    }

    /// Does what a role decided.
    fn perform(&mut self, output: Output, now: i64, queue: &mut VecDeque<Event>) -> rusqlite::Result<()> {
        match output {
            Output::Message(message) => {
                // 01: the Coordinator writes the dispatch to the SSOT.
                let kept = message.kind != Kind::Dispatch || !self.rules.fault.is("dispatch-not-stored");
                if kept {
                    self.store(&message, Some(message.from), now)?;
                }
                // 01: the Executor must not modify the risk level.
                planted!(self.rules.fault, "risk-rewritten", message.kind == Kind::Result => self.lower_risk(&message)?);
                queue.push_back(Event::Stored(message));
            }
            Output::Ack(ack) => {
                // 00: the ACK is written to the SSOT.
                let kept = !self.rules.fault.is("ack-in-reply-only");
                if kept {
                    self.keep_ack(&ack, now)?;
                }
                queue.extend(self.state.ledger.message(&ack.message).cloned().map(Event::Acked));
            }
            Output::Error(entry) => self.note(&entry, None, now)?,
            Output::Work(dispatch) => self.jobs.push(Job::Work(dispatch)),
            Output::Review(request) => self.jobs.push(self.state.review(&request)),
        }
        Ok(())
    }

    pub(super) fn keep_ack(&mut self, ack: &Ack, now: i64) -> rusqlite::Result<i64> {
        let row = Row {
            at: now,
            task: Some(ack.task.clone()),
            message: Some(ack.message.clone()),
            actor: Some(ack.actor.name().to_owned()),
            body: ack.record.write(),
            ..Row::default()
        };
        self.append(What::Ack, &row)
    }

    /// Intro: a rejection is written to the error log (binding.md, section 5).
    pub(super) fn note(&mut self, entry: &LogEntry, digest: Option<&str>, now: i64) -> rusqlite::Result<()> {
        // Intro: to reject and to log belong together.
        planted!(self.rules.fault, "refused-not-logged", return Ok(()));
        let receiver = entry.receiver.map(Role::name);
        let body = Object::from([
            ("ts", time::format(self.rules, now).into()),
            ("receiver", receiver.unwrap_or("bus").into()),
            ("code", entry.problem.code.name().into()),
            ("path", entry.problem.path.as_str().into()),
            ("detail", entry.problem.message.as_str().into()),
            ("msg_id", entry.message.clone().into()),
            ("body_sha256", digest.map(str::to_owned).into()),
        ]);
        let row = Row {
            at: now,
            task: entry.task.clone(),
            message: entry.message.clone(),
            actor: receiver.map(str::to_owned),
            body: body.write(),
            ..Row::default()
        };
        self.append(What::Error, &row).map(drop)
    }

    /// Writes an audit line (binding.md, section 6).
    pub(super) fn audit(&mut self, route: &str, status: u16, task: Option<&str>, action: &str) -> rusqlite::Result<()> {
        let now = self.state.clock.now(task);
        let body = Object::from([
            ("timestamp", time::format(self.rules, now).into()),
            ("route", route.into()),
            ("status", i64::from(status).into()),
            ("task_id", task.map(str::to_owned).into()),
            ("action", action.into()),
        ]);
        let row = Row { at: now, task: task.map(str::to_owned), body: body.write(), ..Row::default() };
        self.append(What::Audit, &row).map(drop)
    }

    /// Takes rows over from another store.
    pub(super) fn recall(&mut self, rows: Vec<(What, Object)>) -> rusqlite::Result<()> {
        for (what, object) in rows {
            let now = self.time();
            if what == What::Ack {
                let Some(ack) = Ack::read(&object, None) else { continue };
                self.keep_ack(&ack, now)?;
                self.state.ledger.acked(&ack, now);
            } else if let Some(message) = Message::read(&object) {
                let message = Shared::new(message);
                if self.state.ledger.stored(&message, now) {
                    self.store(&message, Some(message.from), now)?;
                }
            }
        }
        let jobs = self.state.unfinished();
        self.jobs.extend(jobs);
        Ok(())
    }

    /// Fires every timer that has run out.
    pub(super) fn fire(&mut self) -> rusqlite::Result<()> {
        let tasks: Vec<String> = self.state.ledger.tasks.keys().cloned().collect();
        for task in tasks {
            let now = self.now(&task);
            while let Some((_, timer)) = self.state.ledger.due(&task, now) {
                self.drive(&task, Event::Fired(task.clone(), timer))?;
            }
        }
        Ok(())
    }

    /// Work or a review was finished; a suspended role keeps it to itself (E60).
    pub(super) fn finished(&mut self, event: Event) -> rusqlite::Result<()> {
        let (task, role) = match &event {
            Event::Worked(dispatch, _) => (dispatch.task.clone(), Role::Executor),
            Event::Reviewed(request, _) => (request.task.clone(), Role::Reviewer),
            _ => return Ok(()), // nothing else is work
        };
        let Some(known) = self.state.ledger.task(&task).filter(|task| !task.is_over()) else { return Ok(()) };
        if known.is_halted(role) {
            self.state.held.push((task, event));
            return Ok(());
        }
        self.drive(&task, event)
    }
}
