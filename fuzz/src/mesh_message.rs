//! Messages of agentic-mesh: what the harness calls defective the reference refuses, and what the reference forwards is as it was.
//!
//! The first byte decides whether the node is an ultimate receiver or an intermediary; the rest is the text of a message.

use proofmark::protocol::agentic_mesh::inspect;
use proofmark::value::{Path, Value};
use proofmark::wire::json;
use serde_json::json;

use crate::reference;

const ASSUMED: &str = "urn:proofmark:mesh:role:assumed";

/// Checks one input.
///
/// # Panics
///
/// If the reference takes a defective message, answers more than once, or forwards a copy that the harness calls spoilt.
pub fn run(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let relay = kind % 2 == 1;
    let understood = ["noop", "reinsert", "fail"]
        .map(|behaviour| json!({ "type": format!("urn:proofmark:mesh:block:{behaviour}"), "behaviour": behaviour }));
    let node = json!({
        "uri": "urn:proofmark:mesh:node:target",
        "kind": if relay { "intermediary" } else { "ultimateReceiver" },
        "roles": [ASSUMED],
        "understands": understood,
        "versions": ["1.0"],
        "memorygram": "validates",
        "header_blocks_at": "/Envelope/Header/headers",
        "tasks": { "echo": "accept", "proofmark-refuse": "refuse" },
    });
    let params = json!({ "message_hex": reference::hex(text), "node": node });
    let Ok(answer) = reference::mesh("process", &params) else { panic!("an error instead of a fault") };
    let count = |name: &str| answer[name].as_array().map_or(0, Vec::len);
    let (faults, copies) = (count("faults"), count("forwarded_hex"));
    let replies = usize::from(relay && copies == 1 || !relay && answer["outcome"] == "delivered");
    assert_eq!(faults + replies, 1, "one fault, or one result: {answer}");
    assert!(faults == 0 || copies == 0, "a fault and a copy: {answer}");
    if let Some(defect) = inspect::defect(text) {
        assert_eq!(faults, 1, "taken although {defect}");
    }
    if copies == 1 {
        let copy =
            answer["forwarded_hex"][0].as_str().and_then(|hex| data_encoding::HEXLOWER.decode(hex.as_bytes()).ok());
        look_at_copy(text, &copy.expect("a copy in hex"));
    }
}

fn look_at_copy(sent: &[u8], copy: &[u8]) {
    let document = json::read(copy).expect("the reference writes JSON");
    let Ok(original) = json::read(sent) else { panic!("the reference forwards what the harness cannot read") };
    // Half of a surrogate pair has no single reading (E64).
    if original.oddities.is_empty() && is_clear(&original.value) {
        assert!(document.oddities.is_empty(), "{:?}", document.oddities);
        assert_eq!(inspect::spoilt(&original.value, &document.value), Vec::<String>::new());
    }
}

/// Whether all blocks and the ttl have one reading: flags are booleans (E33), roles and types are texts.
fn is_clear(message: &Value) -> bool {
    let at = |place: &str| Path::parse(place).ok().and_then(|place| place.resolve(message).cloned());
    let flag = |block: &Value, name: &str| block.member(name).is_none_or(|value| matches!(value, Value::Bool(_)));
    let text = |block: &Value, name: &str| block.member(name).is_some_and(|value| value.as_text().is_some());
    let clear = |block: &Value| {
        flag(block, "mustUnderstand") && flag(block, "relay") && text(block, "type") && text(block, "role")
    };
    let blocks = at("/Envelope/Header/headers");
    let plain = blocks.as_ref().is_none_or(|blocks| blocks.as_array().is_some_and(|blocks| blocks.iter().all(clear)));
    plain && matches!(at("/Envelope/Header/ttl"), Some(Value::Integer(_)))
}
