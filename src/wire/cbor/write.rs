//! Encodes values into bytes: the deterministic encoding, and others.

use super::{float, head};
use crate::value::Value;

/// Common encodings of a value. All of them represent the same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Core deterministic encoding, RFC 8949 section 4.2.1.
    #[default]
    Deterministic,
    /// Deterministic, but members in the order of the value.
    AsWritten,
    /// Deterministic, but every integer and tag number in a head of nine bytes.
    WideIntegers,
    /// Deterministic, but every length in a head of nine bytes.
    WideLengths,
    /// Deterministic, but every string, array and map of indefinite length; strings in two chunks where they can be
    /// split.
    Indefinite,
    /// Keys in the length-first order of RFC 8949 section 4.2.3.
    LengthFirst,
    /// Keys ordered by their raw text, without their heads.
    TextOrder,
    /// Deterministic, but the keys of every map in reverse.
    Reversed,
    /// Deterministic, but every float in eight bytes.
    WideFloats,
}

impl Layout {
    /// All layouts, the deterministic one first.
    pub const ALL: [Self; 9] = [
        Self::Deterministic,
        Self::AsWritten,
        Self::WideIntegers,
        Self::WideLengths,
        Self::Indefinite,
        Self::LengthFirst,
        Self::TextOrder,
        Self::Reversed,
        Self::WideFloats,
    ];

    /// The style of this layout.
    pub fn style(self) -> Style {
        let plain = Style::default();
        match self {
            Self::Deterministic => plain,
            Self::AsWritten => Style { order: Order::AsWritten, ..plain },
            Self::WideIntegers => Style { integers: Width::Eight, ..plain },
            Self::WideLengths => Style { lengths: Width::Eight, ..plain },
            Self::Indefinite => Style { indefinite: true, ..plain },
            Self::LengthFirst => Style { order: Order::LengthFirst, ..plain },
            Self::TextOrder => Style { order: Order::Text, ..plain },
            Self::Reversed => Style { order: Order::Reversed, ..plain },
            Self::WideFloats => Style { floats: Floats::Double, ..plain },
        }
    }
}

/// Every choice of an encoder. The default is the core deterministic encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The order of map members. Members with equal keys keep their order, except in the reverse order.
    pub order: Order,
    /// The width of integers and tag numbers.
    pub integers: Width,
    /// The width of lengths of strings, arrays and maps.
    pub lengths: Width,
    /// Whether strings, arrays and maps are of indefinite length; `lengths` then applies to chunks.
    pub indefinite: bool,
    /// The width of floats.
    pub floats: Floats,
}

/// The order of map members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Bytewise by encoded key, RFC 8949 section 4.2.1.
    #[default]
    Bytewise,
    /// Shorter encoded keys first, then bytewise, RFC 8949 section 4.2.3.
    LengthFirst,
    /// Bytewise by the text of the key, without its head; integers by their decimal digits.
    Text,
    /// Bytewise by encoded key, the largest first.
    Reversed,
    /// As in the value.
    AsWritten,
}

/// The width of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// As few bytes as possible.
    #[default]
    Minimal,
    /// An argument of eight bytes, always.
    Eight,
}

/// The width of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Floats {
    /// The shortest form that keeps the value, and `f97e00` for NaN.
    #[default]
    Shortest,
    /// Eight bytes, always.
    Double,
}

/// A key and its value.
type Member = (Value, Value);

/// Writes a value in the core deterministic encoding (RFC 8949 section 4.2.1).
///
/// Members with equal keys stay together in their order. Integers beyond 64 bits become bignums (tags 2 and 3).
/// A [`Value::Decimal`], which only JSON has, becomes an integer if it is whole and a float otherwise. A
/// [`Value::Simple`] from 24 to 31 has no well-formed encoding and is written in two bytes anyway.
pub fn write(value: &Value) -> Vec<u8> {
    write_styled(value, Style::default())
}

/// Writes a value in one of the common layouts.
pub fn write_as(value: &Value, layout: Layout) -> Vec<u8> {
    write_styled(value, layout.style())
}

/// Writes a value in the given style.
pub fn write_styled(value: &Value, style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out, value, style);
    out
}

fn encode(out: &mut Vec<u8>, value: &Value, style: Style) {
    let wide = style.integers == Width::Eight;
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(false) => out.push(0xf4),
        Value::Bool(true) => out.push(0xf5),
        Value::Simple(number) if *number < 24 => out.push(0xe0 | number),
        Value::Simple(number) => out.extend([0xf8, *number]),
        Value::Integer(integer) => encode_integer(out, *integer, style),
        Value::Float(float) => encode_float(out, *float, style),
        Value::Decimal(_) => match (value.as_integer(), value.as_f64()) {
            (Some(integer), _) => encode_integer(out, integer, style),
            (None, float) => encode_float(out, float.unwrap_or(f64::NAN), style),
        },
        Value::Bytes(bytes) => encode_string(out, 2, bytes, bytes.len() / 2, style),
        Value::Text(text) => encode_string(out, 3, text.as_bytes(), text.floor_char_boundary(text.len() / 2), style),
        Value::Array(items) => {
            open(out, 4, items.len(), style);
            items.iter().for_each(|item| encode(out, item, style));
            close(out, style);
        }
        Value::Map(members) => {
            open(out, 5, members.len(), style);
            for (written, (key, value)) in ordered(members, style) {
                match written {
                    Some(written) => out.extend(written),
                    None => encode(out, key, style),
                }
                encode(out, value, style);
            }
            close(out, style);
        }
        Value::Tag(number, content) => {
            head::append(out, 6, *number, wide);
            encode(out, content, style);
        }
    }
}

fn encode_integer(out: &mut Vec<u8>, integer: i128, style: Style) {
    let wide = style.integers == Width::Eight;
    let (major, argument) = if integer < 0 { (1, !integer) } else { (0, integer) };
    match u64::try_from(argument) {
        Ok(argument) => head::append(out, major, argument, wide),
        Err(_) => {
            let bytes = argument.to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            head::append(out, 6, 2 + u64::from(major), wide);
            encode_string(out, 2, &bytes[zeros..], 0, Style { indefinite: false, ..style });
        }
    }
}

fn encode_float(out: &mut Vec<u8>, number: f64, style: Style) {
    let width = if style.floats == Floats::Double { 8 } else { float::shortest(number) };
    let half = if number.is_nan() { Some(0x7e00) } else { float::to_half(number) };
    match (width, half, float::to_single(number)) {
        (2, Some(half), _) => {
            out.push(0xf9);
            out.extend(half.to_be_bytes());
        }
        (4, _, Some(single)) => {
            out.push(0xfa);
            out.extend(single.to_be_bytes());
        }
        _ => {
            out.push(0xfb);
            out.extend(number.to_be_bytes());
        }
    }
}

/// `cut` is the index at which a string of indefinite length is split.
fn encode_string(out: &mut Vec<u8>, major: u8, bytes: &[u8], cut: usize, style: Style) {
    let wide = style.lengths == Width::Eight;
    let chunk = |out: &mut Vec<u8>, bytes: &[u8]| {
        head::append(out, major, bytes.len() as u64, wide);
        out.extend_from_slice(bytes);
    };
    if !style.indefinite {
        return chunk(out, bytes);
    }
    out.push(major << 5 | head::INDEFINITE);
    let (front, back) = bytes.split_at(cut);
    [front, back].into_iter().filter(|part| !part.is_empty()).for_each(|part| chunk(out, part));
    out.push(0xff);
}

fn open(out: &mut Vec<u8>, major: u8, length: usize, style: Style) {
    match style.indefinite {
        true => out.push(major << 5 | head::INDEFINITE),
        false => head::append(out, major, length as u64, style.lengths == Width::Eight),
    }
}

fn close(out: &mut Vec<u8>, style: Style) {
    if style.indefinite {
        out.push(0xff);
    }
}

/// The members in the order of the style, each with its key as written, if sorting has written it in this style.
///
/// Sorting writes the keys. Writing them again would double the time at each level where a map is the key of a map, so that
/// a short message of a target could stop a run.
fn ordered(members: &[Member], style: Style) -> Vec<(Option<Vec<u8>>, &Member)> {
    if style.order == Order::AsWritten {
        return members.iter().map(|member| (None, member)).collect();
    }
    let mut ranked: Vec<_> = members
        .iter()
        .map(|member| {
            let rank = match (style.order, &member.0) {
                (Order::Text, Value::Text(text)) => (0, text.as_bytes().to_vec()),
                (Order::Text, Value::Bytes(bytes)) => (0, bytes.clone()),
                (Order::Text, Value::Integer(integer)) => (0, integer.to_string().into_bytes()),
                (Order::LengthFirst, key) => {
                    let encoded = write(key);
                    (encoded.len(), encoded)
                }
                (_, key) => (0, write(key)),
            };
            (rank, member)
        })
        .collect();
    ranked.sort_by(|(left, _): &((usize, Vec<u8>), _), (right, _)| left.cmp(right));
    let deterministic = style == Style::default();
    let members = ranked.into_iter().map(|((_, encoded), member)| (deterministic.then_some(encoded), member));
    match style.order {
        Order::Reversed => members.rev().collect(),
        _ => members.collect(),
    }
}
