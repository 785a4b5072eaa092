//! The identities that the harness uses (binding section 6). Their keys are public: never trust them elsewhere.

use sha2::{Digest as _, Sha256};

use super::memo::Memo;
use super::multikey::{self, KeyKind};
use super::{did, document, seal, sign};
use crate::value::Value;

/// The identities with a part of their own in the binding.
pub const NAMES: [&str; 6] = ["alice", "bob", "carol", "mallory", "relay", "target"];

/// The number of `hello-N` identities exported for targets that resolve from memory.
pub const HELLO_IDENTITIES: u32 = 32;

/// A party with its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    name: String,
    did: String,
    seed: [u8; 32],
    signing: String,
    agreement: String,
    agreement_private: [u8; 32],
}

/// The seed of a name: SHA-256 of `proofmark/amp-core/identity/<name>`.
pub fn seed_of(name: &str) -> [u8; 32] {
    Sha256::digest(format!("proofmark/amp-core/identity/{name}")).into()
}

/// The X25519 private key of a name as `did:web`: SHA-256 of `proofmark/amp-core/agreement/<name>`.
pub fn agreement_of(name: &str) -> [u8; 32] {
    Sha256::digest(format!("proofmark/amp-core/agreement/{name}")).into()
}

static KNOWN: Memo<String, Identity> = Memo::new();

/// The names of the DIDs of [`KNOWN`].
static NAME_OF: Memo<String, String> = Memo::new();

impl Identity {
    /// The `did:key` identity of a name.
    pub fn named(name: &str) -> Self {
        KNOWN.get(name.to_owned(), || {
            let identity = Self::from_seed(name, seed_of(name));
            NAME_OF.get(identity.did().to_owned(), || name.to_owned());
            identity
        })
    }

    /// The identity of a DID whose name was requested before: a party of a running case.
    pub fn requested(did: &str) -> Option<Self> {
        NAME_OF.known(did).map(|name| Self::named(&name))
    }

    /// A `did:key` identity for one run only: the same seed of the run and the same name give the same one.
    pub fn fresh(run_seed: u64, name: &str) -> Self {
        let mut hash = Sha256::new_with_prefix("proofmark/amp-core/run/");
        hash.update(run_seed.to_be_bytes());
        hash.update(name);
        Self::from_seed(name, hash.finalize().into())
    }

    /// The `did:key` identity of an Ed25519 seed, with the X25519 keys derived from it.
    pub fn from_seed(name: &str, seed: [u8; 32]) -> Self {
        let public_key = sign::public_key(&seed);
        let did = did::of_key(&public_key);
        let agreement_private = sign::agreement_private(&seed);
        let method = |kind, key: &[u8; 32]| format!("{did}#{}", multikey::encode(kind, key));
        Self {
            name: name.to_owned(),
            signing: method(KeyKind::Ed25519, &public_key),
            agreement: method(KeyKind::X25519, &seal::public_key(&agreement_private)),
            did,
            seed,
            agreement_private,
        }
    }

    /// The `did:web` identity of a name at `host`, which may have a port: `did:web:<host>:amp:<name>`.
    ///
    /// The signing key is that of the `did:key` identity; the X25519 key is an own one, so that a target that derives it
    /// instead of reading the document is found out.
    pub fn web(host: &str, name: &str) -> Self {
        Self::with_keys(name, did::web(host, &["amp", name]), seed_of(name), agreement_of(name))
    }

    /// An identity with a DID and keys of the caller; its methods are `#key-1` and `#agreement-1`.
    pub fn with_keys(name: &str, did: String, seed: [u8; 32], agreement_private: [u8; 32]) -> Self {
        Self {
            name: name.to_owned(),
            signing: format!("{did}#key-1"),
            agreement: format!("{did}#agreement-1"),
            did,
            seed,
            agreement_private,
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The DID, without fragment.
    pub fn did(&self) -> &str {
        &self.did
    }

    /// The Ed25519 seed.
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// The Ed25519 public key.
    pub fn public_key(&self) -> [u8; 32] {
        sign::public_key(&self.seed)
    }

    /// The X25519 private key.
    pub fn agreement_private(&self) -> &[u8; 32] {
        &self.agreement_private
    }

    /// The X25519 public key.
    pub fn agreement_public(&self) -> [u8; 32] {
        seal::public_key(&self.agreement_private)
    }

    /// The absolute id of the signing method: the DID URL for a `from` with fragment.
    pub fn signing_method(&self) -> &str {
        &self.signing
    }

    /// The absolute id of the key agreement method.
    pub fn agreement_method(&self) -> &str {
        &self.agreement
    }

    /// Signs bytes, a Sig_Input as a rule.
    pub fn sign(&self, data: &[u8]) -> [u8; 64] {
        sign::sign(&self.seed, data)
    }

    /// Its DID document, with an `AgentMessaging` service if it has an address.
    pub fn document(&self, service: Option<&str>) -> Value {
        let entry = |id: &str, kind, key| document::Entry { id: id.to_owned(), kind, key };
        let signing = entry(&self.signing, KeyKind::Ed25519, self.public_key());
        let agreement = entry(&self.agreement, KeyKind::X25519, self.agreement_public());
        document::plain(&self.did, Some(&signing), Some(&agreement), service)
    }
}

/// The names of the `hello-N` identities.
pub fn hello_names() -> impl Iterator<Item = String> {
    (1..=HELLO_IDENTITIES).map(|number| format!("hello-{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        data_encoding::HEXLOWER.encode(bytes)
    }

    /// The two tables of binding section 6: name, DID, Ed25519 public key, X25519 public key, seed, X25519 private key.
    const TABLE: [[&str; 6]; 6] = [
        [
            "alice",
            "did:key:z6Mkjo1gXcLVm2CxbVPM6d15gij8H3anEdWUFr9iEVNZ3w6r",
            "4f59cf72f4c0a40cd39247711d30da158f8a89686b81e0ee54523dff7f6f17db",
            "a7e33927117642297c73bd2cec601755ecc0a7658076b656f2c61b94a8e50825",
            "46918a243ff3cf322a4ca7599bc2694890ae5240d437f3af6b7fd5f4b4733635",
            "f8132b8ca5d78687b56df38439fae35c53e3bfdbc8dfe66e4005b6d3511fad67",
        ],
        [
            "bob",
            "did:key:z6Mkh4RrL9X4Tei6wX1sFShnH5AT44Xuet6WutGojDAhDs7S",
            "26b9ca28f76eed23594860c2df026fce7e70f28bc6a87da1425c9cc67fb20d7d",
            "687f172ef336abc43ba1330b2a951af2b722c5968422aaaa44fd6e1a9b13c46f",
            "ce2e8ea1d4135d748bff94d5824a7d6befb1ba537a5d882d5956ad3f53bdb992",
            "68c8bf5a84520f8366e394548070fe73ae022795fb2610764aabdc013331d448",
        ],
        [
            "carol",
            "did:key:z6Mkov6LGKrDDk8uYm5SuFJXfFK2C6DcKYxm4qHHwmbKuVw3",
            "8c98e1d7d67b12048a612de58b03a471053c1a4748d69bda4ca15c4d11ffe8ae",
            "a34974fa0ab3184dead62227db7f6ff9b92547913dc3446c40d180458826160a",
            "fe91a44e7974f7045a6225972599ea2e6f3b9e50a2cff5fd8b8fcc98201f72e9",
            "20734587fe015f029250c6bb1e2a0620e382d58d3a569d05f31526158a45c356",
        ],
        [
            "mallory",
            "did:key:z6MkkcaRG8MdLkz2onY5xp154zvSgHE3HHt4zeCUceNywknv",
            "5b891fbc3d1b6500c9c815e986c9774bd52317def420a845daa01821102e0143",
            "4c50b8932546bd88e573af575d703b3f50f3b128a04f88745b4c542849f1fb48",
            "d500a2a164151246470fff8ffc51ca5c3ab055254ce60588b4eb5ac884266645",
            "603940236784b8808c042f6257d0826229ec314fd271318c60101133fcbde471",
        ],
        [
            "relay",
            "did:key:z6MkuvE4Yjdes9VPdRABSofzormCDtvQpPhLuwoozwz7wzVc",
            "e5c7be34350f33fa0eb804536109d73bc39f7b5c13b7d3825318e0f4a46b80ef",
            "5b445805f6aa4366ab53f7fe3dd1b3cc5c72b13eeb7ce6f61344c02efa6a0938",
            "ab6acf2dc90b1460c23104a34538cd2b9cf0f9c6e73a1904ad6114c5abc5b44c",
            "e07e71883bb97899fd9707beae0ba3762d0d7d9ebe90dc9850f253a06d522741",
        ],
        [
            "target",
            "did:key:z6MkpkwHZkknwudMEYhR1tXdi4f3fLPe5oSnT6Kpme6c8F3o",
            "991c1ce6120557213cc035d1c7df934ddf300df3af07cbf113075e879d637142",
            "7ba725c10d008c77176df84308dcadb19e5aa4475a851c895b685581a4132c22",
            "e22bf17c5a3802f5922c1364852ee883d2c512ac441ddb8c71b78e67b0d41890",
            "3879515c57ee8c816c8eac55795670ca5591e4b1a0d73be0cbf05cbaf52c8c4d",
        ],
    ];

    #[test]
    fn the_identities_of_the_binding() {
        for ([name, did, public, agreement, seed, private], expected) in TABLE.into_iter().zip(NAMES) {
            assert_eq!(name, expected);
            let identity = Identity::named(name);
            assert_eq!(identity.did(), did);
            assert_eq!(hex(&identity.public_key()), public);
            assert_eq!(hex(&identity.agreement_public()), agreement);
            assert_eq!(hex(identity.seed()), seed);
            assert_eq!(hex(identity.agreement_private()), private);
            assert_eq!(sign::agreement_public(&identity.public_key()), Some(identity.agreement_public()));
            assert_eq!(identity.signing_method(), format!("{did}#{}", &did["did:key:".len()..]));
            // A resolver expands the DID to the same document that the harness exports.
            assert!(document::expand(did).unwrap().same_as(&identity.document(None)));
        }
    }

    #[test]
    fn web_identities_have_an_agreement_key_of_their_own() {
        let (web, key) = (Identity::web("localhost:8080", "alice"), Identity::named("alice"));
        assert_eq!(web.did(), "did:web:localhost%3A8080:amp:alice");
        assert_eq!(web.public_key(), key.public_key());
        assert_ne!(web.agreement_public(), key.agreement_public());
        assert_eq!(did::web_url(web.did()).unwrap(), "http://localhost:8080/amp/alice/did.json");
        let document = document::read(&web.document(Some("http://localhost:8080/amp/v1/messages"))).unwrap();
        assert_eq!(document.endpoint("AgentMessaging"), Some("http://localhost:8080/amp/v1/messages"));
        let agreement = document.select(web.did(), super::super::key_selection::Purpose::Agreement, 0).chosen.unwrap();
        assert_eq!((agreement.public_key, agreement.method.as_str()), (web.agreement_public(), web.agreement_method()));
    }

    #[test]
    fn fresh_identities_belong_to_a_run() {
        assert_eq!(Identity::fresh(7, "a"), Identity::fresh(7, "a"));
        assert_ne!(Identity::fresh(7, "a").did(), Identity::fresh(8, "a").did());
        assert_ne!(Identity::fresh(7, "a").did(), Identity::fresh(7, "b").did());
        assert_ne!(Identity::fresh(7, "alice").did(), Identity::named("alice").did());
        assert_eq!(hello_names().last().as_deref(), Some("hello-32"));
    }
}
