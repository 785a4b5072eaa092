//! Writing a tree as compact JSON text: order and number spelling kept, no white space, few escapes. And as another
//! text of the same value, for readers that should not care.

use super::{Object, Value};

impl Value {
    /// The value as one line of JSON text.
    #[must_use]
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        push_value(&mut out, self);
        out
    }
}

impl Object {
    /// The object as one line of JSON text.
    #[must_use]
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        push_object(&mut out, self);
        out
    }
}

impl Value {
    /// Another text of the same value, in one line: members in reverse order, spaces, and escapes for all but ASCII.
    #[must_use]
    pub(crate) fn write_otherwise(&self) -> String {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => self.write(),
            Self::Text(text) => text_otherwise(text),
            Self::List(items) if items.is_empty() => "[ ]".to_owned(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::write_otherwise).collect();
                format!("[ {} ]", items.join(" , "))
            }
            Self::Object(object) => object.write_otherwise(),
        }
    }
}

impl Object {
    /// As [`Value::write_otherwise`].
    #[must_use]
    pub(crate) fn write_otherwise(&self) -> String {
        let member = |(name, value): (&str, &Value)| format!("{} : {}", text_otherwise(name), value.write_otherwise());
        let mut members: Vec<String> = self.iter().map(member).collect();
        members.reverse();
        if members.is_empty() { "{ }".to_owned() } else { format!("{{ {} }}", members.join(" , ")) }
    }
}

fn text_otherwise(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '/' => out.push_str("\\/"),
            _ if character.is_ascii() => push_character(&mut out, character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
    out.push('"');
    out
}

fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.spelling()),
        Value::Text(text) => push_text(out, text),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_value(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => push_object(out, object),
    }
}

fn push_object(out: &mut String, object: &Object) {
    out.push('{');
    for (index, (name, value)) in object.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_text(out, name);
        out.push(':');
        push_value(out, value);
    }
    out.push('}');
}

/// Appends `text` as a JSON string with the fewest escapes that are valid.
fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        push_character(out, character);
    }
    out.push('"');
}

/// Appends one character of a JSON string: quote, reverse solidus and U+0000 to U+001F escaped, the two-character
/// form where one exists, hexadecimal digits in lower case; everything else unchanged.
pub(crate) fn push_character(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push(character), // needs no escape
    }
}
