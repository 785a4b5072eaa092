//! A running server: its addresses, its published values, and its end.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::config::ServeError;

/// The grace period of open connections after a stop.
const STOP_DEADLINE: Duration = Duration::from_secs(3);

/// A running server. Dropping it stops the server too, without waiting for it.
#[derive(Debug)]
pub struct Handle {
    addresses: Vec<(&'static str, String)>,
    facts: Vec<(&'static str, String)>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Handle {
    /// A server that ends when `stop` is used or dropped.
    #[must_use]
    pub fn new(stop: oneshot::Sender<()>, server: JoinHandle<std::io::Result<()>>) -> Self {
        Self { addresses: Vec::new(), facts: Vec::new(), stop, server }
    }

    /// Adds an address: a URL with the actual port.
    #[must_use]
    pub fn at(mut self, name: &'static str, url: String) -> Self {
        self.addresses.push((name, url));
        self
    }

    /// Adds a value that a peer may need.
    #[must_use]
    pub fn knows(mut self, name: &'static str, value: String) -> Self {
        self.facts.push((name, value));
        self
    }

    /// Every address at which it is reached, by name, the main one first. [`crate::Implementation::addresses`] lists the names.
    #[must_use]
    pub fn addresses(&self) -> &[(&'static str, String)] {
        &self.addresses
    }

    /// The values that a peer may need, by name, such as a DID or a token.
    #[must_use]
    pub fn facts(&self) -> &[(&'static str, String)] {
        &self.facts
    }

    /// The URL of an address, without a slash at the end.
    #[must_use]
    pub fn url(&self, name: &str) -> Option<&str> {
        find(&self.addresses, name)
    }

    /// The socket address of a listener.
    #[must_use]
    pub fn socket(&self, name: &str) -> Option<SocketAddr> {
        let (_, rest) = self.url(name)?.split_once("://")?;
        rest.split('/').next()?.parse().ok()
    }

    /// The value of a fact.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&str> {
        find(&self.facts, name)
    }

    /// Finishes the requests in hand, closes the database and returns.
    pub async fn stop(self) {
        let Self { stop, mut server, .. } = self;
        stop.send(()).ok(); // fails only if the server has ended already
        if tokio::time::timeout(STOP_DEADLINE, &mut server).await.is_err() {
            server.abort();
        }
    }

    /// Returns when the server has ended by itself, which it does only if its socket fails.
    pub async fn wait(self) {
        self.server.await.ok();
        drop(self.stop);
    }
}

fn find<'a>(pairs: &'a [(&'static str, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

/// Listens on `address`; the port of the second value is the real one.
pub(crate) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
