//! `amp-ed25519-verify`, `amp-ed25519-sign`, `amp-public-key`, `amp-box-open` and `amp-select-key`.

use super::common::{
    self, at, bytes, expect, fixed, if_reported, inputs, library_call, must, reading, refusals, refused_call, same,
};
use crate::protocol::amp_core::key_selection::Purpose;
use crate::protocol::amp_core::{document, seal, sign};
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Twin, Vector, VectorResult};
use crate::wire::canonical::Form;

pub(super) struct Verify;

/// TEST 3 of RFC 8032, section 7.1: what a verifier that refuses other signatures must accept.
const SOUND: [(&str, &str); 3] = [
    ("public_key", "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"),
    ("data", "af82"),
    (
        "sig",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed2\
         8dc027beceea1ec40a",
    ),
];

impl Kind for Verify {
    fn name(&self) -> &'static str {
        "amp-ed25519-verify"
    }

    fn summary(&self) -> &'static str {
        "An Ed25519 public key, data and a signature: valid or not."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["public_key", "data", "sig"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let says = |valid| vec![at("/result/valid", "equals", Value::Bool(valid))];
        // A key or signature of another length may also be refused before anything is verified.
        let odd = vector.text("public_key")?.len() != 64 || vector.text("sig")?.len() != 128;
        let refused = at("/result/code", "exists", Value::Bool(true));
        let no =
            vec![reading("not valid", false, says(false)), reading("refused", !odd, vec![refused]), refused_call(!odd)];
        let expect = match (vector.result, vector.strict) {
            (VectorResult::Acceptable, None) => vec![("/result/valid", "type", Value::text("boolean"), false)],
            _ => expect(vector, says(true), no),
        };
        let twin = common::requires_rejection(vector).then(|| Twin {
            with: SOUND.iter().map(|(name, hex)| (*name, Value::text(*hex))).collect(),
            assume: vec![("/result/valid", "equals", Value::Bool(true))],
        });
        Ok(LibraryCall { operation: "verify", with: inputs(vector, self.keys()), expect, twin })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let (data, signature) = (bytes(vector, "data")?, bytes(vector, "sig")?);
        let Ok(key) = fixed::<32>(vector, "public_key") else {
            return must(vector.result == VectorResult::Invalid, "a key of invalid length");
        };
        let flaws = sign::flaws(&key, &data, &signature);
        match vector.result {
            VectorResult::Valid => {
                must(sign::verify_strict(&key, &data, &signature) && flaws.is_empty(), "no valid one")
            }
            VectorResult::Invalid => must(!sign::verify(&key, &data, &signature), "a valid one"),
            VectorResult::Acceptable => must(vector.strict.is_none() || !flaws.is_empty(), "a valid signature"),
        }
    }
}

pub(super) struct Sign;

impl Kind for Sign {
    fn name(&self) -> &'static str {
        "amp-ed25519-sign"
    }

    fn summary(&self) -> &'static str {
        "A seed, data, and their signature, which RFC 8032 determines uniquely."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["seed", "data", "sig"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        Ok(LibraryCall {
            operation: "sign",
            with: inputs(vector, &["seed", "data"]),
            expect: vec![("/result/sig", "equals", Value::text(vector.text("sig")?), false)],
            twin: None,
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        same(vector, "sig", &sign::sign(&fixed(vector, "seed")?, &bytes(vector, "data")?))
    }
}

pub(super) struct PublicKey;

impl Kind for PublicKey {
    fn name(&self) -> &'static str {
        "amp-public-key"
    }

    fn summary(&self) -> &'static str {
        "A secret and the keys that derive from it: Ed25519, X25519, or X25519 from an Ed25519 seed."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["derive", "secret", "private_key", "public_key"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let (operation, input) = match vector.text("derive")? {
            "ed25519" => ("public-key", "seed"),
            "x25519" => ("x25519-public", "private_key"),
            "x25519-from-ed25519" => ("x25519-derive", "ed25519_seed"),
            _ => return Err("derive"),
        };
        let mut expect = vec![("/result/public_key", "equals", Value::text(vector.text("public_key")?), false)];
        if let Some(private) = vector.value("private_key") {
            expect.push(("/result/private_key", "equals", private.clone(), false));
        }
        Ok(LibraryCall { operation, with: vec![(input, Value::text(vector.text("secret")?))], expect, twin: None })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let secret = fixed(vector, "secret")?;
        let public = match vector.text("derive") {
            Ok("ed25519") => sign::public_key(&secret),
            Ok("x25519") => seal::public_key(&secret),
            _ => {
                let private = sign::agreement_private(&secret);
                same(vector, "private_key", &private)?;
                seal::public_key(&private)
            }
        };
        same(vector, "public_key", &public)
    }
}

pub(super) struct BoxOpen;

impl Kind for BoxOpen {
    fn name(&self) -> &'static str {
        "amp-box-open"
    }

    fn summary(&self) -> &'static str {
        "Keys, a nonce and a NaCl box, and its content; a box that does not open is rejected."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["private_key", "public_key", "nonce", "ciphertext", "plaintext", "codes", "tolerate", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let opened = |vector: &Vector| Value::text(vector.text("plaintext").unwrap_or_default());
        let good = vec![at("/result/plaintext", "equals", opened(vector))];
        let expect = expect(vector, good, refusals(vector));
        let names = ["private_key", "public_key", "nonce", "ciphertext"];
        library_call(vector, "box-open", &names, expect, |twin| vec![("/result/plaintext", "equals", opened(twin))])
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let (private, public) = (fixed(vector, "private_key")?, fixed(vector, "public_key")?);
        let opened = seal::open(&private, &public, &bytes(vector, "nonce")?, &bytes(vector, "ciphertext")?);
        match (opened, vector.result) {
            (Ok(plaintext), VectorResult::Valid) => same(vector, "plaintext", &plaintext),
            (_, VectorResult::Acceptable) => must(seal::is_low_order(&public), "a key that is not of low order"),
            (Ok(_), VectorResult::Invalid) => Err("a box that opens".to_owned()),
            (Err(error), VectorResult::Valid) => Err(error.to_string()),
            (Err(_), VectorResult::Invalid) => Ok(()),
        }
    }
}

pub(super) struct SelectKey;

impl Kind for SelectKey {
    fn name(&self) -> &'static str {
        "amp-select-key"
    }

    fn summary(&self) -> &'static str {
        "A DID document, a party and a purpose, and the key that section 8.9 chooses."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["document", "did", "purpose", "method", "written", "public_key", "codes", "tolerate", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let mut good = Vec::new();
        if !common::requires_rejection(vector) {
            let method = vector.text("method")?;
            let mut names = vec![Value::text(method)];
            names.extend(method.split_once('#').map(|(_, fragment)| Value::text(format!("#{fragment}"))));
            names.extend(vector.value("written").cloned());
            good.push(at("/result/public_key", "equals", Value::text(vector.text("public_key")?)));
            good.push(if_reported("/result/method", "one-of", Value::Array(names.into())));
        }
        let expect = expect(vector, good, refusals(vector));
        let chosen = |_: &Vector| vec![("/result/public_key", "type", Value::text("string"))];
        library_call(vector, "select-key", &["document", "did", "purpose"], expect, chosen)
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        // Long after every mark of revocation in the vectors.
        const NOW: i64 = 1_760_000_000_000;
        let document =
            document::read(vector.value("document").ok_or("no document")?).map_err(|error| error.to_string())?;
        let purpose = match vector.text("purpose") {
            Ok("agreement") => Purpose::Agreement,
            _ => Purpose::Signature,
        };
        let party = vector.text("did").map_err(|key| format!("no `{key}`"))?;
        match (document.select(party, purpose, NOW).chosen, vector.text("method")) {
            (Ok(chosen), Ok(method)) if chosen.method == method => same(vector, "public_key", &chosen.public_key),
            (Ok(chosen), _) => Err(format!("chosen {}", chosen.method)),
            (Err(error), Ok(_)) => Err(error.to_string()),
            (Err(_), Err(_)) => Ok(()),
        }
    }
}
