//! A valid message as the roles see it, and its making.

use std::sync::{Arc, LazyLock};

use super::message_id;
use super::role::{Kind, Role};
use super::rules::Rules;
use super::schema::VERSION;
use super::time;
use crate::fault::planted;
use crate::json::{Number, Object, Value};

/// A message whose envelope is valid.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) from: Role,
    pub(crate) to: Role,
    pub(crate) task: String,
    /// The whole of it, as it was written.
    pub(crate) object: Object,
}

/// How roles share messages.
pub(crate) type Shared = Arc<Message>;

impl Message {
    /// Reads the members that roles need. `None` if one of them is missing or unknown, which a valid message does not have.
    #[must_use]
    pub(crate) fn read(object: &Object) -> Option<Self> {
        let text = |name| object.text(name);
        Some(Self {
            id: text("msg_id")?.to_owned(),
            kind: Kind::parse(text("type")?)?,
            from: Role::parse(text("from")?)?,
            to: Role::parse(text("to")?)?,
            task: text("task_id")?.to_owned(),
            object: object.clone(),
        })
    }

    /// The payload; empty if there is none.
    #[must_use]
    pub(crate) fn payload(&self) -> &Object {
        static NONE: LazyLock<Object> = LazyLock::new(Object::new);
        self.object.get("payload").and_then(Value::as_object).unwrap_or(&NONE)
    }

    /// The text of a member of the payload.
    #[must_use]
    pub(crate) fn text(&self, name: &str) -> &str {
        self.payload().text(name).unwrap_or_default()
    }

    /// The elements of a list of the payload.
    #[must_use]
    pub(crate) fn list(&self, name: &str) -> &[Value] {
        self.payload().get(name).and_then(Value::as_list).unwrap_or_default()
    }

    /// The strings of a list of the payload.
    #[must_use]
    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        self.list(name).iter().filter_map(Value::as_text).collect()
    }

    /// Whether it asks for an ACK.
    #[must_use]
    pub(crate) fn requires_ack(&self) -> bool {
        !matches!(self.object.get("requires_ack"), Some(Value::Bool(false)))
    }

    /// How long its ACK may take, in milliseconds; `None` for no limit (spec 00, ack_timeout_sec; head cards 01 to 05).
    #[must_use]
    pub(crate) fn ack_timeout_ms(&self, rules: Rules) -> Option<i64> {
        // 00: valid when requires_ack is true.
        if !self.requires_ack() {
            return None;
        }
        let explicit = self.object.get("ack_timeout_sec").and_then(Value::as_number).and_then(Number::as_integer);
        // 00: an explicit value overrides the default of the type.
        let explicit = explicit.filter(|seconds| *seconds > 0 && !rules.fault.is("ack-override-ignored"));
        // 00: of every type.
        let dispatches_only = rules.fault.is("ack-override-of-dispatches-only");
        let explicit = explicit.filter(|_| !dispatches_only || self.kind == Kind::Dispatch);
        // Other, E65: an escalation that names a timeout has one.
        let explicit = explicit.filter(|_| self.kind.requires_ack() || rules.is_other());
        // 00: in seconds.
        let unit = if rules.fault.is("ack-timeout-in-ms") { 1 } else { 1000 };
        explicit.map(|seconds| seconds * unit).or_else(|| Some(default_timeout_sec(rules, self.kind)? * 1000))
    }
}

/// Head cards: the ACK timeout of a type, in seconds; `None` for an escalation.
#[must_use]
pub(crate) fn default_timeout_sec(rules: Rules, kind: Kind) -> Option<i64> {
    // 05: the admin answers when it can.
    planted!(rules.fault, "ack-timeout-on-escalation", kind == Kind::Escalation => return Some(300));
    // Head cards: each type has its own.
    planted!(rules.fault, "ack-timeout-one-default", kind.requires_ack() => return Some(300));
    match kind {
        Kind::Dispatch => Some(300),
        Kind::Result => Some(120),
        Kind::Request => Some(600),
        Kind::Verdict => Some(60),
        Kind::Escalation => None,
    }
}

/// What a new message says besides its payload.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) kind: Kind,
    pub(crate) from: Role,
    pub(crate) to: Role,
    pub(crate) task: String,
    pub(crate) payload: Object,
    pub(crate) requires_ack: bool,
    pub(crate) ack_timeout_sec: Option<i64>,
    pub(crate) context_ref: Option<Vec<String>>,
}

impl Draft {
    /// A message of the given type on its route, without optional members.
    #[must_use]
    pub(crate) fn new(kind: Kind, from: Role, task: &str, payload: Object) -> Self {
        Self {
            kind,
            from,
            to: kind.addressee(),
            task: task.to_owned(),
            payload,
            requires_ack: kind.requires_ack(),
            ack_timeout_sec: None,
            context_ref: None,
        }
    }

    /// The message of this moment; its id says `id_ms`.
    #[must_use]
    pub(crate) fn build(self, rules: Rules, now: i64, id_ms: i64) -> Message {
        let id = message_id::make(rules, self.kind, &self.task, id_ms);
        let mut object = Object::from([
            ("msg_id", id.as_str().into()),
            ("protocol_version", VERSION.into()),
            ("type", self.kind.name().into()),
            ("from", self.from.name().into()),
            ("to", self.to.name().into()),
            ("task_id", self.task.as_str().into()),
            ("timestamp", time::format(rules, now).into()),
            ("requires_ack", self.requires_ack.into()),
        ]);
        if let Some(seconds) = self.ack_timeout_sec {
            object.set("ack_timeout_sec", seconds);
        }
        // 00: an integer, more than zero.
        planted!(rules.fault, "timeout-written-as-text", self.kind.requires_ack() => object.set("ack_timeout_sec", "300"));
        planted!(rules.fault, "timeout-written-as-zero", self.kind.requires_ack() => object.set("ack_timeout_sec", 0));
        let mut context = self.context_ref;
        // 00: each of them.
        planted!(rules.fault, "context-ends-with-no-message", self.kind.requires_ack() => context.iter_mut().for_each(|ids| ids.push("task_dispatch-T-2000-001-1740576727001".to_owned())));
        if let Some(ids) = context {
            object.set("context_ref", ids.into_iter().map(Value::from).collect::<Vec<_>>());
        }
        // 00: an earlier message, of this task or another.
        planted!(rules.fault, "context-of-no-message", self.kind.requires_ack() => object.set("context_ref", vec![Value::from("task_dispatch-T-2000-001-1740576727001")]));
        object.set("payload", self.payload);
        Message { id, kind: self.kind, from: self.from, to: self.to, task: self.task, object }
    }
}
