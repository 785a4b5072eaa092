//! Faults of the single source of truth.

use crate::json::Value;
use crate::task_amp::ack::Ack;
use crate::task_amp::bus::{Answer, Turn};
use crate::task_amp::log;
use crate::task_amp::message::{Message, Shared};
use crate::task_amp::role::Kind;

/// A message of a body that may be refused, as far as it can be read.
fn lenient(value: &Value) -> Option<Message> {
    let mut object = value.as_object()?.clone();
    let id = object.text("msg_id").unwrap_or("unknown").to_owned();
    let kind = object.text("type").and_then(Kind::parse).unwrap_or(Kind::Dispatch);
    for (name, text) in [
        ("type", kind.name()),
        ("from", kind.senders().first().map_or("", |role| role.name())),
        ("to", kind.addressee().name()),
        ("msg_id", id.as_str()),
    ] {
        if object.text(name).is_none() {
            object.set(name, text);
        }
    }
    if object.text("task_id").is_none() {
        object.set("task_id", "T-2099-001");
    }
    let mut message = Message::read(&object)?;
    message.object = value.as_object()?.clone();
    Some(message)
}

impl Turn<'_> {
    /// `risk-rewritten`: the executor changes the risk level of the stored dispatch.
    pub(in crate::task_amp) fn lower_risk(&mut self, result: &Message) -> rusqlite::Result<()> {
        let dispatch = self.state.ledger.task(&result.task).and_then(|task| task.last(Kind::Dispatch));
        let Some(dispatch) = dispatch.map(|entry| entry.message.clone()) else { return Ok(()) };
        let mut object = dispatch.object.clone();
        if let Some(payload) = object.get_mut("payload").and_then(Value::as_object_mut) {
            let other = if payload.text("risk_level") == Some("low") { "medium" } else { "low" };
            payload.set("risk_level", other);
        }
        log::replace(self.db, &dispatch.id, &object.write()).map(drop)
    }

    /// `ack-before-validation`: an ACK of whatever arrives.
    pub(in crate::task_amp) fn acknowledge(&mut self, value: &Value) -> rusqlite::Result<()> {
        let Some(message) = lenient(value) else { return Ok(()) };
        let ack = Ack::of(self.rules(), &message, message.to, self.time());
        self.keep_stray_ack(&ack)
    }

    /// `unknown-type-ignored`: an answer as if the message was stored.
    pub(in crate::task_amp) fn dropped(&self, value: &Value) -> Answer {
        let id = value.as_object().and_then(|message| message.text("msg_id")).unwrap_or_default();
        Answer::Accepted { id: id.to_owned(), seq: 0, at: self.time(), duplicate: false }
    }

    /// `logged-but-processed`: a refused message is stored and delivered nevertheless.
    pub(in crate::task_amp) fn hand_on(&mut self, value: &Value) -> rusqlite::Result<()> {
        let Some(message) = lenient(value) else { return Ok(()) };
        self.accept(&Shared::new(message), None).map(drop)
    }
}
