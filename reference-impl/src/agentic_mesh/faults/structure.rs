//! Faults of the structure: messages that are repaired before they are checked.

use crate::agentic_mesh::ids;
use crate::agentic_mesh::memorygram;
use crate::agentic_mesh::message::{BODY, ENVELOPE, HEADER, MEMORYGRAM, Message};
use crate::agentic_mesh::rules::Rules;
use crate::json::{Number, Object, Value};

/// A repair.
type Repair = (&'static str, &'static [fn(&mut Message)]);

/// Sections 2 and 4.5: what is missing or of another type is taken for something else.
#[rustfmt::skip]
const REPAIRS: &[Repair] = &[
    ("envelope-optional", &[wrap]),
    ("component-names-ignore-case", &[respell]),
    ("envelope-null-taken", &[|message| if is(&message.0, ENVELOPE, |value| *value == Value::Null) {
        *message = Message::new(header(), body(), memorygram::empty());
    }]),
    ("header-missing-defaulted", &[|message| if message.component(HEADER).is_none() {
        put(message, HEADER, header());
    }]),
    ("header-null-as-empty", &[|message| if message.component(HEADER) == Some(&Value::Null) {
        put(message, HEADER, header());
    }]),
    ("body-missing-defaulted", &[|message| if message.component(BODY).is_none() {
        put(message, BODY, body());
    }]),
    ("body-any-type", &[|message| if matches!(message.component(BODY), Some(Value::List(_) | Value::Text(_))) {
        put(message, BODY, body());
    }]),
    ("memorygram-optional", &[|message| if message.component(MEMORYGRAM).is_none() {
        put(message, MEMORYGRAM, memorygram::empty());
    }]),
    ("memorygram-any-type", &[|message| if matches!(message.component(MEMORYGRAM), Some(Value::Null | Value::List(_) | Value::Number(_))) {
        put(message, MEMORYGRAM, memorygram::empty());
    }]),
    ("member-order-required", &[|message| if !is_in_order(message) {
        message.0.remove(ENVELOPE);
    }]),
];

/// Section 2.1: the same for the fields of Header.
#[rustfmt::skip]
const HEADER_REPAIRS: &[Repair] = &[
    ("message-id-filled-in", &[|message| absent(message, "messageId", || ids::fresh().into())]),
    ("message-id-number-coerced", &[|message| number_to_text(message, "messageId")]),
    ("trace-id-unchecked", &[|message| absent(message, "traceId", || "".into())]),
    ("trace-id-stringified", &[|message| number_to_text(message, "traceId")]),
    ("roles-unchecked", &[|message| absent(message, "roles", || Value::List(Vec::new()))]),
    ("roles-split-from-string", &[|message| change(message, "roles", |value| match value {
        Value::Text(text) => Some(Value::List(text.split(',').map(Into::into).collect())),
        _ => None,
    })]),
    ("routing-intent-defaulted", &[|message| absent(message, "routingIntent", || "direct".into())]),
    ("routing-intent-list-taken", &[|message| change(message, "routingIntent", |value| match value {
        Value::List(words) => words.first().cloned(),
        _ => None,
    })]),
    ("ttl-parsed-from-string", &[|message| change(message, "ttl", |value| match value {
        Value::Text(text) => Number::spelled(text).map(Value::Number),
        _ => None,
    })]),
    ("ttl-float-truncated", &[|message| change(message, "ttl", |value| match value {
        Value::Number(number) => Number::spelled(number.spelling().split('.').next()?).map(Value::Number),
        _ => None,
    })]),
    ("ttl-boolean-as-number", &[|message| change(message, "ttl", |value| match value {
        Value::Bool(true) => Some(2.into()),
        _ => None,
    })]),
];

/// Applies the planted repair of the structure, if it is one.
pub(in crate::agentic_mesh) fn repair(message: &mut Message, rules: &Rules) {
    apply(REPAIRS, message, rules);
}

/// Applies the planted repair of the header fields, if it is one.
pub(in crate::agentic_mesh) fn repair_header(message: &mut Message, rules: &Rules) {
    apply(HEADER_REPAIRS, message, rules);
}

fn apply(table: &'static [Repair], message: &mut Message, rules: &Rules) {
    for (name, changes) in table {
        if rules.fault.is(name) {
            changes.iter().for_each(|change| change(message));
        }
    }
}

fn header() -> Object {
    Object::from([
        ("messageId", ids::fresh().into()),
        ("traceId", ids::fresh().into()),
        ("roles", Value::List(Vec::new())),
        ("routingIntent", "direct".into()),
        ("ttl", 8.into()),
    ])
}

fn body() -> Object {
    Object::from([("task", "none".into()), ("expectedOutput", Value::List(Vec::new()))])
}

fn is(object: &Object, name: &str, wanted: impl Fn(&Value) -> bool) -> bool {
    object.get(name).is_some_and(wanted)
}

fn put(message: &mut Message, name: &str, value: Object) {
    if let Some(envelope) = message.envelope_mut() {
        envelope.set(name, value);
    }
}

fn wrap(message: &mut Message) {
    if message.0.get(ENVELOPE).is_none() && message.0.get(HEADER).is_some() {
        let inner = std::mem::take(&mut message.0);
        message.0.set(ENVELOPE, inner);
    }
}

fn respell(message: &mut Message) {
    let respelled = |object: Object| -> Object {
        let right = |name: &str| {
            let known = [ENVELOPE, HEADER, BODY, MEMORYGRAM].into_iter();
            known.into_iter().find(|known| known.eq_ignore_ascii_case(name)).unwrap_or(name).to_owned()
        };
        object.iter().map(|(name, value)| (right(name), value.clone())).collect()
    };
    message.0 = respelled(std::mem::take(&mut message.0));
    if let Some(envelope) = message.envelope_mut() {
        *envelope = respelled(std::mem::take(envelope));
    }
}

fn is_in_order(message: &Message) -> bool {
    let Some(envelope) = message.envelope() else { return true };
    let at = |name: &str| envelope.iter().position(|(known, _)| known == name);
    at(HEADER).zip(at(BODY)).is_none_or(|(header, body)| header < body)
}

fn change(message: &mut Message, name: &str, to: impl Fn(&Value) -> Option<Value>) {
    let Some(header) = message.header_mut() else { return };
    if let Some(value) = header.get(name).and_then(to) {
        header.set(name, value);
    }
}

fn absent(message: &mut Message, name: &str, value: impl Fn() -> Value) {
    let Some(header) = message.header_mut() else { return };
    if header.get(name).is_none() {
        header.set(name, value());
    }
}

fn number_to_text(message: &mut Message, name: &str) {
    change(message, name, |value| value.as_number().map(|number| number.spelling().into()));
}

/// `array-of-messages-taken`: the first item of an array.
pub(in crate::agentic_mesh) fn first_item(value: &Value) -> Option<Value> {
    value.as_list()?.first().cloned()
}

/// `version-found-anywhere`: the first member called version at any depth.
pub(in crate::agentic_mesh) fn any_version(message: &Message) -> Option<&Value> {
    fn find(object: &Object) -> Option<&Value> {
        object.get("version").or_else(|| object.iter().find_map(|(_, value)| within(value)))
    }
    fn within(value: &Value) -> Option<&Value> {
        match value {
            Value::Object(object) => find(object),
            Value::List(items) => items.iter().find_map(within),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
        }
    }
    find(&message.0)
}

/// `encrypted-field-refused`: whether the context has a name with other characters than those of ASCII.
pub(in crate::agentic_mesh) fn has_foreign_name(body: &Object) -> bool {
    let context = body.get("context").and_then(Value::as_object);
    context.is_some_and(|context| context.iter().any(|(name, _)| !name.is_ascii()))
}

/// `context-flat-only`: whether the context has a value with parts.
pub(in crate::agentic_mesh) fn has_nested_context(body: &Object) -> bool {
    let context = body.get("context").and_then(Value::as_object);
    context.is_some_and(|context| context.iter().any(|(_, value)| matches!(value, Value::List(_) | Value::Object(_))))
}

/// `relay-knows-echo-only`: whether the task is another than echo.
pub(in crate::agentic_mesh) fn has_foreign_task(message: &Message) -> bool {
    message.body().and_then(|body| body.text("task")).is_some_and(|task| task != "echo")
}
