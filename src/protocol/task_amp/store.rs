//! The single source of truth that proofmark hosts for a target that is one role (binding, section 2): the calls of sections 3 and
//! 7, in memory. It takes every message that the harness injects as it is, so that a refusal is that of the role; what the role
//! writes is validated, and kept either way, so that a sweep sees it.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

use super::rules;
use crate::exchange::{HostArrival, HostReply};
use crate::protocol::Resident;
use crate::value::Value;
use crate::wire::json;

/// The path before every call.
const PREFIX: &str = "/api/amp/v1";

/// Messages that the store keeps; a role that writes more has lost control.
const KEPT: usize = 200_000;

/// The store of one run.
pub(super) struct Store {
    /// The roles of the target.
    roles: Vec<String>,
    messages: Vec<Value>,
    acks: Vec<Value>,
    errors: Vec<Value>,
    tasks: BTreeMap<String, Value>,
    /// Whether plans reach their Coordinator: one that never lists the tasks has another way to its plans, or none (E25).
    plans_are_read: bool,
    /// How far the test clock is ahead of that of the machine.
    ahead_ms: i64,
}

/// A request, taken apart.
struct Request<'a> {
    method: &'a str,
    /// The segments of the path behind the prefix.
    path: Vec<&'a str>,
    query: BTreeMap<String, String>,
    role: String,
    body: Option<Value>,
}

impl Store {
    /// An empty store for a target that plays these roles.
    pub(super) fn new(roles: &[&str]) -> Self {
        Self {
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            plans_are_read: !roles.contains(&"coordinator"),
            messages: Vec::new(),
            acks: Vec::new(),
            errors: Vec::new(),
            tasks: BTreeMap::new(),
            ahead_ms: 0,
        }
    }

    fn now(&self) -> DateTime<Utc> {
        Utc::now() + chrono::Duration::milliseconds(self.ahead_ms)
    }

    fn stamp(&self) -> Value {
        Value::text(self.now().to_rfc3339_opts(SecondsFormat::Micros, false))
    }

    fn answer(&mut self, request: &Request<'_>) -> (u16, Value) {
        match (request.method, request.path.as_slice()) {
            ("POST", ["messages"]) => self.submit(request),
            ("GET", ["messages"]) => (200, request.page("messages", self.wanted(request))),
            ("GET", ["messages", id]) => match self.messages.iter().find(|found| id_of(found) == Some(id)) {
                Some(found) => (200, found.clone()),
                None => missing(),
            },
            ("POST", ["messages", id, "acks"]) => self.ack(request, id),
            ("GET", ["messages", id, "acks"]) => {
                let of = |ack: &&Value| ack.member("msg_id").and_then(Value::as_text) == Some(id);
                (200, request.page("acks", self.acks.iter().filter(of)))
            }
            ("GET", ["acks"]) => (200, request.page("acks", self.acks.iter().filter(|ack| request.asks_plain(ack)))),
            ("GET", ["errors"]) => {
                (200, request.page("errors", self.errors.iter().filter(|entry| request.is_after(entry))))
            }
            ("POST", ["errors"]) => self.log(request),
            ("GET", ["tasks"]) => {
                self.plans_are_read |= request.role != "admin";
                (200, request.page("tasks", self.tasks.values()))
            }
            ("POST", ["tasks"]) => self.plan(request),
            ("GET", ["tasks", id]) => self.tasks.get(*id).map_or_else(missing, |found| (200, found.clone())),
            ("POST", ["tasks", id, what]) => self.instruct(request, id, what),
            ("GET", ["meta"]) => {
                let meta = [
                    ("protocol", Value::text("AMP/1.0")),
                    ("roles", Value::Array(Vec::new().into())),
                    ("test_hooks", Value::Bool(true)),
                ];
                (200, Value::map(meta))
            }
            ("GET", ["_test", "clock"]) => {
                let now = Value::Integer(i128::from(self.now().timestamp_millis()));
                (200, Value::map([("now_ms", now), ("now", self.stamp())]))
            }
            ("POST", ["_test", "clock"]) => {
                let by = request.body.as_ref().and_then(|body| body.member("advance_ms")).and_then(Value::as_integer);
                self.ahead_ms += by.and_then(|by| i64::try_from(by).ok()).unwrap_or(0);
                (200, Value::map([("now", self.stamp())]))
            }
            _ => missing(),
        }
    }

    /// The stored messages that a query asks for.
    fn wanted<'s>(&'s self, request: &'s Request<'_>) -> impl Iterator<Item = &'s Value> {
        self.messages.iter().filter(|found| request.asks(found))
    }

    fn submit(&mut self, request: &Request<'_>) -> (u16, Value) {
        let Some(message) = request.body.clone() else { return refused(400, "not JSON") };
        let by_target = self.roles.contains(&request.role);
        let broken = if by_target { rules::violations(&message) } else { Vec::new() };
        let msg_id = message.member("msg_id").and_then(Value::as_text).map(str::to_owned);
        if let Some(earlier) = self.messages.iter().find(|found| msg_id.is_some() && id_of(found) == msg_id.as_deref())
        {
            let same = earlier.member("message").is_some_and(|earlier| earlier.same_as(&message));
            if same {
                return (200, Value::map([("accepted", Value::Bool(true)), ("duplicate", Value::Bool(true))]));
            }
            if by_target {
                return refused(409, "msg_id");
            }
        }
        if self.messages.len() >= KEPT {
            return refused(507, "full");
        }
        let seq = Value::from(self.messages.len() as u64 + 1);
        let stored_at = self.stamp();
        let record = Value::map([
            ("seq", seq.clone()),
            ("stored_at", stored_at.clone()),
            ("written_by", Value::text(request.role.as_str())),
            ("message", message.clone()),
        ]);
        self.messages.push(record);
        self.follow(&message, by_target);
        if let Some(first) = broken.first() {
            return refused(422, &first.place);
        }
        let msg_id = msg_id.map_or(Value::Null, Value::text);
        let accepted = ("accepted", Value::Bool(true));
        (202, Value::map([accepted, ("msg_id", msg_id), ("seq", seq), ("stored_at", stored_at)]))
    }

    /// Keeps the task record up to date (binding, section 9).
    fn follow(&mut self, message: &Value, by_target: bool) {
        let text = |value: &Value, name: &str| value.member(name).and_then(Value::as_text).map(str::to_owned);
        let Some(task) = text(message, "task_id") else { return };
        let now = self.stamp();
        let record = self.tasks.entry(task.clone()).or_insert_with(|| fresh(&task, &now));
        let Some(payload) = message.member("payload") else { return };
        match text(message, "type").as_deref() {
            Some("task_dispatch") => {
                for name in ["risk_level", "branch", "repo"] {
                    if let Some(value) = payload.member(name) {
                        record.set_member(name, value.clone());
                    }
                }
            }
            Some("review_verdict") if text(payload, "decision").as_deref() == Some("rejected") => {
                let count = record.member("reject_count").and_then(Value::as_integer).unwrap_or(0);
                record.set_member("reject_count", Value::Integer(count + 1));
            }
            Some("escalation") => {
                let critical = text(payload, "severity").as_deref() == Some("critical");
                let suspends = payload.member("auto_suspended") == Some(&Value::Bool(true));
                if critical || (by_target && suspends) {
                    record.set_member("suspended", Value::Bool(true));
                }
            }
            _ => {}
        }
        record.set_member("updated_at", now);
    }

    fn ack(&mut self, request: &Request<'_>, id: &str) -> (u16, Value) {
        let Some(mut ack) = request.body.clone().filter(|ack| ack.as_map().is_some()) else {
            return refused(422, "ack");
        };
        if !self.messages.iter().any(|found| id_of(found) == Some(id)) {
            return missing();
        }
        if ack.member("msg_id").is_none() {
            ack.set_member("msg_id", Value::text(id));
        }
        // The acting role counts, whatever the record says.
        ack.set_member("actor", Value::text(request.role.as_str()));
        ack.set_member("stored_at", self.stamp());
        ack.set_member("seq", Value::from(self.acks.len() as u64 + 1));
        self.acks.push(ack);
        (201, Value::map([("accepted", Value::Bool(true))]))
    }

    fn log(&mut self, request: &Request<'_>) -> (u16, Value) {
        let Some(mut entry) = request.body.clone().filter(|entry| entry.as_map().is_some()) else {
            return refused(422, "entry");
        };
        entry.set_member("seq", Value::from(self.errors.len() as u64 + 1));
        self.errors.push(entry);
        (201, Value::map([("accepted", Value::Bool(true))]))
    }

    fn plan(&mut self, request: &Request<'_>) -> (u16, Value) {
        if request.role != "admin" {
            return refused(403, "role");
        }
        if !self.plans_are_read {
            return refused(501, "plan");
        }
        let task =
            request.body.as_ref().and_then(|body| body.member("task_id")).and_then(Value::as_text).map(str::to_owned);
        let plan = request.body.as_ref().and_then(|body| body.member("plan")).cloned();
        let (Some(task), Some(plan)) = (task, plan) else { return refused(422, "plan") };
        let now = self.stamp();
        let record = self.tasks.entry(task.clone()).or_insert_with(|| fresh(&task, &now));
        record.set_member("plan", plan);
        record.set_member("plan_approved", Value::Bool(false));
        (201, record.clone())
    }

    /// Approval, CI status and control instructions of the Admin.
    fn instruct(&mut self, request: &Request<'_>, task: &str, what: &str) -> (u16, Value) {
        if request.role != "admin" {
            return refused(403, "role");
        }
        let now = self.stamp();
        let Some(record) = self.tasks.get_mut(task) else { return missing() };
        let body = request.body.clone().unwrap_or(Value::Null);
        record.set_member("updated_at", now);
        match what {
            "approve" => record.set_member("plan_approved", Value::Bool(true)),
            "ci" => {
                record.set_member("ci", body);
                return (202, record.clone());
            }
            "controls" => {
                let mut controls = record.member("controls").and_then(Value::as_array).unwrap_or_default().to_vec();
                if body.member("control_type").and_then(Value::as_text) == Some("RESUME") {
                    record.set_member("suspended", Value::Bool(false));
                }
                controls.push(body);
                record.set_member("controls", Value::Array(controls.into()));
            }
            _ => return missing(),
        }
        (200, record.clone())
    }
}

impl Resident for Store {
    fn reply(&mut self, arrival: &HostArrival) -> HostReply {
        let (status, body) = with(arrival, |request| self.answer(request));
        HostReply::Message {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: json::compact(&body).into_bytes(),
        }
    }

    /// `wait_ms` holds a list of messages back until there is one (binding, section 3).
    fn patience(&self, arrival: &HostArrival) -> Duration {
        with(arrival, |request| {
            let lists = request.method == "GET" && request.path == ["messages"];
            let asked = request.query.get("wait_ms").filter(|_| lists && self.wanted(request).next().is_none());
            asked.and_then(|ms| ms.parse().ok()).map_or(Duration::ZERO, Duration::from_millis)
        })
    }
}

/// Takes a request apart.
fn with<T>(arrival: &HostArrival, answer: impl FnOnce(&Request<'_>) -> T) -> T {
    let (path, query) = arrival.hosted.path.split_once('?').unwrap_or((&arrival.hosted.path, ""));
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    let decoded = |segment: &str| -> String {
        let pair = format!("s={}", segment.replace('+', "%2B"));
        url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let segments: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(decoded).collect();
    let body = json::parse(&arrival.body).ok();
    let role = arrival.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-amp-role"));
    // Without the header the body says who writes.
    let named =
        |body: &Value| ["from", "actor"].iter().find_map(|name| body.member(name)?.as_text().map(str::to_owned));
    let role = role.map(|(_, value)| value.clone()).or_else(|| body.as_ref().and_then(named));
    answer(&Request {
        method: &arrival.hosted.method,
        path: segments.iter().map(String::as_str).collect(),
        query: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        role: role.unwrap_or_default(),
        body,
    })
}

impl Request<'_> {
    /// A list in an answer. `next` is where the next page begins, which is behind an empty one too.
    fn page<'v>(&self, name: &'static str, items: impl Iterator<Item = &'v Value>) -> Value {
        let limit = self.query.get("limit").and_then(|limit| limit.parse().ok()).filter(|limit| *limit > 0);
        let items: Vec<Value> = items.take(limit.unwrap_or(usize::MAX)).cloned().collect();
        let next = items.last().and_then(|last| last.member("seq")).cloned();
        let next = next.unwrap_or_else(|| Value::Integer(self.after()));
        Value::map([(name, Value::Array(items.into())), ("next", next)])
    }

    fn after(&self) -> i128 {
        self.query.get("after").and_then(|after| after.parse().ok()).unwrap_or(0)
    }

    /// Whether a stored message is one that the query asks for.
    fn asks(&self, record: &Value) -> bool {
        let message = record.member("message");
        let same = |name: &str| {
            let wanted = self.query.get(name);
            wanted.is_none_or(|wanted| {
                message.and_then(|message| message.member(name)).and_then(Value::as_text) == Some(wanted)
            })
        };
        ["task_id", "type", "from", "to"].into_iter().all(same) && self.is_after(record)
    }

    /// The same for a record that is not a message.
    fn asks_plain(&self, record: &Value) -> bool {
        let task = self.query.get("task_id");
        task.is_none_or(|task| record.member("task_id").and_then(Value::as_text) == Some(task)) && self.is_after(record)
    }

    fn is_after(&self, record: &Value) -> bool {
        record.member("seq").and_then(Value::as_integer).is_none_or(|seq| seq > self.after())
    }
}

/// The record of a task that was not known before.
fn fresh(task: &str, now: &Value) -> Value {
    Value::map([
        ("task_id", Value::text(task)),
        ("status", Value::text("planned")),
        ("risk_level", Value::Null),
        ("branch", Value::Null),
        ("repo", Value::Null),
        ("reject_count", Value::Integer(0)),
        ("lock_state", Value::text("active")),
        ("suspended", Value::Bool(false)),
        ("last_successful_msg_id", Value::Null),
        ("created_at", now.clone()),
        ("updated_at", now.clone()),
    ])
}

fn id_of(record: &Value) -> Option<&str> {
    record.member("message")?.member("msg_id")?.as_text()
}

fn missing() -> (u16, Value) {
    (404, Value::map([("accepted", Value::Bool(false))]))
}

fn refused(status: u16, place: &str) -> (u16, Value) {
    let error = Value::map([("path", Value::text(place))]);
    (status, Value::map([("accepted", Value::Bool(false)), ("errors", Value::array([error]))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(store: &mut Store) -> u16 {
        let body =
            Value::map([("task_id", Value::text("T-2026-001")), ("plan", Value::map([("branch", Value::text("x"))]))]);
        asked(store, "POST", "admin", Some(body)).0
    }

    fn asked(store: &mut Store, method: &str, role: &str, body: Option<Value>) -> (u16, Value) {
        store.answer(&Request { method, path: vec!["tasks"], query: BTreeMap::new(), role: role.to_owned(), body })
    }

    #[test]
    fn a_plan_is_taken_when_the_coordinator_has_looked_for_plans() {
        let mut store = Store::new(&["coordinator"]);
        assert_eq!(plan(&mut store), 501);
        assert_eq!(asked(&mut store, "GET", "admin", None).0, 200);
        assert_eq!(plan(&mut store), 501, "the Admin is proofmark");
        assert_eq!(asked(&mut store, "GET", "coordinator", None).0, 200);
        assert_eq!(plan(&mut store), 201);
        assert_eq!(plan(&mut Store::new(&["executor"])), 201, "no plan is handed to an Executor");
    }
}
