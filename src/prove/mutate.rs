//! Automatic mutation: changes one member of one kind of answer in one way.
//!
//! Planted faults are chosen by hand. Mutation changes every member in turn, like a proxy between proofmark and a correct target
//! would, and so finds the members that no case checks. Pure: bytes in, bytes out.

mod document;
mod messages;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::exchange::{Body, Exchange, Incoming, Transport};
use crate::protocol::Protocol;
use crate::template::{format_time, parse_time};
use crate::value::Value;
use crate::wire::json;

use document::Document;

pub use messages::{lay, message, readdress, reflect, shape};

/// Maximum depth of members; deeper values are changed together with their parent.
const DEPTH: usize = 6;

/// A member of the answers to one operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// The operation.
    pub operation: String,
    /// Whether the answer is that of a library.
    pub library: bool,
    /// Whether the answer is a rejection; rejections have other members than successes.
    pub refusal: bool,
    /// The place, as a JSON Pointer in which `*` means every element of an array. It may lead into JSON text that is encoded as
    /// hex. `status` and `content-type` are places too.
    pub place: String,
}

impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let library = if self.library { " of a library" } else { "" };
        let refusal = if self.refusal { ", rejected" } else { "" };
        write!(f, "{}{library}{refusal}: {}", self.operation, self.place)
    }
}

/// A way to change a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The member is removed.
    Remove,
    /// It gets another type.
    Type,
    /// It gets another value of the same type.
    Value,
    /// It gets one more member.
    Extra,
    /// A whole number becomes the same number in floating point.
    Float,
}

impl Change {
    /// The ways that apply to members in general.
    pub const ALL: [Self; 4] = [Self::Remove, Self::Type, Self::Value, Self::Extra];

    /// Its name in data and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Remove => "removed",
            Self::Type => "with another type",
            Self::Value => "with another value",
            Self::Extra => "with an additional member",
            Self::Float => "as a floating-point number",
        }
    }
}

/// The place of the status code.
const STATUS: &str = "status";

/// The place of the media type.
const MEDIA_TYPE: &str = "content-type";

/// The members of an answer, each once.
pub fn members(exchange: &Exchange) -> BTreeSet<Member> {
    let mut places = BTreeSet::new();
    let received = &exchange.received;
    if received.status.is_some() {
        places.insert(STATUS.to_owned());
    }
    if received.header(MEDIA_TYPE).is_some() {
        places.insert(MEDIA_TYPE.to_owned());
    }
    for document in readable(received) {
        collect(&document.value, &mut Vec::new(), &mut places);
    }
    let refusal = is_refusal(received);
    let library = exchange.sent.transport == Transport::Adapter;
    if library {
        // The envelope belongs to the adapter protocol, not to the library.
        places.retain(|place| place.starts_with("/result") || place.starts_with("/error/"));
    }
    let member = |place| Member { operation: exchange.operation.clone(), library, refusal, place };
    places.into_iter().map(member).collect()
}

/// The parts of an answer that can be decoded: its body and unsolicited messages.
fn readable(received: &Incoming) -> impl Iterator<Item = Document> {
    let bodies = std::iter::once(&received.body).chain(received.arrived.iter().map(|arrival| &arrival.body));
    bodies.filter_map(|body| Document::read(&body.0))
}

/// Whether an answer is a rejection.
pub fn is_refusal(received: &Incoming) -> bool {
    match received.status {
        Some(status) => status >= 400,
        None => json::parse(&received.body.0).is_ok_and(|answer| answer.member("error").is_some()),
    }
}

/// A change of a value.
#[derive(Clone, Copy)]
enum Alteration<'a> {
    Change(Change),
    /// A member that other answers have at this place and this one lacks.
    Graft(&'a str, &'a Value),
    /// Removes the element of an array at this position.
    Drop(usize),
    /// Adds an element to an array.
    Append(&'a Value),
    /// Replaces the value.
    Set(&'a Value),
}

/// An alteration, and the protocol that protects the altered value.
#[derive(Clone, Copy)]
struct Work<'a> {
    alteration: Alteration<'a>,
    protocol: &'a dyn Protocol,
}

/// The members that answers have at each place, with a value of each: what [`graft`] takes from.
pub type Stock = BTreeMap<Member, BTreeMap<String, Value>>;

/// Adds the members of an answer to a stock.
pub fn store(exchange: &Exchange, stock: &mut Stock) {
    let library = exchange.sent.transport == Transport::Adapter;
    let refusal = is_refusal(&exchange.received);
    let mut found = Vec::new();
    readable(&exchange.received).for_each(|document| objects(&document.value, "", &mut Vec::new(), &mut found));
    for (place, members) in found {
        if library && !place.starts_with("/result") {
            continue;
        }
        let member = Member { operation: exchange.operation.clone(), library, refusal, place };
        let names = stock.entry(member).or_default();
        for (name, value) in members {
            names.entry(name).or_insert(value);
        }
    }
}

/// Every object in a value, by place.
fn objects(value: &Value, name: &str, tokens: &mut Vec<String>, found: &mut Vec<(String, Vec<(String, Value)>)>) {
    if let Some(inner) = Document::inside(name, value) {
        objects(&inner.value, "", tokens, found);
        return;
    }
    let below = tokens.len() < DEPTH;
    match value {
        Value::Map(members) => {
            let named = members.iter().filter_map(|(name, member)| Some((name.as_text()?, member)));
            let place = tokens.iter().fold(String::new(), |place, token| place + "/" + token);
            found.push((place, named.clone().map(|(name, member)| (name.to_owned(), member.clone())).collect()));
            for (name, member) in named.filter(|(name, _)| !name.contains('/') && below) {
                tokens.push(name.to_owned());
                objects(member, name, tokens, found);
                tokens.pop();
            }
        }
        Value::Array(items) if below => {
            for item in items {
                tokens.push("*".to_owned());
                objects(item, "*", tokens, found);
                tokens.pop();
            }
        }
        _ => {}
    }
}

/// Adds a missing member to the objects at a place of an answer. Returns whether anything was changed.
pub fn graft(
    protocol: &dyn Protocol,
    at: &Member,
    name: &str,
    value: &Value,
    operation: &str,
    transport: Transport,
    received: &mut Incoming,
) -> bool {
    is_about(at, operation, transport, received)
        && alter_body(&at.place, Work { alteration: Alteration::Graft(name, value), protocol }, received)
}

/// Removes an element of the array at a place. Returns whether it existed.
pub fn drop_element(
    protocol: &dyn Protocol,
    at: &Member,
    position: usize,
    operation: &str,
    transport: Transport,
    received: &mut Incoming,
) -> bool {
    is_about(at, operation, transport, received)
        && alter_body(&at.place, Work { alteration: Alteration::Drop(position), protocol }, received)
}

/// Adds an element to the array at a place. Returns whether the array exists.
pub fn append(
    protocol: &dyn Protocol,
    at: &Member,
    element: &Value,
    operation: &str,
    transport: Transport,
    received: &mut Incoming,
) -> bool {
    is_about(at, operation, transport, received)
        && alter_body(&at.place, Work { alteration: Alteration::Append(element), protocol }, received)
}

/// Sets the value at a place of an answer. Returns whether anything was changed.
pub fn set(
    protocol: &dyn Protocol,
    at: &Member,
    value: &Value,
    operation: &str,
    transport: Transport,
    received: &mut Incoming,
) -> bool {
    if !is_about(at, operation, transport, received) {
        return false;
    }
    match (at.place.as_str(), value.as_integer().and_then(|status| u16::try_from(status).ok())) {
        (STATUS, Some(status)) => received.status.replace(status) != Some(status),
        (STATUS | MEDIA_TYPE, _) => false,
        (place, _) => alter_body(place, Work { alteration: Alteration::Set(value), protocol }, received),
    }
}

/// The objects in an answer that have members.
pub fn documents(exchange: &Exchange) -> Vec<Value> {
    const MEMBERS: usize = 4;
    let mut found = Vec::new();
    readable(&exchange.received).for_each(|document| objects(&document.value, "", &mut Vec::new(), &mut found));
    let whole = found.into_iter().map(|(_, members)| members).filter(|members| members.len() >= MEMBERS);
    whole.map(Value::map).collect()
}

fn is_about(member: &Member, operation: &str, transport: Transport, received: &Incoming) -> bool {
    let same_kind = member.operation == operation && member.library == (transport == Transport::Adapter);
    same_kind && member.refusal == is_refusal(received)
}

fn alter_body(place: &str, work: Work<'_>, received: &mut Incoming) -> bool {
    let tokens: Vec<&str> = place.split('/').skip(1).collect();
    let mut any = false;
    for body in std::iter::once(&mut received.body).chain(received.arrived.iter_mut().map(|arrival| &mut arrival.body))
    {
        let Some(mut document) = Document::read(&body.0) else { continue };
        let changed = at_below(&mut document.value, "", &tokens, work);
        if changed {
            *body = Body::from(document.write(&tokens, work.protocol));
        }
        any |= changed;
    }
    any
}

/// Changes `member` wherever it occurs in an answer to `operation`. Returns whether anything was changed.
pub fn apply(
    protocol: &dyn Protocol,
    member: &Member,
    change: Change,
    operation: &str,
    transport: Transport,
    received: &mut Incoming,
) -> bool {
    if !is_about(member, operation, transport, received) {
        return false;
    }
    match (member.place.as_str(), change) {
        (STATUS, Change::Value) => {
            // The next status code has another meaning in every protocol over HTTP, and is a valid answer.
            received.status = received.status.map(|status| if status >= 400 { status + 10 } else { 203 });
            received.status.is_some()
        }
        (MEDIA_TYPE, Change::Remove) => {
            let before = received.headers.len();
            received.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(MEDIA_TYPE));
            received.headers.len() < before
        }
        (MEDIA_TYPE, Change::Value) => {
            let mut changed = false;
            for (_, value) in received.headers.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case(MEDIA_TYPE)) {
                "text/html; charset=utf-8".clone_into(value);
                changed = true;
            }
            changed
        }
        (STATUS | MEDIA_TYPE, _) => false,
        (place, _) => alter_body(place, Work { alteration: Alteration::Change(change), protocol }, received),
    }
}

fn collect(value: &Value, tokens: &mut Vec<String>, places: &mut BTreeSet<String>) {
    places.insert(tokens.iter().fold(String::new(), |place, token| place + "/" + token));
    if tokens.len() >= DEPTH {
        return;
    }
    if let Some(inner) = tokens.last().and_then(|name| Document::inside(name, value)) {
        collect_members(&inner.value, tokens, places);
        return;
    }
    collect_members(value, tokens, places);
}

fn collect_members(value: &Value, tokens: &mut Vec<String>, places: &mut BTreeSet<String>) {
    match value {
        Value::Map(members) => {
            for (name, member) in members {
                // Skip names with a slash: no specification defines one.
                let Some(name) = name.as_text().filter(|name| !name.contains('/')) else { continue };
                tokens.push(name.to_owned());
                collect(member, tokens, places);
                tokens.pop();
            }
        }
        Value::Array(items) => {
            for item in items {
                tokens.push("*".to_owned());
                collect(item, tokens, places);
                tokens.pop();
            }
        }
        _ => {}
    }
}

/// Changes the values at `tokens`, everywhere. `name` is the member name of the value.
fn at_below(value: &mut Value, name: &str, tokens: &[&str], work: Work<'_>) -> bool {
    let change = work.alteration;
    let in_document = !matches!(change, Alteration::Change(_)) || !tokens.is_empty();
    if in_document && let Some(mut inner) = Document::inside(name, value) {
        let changed = at_below(&mut inner.value, "", tokens, work);
        if changed {
            *value = inner.as_inside(value, tokens, work.protocol);
        }
        return changed;
    }
    let Some((first, rest)) = tokens.split_first() else { return alter(value, change) };
    let remove = matches!(change, Alteration::Change(Change::Remove));
    match value {
        Value::Map(members) => {
            if rest.is_empty() && remove {
                let before = members.len();
                members.retain(|(key, _)| key.as_text() != Some(first));
                return members.len() < before;
            }
            let mut changed = false;
            for (_, member) in members.iter_mut().filter(|(key, _)| key.as_text() == Some(first)) {
                changed |= at_below(member, first, rest, work);
            }
            changed
        }
        Value::Array(items) if *first == "*" => {
            if rest.is_empty() && remove {
                // Changes only the last element; the place above is the whole array.
                return items.pop().is_some();
            }
            let mut changed = false;
            for item in items {
                changed |= at_below(item, "*", rest, work);
            }
            changed
        }
        _ => false,
    }
}

/// Changes one value in place. The caller handles removal.
fn alter(value: &mut Value, alteration: Alteration<'_>) -> bool {
    let change = match alteration {
        Alteration::Change(change) => change,
        Alteration::Drop(position) => {
            return match value {
                Value::Array(items) if position < items.len() => {
                    items.remove(position);
                    true
                }
                _ => false,
            };
        }
        Alteration::Append(element) => {
            // An array of hex documents gets one more of them.
            let in_hex = value.as_array().and_then(<[Value]>::first).is_some_and(|first| first.as_text().is_some());
            let element = match in_hex {
                true => Value::text(data_encoding::HEXLOWER.encode(json::compact(element).as_bytes())),
                false => element.clone(),
            };
            return match value {
                Value::Array(items) => {
                    items.push(element);
                    true
                }
                _ => false,
            };
        }
        Alteration::Set(other) => {
            let differs = value != other;
            value.clone_from(other);
            return differs;
        }
        Alteration::Graft(name, member) => {
            let lacks = value.as_map().is_some() && value.member(name).is_none();
            if lacks {
                value.set_member(name, member.clone());
            }
            return lacks;
        }
    };
    let new = match (change, &*value) {
        (Change::Remove, _) => return false,
        (Change::Extra, Value::Map(members)) => {
            let mut members = members.clone();
            members.push((Value::text("pm_extra"), Value::text("pm extra")));
            Value::Map(members)
        }
        (Change::Extra, _) => return false,
        #[expect(clippy::cast_precision_loss, reason = "any number near it will do")]
        (Change::Float, Value::Integer(number)) => Value::Float(*number as f64),
        (Change::Float, _) => return false,
        (Change::Type, Value::Text(text)) => {
            text.parse::<i64>().map_or(Value::Integer(5), |number| Value::Integer(number.into()))
        }
        (Change::Type, Value::Integer(number)) => Value::text(number.to_string()),
        (Change::Type, Value::Decimal(number)) => Value::text(number.to_string()),
        (Change::Type, Value::Bytes(bytes)) => Value::text(data_encoding::HEXLOWER.encode(bytes)),
        (Change::Type, Value::Bool(yes)) => Value::text(yes.to_string()),
        (Change::Type, Value::Null) => Value::Integer(0),
        (Change::Type, Value::Array(_)) => Value::map::<&str>([]),
        (Change::Type, _) => Value::Array(Vec::new().into()),
        (Change::Value, Value::Text(text)) => Value::text(other_text(text)),
        (Change::Value, Value::Integer(number)) => Value::Integer(number + 1),
        (Change::Value, Value::Decimal(_)) => Value::Integer(12_345),
        (Change::Value, Value::Bytes(bytes)) => {
            let mut bytes = bytes.clone();
            match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(0),
            }
            Value::Bytes(bytes)
        }
        (Change::Value, Value::Bool(yes)) => Value::Bool(!yes),
        (Change::Value, Value::Array(items)) if !items.is_empty() => Value::Array(Vec::new().into()),
        (Change::Value, _) => return false,
    };
    *value = new;
    true
}

/// Another text of the same kind: a time stays a time, digits stay digits, a word stays a word.
fn other_text(text: &str) -> String {
    const HOUR: i128 = 3_600_000_000_000;
    if let Some(instant) = parse_time(text) {
        return format!("{}Z", format_time(instant + HOUR).trim_end_matches('Z'));
    }
    let mut characters: Vec<char> = text.chars().collect();
    match characters.last_mut() {
        Some(last) => {
            *last = match *last {
                '9' => '8',
                digit if digit.is_ascii_digit() => '9',
                'f' => 'e',
                letter if letter.is_ascii_lowercase() => 'f',
                'F' => 'E',
                letter if letter.is_ascii_uppercase() => 'F',
                _ => 'x',
            };
            characters.into_iter().collect()
        }
        None => "x".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Ended, Outgoing};

    fn answer(body: &str, status: u16) -> Exchange {
        Exchange {
            step: 0,
            round: 0,
            actor: "a".to_owned(),
            operation: "pull".to_owned(),
            sent: Outgoing {
                transport: Transport::Http,
                method: "GET".to_owned(),
                url: String::new(),
                headers: Vec::new(),
                body: Body::default(),
            },
            received: Incoming {
                status: Some(status),
                headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
                body: Body::from(body.as_bytes().to_vec()),
                arrived: Vec::new(),
                ended: Ended::Complete,
            },
            started_ms: 0,
            elapsed_ms: 0,
            hosted: None,
            clock_ms: 0,
        }
    }

    fn changed(body: &str, place: &str, change: Change) -> Option<String> {
        let mut exchange = answer(body, 200);
        let member = Member { operation: "pull".to_owned(), library: false, refusal: false, place: place.to_owned() };
        apply(&crate::protocol::agentic::Agentic, &member, change, "pull", Transport::Http, &mut exchange.received)
            .then(|| exchange.received.body.text().unwrap_or_default().to_owned())
    }

    #[test]
    fn every_member_is_found_once_and_array_elements_are_one() {
        let places: Vec<String> = members(&answer(r#"{"a":[{"b":1},{"b":2,"c":null}]}"#, 200))
            .into_iter()
            .map(|member| member.place)
            .collect();
        assert_eq!(places, ["", "/a", "/a/*", "/a/*/b", "/a/*/c", "content-type", "status"]);
    }

    #[test]
    fn a_change_touches_one_member_in_every_element() {
        let body = r#"{"a":[{"b":1},{"b":2}],"c":"2026-01-02T03:04:05Z"}"#;
        let at = |place, change| changed(body, place, change).unwrap_or_default();
        assert_eq!(at("/a/*/b", Change::Remove), r#"{"a":[{},{}],"c":"2026-01-02T03:04:05Z"}"#);
        assert_eq!(at("/a/*/b", Change::Type), r#"{"a":[{"b":"1"},{"b":"2"}],"c":"2026-01-02T03:04:05Z"}"#);
        assert_eq!(at("/a", Change::Value), r#"{"a":[],"c":"2026-01-02T03:04:05Z"}"#);
        assert_eq!(at("/c", Change::Value), r#"{"a":[{"b":1},{"b":2}],"c":"2026-01-02T04:04:05Z"}"#);
        assert_eq!(changed(body, "/d", Change::Value), None);
    }

    #[test]
    fn a_document_in_hex_is_decoded() {
        let hex = data_encoding::HEXLOWER.encode(br#"{"title":"t1"}"#);
        let body = format!(r#"{{"result":{{"package_hex":"{hex}"}}}}"#);
        let found = changed(&body, "/result/package_hex/title", Change::Value).unwrap_or_default();
        let expected = data_encoding::HEXLOWER.encode(br#"{"title":"t9"}"#);
        assert_eq!(found, format!(r#"{{"result":{{"package_hex":"{expected}"}}}}"#));
    }

    #[test]
    fn a_rejection_has_its_own_members() {
        let mut refused = answer(r#"{"error":"x"}"#, 404);
        let member =
            Member { operation: "pull".to_owned(), library: false, refusal: false, place: "/error".to_owned() };
        assert!(!apply(
            &crate::protocol::agentic::Agentic,
            &member,
            Change::Value,
            "pull",
            Transport::Http,
            &mut refused.received
        ));
        let member = Member { refusal: true, ..member };
        assert!(apply(
            &crate::protocol::agentic::Agentic,
            &member,
            Change::Value,
            "pull",
            Transport::Http,
            &mut refused.received
        ));
    }
}
