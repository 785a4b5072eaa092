//! The library adapter (binding.md, 10): the functions of this protocol by name.
//!
//! [`pure`] has those whose answer depends on nothing but their parameters, [`machines`] the state machines by handle,
//! [`node`] whole nodes, [`params`] reads and writes parameters.

mod machines;
mod node;
pub(crate) mod params;
mod pure;

use super::node::companions::Companions;
use super::rules::Rules;
use crate::json::{Object, Value};
use crate::server::adapter::{Library, RpcError};

use machines::Machines;
use node::Nodes;

/// Every method besides `describe`.
const METHODS: &[&str] = &[
    "amp-core/describe",
    "amp-core/public_key",
    "amp-core/x25519_public",
    "amp-core/x25519_derive",
    "amp-core/encode_deterministic",
    "amp-core/sig_input",
    "amp-core/sign",
    "amp-core/verify",
    "amp-core/make_id",
    "amp-core/build_plain",
    "amp-core/build_encrypted",
    "amp-core/box_open",
    "amp-core/receive",
    "amp-core/select_key",
    "amp-core/validate_ack",
    "amp-core/retry_delay",
    "amp-core/error_info",
    "amp-core/error_build",
    "amp-core/type_info",
    "amp-core/type_code",
    "amp-core/major",
    "amp-core/select_version",
    "amp-core/negotiation_open",
    "amp-core/negotiation_event",
    "amp-core/stream_open",
    "amp-core/stream_chunk",
    "amp-core/stream_end",
    "amp-core/stream_sender_open",
    "amp-core/stream_sender_event",
    "amp-core/batch_split",
    "amp-core/frame_encode",
    "amp-core/frame_decode",
    "amp-core/wrapper_decode",
    "amp-core/node_open",
    "amp-core/node_receive",
    "amp-core/node_send",
    "amp-core/node_tick",
    "amp-core/node_close",
];

/// The library as the adapter shows it.
#[derive(Debug)]
pub(crate) struct Adapter {
    rules: Rules,
    machines: Machines,
    nodes: Nodes,
}

impl Library for Adapter {
    async fn call(&mut self, method: &str, params: &Object) -> Result<Object, RpcError> {
        if method == "describe" {
            return Ok(describe());
        }
        let Some(name) = method.strip_prefix("amp-core/") else {
            return Err(RpcError::no_method(method));
        };
        if let Some(result) = pure::call(name, params, self.rules)? {
            return Ok(result);
        }
        if let Some(result) = self.machines.call(name, params)? {
            return Ok(result);
        }
        if let Some(result) = self.nodes.call(name, params).await? {
            return Ok(result);
        }
        Err(RpcError::no_method(method))
    }
}

impl Adapter {
    pub(crate) fn new(rules: Rules, companions: Companions) -> Self {
        Self { rules, machines: Machines::new(rules), nodes: Nodes::new(rules, companions) }
    }
}

/// The self-description of every adapter.
fn describe() -> Object {
    let operations = METHODS.iter().map(|method| (*method).into()).collect();
    Object::from([
        ("name", "proofmark-reference".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("protocols", Value::List(vec!["amp-core".into()])),
        ("operations", Value::List(operations)),
    ])
}
