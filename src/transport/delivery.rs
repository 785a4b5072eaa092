//! Deliveries: a message that was carried to a target, its answer, and how long the answer was waited for.

use std::time::{Duration, Instant};

use crate::exchange::{Arrival, Body, Encoded, Ended, Incoming, Outgoing};

/// How long answers are collected over a connection that stays open.
pub struct Wait<'w> {
    /// Not at all: what comes is left for the next move.
    pub none: bool,
    /// Whether nothing is waited for once what came is enough.
    pub fail_fast: bool,
    /// At least this long, whatever comes.
    pub at_least: Duration,
    /// Whether an arrival has nothing to do with the message that was sent, so that nothing need follow it soon.
    pub unrelated: &'w dyn Fn(&Outgoing, &Arrival) -> bool,
    /// Whether what came so far is enough: asked each time that something arrives.
    pub enough: &'w mut dyn FnMut(&Outgoing, &Incoming) -> bool,
}

/// A message that was carried to a target, and its answer.
pub struct Delivery {
    /// What was sent.
    pub sent: Outgoing,
    /// What came back.
    pub received: Incoming,
    /// Just before the first byte was sent: later than the call where messages wait for each other.
    pub begun: Instant,
}

impl Delivery {
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
