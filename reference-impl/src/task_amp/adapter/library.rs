//! The methods by name.

use std::collections::HashMap;

use super::engine::Seat;
use super::params::{error, integer, role, text};
use super::pure;
use crate::json::{Object, Value};
use crate::server::adapter::{Library, RpcError};
use crate::task_amp::role::Role;
use crate::task_amp::rules::Rules;

/// Every method.
const METHODS: [&str; 15] = [
    "info",
    "validate",
    "validate_payload",
    "parse_msg_id",
    "make_msg_id",
    "build",
    "check_route",
    "ack_required",
    "ack_timeout",
    "ack",
    "engine_new",
    "engine_feed",
    "engine_advance",
    "engine_state",
    "engine_close",
];

/// The library as the adapter shows it.
#[derive(Debug)]
pub(crate) struct Adapter {
    rules: Rules,
    engines: HashMap<String, Seat>,
    opened: u64,
}

impl Library for Adapter {
    async fn call(&mut self, method: &str, params: &Object) -> Result<Object, RpcError> {
        if method == "describe" {
            return Ok(self.describe());
        }
        let name = method.strip_prefix("task-amp/").filter(|name| METHODS.contains(name));
        let name = name.ok_or_else(|| RpcError::no_method(method))?;
        match pure::call(self.rules, name, params) {
            Some(result) => result,
            None => self.on_engine(name, params),
        }
    }
}

fn operations() -> Value {
    Value::List(METHODS.iter().map(|name| format!("task-amp/{name}").into()).collect())
}

impl Adapter {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, engines: HashMap::new(), opened: 0 }
    }

    fn describe(&self) -> Object {
        Object::from([
            ("name", "proofmark-reference".into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("protocols", Value::List(vec!["task-amp".into()])),
            ("operations", operations()),
        ])
    }

    fn info(&self) -> Object {
        let roles = [Role::Coordinator, Role::Executor, Role::Reviewer, Role::System];
        Object::from([
            ("name", "proofmark-reference".into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("ops", Value::List(METHODS.iter().map(|name| (*name).into()).collect())),
            ("roles", Value::List(roles.iter().map(|role| role.name().into()).collect())),
            ("ack_timeouts_sec", pure::defaults(self.rules).into()),
        ])
    }

    fn engine(&mut self, params: &Object) -> Result<&mut Seat, RpcError> {
        let handle = text(params, "engine")?;
        self.engines.get_mut(handle).ok_or_else(|| error(-32000, "no such engine"))
    }

    fn on_engine(&mut self, name: &str, params: &Object) -> Result<Object, RpcError> {
        match name {
            "info" => Ok(self.info()),
            "engine_new" => {
                let role = role(params, "role")?;
                if role == Role::Admin {
                    return Err(RpcError::params("role must be coordinator, executor, reviewer or system"));
                }
                let empty = Object::new();
                let config = params.get("config").and_then(Value::as_object).unwrap_or(&empty);
                let engine = Seat::new(self.rules, role, integer(params, "now_ms")?, config);
                self.opened += 1;
                let handle = format!("e{}", self.opened);
                self.engines.insert(handle.clone(), engine);
                Ok(Object::from([("engine", handle.into())]))
            }
            "engine_feed" => {
                let event = params.get("event").and_then(Value::as_object);
                let event = event.ok_or_else(|| RpcError::params("event must be an object"))?;
                let engine = self.engine(params)?;
                let outputs = engine.feed(event)?;
                Ok(engine.shown(outputs))
            }
            "engine_advance" => {
                let ms = integer(params, "ms")?;
                let engine = self.engine(params)?;
                let outputs = engine.advance(ms);
                Ok(engine.shown(outputs))
            }
            "engine_state" => {
                let task = text(params, "task_id")?;
                self.engine(params)?.state(task).ok_or_else(|| error(-32000, "no such task"))
            }
            _ => {
                // engine_close
                self.engine(params)?;
                self.engines.remove(text(params, "engine")?);
                Ok(Object::new())
            }
        }
    }
}
