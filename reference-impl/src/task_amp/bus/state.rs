//! What the bus keeps in memory beside its store: the ledger, the time, and which roles work.

use std::collections::HashMap;

use crate::instant;
use crate::json::{self, Object, Value};
use crate::task_amp::ack::Ack;
use crate::task_amp::clock::Clock;
use crate::task_amp::ledger::{Instruction, Ledger};
use crate::task_amp::log::{Row, What};
use crate::task_amp::message::{Message, Shared};
use crate::task_amp::role::Role;
use crate::task_amp::roles::{Event, Settings};
use crate::task_amp::rules::Rules;

/// How a bus is set up.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) rules: Rules,
    pub(crate) roles: Vec<Role>,
    pub(crate) settings: Settings,
    pub(crate) heartbeat_sec: Option<i64>,
    pub(crate) clock: instant::Clock,
}

/// Which roles work here; the others are left to the outside.
#[derive(Debug, Clone)]
pub(crate) struct Active {
    pub(crate) roles: Vec<Role>,
    /// Tasks with roles of their own.
    pub(crate) tasks: HashMap<String, Vec<Role>>,
}

impl Active {
    #[must_use]
    pub(crate) fn of(&self, task: &str) -> Vec<Role> {
        self.tasks.get(task).unwrap_or(&self.roles).clone()
    }
}

/// Everything that is not on the disk.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) ledger: Ledger,
    pub(crate) clock: Clock,
    pub(crate) active: Active,
    /// Results and verdicts that became ready during a suspension.
    pub(crate) held: Vec<(String, Event)>,
}

impl State {
    /// Folds a stored row into the ledger.
    pub(crate) fn replay(&mut self, what: What, row: &Row) {
        let Ok(Value::Object(body)) = json::read(row.body.as_bytes()) else { return };
        let task = row.task.as_deref().unwrap_or_default();
        match what {
            What::Message => {
                if let Some(message) = Message::read(&body) {
                    self.ledger.stored(&Shared::new(message), row.at);
                }
            }
            What::Ack => {
                let actor = row.actor.as_deref().and_then(Role::parse);
                if let Some(ack) = Ack::read(&body, actor) {
                    self.ledger.acked(&ack, row.at);
                }
            }
            What::Error => {
                let by_role = row.actor.is_some();
                if let Some(id) = row.message.as_deref().filter(|_| by_role) {
                    self.ledger.refused(id);
                }
            }
            What::Plan => self.ledger.planned(task, &body, row.at),
            What::Approval => self.ledger.approved(task, row.at),
            What::Control => {
                let (instruction, id) = instruction(&body);
                self.ledger.instructed(task, instruction, id, row.at);
            }
            What::Ci => self.ledger.ci(task, &body, row.at),
            What::Audit => {} // for people
        }
    }
}

/// The instruction and the id of a stored control call.
#[must_use]
pub(crate) fn instruction(control: &Object) -> (Instruction, Option<&str>) {
    let payload = control.get("payload").and_then(Value::as_object);
    let cancel = payload.and_then(|payload| payload.text("instruction")) == Some("cancel");
    let instruction = match control.text("control_type") {
        Some("STOP") => Instruction::Stop,
        _ if cancel => Instruction::Cancel,
        _ => Instruction::Continue, // RESUME
    };
    (instruction, control.text("control_id"))
}
