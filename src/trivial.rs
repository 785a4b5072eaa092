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
    /// A constant answer: status, media type and body at an endpoint; at a library the body as the result of a call, or an
    /// error for a status of 400 or more.
    Constant(u16, &'static str, Vec<u8>),
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
    let constant = |status, media_type, body: &str| Behaviour::Constant(status, media_type, body.as_bytes().to_vec());
    let kind = |name: &str, behaviour| Kind { name: name.to_owned(), behaviour };
    vec![
        kind("silent", Behaviour::Silent),
        kind("closing", Behaviour::Closing),
        kind("garbage", Behaviour::Garbage),
        kind("empty-object", constant(200, JSON, "{}")),
        kind("empty-list", constant(200, JSON, "[]")),
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

/// A trivial endpoint on a free port of the loopback interface. It stops when it is dropped.
pub struct Endpoint {
    /// Where it listens.
    pub url: String,
    task: AbortHandle,
}

impl Endpoint {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub async fn start(behaviour: Behaviour) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let behaviour = Arc::new(behaviour);
        let task = tokio::spawn(async move {
            let mut conversations = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let behaviour = Arc::clone(&behaviour);
                conversations.spawn(async move {
                    // A client that disconnects ends the conversation; that is not an error.
                    let _ = converse(stream, &behaviour).await;
                });
                while conversations.try_join_next().is_some() {}
            }
        });
        Ok(Self { url, task: task.abort_handle() })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, behaviour: &Behaviour) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match behaviour {
        Behaviour::Closing => return Ok(()),
        Behaviour::Silent => {
            let mut sink = [0; 4096];
            while stream.read(&mut sink).await? > 0 {}
            return Ok(());
        }
        _ => {}
    }
    let mut stream = BufReader::new(stream);
    while let Some(body) = request(&mut stream).await? {
        match behaviour {
            Behaviour::Constant(status, media_type, body) => answer(&mut stream, *status, media_type, body).await?,
            Behaviour::Echo => answer(&mut stream, 200, JSON, &body).await?,
            _ => {
                stream.write_all(b"\x16\x03\x01\x02\x00garbage\xff\xfe\r\n\r\n").await?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads a request and returns its body; `None` at the end of the conversation.
async fn request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let mut length = 0_usize;
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
        }
    }
    let mut body = vec![0; length.min(REQUEST_BYTES)];
    stream.read_exact(&mut body).await?;
    Ok((length <= REQUEST_BYTES).then_some(body))
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
    use crate::target::{Limits, Target};
    use crate::transport::{Connections, Session, Wait};

    async fn ask(behaviour: Behaviour, transport: Transport) -> Incoming {
        let endpoint = Endpoint::start(behaviour.clone()).await.unwrap();
        let mut target = Target::new(TargetClass::Endpoint, "trivial");
        target.url = Some(url::Url::parse(&endpoint.url).unwrap());
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
        };
        let limits = Limits { request: std::time::Duration::from_millis(300), ..Limits::default() };
        let mut enough = |_: &Outgoing, _: &Incoming| true;
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
}
