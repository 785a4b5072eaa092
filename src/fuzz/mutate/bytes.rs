//! Mutators of the bytes of a message, and of its headers.

use super::super::rng::Rng;
use super::subject::{Subject, edit, hex, number};
use crate::exchange::Transport;
use crate::value::Value;

fn token(subject: &Subject<'_>, rng: &mut Rng) -> Vec<u8> {
    if rng.one_in(4) {
        let count = 1 + rng.below(4);
        return rng.bytes(count);
    }
    rng.pick(subject.tokens).copied().unwrap_or_default().to_vec()
}

/// An index into the bytes, more often near the start, where lengths and types are.
fn index(subject: &Subject<'_>, rng: &mut Rng) -> usize {
    let length = subject.bytes.len();
    if rng.one_in(3) { rng.below(length.min(8)) } else { rng.below(length) }
}

pub(super) fn flip(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    Some(edit("flip", number(index(subject, rng)), [("bit", number(rng.below(8)))]))
}

pub(super) fn truncate(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    Some(edit("truncate", number(rng.below(subject.bytes.len())), []))
}

pub(super) fn insert(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (at, bytes) = (index(subject, rng), token(subject, rng));
    Some(edit("insert", hex(&bytes), [("at", number(at))]))
}

pub(super) fn cut(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    let at = index(subject, rng);
    Some(edit("cut", number(1 + rng.below(4)), [("at", number(at))]))
}

pub(super) fn overwrite(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    let (at, bytes) = (index(subject, rng), token(subject, rng));
    Some(edit("overwrite", hex(&bytes), [("at", number(at))]))
}

pub(super) fn append(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let bytes = if rng.one_in(4) { subject.bytes.to_vec() } else { token(subject, rng) };
    (bytes.len() < 4096).then(|| edit("insert", hex(&bytes), []))
}

/// Inserts many openings of arrays or maps at the start.
pub(super) fn nest(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    const JSON: &[&[u8]] = &[b"[", b"{\"a\":"];
    const CBOR: &[&[u8]] = &[b"\x81", b"\xa1\x00", b"\xc1", b"\x9f"];
    let kinds = if subject.is_json { JSON } else { CBOR };
    let opening = rng.pick(kinds)?;
    let depth = *rng.pick(&[64, 129, 513, 2000, 12_000])?;
    let at = if rng.one_in(3) { 0 } else { rng.below(subject.bytes.len()) };
    Some(edit("insert", hex(&opening.repeat(depth)), [("at", number(at))]))
}

pub(super) fn header(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    const HEADERS: &[(&str, &str)] = &[
        ("content-type", "text/plain"),
        ("content-type", "application/json; charset=utf-16"),
        ("content-type", "multipart/form-data"),
        ("content-type", ";"),
        ("content-encoding", "gzip"),
        ("accept", "text/html;q=abc"),
        ("accept", ","),
        ("accept-encoding", "br;q=2"),
        ("accept-language", "-"),
        ("if-match", "*"),
        ("range", "bytes=9999999999999999999-"),
        ("x-forwarded-for", "'"),
        ("cookie", "a=b; ; =; c"),
        ("authorization", "Bearer"),
    ];
    if subject.transport != Transport::Http {
        return None;
    }
    let (name, value) = rng.pick(HEADERS)?;
    Some(edit("header", Value::text(*name), [("to", Value::text(*value))]))
}
