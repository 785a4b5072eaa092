//! Transports: the only module that opens sockets and starts processes.
//!
//! A transport moves bytes and bounds them in size and time. It knows no protocol: what it is given is encoded, and what
//! it gives back is bytes and how they ended. A peer that misbehaves is an observation here, never an error.

pub mod adapter;
pub mod http;
pub mod lines;

use std::time::Instant;

use crate::exchange::{Encoded, Incoming, Outgoing, Transport};
use crate::target::{Limits, Target};

/// The ways in which one target is reached.
#[derive(Default)]
pub struct Connections {
    /// Its endpoint.
    pub http: Option<http::Http>,
    /// Its library.
    pub adapter: Option<adapter::Adapter>,
    /// Changes each answer on its way, as a proxy in between would.
    pub tamper: Option<Tamper>,
}

/// Changes an answer on its way: the operation that it answers, what carried it, and the answer.
pub type Tamper = Box<dyn Fn(&str, Transport, &mut Incoming) + Send + Sync>;

/// A message that was carried to a target, and its answer.
pub struct Carried {
    /// What was sent.
    pub sent: Outgoing,
    /// What came back.
    pub received: Incoming,
    /// Just before the first byte was sent: later than the call where messages wait for each other.
    pub begun: Instant,
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
            adapter: target.adapter.as_ref().map(|command| adapter::Adapter::command(command.clone())),
            tamper: None,
        })
    }

    /// Sends a message and reads its answer, within the limits.
    pub async fn carry(&self, actor: &str, message: Encoded, limits: &Limits) -> Carried {
        let Some(tamper) = &self.tamper else { return self.carry_plain(actor, message, limits).await };
        let operation = message.operation.clone();
        let mut carried = self.carry_plain(actor, message, limits).await;
        tamper(&operation, carried.sent.transport, &mut carried.received);
        carried
    }

    async fn carry_plain(&self, actor: &str, message: Encoded, limits: &Limits) -> Carried {
        let begun = Instant::now();
        match (message.transport, &self.http, &self.adapter) {
            (Transport::Http, Some(http), _) => {
                let (sent, received) = http.carry(actor, message, limits).await;
                Carried { sent, received, begun }
            }
            (Transport::Adapter, _, Some(adapter)) => adapter.carry(message, limits).await,
            (transport, ..) => {
                let sent = Outgoing {
                    transport,
                    method: message.method,
                    url: String::new(),
                    headers: Vec::new(),
                    body: crate::exchange::Body(message.body),
                };
                let ended = crate::exchange::Ended::Unreachable("the target has no such path".to_owned());
                let received =
                    Incoming { status: None, headers: Vec::new(), body: crate::exchange::Body::default(), ended };
                Carried { sent, received, begun }
            }
        }
    }

    /// Ends what was started.
    pub async fn close(&self) {
        if let Some(adapter) = &self.adapter {
            adapter.close().await;
        }
    }
}
