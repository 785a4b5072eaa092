//! JSON over HTTP, one connection that is opened again when it breaks.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Uri, header};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::json::{self, Value};
use crate::task_amp::role::Role;

const CONNECT_DEADLINE: Duration = Duration::from_secs(2);
const EXCHANGE_DEADLINE: Duration = Duration::from_secs(10);

/// The largest answer that is read.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// A client of one store.
#[derive(Debug)]
pub(super) struct Client {
    authority: String,
    /// The path in front of all others.
    prefix: String,
    role: Role,
    token: Option<String>,
    connection: Mutex<Option<SendRequest<Body>>>,
}

fn bad(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn late<E>(_: E) -> io::Error {
    io::ErrorKind::TimedOut.into()
}

impl Client {
    /// A client of the store at `url`, which has the prefix, or else gets it.
    pub(super) fn new(url: &str, prefix: &str, role: Role, token: Option<String>) -> io::Result<Self> {
        let uri: Uri = url.parse().map_err(bad)?;
        let host = uri.host().filter(|_| uri.scheme_str() == Some("http")).ok_or_else(|| bad("an http URL"))?;
        let path = uri.path().trim_end_matches('/');
        let prefix = if path.ends_with(prefix) { path.to_owned() } else { format!("{path}{prefix}") };
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        Ok(Self { authority, prefix, role, token, connection: Mutex::new(None) })
    }

    pub(super) async fn get(&self, path: &str) -> io::Result<(u16, Value)> {
        self.exchange("GET", path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: String) -> io::Result<(u16, Value)> {
        self.exchange("POST", path, Some(body)).await
    }

    async fn exchange(&self, method: &str, path: &str, body: Option<String>) -> io::Result<(u16, Value)> {
        let mut connection = self.connection.lock().await;
        let reused = connection.is_some();
        let first = self.once(&mut connection, method, path, body.clone()).await;
        if first.is_ok() || !reused {
            return first;
        }
        // The other side may close a connection between two requests. Every request may be repeated: ids are unique.
        self.once(&mut connection, method, path, body).await
    }

    async fn once(
        &self,
        connection: &mut Option<SendRequest<Body>>,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> io::Result<(u16, Value)> {
        let mut sender = match connection.take() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(header::HOST, &self.authority)
            .header("x-amp-role", self.role.name());
        let request = match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        };
        let request = match body {
            Some(body) => request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body)),
            None => request.body(Body::empty()),
        };
        let work = async {
            sender.ready().await.map_err(bad)?;
            let response = sender.send_request(request.map_err(bad)?).await.map_err(bad)?;
            let status = response.status().as_u16();
            let body = axum::body::to_bytes(Body::new(response.into_body()), ANSWER_LIMIT).await.map_err(bad)?;
            Ok::<_, io::Error>((status, json::read(&body).unwrap_or(Value::Null)))
        };
        let answer = timeout(EXCHANGE_DEADLINE, work).await.map_err(late)??;
        *connection = Some(sender);
        Ok(answer)
    }

    async fn connect(&self) -> io::Result<SendRequest<Body>> {
        let stream = timeout(CONNECT_DEADLINE, TcpStream::connect(&self.authority)).await.map_err(late)??;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(bad)?;
        tokio::spawn(async move {
            connection.await.ok(); // the next request opens another one
        });
        Ok(sender)
    }
}
