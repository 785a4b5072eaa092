//! From the params of a method to the library and back.

use crate::json::Json;
use crate::{Failure, cbor, rules};

type Answer = Result<Json, Failure>;

const INVALID_PARAMS: i64 = -32602;

fn wrong(name: &str, expected: &str) -> Failure {
    Failure::new(INVALID_PARAMS, format!("{name} must be {expected}"))
}

fn bytes(params: &Json, name: &str) -> Result<Vec<u8>, Failure> {
    params.get(name).and_then(Json::as_bytes).ok_or_else(|| wrong(name, "hex"))
}

fn exactly<const N: usize>(params: &Json, name: &str) -> Result<[u8; N], Failure> {
    bytes(params, name)?.try_into().map_err(|_| wrong(name, &format!("{N} bytes")))
}

fn integer(params: &Json, name: &str) -> Result<i128, Failure> {
    params.get(name).and_then(Json::as_integer).ok_or_else(|| wrong(name, "an integer"))
}

fn text<'p>(params: &'p Json, name: &str) -> Result<&'p str, Failure> {
    params.get(name).and_then(Json::as_str).ok_or_else(|| wrong(name, "a string"))
}

fn texts<'p>(params: &'p Json, name: &str) -> Result<Vec<&'p str>, Failure> {
    let Some(Json::Array(items)) = params.get(name) else { return Err(wrong(name, "a list of strings")) };
    items.iter().map(|item| item.as_str().ok_or_else(|| wrong(name, "a list of strings"))).collect()
}

fn number(value: impl std::fmt::Display) -> Json {
    Json::Number(value.to_string())
}

fn refusal() -> Json {
    Json::object([("code", number(rules::INVALID_MESSAGE))])
}

pub fn describe(_params: &Json) -> Answer {
    Ok(Json::object([
        ("name", Json::text(crate::NAME)),
        ("version", Json::text(crate::VERSION)),
        ("claims", Json::Array(Vec::new())),
        ("features", Json::Array(Vec::new())),
        ("versions", Json::Array(vec![number(1)])),
        ("max_clock_skew_ms", number(30_000)),
    ]))
}

pub fn public_key(params: &Json) -> Answer {
    Ok(Json::object([("public_key", Json::hex(&rules::public_key(&exactly(params, "seed")?)))]))
}

pub fn x25519_public(params: &Json) -> Answer {
    Ok(Json::object([("public_key", Json::hex(&rules::x25519_public(exactly(params, "private_key")?)))]))
}

pub fn x25519_derive(params: &Json) -> Answer {
    let private = rules::x25519_private(&exactly(params, "ed25519_seed")?);
    let public = rules::x25519_public(private);
    Ok(Json::object([("private_key", Json::hex(&private)), ("public_key", Json::hex(&public))]))
}

pub fn encode_deterministic(params: &Json) -> Answer {
    let encoded = cbor::deterministic(&bytes(params, "cbor")?);
    Ok(encoded.map_or_else(refusal, |encoded| Json::object([("cbor", Json::hex(&encoded))])))
}

pub fn sign(params: &Json) -> Answer {
    let signature = rules::sign(&exactly(params, "seed")?, &bytes(params, "data")?);
    Ok(Json::object([("sig", Json::hex(&signature))]))
}

pub fn verify(params: &Json) -> Answer {
    let (key, signature) = (exactly(params, "public_key")?, exactly(params, "sig")?);
    let valid = rules::verify(&key, &bytes(params, "data")?, &signature);
    Ok(Json::object([("valid", Json::Bool(valid))]))
}

pub fn make_id(params: &Json) -> Answer {
    let ts = u64::try_from(integer(params, "ts")?).map_err(|_| wrong("ts", "an unsigned integer"))?;
    let count = if params.get("count").is_some() { integer(params, "count")? } else { 1 };
    let mut ids = Vec::new();
    for _ in 0..count.clamp(0, 100_000) {
        let random = if params.get("random").is_some() {
            exactly(params, "random")?
        } else {
            let mut random = [0; 8];
            getrandom::getrandom(&mut random).map_err(|error| Failure::new(-32603, error.to_string()))?;
            random
        };
        ids.push(Json::hex(&rules::message_id(ts, random)));
    }
    Ok(Json::object([("ids", Json::Array(ids))]))
}

fn unknown() -> Json {
    Json::object([("unknown", Json::Bool(true))])
}

pub fn type_info(params: &Json) -> Answer {
    let typ = integer(params, "typ")?;
    let found = rules::TYPES.iter().find(|(code, _)| *code == typ);
    Ok(found.map_or_else(unknown, |(_, name)| Json::object([("name", Json::text(*name))])))
}

pub fn type_code(params: &Json) -> Answer {
    let wanted = text(params, "name")?;
    let found = rules::TYPES.iter().find(|(_, name)| *name == wanted);
    Ok(found.map_or_else(unknown, |(code, _)| Json::object([("typ", number(code))])))
}

pub fn major(params: &Json) -> Answer {
    Ok(match rules::version(text(params, "version")?) {
        Some(parts) => Json::object([("major", number(parts[0]))]),
        None => Json::object([("undefined", Json::Bool(true))]),
    })
}

pub fn select_version(params: &Json) -> Answer {
    Ok(match rules::select(&texts(params, "supported")?, &texts(params, "offered")?) {
        Some(version) => Json::object([("selected", Json::text(version))]),
        None => Json::object([("rejected", Json::Bool(true))]),
    })
}

pub fn retry_delay(params: &Json) -> Answer {
    let attempt = u32::try_from(integer(params, "attempt")?).map_err(|_| wrong("attempt", "an unsigned integer"))?;
    let jitter = match params.get("random") {
        Some(Json::Number(text)) => text.parse().map_err(|_| wrong("random", "a number"))?,
        None => 0.0,
        Some(_) => return Err(wrong("random", "a number")),
    };
    let last = params.get("last");
    let is_final = match last.and_then(|error| error.get("retry")) {
        Some(retry) => *retry == Json::Bool(false),
        None => {
            last.and_then(|error| error.get("code")?.as_integer()).is_some_and(|code| !rules::RETRIED.contains(&code))
        }
    };
    if is_final {
        return Ok(Json::object([("stop", Json::Bool(true))]));
    }
    let wait = rules::retry_delay(attempt, jitter);
    let left = if params.get("ttl_left_ms").is_some() { Some(integer(params, "ttl_left_ms")?) } else { None };
    Ok(match left {
        Some(left) if i128::from(wait) > left => Json::object([("stop", Json::Bool(true))]),
        _ => Json::object([("wait_ms", number(wait))]),
    })
}

pub fn frame_encode(params: &Json) -> Answer {
    let kind = u8::try_from(integer(params, "type")?).map_err(|_| wrong("type", "a byte"))?;
    let frame = rules::frame(kind, &bytes(params, "payload")?).ok_or_else(|| wrong("payload", "shorter"))?;
    Ok(Json::object([("frame", Json::hex(&frame))]))
}

pub fn frame_decode(params: &Json) -> Answer {
    let data = bytes(params, "data")?;
    let limit = match params.get("max_size") {
        None => rules::MAX_PAYLOAD,
        Some(size) => {
            size.as_integer().and_then(|size| usize::try_from(size).ok()).ok_or_else(|| wrong("max_size", "a size"))?
        }
    };
    let Some((frames, rest)) = rules::frames(&data, limit) else { return Ok(refusal()) };
    let frame = |(kind, payload): (u8, &[u8])| Json::object([("type", number(kind)), ("payload", Json::hex(payload))]);
    Ok(Json::object([("frames", Json::Array(frames.into_iter().map(frame).collect())), ("rest", Json::hex(rest))]))
}
