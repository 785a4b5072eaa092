//! What the transports of one server share, and the forms of their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use tokio::sync::watch;

use crate::meshai::auth::Presented;
use crate::meshai::node::Node;

/// What the transports of one server share.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) node: Node,
    /// Whether the control endpoint is there.
    pub(crate) control: bool,
    /// The largest message, in bytes.
    pub(crate) limit: usize,
    /// True when the server is to end.
    pub(crate) stop: watch::Sender<bool>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn new(node: Node, control: bool, limit: usize) -> Self {
        Self { node, control, limit, stop: watch::Sender::new(false), connections: Arc::default() }
    }

    /// Returns when the server is to end.
    pub(super) async fn stopped(&self) {
        self.stop.subscribe().wait_for(|stop| *stop).await.ok(); // also if the sender was dropped
    }

    /// A number for a connection, or for a request that comes alone.
    pub(super) fn number(&self) -> usize {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }
}

/// The credentials in the headers of a request.
pub(super) fn presented(headers: &HeaderMap) -> Presented {
    let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Presented { authorization: text("authorization"), api_key: text("x-api-key") }
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

pub(super) fn json(status: u16, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
