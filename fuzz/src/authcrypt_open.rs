//! Boxes: a valid box decrypts with the right keys, and no other does, in the harness and in the reference.
//!
//! The input is choices: two keys, a nonce and a plaintext, one change of the inputs of decryption, and the message
//! that carries it.

use arbitrary::{Result, Unstructured};
use proofmark::protocol::amp_core::identity::Identity;
use proofmark::protocol::amp_core::{message, seal};
use proofmark::value::Value;
use proofmark::wire::cbor::{self, write_styled};
use serde_json::json;

use crate::letter::{self, Received};
use crate::{generate, reference, sample};

/// Of so many inputs one gives messages too, which take three times as long as the boxes.
const MESSAGES: u64 = 8;

/// Checks one input.
///
/// # Panics
///
/// If a box does not decrypt to its plaintext; if it decrypts with another key, nonce or ciphertext; if the reference
/// disagrees; or if a well-formed encrypted message is refused, or one with a changed box accepted.
pub fn run(data: &[u8]) {
    // A stream that ends early gives no box.
    let mut u = Unstructured::new(data);
    let opened = boxes(&mut u);
    if sample::has(data, MESSAGES) {
        let _ = opened.and_then(|()| messages(&mut u));
    }
}

/// The inputs of decryption.
#[derive(Clone, Debug, PartialEq)]
struct Closed {
    private: [u8; 32],
    public: [u8; 32],
    nonce: Vec<u8>,
    ciphertext: Vec<u8>,
}

impl Closed {
    fn open(&self) -> Option<Vec<u8>> {
        let opened = seal::open(&self.private, &self.public, &self.nonce, &self.ciphertext).ok();
        // A key of low order makes the same box with every party: the harness decrypts such boxes to report them, the
        // reference never does (erratum E64).
        let refused = seal::is_low_order(&self.public);
        assert_eq!(self.theirs(), opened.clone().filter(|_| !refused), "{self:?}");
        opened
    }

    fn theirs(&self) -> Option<Vec<u8>> {
        let hex = reference::hex;
        let result = reference::amp(
            "box_open",
            &json!({
                "private_key": hex(&self.private), "public_key": hex(&self.public),
                "nonce": hex(&self.nonce), "ciphertext": hex(&self.ciphertext),
            }),
        );
        result.get("plaintext").map(|_| reference::bytes(&result, "plaintext"))
    }

    /// The same with every key in its canonical form: X25519 clamps private keys and drops the top bit of public ones
    /// (RFC 7748 section 5).
    fn plainly(mut self) -> Self {
        self.private[0] &= 0xf8;
        self.private[31] = self.private[31] & 0x3f | 0x40;
        self.public[31] &= 0x7f;
        self
    }
}

fn boxes(u: &mut Unstructured<'_>) -> Result<()> {
    let (sender, recipient): ([u8; 32], [u8; 32]) = (u.arbitrary()?, u.arbitrary()?);
    let nonce: [u8; 24] = u.arbitrary()?;
    let length = u.int_in_range(0..=300)?;
    let plaintext = u.bytes(length.min(u.len()))?.to_vec();
    let ciphertext = seal::seal(&sender, &seal::public_key(&recipient), &nonce, &plaintext);
    let closed = Closed { private: recipient, public: seal::public_key(&sender), nonce: nonce.to_vec(), ciphertext };
    assert_eq!(closed.open().as_deref(), Some(&plaintext[..]), "{closed:?}");

    let mut other = closed.clone();
    match u.int_in_range(0..=6)? {
        0 => flip(u, &mut other.private)?,
        1 => flip(u, &mut other.public)?,
        2 => flip(u, &mut other.nonce)?,
        3 => flip(u, &mut other.ciphertext)?,
        4 => other.ciphertext.truncate(u.choose_index(closed.ciphertext.len())?),
        5 => other.nonce.resize(u.int_in_range(0..=48)?, 0),
        _ => other.ciphertext.push(u.arbitrary()?),
    }
    let same = other.clone().plainly() == closed.clone().plainly();
    assert_eq!(other.open().is_some(), same, "{other:?} in place of {closed:?}");
    Ok(())
}

fn flip(u: &mut Unstructured<'_>, bytes: &mut [u8]) -> Result<()> {
    let at = u.choose_index(bytes.len() * 8)?;
    bytes[at / 8] ^= 1 << (at % 8);
    Ok(())
}

fn messages(u: &mut Unstructured<'_>) -> Result<()> {
    let (mut envelope, sender) = letter::unsigned(u)?;
    let recipient = letter::recipient();
    let plaintext = cbor::write(envelope.member("body").expect("a message has a body"));
    message::encrypt_and_sign(&mut envelope, &sender, &recipient.agreement_public(), &u.arbitrary()?);
    let opened = message::open(&envelope, recipient.agreement_private(), &[sender.agreement_public()]);
    assert_eq!(opened, Ok((seal::Variant::Right, plaintext.clone())), "{envelope:?}");
    let received = Received::of(&write_styled(&envelope, generate::style(u)?));
    assert!(received.verified(), "the reference refuses {envelope:?}: {received:?}");
    assert!(received.body().is_none_or(|body| body == plaintext), "{envelope:?}: {received:?}");

    let mut enc = envelope.member("enc").expect("it was encrypted").clone();
    match u.int_in_range(0..=3)? {
        // Encrypted again by another sender, or for another recipient.
        0 => enc = sealed(&plaintext, &Identity::named("relay"), &recipient),
        1 => enc = sealed(&plaintext, &sender, &Identity::named("relay")),
        2 => damage(u, &mut enc, "ciphertext")?,
        _ => damage(u, &mut enc, "nonce")?,
    }
    envelope.set_member("enc", enc);
    let opened = message::open(&envelope, recipient.agreement_private(), &[sender.agreement_public()]);
    // It may detect and report that a nonce of zeros was used instead of the damaged one.
    let right = matches!(opened, Ok((seal::Variant::Right, _)));
    assert!(!right, "the harness opens {envelope:?}");
    let received = Received::of(&cbor::write(&envelope));
    assert_eq!(received.stage(), "decryption", "{envelope:?}: {received:?}");
    Ok(())
}

fn sealed(plaintext: &[u8], sender: &Identity, recipient: &Identity) -> Value {
    message::enc(plaintext, sender.agreement_private(), &recipient.agreement_public(), &[7; 24])
}

fn damage(u: &mut Unstructured<'_>, enc: &mut Value, name: &str) -> Result<()> {
    let Some(Value::Bytes(mut bytes)) = enc.member(name).cloned() else { return Ok(()) };
    flip(u, &mut bytes)?;
    enc.set_member(name, Value::Bytes(bytes));
    Ok(())
}
