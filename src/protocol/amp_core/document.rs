//! DID documents: reading the methods of one, and writing simple ones.
//!
//! [`read`] never fails for a method that cannot be used; it keeps it with the reason, so that a finding can explain
//! why a key was not eligible. Keys are chosen in [`super::key_selection`].

use super::did;
use super::multikey::{self, KeyKind, MultikeyError};
use crate::value::Value;

/// Methods that are read of one document at most, embedded ones included.
const MOST: usize = 256;

/// The relationship that lists a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relationship {
    /// `assertionMethod`.
    Assertion,
    /// `authentication`.
    Authentication,
    /// `keyAgreement`.
    KeyAgreement,
}

impl Relationship {
    const ALL: [Self; 3] = [Self::Assertion, Self::Authentication, Self::KeyAgreement];

    /// Its name in a document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assertion => "assertionMethod",
            Self::Authentication => "authentication",
            Self::KeyAgreement => "keyAgreement",
        }
    }
}

/// A verification method as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// Its id, made absolute.
    pub id: String,
    /// Its id as written.
    pub written: String,
    /// Its type as written.
    pub kind_name: String,
    /// Its key, or why the protocol cannot use it.
    pub key: Result<(KeyKind, [u8; 32]), KeyFault>,
    /// The relationships that list it, by reference or embedded.
    pub listed: Vec<Relationship>,
    /// When it was revoked, in milliseconds since 1970, if given.
    pub revoked: Option<i64>,
}

impl Method {
    /// The key, if it is one of this kind.
    pub fn key(&self, kind: KeyKind) -> Option<[u8; 32]> {
        self.key.as_ref().ok().filter(|(found, _)| *found == kind).map(|(_, key)| *key)
    }

    /// Whether it is listed for this.
    pub fn is_for(&self, relationship: Relationship) -> bool {
        self.listed.contains(&relationship)
    }

    /// Whether it was not revoked by `now`, in milliseconds since 1970 (erratum E23).
    pub fn is_active(&self, now: i64) -> bool {
        self.revoked.is_none_or(|revoked| revoked > now)
    }
}

/// Why the protocol cannot use the key of a method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// A type, or a curve, that is neither Ed25519 nor X25519.
    #[error("{0} is neither Ed25519 nor X25519")]
    Other(String),
    /// The member that its type requires is missing.
    #[error("no {0}")]
    Missing(&'static str),
    /// The text of the key cannot be read.
    #[error("publicKeyMultibase: {0}")]
    Multibase(#[from] MultikeyError),
    /// The key is not of the kind that its type declares.
    #[error("the type declares {0}, but the key is {1}")]
    Contradiction(&'static str, &'static str),
    /// The key does not have 32 bytes, or its text is invalid.
    #[error("{0} does not hold 32 bytes")]
    Bytes(&'static str),
}

/// Why a value is not a DID document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not a JSON object.
    #[error("a DID document is an object, not {0}")]
    NotAnObject(&'static str),
    /// `id` is missing or not a DID.
    #[error("the id of the document is not a DID")]
    NoId,
    /// More methods than anybody needs.
    #[error("more than 256 verification methods")]
    TooMany,
}

/// A DID document as read.
#[derive(Clone, Debug, PartialEq)]
pub struct DidDocument {
    /// Its `id`.
    pub id: String,
    /// Its methods in the order found: `verificationMethod` first, then those embedded in relationships.
    pub methods: Vec<Method>,
    /// Dangling references: relationship and absolute id.
    pub dangling: Vec<(Relationship, String)>,
    /// Its services: type and endpoint.
    pub services: Vec<(String, String)>,
}

impl DidDocument {
    /// The endpoint of the first service of this type.
    pub fn endpoint(&self, service: &str) -> Option<&str> {
        self.services.iter().find(|(kind, _)| kind == service).map(|(_, endpoint)| endpoint.as_str())
    }
}

/// Reads a DID document (erratum E22 names the key formats).
///
/// # Errors
///
/// [`DocumentError`] if it is not a document; invalid methods are kept with their fault.
pub fn read(value: &Value) -> Result<DidDocument, DocumentError> {
    if value.as_map().is_none() {
        return Err(DocumentError::NotAnObject(value.type_name()));
    }
    let id = value.member("id").and_then(Value::as_text).filter(|id| did::is_did_url(id)).ok_or(DocumentError::NoId)?;
    let id = did::without_fragment(id).to_owned();
    let list = |name: &str| value.member(name).and_then(Value::as_array).unwrap_or_default();
    let entries: usize = Relationship::ALL.iter().map(|kind| list(kind.name()).len()).sum();
    if list("verificationMethod").len() > MOST || entries > 3 * MOST {
        return Err(DocumentError::TooMany);
    }
    let mut methods: Vec<Method> = list("verificationMethod").iter().filter_map(|entry| method(entry, &id)).collect();
    let mut dangling = Vec::new();
    for relationship in Relationship::ALL {
        for entry in list(relationship.name()) {
            let (wanted, embedded) = match entry {
                Value::Text(reference) => (absolute(reference, &id), None),
                other => match method(other, &id) {
                    Some(method) => (method.id.clone(), Some(method)),
                    None => continue,
                },
            };
            match methods.iter().position(|method| method.id == wanted) {
                Some(at) if !methods[at].is_for(relationship) => methods[at].listed.push(relationship),
                Some(_) => {}
                None => match embedded {
                    Some(mut method) => {
                        method.listed.push(relationship);
                        methods.push(method);
                    }
                    None => dangling.push((relationship, wanted)),
                },
            }
        }
    }
    let services = list("service").iter().flat_map(service).collect();
    Ok(DidDocument { id, methods, dangling, services })
}

fn service(entry: &Value) -> Vec<(String, String)> {
    let endpoint = match entry.member("serviceEndpoint") {
        Some(Value::Text(url)) => url,
        Some(map) => map.member("uri").and_then(Value::as_text).unwrap_or_default(),
        None => return Vec::new(),
    };
    let types = match entry.member("type") {
        Some(Value::Text(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_text).collect(),
        _ => Vec::new(),
    };
    types.into_iter().map(|kind| (kind.to_owned(), endpoint.to_owned())).collect()
}

/// An absolute id: `#key-1` is relative to its document (erratum E23).
fn absolute(id: &str, document: &str) -> String {
    if id.starts_with('#') { format!("{document}{id}") } else { id.to_owned() }
}

fn method(entry: &Value, document: &str) -> Option<Method> {
    let written = entry.member("id")?.as_text()?.to_owned();
    let kind_name = entry.member("type").and_then(Value::as_text).unwrap_or_default().to_owned();
    let revoked = entry.member("revoked").and_then(Value::as_text);
    let revoked = revoked.and_then(|time| chrono::DateTime::parse_from_rfc3339(time).ok());
    Some(Method {
        id: absolute(&written, document),
        written,
        key: key(entry, &kind_name),
        kind_name,
        listed: Vec::new(),
        revoked: revoked.map(|time| time.timestamp_millis()),
    })
}

fn key(entry: &Value, kind_name: &str) -> Result<(KeyKind, [u8; 32]), KeyFault> {
    let text = |name: &'static str| entry.member(name).and_then(Value::as_text);
    let expected = match kind_name {
        "Ed25519VerificationKey2018" | "Ed25519VerificationKey2020" => Some(KeyKind::Ed25519),
        "X25519KeyAgreementKey2019" | "X25519KeyAgreementKey2020" => Some(KeyKind::X25519),
        "Multikey" => None,
        "JsonWebKey" | "JsonWebKey2020" => return web_key(entry),
        other => return Err(KeyFault::Other(if other.is_empty() { "no type".into() } else { other.into() })),
    };
    let old = matches!(kind_name, "Ed25519VerificationKey2018" | "X25519KeyAgreementKey2019");
    let found = match (text("publicKeyMultibase"), text("publicKeyBase58"), expected) {
        (Some(multibase), _, _) => multikey::decode(multibase)?,
        (None, Some(digits), Some(kind)) if old => {
            let bytes = multikey::base58(digits).and_then(|bytes| bytes.try_into().ok());
            (kind, bytes.ok_or(KeyFault::Bytes("publicKeyBase58"))?)
        }
        _ if old => return Err(KeyFault::Missing("publicKeyBase58")),
        _ => return Err(KeyFault::Missing("publicKeyMultibase")),
    };
    match expected {
        Some(kind) if kind != found.0 => Err(KeyFault::Contradiction(kind.name(), found.0.name())),
        _ => Ok(found),
    }
}

/// A key as JWK (RFC 8037).
fn web_key(entry: &Value) -> Result<(KeyKind, [u8; 32]), KeyFault> {
    let jwk = entry.member("publicKeyJwk").ok_or(KeyFault::Missing("publicKeyJwk"))?;
    let text = |name| jwk.member(name).and_then(Value::as_text);
    let kind = match (text("kty"), text("crv")) {
        (Some("OKP"), Some("Ed25519")) => KeyKind::Ed25519,
        (Some("OKP"), Some("X25519")) => KeyKind::X25519,
        (kty, crv) => {
            return Err(KeyFault::Other(format!("{} {}", kty.unwrap_or_default(), crv.unwrap_or_default())));
        }
    };
    let x = text("x").filter(|x| x.len() <= 64).ok_or(KeyFault::Missing("publicKeyJwk x"))?;
    let bytes = data_encoding::BASE64URL_NOPAD.decode(x.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
    Ok((kind, bytes.ok_or(KeyFault::Bytes("publicKeyJwk x"))?))
}

/// A method to be written into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id, absolute or relative.
    pub id: String,
    /// The kind of its key.
    pub kind: KeyKind,
    /// The key.
    pub key: [u8; 32],
}

impl Entry {
    /// The method as a member of a document, in the suites of 2020.
    pub fn to_value(&self, controller: &str) -> Value {
        let name = match self.kind {
            KeyKind::Ed25519 => "Ed25519VerificationKey2020",
            KeyKind::X25519 => "X25519KeyAgreementKey2020",
        };
        Value::map([
            ("id", Value::text(&self.id)),
            ("type", Value::text(name)),
            ("controller", Value::text(controller)),
            ("publicKeyMultibase", Value::text(multikey::encode(self.kind, &self.key))),
        ])
    }
}

/// A document with one signing method, one agreement method and one `AgentMessaging` service, each of them optional.
pub fn plain(did: &str, signing: Option<&Entry>, agreement: Option<&Entry>, service: Option<&str>) -> Value {
    let methods = signing.into_iter().chain(agreement).map(|entry| entry.to_value(did)).collect();
    let reference = |entry: &Entry| Value::array([Value::text(&entry.id)]);
    let mut members = vec![
        (
            "@context",
            Value::array([
                Value::text("https://www.w3.org/ns/did/v1"),
                Value::text("https://w3id.org/security/suites/ed25519-2020/v1"),
                Value::text("https://w3id.org/security/suites/x25519-2020/v1"),
            ]),
        ),
        ("id", Value::text(did)),
        ("verificationMethod", Value::Array(methods)),
    ];
    if let Some(entry) = signing {
        members.push(("assertionMethod", reference(entry)));
        members.push(("authentication", reference(entry)));
    }
    if let Some(entry) = agreement {
        members.push(("keyAgreement", reference(entry)));
    }
    if let Some(url) = service {
        let service = Value::map([
            ("id", Value::text(format!("{did}#messaging"))),
            ("type", Value::text("AgentMessaging")),
            ("serviceEndpoint", Value::text(url)),
        ]);
        members.push(("service", Value::array([service])));
    }
    Value::map(members)
}

/// The document of a `did:key` (binding section 6).
///
/// An Ed25519 key becomes the method of `authentication` and `assertionMethod`, and the X25519 key derived from it the
/// method of `keyAgreement`; the latter is omitted for 32 bytes that are not a curve point. An X25519 key has
/// `keyAgreement` alone.
///
/// # Errors
///
/// As [`did::key_of`].
pub fn expand(did: &str) -> Result<Value, did::DidError> {
    let (kind, key) = did::key_of(did)?;
    let did = did::without_fragment(did);
    let method = |kind: KeyKind, key: &[u8; 32]| {
        let text = multikey::encode(kind, key);
        Entry { id: format!("{did}#{text}"), kind, key: *key }
    };
    let (signing, agreement) = match kind {
        KeyKind::Ed25519 => (Some(method(kind, &key)), super::sign::agreement_public(&key)),
        KeyKind::X25519 => (None, Some(key)),
    };
    let agreement = agreement.map(|key| method(KeyKind::X25519, &key));
    Ok(plain(did, signing.as_ref(), agreement.as_ref(), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    fn parsed(text: &str) -> DidDocument {
        read(&json::parse(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn every_key_format_is_read() {
        let key = [7; 32];
        let (multi_ed, multi_x) = (multikey::encode(KeyKind::Ed25519, &key), multikey::encode(KeyKind::X25519, &key));
        let plain58 = bs58::encode(key).into_string();
        let base64 = data_encoding::BASE64URL_NOPAD.encode(&key);
        let rows = [
            ("Ed25519VerificationKey2018", format!(r#""publicKeyBase58":"{plain58}""#), KeyKind::Ed25519),
            ("Ed25519VerificationKey2018", format!(r#""publicKeyMultibase":"{multi_ed}""#), KeyKind::Ed25519),
            ("Ed25519VerificationKey2020", format!(r#""publicKeyMultibase":"{multi_ed}""#), KeyKind::Ed25519),
            ("X25519KeyAgreementKey2019", format!(r#""publicKeyBase58":"{plain58}""#), KeyKind::X25519),
            ("X25519KeyAgreementKey2020", format!(r#""publicKeyMultibase":"{multi_x}""#), KeyKind::X25519),
            ("Multikey", format!(r#""publicKeyMultibase":"{multi_ed}""#), KeyKind::Ed25519),
            ("Multikey", format!(r#""publicKeyMultibase":"{multi_x}""#), KeyKind::X25519),
            (
                "JsonWebKey",
                format!(r#""publicKeyJwk":{{"kty":"OKP","crv":"Ed25519","x":"{base64}"}}"#),
                KeyKind::Ed25519,
            ),
            (
                "JsonWebKey2020",
                format!(r#""publicKeyJwk":{{"kty":"OKP","crv":"X25519","x":"{base64}"}}"#),
                KeyKind::X25519,
            ),
        ];
        for (name, member, kind) in rows {
            let text =
                format!(r##"{{"id":"did:web:a","verificationMethod":[{{"id":"#k","type":"{name}",{member}}}]}}"##);
            let method = &parsed(&text).methods[0];
            assert_eq!((&method.key, method.id.as_str()), (&Ok((kind, key)), "did:web:a#k"), "{text}");
        }
    }

    #[test]
    fn methods_without_a_usable_key_are_kept_with_the_reason() {
        let multi = multikey::encode(KeyKind::X25519, &[7; 32]);
        for (method, fault) in [
            (
                r#""type":"EcdsaSecp256k1VerificationKey2019""#.to_owned(),
                "EcdsaSecp256k1VerificationKey2019 is neither",
            ),
            (String::new() + r#""x":1"#, "no type is neither"),
            (r#""type":"Multikey""#.into(), "no publicKeyMultibase"),
            (r#""type":"Ed25519VerificationKey2018""#.into(), "no publicKeyBase58"),
            (
                format!(r#""type":"Ed25519VerificationKey2020","publicKeyMultibase":"{multi}""#),
                "the type declares Ed25519, but the",
            ),
            (r#""type":"Ed25519VerificationKey2018","publicKeyBase58":"111""#.into(), "publicKeyBase58 does not hold"),
            (
                r#""type":"JsonWebKey2020","publicKeyJwk":{"kty":"EC","crv":"P-256","x":"AA"}"#.into(),
                "EC P-256 is neither",
            ),
            (
                r#""type":"JsonWebKey","publicKeyJwk":{"kty":"OKP","crv":"X25519","x":"AA"}"#.into(),
                "publicKeyJwk x does not",
            ),
            (r#""type":"JsonWebKey""#.into(), "no publicKeyJwk"),
        ] {
            let text = format!(r##"{{"id":"did:web:a","verificationMethod":[{{"id":"#k",{method}}}]}}"##);
            let found = parsed(&text).methods[0].key.clone().unwrap_err().to_string();
            assert!(found.starts_with(fault), "{found}");
        }
    }

    #[test]
    fn invalid_documents_are_rejected() {
        let error = |text: &str| read(&json::parse(text.as_bytes()).unwrap()).unwrap_err();
        assert_eq!(error("[]"), DocumentError::NotAnObject("array"));
        assert_eq!(error("{}"), DocumentError::NoId);
        assert_eq!(error(r#"{"id":"https://a"}"#), DocumentError::NoId);
        let many = format!(r#"{{"id":"did:web:a","verificationMethod":[{}1]}}"#, "1,".repeat(300));
        assert_eq!(error(&many), DocumentError::TooMany);
        // Invalid members are ignored.
        let odd = parsed(
            r#"{"id":"did:web:a","verificationMethod":[1,{},{"id":1}],"keyAgreement":[1,null,"x"],"service":[1]}"#,
        );
        assert_eq!((odd.methods.len(), odd.services.len()), (0, 0));
        assert_eq!(odd.dangling, [(Relationship::KeyAgreement, "x".to_owned())]);
    }

    #[test]
    fn services_are_found() {
        let document = parsed(
            r#"{"id":"did:web:a","service":[{"type":"Other","serviceEndpoint":"x"},
                {"type":["A","AgentMessaging"],"serviceEndpoint":{"uri":"https://a/amp"}}]}"#,
        );
        assert_eq!(document.endpoint("AgentMessaging"), Some("https://a/amp"));
        assert_eq!(document.endpoint("None"), None);
    }
}
