//! Public keys as text: base58btc multibase over a multicodec prefix.

/// The two kinds of keys that the protocol uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// For signatures.
    Ed25519,
    /// For key agreement.
    X25519,
}

impl KeyKind {
    /// The multicodec prefix: `ed25519-pub` or `x25519-pub` as an unsigned varint.
    pub fn codec(self) -> [u8; 2] {
        match self {
            Self::Ed25519 => [0xed, 0x01],
            Self::X25519 => [0xec, 0x01],
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "Ed25519",
            Self::X25519 => "X25519",
        }
    }
}

/// Why a text is not a multibase key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MultikeyError {
    /// Another multibase than base58btc.
    #[error("it does not start with \"z\", the prefix of base58btc")]
    Base,
    /// Not base58btc, or far too long.
    #[error("it is not base58btc")]
    Digits,
    /// Another multicodec than Ed25519 or X25519.
    #[error("its multicodec prefix is {0}, neither ed01 nor ec01")]
    Codec(String),
    /// Right codec, wrong size.
    #[error("the key has {0} bytes, expected 32")]
    Length(usize),
}

/// The text of a key: `z6Mk…` or `z6LS…`.
pub fn encode(kind: KeyKind, key: &[u8; 32]) -> String {
    let bytes = [&kind.codec()[..], key].concat();
    format!("z{}", bs58::encode(bytes).into_string())
}

/// Reads the text of a key.
///
/// # Errors
///
/// [`MultikeyError`] if it is not base58btc of one of the two kinds with 32 bytes.
pub fn decode(text: &str) -> Result<(KeyKind, [u8; 32]), MultikeyError> {
    let digits = text.strip_prefix('z').ok_or(MultikeyError::Base)?;
    let bytes = base58(digits).ok_or(MultikeyError::Digits)?;
    let prefix = bytes.get(..2).unwrap_or(&bytes);
    let kind = [KeyKind::Ed25519, KeyKind::X25519].into_iter().find(|kind| kind.codec() == prefix);
    let kind = kind.ok_or_else(|| MultikeyError::Codec(data_encoding::HEXLOWER.encode(prefix)))?;
    let key = bytes[2..].try_into().map_err(|_| MultikeyError::Length(bytes.len() - 2))?;
    Ok((kind, key))
}

/// The bytes of a base58btc text of reasonable length: decoding takes time by the square of it.
pub fn base58(digits: &str) -> Option<Vec<u8>> {
    if digits.len() > 200 {
        return None;
    }
    bs58::decode(digits).into_vec().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_round_trip() {
        for kind in [KeyKind::Ed25519, KeyKind::X25519] {
            for byte in 0..=255 {
                assert_eq!(decode(&encode(kind, &[byte; 32])), Ok((kind, [byte; 32])));
            }
        }
        assert!(encode(KeyKind::Ed25519, &[7; 32]).starts_with("z6Mk"));
        assert!(encode(KeyKind::X25519, &[7; 32]).starts_with("z6LS"));
    }

    #[test]
    fn invalid_keys_are_rejected() {
        let text = |bytes: &[u8]| format!("z{}", bs58::encode(bytes).into_string());
        assert_eq!(decode(""), Err(MultikeyError::Base));
        assert_eq!(decode("mAAAA"), Err(MultikeyError::Base));
        assert_eq!(decode("z"), Err(MultikeyError::Codec(String::new())));
        assert_eq!(decode("z0"), Err(MultikeyError::Digits));
        assert_eq!(decode(&text(&[0xed, 1])), Err(MultikeyError::Length(0)));
        assert_eq!(decode(&text(&[&[0xed, 1][..], &[0; 33]].concat())), Err(MultikeyError::Length(33)));
        assert_eq!(decode(&text(&[0; 32])), Err(MultikeyError::Codec("0000".into())));
        // The prefix as a varint of more bytes than needed is another prefix.
        assert!(decode(&text(&[&[0xed, 0x81, 0][..], &[0; 32]].concat())).is_err());
        assert_eq!(decode(&format!("z{}", "1".repeat(100_000))), Err(MultikeyError::Digits));
    }
}
