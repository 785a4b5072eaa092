//! The routes of section 9.1 and of binding.md section 3, and the JSON that goes over them.
//!
//! A path is split before it is decoded, so that an id may hold any character, a slash included (E23).

use super::operation::{Operation, descriptor};
use super::pull::{LIMIT_MAX, found, listed, reported_hash, shown};
use super::refusal::{Code, Problem, Refusal};
use super::tables::packages::Package;
use super::tables::projects;
use super::{Rules, Service, assert, orient, pull, review, transfer};
use crate::instant::Instant;
use crate::json::{self, Object, Value};
use crate::server::http::{Handler, Reply, Request, percent_decode};

impl Handler for Service {
    async fn answer(&self, request: Request) -> Reply {
        let mut reply = match self.route(&request).await {
            Ok(reply) => reply,
            Err(refusal) => self.refused(&refusal),
        };
        if reply.status == 405 {
            let path: Vec<&str> = request.path.split('/').skip(1).collect();
            reply.allow = Some(methods(&path).join(", "));
        }
        // 9.1: errors are JSON, like everything else.
        if self.rules.fault.is("text-plain-errors") && reply.status >= 400 {
            reply.media_type = "text/plain";
        }
        reply
    }
}

impl Service {
    /// The answer for a refusal (binding.md section 8).
    fn refused(&self, refusal: &Refusal) -> Reply {
        let reply = Reply::json(refusal.code.status(), refusal.body().write());
        // 10.2: a 501 says which capability is missing.
        if self.rules.fault.is("search-missing-empty-body") && refusal.code == Code::SearchNotSupported {
            return Reply { body: String::new(), ..reply };
        }
        reply
    }

    async fn route(&self, request: &Request) -> Result<Reply, Refusal> {
        let path: Vec<String> = request.path.split('/').skip(1).map(decoded).collect::<Result<_, _>>()?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        // 11.5: whoever wants to know what a server can do needs no key.
        if let ["v1", "conformance"] = path[..] {
            let get = demand_method(request, &["GET"]);
            return get.map(|()| Reply::json(200, descriptor(self.rules).write()));
        }
        let actor = match self.actor(request) {
            // 8.1: an actor that the transport rejects stores nothing.
            Err(refusal) if self.rules.fault.is("auth-checked-after-store") => {
                self.dispatch(request, &path, None).await.ok();
                return Err(refusal);
            }
            actor => actor?,
        };
        self.dispatch(request, &path, actor).await
    }

    /// 9.2: the owner of the key in `Authorization: Bearer KEY`; nobody where there are no keys.
    fn actor(&self, request: &Request) -> Result<Option<&str>, Refusal> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let key = request.authorization.as_deref().and_then(|header| header.split_once(' '));
        let key = key.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, key)| key.trim());
        let owner = self.keys.iter().find(|(known, _)| Some(known.as_str()) == key);
        owner.map(|(_, actor)| Some(actor.as_str())).ok_or_else(|| Refusal::new(Code::Unauthorized, "no known key"))
    }

    async fn dispatch(&self, request: &Request, path: &[&str], actor: Option<&str>) -> Result<Reply, Refusal> {
        let method = request.method.as_str();
        match (method, path) {
            ("GET", ["v1", "projects"]) => self.list_projects().await,
            ("POST", ["v1", "projects"]) => self.create_project(&request.body).await,
            ("GET", ["v1", "projects", project]) => self.get_project(project).await,
            ("POST", ["v1", "projects", project, "archive"]) => self.archive(project, true).await,
            ("POST", ["v1", "projects", project, "restore"]) => self.archive(project, false).await,
            ("POST", ["v1", "projects", project, "packages"]) => self.post_package(project, &request.body, actor).await,
            ("GET", ["v1", "projects", project, "packages"]) => {
                self.list_packages(project, &self.query(request)?).await
            }
            ("GET", ["v1", "projects", project, "review-queue"]) => {
                self.list_awaiting(project, &self.query(request)?).await
            }
            ("GET", ["v1", "projects", project, "orient"]) => self.get_orient(project, &self.query(request)?).await,
            ("GET", ["v1", "projects", project, "sessions"]) => self.list_sessions(project).await,
            ("GET", ["v1", "projects", project, "export"]) => self.get_export(project).await,
            ("POST", ["v1", "projects", project, "facts"]) => self.post_fact(project, &request.body, actor).await,
            ("GET", ["v1", "projects", project, "facts"]) => self.list_facts(project, &self.query(request)?).await,
            ("DELETE", ["v1", "projects", project, "facts"]) => self.delete_facts(project, &self.query(request)?).await,
            ("POST", ["v1", "import"]) => self.post_import(&request.body).await,
            ("GET", ["v1", "orchestrate"]) => self.get_orchestrate(&self.query(request)?).await,
            ("GET", ["v1", "packages", package]) => self.get_package(package).await,
            // 6.6: a package has no route that edits it.
            ("PATCH", ["v1", "packages", package]) if self.rules.fault.is("patch-edits-package") => {
                self.edit_package(package, &request.body).await
            }
            ("POST", ["v1", "packages", package, "flag"]) => self.post_flag(package, &request.body).await,
            ("PATCH", ["v1", "packages", package, "status"]) => self.patch_status(package, &request.body).await,
            _ => Err(demand_method(request, methods(path)).err().unwrap_or_else(|| no_route(request))),
        }
    }

    async fn create_project(&self, body: &[u8]) -> Result<Reply, Refusal> {
        let input = read_input(body)?;
        let project = self.write(Operation::ProjectCreate, move |db, _, now| create_project(db, &input, now)).await?;
        Ok(Reply::json(201, Object::from([("project", project.into())]).write()))
    }

    async fn list_projects(&self) -> Result<Reply, Refusal> {
        let projects = self.read(Operation::ProjectList, |db, _, _| projects::all(db)).await?;
        Ok(listing("projects", Value::List(projects.into_iter().map(Value::Object).collect())))
    }

    async fn get_project(&self, project: &str) -> Result<Reply, Refusal> {
        let project = project.to_owned();
        let project = self.read(Operation::ProjectGet, move |db, _, _| projects::demand(db, &project)).await?;
        Ok(listing("project", project.record.into()))
    }

    async fn archive(&self, project: &str, archive: bool) -> Result<Reply, Refusal> {
        let project = project.to_owned();
        let operation = if archive { Operation::ProjectArchive } else { Operation::ProjectRestore };
        let set = move |db: &_, rules, now| projects::set_archived(db, rules, &project, archive.then_some(now));
        Ok(listing("project", self.write(operation, set).await?.into()))
    }

    async fn post_package(&self, project: &str, body: &[u8], actor: Option<&str>) -> Result<Reply, Refusal> {
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

    async fn get_package(&self, package: &str) -> Result<Reply, Refusal> {
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

    async fn edit_package(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
        let (id, input) = (package.to_owned(), read_input(body)?);
        let title = input.text("title").unwrap_or_default().to_owned();
        let edit = move |db: &_, rules, _| review::edit_title(db, rules, &id, &title);
        let package = self.write(Operation::Deposit, edit).await?;
        let hash = package.hash.clone();
        Ok(self.package_reply(200, package, hash, self.now()))
    }

    async fn list_packages(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
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
                    let packages = pull::relevant(db, rules, Some(&id), &words, limit.unwrap_or(10))?;
                    Ok(found(packages, rules, now))
                };
                Ok(listing("packages", self.read(Operation::PullRelevant, relevant).await?))
            }
            (Some(_), None) => Err(bad_parameter("mode", "must be latest or relevant")),
        }
    }

    async fn list_awaiting(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let limit = query.integer("limit", 1..=LIMIT_MAX)?;
        let awaiting = move |db: &_, rules: Rules, now| {
            review::awaiting(db, rules, &id, limit).map(|packages| listed(packages, rules, now))
        };
        Ok(listing("packages", self.read(Operation::Awaiting, awaiting).await?))
    }

    async fn get_orient(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let days = query.integer("window_days", 1..=orient::WINDOW_MAX)?;
        let bundle =
            self.read(Operation::Orient, move |db, rules, now| orient::orient(db, rules, &id, days, now)).await?;
        Ok(Reply::json(200, bundle.write()))
    }

    async fn get_orchestrate(&self, query: &Query) -> Result<Reply, Refusal> {
        let project = query.get("project").map(str::to_owned);
        let focus = query.get("focus").map(str::to_owned);
        let snippets = query.integer("snippets", 0..=LIMIT_MAX)?.unwrap_or(orient::SNIPPETS);
        let days = query.integer("window_days", 1..=orient::WINDOW_MAX)?;
        let digest = move |db: &_, rules, now| {
            orient::orchestrate(db, rules, project.as_deref(), focus.as_deref(), snippets, days, now)
        };
        Ok(Reply::json(200, self.read(Operation::Orchestrate, digest).await?.write()))
    }

    async fn list_sessions(&self, project: &str) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let sessions = self.read(Operation::Sessions, move |db, _, _| super::adapter::sessions(db, &id)).await?;
        Ok(listing("sessions", Value::List(sessions.into_iter().map(Value::Object).collect())))
    }

    async fn get_export(&self, project: &str) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let body = self.read(Operation::Export, move |db, rules, _| transfer::export(db, rules, &id)).await?;
        Ok(Reply { status: 200, media_type: "application/x-ndjson", body, allow: None })
    }

    async fn post_import(&self, body: &[u8]) -> Result<Reply, Refusal> {
        let ndjson = body.to_vec();
        let taken =
            self.write(Operation::Import, move |db, rules, now| transfer::import(db, rules, &ndjson, now)).await?;
        Ok(Reply::json(200, Object::from(taken).write()))
    }

    async fn post_fact(&self, project: &str, body: &[u8], actor: Option<&str>) -> Result<Reply, Refusal> {
        let fact = self.assert(project, body, actor).await?;
        Ok(Reply::json(201, Object::from([("fact", fact.into())]).write()))
    }

    async fn list_facts(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        let id = project.to_owned();
        let wanted = fact_query(query)?;
        let facts = self.read(Operation::QueryFacts, move |db, rules, _| assert::query(db, rules, &id, wanted)).await?;
        Ok(listing("facts", Value::List(facts.into_iter().map(Value::Object).collect())))
    }

    async fn delete_facts(&self, project: &str, query: &Query) -> Result<Reply, Refusal> {
        self.demand_level(Operation::InvalidateFact)?;
        let id = project.to_owned();
        let subject = query.demand("subject")?;
        let predicate = query.get("predicate").map(str::to_owned);
        let object = query.get("object").map(str::to_owned);
        let end = move |db: &_, rules, now| {
            assert::invalidate(db, rules, &id, &subject, predicate.as_deref(), object.as_deref(), now)
        };
        let count = self.write(Operation::InvalidateFact, end).await?;
        Ok(Reply::json(200, Object::from([("invalidated", count.into())]).write()))
    }

    async fn post_flag(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
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

    async fn patch_status(&self, package: &str, body: &[u8]) -> Result<Reply, Refusal> {
        self.demand_level(Operation::Transition)?;
        let (id, input) = (package.to_owned(), read_input(body)?);
        let status = input.text("status").map(str::to_owned);
        let status = status.ok_or_else(|| vec![Problem::new("/status", "must be a string")])?;
        let transition = move |db: &_, rules, _| review::transition(db, rules, &id, &status);
        let package = self.write(Operation::Transition, transition).await?;
        let hash = package.hash.clone();
        Ok(self.package_reply(200, package, hash, self.now()))
    }

    fn query(&self, request: &Request) -> Result<Query, Refusal> {
        let mut pairs = Vec::new();
        for pair in request.query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, mut value) = (decoded_query(name)?, decoded_query(value)?);
            // 7.1: a value is decoded once; %2520 is the text %20.
            if self.rules.fault.is("double-percent-decoding") {
                value = decoded_query(&value)?;
            }
            if !pairs.iter().any(|(known, _)| *known == name) {
                pairs.push((name, value));
            }
        }
        Ok(Query(pairs))
    }
}

/// Makes a project (E33): `{"project_id", "name"?}`.
pub(super) fn create_project(db: &rusqlite::Connection, input: &Object, now: Instant) -> Result<Object, Refusal> {
    let id = input.text("project_id").ok_or_else(|| vec![Problem::new("/project_id", "must be a string")])?;
    if input.present("name").is_some_and(|name| name.as_text().is_none()) {
        return Err(vec![Problem::new("/name", "must be a string")].into());
    }
    if projects::find(db, id)?.is_some() {
        return Err(Refusal::new(Code::DuplicateProjectId, format!("project {id:?} exists")).at("/project_id"));
    }
    let record = Object::from([
        ("project_id", id.into()),
        ("name", input.text("name").unwrap_or(id).into()),
        ("created_at", now.to_string().into()),
        ("archived_at", Value::Null),
    ]);
    projects::insert(db, id, &record)?;
    Ok(record)
}

/// The methods that a path has, for the answer to any other.
fn methods(path: &[&str]) -> &'static [&'static str] {
    match path {
        ["v1", "projects"] => &["GET", "POST"],
        ["v1", "projects", _, "packages"] => &["GET", "POST"],
        ["v1", "projects", _, "facts"] => &["DELETE", "GET", "POST"],
        ["v1", "projects", _, "archive" | "restore"] | ["v1", "import"] | ["v1", "packages", _, "flag"] => &["POST"],
        ["v1", "packages", _, "status"] => &["PATCH"],
        ["v1", "projects", _]
        | ["v1", "projects", _, "review-queue" | "orient" | "sessions" | "export"]
        | ["v1", "orchestrate" | "conformance"]
        | ["v1", "packages", _] => &["GET"],
        _ => &[], // no such path
    }
}

fn demand_method(request: &Request, allowed: &[&str]) -> Result<(), Refusal> {
    if allowed.is_empty() {
        return Err(no_route(request));
    }
    if allowed.contains(&request.method.as_str()) {
        return Ok(());
    }
    let message = format!("{} is not possible here, only {}", request.method, allowed.join(", "));
    Err(Refusal::new(Code::MethodNotAllowed, message))
}

fn no_route(request: &Request) -> Refusal {
    Refusal::new(Code::RouteNotFound, format!("no route {} {}", request.method, request.path))
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

fn decoded(text: &str) -> Result<String, Refusal> {
    percent_decode(text).ok_or_else(|| Refusal::new(Code::InvalidParameter, "the path is not percent-encoded UTF-8"))
}

fn decoded_query(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    percent_decode(&spaced)
        .ok_or_else(|| Refusal::new(Code::InvalidParameter, "the query is not percent-encoded UTF-8"))
}

fn bad_parameter(name: &str, reason: &str) -> Refusal {
    Refusal::new(Code::InvalidParameter, format!("parameter {name} {reason}"))
}

fn fact_query(query: &Query) -> Result<assert::FactQuery, Refusal> {
    let as_of = query.get("as_of").map(|text| {
        let instant = Instant::parse_or_date(text);
        instant
            .map(|instant| (instant, text.to_owned()))
            .ok_or_else(|| bad_parameter("as_of", "must be an RFC 3339 time in UTC"))
    });
    let include_ended = match query.get("include_ended") {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(bad_parameter("include_ended", "must be true or false")),
    };
    Ok(assert::FactQuery {
        subject: query.get("subject").map(str::to_owned),
        predicate: query.get("predicate").map(str::to_owned),
        as_of: as_of.transpose()?,
        include_ended,
        limit: query.integer("limit", 1..=LIMIT_MAX)?,
    })
}

/// The parameters of a query, decoded; of several with one name the first counts.
struct Query(Vec<(String, String)>);

impl Query {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn demand(&self, name: &str) -> Result<String, Refusal> {
        self.get(name).map(str::to_owned).ok_or_else(|| bad_parameter(name, "is required"))
    }

    fn integer<T>(&self, name: &str, range: std::ops::RangeInclusive<T>) -> Result<Option<T>, Refusal>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let reason = || format!("must be an integer from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(|| bad_parameter(name, &reason()))
    }
}
