//! Mutators of the bytes of a message, and of the headers beside it.

use super::super::dice::Dice;
use super::{Subject, edit, hex, number};
use crate::exchange::Transport;
use crate::value::Value;

pub(super) const JSON_TOKENS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\ud83d\\ude00",
    b"\\u00",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"true",
    b"1e400",
    b"-0",
    b"-",
    b"0",
    b"00",
    b".",
    b"e",
    b"9223372036854775808",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x00",
    b"\x0c",
    b"\xc2\xa0",
    b"/**/",
    b"//\n",
    b"'",
    b"NaN",
    b"\r\n",
    b"\n",
];

pub(super) const CBOR_TOKENS: &[&[u8]] = &[
    b"\x00",
    b"\x17",
    b"\x18\x00",
    b"\x18\xff",
    b"\x19\xff\xff",
    b"\x1a\xff\xff\xff\xff",
    b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x1c",
    b"\x1f",
    b"\x20",
    b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x40",
    b"\x58\xff",
    b"\x59\xff\xff",
    b"\x5a\x7f\xff\xff\xff",
    b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x5f",
    b"\x60",
    b"\x61\xff",
    b"\x78\xff",
    b"\x7a\xff\xff\xff\xff",
    b"\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x7f",
    b"\x80",
    b"\x98\xff",
    b"\x9a\xff\xff\xff\xff",
    b"\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x9f",
    b"\xa0",
    b"\xa1",
    b"\xb8\xff",
    b"\xba\xff\xff\xff\xff",
    b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\xbf",
    b"\xc0",
    b"\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00",
    b"\xc2\x40",
    b"\xd8\x18",
    b"\xd9\xd9\xf7",
    b"\xdb\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\xe0",
    b"\xf4",
    b"\xf6",
    b"\xf7",
    b"\xf8\x00",
    b"\xf8\xff",
    b"\xf9\x7e\x00",
    b"\xf9\x7c\x00",
    b"\xfa\x7f\xc0\x00\x00",
    b"\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00",
    b"\xff",
];

fn token(subject: &Subject<'_>, dice: &mut Dice) -> Vec<u8> {
    if dice.one_in(4) {
        let count = 1 + dice.below(4);
        return dice.bytes(count);
    }
    dice.pick(subject.tokens).copied().unwrap_or_default().to_vec()
}

/// An index into the bytes: the head more often, where lengths and types are.
fn index(subject: &Subject<'_>, dice: &mut Dice) -> usize {
    let length = subject.bytes.len();
    if dice.one_in(3) { dice.below(length.min(8)) } else { dice.below(length) }
}

pub(super) fn flip(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    Some(edit("flip", number(index(subject, dice)), [("bit", number(dice.below(8)))]))
}

pub(super) fn truncate(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    Some(edit("truncate", number(dice.below(subject.bytes.len())), []))
}

pub(super) fn insert(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (at, bytes) = (index(subject, dice), token(subject, dice));
    Some(edit("insert", hex(&bytes), [("at", number(at))]))
}

pub(super) fn cut(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    let at = index(subject, dice);
    Some(edit("cut", number(1 + dice.below(4)), [("at", number(at))]))
}

pub(super) fn overwrite(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    (!subject.bytes.is_empty()).then_some(())?;
    let (at, bytes) = (index(subject, dice), token(subject, dice));
    Some(edit("overwrite", hex(&bytes), [("at", number(at))]))
}

pub(super) fn append(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let bytes = if dice.one_in(4) { subject.bytes.to_vec() } else { token(subject, dice) };
    (bytes.len() < 4096).then(|| edit("insert", hex(&bytes), []))
}

/// Many openings of arrays or maps, in front of what is there.
pub(super) fn nest(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    const JSON: &[&[u8]] = &[b"[", b"{\"a\":"];
    const CBOR: &[&[u8]] = &[b"\x81", b"\xa1\x00", b"\xc1", b"\x9f"];
    let kinds = if subject.is_json { JSON } else { CBOR };
    let opening = dice.pick(kinds)?;
    let depth = *dice.pick(&[64, 129, 513, 2000, 12_000])?;
    let at = if dice.one_in(3) { 0 } else { dice.below(subject.bytes.len()) };
    Some(edit("insert", hex(&opening.repeat(depth)), [("at", number(at))]))
}

pub(super) fn header(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
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
    let (name, value) = dice.pick(HEADERS)?;
    Some(edit("header", Value::text(*name), [("to", Value::text(*value))]))
}
