//! Mutators: edits of a message, thought of at random.
//!
//! Every choice comes from a [`Dice`], which comes from the seed of the campaign and the number of the input: the same
//! numbers make the same input, in whatever order inputs are put. A mutator is a row in [`MUTATORS`].

mod bytes;
mod values;

use super::dice::Dice;
use super::input::Edits;
use crate::exchange::Transport;
use crate::source::Located;
use crate::value::{Path, Value};
use crate::wire::json;
use bytes::{CBOR_TOKENS, JSON_TOKENS, append, cut, flip, header, insert, nest, overwrite, truncate};
use values::{
    foreign, known_member, near, nested, odd, other_type, remove, rename, repeat, unknown_member, whole, wide, wrapped,
};

/// What a mutator sees: the message as it was sent without edits.
pub(super) struct Subject<'a> {
    /// The message as a value, if it is one.
    pub(super) value: Option<&'a Value>,
    /// Its bytes.
    pub(super) bytes: &'a [u8],
    /// What carries it.
    pub(super) transport: Transport,
    /// Members that such a message may have, each with a usual value.
    members: &'a [(Located<String>, Value)],
    /// The places outermost in the value.
    outer: Vec<Path>,
    /// Every place in the value.
    places: Vec<Path>,
    /// What byte-level mutators put in.
    tokens: &'static [&'static [u8]],
    is_json: bool,
}

impl<'a> Subject<'a> {
    /// A message and what it is, if its bytes can be read.
    pub(super) fn new(
        value: Option<&'a Value>,
        bytes: &'a [u8],
        transport: Transport,
        members: &'a [(Located<String>, Value)],
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
            outer,
            places,
            tokens: if is_text { JSON_TOKENS } else { CBOR_TOKENS },
            is_json: is_text,
        }
    }
}

/// Places of a value that are worth a visit.
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

type Mutator = fn(&Subject<'_>, &mut Dice) -> Option<Value>;

/// Every mutator, and how often it is taken in comparison with the others.
const MUTATORS: &[(usize, Mutator)] = &[
    (2, remove),
    (8, near),
    (8, odd),
    (2, nested),
    (2, wide),
    (4, other_type),
    (3, wrapped),
    (2, rename),
    (2, repeat),
    (3, foreign),
    (2, unknown_member),
    (4, known_member),
    (1, whole),
    (3, flip),
    (1, truncate),
    (2, insert),
    (1, cut),
    (3, overwrite),
    (1, append),
    (1, nest),
    (1, header),
];

/// The edits of one input: mostly one, since what two do together is hard to read.
pub(super) fn edits(subject: &Subject<'_>, dice: &mut Dice) -> Edits {
    let count = match dice.below(10) {
        0 => 3,
        1 | 2 => 2,
        _ => 1,
    };
    let total: usize = MUTATORS.iter().map(|(weight, _)| weight).sum();
    let mut edits = Vec::new();
    for _ in 0..count * 8 {
        if edits.len() == count {
            break;
        }
        let mut at = dice.below(total);
        let chosen = MUTATORS.iter().find(|(weight, _)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        edits.extend(chosen.and_then(|(_, mutator)| mutator(subject, dice)));
    }
    edits
}

fn edit(key: &str, value: Value, rest: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut members = vec![(Value::text(key), value)];
    members.extend(rest.into_iter().map(|(name, value)| (Value::text(name), value)));
    Value::Map(members)
}

/// An edit of the value at a place, at either of the stages that values have.
fn at(key: &str, path: &Path, rest: impl IntoIterator<Item = (&'static str, Value)>, dice: &mut Dice) -> Value {
    let mut edit = edit(key, Value::Text(path.to_string()), rest);
    edit.set_member("stage", Value::text(if dice.one_in(2) { "built" } else { "protected" }));
    edit
}

/// A value as an edit says it.
fn said(value: &Value) -> (&'static str, Value) {
    if is_json(value) {
        ("json", Value::Text(escaped(&json::compact(value))))
    } else {
        // The same item whatever it is, also one that no text of YAML could hold.
        let bytes = crate::wire::cbor::write_as(value, crate::wire::cbor::Layout::AsWritten);
        ("to", Value::Text(format!("${{decoded {}}}", data_encoding::HEXLOWER.encode(&bytes))))
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

/// A text that no template is found in.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

fn hex(bytes: &[u8]) -> Value {
    Value::map([("hex", Value::Text(data_encoding::HEXLOWER.encode(bytes)))])
}

fn number(number: usize) -> Value {
    Value::from(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Edit;
    use crate::source::{Problems, Source, parse};

    fn subject() -> (Value, Vec<u8>) {
        let value = json::parse(br#"{"a":"text","n":5,"list":[1,{"b":true}],"empty":null}"#).unwrap();
        let bytes = json::compact(&value).into_bytes();
        (value, bytes)
    }

    #[test]
    fn the_same_numbers_make_the_same_edits() {
        let (value, bytes) = subject();
        let subject = Subject::new(Some(&value), &bytes, Transport::Http, &[]);
        let make = |seed, input| edits(&subject, &mut Dice::new(seed, input));
        let first: Vec<Edits> = (0..200).map(|input| make(7, input)).collect();
        // In another order, too.
        let again: Vec<Edits> = (0..200).rev().map(|input| make(7, input)).collect();
        assert!(first.iter().eq(again.iter().rev()));
        assert!(first.iter().zip(0..).any(|(edits, input)| *edits != make(8, input)));
    }

    #[test]
    fn every_edit_can_be_read_and_every_mutator_makes_some() {
        let (value, bytes) = subject();
        let cbor =
            Value::map([("id", Value::Bytes(vec![1; 16])), ("typ", Value::Integer(16)), ("body", value.clone())]);
        let cbor_bytes = crate::wire::cbor::write(&cbor);
        for (value, bytes) in [(&value, &bytes), (&cbor, &cbor_bytes)] {
            let source = std::sync::Arc::new(Source { name: "m.yaml".into(), text: "a".into() });
            let name = Located { value: "thread".to_owned(), span: parse(&source).unwrap().span };
            let members = [(name, Value::text("usual"))];
            let subject = Subject::new(Some(value), bytes, Transport::Http, &members);
            for (position, (_, mutator)) in MUTATORS.iter().enumerate() {
                let made: Vec<Value> =
                    (0..400).filter_map(|input| mutator(&subject, &mut Dice::new(1, input))).collect();
                assert!(made.len() > 20, "mutator {position} makes {}", made.len());
                for edit in made {
                    let text = crate::fuzz::yaml::write(&edit);
                    let source = std::sync::Arc::new(Source { name: "e.yaml".into(), text: text.clone() });
                    let node = parse(&source).unwrap_or_else(|problems| panic!("{problems:?}: {text}"));
                    let mut problems = Problems::default();
                    let read = Edit::read(&node, &mut problems);
                    assert!(read.is_some() && problems.0.is_empty(), "{:?}: {text}", problems.0);
                }
            }
        }
    }
}
