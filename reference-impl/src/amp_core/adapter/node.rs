//! Nodes by handle: the same [`Node`] as behind the transports, with the clock of the caller and no transport.

use std::collections::HashMap;

use super::params::{bad, bytes, cbor, documents, hex, identity, number, text, texts, unsigned, unsigned_value};
use super::pure::{accepted, rejected};
use crate::amp_core::message::To;
use crate::amp_core::node::channel::Carrier;
use crate::amp_core::node::clock::Clock;
use crate::amp_core::node::companions::Companions;
use crate::amp_core::node::outbound::Order;
use crate::amp_core::node::{Node, Outcome, Settings};
use crate::amp_core::role::Role;
use crate::amp_core::rules::Rules;
use crate::amp_core::version;

use crate::json::{Object, Value};
use crate::server::adapter::RpcError;
use crate::store::Database;

/// The most nodes that are kept; each has a database in memory.
const LIMIT: usize = 256;

/// The default timeout of a confirmation, in milliseconds.
const ACK_TIMEOUT: u64 = 1000;

/// All nodes that were opened.
#[derive(Debug)]
pub(super) struct Nodes {
    rules: Rules,
    companions: Companions,
    nodes: HashMap<String, Node>,
    opened: u64,
}

fn impossible(message: impl Into<String>) -> RpcError {
    RpcError { code: -32002, message: message.into(), data: None }
}

impl Nodes {
    pub(super) fn new(rules: Rules, companions: Companions) -> Self {
        Self { rules, companions, nodes: HashMap::new(), opened: 0 }
    }

    /// The answer of the method `name`; `None` if it is not one of these.
    pub(super) async fn call(&mut self, name: &str, params: &Object) -> Result<Option<Object>, RpcError> {
        let answer = match name {
            "node_open" => self.open(params).await,
            "node_receive" => self.receive(params).await,
            "node_send" => self.send(params).await,
            "node_tick" => self.tick(params).await,
            "node_close" => self.close(params).await,
            _ => return Ok(None), // none of these
        };
        answer.map(Some)
    }

    /// The node of a call, with its clock set to the `now` of the call.
    fn find(&self, params: &Object) -> Result<&Node, RpcError> {
        let unknown = || RpcError { code: -32001, message: "unknown node".to_owned(), data: None };
        let node = self.nodes.get(text(params, "node")?).ok_or_else(unknown)?;
        node.set_clock(Clock::Frozen(unsigned(params, "now")?));
        Ok(node)
    }

    async fn open(&mut self, params: &Object) -> Result<Object, RpcError> {
        if self.nodes.len() >= LIMIT {
            return Err(impossible("too many nodes"));
        }
        let options = params.get("options").and_then(Value::as_object).cloned().unwrap_or_default();
        let ack_timeout = options.present("ack_timeout_ms").and_then(unsigned_value).unwrap_or(ACK_TIMEOUT);
        let settings = Settings {
            me: identity(params, "self")?,
            rules: self.rules,
            role: Role::Agent,
            trusted_relays: texts(params, "trusted_relays")?,
            versions: self.versions(params)?,
            ack_timeout,
            serves: false,
            companions: self.companions.clone(),
        };
        let clock = Clock::Frozen(unsigned(params, "now")?);
        let node =
            Node::open(&Database::Memory, settings, clock).await.map_err(|error| impossible(error.to_string()))?;
        node.know(documents(params, self.rules)?);
        self.opened += 1;
        let handle = format!("node-{}", self.opened);
        self.nodes.insert(handle.clone(), node);
        Ok(Object::from([("node", handle.into())]))
    }

    /// `supported_versions`: majors, or versions of which the major counts.
    fn versions(&self, params: &Object) -> Result<Vec<u64>, RpcError> {
        let wrong = || bad("supported_versions", "an array of majors or versions");
        let Some(list) = params.present("supported_versions") else {
            return Ok(version::VERSIONS.to_vec());
        };
        let major = |value: &Value| {
            let named = value.as_text().and_then(|text| version::major(text, self.rules));
            named.or_else(|| unsigned_value(value)).ok_or_else(wrong)
        };
        list.as_list().ok_or_else(wrong)?.iter().map(major).collect()
    }

    async fn receive(&self, params: &Object) -> Result<Object, RpcError> {
        let node = self.find(params)?;
        let message = bytes(params, "message")?;
        let taken = node.take(message.into(), &node.exchange(Carrier::Library, None)).await;
        let replies = Value::List(taken.replies.iter().map(|reply| hex(reply)).collect());
        let outcome = match &taken.outcome {
            Outcome::Accepted(message) => accepted(message),
            Outcome::Cached => Object::from([("outcome", "cached".into()), ("replies", replies.clone())]),
            Outcome::Rejected(rejection) => rejected(rejection),
            Outcome::Passed => return Err(impossible("passed on")), // only relays do that
        };
        let effects = number(node.effects().await);
        Ok(Object::from([("outcome", outcome.into()), ("replies", replies), ("effects", effects)]))
    }

    async fn send(&self, params: &Object) -> Result<Object, RpcError> {
        let node = self.find(params)?;
        let to = match params.get("to") {
            Some(Value::List(_)) => To::Many(texts(params, "to")?),
            _ => To::One(text(params, "to")?.to_owned()),
        };
        let order = Order {
            to,
            url: String::new(),
            typ: unsigned(params, "typ")?,
            body: cbor(params, "body")?,
            ttl: unsigned(params, "ttl")?,
            encrypt: matches!(params.get("encrypt"), Some(Value::Bool(true))),
        };
        let sent = node.send(order).await.map_err(impossible)?;
        Ok(Object::from([("message", hex(&sent.message))]))
    }

    async fn tick(&self, params: &Object) -> Result<Object, RpcError> {
        let ticked = self.find(params)?.tick().await.map_err(|error| impossible(error.to_string()))?;
        let sent = ticked.sent.iter().map(|outgoing| hex(&outgoing.message)).collect();
        let failed = ticked.failed.iter().map(|id| hex(id)).collect();
        Ok(Object::from([("sent", Value::List(sent)), ("failed", Value::List(failed))]))
    }

    async fn close(&mut self, params: &Object) -> Result<Object, RpcError> {
        let unknown = || RpcError { code: -32001, message: "unknown node".to_owned(), data: None };
        let node = self.nodes.remove(text(params, "node")?).ok_or_else(unknown)?;
        node.close().await;
        Ok(Object::new())
    }
}
