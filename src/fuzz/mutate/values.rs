//! Mutators of the value that a message is, before or after it is signed.

use super::super::dice::Dice;
use super::{Subject, at, edit, said};
use crate::value::{Path, Value};
use crate::wire::json;

/// Any place, and more often one of the outermost: there are few of them, and each means something to the protocol.
fn place<'s>(subject: &'s Subject<'_>, dice: &mut Dice) -> Option<(&'s Path, &'s Value)> {
    let path = if dice.one_in(2) { dice.pick(&subject.outer) } else { dice.pick(&subject.places) }?;
    Some((path, path.resolve(subject.value?)?))
}

pub(super) fn remove(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, _) = place(subject, dice)?;
    Some(at("remove", path, [], dice))
}

/// Another value close to the one that is there: one more, one less, a bit, a letter, a length.
pub(super) fn near(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, value) = place(subject, dice)?;
    let new = match value {
        Value::Integer(old) => Value::Integer(match dice.below(8) {
            0 => old + 1,
            1 => old - 1,
            2 => -old,
            3 => old * 2,
            4 => old ^ (1 << dice.below(62)),
            // Small numbers are often codes.
            _ => dice.below(256) as i128,
        }),
        Value::Text(old) => Value::Text(near_text(old, dice)),
        Value::Bytes(old) => Value::Bytes(near_bytes(old, dice)),
        Value::Array(old) => {
            let mut items = old.clone();
            match dice.below(3) {
                0 => drop(items.pop()),
                1 => items.extend(old.first().cloned()),
                _ => items.reverse(),
            }
            Value::Array(items)
        }
        Value::Bool(old) => Value::Bool(!old),
        Value::Float(old) => Value::Float(old + 1.0),
        Value::Decimal(old) => Value::Decimal(format!("{old}0").into()),
        Value::Map(old) => {
            let mut members = old.clone();
            members.reverse();
            Value::Map(members)
        }
        Value::Null | Value::Tag(..) | Value::Simple(_) => return None,
    };
    (new != *value).then(|| at("set", path, [said(&new)], dice))
}

fn near_text(old: &str, dice: &mut Dice) -> String {
    let mut letters: Vec<char> = old.chars().collect();
    let index = dice.below(letters.len());
    match dice.below(9) {
        0 => drop(letters.pop()),
        1 => letters.push('x'),
        2 if !letters.is_empty() => letters[index] = '\u{0}',
        3 if !letters.is_empty() => letters[index] = '\u{1f600}',
        4 => letters.push(' '),
        5 => letters.insert(0, ' '),
        6 => return if old.to_ascii_uppercase() == old { old.to_ascii_lowercase() } else { old.to_ascii_uppercase() },
        7 if !letters.is_empty() => letters[index] = char::from(b'0' + u8::try_from(dice.below(75)).unwrap_or(0)),
        // A letter and a mark that other letters are the same as, to some.
        _ => letters.extend(['e', '\u{301}']),
    }
    letters.into_iter().collect()
}

fn near_bytes(old: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = old.to_vec();
    let index = dice.below(bytes.len());
    match dice.below(8) {
        7 => bytes.truncate(index),
        0 => drop(bytes.pop()),
        1 => bytes.push(0),
        2 => bytes.fill(0),
        3 => bytes.fill(0xff),
        4 => bytes.clear(),
        _ if !bytes.is_empty() => bytes[index] ^= 1 << dice.below(8),
        _ => bytes.push(1),
    }
    bytes
}

/// Numbers at the ends of what others hold them in.
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

/// Texts that something is made of where it should not be.
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
    "'; DROP TABLE packages; --",
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

/// Texts that stand in for one that begins like this, where readers take them apart.
const KIN: &[(&str, &[&str])] = &[
    (
        "did:",
        &[
            "did",
            "did:",
            "did::",
            "did:key",
            "did:key:",
            "did:key:z",
            "did:key:z6Mk",
            "did:web:",
            "did:web:a%00b",
            "did:web:[::1]",
            "#",
            "#key-1",
            ":",
        ],
    ),
    ("19", TIMES),
    ("20", TIMES),
    ("sha256:", &["sha256", "sha256:", "sha256:0", "sha512:00", ":"]),
    ("pkg_", &["pkg_", "pkg", "_"]),
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

/// Lengths around which buffers, columns and counters end.
const LENGTHS: &[usize] = &[
    0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 199, 200, 201, 255, 256, 257, 1000, 1024, 4096, 65_535,
    65_536,
];

/// A value that is odd for its type.
pub(super) fn odd(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, value) = place(subject, dice)?;
    let new = match value {
        Value::Integer(_) | Value::Decimal(_) | Value::Float(_) => odd_number(subject, dice),
        Value::Text(old) => match KIN.iter().find(|(start, _)| old.starts_with(start)) {
            Some((_, kin)) if dice.one_in(2) => Value::text(dice.pick(kin).copied().unwrap_or_default()),
            _ => odd_text(dice),
        },
        Value::Bytes(_) => {
            let length = *dice.pick(LENGTHS)?;
            Value::Bytes(if dice.one_in(2) { vec![0; length] } else { dice.bytes(length) })
        }
        Value::Array(items) => {
            let count = *dice.pick(&[0, 1, 2, 100, 1000])?;
            let item = items.first().cloned().unwrap_or(Value::Null);
            Value::Array(vec![item; count])
        }
        Value::Map(_) => Value::Map(Vec::new()),
        Value::Null | Value::Bool(_) | Value::Tag(..) | Value::Simple(_) => Value::Integer(1),
    };
    Some(at("set", path, [said(&new)], dice))
}

fn odd_number(subject: &Subject<'_>, dice: &mut Dice) -> Value {
    let text = dice.pick(NUMBERS).copied().unwrap_or("0");
    let read = json::parse(text.as_bytes()).unwrap_or(Value::Null);
    match (&read, subject.is_json) {
        // CBOR has no number by its spelling.
        (Value::Decimal(text), false) => Value::Float(text.parse().unwrap_or(f64::NAN)),
        (Value::Integer(number), false) if u64::try_from(number.unsigned_abs()).is_err() => Value::Float(f64::NAN),
        _ => read,
    }
}

fn odd_text(dice: &mut Dice) -> Value {
    if dice.one_in(3) {
        let length = if dice.one_in(2) { dice.below(700) } else { dice.pick(LENGTHS).copied().unwrap_or(1) };
        let letter = dice.pick(&["a", "a", "a", "é", "\u{1f600}", "0", "\u{301}"]).copied().unwrap_or("a");
        return Value::Text(letter.repeat(length));
    }
    Value::text(dice.pick(TEXTS).copied().unwrap_or_default())
}

pub(super) fn other_type(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, value) = place(subject, dice)?;
    let mut others = vec![
        Value::Null,
        Value::Bool(true),
        Value::Integer(0),
        Value::text("1"),
        Value::Array(Vec::new()),
        Value::Map(Vec::new()),
        Value::Array(vec![value.clone()]),
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
            Value::Map(vec![(Value::Integer(1), value.clone())]),
            Value::Map(vec![(Value::Null, Value::Null)]),
        ]);
    }
    let new = dice.pick(&others)?;
    Some(at("set", path, [said(new)], dice))
}

/// A value inside many arrays or maps, as deep as readers take it and somewhat deeper.
pub(super) fn nested(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, _) = place(subject, dice)?;
    let depth = *dice.pick(&[8, 20, 60, 100, 120, 200])?;
    let in_maps = dice.one_in(2);
    let mut new = Value::Integer(0);
    for _ in 0..depth {
        new = if in_maps { Value::map([("a", new)]) } else { Value::Array(vec![new]) };
    }
    Some(at("set", path, [said(&new)], dice))
}

/// An array of more items than anybody thinks of.
pub(super) fn wide(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, _) = place(subject, dice)?;
    let count = *dice.pick(&[300, 1000, 2000])?;
    let new = match dice.below(3) {
        0 => Value::Array(vec![Value::text("a"); count]),
        _ => Value::Array((0..count).map(|item| Value::from(item as u64)).collect()),
    };
    Some(at("set", path, [said(&new)], dice))
}

/// Tags of CBOR: times, big numbers, fractions, an item as bytes, a URI, CBOR itself, and numbers that nobody knows.
const TAGS: &[u64] = &[0, 1, 2, 3, 4, 5, 24, 32, 258, 55_799, 65_535, u64::MAX];

/// The same value inside something.
pub(super) fn wrapped(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, value) = place(subject, dice)?;
    let value = value.clone();
    let new = match dice.below(4) {
        0 => Value::Array(vec![value]),
        1 if subject.is_json => Value::map([("value", value)]),
        _ if subject.is_json => Value::Array(vec![value.clone(), value]),
        _ => Value::Tag(*dice.pick(TAGS)?, Box::new(value)),
    };
    Some(at("set", path, [said(&new)], dice))
}

pub(super) fn rename(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, _) = place(subject, dice)?;
    let (_, name) = path.split_last()?;
    name.parse::<usize>().is_err().then_some(())?;
    let new = near_text(name, dice);
    (new != name).then(|| at("rename", path, [("to", Value::Text(new))], dice))
}

pub(super) fn repeat(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, value) = place(subject, dice)?;
    let (_, name) = path.split_last()?;
    name.parse::<usize>().is_err().then_some(())?;
    let new = if dice.one_in(2) { value.clone() } else { odd_text(dice) };
    Some(at("repeat", path, [said(&new)], dice))
}

/// The value of another place.
pub(super) fn foreign(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let (path, value) = place(subject, dice)?;
    let (_, other) = place(subject, dice)?;
    (other != value).then(|| at("set", path, [said(other)], dice))
}

pub(super) fn unknown_member(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let maps: Vec<&Path> = subject
        .places
        .iter()
        .filter(|path| {
            subject.value.and_then(|value| path.resolve(value)).is_some_and(|value| value.as_map().is_some())
        })
        .collect();
    let root = Path::default();
    let path = if dice.one_in(2) { &root } else { dice.pick(&maps).copied().unwrap_or(&root) };
    subject.value?.as_map()?;
    let name = dice.pick(&["x-pm", "", "__proto__", "ext", "constructor", "\u{1f600}", "a/b", "0"]).copied()?;
    let new = if dice.one_in(2) { odd_text(dice) } else { odd_number(subject, dice) };
    Some(at("set", &path.child(name), [said(&new)], dice))
}

/// A member that such messages may have, usual, empty or odd.
pub(super) fn known_member(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    subject.value?.as_map()?;
    let (name, usual) = dice.pick(subject.members)?;
    let new = match dice.below(3) {
        0 => usual.clone(),
        1 => match usual {
            Value::Text(_) => Value::text(""),
            Value::Bytes(_) => Value::Bytes(Vec::new()),
            Value::Array(_) => Value::Array(Vec::new()),
            Value::Map(_) => Value::Map(Vec::new()),
            _ => Value::Null,
        },
        _ if dice.one_in(2) => odd_text(dice),
        _ => odd_number(subject, dice),
    };
    Some(at("set", &Path::default().child(&name.value), [said(&new)], dice))
}

pub(super) fn whole(subject: &Subject<'_>, dice: &mut Dice) -> Option<Value> {
    let value = subject.value?;
    let others = [
        Value::Null,
        Value::Integer(0),
        Value::text(""),
        Value::Array(Vec::new()),
        Value::Map(Vec::new()),
        Value::Array(vec![value.clone()]),
        Value::Bool(false),
    ];
    let (key, text) = said(dice.pick(&others)?);
    let whole = if key == "json" { Value::map([("json", text)]) } else { text };
    Some(edit("whole", whole, [("stage", Value::text("protected"))]))
}
