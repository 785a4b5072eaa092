//! The library adapter (binding.md, 11): the functions of this protocol by name.
//!
//! [`pure`] has those whose answer depends on nothing but their parameters, [`server`] those of a server without a network,
//! [`calls`] those of a client.

mod calls;
mod params;
mod pure;
mod server;

use super::node::{Node, Settings};
use super::outward::Outward;
use super::rules::Rules;
use super::time::Clock;
use crate::config::ServeError;
use crate::json::Object;
use crate::server::adapter::{Library, RpcError};
use crate::store::Database;

use calls::Calls;
use params::operations;

/// The library as the adapter shows it.
#[derive(Debug)]
pub(crate) struct Adapter {
    /// As configured; `reset` begins with them.
    settings: Settings,
    clock: Clock,
    node: Node,
    calls: Calls,
}

impl Adapter {
    /// A library whose server is in memory.
    ///
    /// # Errors
    ///
    /// If the database cannot be used.
    pub(crate) async fn open(settings: Settings, clock: Clock) -> Result<Self, ServeError> {
        let node = fresh(settings.clone(), clock).await?;
        Ok(Self { settings, clock, node, calls: Calls::default() })
    }

    fn rules(&self) -> Rules {
        self.settings.rules
    }
}

/// A server without a network.
async fn fresh(settings: Settings, clock: Clock) -> Result<Node, ServeError> {
    let node = Node::open(&Database::Memory, settings, clock, Outward::kept()).await?;
    node.settle("http://127.0.0.1").await.map_err(|refusal| ServeError::setting("kind", refusal.message))?;
    Ok(node)
}

impl Library for Adapter {
    async fn call(&mut self, method: &str, params: &Object) -> Result<Object, RpcError> {
        if method == "describe" {
            return Ok(describe());
        }
        let Some(name) = method.strip_prefix("meshai/") else { return Err(RpcError::no_method(method)) };
        if let Some(result) = pure::call(name, params, self.node.now(), self.rules())? {
            return Ok(result);
        }
        if let Some(result) = self.calls.call(name, params, &self.node).await? {
            return Ok(result);
        }
        if name == "reset" {
            let (settings, clock) = server::reset(&self.settings, self.clock, params)?;
            let failed = |error: ServeError| RpcError { code: -32099, message: error.to_string(), data: None };
            self.node = fresh(settings, clock).await.map_err(failed)?;
            self.calls = Calls::default();
            return Ok(Object::new());
        }
        match server::call(name, params, &self.node).await? {
            Some(result) => Ok(result),
            None => Err(RpcError::no_method(method)),
        }
    }
}

/// The self-description of every adapter.
fn describe() -> Object {
    Object::from([
        ("name", "proofmark-reference".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("protocols", vec!["meshai".into()].into()),
        ("operations", operations().into()),
    ])
}
