//! Spec 00: the members that every message has.

use super::fields::{Check, Place, ids, integer};
use super::payload;
use super::problem::Code;
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::task_amp::message_id;
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::rules::Rules;
use crate::task_amp::time;

/// The only version (spec 00, protocol_version).
pub(crate) const VERSION: &str = "AMP/1.0";

/// Checks a message from its outermost member to its payload.
pub(super) fn check(check: &mut Check, message: &Object) {
    let envelope = Place::new(message, "");
    version(check, &envelope);
    let kind = kind(check, &envelope);
    let from = envelope.choice(check, "from", &Role::ALL.map(Role::name)).and_then(Role::parse);
    let to = addressee(check, &envelope);
    let task = task(check, &envelope);
    id(check, &envelope, kind, task);
    timestamp(check, &envelope);
    acknowledgement(check, &envelope, kind);
    context(check, &envelope);
    if let (Some(kind), Some(from), Some(to)) = (kind, from, to) {
        let refusal = "this role does not send this type to this addressee";
        check.demand(route(check.rules, kind, from, to), Code::RouteNotAllowed, "/to", refusal);
    }
    let payload = envelope.object(check, "payload");
    if let (Some(kind), Some(payload)) = (kind, payload) {
        payload::check(check, kind, &payload, task);
    }
}

/// 00: the fixed value; another version is refused (E12).
fn version(check: &mut Check, envelope: &Place<'_>) {
    let Some(version) = envelope.text(check, "protocol_version") else { return };
    // 00: exactly this value.
    planted!(check.rules.fault, "version-prefix-match", version.starts_with("AMP/") => return);
    planted!(check.rules.fault, "version-case-folded", version.eq_ignore_ascii_case(VERSION) => return);
    // Other, E12: a later minor version is compatible.
    let lenient = check.rules.is_other() || check.rules.fault.is("minor-version-accepted");
    let minor = version.strip_prefix("AMP/1.").filter(|minor| lenient && !minor.is_empty());
    let compatible = minor.is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()));
    check.demand(version == VERSION || compatible, Code::IncompatibleVersion, "/protocol_version", VERSION);
}

fn kind(check: &mut Check, envelope: &Place<'_>) -> Option<Kind> {
    envelope.choice(check, "type", &Kind::ALL.map(Kind::name)).and_then(Kind::parse)
}

/// 00: system is never an addressee.
fn addressee(check: &mut Check, envelope: &Place<'_>) -> Option<Role> {
    // 00: `to` has fewer values than `from`.
    planted!(check.rules.fault, "system-addressable", envelope.object.text("to") == Some("system") => return None);
    envelope.choice(check, "to", &["admin", "coordinator", "executor", "reviewer"]).and_then(Role::parse)
}

fn task<'v>(check: &mut Check, envelope: &Place<'v>) -> Option<&'v str> {
    let task = envelope.text(check, "task_id")?;
    let valid = message_id::is_task_id(check.rules, task);
    check.demand(valid, Code::BadFormat, "/task_id", "T-YYYY-NNN");
    valid.then_some(task)
}

/// 00: type, task and time, of which the first two repeat what the envelope says.
fn id(check: &mut Check, envelope: &Place<'_>, kind: Option<Kind>, task: Option<&str>) {
    let Some(id) = envelope.text(check, "msg_id") else { return };
    let Some(parts) = message_id::parse(check.rules, id) else {
        check.add(Code::BadFormat, "/msg_id", "{type}-{task_id}-{unix_ms}");
        return;
    };
    // 00: the leading part is the type.
    let of_type = kind.is_none_or(|kind| kind == parts.kind) || check.rules.fault.is("msg-id-type-unchecked");
    check.demand(of_type, Code::MsgIdMismatch, "/msg_id", "its first part is the type");
    // 00: the middle part is the task.
    let of_task = task.is_none_or(|task| message_id::is_of_task(check.rules, parts, task))
        || check.rules.fault.is("msg-id-task-unchecked");
    check.demand(of_task, Code::MsgIdMismatch, "/msg_id", "its middle part is the task_id");
}

fn timestamp(check: &mut Check, envelope: &Place<'_>) {
    // 00: timestamp is required.
    planted!(check.rules.fault, "timestamp-optional", envelope.object.get("timestamp").is_none() => return);
    let Some(text) = envelope.text(check, "timestamp") else { return };
    let valid = time::parse(check.rules, text).is_some();
    check.demand(valid, Code::BadFormat, "/timestamp", "ISO 8601 with an offset");
}

/// 00: requires_ack and ack_timeout_sec (E16, E17).
fn acknowledgement(check: &mut Check, envelope: &Place<'_>, kind: Option<Kind>) {
    // 00: a JSON boolean.
    let truthy = matches!(envelope.object.get("requires_ack"), Some(Value::Text(_) | Value::Number(_)));
    let lenient = truthy && check.rules.fault.is("truthy-requires-ack");
    let required = if lenient { Some(true) } else { envelope.boolean(check, "requires_ack") };
    let exempt = kind.is_some_and(|kind| !kind.requires_ack());
    // Other, E16: false merely means that no ACK is needed.
    let demanded = required != Some(false) || exempt || check.rules.is_other();
    // Head cards: an ACK is required.
    let demanded = demanded || check.rules.fault.is("ack-not-demanded");
    check.demand(demanded, Code::OutOfRange, "/requires_ack", "true for this type");
    // 00: an integer, not a text.
    planted!(check.rules.fault, "timeout-as-string", envelope.object.text("ack_timeout_sec").is_some_and(|text| text.parse::<i64>().is_ok()) => return);
    let Some(value) = envelope.optional(check, "ack_timeout_sec") else { return };
    let seconds = integer(check.rules, value);
    check.demand(seconds.is_some(), Code::WrongType, "/ack_timeout_sec", "an integer");
    // Other, E17: zero and less have no effect.
    let usable = seconds.is_none_or(|seconds| seconds > 0) || check.rules.is_other();
    // 00: a time span.
    let usable = usable || check.rules.fault.is("zero-timeout-accepted");
    check.demand(usable, Code::OutOfRange, "/ack_timeout_sec", "more than zero");
}

fn context(check: &mut Check, envelope: &Place<'_>) {
    let Some(items) = envelope.optional_texts(check, "context_ref") else { return };
    ids(check, "/context_ref", items);
}

/// Head cards 01 to 05: who sends which type to whom.
#[must_use]
pub(crate) fn route(rules: Rules, kind: Kind, from: Role, to: Role) -> bool {
    // Head cards: the enums alone do not decide.
    planted!(rules.fault, "routes-unchecked", return true);
    // Other, E14: the admin may hand a dispatch to any working role, and may report.
    let admin = from == Role::Admin && rules.is_other();
    let by_admin = match kind {
        Kind::Dispatch => matches!(to, Role::Coordinator | Role::Executor),
        Kind::Request => to == Role::Reviewer,
        Kind::Escalation => to == Role::Admin,
        Kind::Result | Kind::Verdict => false,
    };
    (kind.senders().contains(&from) && kind.addressee() == to) || (admin && by_admin)
}
