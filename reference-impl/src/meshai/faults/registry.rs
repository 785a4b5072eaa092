//! Faults of the registry.

use rusqlite::Connection;

use crate::json::{Object, Value};
use crate::meshai::store::agents::{self, Registered};

/// `registration-stored-before-check`: Stores what it then refuses.
pub(in crate::meshai) fn store_anyway(db: &Connection, payload: &Object, now: i64) {
    let agent = payload.get("agent").and_then(Value::as_object).cloned().unwrap_or_default();
    let id = agent.text("id").unwrap_or("unnamed").to_owned();
    let declared = payload.get("capabilities").map(as_declarations).unwrap_or_default();
    let record = Object::from([("agent", agent.into()), ("capabilities", declared.into())]);
    let credentials = payload.get("authentication").and_then(Value::as_object);
    let credentials = credentials.and_then(|given| given.text("credentials")).unwrap_or_default().to_owned();
    let registered = Registered { id: id.clone(), record, credentials, built_in: false, total: 0, failed: 0 };
    // The transaction of a refused registration is rolled back, so the fault has one of its own.
    db.execute_batch("RELEASE request; SAVEPOINT request").ok();
    agents::put(db, &id, &registered, now).ok();
    db.execute_batch("RELEASE request; SAVEPOINT request").ok();
}

/// `registration-removed-before-check`: Removes the entry that a registration would replace, which it then refuses.
pub(in crate::meshai) fn remove_anyway(db: &Connection, payload: &Object) {
    let id = payload.get("agent").and_then(Value::as_object).and_then(|agent| agent.text("id"));
    db.execute_batch("RELEASE request; SAVEPOINT request").ok();
    if let Some(id) = id {
        agents::remove(db, id).ok();
    }
    db.execute_batch("RELEASE request; SAVEPOINT request").ok();
}

/// `capability-ids-lowered`: Writes the ids in small letters.
pub(in crate::meshai) fn lower(declared: &mut [Value]) {
    for item in declared.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(id) = item.text("id").map(str::to_lowercase) {
            item.set("id", id);
        }
    }
}

/// `discovery-lists-sender`: An entry of an agent that never registered.
pub(in crate::meshai) fn entry_of(id: &str) -> Object {
    let identity = Object::from([("id", id.into())]);
    Object::from([("agent", identity.into()), ("capabilities", Vec::new().into())])
}

/// `endpoints-left-out`: Entries without endpoints.
pub(in crate::meshai) fn without_endpoints(found: &mut [Object]) {
    found.iter_mut().for_each(|entry| drop(entry.remove("endpoints")));
}

/// `discovery-shows-contexts`: Entries with contexts.
pub(in crate::meshai) fn with_contexts(found: &mut [Object], contexts: &[Value]) {
    found.iter_mut().for_each(|entry| entry.set("contexts", contexts.to_vec()));
}

/// `registration-not-stored`: The result of a registration.
pub(in crate::meshai) fn registered(id: &str) -> Object {
    Object::from([("agent_id", id.into()), ("registered", true.into())])
}

/// `capabilities-unchecked`: Makes a declaration of any value.
pub(in crate::meshai) fn as_declarations(value: &Value) -> Vec<Value> {
    match value {
        Value::Text(id) => from_texts(vec![id.as_str().into()]),
        Value::Object(one) => vec![one.clone().into()],
        Value::List(items) => items.clone(),
        _ => Vec::new(), // nothing to declare
    }
}

/// `bare-capability-ids`: Makes a declaration of each string.
pub(in crate::meshai) fn from_texts(items: Vec<Value>) -> Vec<Value> {
    let schema = || Value::from(Object::from([("type", "object".into())]));
    let declaration = |item: Value| match item {
        Value::Text(id) => Object::from([
            ("id", id.into()),
            ("version", "1.0".into()),
            ("description", "".into()),
            ("input_schema", schema()),
            ("output_schema", schema()),
        ])
        .into(),
        other => other,
    };
    items.into_iter().map(declaration).collect()
}

/// `query-numbers-accepted`: The strings among some values.
pub(in crate::meshai) fn only_texts(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(Value::as_text).collect()
}
