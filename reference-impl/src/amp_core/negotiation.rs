//! Version negotiation with one peer (13.5): a state machine that receives events and returns the messages to send.

use super::codes::{Code, typ};
use super::rules::Rules;
use super::version;
use crate::cbor::Cbor;
use crate::fault::planted;

/// The states of a negotiation (13.5). SELECT is left as soon as it is entered, so it is not observable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Before the first message.
    Unnegotiated,
    /// HELLO was sent.
    WaitAck,
    /// A version was selected.
    Negotiated,
    /// No common version.
    Failed,
}

impl State {
    /// Its name in 13.5.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unnegotiated => "UNNEGOTIATED",
            Self::WaitAck => "WAIT_ACK",
            Self::Negotiated => "NEGOTIATED",
            Self::Failed => "FAILED",
        }
    }
}

/// What happens to a negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// This node is to begin.
    SendHello,
    /// HELLO arrived, with these versions.
    Hello(Vec<String>),
    /// HELLO_ACK arrived, with this version.
    HelloAck(String),
    /// HELLO_REJECT arrived.
    HelloReject,
    /// Any other message arrived or is to be sent, with this v.
    Message(u64),
}

/// The messages of the handshake: always with v 1 (13.1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Send {
    /// HELLO, HELLO_ACK or HELLO_REJECT.
    pub(crate) typ: u64,
    /// The version field.
    pub(crate) v: u64,
    /// The body.
    pub(crate) body: Cbor,
}

/// The result of an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// The state after it.
    pub(crate) state: State,
    /// What to send, if anything.
    pub(crate) send: Option<Send>,
    /// The error that the peer gets, if the event was not in order.
    pub(crate) error: Option<Code>,
}

/// A negotiation with one peer. At any time there is one at most (13.5).
#[derive(Debug, Clone)]
pub(crate) struct Negotiation {
    rules: Rules,
    state: State,
    supported: Vec<String>,
    selected: Option<String>,
    /// Whether HELLO was sent and not answered yet; it stays so when a HELLO of the peer crosses it (E53).
    asked: bool,
}

/// Answers a HELLO (13.5, SELECT): HELLO_ACK with the version that was selected, or HELLO_REJECT.
///
/// # Errors
///
/// An error instead of either, which only faults make of it.
pub(crate) fn answer(supported: &[String], offered: &[String], rules: Rules) -> Result<(Send, Option<String>), Code> {
    let Some(selected) = version::select(supported, offered, rules) else {
        // 13.5: without a compatible version the answer is HELLO_REJECT.
        planted!(rules.fault, "hello-reject-as-error", return Err(Code::UnsupportedVersion));
        let body = Cbor::map([("reason", "no compatible version".into())]);
        return Ok((Send { typ: typ::HELLO_REJECT, v: 1, body }, None));
    };
    // 13.1: the envelope of the handshake has v 1, regardless of the selected version.
    let v =
        if rules.fault.is("hello-ack-with-selected-v") { version::major(&selected, rules).unwrap_or(1) + 1 } else { 1 };
    // 4.4: the member is called selected.
    let name = if rules.fault.is("hello-ack-version-member") { "version" } else { "selected" };
    Ok((Send { typ: typ::HELLO_ACK, v, body: Cbor::map([(name, selected.as_str().into())]) }, Some(selected)))
}

/// The HELLO of a node that supports these versions.
#[must_use]
pub(crate) fn hello(supported: &[String]) -> Send {
    let versions = supported.iter().map(|version| version.as_str().into()).collect();
    Send { typ: typ::HELLO, v: 1, body: Cbor::map([("versions", Cbor::Array(versions))]) }
}

impl Negotiation {
    /// A negotiation before its first message; `supported` are the versions of this node, best first.
    #[must_use]
    pub(crate) fn new(supported: Vec<String>, rules: Rules) -> Self {
        Self { rules, state: State::Unnegotiated, supported, selected: None, asked: false }
    }

    /// Its state.
    #[must_use]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// The version that was selected.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<&str> {
        self.selected.as_deref()
    }

    /// The v of messages after selection (13.1).
    #[must_use]
    pub(crate) fn major(&self) -> Option<u64> {
        version::major(self.selected()?, self.rules)
    }

    /// The result of an event.
    pub(crate) fn event(&mut self, event: Event) -> Step {
        match event {
            Event::SendHello => self.send_hello(),
            Event::Hello(offered) => self.hello(&offered),
            Event::HelloAck(selected) => self.hello_ack(selected),
            Event::HelloReject => self.hello_reject(),
            Event::Message(v) => self.message(v),
        }
    }

    fn step(&self, send: Option<Send>, error: Option<Code>) -> Step {
        Step { state: self.state, send, error }
    }

    /// 13.5: one negotiation at a time. After FAILED or NEGOTIATED another may begin (E53).
    fn send_hello(&mut self) -> Step {
        if self.state == State::WaitAck && !self.rules.fault.is("hello-sent-twice") {
            return self.step(None, Some(Code::InvalidMessage));
        }
        self.state = State::WaitAck;
        self.asked = true;
        self.step(Some(hello(&self.supported)), None)
    }

    /// 13.5: a HELLO is answered, even if it crosses one of this node or is repeated (E53).
    fn hello(&mut self, offered: &[String]) -> Step {
        match answer(&self.supported, offered, self.rules) {
            Err(code) => {
                self.state = State::Failed;
                self.step(None, Some(code))
            }
            Ok((send, selected)) => {
                self.state = if selected.is_some() { State::Negotiated } else { State::Failed };
                self.selected = selected;
                self.step(Some(send), None)
            }
        }
    }

    /// 13.5: an answer is accepted only if it is expected, and only with a supported version (E53).
    fn hello_ack(&mut self, selected: String) -> Step {
        let fault = self.rules.fault;
        if !self.asked && !fault.is("hello-ack-unsolicited") {
            return self.step(None, Some(Code::InvalidMessage));
        }
        self.asked = false;
        let major = |version: &String| version::major(version, self.rules);
        let spoken = major(&selected)
            .is_some_and(|selected| self.supported.iter().filter_map(major).any(|known| known == selected));
        if !spoken && !fault.is("hello-ack-selected-unchecked") {
            self.state = State::Failed;
            return self.step(None, Some(Code::UnsupportedVersion));
        }
        self.state = State::Negotiated;
        self.selected = Some(selected);
        self.step(None, None)
    }

    fn hello_reject(&mut self) -> Step {
        if !self.asked {
            return self.step(None, Some(Code::InvalidMessage));
        }
        self.asked = false;
        // 13.5: HELLO_REJECT is the end of it.
        self.state = if self.rules.fault.is("hello-reject-ignored") { State::WaitAck } else { State::Failed };
        self.step(None, None)
    }

    /// 13.1, 13.5: before selection, after failure and with another v no message is accepted.
    fn message(&self, v: u64) -> Step {
        let good = self.state == State::Negotiated && self.major() == Some(v);
        // 13.5: v of every message is that of the selected version.
        let good = good || (self.state == State::Negotiated && self.rules.fault.is("negotiated-version-unchecked"));
        self.step(None, (!good).then_some(Code::UnsupportedVersion))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negotiation() -> Negotiation {
        Negotiation::new(vec!["1.0".into()], Rules::PLAIN)
    }

    #[test]
    fn both_sides_reach_negotiated() {
        let (mut initiator, mut responder) = (negotiation(), negotiation());
        let hello = initiator.event(Event::SendHello);
        assert_eq!(
            (hello.state, hello.send.as_ref().map(|send| (send.typ, send.v))),
            (State::WaitAck, Some((0x70, 1)))
        );
        assert_eq!(initiator.event(Event::Message(1)).error, Some(Code::UnsupportedVersion));
        assert!(initiator.event(Event::SendHello).error.is_some());
        let answer = responder.event(Event::Hello(vec!["99.0".into(), "1.0.0".into()]));
        let send = answer.send.expect("an answer");
        assert_eq!((answer.state, send.typ, send.v), (State::Negotiated, typ::HELLO_ACK, 1));
        assert_eq!(initiator.event(Event::HelloAck("1.0.0".into())).state, State::Negotiated);
        for machine in [&mut initiator, &mut responder] {
            assert_eq!((machine.selected(), machine.major()), (Some("1.0.0"), Some(1)));
            assert_eq!(machine.event(Event::Message(1)).error, None);
            assert_eq!(machine.event(Event::Message(2)).error, Some(Code::UnsupportedVersion));
        }
    }

    #[test]
    fn crossing_hellos_are_both_answered() {
        let mut machine = negotiation();
        machine.event(Event::SendHello);
        assert_eq!(machine.event(Event::Hello(vec!["1.0".into()])).state, State::Negotiated);
        let answer = machine.event(Event::HelloAck("1.0".into()));
        assert_eq!((answer.state, answer.error), (State::Negotiated, None));
        assert!(machine.event(Event::HelloAck("1.0".into())).error.is_some());
    }

    #[test]
    fn failure_lasts_until_another_hello() {
        let mut machine = negotiation();
        assert!(machine.event(Event::HelloAck("1.0".into())).error.is_some());
        assert_eq!(machine.state(), State::Unnegotiated);
        machine.event(Event::SendHello);
        assert_eq!(machine.event(Event::HelloReject).state, State::Failed);
        assert!(machine.event(Event::Message(1)).error.is_some());
        let answer = machine.event(Event::Hello(vec!["99.0".into()]));
        assert_eq!((answer.state, answer.send.map(|send| send.typ)), (State::Failed, Some(typ::HELLO_REJECT)));
        assert_eq!(machine.event(Event::Hello(vec!["1.1".into()])).state, State::Negotiated);
    }
}
