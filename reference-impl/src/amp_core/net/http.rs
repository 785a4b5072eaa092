//! HTTP (RFC 002, 6): one message in, one answer out.

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use axum::serve::Listener;
use std::collections::HashMap;
use std::fmt::Debug;
use tower_http::catch_panic::CatchPanicLayer;

use super::reply::{acceptable, answer, cbor, empty, principal, receive, text};
use super::server::Server;
use super::{control, relay, webhook, ws};
use crate::amp_core::node::channel::Carrier;

/// The default and maximum number of messages of a page (RFC 002, 6.2).
const PAGE: usize = 50;
const PAGE_LIMIT: usize = 100;

/// Serves until the server is stopped and the exchanges are done.
pub(super) async fn serve<L: Listener<Addr: Debug>>(server: Server, listener: L) -> std::io::Result<()> {
    let mut router = Router::new()
        .route("/amp/v1/messages", post(submit).get(poll))
        .route("/amp/v1/ws", get(ws::upgrade))
        .route("/amp/v1/health", get(async || text(StatusCode::OK, "application/json", "{\"status\":\"ok\"}")))
        .route("/.well-known/did.json", get(document));
    if server.node.relays() {
        router = router
            .route("/amp/v1/relay/forward", post(relay::forward))
            .route("/amp/v1/relay/commit", post(relay::commit));
    }
    if server.webhook {
        router = router.route(webhook::WEBHOOK, post(webhook::push));
    }
    // Never by default: any client of it can send in the name of this node.
    if server.control {
        router = router.route("/amp/v1/control", post(control::control));
    }
    let panicked = |_| empty(StatusCode::INTERNAL_SERVER_ERROR);
    let waiting = server.clone();
    let router = router
        .fallback(async || empty(StatusCode::NOT_FOUND))
        .with_state(server)
        .layer(CatchPanicLayer::custom(panicked));
    axum::serve(listener, router).with_graceful_shutdown(async move { waiting.stopped().await }).await
}

/// 6.1: POST of one message.
async fn submit(State(server): State<Server>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let principal = match principal(&server, &head.headers) {
        Ok(principal) => principal.filter(|_| !server.tokens.is_empty()),
        Err(status) => return empty(status),
    };
    if let Err(status) = acceptable(&server, &head.headers) {
        return empty(status);
    }
    let body = match receive(body, server.limit()).await {
        Ok(body) => body,
        Err(status) => return empty(status),
    };
    let channel = server.node.exchange(Carrier::Http, principal);
    let taken = server.node.take(body, &channel).await;
    answer(&server, &taken)
}

/// 6.2: GET of what waits for the principal.
async fn poll(
    State(server): State<Server>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Response<Body> {
    // E74: the consumer is the owner of the token, or without tokens the party in the header.
    let consumer = match principal(&server, &headers) {
        Ok(Some(consumer)) => consumer,
        Ok(None) => return empty(StatusCode::UNAUTHORIZED),
        Err(status) => return empty(status),
    };
    let after = match query.get("cursor").map(String::as_str) {
        None | Some("") => Some(0),
        Some(cursor) => cursor.strip_prefix("after-").and_then(|place| place.parse().ok()).filter(|place| *place >= 0),
    };
    let limit = match query.get("limit") {
        None => Some(PAGE),
        Some(limit) => limit.parse().ok().filter(|limit| *limit > 0).map(|limit: usize| limit.min(PAGE_LIMIT)),
    };
    let (Some(after), Some(limit)) = (after, limit) else { return empty(StatusCode::BAD_REQUEST) };
    match server.node.poll(&consumer, after, limit).await {
        Ok(page) => cbor(StatusCode::OK, page),
        Err(_) => empty(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// The DID document of the node.
async fn document(State(server): State<Server>) -> Response<Body> {
    text(StatusCode::OK, "application/json", &server.node.document())
}
