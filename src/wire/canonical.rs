//! Canonical JSON: exactly one text per value, so that a hash identifies the value.
//! The forms in use differ in a few points, each a field of [`Form`]. A protocol declares the form that its
//! specification requires, and the deviating forms that its errata
//! tolerate.

use sha2::{Digest, Sha256};

use crate::value::Value;

/// A way of writing canonical JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Which members with value null are omitted.
    pub null_members: NullMembers,
    /// Whether null elements of arrays are omitted.
    pub drop_null_elements: bool,
    /// The order of member names.
    pub order: Order,
    /// Whether whole numbers in plain digits keep their digits instead of going through a double.
    pub keep_integer_digits: bool,
    /// Whether every control character is a `\u` escape, also where a two-character escape exists.
    pub long_controls: bool,
    /// Whether hex digits of escapes are upper case.
    pub upper_hex: bool,
    /// Whether a space follows each colon and each comma.
    pub spaces: bool,
}

/// Which members with value null are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullMembers {
    /// None.
    Keep,
    /// Those of the outermost object.
    DropAtTop,
    /// Those of every object.
    DropEverywhere,
}

/// The order of member names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Unsigned bytes of their UTF-8 form, which is the order of code points.
    Utf8,
    /// UTF-16 code units, as in RFC 8785 section 3.2.3.
    Utf16,
    /// The order in which they are written: not canonical, but what a wrong hash may be of.
    AsWritten,
    /// The opposite order, as the layout `reversed` sends them.
    Reversed,
    /// Sorted in the outermost object only.
    TopOnly,
}

impl Form {
    /// JSON Canonicalization Scheme, RFC 8785.
    pub const JCS: Self = Self {
        null_members: NullMembers::Keep,
        drop_null_elements: false,
        order: Order::Utf16,
        keep_integer_digits: false,
        long_controls: false,
        upper_hex: false,
        spaces: false,
    };
}

/// Writes `value` in canonical form. CBOR-only values are written as [`crate::wire::json::write`] does.
pub fn write(value: &Value, form: Form) -> String {
    let mut out = String::new();
    write_value(value, form, true, &mut out);
    out
}

/// SHA-256 over the UTF-8 bytes of the canonical form, in lower-case hex.
pub fn sha256(value: &Value, form: Form) -> String {
    sha256_of(write(value, form).as_bytes())
}

/// SHA-256 of bytes, in lower-case hex.
pub fn sha256_of(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

fn write_value(value: &Value, form: Form, top: bool, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Integer(integer) if form.keep_integer_digits => out.push_str(&integer.to_string()),
        Value::Integer(_) | Value::Float(_) | Value::Decimal(_) => write_number(value, out),
        Value::Text(text) => write_string(text, form, out),
        Value::Array(items) => {
            out.push('[');
            let kept = items.iter().filter(|item| !(form.drop_null_elements && **item == Value::Null));
            for (index, item) in kept.enumerate() {
                if index > 0 {
                    separate(',', form, out);
                }
                write_value(item, form, false, out);
            }
            out.push(']');
        }
        Value::Map(members) => write_members(members, form, top, out),
        Value::Bytes(_) | Value::Tag(..) | Value::Simple(_) => out.push_str(&super::json::compact(value)),
    }
}

fn write_number(value: &Value, out: &mut String) {
    match value.as_f64() {
        // RFC 8785 section 3.2.2.3: numbers as ECMAScript prints the double; negative zero has no sign.
        Some(0.0) => out.push('0'),
        Some(float) if float.is_finite() => out.push_str(ryu_js::Buffer::new().format_finite(float)),
        _ => out.push_str(&super::json::compact(value)),
    }
}

fn write_members(members: &[(Value, Value)], form: Form, top: bool, out: &mut String) {
    let drop = match form.null_members {
        NullMembers::Keep => false,
        NullMembers::DropAtTop => top,
        NullMembers::DropEverywhere => true,
    };
    let mut kept: Vec<(&str, &Value)> = members
        .iter()
        .filter(|(_, value)| !(drop && *value == Value::Null))
        .filter_map(|(key, value)| Some((key.as_text()?, value)))
        .collect();
    match form.order {
        Order::Utf8 => kept.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes())),
        Order::Utf16 => kept.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16())),
        Order::TopOnly if top => kept.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes())),
        Order::Reversed => kept.reverse(),
        Order::AsWritten | Order::TopOnly => {}
    }
    out.push('{');
    for (index, (name, value)) in kept.into_iter().enumerate() {
        if index > 0 {
            separate(',', form, out);
        }
        write_string(name, form, out);
        separate(':', form, out);
        write_value(value, form, false, out);
    }
    out.push('}');
}

fn separate(character: char, form: Form, out: &mut String) {
    out.push(character);
    if form.spaces {
        out.push(' ');
    }
}

fn write_string(text: &str, form: Form, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        let short = match character {
            '\u{8}' => Some('b'),
            '\t' => Some('t'),
            '\n' => Some('n'),
            '\u{c}' => Some('f'),
            '\r' => Some('r'),
            _ => None,
        };
        match (character, short) {
            ('"', _) => out.push_str("\\\""),
            ('\\', _) => out.push_str("\\\\"),
            (_, Some(letter)) if !form.long_controls => {
                out.push('\\');
                out.push(letter);
            }
            ('\0'..='\u{1f}', _) if form.upper_hex => out.push_str(&format!("\\u{:04X}", u32::from(character))),
            ('\0'..='\u{1f}', _) => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::parse;

    fn jcs(text: &str) -> String {
        write(&parse(text.as_bytes()).unwrap(), Form::JCS)
    }

    /// RFC 8785 section 3.2.2 and appendix B.
    #[test]
    fn numbers_are_printed_as_ecmascript_does() {
        for (text, canonical) in [
            ("333333333.33333329", "333333333.3333333"),
            ("1E30", "1e+30"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000000000000000000000000001", "1e-27"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("9007199254740993", "9007199254740992"),
        ] {
            assert_eq!(jcs(text), canonical);
        }
    }

    /// The sorting example of RFC 8785 section 3.2.3, ordered by UTF-16 code units.
    #[test]
    fn orders_differ_between_surrogates_and_the_last_block() {
        let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        assert_eq!(jcs(text), "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}");
        let by_bytes = Form { order: Order::Utf8, ..Form::JCS };
        assert_eq!(
            write(&parse(text.as_bytes()).unwrap(), by_bytes),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"\u{fb33}\":3,\"😀\":5}"
        );
    }

    #[test]
    fn forms_that_are_not_canonical_show_what_a_wrong_hash_is_of() {
        let value = parse(br#"{"b":{"d":1,"c":[2,3]},"a":4}"#).unwrap();
        for (order, spaces, text) in [
            (Order::AsWritten, false, r#"{"b":{"d":1,"c":[2,3]},"a":4}"#),
            (Order::Reversed, false, r#"{"a":4,"b":{"c":[2,3],"d":1}}"#),
            (Order::TopOnly, false, r#"{"a":4,"b":{"d":1,"c":[2,3]}}"#),
            (Order::Utf8, true, r#"{"a": 4, "b": {"c": [2, 3], "d": 1}}"#),
        ] {
            assert_eq!(write(&value, Form { order, spaces, ..Form::JCS }), text);
        }
    }

    #[test]
    fn a_number_beyond_a_double_keeps_its_spelling() {
        assert_eq!(jcs("[1e400,-1e400]"), "[1e400,-1e400]");
    }

    #[test]
    fn digits_of_whole_numbers_and_null_elements_are_kept_where_the_form_says_so() {
        for (keep_integer_digits, drop_null_elements, text) in [
            (false, false, r#"[9007199254740992,null,1.5,{"a":null}]"#),
            (true, false, r#"[9007199254740993,null,1.5,{"a":null}]"#),
            (false, true, r#"[9007199254740992,1.5,{"a":null}]"#),
        ] {
            let value = parse(br#"[9007199254740993,null,1.50,{"a":null}]"#).expect("valid JSON");
            assert_eq!(write(&value, Form { keep_integer_digits, drop_null_elements, ..Form::JCS }), text);
        }
    }

    /// RFC 8785 section 3.2.2.2, and what the other forms change in it.
    #[test]
    fn characters_are_escaped_as_the_form_says() {
        let short = Form::JCS;
        let long = Form { long_controls: true, ..Form::JCS };
        for (form, escaped) in [
            (short, r#""\b\t\n\f\r\u001f\"\\/é""#),
            (Form { upper_hex: true, ..short }, r#""\b\t\n\f\r\u001F\"\\/é""#),
            (long, r#""\u0008\u0009\u000a\u000c\u000d\u001f\"\\/é""#),
            (Form { upper_hex: true, ..long }, r#""\u0008\u0009\u000A\u000C\u000D\u001F\"\\/é""#),
        ] {
            assert_eq!(write(&Value::text("\u{8}\t\n\u{c}\r\u{1f}\"\\/é"), form), escaped, "{form:?}");
        }
    }
}
