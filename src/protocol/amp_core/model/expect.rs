//! Steps and expectations as a suite writes them.

use crate::protocol::Move;
use crate::value::Value;

/// A text value.
pub(super) fn text(text: impl Into<String>) -> Value {
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
    Value::Text(text.replace("${", "$${"))
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
    map([("at", text(place)), (matcher, argument)])
}

/// The message was accepted.
pub(super) fn accepted() -> Value {
    map([("accepted", Value::Bool(true))])
}

/// The message was refused with one of these codes, or with one that an erratum tolerates.
pub(super) fn refused(codes: &[i128], tolerated: &[(&str, i128)]) -> Value {
    let mut how = vec![("codes", Value::array(codes.iter().copied().map(Value::Integer)))];
    if !tolerated.is_empty() {
        let readings = tolerated.iter().map(|(erratum, code)| (*erratum, Value::array([Value::Integer(*code)])));
        how.push(("tolerated", Value::map(readings)));
    }
    map([("refused", Value::map(how))])
}

/// The message was refused, whatever the code.
pub(super) fn refused_somehow() -> Value {
    map([("refused", map([("any", Value::Bool(true)), ("bare", Value::Bool(true))]))])
}

/// One of several permitted readings: what holds under it.
pub(super) fn reading(name: &str, all: Vec<Value>) -> Value {
    map([("reading", text(name)), ("all", Value::Array(all.into()))])
}

/// One of several readings holds, decided by one requirement.
pub(super) fn any_of(requirement: &str, readings: Vec<Value>) -> Value {
    covering(requirement, map([("any-of", Value::Array(readings.into()))]))
}

/// None of the messages that arrived meets all of these expectations, decided by one requirement.
pub(super) fn no_reply(requirement: &str, all: Vec<Value>) -> Value {
    at(requirement, "/replies", "none", Value::Array(all.into()))
}

/// A message that arrived meets all of these expectations.
pub(super) fn some_reply(all: Vec<Value>) -> Value {
    plain("/replies", "some", Value::Array(all.into()))
}

/// A step, with whatever of its parts is not empty.
#[derive(Clone, Default)]
pub(super) struct Step {
    /// The party that acts.
    pub(super) party: String,
    /// The operation.
    pub(super) operation: &'static str,
    /// Its inputs.
    pub(super) with: Vec<(&'static str, Value)>,
    /// Its preconditions.
    pub(super) assume: Vec<Value>,
    /// Its expectations.
    pub(super) expect: Vec<Value>,
    /// The places that it captures, by name.
    pub(super) capture: Vec<(String, Value)>,
    /// Further keys.
    pub(super) more: Vec<(&'static str, Value)>,
}

impl Step {
    /// The step as a suite writes it.
    pub(super) fn written(self) -> Value {
        let mut members = vec![("send", text(self.operation)), ("as", text(self.party))];
        members.push(("with", Value::map(self.with)));
        members.extend(self.more);
        for (name, list) in [("assume", self.assume), ("expect", self.expect)] {
            if !list.is_empty() {
                members.push((name, Value::Array(list.into())));
            }
        }
        if !self.capture.is_empty() {
            members.push(("capture", Value::map(self.capture)));
        }
        Value::map(members)
    }
}

/// An argument of a move that is a small number [default: 0].
pub(super) fn small(step: &Move, name: &str) -> usize {
    let given = step.member(name).and_then(Value::as_integer);
    given.and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

/// An argument of a move that is a text.
pub(super) fn word<'m>(step: &'m Move, name: &str) -> Option<&'m str> {
    step.member(name).and_then(Value::as_text)
}

/// Whether an argument of a move is given and is not false.
pub(super) fn flag(step: &Move, name: &str) -> bool {
    step.member(name).is_some_and(|value| *value != Value::Bool(false))
}
