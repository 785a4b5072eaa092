//! DID documents for tests that `did:key` cannot express (binding section 6): several keys, fallbacks, missing keys.
//!
//! They are under the host `fixtures.proofmark.test`, so a target can be given them beforehand but never fetches them.
//! Their keys come from the seed rule of [`super::identity`], with names of their own.

use std::sync::LazyLock;

use super::document::Entry;
use super::identity::seed_of;
use super::multikey::KeyKind;
use super::{seal, sign};
use crate::value::Value;

/// The host of all fixtures.
pub const HOST: &str = "fixtures.proofmark.test";

/// The names of all fixtures.
pub const NAMES: [&str; 12] = [
    "twokeys",
    "authonly",
    "nokey",
    "p256first",
    "fragments",
    "embedded",
    "relative",
    "twoagree",
    "notlisted",
    "revoked",
    "loworder",
    "smallorder",
];

/// The DID of a fixture.
pub fn did(name: &str) -> String {
    format!("did:web:{HOST}:agent:{name}")
}

/// A key of a fixture, with its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixtureKey {
    /// The fragment of its method.
    pub fragment: &'static str,
    /// The kind of key.
    pub kind: KeyKind,
    /// The public key.
    pub public_key: [u8; 32],
    /// The Ed25519 seed or X25519 private key; `None` for the keys of low order, which have none.
    pub secret: Option<[u8; 32]>,
}

/// A party whose document tests one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixture {
    /// Its name.
    pub name: &'static str,
    /// Its DID.
    pub did: String,
    /// Its document.
    pub document: Value,
    /// All its keys that the protocol can use, in the order of the document.
    pub keys: Vec<FixtureKey>,
}

impl Fixture {
    /// The key of the method with this fragment.
    pub fn key(&self, fragment: &str) -> Option<&FixtureKey> {
        self.keys.iter().find(|key| key.fragment == fragment)
    }

    /// The absolute id of the method with this fragment: the DID URL for a `from`.
    pub fn method(&self, fragment: &str) -> String {
        format!("{}#{fragment}", self.did)
    }
}

fn signing(fragment: &'static str, name: &str) -> FixtureKey {
    let seed = seed_of(name);
    FixtureKey { fragment, kind: KeyKind::Ed25519, public_key: sign::public_key(&seed), secret: Some(seed) }
}

fn agreement(fragment: &'static str, name: &str) -> FixtureKey {
    let secret = sign::agreement_private(&seed_of(name));
    FixtureKey { fragment, kind: KeyKind::X25519, public_key: seal::public_key(&secret), secret: Some(secret) }
}

fn bare(fragment: &'static str, kind: KeyKind, public_key: [u8; 32]) -> FixtureKey {
    FixtureKey { fragment, kind, public_key, secret: None }
}

/// A document under construction: relationships name methods by fragment.
struct Draft {
    did: String,
    keys: Vec<FixtureKey>,
    lists: [&'static [&'static str]; 3],
}

const RELATIONSHIPS: [&str; 3] = ["assertionMethod", "authentication", "keyAgreement"];

impl Draft {
    fn entry(&self, key: &FixtureKey) -> Value {
        let id = format!("{}#{}", self.did, key.fragment);
        Entry { id, kind: key.kind, key: key.public_key }.to_value(&self.did)
    }

    fn document(&self) -> Value {
        let methods = self.keys.iter().map(|key| self.entry(key)).collect();
        let mut members = vec![
            ("@context", Value::array([Value::text("https://www.w3.org/ns/did/v1")])),
            ("id", Value::text(&self.did)),
            ("verificationMethod", Value::Array(methods)),
        ];
        for (name, fragments) in RELATIONSHIPS.into_iter().zip(self.lists) {
            if !fragments.is_empty() {
                let ids = fragments.iter().map(|fragment| Value::text(format!("{}#{fragment}", self.did)));
                members.push((name, Value::Array(ids.collect())));
            }
        }
        Value::map(members)
    }
}

/// The fixture of this name.
pub fn fixture(name: &str) -> Option<Fixture> {
    let name = *NAMES.iter().find(|known| **known == name)?;
    let (keys, lists): (Vec<FixtureKey>, [&'static [&'static str]; 3]) = match name {
        // PM-AMP-86 to 90: in byte order key-10 precedes key-2, and key-1 is not under assertionMethod.
        "twokeys" => (
            vec![signing("key-2", "twokeys-2"), signing("key-10", "twokeys-1"), signing("key-1", "twokeys-3")],
            [&["key-2", "key-10"], &["key-1"], &[]],
        ),
        // PM-AMP-91.
        "authonly" => (vec![signing("key-1", "twokeys-3")], [&[], &["key-1"], &[]]),
        // PM-AMP-92.
        "nokey" => (vec![agreement("agree", "twokeys-3")], [&[], &[], &["agree"]]),
        "p256first" => (vec![signing("key-2", "p256first-1")], [&["key-2"], &[], &[]]),
        // A fragment may name a method that is listed for authentication, not at all, or only for key agreement.
        "fragments" => (
            vec![
                signing("key-1", "fragments-1"),
                signing("auth", "fragments-2"),
                signing("unlisted", "fragments-3"),
                signing("agree-only", "fragments-4"),
                agreement("x-1", "fragments-5"),
            ],
            [&["key-1"], &["auth"], &["agree-only", "x-1"]],
        ),
        "embedded" => {
            (vec![signing("key-1", "embedded-1"), agreement("x-1", "embedded-2")], [&["key-1"], &["key-1"], &["x-1"]])
        }
        "relative" => (
            vec![signing("key-2", "relative-2"), signing("key-1", "relative-1"), agreement("x-1", "relative-3")],
            [&["key-2", "key-1"], &["key-1"], &["x-1"]],
        ),
        // PM-AMP-99 and 100.
        "twoagree" => (
            vec![signing("sig", "twokeys-1"), agreement("x-2", "agree-2"), agreement("x-10", "agree-1")],
            [&["sig"], &[], &["x-2", "x-10"]],
        ),
        "notlisted" => (vec![signing("sig", "twokeys-1"), agreement("x-1", "notlisted-1")], [&["sig"], &[], &[]]),
        "revoked" => (
            vec![signing("key-1", "revoked-1"), signing("key-2", "revoked-2")],
            [&["key-1", "key-2"], &["key-1", "key-2"], &[]],
        ),
        // PM-AMP-101.
        "loworder" => {
            (vec![signing("sig", "twokeys-1"), bare("x-0", KeyKind::X25519, [0; 32])], [&["sig"], &[], &["x-0"]])
        }
        // PM-AMP-102; see `sign::NEUTRAL_SIGNATURE`.
        _ => (vec![bare("sig", KeyKind::Ed25519, sign::NEUTRAL_KEY)], [&["sig"], &[], &[]]),
    };
    let draft = Draft { did: did(name), keys, lists };
    let mut document = draft.document();
    match name {
        "p256first" => add_p256(&mut document, &draft.did),
        "embedded" => embed(&mut document, &draft),
        "relative" => make_relative(&mut document, &draft.did),
        "revoked" => revoke_first(&mut document),
        _ => {}
    }
    Some(Fixture { name, did: draft.did, document, keys: draft.keys })
}

/// All fixtures.
pub fn all() -> Vec<Fixture> {
    static ALL: LazyLock<Vec<Fixture>> = LazyLock::new(|| NAMES.iter().filter_map(|name| fixture(name)).collect());
    ALL.clone()
}

/// A P-256 method with the smallest id, in front of the others. Its key is the base point of the curve.
fn add_p256(document: &mut Value, did: &str) {
    let base64 = |hex: &str| {
        let bytes = data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap_or_default();
        Value::text(data_encoding::BASE64URL_NOPAD.encode(&bytes))
    };
    let key = Value::map([
        ("kty", Value::text("EC")),
        ("crv", Value::text("P-256")),
        ("x", base64("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")),
        ("y", base64("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")),
    ]);
    let id = format!("{did}#key-1");
    let method = Value::map([
        ("id", Value::text(&id)),
        ("type", Value::text("JsonWebKey2020")),
        ("controller", Value::text(did)),
        ("publicKeyJwk", key),
    ]);
    push_front(document, "verificationMethod", method);
    push_front(document, "assertionMethod", Value::text(id));
}

fn push_front(document: &mut Value, list: &str, new: Value) {
    let mut items = document.member(list).and_then(Value::as_array).unwrap_or_default().to_vec();
    items.insert(0, new);
    document.set_member(list, Value::Array(items.into()));
}

/// Moves the methods into the relationships: the first mention holds the method, later ones refer to it.
fn embed(document: &mut Value, draft: &Draft) {
    document.set_member("verificationMethod", Value::Array(Vec::new().into()));
    let mut placed: Vec<&str> = Vec::new();
    for (name, fragments) in RELATIONSHIPS.into_iter().zip(draft.lists) {
        let mut items = Vec::new();
        for fragment in fragments {
            let key = draft.keys.iter().find(|key| key.fragment == *fragment && !placed.contains(fragment));
            items.push(key.map_or_else(|| Value::text(format!("{}#{fragment}", draft.did)), |key| draft.entry(key)));
            placed.push(fragment);
        }
        document.set_member(name, Value::Array(items.into()));
    }
}

/// Cuts the DID from every id, so that only the fragment is left.
fn make_relative(document: &mut Value, did: &str) {
    let cut = |value: &mut Value| {
        if let Value::Text(text) = value
            && let Some(fragment) = text.strip_prefix(did)
        {
            *text = fragment.into();
        }
    };
    let Value::Map(members) = document else { return };
    for (name, list) in members {
        let Value::Array(items) = list else { continue };
        for item in items {
            match name.as_text() {
                Some("verificationMethod") => {
                    if let Some(mut id) = item.member("id").cloned() {
                        cut(&mut id);
                        item.set_member("id", id);
                    }
                }
                Some("@context") => {}
                _ => cut(item),
            }
        }
    }
}

/// Marks the first method as revoked long ago.
fn revoke_first(document: &mut Value) {
    let path = crate::value::Path::default().child("verificationMethod").child("0");
    if let Some(method) = path.resolve_mut(document) {
        method.set_member("revoked", Value::text("2024-01-01T00:00:00Z"));
    }
}

/// What targets that resolve from memory are given: one object, DID to document, of these documents and all fixtures.
pub fn preload(documents: impl IntoIterator<Item = (String, Value)>) -> Value {
    let fixtures = all().into_iter().map(|fixture| (fixture.did, fixture.document));
    Value::map(documents.into_iter().chain(fixtures))
}

#[cfg(test)]
mod tests {
    use super::super::document::read;
    use super::super::key_selection::{NoKey, Purpose, Selection};
    use super::*;

    const NOW: i64 = 1_760_000_000_000;

    fn select(name: &str, fragment: &str, purpose: Purpose) -> (Fixture, Selection) {
        let fixture = fixture(name).unwrap();
        let party = if fragment.is_empty() { fixture.did.clone() } else { fixture.method(fragment) };
        let selection = read(&fixture.document).unwrap().select(&party, purpose, NOW);
        (fixture, selection)
    }

    fn chosen(name: &str, fragment: &str, purpose: Purpose) -> Result<String, NoKey> {
        let (fixture, selection) = select(name, fragment, purpose);
        selection.chosen.map(|candidate| {
            let fragment = candidate.method.split_once('#').unwrap().1.to_owned();
            assert_eq!(fixture.key(&fragment).unwrap().public_key, candidate.public_key);
            fragment
        })
    }

    #[test]
    fn keys_are_chosen_by_the_rulings() {
        use Purpose::{Agreement, Signature};
        for (name, fragment, purpose, expected) in [
            ("twokeys", "", Signature, "key-10"),
            ("twokeys", "key-2", Signature, "key-2"),
            ("twokeys", "key-1", Signature, "key-1"),
            ("authonly", "", Signature, "key-1"),
            ("p256first", "", Signature, "key-2"),
            ("fragments", "", Signature, "key-1"),
            ("fragments", "auth", Signature, "auth"),
            ("fragments", "unlisted", Signature, "unlisted"),
            ("embedded", "", Signature, "key-1"),
            ("embedded", "", Agreement, "x-1"),
            ("relative", "", Signature, "key-1"),
            ("relative", "key-2", Signature, "key-2"),
            ("relative", "", Agreement, "x-1"),
            ("twoagree", "", Agreement, "x-10"),
            ("twoagree", "x-2", Agreement, "x-10"),
            ("revoked", "", Signature, "key-2"),
            ("nokey", "", Agreement, "agree"),
            ("loworder", "", Agreement, "x-0"),
            ("smallorder", "", Signature, "sig"),
        ] {
            assert_eq!(chosen(name, fragment, purpose).as_deref(), Ok(expected), "{name} {fragment}");
        }
        assert!(matches!(chosen("nokey", "", Signature), Err(NoKey::None("Ed25519", _))));
        assert!(matches!(chosen("notlisted", "", Agreement), Err(NoKey::None("X25519", _))));
        assert_eq!(chosen("twokeys", "key-3", Signature), Err(NoKey::NoSuchMethod));
        for (name, fragment) in
            [("fragments", "agree-only"), ("fragments", "x-1"), ("p256first", "key-1"), ("revoked", "key-1")]
        {
            assert!(matches!(chosen(name, fragment, Signature), Err(NoKey::NotEligible(_))), "{name} {fragment}");
        }
    }

    #[test]
    fn other_readings_are_listed_once_each() {
        let (fixture, selection) = select("twokeys", "", Purpose::Signature);
        let others: Vec<_> = selection.others.iter().map(|other| (other.method.clone(), other.reading)).collect();
        assert_eq!(
            others,
            [
                (fixture.method("key-2"), "another assertionMethod than the smallest id"),
                (fixture.method("key-1"), "authentication although assertionMethod has a key")
            ]
        );
        let (_, selection) = select("revoked", "", Purpose::Signature);
        assert_eq!(
            selection.others.iter().map(|other| other.reading).collect::<Vec<_>>(),
            ["a revoked assertionMethod"]
        );
        // Before the revocation the same method is the smallest.
        let revoked = super::fixture("revoked").unwrap();
        let before = read(&revoked.document).unwrap().select(&revoked.did, Purpose::Signature, 0);
        assert_eq!(before.chosen.unwrap().method, revoked.method("key-1"));
        let (fixture, selection) = select("notlisted", "", Purpose::Agreement);
        assert_eq!(selection.others[0].method, fixture.method("x-1"));
        let (_, selection) = select("nokey", "", Purpose::Signature);
        assert_eq!(selection.others, []);
    }

    /// The keys of the documents in PM-AMP-86, 92, 99, 101 and 102.
    #[test]
    fn keys_are_those_of_the_vectors() {
        for (name, fragment, text) in [
            ("twokeys", "key-2", "z6MkifDqBBWJzMwESmDpsuFtZJqfNuo1BYeqKXvERvUHnVut"),
            ("twokeys", "key-10", "z6Mktm57DMeo5BsRHCzNaWXcYhW6gVkBhpSiNmtqVGikdeEa"),
            ("twokeys", "key-1", "z6MkgsHfAoXR7tKZHPuiLkq8UkY75cEURgsomhZXPB46U1Nu"),
            ("authonly", "key-1", "z6MkgsHfAoXR7tKZHPuiLkq8UkY75cEURgsomhZXPB46U1Nu"),
            ("nokey", "agree", "z6LSgGHziYpMc3mHeVLVB38T6bVT5X3ZwxzL8ngexawcwwVR"),
            ("twoagree", "x-2", "z6LScTzaxrN5noAZ4ACnEYaWc8GqYPgkiSC12aNUDJzWac7N"),
            ("twoagree", "x-10", "z6LSfSksjFd726FZnvWaAxCxnqkgEa7BDGYWBKrXZ7dvCNLb"),
            ("loworder", "x-0", "z6LSbgBAXJos6Tik6PNmXeWxKbDUr9Y7hcB9syigVTeXiNmm"),
            ("smallorder", "sig", "z6MkeXATEjyXENzBXBxgC5EHk2JE5aqd7qMGGtDpLUH1e2Sj"),
        ] {
            let fixture = fixture(name).unwrap();
            let key = fixture.key(fragment).unwrap();
            assert_eq!(super::super::multikey::encode(key.kind, &key.public_key), text, "{name} {fragment}");
        }
    }

    #[test]
    fn every_fixture_is_a_document_of_its_own() {
        let all = all();
        assert_eq!(all.len(), NAMES.len());
        for fixture in &all {
            assert_eq!(read(&fixture.document).unwrap().id, fixture.did);
            assert!(super::super::did::is_party(&fixture.did));
        }
        assert_eq!(fixture("none"), None);
        let preloaded = preload([("did:web:a".to_owned(), Value::Null)]);
        assert_eq!(preloaded.as_map().unwrap().len(), NAMES.len() + 1);
        let relative = fixture("relative").unwrap().document;
        assert_eq!(relative.member("assertionMethod").unwrap().as_array().unwrap()[0], Value::text("#key-2"));
    }
}
