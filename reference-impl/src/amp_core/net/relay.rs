//! The endpoints between relays (RFC 002, 6.5 and 6.6). The decisions are in the node; this is only the entry point.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;

use super::reply::{acceptable, cbor, empty, principal, receive, status_code};
use super::server::Server;

/// The path of 6.5.
pub(crate) const FORWARD: &str = "/amp/v1/relay/forward";

/// The path of 6.6.
pub(crate) const COMMIT: &str = "/amp/v1/relay/commit";

/// 6.5: takes custody of a message, or refuses it.
pub(super) async fn forward(State(server): State<Server>, request: Request) -> Response<Body> {
    wrapped(server, request, false).await
}

/// 6.6: learns what became of a message that was handed over.
pub(super) async fn commit(State(server): State<Server>, request: Request) -> Response<Body> {
    wrapped(server, request, true).await
}

async fn wrapped(server: Server, request: Request, is_commit: bool) -> Response<Body> {
    let (head, body) = request.into_parts();
    let principal = match principal(&server, &head.headers) {
        Ok(principal) => principal,
        Err(status) => return empty(status),
    };
    if let Err(status) = acceptable(&server, &head.headers) {
        return empty(status);
    }
    let body = match receive(body, server.limit()).await {
        Ok(body) => body,
        Err(status) => return empty(status),
    };
    let (status, response) = if is_commit {
        server.node.commit(&body, principal.as_deref()).await
    } else {
        server.node.forward(&body, principal.as_deref()).await
    };
    cbor(status_code(status), response)
}
