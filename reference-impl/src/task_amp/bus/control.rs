//! ACKs, and the calls of the admin: plan, approve, resume, stop, CI (binding.md, section 7; E25, E61, E84).

use super::core::{Bus, Failure};
use super::state::instruction;
use super::turn::Turn;
use crate::json::{Object, Value};
use crate::task_amp::ack::Ack;
use crate::task_amp::ledger::{Instruction, State as TaskState};
use crate::task_amp::log::{Row, What};
use crate::task_amp::message_id;
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::roles::Event;
use crate::task_amp::schema::{self, Code, Problem};

/// The answer to a call: a status and a body.
pub(crate) type Reply = (u16, Object);

/// A refusal of a call.
pub(crate) fn refused(status: u16, problem: &Problem) -> Reply {
    let errors = Value::List(vec![problem.to_json()]);
    (status, Object::from([("accepted", false.into()), ("errors", errors)]))
}

fn simply(status: u16, code: Code, path: &str, message: &str) -> Reply {
    refused(status, &Problem::new(code, path, message))
}

impl Bus {
    /// Takes an ACK (binding.md, section 3).
    pub(crate) async fn ack(&self, acting: Option<Role>, id: String, record: Object) -> Result<Reply, Failure> {
        self.transact(move |turn| turn.ack(acting, &id, &record)).await
    }

    /// Takes a call of the admin about a task.
    pub(crate) async fn call(&self, acting: Option<Role>, call: Call) -> Result<Reply, Failure> {
        self.transact(move |turn| {
            let task = call.task.clone();
            let reply = turn.call(acting, &call)?;
            turn.audit(call.what.name(), reply.0, Some(&task), call.what.name())?;
            Ok(reply)
        })
        .await
    }

    /// Takes an entry of the error log from a role.
    pub(crate) async fn log_error(&self, acting: Option<Role>, entry: Object) -> Result<Reply, Failure> {
        self.transact(move |turn| {
            let seq = turn.logged(acting, &entry)?;
            Ok((201, Object::from([("seq", seq.into())])))
        })
        .await
    }
}

/// A call of the admin.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) what: What,
    pub(crate) task: String,
    pub(crate) body: Object,
}

impl Turn<'_> {
    fn ack(&mut self, acting: Option<Role>, id: &str, record: &Object) -> rusqlite::Result<Reply> {
        let Some(message) = self.state.ledger.message(id).cloned() else {
            return Ok(simply(404, Code::UnresolvedRef, "/msg_id", "no such message"));
        };
        let Some(ack) = Ack::read(record, acting).filter(|ack| ack.message == id) else {
            return Ok(simply(422, Code::BadFormat, "", "not an ACK of this message"));
        };
        // 00: "the receiver must write back the ACK" (E20).
        let foreign = ack.actor != message.to || acting != Some(ack.actor);
        if foreign && !self.state.ledger.takes_any_ack() {
            return Ok(simply(403, Code::WriterMismatch, "/actor", "only the addressee acknowledges"));
        }
        let again =
            self.state.ledger.task(&message.task).and_then(|task| task.entry(id)).is_some_and(|entry| entry.acked);
        if again {
            // Other, E84: a second ACK is a conflict.
            return Ok((if self.rules.is_other() { 409 } else { 200 }, ack.record));
        }
        let ack = Ack { task: message.task.clone(), ..ack };
        let now = self.now(&message.task);
        self.keep_ack(&ack, now)?;
        self.state.ledger.acked(&ack, now);
        self.drive(&message.task, Event::Acked(message.clone()))?;
        self.audit("/acks", 201, Some(&message.task), "ack_stored")?;
        Ok((201, ack.record))
    }

    fn call(&mut self, acting: Option<Role>, call: &Call) -> rusqlite::Result<Reply> {
        // 05, SSOT and Suggested Actions: the admin alone decides.
        let anyone = self.state.ledger.obeys_anyone() && call.what == What::Control;
        if acting != Some(Role::Admin) && !anyone {
            return Ok(simply(403, Code::WriterMismatch, "", "only the admin may do this"));
        }
        match call.what {
            What::Plan => self.plan(call),
            What::Approval => self.approve(call),
            What::Control => self.control(call),
            _ => self.ci(call),
        }
    }

    fn keep(&mut self, call: &Call) -> rusqlite::Result<i64> {
        let at = self.now(&call.task);
        let row = Row { at, task: Some(call.task.clone()), body: call.body.write(), ..Row::default() };
        self.append(call.what, &row).map(|_| at)
    }

    /// The task as it stands.
    fn shown(&self, status: u16, task: &str) -> Reply {
        (status, self.state.ledger.task(task).map(|task| task.record(self.rules)).unwrap_or_default())
    }

    fn plan(&mut self, call: &Call) -> rusqlite::Result<Reply> {
        if !message_id::is_task_id(self.rules, &call.task) {
            return Ok(simply(422, Code::BadFormat, "/task_id", "T-YYYY-NNN"));
        }
        let mut problems = schema::check_payload(self.rules, Kind::Dispatch, &call.body);
        if let Some(problem) = problems.drain(..).next() {
            return Ok(refused(422, &Problem { path: format!("/plan{}", problem.path), ..problem }));
        }
        if self.state.ledger.task(&call.task).is_some_and(|task| task.approved) {
            return Ok(simply(409, Code::DuplicateMsgId, "/task_id", "the plan is approved already"));
        }
        let at = self.keep(call)?;
        self.state.ledger.planned(&call.task, &call.body, at);
        self.drive(&call.task, Event::Planned(call.task.clone()))?;
        Ok(self.shown(201, &call.task))
    }

    fn approve(&mut self, call: &Call) -> rusqlite::Result<Reply> {
        // Other, E84: what has no effect is a conflict.
        let idle = if self.rules.is_other() { 409 } else { 200 };
        let Some(task) = self.state.ledger.task(&call.task).filter(|task| task.plan.is_some()) else {
            return Ok(simply(404, Code::UnknownTask, "/task_id", "no plan of this task"));
        };
        if task.approved {
            return Ok(self.shown(idle, &call.task));
        }
        if task.suspended {
            // Other, E84: 409.
            let status = if self.rules.is_other() { 409 } else { 423 };
            return Ok(simply(status, Code::TaskSuspended, "/task_id", "the task is suspended"));
        }
        let at = self.keep(call)?;
        self.state.ledger.approved(&call.task, at);
        self.drive(&call.task, Event::Approved(call.task.clone()))?;
        Ok(self.shown(200, &call.task))
    }

    fn control(&mut self, call: &Call) -> rusqlite::Result<Reply> {
        let known = matches!(call.body.text("control_type"), Some("RESUME" | "STOP"));
        let payload = call.body.get("payload").and_then(Value::as_object);
        let said = payload.and_then(|payload| payload.text("instruction"));
        if !known || !matches!(said, None | Some("continue" | "cancel")) {
            return Ok(simply(422, Code::BadEnum, "/control_type", "RESUME or STOP, continue or cancel"));
        }
        let Some(task) = self.state.ledger.task(&call.task) else {
            return Ok(simply(404, Code::UnknownTask, "/task_id", "no such task"));
        };
        let (instruction, id) = instruction(&call.body);
        let repeated = id.is_some_and(|id| task.controls.contains(id));
        let halted = task.suspended || !task.stopped.is_empty();
        if repeated || (!halted && instruction == Instruction::Continue) {
            // Other, E84: what has no effect is a conflict.
            return Ok(self.shown(if self.rules.is_other() { 409 } else { 200 }, &call.task));
        }
        let instruction = self.state.ledger.meant(instruction);
        let at = self.keep(call)?;
        self.state.ledger.instructed(&call.task, instruction, id, at);
        let held = std::mem::take(&mut self.state.held);
        let (mine, others): (Vec<_>, Vec<_>) = held.into_iter().partition(|(task, _)| *task == call.task);
        self.state.held = others;
        if instruction == Instruction::Continue {
            for (task, event) in mine {
                self.drive(&task, event)?;
            }
            self.drive(&call.task, Event::Resumed(call.task.clone()))?;
        }
        Ok(self.shown(200, &call.task))
    }

    fn ci(&mut self, call: &Call) -> rusqlite::Result<Reply> {
        // Other, E84: an unknown task has no CI.
        if self.rules.is_other() && self.state.ledger.task(&call.task).is_none() {
            return Ok(simply(404, Code::UnknownTask, "/task_id", "no such task"));
        }
        let at = self.keep(call)?;
        self.state.ledger.ci(&call.task, &call.body, at);
        let over = self.state.ledger.task(&call.task).is_some_and(|task| task.state == TaskState::Cancelled);
        if !over {
            self.drive(&call.task, Event::Ci(call.task.clone()))?;
        }
        Ok(self.shown(202, &call.task))
    }
}
