//! Steps and expectations as a suite writes them.

pub(super) use crate::protocol::moves::{at, covering, integer, literal, map, number, plain, small, text, word};

use crate::protocol::Move;
use crate::value::Value;

/// One permitted reading: what holds under it, and whether the errata only tolerate it.
pub(super) struct Alternative {
    pub(super) reading: String,
    pub(super) tolerated: bool,
    pub(super) all: Vec<Value>,
}

impl Alternative {
    /// A reading that is as good as any other.
    pub(super) fn new(reading: &str, all: Vec<Value>) -> Self {
        Self { reading: reading.to_owned(), tolerated: false, all }
    }
}

/// Several permitted readings. One alone is written without its name.
pub(super) fn any_of(requirement: &str, mut alternatives: Vec<Alternative>) -> Vec<Value> {
    if alternatives.len() == 1 {
        let only = alternatives.pop().map(|only| only.all).unwrap_or_default();
        return only.into_iter().map(|one| covering(requirement, one)).collect();
    }
    vec![covering(requirement, one_of_readings(alternatives))]
}

/// Several permitted readings, as one expectation that names no requirement.
pub(super) fn one_of_readings(alternatives: Vec<Alternative>) -> Value {
    let written = alternatives.into_iter().map(|one| {
        let mut members = vec![("reading", Value::text(one.reading))];
        if one.tolerated {
            members.push(("tolerated", Value::Bool(true)));
        }
        members.push(("all", Value::Array(one.all.into())));
        Value::map(members)
    });
    Value::map([("any-of", Value::array(written))])
}

/// A step: the party, the operation, its inputs and its expectations.
pub(super) fn step(party: &str, operation: &str, with: Vec<(&str, Value)>, expect: Vec<Value>) -> Value {
    let mut members = vec![("send", text(operation))];
    if party != "a" {
        members.push(("as", text(party)));
    }
    members.push(("with", Value::map(with)));
    members.push(("expect", Value::Array(expect.into())));
    Value::map(members)
}

/// The binding of a project.
pub(super) fn project(number: usize) -> Value {
    text(if number == 0 { "${project}" } else { "${other_project}" })
}

/// The project of a move: one of two.
pub(super) fn of_project(step: &Move) -> usize {
    small(step, "project").min(1)
}

/// The party of a move.
pub(super) fn party(step: &Move) -> &'static str {
    if word(step, "as") == Some("b") { "b" } else { "a" }
}
