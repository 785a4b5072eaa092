//! Ed25519 (RFC 8032): keys, signatures, and the defects of an invalid one.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha512};

use super::memo::Memo;

/// Bytes of a signature.
pub const SIGNATURE_LENGTH: usize = 64;

/// The order L of the base point, 2^252 + 27742317777372353535851937790883648493, little-endian.
pub const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Why a signature does not verify, or verifies only by plain rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// Not 64 bytes.
    #[error("the signature has {0} bytes, not 64")]
    Length(usize),
    /// The public key is not a point on the curve.
    #[error("the public key is not a point on the curve")]
    NoKey,
    /// The public key has small order, so that one signature may fit every message.
    #[error("the public key has small order")]
    SmallOrderKey,
    /// The public key is not in its only proper encoding.
    #[error("the public key is not encoded canonically")]
    NonCanonicalKey,
    /// S is not below the group order: a signature that somebody changed without the key (RFC 8032 section 5.1.7).
    #[error("S is not below the group order")]
    ScalarTooLarge,
    /// R is not a point on the curve.
    #[error("R is not a point on the curve")]
    NoPoint,
    /// R has small order.
    #[error("R has small order")]
    SmallOrderPoint,
    /// R is not in its only proper encoding.
    #[error("R is not encoded canonically")]
    NonCanonicalPoint,
    /// All of it is well-formed, but it is over other bytes or by another key.
    #[error("the signature is well-formed, but over other bytes or by another key")]
    Mismatch,
}

/// The public key of a seed (the 32-byte private key of RFC 8032).
pub fn public_key(seed: &[u8; 32]) -> [u8; 32] {
    signing_key(seed).verifying_key().to_bytes()
}

/// Signs bytes.
pub fn sign(seed: &[u8; 32], data: &[u8]) -> [u8; 64] {
    signing_key(seed).sign(data).to_bytes()
}

/// The key of a seed. Its public half takes as long to compute as a signature.
fn signing_key(seed: &[u8; 32]) -> SigningKey {
    static KEYS: Memo<[u8; 32], SigningKey> = Memo::new();
    KEYS.get(*seed, || SigningKey::from_bytes(seed))
}

/// Whether a signature verifies by RFC 8032 without cofactor: S in range, any key and R that satisfy the equation.
pub fn verify(public_key: &[u8; 32], data: &[u8], signature: &[u8]) -> bool {
    parts(public_key, signature).is_some_and(|(key, signature)| {
        use ed25519_dalek::Verifier as _;
        key.verify(data, &signature).is_ok()
    })
}

/// As [`verify`], and neither the key nor R has small order.
pub fn verify_strict(public_key: &[u8; 32], data: &[u8], signature: &[u8]) -> bool {
    parts(public_key, signature).is_some_and(|(key, signature)| key.verify_strict(data, &signature).is_ok())
}

fn parts(public_key: &[u8; 32], signature: &[u8]) -> Option<(VerifyingKey, Signature)> {
    // To find the point of a key takes a tenth of the time of verifying with it, and a run sees few keys.
    static KEYS: Memo<[u8; 32], Option<VerifyingKey>> = Memo::new();
    let signature = Signature::from_slice(signature).ok()?;
    Some((KEYS.get(*public_key, || VerifyingKey::from_bytes(public_key).ok())?, signature))
}

/// All defects of a signature; empty if it verifies by the strict rules and all encodings are canonical.
pub fn flaws(public_key: &[u8; 32], data: &[u8], signature: &[u8]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    match VerifyingKey::from_bytes(public_key) {
        Err(_) => flaws.push(Flaw::NoKey),
        Ok(key) if key.is_weak() => flaws.push(Flaw::SmallOrderKey),
        Ok(_) => {}
    }
    if !is_canonical(public_key) {
        flaws.push(Flaw::NonCanonicalKey);
    }
    let Ok(bytes) = <&[u8; 64]>::try_from(signature) else {
        flaws.push(Flaw::Length(signature.len()));
        return flaws;
    };
    let (point, scalar) = bytes.split_at(32);
    if !below(scalar, &ORDER) {
        flaws.push(Flaw::ScalarTooLarge);
    }
    let point: &[u8; 32] = point.try_into().unwrap_or(&[0; 32]);
    match VerifyingKey::from_bytes(point) {
        Err(_) => flaws.push(Flaw::NoPoint),
        Ok(point) if point.is_weak() => flaws.push(Flaw::SmallOrderPoint),
        Ok(_) => {}
    }
    if !is_canonical(point) {
        flaws.push(Flaw::NonCanonicalPoint);
    }
    let malformed = |flaw: &Flaw| matches!(flaw, Flaw::NoKey | Flaw::ScalarTooLarge | Flaw::NoPoint);
    if !flaws.iter().any(malformed) && !verify(public_key, data, signature) {
        flaws.push(Flaw::Mismatch);
    }
    flaws
}

/// Whether a little-endian number is below another.
fn below(left: &[u8], right: &[u8; 32]) -> bool {
    left.iter().rev().lt(right.iter().rev())
}

/// Whether the y coordinate is reduced, and the sign bit clear where x is zero (RFC 8032 section 5.1.3).
fn is_canonical(point: &[u8; 32]) -> bool {
    const PRIME: [u8; 32] = {
        let mut prime = [0xff; 32];
        prime[0] = 0xed;
        prime[31] = 0x7f;
        prime
    };
    let mut y = *point;
    y[31] &= 0x7f;
    let negative = point[31] & 0x80 != 0;
    let mut one = [0; 32];
    one[0] = 1;
    let mut minus_one = PRIME;
    minus_one[0] -= 1;
    below(&y, &PRIME) && !(negative && (y == one || y == minus_one))
}

/// The same signature with S + L instead of S: the equation still holds, but RFC 8032 requires rejection.
///
/// `None` if S + L does not fit 32 bytes, which cannot happen if S is in range.
pub fn malleate(signature: &[u8; 64]) -> Option<[u8; 64]> {
    let mut changed = *signature;
    let mut carry = 0_u16;
    for (byte, add) in changed[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        [*byte, _] = sum.to_le_bytes();
        carry = sum >> 8;
    }
    (carry == 0).then_some(changed)
}

/// The neutral element as a public key: a key of order 1, which anybody can sign for.
pub const NEUTRAL_KEY: [u8; 32] = {
    let mut key = [0; 32];
    key[0] = 1;
    key
};

/// The signature that fits every message under [`NEUTRAL_KEY`] by the plain rules: R is the neutral element, S is 0.
pub const NEUTRAL_SIGNATURE: [u8; 64] = {
    let mut signature = [0; 64];
    signature[0] = 1;
    signature
};

/// The X25519 private key derived from an Ed25519 seed: the clamped first half of its SHA-512.
pub fn agreement_private(seed: &[u8; 32]) -> [u8; 32] {
    let hash = Sha512::digest(seed);
    let mut key = [0; 32];
    key.copy_from_slice(&hash[..32]);
    key[0] &= 0xf8;
    key[31] = key[31] & 0x7f | 0x40;
    key
}

/// The X25519 public key derived from an Ed25519 public key: u = (1 + y) / (1 - y). `None` if it is not a curve point.
pub fn agreement_public(public_key: &[u8; 32]) -> Option<[u8; 32]> {
    VerifyingKey::from_bytes(public_key).ok().map(|key| key.to_montgomery().to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap().try_into().unwrap()
    }

    /// RFC 8032 section 7.1, tests 1 and 2.
    #[test]
    fn the_examples_of_the_standard() {
        let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        assert_eq!(public_key(&seed), hex::<32>("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
        let signature = hex::<64>(
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        );
        assert_eq!(sign(&seed, b""), signature);
        assert!(verify(&public_key(&seed), b"", &signature) && verify_strict(&public_key(&seed), b"", &signature));
        assert_eq!(flaws(&public_key(&seed), b"", &signature), []);
        let seed = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
        assert_eq!(sign(&seed, &[0x72])[..4], hex::<4>("92a009a9"));
    }

    #[test]
    fn flaws_are_named() {
        let (key, other) = (public_key(&[1; 32]), public_key(&[2; 32]));
        let good = sign(&[1; 32], b"data");
        assert_eq!(flaws(&key, b"other", &good), [Flaw::Mismatch]);
        assert_eq!(flaws(&other, b"data", &good), [Flaw::Mismatch]);
        assert_eq!(flaws(&key, b"data", &good[..63]), [Flaw::Length(63)]);
        let long = malleate(&good).unwrap();
        assert_eq!(flaws(&key, b"data", &long), [Flaw::ScalarTooLarge]);
        assert!(!verify(&key, b"data", &long));
        let mut no_point = good;
        no_point[..32].copy_from_slice(&[
            2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
        assert_eq!(flaws(&key, b"data", &no_point), [Flaw::NoPoint]);
        assert_eq!(flaws(&key, b"data", &[0; 64]), [Flaw::SmallOrderPoint, Flaw::Mismatch]);
        // y = 1 + p, and y = 1 with the sign bit: both are the neutral element, badly written.
        for bad in [
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "0100000000000000000000000000000000000000000000000000000000000080",
        ] {
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(&hex::<32>(bad));
            assert!(flaws(&key, b"data", &signature).contains(&Flaw::NonCanonicalPoint), "{bad}");
        }
    }

    #[test]
    fn the_neutral_key_signs_everything_and_strict_refuses_it() {
        for data in [&b""[..], b"a", b"another"] {
            assert!(verify(&NEUTRAL_KEY, data, &NEUTRAL_SIGNATURE));
            assert!(!verify_strict(&NEUTRAL_KEY, data, &NEUTRAL_SIGNATURE));
            assert_eq!(flaws(&NEUTRAL_KEY, data, &NEUTRAL_SIGNATURE), [Flaw::SmallOrderKey, Flaw::SmallOrderPoint]);
        }
    }

    #[test]
    fn adding_the_order_is_carried() {
        let mut signature = [0; 64];
        signature[32..].copy_from_slice(&[0xff; 32]);
        assert_eq!(malleate(&signature), None);
        signature[32..].copy_from_slice(&[0; 32]);
        assert_eq!(malleate(&signature).unwrap()[32..], ORDER);
    }
}
