//! Faults of delegations.

use crate::json::{Object, Value};

fn payload(body: &Object) -> Object {
    let inner = body.get("message").and_then(Value::as_object);
    inner.and_then(|inner| inner.get("payload")).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// `callback-without-reference`: The result and nothing else.
pub(in crate::meshai) fn result_only(body: &Object) -> Object {
    Object::from([("result", payload(body).get("result").cloned().unwrap_or(Value::Null))])
}

/// `callback-without-envelope`, and a legal reading of E45: A report that is JSON and names the task.
pub(in crate::meshai) fn reference_only(body: &Object, parent_task: &str) -> Object {
    let mut report = payload(body);
    report.remove("metadata");
    report.set("parent_task_id", parent_task);
    report
}
