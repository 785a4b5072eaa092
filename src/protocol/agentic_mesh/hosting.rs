//! The harness as next hop: which forwarded copy belongs to which message, and when it is certain that none follows (binding,
//! sections 1 and 5.1).

use std::time::Duration;

use super::{finder, message, operations, settings};
use crate::exchange::{ChannelAction, Encoded, Exchange, Transport};
use crate::protocol::{Consequences, Fence, Hosting, ObservationContext};
use crate::target::Target;
use crate::wire::json;

/// The host that is the next hop.
pub(super) const NEXT_HOP: &str = "next-hop";

/// The host for faults that are messages of their own.
const FAULTS: &str = "faults";

/// How long a copy may take (binding, section 2).
const FORWARD: Duration = Duration::from_secs(2);

/// The quiet time (binding, section 2).
const QUIET: Duration = Duration::from_millis(300);

/// How many times as long it may take through a chain.
const CHAIN: u32 = 3;

/// The next hop of the target.
pub(super) struct NextHop;

impl Hosting for NextHop {
    fn consequences(&self, message: &Encoded, context: &ObservationContext<'_>) -> Option<Consequences> {
        if message.transport != Transport::Http || !operations::carries_message(&message.operation) {
            return None;
        }
        let values = message::identities(&message.body);
        let passes = operations::goes_through_relay(&message.operation);
        let fence = passes.then(|| {
            let (mut message, value) = message::fence(message, context);
            message.action = ChannelAction::Message;
            Fence { message: Box::new(message), value }
        });
        let hops = if message.operation == operations::CHAIN { CHAIN } else { 1 };
        let within = match passes {
            true => forward_time(context.target) * hops,
            false if tells_faults(context.target) => quiet_time(context.target),
            false => Duration::ZERO,
        };
        Some(Consequences { values, within, fence, counts: message.operation == operations::WATCH })
    }

    /// A fault, or any answer without success, says that nothing was forwarded, and that no fault follows.
    fn rules_out(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> bool {
        let passes = operations::goes_through_relay(&exchange.operation);
        if !passes && !tells_faults(context.target) {
            return true;
        }
        let success = exchange.received.status.is_some_and(|status| (200..300).contains(&status));
        let fault = json::parse(&exchange.received.body.0)
            .ok()
            .and_then(|reply| finder::find(&reply, settings::word(context.target, "fault_code_at")));
        !success || fault.is_some()
    }
}

/// How long the copy of a message may take at a target.
fn forward_time(target: &Target) -> Duration {
    target.timeouts.get("forward").copied().unwrap_or(FORWARD)
}

/// How long nothing must arrive before it is said that nothing was sent.
fn quiet_time(target: &Target) -> Duration {
    target.timeouts.get("quiet").copied().unwrap_or(QUIET)
}

/// Whether the target sends faults as messages of their own: then its owner has configured where (binding, section 2).
fn tells_faults(target: &Target) -> bool {
    target.hosts.contains_key(FAULTS)
}
