//! Faults of ttl.

use crate::agentic_mesh::integer::whole;
use crate::agentic_mesh::message::{MEMORYGRAM, Message};
use crate::json::{Number, Object, Value};

/// `memorygram-commands-obeyed`: the ttl that a MemoryGram node asks for.
pub(in crate::agentic_mesh) fn ttl(message: &Message) -> Option<i128> {
    let nodes = message.component(MEMORYGRAM)?.as_object()?.get("nodes")?.as_list()?;
    let asked = |node: &Value| whole(node.as_object()?.get("metadata")?.as_object()?.get("ttl")?.as_number()?);
    nodes.iter().find_map(asked)
}

/// `ttl-wraps-at-32-bits`: the value in 32 bits.
pub(in crate::agentic_mesh) fn wrapped(ttl: i128) -> i128 {
    let low = ttl.rem_euclid(1 << 32);
    if low >= 1 << 31 { low - (1 << 32) } else { low }
}

/// `ttl-not-decremented`: the ttl as it came.
pub(in crate::agentic_mesh) fn inbound(header: &Object) -> Option<Number> {
    header.get("ttl").and_then(Value::as_number).cloned()
}

/// `ttl-decremented-twice`: one less again.
pub(in crate::agentic_mesh) fn lowered(ttl: Option<Number>) -> Option<Number> {
    Number::spelled(&(whole(&ttl?)? - 1).to_string())
}

/// `ttl-written-as-float`: the same with a fraction.
pub(in crate::agentic_mesh) fn as_float(ttl: Option<Number>) -> Option<Number> {
    Number::spelled(&format!("{}.0", ttl?.spelling()))
}
