//! The transports of RFC 002: HTTP (section 6), WebSocket (5), TCP (4), and this node as a client of the three.

mod client;
mod control;
mod http;
mod outgoing;
mod relay;
mod tcp;
mod ws;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::node::Node;
use crate::server::http::without_delay;
use crate::server::pipes::Pipes;

pub(crate) use client::fetch_json;
pub(crate) use relay::{COMMIT, FORWARD};

/// The largest message that is taken: four times what RFC 002, 3.2 demands.
pub(crate) const MESSAGE_LIMIT: usize = 4 * 1024 * 1024;

/// How much of a message that is too large is still read, so that its sender gets to see the answer.
const SLACK: usize = 1024 * 1024;

/// How many persistent connections of a kind are served at a time.
const CONNECTION_LIMIT: usize = 1024;

/// How long a connection may be silent.
const IDLE_DEADLINE: Duration = Duration::from_secs(600);

/// How long a message may take from its first byte to its last.
const MESSAGE_DEADLINE: Duration = Duration::from_secs(30);

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
    connections: Arc<Semaphore>,
}

impl Server {
    pub(crate) fn new(node: Node, tokens: &[(String, String)], control: bool) -> Self {
        let connections = Arc::new(Semaphore::new(CONNECTION_LIMIT));
        Self { node, tokens: tokens.into(), control, stop: watch::Sender::new(false), connections }
    }

    /// Returns when the server is to end.
    async fn stopped(&self) {
        self.stop.subscribe().wait_for(|stop| *stop).await.ok(); // also when the sender is gone
    }

    /// The largest message that is taken.
    fn limit(&self) -> usize {
        // RFC 002, 3.2: at least 1 MiB.
        if self.node.rules().fault.is("size-limit-too-small") { 512 * 1024 } else { MESSAGE_LIMIT }
    }

    /// Who a token belongs to.
    fn owner(&self, token: &[u8]) -> Option<&str> {
        // RFC 002, 6.4: a token that nobody has opens nothing.
        if self.node.rules().fault.is("token-unchecked") {
            return self.tokens.first().map(|(_, did)| did.as_str());
        }
        self.tokens.iter().find(|(known, _)| known.as_bytes() == token).map(|(_, did)| did.as_str())
    }
}

/// Serves HTTP on connections that are handed in, and tries nothing again by itself.
pub(crate) async fn serve_connections(server: Server, pipes: Pipes, ended: impl Future<Output = ()> + Send + 'static) {
    let stop = server.stop.clone();
    tokio::spawn(async move {
        ended.await;
        stop.send_replace(true);
    });
    http::serve(server.clone(), pipes).await.ok(); // pipes cannot fail as sockets do
    server.node.close().await;
}

/// Serves on both listeners until the server is stopped, then finishes what is in hand.
pub(crate) async fn serve(server: Server, http: TcpListener, tcp: Option<TcpListener>) -> std::io::Result<()> {
    let frames = tcp.map(|listener| tokio::spawn(tcp::serve(server.clone(), listener)));
    let ticking = tokio::spawn(outgoing::run(server.clone()));
    let served = http::serve(server.clone(), without_delay(http)).await;
    server.stop.send_replace(true);
    ticking.await.ok();
    if let Some(frames) = frames {
        frames.await.ok();
    }
    server.node.close().await;
    served
}
