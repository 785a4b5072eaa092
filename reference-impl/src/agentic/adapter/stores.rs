//! The methods on a store, each an operation of section 8 or of its surroundings.

use super::params::{bytes, fact_query, hex_list, hex_of, instant, integer, optional_text, text};
use super::{Adapter, METHODS};
use crate::agentic::operation::Operation;
use crate::agentic::pull::{LIMIT_MAX, found, listed, reported_hash};
use crate::agentic::refusal::{Code, Problem, Refusal};
use crate::agentic::rules::Rules;
use crate::agentic::service::Service;
use crate::agentic::tables::packages::{self, Package};
use crate::agentic::tables::projects;
use crate::agentic::{hash, invalidate, orient, project, pull, query, review, shown, transfer};
use crate::json::{self, Object, Value};
use crate::server::adapter::RpcError;

impl Adapter {
    /// Calls a method on the store that `params` names.
    pub(super) async fn on_store(&self, method: &str, params: &Object) -> Result<Object, RpcError> {
        if !METHODS.iter().any(|(name, _)| *name == method) {
            return Err(RpcError::no_method(method));
        }
        let handle = text(params, "store")?;
        let service = self.stores.get(handle).ok_or_else(|| RpcError::params("unknown store"))?;
        match method {
            "agentic/set_now" => {
                service.set_now(instant(params, "now")?);
                Ok(Object::new())
            }
            "agentic/create_project" => {
                let mut input = Object::from([("project_id", text(params, "project_id")?.into())]);
                input.set("name", params.get("name").cloned().unwrap_or(Value::Null));
                service.write(Operation::ProjectCreate, move |db, _, now| project::create(db, &input, now)).await?;
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
            "agentic/pull_latest" | "agentic/pull_relevant" | "agentic/awaiting_review" => {
                list_packages(service, method, params).await
            }
            "agentic/orient" => {
                let (project, days) =
                    (text(params, "project_id")?.to_owned(), integer(params, "window_days", 1..=orient::WINDOW_MAX)?);
                let orient = move |db: &_, rules, now| orient::orient(db, rules, &project, days, now);
                Ok(Object::from([(
                    "bundle_hex",
                    hex_of(&service.read(Operation::Orient, orient).await?, service.rules),
                )]))
            }
            "agentic/orchestrate" => {
                let (project, focus) = (optional_text(params, "project_id")?, optional_text(params, "focus")?);
                let snippets = integer(params, "snippets", 0..=LIMIT_MAX)?;
                let digest = move |db: &_, rules, now| {
                    let snippets = snippets.unwrap_or(orient::SNIPPETS);
                    orient::orchestrate(db, rules, project.as_deref(), focus.as_deref(), snippets, None, now)
                };
                Ok(Object::from([(
                    "bundle_hex",
                    hex_of(&service.read(Operation::Orchestrate, digest).await?, service.rules),
                )]))
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
                let listed = service
                    .read(Operation::Sessions, move |db, rules, _| project::sessions(db, rules, &project))
                    .await?;
                Ok(Object::from([("sessions", hex_list(&listed, service.rules))]))
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
                .read(Operation::QueryFacts, move |db, rules, now| query::query(db, rules, &project, query, now))
                .await?;
            Ok(Object::from([("facts", hex_list(&facts, service.rules))]))
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
            Ok(Object::from([("fact_hex", hex_of(&service.assert(project, &body, None).await?, service.rules))]))
        }
        "agentic/invalidate_fact" => {
            let [project, subject, predicate] =
                ["project_id", "subject", "predicate"].map(|name| text(params, name).map(str::to_owned));
            let (project, subject, predicate) = (project?, subject?, predicate?);
            let object = optional_text(params, "object")?;
            let end = move |db: &_, rules, now| {
                invalidate::invalidate(db, rules, &project, Some(&subject), Some(&predicate), object.as_deref(), now)
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
        _ => Err(RpcError::no_method(method)), // no further methods
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
    let limit = integer(params, "limit", 1..=LIMIT_MAX)?;
    let packages = match method {
        "agentic/pull_latest" => {
            let latest =
                move |db: &_, rules: Rules, now| Ok(listed(pull::latest(db, rules, &project, limit)?, rules, now));
            service.read(Operation::PullLatest, latest).await?
        }
        "agentic/pull_relevant" => {
            let query = text(params, "query")?.to_owned();
            let relevant = move |db: &_, rules: Rules, now| {
                Ok(found(pull::relevant(db, rules, Some(&project), &query, limit)?, rules, now))
            };
            service.read(Operation::PullRelevant, relevant).await?
        }
        _ => {
            let awaiting =
                move |db: &_, rules: Rules, now| Ok(listed(review::awaiting(db, rules, &project, limit)?, rules, now));
            service.read(Operation::Awaiting, awaiting).await? // the only other list
        }
    };
    let texts = packages
        .as_list()
        .unwrap_or_default()
        .iter()
        .map(|package| hash::hex(text_of(package, service.rules).as_bytes()).into());
    Ok(Object::from([("packages", Value::List(texts.collect()))]))
}

fn text_of(value: &Value, rules: Rules) -> String {
    if rules.variant.is_other() { value.write_otherwise() } else { value.write() }
}

fn package_result(service: &Service, package: Package, hash: String) -> Object {
    let shown = shown::package(package.object, service.rules, service.now());
    let mut result = Object::from([("package_hex", hex_of(&shown, service.rules))]);
    // Other, E11: as over HTTP.
    let hash = if service.rules.variant.is_other() { package.deposited_hash } else { hash };
    result.set("hash", service.rules.spelled_hash(&hash));
    result
}
