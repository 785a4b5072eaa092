//! The keyed hash of signatures and tokens, and what configures signatures.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::canonical::Recipe;

/// The only algorithm (7.2).
pub(crate) const ALGORITHM: &str = "HMAC-SHA256";

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Base64,
    Hex,
}

/// How messages are signed.
#[derive(Debug, Clone)]
pub(crate) struct Signing {
    pub(crate) key: Vec<u8>,
    pub(crate) recipe: Recipe,
    pub(crate) encoding: Encoding,
    /// Whether unsigned messages are refused (E72).
    pub(crate) required: bool,
}

/// A keyed hash that has taken some bytes.
#[must_use]
pub(crate) fn keyed(key: &[u8], bytes: &[u8]) -> Hmac<Sha256> {
    // HMAC takes keys of any length, so that this never fails.
    let mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
    mac.chain_update(bytes)
}
