//! The input of mutators, and how they write edits.

use crate::exchange::Transport;
use crate::fuzz::rng::Rng;
use crate::protocol::Kin;
use crate::source::Located;
use crate::value::{Path, Value};
use crate::wire::json;

/// The input of a mutator: the message without edits.
pub(in crate::fuzz) struct Subject<'a> {
    /// The message as a value, if it is one.
    pub(in crate::fuzz) value: Option<&'a Value>,
    /// Its bytes.
    pub(in crate::fuzz) bytes: &'a [u8],
    /// Its transport.
    pub(in crate::fuzz) transport: Transport,
    /// Members that such a message may have, each with a usual value.
    pub(in crate::fuzz) members: &'a [(Located<String>, Value)],
    /// The top-level places in the value.
    pub(in crate::fuzz) outer: Vec<Path>,
    /// Every place in the value.
    pub(in crate::fuzz) places: Vec<Path>,
    /// Texts of the protocol that replace one with the same beginning.
    pub(in crate::fuzz) kin: &'static [Kin],
    /// Tokens that byte-level mutators insert.
    pub(in crate::fuzz) tokens: &'static [&'static [u8]],
    pub(in crate::fuzz) is_json: bool,
}

impl<'a> Subject<'a> {
    /// A message with its value, if its bytes can be decoded.
    pub(in crate::fuzz) fn new(
        value: Option<&'a Value>,
        bytes: &'a [u8],
        transport: Transport,
        members: &'a [(Located<String>, Value)],
        kin: &'static [Kin],
    ) -> Self {
        let mut places = Vec::new();
        if let Some(value) = value {
            collect(value, &Path::default(), 0, &mut places);
        }
        let is_outer = |path: &&Path| path.split_last().is_some_and(|(before, _)| before == Path::default());
        let outer = places.iter().filter(is_outer).cloned().collect();
        let is_text = std::str::from_utf8(bytes).is_ok_and(|text| text.trim_start().starts_with(['{', '[', '"']));
        Self {
            value,
            bytes,
            transport,
            members,
            kin,
            outer,
            places,
            tokens: if is_text { JSON_TOKENS } else { CBOR_TOKENS },
            is_json: is_text,
        }
    }
}

/// Maximum number of places that are collected.
const PLACES: usize = 400;

fn collect(value: &Value, path: &Path, depth: usize, places: &mut Vec<Path>) {
    if depth > 8 || places.len() >= PLACES {
        return;
    }
    match value {
        Value::Map(members) => {
            for (key, value) in members {
                if let Some(name) = key.as_text() {
                    let at = path.child(name);
                    places.push(at.clone());
                    collect(value, &at, depth + 1, places);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().take(16).enumerate() {
                let at = path.child(index.to_string());
                places.push(at.clone());
                collect(item, &at, depth + 1, places);
            }
        }
        _ => {}
    }
}

pub(super) fn edit(key: &str, value: Value, rest: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut members = vec![(Value::text(key), value)];
    members.extend(rest.into_iter().map(|(name, value)| (Value::text(name), value)));
    Value::Map(members.into())
}

/// An edit of the value at a place, before or after signing.
pub(super) fn at(
    key: &str,
    path: &Path,
    rest: impl IntoIterator<Item = (&'static str, Value)>,
    rng: &mut Rng,
) -> Value {
    let mut edit = edit(key, Value::text(path.to_string()), rest);
    edit.set_member("stage", Value::text(if rng.one_in(2) { "built" } else { "protected" }));
    edit
}

/// A value as an edit writes it.
pub(super) fn written(value: &Value) -> (&'static str, Value) {
    if is_json(value) {
        ("json", Value::text(escaped(&json::compact(value))))
    } else {
        // As bytes, since YAML cannot express every CBOR item.
        let bytes = crate::wire::cbor::write_as(value, crate::wire::cbor::Layout::AsWritten);
        ("to", Value::text(format!("${{decoded {}}}", data_encoding::HEXLOWER.encode(&bytes))))
    }
}

fn is_json(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Decimal(_) | Value::Text(_) => true,
        Value::Array(items) => items.iter().all(is_json),
        Value::Map(members) => members.iter().all(|(key, value)| key.as_text().is_some() && is_json(value)),
        Value::Float(_) | Value::Bytes(_) | Value::Tag(..) | Value::Simple(_) => false,
    }
}

/// A text in which nothing is a template.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

pub(super) fn hex(bytes: &[u8]) -> Value {
    Value::map([("hex", Value::text(data_encoding::HEXLOWER.encode(bytes)))])
}

pub(super) fn number(number: usize) -> Value {
    Value::from(number as u64)
}

const JSON_TOKENS: &[&[u8]] = &[
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

const CBOR_TOKENS: &[&[u8]] = &[
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
