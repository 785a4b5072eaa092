//! Transports: the only module that opens sockets and starts processes.
//!
//! A transport moves bytes and bounds them in size and time. It knows no protocol: what it is given is encoded, and what
//! it gives back is bytes and how they ended. A peer that misbehaves is an observation here, never an error.

pub mod adapter;
pub mod channel;
mod documents;
pub mod frame;
pub mod http;
mod http1;
mod inbound;
pub mod lines;
pub mod listener;
mod serve;
pub mod session;
pub mod socket;
pub mod summon;
pub mod tcp;
pub mod ws;

use std::time::{Duration, Instant};

use crate::exchange::{Arrival, Body, Encoded, Ended, Incoming, Move, Outgoing, Transport};
use crate::target::{Limits, Target};
pub use session::Session;

/// The ways in which one target is reached.
#[derive(Default)]
pub struct Connections {
    /// Its endpoint.
    pub http: Option<http::Http>,
    /// Where connections are opened that stay open.
    pub dial: session::Dial,
    /// Its library.
    pub adapter: Option<adapter::Adapter>,
    /// Changes each answer on its way, as a proxy in between would.
    pub tamper: Option<Tamper>,
}

/// Changes an answer on its way: the operation that it answers, what carried it, and the answer.
pub type Tamper = Box<dyn Fn(&str, Transport, &mut Incoming) + Send + Sync>;

/// How long answers are collected over a connection that stays open.
pub struct Wait<'w> {
    /// Not at all: what comes is left for the next move.
    pub none: bool,
    /// Whether nothing is waited for once what came is enough.
    pub hasty: bool,
    /// At least this long, whatever comes.
    pub at_least: Duration,
    /// Whether an arrival has nothing to do with the message that was sent, so that nothing need follow it soon.
    pub beside: &'w dyn Fn(&Outgoing, &Arrival) -> bool,
    /// Whether what came so far is enough: asked each time that something arrives.
    pub enough: &'w mut dyn FnMut(&Outgoing, &Incoming) -> bool,
}

/// A message that was carried to a target, and its answer.
pub struct Carried {
    /// What was sent.
    pub sent: Outgoing,
    /// What came back.
    pub received: Incoming,
    /// Just before the first byte was sent: later than the call where messages wait for each other.
    pub begun: Instant,
}

impl Carried {
    /// A message that was not sent at all, and why.
    pub fn unsent(message: Encoded, why: impl Into<String>) -> Self {
        let sent = Outgoing {
            transport: message.transport,
            method: message.method,
            url: String::new(),
            headers: Vec::new(),
            body: Body(message.body),
        };
        Self { sent, received: Incoming::nothing(Ended::Unreachable(why.into())), begun: Instant::now() }
    }
}

/// Why a target cannot be approached at all.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The HTTP client cannot be made.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

impl Connections {
    /// The ways that `target` names. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if this machine cannot do it.
    pub fn new(target: &Target) -> Result<Self, ConnectError> {
        Ok(Self {
            http: target.url.as_ref().map(|url| http::Http::new(url, target)).transpose()?,
            dial: session::Dial::new(target),
            adapter: target.adapter.as_ref().map(|command| adapter::Adapter::command(command.clone())),
            tamper: None,
        })
    }

    /// Sends a message and reads its answer, within the limits.
    pub async fn carry(
        &self,
        session: &Session,
        actor: &str,
        message: Encoded,
        limits: &Limits,
        wait: Wait<'_>,
    ) -> Carried {
        let Some(tamper) = &self.tamper else { return self.carry_plain(session, actor, message, limits, wait).await };
        let operation = message.operation.clone();
        let mut carried = self.carry_plain(session, actor, message, limits, wait).await;
        tamper(&operation, carried.sent.transport, &mut carried.received);
        carried
    }

    async fn carry_plain(
        &self,
        session: &Session,
        actor: &str,
        message: Encoded,
        limits: &Limits,
        wait: Wait<'_>,
    ) -> Carried {
        let begun = Instant::now();
        match (message.transport, &self.http, &self.adapter) {
            (Transport::Http, Some(http), _) if let Move::Summon(summons) = &message.action => {
                let summons = summons.clone();
                summon::carry(http, actor, message, summons, limits, wait).await
            }
            (Transport::Http, Some(http), _) => {
                let (sent, received) = http.carry(actor, message, limits).await;
                Carried { sent, received, begun }
            }
            (Transport::Adapter, _, Some(adapter)) => adapter.carry(message, limits).await,
            (transport, ..) if transport.is_channel() => session.carry(&self.dial, actor, message, limits, wait).await,
            _ => Carried::unsent(message, "the target has no such path"),
        }
    }

    /// Every secret that is sent, so that answers that repeat one can be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.http.iter().flat_map(http::Http::secrets).chain(self.dial.secrets())
    }

    /// Ends what was started.
    pub async fn close(&self) {
        if let Some(adapter) = &self.adapter {
            adapter.close().await;
        }
    }
}
