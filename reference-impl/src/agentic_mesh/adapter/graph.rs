//! The functions of MemoryGrams (section 4.8.3) and of encryption (Security).

use super::params::{bytes, hex, objects, text, texts, value};
use crate::agentic_mesh::code::Code;
use crate::agentic_mesh::envelope;
use crate::agentic_mesh::message::Message;
use crate::agentic_mesh::rules::Rules;
use crate::agentic_mesh::{memorygram, originate, seal};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::server::adapter::RpcError;

/// Runs a method; `None` if it is not one of these.
pub(super) fn call(name: &str, params: &Object, rules: &Rules) -> Option<Result<Object, RpcError>> {
    Some(match name {
        "memorygram_check" => check(params, rules),
        "memorygram_annotate" => changed(params, |graph| {
            let mut uri = text(params, "node_uri")?;
            // 4.1: under the URI of the node.
            planted!(rules.fault, "annotation-under-fixed-uri", uri = "urn:proofmark:mesh:node:target");
            memorygram::annotate(graph, uri, Some(&texts(params, "ids")?), rules);
            Ok(())
        }),
        "memorygram_augment" => changed(params, |graph| {
            let (nodes, edges) = (objects(params, "nodes")?, objects(params, "edges")?);
            memorygram::augment(graph, text(params, "node_uri")?, nodes, edges, rules);
            Ok(())
        }),
        "memorygram_filter" => changed(params, |graph| {
            let graph = graph.as_object_mut().ok_or_else(|| RpcError::params("memorygram_hex: expected an object"))?;
            memorygram::filter(graph, &texts(params, "drop")?, rules);
            Ok(())
        }),
        "encrypt_field" => encrypted(params, rules, |message| {
            let (at, encrypted_for) = (text(params, "pointer")?, text(params, "encrypted_for")?);
            seal::encrypt_field(message, at, encrypted_for, rules).map_err(RpcError::params)
        }),
        "encrypt_section" => encrypted(params, rules, |message| {
            seal::encrypt_section(message, text(params, "encrypted_for")?, rules).map_err(RpcError::params)
        }),
        _ => return None, // a method elsewhere, or unknown
    })
}

fn check(params: &Object, rules: &Rules) -> Result<Object, RpcError> {
    let valid = match value(params, "memorygram_hex")? {
        Value::Object(graph) => memorygram::problems(&graph, rules).is_empty(),
        _ => false, // a MemoryGram is an object
    };
    let code = (!valid).then(|| Code::InvalidMemoryGram.spelled(rules));
    Ok(Object::from([("valid", valid.into()), ("code", code.into())]))
}

fn changed(params: &Object, change: impl Fn(&mut Value) -> Result<(), RpcError>) -> Result<Object, RpcError> {
    let mut graph = value(params, "memorygram_hex")?;
    change(&mut graph)?;
    Ok(Object::from([("memorygram_hex", hex(&graph.write()))]))
}

fn encrypted(
    params: &Object,
    rules: &Rules,
    encrypt: impl Fn(&mut Message) -> Result<(), RpcError>,
) -> Result<Object, RpcError> {
    let decoded = envelope::decode(&bytes(params, "message_hex")?, rules);
    let mut message = decoded.map_err(|failure| RpcError::params(failure.reasons.join("; ")))?;
    encrypt(&mut message)?;
    Ok(Object::from([("message_hex", hex(&originate::text(&message, rules)))]))
}
