//! Functions without state.

use super::params::{bytes, error, integer, kind, object, role, text};
use crate::fault::planted;
use crate::json::{self, Object, Value};
use crate::server::adapter::RpcError;
use crate::task_amp::ack::Ack;
use crate::task_amp::careless;
use crate::task_amp::ledger::alignment;
use crate::task_amp::message::{Draft, Message, default_timeout_sec};
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::rules::Rules;
use crate::task_amp::schema::{self, Code, Problem};
use crate::task_amp::{faults, message_id};

/// The deepest nesting of a message.
const DEPTH_LIMIT: usize = 64;

type Called = Result<Object, RpcError>;

/// Calls the function `name`; `None` if there is none.
pub(super) fn call(rules: Rules, name: &str, params: &Object) -> Option<Called> {
    Some(match name {
        "validate" => validate(rules, params),
        "validate_payload" => kind(params, "type").map(|kind| {
            let payload = params.get("payload").unwrap_or(&Value::Null);
            match payload.as_object() {
                Some(payload) => verdict(&schema::check_payload(rules, kind, payload)),
                None => verdict(&[Problem::new(Code::WrongType, "", "an object")]),
            }
        }),
        "parse_msg_id" => parse(rules, params),
        "make_msg_id" => make(rules, params),
        "build" => build(rules, params),
        "check_route" => route(rules, params),
        "ack_required" => kind(params, "type").map(|kind| Object::from([("required", kind.requires_ack().into())])),
        "ack_timeout" => message(params).map(|message| {
            let seconds = message.ack_timeout_ms(rules).map(|ms| ms / 1000);
            Object::from([("ack_timeout_sec", seconds.into())])
        }),
        "ack" => ack(rules, params),
        _ => return None,
    })
}

/// The problems of a message.
fn verdict(problems: &[Problem]) -> Object {
    let errors = problems.iter().map(Problem::to_json).collect::<Vec<_>>();
    Object::from([("valid", problems.is_empty().into()), ("errors", errors.into())])
}

/// Reads the JSON text of a message.
pub(super) fn read(rules: Rules, text: &[u8]) -> Result<Value, Problem> {
    careless::read(rules.fault, text);
    let relaxed = || faults::json::without_comments(text);
    let text = if schema::takes_comments(rules) { relaxed() } else { text.to_vec() };
    let value = json::read_to_depth(&text, DEPTH_LIMIT);
    let value = value.map_err(|error| Problem::new(Code::InvalidJson, "", error.to_string()))?;
    careless::look(rules.fault, &value);
    Ok(value)
}

fn validate(rules: Rules, params: &Object) -> Called {
    let value = match params.get("message") {
        Some(message) if params.get("raw_hex").is_none() => message.clone(),
        _ => match read(rules, &bytes(params, "raw_hex")?) {
            Ok(value) => value,
            Err(problem) => return Ok(verdict(&[problem])),
        },
    };
    let mut problems = schema::check(rules, &value);
    let dispatch = params.get("dispatch").and_then(Value::as_object);
    let message = value.as_object().and_then(Message::read);
    if let (Some(dispatch), Some(message)) = (dispatch, message.filter(|_| problems.is_empty())) {
        let payload = dispatch.get("payload").and_then(Value::as_object).unwrap_or(dispatch);
        problems.extend(alignment(rules, &message, payload));
    }
    Ok(verdict(&problems))
}

fn parse(rules: Rules, params: &Object) -> Called {
    let parts = message_id::parse(rules, text(params, "msg_id")?);
    let parts = parts.ok_or_else(|| error(-32010, "{type}-{task_id}-{unix_ms}"))?;
    let time = parts.time.parse::<i64>().map_err(|_| error(-32010, "the time is too large"))?;
    Ok(Object::from([("type", parts.kind.name().into()), ("task_id", parts.task.into()), ("unix_ms", time.into())]))
}

fn make(rules: Rules, params: &Object) -> Called {
    let task = text(params, "task_id")?;
    if !message_id::is_task_id(rules, task) {
        return Err(RpcError::params("task_id must be T-YYYY-NNN"));
    }
    let id = message_id::make(rules, kind(params, "type")?, task, integer(params, "unix_ms")?);
    Ok(Object::from([("msg_id", id.into())]))
}

fn build(rules: Rules, params: &Object) -> Called {
    let kind: Kind = kind(params, "type")?;
    let now = integer(params, "now_ms")?;
    let optional = |name| params.present(name).map(|_| integer(params, name)).transpose();
    let flag = |name| params.present(name).map(|value| *value == Value::Bool(true));
    let context = params.get("context_ref").and_then(Value::as_list);
    let texts = |items: &[Value]| items.iter().filter_map(|item| item.as_text().map(str::to_owned)).collect();
    let mut draft = Draft {
        kind,
        from: role(params, "from")?,
        to: role(params, "to")?,
        task: text(params, "task_id")?.to_owned(),
        payload: object(params, "payload")?.clone(),
        requires_ack: flag("requires_ack").unwrap_or(kind.requires_ack()),
        ack_timeout_sec: optional("ack_timeout_sec")?,
        context_ref: context.map(texts),
    };
    planted!(rules.fault, "build-ignores-requires-ack", draft.requires_ack = kind.requires_ack());
    let message = draft.build(rules, now, now);
    let mut problems = schema::check(rules, &Value::Object(message.object.clone()));
    planted!(rules.fault, "build-unchecked", problems.clear());
    if let Some(problem) = problems.first() {
        return Err(error(-32011, format!("{}: {}", problem.path, problem.message)));
    }
    let raw = data_encoding::HEXLOWER.encode(message.object.write().as_bytes());
    Ok(Object::from([("message", message.object.into()), ("raw_hex", raw.into())]))
}

fn route(rules: Rules, params: &Object) -> Called {
    let words = (text(params, "type")?, text(params, "from")?, text(params, "to")?);
    let allowed = match (Kind::parse(words.0), Role::parse(words.1), Role::parse(words.2)) {
        (Some(kind), Some(from), Some(to)) => schema::route(rules, kind, from, to),
        _ => false, // an unknown word
    };
    Ok(Object::from([("allowed", allowed.into())]))
}

fn message(params: &Object) -> Result<Message, RpcError> {
    Message::read(object(params, "message")?).ok_or_else(|| RpcError::params("message must be a message"))
}

fn ack(rules: Rules, params: &Object) -> Called {
    let (message, actor, now) = (message(params)?, role(params, "actor")?, integer(params, "now_ms")?);
    if actor != message.to {
        return Err(error(-32012, "only the addressee acknowledges"));
    }
    Ok(Object::from([("ack", Ack::of(rules, &message, actor, now).record.into())]))
}

/// The default of a type, for `info`.
pub(super) fn defaults(rules: Rules) -> Object {
    let seconds = |kind: Kind| (kind.name().to_owned(), default_timeout_sec(rules, kind).into());
    Kind::ALL.into_iter().map(seconds).collect()
}
