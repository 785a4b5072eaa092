//! What every transport of one server shares: its node, and bounds on size and time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use crate::amp_core::node::Node;
use crate::fault::planted;

/// The largest message that is taken: four times what RFC 002, 3.2 demands.
pub(crate) const MESSAGE_LIMIT: usize = 4 * 1024 * 1024;

/// How much of a message that is too large is still read, so that its sender gets to see the answer.
pub(super) const SLACK: usize = 1024 * 1024;

/// How many persistent connections of a kind are served at a time.
pub(super) const CONNECTION_LIMIT: usize = 1024;

/// How long a connection may be silent.
pub(super) const IDLE_DEADLINE: Duration = Duration::from_secs(600);

/// How long a message may take from its first byte to its last.
pub(super) const MESSAGE_DEADLINE: Duration = Duration::from_secs(30);

/// What every transport of one server shares.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) node: Node,
    /// Bearer tokens and the DIDs that they stand for (RFC 002, 7.1); empty if nobody is asked.
    pub(crate) tokens: Arc<[(String, String)]>,
    /// Whether the control endpoint is there.
    pub(crate) control: bool,
    /// True when the server is to end.
    pub(crate) stop: watch::Sender<bool>,
    pub(super) connections: Arc<Semaphore>,
}

impl Server {
    pub(crate) fn new(node: Node, tokens: &[(String, String)], control: bool) -> Self {
        let connections = Arc::new(Semaphore::new(CONNECTION_LIMIT));
        Self { node, tokens: tokens.into(), control, stop: watch::Sender::new(false), connections }
    }

    /// Returns when the server is to end.
    pub(super) async fn stopped(&self) {
        self.stop.subscribe().wait_for(|stop| *stop).await.ok(); // also when the sender is gone
    }

    /// The largest message that is taken.
    pub(super) fn limit(&self) -> usize {
        // RFC 002, 3.2: at least 1 MiB.
        if self.node.rules().fault.is("size-limit-too-small") { 512 * 1024 } else { MESSAGE_LIMIT }
    }

    /// Who a token belongs to.
    pub(super) fn owner(&self, token: &[u8]) -> Option<&str> {
        // RFC 002, 6.4: a token that nobody has opens nothing.
        planted!(self.node.rules().fault, "token-unchecked", return self.tokens.first().map(|(_, did)| did.as_str()));
        self.tokens.iter().find(|(known, _)| known.as_bytes() == token).map(|(_, did)| did.as_str())
    }
}
