//! DID documents (DID Core, 5), the parts that messages need: methods, their purposes, and services.
//!
//! Documents arrive as JSON from others, so everything in them is optional; unreadable members count as absent.

use std::collections::HashMap;
use std::sync::Arc;

use super::did::{self, PublicKey};
use super::keys::{Identity, x25519_public, x25519_public_of};
use super::remembered::Remembered;
use super::rules::Rules;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// The most methods, references or services that are looked at: a document is hostile input too.
const ENTRY_LIMIT: usize = 256;

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// The DID that it describes.
    pub(crate) id: String,
    /// Every method, embedded ones included, in the order of the document.
    pub(crate) methods: Vec<Method>,
    /// Absolute ids of the methods under `assertionMethod`.
    pub(crate) assertion: Vec<String>,
    /// The same for `authentication`.
    pub(crate) authentication: Vec<String>,
    /// The same for `keyAgreement`.
    pub(crate) agreement: Vec<String>,
    /// Where the party can be reached.
    pub(crate) services: Vec<Service>,
}

/// A verification method.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Method {
    /// Its id, made absolute (E23).
    pub(crate) id: String,
    /// The key, if it is of a format that is read (E22).
    pub(crate) key: Option<PublicKey>,
    /// From when on it does not count (E23).
    pub(crate) revoked: Option<Instant>,
}

/// A service.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Service {
    /// Its types; `AgentMessaging` is what messages are posted to.
    pub(crate) types: Vec<String>,
    /// Its endpoint, if that is a text.
    pub(crate) endpoint: Option<String>,
}

/// The source of documents.
pub(crate) trait Resolve {
    /// The document of a DID, fragment or not.
    fn resolve(&self, did: &str) -> Option<Arc<Document>>;
}

/// Known documents; a did:key needs none (E22).
#[derive(Debug, Clone, Default)]
pub(crate) struct Documents(HashMap<String, Arc<Document>>);

impl Documents {
    /// Adds or replaces the document of a DID.
    pub(crate) fn insert(&mut self, document: Document) {
        self.0.insert(document.id.clone(), Arc::new(document));
    }
}

impl Resolve for Documents {
    fn resolve(&self, did: &str) -> Option<Arc<Document>> {
        let known = self.0.get(did::bare(did)).cloned();
        known.or_else(|| of_did_key(did))
    }
}

/// [`Document::of_did_key`], remembered: it follows from the DID alone, and each message needs that of its sender.
fn of_did_key(did: &str) -> Option<Arc<Document>> {
    static KNOWN: Remembered<String, Arc<Document>> = Remembered::new();
    KNOWN.try_get(did::bare(did).to_owned(), |did| Document::of_did_key(did).map(Arc::new))
}

impl Document {
    /// Reads a document; `None` if `id` is not a DID.
    #[must_use]
    pub(crate) fn read(document: &Object, rules: Rules) -> Option<Self> {
        let id = document.text("id").filter(|id| did::is_did(id))?.to_owned();
        let mut methods = Vec::new();
        for method in entries(document, "verificationMethod") {
            methods.extend(Method::read(method, &id, rules));
        }
        let mut relation = |name| relation(document, name, &id, &mut methods, rules);
        let (assertion, authentication) = (relation("assertionMethod"), relation("authentication"));
        let agreement = relation("keyAgreement");
        let services = entries(document, "service").iter().filter_map(Service::read).collect();
        Some(Self { id, methods, assertion, authentication, agreement, services })
    }

    /// The document of a did:key (binding.md, 6).
    #[must_use]
    pub(crate) fn of_did_key(did: &str) -> Option<Self> {
        let (id, key) = (did::bare(did), did::key_of(did)?);
        let agreement = PublicKey::X25519(x25519_public_of(&key)?);
        let signing = PublicKey::Ed25519(key);
        let method = |key: PublicKey| Method { id: format!("{id}#{}", key.multibase()), key: Some(key), revoked: None };
        let methods = vec![method(signing), method(agreement)];
        let (signs, agrees) = (vec![methods[0].id.clone()], vec![methods[1].id.clone()]);
        let (assertion, authentication) = (signs.clone(), signs);
        Some(Self { id: id.to_owned(), methods, assertion, authentication, agreement: agrees, services: Vec::new() })
    }

    /// The document of a party with one signing key; `services` are pairs of type and endpoint.
    #[must_use]
    pub(crate) fn of_identity(identity: &Identity, services: &[(&str, &str)]) -> Self {
        let id = did::bare(&identity.did).to_owned();
        let key = PublicKey::Ed25519(identity.public_key());
        let fragment = did::key_of(&id).map_or_else(|| "signing".to_owned(), |_| key.multibase());
        let mut methods = vec![Method { id: format!("{id}#{fragment}"), key: Some(key), revoked: None }];
        let signs = vec![methods[0].id.clone()];
        methods.extend(identity.agreement.iter().map(|agreement| Method {
            id: agreement.id.clone(),
            key: Some(PublicKey::X25519(x25519_public(&agreement.private))),
            revoked: None,
        }));
        let services = services.iter().map(|(kind, endpoint)| Service {
            types: vec![(*kind).to_owned()],
            endpoint: Some((*endpoint).to_owned()),
        });
        Self {
            agreement: methods[1..].iter().map(|method| method.id.clone()).collect(),
            services: services.collect(),
            assertion: signs.clone(),
            authentication: signs,
            methods,
            id,
        }
    }

    /// As JSON, with the formats of 2020.
    #[must_use]
    pub(crate) fn json(&self) -> Object {
        let texts = |ids: &[String]| Value::List(ids.iter().map(|id| id.as_str().into()).collect());
        let methods = self.methods.iter().filter_map(|method| Some((method, method.key?))).map(|(method, key)| {
            let kind = match key {
                PublicKey::Ed25519(_) => "Ed25519VerificationKey2020",
                PublicKey::X25519(_) => "X25519KeyAgreementKey2020",
            };
            Value::Object(Object::from([
                ("id", method.id.as_str().into()),
                ("type", kind.into()),
                ("controller", self.id.as_str().into()),
                ("publicKeyMultibase", key.multibase().into()),
            ]))
        });
        let services = self.services.iter().enumerate().map(|(index, service)| {
            Value::Object(Object::from([
                ("id", format!("{}#service-{}", self.id, index + 1).into()),
                ("type", service.types.first().map(String::as_str).into()),
                ("serviceEndpoint", service.endpoint.as_deref().into()),
            ]))
        });
        Object::from([
            ("@context", Value::List(vec!["https://www.w3.org/ns/did/v1".into()])),
            ("id", self.id.as_str().into()),
            ("verificationMethod", Value::List(methods.collect())),
            ("assertionMethod", texts(&self.assertion)),
            ("authentication", texts(&self.authentication)),
            ("keyAgreement", texts(&self.agreement)),
            ("service", Value::List(services.collect())),
        ])
    }

    /// The method with this absolute id.
    #[must_use]
    pub(crate) fn method(&self, id: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.id == id)
    }
}

/// The elements of a list, or a single value as a list of one.
fn entries<'a>(document: &'a Object, name: &str) -> &'a [Value] {
    match document.get(name) {
        Some(Value::List(entries)) => &entries[..entries.len().min(ENTRY_LIMIT)],
        Some(single) => std::slice::from_ref(single),
        None => &[],
    }
}

/// The ids of one relationship; methods that are embedded in it are added to the others (E23).
fn relation(document: &Object, name: &str, did: &str, methods: &mut Vec<Method>, rules: Rules) -> Vec<String> {
    let mut ids = Vec::new();
    for entry in entries(document, name) {
        match entry {
            Value::Text(reference) => ids.push(absolute(reference, did, rules)),
            // E23 (5): a method embedded in the relationship counts like a referenced one.
            Value::Object(_) if !rules.fault.is("key-embedded-ignored") => {
                let method = Method::read(entry, did, rules);
                ids.extend(method.as_ref().map(|method| method.id.clone()));
                methods.extend(method);
            }
            _ => {} // no reference
        }
    }
    ids
}

/// E23 (2): a relative id is a fragment of the DID of the document.
fn absolute(id: &str, did: &str, rules: Rules) -> String {
    if id.starts_with('#') && !rules.fault.is("key-relative-ignored") { format!("{did}{id}") } else { id.to_owned() }
}

impl Method {
    fn read(method: &Value, did: &str, rules: Rules) -> Option<Self> {
        let method = method.as_object()?;
        let id = absolute(method.text("id")?, did, rules);
        let revoked = method.text("revoked").and_then(Instant::parse);
        Some(Self { id, key: key(method, rules), revoked })
    }
}

/// The key of a method in any of the formats of E22, if type and key agree.
fn key(method: &Object, rules: Rules) -> Option<PublicKey> {
    let kind = method.text("type")?;
    let key = if let Some(text) = method.text("publicKeyMultibase") {
        PublicKey::from_multibase(text)
    } else if let Some(text) = method.text("publicKeyBase58") {
        // Leading ones are zero bytes.
        let text = if rules.fault.is("key-base58-zero-dropped") { text.trim_start_matches('1') } else { text };
        let bytes = (text.len() <= 64).then(|| bs58::decode(text).into_vec().ok())??;
        let bytes = <[u8; 32]>::try_from(bytes).ok()?;
        match kind {
            "Ed25519VerificationKey2018" => Some(PublicKey::Ed25519(bytes)),
            "X25519KeyAgreementKey2019" => Some(PublicKey::X25519(bytes)),
            _ => None, // of another curve
        }
    } else {
        jwk(method.get("publicKeyJwk")?.as_object()?, rules)
    }?;
    // E22: the formats that count as Ed25519 and X25519.
    let fits = match kind {
        "Ed25519VerificationKey2018" => {
            !rules.fault.is("key-format-2018-unread") && matches!(key, PublicKey::Ed25519(_))
        }
        "Ed25519VerificationKey2020" => matches!(key, PublicKey::Ed25519(_)),
        "X25519KeyAgreementKey2019" | "X25519KeyAgreementKey2020" => matches!(key, PublicKey::X25519(_)),
        "Multikey" => !rules.fault.is("key-format-multikey-unread"),
        "JsonWebKey" | "JsonWebKey2020" => !rules.fault.is("key-format-jwk-unread"),
        _ => false, // not one of the formats
    };
    fits.then_some(key)
}

/// A key as JSON Web Key (RFC 8037, 2).
fn jwk(jwk: &Object, rules: Rules) -> Option<PublicKey> {
    let standard = rules.fault.is("key-jwk-standard-base64");
    let form = if standard { data_encoding::BASE64_NOPAD } else { data_encoding::BASE64URL_NOPAD };
    let x = form.decode(jwk.text("x")?.as_bytes()).ok()?;
    let key = <[u8; 32]>::try_from(x).ok()?;
    match (jwk.text("kty")?, jwk.text("crv")?) {
        ("OKP", "Ed25519") => Some(PublicKey::Ed25519(key)),
        ("OKP", "X25519") => Some(PublicKey::X25519(key)),
        _ => None, // another curve
    }
}

impl Service {
    fn read(service: &Value) -> Option<Self> {
        let service = service.as_object()?;
        let types = entries(service, "type").iter().filter_map(Value::as_text).map(str::to_owned).collect();
        Some(Self { types, endpoint: service.text("serviceEndpoint").map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_was_written_is_read_again() {
        let rules = Rules::PLAIN;
        for identity in [Identity::of_seed([1; 32]), Identity::new("did:web:a.test".into(), [1; 32], Some([2; 32]))] {
            let document = Document::of_identity(&identity, &[("AgentMessaging", "http://a.test/amp/v1/messages")]);
            assert_eq!(Document::read(&document.json(), rules).as_ref(), Some(&document));
            let mut documents = Documents::default();
            documents.insert(document);
            assert!(documents.resolve(&format!("{}#any", identity.did)).is_some());
        }
        let (did, nobody) = (Identity::of_seed([1; 32]).did, "did:web:nobody.test");
        assert_eq!(Documents::default().resolve(&did).map(|document| document.methods.len()), Some(2));
        assert_eq!(Documents::default().resolve(nobody), None);
    }

    #[test]
    fn a_key_is_read_only_where_type_and_value_agree() {
        let key = |text: &str| {
            let method = crate::json::read(text.as_bytes()).expect("JSON");
            super::key(method.as_object().expect("an object"), Rules::PLAIN)
        };
        let multibase = PublicKey::X25519([7; 32]).multibase();
        let typed = |kind: &str| key(&format!(r#"{{"type":"{kind}","publicKeyMultibase":"{multibase}"}}"#));
        assert_eq!(typed("X25519KeyAgreementKey2020"), Some(PublicKey::X25519([7; 32])));
        assert_eq!(typed("Multikey"), Some(PublicKey::X25519([7; 32])));
        assert_eq!((typed("Ed25519VerificationKey2020"), typed("EcdsaSecp256k1VerificationKey2019")), (None, None));
        let x = data_encoding::BASE64URL_NOPAD.encode(&[7; 32]);
        let jwk = |curve: &str| {
            key(&format!(r#"{{"type":"JsonWebKey","publicKeyJwk":{{"kty":"OKP","crv":"{curve}","x":"{x}"}}}}"#))
        };
        assert_eq!((jwk("Ed25519"), jwk("Ed448")), (Some(PublicKey::Ed25519([7; 32])), None));
        let base58 = bs58::encode([7; 32]).into_string();
        let old = |kind: &str| key(&format!(r#"{{"type":"{kind}","publicKeyBase58":"{base58}"}}"#));
        assert_eq!(old("X25519KeyAgreementKey2019"), Some(PublicKey::X25519([7; 32])));
        assert_eq!(old("JsonWebKey2020"), None);
    }
}
