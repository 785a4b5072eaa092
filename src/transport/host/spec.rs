//! How a host is declared and configured, and what a protocol contributes to it.

use std::net::SocketAddr;
use std::time::Duration;

use crate::exchange::{HostArrival, HostReply, Transport};
use crate::target::ChannelProfile;
use crate::value::Value;

/// How long a connection of a target may be idle, and how long a case may take to reply.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A host as it is declared and configured.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Its name.
    pub name: String,
    /// The listen address; a free port on the loopback interface if `None`.
    pub listen: Option<SocketAddr>,
    /// The URL at which the target reaches it; the listen address if `None`.
    pub announce: Option<String>,
    /// Path behind the announced address.
    pub path: String,
    /// What can reach it: HTTP, WebSocket and TCP.
    pub transports: Vec<Transport>,
    /// How its connections are framed.
    pub profile: ChannelProfile,
    /// How arrivals are matched with cases.
    pub correlate: Correlate,
    /// Whether each case gets a copy of every message that belongs to no case, also of earlier ones.
    pub shared: bool,
    /// The default reply, if neither the case nor the protocol has one.
    pub reply: HostReply,
}

/// How the arrivals at a host are matched with cases, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correlate {
    /// By the token of the case, which is a segment of the path that was announced to it.
    pub path: bool,
    /// By the keys that the protocol finds in the message.
    pub keys: bool,
    /// By values of the case, which are searched in the raw bytes.
    pub bytes: bool,
}

/// What a protocol contributes to its hosts.
pub trait Rules: Send + Sync {
    /// The keys of the conversation that a message belongs to.
    fn keys(&self, arrival: &HostArrival) -> Vec<String>;

    /// A reply that the protocol makes. `state` is kept for the case, and starts as null.
    fn reply(&self, arrival: &HostArrival, state: &mut Value) -> Option<HostReply>;

    /// The answer of the service that resides at the host, if one does. Such a message belongs to no case.
    fn resident(&self, _arrival: &HostArrival) -> Option<HostReply> {
        None
    }

    /// How long the service that resides at the host may keep a peer waiting that asks for news, if there are none yet.
    fn patience(&self, _arrival: &HostArrival) -> Duration {
        Duration::ZERO
    }
}
