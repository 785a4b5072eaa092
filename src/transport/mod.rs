//! Transports: the only module that opens sockets and starts processes.
//! A transport moves bytes within limits of size and time. It is independent of protocols: its input is encoded, and
//! its output is bytes and how they ended. Misbehaviour of a peer is an observation, never an
//! error.

pub mod adapter;
pub mod channel;
mod delivery;
mod documents;
pub mod frame;
mod git;
mod group;
pub mod host;
pub mod http;
mod http1;
mod inbound;
pub mod launch;
pub mod lines;
pub mod listener;
pub mod repository;
mod serve;
pub mod session;
pub mod socket;
mod spelled;
pub mod summon;
pub mod tcp;
pub mod tree;
pub mod ws;

use std::time::Instant;

use crate::exchange::{ChannelAction, Encoded, Incoming, Transport};
use crate::target::{Limits, Target};
pub use delivery::{ConnectError, Delivery, Wait};
pub use session::Session;

/// The ways in which one target is reached.
#[derive(Default)]
pub struct Connections {
    /// Its endpoint.
    pub http: Option<http::Http>,
    /// Where connections are opened that stay open.
    pub dial: session::Dial,
    /// The files that it shares.
    pub tree: Option<tree::Tree>,
    /// Its library.
    pub adapter: Option<adapter::Adapter>,
    /// The repositories that cases make for it.
    pub repositories: repository::Repositories,
    /// Changes each answer on its way, as a proxy in between would.
    pub tamper: Option<Tamper>,
    /// The peers that proofmark hosts, if they were started before the run: a target that is launched needs their addresses.
    pub hosts: Option<std::sync::Arc<host::Hosts>>,
}

/// Changes an answer on its way: the operation that it answers, what carried it, and the answer.
pub type Tamper = Box<dyn Fn(&str, Transport, &mut Incoming) + Send + Sync>;

impl Connections {
    /// The transports that `target` configures. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if this machine cannot do it.
    pub fn new(target: &Target) -> Result<Self, ConnectError> {
        Ok(Self {
            http: http::Http::of(target)?,
            dial: session::Dial::new(target),
            tree: target.tree.as_ref().map(tree::Tree::new),
            adapter: target.adapter.as_ref().map(|command| adapter::Adapter::command(command.clone())),
            repositories: repository::Repositories::default(),
            tamper: None,
            hosts: None,
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
    ) -> Delivery {
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
    ) -> Delivery {
        let begun = Instant::now();
        if let ChannelAction::Repository(action) = message.action {
            return self.repositories.carry(action, message, limits).await;
        }
        match (message.transport, &self.http, &self.adapter) {
            (Transport::Http, Some(http), _) if let ChannelAction::Summon(summons) = &message.action => {
                let summons = summons.clone();
                summon::carry(http, actor, message, summons, self.dial.profile(), limits, wait).await
            }
            (Transport::Http, Some(http), _) => {
                let (sent, received) = http.carry(actor, message, limits).await;
                Delivery { sent, received, begun }
            }
            (Transport::Tree, ..) if let Some(tree) = &self.tree => tree.carry(actor, message, limits, wait).await,
            (Transport::Adapter, _, Some(adapter)) => adapter.carry(message, limits).await,
            (transport, ..) if transport.is_channel() => session.carry(&self.dial, actor, message, limits, wait).await,
            _ => Delivery::unsent(message, "the target has no path for this message"),
        }
    }

    /// Every secret that is sent, so that answers that repeat one can be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.http.iter().flat_map(http::Http::secrets).chain(self.dial.secrets())
    }

    /// Ends the started processes.
    pub async fn close(&self) {
        if let Some(adapter) = &self.adapter {
            adapter.close().await;
        }
    }
}
