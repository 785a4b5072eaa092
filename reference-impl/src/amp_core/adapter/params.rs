//! The parameters of methods, read strictly, and their results (binding.md, 10): bytes as hexadecimal digits, CBOR as
//! the hexadecimal digits of its encoding, large numbers as decimal text.

use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;

use crate::amp_core::codes::Code;
use crate::amp_core::did;
use crate::amp_core::document::{Document, Documents};
use crate::amp_core::keys::Identity;
use crate::amp_core::message::{Headers, To};
use crate::amp_core::message_id;
use crate::amp_core::remembered::Remembered;
use crate::amp_core::rules::Rules;
use crate::cbor::{self, Cbor, Limits};
use crate::json::{Number, Object, Value};
use crate::server::adapter::RpcError;

/// The largest integer that a double holds together with all below it.
const EXACT: u64 = (1 << 53) - 1;

pub(crate) fn bad(name: &str, wanted: &str) -> RpcError {
    RpcError::params(format!("{name} must be {wanted}"))
}

pub(crate) fn text<'a>(params: &'a Object, name: &str) -> Result<&'a str, RpcError> {
    params.text(name).ok_or_else(|| bad(name, "a string"))
}

pub(crate) fn object<'a>(params: &'a Object, name: &str) -> Result<&'a Object, RpcError> {
    params.get(name).and_then(Value::as_object).ok_or_else(|| bad(name, "an object"))
}

/// An unsigned integer of 64 bits: a number, or decimal digits in a string.
pub(crate) fn unsigned_value(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_integer().and_then(|integer| u64::try_from(integer).ok()),
        Value::Text(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        _ => None, // no number
    }
}

pub(crate) fn unsigned(params: &Object, name: &str) -> Result<u64, RpcError> {
    optional_unsigned(params, name)?.ok_or_else(|| bad(name, "an unsigned integer"))
}

pub(crate) fn optional_unsigned(params: &Object, name: &str) -> Result<Option<u64>, RpcError> {
    let read = |value| unsigned_value(value).ok_or_else(|| bad(name, "an unsigned integer"));
    params.present(name).map(read).transpose()
}

/// A number in an answer.
pub(crate) fn number(value: u64) -> Value {
    match i64::try_from(value) {
        Ok(small) if value <= EXACT => Value::Number(Number::from(small)),
        _ => Value::Text(value.to_string()),
    }
}

pub(crate) fn bytes_value(value: &Value) -> Option<Vec<u8>> {
    HEXLOWER.decode(value.as_text()?.as_bytes()).ok()
}

pub(crate) fn bytes(params: &Object, name: &str) -> Result<Vec<u8>, RpcError> {
    params.get(name).and_then(bytes_value).ok_or_else(|| bad(name, "hexadecimal digits in lower case and pairs"))
}

pub(crate) fn optional_bytes(params: &Object, name: &str) -> Result<Option<Vec<u8>>, RpcError> {
    params.present(name).map(|_| bytes(params, name)).transpose()
}

/// A key, seed or the like.
pub(crate) fn key(params: &Object, name: &str) -> Result<[u8; 32], RpcError> {
    <[u8; 32]>::try_from(bytes(params, name)?).map_err(|_| bad(name, "32 bytes"))
}

/// Bytes in an answer.
pub(crate) fn hex(bytes: &[u8]) -> Value {
    Value::Text(HEXLOWER.encode(bytes))
}

/// A CBOR value. Invalid CBOR is an invalid parameter here; methods that judge CBOR read it themselves.
pub(crate) fn cbor(params: &Object, name: &str) -> Result<Cbor, RpcError> {
    let read = cbor::read(&bytes(params, name)?, Limits::default());
    read.map(|item| item.value).map_err(|error| bad(name, &format!("one CBOR item: {error}")))
}

/// The same; null if it is absent.
pub(crate) fn optional_cbor(params: &Object, name: &str) -> Result<Option<Cbor>, RpcError> {
    params.present(name).map(|_| cbor(params, name)).transpose()
}

/// `keys`: DID, Ed25519 seed, and perhaps a private X25519 key.
pub(crate) fn identity(params: &Object, name: &str) -> Result<Identity, RpcError> {
    type Keys = (String, [u8; 32], Option<[u8; 32]>);
    static KNOWN: Remembered<Keys, Identity> = Remembered::new();
    let keys = object(params, name)?;
    let did = text(keys, "did")?;
    if !did::is_did(did) {
        return Err(bad("did", "a DID"));
    }
    let private = keys.present("x25519_private").map(|_| key(keys, "x25519_private")).transpose()?;
    let keys = (did.to_owned(), key(keys, "ed25519_seed")?, private);
    Ok(KNOWN.get(keys, |(did, seed, private)| Identity::new(did.clone(), *seed, *private)))
}

/// A DID document that is read.
pub(crate) fn document(value: &Value, rules: Rules) -> Option<Document> {
    Document::read(value.as_object()?, rules)
}

/// `documents`; unreadable ones count as absent.
pub(crate) fn documents(params: &Object, rules: Rules) -> Result<Documents, RpcError> {
    let mut documents = Documents::default();
    let list = match params.present("documents") {
        None => &[],
        Some(value) => value.as_list().ok_or_else(|| bad("documents", "an array"))?,
    };
    for value in list {
        if let Some(document) = document(value, rules) {
            documents.insert(document);
        }
    }
    Ok(documents)
}

/// A list of texts; empty if it is absent.
pub(crate) fn texts(params: &Object, name: &str) -> Result<Vec<String>, RpcError> {
    let wrong = || bad(name, "an array of strings");
    let list = match params.present(name) {
        None => return Ok(Vec::new()),
        Some(value) => value.as_list().ok_or_else(wrong)?,
    };
    list.iter().map(|item| item.as_text().map(str::to_owned).ok_or_else(wrong)).collect()
}

/// `headers`: absent ones are taken from the sender, the clock and random bytes; `v` is 1.
pub(crate) fn headers(params: &Object, sender: Option<&str>, now: u64, rules: Rules) -> Result<Headers, RpcError> {
    let headers = object(params, "headers")?;
    let to = match headers.get("to") {
        Some(Value::Text(did)) => To::One(did.clone()),
        Some(Value::List(_)) => To::Many(texts(headers, "to")?),
        _ => return Err(bad("to", "a string or an array of strings")),
    };
    let from = match headers.present("from") {
        Some(_) => text(headers, "from")?,
        None => sender.ok_or_else(|| bad("from", "a string"))?,
    };
    let ts = optional_unsigned(headers, "ts")?.unwrap_or(now);
    Ok(Headers {
        v: optional_unsigned(headers, "v")?.unwrap_or(1),
        id: optional_bytes(headers, "id")?.unwrap_or_else(|| message_id::fresh(ts, rules)),
        typ: unsigned(headers, "typ")?,
        ts,
        ttl: unsigned(headers, "ttl")?,
        from: from.to_owned(),
        to,
        reply_to: optional_bytes(headers, "reply_to")?,
        thread_id: optional_bytes(headers, "thread_id")?,
    })
}

/// Headers in an answer.
pub(crate) fn shown_headers(headers: &Headers) -> Object {
    let to = match &headers.to {
        To::One(did) => Value::Text(did.clone()),
        To::Many(dids) => Value::List(dids.iter().map(|did| did.as_str().into()).collect()),
    };
    let mut shown = Object::from([
        ("v", number(headers.v)),
        ("id", hex(&headers.id)),
        ("typ", number(headers.typ)),
        ("ts", number(headers.ts)),
        ("ttl", number(headers.ttl)),
        ("from", headers.from.as_str().into()),
        ("to", to),
    ]);
    for (name, value) in [("reply_to", &headers.reply_to), ("thread_id", &headers.thread_id)] {
        if let Some(value) = value {
            shown.set(name, hex(value));
        }
    }
    shown
}

/// A refusal as a result.
pub(super) fn refusal(code: Code) -> Object {
    Object::from([("code", number(code.number()))])
}

/// The clock of the machine, for methods without a time: milliseconds since the Unix epoch.
pub(super) fn system_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
