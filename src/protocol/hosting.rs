//! Hosting: peers that proofmark plays and that the target calls.

use super::context::ObservationContext;
use crate::exchange::{Encoded, Exchange, HostArrival, HostReply};
use crate::value::Value;

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

    /// Reads a message at a host as the value that expectations look at. Default: `None`, what
    /// [`hosted_view`](super::hosted_view) makes of it.
    fn observe(&self, _exchange: &Exchange, _context: &ObservationContext<'_>) -> Option<Value> {
        None
    }
}
