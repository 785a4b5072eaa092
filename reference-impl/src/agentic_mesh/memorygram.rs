//! MemoryGrams: what is valid in one (section 3), and what intermediaries do with it (sections 4.6 and 4.8.3).

use std::collections::HashSet;

use super::failure::problem;
use super::faults;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// The problems of a MemoryGram's content. Absent members are no problem (E13), nor are edges to nodes outside of it (E14),
/// unknown members, and unknown metadata (E53).
#[must_use]
pub(crate) fn problems(memorygram: &Object, rules: &Rules) -> Vec<String> {
    let mut found = Vec::new();
    let (any_nodes, any_edges) = (rules.fault.is("nodes-any-type"), rules.fault.is("edges-any-type"));
    let mut nodes = list(memorygram, "nodes", any_nodes, &mut found);
    let mut edges = list(memorygram, "edges", any_edges, &mut found);
    planted!(rules.fault, "first-node-checked-only", nodes = nodes.get(..1).unwrap_or(nodes));
    planted!(rules.fault, "first-edge-checked-only", edges = edges.get(..1).unwrap_or(edges));
    if wrong_text(memorygram, "mode") && !rules.fault.is("mode-any-type") {
        found.push("mode is not a string".to_owned());
    }
    if wrong_text(memorygram, "encoding") && !rules.fault.is("encoding-any-type") {
        found.push("encoding is not a string".to_owned());
    }
    // E15: snapshot and json are legal; other words are not judged.
    let (mode, encoding) = (memorygram.text("mode"), memorygram.text("encoding"));
    planted!(rules.fault, "mode-full-only", mode.is_some_and(|mode| mode != "full") => found.push("mode".to_owned()));
    let charset = encoding.is_none_or(|encoding| encoding == "utf-8");
    planted!(rules.fault, "encoding-taken-for-charset", !charset => found.push("encoding".to_owned()));
    // Other, E13: all four members are required.
    let all = rules.is_other() || rules.fault.is("memorygram-members-all-required");
    let missing = ["nodes", "edges", "mode", "encoding"].into_iter().filter(|name| memorygram.get(name).is_none());
    found.extend(missing.filter(|_| all).map(|name| format!("{name} is missing")));
    let mut ids = HashSet::new();
    for node in nodes {
        match node.as_object() {
            Some(node) => node_problems(node, &mut ids, rules, &mut found),
            None => found.push("a node is not an object".to_owned()),
        }
        // E58: unique within the MemoryGram.
        let last = node.as_object().and_then(|node| node.text("id"));
        planted!(rules.fault, "adjacent-ids-compared-only", ids.retain(|id| Some(*id) == last));
    }
    for edge in edges {
        match edge.as_object() {
            Some(edge) => edge_problems(edge, rules, &mut found),
            None => found.push("an edge is not an object".to_owned()),
        }
    }
    // E14: a partial snapshot points out of itself.
    let known = |end: Option<&str>| end.is_none_or(|end| ids.contains(end));
    let dangling = edges.iter().filter_map(Value::as_object);
    let dangling = dangling.filter(|edge| !known(edge.text("source")) || !known(edge.text("target"))).count();
    planted!(rules.fault, "dangling-edge-refused", dangling > 0 => found.push("an edge ends at no node".to_owned()));
    found
}

/// 2.3: nodes and edges are arrays.
fn list<'m>(memorygram: &'m Object, name: &str, unchecked: bool, found: &mut Vec<String>) -> &'m [Value] {
    match memorygram.get(name) {
        None => &[],
        Some(Value::List(items)) => items,
        Some(_) if unchecked => &[],
        other => {
            found.push(problem(name, "an array", other));
            &[]
        }
    }
}

fn wrong_text(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(|value| value.as_text().is_none())
}

/// 3.1: a node has an id that is unique in its MemoryGram (E58), a type, and any metadata.
fn node_problems<'m>(node: &'m Object, ids: &mut HashSet<&'m str>, rules: &Rules, found: &mut Vec<String>) {
    match node.get("id") {
        Some(Value::Text(id)) => {
            if !ids.insert(id) && !rules.fault.is("duplicate-ids-taken") {
                found.push(format!("two nodes with the id {id}"));
            }
        }
        Some(Value::Number(_)) if rules.fault.is("node-id-number-taken") => {}
        None if rules.fault.is("node-id-missing-taken") => {}
        None if rules.is_other() => {} // Other, E13: the table does not say that id is required.
        other => found.push(problem("the id of a node", "a string", other)),
    }
    if wrong_text(node, "type") && !rules.fault.is("node-type-unchecked") {
        found.push("the type of a node is not a string".to_owned());
    }
    let kind = node.text("type").is_none_or(|kind| ["plan", "issue"].contains(&kind));
    planted!(rules.fault, "unknown-node-category-refused", !kind => found.push("unknown category".to_owned()));
    match node.get("metadata") {
        None | Some(Value::Object(_)) => {}
        Some(_) if rules.fault.is("node-metadata-any-type") => {}
        other => found.push(problem("the metadata of a node", "an object", other)),
    }
    // Extensibility: unknown metadata is ignored.
    let unknown = faults::memorygram::unknown_metadata(node);
    planted!(rules.fault, "metadata-allow-list", name in unknown => found.push(format!("unknown metadata {name}")));
}

/// 3.2: source and target are strings, weight is a number from 0 to 1, both included (E59), context is an optional label.
fn edge_problems(edge: &Object, rules: &Rules, found: &mut Vec<String>) {
    let (any_source, any_target) = (rules.fault.is("edge-source-unchecked"), rules.fault.is("edge-target-unchecked"));
    for (name, unchecked) in [("source", any_source), ("target", any_target)] {
        match edge.get(name) {
            Some(Value::Text(_)) => {}
            _ if unchecked => {}
            None if rules.is_other() => {} // Other, E13: nor that these are.
            other => found.push(problem(&format!("the {name} of an edge"), "a string", other)),
        }
    }
    match edge.get("weight") {
        None => {}
        Some(Value::Number(weight)) => {
            let weight = weight.as_f64();
            let below = if rules.fault.is("weight-one-refused") { weight < 1.0 } else { weight <= 1.0 };
            let inside = weight >= 0.0 && below;
            if !inside && !rules.fault.is("weight-range-unchecked") {
                found.push("a weight is outside of 0 to 1".to_owned());
            }
        }
        Some(Value::Text(_)) if rules.fault.is("weight-parsed-from-string") => {}
        other => found.push(problem("a weight", "a number", other)),
    }
    let label = edge.get("context");
    planted!(rules.fault, "edge-context-required", label.is_none() => found.push("context is missing".to_owned()));
    if wrong_text(edge, "context") && !rules.fault.is("edge-context-any-type") {
        found.push("the context of an edge is not a string".to_owned());
    }
    // 4.8.2.1, rule 14: edges may carry annotations (E16).
    let known = ["source", "target", "weight", "context"];
    let annotated = edge.iter().any(|(name, _)| !known.contains(&name));
    planted!(rules.fault, "annotated-edge-refused", annotated => found.push("unknown member of an edge".to_owned()));
}

/// 4.8.3, rule 2: appends the URI of a node to the processing history of every MemoryGram node, or of those with these ids.
pub(crate) fn annotate(memorygram: &mut Value, uri: &str, ids: Option<&[&str]>, rules: &Rules) {
    let now = rules.clock.now().with_milliseconds();
    for node in nodes_mut(memorygram) {
        let Some(node) = node.as_object_mut() else { continue };
        if ids.is_some_and(|ids| !node.text("id").is_some_and(|id| ids.contains(&id))) {
            continue;
        }
        planted!(rules.fault, "bare-nodes-not-annotated", node.get("metadata").is_none() => continue);
        if !matches!(node.get("metadata"), Some(Value::Object(_))) {
            node.set("metadata", Object::new());
        }
        let Some(metadata) = node.get_mut("metadata").and_then(Value::as_object_mut) else { continue };
        planted!(rules.fault, "annotation-forgotten", return);
        // 4.8.3, rule 2: metadata is added, none is replaced.
        planted!(rules.fault, "annotation-replaces-metadata", *metadata = Object::new());
        planted!(rules.fault, "processed-by-as-string", return metadata.set("processedBy", uri));
        match metadata.get_mut("processedBy") {
            Some(Value::List(history)) => history.push(uri.into()),
            _ => metadata.set("processedBy", Value::List(vec![uri.into()])), // none yet (E80)
        }
        metadata.set("processingTimestamp", now.as_str());
    }
}

fn nodes_mut(memorygram: &mut Value) -> &mut [Value] {
    match memorygram.as_object_mut().and_then(|memorygram| memorygram.get_mut("nodes")) {
        Some(Value::List(nodes)) => nodes,
        _ => &mut [], // a graph without nodes, or no graph
    }
}

/// 4.8.3, rule 4: adds nodes and edges, each marked as an addition of the node with this URI (E17). An id that is taken gets
/// a number at its end, since an addition must not look like a node that was there.
pub(crate) fn augment(memorygram: &mut Value, uri: &str, nodes: Vec<Object>, edges: Vec<Object>, rules: &Rules) {
    let Some(memorygram) = memorygram.as_object_mut() else { return };
    let taken: HashSet<String> = items(memorygram, "nodes").iter().filter_map(id).collect();
    let first = items(memorygram, "nodes").iter().find_map(id);
    let free = |wanted: &str| {
        let numbered = (2..).map(|number: u64| format!("{wanted}-{number}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(|id| !taken.contains(id)).unwrap_or_default()
    };
    let mark = |mut addition: Object| {
        // 4.8.3, rule 4: such additions must be clearly identified.
        planted!(rules.fault, "addition-unmarked", return addition);
        addition.set("addedBy", uri);
        addition
    };
    let mut renamed = Vec::new();
    for mut node in nodes {
        if let Some(wanted) = node.text("id").map(str::to_owned) {
            let mut id = free(&wanted);
            // E17: an id that is taken is no identified addition.
            planted!(rules.fault, "addition-numbered-by-count", id = format!("n{}", taken.len()));
            planted!(rules.fault, "addition-takes-known-id", known in first.clone() => id = known);
            node.set("id", id.as_str());
            renamed.push((wanted, id));
        }
        push(memorygram, "nodes", mark(node));
    }
    for mut edge in edges {
        for end in ["source", "target"] {
            let new = renamed.iter().find(|(wanted, id)| edge.text(end) == Some(wanted) && wanted != id);
            if let Some((_, id)) = new {
                edge.set(end, id.as_str());
            }
        }
        push(memorygram, "edges", mark(edge));
    }
}

fn items<'m>(memorygram: &'m Object, name: &str) -> &'m [Value] {
    memorygram.get(name).and_then(Value::as_list).unwrap_or_default()
}

fn id(node: &Value) -> Option<String> {
    node.as_object()?.text("id").map(str::to_owned)
}

fn push(memorygram: &mut Object, name: &str, addition: Object) {
    match memorygram.get_mut(name) {
        Some(Value::List(items)) => items.push(addition.into()),
        _ => memorygram.set(name, Value::List(vec![addition.into()])), // E13: it was absent
    }
}

/// The addition of the module `augment` (binding.md, 6): a node, and an edge from the first node of the graph to it.
#[must_use]
pub(crate) fn addition(memorygram: &Value, uri: &str, short_name: &str) -> (Object, Object) {
    let first = memorygram.as_object().and_then(|graph| items(graph, "nodes").first().and_then(id));
    let name = format!("hop-{short_name}");
    let metadata = Object::from([("relayedBy", uri.into())]);
    let node = Object::from([("id", name.as_str().into()), ("type", "hop".into()), ("metadata", metadata.into())]);
    let edge = Object::from([
        ("source", first.unwrap_or_else(|| name.clone()).into()),
        ("target", name.into()),
        ("weight", crate::json::Number::from(1).into()),
        ("context", "relayed by".into()),
    ]);
    (node, edge)
}

/// 4.8.3, rule 3: removes nodes with the edges that end at them. All else stays, so that the rest of the graph is connected
/// as far as it was without them.
pub(crate) fn filter(memorygram: &mut Object, ids: &[&str], rules: &Rules) {
    let mut dropped: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    // 4.8.3, rule 3: connectivity should be preserved.
    planted!(rules.fault, "filter-drops-neighbours", dropped.extend(faults::memorygram::neighbours(memorygram, ids)));
    let is_dropped = |id: Option<&str>| id.is_some_and(|id| dropped.iter().any(|dropped| dropped == id));
    if let Some(Value::List(nodes)) = memorygram.get_mut("nodes") {
        nodes.retain(|node| !is_dropped(node.as_object().and_then(|node| node.text("id"))));
    }
    if let Some(Value::List(edges)) = memorygram.get_mut("edges") {
        let ends = |edge: &Value, end: &str| is_dropped(edge.as_object().and_then(|edge| edge.text(end)));
        edges.retain(|edge| !ends(edge, "source") && !ends(edge, "target"));
    }
}

/// An empty MemoryGram, for messages that carry no context.
#[must_use]
pub(crate) fn empty() -> Object {
    Object::from([
        ("nodes", Value::List(Vec::new())),
        ("edges", Value::List(Vec::new())),
        ("mode", "snapshot".into()),
        ("encoding", "json".into()),
    ])
}
