//! Functions of templates that only AMP has.

use super::identity::Identity;
use super::{fixtures, message, message_id, party, receipt, sign};
use crate::template::{Arguments, Function, RenderError};
use crate::value::Value;
use crate::wire::cbor;

fn named(arguments: &Arguments<'_>) -> Result<Identity, RenderError> {
    named_at(arguments, 0)
}

fn named_at(arguments: &Arguments<'_>, index: usize) -> Result<Identity, RenderError> {
    let name = arguments.word(index).ok_or_else(|| RenderError::new("missing argument: the name of an identity"))?;
    // As everything that is signed or sealed has it: `from` and the keys belong to the same identity.
    Ok(identity(name, arguments.binding("identity_base").and_then(Value::as_text)))
}

fn identity(name: &str, base: Option<&str>) -> Identity {
    let name = if name == "a" { "alice" } else { name };
    party::fixture(name).unwrap_or_else(|| party::at_base(name, base))
}

/// Every function.
pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "did",
        summary: "The DID of an identity that proofmark uses; any name is valid.",
        example: "${did alice}",
        call: |a| Ok(Value::text(named(a)?.did())),
    },
    Function {
        name: "other_case_at_end",
        summary: "A text whose last letter has the other case.",
        example: "${other_case_at_end $target}",
        call: |a| {
            let text = a.word(0).ok_or_else(|| RenderError::new("missing argument: a text"))?;
            let mut bytes = text.as_bytes().to_vec();
            if let Some(letter) = bytes.iter_mut().rfind(|byte| byte.is_ascii_alphabetic()) {
                *letter ^= 0x20;
            }
            Ok(Value::text(String::from_utf8_lossy(&bytes).into_owned()))
        },
    },
    Function {
        name: "key_id",
        summary: "The id of the method that an identity signs with.",
        example: "${key_id alice}",
        call: |a| Ok(Value::text(named(a)?.signing_method())),
    },
    Function {
        name: "public_key",
        summary: "The Ed25519 public key of an identity.",
        example: "${public_key alice}",
        call: |a| Ok(Value::Bytes(named(a)?.public_key().to_vec())),
    },
    Function {
        name: "agreement_key",
        summary: "The X25519 public key of an identity.",
        example: "${agreement_key alice}",
        call: |a| Ok(Value::Bytes(named(a)?.agreement_public().to_vec())),
    },
    Function {
        name: "keys",
        summary: "The keys of an identity, in the form that adapters receive.",
        example: "${keys alice}",
        call: |a| Ok(party::keys(&named(a)?)),
    },
    Function {
        name: "document",
        summary: "The DID document of an identity.",
        example: "${document twokeys}",
        call: |a| {
            let identity = named(a)?;
            let fixture = fixtures::all().into_iter().find(|fixture| fixture.did == identity.did());
            Ok(fixture.map_or_else(|| identity.document(None), |fixture| fixture.document))
        },
    },
    Function {
        name: "documents",
        summary: "The DID documents of all identities that have one, by DID, as targets are given them before a run.",
        example: "${documents}",
        call: |_| Ok(fixtures::preload(std::iter::empty())),
    },
    Function {
        name: "message_id",
        summary: "A message id (section 4.2): a time in milliseconds, and eight random bytes or the second argument.",
        example: "${message_id $ts}",
        call: |a| {
            let ts = u64::try_from(a.integer(0)?).map_err(|_| RenderError::new("the time is out of range"))?;
            let tail = if a.word(1).is_some() { a.bytes(1)? } else { a.random_bytes(8) };
            let tail = tail.try_into().map_err(|_| RenderError::new("the tail of an id has eight bytes"))?;
            Ok(Value::Bytes(message_id::new(ts, tail).to_vec()))
        },
    },
    Function {
        name: "signed",
        summary: "The bytes of a message signed by an identity, such as an item of a BATCH (section 4.5).",
        example: "${signed $message alice}",
        call: |a| {
            let mut message = a.value(0).cloned().ok_or_else(|| RenderError::new("a message is missing"))?;
            if message.as_map().is_none() {
                return Err(RenderError::new("a message is a map"));
            }
            message::sign_plain(&mut message, &named_at(a, 1)?);
            Ok(Value::Bytes(cbor::write(&message)))
        },
    },
    Function {
        name: "padded",
        summary: "A message whose body pads it to this many bytes once it is signed, plus the optional third argument.",
        example: "${padded $message 1000}",
        call: |a| {
            let message = a.value(0).filter(|value| value.as_map().is_some()).cloned();
            let message = message.ok_or_else(|| RenderError::new("a message is missing"))?;
            let more = if a.word(2).is_some() { a.integer(2)? } else { 0 };
            let size = usize::try_from(a.integer(1)? + more).unwrap_or(0);
            padded(message, size)
        },
    },
    Function {
        name: "cose_sign1",
        summary: "A COSE_Sign1 structure (RFC 9052 section 4.2) over the deterministic encoding of a value, by an identity.",
        example: "${cose_sign1 $receipt relay}",
        call: |a| {
            let payload = cbor::write(a.value(0).ok_or_else(|| RenderError::new("a value is missing"))?);
            Ok(receipt::write(payload, &named_at(a, 1)?))
        },
    },
    Function {
        name: "malleated",
        summary: "An Ed25519 signature with the group order added to S, once or as many times as given (RFC 8032 section 5.1.7).",
        example: "${malleated $sig 2}",
        call: |a| {
            let times = if a.word(1).is_some() { a.integer(1)? } else { 1 };
            let mut signature: [u8; 64] =
                a.bytes(0)?.try_into().map_err(|_| RenderError::new("a signature has 64 bytes"))?;
            for _ in 0..times {
                signature = sign::malleate(&signature).ok_or_else(|| RenderError::new("S does not fit any more"))?;
            }
            Ok(Value::Bytes(signature.to_vec()))
        },
    },
    Function {
        name: "decoded",
        summary: "The value of an item of CBOR.",
        example: "${decoded a10102}",
        call: |a| {
            let bytes = a.bytes(0)?;
            cbor::parse(&bytes).map_err(|error| RenderError::new(format!("no item of CBOR: {error}")))
        },
    },
    Function {
        name: "cbor",
        summary: "The deterministic encoding of a value.",
        example: "${cbor $body}",
        call: |a| {
            let value = a.value(0).ok_or_else(|| RenderError::new("a value is missing"))?;
            Ok(Value::Bytes(cbor::write(value)))
        },
    },
];

/// A message whose body pads it to `size` bytes.
fn padded(mut message: Value, size: usize) -> Result<Value, RenderError> {
    let mut fill = size;
    // The lengths of the padding and of its head depend on each other; a few rounds converge.
    for _ in 0..8 {
        message.set_member("body", Value::map([("pad", Value::Bytes(vec![0x70; fill]))]));
        message.set_member("sig", Value::Bytes(vec![0; 64]));
        let now = cbor::write(&message).len();
        if now == size {
            if let Value::Map(members) = &mut message {
                members.retain(|(key, _)| key.as_text() != Some("sig"));
            }
            return Ok(message);
        }
        fill = (fill + size).checked_sub(now).ok_or_else(|| RenderError::new("the message is longer than that"))?;
    }
    Err(RenderError::new("no padding makes the message so long"))
}
