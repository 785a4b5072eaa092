//! The operations of binding.md, sections 3 and 7.

use axum::body::Body as HttpBody;
use axum::http::Response;

use super::events;
use super::query::Query;
use super::reply::{self, Refusal};
use super::service::{Call, Server};
use crate::json::{self, Object, Value};
use crate::task_amp::bus::{self, Answer, Body, Bus, Page};
use crate::task_amp::ledger::HEARTBEAT_SEC;
use crate::task_amp::log::{Filter, What};
use crate::task_amp::role::Role;
use crate::task_amp::schema::{Code, Problem, VERSION};
use crate::task_amp::time;

type Replied = Result<Response<HttpBody>, Refusal>;

/// Answers a request.
pub(super) async fn answer(server: &Server, call: Call) -> Replied {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let bus = &server.bus;
    match (call.method.as_str(), &path[..]) {
        ("POST", ["messages"]) => submit(bus, &call).await,
        ("GET", ["messages"]) => list(bus, What::Message, "messages", &call, Filter::default()).await,
        ("GET", ["messages", id]) => match bus.message((*id).to_owned()).await? {
            Some(record) => Ok(reply::json(200, &record)),
            None => Err(Refusal::new(404, Code::UnresolvedRef, "no such message")),
        },
        ("POST", ["messages", id, "acks"]) => {
            let (status, body) = bus.ack(call.acting, (*id).to_owned(), object(&call)?).await?;
            Ok(reply::json(status, &body))
        }
        ("GET", ["messages", id, "acks"]) => acks_of(bus, id, &call).await,
        ("GET", ["acks"]) => list(bus, What::Ack, "acks", &call, Filter::default()).await,
        ("GET", ["errors"]) => list(bus, What::Error, "errors", &call, Filter::default()).await,
        ("POST", ["errors"]) => {
            let (status, body) = bus.log_error(call.acting, object(&call)?).await?;
            Ok(reply::json(status, &body))
        }
        ("GET", ["audit"]) => list(bus, What::Audit, "events", &call, Filter::default()).await,
        ("GET", ["events"]) => {
            let filter = Query::read(&call.query)?.filter;
            let after = if filter.after == 0 { bus.last() } else { filter.after };
            Ok(events::stream(server, Filter { after, ..filter }))
        }
        ("GET", ["tasks"]) => {
            let tasks = bus.tasks(None).into_iter().map(Value::Object).collect::<Vec<_>>();
            Ok(reply::json(200, &Object::from([("tasks", tasks.into())])))
        }
        ("GET", ["tasks", id]) => match bus.tasks(Some(id)).pop() {
            Some(task) => Ok(reply::json(200, &task)),
            None => Err(Refusal::new(404, Code::UnknownTask, "no such task")),
        },
        ("POST", ["tasks"]) => plan(bus, &call).await,
        ("POST", ["tasks", id, what @ ("approve" | "controls" | "ci")]) => control(bus, &call, id, what).await,
        ("GET", ["meta"]) => Ok(reply::json(200, &meta(server))),
        (_, ["_test", rest @ ..]) if server.hooks => hook(bus, &call, rest).await,
        _ => Err(no_route(&path)),
    }
}

fn no_route(path: &[&str]) -> Refusal {
    let known = matches!(
        path,
        ["messages" | "acks" | "errors" | "audit" | "events" | "tasks" | "meta"]
            | ["messages" | "tasks", _]
            | ["messages", _, "acks"]
            | ["tasks", _, "approve" | "controls" | "ci"]
    );
    match known {
        true => Refusal::new(405, Code::RouteNotAllowed, "not possible here"),
        false => Refusal::new(404, Code::UnresolvedRef, "no such path"),
    }
}

/// A message (section 3, `submit`).
async fn submit(bus: &Bus, call: &Call) -> Replied {
    let rules = bus.rules();
    let body = match call {
        Call { json: false, .. } => Body::unread(415, Code::InvalidJson, &call.body, "the media type is not JSON"),
        Call { too_large: true, .. } => Body::unread(413, Code::TooLarge, &call.body, "larger than 1 MiB"),
        _ => Body::read(rules, &call.body),
    };
    Ok(match bus.submit(call.acting, body).await? {
        Answer::Refused { status, problems } => {
            let errors: Vec<Value> = problems.iter().map(Problem::to_json).collect();
            // Other, E23: in the words of the published implementation.
            if rules.is_other() {
                let detail = problems.first().map_or("", |problem| &problem.message).to_owned();
                return Ok(reply::json(status, &Object::from([("detail", detail.into())])));
            }
            reply::json(status, &Object::from([("accepted", false.into()), ("errors", errors.into())]))
        }
        Answer::Accepted { id, seq, at, duplicate } => {
            let mut body = Object::from([
                ("accepted", true.into()),
                ("msg_id", id.into()),
                ("seq", seq.into()),
                ("stored_at", time::format(rules, at).into()),
            ]);
            if duplicate {
                body.set("duplicate", true);
            }
            reply::json(if duplicate { 200 } else { 202 }, &body)
        }
    })
}

async fn list(bus: &Bus, what: What, name: &str, call: &Call, more: Filter) -> Replied {
    let query = Query::read(&call.query)?;
    let filter = Filter { message: more.message.or(query.filter.message.clone()), ..query.filter };
    let page =
        if query.wait.is_zero() { bus.list(what, filter).await? } else { bus.wait(what, filter, query.wait).await? };
    let Page { items, next } = page;
    Ok(reply::json(200, &Object::from([(name, items.into()), ("next", next.into())])))
}

/// The ACKs of one message.
async fn acks_of(bus: &Bus, id: &str, call: &Call) -> Replied {
    let filter = Filter { message: Some(id.to_owned()), limit: 500, ..Filter::default() };
    let some = bus.list(What::Ack, filter.clone()).await?;
    if some.items.is_empty() && bus.message(id.to_owned()).await?.is_none() {
        return Err(Refusal::new(404, Code::UnresolvedRef, "no such message"));
    }
    list(bus, What::Ack, "acks", call, filter).await
}

/// The JSON object of a call.
fn object(call: &Call) -> Result<Object, Refusal> {
    if !call.json {
        return Err(Refusal::new(415, Code::InvalidJson, "the media type is not JSON"));
    }
    if call.too_large {
        return Err(Refusal::new(413, Code::TooLarge, "larger than 1 MiB"));
    }
    match json::read_to_depth(&call.body, 64) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::new(400, Code::NotAnObject, "a JSON object")),
        Err(error) => Err(Refusal::new(400, Code::InvalidJson, &error.to_string())),
    }
}

async fn plan(bus: &Bus, call: &Call) -> Replied {
    let mut body = object(call)?;
    let task = body.text("task_id").unwrap_or_default().to_owned();
    let Some(Value::Object(plan)) = body.remove("plan") else {
        return Err(Refusal::new(422, Code::MissingField, "a plan is an object"));
    };
    let (status, body) = bus.call(call.acting, bus::Call { what: What::Plan, task, body: plan }).await?;
    Ok(reply::json(status, &body))
}

async fn control(bus: &Bus, call: &Call, task: &str, what: &str) -> Replied {
    let body = if what == "approve" && call.body.is_empty() { Object::new() } else { object(call)? };
    let what = match what {
        "approve" => What::Approval,
        "controls" => What::Control,
        _ => What::Ci, // the third one
    };
    let (status, body) = bus.call(call.acting, bus::Call { what, task: task.to_owned(), body }).await?;
    Ok(reply::json(status, &body))
}

fn names(roles: &[Role]) -> Value {
    Value::List(roles.iter().map(|role| role.name().into()).collect())
}

fn meta(server: &Server) -> Object {
    let heartbeat = server.bus.options.heartbeat_sec.unwrap_or(HEARTBEAT_SEC);
    Object::from([
        ("protocol", VERSION.into()),
        ("roles", names(&server.bus.active())),
        ("test_hooks", server.hooks.into()),
        ("heartbeat_timeout_sec", heartbeat.into()),
    ])
}

/// The test hooks (section 7). Clock and roles can be set for one task, so that tests do not disturb each other.
async fn hook(bus: &Bus, call: &Call, path: &[&str]) -> Replied {
    match (call.method.as_str(), path) {
        ("POST", ["reset"]) => {
            bus.reset().await?;
            Ok(reply::json(200, &Object::new()))
        }
        ("GET", ["clock"]) => Ok(reply::json(200, &shown(bus, bus.now(None)))),
        ("POST", ["clock"]) => {
            let body = object(call)?;
            let task = body.text("task_id");
            let advance = body.get("advance_ms").and_then(Value::as_number).and_then(json::Number::as_integer);
            let set = body.text("set").and_then(|text| time::parse(bus.rules(), text)).map(|to| to - bus.now(task));
            let by = advance.or(set).ok_or_else(|| Refusal::new(422, Code::BadFormat, "advance_ms or set"))?;
            let now = bus.advance(task, by).await?;
            Ok(reply::json(200, &shown(bus, now)))
        }
        ("GET", ["roles"]) => Ok(reply::json(200, &Object::from([("roles", names(&bus.active()))]))),
        ("POST", ["roles"]) => {
            let body = object(call)?;
            let given = body.get("roles").and_then(Value::as_list).unwrap_or_default();
            let roles: Option<Vec<Role>> = given.iter().map(|name| name.as_text().and_then(Role::parse)).collect();
            let roles = roles.ok_or_else(|| Refusal::new(422, Code::BadEnum, "names of roles"))?;
            let answer = Object::from([("roles", names(&roles))]);
            bus.activate(body.text("task_id"), roles);
            Ok(reply::json(200, &answer))
        }
        _ => Err(Refusal::new(404, Code::UnresolvedRef, "no such hook")),
    }
}

fn shown(bus: &Bus, now: i64) -> Object {
    Object::from([("now", time::format(bus.rules(), now).into()), ("now_ms", now.into())])
}
