//! HELLO and its answers (13), on this side of them.

use bytes::Bytes;
use tokio::sync::mpsc::Receiver;

use super::super::bodies::Body;
use super::super::codes::Code;
use super::super::did;
use super::super::faults::node as faults;
use super::super::negotiation::{self, Event, Negotiation, State};
use super::super::receive::{self, Authentic};
use super::channel::{Carrier, Channel};
use super::replies::Cause;
use super::{Answer, Node};
use crate::fault::planted;

/// The last version of an offer.
fn last(offered: &[String]) -> &[String] {
    &offered[offered.len().saturating_sub(1)..]
}

impl Node {
    /// The offered and supported versions (E50).
    pub(super) fn supported(&self) -> Vec<String> {
        self.0.settings.versions.iter().map(|major| format!("{major}.0")).collect()
    }

    /// A negotiation before its first message.
    pub(crate) fn negotiation(&self) -> Negotiation {
        Negotiation::new(self.supported(), self.rules())
    }

    /// An exchange without a connection.
    pub(crate) fn exchange(&self, carrier: Carrier, principal: Option<String>) -> Channel {
        Channel::exchange(carrier, principal, self.negotiation())
    }

    /// A connection, and the receiver of its outgoing messages.
    pub(crate) fn connection(&self, carrier: Carrier, principal: Option<String>) -> (Channel, Receiver<Bytes>) {
        Channel::connection(carrier, principal, self.negotiation())
    }

    /// 13.5: selects a version, or rejects all.
    pub(super) fn greet(&self, offered: &[String], cause: Cause<'_>, now: u64) -> Answer {
        let (voice, rules) = (self.voice(now), self.rules());
        // 13.5: the same offer gets the same answer, however often.
        let mut offered = offered;
        planted!(rules.fault, "hello-selects-in-turn", faults::is_again(cause.from) => offered = last(offered));
        match negotiation::answer(&self.supported(), offered, rules) {
            Ok((said, _)) => {
                // Other, E43: peer and state are sufficient.
                let reply_to = (!rules.is_other()).then_some(cause.id);
                Answer::of(vec![voice.handshake(said, cause, reply_to)])
            }
            Err(code) => Answer::refused(voice, cause, &code.into()),
        }
    }

    /// Stores the negotiated version and the peer of the connection.
    pub(super) fn settle_handshake(&self, message: &Authentic, channel: &Channel, refusal: Option<Code>) {
        if refusal.is_some() {
            return;
        }
        // E53: an unexpected answer changes nothing, so its errors are ignored.
        match receive::admit(message, self.rules()) {
            Ok(Body::Hello(offered)) => {
                let state = channel.event(Event::Hello(offered)).state;
                let peer = Some(did::without_fragment(&message.headers.from)).filter(|_| state == State::Negotiated);
                peer.into_iter().for_each(|peer| self.connected(peer, channel));
            }
            Ok(Body::HelloAck(selected)) => drop(channel.event(Event::HelloAck(selected))),
            Ok(Body::HelloReject(_)) => drop(channel.event(Event::HelloReject)),
            _ => {} // nothing about versions
        }
    }

    /// The HELLO with which this node starts a connection; `None` if it must not start one.
    pub(crate) fn hello(&self, to: &str, channel: &Channel) -> Option<Bytes> {
        let said = channel.event(Event::SendHello).send?;
        let cause = Cause { from: to, id: &[], several: false, thread: None };
        Some(self.voice(self.now()).handshake(said, cause, None))
    }
}
