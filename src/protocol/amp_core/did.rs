//! Decentralized identifiers: their syntax, `did:key` without a network, and the URLs of `did:web` documents.
//!
//! Syntax is that of W3C DID Core section 3 (erratum E21). For comparison only the fragment is dropped.

use super::multikey::{self, KeyKind};

/// Longest text that is looked at as a DID, in bytes.
const LONGEST: usize = 2048;

/// The parts of a DID URL, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DidUrl<'t> {
    /// The DID itself: scheme, method and method-specific id.
    pub did: &'t str,
    /// The method name.
    pub method: &'t str,
    /// The method-specific id.
    pub id: &'t str,
    /// The path with its leading slash, or empty.
    pub path: &'t str,
    /// The query, without its question mark.
    pub query: Option<&'t str>,
    /// The fragment, without its number sign.
    pub fragment: Option<&'t str>,
}

/// Why a text is not a DID, or not a suitable one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DidError {
    /// The text breaks the syntax of DID Core section 3.
    #[error("not a DID: {0}")]
    Syntax(&'static str),
    /// The DID has a method other than the required one.
    #[error("a DID of method {0:?}")]
    Method(String),
    /// The key of a `did:key` cannot be read.
    #[error("the key of this did:key: {0}")]
    Key(#[from] multikey::MultikeyError),
    /// The host or path of a `did:web` cannot be an address.
    #[error("the address of this did:web: {0}")]
    Address(&'static str),
}

/// Reads a DID or DID URL.
///
/// # Errors
///
/// [`DidError::Syntax`] if the text does not have the syntax of DID Core section 3.
pub fn parse(text: &str) -> Result<DidUrl<'_>, DidError> {
    if text.len() > LONGEST {
        return Err(DidError::Syntax("longer than 2048 bytes"));
    }
    let rest = text.strip_prefix("did:").ok_or(DidError::Syntax("it does not start with \"did:\""))?;
    let (before, fragment) = split(rest, '#');
    let (before, query) = split(before, '?');
    let (name, path) = before.find('/').map_or((before, ""), |at| before.split_at(at));
    let (method, id) = name.split_once(':').ok_or(DidError::Syntax("no method-specific id"))?;
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        return Err(DidError::Syntax("a method name has small letters and digits"));
    }
    if id.is_empty() || id.ends_with(':') {
        return Err(DidError::Syntax("the method-specific id is empty or ends with a colon"));
    }
    if !spelled(id, b".-_:") {
        return Err(DidError::Syntax("a character that a method-specific id cannot have"));
    }
    // RFC 3986: pchar, and what each part has beyond it.
    const PCHAR: &[u8] = b"-._~!$&'()*+,;=:@";
    let extra = |more: &[u8]| [PCHAR, more].concat();
    if !spelled(path, &extra(b"/"))
        || !spelled(query.unwrap_or_default(), &extra(b"/?"))
        || !spelled(fragment.unwrap_or_default(), &extra(b"/?"))
    {
        return Err(DidError::Syntax("a character that a path, query or fragment cannot have"));
    }
    let did = &text[.."did:".len() + name.len()];
    Ok(DidUrl { did, method, id, path, query, fragment })
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Whether a text has letters, digits, whole percent escapes and these other characters only.
fn spelled(text: &str, others: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escape =
            *byte == b'%' && bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
        if !escape && !byte.is_ascii_alphanumeric() && !others.contains(byte) {
            return false;
        }
        at += if escape { 3 } else { 1 };
    }
    true
}

/// Whether a text is a DID or DID URL.
pub fn is_did_url(text: &str) -> bool {
    parse(text).is_ok()
}

/// Whether a text is a DID with at most a key fragment: what `from` and `to` may hold (RFC 001 section 4.1).
pub fn is_party(text: &str) -> bool {
    parse(text).is_ok_and(|url| url.path.is_empty() && url.query.is_none())
}

/// The text without its fragment, even if it is not a DID.
pub fn without_fragment(text: &str) -> &str {
    text.split_once('#').map_or(text, |(before, _)| before)
}

/// Whether two DIDs name the same party: byte for byte, fragments dropped (erratum E21).
pub fn same_party(left: &str, right: &str) -> bool {
    without_fragment(left) == without_fragment(right)
}

/// The `did:key` of an Ed25519 public key.
pub fn of_key(public_key: &[u8; 32]) -> String {
    format!("did:key:{}", multikey::encode(KeyKind::Ed25519, public_key))
}

/// The key of a `did:key`; a fragment is ignored.
///
/// # Errors
///
/// [`DidError`] if the text is not a DID, has another method, or holds no Ed25519 or X25519 key.
pub fn key_of(did: &str) -> Result<(KeyKind, [u8; 32]), DidError> {
    let url = parse(did)?;
    match url.method {
        "key" => Ok(multikey::decode(url.id)?),
        other => Err(DidError::Method(other.to_owned())),
    }
}

/// The address of the document of a `did:web`; a fragment is dropped.
///
/// `https`, or `http` where the host is `localhost` or a loopback address (binding section 6).
///
/// # Errors
///
/// [`DidError`] if the text is not a DID, has another method, or gives no address.
pub fn web_url(did: &str) -> Result<String, DidError> {
    let url = parse(did)?;
    if url.method != "web" {
        return Err(DidError::Method(url.method.to_owned()));
    }
    let mut parts = url.id.split(':');
    let authority = parts.next().unwrap_or_default().replace("%3A", ":").replace("%3a", ":");
    let bracketed = authority.starts_with('[');
    let (host, port) = authority.split_once(':').map_or((authority.as_str(), None), |(host, port)| (host, Some(port)));
    if host.is_empty() || bracketed || host.contains('%') {
        return Err(DidError::Address("a host is a name or an IPv4 address"));
    }
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(DidError::Address("a port is a number below 65536"));
    }
    let segments: Vec<&str> = parts.collect();
    if segments.iter().any(|segment| matches!(*segment, "" | "." | "..") || segment.to_ascii_lowercase().contains("%2"))
    {
        return Err(DidError::Address("an empty, dotted or slashed path segment"));
    }
    let loopback = host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    let scheme = if loopback { "http" } else { "https" };
    let path = if segments.is_empty() { ".well-known".to_owned() } else { segments.join("/") };
    Ok(format!("{scheme}://{authority}/{path}/did.json"))
}

/// The `did:web` for a host, with or without port, and path segments.
pub fn web(host: &str, segments: &[&str]) -> String {
    std::iter::once(host.replace(':', "%3A")).chain(segments.iter().map(|part| (*part).to_owned())).fold(
        "did:web".to_owned(),
        |mut did, part| {
            did.push(':');
            did.push_str(&part);
            did
        },
    )
}

/// Texts that are almost DIDs, or parts of one.
pub(super) const BROKEN: &[&str] = &[
    "did",
    "did:",
    "did::",
    "did:key",
    "did:key:",
    "did:key:z",
    "did:key:z6Mk",
    "did:web:",
    "did:web:a%00b",
    "did:web:[::1]",
    "#",
    "#key-1",
    ":",
];

#[cfg(test)]
mod tests {
    use super::super::document::expand;
    use super::super::sign;
    use super::*;
    use crate::value::Value;

    #[test]
    fn the_syntax_of_did_core() {
        for good in [
            "did:web:example.com:agent:alice",
            "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp#z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
            "did:web:localhost%3A8080",
            "did:a:b",
            "did:m1:a::b",
            "did:example:123/path/x?service=files#frag/?",
            "did:example::a",
            "did:web:x#",
        ] {
            assert!(is_did_url(good), "{good}");
        }
        for bad in [
            "",
            "did",
            "did:",
            "did:web",
            "did:web:",
            "did:Web:a",
            "did::a",
            "DID:web:a",
            "did:web:a:",
            "did:web:a b",
            "did:web:a%3",
            "did:web:a%zz",
            "did:web:é",
            "did:web:a#b#c",
            " did:web:a",
            "did:web:a\n",
            "https://example.com",
            "did:we-b:a",
            "did:web:#key-1",
        ] {
            assert!(!is_did_url(bad), "{bad}");
        }
        assert!(!is_did_url(&format!("did:web:{}", "a".repeat(3000))));
        assert!(is_party("did:web:a#key-1") && !is_party("did:web:a/b") && !is_party("did:web:a?b=c"));
        let url = parse("did:web:a:b/c?d=e#f").unwrap();
        assert_eq!(
            url,
            DidUrl {
                did: "did:web:a:b",
                method: "web",
                id: "a:b",
                path: "/c",
                query: Some("d=e"),
                fragment: Some("f")
            }
        );
        assert!(same_party("did:web:a#1", "did:web:a#2") && !same_party("did:web:a", "did:web:A"));
    }

    /// The known answer of binding section 6.
    #[test]
    fn the_zero_seed_gives_the_known_key_did() {
        let did = of_key(&sign::public_key(&[0; 32]));
        assert_eq!(did, "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp");
        assert_eq!(key_of(&did).unwrap(), (KeyKind::Ed25519, sign::public_key(&[0; 32])));
        let document = expand(&format!("{did}#x")).unwrap();
        assert_eq!(document.member("id").unwrap().as_text(), Some(did.as_str()));
        let agreement = document.member("keyAgreement").unwrap().as_array().unwrap();
        let id = format!("{did}#z6LShs9GGnqk85isEBzzshkuVWrVKsRp24GnDuHk8QWkARMW");
        assert_eq!(agreement, [Value::text(id)]);
    }

    #[test]
    fn other_key_dids() {
        assert_eq!(key_of("did:web:a"), Err(DidError::Method("web".into())));
        // P-256, and invalid base58.
        assert!(matches!(key_of("did:key:zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv"), Err(DidError::Key(_))));
        assert!(matches!(key_of("did:key:z0OIl"), Err(DidError::Key(_))));
        let agreement = expand("did:key:z6LShs9GGnqk85isEBzzshkuVWrVKsRp24GnDuHk8QWkARMW").unwrap();
        assert!(agreement.member("assertionMethod").is_none() && agreement.member("keyAgreement").is_some());
        // y = 2 is on no point of the curve.
        let mut off = [0; 32];
        off[0] = 2;
        assert!(expand(&of_key(&off)).unwrap().member("keyAgreement").is_none());
    }

    #[test]
    fn web_addresses() {
        for (did, url) in [
            ("did:web:example.com", "https://example.com/.well-known/did.json"),
            ("did:web:example.com:agent:alice", "https://example.com/agent/alice/did.json"),
            ("did:web:localhost%3A8080:amp:alice#key-1", "http://localhost:8080/amp/alice/did.json"),
            ("did:web:127.0.0.2%3a9", "http://127.0.0.2:9/.well-known/did.json"),
            ("did:web:10.0.0.1", "https://10.0.0.1/.well-known/did.json"),
        ] {
            assert_eq!(web_url(did).unwrap(), url);
        }
        for bad in [
            "did:web:a%3Ax",
            "did:web:a%3A99999",
            "did:web:a:..:b",
            "did:web:a::b",
            "did:web:a%2Fb",
            "did:web:a:b%2Fc",
            "did:web:%3A80",
        ] {
            assert!(matches!(web_url(bad), Err(DidError::Address(_))), "{bad}");
        }
        assert_eq!(web("localhost:8080", &["amp", "alice"]), "did:web:localhost%3A8080:amp:alice");
    }
}
