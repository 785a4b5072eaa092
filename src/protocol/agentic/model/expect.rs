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

/// The same expectation, decided by one requirement.
pub(super) fn covering(requirement: &str, mut expectation: Value) -> Value {
    expectation.set_member("covers", Value::array([text(requirement)]));
    expectation
}

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
    let written = alternatives.into_iter().map(|one| {
        let mut members = vec![("reading", Value::Text(one.reading))];
        if one.tolerated {
            members.push(("tolerated", Value::Bool(true)));
        }
        members.push(("all", Value::Array(one.all.into())));
        Value::map(members)
    });
    vec![covering(requirement, Value::map([("any-of", Value::array(written))]))]
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

/// The project of a move: one of two.
pub(super) fn of_project(step: &Move) -> usize {
    small(step, "project").min(1)
}

/// The party of a move.
pub(super) fn party(step: &Move) -> &'static str {
    if word(step, "as") == Some("b") { "b" } else { "a" }
}
