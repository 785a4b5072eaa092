//! What every transport of one server shares: its node, and bounds on size and time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use crate::amp_core::node::Node;
use crate::fault::planted;

/// The largest message that is taken: four times what RFC 002, 3.2 demands.
pub(crate) const MESSAGE_LIMIT: usize = 4 * 1024 * 1024;

/// How much of a message that is too large is still read, so that its sender receives the answer.
pub(super) const SLACK: usize = 1024 * 1024;

/// Maximum number of persistent connections of each kind.
pub(super) const CONNECTION_LIMIT: usize = 1024;

/// The idle timeout of a connection.
pub(super) const IDLE_DEADLINE: Duration = Duration::from_secs(600);

/// The timeout from the first to the last byte of a message.
pub(super) const MESSAGE_DEADLINE: Duration = Duration::from_secs(30);

/// What every transport of one server shares.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) node: Node,
    /// Bearer tokens and their DIDs (RFC 002, 7.1); empty without authentication.
    pub(crate) tokens: Arc<[(String, String)]>,
    /// Whether the control endpoint is there.
    pub(crate) control: bool,
    /// Whether relays may push messages (RFC 002, 6.3).
    pub(crate) webhook: bool,
    /// True when the server is to end.
    pub(crate) stop: watch::Sender<bool>,
    pub(super) connections: Arc<Semaphore>,
}

impl Server {
    pub(crate) fn new(node: Node, tokens: &[(String, String)], control: bool, webhook: bool) -> Self {
        let connections = Arc::new(Semaphore::new(CONNECTION_LIMIT));
        Self { node, tokens: tokens.into(), control, webhook, stop: watch::Sender::new(false), connections }
    }

    /// Returns when the server is to end.
    pub(super) async fn stopped(&self) {
        self.stop.subscribe().wait_for(|stop| *stop).await.ok(); // also if the sender was dropped
    }

    /// The largest message that is taken.
    pub(super) fn limit(&self) -> usize {
        // RFC 002, 6.4: the limit holds.
        planted!(self.node.rules().fault, "oversized-accepted", return MESSAGE_LIMIT + SLACK);
        // RFC 002, 3.2: at least 1 MiB.
        if self.node.rules().fault.is("size-limit-too-small") { 512 * 1024 } else { MESSAGE_LIMIT }
    }

    /// The owner of a token.
    pub(super) fn owner(&self, token: &[u8]) -> Option<&str> {
        // RFC 002, 6.4: an unknown token gives no access.
        planted!(self.node.rules().fault, "token-unchecked", return self.tokens.first().map(|(_, did)| did.as_str()));
        self.tokens.iter().find(|(known, _)| known.as_bytes() == token).map(|(_, did)| did.as_str())
    }
}
