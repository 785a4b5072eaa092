//! The channel on which a message arrived, and the connected parties.
//!
//! A connection (WebSocket, TCP) has a negotiation of its own (E53) and takes messages at any time; an HTTP exchange and a
//! call of the library have neither.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use super::super::negotiation::{Event, Negotiation, State, Step};

/// Maximum number of messages queued for a slow reader of one connection.
pub(crate) const BACKLOG: usize = 64;

/// What carries messages to this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// One request, one answer (RFC 002, 6).
    Http,
    /// RFC 002, 5.
    WebSocket,
    /// RFC 002, 4.
    Tcp,
    /// The adapter.
    Library,
}

/// One connection or exchange.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) carrier: Carrier,
    /// The peer as authenticated by the transport (RFC 002, 7.1); `None` without authentication.
    pub(crate) principal: Option<String>,
    /// The queue for messages to the peer; `None` if the peer only gets answers.
    pub(crate) out: Option<mpsc::Sender<Bytes>>,
    /// The negotiated version (13.5).
    negotiation: Mutex<Negotiation>,
    number: u64,
}

impl Channel {
    /// An exchange without a connection.
    pub(crate) fn exchange(carrier: Carrier, principal: Option<String>, negotiation: Negotiation) -> Self {
        Self { carrier, principal, out: None, negotiation: Mutex::new(negotiation), number: 0 }
    }

    /// A connection, and the receiver of its outgoing messages.
    pub(crate) fn connection(
        carrier: Carrier,
        principal: Option<String>,
        negotiation: Negotiation,
    ) -> (Self, mpsc::Receiver<Bytes>) {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let (out, outgoing) = mpsc::channel(BACKLOG);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let negotiation = Mutex::new(negotiation);
        (Self { carrier, principal, out: Some(out), negotiation, number }, outgoing)
    }

    /// Whether messages other than the handshake need HELLO first (RFC 002, 3.3).
    pub(crate) fn needs_hello(&self) -> bool {
        matches!(self.carrier, Carrier::WebSocket | Carrier::Tcp)
    }

    /// The state of the negotiation.
    pub(crate) fn state(&self) -> State {
        self.negotiation.lock().unwrap_or_else(PoisonError::into_inner).state()
    }

    /// The result of an event of the negotiation.
    pub(crate) fn event(&self, event: Event) -> Step {
        self.negotiation.lock().unwrap_or_else(PoisonError::into_inner).event(event)
    }
}

/// A connection by which somebody can be reached.
#[derive(Debug, Clone)]
struct Line {
    number: u64,
    out: mpsc::Sender<Bytes>,
    /// Notified when the queue has a new message.
    news: Arc<Notify>,
}

/// The connected parties, by DID without fragment.
#[derive(Debug, Default)]
pub(crate) struct Directory(Mutex<HashMap<String, Vec<Line>>>);

impl Directory {
    /// Registers `did` as the peer of `channel`; `None` if it is already registered, or if the channel is not a
    /// connection.
    pub(crate) fn register(&self, did: &str, channel: &Channel) -> Option<(mpsc::Sender<Bytes>, Arc<Notify>)> {
        let out = channel.out.clone()?;
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, lines| {
            lines.retain(|line| !line.out.is_closed());
            !lines.is_empty()
        });
        let known = lines.entry(did.to_owned()).or_default();
        if known.iter().any(|line| line.number == channel.number) {
            return None;
        }
        let news = Arc::new(Notify::new());
        known.push(Line { number: channel.number, out: out.clone(), news: Arc::clone(&news) });
        Some((out, news))
    }

    /// Sends `message` on every connection of `did`; returns how many accepted it.
    pub(crate) fn hand_over(&self, did: &str, message: &Bytes) -> usize {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = lines.get(did).map(Vec::as_slice).unwrap_or_default();
        lines.iter().filter(|line| line.out.try_send(message.clone()).is_ok()).count()
    }

    /// Removes every connection of `did`; only a planted fault does so.
    pub(crate) fn forget(&self, did: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(did);
    }

    /// Wakes the tasks that deliver the queue of `did`.
    pub(crate) fn announce(&self, did: &str) {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.get(did).map(Vec::as_slice).unwrap_or_default() {
            line.news.notify_one();
        }
    }
}
