//! Faults of MemoryGrams.

use crate::agentic_mesh::message::{MEMORYGRAM, Message};
use crate::json::{Object, Value};

/// `large-memorygram-skips-blocks`: the number of nodes.
pub(in crate::agentic_mesh) fn nodes(message: &Message) -> usize {
    let graph = message.component(MEMORYGRAM).and_then(Value::as_object);
    graph.and_then(|graph| graph.get("nodes")).and_then(Value::as_list).map_or(0, <[Value]>::len)
}

/// `metadata-allow-list`: a metadata key that the text does not mention.
pub(in crate::agentic_mesh) fn unknown_metadata(node: &Object) -> Option<&str> {
    let metadata = node.get("metadata")?.as_object()?;
    let known = ["importance", "decay", "processedBy", "processingTimestamp"];
    metadata.iter().map(|(name, _)| name).find(|name| !known.contains(name))
}

/// `filter-drops-neighbours`: the nodes at the other end of the edges of these nodes.
pub(in crate::agentic_mesh) fn neighbours(memorygram: &Object, ids: &[&str]) -> Vec<String> {
    let edges = memorygram.get("edges").and_then(Value::as_list).unwrap_or_default();
    let ends = edges.iter().filter_map(|edge| {
        let edge = edge.as_object()?;
        Some((edge.text("source")?, edge.text("target")?))
    });
    let other = |(source, target): (&str, &str)| match (ids.contains(&source), ids.contains(&target)) {
        (true, false) => Some(target.to_owned()),
        (false, true) => Some(source.to_owned()),
        _ => None, // no end or both
    };
    ends.filter_map(other).collect()
}
