//! The library adapter: binding.md section 12, one method after the other.

use std::collections::HashMap;

use rusqlite::Connection;

use super::operation::{Level, Operation};
use super::pull::{found, listed, reported_hash, shown};
use super::refusal::{Code, Problem, Refusal};
use super::tables::packages::Package;
use super::tables::{packages, projects, sessions as session_table};
use super::{Rules, Service, assert, canonical, fact, hash, intake, orient, package, pull, review, transfer};
use crate::instant::{Clock, Instant};
use crate::json::{self, Object, Value};
use crate::server::adapter::{Library, RpcError};

/// Every method, with the level from which it is there.
const METHODS: [(&str, Level); 30] = [
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
];

const AWAITING: &str = "agentic/awaiting_review";

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
        let awaiting = std::iter::once((AWAITING, Level::L3));
        let there = METHODS.into_iter().chain(awaiting).filter(|(_, level)| *level <= self.rules.level);
        Value::List(there.map(|(name, _)| name.into()).collect())
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
        let service = Service::open(None, self.rules, clock, &[]);
        let service = service.map_err(|error| RpcError::from(Refusal::new(Code::Internal, error.to_string())))?;
        self.opened += 1;
        let handle = format!("store-{}", self.opened);
        self.stores.insert(handle.clone(), service);
        Ok(Object::from([("store", handle.into())]))
    }

    async fn close(&mut self, params: &Object) -> Result<Object, RpcError> {
        let service = self.stores.remove(text(params, "store")?).ok_or_else(|| RpcError::params("no such store"))?;
        service.close().await;
        Ok(Object::new())
    }

    /// The methods that need no store; `None` if `method` is not one of them.
    fn pure(&self, method: &str, params: &Object) -> Result<Option<Object>, RpcError> {
        let Rules { fault, .. } = self.rules;
        let result = match method {
            "agentic/canonicalize" => {
                let (source, value) = canonicalizable(params)?;
                let form = canonical::canonical(&value, &source, fault);
                Object::from([("canonical_hex", hash::hex(form.as_bytes()).into())])
            }
            "agentic/content_hash" => {
                let (source, value) = canonicalizable(params)?;
                Object::from([("hash", hash::content_hash(&object(value)?, &source, fault).into())])
            }
            "agentic/verify" => {
                let (source, value) = canonicalizable(params)?;
                let matches = hash::verify(&object(value)?, &source, text(params, "hash")?, fault);
                Object::from([("match", matches.into())])
            }
            "agentic/validate_package" => validity(params, |package| package::validate(&package, fault))?,
            "agentic/validate_fact" => validity(params, |object| fact::validate(&object, self.rules))?,
            "agentic/roundtrip_package" => {
                let (source, package) = canonicalizable(params)?;
                let package = object(package)?;
                refuse(package::validate(&package, fault))?;
                let named = package.text("project_id").unwrap_or_default().to_owned();
                let kept = intake::submit(self.rules, &source, &named, None, self.clock.now())?;
                Object::from([("json_hex", hash::hex(kept.object.write().as_bytes()).into())])
            }
            "agentic/roundtrip_fact" => {
                let (_, value) = canonicalizable(params)?;
                let fact = fact::Fact::new(object(value)?, fault).map_err(Refusal::from)?;
                Object::from([("json_hex", hash::hex(fact.object.write().as_bytes()).into())])
            }
            "agentic/transition_allowed" => {
                let allowed = review::is_allowed(text(params, "from")?, text(params, "to")?, self.rules);
                Object::from([("allowed", allowed.into())])
            }
            _ => return Ok(None), // a method on a store, or none at all
        };
        Ok(Some(result))
    }

    async fn on_store(&self, method: &str, params: &Object) -> Result<Object, RpcError> {
        if method != AWAITING && !METHODS.iter().any(|(name, _)| *name == method) {
            return Err(RpcError::no_method(method));
        }
        let handle = text(params, "store")?;
        let service = self.stores.get(handle).ok_or_else(|| RpcError::params("no such store"))?;
        match method {
            "agentic/set_now" => {
                service.set_now(instant(params, "now")?);
                Ok(Object::new())
            }
            "agentic/create_project" => {
                let mut input = Object::from([("project_id", text(params, "project_id")?.into())]);
                input.set("name", params.get("name").cloned().unwrap_or(Value::Null));
                service
                    .write(Operation::ProjectCreate, move |db, _, now| super::http::create_project(db, &input, now))
                    .await?;
                Ok(Object::new())
            }
            "agentic/archive_project" => archive(service, text(params, "project_id")?, true).await,
            "agentic/restore_project" => archive(service, text(params, "project_id")?, false).await,
            "agentic/deposit" => {
                let deposited = service.deposit(text(params, "project_id")?, &bytes(params, "json_hex")?, None).await?;
                let hash = deposited.package.hash.clone();
                let mut result = package_result(service, deposited.package, hash);
                result.set("created", deposited.created);
                Ok(result)
            }
            "agentic/pull_specific" => pull_specific(service, text(params, "package_id")?.to_owned()).await,
            "agentic/pull_latest" | "agentic/pull_relevant" | AWAITING => list_packages(service, method, params).await,
            "agentic/orient" => {
                let (project, days) =
                    (text(params, "project_id")?.to_owned(), integer(params, "window_days", 1, orient::WINDOW_MAX)?);
                let orient = move |db: &_, rules, now| orient::orient(db, rules, &project, days, now);
                Ok(Object::from([("bundle_hex", hex_of(&service.read(Operation::Orient, orient).await?))]))
            }
            "agentic/orchestrate" => {
                let (project, focus) = (optional_text(params, "project_id")?, optional_text(params, "focus")?);
                let snippets = integer(params, "snippets", 0, 200)?.and_then(|count| usize::try_from(count).ok());
                let digest = move |db: &_, rules, now| {
                    let snippets = snippets.unwrap_or(orient::SNIPPETS);
                    orient::orchestrate(db, rules, project.as_deref(), focus.as_deref(), snippets, None, now)
                };
                Ok(Object::from([("bundle_hex", hex_of(&service.read(Operation::Orchestrate, digest).await?))]))
            }
            "agentic/export" => {
                let project = text(params, "project_id")?.to_owned();
                let ndjson =
                    service.read(Operation::Export, move |db, rules, _| transfer::export(db, rules, &project)).await?;
                Ok(Object::from([("ndjson_hex", hash::hex(ndjson.as_bytes()).into())]))
            }
            "agentic/import" => {
                let ndjson = bytes(params, "ndjson_hex")?;
                let import = move |db: &_, rules, now| transfer::import(db, rules, &ndjson, now);
                Ok(service.write(Operation::Import, import).await?.into())
            }
            "agentic/tamper" => {
                let (id, record) = (text(params, "package_id")?.to_owned(), bytes(params, "json_hex")?);
                let record = String::from_utf8(record).map_err(|_| RpcError::params("json_hex is not UTF-8"))?;
                service.write(Operation::PullSpecific, move |db, _, _| packages::tamper(db, &id, &record)).await?;
                Ok(Object::new())
            }
            "agentic/list_sessions" => {
                let project = text(params, "project_id")?.to_owned();
                let listed = service.read(Operation::Sessions, move |db, _, _| sessions(db, &project)).await?;
                Ok(Object::from([("sessions", hex_list(&listed))]))
            }
            _ => on_facts_and_reviews(service, method, params).await, // the rest of METHODS
        }
    }
}

async fn on_facts_and_reviews(service: &Service, method: &str, params: &Object) -> Result<Object, RpcError> {
    match method {
        "agentic/query_facts" => {
            let project = text(params, "project_id")?.to_owned();
            let query = fact_query(params)?;
            let facts = service
                .read(Operation::QueryFacts, move |db, rules, _| assert::query(db, rules, &project, query))
                .await?;
            Ok(Object::from([("facts", hex_list(&facts))]))
        }
        "agentic/assert_fact" => {
            service.demand_level(Operation::AssertFact)?;
            let body = bytes(params, "json_hex")?;
            let Value::Object(input) = json::read(&body).map_err(Refusal::from)? else {
                let message = "an assertion is a JSON object";
                return Err(Refusal::new(Code::InvalidSchema, message).into());
            };
            let project = input
                .text("project_id")
                .ok_or_else(|| Refusal::from(vec![Problem::new("/project_id", "must be a string")]))?;
            Ok(Object::from([("fact_hex", hex_of(&service.assert(project, &body, None).await?))]))
        }
        "agentic/invalidate_fact" => {
            let [project, subject, predicate] =
                ["project_id", "subject", "predicate"].map(|name| text(params, name).map(str::to_owned));
            let (project, subject, predicate) = (project?, subject?, predicate?);
            let object = optional_text(params, "object")?;
            let end = move |db: &_, rules, now| {
                assert::invalidate(db, rules, &project, &subject, Some(&predicate), object.as_deref(), now)
            };
            Ok(Object::from([("count", service.write(Operation::InvalidateFact, end).await?.into())]))
        }
        "agentic/flag_for_review" => {
            let (id, input) = (text(params, "package_id")?.to_owned(), params.clone());
            let flag = move |db: &_, rules, now| review::flag(db, rules, &id, &input, now);
            let package = service.write(Operation::Flag, flag).await?;
            let hash = package.hash.clone();
            Ok(package_result(service, package, hash))
        }
        "agentic/transition" => {
            let (id, status) = (text(params, "package_id")?.to_owned(), text(params, "status")?.to_owned());
            let transition = move |db: &_, rules, _| review::transition(db, rules, &id, &status);
            let package = service.write(Operation::Transition, transition).await?;
            let hash = package.hash.clone();
            Ok(package_result(service, package, hash))
        }
        _ => Err(RpcError::no_method(method)), // nothing is left
    }
}

async fn archive(service: &Service, project: &str, archive: bool) -> Result<Object, RpcError> {
    let project = project.to_owned();
    let operation = if archive { Operation::ProjectArchive } else { Operation::ProjectRestore };
    let set = move |db: &_, rules, now| projects::set_archived(db, rules, &project, archive.then_some(now));
    let record = service.write(operation, set).await?;
    Ok(Object::from([("archived_at", record.get("archived_at").cloned().unwrap_or(Value::Null))]))
}

async fn pull_specific(service: &Service, id: String) -> Result<Object, RpcError> {
    match service.read(Operation::PullSpecific, move |db, rules, _| pull::specific(db, rules, &id)).await {
        Ok(package) => {
            let hash = reported_hash(&package, service.rules, service.now());
            Ok(package_result(service, package, hash))
        }
        Err(refusal) if refusal.code == Code::PackageNotFound => {
            Ok(Object::from([("package_hex", Value::Null), ("hash", Value::Null)]))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

async fn list_packages(service: &Service, method: &str, params: &Object) -> Result<Object, RpcError> {
    let project = text(params, "project_id")?.to_owned();
    let limit = integer(params, "limit", 1, 200)?.and_then(|limit| usize::try_from(limit).ok());
    let packages = match method {
        "agentic/pull_latest" => {
            let latest =
                move |db: &_, rules: Rules, now| Ok(listed(pull::latest(db, rules, &project, limit)?, rules, now));
            service.read(Operation::PullLatest, latest).await?
        }
        "agentic/pull_relevant" => {
            let query = text(params, "query")?.to_owned();
            let relevant = move |db: &_, rules: Rules, now| {
                Ok(found(pull::relevant(db, rules, Some(&project), &query, limit.unwrap_or(10))?, rules, now))
            };
            service.read(Operation::PullRelevant, relevant).await?
        }
        _ => {
            let awaiting =
                move |db: &_, rules: Rules, now| Ok(listed(review::awaiting(db, rules, &project, limit)?, rules, now));
            service.read(Operation::Awaiting, awaiting).await? // the only other list
        }
    };
    let texts =
        packages.as_list().unwrap_or_default().iter().map(|package| hash::hex(package.write().as_bytes()).into());
    Ok(Object::from([("packages", Value::List(texts.collect()))]))
}

/// The sessions of a project that exists.
pub(super) fn sessions(db: &Connection, project_id: &str) -> Result<Vec<Object>, Refusal> {
    projects::demand(db, project_id)?;
    session_table::of_project(db, project_id)
}

fn package_result(service: &Service, package: Package, hash: String) -> Object {
    let shown = shown(package.object, service.rules, service.now());
    let mut result = Object::from([("package_hex", hex_of(&shown))]);
    result.set("hash", hash);
    result
}

fn fact_query(params: &Object) -> Result<assert::FactQuery, RpcError> {
    let as_of = optional_text(params, "as_of")?.map(|text| {
        let instant =
            Instant::parse_or_date(&text).ok_or_else(|| RpcError::params("as_of is not an RFC 3339 time in UTC"));
        instant.map(|instant| (instant, text))
    });
    Ok(assert::FactQuery {
        subject: optional_text(params, "subject")?,
        predicate: optional_text(params, "predicate")?,
        as_of: as_of.transpose()?,
        include_ended: matches!(params.get("include_ended"), Some(Value::Bool(true))),
        limit: None,
    })
}

/// The text behind `json_hex` and its value; -32009 if it is not JSON that has a canonical form.
fn canonicalizable(params: &Object) -> Result<(Vec<u8>, Value), RpcError> {
    let source = bytes(params, "json_hex")?;
    let value = json::read(&source).map_err(|error| Refusal::new(Code::NotCanonicalizable, error.to_string()))?;
    Ok((source, value))
}

fn validity(params: &Object, problems: impl Fn(Object) -> Vec<Problem>) -> Result<Object, RpcError> {
    let found = match json::read(&bytes(params, "json_hex")?) {
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

fn object(value: Value) -> Result<Object, Refusal> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Refusal::new(Code::InvalidSchema, "must be a JSON object").at("")), // any other kind
    }
}

fn hex_of(object: &Object) -> Value {
    hash::hex(object.write().as_bytes()).into()
}

fn hex_list(objects: &[Object]) -> Value {
    Value::List(objects.iter().map(hex_of).collect())
}

fn text<'a>(params: &'a Object, name: &str) -> Result<&'a str, RpcError> {
    params.text(name).ok_or_else(|| RpcError::params(format!("{name} must be a string")))
}

fn optional_text(params: &Object, name: &str) -> Result<Option<String>, RpcError> {
    params.present(name).map(|_| text(params, name).map(str::to_owned)).transpose()
}

fn integer(params: &Object, name: &str, least: i64, most: i64) -> Result<Option<i64>, RpcError> {
    let Some(value) = params.present(name) else {
        return Ok(None);
    };
    let integer =
        value.as_number().and_then(json::Number::as_integer).filter(|integer| (least..=most).contains(integer));
    integer.map(Some).ok_or_else(|| RpcError::params(format!("{name} must be an integer from {least} to {most}")))
}

fn instant(params: &Object, name: &str) -> Result<Instant, RpcError> {
    Instant::parse(text(params, name)?)
        .ok_or_else(|| RpcError::params(format!("{name} must be an RFC 3339 time in UTC")))
}

fn bytes(params: &Object, name: &str) -> Result<Vec<u8>, RpcError> {
    let text = text(params, name)?;
    let bad = || RpcError::params(format!("{name} must be hexadecimal digits in pairs"));
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(u8::try_from(char::from(*high).to_digit(16)? * 16 + char::from(*low).to_digit(16)?).ok()?),
        _ => None, // an odd digit at the end
    });
    pairs.collect::<Option<Vec<u8>>>().ok_or_else(bad)
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        let mut data = refusal.object();
        data.remove("message");
        Self { code: refusal.code.rpc(), message: refusal.message, data: Some(data) }
    }
}
