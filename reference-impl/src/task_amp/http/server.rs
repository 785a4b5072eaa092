//! Listening, and limits.

use std::fmt::Debug;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, header};
use axum::serve::Listener;
use tower_http::catch_panic::CatchPanicLayer;

use super::reply::{self, Refusal};
use super::routes;
use super::service::{Call, Server};
use crate::task_amp::schema::Code;

/// The largest body (binding.md, sections 3 and 13).
const BODY_LIMIT: usize = 1024 * 1024;

/// How much of a body that is too large is still read, so that its sender receives the answer.
const SLACK: usize = 3 * 1024 * 1024;

const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// Serves until the server is stopped and the exchanges are done.
pub(crate) async fn serve<L: Listener<Addr: Debug>>(server: Server, listener: L) -> std::io::Result<()> {
    let panicked = |_| reply::refused(&Refusal::new(500, Code::InvalidJson, "the server failed"));
    let waiting = server.clone();
    let router = Router::new().fallback(exchange).with_state(server).layer(CatchPanicLayer::custom(panicked));
    axum::serve(listener, router).with_graceful_shutdown(async move { waiting.stopped().await }).await
}

async fn exchange(State(server): State<Server>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let acting = match server.acting(&head.headers) {
        Ok(acting) => acting,
        Err(refusal) => return reply::refused(&refusal),
    };
    let body = tokio::time::timeout(BODY_DEADLINE, axum::body::to_bytes(body, BODY_LIMIT + SLACK)).await;
    let Ok(body) = body else {
        return reply::refused(&Refusal::new(408, Code::InvalidJson, "the body did not arrive"));
    };
    let Some(path) = server.below(head.uri.path()) else {
        return reply::refused(&Refusal::new(404, Code::UnresolvedRef, "no such path"));
    };
    let media_type = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let call = Call {
        method: if head.method == "HEAD" { "GET".to_owned() } else { head.method.to_string() },
        path,
        query: head.uri.query().unwrap_or_default().to_owned(),
        acting,
        json: media_type.eq_ignore_ascii_case("application/json"),
        too_large: body.as_ref().map_or(true, |body| body.len() > BODY_LIMIT),
        body: body.unwrap_or_default(),
    };
    match routes::answer(&server, call).await {
        Ok(response) => response,
        Err(refusal) => reply::refused(&refusal),
    }
}
