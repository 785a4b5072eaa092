//! This node as a client: HTTP/1.1 without TLS, since the reference serves tests and private networks.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The timeouts of connecting and of a whole exchange.
const CONNECT_DEADLINE: Duration = Duration::from_secs(2);
const EXCHANGE_DEADLINE: Duration = Duration::from_secs(10);

/// The media type of messages (binding.md, 2).
pub(in crate::agentic_mesh) const MEDIA_TYPE: &str = "application/amp+json";

/// Maximum size of an answer.
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;

fn bad(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn late<E>(_: E) -> io::Error {
    io::ErrorKind::TimedOut.into()
}

/// Posts a message; status and text of the answer.
///
/// # Errors
///
/// If the URL is not one of HTTP, or no answer arrives in time.
pub(in crate::agentic_mesh) async fn post(url: &str, message: String) -> io::Result<(u16, String)> {
    timeout(EXCHANGE_DEADLINE, exchange(url, message)).await.map_err(late)?
}

async fn exchange(url: &str, message: String) -> io::Result<(u16, String)> {
    let uri: Uri = url.parse().map_err(bad)?;
    let host = uri.host().filter(|_| uri.scheme_str() == Some("http")).ok_or_else(|| bad("not a URL of HTTP"))?;
    let authority = format!("{host}:{}", uri.port_u16().unwrap_or(80));
    let stream = timeout(CONNECT_DEADLINE, TcpStream::connect(&authority)).await.map_err(late)??;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(bad)?;
    let connection = tokio::spawn(connection);
    let request = Request::post(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header(header::HOST, authority)
        .header(header::CONTENT_TYPE, MEDIA_TYPE)
        .header(header::ACCEPT, "application/amp+json, application/json")
        .body(Body::from(message));
    let response = sender.send_request(request.map_err(bad)?).await.map_err(bad)?;
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(Body::new(response.into_body()), ANSWER_LIMIT).await.map_err(bad)?;
    connection.abort();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

/// Whether a URL leads to this machine: a message names no address (E04), so a next hop that a client names is taken only
/// within it.
#[must_use]
pub(in crate::agentic_mesh) fn is_local(url: &str) -> bool {
    let uri: Option<Uri> = url.parse().ok();
    uri.is_some_and(|uri| matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]")))
}
