//! Negotiation between messages, where it is not bound to a connection (sections 13.1 and 13.5, E52, E53).

use super::expect::{Step, accepted, at, covering, map, number, text, word};
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
        step.push(("versions", text("unknown")));
    }
    Some(Value::map(step))
}

/// A HELLO of a new party with a compatible version gets HELLO_ACK, and a message of that version is accepted. One without a
/// compatible version gets HELLO_REJECT, after which everything is open.
pub(super) fn hello(state: &mut State, given: &Move) -> Option<Predicted> {
    let capture = state.capture();
    let is_unknown = word(given, "versions").is_some();
    let party = format!("h{capture}");
    let this = format!("w{capture}");
    let from = || text(format!("${{did ${party}}}"));
    let mut set = vec![("/from", from())];
    let (transition, expected) = if is_unknown {
        set.push(("/body/versions", Value::array([text("99.0")])));
        ("hello: without a compatible version", at("AMP-13.5-04", "/outcome", "equals", text("rejected")))
    } else {
        ("hello: with a compatible version", at("AMP-13.5-02", "/hello_ack", "exists", Value::Bool(true)))
    };
    let deliver = |message: Value, expect: Value| Step {
        party: party.clone(),
        operation: "deliver",
        with: vec![("message", message), ("key", text(format!("${{{party}}}")))],
        expect: vec![expect],
        ..Step::default()
    };
    let mut steps = vec![deliver(text(format!("${{{this}}}")), expected).written()];
    if !is_unknown {
        let set = map([("/from", from()), ("/ttl", number(LASTING))]);
        let message = map([("base", text("base")), ("set", set)]);
        steps.push(deliver(message, covering("AMP-13.5-03", accepted())).written());
        state.effects = None;
    }
    Some(Predicted {
        transition,
        needs: Vec::new(),
        bindings: vec![fresh(&party), (this, map([("base", text("hello")), ("set", Value::map(set))]))],
        steps,
    })
}
