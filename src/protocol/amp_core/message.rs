//! Making and opening messages: signature and `enc` (RFC 001 sections 8.1, 8.5.1 and 8.6).

use super::identity::Identity;
use super::{seal, sig_input};
use crate::value::Value;
use crate::wire::cbor;

/// `enc.alg`.
pub const ALGORITHM: &str = "X25519-XSalsa20-Poly1305";
/// `enc.mode`.
pub const MODE: &str = "authcrypt";

/// Signs an envelope whose body is not encrypted, over all headers present, and sets `sig`. Returns the Sig_Input.
pub fn sign_plain(envelope: &mut Value, sender: &Identity) -> Vec<u8> {
    let input = sig_input::of_plain(envelope);
    envelope.set_member("sig", Value::Bytes(sender.sign(&input).to_vec()));
    input
}

/// Signs an envelope over these body bytes, and sets `sig`. Gives the Sig_Input.
pub fn sign_over(envelope: &mut Value, body: &[u8], sender: &Identity) -> Vec<u8> {
    let input = sig_input::encode(envelope, body);
    envelope.set_member("sig", Value::Bytes(sender.sign(&input).to_vec()));
    input
}

/// The `enc` map for body bytes.
pub fn enc(body: &[u8], sender_private: &[u8; 32], recipient_public: &[u8; 32], nonce: &[u8; 24]) -> Value {
    Value::map([
        ("alg", Value::text(ALGORITHM)),
        ("mode", Value::text(MODE)),
        ("nonce", Value::Bytes(nonce.to_vec())),
        ("ciphertext", Value::Bytes(seal::seal(sender_private, recipient_public, nonce, body))),
    ])
}

/// Replaces `body` by `enc`, signs over the plaintext, and sets `sig`. Gives the Sig_Input.
pub fn encrypt_and_sign(
    envelope: &mut Value,
    sender: &Identity,
    recipient_public: &[u8; 32],
    nonce: &[u8; 24],
) -> Vec<u8> {
    let body = cbor::write(envelope.member("body").unwrap_or(&Value::Null));
    if let Value::Map(members) = envelope {
        members.retain(|(key, _)| key.as_text() != Some("body"));
    }
    envelope.set_member("enc", enc(&body, sender.agreement_private(), recipient_public, nonce));
    sign_over(envelope, &body, sender)
}

/// Why the `enc` of a message does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// `enc` is missing.
    #[error("the message has no enc")]
    NoEnc,
    /// A member is missing or of a wrong type or value.
    #[error("enc.{0} is missing or invalid")]
    Member(&'static str),
    /// The box does not open.
    #[error(transparent)]
    Box(#[from] seal::BoxError),
}

/// Opens the `enc` of a message: with any of the sender's keys in the order given, under the recipient's private key.
/// Reports the construction if only a wrong one opens it.
///
/// # Errors
///
/// [`OpenError`] of the last key if no key opens it.
pub fn open(
    envelope: &Value,
    recipient_private: &[u8; 32],
    sender_keys: &[[u8; 32]],
) -> Result<(seal::Variant, Vec<u8>), OpenError> {
    let enc = envelope.member("enc").ok_or(OpenError::NoEnc)?;
    for (name, wanted) in [("alg", ALGORITHM), ("mode", MODE)] {
        if enc.member(name).and_then(Value::as_text) != Some(wanted) {
            return Err(OpenError::Member(name));
        }
    }
    let bytes = |name| match enc.member(name) {
        Some(Value::Bytes(bytes)) => Ok(bytes.as_slice()),
        _ => Err(OpenError::Member(name)),
    };
    let (nonce, ciphertext) = (bytes("nonce")?, bytes("ciphertext")?);
    let mut last = OpenError::Box(seal::BoxError::Tag);
    for key in sender_keys {
        match seal::open_any(recipient_private, key, nonce, ciphertext) {
            Ok(opened) => return Ok(opened),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}
