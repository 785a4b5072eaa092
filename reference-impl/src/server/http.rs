//! HTTP by axum: receives whole requests within limits, passes them to a [`Handler`], and sends its replies.
//!
//! Bodies arrive as bytes; no framework reads them. Every error is answered with JSON and the server keeps running.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::serve::{Listener, ListenerExt};
use bytes::Bytes;
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;

/// Maximum size of a body, unless the handler overrides it for a path.
pub(crate) const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// How many times the limit is read of a body that is too large, so that a client that does not read the answer
/// before it has sent everything gets to see it.
const PATIENCE: usize = 4;

const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// A request as a protocol sees it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Upper case; HEAD is mapped to GET.
    pub(crate) method: String,
    /// As sent, still percent-encoded, without the query.
    pub(crate) path: String,
    /// As sent, without the question mark.
    pub(crate) query: String,
    /// The Authorization header.
    pub(crate) authorization: Option<String>,
    /// All headers.
    pub(crate) headers: HeaderMap,
    /// When its head had arrived.
    pub(crate) began: Instant,
    pub(crate) body: Bytes,
}

/// The reply.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) media_type: &'static str,
    pub(crate) body: String,
    /// The methods for the Allow header of a 405.
    pub(crate) allow: Option<String>,
    /// Further headers.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Reply {
    pub(crate) fn json(status: u16, body: String) -> Self {
        Self { status, media_type: "application/json", body, allow: None, headers: Vec::new() }
    }

    /// The reply with one more header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// An error of the transport, in the shape of every other error.
    fn error(status: StatusCode, code: &str, message: &str) -> Self {
        let body = format!("{{\"error\":{{\"code\":\"{code}\",\"message\":\"{message}\"}}}}");
        Self::json(status.as_u16(), body)
    }
}

/// A protocol that answers requests.
pub(crate) trait Handler: Clone + Send + Sync + 'static {
    fn answer(&self, request: Request) -> impl Future<Output = Reply> + Send;

    /// The largest body for `path`.
    fn body_limit(&self, path: &str) -> usize {
        let _ = path;
        BODY_LIMIT
    }
}

/// Serves `handler` on `listener` until `stop` resolves and the connections are done.
pub(crate) async fn serve<L: Listener<Addr: Debug>, H: Handler>(
    listener: L,
    handler: H,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let panicked = |_| response(Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "the server failed"));
    let router =
        Router::new().fallback(exchange::<H>).with_state(Arc::new(handler)).layer(CatchPanicLayer::custom(panicked));
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}

/// The same listener, with TCP_NODELAY on its connections.
pub(crate) fn without_delay(listener: TcpListener) -> impl Listener<Addr: Debug> {
    listener.tap_io(|stream| {
        stream.set_nodelay(true).ok(); // only affects performance
    })
}

async fn exchange<H: Handler>(State(handler): State<Arc<H>>, request: HttpRequest) -> Response<Body> {
    let reply = match receive(request, handler.as_ref()).await {
        Ok(request) => handler.answer(request).await,
        Err(reply) => reply,
    };
    response(reply)
}

async fn receive<H: Handler>(request: HttpRequest, handler: &H) -> Result<Request, Reply> {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let limit = handler.body_limit(head.uri.path());
    let too_large = || {
        let message = format!("the body exceeds {} MiB", limit / (1024 * 1024));
        Reply::error(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", &message)
    };
    let body = axum::body::to_bytes(body, limit.max(PATIENCE * BODY_LIMIT));
    let body = tokio::time::timeout(BODY_DEADLINE, body).await;
    let late = |_| Reply::error(StatusCode::REQUEST_TIMEOUT, "request_timeout", "the body did not arrive");
    let body = body.map_err(late)?.map_err(|_| too_large())?;
    if body.len() > limit {
        return Err(too_large());
    }
    // RFC 9112 section 3.2: a request without Host is refused; hyper lets it through.
    if !head.headers.contains_key(header::HOST) && head.uri.authority().is_none() {
        return Err(Reply::error(StatusCode::BAD_REQUEST, "missing_host", "the request has no Host header"));
    }
    let authorization = head.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    Ok(Request {
        method: if head.method == "HEAD" { "GET".to_owned() } else { head.method.to_string() },
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        authorization: authorization.map(str::to_owned),
        headers: head.headers,
        began,
        body,
    })
}

fn response(reply: Reply) -> Response<Body> {
    let empty = reply.body.is_empty();
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if !(reply.status == 200 && empty) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.media_type));
    }
    if let Some(allow) = reply.allow.and_then(|allow| HeaderValue::from_str(&allow).ok()) {
        headers.insert(header::ALLOW, allow);
    }
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

/// Decodes percent-encoded UTF-8; `None` if it is invalid.
pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let value = digit(bytes.next())? * 16 + digit(bytes.next())?;
            out.push(u8::try_from(value).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[derive(Clone)]
    struct Fragile;

    impl Handler for Fragile {
        async fn answer(&self, request: Request) -> Reply {
            assert_ne!(request.path, "/break", "planted");
            Reply::json(200, "{}".to_owned())
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_500_in_json_and_the_connection_lives_on() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(serve(listener, Fragile, std::future::pending()));
        let mut stream = tokio::net::TcpStream::connect(address).await.expect("the server listens");
        for (path, start) in [("/break", "HTTP/1.1 500"), ("/", "HTTP/1.1 200")] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
            stream.write_all(request.as_bytes()).await.expect("written");
            let mut answer = Vec::new();
            while !answer.ends_with(b"}") {
                assert_ne!(stream.read_buf(&mut answer).await.expect("read"), 0);
            }
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(answer.starts_with(start) && answer.contains("content-type: application/json"), "{answer}");
        }
    }

    #[test]
    fn percent_encoding_is_decoded_once_and_strictly() {
        assert_eq!(percent_decode("a%2Fb%20%F0%9F%9A%80").as_deref(), Some("a/b 🚀"));
        assert_eq!(percent_decode("%2520").as_deref(), Some("%20"));
        for bad in ["%", "%4", "%zz", "%ff", "%+1"] {
            assert_eq!(percent_decode(bad), None, "{bad:?}");
        }
    }
}
