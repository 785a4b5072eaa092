//! What arrives at a listener, and what can be done about it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::channel::Arrival;
use super::http1::{self, Fields};
use super::tcp::TcpChannel;
use super::ws::{WsChannel, accept_key};
use crate::exchange::Ended;

/// An answer in the form of HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Reply {
    /// Status.
    pub status: u16,
    /// Header fields; the length of the body is added if missing.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

/// The reaction to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is answered.
    Reply(Reply),
    /// These bytes are sent and the connection is closed.
    Raw(Vec<u8>),
    /// Nothing is sent. The connection stays open until the peer closes it or the timeout passes.
    Silence,
    /// Nothing is sent and the connection is closed.
    Close,
    /// Nothing is sent and the connection is reset.
    Reset,
}

/// What arrived at a listener.
pub enum Inbound {
    /// A request, which may be a WebSocket upgrade.
    Request(Request),
    /// A connection for frames, not read yet.
    Tcp {
        /// The address of the peer.
        from: Caller,
        /// The connection.
        channel: Box<TcpChannel>,
    },
    /// Bytes that are not a request. They were refused, and the connection is closed.
    Unreadable {
        /// The address of the peer.
        from: Caller,
        /// The defect.
        ended: Ended,
    },
}

impl Inbound {
    /// Its approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Request(request) => request.arrival.body.len() + 1_024,
            Self::Tcp { .. } | Self::Unreadable { .. } => 1_024,
        }
    }
}

/// The address of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The number of its connection, counted from 1 over the life of the listener.
    pub connection: u64,
    /// The address of the other end.
    pub address: SocketAddr,
    /// When the connection was accepted: milliseconds since the start of the listener.
    pub at_ms: u64,
}

/// The offer of a request for a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its `Sec-WebSocket-Key`.
    pub key: String,
    /// The subprotocols it lists.
    pub subprotocols: Vec<String>,
}

/// A request, and the way to answer it. Dropping it without an answer closes its connection.
pub struct Request {
    /// The address of the peer.
    pub from: Caller,
    /// The request: always an [`ArrivalKind::HttpRequest`](super::channel::ArrivalKind::HttpRequest).
    pub arrival: Arrival,
    /// How its body ended. One that is not complete is answered already.
    pub ended: Ended,
    /// Its offer, if it is a WebSocket upgrade (RFC 6455 section 4.2.1).
    pub websocket: Option<Offer>,
    /// `None` if it was already answered.
    pub(super) decide: Option<oneshot::Sender<Decision>>,
}

impl Request {
    /// Answers it.
    ///
    /// # Errors
    ///
    /// It was answered already, the connection has ended, or the answer cannot be written as HTTP.
    pub fn answer(self, answer: Answer) -> Result<(), String> {
        if let Answer::Reply(reply) = &answer {
            plain(&reply.headers)?;
        }
        self.decided(Decision::Answer(answer))
    }

    /// Accepts the WebSocket upgrade, naming `subprotocol` in the answer, even if it was not offered.
    ///
    /// # Errors
    ///
    /// It is not an upgrade, it was already answered, or the answer could not be written in time.
    pub async fn accept(
        self,
        subprotocol: Option<&str>,
        headers: Vec<(String, String)>,
        deadline: Instant,
    ) -> Result<WsChannel, String> {
        let offer = self.websocket.as_ref().ok_or("the request is not a WebSocket upgrade")?;
        let mut fields: Vec<(String, String)> = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", accept_key(&offer.key).as_str()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        fields.extend(subprotocol.map(|name| ("Sec-WebSocket-Protocol".to_owned(), name.to_owned())));
        fields.retain(|(name, _)| http1::field(&headers, name).is_none());
        fields.extend(headers);
        plain(&fields)?;
        let (send, channel) = oneshot::channel();
        self.decided(Decision::Upgrade(fields, send))?;
        match timeout_at(deadline, channel).await {
            Ok(Ok(channel)) => Ok(channel),
            _ => Err("the answer could not be written".to_owned()),
        }
    }

    fn decided(self, decision: Decision) -> Result<(), String> {
        let decide = self.decide.ok_or("the request was answered already")?;
        decide.send(decision).map_err(|_| "the connection has ended".to_owned())
    }
}

fn plain(fields: &[(String, String)]) -> Result<(), String> {
    match fields.iter().find(|(name, value)| !http1::is_plain(name) || !http1::is_plain(value)) {
        Some((name, _)) => Err(format!("the header {name} cannot be sent")),
        None => Ok(()),
    }
}

/// The decision on a request.
pub(super) enum Decision {
    /// It is answered.
    Answer(Answer),
    /// It becomes a WebSocket: the header fields of the answer, and the receiver of the channel.
    Upgrade(Fields, oneshot::Sender<WsChannel>),
}

/// Waits for the decision about a request. Without one in time, or if the request is dropped, the connection is closed.
pub(super) async fn decision(decided: oneshot::Receiver<Decision>, patience: Duration) -> Decision {
    match timeout(patience, decided).await {
        Ok(Ok(decision)) => decision,
        _ => Decision::Answer(Answer::Close),
    }
}
