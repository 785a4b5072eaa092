//! The toy protocol of proofmark: a ping that is answered, and one that is forwarded to the next hop.

use proofmark::exchange::{Exchange, Transport};
use proofmark::protocol::{BodyPlan, Input, ObservationContext, Operation, Protocol, Route, base_view};
use proofmark::value::Value;

/// The row of the table of protocols.
pub(crate) struct Toy;

impl Protocol for Toy {
    fn slug(&self) -> &'static str {
        "toy"
    }

    fn operations(&self) -> &'static [Operation] {
        OPERATIONS
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http]
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        base_view(exchange, context.target, context.clock)
    }
}

const BODY: Input = Input { name: "body", required: true, default: None };

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "ping",
        summary: "Requests the nonce of the ping.",
        level: "basic",
        inputs: &[BODY],
        route: Some(post("/ping")),
        channel: None,
        tree: None,
        method: None,
        accepted: &[(200, 200)],
    },
    Operation {
        name: "relay",
        summary: "Requests to forward the ping to the next hop.",
        level: "forwarding",
        inputs: &[BODY],
        route: Some(post("/relay")),
        channel: None,
        tree: None,
        method: None,
        accepted: &[(202, 202)],
    },
];

const fn post(path: &'static str) -> Route {
    Route { method: "POST", path, query: &[], headers: &[], body: BodyPlan::Input("body"), summons: false, base: None }
}
