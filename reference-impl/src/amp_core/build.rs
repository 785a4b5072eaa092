//! Making messages (8.1, 8.6): sign, then encrypt.

use super::codes::{Code, typ};
use super::document::Document;
use super::envelope;
use super::faults::build as faults;
use super::key_selection;
use super::keys::Identity;
use super::message::{Content, Headers, Message, To};
use super::message_id;
use super::rules::Rules;
use super::seal::{self, NONCE_LENGTH};
use super::sig_input::{body_bytes, sig_input};
use super::signature;
use crate::cbor::{self, Cbor};

/// A message that was made, and what went into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Built {
    /// The bytes to send.
    pub(crate) message: Vec<u8>,
    /// The signed bytes.
    pub(crate) sig_input: Vec<u8>,
    /// The encoded body.
    pub(crate) plaintext: Vec<u8>,
    /// Nonce and ciphertext, if it is encrypted.
    pub(crate) sealed: Option<(Vec<u8>, Vec<u8>)>,
}

impl Headers {
    /// The headers of a new message from `sender`, created at `now`, with an id of its own.
    #[must_use]
    pub(crate) fn new(sender: &Identity, to: To, typ: u64, now: u64, ttl: u64, rules: Rules) -> Self {
        let id = message_id::fresh(now, rules);
        Self { v: 1, id, typ, ts: now, ttl, from: sender.did.clone(), to, reply_to: None, thread_id: None }
    }
}

/// Makes a message that everybody can read.
#[must_use]
pub(crate) fn plain(sender: &Identity, headers: Headers, body: Cbor, ext: Option<Cbor>, rules: Rules) -> Built {
    let plaintext = body_bytes(&body, rules);
    let input = sig_input(&headers, ext.as_ref(), &plaintext, rules);
    // 2.2: every message is signed, errors as well.
    let unsigned = headers.typ == typ::ERROR && rules.fault.is("error-unsigned");
    let sig = if unsigned { Vec::new() } else { signature::sign(sender, &input) };
    let content = Content::Plain { wire: plaintext.clone(), body };
    let message = Message { headers, content, sig, ext, unknown: Vec::new(), form: cbor::Form::default() };
    Built { message: envelope::encode(&message, rules), sig_input: input, plaintext, sealed: None }
}

/// Makes a message that only the owner of `recipient` can read; without a nonce, one by chance.
///
/// # Errors
///
/// 3001 if the recipient has no usable key for key agreement, 1001 for a nonce of another length
/// than 24 bytes.
pub(crate) fn sealed(
    sender: &Identity,
    recipient: &Document,
    headers: Headers,
    body: &Cbor,
    nonce: Option<Vec<u8>>,
    rules: Rules,
) -> Result<Built, Code> {
    let theirs = key_selection::agreement_key(recipient, headers.ts, rules)?.public_key;
    let mine = sender.agreement.first().ok_or(Code::Unauthorized)?.private;
    // 8.6: sign first, then encrypt the very bytes that were signed.
    let plaintext = body_bytes(body, rules);
    let nonce = nonce.unwrap_or_else(|| fresh_nonce(rules));
    if nonce.len() != NONCE_LENGTH {
        return Err(Code::InvalidMessage);
    }
    // 8.5.1: the static key of the sender, and no epk.
    let ephemeral = rules.fault.is("box-ephemeral-sender").then(faults::new_private_key);
    let private = ephemeral.unwrap_or(mine);
    // 4.1: what is encrypted is the deterministic encoding.
    let plaintext = if rules.fault.is("box-body-indefinite") { faults::without_length(plaintext) } else { plaintext };
    let input = sig_input(&headers, None, &plaintext, rules);
    let sig = signature::sign(sender, &input);
    let ciphertext = seal::seal(&private, &theirs, &nonce, &plaintext, rules).map_err(|_| Code::Unauthorized)?;
    let content = Content::Sealed { nonce: nonce.clone(), ciphertext: ciphertext.clone() };
    let message = Message { headers, content, sig, ext: None, unknown: Vec::new(), form: cbor::Form::default() };
    let mut bytes = envelope::encode(&message, rules);
    bytes = faults::with_public_key_of(bytes, ephemeral);
    Ok(Built { message: bytes, sig_input: input, plaintext, sealed: Some((nonce, ciphertext)) })
}

/// 8.5.1: a nonce is used once.
fn fresh_nonce(rules: Rules) -> Vec<u8> {
    let mut nonce = vec![0x42; NONCE_LENGTH];
    if !rules.fault.is("box-constant-nonce") {
        message_id::random_bytes(&mut nonce);
    }
    nonce
}
