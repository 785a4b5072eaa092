//! The library adapter (binding.md, 9): the functions of this protocol by name. [`params`] reads parameters, [`graph`] has
//! the functions of MemoryGrams and encryption.

mod graph;
mod params;

use super::block;
use super::code::Code;
use super::envelope;
use super::failure::Failure;
use super::message::{BODY, HEADER, MEMORYGRAM, Message};
use super::modules::Done;
use super::node::{Kind, Node};
use super::process::{self, Report};
use super::rules::Rules;
use super::{forward, header, ids, integer, memorygram, originate, pointer, role, understanding, version};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::server::adapter::{Library, RpcError};
use params::{bytes, hex, indices, optional, text};

/// Every method besides the general `describe`.
const METHODS: &[&str] = &[
    "agentic-mesh/describe",
    "agentic-mesh/parse",
    "agentic-mesh/process",
    "agentic-mesh/target",
    "agentic-mesh/forward",
    "agentic-mesh/build",
    "agentic-mesh/fault",
    "agentic-mesh/read_fault",
    "agentic-mesh/memorygram_check",
    "agentic-mesh/memorygram_annotate",
    "agentic-mesh/memorygram_augment",
    "agentic-mesh/memorygram_filter",
    "agentic-mesh/encrypt_field",
    "agentic-mesh/encrypt_section",
];

/// The library as the adapter shows it. Processing is stateless: each call brings its node.
#[derive(Debug)]
pub(crate) struct Adapter {
    rules: Rules,
    /// The node of calls without a node object, and the members that a node object leaves out.
    node: Node,
}

impl Library for Adapter {
    async fn call(&mut self, method: &str, params: &Object) -> Result<Object, RpcError> {
        let rules = &self.rules;
        if method == "describe" {
            return Ok(general());
        }
        let unknown = || RpcError::no_method(method);
        match method.strip_prefix("agentic-mesh/").ok_or_else(unknown)? {
            "describe" => Ok(self.describe()),
            "parse" => self.parse(params),
            "process" => self.process(params),
            "target" => self.target(params),
            "forward" => self.forward(params),
            "build" => self.build(params),
            "fault" => self.fault(params),
            "read_fault" => read_fault(params, rules),
            name => graph::call(name, params, rules).unwrap_or_else(|| Err(unknown())),
        }
    }
}

/// The self-description of every adapter.
fn general() -> Object {
    let operations = METHODS.iter().map(|method| (*method).into()).collect();
    Object::from([
        ("name", "proofmark-reference".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("protocols", Value::List(vec!["agentic-mesh".into()])),
        ("operations", Value::List(operations)),
    ])
}

impl Adapter {
    pub(crate) fn new(rules: Rules, node: Node) -> Self {
        Self { rules, node }
    }

    /// The node of a call.
    fn node(&self, params: &Object) -> Result<Node, RpcError> {
        let Some(given) = params.present("node") else { return Ok(self.node.clone()) };
        let given = given.as_object().ok_or_else(|| RpcError::params("node: expected an object"))?;
        let cannot = |message| RpcError { code: -32001, message, data: None };
        self.node.clone().with(given).map_err(cannot)
    }

    fn describe(&self) -> Object {
        let mut uri = self.node.uri.as_str();
        // 4.1: identified by a URI.
        planted!(self.rules.fault, "node-uri-is-a-name", uri = self.node.short_name());
        let methods = METHODS.iter().map(|method| (*method).into()).collect();
        let versions = self.node.versions.iter().map(|version| version.as_str().into()).collect();
        Object::from([
            ("name", "proofmark-reference".into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("node_uri", uri.into()),
            ("envelope_versions", Value::List(versions)),
            ("header_blocks_at", block::place(&self.node, &self.rules).into()),
            ("fault_code_at", originate::code_place(&self.rules).into()),
            ("memorygram", if self.node.validates { "validates" } else { "ignores" }.into()),
            ("methods", Value::List(methods)),
        ])
    }

    /// The fault object.
    fn fault_object(&self, failures: &[Failure], index: usize, inbound: Option<&Message>, node: &Node) -> Value {
        let failure = &failures[index];
        let message = originate::fault(&failures[index..=index], inbound, node, &self.rules);
        Object::from([
            ("code", failure.code.spelled(&self.rules).into()),
            ("reason", failure.reasons.join("; ").into()),
            ("message_hex", hex(&message)),
        ])
        .into()
    }

    fn parse(&self, params: &Object) -> Result<Object, RpcError> {
        let (text, node) = (bytes(params, "message_hex")?, self.node(params)?);
        let (message, blocks) = match process::examine(&text, &node, &self.rules) {
            Ok(examined) => examined,
            Err(failure) => {
                let inbound = envelope::decode(&text, &self.rules).ok();
                let fault = self.fault_object(&[failure], 0, inbound.as_ref(), &node);
                return Ok(Object::from([("ok", false.into()), ("fault", fault)]));
            }
        };
        // E30: an absent role. Other: it is none.
        let role = |role: Option<String>| role.or((!self.rules.is_other()).then(|| role::ULTIMATE_RECEIVER.to_owned()));
        let block = |block: block::Block| {
            Object::from([
                ("index", number(block.index)),
                ("type", block.kind.into()),
                ("role", role(block.role).into()),
                ("must_understand", block.mandatory.into()),
                ("relay", block.relay.into()),
            ])
            .into()
        };
        let component = |name: &str| message.component(name).map_or(Value::Null, |value| hex(&value.write()));
        Ok(Object::from([
            ("ok", true.into()),
            ("version", message.header_text("version").unwrap_or("1.0").into()),
            ("header_hex", component(HEADER)),
            ("body_hex", component(BODY)),
            ("memorygram_hex", component(MEMORYGRAM)),
            ("blocks", Value::List(blocks.into_iter().map(block).collect())),
        ]))
    }

    fn process(&self, params: &Object) -> Result<Object, RpcError> {
        let (text, node) = (bytes(params, "message_hex")?, self.node(params)?);
        if self.rules.memory.is_dead() {
            return Err(RpcError { code: -32000, message: "stopped".to_owned(), data: None });
        }
        let report = process::process(&text, &node, &self.rules);
        let Report { faults, message, .. } = &report;
        let outcome = match node.kind {
            _ if !faults.is_empty() => "fault",
            Kind::UltimateReceiver => "delivered",
            Kind::Intermediary => "forwarded",
        };
        let listed = (0..faults.len()).map(|index| self.fault_object(faults, index, message.as_ref(), &node));
        let ttl = report.ttl_after.and_then(|ttl| crate::json::Number::spelled(&ttl.to_string()));
        Ok(Object::from([
            ("outcome", outcome.into()),
            ("faults", Value::List(listed.collect())),
            ("forwarded_hex", Value::List(report.copies.iter().map(|copy| hex(copy)).collect())),
            ("reply_hex", report.reply.as_deref().map(hex).into()),
            ("roles", Value::List(report.roles.iter().map(|role| role.as_str().into()).collect())),
            ("processed_blocks", Value::List(report.processed.iter().map(|index| number(*index)).collect())),
            ("body_processed", report.delivery.is_some().into()),
            ("memorygram_used", report.memorygram_used.into()),
            ("ttl_after", ttl.into()),
        ]))
    }

    fn target(&self, params: &Object) -> Result<Object, RpcError> {
        let (text, node) = (bytes(params, "message_hex")?, self.node(params)?);
        let (message, blocks) = process::examine(&text, &node, &self.rules).map_err(|failure| refused(&failure))?;
        let roles = role::assumed(&message, &node, &self.rules);
        let list = |found: Vec<&block::Block>| Value::List(found.iter().map(|block| number(block.index)).collect());
        let targeted = blocks.iter().filter(|block| block.is_targeted(&roles, &self.rules)).collect();
        Ok(Object::from([
            ("targeted", list(targeted)),
            ("mandatory", list(understanding::mandatory(&blocks, &roles, &node, &self.rules))),
            ("not_understood", list(understanding::not_understood(&blocks, &roles, &node, &self.rules))),
        ]))
    }

    /// Only the construction of the forwarded message: no step of processing, no check of ttl.
    fn forward(&self, params: &Object) -> Result<Object, RpcError> {
        let (text, node) = (bytes(params, "message_hex")?, self.node(params)?);
        let (message, blocks) = process::examine(&text, &node, &self.rules).map_err(|failure| refused(&failure))?;
        let mut done = Done { processed: indices(params, "processed")?, reinserted: Vec::new() };
        for row in params.present("reinserted").and_then(Value::as_list).unwrap_or_default() {
            let row = row.as_object().ok_or_else(|| RpcError::params("reinserted: expected objects"))?;
            let index = params::index(row.get("index")).ok_or_else(|| RpcError::params("reinserted: no index"))?;
            let block = params::value(row, "block_hex")?;
            done.processed.push(index);
            done.reinserted.push((index, block));
        }
        let roles = role::assumed(&message, &node, &self.rules);
        let ttl = message.header().and_then(|header| header.get("ttl")).and_then(Value::as_number);
        let ttl = ttl.and_then(integer::whole).map(|ttl| ttl - 1);
        let copy = forward::construct(message, &blocks, &done, &roles, ttl, &node, &self.rules);
        Ok(Object::from([("message_hex", hex(&originate::text(&copy, &self.rules)))]))
    }

    fn build(&self, params: &Object) -> Result<Object, RpcError> {
        let node = self.node(params)?;
        let object = |name: &str| match params.present(name) {
            None => Ok(Object::new()),
            Some(Value::Object(object)) => Ok(object.clone()),
            Some(_) => Err(RpcError::params(format!("{name}: expected an object"))),
        };
        let mut header = object("header")?;
        let defaults: [(&str, Value); 5] = [
            ("messageId", ids::fresh().into()),
            ("traceId", ids::fresh().into()),
            ("roles", Value::List(Vec::new())),
            ("routingIntent", "direct".into()),
            ("ttl", 8.into()),
        ];
        for (name, value) in defaults {
            // 2.1: what the sender gives is what is sent.
            if header.get(name).is_none() || self.rules.fault.is("built-fields-defaulted") {
                header.set(name, value);
            }
        }
        let mut body = object("body")?;
        for (name, value) in [("task", "".into()), ("expectedOutput", Value::List(Vec::new()))] {
            if body.get(name).is_none() {
                body.set(name, value);
            }
        }
        let graph = params.present("memorygram").cloned().unwrap_or_else(|| memorygram::empty().into());
        let mut message = Message::new(header, body, graph);
        if let Some(blocks) = params.present("blocks") {
            let blocks = blocks.as_list().ok_or_else(|| RpcError::params("blocks: expected an array"))?.to_vec();
            let (parent, name) = pointer::split(block::place(&node, &self.rules)).unwrap_or_default();
            let parent = pointer::get_mut(&mut message.0, parent).and_then(Value::as_object_mut);
            parent.ok_or_else(|| RpcError::params("node: no place for header blocks"))?.set(&name, Value::List(blocks));
        }
        // A built message is one that this node accepts.
        header::check(&mut message, &self.rules).map_err(|failure| refused(&failure))?;
        version::check(&message, &node, &self.rules).map_err(|failure| refused(&failure))?;
        Ok(Object::from([("message_hex", hex(&originate::text(&message, &self.rules)))]))
    }

    fn fault(&self, params: &Object) -> Result<Object, RpcError> {
        let node = self.node(params)?;
        let inbound = match optional(params, "inbound_hex")? {
            Some(text) => envelope::decode(&text, &self.rules).ok(),
            None => None,
        };
        let reason = params.text("reason").unwrap_or("no reason given");
        let code = text(params, "code")?;
        let message = originate::requested_fault(code, reason, inbound.as_ref(), &node, &self.rules);
        Ok(Object::from([("message_hex", hex(&message))]))
    }
}

fn read_fault(params: &Object, rules: &Rules) -> Result<Object, RpcError> {
    let message = envelope::decode(&bytes(params, "message_hex")?, rules).ok();
    let code = message.as_ref().and_then(originate::code_of);
    Ok(Object::from([("is_fault", code.is_some().into()), ("code", code.into())]))
}

/// A message that a function cannot work on.
fn refused(failure: &Failure) -> RpcError {
    let code = failure.code;
    debug_assert!(Code::parse(code.name()).is_some());
    RpcError::params(format!("message_hex: {}: {}", code.name(), failure.reasons.join("; ")))
}

fn number(index: usize) -> Value {
    i64::try_from(index).unwrap_or(i64::MAX).into()
}
