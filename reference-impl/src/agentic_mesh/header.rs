//! The fields of Header (section 2.1; step 3 of section 4.7). A node checks all of them, whatever its kind (E62).

use super::code::Code;
use super::failure::{Failure, problem};
use super::faults;
use super::integer::whole;
use super::message::Message;
use super::node::is_uri;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// The members of section 2.1 and those that other sections put into Header.
const KNOWN: [&str; 9] =
    ["messageId", "traceId", "roles", "routingIntent", "ttl", "encryption", "version", "headers", "headerBlocks"];

/// The words of routingIntent that the text names (1.6, 4.5; E42).
const INTENTS: [&str; 3] = ["delegate", "broadcast", "direct"];

/// Checks the required fields; each problem is a reason of one fault.
///
/// # Errors
///
/// `amp:Sender` (4.9).
pub(crate) fn check(message: &mut Message, rules: &Rules) -> Result<(), Failure> {
    faults::structure::repair_header(message, rules);
    let Some(header) = message.header() else { return Ok(()) }; // the step before has checked it
    let mut reasons = Vec::new();
    for name in ["messageId", "traceId", "routingIntent"] {
        reasons.extend(text(header, name));
    }
    match header.get("roles") {
        Some(Value::List(words)) => {
            // 2.1: planner and vendor are words, not URIs.
            let word = words.iter().filter_map(Value::as_text).find(|word| !is_uri(word));
            planted!(rules.fault, "actor-roles-must-be-uris", word in word => reasons.push(format!("{word} is not a URI")));
            let word = words.iter().filter_map(Value::as_text).find(|word| !["planner", "vendor"].contains(word));
            planted!(rules.fault, "actor-roles-from-a-list", word in word => reasons.push(format!("unknown role {word}")));
        }
        other => reasons.push(problem("roles", "an array", other)),
    }
    if let Some(problem) = ttl(header, rules) {
        reasons.push(problem);
    }
    // 2.1: encryption is optional; null counts as absent (E85).
    match header.present("encryption") {
        None if rules.fault.is("encryption-required") => reasons.push("encryption is missing".to_owned()),
        // E41: what cannot be decrypted is not malformed.
        Some(Value::Object(entry)) if rules.fault.is("byoe-called-malformed") && is_byoe(entry) => reasons.push(byoe()),
        None | Some(Value::Object(_)) => {}
        Some(_) if rules.fault.is("encryption-any-type") => {}
        other => reasons.push(problem("encryption", "an object", other)),
    }
    // 4.8.2.1, rule 6: Header may have further members.
    let unknown = header.iter().map(|(name, _)| name).find(|name| !KNOWN.contains(name));
    planted!(rules.fault, "unknown-header-member-refused", name in unknown => reasons.push(format!("unknown member {name}")));
    // 1.6 and Extensibility: modules define further words of routingIntent.
    let intent = header.text("routingIntent").unwrap_or_default();
    planted!(rules.fault, "broadcast-refused", intent == "broadcast" => reasons.push(format!("unknown intent {intent}")));
    // Other, E42: a node may refuse an intent that it does not know.
    let refused = !INTENTS.contains(&intent) && (rules.is_other() || rules.fault.is("unknown-intent-refused"));
    if refused && header.text("routingIntent").is_some() {
        reasons.push(format!("unknown intent {intent}"));
    }
    let mut code = Code::Sender;
    planted!(rules.fault, "must-understand-for-missing-fields", code = Code::MustUnderstand);
    planted!(rules.fault, "version-mismatch-for-missing-fields", code = Code::VersionMismatch);
    Failure::of(code, reasons).map_or(Ok(()), Err)
}

fn text(header: &Object, name: &str) -> Option<String> {
    match header.get(name) {
        Some(Value::Text(_)) => None,
        other => Some(problem(name, "a string", other)),
    }
}

/// The encryption of an entry is one that this node cannot undo.
fn is_byoe(entry: &Object) -> bool {
    entry.text("type") == Some("BYOE")
}

fn byoe() -> String {
    "unknown encryption BYOE".to_owned()
}

/// 2.1: ttl is an integer; 5.0 is one in another spelling (E21).
fn ttl(header: &Object, rules: &Rules) -> Option<String> {
    match header.get("ttl") {
        None if rules.fault.is("ttl-missing-is-endless") => None,
        Some(Value::Number(number)) => match whole(number) {
            // Other, E21: only plain integers, and not beyond 32 bits.
            Some(ttl) if rules.is_other() && (ttl.to_string() != number.spelling() || ttl > 0x7fff_ffff) => {
                Some("ttl is not a plain integer of 32 bits".to_owned())
            }
            Some(_) => None,
            None => Some("ttl is not an integer that this node can lower".to_owned()),
        },
        other => Some(problem("ttl", "an integer", other)),
    }
}
