//! Whether an ACK may be believed (16.1).

use super::bodies::{Ack, AckSource};
use super::codes::Code;
use super::did;
use super::message::Headers;
use super::rules::Rules;

/// Why an ACK does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AckFault {
    /// The error that its sender gets.
    pub(crate) code: Code,
    /// The reason.
    pub(crate) reason: &'static str,
}

/// Checks an ACK, whose signature was verified, against the message that it acknowledges.
///
/// # Errors
///
/// [`AckFault`] with 1001 for what breaks a rule of 16.1.
pub(crate) fn validate(
    ack_headers: &Headers,
    ack: &Ack,
    original: &Headers,
    trusted_relays: &[String],
    rules: Rules,
) -> Result<(), AckFault> {
    let fault = rules.fault;
    // Other, E04: the sender of an unsolicited ACK is not authorised.
    let code = if rules.is_other() { Code::Unauthorized } else { Code::InvalidMessage };
    let refuse = |reason| Err(AckFault { code, reason });
    // 15.1, E43: an ACK references its message.
    if ack_headers.reply_to.as_ref() != Some(&original.id) && !fault.is("ack-reply-to-unchecked") {
        return refuse("reply_to is not the id of the message");
    }
    let from = &ack_headers.from;
    let addressed = |did: &str| original.to.all().iter().any(|to| did::is_same(to, did));
    match ack.source {
        // 16.1: a recipient is named in to.
        AckSource::Recipient if !addressed(from) && !fault.is("ack-recipient-unchecked") => {
            return refuse("from is not among the recipients");
        }
        // 16.1, E44: a relay is trusted by name. Other, E04: an unknown one is only logged.
        AckSource::Relay => {
            let trusted = trusted_relays.iter().any(|relay| did::is_same(relay, from));
            if !trusted && !rules.is_other() && !fault.is("ack-relay-unchecked") {
                return refuse("from is not a trusted relay");
            }
        }
        AckSource::Recipient => {}
    }
    // E45: ack_target is one of the recipients.
    let target = ack.target.as_deref().is_none_or(|target| addressed(target) || fault.is("ack-target-unchecked"));
    if target { Ok(()) } else { refuse("ack_target is not among the recipients") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amp_core::keys::Identity;
    use crate::amp_core::message::To;

    #[test]
    fn only_recipients_and_trusted_relays_acknowledge() {
        let [alice, bob, relay] = [1, 2, 3].map(|seed| Identity::of_seed([seed; 32]));
        let to = To::Many(vec![bob.did.clone(), "did:x:other".into()]);
        let original = Headers::new(&alice, to, 0x10, 1, 1, Rules::PLAIN);
        let verdict = |from: &Identity, ack: &Ack, relays: &[String]| {
            let mut headers = Headers::new(from, To::One(alice.did.clone()), 0x03, 1, 1, Rules::PLAIN);
            headers.reply_to = Some(original.id.clone());
            validate(&headers, ack, &original, relays, Rules::PLAIN).map_err(|fault| fault.code)
        };
        let (recipient, relayed) = (Ack::new(AckSource::Recipient, 1), Ack::new(AckSource::Relay, 1));
        let trusted = [relay.did.clone()];
        assert_eq!((verdict(&bob, &recipient, &[]), verdict(&relay, &relayed, &trusted)), (Ok(()), Ok(())));
        assert_eq!(verdict(&relay, &recipient, &trusted), Err(Code::InvalidMessage));
        assert_eq!(verdict(&relay, &relayed, &[]), Err(Code::InvalidMessage));
        let targeted = |target: &str| Ack { target: Some(target.into()), ..recipient.clone() };
        assert_eq!(verdict(&bob, &targeted("did:x:other#key"), &[]), Ok(()));
        assert_eq!(verdict(&bob, &targeted("did:x:nobody"), &[]), Err(Code::InvalidMessage));
        let unasked = Headers::new(&bob, To::One(alice.did.clone()), 0x03, 1, 1, Rules::PLAIN);
        assert!(validate(&unasked, &recipient, &original, &[], Rules::PLAIN).is_err());
    }
}
