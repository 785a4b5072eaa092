//! How the forwarded copy differs from the message that was sent (binding, section 7). Each difference names a row of the
//! table; suites say which requirement a row belongs to, and whether it counts under the strict profile only.

use super::block::{self, Fate};
use super::difference::{Difference, Differences, Rules};
use super::{graph, number};
use crate::value::{Path, Value};
use crate::wire::show;

/// The rows, each with what it is about.
pub(super) const ROWS: &[(&str, &str)] = &[
    ("ttl", "ttl is the inbound ttl minus one"),
    ("ttl-spelling", "ttl is written in plain digits"),
    ("message-id", "messageId is the inbound messageId"),
    ("trace-found", "the inbound traceId is found in the Header"),
    ("trace-extended", "the new traceId contains the inbound one"),
    ("trace-changed", "traceId differs from the inbound one"),
    ("directives", "roles, routingIntent and encryption are as sent"),
    ("header", "every other member of Header is as sent"),
    ("blocks-kept", "every block that must stay is there, once"),
    ("blocks-removed", "no block that must go is there"),
    ("roleless-blocks", "every block without role is there"),
    ("block-members", "the members of the blocks that stay are as sent"),
    ("block-flags", "true flags of the blocks that stay are still true"),
    ("block-role", "the roles of the blocks that stay are as sent"),
    ("block-dropped-flags", "false flags of the blocks that stay are still there"),
    ("block-order", "the blocks that stay are in the order sent"),
    ("blocks-added", "added blocks are well formed"),
    ("body", "every member of Body is as sent"),
    ("body-additions", "Body has no new member"),
    ("additions", "no new member is in Envelope or beside it"),
    ("extras", "further members of Envelope and beside it are as sent"),
    ("graph-removals", "every node and edge is there"),
    ("graph-additions", "added nodes and edges are identified as additions"),
    ("graph-identity", "ids, types, ends, weights and mode are as sent"),
    ("graph-members", "further members of MemoryGram, nodes and edges are as sent"),
    ("metadata", "metadata is as sent"),
    ("annotations", "processedBy is a list of names, processingTimestamp a time"),
    ("sealed-graph", "an encrypted MemoryGram is as sent"),
    ("graph-order", "nodes and edges are in the order sent"),
    ("types", "every value has the JSON type that was sent"),
    ("numbers", "every number has exactly the value that was sent"),
    ("array-order", "arrays are in the order sent"),
];

/// The members of Header that an intermediary must change or keep by rules of their own.
const RULED: [&str; 6] = ["messageId", "traceId", "ttl", "roles", "routingIntent", "encryption"];

/// The differences between a message and its forwarded copy.
pub(super) fn compare(sent: &Value, copy: &Value, rules: &Rules) -> Vec<Difference> {
    let mut found = Differences { list: Vec::new() };
    let root = Path::default();
    let envelope = root.child("Envelope");
    found.additions(&root, sent, copy, None);
    let (Some(sent_envelope), Some(copy_envelope)) = (sent.member("Envelope"), copy.member("Envelope")) else {
        found.note("additions", &envelope, "an Envelope", copy.member("Envelope"));
        return found.list;
    };
    for (key, value) in sent.as_map().unwrap_or_default() {
        if let Some(name) = key.as_text().filter(|name| *name != "Envelope") {
            found.value("extras", Some("extras"), &root.child(name), value, copy.member(name));
        }
    }
    found.additions(&envelope, sent_envelope, copy_envelope, rules.blocks_at.as_ref());
    for (key, value) in sent_envelope.as_map().unwrap_or_default() {
        let Some(name) = key.as_text() else { continue };
        let (at, copied) = (envelope.child(name), copy_envelope.member(name));
        let is_container = rules.blocks_at.as_ref() == Some(&at);
        match name {
            "Header" => found.header(&at, value, copied, rules),
            "Body" => found.value("body", Some("body-additions"), &at, value, copied),
            "MemoryGram" => {
                let sealed = sent_envelope.member("Header").and_then(|header| header.member("encryption"));
                let sealed = sealed.is_some_and(|entry| *entry != Value::Null);
                graph::compare(&mut found, &at, (value, copied), sealed, rules);
            }
            _ if is_container => {}
            _ => found.value("extras", Some("extras"), &at, value, copied),
        }
    }
    if let Some(place) = &rules.blocks_at {
        found.blocks(place, place.resolve(sent), place.resolve(copy), rules);
    }
    found.list
}

impl Differences {
    /// New members of a map, besides the one for header blocks, to which blocks may be added (4.8.2.1, rule 4).
    fn additions(&mut self, at: &Path, sent: &Value, copy: &Value, blocks: Option<&Path>) {
        for (key, value) in copy.as_map().unwrap_or_default() {
            let new = key.as_text().filter(|name| sent.member(name).is_none());
            if let Some(name) = new.filter(|name| blocks != Some(&at.child(*name))) {
                self.note("additions", &at.child(name), "no new member", Some(value));
            }
        }
    }

    fn header(&mut self, at: &Path, sent: &Value, copy: Option<&Value>, rules: &Rules) {
        let nothing = Value::Map(Vec::new().into());
        let copy = copy.unwrap_or(&nothing);
        let text = |header: &'_ Value, name: &str| header.member(name).and_then(Value::as_text).map(str::to_owned);
        if let Some(ttl) = sent.member("ttl").filter(|ttl| ttl.is_number()) {
            let lowered = ttl.as_integer().map(|ttl| Value::Integer(ttl - rules.hops));
            let (place, found) = (at.child("ttl"), copy.member("ttl"));
            if let Some(lowered) = lowered {
                let same = found.is_some_and(|found| found.is_number() && number::same(found, &lowered));
                if !same {
                    self.note("ttl", &place, show(&lowered), found);
                }
                if !matches!(found, None | Some(Value::Integer(_))) {
                    self.note("ttl-spelling", &place, "a number in plain digits", found);
                }
            }
        }
        if let Some(id) = text(sent, "messageId") {
            let found = copy.member("messageId");
            if found.and_then(Value::as_text) != Some(id.as_str()) {
                self.note("message-id", &at.child("messageId"), show(&Value::text(id)), found);
            }
        }
        if let Some(trace) = text(sent, "traceId") {
            let (place, found) = (at.child("traceId"), copy.member("traceId"));
            let has = |value: &Value| value.as_text().is_some_and(|text| text.contains(&trace));
            let known = |name: &str| matches!(name, "messageId") || sent.member(name).is_some_and(has);
            let elsewhere = copy.as_map().unwrap_or_default().iter().any(|(key, value)| {
                key.as_text().is_some_and(|name| name != "traceId" && !known(name)) && holds_text(value, &trace, 0)
            });
            if !found.is_some_and(has) {
                self.note("trace-extended", &place, format!("a text with {}", show(&Value::text(&trace))), found);
                if !elsewhere {
                    self.note("trace-found", &place, format!("a text with {}", show(&Value::text(&trace))), found);
                }
            }
            if found.and_then(Value::as_text) == Some(trace.as_str()) {
                self.note("trace-changed", &place, "another value than the inbound one", found);
            }
        }
        for name in ["roles", "routingIntent", "encryption"] {
            let (place, found) = (at.child(name), directive(copy, name));
            match directive(sent, name) {
                Some(value) => self.value("directives", Some("directives"), &place, value, found),
                None if name == "encryption" && found.is_some() => {
                    self.note("directives", &place, "no encryption entry", found);
                }
                None => {}
            }
        }
        for (key, value) in sent.as_map().unwrap_or_default() {
            let Some(name) = key.as_text().filter(|name| !RULED.contains(name)) else { continue };
            let place = at.child(name);
            if rules.blocks_at.as_ref() != Some(&place) {
                self.value("header", Some("header"), &place, value, copy.member(name));
            }
        }
    }

    fn blocks(&mut self, at: &Path, sent: Option<&Value>, copy: Option<&Value>, rules: &Rules) {
        let nothing: &[Value] = &[];
        let sents = sent.and_then(Value::as_array).unwrap_or(nothing);
        let copies = copy.and_then(Value::as_array).unwrap_or(nothing);
        if copy.is_some_and(|copy| copy.as_array().is_none()) {
            self.note("types", at, "an array", copy);
            self.note("blocks-kept", at, "an array", copy);
            return;
        }
        let mut taken = vec![false; copies.len()];
        let mut order = Vec::new();
        for (index, block) in sents.iter().enumerate() {
            let place = at.child(index.to_string());
            let is_same = |other: &Value| match block::mark(block) {
                Some(mark) => block::mark(other) == Some(mark),
                None => other.member("type") == block.member("type"),
            };
            let found: Vec<usize> =
                (0..copies.len()).filter(|index| !taken[*index] && is_same(&copies[*index])).collect();
            let fate = rules.vocabulary.fate(block);
            let roleless = block.member("role").is_none();
            match (fate, found.split_first()) {
                (Fate::Stays, None) => {
                    let row = if roleless { "roleless-blocks" } else { "blocks-kept" };
                    self.note(row, &place, show(block), None);
                }
                (Fate::Goes, Some((first, _))) => {
                    self.note("blocks-removed", &place, "no such block", copies.get(*first));
                }
                _ => {}
            }
            if block::mark(block).is_some() && found.len() > 1 {
                self.note("blocks-kept", &place, "the block once", copies.get(found[1]));
            }
            let Some(first) = found.first() else { continue };
            found.iter().for_each(|index| taken[*index] = true);
            if fate != Fate::Goes {
                order.push(*first);
                self.block(&place, block, &copies[*first]);
            }
        }
        if !order.is_sorted() {
            self.note("block-order", at, "the blocks that stay in the order sent", copy);
        }
        for (index, added) in copies.iter().enumerate().filter(|(index, _)| !taken[*index]) {
            if !is_well_formed(added) {
                let place = at.child(index.to_string());
                self.note(
                    "blocks-added",
                    &place,
                    "a block with a type, a role that is a URI, and boolean flags",
                    Some(added),
                );
            }
        }
    }

    fn block(&mut self, at: &Path, sent: &Value, copy: &Value) {
        for (key, value) in sent.as_map().unwrap_or_default() {
            let Some(name) = key.as_text() else { continue };
            let (place, found) = (at.child(name), copy.member(name));
            match (name, value) {
                ("mustUnderstand" | "relay", Value::Bool(true)) if found != Some(value) => {
                    self.value("block-members", None, &place, value, found);
                    self.note("block-flags", &place, "true", found);
                }
                // Its meaning is the same without it (E34, E73).
                ("mustUnderstand" | "relay", Value::Bool(false)) if found.is_none() => {
                    self.note("block-dropped-flags", &place, "false", None);
                }
                ("mustUnderstand" | "relay", Value::Bool(false)) if found != Some(value) => {
                    self.value("block-members", None, &place, value, found);
                    self.note("block-flags", &place, "false", found);
                }
                ("role", _) if found != Some(value) => {
                    self.value("block-members", None, &place, value, found);
                    self.note("block-role", &place, show(value), found);
                }
                _ => self.value("block-members", None, &place, value, found),
            }
        }
    }
}

/// A member of a Header that says how to treat the message; an encryption entry that is null counts as absent (E85).
fn directive<'h>(header: &'h Value, name: &str) -> Option<&'h Value> {
    header.member(name).filter(|value| name != "encryption" || **value != Value::Null)
}

/// Whether a text occurs in a string at any depth.
fn holds_text(value: &Value, wanted: &str, depth: usize) -> bool {
    match value {
        Value::Text(text) => text.contains(wanted),
        Value::Array(items) if depth < 16 => items.iter().any(|item| holds_text(item, wanted, depth + 1)),
        Value::Map(members) if depth < 16 => members.iter().any(|(_, value)| holds_text(value, wanted, depth + 1)),
        _ => false,
    }
}

/// Whether a value is a header block as section 4.3 shows one.
pub(super) fn is_well_formed(block: &Value) -> bool {
    let is_flag = |name: &str| matches!(block.member(name), None | Some(Value::Bool(_)));
    let role = block.member("role");
    block.member("type").is_some_and(|kind| kind.as_text().is_some())
        && role.is_none_or(|role| role.as_text().is_some_and(is_uri))
        && is_flag("mustUnderstand")
        && is_flag("relay")
}

/// Whether a text is an absolute URI: a scheme, a colon, and something after it.
pub(super) fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
            && !rest.is_empty()
            && !text.contains(char::is_whitespace)
    })
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
