//! The box of RFC 001 section 8.5.1: X25519, HSalsa20, XSalsa20-Poly1305 with the tag in front (NaCl `crypto_box`).

use std::sync::Arc;

use crypto_box::aead::Aead as _;
use crypto_box::{PublicKey, SalsaBox, SecretKey};

use super::memo::Memo;

/// Bytes of a nonce.
pub const NONCE_LENGTH: usize = 24;
/// Bytes of the Poly1305 tag.
pub const TAG_LENGTH: usize = 16;

/// Why a box does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoxError {
    /// The nonce has another length than 24.
    #[error("a nonce of {0} bytes, not 24")]
    Nonce(usize),
    /// Shorter than a tag.
    #[error("a ciphertext of {0} bytes, shorter than its tag")]
    Short(usize),
    /// The tag does not verify: wrong keys, wrong nonce, or changed bytes.
    #[error("the tag does not verify: wrong keys, wrong nonce or changed bytes")]
    Tag,
}

/// The X25519 public key of a private key.
pub fn public_key(private_key: &[u8; 32]) -> [u8; 32] {
    SecretKey::from_bytes(*private_key).public_key().to_bytes()
}

/// Seals a plaintext: tag, then ciphertext. Keys of low order are accepted, so that tests can send such boxes.
pub fn seal(private_key: &[u8; 32], public_key: &[u8; 32], nonce: &[u8; 24], plaintext: &[u8]) -> Vec<u8> {
    let sealed = cipher(private_key, public_key).encrypt(nonce.into(), plaintext);
    // The only error is a plaintext beyond 2^32 blocks, which no message reaches.
    sealed.unwrap_or_default()
}

/// Opens a box that has its tag in front. Keys of low order are taken: see [`is_low_order`].
///
/// # Errors
///
/// [`BoxError`].
pub fn open(private_key: &[u8; 32], public_key: &[u8; 32], nonce: &[u8], sealed: &[u8]) -> Result<Vec<u8>, BoxError> {
    let nonce: &[u8; 24] = nonce.try_into().map_err(|_| BoxError::Nonce(nonce.len()))?;
    if sealed.len() < TAG_LENGTH {
        return Err(BoxError::Short(sealed.len()));
    }
    cipher(private_key, public_key).decrypt(nonce.into(), sealed).map_err(|_| BoxError::Tag)
}

/// The cipher between two parties, whose messages go both ways.
fn cipher(private_key: &[u8; 32], public_key: &[u8; 32]) -> Arc<SalsaBox> {
    static KNOWN: Memo<[[u8; 32]; 2], Arc<SalsaBox>> = Memo::new();
    KNOWN.get([*private_key, *public_key], || {
        Arc::new(SalsaBox::new(&PublicKey::from_bytes(*public_key), &SecretKey::from_bytes(*private_key)))
    })
}

/// The same box with its tag after the ciphertext, as in AEAD interfaces of other ciphers: wrong here.
pub fn tag_last(sealed: &[u8]) -> Vec<u8> {
    let (tag, rest) = sealed.split_at(sealed.len().min(TAG_LENGTH));
    [rest, tag].concat()
}

/// The inverse of [`tag_last`].
pub fn tag_first(sealed: &[u8]) -> Vec<u8> {
    let (rest, tag) = sealed.split_at(sealed.len().saturating_sub(TAG_LENGTH));
    [tag, rest].concat()
}

/// Whether an X25519 public key has low order, so that every private key makes the same box key with it
/// (RFC 7748 section 6.1, erratum E64).
pub fn is_low_order(public_key: &[u8; 32]) -> bool {
    // The u coordinates of order 1, 2, 4 and 8 on curve and twist, and the two that are not reduced (p, p + 1). The top
    // bit is not part of a coordinate.
    const POINTS: [&str; 7] = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];
    let mut key = *public_key;
    key[31] &= 0x7f;
    POINTS.contains(&data_encoding::HEXLOWER.encode(&key).as_str())
}

/// The wrong construction that opens a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Opens as it should.
    Right,
    /// The tag follows the ciphertext.
    TagLast,
    /// The nonce of the message was not used, but one of 24 zero bytes.
    ZeroNonce,
}

impl Variant {
    /// The description, for a finding.
    pub fn words(self) -> &'static str {
        match self {
            Self::Right => "as section 8.5.1 has it",
            Self::TagLast => "with the tag behind the ciphertext, not in front of it",
            Self::ZeroNonce => "with 24 zero bytes as nonce, not with the nonce of the message",
        }
    }
}

/// Opens a box by the correct construction, else by known wrong ones, to diagnose an implementation.
///
/// # Errors
///
/// The [`BoxError`] of the correct construction, if no construction opens it.
pub fn open_any(
    private_key: &[u8; 32],
    public_key: &[u8; 32],
    nonce: &[u8],
    sealed: &[u8],
) -> Result<(Variant, Vec<u8>), BoxError> {
    let error = match open(private_key, public_key, nonce, sealed) {
        Ok(plaintext) => return Ok((Variant::Right, plaintext)),
        Err(error) => error,
    };
    if let Ok(plaintext) = open(private_key, public_key, nonce, &tag_first(sealed)) {
        return Ok((Variant::TagLast, plaintext));
    }
    if let Ok(plaintext) = open(private_key, public_key, &[0; NONCE_LENGTH], sealed) {
        return Ok((Variant::ZeroNonce, plaintext));
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap().try_into().unwrap()
    }

    const NONCE: &str = "000102030405060708090a0b0c0d0e0f1011121314151617";
    const RECIPIENT: &str = "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100";
    const SENDER: &str = "8f8e8d8c8b8a898887868584838281807f7e7d7c7b7a79787776757473727170";

    /// RFC 001 A.1 has the keys, erratum E01 (PM-AMP-01) the ciphertext.
    #[test]
    fn the_corrected_vector() {
        let (recipient, sender) = (hex(RECIPIENT), hex(SENDER));
        let recipient_public = hex("87968c1c1642bd0600f6ad869b88f92c9623d0dfc44f01deffe21c9add3dca5f");
        let sender_public = hex("46d09ef40df38265c53eb1e834cab2eff2dda6e85866e5a0706348400502f27f");
        assert_eq!((public_key(&recipient), public_key(&sender)), (recipient_public, sender_public));
        let plaintext = hex::<12>("a1636d736766736563726574");
        let sealed = hex::<28>("4d9c4b59bcb9d13393f0bdbe31d1693909ec2085626023b533f3f7af");
        assert_eq!(seal(&sender, &recipient_public, &hex(NONCE), &plaintext), sealed);
        assert_eq!(open(&recipient, &sender_public, &hex::<24>(NONCE), &sealed).unwrap(), plaintext);
        // As printed in A.6 it does not open.
        let printed = hex::<28>("924706080f2aa18f82f7b18ac051c9884fbc614779749f98c1031101");
        assert_eq!(open(&recipient, &sender_public, &hex::<24>(NONCE), &printed), Err(BoxError::Tag));
    }

    #[test]
    fn every_changed_byte_closes_the_box() {
        let (alice, bob) = ([3; 32], [4; 32]);
        let sealed = seal(&alice, &public_key(&bob), &[5; 24], b"text");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&bob, &public_key(&alice), &[5; 24], &changed), Err(BoxError::Tag));
        }
        assert_eq!(open(&bob, &public_key(&alice), &[5; 23], &sealed), Err(BoxError::Nonce(23)));
        assert_eq!(open(&bob, &public_key(&alice), &[5; 24], &sealed[..15]), Err(BoxError::Short(15)));
        assert_eq!(open(&bob, &public_key(&alice), &[5; 24], b""), Err(BoxError::Short(0)));
    }

    #[test]
    fn wrong_constructions_are_distinguished() {
        let (alice, bob) = ([3; 32], [4; 32]);
        let (to_bob, from_alice) = (public_key(&bob), public_key(&alice));
        let any = |sealed: &[u8]| open_any(&bob, &from_alice, &[5; 24], sealed).map(|(variant, _)| variant);
        let sealed = seal(&alice, &to_bob, &[5; 24], b"text");
        assert_eq!(any(&sealed), Ok(Variant::Right));
        assert_eq!(any(&tag_last(&sealed)), Ok(Variant::TagLast));
        assert_eq!(tag_first(&tag_last(&sealed)), sealed);
        assert_eq!(any(&seal(&alice, &to_bob, &[0; 24], b"text")), Ok(Variant::ZeroNonce));
        assert_eq!(any(&seal(&alice, &to_bob, &[6; 24], b"text")), Err(BoxError::Tag));
    }

    /// With a key of low order the box key does not depend on the private key; with others it does.
    #[test]
    fn low_order_keys_result_in_the_same_box_for_all_senders() {
        let mut keys: Vec<[u8; 32]> = vec![[0; 32], [9; 32], public_key(&[1; 32])];
        keys.push(hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"));
        keys.push(hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"));
        for low in 0xe8..=0xff {
            for high in [0x7f, 0xff] {
                let mut key = [0xff; 32];
                (key[0], key[31]) = (low, high);
                keys.push(key);
            }
        }
        keys.extend((0..=9).map(|low| {
            let mut key = [0; 32];
            key[0] = low;
            key
        }));
        for key in keys {
            let same = seal(&[1; 32], &key, &[0; 24], b"x") == seal(&[2; 32], &key, &[0; 24], b"x");
            assert_eq!(is_low_order(&key), same, "{}", data_encoding::HEXLOWER.encode(&key));
        }
    }
}
