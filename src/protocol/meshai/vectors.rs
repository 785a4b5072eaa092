//! Kinds of vectors of this protocol: signatures and tokens (section 7).

use super::hmac::{self, Recipe};
use super::{auth, jwt};
use crate::template::parse_time;
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Twin, Vector, VectorResult};
use crate::wire::canonical::Form;
use crate::wire::json;

/// Every kind.
pub(super) const ALL: &[&dyn Kind] = &[&Signing, &Signature, &Token];

/// A message and the value of its signature.
struct Signing;

impl Kind for Signing {
    fn name(&self) -> &'static str {
        "message-signing"
    }

    fn summary(&self) -> &'static str {
        "An envelope as JSON text, a key, and the HMAC-SHA256 of the message in base64 and hex, by a recipe."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["envelope", "key", "recipe", "size", "base64", "hex"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let raw = vector.text("envelope")?;
        // Only the ruled recipe is one that a library must use, unless its target file declares another.
        let reading = |name: &str, digest: &str, tolerated: bool| {
            Value::map([
                ("reading", Value::text(name)),
                ("tolerated", Value::Bool(tolerated)),
                ("at", Value::text("/reply_headers/signature/value")),
                ("equals", Value::text(digest)),
            ])
        };
        let readings = Value::array([
            reading("base64", vector.text("base64")?, false),
            reading("hexadecimal", vector.text("hex")?, true),
            other_recipe(),
        ]);
        Ok(LibraryCall {
            operation: "sign",
            with: vec![("raw", Value::text(raw)), ("key", Value::text(vector.text("key")?))],
            expect: vec![
                ("", "any-of", readings, false),
                ("/reply_headers/signature/algorithm", "equals", Value::text("HMAC-SHA256"), false),
            ],
            twin: None,
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let envelope = json::parse(vector.text("envelope")?.as_bytes()).map_err(|error| error.to_string())?;
        let message = envelope.member("message").ok_or("the envelope has no message")?;
        let recipe = Recipe::named(vector.text("recipe")?).ok_or("unknown recipe")?;
        let bytes = hmac::signed_bytes(message, recipe);
        if vector.value("size").and_then(Value::as_integer) != i128::try_from(bytes.len()).ok() {
            return Err(format!("{} bytes are signed", bytes.len()));
        }
        let digest = hmac::hmac_sha256(vector.text("key")?.as_bytes(), &bytes);
        let base64 = data_encoding::BASE64.encode(&digest);
        let same = base64 == vector.text("base64")? && data_encoding::HEXLOWER.encode(&digest) == vector.text("hex")?;
        if same { Ok(()) } else { Err(base64) }
    }
}

/// A signed message.
struct Signature;

impl Kind for Signature {
    fn name(&self) -> &'static str {
        "message-signature"
    }

    fn summary(&self) -> &'static str {
        "A signed envelope as JSON text, and a key: whether the signature verifies, by the ruled recipe."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["envelope", "key", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let key = vector.text("key")?;
        let call = |raw: &str| vec![("raw", Value::text(raw)), ("key", Value::text(key))];
        let (raw, valid) = (vector.text("envelope")?, vector.result == VectorResult::Valid);
        let twin = if valid { None } else { Some(vector.text("twin")?) };
        Ok(LibraryCall {
            operation: "verify",
            with: call(raw),
            expect: expect(vector, Some(other_recipe())),
            twin: twin
                .map(|twin| Twin { with: call(twin), assume: vec![("/returned/valid", "equals", Value::Bool(true))] }),
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let envelope = json::parse(vector.text("envelope")?.as_bytes()).map_err(|error| error.to_string())?;
        let message = envelope.member("message").ok_or("the envelope has no message")?;
        let signature = message.member("headers").and_then(|headers| headers.member("signature"));
        let text = |name: &str| signature.and_then(|signature| signature.member(name)).and_then(Value::as_text);
        let digest = hmac::hmac_sha256(vector.text("key")?.as_bytes(), &hmac::signed_bytes(message, Recipe::Jcs));
        let verifies = text("algorithm") == Some("HMAC-SHA256")
            && text("value").and_then(auth::decoded).as_deref() == Some(&digest[..]);
        confirmed(vector, verifies)
    }
}

/// A token.
struct Token;

impl Kind for Token {
    fn name(&self) -> &'static str {
        "token"
    }

    fn summary(&self) -> &'static str {
        "A JWT, a key and an instant: whether the token is valid."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["token", "key", "now", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let (key, now) = (vector.text("key")?, vector.text("now")?);
        let call =
            |token: &str| vec![("token", Value::text(token)), ("key", Value::text(key)), ("now", Value::text(now))];
        let valid = vector.result == VectorResult::Valid;
        let twin = if valid { None } else { Some(vector.text("twin")?) };
        Ok(LibraryCall {
            operation: "check-jwt",
            with: call(vector.text("token")?),
            expect: expect(vector, None),
            twin: twin
                .map(|twin| Twin { with: call(twin), assume: vec![("/returned/valid", "equals", Value::Bool(true))] }),
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let now = parse_time(vector.text("now")?).ok_or("`now` is not a time")?.div_euclid(1_000_000_000);
        let claims = jwt::claims(vector.text("token")?, vector.text("key")?.as_bytes());
        confirmed(vector, claims.is_some_and(|claims| jwt::is_current(&claims, now)))
    }
}

/// The reading of a library whose target file declares another recipe: what its signatures are, the vectors do not say (E71).
fn other_recipe() -> Value {
    Value::map([
        ("reading", Value::text("declared to sign by another recipe")),
        ("at", Value::text("/target/canonical")),
        ("one-of", Value::array([Value::text("python-compact"), Value::text("python-default")])),
    ])
}

/// What a library answers: a result that says so, or for an invalid one also an error of refusal; or the further reading.
fn expect(vector: &Vector, further: Option<Value>) -> Vec<(&'static str, &'static str, Value, bool)> {
    let answered = |valid: bool, reading: &str| {
        Value::map([
            ("reading", Value::text(reading)),
            ("at", Value::text("/returned/valid")),
            ("equals", Value::Bool(valid)),
        ])
    };
    match vector.result {
        VectorResult::Valid => {
            let readings = Value::array([answered(true, "valid")].into_iter().chain(further));
            vec![("", "any-of", readings, false)]
        }
        VectorResult::Invalid => {
            let refused = Value::map([
                ("at", Value::text("/rpc_code")),
                ("one-of", Value::array([Value::Integer(-32001), Value::Integer(-32002)])),
                ("reading", Value::text("an error")),
            ]);
            let readings = [answered(false, "not valid"), refused].into_iter().chain(further);
            vec![("", "any-of", Value::array(readings), false)]
        }
        VectorResult::Acceptable => {
            let strict = vector.strict.is_some_and(|strict| strict == VectorResult::Valid);
            vec![("/returned/valid", "equals", Value::Bool(strict), true)]
        }
    }
}

fn confirmed(vector: &Vector, verifies: bool) -> Result<(), String> {
    let same = match vector.result {
        VectorResult::Valid => verifies,
        VectorResult::Invalid => !verifies,
        VectorResult::Acceptable => true,
    };
    if same { Ok(()) } else { Err(if verifies { "it verifies" } else { "it does not verify" }.to_owned()) }
}
