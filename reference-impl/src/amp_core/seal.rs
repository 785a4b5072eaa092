//! authcrypt (8.5.1): NaCl box, that is X25519 with XSalsa20-Poly1305.

use crypto_secretbox::aead::Aead;
use crypto_secretbox::cipher::generic_array::GenericArray;
use crypto_secretbox::{Kdf, KeyInit, Nonce, XSalsa20Poly1305};
use curve25519_dalek::MontgomeryPoint;
use subtle::ConstantTimeEq;

use super::rules::Rules;
use crate::fault::planted;

/// The length of a nonce in bytes (E20).
pub(crate) const NONCE_LENGTH: usize = 24;

/// The length of the Poly1305 tag, which precedes the encrypted bytes.
pub(crate) const TAG_LENGTH: usize = 16;

/// A box could not be created or opened; the reason is not revealed (8.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoxError;

/// Encrypts `plaintext` for the owner of `public_key`.
///
/// # Errors
///
/// [`BoxError`] if the nonce has another length than 24 bytes or the key is of low order.
pub(crate) fn seal(
    private: &[u8; 32],
    public_key: &[u8; 32],
    nonce: &[u8],
    plaintext: &[u8],
    rules: Rules,
) -> Result<Vec<u8>, BoxError> {
    let nonce = <[u8; NONCE_LENGTH]>::try_from(nonce).map_err(|_| BoxError)?;
    let sealed = cipher(private, public_key, rules)?.encrypt(&Nonce::from(nonce), plaintext);
    let mut sealed = sealed.map_err(|_| BoxError)?;
    if tag_is_last(rules) {
        sealed.rotate_left(TAG_LENGTH);
    }
    Ok(sealed)
}

/// Decrypts what [`seal`] made with the other halves of the two keys.
///
/// # Errors
///
/// [`BoxError`] for anything that does not open.
pub(crate) fn open(
    private: &[u8; 32],
    public_key: &[u8; 32],
    nonce: &[u8],
    ciphertext: &[u8],
    rules: Rules,
) -> Result<Vec<u8>, BoxError> {
    let nonce = <[u8; NONCE_LENGTH]>::try_from(nonce).map_err(|_| BoxError)?;
    planted!(rules.fault, "box-long-bodies-unopened", ciphertext.len() > 16 * 1024 => return Err(BoxError));
    let mut sealed = ciphertext.to_vec();
    if tag_is_last(rules) && sealed.len() >= TAG_LENGTH {
        sealed.rotate_right(TAG_LENGTH);
    }
    cipher(private, public_key, rules)?.decrypt(&Nonce::from(nonce), sealed.as_slice()).map_err(|_| BoxError)
}

/// The cipher between two parties.
fn cipher(private: &[u8; 32], public_key: &[u8; 32], rules: Rules) -> Result<XSalsa20Poly1305, BoxError> {
    let shared = MontgomeryPoint(*public_key).mul_clamped(*private);
    // RFC 7748, 6.1, and E64: a key of low order gives zero, and with it a box that everybody can open.
    let low_order = bool::from(shared.as_bytes().ct_eq(&[0; 32]));
    if low_order && !rules.fault.is("box-accepts-low-order") && !rules.is_other() {
        return Err(BoxError); // Other, E64: RFC 7748 only permits the check
    }
    let mut key = shared.to_bytes().into();
    // 8.5.1: the shared secret goes through HSalsa20, as NaCl's precomputation has it.
    planted!(rules.fault, "box-no-hsalsa", return Ok(XSalsa20Poly1305::new(&key)));
    key = XSalsa20Poly1305::kdf(&key, &GenericArray::default());
    Ok(XSalsa20Poly1305::new(&key))
}

/// 8.5.1: the tag comes first, as in NaCl.
fn tag_is_last(rules: Rules) -> bool {
    rules.fault.is("box-tag-last")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amp_core::keys::x25519_public;

    fn bytes<const N: usize>(first: u8, step: i8) -> [u8; N] {
        let mut next = first;
        std::array::from_fn(|_| {
            let byte = next;
            next = next.wrapping_add_signed(step);
            byte
        })
    }

    /// RFC 001, A.6 with the keys and the nonce of A.1; the ciphertext as it should be (E01).
    #[test]
    fn the_corrected_published_box() {
        let (sender, recipient): ([u8; 32], [u8; 32]) = (bytes(0x8f, -1), bytes(0x1f, -1));
        let nonce: [u8; 24] = bytes(0, 1);
        let plaintext = b"\xa1cmsgfsecret";
        let sealed = seal(&sender, &x25519_public(&recipient), &nonce, plaintext, Rules::PLAIN).expect("a box");
        let expected = "4d9c4b59bcb9d13393f0bdbe31d1693909ec2085626023b533f3f7af";
        assert_eq!(data_encoding::HEXLOWER.encode(&sealed), expected);
        let public = x25519_public(&sender);
        let open = |nonce: &[u8], sealed: &[u8]| open(&recipient, &public, nonce, sealed, Rules::PLAIN);
        assert_eq!(open(&nonce, &sealed).as_deref(), Ok(&plaintext[..]));
        for byte in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[byte] ^= 0x80;
            assert_eq!(open(&nonce, &altered), Err(BoxError));
        }
        for length in 0..sealed.len() {
            assert_eq!(open(&nonce, &sealed[..length]), Err(BoxError));
        }
        assert_eq!(open(&nonce[1..], &sealed), Err(BoxError));
    }

    #[test]
    fn keys_of_low_order_are_refused() {
        let mut one = [0; 32];
        one[0] = 1;
        for low in [[0; 32], one] {
            assert!(seal(&[9; 32], &low, &[0; 24], b"", Rules::PLAIN).is_err());
        }
    }
}
