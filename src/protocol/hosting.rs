//! Hosting: peers that proofmark plays and that the target calls.

use std::time::Duration;

use super::context::ObservationContext;
use crate::exchange::{Encoded, Exchange, HostArrival, HostReply};
use crate::target::Target;
use crate::value::Value;

/// What a target sends to hosts because of one message, and how long proofmark waits for it. It becomes part of the exchange
/// of the message (`received.arrived`).
#[derive(Clone, Debug, PartialEq)]
pub struct Consequences {
    /// Values of which one occurs in each of them: at least 8 bytes long, and in no other message of the run.
    pub values: Vec<Vec<u8>>,
    /// How long the first may take after the answer. With zero only what arrives until the answer belongs to the exchange.
    pub within: Duration,
    /// A later message that the target handles in the same way. Once its consequence has arrived, what did not arrive does
    /// not exist.
    pub fence: Option<Fence>,
    /// Whether the fence is sent also where something arrived, to see whether more follows.
    pub counts: bool,
}

/// A message that shows that a target has gone on.
#[derive(Clone, Debug, PartialEq)]
pub struct Fence {
    /// The message.
    pub message: Box<Encoded>,
    /// A value that occurs in what the target sends to a host because of it: at least 8 bytes long.
    pub value: Vec<u8>,
}

/// How peers that proofmark hosts take part in a protocol. The hosts themselves are declared in the manifest.
pub trait Hosting: Sync {
    /// The keys of the conversation that a message at a host belongs to, such as the id of the message that it answers. The
    /// message belongs to the case that has claimed one of them. Default: none, so that only the token in the path
    /// and the values of the case identify it. Must be fast: it is called for every message of a target.
    fn keys(&self, _arrival: &HostArrival) -> Vec<String> {
        Vec::new()
    }

    /// The keys that a case claims by sending a message, such as the id of the message. Default: none.
    fn claims(&self, _message: &Encoded) -> Vec<String> {
        Vec::new()
    }

    /// The reply of a host, if the case does not define one. `state` is shared by all hosts of a case, and starts as
    /// null. Default: `None`, the reply that the manifest declares. Must depend only on its arguments.
    fn reply(&self, _arrival: &HostArrival, _state: &mut Value) -> Option<HostReply> {
        None
    }

    /// What the target is expected to send to hosts because of a message. Default: `None`, so that arrivals are left to
    /// the receiving steps of a case. Must depend only on its arguments.
    fn consequences(&self, _message: &Encoded, _context: &ObservationContext<'_>) -> Option<Consequences> {
        None
    }

    /// Whether an answer says that the message has no consequences, so that the fence decides at once. Default: it does not,
    /// and the whole time is waited for.
    fn rules_out(&self, _exchange: &Exchange, _context: &ObservationContext<'_>) -> bool {
        false
    }

    /// Reads a message at a host as the value that expectations look at. Default: `None`, what
    /// [`hosted_view`](super::hosted_view) makes of it.
    fn observe(&self, _exchange: &Exchange, _context: &ObservationContext<'_>) -> Option<Value> {
        None
    }

    /// The service that answers every message at a host, whatever case it belongs to: a store that the target and the harness
    /// share. Default: `None`, the host plays its part in one case at a time. Called once at the start of a run.
    fn resident(&self, _host: &str, _target: &Target) -> Option<Box<dyn Resident>> {
        None
    }

    /// The host to which the operations of a target go that is itself a client only, such as a worker that polls a store.
    /// Default: `None`, they go to the target.
    fn stands_in_for(&self, _target: &Target) -> Option<&'static str> {
        None
    }
}

/// A service at a host of the run, with state that lasts as long as the run.
pub trait Resident: Send {
    /// Answers a message. Must be fast: messages wait for each other.
    fn reply(&mut self, arrival: &HostArrival) -> HostReply;

    /// How long the peer lets the service wait for something to tell, if there is nothing yet (long polling). Default: zero.
    fn patience(&self, _arrival: &HostArrival) -> Duration {
        Duration::ZERO
    }
}
