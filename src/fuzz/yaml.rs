//! Values as YAML that reads back as the same values, for the cases that a campaign writes.

use std::fmt::Write;

use crate::value::Value;
use crate::wire::json;

/// The longest list or map that is written on one line.
const WIDTH: usize = 110;

/// A value as a block of YAML, with a line break at its end. CBOR-only values are written in their JSON form.
pub(crate) fn write(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Map(members) if !members.is_empty() => {
            for (position, (key, value)) in members.iter().enumerate() {
                if position > 0 {
                    pad(indent, out);
                }
                out.push_str(&scalar(key));
                out.push(':');
                below(value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    pad(indent, out);
                }
                out.push('-');
                let line = flow(item);
                if line.len() + indent < WIDTH {
                    let _ = writeln!(out, " {line}");
                } else {
                    out.push(' ');
                    block(item, indent + 2, out);
                }
            }
        }
        other => {
            let _ = writeln!(out, "{}", flow(other));
        }
    }
}

/// A value after its key: on the same line if it is short.
fn below(value: &Value, indent: usize, out: &mut String) {
    let nested = matches!(value, Value::Map(members) if !members.is_empty())
        || matches!(value, Value::Array(items) if !items.is_empty());
    let line = flow(value);
    // A list of steps is written with one step per line.
    let steps = matches!(value, Value::Array(items) if items.iter().any(|item| item.as_map().is_some_and(|item| item.len() > 2)));
    if !nested || (!steps && line.len() + indent < WIDTH) {
        let _ = writeln!(out, " {line}");
    } else {
        out.push('\n');
        pad(indent, out);
        block(value, indent, out);
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn flow(value: &Value) -> String {
    match value {
        Value::Map(members) => {
            let members = members.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        other => scalar(other),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Text(text) if is_plain(text) => text.to_string(),
        Value::Text(text) => quoted(text),
        other => json::compact(other),
    }
}

/// Whether a text never needs quotes.
fn is_plain(text: &str) -> bool {
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    text.len() < 80
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_/".contains(c))
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}

/// A text in double quotes, ASCII only, so that no editor changes a character.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            ' '..='~' => quoted.push(c),
            _ if u32::from(c) < 0x100 => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(c));
            }
            _ if u32::from(c) < 0x1_0000 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            _ => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::source::{Source, parse};

    fn read(text: &str) -> Value {
        let source = Arc::new(Source { name: "t.yaml".into(), text: text.to_owned().into() });
        parse(&source).unwrap_or_else(|problems| panic!("{problems:?}: {text}")).to_value()
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            ".{0,24}",
            "[a-z/-]{0,12}",
            Just("a: b #c".to_owned()),
            Just("null".to_owned()),
            Just("é\u{85}\u{2028}\u{1f600}\0\u{feff}".to_owned())
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|number| Value::Integer(number.into())),
            Just(Value::Decimal("1.50".into())),
            text.clone().prop_map(Value::text),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            let member = (text.clone(), inner.clone());
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::array),
                prop::collection::btree_map("[a-z]{1,6}|.{1,3}", member.prop_map(|(_, value)| value), 0..6)
                    .prop_map(Value::map),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_values_read_back(value in values()) {
            let whole = Value::map([("replace-message", value)]);
            prop_assert_eq!(read(&write(&whole)), whole);
        }
    }
}
