//! The processing of received bytes, in the order of E31: from parsing to the schema of the body.
//!
//! The time and everything about others is handed in, so that the same bytes give the same outcome for ever. The look
//! into the replay cache (step 9) lies between [`authenticate`] and [`admit`] and belongs to the node.

use super::bodies::Body;
use super::careless;
use super::codes::{self, Code, typ};
use super::did;
use super::document::{Document, Resolve};
use super::envelope;
use super::keys::Identity;
use super::message::{Content, Headers, Message};
use super::rejection::{Rejection, Stage};
use super::rules::Rules;
use super::seal;
use super::sig_input::{body_bytes, sig_input};
use super::signature;
use super::{key_selection, time};
use crate::cbor::{self, Cbor, Limits};
use crate::fault::planted;

/// The recipient and its context.
#[derive(Clone, Copy)]
pub(crate) struct Recipient<'a> {
    /// Fault and readings.
    pub(crate) rules: Rules,
    /// The keys of the recipient.
    pub(crate) me: &'a Identity,
    /// The source of the documents of others.
    pub(crate) documents: &'a dyn Resolve,
    /// The majors that it supports (13.1).
    pub(crate) versions: &'a [u64],
    /// The present time in milliseconds since the Unix epoch.
    pub(crate) now: u64,
}

/// A message from its claimed sender, for this recipient, and in time (steps 1 to 8).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Authentic {
    /// The fields around the content.
    pub(crate) headers: Headers,
    /// The body, decrypted if it was encrypted.
    pub(crate) body: Cbor,
    /// The bytes of the body that the signature covers.
    pub(crate) body_bytes: Vec<u8>,
    /// Whether it was encrypted.
    pub(crate) encrypted: bool,
    /// The id of the method that the signature was verified with.
    pub(crate) signer: String,
    /// Extension fields, which are not authenticated (8.7).
    pub(crate) ext: Option<Cbor>,
}

/// All steps at once, without a replay cache.
///
/// # Errors
///
/// [`Rejection`] of the first step that fails.
pub(crate) fn receive(bytes: &[u8], recipient: Recipient<'_>) -> Result<(Authentic, Body), Rejection> {
    let message = authenticate(bytes, recipient)?;
    let body = admit(&message, recipient.rules)?;
    Ok((message, body))
}

/// Steps 1 to 8 of E31: whether these bytes are a message from its sender to this recipient. Nothing may happen because
/// of a message that fails here (8.2).
///
/// # Errors
///
/// [`Rejection`] of the first step that fails.
pub(crate) fn authenticate(bytes: &[u8], recipient: Recipient<'_>) -> Result<Authentic, Rejection> {
    let message = check_envelope(bytes, recipient)?;
    check_recipient(&message.headers, recipient)?;
    verify(message, recipient)
}

/// The same, for any recipient.
///
/// # Errors
///
/// [`Rejection`] of the first step that fails.
pub(crate) fn for_anybody(bytes: &[u8], recipient: Recipient<'_>) -> Result<Authentic, Rejection> {
    verify(check_envelope(bytes, recipient)?, recipient)
}

/// Steps 1 to 3: the checks that need no documents.
fn check_envelope(bytes: &[u8], recipient: Recipient<'_>) -> Result<Message, Rejection> {
    let rules = recipient.rules;
    let message = envelope::parse(bytes, rules)
        .map_err(|malformed| Rejection::new(malformed.code, Stage::Envelope, malformed.reason))?;
    time::check_id(&message.headers, rules)?;
    // Other, E31: the type before everything that costs more.
    if rules.is_other() {
        check_type(message.headers.typ, rules)?;
    }
    check_version(&message.headers, recipient)?;
    time::check(&message, recipient.now, rules)?;
    Ok(message)
}

/// Steps 1 to 3 of E31 for a relay, which is not a recipient; and the signature if it can be verified: of a readable
/// body whose sender has a document.
///
/// # Errors
///
/// [`Rejection`] of the first step that fails.
pub(crate) fn in_transit(bytes: &[u8], recipient: Recipient<'_>) -> Result<(Message, Option<Authentic>), Rejection> {
    let message = check_envelope(bytes, recipient)?;
    // 8.6: a relay can neither read the body of an encrypted message nor verify its signature.
    let readable = matches!(message.content, Content::Plain { .. });
    if !readable || recipient.documents.resolve(&message.headers.from).is_none() {
        return Ok((message, None));
    }
    let authentic = verify(message.clone(), recipient)?;
    Ok((message, Some(authentic)))
}

/// Steps 10 and 11 of E31: whether this implementation can do something with it.
///
/// # Errors
///
/// [`Rejection`] with 1005, or with the code of a body that does not fit its type.
pub(crate) fn admit(message: &Authentic, rules: Rules) -> Result<Body, Rejection> {
    check_type(message.headers.typ, rules)?;
    Body::read(message.headers.typ, &message.body, rules)
        .map_err(|violation| Rejection::new(violation.code, Stage::Schema, violation.reason))
}

/// 13.1: v is a major that is supported; messages of the handshake have 1.
fn check_version(headers: &Headers, recipient: Recipient<'_>) -> Result<(), Rejection> {
    let rules = recipient.rules;
    let handshake = codes::is_handshake(headers.typ);
    let supported = if handshake { headers.v == 1 } else { recipient.versions.contains(&headers.v) };
    if supported || rules.fault.is("version-unchecked") {
        return Ok(());
    }
    // 13.1: HELLO has v 1, regardless of the offered versions.
    planted!(rules.fault, "hello-version-unchecked", handshake => return Ok(()));
    // 13.1: zero is a version like any other, and not supported.
    planted!(rules.fault, "version-zero-accepted", headers.v == 0 => return Ok(()));
    // Other, E52: a HELLO with another v is malformed.
    let code = if rules.is_other() && handshake { Code::InvalidMessage } else { Code::UnsupportedVersion };
    Err(Rejection::new(code, Stage::Version, "v is not supported"))
}

/// E25: a message for another party must not be acknowledged by this recipient.
fn check_recipient(headers: &Headers, recipient: Recipient<'_>) -> Result<(), Rejection> {
    let rules = recipient.rules;
    let me = &recipient.me.did;
    // 2.1: DIDs are compared letter by letter.
    let folded = rules.fault.is("to-case-folded");
    let mine = |did: &String| did::is_same(did, me) || folded && did.eq_ignore_ascii_case(me);
    // 4.1: any of several recipients, not only the first.
    let named = headers.to.all().iter().take(if rules.fault.is("to-first-only") { 1 } else { usize::MAX }).any(mine);
    if named || rules.fault.is("to-unchecked") {
        return Ok(());
    }
    // Other, E25: the recipient is not to be found here.
    let code = if rules.is_other() { Code::RecipientNotFound } else { Code::Unauthorized };
    Err(Rejection::new(code, Stage::Recipient, "addressed to another party"))
}

/// Steps 5 to 8: key, decryption, signature, and decrypted content.
fn verify(message: Message, recipient: Recipient<'_>) -> Result<Authentic, Rejection> {
    let Recipient { rules, now, .. } = recipient;
    let Message { headers, content, sig, ext, .. } = message;
    let fault = rules.fault;
    let document = recipient.documents.resolve(&headers.from);
    // 2.2, E24: authentication requires the document of the sender.
    let Some(document) = document else {
        planted!(fault, "from-unresolved-accepted", return unverified(headers, content, ext));
        // Other, E24: the sender is not to be found.
        let code = if rules.is_other() { Code::RecipientNotFound } else { Code::Unauthorized };
        return Err(Rejection::new(code, Stage::Key, "the document of the sender cannot be had"));
    };
    let key = key_selection::signature_key(&document, &headers.from, now, rules)
        .map_err(|code| Rejection::new(code, Stage::Key, "the sender has no eligible key"))?;
    let encrypted = matches!(content, Content::Sealed { .. });
    let bytes = match &content {
        // 8.2: a readable body is re-encoded, regardless of its encoding.
        Content::Plain { wire, .. } if fault.is("sig-over-wire-body") => wire.clone(),
        Content::Plain { body, .. } => body_bytes(body, rules),
        Content::Sealed { nonce, ciphertext } => decrypt(nonce, ciphertext, &document, recipient)?,
    };
    // 8.2, 8.6: decrypted bytes are verified as they are.
    let mut signed = bytes.clone();
    let decrypted = || decoded(&bytes).ok().filter(|_| encrypted);
    planted!(fault, "sig-reencode-decrypted", body in decrypted() => signed = body_bytes(&body, rules));
    let input = sig_input(&headers, ext.as_ref(), &signed, rules);
    // 8.2: with the key of the sender.
    let public_key = if fault.is("verify-with-own-key") { recipient.me.public_key() } else { key.public_key };
    let valid = signature::verify(&public_key, &input, &sig, rules);
    if !valid
        && !is_excused(&headers, encrypted, ext.as_ref(), rules)
        && !careless::is_let_through(&headers, &content, rules)
    {
        // 15.3: a wrong signature has a code of its own.
        let code = if fault.is("signature-failure-as-3001") { Code::Unauthorized } else { Code::InvalidSignature };
        return Err(Rejection::new(code, Stage::Signature, "the signature does not verify"));
    }
    let body = match content {
        Content::Plain { body, .. } => body,
        Content::Sealed { .. } => decoded(&bytes).map_err(|code| refuse_body(code, rules))?,
    };
    Ok(Authentic { headers, body, body_bytes: bytes, encrypted, signer: key.method, ext })
}

/// 2.2, 8.2: every message is verified, regardless of its type and transport.
fn is_excused(headers: &Headers, encrypted: bool, ext: Option<&Cbor>, rules: Rules) -> bool {
    let fault = rules.fault;
    let control = matches!(headers.typ, typ::ACK | typ::PING | typ::PONG | typ::HELLO..=typ::HELLO_REJECT);
    let says_verified = || ext.and_then(|ext| ext.get("verified")).and_then(Cbor::as_bool) == Some(true);
    // 8.6: opening a box proves that the sender had a key, not that it signed.
    (encrypted && fault.is("verify-skipped-when-encrypted"))
        || (control && fault.is("verify-skipped-for-control"))
        || (headers.typ == typ::ERROR && fault.is("verify-skipped-for-error"))
        // 8.7: ext is not authenticated.
        || (says_verified() && fault.is("ext-verified-trusted"))
        || fault.is("verify-skipped")
}

/// A message accepted without verification.
fn unverified(headers: Headers, content: Content, ext: Option<Cbor>) -> Result<Authentic, Rejection> {
    let Content::Plain { body, wire } = content else {
        return Err(Rejection::new(Code::Unauthorized, Stage::Decryption, "cannot be opened"));
    };
    Ok(Authentic { signer: headers.from.clone(), headers, body, body_bytes: wire, encrypted: false, ext })
}

/// Step 6 (8.5.1, 8.6): opens the box, with every key of this recipient (8.9).
fn decrypt(nonce: &[u8], ciphertext: &[u8], sender: &Document, recipient: Recipient<'_>) -> Result<Vec<u8>, Rejection> {
    let Recipient { rules, now, me, .. } = recipient;
    // 8.9: of the keys of the sender the smallest id. Other, E23: any of them.
    let theirs = if rules.is_other() || rules.fault.is("box-any-sender-key") {
        key_selection::agreement_keys(sender, now, rules)
    } else {
        key_selection::agreement_key(sender, now, rules).into_iter().collect()
    };
    // 8.9: with every key of this recipient, including rotated ones.
    let keys = me.agreement.iter().take(if rules.fault.is("rotated-key-forgotten") { 1 } else { usize::MAX });
    let pairs = keys.flat_map(|mine| theirs.iter().map(move |theirs| (mine, theirs)));
    let opened = pairs
        .into_iter()
        .find_map(|(mine, theirs)| seal::open(&mine.private, &theirs.public_key, nonce, ciphertext, rules).ok());
    opened.ok_or_else(|| {
        // 8.6, 8.8: 3001 without details, regardless of the reason.
        let code = match () {
            () if rules.fault.is("decrypt-failure-as-1002") => Code::InvalidSignature,
            () if rules.fault.is("decrypt-failure-as-1001") => Code::InvalidMessage,
            () => Code::Unauthorized,
        };
        let step = if theirs.is_empty() { "key agreement" } else { "authentication tag" };
        let details = rules.fault.is("decrypt-oracle-details").then(|| Cbor::map([("step", step.into())]));
        Rejection { details, ..Rejection::new(code, Stage::Decryption, "the box does not open") }
    })
}

/// Step 8: decrypted bytes are one item. Repeated keys are ambiguous, even though they are signed.
fn decoded(bytes: &[u8]) -> Result<Cbor, Code> {
    let item = cbor::read(bytes, Limits::default()).map_err(|_| Code::InvalidMessage)?;
    if item.form.repeated_key { Err(Code::InvalidMessage) } else { Ok(item.value) }
}

/// 8.6: decrypted and verified bytes that are not CBOR are malformed.
fn refuse_body(code: Code, rules: Rules) -> Rejection {
    let code = if rules.fault.is("decrypted-rubbish-as-3001") { Code::Unauthorized } else { code };
    Rejection::new(code, Stage::Body, "the decrypted bytes are not a CBOR item")
}

/// 1.5, 13.4: unknown types are refused by name of their code.
fn check_type(typ: u64, rules: Rules) -> Result<(), Rejection> {
    let fault = rules.fault;
    // 2.4, 2.7: an implementation of level full supports streams and credentials.
    let refused = (matches!(typ, typ::STREAM_START..=typ::STREAM_END) && fault.is("streams-unsupported"))
        || (matches!(typ, typ::CRED_ISSUE..=typ::CRED_VERIFY) && fault.is("credentials-unsupported"));
    // 4.3: an implementation that offers a companion document takes all of its types.
    let announced = matches!(typ, typ::PROCESSING..=typ::INPUT_REQUIRED | typ::CAP_DECLARE | typ::CAP_RESULT);
    let unwanted = announced && fault.is("announcements-unsupported");
    let companion = rules.companions && codes::is_of_companion(typ) && !unwanted;
    if (codes::is_handled(typ) || companion) && !refused {
        return Ok(());
    }
    // 4.3, E37: unassigned types are unknown.
    planted!(rules.fault, "type-unassigned-accepted", codes::type_name(typ).is_none() => return Ok(()));
    let code = if rules.fault.is("type-unknown-as-1001") { Code::InvalidMessage } else { Code::UnknownType };
    Err(Rejection::new(code, Stage::Type, "the type is not handled here"))
}
