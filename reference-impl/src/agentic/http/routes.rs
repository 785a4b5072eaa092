//! One function for each route: the input of the operation, and its JSON output.

use super::query::{Query, bad_parameter, fact_query};
use crate::agentic::faults::intake::fold_names;
use crate::agentic::operation::Operation;
use crate::agentic::pull::{LIMIT_MAX, found, listed, reported_hash};
use crate::agentic::refusal::{Code, Problem, Refusal};
use crate::agentic::rules::Rules;
use crate::agentic::service::Service;
use crate::agentic::tables::packages::Package;
use crate::agentic::tables::projects;
use crate::agentic::{invalidate, orient, project, pull, query, review, shown, transfer};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{self, Object, Value};
use crate::server::http::Reply;

impl Service {
    pub(super) async fn create_project(&self, body: &[u8]) -> Result<Reply, Refusal> {
        self.demand_level(Operation::ProjectCreate)?;
        let input = read_input(body)?;
        let project = self.write(Operation::ProjectCreate, move |db, _, now| project::create(db, &input, now)).await?;
        Ok(self.project_reply(201, project))
    }

    pub(super) async fn list_projects(&self) -> Result<Reply, Refusal> {
        let projects = self.read(Operation::ProjectList, |db, _, _| projects::all(db)).await?;
        let shown = projects.into_iter().map(|project| self.rules.shown_project(project).into());
        Ok(self.listing("projects", shown.collect()))
    }

    pub(super) async fn get_project(&self, project: &str) -> Result<Reply, Refusal> {
        let project = project.to_owned();
        let project = self.read(Operation::ProjectGet, move |db, _, _| projects::demand(db, &project)).await?;
        Ok(self.project_reply(200, project.record))
    }

    pub(super) async fn archive(&self, project: &str, archive: bool) -> Result<Reply, Refusal> {
        let project = project.to_owned();
        let operation = if archive { Operation::ProjectArchive } else { Operation::ProjectRestore };
        let set = move |db: &_, rules, now| projects::set_archived(db, rules, &project, archive.then_some(now));
        Ok(self.project_reply(200, self.write(operation, set).await?))
    }

    fn project_reply(&self, status: u16, project: Object) -> Reply {
        // Other, E33: a project is the whole answer.
        if self.rules.variant.is_other() {
            return Reply::json(status, self.rules.shown_project(project).write());
        }
        Reply::json(status, Object::from([("project", project.into())]).write())
    }

    pub(super) async fn post_package(&self, project: &str, body: &[u8], actor: Option<&str>) -> Result<Reply, Refusal> {
        let deposited = self.deposit(project, body, actor).await?;
        // Other, E32: done is done.
        let status = if deposited.created && !self.rules.variant.is_other() { 201 } else { 200 };
        let id_only = || Object::from([("package_id", deposited.package.id().into())]).write();
        planted!(self.rules.fault, "deposit-returns-id-only", return Ok(Reply::json(status, id_only())));
        let mut deposited = deposited;
        // 8.1: the id is the submitted one.
        planted!(self.rules.fault, "deposit-returns-row-number", deposited.package.object.set("package_id", "1"));
        let hash = deposited.package.hash.clone();
        Ok(self.package_reply(status, deposited.package, hash, self.now()))
    }

    /// The package, and the hash next to it, never inside it (6.6, E02).
    fn package_reply(&self, status: u16, package: Package, hash: String, now: Instant) -> Reply {
        // Other, E11: the hash is computed once, on commit.
        let hash = if self.rules.variant.is_other() { package.deposited_hash.clone() } else { hash };
        let hash = self.rules.spelled_hash(&hash);
        let shown = shown::package(package.object, self.rules, now);
        // Other, E02: deposit returns the package with the hash set.
        if self.rules.variant.is_other() {
            let mut package = shown;
            package.set("content_hash", hash);
            return Reply::json(status, package.write());
        }
        let mut body = Object::from([("package", shown.into())]);
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
            // Other, E26: the answer is empty.
            Err(refusal) if refusal.code == Code::PackageNotFound && self.rules.variant.is_other() => {
                return Ok(Reply::json(200, "null".to_owned()));
            }
            pulled => pulled?,
        };
        let now = self.now();
        // Other, E02: a header, as for any other resource.
        if self.rules.variant.is_other() {
            let hash = self.rules.spelled_hash(&package.deposited_hash);
            let body = Object::from([("data", shown::package(package.object, self.rules, now).into())]);
            return Ok(Reply::json(200, body.write()).with("etag", format!("\"{hash}\"")));
        }
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
        let limit = query.integer("limit", 1..=LIMIT_MAX, self.rules)?;
        // Other, E19: no operation has a parameter of this name.
        let status = query.get("status").filter(|_| !self.rules.variant.is_other());
        match (query.get("mode"), status) {
            (_, Some("awaiting_review")) => self.list_awaiting(project, query).await,
            (_, Some(_)) => Err(bad_parameter("status", "must be awaiting_review")),
            (None | Some("latest"), None) => {
                let latest = move |db: &_, rules: Rules, now| {
                    pull::latest(db, rules, &id, limit).map(|packages| listed(packages, rules, now))
                };
                let listed = items(self.read(Operation::PullLatest, latest).await?);
                // 8.2: no matches are an empty list.
                let nothing = || Err(Refusal::new(Code::PackageNotFound, "no packages"));
                planted!(self.rules.fault, "empty-list-404", listed.is_empty() => return nothing());
                Ok(self.listing("packages", listed))
            }
            (Some("relevant"), None) => {
                pull::demand_search(self.rules)?;
                // 8.2: query is required.
                let words = match query.get("query") {
                    None if self.rules.fault.is("relevant-without-query") => "pm".to_owned(),
                    _ => query.demand("query")?,
                };
                let relevant = move |db: &_, rules: Rules, now| {
                    let packages = pull::relevant(db, rules, Some(&id), &words, limit)?;
                    Ok(found(packages, rules, now))
                };
                let found = items(self.read(Operation::PullRelevant, relevant).await?);
                // Other, E66: with the score of each.
                if self.rules.variant.is_other() {
                    let ranked = found.into_iter().enumerate().map(|(rank, package)| {
                        let rank = i64::try_from(rank).unwrap_or(i64::MAX);
                        Object::from([("package", package), ("rank", rank.into())]).into()
                    });
                    return Ok(Reply::json(200, Object::from([("results", Value::List(ranked.collect()))]).write()));
                }
                Ok(self.listing("packages", found))
            }
            (Some(_), None) => Err(bad_parameter("mode", "must be latest or relevant")),
        }
    }

    pub(super) async fn list_awaiting(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let limit = query.integer("limit", 1..=LIMIT_MAX, self.rules)?;
        let awaiting = move |db: &_, rules: Rules, now| {
            review::awaiting(db, rules, &id, limit).map(|packages| listed(packages, rules, now))
        };
        let waiting = self.read(Operation::Awaiting, awaiting).await?;
        // Other, E66: a bare list.
        if self.rules.variant.is_other() {
            return Ok(Reply::json(200, waiting.write()));
        }
        Ok(self.listing("packages", items(waiting)))
    }

    pub(super) async fn get_orient(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let days = query.integer("window_days", 1..=orient::WINDOW_MAX, self.rules)?;
        let bundle =
            self.read(Operation::Orient, move |db, rules, now| orient::orient(db, rules, &id, days, now)).await?;
        // 8.3, 8.4: a bundle is an object.
        planted!(self.rules.fault, "orient-in-a-list", return Ok(Reply::json(200, format!("[{}]", bundle.write()))));
        Ok(Reply::json(200, bundle.write()))
    }

    pub(super) async fn get_orchestrate(&self, query: &Query) -> Result<Reply, Refusal> {
        let project = query.get("project").map(str::to_owned);
        let focus = query.get("focus").map(str::to_owned);
        let snippets = query.integer("snippets", 0..=LIMIT_MAX, self.rules)?.unwrap_or(orient::SNIPPETS);
        let days = query.integer("window_days", 1..=orient::WINDOW_MAX, self.rules)?;
        let digest = move |db: &_, rules, now| {
            orient::orchestrate(db, rules, project.as_deref(), focus.as_deref(), snippets, days, now)
        };
        let digest = self.read(Operation::Orchestrate, digest).await?;
        planted!(self.rules.fault, "digest-in-a-list", return Ok(Reply::json(200, format!("[{}]", digest.write()))));
        Ok(Reply::json(200, digest.write()))
    }

    pub(super) async fn list_sessions(&self, project: &str) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let sessions = self.read(Operation::Sessions, move |db, rules, _| project::sessions(db, rules, &id)).await?;
        Ok(self.listing("sessions", sessions.into_iter().map(Value::Object).collect()))
    }

    pub(super) async fn get_export(&self, project: &str) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let body = self.read(Operation::Export, move |db, rules, _| transfer::export(db, rules, &id)).await?;
        Ok(Reply { media_type: "application/x-ndjson", ..Reply::json(200, body) })
    }

    pub(super) async fn post_import(&self, body: &[u8]) -> Result<Reply, Refusal> {
        let ndjson = body.to_vec();
        let taken =
            self.write(Operation::Import, move |db, rules, now| transfer::import(db, rules, &ndjson, now)).await?;
        Ok(Reply::json(200, Object::from(taken).write()))
    }

    pub(super) async fn post_fact(&self, project: &str, body: &[u8], actor: Option<&str>) -> Result<Reply, Refusal> {
        let fact = self.assert(project, body, actor).await?;
        // Other, E40, E91: the caller knows the fact.
        if self.rules.variant.is_other() {
            return Ok(Reply::json(200, String::new()));
        }
        Ok(Reply::json(201, Object::from([("fact", fact.into())]).write()))
    }

    pub(super) async fn list_facts(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let wanted = fact_query(query, self.rules)?;
        let facts =
            self.read(Operation::QueryFacts, move |db, rules, now| query::query(db, rules, &id, wanted, now)).await?;
        Ok(self.listing("facts", facts.into_iter().map(Value::Object).collect()))
    }

    pub(super) async fn delete_facts(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        self.demand_level(Operation::InvalidateFact)?;
        let id = project.to_owned();
        let subject = match query.get("subject") {
            // 8.7: subject is required.
            None if self.rules.fault.is("invalidate-without-subject") => None,
            _ => Some(query.demand("subject")?),
        };
        let predicate = query.get("predicate").map(str::to_owned);
        let object = query.get("object").map(str::to_owned);
        let end = move |db: &_, rules, now| {
            invalidate::invalidate(db, rules, &id, subject.as_deref(), predicate.as_deref(), object.as_deref(), now)
        };
        let count = self.write(Operation::InvalidateFact, end).await?;
        if self.rules.variant.is_other() {
            // Other, E92: no fact matched.
            if count == 0 {
                return Err(Refusal::new(Code::RouteNotFound, "no fact matches"));
            }
            // Other, E50: the only number of the answer.
            return Ok(Reply::json(200, Object::from([("ended", count.into()), ("of", "facts".into())]).write()));
        }
        Ok(Reply::json(200, Object::from([("invalidated", count.into())]).write()))
    }

    pub(super) async fn post_flag(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
        self.demand_level(Operation::Flag)?;
        // 9.1: a body that is not JSON, or no object, is the fault of the sender.
        let unreadable = || Err(Refusal::new(Code::Internal, "no object"));
        planted!(self.rules.fault, "unreadable-flag-500", read_input(body).is_err() => return unreadable());
        let (id, mut input) = (package.to_owned(), read_input(body)?);
        // 8.5: the input has this name.
        planted!(self.rules.fault, "flag-names-in-any-case", fold_names(&mut input, &["review_type"]));
        let flag = move |db: &_, rules, now| review::flag(db, rules, &id, &input, now);
        let flagged = self.write(Operation::Flag, flag).await;
        let missing = flagged.as_ref().is_err_and(|refusal| refusal.code == Code::PackageNotFound);
        planted!(self.rules.fault, "flag-missing-id-200", missing => return Ok(Reply::json(200, "{}".to_owned())));
        if flagged.is_err() {
            self.after_refusal(package).await?;
        }
        let package = flagged?;
        let hash = package.hash.clone();
        Ok(self.package_reply(200, package, hash, self.now()))
    }

    pub(super) async fn patch_status(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
        self.demand_level(Operation::Transition)?;
        let (id, input) = (package.to_owned(), read_input(body)?);
        let status = input.text("status").map(str::to_owned);
        let status = status.ok_or_else(|| vec![Problem::new("/status", "must be a string")])?;
        let transition = move |db: &_, rules, _| review::transition(db, rules, &id, &status);
        // 8.2: a package is found by its id, also while its status changes.
        planted!(self.rules.fault, "move-leaves-a-gap", self.take_away(package).await?);
        let moved = self.write(Operation::Transition, transition).await;
        if moved.is_err() {
            self.after_refusal(package).await?;
        }
        let package = moved?;
        let hash = package.hash.clone();
        Ok(self.package_reply(200, package, hash, self.now()))
    }
}

impl Service {
    fn listing(&self, name: &str, items: Vec<Value>) -> Reply {
        // Other, E66: the content of a list is self-explanatory.
        let name = match name {
            "packages" if self.rules.variant.is_other() => "items",
            _ if self.rules.variant.is_other() => "data",
            _ => name,
        };
        Reply::json(200, Object::from([(name, Value::List(items))]).write())
    }
}

fn read_input(body: &[u8]) -> Result<Object, Refusal> {
    match json::read(body)? {
        Value::Object(input) => Ok(input),
        _ => Err(Refusal::new(Code::InvalidSchema, "the body must be a JSON object").at("")), // any other kind
    }
}

fn items(list: Value) -> Vec<Value> {
    match list {
        Value::List(items) => items,
        _ => Vec::new(), // `listed` makes lists
    }
}
