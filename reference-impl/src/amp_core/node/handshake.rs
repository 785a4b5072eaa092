//! HELLO and its answers (13), on this side of them.

use bytes::Bytes;
use tokio::sync::mpsc::Receiver;

use super::super::bodies::Body;
use super::super::codes::Code;
use super::super::did;
use super::super::negotiation::{self, Event, Negotiation, State};
use super::super::receive::{self, Authentic};
use super::channel::{Carrier, Channel};
use super::replies::Cause;
use super::{Answer, Node};

impl Node {
    /// What is offered and supported (E50).
    pub(super) fn supported(&self) -> Vec<String> {
        self.0.settings.versions.iter().map(|major| format!("{major}.0")).collect()
    }

    /// A negotiation in which nothing was said yet.
    pub(crate) fn negotiation(&self) -> Negotiation {
        Negotiation::new(self.supported(), self.rules())
    }

    /// An exchange without a connection.
    pub(crate) fn exchange(&self, carrier: Carrier, principal: Option<String>) -> Channel {
        Channel::exchange(carrier, principal, self.negotiation())
    }

    /// A connection, and the end on which its messages come out.
    pub(crate) fn connection(&self, carrier: Carrier, principal: Option<String>) -> (Channel, Receiver<Bytes>) {
        Channel::connection(carrier, principal, self.negotiation())
    }

    /// 13.5: selects a version, or says that none fits.
    pub(super) fn greet(&self, offered: &[String], cause: Cause<'_>, now: u64) -> Answer {
        let (voice, rules) = (self.voice(now), self.rules());
        match negotiation::answer(&self.supported(), offered, rules) {
            Ok((said, _)) => {
                // Other, E43: peer and state say enough.
                let reply_to = (!rules.is_other()).then_some(cause.id);
                Answer::of(vec![voice.handshake(said, cause, reply_to)])
            }
            Err(code) => Answer::refused(voice, cause, &code.into()),
        }
    }

    /// Notes on the connection what was agreed, and who is at its other end.
    pub(super) fn settle_handshake(&self, message: &Authentic, channel: &Channel, refusal: Option<Code>) {
        if refusal.is_some() {
            return;
        }
        // E53: an answer that nobody waits for changes nothing, so that what a step complains of is of no account.
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

    /// The HELLO that this node begins a connection with; `None` if it may not begin one.
    pub(crate) fn hello(&self, to: &str, channel: &Channel) -> Option<Bytes> {
        let said = channel.event(Event::SendHello).send?;
        let cause = Cause { from: to, id: &[], several: false, thread: None };
        Some(self.voice(self.now()).handshake(said, cause, None))
    }
}
