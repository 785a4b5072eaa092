//! Negotiation between messages, where it is not bound to a connection (sections 13.1 and 13.5, E52, E53).

use super::expect::{Step, accepted, at, covering, map, number, refused, text, word};
use super::message::{LASTING, fresh};
use super::state::State;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

pub(super) fn propose(_: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    // A second HELLO on one connection is answered somehow (E53).
    if offers.transport().is_channel() {
        return None;
    }
    let mut step = vec![("do", text("hello"))];
    if choices.one_in(2) {
        step.push(("versions", text(*choices.pick(&["unknown", "mixed"])?)));
    }
    Some(Value::map(step))
}

/// A HELLO of a new party with a compatible version gets HELLO_ACK, and a message of that version is accepted. One without a
/// compatible version gets HELLO_REJECT, after which everything is open.
pub(super) fn hello(state: &mut State, given: &Move) -> Option<Predicted> {
    let capture = state.capture();
    let is_unknown = word(given, "versions") == Some("unknown");
    let party = format!("h{capture}");
    let this = format!("w{capture}");
    let from = || text(format!("${{did ${party}}}"));
    let mut set = vec![("/from", from())];
    let acknowledged = || at("AMP-13.5-02", "/hello_ack", "exists", Value::Bool(true));
    let (transition, expected) = match word(given, "versions") {
        Some("unknown") => {
            set.push(("/body/versions", Value::array([text("99.0")])));
            let rejected = at("AMP-13.5-04", "/outcome", "equals", text("rejected"));
            ("hello: without a compatible version", vec![rejected])
        }
        Some(_) => {
            set.push(("/body/versions", Value::array([text("99.0"), text("${hello_versions/0}")])));
            let selected = at("AMP-13.5-06", "/hello_ack/body/selected", "not-equals", text("99.0"));
            ("hello: with one compatible version of two", vec![acknowledged(), selected])
        }
        None => ("hello: with a compatible version", vec![acknowledged()]),
    };
    let deliver = |message: Value, expect: Vec<Value>| Step {
        party: party.clone(),
        operation: "deliver",
        with: vec![("message", message), ("key", text(format!("${{{party}}}")))],
        expect,
        ..Step::default()
    };
    let mut steps = vec![deliver(text(format!("${{{this}}}")), expected).written()];
    if !is_unknown {
        let message = |more: Vec<(&str, Value)>| {
            let set = [("/from", from()), ("/ttl", number(LASTING))].into_iter().chain(more);
            map([("base", text("base")), ("set", Value::map(set))])
        };
        steps.push(deliver(message(Vec::new()), vec![covering("AMP-13.5-03", accepted())]).written());
        let other = message(vec![("/v", number(99))]);
        steps.push(deliver(other, vec![covering("AMP-13.1-06", refused(&[1004], &[]))]).written());
        state.effects = None;
    }
    Some(Predicted {
        transition,
        needs: Vec::new(),
        bindings: vec![fresh(&party), (this, map([("base", text("hello")), ("set", Value::map(set))]))],
        steps,
    })
}
