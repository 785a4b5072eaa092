//! Keys: the identity of a node and the arithmetic that leads from one key to another.

use ed25519_dalek::SigningKey;
use sha2::{Digest, Sha512};

use super::did::{self, PublicKey};

/// A private key for key agreement (8.5).
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AgreementKey {
    /// The id of its method in the document of the owner, absolute.
    pub(crate) id: String,
    /// The scalar, clamped when it is used.
    pub(crate) private: [u8; 32],
}

impl std::fmt::Debug for AgreementKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgreementKey").field("id", &self.id).finish_non_exhaustive() // never the key itself
    }
}

/// A party with its private keys.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// The DID.
    pub(crate) did: String,
    /// What messages are signed with.
    pub(crate) signing: SigningKey,
    /// The decryption keys, the current one first, then the rotated ones (8.9).
    pub(crate) agreement: Vec<AgreementKey>,
}

impl Identity {
    /// The identity of a did:key: its DID is its public key, its X25519 key is derived (binding.md, 6).
    #[must_use]
    pub(crate) fn of_seed(seed: [u8; 32]) -> Self {
        Self::new(did::of_key(&public_key(&seed)), seed, None)
    }

    /// An identity with the given DID. Without a private X25519 key, it is derived from the Ed25519 key.
    #[must_use]
    pub(crate) fn new(did: String, seed: [u8; 32], x25519_private: Option<[u8; 32]>) -> Self {
        let private = x25519_private.unwrap_or_else(|| x25519_private_of(&seed));
        let bare = did::bare(&did);
        let id = match did::key_of(&did) {
            Some(_) => format!("{bare}#{}", PublicKey::X25519(x25519_public(&private)).multibase()),
            None => format!("{bare}#key-agreement"),
        };
        Self { agreement: vec![AgreementKey { id, private }], signing: SigningKey::from_bytes(&seed), did }
    }

    /// The Ed25519 public key.
    #[must_use]
    pub(crate) fn public_key(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }
}

/// The Ed25519 public key of a seed (RFC 8032, 5.1.5).
#[must_use]
pub(crate) fn public_key(seed: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(seed).verifying_key().to_bytes()
}

/// The X25519 public key of a private one (RFC 7748, 5).
#[must_use]
pub(crate) fn x25519_public(private: &[u8; 32]) -> [u8; 32] {
    *crypto_box::SecretKey::from(*private).public_key().as_bytes()
}

/// The private X25519 key that belongs to an Ed25519 seed: the clamped first half of SHA-512 of the seed.
#[must_use]
pub(crate) fn x25519_private_of(seed: &[u8; 32]) -> [u8; 32] {
    let mut private = [0; 32];
    private.copy_from_slice(&Sha512::digest(seed)[..32]);
    private[0] &= 0xf8;
    private[31] = private[31] & 0x7f | 0x40;
    private
}

/// The X25519 public key that belongs to an Ed25519 public key: u = (1 + y) / (1 - y). `None` if it is not a curve
/// point.
#[must_use]
pub(crate) fn x25519_public_of(public_key: &[u8; 32]) -> Option<[u8; 32]> {
    let key = ed25519_dalek::VerifyingKey::from_bytes(public_key).ok()?;
    Some(key.to_montgomery().to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derived_keys_are_those_of_the_binding() {
        let zero = Identity::of_seed([0; 32]);
        assert_eq!(zero.did, "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp");
        assert_eq!(zero.agreement[0].id.rsplit('#').next(), Some("z6LShs9GGnqk85isEBzzshkuVWrVKsRp24GnDuHk8QWkARMW"));
        let public = x25519_public(&zero.agreement[0].private);
        assert_eq!(Some(public), x25519_public_of(&zero.public_key()));
    }
}
