//! Shared generators from the choices of an input: values, encodings, keys, and pieces of a stream.

use arbitrary::{Result, Unstructured};
use proofmark::value::Value;
use proofmark::wire::cbor::{Floats, Order, Style, Width};

/// The maximum depth of a value.
const DEPTH: usize = 6;

/// A value with all features of CBOR beyond JSON, and [`Value::Decimal`], which is only in JSON.
pub(crate) fn value(u: &mut Unstructured<'_>) -> Result<Value> {
    nested(u, 0)
}

fn nested(u: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    Ok(match u.int_in_range(0..=if depth < DEPTH { 10 } else { 7 })? {
        0 => Value::Null,
        1 => Value::Bool(u.arbitrary()?),
        2 => Value::Integer(u.arbitrary()?),
        3 => Value::Float(u.arbitrary()?),
        4 => Value::Decimal((*u.choose(&["-0", "1e999", "1.50", "5e-1", "1E400", "123e1"])?).into()),
        5 => Value::text(u.arbitrary::<String>()?),
        6 => Value::Bytes(u.arbitrary()?),
        7 => Value::Simple(u.arbitrary()?),
        8 => Value::Tag(u.arbitrary()?, Box::new(nested(u, depth + 1)?)),
        9 => {
            let count = u.int_in_range(0..=4)?;
            Value::Array((0..count).map(|_| nested(u, depth + 1)).collect::<Result<_>>()?)
        }
        _ => {
            let count = u.int_in_range(0..=4)?;
            let member = |u: &mut Unstructured<'_>| Ok((nested(u, depth + 1)?, nested(u, depth + 1)?));
            Value::Map((0..count).map(|_| member(u)).collect::<Result<_>>()?)
        }
    })
}

/// A value that has one deterministic encoding and reads back from it: without JSON-only values and duplicate keys, and
/// with integers, simple values and NaN in their only form on the wire.
pub(crate) fn cbor(u: &mut Unstructured<'_>) -> Result<Value> {
    value(u).map(wire)
}

fn wire(value: Value) -> Value {
    match value {
        Value::Integer(integer) => Value::Integer(integer.rem_euclid(1 << 65) - (1 << 64)),
        Value::Float(float) if float.is_nan() => Value::Float(f64::NAN),
        Value::Decimal(text) => Value::text(&*text),
        Value::Simple(20 | 21 | 22 | 24..=31) => Value::Simple(23),
        Value::Array(items) => Value::Array(items.into_iter().map(wire).collect()),
        Value::Tag(number, content) => Value::Tag(number, Box::new(wire(*content))),
        Value::Map(members) => {
            let mut seen = std::collections::BTreeMap::new();
            for (key, value) in members {
                let key = wire(key);
                seen.insert(proofmark::wire::cbor::write(&key), (key, wire(value)));
            }
            Value::Map(seen.into_values().collect())
        }
        other => other,
    }
}

/// A way to write CBOR.
pub(crate) fn style(u: &mut Unstructured<'_>) -> Result<Style> {
    let width = |u: &mut Unstructured<'_>| Ok(if u.arbitrary()? { Width::Eight } else { Width::Minimal });
    Ok(Style {
        order: *u.choose(&[Order::Bytewise, Order::LengthFirst, Order::Text, Order::Reversed, Order::AsWritten])?,
        integers: width(u)?,
        lengths: width(u)?,
        indefinite: u.arbitrary()?,
        floats: if u.arbitrary()? { Floats::Double } else { Floats::Shortest },
    })
}

/// A text without the characters that YAML accepts only as escapes unknown to JSON.
pub(crate) fn printable(text: &str) -> String {
    let kept = |c: &char| matches!(c, ' '..='~' | '\u{a1}'..='\u{2027}' | '\u{2030}'..='\u{d7ff}' | '\u{e000}'..='\u{fdcf}' | '\u{10000}'..='\u{1fffd}');
    text.chars().filter(kept).collect()
}

/// The bytes in non-empty pieces, most of them short, because the boundaries are tested.
pub(crate) fn pieces<'b>(u: &mut Unstructured<'_>, mut bytes: &'b [u8]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        // Without choices left, the rest is one piece.
        let length = u.int_in_range(0..=16).map_or(bytes.len(), |length: usize| if length == 0 { 1 } else { length });
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// The input as two parts: choices, and bytes that are used unchanged. The first byte gives the number of choices, so
/// that a mutation of one part leaves the other in place.
pub(crate) fn halves(data: &[u8]) -> (Unstructured<'_>, &[u8]) {
    let (length, rest) = data.split_at(data.len().min(1));
    let choices = usize::from(length.first().copied().unwrap_or(0)).min(rest.len());
    let (choices, rest) = rest.split_at(choices);
    (Unstructured::new(choices), rest)
}
