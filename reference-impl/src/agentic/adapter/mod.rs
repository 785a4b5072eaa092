//! The library adapter: binding.md section 12.
//!
//! Here are the methods that need no store; `stores` has those on a store, `params` reads their parameters.

mod params;
mod stores;

use std::collections::HashMap;

use params::{canonicalizable, instant, object, text};

use super::level::Level;
use super::refusal::{Code, Problem, Refusal};
use super::rules::Rules;
use super::service::Service;
use super::{canonical, fact, faults, hash, intake, package, review};
use crate::fault::planted;
use crate::instant::Clock;
use crate::json::{Object, Value};
use crate::server::adapter::{Library, RpcError};
use crate::store::Database;

/// Every method, with the level from which it is there.
const METHODS: [(&str, Level); 31] = [
    ("agentic/hello", Level::L0),
    ("agentic/canonicalize", Level::L0),
    ("agentic/content_hash", Level::L0),
    ("agentic/verify", Level::L0),
    ("agentic/validate_package", Level::L0),
    ("agentic/validate_fact", Level::L0),
    ("agentic/roundtrip_package", Level::L0),
    ("agentic/roundtrip_fact", Level::L0),
    ("agentic/transition_allowed", Level::L0),
    ("agentic/open", Level::L0),
    ("agentic/close", Level::L0),
    ("agentic/set_now", Level::L0),
    ("agentic/create_project", Level::L1),
    ("agentic/archive_project", Level::L1),
    ("agentic/restore_project", Level::L1),
    ("agentic/deposit", Level::L1),
    ("agentic/pull_latest", Level::L0),
    ("agentic/pull_specific", Level::L0),
    ("agentic/pull_relevant", Level::L0),
    ("agentic/orient", Level::L0),
    ("agentic/orchestrate", Level::L0),
    ("agentic/query_facts", Level::L0),
    ("agentic/export", Level::L0),
    ("agentic/import", Level::L1),
    ("agentic/tamper", Level::L0),
    ("agentic/list_sessions", Level::L0),
    ("agentic/assert_fact", Level::L2),
    ("agentic/invalidate_fact", Level::L2),
    ("agentic/flag_for_review", Level::L3),
    ("agentic/transition", Level::L3),
    ("agentic/awaiting_review", Level::L3),
];

/// The library as the adapter shows it: pure functions, and stores in memory by handle.
#[derive(Debug)]
pub(crate) struct Adapter {
    rules: Rules,
    clock: Clock,
    stores: HashMap<String, Service>,
    opened: u64,
}

impl Library for Adapter {
    async fn call(&mut self, method: &str, params: &Object) -> Result<Object, RpcError> {
        Ok(match method {
            "describe" => self.describe(),
            "agentic/hello" => self.hello(),
            "agentic/open" => self.open(params)?,
            "agentic/close" => self.close(params).await?,
            _ => match self.pure(method, params)? {
                Some(result) => result,
                None => self.on_store(method, params).await?,
            },
        })
    }
}

impl Adapter {
    pub(crate) fn new(rules: Rules, clock: Clock) -> Self {
        Self { rules, clock, stores: HashMap::new(), opened: 0 }
    }

    fn methods(&self) -> Value {
        let there = METHODS.iter().filter(|(_, level)| *level <= self.rules.level);
        Value::List(there.map(|(name, _)| (*name).into()).collect())
    }

    fn hello(&self) -> Object {
        Object::from([
            ("name", "proofmark-reference".into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("level", self.rules.level.name().into()),
            ("methods", self.methods()),
        ])
    }

    fn describe(&self) -> Object {
        Object::from([
            ("name", "proofmark-reference".into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("protocols", Value::List(vec!["agentic".into()])),
            ("level", self.rules.level.name().into()),
            ("operations", self.methods()),
        ])
    }

    fn open(&mut self, params: &Object) -> Result<Object, RpcError> {
        let clock = match params.present("now") {
            None => self.clock,
            Some(_) => Clock::Fixed(instant(params, "now")?),
        };
        let service = Service::open(&Database::Memory, self.rules, clock, &[]);
        let service = service.map_err(|error| RpcError::from(Refusal::new(Code::Internal, error.to_string())))?;
        self.opened += 1;
        let handle = format!("store-{}", self.opened);
        self.stores.insert(handle.clone(), service);
        Ok(Object::from([("store", handle.into())]))
    }

    async fn close(&mut self, params: &Object) -> Result<Object, RpcError> {
        let service = self.stores.remove(text(params, "store")?).ok_or_else(|| RpcError::params("unknown store"))?;
        service.close().await;
        Ok(Object::new())
    }

    /// The methods that need no store; `None` if `method` is not one of them.
    fn pure(&self, method: &str, params: &Object) -> Result<Option<Object>, RpcError> {
        let rules = self.rules;
        let result = match method {
            "agentic/canonicalize" => {
                let (source, value) = canonicalizable(params, rules)?;
                let form = canonical::canonical(&value, &source, rules);
                Object::from([("canonical_hex", hash::hex(form.as_bytes()).into())])
            }
            "agentic/content_hash" => {
                let (source, value) = canonicalizable(params, rules)?;
                let package = with_defaults(object(value)?, rules);
                let hash = hash::content_hash(&package, &source, rules);
                Object::from([("hash", rules.spelled_hash(&hash).into())])
            }
            "agentic/verify" => {
                let (source, value) = canonicalizable(params, rules)?;
                let package = with_defaults(object(value)?, rules);
                let matches = hash::verify(&package, &source, text(params, "hash")?, rules);
                Object::from([("match", matches.into())])
            }
            "agentic/validate_package" => validity(params, rules, |package| package::validate(&package, rules))?,
            "agentic/validate_fact" => validity(params, rules, |object| fact::validate(&object, rules))?,
            "agentic/roundtrip_package" => {
                let (source, package) = canonicalizable(params, rules)?;
                let package = object(package)?;
                refuse(package::validate(&package, rules))?;
                let named = package.text("project_id").unwrap_or_default().to_owned();
                let kept = intake::submit(self.rules, &source, &named, None, self.clock.now())?;
                let mut kept = kept.object;
                // 6: a library keeps all members.
                planted!(rules.fault, "roundtrip-drops-unknown", faults::transfer::drop_unknown(&mut kept));
                Object::from([("json_hex", params::hex_of(&kept, rules))])
            }
            "agentic/roundtrip_fact" => {
                let (_, value) = canonicalizable(params, rules)?;
                let fact = fact::Fact::new(object(value)?, rules).map_err(Refusal::from)?;
                Object::from([("json_hex", params::hex_of(&fact.object, rules))])
            }
            "agentic/transition_allowed" => {
                let allowed = review::is_allowed(text(params, "from")?, text(params, "to")?, self.rules);
                Object::from([("allowed", allowed.into())])
            }
            _ => return Ok(None), // a method on a store, or unknown
        };
        Ok(Some(result))
    }
}

/// A package as it is hashed.
fn with_defaults(mut package: Object, rules: Rules) -> Object {
    // Other, E09: its defaults are included. Other values have no defaults.
    if rules.variant.is_other() && package.get("package_id").is_some() {
        intake::fill_defaults(&mut package);
    }
    package
}

fn validity(params: &Object, rules: Rules, problems: impl Fn(Object) -> Vec<Problem>) -> Result<Object, RpcError> {
    let found = match rules.read(&params::bytes(params, "json_hex")?) {
        Ok(Value::Object(object)) => problems(object),
        Ok(_) => vec![Problem::new("", "must be a JSON object")],
        Err(error) => vec![Problem::new("", error.to_string())],
    };
    let errors = found.iter().map(|problem| {
        Object::from([("pointer", problem.pointer.as_str().into()), ("reason", problem.reason.as_str().into())]).into()
    });
    Ok(Object::from([("valid", found.is_empty().into()), ("errors", Value::List(errors.collect()))]))
}

fn refuse(problems: Vec<Problem>) -> Result<(), Refusal> {
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        let mut data = refusal.object();
        data.remove("message");
        Self { code: refusal.code.rpc(), message: refusal.message, data: Some(data) }
    }
}
