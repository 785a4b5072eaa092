//! This node as a client: HTTP by hyper, WebSocket by tungstenite, TCP by its own frames. Without TLS, since the
//! reference serves tests and private networks (RFC 002, 4.1).

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, Uri, header};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::server::{IDLE_DEADLINE, MESSAGE_LIMIT};
use super::tcp::{End, VERSION, halves};
use crate::amp_core::frame::kind;
use crate::amp_core::node::channel::BACKLOG;
use crate::amp_core::rules::Rules;
use crate::cbor::{self, Cbor, Limits};

/// The timeouts of connecting and of a whole exchange.
const CONNECT_DEADLINE: Duration = Duration::from_secs(2);
const EXCHANGE_DEADLINE: Duration = Duration::from_secs(10);

/// The two ends of an open connection: incoming messages, and the queue of outgoing ones.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) incoming: mpsc::Receiver<Bytes>,
    pub(super) outgoing: mpsc::Sender<Bytes>,
}

fn bad(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn late<E>(_: E) -> io::Error {
    io::ErrorKind::TimedOut.into()
}

/// Host and port of a URL of the given scheme.
fn authority(uri: &Uri, default_port: Option<u16>) -> io::Result<String> {
    let host = uri.host().ok_or_else(|| bad("the URL has no host"))?;
    let port = uri.port_u16().or(default_port).ok_or_else(|| bad("the URL has no port"))?;
    Ok(format!("{host}:{port}"))
}

async fn connect(uri: &Uri, default_port: Option<u16>) -> io::Result<TcpStream> {
    let stream = timeout(CONNECT_DEADLINE, TcpStream::connect(authority(uri, default_port)?)).await.map_err(late)??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// One HTTP exchange; status and body of the answer.
async fn exchange(request: Request<Body>) -> io::Result<(StatusCode, Bytes)> {
    let work = async {
        let stream = connect(request.uri(), Some(80)).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(bad)?;
        let connection = tokio::spawn(connection);
        let (mut head, body) = request.into_parts();
        let host = authority(&head.uri, Some(80))?;
        head.headers.insert(header::HOST, host.parse().map_err(bad)?);
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).parse();
        head.uri = path.map_err(bad)?;
        let response = sender.send_request(Request::from_parts(head, body)).await.map_err(bad)?;
        let status = response.status();
        let body = axum::body::to_bytes(Body::new(response.into_body()), MESSAGE_LIMIT).await.map_err(bad)?;
        connection.abort();
        Ok((status, body))
    };
    timeout(EXCHANGE_DEADLINE, work).await.map_err(late)?
}

/// Posts a message, to the path of RFC 002, 6.1 if the URL has none.
pub(super) async fn post(url: &str, path: &str, message: Bytes, principal: &str) -> io::Result<(StatusCode, Bytes)> {
    let uri: Uri = url.parse().map_err(bad)?;
    if uri.scheme_str() != Some("http") {
        return Err(bad("only http is supported"));
    }
    let uri = if uri.path() == "/" { format!("{}{path}", url.trim_end_matches('/')) } else { url.to_owned() };
    let request = Request::post(uri)
        .header(header::CONTENT_TYPE, "application/cbor")
        .header(header::ACCEPT, "application/cbor")
        .header("x-amp-transport-version", "1")
        .header("x-principal-did", principal)
        .body(Body::from(message));
    exchange(request.map_err(bad)?).await
}

/// Fetches the messages that a relay stores for `principal`; the wrapper of RFC 002, 6.2.
pub(super) async fn poll(url: &str, principal: &str) -> io::Result<Bytes> {
    let request = Request::get(url)
        .header(header::ACCEPT, "application/cbor")
        .header("x-amp-transport-version", "1")
        .header("x-principal-did", principal)
        .body(Body::empty());
    let (status, body) = exchange(request.map_err(bad)?).await?;
    if status == StatusCode::OK { Ok(body) } else { Err(bad("the answer is not 200")) }
}

/// Gets a JSON text, only from a host of this machine, so that the node cannot be abused for requests elsewhere.
pub(crate) async fn fetch_json(url: &str) -> io::Result<Bytes> {
    let uri: Uri = url.parse().map_err(bad)?;
    let local = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if uri.scheme_str() != Some("http") || !local {
        return Err(bad("documents are fetched from loopback addresses only"));
    }
    let request = Request::get(url).header(header::ACCEPT, "application/json").body(Body::empty()).map_err(bad)?;
    let (status, body) = exchange(request).await?;
    if status == StatusCode::OK { Ok(body) } else { Err(bad("the answer is not 200")) }
}

/// Opens a WebSocket (`ws`) or a TCP connection (`amp`).
pub(super) async fn open(url: &str, did: &str, rules: Rules) -> io::Result<Line> {
    let uri: Uri = url.parse().map_err(bad)?;
    let opened = async {
        match uri.scheme_str() {
            Some("ws") => open_ws(url, &uri).await,
            Some("amp") => open_tcp(&uri, did, rules).await,
            _ => Err(bad("only ws and amp are supported")),
        }
    };
    timeout(EXCHANGE_DEADLINE, opened).await.map_err(late)?
}

async fn open_ws(url: &str, uri: &Uri) -> io::Result<Line> {
    let url = if uri.path() == "/" { format!("{}/amp/v1/ws", url.trim_end_matches('/')) } else { url.to_owned() };
    let stream = connect(uri, Some(80)).await?;
    let mut request = url.into_client_request().map_err(bad)?;
    // 5.1: the client requests the subprotocol.
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("amp.v1"));
    request.headers_mut().insert("x-amp-max-message-size", HeaderValue::from(MESSAGE_LIMIT));
    let bounds = WebSocketConfig::default().max_message_size(Some(MESSAGE_LIMIT)).max_frame_size(Some(MESSAGE_LIMIT));
    let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(bounds)).await;
    let (mut socket, _) = opened.map_err(bad)?;
    let (arrived, incoming) = mpsc::channel(1);
    let (outgoing, mut to_send) = mpsc::channel::<Bytes>(BACKLOG);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                received = timeout(IDLE_DEADLINE, socket.next()) => match received {
                    Ok(Some(Ok(Message::Binary(message)))) => if arrived.send(message).await.is_err() { break },
                    Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                    _ => break, // closed, idle, broken, or text
                },
                message = to_send.recv() => match message {
                    Some(message) => if socket.send(Message::Binary(message)).await.is_err() { break },
                    None => break,
                },
            }
        }
        timeout(CONNECT_DEADLINE, socket.close(None)).await.ok();
    });
    Ok(Line { incoming, outgoing })
}

async fn open_tcp(uri: &Uri, did: &str, rules: Rules) -> io::Result<Line> {
    let (mut reader, mut writer) = halves(connect(uri, None).await?, MESSAGE_LIMIT, rules);
    let limit = u64::try_from(MESSAGE_LIMIT).unwrap_or(u64::MAX);
    let hello = Cbor::map([("version", VERSION.into()), ("max_msg_size", limit.into()), ("did", did.into())]);
    let ended = |_: End| io::Error::from(io::ErrorKind::ConnectionAborted);
    // 4.4: the client starts, and the server answers first of all.
    writer.map(kind::HANDSHAKE, &hello).await.map_err(ended)?;
    let (first, payload) = reader.frame().await.map_err(ended)?;
    let response = cbor::read(&payload, Limits::default()).map_err(|_| bad("not a handshake"))?.value;
    let accepted = response.get("accepted").and_then(Cbor::as_bool) == Some(true);
    if first != kind::HANDSHAKE || !accepted {
        return Err(bad("the handshake failed"));
    }
    let theirs = response.get("max_msg_size").and_then(Cbor::as_unsigned).unwrap_or(limit);
    writer.limit = usize::try_from(theirs.min(limit)).unwrap_or(MESSAGE_LIMIT);
    let (arrived, incoming) = mpsc::channel(1);
    let (outgoing, mut to_send) = mpsc::channel::<Bytes>(BACKLOG);
    let (pongs, mut to_echo) = mpsc::channel::<Vec<u8>>(4);
    tokio::spawn(async move {
        while let Ok(Ok((kind, payload))) = timeout(IDLE_DEADLINE, reader.frame()).await {
            let taken = match kind {
                kind::AMP_MESSAGE => arrived.send(payload.into()).await.is_ok(),
                kind::PING => pongs.send(payload).await.is_ok(),
                kind::GOAWAY => false,
                _ => true, // nothing to do
            };
            if !taken {
                return;
            }
        }
    });
    tokio::spawn(async move {
        loop {
            let sent = tokio::select! {
                message = to_send.recv() => match message {
                    Some(message) if message.len() <= writer.limit => writer.frame(kind::AMP_MESSAGE, &message).await,
                    Some(_) => Ok(()), // never more than the peer takes
                    None => return,
                },
                Some(payload) = to_echo.recv() => writer.frame(kind::PONG, &payload).await,
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Ok(Line { incoming, outgoing })
}
