//! The routes of section 9.1 and of binding.md section 3.
//!
//! Here a request finds its route; `routes` holds one function for each, `query` reads parameters. A path is split
//! before it is decoded, so that an id may hold any character, a slash included (E23).

mod query;
mod routes;

use query::Query;

use super::operation::descriptor;
use super::refusal::{Code, Refusal};
use super::service::Service;
use crate::fault::planted;
use crate::json::Value;
use crate::server::http::{BODY_LIMIT, Handler, Reply, Request, percent_decode};

/// The largest import: a backup holds many packages, each of which may be as large as a deposit.
const IMPORT_LIMIT: usize = 64 * 1024 * 1024;

impl Handler for Service {
    fn body_limit(&self, path: &str) -> usize {
        if path == "/v1/import" { IMPORT_LIMIT } else { BODY_LIMIT }
    }

    async fn answer(&self, request: Request) -> Reply {
        // 3: what is stored is what the next reader gets.
        match self.kept_answer(&request).await {
            Some(reply) => reply,
            None => self.fresh_answer(&request).await,
        }
    }
}

impl Service {
    /// The answer to a request.
    pub(super) async fn fresh_answer(&self, request: &Request) -> Reply {
        let mut reply = match self.route(request).await {
            Ok(reply) => reply,
            Err(refusal) => self.refused(&refusal),
        };
        if reply.status == 405 {
            let path: Vec<&str> = request.path.split('/').skip(1).collect();
            reply.allow = Some(methods(&path).join(", "));
        }
        // 9.1: errors are JSON, as all answers.
        planted!(self.rules.fault, "text-plain-errors", reply.status >= 400 => reply.media_type = "text/plain");
        if self.rules.variant.is_other() {
            return dressed(reply);
        }
        reply
    }

    /// The answer for a refusal (binding.md section 8).
    fn refused(&self, refusal: &Refusal) -> Reply {
        let reply = Reply::json(refusal.code.status(self.rules), refusal.body(self.rules).write());
        // 10.2: a 501 names the missing capability.
        let search = refusal.code == Code::SearchNotSupported;
        let empty = |reply| Reply { body: String::new(), ..reply };
        planted!(self.rules.fault, "search-missing-empty-body", search => return empty(reply));
        reply
    }

    async fn route(&self, request: &Request) -> Result<Reply, Refusal> {
        let path: Vec<String> = request.path.split('/').skip(1).map(decoded).collect::<Result<_, _>>()?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        // 11.5: the descriptor needs no key.
        // 11.5: and may be found by everybody.
        let hidden = self.rules.fault.is("descriptor-hidden");
        if let ["v1", "conformance"] = path[..]
            && !hidden
        {
            let get = demand_method(request, &["GET"]);
            return get.map(|()| Reply::json(200, descriptor(self.rules).write()));
        }
        let actor = self.actor(request);
        // 8.1: an actor that the transport rejects stores nothing.
        let unauthenticated = || self.dispatch(request, &path, None);
        planted!(self.rules.fault, "auth-checked-after-store", actor.is_err() => drop(unauthenticated().await));
        self.dispatch(request, &path, actor?).await
    }

    /// Whether a route outside the protocol exists.
    fn edits_packages(&self) -> bool {
        self.rules.fault.is("patch-edits-package")
    }

    /// 9.2: the owner of the key in `Authorization: Bearer KEY`; `None` without configured keys.
    fn actor(&self, request: &Request) -> Result<Option<&str>, Refusal> {
        // 9.2: an unknown key gives no access.
        if self.keys.is_empty() || self.rules.fault.is("key-unchecked") {
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
                self.list_packages(project, &Query::read(self.rules, &request.query)?).await
            }
            ("GET", ["v1", "projects", project, "review-queue"]) => {
                self.list_awaiting(project, &Query::read(self.rules, &request.query)?).await
            }
            ("GET", ["v1", "projects", project, "orient"]) => {
                self.get_orient(project, &Query::read(self.rules, &request.query)?).await
            }
            ("GET", ["v1", "projects", project, "sessions"]) => self.list_sessions(project).await,
            ("GET", ["v1", "projects", project, "export"]) => self.get_export(project).await,
            ("POST", ["v1", "projects", project, "facts"]) => self.post_fact(project, &request.body, actor).await,
            ("GET", ["v1", "projects", project, "facts"]) => {
                self.list_facts(project, &Query::read(self.rules, &request.query)?).await
            }
            ("DELETE", ["v1", "projects", project, "facts"]) => {
                self.delete_facts(project, &Query::read(self.rules, &request.query)?).await
            }
            ("POST", ["v1", "import"]) => self.post_import(&request.body).await,
            ("GET", ["v1", "orchestrate"]) => self.get_orchestrate(&Query::read(self.rules, &request.query)?).await,
            ("GET", ["v1", "packages", package]) => self.get_package(package).await,
            // 6.6: no route edits a package.
            ("PATCH", ["v1", "packages", id]) if self.edits_packages() => self.edit_package(id, &request.body).await,
            ("POST", ["v1", "packages", package, "flag"]) => self.post_flag(package, &request.body).await,
            ("PATCH", ["v1", "packages", package, "status"]) => self.patch_status(package, &request.body).await,
            _ => Err(demand_method(request, methods(path)).err().unwrap_or_else(|| no_route(request))),
        }
    }
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
        _ => &[], // unknown path
    }
}

/// The same answer in another text, with more members in its envelope and more headers.
fn dressed(mut reply: Reply) -> Reply {
    match crate::json::read(reply.body.as_bytes()) {
        Ok(Value::Object(mut body)) if body.get("package_id").is_none() && body.get("id").is_none() => {
            body.set("served_by", "the other variant");
            reply.body = format!("\n{}\n", body.write_otherwise());
        }
        Ok(body) => reply.body = format!("\n{}\n", body.write_otherwise()),
        Err(_) => {} // an export, or no body
    }
    // Other, E67: JSON is UTF-8; the charset parameter is harmless.
    if reply.media_type == "application/json" {
        reply.media_type = "application/json; charset=utf-8";
    }
    reply.with("x-served-by", "the other variant").with("cache-control", "no-store")
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

fn decoded(text: &str) -> Result<String, Refusal> {
    percent_decode(text).ok_or_else(|| Refusal::new(Code::InvalidParameter, "the path is not percent-encoded UTF-8"))
}
