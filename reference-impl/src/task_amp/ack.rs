//! ACK records (spec 00, requires_ack; E18; binding.md, section 6).

use super::message::Message;
use super::role::Role;
use super::rules::Rules;
use super::time;
use crate::json::Object;

/// An ACK of one message by one role.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ack {
    /// The id of the message.
    pub(crate) message: String,
    pub(crate) task: String,
    pub(crate) actor: Role,
    /// The record as it is stored.
    pub(crate) record: Object,
}

impl Ack {
    /// The ACK of `message` by `actor`.
    #[must_use]
    pub(crate) fn of(rules: Rules, message: &Message, actor: Role, now: i64) -> Self {
        // 00: it names the message.
        let id = if rules.fault.is("ack-names-task") { &message.task } else { &message.id };
        let moment = time::format(rules, now);
        // Other, E18, E85: the names of the members are free.
        let record = if rules.is_other() {
            Object::from([
                ("ack_of", id.as_str().into()),
                ("task_id", message.task.as_str().into()),
                ("by", actor.name().into()),
                ("acked_at", moment.into()),
            ])
        } else {
            Object::from([
                ("msg_id", id.as_str().into()),
                ("task_id", message.task.as_str().into()),
                ("actor", actor.name().into()),
                ("ack_status", "acked".into()),
                ("ts", moment.into()),
                ("note", "".into()),
            ])
        };
        Self { message: id.clone(), task: message.task.clone(), actor, record }
    }

    /// Reads a record under any of the names of binding.md, section 6. The task may be missing.
    #[must_use]
    pub(crate) fn read(record: &Object, actor: Option<Role>) -> Option<Self> {
        let first = |names: &[&str]| names.iter().find_map(|name| record.text(name));
        let message = first(&["msg_id", "message_id", "ack_of", "ack_for", "ref"])?.to_owned();
        let named = first(&["actor", "from", "by", "role"]).and_then(Role::parse);
        let status = record.present("ack_status").map(|status| status.as_text().unwrap_or_default());
        if status.is_some_and(|status| !["acked", "received", "started"].contains(&status)) {
            return None;
        }
        let task = record.text("task_id").unwrap_or_default().to_owned();
        Some(Self { message, task, actor: named.or(actor)?, record: record.clone() })
    }
}
