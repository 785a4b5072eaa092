//! Encryption of fields and sections (Security; E39, E40): XSalsa20-Poly1305 under a key that both ends have.
//!
//! The text fixes the marker, the member `encryptedFor` and nothing else, so algorithm and key are this implementation's own.

use crypto_secretbox::aead::{Aead, KeyInit};
use crypto_secretbox::{Key, Nonce, XSalsa20Poly1305};
use data_encoding::BASE64;

use super::message::{MEMORYGRAM, Message};
use super::rules::Rules;
use super::{ids, pointer};
use crate::fault::planted;
use crate::json::{Object, Value};

/// The character at the end of the name of an encrypted field (E39).
pub(crate) const LOCK: char = '\u{1f510}';

/// A ciphertext in the place of a value.
fn sealed(value: &Value, encrypted_for: &str, rules: &Rules) -> Result<Object, String> {
    let mut nonce = [0; 24];
    ids::random_bytes(&mut nonce);
    let cipher = XSalsa20Poly1305::new(Key::from_slice(&rules.key));
    let ciphertext = cipher.encrypt(Nonce::from_slice(&nonce), value.write().as_bytes());
    let ciphertext = ciphertext.map_err(|_| "the value cannot be encrypted")?;
    let mut sealed = Object::from([
        ("encryptedFor", encrypted_for.into()),
        ("alg", "XSalsa20-Poly1305".into()),
        ("nonce", BASE64.encode(&nonce).into()),
        ("ciphertext", BASE64.encode(&ciphertext).into()),
    ]);
    // Security: encryptedFor names the party.
    planted!(rules.fault, "encrypted-for-missing", drop(sealed.remove("encryptedFor")));
    Ok(sealed)
}

/// Security, 1: replaces a member by its encrypted form, whose name ends with [`LOCK`].
///
/// # Errors
///
/// A sentence if the pointer names no member of an object.
pub(crate) fn encrypt_field(message: &mut Message, at: &str, encrypted_for: &str, rules: &Rules) -> Result<(), String> {
    let (parent, name) = pointer::split(at).ok_or("pointer: expected a JSON Pointer to a member")?;
    let parent = pointer::get_mut(&mut message.0, parent).and_then(Value::as_object_mut);
    let parent = parent.ok_or("pointer: there is no such object")?;
    let sealed = sealed(parent.get(&name).ok_or("pointer: there is no such member")?, encrypted_for, rules)?;
    let locked = format!("{name}{LOCK}");
    let replaced = |(known, value): (&str, &Value)| {
        if known == name { (locked.clone(), sealed.clone().into()) } else { (known.to_owned(), value.clone()) }
    };
    let clear = parent.get(&name).cloned();
    *parent = parent.iter().map(replaced).collect();
    planted!(rules.fault, "clear-text-left-beside-cipher", clear in clear => parent.set(&name, clear));
    Ok(())
}

/// Security, 2: encrypts the MemoryGram wholesale. The component stays, and Header says that encryption is in use.
///
/// # Errors
///
/// A sentence if the message has no Header or no MemoryGram.
pub(crate) fn encrypt_section(message: &mut Message, encrypted_for: &str, rules: &Rules) -> Result<(), String> {
    let graph = message.component(MEMORYGRAM).ok_or("the message has no MemoryGram")?;
    let sealed = sealed(graph, encrypted_for, rules)?;
    let header = message.header_mut().ok_or("the message has no Header")?;
    if !matches!(header.get("encryption"), Some(Value::Object(_))) {
        header.set("encryption", Object::from([("type", "BYOE".into())]));
    }
    if let Some(encryption) = header.get_mut("encryption").and_then(Value::as_object_mut) {
        encryption.set("sections", Value::List(vec![MEMORYGRAM.into()]));
    }
    let Some(envelope) = message.envelope_mut() else { return Ok(()) };
    envelope.set(MEMORYGRAM, sealed);
    planted!(rules.fault, "section-encryption-drops-component", drop(envelope.remove(MEMORYGRAM)));
    Ok(())
}
