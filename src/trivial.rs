//! Trivial targets: targets that implement nothing, at which no case may pass (DESIGN section 2, invariant 3).
//!
//! Each is an endpoint and a library at once. It always sends the same answer, echoes the request, or sends nothing; a case
//! that passes there is vacuous. Start with [`kinds()`], then [`Endpoint`].

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::transport::adapter::{Adapter, Pipes};
use crate::transport::frame::{self as ws, opcode};
use crate::transport::tcp::{self, Framing};
use crate::transport::ws::accept_key;
use crate::value::Value;
use crate::wire::json;

/// Bytes of a request that are read; the rest of a longer one meets a closed connection.
const REQUEST_BYTES: usize = 4 << 20;

/// The answers of a trivial target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Nothing: it reads the request and waits.
    Silent,
    /// It closes every connection immediately.
    Closing,
    /// Bytes that are invalid in every protocol.
    Garbage,
    /// Always the same: status, media type and body over HTTP, the body as a message over WebSocket and TCP; the body as the
    /// result of a call, or the call refused from status 400 on.
    Constant(u16, String, Vec<u8>),
    /// The request itself.
    Echo,
}

/// A kind of trivial target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in reports.
    pub name: String,
    /// Its answers.
    pub behaviour: Behaviour,
}

const JSON: &str = "application/json";

/// Every kind that is independent of a protocol.
pub fn kinds() -> Vec<Kind> {
    let constant = |status, media_type: &str, body: &str| Behaviour::Constant(status, media_type.into(), body.into());
    let kind = |name: &str, behaviour| Kind { name: name.to_owned(), behaviour };
    vec![
        kind("silent", Behaviour::Silent),
        kind("closing", Behaviour::Closing),
        kind("garbage", Behaviour::Garbage),
        kind("empty-object", constant(200, JSON, "{}")),
        kind("empty-list", constant(200, JSON, "[]")),
        kind("empty-map", Behaviour::Constant(200, "application/cbor".into(), vec![0xa0])),
        kind("null", constant(200, JSON, "null")),
        kind("empty-200", constant(200, JSON, "")),
        kind("empty-204", constant(204, JSON, "")),
        kind("echo", Behaviour::Echo),
        kind("html", constant(200, "text/html", "<!doctype html><title>It works!</title><h1>It works!</h1>")),
        kind("always-400", constant(400, JSON, r#"{"error":{"code":"invalid","message":"no"}}"#)),
        kind("always-404", constant(404, JSON, r#"{"error":{"code":"not_found","message":"no"}}"#)),
        kind("always-500", constant(500, JSON, r#"{"error":{"code":"internal","message":"no"}}"#)),
        kind("always-501", constant(501, JSON, r#"{"error":{"code":"not_implemented","message":"no"}}"#)),
    ]
}

/// A trivial endpoint on free ports of the loopback interface, over HTTP, WebSocket and TCP. It ends when it is dropped.
pub struct Endpoint {
    /// Where it listens.
    pub url: String,
    tasks: [AbortHandle; 2],
}

/// The ports of an endpoint that has not started yet.
pub struct Ports {
    http: std::net::TcpListener,
    tcp: std::net::TcpListener,
    /// Where it will be reached over HTTP and WebSocket: host and port.
    pub authority: String,
    /// Where it will be reached over TCP.
    pub tcp_authority: String,
}

impl Ports {
    /// Takes free ports.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub fn free() -> io::Result<Self> {
        let listen = || {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
            listener.set_nonblocking(true)?;
            Ok::<_, io::Error>(listener)
        };
        let (http, tcp) = (listen()?, listen()?);
        let (authority, tcp_authority) = (http.local_addr()?.to_string(), tcp.local_addr()?.to_string());
        Ok(Self { http, tcp, authority, tcp_authority })
    }
}

impl Endpoint {
    /// Starts it. Frames over TCP have a type byte if `framing` says so.
    ///
    /// # Errors
    ///
    /// The ports cannot be used.
    pub fn start(behaviour: Behaviour, ports: Ports, framing: Framing) -> io::Result<Self> {
        let url = format!("http://{}", ports.authority);
        let behaviour = Arc::new(behaviour);
        let spoken = Arc::clone(&behaviour);
        let http = serve(TcpListener::from_std(ports.http)?, move |stream| {
            let behaviour = Arc::clone(&spoken);
            async move { converse(stream, &behaviour).await }
        });
        let tcp = serve(TcpListener::from_std(ports.tcp)?, move |stream| {
            let behaviour = Arc::clone(&behaviour);
            async move { frames(stream, &behaviour, framing).await }
        });
        Ok(Self { url, tasks: [http, tcp] })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Serves every connection at the same time.
fn serve<F>(listener: TcpListener, conversation: impl Fn(TcpStream) -> F + Send + 'static) -> AbortHandle
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let task = tokio::spawn(async move {
        let mut conversations = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let conversation = conversation(stream);
            conversations.spawn(async move {
                // A client that goes away is the end of the conversation, not a mistake.
                let _ = conversation.await;
            });
            while conversations.try_join_next().is_some() {}
        }
    });
    task.abort_handle()
}

/// Reads until the other side closes.
async fn swallow(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut sink = [0; 4096];
    while stream.read(&mut sink).await? > 0 {}
    Ok(())
}

const GARBAGE: &[u8] = b"\x16\x03\x01\x02\x00garbage\xff\xfe\r\n\r\n";

async fn converse(mut stream: TcpStream, behaviour: &Behaviour) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match behaviour {
        Behaviour::Closing => return Ok(()),
        Behaviour::Silent => return swallow(&mut stream).await,
        _ => {}
    }
    let mut stream = BufReader::new(stream);
    while let Some(Request { body, upgrade }) = request(&mut stream).await? {
        // Only a target that answers with success accepts an upgrade.
        let accepts = matches!(behaviour, Behaviour::Echo | Behaviour::Constant(200..=299, ..));
        if let Some(upgrade) = upgrade.filter(|_| accepts) {
            stream.write_all(upgrade.as_bytes()).await?;
            return messages(&mut stream, behaviour).await;
        }
        match behaviour {
            Behaviour::Constant(status, media_type, body) => answer(&mut stream, *status, media_type, body).await?,
            Behaviour::Echo => answer(&mut stream, 200, JSON, &body).await?,
            _ => return stream.write_all(GARBAGE).await,
        }
    }
    Ok(())
}

/// Speaks WebSocket: a binary message for each one that comes.
async fn messages(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), behaviour: &Behaviour) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        while let ws::Decoded::Frame(header) = ws::decode(&bytes, ws::Side::Client, REQUEST_BYTES) {
            let mut payload: Vec<u8> = bytes.drain(..header.size).skip(header.payload).collect();
            if let Some(key) = header.mask {
                ws::mask(&mut payload, key);
            }
            let reply = match (header.opcode, behaviour) {
                (opcode::CLOSE, _) => {
                    return stream.write_all(&ws::Frame::whole(opcode::CLOSE, payload).encode()).await;
                }
                (opcode::PING, _) => ws::Frame::whole(opcode::PONG, payload),
                (opcode::PONG, _) => continue,
                (_, Behaviour::Constant(_, _, body)) => ws::Frame::whole(opcode::BINARY, body.clone()),
                (own, _) => ws::Frame::whole(own, payload),
            };
            stream.write_all(&reply.encode()).await?;
        }
        if bytes.len() > REQUEST_BYTES || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
}

/// Speaks TCP: a frame of the same type for each one that comes.
async fn frames(mut stream: TcpStream, behaviour: &Behaviour, framing: Framing) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match behaviour {
        Behaviour::Closing => return Ok(()),
        Behaviour::Silent => return swallow(&mut stream).await,
        Behaviour::Garbage => return stream.write_all(GARBAGE).await,
        Behaviour::Constant(..) | Behaviour::Echo => {}
    }
    let mut bytes = Vec::new();
    loop {
        while let tcp::Decoded::Frame { kind, payload, size } = tcp::decode(&bytes, framing, REQUEST_BYTES) {
            let own: Vec<u8> = bytes.drain(..size).skip(payload).collect();
            let reply = match behaviour {
                Behaviour::Constant(_, _, body) => tcp::encode(kind, body),
                _ => tcp::encode(kind, &own),
            };
            stream.write_all(&reply.map_err(io::Error::other)?).await?;
        }
        if bytes.len() > REQUEST_BYTES || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
}

/// A request, and the answer that accepts its upgrade to WebSocket, if it asks for one.
struct Request {
    body: Vec<u8>,
    upgrade: Option<String>,
}

/// Reads a request; `None` at the end of the conversation.
async fn request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut length = 0_usize;
    let (mut key, mut subprotocol) = (None, String::new());
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        } else if name.eq_ignore_ascii_case("sec-websocket-key") {
            key = Some(accept_key(value.trim()));
        } else if name.eq_ignore_ascii_case("sec-websocket-protocol") {
            let first = value.split(',').next().unwrap_or_default().trim();
            subprotocol = format!("sec-websocket-protocol: {first}\r\n");
        }
    }
    let mut body = vec![0; length.min(REQUEST_BYTES)];
    stream.read_exact(&mut body).await?;
    let upgrade = key.map(|key| {
        let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade";
        format!("{head}\r\nsec-websocket-accept: {key}\r\n{subprotocol}\r\n")
    });
    Ok((length <= REQUEST_BYTES).then_some(Request { body, upgrade }))
}

async fn answer(stream: &mut BufReader<TcpStream>, status: u16, media_type: &str, body: &[u8]) -> io::Result<()> {
    let mut bytes = format!("HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\n").into_bytes();
    if status != 204 {
        bytes.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    stream.write_all(&bytes).await?;
    stream.flush().await
}

/// A trivial library behind an adapter in this process.
pub fn library(behaviour: Behaviour) -> Adapter {
    let behaviour = Arc::new(behaviour);
    Adapter::in_process(move || {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let behaviour = Arc::clone(&behaviour);
        tokio::spawn(async move {
            let _ = calls(read, write, &behaviour).await;
        });
        let (read, write) = tokio::io::split(ours);
        let pipes: Pipes = (Box::new(write), Box::new(read));
        pipes
    })
}

async fn calls(
    read: impl AsyncRead + Unpin,
    mut write: impl AsyncWrite + Unpin,
    behaviour: &Behaviour,
) -> io::Result<()> {
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let call = json::parse(line.as_bytes()).unwrap_or(Value::Null);
        let id = call.member("id").cloned().unwrap_or(Value::Null);
        let reply = |what: &'static str, value: Value| {
            let reply = Value::map([("jsonrpc", Value::text("2.0")), ("id", id.clone()), (what, value)]);
            json::compact(&reply) + "\n"
        };
        let text = match behaviour {
            Behaviour::Silent => continue,
            Behaviour::Closing => return Ok(()),
            Behaviour::Garbage => "this is not JSON\n".to_owned(),
            Behaviour::Echo => reply("result", call.member("params").cloned().unwrap_or(Value::Null)),
            Behaviour::Constant(501, ..) => reply("error", error(-32601)),
            Behaviour::Constant(status, ..) if *status >= 400 => reply("error", error(-32001)),
            Behaviour::Constant(_, _, body) => reply("result", json::parse(body).unwrap_or(Value::Null)),
        };
        write.write_all(text.as_bytes()).await?;
        write.flush().await?;
    }
    Ok(())
}

fn error(code: i128) -> Value {
    Value::map([("code", Value::Integer(code)), ("message", Value::text("no"))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Arrival, ChannelAction, Encoded, Ended, Incoming, Outgoing, TargetClass, Transport};
    use crate::target::{FrameTypes, Limits, Target};
    use crate::transport::{Connections, Session, Wait};

    async fn ask(behaviour: Behaviour, transport: Transport) -> Incoming {
        let ports = Ports::free().unwrap();
        let tcp = ports.tcp_authority.clone();
        let endpoint = Endpoint::start(behaviour.clone(), ports, Framing::Typed).unwrap();
        let mut target = Target::new(TargetClass::Endpoint, "trivial");
        target.url = Some(url::Url::parse(&endpoint.url).unwrap());
        target.ws = Some(url::Url::parse(&endpoint.url.replace("http", "ws")).unwrap());
        target.tcp = Some(crate::target::parse_tcp(&tcp, &[]).unwrap());
        target.channel.tcp.types = Some(FrameTypes { message: 1, ping: None, pong: None });
        let mut connections = Connections::new(&target).unwrap();
        connections.adapter = Some(library(behaviour));
        let message = Encoded {
            transport,
            action: ChannelAction::Message,
            base: None,
            operation: "o".to_owned(),
            method: "POST".to_owned(),
            path: "/x".to_owned(),
            headers: Vec::new(),
            body: b"{\"a\":1}".to_vec(),
            params: vec![("a".to_owned(), Value::Integer(1))],
            payload: None,
            spelling: None,
        };
        let limits = Limits { request: std::time::Duration::from_millis(300), ..Limits::default() };
        let mut enough = |_: &Outgoing, received: &Incoming| !transport.is_channel() || !received.arrived.is_empty();
        let beside = |_: &Outgoing, _: &Arrival| false;
        let at_least = std::time::Duration::ZERO;
        let wait = Wait { none: false, fail_fast: false, at_least, unrelated: &beside, enough: &mut enough };
        connections.carry(&Session::default(), "a", message, &limits, wait).await.received
    }

    #[tokio::test]
    async fn each_kind_sends_its_answer() {
        for kind in kinds() {
            for transport in [Transport::Http, Transport::Adapter] {
                let received = ask(kind.behaviour.clone(), transport).await;
                let (name, ended) = (&kind.name, &received.ended);
                match (&kind.behaviour, transport) {
                    (Behaviour::Silent, _) => assert_eq!(*ended, Ended::TimedOut, "{name}"),
                    (Behaviour::Closing | Behaviour::Garbage, _) => {
                        assert!(matches!(ended, Ended::Closed(_)), "{name} {ended:?}");
                    }
                    (Behaviour::Echo, Transport::Http) => assert_eq!(received.body.text(), Some("{\"a\":1}"), "{name}"),
                    (Behaviour::Constant(status, ..), Transport::Http) => {
                        assert_eq!(received.status, Some(*status), "{name}");
                    }
                    _ => assert_eq!(*ended, Ended::Complete, "{name}"),
                }
            }
        }
    }

    #[tokio::test]
    async fn each_kind_speaks_websocket_and_tcp() {
        for kind in kinds() {
            for transport in [Transport::Ws, Transport::Tcp] {
                let received = ask(kind.behaviour.clone(), transport).await;
                let arrived: Vec<&[u8]> = received.arrived.iter().map(|arrival| arrival.body.0.as_slice()).collect();
                let expected: Vec<&[u8]> = match (&kind.behaviour, transport) {
                    (Behaviour::Echo, _) => vec![b"{\"a\":1}"],
                    (Behaviour::Constant(200..=299, _, body), _)
                    | (Behaviour::Constant(_, _, body), Transport::Tcp) => {
                        vec![body]
                    }
                    (Behaviour::Garbage, Transport::Tcp) => continue,
                    _ => Vec::new(),
                };
                assert_eq!(arrived, expected, "{} over {}: {:?}", kind.name, transport.name(), received.ended);
            }
        }
    }
}
