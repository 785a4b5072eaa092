//! Decentralised identifiers: their syntax (E21), the methods that are read (E22), and when two are equal (E21).

/// The prefix of an Ed25519 public key in a multibase value: the multicodec 0xed as a varint.
const ED25519: [u8; 2] = [0xed, 0x01];

/// The same for X25519: 0xec.
const X25519: [u8; 2] = [0xec, 0x01];

/// A public key behind its multicodec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// A key that verifies signatures.
    Ed25519([u8; 32]),
    /// A key for key agreement, as its u-coordinate.
    X25519([u8; 32]),
}

impl PublicKey {
    /// The multibase form: `z`, then base58btc of multicodec and key.
    #[must_use]
    pub(crate) fn multibase(self) -> String {
        let (codec, key) = match self {
            Self::Ed25519(key) => (ED25519, key),
            Self::X25519(key) => (X25519, key),
        };
        format!("z{}", bs58::encode([&codec[..], &key].concat()).into_string())
    }

    /// Reads a multibase form in base58btc or base64url.
    #[must_use]
    pub(crate) fn from_multibase(text: &str) -> Option<Self> {
        // Two bytes of multicodec and 32 of key are at most 47 digits of base58.
        let bytes = match text.strip_prefix('z') {
            Some(digits) if digits.len() <= 64 => bs58::decode(digits).into_vec().ok()?,
            Some(_) => return None,
            None => data_encoding::BASE64URL_NOPAD.decode(text.strip_prefix('u')?.as_bytes()).ok()?,
        };
        let (codec, key) = bytes.split_at_checked(2)?;
        let key = <[u8; 32]>::try_from(key).ok()?;
        match <[u8; 2]>::try_from(codec).ok()? {
            ED25519 => Some(Self::Ed25519(key)),
            X25519 => Some(Self::X25519(key)),
            _ => None, // another kind of key
        }
    }
}

/// Whether this is a DID or a DID URL (DID Core, 3.1 and 3.2): `did:`, method, id, then path, query and fragment.
#[must_use]
pub(crate) fn is_did(text: &str) -> bool {
    let Some((method, rest)) = text.strip_prefix("did:").and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    let method_is_good = !method.is_empty() && method.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (id, url) = rest.split_at(end);
    let last_is_good = id.rsplit(':').next().is_some_and(|last| !last.is_empty());
    method_is_good && last_is_good && consists_of(id, b"._-:") && is_url_tail(url)
}

/// Path, query and fragment: visible ASCII permitted in a URL, and at most one `#`.
fn is_url_tail(url: &str) -> bool {
    let fragments = url.bytes().filter(|byte| *byte == b'#').count();
    fragments <= 1 && consists_of(url, b"-._~!$&'()*+,;=:@/?#")
}

/// Whether a text consists of letters, digits, percent-encoded bytes and `others`.
fn consists_of(text: &str, others: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let good = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || others.contains(&byte),
        };
        if !good {
            return false;
        }
    }
    true
}

/// The DID itself, without path, query and fragment.
#[must_use]
pub(crate) fn bare(did: &str) -> &str {
    did.split(['/', '?', '#']).next().unwrap_or(did)
}

/// The fragment without its `#`.
#[must_use]
pub(crate) fn fragment(did: &str) -> Option<&str> {
    did.split_once('#').map(|(_, fragment)| fragment)
}

/// The comparison key of a DID (E21): without the fragment, otherwise byte for byte.
#[must_use]
pub(crate) fn without_fragment(did: &str) -> &str {
    did.split('#').next().unwrap_or(did)
}

/// Whether two DIDs name the same party.
#[must_use]
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    // E21: although a did:web contains a host name, letter case is significant.
    without_fragment(left) == without_fragment(right)
}

/// The did:key of an Ed25519 public key (E22).
#[must_use]
pub(crate) fn of_key(public_key: &[u8; 32]) -> String {
    format!("did:key:{}", PublicKey::Ed25519(*public_key).multibase())
}

/// The Ed25519 public key of a did:key, fragment or not.
#[must_use]
pub(crate) fn key_of(did: &str) -> Option<[u8; 32]> {
    match PublicKey::from_multibase(bare(did).strip_prefix("did:key:")?)? {
        PublicKey::Ed25519(key) => Some(key),
        PublicKey::X25519(_) => None, // cannot sign
    }
}

/// Where the document of a did:web is (did:web method, 3.2): `https`, or plain `http` on a loopback host.
#[must_use]
pub(crate) fn web_url(did: &str) -> Option<String> {
    let id = bare(did).strip_prefix("did:web:")?;
    let mut parts = id.split(':');
    let host = parts.next().filter(|host| !host.is_empty())?.replace("%3A", ":").replace("%3a", ":");
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
    let scheme = if matches!(name, "localhost" | "127.0.0.1") { "http" } else { "https" };
    let path: Vec<&str> = parts.collect();
    if path.is_empty() {
        return Some(format!("{scheme}://{host}/.well-known/did.json"));
    }
    Some(format!("{scheme}://{host}/{}/did.json", path.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax() {
        for good in
            ["did:web:a.b:c", "did:key:z6Mk#x", "did:web:localhost%3A8080:amp:alice", "did:x:a/b?c=d#e", "did:x::a"]
        {
            assert!(is_did(good), "{good}");
        }
        for bad in [
            "",
            "did",
            "did:",
            "did:web",
            "did:web:",
            "did:WEB:a",
            "did:web:a:",
            "did:web:a b",
            "did:web:%4",
            "did:x:a#b#c",
            "alice",
            "did:x:é",
        ] {
            assert!(!is_did(bad), "{bad}");
        }
    }

    #[test]
    fn comparison_drops_the_fragment_only() {
        assert!(is_same("did:x:a#1", "did:x:a"));
        assert!(!is_same("did:x:a", "did:x:A") && !is_same("did:x:a?q", "did:x:a"));
        assert_eq!((bare("did:x:a/b?c#d"), fragment("did:x:a#d"), fragment("did:x:a")), ("did:x:a", Some("d"), None));
    }

    #[test]
    fn did_key_and_did_web() {
        // The known answer of binding.md, 6, for a seed of zero bytes.
        let did = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp";
        let key = key_of(did).expect("an Ed25519 key");
        assert_eq!((of_key(&key).as_str(), data_encoding::HEXLOWER.encode(&key[..4])), (did, "3b6a27bc".to_owned()));
        assert_eq!(key_of("did:key:z6LShs9GGnqk85isEBzzshkuVWrVKsRp24GnDuHk8QWkARMW"), None);
        assert_eq!(key_of("did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooW0"), None);
        assert_eq!(web_url("did:web:a.b").as_deref(), Some("https://a.b/.well-known/did.json"));
        let local = web_url("did:web:localhost%3A80:amp:alice#k");
        assert_eq!(local.as_deref(), Some("http://localhost:80/amp/alice/did.json"));
        assert_eq!(web_url("did:key:z6Mk"), None);
    }
}
