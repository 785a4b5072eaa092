//! Exchanges as tests write them.

use super::{Body, Exchange, Incoming, Outgoing, Transport};

/// A request of party `a` in the step with this number, at the start of the run, and what was received 10 ms later.
pub fn exchange(step: usize, transport: Transport, received: Incoming) -> Exchange {
    let sent = Outgoing {
        transport,
        method: "POST".to_owned(),
        url: "http://127.0.0.1:1/".to_owned(),
        headers: Vec::new(),
        body: Body::default(),
    };
    Exchange {
        step,
        round: 0,
        actor: "a".to_owned(),
        operation: "request".to_owned(),
        sent,
        received,
        started_ms: 0,
        elapsed_ms: 10,
        hosted: None,
        clock_ms: 0,
    }
}
