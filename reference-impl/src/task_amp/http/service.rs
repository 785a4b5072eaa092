//! What a request meets: the bus, and who acts.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use tokio::sync::watch;

use super::reply::Refusal;
use crate::server::http::percent_decode;
use crate::task_amp::bus::Bus;
use crate::task_amp::role::Role;
use crate::task_amp::schema::Code;

/// A bus behind HTTP; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) bus: Bus,
    /// The path in front of all others, such as `/api/amp/v1`.
    pub(crate) prefix: Arc<str>,
    /// Whether the test hooks are there.
    pub(crate) hooks: bool,
    /// Tokens and their roles; empty: the header says who acts.
    pub(crate) tokens: Arc<[(String, Role)]>,
    /// True when the server is to end.
    pub(crate) stop: watch::Sender<bool>,
}

/// A request whose body arrived.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: String,
    /// Below the prefix, split at slashes.
    pub(super) path: Vec<String>,
    pub(super) query: String,
    /// Who acts; `None` if the request does not say, or says something unknown.
    pub(super) acting: Option<Role>,
    /// Whether the media type is JSON.
    pub(super) json: bool,
    pub(super) too_large: bool,
    pub(super) body: Bytes,
}

impl Server {
    /// Returns when the server is to end.
    pub(super) async fn stopped(&self) {
        self.stop.subscribe().wait_for(|stop| *stop).await.ok(); // also if the sender was dropped
    }

    /// The acting role: of the token if tokens are configured, else of the header (E66).
    pub(super) fn acting(&self, headers: &HeaderMap) -> Result<Option<Role>, Refusal> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let named = text("x-amp-role").and_then(|name| Role::parse(name.trim()));
        if self.tokens.is_empty() {
            return Ok(named);
        }
        let header = text(header::AUTHORIZATION.as_str()).and_then(|header| header.split_once(' '));
        let token = header.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        let owner = self.tokens.iter().find(|(known, _)| Some(known.as_str()) == token).map(|(_, role)| *role);
        let owner = owner.ok_or_else(|| Refusal::new(401, Code::WriterMismatch, "no known token"))?;
        if named.is_some_and(|named| named != owner) {
            return Err(Refusal::new(403, Code::WriterMismatch, "the token belongs to another role"));
        }
        Ok(Some(owner))
    }

    /// The path below the prefix; test hooks are found at the root, too (E86).
    pub(super) fn below(&self, path: &str) -> Option<Vec<String>> {
        let root = path.strip_prefix("/_test").map(|_| path);
        let path = path.strip_prefix(&*self.prefix).filter(|rest| rest.starts_with('/')).or(root)?;
        path.split('/').skip(1).map(percent_decode).collect()
    }
}
