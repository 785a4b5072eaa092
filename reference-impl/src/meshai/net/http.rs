//! HTTP (8.2): one message in, its reply in the answer of the same exchange.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use tokio::time::{Duration, timeout};

use super::server::{Server, empty, json, presented};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::meshai::codes::Code;
use crate::meshai::node::{Answer, Arrival, REGISTRY};
use crate::meshai::outward::HOPS;
use crate::meshai::reply::Carrier;
use crate::server::http::percent_decode;

/// The timeout of a body.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// How many times the limit is read of a body that is too large, so that its sender sees the answer.
const PATIENCE: usize = 4;

/// 8.2: a message.
pub(super) async fn invoke(State(server): State<Server>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let fault = server.node.rules().fault;
    let declared = head.headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes().to_ascii_lowercase());
    // 8.2: application/json, with parameters or without.
    let fits = |declared: &[u8]| declared.starts_with(b"application/json") || declared.is_empty();
    planted!(fault, "charset-rejected", declared.as_deref().is_some_and(|declared| declared.contains(&b';')) => return empty(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    if declared.is_some_and(|declared| !fits(&declared)) {
        return empty(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let body = timeout(BODY_DEADLINE, axum::body::to_bytes(body, server.limit.saturating_mul(PATIENCE))).await;
    let body = match body {
        Err(_) => return empty(StatusCode::REQUEST_TIMEOUT),
        Ok(Ok(body)) if body.len() <= server.limit => body,
        Ok(_) => return empty(StatusCode::PAYLOAD_TOO_LARGE), // or the client has gone
    };
    exchange(&server, &head.headers, body).await
}

async fn exchange(server: &Server, headers: &HeaderMap, body: Bytes) -> Response<Body> {
    let hops =
        headers.get(HOPS).and_then(|value| value.to_str().ok()).and_then(|value| value.parse().ok()).unwrap_or(0);
    let arrival = Arrival { carrier: Carrier::Http, presented: presented(headers), hops, connection: server.number() };
    let answer = server.node.answer(&body, &arrival).await;
    written(server, answer)
}

/// The answer as it is sent.
fn written(server: &Server, answer: Answer) -> Response<Body> {
    let rules = server.node.rules();
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // 8.1: the reply comes in the same exchange.
    planted!(rules.fault, "http-acknowledges-only", return json(202, "{\"message_id\":\"1\"}".to_owned()));
    let Some(body) = answer.body else {
        let page = Response::new(Body::from("<html><body><h1>Not Found</h1></body></html>"));
        planted!(rules.fault, "bare-404-page", answer.refused == Some(Code::CapabilityNotFound) => return with_status(page, status));
        return empty(status);
    };
    // Other, 2.3: another text of the same message.
    let text = if rules.is_other() { format!("\n{}\n", body.write_otherwise()) } else { body.write() };
    // 2.3: one strict JSON text.
    let spoiled = || text.replacen('{', "{\"x\":[1,],", 1);
    planted!(rules.fault, "reply-with-trailing-comma", return json(answer.status, spoiled()));
    planted!(rules.fault, "reply-in-an-array", return json(answer.status, format!("[{text}]")));
    planted!(rules.fault, "reply-inner-message-only", inner in body.get("message") => return json(answer.status, inner.write()));
    // 6.1: an error is never a bare status.
    planted!(rules.fault, "errors-without-body", answer.refused.is_some() => return empty(status));
    planted!(rules.fault, "errors-with-status-200", answer.refused.is_some() => return json(200, text));
    let mut response = json(answer.status, text);
    // 8.2, strict: the content type of the reply.
    let mut declare = |kind| drop(response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind)));
    planted!(rules.fault, "reply-content-type-text", declare("text/plain"));
    if rules.is_other() {
        declare("application/json; charset=utf-8");
    }
    response
}

fn with_status(mut response: Response<Body>, status: StatusCode) -> Response<Body> {
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}

/// `get-executes`: A message in the parameter `body` of a GET, or in its body.
pub(super) async fn invoke_by_query(State(server): State<Server>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let query = head.uri.query().unwrap_or_default();
    let parameters = query.split('&').filter_map(|pair| pair.split_once('='));
    let text =
        parameters.filter(|(name, _)| ["body", "message", "envelope"].contains(name)).map(|(_, value)| value).next();
    let body = match text.and_then(|value| percent_decode(&value.replace('+', " "))) {
        Some(text) => Bytes::from(text),
        None => axum::body::to_bytes(body, server.limit).await.unwrap_or_default(),
    };
    exchange(&server, &head.headers, body).await
}

/// 10.1, E88: the state of the server. Needs no credentials.
pub(super) async fn health(State(server): State<Server>) -> Response<Body> {
    let rules = server.node.rules();
    // Other, E88: any 2xx.
    if rules.is_other() {
        return Response::new(Body::from("ok\n"));
    }
    planted!(rules.fault, "health-always-503", return empty(StatusCode::SERVICE_UNAVAILABLE));
    planted!(rules.fault, "health-as-text", return Response::new(Body::from("ok\n")));
    let agents = server.node.agents();
    let agent = agents.first().map_or(REGISTRY, |agent| agent.id.as_str());
    let capabilities: Vec<Value> = agents.iter().flat_map(crate::meshai::agents::Agent::ids).collect();
    let state = if rules.fault.is("health-status-up") { "UP" } else { "healthy" };
    let mut body = Object::from([
        ("status", state.into()),
        ("agent_id", agent.into()),
        ("protocol_version", "1.0".into()),
        ("capabilities", capabilities.into()),
    ]);
    // 5.1: nothing of what agents keep.
    planted!(rules.fault, "health-shows-contexts", body.set("contexts", server.node.contexts_in_full().await));
    json(200, body.write())
}

/// Takes the report of a delegation that this server has sent.
pub(super) async fn callback() -> Response<Body> {
    json(200, "{}".to_owned())
}

/// E40: an agent leaves the mesh.
pub(super) async fn deregister(
    State(server): State<Server>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    let status = server.node.deregister(&id, &bearer(&headers)).await;
    empty(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
}

/// E40: an agent renews its lease.
pub(super) async fn renew(State(server): State<Server>, Path(id): Path<String>, headers: HeaderMap) -> Response<Body> {
    let status = server.node.renew(&id, &bearer(&headers)).await;
    empty(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
}

/// The credentials of a request beside messages.
fn bearer(headers: &HeaderMap) -> String {
    let header = presented(headers).authorization.unwrap_or_default();
    let (scheme, value) = header.split_once(' ').unwrap_or((&header, ""));
    if scheme.eq_ignore_ascii_case("bearer") { value.trim().to_owned() } else { String::new() }
}
