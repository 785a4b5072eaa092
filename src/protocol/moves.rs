//! What models write: values and expectations as a suite has them, and the arguments of moves that they read.

use super::Move;
use crate::value::{Text, Value};

/// A text value.
pub(super) fn text(text: impl Into<Text>) -> Value {
    Value::text(text)
}

/// A number as a value.
pub(super) fn number(number: impl TryInto<i128>) -> Value {
    Value::Integer(number.try_into().unwrap_or_default())
}

/// A map as a value.
pub(super) fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::map(members)
}

/// A text that is sent as it is: a template is none.
pub(super) fn literal(text: &str) -> Value {
    Value::text(text.replace("${", "$${"))
}

/// The same expectation, decided by one requirement.
pub(super) fn covering(requirement: &str, mut expectation: Value) -> Value {
    expectation.set_member("covers", Value::array([text(requirement)]));
    expectation
}

/// An expectation at a place, decided by one requirement.
pub(super) fn at(requirement: &str, place: &str, matcher: &str, argument: Value) -> Value {
    covering(requirement, plain(place, matcher, argument))
}

/// An expectation that names no requirement, for use inside another one.
pub(super) fn plain(place: &str, matcher: &str, argument: Value) -> Value {
    let mut members = Vec::new();
    if !place.is_empty() {
        members.push(("at", text(place)));
    }
    members.push((matcher, argument));
    Value::map(members)
}

/// An argument of a move that is a number.
pub(super) fn integer(step: &Move, name: &str) -> Option<i128> {
    step.member(name).and_then(Value::as_integer)
}

/// An argument of a move that is a small number [default: 0].
pub(super) fn small(step: &Move, name: &str) -> usize {
    integer(step, name).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

/// An argument of a move that is a text.
pub(super) fn word<'m>(step: &'m Move, name: &str) -> Option<&'m str> {
    step.member(name).and_then(Value::as_text)
}
