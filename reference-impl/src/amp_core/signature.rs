//! Ed25519 (3.2; RFC 8032, 5.1), strictly (E63).

use ed25519_dalek::{Signature, Signer, Verifier, VerifyingKey};

use super::keys::Identity;
use super::remembered::Remembered;
use super::rules::Rules;
use crate::fault::planted;

/// Signs `data`.
#[must_use]
pub(crate) fn sign(identity: &Identity, data: &[u8]) -> Vec<u8> {
    identity.signing.sign(data).to_bytes().to_vec()
}

/// Whether `sig` is a signature of `data` by the owner of `public_key`.
///
/// A signature is invalid if its S is not below the group order, if its key has small order, or if its R is
/// not canonically encoded.
#[must_use]
pub(crate) fn verify(public_key: &[u8; 32], data: &[u8], sig: &[u8], rules: Rules) -> bool {
    let Ok(mut bytes) = <[u8; 64]>::try_from(sig) else {
        return false;
    };
    // 8.1, E63: S + L is another signature of the same message.
    planted!(rules.fault, "sig-accepts-malleated", reduce(&mut bytes));
    static KEYS: Remembered<[u8; 32], VerifyingKey> = Remembered::new();
    let Some(key) = KEYS.try_get(*public_key, |bytes| VerifyingKey::from_bytes(bytes).ok()) else {
        return false;
    };
    let signature = Signature::from_bytes(&bytes);
    // E63: a key of small order belongs to everybody.
    if rules.fault.is("sig-accepts-small-order") || rules.is_other() {
        return key.verify(data, &signature).is_ok(); // Other, E63
    }
    key.verify_strict(data, &signature).is_ok()
}

/// The order of the group (RFC 8032, 5.1), little-endian.
const L: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Subtracts the group order from S until S is below it.
fn reduce(signature: &mut [u8; 64]) {
    while signature[32..].iter().rev().ge(L.iter().rev()) {
        let mut borrow = false;
        for (digit, order) in signature[32..].iter_mut().zip(L) {
            let (difference, below) = digit.overflowing_sub(order);
            let (difference, below_again) = difference.overflowing_sub(u8::from(borrow));
            (*digit, borrow) = (difference, below || below_again);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_one_form() {
        let alice = Identity::of_seed([1; 32]);
        let sig = sign(&alice, b"data");
        let verify = |data: &[u8], sig: &[u8]| verify(&alice.public_key(), data, sig, Rules::PLAIN);
        assert!(verify(b"data", &sig) && !verify(b"date", &sig));
        assert!(!verify(b"data", &sig[..63]) && !verify(b"data", &[&sig[..], &[0]].concat()) && !verify(b"data", &[]));
        let mut malleated: [u8; 64] = sig.clone().try_into().expect("64 bytes");
        let mut carry = 0;
        for (digit, order) in malleated[32..].iter_mut().zip(L) {
            let sum = u16::from(*digit) + u16::from(order) + carry;
            (*digit, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
        assert!(!verify(b"data", &malleated));
        reduce(&mut malleated);
        assert_eq!(malleated[..], sig[..]);
    }

    #[test]
    fn a_key_of_small_order_never_verifies() {
        let mut neutral = [0; 32];
        neutral[0] = 1;
        let sig = [&neutral[..], &[0; 32]].concat();
        assert!(!verify(&neutral, b"anything", &sig, Rules::PLAIN));
    }
}
