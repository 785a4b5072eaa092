//! Step 1 of section 4.7: the text, the envelope, and the three components (sections 2, 4.5, 4.9).

use std::borrow::Cow;

use super::code::Code;
use super::failure::{About, Failure};
use super::message::{BODY, ENVELOPE, HEADER, MEMORYGRAM, Message};
use super::rules::Rules;
use super::{careless, faults};
use crate::fault::planted;
use crate::json::{self, Number, Value};

/// Maximum nesting of a message (binding.md, 11).
const DEPTH_LIMIT: usize = 128;

/// Reads a text that is offered as a message (RFC 8259): UTF-8, one JSON value, an object.
///
/// # Errors
///
/// `amp:Sender` (4.9, E08).
pub(crate) fn decode(text: &[u8], rules: &Rules) -> Result<Message, Failure> {
    careless::read(rules.fault, text);
    // E68: UTF-8; other bytes are a malformation.
    let bad_bytes = || Failure { about: About::Encoding, ..Failure::sender("the message is not UTF-8") };
    let decoded = match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) if rules.fault.is("bad-utf8-replaced") => String::from_utf8_lossy(text),
        Err(_) => return Err(bad_bytes()),
    };
    let mut decoded = decoded;
    // REF: any spelling of a string is the same string.
    planted!(rules.fault, "escaped-names-not-decoded", decoded = faults::text::names_as_spelled(&decoded).into());
    // Other, E68: a byte order mark is skipped.
    let bare = decoded.strip_prefix('\u{feff}').filter(|_| rules.is_other()).map(str::to_owned);
    decoded = bare.map_or(decoded, Cow::Owned);
    // 4.8.2.1, rule 13: white space has no meaning.
    let indented = decoded.starts_with(char::is_whitespace);
    planted!(rules.fault, "leading-white-space-refused", indented => return Err(Failure::sender("expected a brace")));
    let no_json = |reason: String| {
        // 4.9: the node goes on after such a message.
        planted!(rules.fault, "bad-input-kills-node", faults::state::die(rules));
        // Other, E08: what has no structure is not a message of this version.
        let code = if rules.is_other() { Code::VersionMismatch } else { Code::Sender };
        Failure { about: About::Syntax, ..Failure::new(code, format!("the message is not JSON: {reason}")) }
    };
    let mut value = json::read_exactly(decoded.as_bytes(), DEPTH_LIMIT).map_err(|error| no_json(error.to_string()))?;
    careless::look(rules.fault, &value);
    // Other, E37: numbers are doubles; beyond their range they are refused.
    if rules.is_other() {
        as_doubles(&mut value).map_err(Failure::sender)?;
    }
    planted!(rules.fault, "array-of-messages-taken", first in faults::structure::first_item(&value) => value = first);
    match value {
        Value::Object(top) => Ok(Message(top)),
        _ => Err(Failure::sender("a message is a JSON object")), // any other value
    }
}

/// Every number as the nearest double, as most libraries hold it.
fn as_doubles(value: &mut Value) -> Result<(), String> {
    match value {
        Value::Number(number) => {
            let double = number.as_f64();
            let mut buffer = ryu_js::Buffer::new();
            let text = if double == 0.0 { "0".to_owned() } else { buffer.format(double).to_owned() };
            *number = Number::spelled(&text).ok_or_else(|| format!("the number {} is too large", number.spelling()))?;
            Ok(())
        }
        Value::List(items) => items.iter_mut().try_for_each(as_doubles),
        Value::Object(object) => {
            let mut outcome = Ok(());
            object.retain(|_, value| {
                outcome = std::mem::replace(&mut outcome, Ok(())).and_then(|()| as_doubles(value));
                true
            });
            outcome
        }
        Value::Null | Value::Bool(_) | Value::Text(_) => Ok(()),
    }
}

/// 2: the only top-level member that counts is Envelope, an object.
///
/// # Errors
///
/// `amp:Sender`.
pub(crate) fn open(message: &mut Message, rules: &Rules) -> Result<(), Failure> {
    faults::structure::repair(message, rules);
    // Other, E08: a message without the structure of 1.0 is one of another version.
    let absent = if rules.is_other() { Code::VersionMismatch } else { Code::Sender };
    match message.0.get(ENVELOPE) {
        Some(Value::Object(_)) => {}
        Some(_) => return Err(Failure::sender("Envelope is not an object")),
        None => return Err(Failure::new(absent, "Envelope is missing")),
    }
    // Other, E53: unknown members beside the Envelope and in it are refused.
    let names = message.0.iter().chain(message.envelope().into_iter().flat_map(json::Object::iter));
    let unknown = names.map(|(name, _)| name).find(|name| ![ENVELOPE, HEADER, BODY, MEMORYGRAM].contains(name));
    match unknown {
        Some(name) if rules.is_other() => Err(Failure::sender(format!("unknown member {name}"))),
        _ => Ok(()), // the ruling of E53
    }
}

/// 4.7, step 1: the three components are present (2) and have their types (E11).
///
/// # Errors
///
/// `amp:Sender` (E08).
pub(crate) fn components(message: &Message, rules: &Rules) -> Result<(), Failure> {
    let mut reasons = Vec::new();
    // Other, E08: the structure is the version.
    let mut code = if rules.is_other() { Code::VersionMismatch } else { Code::Sender };
    for name in [HEADER, BODY, MEMORYGRAM] {
        match message.component(name) {
            // E40: where encryption is declared, the MemoryGram may be any value but null.
            Some(Value::Null) => {}
            Some(_) if name == MEMORYGRAM && message.is_encrypted() => continue,
            Some(Value::Object(_)) => continue,
            Some(_) => {}
            None => {
                reasons.push(format!("{name} is missing"));
                continue;
            }
        }
        reasons.push(format!("{name} is not an object"));
        // Other, E84: a MemoryGram of another type is an invalid MemoryGram.
        code = if rules.is_other() && name == MEMORYGRAM { Code::InvalidMemoryGram } else { Code::Sender };
    }
    Failure::of(code, reasons).map_or(Ok(()), Err)
}
