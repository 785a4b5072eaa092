//! Steps and expectations as a suite writes them.

pub(super) use crate::protocol::moves::{at, covering, literal, map, number, plain, small, text, word};

use crate::protocol::Move;
use crate::value::Value;

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

/// Whether an argument of a move is given and is not false.
pub(super) fn flag(step: &Move, name: &str) -> bool {
    step.member(name).is_some_and(|value| *value != Value::Bool(false))
}
