//! Hints of a test: what a scripted agent shall do (binding.md, section 9).

use crate::json::{Number, Object, Value};
use crate::task_amp::message::Message;

/// What is hinted at in an open object of the payload.
#[must_use]
pub(super) fn of<'m>(message: &'m Message, open: &str) -> Option<&'m Object> {
    let open = message.payload().get(open).and_then(Value::as_object)?;
    open.get("x_proofmark").and_then(Value::as_object)
}

/// A number of a hint.
#[must_use]
pub(super) fn number(hint: Option<&Object>, name: &str) -> Option<f64> {
    hint?.get(name).and_then(Value::as_number).map(Number::as_f64)
}
