//! Mutators of the value of a message, before or after signing.

use super::super::rng::Rng;
use super::subject::{Subject, at, edit, written};
use crate::protocol::Kin;
use crate::value::{Path, Value};
use crate::wire::json;

/// A random place, more often a top-level one, since each of those has a meaning in the protocol.
fn place<'s>(subject: &'s Subject<'_>, rng: &mut Rng) -> Option<(&'s Path, &'s Value)> {
    let path = if rng.one_in(2) { rng.pick(&subject.outer) } else { rng.pick(&subject.places) }?;
    Some((path, path.resolve(subject.value?)?))
}

pub(super) fn remove(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, _) = place(subject, rng)?;
    Some(at("remove", path, [], rng))
}

/// A value close to the current one: one more, one less, a flipped bit, another letter or length.
pub(super) fn near(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, value) = place(subject, rng)?;
    let new = match value {
        Value::Integer(old) => Value::Integer(match rng.below(8) {
            0 => old + 1,
            1 => old - 1,
            2 => -old,
            3 => old * 2,
            4 => old ^ (1 << rng.below(62)),
            // Small numbers are often codes.
            _ => rng.below(256) as i128,
        }),
        Value::Text(old) => Value::text(near_text(old, rng)),
        Value::Bytes(old) => Value::Bytes(near_bytes(old, rng)),
        Value::Array(old) => {
            let mut items = old.clone();
            match rng.below(3) {
                0 => drop(items.pop()),
                1 => items.extend(old.first().cloned()),
                _ => items.make_mut().reverse(),
            }
            Value::Array(items)
        }
        Value::Bool(old) => Value::Bool(!old),
        Value::Float(old) => Value::Float(old + 1.0),
        Value::Decimal(old) => Value::Decimal(format!("{old}0").into()),
        Value::Map(old) => {
            let mut members = old.clone();
            members.make_mut().reverse();
            Value::Map(members)
        }
        Value::Null | Value::Tag(..) | Value::Simple(_) => return None,
    };
    (new != *value).then(|| at("set", path, [written(&new)], rng))
}

fn near_text(old: &str, rng: &mut Rng) -> String {
    let mut letters: Vec<char> = old.chars().collect();
    let index = rng.below(letters.len());
    match rng.below(9) {
        0 => drop(letters.pop()),
        1 => letters.push('x'),
        2 if !letters.is_empty() => letters[index] = '\u{0}',
        3 if !letters.is_empty() => letters[index] = '\u{1f600}',
        4 => letters.push(' '),
        5 => letters.insert(0, ' '),
        6 => return if old.to_ascii_uppercase() == old { old.to_ascii_lowercase() } else { old.to_ascii_uppercase() },
        7 if !letters.is_empty() => letters[index] = char::from(b'0' + u8::try_from(rng.below(75)).unwrap_or(0)),
        // A letter with a combining mark, which some implementations normalise.
        _ => letters.extend(['e', '\u{301}']),
    }
    letters.into_iter().collect()
}

fn near_bytes(old: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = old.to_vec();
    let index = rng.below(bytes.len());
    match rng.below(8) {
        7 => bytes.truncate(index),
        0 => drop(bytes.pop()),
        1 => bytes.push(0),
        2 => bytes.fill(0),
        3 => bytes.fill(0xff),
        4 => bytes.clear(),
        _ if !bytes.is_empty() => bytes[index] ^= 1 << rng.below(8),
        _ => bytes.push(1),
    }
    bytes
}

/// Numbers at the limits of integer and float types.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "32768",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "-0",
    "0.5",
    "1e3",
    "1e-7",
    "1e21",
    "1e308",
    "1e400",
    "-1e400",
    "5e-324",
    "0.1e-9999999",
    "100000000000000000000000000000000000000000",
];

/// Texts that parsers, templates or shells may interpret.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\u{0}",
    "\u{feff}",
    "\u{fffd}",
    "\u{202e}txt",
    "\u{1f469}\u{200d}\u{1f469}",
    "\u{e000}",
    "\u{10ffff}",
    "\u{2028}",
    "a\u{0}b",
    "..",
    "../../../../etc/passwd",
    "%00",
    "%n%n%s",
    "{{7*7}}",
    "$(id)",
    "'; DROP TABLE users; --",
    "<script>",
    "\r\nX-A: b",
    "null",
    "NaN",
    "Infinity",
    "-1",
    "1e999",
    "0x10",
    "true",
    "__proto__",
    "constructor",
    "#",
    "?",
    "/",
    "//",
    "~",
    "~1",
    "x-",
    "x-a",
    "application/x-\u{0}",
];

/// Replacements for a text with this prefix: edge cases of its syntax.
const KIN: &[Kin] = &[
    ("19", TIMES),
    ("20", TIMES),
    ("sha256:", &["sha256", "sha256:", "sha256:0", "sha512:00", ":"]),
    ("application/", &["application", "application/", "/", ";", "application/json;"]),
    ("text/", &["text", "text/", "/", ";"]),
];

const TIMES: &[&str] = &[
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "10000-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-01-02T03:04:05.999999999999Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02",
    "T",
    "Z",
    "-0001-01-01T00:00:00Z",
];

/// Lengths at the limits of buffers, columns and counters.
const LENGTHS: &[usize] = &[
    0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 199, 200, 201, 255, 256, 257, 1000, 1024, 4096, 65_535,
    65_536,
];

/// An unusual value of the same type.
pub(super) fn odd(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, value) = place(subject, rng)?;
    let new = match value {
        Value::Integer(_) | Value::Decimal(_) | Value::Float(_) => odd_number(subject, rng),
        Value::Text(old) => match KIN.iter().chain(subject.kin).find(|(start, _)| old.starts_with(start)) {
            Some((_, kin)) if rng.one_in(2) => Value::text(rng.pick(kin).copied().unwrap_or_default()),
            _ => odd_text(rng),
        },
        Value::Bytes(_) => {
            let length = *rng.pick(LENGTHS)?;
            Value::Bytes(if rng.one_in(2) { vec![0; length] } else { rng.bytes(length) })
        }
        Value::Array(items) => {
            let count = *rng.pick(&[0, 1, 2, 100, 1000])?;
            let item = items.first().cloned().unwrap_or(Value::Null);
            Value::array(vec![item; count])
        }
        Value::Map(_) => Value::Map(Vec::new().into()),
        Value::Null | Value::Bool(_) | Value::Tag(..) | Value::Simple(_) => Value::Integer(1),
    };
    Some(at("set", path, [written(&new)], rng))
}

fn odd_number(subject: &Subject<'_>, rng: &mut Rng) -> Value {
    let text = rng.pick(NUMBERS).copied().unwrap_or("0");
    let read = json::parse(text.as_bytes()).unwrap_or(Value::Null);
    match (&read, subject.is_json) {
        // CBOR has no number by its spelling.
        (Value::Decimal(text), false) => Value::Float(text.parse().unwrap_or(f64::NAN)),
        (Value::Integer(number), false) if u64::try_from(number.unsigned_abs()).is_err() => Value::Float(f64::NAN),
        _ => read,
    }
}

/// An unusual text.
pub(crate) fn odd_text(rng: &mut Rng) -> Value {
    if rng.one_in(3) {
        let length = if rng.one_in(2) { rng.below(700) } else { rng.pick(LENGTHS).copied().unwrap_or(1) };
        let letter = rng.pick(&["a", "a", "a", "é", "\u{1f600}", "0", "\u{301}"]).copied().unwrap_or("a");
        return Value::text(letter.repeat(length));
    }
    Value::text(rng.pick(TEXTS).copied().unwrap_or_default())
}

pub(super) fn other_type(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, value) = place(subject, rng)?;
    let mut others = vec![
        Value::Null,
        Value::Bool(true),
        Value::Integer(0),
        Value::text("1"),
        Value::Array(Vec::new().into()),
        Value::Map(Vec::new().into()),
        Value::array([value.clone()]),
        Value::map([("a", value.clone())]),
    ];
    if !subject.is_json {
        others.extend([
            Value::Float(0.5),
            Value::Float(f64::INFINITY),
            Value::Bytes(Vec::new()),
            Value::Tag(24, Box::new(value.clone())),
            Value::Tag(2, Box::new(Value::Bytes(vec![1; 9]))),
            Value::Simple(23),
            Value::Simple(255),
            Value::Map(vec![(Value::Integer(1), value.clone())].into()),
            Value::Map(vec![(Value::Null, Value::Null)].into()),
        ]);
    }
    let new = rng.pick(&others)?;
    Some(at("set", path, [written(new)], rng))
}

/// A value inside many arrays or maps, at and beyond the depth limits of decoders.
pub(super) fn nested(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, _) = place(subject, rng)?;
    let depth = *rng.pick(&[8, 20, 60, 100, 120, 200])?;
    let in_maps = rng.one_in(2);
    let mut new = Value::Integer(0);
    for _ in 0..depth {
        new = if in_maps { Value::map([("a", new)]) } else { Value::array([new]) };
    }
    Some(at("set", path, [written(&new)], rng))
}

/// An array with very many items.
pub(super) fn wide(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, _) = place(subject, rng)?;
    let count = *rng.pick(&[300, 1000, 2000])?;
    let new = match rng.below(3) {
        0 => Value::array(vec![Value::text("a"); count]),
        _ => Value::Array((0..count).map(|item| Value::from(item as u64)).collect()),
    };
    Some(at("set", path, [written(&new)], rng))
}

/// Tags of CBOR: times, big numbers, fractions, an item as bytes, a URI, CBOR itself, and unassigned numbers.
const TAGS: &[u64] = &[0, 1, 2, 3, 4, 5, 24, 32, 258, 55_799, 65_535, u64::MAX];

/// The same value inside an array, a map or a tag.
pub(super) fn wrapped(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, value) = place(subject, rng)?;
    let value = value.clone();
    let new = match rng.below(4) {
        0 => Value::array([value]),
        1 if subject.is_json => Value::map([("value", value)]),
        _ if subject.is_json => Value::array([value.clone(), value]),
        _ => Value::Tag(*rng.pick(TAGS)?, Box::new(value)),
    };
    Some(at("set", path, [written(&new)], rng))
}

pub(super) fn rename(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, _) = place(subject, rng)?;
    let (_, name) = path.split_last()?;
    name.parse::<usize>().is_err().then_some(())?;
    let new = near_text(name, rng);
    (new != name).then(|| at("rename", path, [("to", Value::text(new))], rng))
}

pub(super) fn repeat(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, value) = place(subject, rng)?;
    let (_, name) = path.split_last()?;
    name.parse::<usize>().is_err().then_some(())?;
    let new = if rng.one_in(2) { value.clone() } else { odd_text(rng) };
    Some(at("duplicate", path, [written(&new)], rng))
}

/// The value of another place.
pub(super) fn foreign(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let (path, value) = place(subject, rng)?;
    let (_, other) = place(subject, rng)?;
    (other != value).then(|| at("set", path, [written(other)], rng))
}

pub(super) fn unknown_member(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let maps: Vec<&Path> = subject
        .places
        .iter()
        .filter(|path| {
            subject.value.and_then(|value| path.resolve(value)).is_some_and(|value| value.as_map().is_some())
        })
        .collect();
    let root = Path::default();
    let path = if rng.one_in(2) { &root } else { rng.pick(&maps).copied().unwrap_or(&root) };
    subject.value?.as_map()?;
    let name = rng.pick(&["x-pm", "", "__proto__", "ext", "constructor", "\u{1f600}", "a/b", "0"]).copied()?;
    let new = if rng.one_in(2) { odd_text(rng) } else { odd_number(subject, rng) };
    Some(at("set", &path.child(name), [written(&new)], rng))
}

/// A member that such messages may have, with a usual, empty or unusual value.
pub(super) fn known_member(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    subject.value?.as_map()?;
    let (name, usual) = rng.pick(subject.members)?;
    let new = match rng.below(3) {
        0 => usual.clone(),
        1 => match usual {
            Value::Text(_) => Value::text(""),
            Value::Bytes(_) => Value::Bytes(Vec::new()),
            Value::Array(_) => Value::Array(Vec::new().into()),
            Value::Map(_) => Value::Map(Vec::new().into()),
            _ => Value::Null,
        },
        _ if rng.one_in(2) => odd_text(rng),
        _ => odd_number(subject, rng),
    };
    Some(at("set", &Path::default().child(&name.value), [written(&new)], rng))
}

pub(super) fn whole(subject: &Subject<'_>, rng: &mut Rng) -> Option<Value> {
    let value = subject.value?;
    let others = [
        Value::Null,
        Value::Integer(0),
        Value::text(""),
        Value::Array(Vec::new().into()),
        Value::Map(Vec::new().into()),
        Value::array([value.clone()]),
        Value::Bool(false),
    ];
    let (key, text) = written(rng.pick(&others)?);
    let whole = if key == "json" { Value::map([("json", text)]) } else { text };
    Some(edit("replace-message", whole, [("stage", Value::text("protected"))]))
}
