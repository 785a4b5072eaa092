//! One function for each route: what goes into the operation, and the JSON that comes out.

use super::query::{Query, bad_parameter, fact_query};
use crate::agentic::operation::Operation;
use crate::agentic::pull::{LIMIT_MAX, found, listed, reported_hash, shown};
use crate::agentic::refusal::{Code, Problem, Refusal};
use crate::agentic::tables::packages::Package;
use crate::agentic::tables::projects;
use crate::agentic::{Rules, Service, invalidate, orient, project, pull, query, review, transfer};
use crate::instant::Instant;
use crate::json::{self, Object, Value};
use crate::server::http::Reply;

impl Service {
    pub(super) async fn create_project(&self, body: &[u8]) -> Result<Reply, Refusal> {
        self.demand_level(Operation::ProjectCreate)?;
        let input = read_input(body)?;
        let project = self.write(Operation::ProjectCreate, move |db, _, now| project::create(db, &input, now)).await?;
        Ok(Reply::json(201, Object::from([("project", project.into())]).write()))
    }

    pub(super) async fn list_projects(&self) -> Result<Reply, Refusal> {
        let projects = self.read(Operation::ProjectList, |db, _, _| projects::all(db)).await?;
        Ok(listing("projects", Value::List(projects.into_iter().map(Value::Object).collect())))
    }

    pub(super) async fn get_project(&self, project: &str) -> Result<Reply, Refusal> {
        let project = project.to_owned();
        let project = self.read(Operation::ProjectGet, move |db, _, _| projects::demand(db, &project)).await?;
        Ok(listing("project", project.record.into()))
    }

    pub(super) async fn archive(&self, project: &str, archive: bool) -> Result<Reply, Refusal> {
        let project = project.to_owned();
        let operation = if archive { Operation::ProjectArchive } else { Operation::ProjectRestore };
        let set = move |db: &_, rules, now| projects::set_archived(db, rules, &project, archive.then_some(now));
        Ok(listing("project", self.write(operation, set).await?.into()))
    }

    pub(super) async fn post_package(&self, project: &str, body: &[u8], actor: Option<&str>) -> Result<Reply, Refusal> {
        let deposited = self.deposit(project, body, actor).await?;
        let status = if deposited.created { 201 } else { 200 };
        if self.rules.fault.is("deposit-returns-id-only") {
            return Ok(Reply::json(status, Object::from([("package_id", deposited.package.id().into())]).write()));
        }
        let hash = deposited.package.hash.clone();
        Ok(self.package_reply(status, deposited.package, hash, self.now()))
    }

    /// The package and beside it, never inside it, the hash (6.6, E02).
    fn package_reply(&self, status: u16, package: Package, hash: String, now: Instant) -> Reply {
        let mut body = Object::from([("package", shown(package.object, self.rules, now).into())]);
        if !self.rules.fault.is("hash-missing") {
            body.set("content_hash", hash);
        }
        Reply::json(status, body.write())
    }

    pub(super) async fn get_package(&self, package: &str) -> Result<Reply, Refusal> {
        let id = package.to_owned();
        let pulled = self.read(Operation::PullSpecific, move |db, rules, _| pull::specific(db, rules, &id)).await;
        let package = match pulled {
            Err(refusal)
                if refusal.code == Code::PackageNotFound && self.rules.fault.is("missing-package-empty-200") =>
            {
                return Ok(Reply::json(200, "{}".to_owned()));
            }
            pulled => pulled?,
        };
        let now = self.now();
        let hash = reported_hash(&package, self.rules, now);
        Ok(self.package_reply(200, package, hash, now))
    }

    pub(super) async fn edit_package(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
        let (id, input) = (package.to_owned(), read_input(body)?);
        let title = input.text("title").unwrap_or_default().to_owned();
        let edit = move |db: &_, rules, _| review::edit_title(db, rules, &id, &title);
        let package = self.write(Operation::Deposit, edit).await?;
        let hash = package.hash.clone();
        Ok(self.package_reply(200, package, hash, self.now()))
    }

    pub(super) async fn list_packages(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let limit = query.integer("limit", 1..=LIMIT_MAX)?;
        match (query.get("mode"), query.get("status")) {
            (_, Some("awaiting_review")) => self.list_awaiting(project, query).await,
            (_, Some(_)) => Err(bad_parameter("status", "must be awaiting_review")),
            (None | Some("latest"), None) => {
                let latest = move |db: &_, rules: Rules, now| {
                    pull::latest(db, rules, &id, limit).map(|packages| listed(packages, rules, now))
                };
                Ok(listing("packages", self.read(Operation::PullLatest, latest).await?))
            }
            (Some("relevant"), None) => {
                pull::demand_search(self.rules)?;
                let words = query.demand("query")?;
                let relevant = move |db: &_, rules: Rules, now| {
                    let packages = pull::relevant(db, rules, Some(&id), &words, limit)?;
                    Ok(found(packages, rules, now))
                };
                Ok(listing("packages", self.read(Operation::PullRelevant, relevant).await?))
            }
            (Some(_), None) => Err(bad_parameter("mode", "must be latest or relevant")),
        }
    }

    pub(super) async fn list_awaiting(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let limit = query.integer("limit", 1..=LIMIT_MAX)?;
        let awaiting = move |db: &_, rules: Rules, now| {
            review::awaiting(db, rules, &id, limit).map(|packages| listed(packages, rules, now))
        };
        Ok(listing("packages", self.read(Operation::Awaiting, awaiting).await?))
    }

    pub(super) async fn get_orient(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let days = query.integer("window_days", 1..=orient::WINDOW_MAX)?;
        let bundle =
            self.read(Operation::Orient, move |db, rules, now| orient::orient(db, rules, &id, days, now)).await?;
        Ok(Reply::json(200, bundle.write()))
    }

    pub(super) async fn get_orchestrate(&self, query: &Query) -> Result<Reply, Refusal> {
        let project = query.get("project").map(str::to_owned);
        let focus = query.get("focus").map(str::to_owned);
        let snippets = query.integer("snippets", 0..=LIMIT_MAX)?.unwrap_or(orient::SNIPPETS);
        let days = query.integer("window_days", 1..=orient::WINDOW_MAX)?;
        let digest = move |db: &_, rules, now| {
            orient::orchestrate(db, rules, project.as_deref(), focus.as_deref(), snippets, days, now)
        };
        Ok(Reply::json(200, self.read(Operation::Orchestrate, digest).await?.write()))
    }

    pub(super) async fn list_sessions(&self, project: &str) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let sessions = self.read(Operation::Sessions, move |db, _, _| project::sessions(db, &id)).await?;
        Ok(listing("sessions", Value::List(sessions.into_iter().map(Value::Object).collect())))
    }

    pub(super) async fn get_export(&self, project: &str) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let body = self.read(Operation::Export, move |db, rules, _| transfer::export(db, rules, &id)).await?;
        Ok(Reply { status: 200, media_type: "application/x-ndjson", body, allow: None })
    }

    pub(super) async fn post_import(&self, body: &[u8]) -> Result<Reply, Refusal> {
        let ndjson = body.to_vec();
        let taken =
            self.write(Operation::Import, move |db, rules, now| transfer::import(db, rules, &ndjson, now)).await?;
        Ok(Reply::json(200, Object::from(taken).write()))
    }

    pub(super) async fn post_fact(&self, project: &str, body: &[u8], actor: Option<&str>) -> Result<Reply, Refusal> {
        let fact = self.assert(project, body, actor).await?;
        Ok(Reply::json(201, Object::from([("fact", fact.into())]).write()))
    }

    pub(super) async fn list_facts(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let wanted = fact_query(query)?;
        let facts = self.read(Operation::QueryFacts, move |db, rules, _| query::query(db, rules, &id, wanted)).await?;
        Ok(listing("facts", Value::List(facts.into_iter().map(Value::Object).collect())))
    }

    pub(super) async fn delete_facts(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        self.demand_level(Operation::InvalidateFact)?;
        let id = project.to_owned();
        let subject = query.demand("subject")?;
        let predicate = query.get("predicate").map(str::to_owned);
        let object = query.get("object").map(str::to_owned);
        let end = move |db: &_, rules, now| {
            invalidate::invalidate(db, rules, &id, &subject, predicate.as_deref(), object.as_deref(), now)
        };
        let count = self.write(Operation::InvalidateFact, end).await?;
        Ok(Reply::json(200, Object::from([("invalidated", count.into())]).write()))
    }

    pub(super) async fn post_flag(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
        self.demand_level(Operation::Flag)?;
        let (id, input) = (package.to_owned(), read_input(body)?);
        let flag = move |db: &_, rules, now| review::flag(db, rules, &id, &input, now);
        let package = match self.write(Operation::Flag, flag).await {
            Err(refusal) if refusal.code == Code::PackageNotFound && self.rules.fault.is("flag-missing-id-200") => {
                return Ok(Reply::json(200, "{}".to_owned()));
            }
            flagged => flagged?,
        };
        let hash = package.hash.clone();
        Ok(self.package_reply(200, package, hash, self.now()))
    }

    pub(super) async fn patch_status(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
        self.demand_level(Operation::Transition)?;
        let (id, input) = (package.to_owned(), read_input(body)?);
        let status = input.text("status").map(str::to_owned);
        let status = status.ok_or_else(|| vec![Problem::new("/status", "must be a string")])?;
        let transition = move |db: &_, rules, _| review::transition(db, rules, &id, &status);
        let package = self.write(Operation::Transition, transition).await?;
        let hash = package.hash.clone();
        Ok(self.package_reply(200, package, hash, self.now()))
    }
}

fn read_input(body: &[u8]) -> Result<Object, Refusal> {
    match json::read(body)? {
        Value::Object(input) => Ok(input),
        _ => Err(Refusal::new(Code::InvalidSchema, "the body must be a JSON object").at("")), // any other kind
    }
}

fn listing(name: &str, value: Value) -> Reply {
    Reply::json(200, Object::from([(name, value)]).write())
}
