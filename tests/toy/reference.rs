//! The toy protocol, implemented: a server that plays both roles, with faults to plant.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use proofmark_reference::{
    Config, Declared, Fault, Handle, Implementation, Instance, Needs, Pairs, ServeError, Setting, Setup, Variant, Work,
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// The row of the table of implementations.
#[derive(Debug)]
pub(crate) struct Toy;

const FAULTS: &[Fault] = &[
    fault("pong-is-wrong", "Answers a ping with another nonce.", &["TOY-2-01"], "echo"),
    fault("missing-nonce-accepted", "Accepts a ping without a nonce.", &["TOY-1-02"], "basic"),
    fault("answers-500", "Answers every ping with 500.", &["TOY-1-01"], "basic"),
    fault("never-forwards", "Accepts a ping for the next hop and keeps it.", &["TOY-3-01"], "forwarding"),
    fault("forwards-twice", "Passes a ping on twice.", &["TOY-3-02"], "forwarding"),
    fault("forwards-refused-pings", "Forwards rejected pings.", &["TOY-3-03"], "forwarding"),
];

const fn fault(
    name: &'static str,
    summary: &'static str,
    breaks: &'static [&'static str],
    level: &'static str,
) -> Fault {
    Fault { name, summary, breaks, level, needs: Needs::Nothing }
}

const SETUPS: &[Setup] = &[Setup {
    name: "node",
    about: "plays both roles",
    variant: Variant::Own,
    level: None,
    instances: &[Instance { name: "target", settings: &[] }],
    declared: Declared::NOTHING,
}];

impl Implementation for Toy {
    fn slug(&self) -> &'static str {
        "toy"
    }

    fn faults(&self) -> &'static [Fault] {
        FAULTS
    }

    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    fn addresses(&self) -> Pairs {
        &[("http", "http://{}")]
    }

    fn setups(&self) -> &'static [Setup] {
        SETUPS
    }

    fn serve(&self, config: Config) -> Work<Result<Handle, ServeError>> {
        Box::pin(async move {
            let failed = |source| ServeError::Listen { address: config.listen, source };
            let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            let (stop, stopped) = oneshot::channel::<()>();
            let routes = axum::Router::new()
                .route("/ping", post(ping))
                .route("/relay", post(relay))
                .with_state(config.fault.unwrap_or_default());
            let server = tokio::spawn(async move {
                axum::serve(listener, routes)
                    .with_graceful_shutdown(async {
                        stopped.await.ok(); // also when the handle is dropped
                    })
                    .await
            });
            Ok(Handle::new(stop, server).at("http", format!("http://{address}")))
        })
    }

    fn serve_connections(
        &self,
        _config: Config,
        _connections: UnboundedReceiver<DuplexStream>,
    ) -> Work<Result<(), ServeError>> {
        Box::pin(async { Ok(()) })
    }

    fn serve_adapter(
        &self,
        _config: Config,
        _reader: Box<dyn AsyncRead + Unpin + Send>,
        _writer: Box<dyn AsyncWrite + Unpin + Send>,
    ) -> Work<std::io::Result<()>> {
        // The protocol only supports HTTP.
        Box::pin(async { Err(std::io::ErrorKind::Unsupported.into()) })
    }
}

/// The nonce of a ping, if it has one.
fn nonce(body: &[u8]) -> Option<(Value, String)> {
    let ping: Value = serde_json::from_slice(body).ok()?;
    let nonce = ping.get("nonce")?.as_str()?.to_owned();
    Some((ping, nonce))
}

async fn ping(State(fault): State<String>, body: Bytes) -> (StatusCode, String) {
    if fault == "answers-500" {
        return (StatusCode::INTERNAL_SERVER_ERROR, json!({}).to_string());
    }
    match nonce(&body) {
        Some(_) if fault == "pong-is-wrong" => (StatusCode::OK, json!({ "pong": "another" }).to_string()),
        Some((_, nonce)) => (StatusCode::OK, json!({ "pong": nonce }).to_string()),
        None if fault == "missing-nonce-accepted" => (StatusCode::OK, json!({ "pong": null }).to_string()),
        None => (StatusCode::BAD_REQUEST, json!({}).to_string()),
    }
}

async fn relay(State(fault): State<String>, body: Bytes) -> StatusCode {
    let sound = nonce(&body).is_some();
    let times = match fault.as_str() {
        "never-forwards" => 0,
        "forwards-twice" if sound => 2,
        "forwards-refused-pings" => 1,
        _ => usize::from(sound),
    };
    let next =
        serde_json::from_slice::<Value>(&body).ok().and_then(|ping| Some(ping.get("next")?.as_str()?.to_owned()));
    for _ in 0..times {
        if let Some(next) = &next {
            forward(next, &body).await.ok(); // an unreachable host is ignored
        }
    }
    if sound { StatusCode::ACCEPTED } else { StatusCode::BAD_REQUEST }
}

/// Posts the ping to the next hop and reads the start of its answer.
async fn forward(next: &str, body: &[u8]) -> std::io::Result<()> {
    let rest = next.strip_prefix("http://").unwrap_or(next);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address: SocketAddr = authority.parse().map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.read(&mut [0; 12]).await.map(|_| ())
}
