//! The endpoint to which a relay pushes messages (RFC 002, 6.3).
//!
//! The text leaves open what X-AMP-Signature covers (E75). Here it is an Ed25519 signature, in hexadecimal, by the key that the
//! relay signs messages with, over the timestamp, a full stop and the body; so neither can be replayed with another.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode};

use super::reply::{acceptable, answer, empty, receive};
use super::server::Server;
use crate::amp_core::node::channel::Carrier;
use crate::amp_core::node::from_hex;
use crate::amp_core::wrapper::Wrapper;
use crate::cbor::Cbor;
use crate::fault::planted;

/// The path of the endpoint.
pub(super) const WEBHOOK: &str = "/amp/v1/webhook";

/// How far the timestamp of a push may be from the clock of the node, in seconds.
const WINDOW: u64 = 300;

/// Takes a message from a trusted relay.
pub(super) async fn push(State(server): State<Server>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    if let Err(status) = acceptable(&server, &head.headers) {
        return empty(status);
    }
    let body = match receive(body, server.limit()).await {
        Ok(body) => body,
        Err(status) => return empty(status),
    };
    let fault = server.node.rules().fault;
    // 6.3: a push is checked before it is accepted.
    planted!(fault, "webhook-checks-afterwards", return empty(StatusCode::ACCEPTED));
    let Ok(wrapper) = Wrapper::Webhook.decode(&body, server.node.rules()) else {
        return empty(StatusCode::BAD_REQUEST);
    };
    let text = |name: &str| header(&head.headers, name).unwrap_or_default();
    let (relay, timestamp) = (text("x-amp-relay"), text("x-amp-timestamp"));
    // 6.3: header and wrapper name the same relay.
    if wrapper.get("relay").and_then(Cbor::as_text) != Some(relay) {
        return empty(StatusCode::BAD_REQUEST);
    }
    // 6.3: the timestamp is fresh.
    let now = server.node.now() / 1000;
    if !timestamp.parse().is_ok_and(|sent: u64| sent.abs_diff(now) <= WINDOW) {
        return empty(StatusCode::UNAUTHORIZED);
    }
    let signed = [timestamp.as_bytes(), b".", &body].concat();
    let signature = from_hex(text("x-amp-signature")).unwrap_or_default();
    let genuine = server.node.is_from_relay(relay, &signed, &signature).await;
    // 6.3: and the relay signed the push.
    if !genuine && !fault.is("webhook-signature-unchecked") {
        return empty(StatusCode::UNAUTHORIZED);
    }
    // 6.3: the wrapper holds a message, which is taken like any other.
    let message = wrapper.get("message").and_then(Cbor::as_bytes).unwrap_or_default().to_vec();
    let taken = server.node.take(message.into(), &server.node.exchange(Carrier::Http, None)).await;
    answer(&server, &taken)
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
