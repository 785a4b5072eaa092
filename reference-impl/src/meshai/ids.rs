//! Fresh identifiers: random UUIDs (RFC 9562, version 4).

use rand_core::{OsRng, TryRngCore};

/// A new identifier.
///
/// # Panics
///
/// If the machine has no randomness: identifiers would repeat (E09).
#[must_use]
pub(crate) fn fresh() -> String {
    let mut bytes = [0; 16];
    OsRng.try_fill_bytes(&mut bytes).unwrap_or_else(|error| panic!("no secure randomness: {error}"));
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
