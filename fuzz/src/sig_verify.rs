//! A signed message verifies; after a mutation it does so only if the signed content is unchanged.
//!
//! The input is choices: a message, how it is written, and one mutation of its members, its signature or its bytes.

use arbitrary::{Result, Unstructured};
use proofmark::protocol::amp_core::{sig_input, sign};
use proofmark::value::Value;
use proofmark::wire::cbor::{self, write_styled};
use serde_json::json;

use crate::letter::{self, Received};
use crate::{generate, reference};

/// Checks one input.
///
/// # Panics
///
/// If a well-formed message does not verify, in the harness or the reference; if the two compute different signed
/// bytes; or if a mutated message verifies although the signed content, or the signature, has changed.
pub fn run(data: &[u8]) {
    // A stream that ends early gives no message.
    let _ = look(&mut Unstructured::new(data));
}

fn look(u: &mut Unstructured<'_>) -> Result<()> {
    let (envelope, sender) = letter::plain(u)?;
    let bytes = write_styled(&envelope, generate::style(u)?);
    assert!(letter::verifies(&bytes), "the harness does not verify {envelope:?}");
    let received = Received::of(&bytes);
    assert!(received.verified(), "the reference refuses {envelope:?}: {received:?}");
    let input = sig_input::of_plain(&envelope);
    let theirs = reference::amp("sig_input", &json!({ "message": reference::hex(&bytes) }));
    assert_eq!(reference::bytes(&theirs, "sig_input"), input, "{envelope:?}");
    let signature = signature(&envelope).expect("it was signed");
    assert_eq!(sign::flaws(&sender.public_key(), &input, &signature), [], "{envelope:?}");

    let mutated = mutated(u, &envelope, &bytes)?;
    let same = cbor::parse(&mutated).is_ok_and(|other| {
        letter::signed(&other) == letter::signed(&envelope) && self::signature(&other).as_ref() == Some(&signature)
    });
    let shown = || format!("{envelope:?} as {}", reference::hex(&mutated));
    assert_eq!(letter::verifies(&mutated), same, "the harness: {}", shown());
    let received = Received::of(&mutated);
    assert!(same || !received.verified(), "the reference takes {}: {received:?}", shown());
    assert!(!same || received.stage() != "signature", "the reference refuses {}: {received:?}", shown());
    Ok(())
}

fn signature(envelope: &Value) -> Option<Vec<u8>> {
    match envelope.member("sig") {
        Some(Value::Bytes(bytes)) => Some(bytes.clone()),
        _ => None,
    }
}

/// The message after one mutation, as bytes.
fn mutated(u: &mut Unstructured<'_>, envelope: &Value, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut other = envelope.clone();
    let Value::Map(members) = &mut other else { return Ok(bytes.to_vec()) };
    match u.int_in_range(0..=6)? {
        0 => {
            let mut bytes = bytes.to_vec();
            let at = u.choose_index(bytes.len() * 8)?;
            bytes[at / 8] ^= 1 << (at % 8);
            return Ok(bytes);
        }
        1 => {
            let at = u.choose_index(members.len())?;
            members.remove(at);
        }
        2 => {
            let at = u.choose_index(members.len())?;
            members.make_mut()[at].1 = generate::cbor(u)?;
        }
        3 => {
            let at = u.choose_index(members.len())?;
            members.make_mut()[at].1 = changed(u, &members[at].1)?;
        }
        4 => {
            let name = *u.choose(&["reply_to", "thread_id", "enc", "ext", "x-other", "body", "id"])?;
            members.push((Value::text(name), generate::cbor(u)?));
        }
        5 => {
            let signature: [u8; 64] = signature(&other).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; 64]);
            let malleated = sign::malleate(&signature).expect("S is below the order");
            other.set_member("sig", Value::Bytes(malleated.to_vec()));
        }
        // No mutation: only another encoding.
        _ => {}
    }
    Ok(write_styled(&other, generate::style(u)?))
}

/// Nearly the same value: a change that a careless Sig_Input does not cover.
fn changed(u: &mut Unstructured<'_>, value: &Value) -> Result<Value> {
    Ok(match value {
        Value::Integer(integer) => Value::Integer(integer ^ (1 << u.int_in_range(0..=63)?)),
        Value::Bytes(bytes) if !bytes.is_empty() => {
            let mut bytes = bytes.clone();
            let at = u.choose_index(bytes.len() * 8)?;
            bytes[at / 8] ^= 1 << (at % 8);
            Value::Bytes(bytes)
        }
        Value::Text(text) => match u.int_in_range(0..=2)? {
            0 => Value::Array(vec![value.clone()].into()),
            1 => Value::text(format!("{text}#key-1")),
            _ => Value::Bytes(text.as_bytes().to_vec()),
        },
        Value::Array(items) if items.len() == 1 => items[0].clone(),
        Value::Array(items) => Value::Array(items.iter().rev().cloned().collect()),
        Value::Map(members) if !members.is_empty() => Value::Map(members[1..].to_vec().into()),
        Value::Null => Value::Array(Vec::new().into()),
        _ => Value::Null,
    })
}
