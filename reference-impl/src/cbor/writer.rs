//! Writing CBOR in the core deterministic encoding (RFC 8949, 4.2.1), and in the forms that are mistaken for it.

use super::Cbor;

/// The order in which the pairs of a map are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    /// Bytewise by the encoded key: 4.2.1.
    #[default]
    Encoded,
    /// Shorter encoded keys first: the older rule of RFC 7049, 3.9.
    LengthFirst,
    /// By the text of the key without its head.
    RawText,
    /// In the order of the pairs.
    AsIs,
}

/// How to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// The order of keys.
    pub(crate) order: KeyOrder,
    /// Whether integers always take eight bytes.
    pub(crate) wide_integers: bool,
    /// Whether floats always take eight bytes.
    pub(crate) wide_floats: bool,
    /// Whether a float without a fraction is written as an integer.
    pub(crate) floats_as_integers: bool,
}

/// The core deterministic encoding: shortest forms, definite lengths, keys in bytewise order of their encodings.
#[must_use]
pub(crate) fn encode(value: &Cbor) -> Vec<u8> {
    encode_as(value, Style::default())
}

/// The same in another style.
#[must_use]
pub(crate) fn encode_as(value: &Cbor, style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    push(&mut out, value, style);
    out
}

fn push(out: &mut Vec<u8>, value: &Cbor, style: Style) {
    match value {
        Cbor::Unsigned(number) => push_integer(out, 0, *number, style),
        Cbor::Negative(number) => push_integer(out, 1, *number, style),
        Cbor::Bytes(bytes) => {
            push_head(out, 2, bytes.len() as u64);
            out.extend(bytes);
        }
        Cbor::Text(text) => {
            push_head(out, 3, text.len() as u64);
            out.extend(text.as_bytes());
        }
        Cbor::Array(items) => {
            push_head(out, 4, items.len() as u64);
            for item in items {
                push(out, item, style);
            }
        }
        Cbor::Map(pairs) => push_map(out, pairs, style),
        Cbor::Tag(number, inner) => {
            push_head(out, 6, *number);
            push(out, inner, style);
        }
        Cbor::Bool(truth) => out.push(0xf4 + u8::from(*truth)),
        Cbor::Null => out.push(0xf6),
        Cbor::Simple(number) => push_head(out, 7, u64::from(*number)),
        Cbor::Float(number) => push_float(out, *number, style),
    }
}

fn push_integer(out: &mut Vec<u8>, major: u8, number: u64, style: Style) {
    if style.wide_integers {
        out.push(major << 5 | 27);
        out.extend(number.to_be_bytes());
    } else {
        push_head(out, major, number);
    }
}

/// The head of an item in the fewest bytes.
fn push_head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let bytes = argument.to_be_bytes();
    match argument {
        0..=23 => out.push(major << 5 | bytes[7]),
        24..=0xff => out.extend([major << 5 | 24, bytes[7]]),
        0x100..=0xffff => {
            out.push(major << 5 | 25);
            out.extend(&bytes[6..]);
        }
        0x1_0000..=0xffff_ffff => {
            out.push(major << 5 | 26);
            out.extend(&bytes[4..]);
        }
        _ => {
            out.push(major << 5 | 27);
            out.extend(bytes);
        }
    }
}

fn push_map(out: &mut Vec<u8>, pairs: &[(Cbor, Cbor)], style: Style) {
    let mut encoded: Vec<(Vec<u8>, &Cbor, &Cbor)> =
        pairs.iter().map(|(key, value)| (encode_as(key, style), key, value)).collect();
    match style.order {
        KeyOrder::Encoded => encoded.sort_by(|left, right| left.0.cmp(&right.0)),
        KeyOrder::LengthFirst => {
            encoded.sort_by(|left, right| left.0.len().cmp(&right.0.len()).then_with(|| left.0.cmp(&right.0)));
        }
        KeyOrder::RawText => encoded.sort_by(|left, right| left.1.as_text().cmp(&right.1.as_text())),
        KeyOrder::AsIs => {}
    }
    push_head(out, 5, pairs.len() as u64);
    for (key, _, value) in encoded {
        out.extend(key);
        push(out, value, style);
    }
}

/// The shortest float that keeps the value; every NaN is the same one.
fn push_float(out: &mut Vec<u8>, number: f64, style: Style) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked in the condition"
    )]
    if style.floats_as_integers && number.fract() == 0.0 && (0.0..9e15).contains(&number) {
        return push_integer(out, 0, number as u64, style);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the next lines check for loss")]
    let single = number as f32;
    if style.wide_floats {
        out.push(0xfb);
        out.extend(number.to_bits().to_be_bytes());
    } else if number.is_nan() {
        out.extend([0xf9, 0x7e, 0x00]);
    } else if let Some(half) = half(single).filter(|_| f64::from(single) == number) {
        out.push(0xf9);
        out.extend(half.to_be_bytes());
    } else if f64::from(single) == number {
        out.push(0xfa);
        out.extend(single.to_bits().to_be_bytes());
    } else {
        out.push(0xfb);
        out.extend(number.to_bits().to_be_bytes());
    }
}

/// The number as binary16, if it is one exactly; not for NaN.
fn half(number: f32) -> Option<u16> {
    let bits = number.to_bits();
    let sign = u16::try_from(bits >> 16 & 0x8000).ok()?;
    let mantissa = bits & 0x007f_ffff;
    let exponent = i32::try_from(bits >> 23 & 0xff).ok()?;
    let rest = match exponent {
        255 => 0x7c00, // infinity: NaN was dealt with
        0 if mantissa == 0 => 0,
        113..=142 if mantissa & 0x1fff == 0 => {
            u16::try_from((exponent - 112) << 10).ok()? | u16::try_from(mantissa >> 13).ok()?
        }
        // Subnormal numbers of binary16: 2^-24 times an integer below 1024.
        103..=112 => {
            let (whole, shift) = (mantissa | 0x0080_0000, 126 - exponent);
            if whole.trailing_zeros() < u32::try_from(shift).ok()? {
                return None;
            }
            u16::try_from(whole >> shift).ok()?
        }
        _ => return None, // out of range, or digits too many
    };
    Some(sign | rest)
}
