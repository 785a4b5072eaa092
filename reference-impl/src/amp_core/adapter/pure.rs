//! The methods whose answer depends on nothing but their parameters.

use std::time::Duration;

use super::params::{
    bad, bytes, cbor, document, documents, headers, hex, identity, key, number, object, optional_bytes, optional_cbor,
    optional_unsigned, refusal, shown_headers, system_now, text, texts, unsigned, unsigned_value,
};
use crate::amp_core::bodies::Body;
use crate::amp_core::codes::{self, Code};
use crate::amp_core::frame::{self, DEFAULT_MAX_PAYLOAD, Decoder};
use crate::amp_core::key_selection;
use crate::amp_core::keys::{self, Identity};
use crate::amp_core::message::{Content, Message};
use crate::amp_core::receive::{self, Authentic, Recipient};
use crate::amp_core::rejection::Rejection;
use crate::amp_core::retry::{self, LastError};
use crate::amp_core::rules::Rules;
use crate::amp_core::time::MAX_CLOCK_SKEW_MS;
use crate::amp_core::version::VERSIONS;
use crate::amp_core::wrapper::Wrapper;
use crate::amp_core::{ack, batch, build, did, envelope, error, message_id, seal, sig_input, signature, version};
use crate::cbor::{self as wire, Cbor, Limits};
use crate::json::{Object, Value};
use crate::server::adapter::RpcError;

/// Maximum number of ids per call.
const ID_LIMIT: u64 = 100_000;

type Answer = Result<Object, RpcError>;

/// The answer of the method `name`; `None` if it is not one of these.
pub(super) fn call(name: &str, params: &Object, rules: Rules) -> Result<Option<Object>, RpcError> {
    let answer = match name {
        "describe" => Ok(describe_protocol()),
        "public_key" => Ok(Object::from([("public_key", hex(&keys::public_key(&key(params, "seed")?)))])),
        "x25519_public" => Ok(Object::from([("public_key", hex(&keys::x25519_public(&key(params, "private_key")?)))])),
        "x25519_derive" => x25519_derive(params),
        "encode_deterministic" => encode_deterministic(params, rules),
        "sig_input" => signature_input(params, rules),
        "sign" => sign(params),
        "verify" => verify(params, rules),
        "make_id" => make_id(params, rules),
        "build_plain" => build_plain(params, rules),
        "build_encrypted" => build_encrypted(params, rules),
        "box_open" => box_open(params, rules),
        "receive" => receive(params, rules),
        "select_key" => select_key(params, rules),
        "validate_ack" => validate_ack(params, rules),
        "retry_delay" => retry_delay(params, rules),
        "error_info" => error_info(params, rules),
        "error_build" => error_build(params, rules),
        "type_info" => Ok(match codes::type_name(unsigned(params, "typ")?) {
            Some(name) => Object::from([("name", name.into())]),
            None => unknown(),
        }),
        "type_code" => Ok(match codes::type_code(text(params, "name")?) {
            Some(code) => Object::from([("typ", number(code))]),
            None => unknown(),
        }),
        "major" => Ok(match version::major(text(params, "version")?, rules) {
            Some(major) => Object::from([("major", number(major))]),
            None => Object::from([("undefined", true.into())]),
        }),
        "select_version" => select_version(params, rules),
        "batch_split" => batch_split(params, rules),
        "frame_encode" => frame_encode(params, rules),
        "frame_decode" => frame_decode(params, rules),
        "wrapper_decode" => wrapper_decode(params, rules),
        _ => return Ok(None), // a method with state, or unknown
    };
    answer.map(Some)
}

fn unknown() -> Object {
    Object::from([("unknown", true.into())])
}

fn x25519_derive(params: &Object) -> Answer {
    let private = keys::x25519_private_of(&key(params, "ed25519_seed")?);
    Ok(Object::from([("private_key", hex(&private)), ("public_key", hex(&keys::x25519_public(&private)))]))
}

/// 8.1: the deterministic encoding of any one item.
fn encode_deterministic(params: &Object, rules: Rules) -> Answer {
    let Ok(item) = wire::read(&bytes(params, "cbor")?, Limits::default()) else {
        return Ok(refusal(Code::InvalidMessage));
    };
    // 8.1, rule 3: a map with a repeated key has no deterministic encoding.
    if item.form.repeated_key {
        return Ok(refusal(Code::InvalidMessage));
    }
    Ok(Object::from([("cbor", hex(&sig_input::body_bytes(&item.value, rules)))]))
}

/// 8.1: Sig_Input of a message that can be read, or of headers and a body.
fn signature_input(params: &Object, rules: Rules) -> Answer {
    let (headers, ext, body) = if params.present("message").is_some() {
        let bytes = bytes(params, "message")?;
        let message = match envelope::parse(&bytes, rules).or_else(|malformed| signable(&bytes, rules).ok_or(malformed))
        {
            Ok(message) => message,
            Err(malformed) => return Ok(refusal(malformed.code)),
        };
        let body = match message.content {
            Content::Plain { body, .. } => sig_input::body_bytes(&body, rules),
            // 8.6: the body of an encrypted message has to be known from elsewhere.
            Content::Sealed { .. } => match optional_bytes(params, "body")? {
                Some(body) => body,
                None => return Ok(refusal(Code::Unauthorized)),
            },
        };
        (message.headers, message.ext, body)
    } else {
        let body = optional_cbor(params, "body")?.unwrap_or(Cbor::Null);
        (headers(params, None, system_now(), rules)?, None, sig_input::body_bytes(&body, rules))
    };
    let input = sig_input::sig_input(&headers, ext.as_ref(), &body, rules);
    Ok(Object::from([("sig_input", hex(&input))]))
}

/// A message that is invalid only in unsigned parts: without `sig`, or with `enc` in addition to its body. Other:
/// rejected.
fn signable(bytes: &[u8], rules: Rules) -> Option<Message> {
    let mut item = wire::read(bytes, Limits::default()).ok()?.value;
    let Cbor::Map(members) = &mut item else { return None };
    let named = |name: &'static str| move |(key, _): &(Cbor, Cbor)| key.as_text() == Some(name);
    if members.iter().any(named("body")) {
        members.retain(|member| !named("enc")(member));
    }
    if !members.iter().any(named("sig")) {
        members.push(("sig".into(), Cbor::Bytes(vec![0; 64])));
    }
    (!rules.is_other()).then(|| envelope::parse(&wire::encode(&item), rules).ok()).flatten()
}

fn sign(params: &Object) -> Answer {
    let identity = Identity::of_seed(key(params, "seed")?);
    Ok(Object::from([("sig", hex(&signature::sign(&identity, &bytes(params, "data")?)))]))
}

fn verify(params: &Object, rules: Rules) -> Answer {
    let (data, sig) = (bytes(params, "data")?, bytes(params, "sig")?);
    let valid = signature::verify(&key(params, "public_key")?, &data, &sig, rules);
    Ok(Object::from([("valid", valid.into())]))
}

fn make_id(params: &Object, rules: Rules) -> Answer {
    let (ts, count) = (unsigned(params, "ts")?, optional_unsigned(params, "count")?.unwrap_or(1));
    let count = usize::try_from(count.min(ID_LIMIT + 1)).ok().filter(|count| *count as u64 <= ID_LIMIT);
    let count = count.ok_or_else(|| bad("count", "100000 at most"))?;
    let ids = match optional_bytes(params, "random")? {
        Some(random) => {
            let random = <[u8; 8]>::try_from(random).map_err(|_| bad("random", "8 bytes"))?;
            vec![message_id::make(ts, random, rules); count]
        }
        None => message_id::several(ts, count, rules),
    };
    Ok(Object::from([("ids", Value::List(ids.iter().map(|id| hex(id)).collect()))]))
}

fn build_plain(params: &Object, rules: Rules) -> Answer {
    let sender = identity(params, "sender")?;
    let headers = headers(params, Some(&sender.did), system_now(), rules)?;
    let body = optional_cbor(params, "body")?.unwrap_or(Cbor::Null);
    let built = build::plain(&sender, headers, body, optional_cbor(params, "ext")?, rules);
    Ok(Object::from([("message", hex(&built.message)), ("sig_input", hex(&built.sig_input))]))
}

fn build_encrypted(params: &Object, rules: Rules) -> Answer {
    let sender = identity(params, "sender")?;
    let recipient = document(params.get("recipient_document").unwrap_or(&Value::Null), rules);
    let recipient = recipient.ok_or_else(|| bad("recipient_document", "a DID document"))?;
    let headers = headers(params, Some(&sender.did), system_now(), rules)?;
    let body = optional_cbor(params, "body")?.unwrap_or(Cbor::Null);
    let nonce = optional_bytes(params, "nonce")?;
    let built = match build::sealed(&sender, &recipient, headers, &body, nonce, rules) {
        Ok(built) => built,
        Err(code) => return Ok(refusal(code)),
    };
    let (nonce, ciphertext) = built.sealed.unwrap_or_default();
    Ok(Object::from([
        ("message", hex(&built.message)),
        ("sig_input", hex(&built.sig_input)),
        ("plaintext", hex(&built.plaintext)),
        ("nonce", hex(&nonce)),
        ("ciphertext", hex(&ciphertext)),
    ]))
}

fn box_open(params: &Object, rules: Rules) -> Answer {
    let (private, public) = (key(params, "private_key")?, key(params, "public_key")?);
    let (nonce, ciphertext) = (bytes(params, "nonce")?, bytes(params, "ciphertext")?);
    // 8.5.2: a nonce of another length violates the schema. Other, E20: decryption fails.
    if nonce.len() != seal::NONCE_LENGTH && !rules.is_other() {
        return Ok(refusal(Code::InvalidMessage));
    }
    Ok(match seal::open(&private, &public, &nonce, &ciphertext, rules) {
        Ok(plaintext) => Object::from([("plaintext", hex(&plaintext))]),
        Err(seal::BoxError) => refusal(Code::Unauthorized),
    })
}

/// Steps 1 to 11 of E31, without a replay cache; an ACK is held against the message that it acknowledges.
fn receive(params: &Object, rules: Rules) -> Answer {
    let (me, documents) = (identity(params, "self")?, documents(params, rules)?);
    let recipient =
        Recipient { rules, me: &me, documents: &documents, versions: &VERSIONS, now: unsigned(params, "now")? };
    let (message, body) = match receive::receive(&bytes(params, "message")?, recipient) {
        Ok(accepted) => accepted,
        Err(rejection) => return Ok(rejected(&rejection)),
    };
    if let (Body::Ack(ack), Some(original)) = (&body, optional_bytes(params, "original")?) {
        let original = envelope::parse(&original, rules).map_err(|_| bad("original", "a message"))?;
        let relays = texts(params, "trusted_relays")?;
        if let Err(fault) = ack::validate(&message.headers, ack, &original.headers, &relays, rules) {
            return Ok(reject(fault.code, "acknowledgement"));
        }
    }
    Ok(accepted(&message))
}

/// An outcome that accepts.
pub(super) fn accepted(message: &Authentic) -> Object {
    Object::from([
        ("outcome", "accept".into()),
        ("headers", shown_headers(&message.headers).into()),
        ("body", hex(&message.body_bytes)),
        ("encrypted", message.encrypted.into()),
        ("signer", message.signer.as_str().into()),
    ])
}

/// An outcome that rejects.
pub(super) fn rejected(rejection: &Rejection) -> Object {
    reject(rejection.code, rejection.stage.name())
}

fn reject(code: Code, stage: &str) -> Object {
    Object::from([("outcome", "reject".into()), ("code", number(code.number())), ("stage", stage.into())])
}

fn select_key(params: &Object, rules: Rules) -> Answer {
    let did = text(params, "did")?;
    let document = document(params.get("document").unwrap_or(&Value::Null), rules);
    let document = document.filter(|document| document.id == did::bare(did));
    let Some(document) = document else {
        return Ok(refusal(Code::Unauthorized));
    };
    let now = system_now();
    let selected = match text(params, "purpose")? {
        "signature" => key_selection::signature_key(&document, did, now, rules),
        "agreement" => key_selection::agreement_key(&document, now, rules),
        _ => return Err(bad("purpose", "\"signature\" or \"agreement\"")),
    };
    Ok(match selected {
        Ok(selected) => Object::from([("method", selected.method.into()), ("public_key", hex(&selected.public_key))]),
        Err(code) => refusal(code),
    })
}

/// 16.1: whether an ACK counts, signature included.
fn validate_ack(params: &Object, rules: Rules) -> Answer {
    let documents = documents(params, rules)?;
    let original = envelope::parse(&bytes(params, "original")?, rules).map_err(|_| bad("original", "a message"))?;
    let relays = texts(params, "trusted_relays")?;
    // No message is addressed to this identity, and it cannot decrypt any.
    let nobody = Identity::of_seed([0; 32]);
    let recipient =
        Recipient { rules, me: &nobody, documents: &documents, versions: &VERSIONS, now: unsigned(params, "now")? };
    let invalid = |code: Code| {
        Object::from([("valid", false.into()), ("code", number(code.number())), ("action", "reject".into())])
    };
    let message = match receive::for_anybody(&bytes(params, "ack")?, recipient) {
        Ok(message) => message,
        Err(rejection) => return Ok(invalid(rejection.code)),
    };
    let ack = match receive::admit(&message, rules) {
        Ok(Body::Ack(ack)) => ack,
        Ok(_) => return Ok(invalid(Code::InvalidMessage)),
        Err(rejection) => return Ok(invalid(rejection.code)),
    };
    Ok(match ack::validate(&message.headers, &ack, &original.headers, &relays, rules) {
        Ok(()) => Object::from([("valid", true.into())]),
        Err(fault) => invalid(fault.code),
    })
}

fn retry_delay(params: &Object, rules: Rules) -> Answer {
    let attempt = u32::try_from(unsigned(params, "attempt")?).map_err(|_| bad("attempt", "a small number"))?;
    let random = params.get("random").and_then(Value::as_number).map(crate::json::Number::as_f64);
    let random = random.filter(|random| *random >= 0.0).ok_or_else(|| bad("random", "a number from 0 to 0.5"))?;
    let last = params.present("last").map(|_| object(params, "last")).transpose()?;
    let last = last.map(|last| {
        let retry = match last.present("retry") {
            None => None,
            Some(Value::Bool(retry)) => Some(*retry),
            Some(_) => return Err(bad("retry", "true or false")),
        };
        Ok(LastError { code: unsigned(last, "code")?, retry })
    });
    let left = optional_unsigned(params, "ttl_left_ms")?.map(Duration::from_millis);
    Ok(match retry::delay(attempt, random, last.transpose()?, left, rules) {
        Some(wait) => Object::from([("wait_ms", number(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))]),
        None => Object::from([("stop", true.into())]),
    })
}

fn error_info(params: &Object, rules: Rules) -> Answer {
    let Some(code) = Code::from_number(unsigned(params, "code")?) else {
        return Ok(unknown());
    };
    let body = error::body(code, None, rules);
    Ok(Object::from([
        ("name", code.name().into()),
        ("category", body.category.into()),
        ("retry", body.retry.unwrap_or(code.retry()).into()),
    ]))
}

fn error_build(params: &Object, rules: Rules) -> Answer {
    let code = Code::from_number(unsigned(params, "code")?).ok_or_else(|| bad("code", "a standard error"))?;
    let body = error::body(code, optional_cbor(params, "details")?, rules);
    let (sender, reply_to) = (identity(params, "sender")?, optional_bytes(params, "reply_to")?);
    let now = unsigned(params, "now")?;
    let built = error::build(&sender, text(params, "to")?, reply_to.as_deref(), &body, now, rules);
    Ok(Object::from([("message", hex(&built.message))]))
}

fn select_version(params: &Object, rules: Rules) -> Answer {
    let (supported, offered) = (texts(params, "supported")?, texts(params, "offered")?);
    Ok(match version::select(&supported, &offered, rules) {
        Some(selected) => Object::from([("selected", selected.into())]),
        None => Object::from([("rejected", true.into())]),
    })
}

fn batch_split(params: &Object, rules: Rules) -> Answer {
    Ok(match batch::split(&cbor(params, "body")?, rules) {
        Ok(items) => Object::from([("items", Value::List(items.iter().map(|item| hex(item)).collect()))]),
        Err(code) => refusal(code),
    })
}

fn frame_encode(params: &Object, rules: Rules) -> Answer {
    let kind = u8::try_from(unsigned(params, "type")?).map_err(|_| bad("type", "one byte"))?;
    Ok(Object::from([("frame", hex(&frame::encode(kind, &bytes(params, "payload")?, rules)))]))
}

fn frame_decode(params: &Object, rules: Rules) -> Answer {
    let max = params.present("max_size").and_then(unsigned_value).and_then(|max| usize::try_from(max).ok());
    let mut decoder = Decoder::new(max.unwrap_or(DEFAULT_MAX_PAYLOAD), rules);
    decoder.push(&bytes(params, "data")?);
    let mut frames = Vec::new();
    loop {
        match decoder.next() {
            Ok(Some(frame)) => {
                let frame = [("type", number(u64::from(frame.kind))), ("payload", hex(&frame.payload))];
                frames.push(Object::from(frame).into());
            }
            Ok(None) => break,
            // RFC 002, 8.1: framing errors are malformed messages.
            Err(_) => return Ok(refusal(Code::InvalidMessage)),
        }
    }
    Ok(Object::from([("frames", Value::List(frames)), ("rest", hex(decoder.rest()))]))
}

fn wrapper_decode(params: &Object, rules: Rules) -> Answer {
    let wrapper = Wrapper::parse(text(params, "kind")?).ok_or_else(|| bad("kind", "a kind of wrapper"))?;
    Ok(match wrapper.decode(&bytes(params, "cbor")?, rules) {
        Ok(value) => Object::from([("value", hex(&wire::encode(&value)))]),
        Err(code) => refusal(code),
    })
}

/// The self-description of an adapter of this protocol.
fn describe_protocol() -> Object {
    let texts = |texts: &[&str]| Value::List(texts.iter().map(|text| (*text).into()).collect());
    let features = ["batch", "encryption", "did_documents", "stream", "documents", "credentials", "delegation"];
    Object::from([
        ("name", "proofmark-reference".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("claims", texts(&["core", "full", "binding"])),
        ("features", texts(&features)),
        ("versions", Value::List(VERSIONS.iter().map(|version| number(*version)).collect())),
        ("max_clock_skew_ms", number(MAX_CLOCK_SKEW_MS)),
    ])
}
