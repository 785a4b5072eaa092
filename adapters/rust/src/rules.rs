//! The library: rules of RFC 001 and RFC 002 that need no state.

use curve25519_dalek::MontgomeryPoint;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha512};

/// Message types by code (RFC 001 section 4.3).
pub const TYPES: &[(i128, &str)] = &[
    (0x01, "PING"),
    (0x02, "PONG"),
    (0x03, "ACK"),
    (0x04, "PROC_OK"),
    (0x05, "PROC_FAIL"),
    (0x06, "CONTACT_REQUEST"),
    (0x07, "CONTACT_RESPONSE"),
    (0x08, "CONTACT_REVOKE"),
    (0x09, "PROCESSING"),
    (0x0a, "PROGRESS"),
    (0x0b, "INPUT_REQUIRED"),
    (0x0f, "ERROR"),
    (0x10, "MESSAGE"),
    (0x11, "REQUEST"),
    (0x12, "RESPONSE"),
    (0x13, "STREAM_START"),
    (0x14, "STREAM_DATA"),
    (0x15, "STREAM_END"),
    (0x16, "BATCH"),
    (0x20, "CAP_QUERY"),
    (0x21, "CAP_DECLARE"),
    (0x22, "CAP_INVOKE"),
    (0x23, "CAP_RESULT"),
    (0x30, "DOC_SEND"),
    (0x31, "DOC_REQUEST"),
    (0x40, "CRED_ISSUE"),
    (0x41, "CRED_REQUEST"),
    (0x42, "CRED_PRESENT"),
    (0x43, "CRED_VERIFY"),
    (0x50, "DELEG_GRANT"),
    (0x51, "DELEG_REVOKE"),
    (0x52, "DELEG_QUERY"),
    (0x60, "PRESENCE"),
    (0x61, "PRESENCE_QUERY"),
    (0x62, "PRESENCE_SUB"),
    (0x63, "PRESENCE_UNSUB"),
    (0x70, "HELLO"),
    (0x71, "HELLO_ACK"),
    (0x72, "HELLO_REJECT"),
    (0xf0, "EXTENSION"),
];

/// Invalid message (RFC 001 section 15.3).
pub const INVALID_MESSAGE: i64 = 1001;

/// The error codes after which a message is sent again (RFC 001 section 15.3).
pub const RETRIED: &[i128] = &[2001, 2002, 2003, 3005, 5001, 5002, 5003, 5004];

/// The largest payload of a frame if no other limit is given (RFC 002 section 3.2).
pub const MAX_PAYLOAD: usize = 16 << 20;

pub fn public_key(seed: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(seed).verifying_key().to_bytes()
}

pub fn sign(seed: &[u8; 32], data: &[u8]) -> [u8; 64] {
    SigningKey::from_bytes(seed).sign(data).to_bytes()
}

/// Whether a signature is valid, by the strict rules that refuse keys of small order.
pub fn verify(key: &[u8; 32], data: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify_strict(data, &signature).is_ok())
}

/// The X25519 public key of a private key (RFC 7748).
pub fn x25519_public(private: [u8; 32]) -> [u8; 32] {
    MontgomeryPoint::mul_base_clamped(private).to_bytes()
}

/// The X25519 private key that belongs to an Ed25519 seed: the first half of its SHA-512, clamped.
pub fn x25519_private(seed: &[u8; 32]) -> [u8; 32] {
    let mut key = [0; 32];
    key.copy_from_slice(&Sha512::digest(seed)[..32]);
    key[0] &= 248;
    key[31] &= 127;
    key[31] |= 64;
    key
}

/// A message id: eight bytes of time and eight random bytes (section 4.2).
pub fn message_id(ts: u64, random: [u8; 8]) -> Vec<u8> {
    [ts.to_be_bytes(), random].concat()
}

/// The numbers of a version with two or three parts (section 13.1), without a label of a pre-release or build.
pub fn version(text: &str) -> Option<Vec<u64>> {
    let plain = text.split(['-', '+']).next()?;
    let number = |part: &str| {
        let canonical = part == "0" || !part.starts_with('0');
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits && canonical { part.parse().ok() } else { None }
    };
    let parts: Vec<u64> = plain.split('.').map(number).collect::<Option<_>>()?;
    let labelled = plain.len() < text.len();
    (parts.len() == 3 || parts.len() == 2 && !labelled).then_some(parts)
}

/// The highest of the offered versions that is supported, or else of a supported major (section 13.5).
pub fn select<'v>(supported: &[&str], offered: &[&'v str]) -> Option<&'v str> {
    let padded = |text: &str| {
        let mut parts = version(text)?;
        parts.resize(3, 0);
        Some(parts)
    };
    let known: Vec<_> = supported.iter().filter_map(|text| padded(text)).collect();
    let rank = |text: &&&str| {
        let parts = padded(text)?;
        let major = known.iter().any(|own| own[0] == parts[0]);
        major.then(|| (known.contains(&parts), parts))
    };
    offered.iter().filter(|text| rank(text).is_some()).max_by_key(rank).copied()
}

/// Milliseconds before retry number `attempt`, which counts from 1 (section 16.3).
pub fn retry_delay(attempt: u32, jitter: f64) -> u64 {
    let base = 1_000_u64.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(60_000);
    (base as f64 * (0.5 + jitter.clamp(0.0, 0.5))) as u64
}

/// A frame: the length of type and payload in four bytes, the type, the payload (RFC 002 section 4.2).
pub fn frame(kind: u8, payload: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(payload.len() + 1).ok()?;
    Some([&length.to_be_bytes()[..], &[kind], payload].concat())
}

/// The complete frames at the beginning of `data`, and the rest; `None` if a frame is invalid or its payload too large.
pub fn frames(mut data: &[u8], max_payload: usize) -> Option<(Vec<(u8, &[u8])>, &[u8])> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = data.split_at_checked(4) {
        let length = u32::from_be_bytes(head.try_into().ok()?) as usize;
        if length == 0 || length - 1 > max_payload {
            return None;
        }
        let Some((body, after)) = rest.split_at_checked(length) else { break };
        frames.push((body[0], &body[1..]));
        data = after;
    }
    Some((frames, data))
}
