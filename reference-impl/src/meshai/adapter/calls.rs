//! The library as a client: calls of peers whose replies are given, and the order of a first conversation.

use std::future::pending;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::params::{bytes, hex, object, text};
use crate::fault::planted;
use crate::json::{self, Object, Value};
use crate::meshai::node::{Node, client};
use crate::server::adapter::RpcError;

/// Calls that are under way.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<(String, JoinHandle<Object>)>,
    done: Vec<(String, Object)>,
    number: usize,
}

impl Calls {
    /// The answer to a call; `None` if the method is not one of these.
    pub(super) async fn call(&mut self, name: &str, params: &Object, node: &Node) -> Result<Option<Object>, RpcError> {
        match name {
            "participate" => participate(params, node).map(Some),
            "invoke" => self.invoke(params, node).await.map(Some),
            "poll" => self.poll(text(params, "handle")?).await.map(Some),
            _ => Ok(None),
        }
    }

    /// 10.2: sends a request to a peer whose reply is given.
    async fn invoke(&mut self, params: &Object, node: &Node) -> Result<Object, RpcError> {
        let rules = node.rules();
        let request = node.compose("request", object(params, "fields")?).map_err(RpcError::params)?;
        let reply = bytes(params, "peer_reply")?;
        let delay = params.present("delay_ms").and_then(Value::as_number).and_then(json::Number::as_integer);
        let delay = Duration::from_millis(delay.map_or(0, i64::unsigned_abs).min(60_000));
        let limit = request.get("message").and_then(Value::as_object).and_then(|inner| inner.get("headers"));
        let limit =
            limit.and_then(Value::as_object).and_then(|headers| headers.get("timeout_ms")).and_then(Value::as_number);
        let limit = limit.and_then(json::Number::as_integer).map_or(30_000, i64::unsigned_abs);
        let call = async move {
            let late = Duration::from_millis(limit);
            tokio::time::sleep(delay.min(late)).await;
            if delay > late {
                let error = Object::from([("code", "TIMEOUT".into()), ("message", "no reply in time".into())]);
                return Object::from([("status", "failed".into()), ("error", error.into())]);
            }
            let reply = match json::read(&reply) {
                Ok(Value::Object(reply)) => Some(reply),
                _ => None, // not a message
            };
            // 2.3: members that the structure block does not show are legal in a reply.
            let reply =
                reply.filter(|reply| !(rules.fault.is("client-rejects-unknown-headers") && has_more_headers(reply)));
            let mut outcome = client::outcome(reply.as_ref());
            // 10.1: an error is an error, with its code.
            planted!(rules.fault, "client-errors-are-success", outcome.get("error").is_some() => outcome.set("status", "success"));
            planted!(rules.fault, "client-error-code-lost", outcome.get("error").is_some() => outcome.set("error", Object::from([("code", "ERROR".into())])));
            planted!(rules.fault, "client-forgets-one-code", of_code(&outcome, "INSUFFICIENT_RESOURCES") => outcome = Object::from([("status", "success".into()), ("result", Object::new().into())]));
            outcome
        };
        if text(params, "mode")? == "sync" {
            // 10.2: the final outcome.
            let early = || Object::from([("outcome", Object::from([("status", "partial".into())]).into())]);
            planted!(rules.fault, "sync-returns-at-once", return Ok(early()));
            return Ok(Object::from([("outcome", call.await.into())]));
        }
        self.number += 1;
        let handle = format!("call-{}", self.number);
        // 10.2: a handle comes before the outcome.
        let waits = rules.fault.is("async-waits");
        if waits {
            let outcome = call.await;
            self.done.push((handle.clone(), outcome));
        } else {
            self.open.push((handle.clone(), tokio::spawn(call)));
        }
        planted!(rules.fault, "async-never-ends", self.open.clear());
        planted!(rules.fault, "async-never-ends", self.open.push((handle.clone(), tokio::spawn(pending()))));
        Ok(Object::from([("handle", handle.into())]))
    }

    /// 10.2: whether a call is done, and its outcome.
    async fn poll(&mut self, handle: &str) -> Result<Object, RpcError> {
        if let Some(at) = self.open.iter().position(|(known, call)| known == handle && call.is_finished()) {
            let (name, call) = self.open.swap_remove(at);
            let outcome =
                call.await.map_err(|error| RpcError { code: -32099, message: error.to_string(), data: None })?;
            self.done.push((name, outcome));
        }
        if let Some((_, outcome)) = self.done.iter().find(|(known, _)| known == handle) {
            return Ok(Object::from([("done", true.into()), ("outcome", outcome.clone().into())]));
        }
        if self.open.iter().any(|(known, _)| known == handle) {
            return Ok(Object::from([("done", false.into())]));
        }
        Err(RpcError::params(format!("no call `{handle}`")))
    }
}

/// 4.1: what an agent sends when it starts: its registration, and the requests only if that is accepted.
fn participate(params: &Object, node: &Node) -> Result<Object, RpcError> {
    let fault = node.rules().fault;
    let requests = params.get("requests").and_then(Value::as_list).unwrap_or_default();
    let accepted = match text(params, "registry_answer")? {
        "success" => true,
        "error" => fault.is("client-ignores-refusal"),
        _ => return Err(RpcError::params("registry_answer is success or error")),
    };
    let mut sent = vec![node.compose("registration", &Object::new()).map_err(RpcError::params)?];
    for fields in requests.iter().filter(|_| accepted) {
        let fields = fields.as_object().ok_or_else(|| RpcError::params("requests must be objects"))?;
        sent.push(node.compose("request", fields).map_err(RpcError::params)?);
    }
    planted!(fault, "client-registers-late", sent.rotate_left(1));
    planted!(fault, "client-never-registers", drop(sent.remove(0)));
    let sent: Vec<Value> = sent.iter().map(|envelope| hex(envelope.write().as_bytes())).collect();
    Ok(Object::from([("sent", sent.into())]))
}

fn has_more_headers(reply: &Object) -> bool {
    let headers = reply.get("message").and_then(Value::as_object).and_then(|inner| inner.get("headers"));
    let known = ["correlation_id", "priority", "timeout_ms", "routing_hints"];
    headers.and_then(Value::as_object).is_some_and(|headers| headers.iter().any(|(name, _)| !known.contains(&name)))
}

fn of_code(outcome: &Object, code: &str) -> bool {
    outcome.get("error").and_then(Value::as_object).and_then(|error| error.text("code")) == Some(code)
}
