//! Why no recipient may take a message, where every reading of sections 4.1, 8.1 and 8.2 agrees on it.
//! Stricter evidence than in the suites: only bytes that are not CBOR, missing members, and invalid signatures over a
//! message that is deterministically encoded, has one recipient, and is of a type that is answered. Anything that an
//! erratum leaves open does not count as a
//! defect.

use super::identity::{self, Identity};
use super::key_selection::Purpose;
use super::{codes, did, fixtures, party, seal, sig_input, sign};
use crate::protocol::{Defect, ObservationContext};
use crate::value::Value;
use crate::wire::cbor::{self, CborErrorKind, Limits};

/// The members that every message has (section 4.1), and the requirement that one without it is refused.
const REQUIRED: &[(&str, &str)] = &[
    ("v", "AMP-4.1-05"),
    ("id", "AMP-4.1-07"),
    ("typ", "AMP-4.1-09"),
    ("ts", "AMP-4.1-11"),
    ("ttl", "AMP-4.1-13"),
    ("from", "AMP-4.1-15"),
    ("to", "AMP-4.1-17"),
    ("sig", "AMP-4.1-19"),
];

/// Types that are not answered, or whose answer does not show whether they were accepted (E42, E73).
const UNANSWERED: &[u64] = &[0x02, 0x03, 0x04, 0x05, 0x0f, 0x12, 0x13, 0x14, 0x71, 0x72];

/// Why a recipient must reject these bytes.
pub(super) fn of(bytes: &[u8], context: &ObservationContext<'_>) -> Option<Defect> {
    let found = |requirement, because: String| Some(Defect { requirement, because });
    if bytes.is_empty() {
        return found("AMP-15.3-45", "no bytes at all".to_owned());
    }
    let document = match cbor::read(bytes, Limits::default()) {
        Ok(document) => document,
        Err(error) => {
            let requirement = match error.kind {
                CborErrorKind::Truncated { .. } => "AMP-15.3-46",
                CborErrorKind::TrailingBytes(_) => "AMP-15.3-47",
                CborErrorKind::LengthBeyondInput { .. } => "AMP-15.3-50",
                CborErrorKind::ReservedInformation(_)
                | CborErrorKind::NoIndefinite(_)
                | CborErrorKind::UnexpectedBreak { .. }
                | CborErrorKind::WrongChunk { .. } => "AMP-15.3-48",
                // A text that is not UTF-8, a depth, a number of items: a reader may go on (E18, strict profile only).
                _ => return None,
            };
            return found(requirement, format!("bytes that are not CBOR: {error}"));
        }
    };
    let message = &document.value;
    if message.as_map().is_none() {
        return found("AMP-4.1-01", format!("{} in the place of a map", crate::wire::show(message)));
    }
    // Implementations differ in whether they accept a non-deterministic encoding (E09), and in its signed bytes.
    if !document.is_deterministic() {
        return None;
    }
    if let Some((name, requirement)) = REQUIRED.iter().find(|(name, _)| message.member(name).is_none()) {
        return found(requirement, format!("no {name}"));
    }
    forged(message, context).filter(|_| is_for_the_target(message, context) && is_answered(message))
}

/// Whether the target is the only recipient: others may store a message without verifying it (section 8.6).
fn is_for_the_target(message: &Value, context: &ObservationContext<'_>) -> bool {
    let target = party::target_did(context);
    let to = match message.member("to") {
        Some(Value::Array(items)) if items.len() == 1 => items.first(),
        other => other,
    };
    to.and_then(Value::as_text) == Some(target)
}

fn is_answered(message: &Value) -> bool {
    let typ = message.member("typ").and_then(Value::as_integer).and_then(|typ| u64::try_from(typ).ok());
    typ.is_some_and(|typ| codes::type_name(typ).is_some() && !UNANSWERED.contains(&typ))
}

/// Whether the signature is over other bytes (section 8.2).
fn forged(message: &Value, context: &ObservationContext<'_>) -> Option<Defect> {
    let found = |because: &str| Some(Defect { requirement: "AMP-8.2-06", because: because.to_owned() });
    let Some(Value::Bytes(signature)) = message.member("sig") else { return None };
    let from = message.member("from")?.as_text()?;
    let document = party::document_of(from, context)?;
    let body = match message.member("enc") {
        None => cbor::write(message.member("body")?),
        Some(enc) => opened(enc, from, context)?,
    };
    let input = sig_input::encode(message, &body);
    let selection = document.select(from, Purpose::Signature, party::now_ms(context));
    let chosen = selection.chosen.ok()?;
    // Several readings select different keys of a document; a message that no key has signed is invalid under all.
    let keys = std::iter::once(chosen.public_key).chain(selection.others.into_iter().map(|other| other.public_key));
    let verifies = keys.into_iter().any(|key| sign::verify_strict(&key, &input, signature));
    if verifies { None } else { found("a signature that does not verify") }
}

/// The plaintext of a box from one of proofmark's parties to the target: either of the two can open it (section 8.5.1).
fn opened(enc: &Value, from: &str, context: &ObservationContext<'_>) -> Option<Vec<u8>> {
    let bytes = |name: &str| match enc.member(name) {
        Some(Value::Bytes(bytes)) => Some(bytes.as_slice()),
        _ => None,
    };
    let (nonce, ciphertext) = (bytes("nonce")?, bytes("ciphertext")?);
    let known = identity::NAMES.iter().chain(&fixtures::NAMES).map(|name| party::identity(name, context.target));
    let mut senders = known.chain(Identity::requested(did::without_fragment(from)));
    let sender = senders.find(|identity| did::same_party(from, identity.did()))?;
    let keys = party::target_agreements(context);
    keys.iter().find_map(|key| seal::open(sender.agreement_private(), key, nonce, ciphertext).ok())
}
