//! The bytes that a signature covers (binding.md, 7; E71).
//!
//! The recipe of the ruling is RFC 8785: members sorted by the UTF-16 units of their names, numbers as ECMAScript prints them, the
//! fewest escapes. The two recipes of the published Python code sort by code points and escape all but ASCII.

use crate::json::{Number, Object, Value, push_character};

/// How a message is written for signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recipe {
    /// RFC 8785.
    Jcs,
    /// Sorted, without spaces, non-ASCII escaped.
    PythonCompact,
    /// Sorted, with spaces behind commas and colons, non-ASCII escaped.
    PythonDefault,
}

impl Recipe {
    /// Their names in settings.
    pub(crate) const NAMES: &[&str] = &["jcs", "python-compact", "python-default"];

    /// The recipe of this name.
    #[must_use]
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "jcs" => Some(Self::Jcs),
            "python-compact" => Some(Self::PythonCompact),
            "python-default" => Some(Self::PythonDefault),
            _ => None, // unknown
        }
    }
}

/// The canonical text of an object.
#[must_use]
pub(crate) fn text(object: &Object, recipe: Recipe) -> String {
    let mut out = String::new();
    push_object(&mut out, object, recipe);
    out
}

fn push(out: &mut String, value: &Value, recipe: Recipe) {
    match value {
        Value::Null | Value::Bool(_) => out.push_str(&value.write()),
        Value::Number(number) => push_number(out, number, recipe),
        Value::Text(text) => push_text(out, text, recipe),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(out, index, recipe);
                push(out, item, recipe);
            }
            out.push(']');
        }
        Value::Object(object) => push_object(out, object, recipe),
    }
}

fn push_object(out: &mut String, object: &Object, recipe: Recipe) {
    let mut members: Vec<(&str, &Value)> = object.iter().collect();
    members.sort_by(|(left, _), (right, _)| match recipe {
        Recipe::Jcs => left.encode_utf16().cmp(right.encode_utf16()),
        Recipe::PythonCompact | Recipe::PythonDefault => left.cmp(right),
    });
    out.push('{');
    for (index, (name, value)) in members.into_iter().enumerate() {
        separate(out, index, recipe);
        push_text(out, name, recipe);
        out.push_str(if recipe == Recipe::PythonDefault { ": " } else { ":" });
        push(out, value, recipe);
    }
    out.push('}');
}

fn separate(out: &mut String, index: usize, recipe: Recipe) {
    if index > 0 {
        out.push_str(if recipe == Recipe::PythonDefault { ", " } else { "," });
    }
}

fn push_text(out: &mut String, text: &str, recipe: Recipe) {
    out.push('"');
    for character in text.chars() {
        if recipe == Recipe::Jcs || character.is_ascii() {
            push_character(out, character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out.push('"');
}

fn push_number(out: &mut String, number: &Number, recipe: Recipe) {
    let integer = !number.spelling().contains(['.', 'e', 'E']);
    match recipe {
        Recipe::Jcs => out.push_str(ryu_js::Buffer::new().format_finite(number.as_f64())),
        // Python keeps integers apart from floats, and -0 is 0 among integers.
        _ if integer => out.push_str(if number.spelling() == "-0" { "0" } else { number.spelling() }),
        _ => out.push_str(&python_float(number.as_f64())),
    }
}

/// The shortest text of a double as Python prints it: like ECMAScript, but with a fraction always, and exponents from 1e16
/// on and below 1e-4, of two digits at least.
fn python_float(double: f64) -> String {
    let size = double.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{double:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let text = format!("{double}");
    if text.contains('.') { text } else { format!("{text}.0") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn canonical(text: &str, recipe: Recipe) -> String {
        match json::read(text.as_bytes()).expect("JSON") {
            Value::Object(object) => super::text(&object, recipe),
            _ => panic!("an object"),
        }
    }

    #[test]
    fn the_three_recipes_differ_in_order_escapes_and_numbers() {
        let text = r#"{"b":1.0,"\ufb33":2,"\ud83d\ude00":1e21,"a":"é\u0001","n":[1e-7,0.5,-0.0,100]}"#;
        assert_eq!(
            canonical(text, Recipe::Jcs),
            "{\"a\":\"é\\u0001\",\"b\":1,\"n\":[1e-7,0.5,0,100],\"😀\":1e+21,\"\u{fb33}\":2}"
        );
        assert_eq!(
            canonical(text, Recipe::PythonCompact),
            "{\"a\":\"\\u00e9\\u0001\",\"b\":1.0,\"n\":[1e-07,0.5,-0.0,100],\"\\ufb33\":2,\"\\ud83d\\ude00\":1e+21}"
        );
        assert_eq!(canonical(r#"{"a":[1,2],"b":{}}"#, Recipe::PythonDefault), r#"{"a": [1, 2], "b": {}}"#);
    }
}
