//! From whom a node takes messages: contact (RFC 008, 7) and rate (15.3).

use super::super::codes::{self, Code, typ};
use super::super::did;
use super::super::message::Headers;
use super::super::receive::Authentic;
use super::companions::Contact;
use super::{Answer, Node};
use crate::cbor::Cbor;

impl Node {
    /// Why a valid message of this sender is not taken now.
    pub(super) fn unwelcome(&self, headers: &Headers) -> Option<Code> {
        let (companions, fault) = (&self.0.settings.companions, self.rules().fault);
        let contact = companions.contact(&headers.from);
        // Confirmations concern messages of this node, and a party has to be able to ask.
        let always = codes::is_handshake(headers.typ)
            || matches!(headers.typ, typ::ACK | typ::ERROR | typ::CONTACT_REQUEST | typ::CONTACT_REVOKE);
        match contact.filter(|_| !always) {
            // 15.3: contact has to be requested first.
            Some(Contact::Required) if !fault.is("contact-not-required") => return Some(Code::ContactRequired),
            // 15.3: a denied request has a code of its own.
            Some(Contact::Denied) if fault.is("contact-denied-as-3001") => return Some(Code::Unauthorized),
            Some(Contact::Denied) => return Some(Code::ContactDenied),
            _ => {} // may send
        }
        let rate = companions.rate.filter(|_| contact != Some(Contact::Active) && !fault.is("rate-unlimited"))?;
        // 15.3: too many messages are 3005.
        let code = if fault.is("rate-limit-as-5004") { Code::Overloaded } else { Code::RateLimited };
        let admitted = self.0.load.admits(did::without_fragment(&headers.from), rate);
        (!admitted).then_some(code)
    }

    /// RFC 008, 7: the state of a request for contact. The operator decides, so it does not change here.
    pub(super) fn contact_requested(&self, message: &Authentic, now: u64) -> Answer {
        let contact = self.0.settings.companions.contact(&message.headers.from).unwrap_or(Contact::Active);
        let body = Cbor::map([("status", contact.status().into())]);
        self.confirmed(message, vec![(typ::CONTACT_RESPONSE, body)], now)
    }
}
