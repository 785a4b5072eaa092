//! How the MemoryGram of a forwarded copy differs from the one that was sent (section 4.8.3; binding, section 7).

use chrono::DateTime;

use super::difference::{Differences, Rules};
use crate::value::{Path, Value};
use crate::wire::show;

/// Names of members that identify an added node or edge (E17).
const MARKS: &[&str] =
    &["addedBy", "augmentedBy", "insertedBy", "createdBy", "processedBy", "sourceAgent", "origin", "provenance"];

/// Compares two MemoryGrams. An encrypted one is compared as a whole, unless it is a graph (E40, E85).
pub(super) fn compare(
    found: &mut Differences,
    at: &Path,
    (sent, copy): (&Value, Option<&Value>),
    is_sealed: bool,
    rules: &Rules,
) {
    let is_graph = sent.member("nodes").is_some() || sent.member("edges").is_some();
    if is_sealed && !is_graph || sent.as_map().is_none() {
        return found.value("sealed-graph", Some("sealed-graph"), at, sent, copy);
    }
    let Some(copy) = copy.filter(|copy| copy.as_map().is_some()) else {
        found.note("types", at, "an object", copy);
        found.note("graph-identity", at, "the MemoryGram", copy);
        return found.note("graph-removals", at, "the MemoryGram", copy);
    };
    for (key, value) in sent.as_map().unwrap_or_default() {
        let Some(name) = key.as_text() else { continue };
        let (place, copied) = (at.child(name), copy.member(name));
        match name {
            "nodes" => found.nodes(&place, value, copied, rules),
            "edges" => found.edges(&place, value, copied, rules),
            "mode" => found.value("graph-identity", None, &place, value, copied),
            _ => found.value("graph-members", Some("graph-members"), &place, value, copied),
        }
    }
    for name in ["nodes", "edges"] {
        if let (None, Some(Value::Array(added))) = (sent.member(name), copy.member(name)) {
            added.iter().for_each(|item| found.added(&at.child(name), item, rules));
        }
    }
}

/// The text of a member.
fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.member(name).and_then(Value::as_text)
}

impl Differences {
    fn nodes(&mut self, at: &Path, sent: &Value, copy: Option<&Value>, rules: &Rules) {
        let same = |a: &Value, b: &Value| match (text(a, "id"), text(b, "id")) {
            (None, None) => is_same_without_metadata(a, b),
            (sent, copy) => sent == copy,
        };
        self.items(at, (sent, copy), rules, &same, &|found, place, sent, copy| {
            found.node(place, sent, copy);
        });
    }

    fn edges(&mut self, at: &Path, sent: &Value, copy: Option<&Value>, rules: &Rules) {
        let same =
            |a: &Value, b: &Value| ["source", "target", "context"].iter().all(|name| a.member(name) == b.member(name));
        self.items(at, (sent, copy), rules, &same, &|found, place, sent, copy| {
            found.edge(place, sent, copy);
        });
    }

    /// Matches the items of two lists, and compares those that belong together.
    fn items(
        &mut self,
        at: &Path,
        (sent, copy): (&Value, Option<&Value>),
        rules: &Rules,
        same: &dyn Fn(&Value, &Value) -> bool,
        compare: &dyn Fn(&mut Self, &Path, &Value, &Value),
    ) {
        let (Some(sents), Some(copies)) = (sent.as_array(), copy.and_then(Value::as_array)) else {
            // A list that was no array, or is none any more.
            if sent.as_array().is_some_and(|sents| !sents.is_empty()) {
                self.note("graph-removals", at, show(sent), copy);
            }
            if sent.as_array().is_none() || copy.is_some() {
                self.value("graph-identity", None, at, sent, copy);
            } else if sent.as_array().is_some_and(<[Value]>::is_empty) {
                self.note("types", at, show(sent), copy);
            }
            return;
        };
        let mut taken = vec![false; copies.len()];
        let mut order = Vec::new();
        let mut lost = Vec::new();
        let mut next = 0;
        for (index, item) in sents.iter().enumerate() {
            // The same place is looked at first: most copies keep the order.
            let places = (next..copies.len()).chain(0..next.min(copies.len()));
            match places.into_iter().find(|place| !taken[*place] && same(item, &copies[*place])) {
                Some(place) => {
                    taken[place] = true;
                    next = place + 1;
                    order.push(place);
                    compare(self, &at.child(index.to_string()), item, &copies[place]);
                }
                None => lost.push(index),
            }
        }
        let mut added: Vec<usize> = (0..copies.len()).filter(|place| !taken[*place]).collect();
        for index in lost {
            let (place, item) = (at.child(index.to_string()), &sents[index]);
            // A new item in the place of a lost one is the lost one, changed.
            let changed = added.iter().position(|place| !self.is_identified(&copies[*place], rules));
            match changed.map(|at| added.remove(at)) {
                Some(changed) => self.note("graph-identity", &place, show(item), copies.get(changed)),
                None => self.note("graph-removals", &place, show(item), None),
            }
        }
        added.into_iter().for_each(|place| self.added(at, &copies[place], rules));
        if !order.is_sorted() {
            self.note("graph-order", at, "the order sent", copy);
        }
    }

    fn is_identified(&self, item: &Value, rules: &Rules) -> bool {
        let is_mark = |name: &str| MARKS.contains(&name) || rules.marks.iter().any(|mark| mark == name);
        let has_mark = |value: &Value| {
            value.as_map().unwrap_or_default().iter().any(|(key, _)| key.as_text().is_some_and(is_mark))
        };
        has_mark(item) || item.member("metadata").is_some_and(has_mark) || names(item, &rules.node_uri, 0)
    }

    fn added(&mut self, at: &Path, item: &Value, rules: &Rules) {
        if !self.is_identified(item, rules) {
            self.note("graph-additions", at, "an added item that is identified as an addition", Some(item));
        }
    }

    fn node(&mut self, at: &Path, sent: &Value, copy: &Value) {
        for (key, value) in sent.as_map().unwrap_or_default() {
            let Some(name) = key.as_text() else { continue };
            let (place, copied) = (at.child(name), copy.member(name));
            match name {
                "id" | "type" => self.value("graph-identity", None, &place, value, copied),
                "metadata" => self.metadata(&place, value, copied),
                _ => self.value("graph-members", None, &place, value, copied),
            }
        }
        self.annotation(&at.child("metadata"), sent.member("metadata"), copy.member("metadata"));
        self.annotation(at, Some(sent), Some(copy));
    }

    fn edge(&mut self, at: &Path, sent: &Value, copy: &Value) {
        for (key, value) in sent.as_map().unwrap_or_default() {
            let Some(name) = key.as_text() else { continue };
            let (place, copied) = (at.child(name), copy.member(name));
            match name {
                "source" | "target" | "weight" | "context" => {
                    self.value("graph-identity", None, &place, value, copied);
                }
                "metadata" => self.metadata(&place, value, copied),
                _ => self.value("graph-members", None, &place, value, copied),
            }
        }
        self.annotation(&at.child("metadata"), sent.member("metadata"), copy.member("metadata"));
        self.annotation(at, Some(sent), Some(copy));
    }

    fn metadata(&mut self, at: &Path, sent: &Value, copy: Option<&Value>) {
        if sent.as_map().is_none() || copy.is_none_or(|copy| copy.as_map().is_none()) {
            return self.value("metadata", None, at, sent, copy);
        }
        for (key, value) in sent.as_map().unwrap_or_default() {
            let Some(name) = key.as_text() else { continue };
            let (place, copied) = (at.child(name), copy.and_then(|copy| copy.member(name)));
            let grows = name == "processedBy"
                && match (value, copied) {
                    (Value::Array(sent), Some(Value::Array(copy))) => {
                        sent.len() <= copy.len() && sent.iter().zip(copy).all(|(a, b)| a.same_as(b))
                    }
                    _ => false,
                };
            // E80: a later time stamp may replace the one that was there.
            let later = name == "processingTimestamp" && is_later(value, copied);
            if !grows && !later {
                self.value("metadata", None, &place, value, copied);
            }
        }
    }

    /// Judges processedBy and processingTimestamp where the intermediary wrote them.
    fn annotation(&mut self, at: &Path, sent: Option<&Value>, copy: Option<&Value>) {
        for name in ["processedBy", "processingTimestamp"] {
            let was = sent.and_then(|sent| sent.member(name));
            let Some(is) = copy.and_then(|copy| copy.member(name)) else { continue };
            if was == Some(is) {
                continue;
            }
            let place = at.child(name);
            let list = |items: &[Value]| {
                items.iter().all(|item| item.as_text().is_some_and(|name| !name.is_empty())) && !items.is_empty()
            };
            let fits = match name {
                "processedBy" => is.as_array().is_some_and(list),
                _ => is.as_text().is_some_and(|text| DateTime::parse_from_rfc3339(text).is_ok()),
            };
            if !fits {
                let expected =
                    if name == "processedBy" { "an array of names" } else { "a date-time of RFC 3339 with an offset" };
                self.note("annotations", &place, expected, Some(is));
            }
        }
    }
}

/// Whether a node without an id is still there: all its members but the metadata, to which a relay may add.
fn is_same_without_metadata(sent: &Value, copy: &Value) -> bool {
    let Some(members) = sent.as_map() else { return sent.same_as(copy) };
    let is_kept = |name: &str, value: &Value| copy.member(name).is_some_and(|copied| value.same_as(copied));
    members.iter().all(|(key, value)| key.as_text().is_some_and(|name| name == "metadata" || is_kept(name, value)))
}

fn is_later(sent: &Value, copy: Option<&Value>) -> bool {
    let time = |value: &Value| DateTime::parse_from_rfc3339(value.as_text()?).ok();
    match (time(sent), copy.and_then(time)) {
        (Some(sent), Some(copy)) => copy >= sent,
        _ => false,
    }
}

/// Whether a text occurs in a string at any depth.
fn names(value: &Value, wanted: &str, depth: usize) -> bool {
    match value {
        Value::Text(text) => text.contains(wanted),
        Value::Array(items) if depth < 16 => items.iter().any(|item| names(item, wanted, depth + 1)),
        Value::Map(members) if depth < 16 => members.iter().any(|(_, value)| names(value, wanted, depth + 1)),
        _ => false,
    }
}

/// Whether the content of a MemoryGram is as section 3 says, under every reading.
pub(super) fn is_sound(graph: &Value) -> bool {
    let nodes = graph.member("nodes");
    let edges = graph.member("edges");
    let list = |value: Option<&Value>| value.is_none_or(|value| value.as_array().is_some());
    let is_text = |value: &Value, name: &str| text(value, name).is_some();
    let may_be_text = |value: &Value, name: &str| value.member(name).is_none_or(|value| value.as_text().is_some());
    let items = |value: Option<&Value>| value.and_then(Value::as_array).unwrap_or_default().to_vec();
    let node = |node: &Value| {
        is_text(node, "id")
            && is_text(node, "type")
            && node.member("metadata").is_some_and(|metadata| metadata.as_map().is_some())
    };
    let edge = |edge: &Value| {
        let weight = edge.member("weight").and_then(Value::as_f64);
        is_text(edge, "source")
            && is_text(edge, "target")
            && may_be_text(edge, "context")
            && weight.is_some_and(|weight| (0.0..=1.0).contains(&weight))
    };
    let nodes_listed = items(nodes);
    let mut ids: Vec<&str> = nodes_listed.iter().filter_map(|node| text(node, "id")).collect();
    ids.sort_unstable();
    graph.as_map().is_some()
        && [nodes, edges, graph.member("mode"), graph.member("encoding")].iter().all(Option::is_some)
        && list(nodes)
        && list(edges)
        && may_be_text(graph, "mode")
        && may_be_text(graph, "encoding")
        && nodes_listed.iter().all(node)
        && items(edges).iter().all(edge)
        && ids.windows(2).all(|pair| pair[0] != pair[1])
}
