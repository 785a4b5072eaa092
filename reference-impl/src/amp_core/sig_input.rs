//! Sig_Input, the signed bytes (8.1).

use super::message::{Headers, To};
use super::rules::Rules;
use crate::cbor::{Cbor, KeyOrder, Style, encode_as};
use crate::fault::planted;

/// The context string of 8.1.
const CONTEXT: &str = "AMP-v1";

/// The deterministic encoding of a body (8.1).
#[must_use]
pub(crate) fn body_bytes(body: &Cbor, rules: Rules) -> Vec<u8> {
    planted!(rules.fault, "sig-drops-byte-order-marks", return encode_as(&without_marks(body), style(rules)));
    encode_as(body, style(rules))
}

/// The value with no byte order mark at the beginning of a text.
fn without_marks(value: &Cbor) -> Cbor {
    match value {
        Cbor::Text(text) => Cbor::Text(text.trim_start_matches('\u{feff}').to_owned()),
        Cbor::Array(items) => Cbor::Array(items.iter().map(without_marks).collect()),
        Cbor::Map(pairs) => {
            Cbor::Map(pairs.iter().map(|(key, value)| (without_marks(key), without_marks(value))).collect())
        }
        _ => value.clone(),
    }
}

/// 8.1, rules 1 to 4: RFC 8949, 4.2.1.
fn style(rules: Rules) -> Style {
    let fault = rules.fault;
    Style {
        order: match () {
            () if fault.is("sig-length-first-order") => KeyOrder::LengthFirst,
            () if fault.is("sig-body-unsorted") => KeyOrder::AsIs,
            () => KeyOrder::Encoded,
        },
        wide_integers: fault.is("sig-wide-integers"),
        // E11: the shortest float that keeps the value, and never an integer instead.
        wide_floats: fault.is("sig-wide-floats"),
        floats_as_integers: fault.is("sig-floats-as-integers"),
    }
}

/// Sig_Input over headers and the encoded body. `ext` is not in it (8.7).
#[must_use]
pub(crate) fn sig_input(headers: &Headers, ext: Option<&Cbor>, body: &[u8], rules: Rules) -> Vec<u8> {
    let fault = rules.fault;
    // 8.1: the context string separates these bytes from everything else that the key may sign.
    let context = if fault.is("sig-other-context") { "AMP-V1" } else { CONTEXT };
    // 8.1, E13: the protected header is an empty byte string.
    let protected = if fault.is("sig-protected-integer") { Cbor::Unsigned(1) } else { Cbor::Bytes(Vec::new()) };
    // 8.1, E12: the body is a byte string.
    let body = if fault.is("sig-body-inline") { inline(body) } else { body.into() };
    let mut headers = signed_headers(headers, rules);
    // 8.7: ext is not signed.
    planted!(fault, "sig-includes-ext", headers.extend(ext.map(|ext| ("ext".into(), ext.clone()))));
    let style = style(rules);
    // 8.1: the headers are sorted by their encoded keys, as everything that is signed.
    let order = if fault.is("sig-raw-text-order") { KeyOrder::RawText } else { style.order };
    encode_as(&Cbor::Array(vec![context.into(), protected, Cbor::Map(headers), body]), Style { order, ..style })
}

/// The value that the bytes encode; a byte string if they are not CBOR.
fn inline(body: &[u8]) -> Cbor {
    crate::cbor::read(body, crate::cbor::Limits::default()).map_or_else(|_| body.into(), |item| item.value)
}

/// 8.1: the signed headers, without v (E14).
fn signed_headers(headers: &Headers, rules: Rules) -> Vec<(Cbor, Cbor)> {
    let fault = rules.fault;
    let mut signed: Vec<(Cbor, Cbor)> = Vec::new();
    let mut add = |name: &str, value: Cbor| signed.push((name.into(), value));
    add("id", headers.id.as_slice().into());
    // 8.1: typ is signed, so that a message cannot be turned into a request.
    if !fault.is("sig-skip-typ") {
        add("typ", headers.typ.into());
    }
    // 8.1: ts and ttl are signed, so that a relay cannot prolong a life.
    if !fault.is("sig-skip-ts") {
        add("ts", headers.ts.into());
    }
    if !fault.is("sig-skip-ttl") {
        add("ttl", headers.ttl.into());
    }
    add("from", headers.from.as_str().into());
    // 8.1: to is signed, in its form and order.
    if !fault.is("sig-skip-to") {
        add("to", signed_to(&headers.to, rules));
    }
    // 8.1: reply_to and thread_id are signed if they are present, and otherwise left out.
    let absent = || fault.is("sig-null-for-absent").then_some(Cbor::Null);
    let optional = |value: &Option<Vec<u8>>| value.clone().map(Cbor::Bytes).or_else(absent);
    if let Some(reply_to) = optional(&headers.reply_to).filter(|_| !fault.is("sig-skip-reply-to")) {
        add("reply_to", reply_to);
    }
    if let Some(thread_id) = optional(&headers.thread_id).filter(|_| !fault.is("sig-skip-thread-id")) {
        add("thread_id", thread_id);
    }
    planted!(fault, "sig-includes-v", add("v", headers.v.into()));
    signed
}

/// 8.1: `to` as encoded in the message.
fn signed_to(to: &To, rules: Rules) -> Cbor {
    let mut dids = to.all().to_vec();
    planted!(rules.fault, "sig-flatten-single-to", dids.len() == 1 => return To::One(dids.remove(0)).cbor());
    planted!(rules.fault, "sig-sort-recipients", dids.sort());
    let several = dids.len() > 1;
    planted!(rules.fault, "sig-repeated-recipient-dropped", dids.dedup());
    if several { To::Many(dids).cbor() } else { to.cbor() }
}
