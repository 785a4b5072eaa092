//! Faults of the canonical form.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::json::{Number, Value};

/// `canonical-sorts-arrays`: Sorts arrays of strings.
pub(in crate::agentic) fn sort_texts(items: &mut [&Value]) {
    if items.iter().all(|item| item.as_text().is_some()) {
        items.sort_by_key(|item| item.as_text());
    }
}

/// `canonical-case-insensitive-sort`: Sorts names without regard to case.
pub(in crate::agentic) fn without_case(left: &str, right: &str) -> Ordering {
    left.to_lowercase().cmp(&right.to_lowercase())
}

/// `canonical-numeric-sort`: Sorts digit-only names by number (9 before 10).
pub(in crate::agentic) fn numbers_first(left: &str, right: &str) -> Ordering {
    // As JavaScript enumerates members: whole numbers first, in their order.
    let rank = |name: &str| (number_of(name).is_none(), number_of(name));
    rank(left).cmp(&rank(right)).then(left.cmp(right))
}

/// `canonical-language-floats`: Prints numbers the way the host language does: 1.0, 1e-07, 1e+20.
pub(in crate::agentic) fn as_a_language_prints(number: &Number) -> String {
    let short = number.as_integer().is_some_and(|_| !number.spelling().contains(['.', 'e', 'E']));
    if short { number.spelling().to_owned() } else { format!("{:?}", number.as_f64()) }
}

/// `canonical-negative-zero`: Writes -0.
pub(in crate::agentic) fn is_negative_zero(double: f64) -> bool {
    double == 0.0 && double.is_sign_negative()
}

/// `canonical-keeps-digits`: Keeps the digits of integers beyond the range of a double (seen under strict-only).
pub(in crate::agentic) fn is_long(double: f64) -> bool {
    double.abs() > 9e15 && double.fract() == 0.0
}

/// `canonical-ascii-only`: Escapes non-ASCII as u-escapes.
pub(in crate::agentic) fn as_ascii(character: char) -> Option<String> {
    let units = || character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    (!character.is_ascii()).then(units)
}

/// `canonical-html-escapes`: Escapes angle brackets and ampersand.
pub(in crate::agentic) fn of_html(character: char) -> Option<String> {
    matches!(character, '<' | '>' | '&').then(|| format!("\\u{:04x}", u32::from(character)))
}

/// `canonical-long-escapes`: Writes quote and reverse solidus as u-escapes.
pub(in crate::agentic) fn of_quote(character: char) -> Option<String> {
    matches!(character, '"' | '\\').then(|| format!("\\u{:04x}", u32::from(character)))
}

/// `canonical-long-controls`: Writes every control character as a u-escape (seen under strict-only).
pub(in crate::agentic) fn of_control(character: char) -> Option<String> {
    (character < ' ').then(|| format!("\\u{:04x}", u32::from(character)))
}

/// `canonical-upper-hex`: Writes u-escapes with capitals (seen under strict-only).
pub(in crate::agentic) fn in_capitals(character: char) -> Option<String> {
    let long = character < ' ' && !"\u{8}\t\n\u{c}\r".contains(character);
    long.then(|| format!("\\u{:04X}", u32::from(character)))
}

fn number_of(name: &str) -> Option<u64> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse().ok().filter(|_| digits)
}

/// `canonical-drops-falsy`: Leaves out empty strings, empty lists, zero and false as well as null.
pub(in crate::agentic) fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) | Value::Object(_) => false,
        Value::Number(number) => number.as_f64() == 0.0,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
    }
}

/// `canonical-drops-emptied-object`: Removes an object whose members were all null.
pub(in crate::agentic) fn is_emptied(value: &Value) -> bool {
    let members = value.as_object().filter(|object| !object.is_empty());
    members.is_some_and(|object| object.iter().all(|(_, value)| matches!(value, Value::Null)))
}

/// The strings of `source` with escapes: their values and their spellings.
pub(in crate::agentic) fn escaped_strings(source: &[u8]) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut at = 0;
    while let Some(start) = source[at..].iter().position(|byte| *byte == b'"').map(|offset| at + offset) {
        let mut end = start + 1;
        while source.get(end).is_some_and(|byte| *byte != b'"') {
            end += if source[end] == b'\\' { 2 } else { 1 };
        }
        let literal = source.get(start..=end).unwrap_or_default();
        if literal.contains(&b'\\')
            && let Ok(Value::Text(text)) = crate::json::read(literal)
        {
            found.insert(text, String::from_utf8_lossy(&literal[1..literal.len() - 1]).into_owned());
        }
        at = (end + 1).min(source.len());
    }
    found
}
