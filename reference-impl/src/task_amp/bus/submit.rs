//! The submission of a message: checks in order, then storage and delivery, in one transaction (binding.md, sections 3 and 5).

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::core::{Bus, Failure};
use super::turn::Turn;
use crate::fault::planted;
use crate::json::{self, Object, Value};
use crate::task_amp::faults;
use crate::task_amp::ledger::State as TaskState;
use crate::task_amp::log;
use crate::task_amp::message::{Message, Shared};
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::roles::{Desk, Event, LogEntry, Output};
use crate::task_amp::rules::Rules;
use crate::task_amp::schema::{self, Code, Problem};
use crate::task_amp::{careless, message_id};

/// The deepest nesting of a message (binding.md, section 13).
const DEPTH_LIMIT: usize = 64;

/// The answer to a submission.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Stored at this place and time; or it was there before.
    Accepted { id: String, seq: i64, at: i64, duplicate: bool },
    /// Refused with this status.
    Refused { status: u16, problems: Vec<Problem> },
}

/// The body of a submission: its value, or why it has none.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    value: Result<Value, Problem>,
    digest: String,
    /// The status for a body without a value.
    status: u16,
}

impl Body {
    /// Reads a body (spec, JSON wire format; E06).
    #[must_use]
    pub(crate) fn read(rules: Rules, bytes: &[u8]) -> Self {
        careless::read(rules.fault, bytes);
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(bytes));
        let relaxed = || faults::json::without_comments(bytes);
        let text = if schema::takes_comments(rules) { relaxed() } else { bytes.to_vec() };
        let read = json::read_to_depth(&text, DEPTH_LIMIT);
        let value = read.map_err(|error| Problem::new(Code::InvalidJson, "", error.to_string()));
        if let Ok(value) = &value {
            careless::look(rules.fault, value);
        }
        Self { value, digest, status: 400 }
    }

    /// A body that is not read at all: of another media type, or too large.
    #[must_use]
    pub(crate) fn unread(status: u16, code: Code, bytes: &[u8], message: &str) -> Self {
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(bytes));
        Self { value: Err(Problem::new(code, "", message)), digest, status }
    }
}

impl Bus {
    /// Takes a message in the name of the acting role.
    pub(crate) async fn submit(&self, acting: Option<Role>, body: Body) -> Result<Answer, Failure> {
        self.transact(move |turn| {
            let answer = turn.submit(acting, &body)?;
            let (status, action) = match &answer {
                Answer::Accepted { duplicate: false, .. } => (202, "message_stored"),
                Answer::Accepted { .. } => (200, "message_repeated"),
                Answer::Refused { status, .. } => (*status, "message_refused"),
            };
            let task = body.value.as_ref().ok().and_then(Value::as_object).and_then(|message| message.text("task_id"));
            turn.audit("/messages", status, task, action)?;
            Ok(answer)
        })
        .await
    }
}

/// The member of an object that may not be one.
fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.as_object()?.text(name)
}

impl Turn<'_> {
    fn submit(&mut self, acting: Option<Role>, body: &Body) -> rusqlite::Result<Answer> {
        let value = match &body.value {
            Ok(value) => value,
            Err(problem) => return self.refuse(body, body.status, vec![problem.clone()]),
        };
        // Intro: an invalid message is refused before anything is written about it.
        planted!(self.rules.fault, "ack-before-validation", self.acknowledge(value)?);
        let problems = schema::check(self.rules, value);
        // Intro: an unknown type is an error.
        planted!(self.rules.fault, "unknown-type-ignored", problems.iter().any(|problem| problem.path == "/type") => return Ok(self.dropped(value)));
        let forbidden = problems.iter().all(|problem| problem.code == Code::BranchForbidden) && !problems.is_empty();
        let message = value.as_object().and_then(Message::read).map(Arc::new);
        let executor = message.as_ref().is_some_and(|message| self.works(Role::Executor, &message.task));
        // Other, E26: the executor refuses it itself.
        let left = forbidden && self.rules.is_other() && executor;
        if !problems.is_empty() && !left {
            // E07: a schema error is 422.
            let status = if problems[0].code == Code::NotAnObject { 400 } else { 422 };
            let answer = self.refuse(body, status, problems.clone())?;
            if let (true, Some(message)) = (forbidden, &message) {
                self.branch_refused(message, &problems[0])?;
            }
            return Ok(answer);
        }
        let Some(message) = message else {
            let problem = Problem::new(Code::NotAnObject, "", "not a message");
            return self.refuse(body, 422, vec![problem]);
        };
        // 01 to 05, SSOT writes: the sender writes (E66).
        if acting != Some(message.from) && !self.rules.fault.is("writer-unchecked") {
            let problem = Problem::new(Code::WriterMismatch, "/from", "the acting role is another one");
            return self.refuse(body, 403, vec![problem]);
        }
        if let Some(row) = log::message(self.db, &message.id)? {
            return self.repeated(body, &message, value, &row);
        }
        if let Some(problem) = self.suspended(&message) {
            return self.refuse(body, 423, vec![problem]);
        }
        let problems = self.state.ledger.context(&message);
        if !problems.is_empty() {
            return self.refuse(body, 422, problems);
        }
        self.accept(&message, acting)
    }

    fn works(&self, role: Role, task: &str) -> bool {
        self.state.active.of(task).contains(&role)
    }

    /// Stores a message and delivers it.
    pub(crate) fn accept(&mut self, message: &Shared, written_by: Option<Role>) -> rusqlite::Result<Answer> {
        let now = self.now(&message.task);
        let seq = self.store(message, written_by, now)?;
        self.state.ledger.store(message, now);
        self.drive(&message.task, Event::Stored(message.clone()))?;
        Ok(Answer::Accepted { id: message.id.clone(), seq, at: now, duplicate: false })
    }

    /// A message under a used id (E10, E77).
    fn repeated(&mut self, body: &Body, message: &Shared, value: &Value, row: &log::Row) -> rusqlite::Result<Answer> {
        let same = json::read(row.body.as_bytes()).is_ok_and(|stored| is_same(&stored, value));
        let accepted = || Answer::Accepted { id: message.id.clone(), seq: row.seq, at: row.at, duplicate: true };
        // 00: the first message stays.
        planted!(self.rules.fault, "duplicate-overwrites", !same => return log::replace(self.db, &message.id, &message.object.write()).map(|_| accepted()));
        if !same {
            let problem = Problem::new(Code::DuplicateMsgId, "/msg_id", "used by another message");
            return self.refuse(body, 409, vec![problem]);
        }
        self.drive(&message.task, Event::Redelivered(message.clone()))?;
        // Other, E77: an identical message is a conflict, too.
        if self.rules.is_other() {
            let problem = Problem::new(Code::DuplicateMsgId, "/msg_id", "stored already");
            return Ok(Answer::Refused { status: 409, problems: vec![problem] });
        }
        Ok(accepted())
    }

    /// 05, Critical = Suspend All: nothing new is taken for a suspended task.
    fn suspended(&self, message: &Message) -> Option<Problem> {
        // Other, E60: it is taken, and waits.
        if message.kind == Kind::Escalation || self.rules.is_other() {
            return None;
        }
        let task = self.state.ledger.task(&message.task).filter(|task| task.suspended)?;
        let code = if task.state == TaskState::Locked { Code::TaskLocked } else { Code::TaskSuspended };
        Some(Problem::new(code, "/task_id", "the task waits for the admin"))
    }

    /// Refuses a message, and logs that (intro; E03).
    fn refuse(&mut self, body: &Body, status: u16, problems: Vec<Problem>) -> rusqlite::Result<Answer> {
        let value = body.value.as_ref().ok();
        let id = value.and_then(|value| text(value, "msg_id")).map(str::to_owned);
        let task = value.and_then(|value| text(value, "task_id")).map(str::to_owned);
        let problem = problems.first().cloned();
        let problem = problem.unwrap_or_else(|| Problem::new(Code::InvalidJson, "", "refused"));
        let now = self.state.clock.now(task.as_deref());
        let entry = LogEntry { receiver: None, problem, message: id, task };
        self.note(&entry, Some(&body.digest), now)?;
        // Intro: a refused message goes no further.
        planted!(self.rules.fault, "logged-but-processed", value in value => self.hand_on(value)?);
        Ok(Answer::Refused { status, problems })
    }

    /// 01.3: the bus refused a dispatch for the Executor, and reports it (E26, E70).
    fn branch_refused(&mut self, message: &Message, problem: &Problem) -> rusqlite::Result<()> {
        if message_id::parse(self.rules, &message.id).is_none() {
            return Ok(()); // nothing to name
        }
        let now = self.now(&message.task);
        let mut desk = Desk::new(&mut self.state.ledger, &self.options.settings, &[], now);
        desk.report(Role::System, &message.task, &message.id, problem, "branch_violation");
        for output in desk.outputs {
            if let Output::Message(escalation) = output {
                self.store(&escalation, Some(Role::System), now)?;
            }
        }
        Ok(())
    }

    /// Writes an entry of the error log in the name of a role (binding.md, section 3, `log_error`).
    pub(super) fn logged(&mut self, acting: Option<Role>, entry: &Object) -> rusqlite::Result<i64> {
        let id = entry.text("msg_id").map(str::to_owned);
        if let Some(id) = &id {
            self.state.ledger.refused(id);
        }
        let row = log::Row {
            at: self.state.clock.now(None),
            message: id,
            actor: acting.map(|role| role.name().to_owned()),
            body: entry.write(),
            ..log::Row::default()
        };
        self.append(log::What::Error, &row)
    }
}

/// Whether two values are equal JSON: the order of members does not count.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, value): (&str, &Value)| right.get(name).is_some_and(|other| is_same(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right, // scalars, and values of two kinds
    }
}
