//! Functions of templates.

use crate::template::{Arguments, Function, RenderError};
use crate::value::Value;
use crate::wire::json;

/// The most nodes that a graph may have.
const LARGEST: i128 = 20_000;

/// Every function.
pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "large_graph",
        summary: "A MemoryGram with this many nodes, and an edge from each to the next.",
        example: "${large_graph 1000}",
        call: large_graph,
    },
    Function {
        name: "hex_of_json",
        summary: "The compact JSON text of a value, in lower-case hex.",
        example: "${hex_of_json $block}",
        call: hex_of_json,
    },
];

fn hex_of_json(arguments: &mut Arguments<'_>) -> Result<Value, RenderError> {
    let value = arguments.value(0).ok_or_else(|| RenderError::new("missing argument: a value"))?;
    Ok(Value::text(data_encoding::HEXLOWER.encode(json::compact(value).as_bytes())))
}

fn large_graph(arguments: &mut Arguments<'_>) -> Result<Value, RenderError> {
    let count = arguments.integer(0)?.clamp(0, LARGEST);
    let node = |index: i128| {
        let metadata = Value::map([("importance", Value::Decimal("0.5".into()))]);
        Value::map([("id", Value::text(format!("n{index}"))), ("type", Value::text("plan")), ("metadata", metadata)])
    };
    let edge = |index: i128| {
        Value::map([
            ("source", Value::text(format!("n{index}"))),
            ("target", Value::text(format!("n{}", index + 1))),
            ("weight", Value::Decimal("0.25".into())),
        ])
    };
    Ok(Value::map([
        ("nodes", Value::Array((0..count).map(node).collect())),
        ("edges", Value::Array((0..count - 1).map(edge).collect())),
        ("mode", Value::text("snapshot")),
        ("encoding", Value::text("json")),
    ]))
}
