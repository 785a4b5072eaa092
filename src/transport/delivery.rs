//! Deliveries: a message sent to a target, its answer, and the wait for the answer.

use std::time::{Duration, Instant};

use crate::exchange::{Arrival, Body, Encoded, Ended, Incoming, Outgoing};

/// How to collect answers over a connection that stays open.
pub struct Wait<'w> {
    /// Not at all: arrivals are left for the next action.
    pub none: bool,
    /// Whether collecting stops as soon as the arrivals are sufficient.
    pub fail_fast: bool,
    /// The minimum time.
    pub at_least: Duration,
    /// Whether an arrival is unrelated to the sent message, so that no further arrival is expected soon.
    pub unrelated: &'w dyn Fn(&Outgoing, &Arrival) -> bool,
    /// Whether the arrivals so far are sufficient: called at each arrival.
    pub enough: &'w mut dyn FnMut(&Outgoing, &Incoming) -> bool,
}

/// A message that was carried to a target, and its answer.
pub struct Delivery {
    /// The sent message.
    pub sent: Outgoing,
    /// The answer.
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
            body: Body::from(message.body),
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
