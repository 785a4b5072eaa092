//! Code shared by the HTTP endpoints: authentication, requests and replies.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;

use super::server::{MESSAGE_DEADLINE, MESSAGE_LIMIT, SLACK, Server};
use crate::amp_core::codes::Code;
use crate::amp_core::node::Taken;
use crate::fault::planted;

/// The media type of messages and wrappers.
const CBOR: &str = "application/cbor";

/// The peer as authenticated by the transport (RFC 002, 7.1).
///
/// # Errors
///
/// 401 if tokens are configured and the request has none of them.
pub(super) fn principal(server: &Server, headers: &HeaderMap) -> Result<Option<String>, StatusCode> {
    if server.tokens.is_empty() {
        let named = headers.get("x-principal-did").and_then(|value| value.to_str().ok());
        return Ok(named.map(str::to_owned));
    }
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|header| header.split_once(' '));
    let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    let owner = server.owner(token.unwrap_or_default().as_bytes());
    owner.map(|owner| Some(owner.to_owned())).ok_or(StatusCode::UNAUTHORIZED)
}

/// 6.1: the transport version and the media type of a request.
pub(super) fn acceptable(server: &Server, headers: &HeaderMap) -> Result<(), StatusCode> {
    let version = headers.get("x-amp-transport-version").map(|value| value.as_bytes().trim_ascii());
    if version.is_some_and(|version| version != b"1") {
        return Err(StatusCode::BAD_REQUEST);
    }
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.map(|value| value.split(';').next().unwrap_or(value).trim());
    // Other, E78: the media type is ignored, the bytes decide.
    if server.node.rules().is_other() || media_type.is_some_and(|name| name.eq_ignore_ascii_case(CBOR)) {
        return Ok(());
    }
    Err(StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

/// The body of a request, within bounds of size and time.
pub(super) async fn receive(body: Body, limit: usize) -> Result<Bytes, StatusCode> {
    let body = tokio::time::timeout(MESSAGE_DEADLINE, axum::body::to_bytes(body, MESSAGE_LIMIT + SLACK)).await;
    let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)?.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    if body.len() > limit { Err(StatusCode::PAYLOAD_TOO_LARGE) } else { Ok(body) }
}

/// The answer to a message that was posted (binding.md, 4).
pub(super) fn answer(server: &Server, taken: &Taken) -> Response<Body> {
    let rules = server.node.rules();
    // 6.1: the envelope is checked before the message is accepted.
    planted!(rules.fault, "http-bare-202-for-bad", taken.refusal.is_some() => return empty(StatusCode::ACCEPTED));
    // RFC 002, 6.4: a mistake of the sender is not a failure of the server.
    let failed = || empty(StatusCode::INTERNAL_SERVER_ERROR);
    planted!(rules.fault, "http-500-for-bad", taken.refusal.is_some() => return failed());
    // 1.5, 2.4: errors are messages like any other.
    planted!(rules.fault, "http-reencodes-json-error", code in taken.refusal => return json_error(taken.status, code));
    let body = match &taken.replies[..] {
        [] => return empty(status_code(taken.status)),
        [reply] => reply.clone(),
        // Other, E70: the replies one after the other.
        replies if rules.is_other() => Bytes::from(replies.concat()),
        replies => server.node.batch(replies),
    };
    cbor(status_code(taken.status), body)
}

/// An error as JSON, not as a message.
fn json_error(status: u16, code: Code) -> Response<Body> {
    let body = format!("{{\"error\":{{\"code\":{},\"message\":\"{}\"}}}}", code.number(), code.name());
    text(status_code(status), "application/json", &body)
}

pub(super) fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

pub(super) fn cbor(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CBOR));
    response
}

pub(super) fn text(status: StatusCode, media_type: &'static str, body: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
