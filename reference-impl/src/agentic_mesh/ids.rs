//! Identifiers of messages that this node originates (section 2.1: globally unique).

use rand_core::{OsRng, TryRngCore};

/// Fills `bytes` from the secure generator of the system. Without it no id is unique and no ciphertext safe, so its failure
/// ends the program.
pub(crate) fn random_bytes(bytes: &mut [u8]) {
    OsRng.try_fill_bytes(bytes).unwrap_or_else(|error| panic!("no secure randomness: {error}"));
}

/// A new identifier in the form of a random UUID (RFC 9562, version 4).
#[must_use]
pub(crate) fn fresh() -> String {
    let mut bytes = [0; 16];
    random_bytes(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
