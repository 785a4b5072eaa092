//! Messages of the Agentic Mesh Protocol, and the two ways to give them to the reference: its adapter and its server.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use proofmark_reference::{Config, Handle, Implementation};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const NEXT: &str = "urn:agentic:mesh:role:next";
pub(crate) const NONE: &str = "urn:agentic:mesh:role:none";
pub(crate) const ULTIMATE: &str = "urn:agentic:mesh:role:ultimateReceiver";
pub(crate) const ASSUMED: &str = "urn:proofmark:mesh:role:assumed";
pub(crate) const OTHER: &str = "urn:proofmark:mesh:role:assumed:not";

pub(crate) fn mesh() -> &'static dyn Implementation {
    proofmark_reference::find("agentic-mesh").expect("a row")
}

/// A configuration with a fixed clock and these settings.
pub(crate) fn config(settings: &[(&str, &str)]) -> Config {
    let mut config = Config { clock: Some("2026-01-20T00:00:00Z".into()), ..mesh().config() };
    for (name, value) in settings {
        config.set(name, value).expect("a valid setting");
    }
    config
}

/// A valid message (binding.md, 1.1).
pub(crate) fn base() -> Value {
    json!({"Envelope": {
        "Header": {"messageId": "pm-1", "traceId": "pm-trace-1", "roles": ["planner", "vendor"],
                   "routingIntent": "direct", "ttl": 8},
        "Body": {"task": "echo", "expectedOutput": ["echo"], "context": {"proofmark": "nonce-1"}},
        "MemoryGram": {"nodes": [{"id": "n1", "type": "plan", "metadata": {"importance": 0.5, "decay": 0.1}},
                                 {"id": "n2", "type": "issue", "metadata": {"importance": 0.25}}],
                       "edges": [{"source": "n1", "target": "n2", "weight": 0.5, "context": "supports"}],
                       "mode": "snapshot", "encoding": "json"}}})
}

/// The message with a value at a pointer below `/Envelope`; `Header/ttl`, for example.
pub(crate) fn with(mut message: Value, at: &str, value: Value) -> Value {
    let (parent, name) = at.rsplit_once('/').unwrap_or(("", at));
    let parent = if parent.is_empty() { "/Envelope".to_owned() } else { format!("/Envelope/{parent}") };
    message.pointer_mut(&parent).expect("a parent")[name] = value;
    message
}

/// The message without a member.
pub(crate) fn without(mut message: Value, at: &str) -> Value {
    let (parent, name) = at.rsplit_once('/').unwrap_or(("", at));
    let parent = if parent.is_empty() { "/Envelope".to_owned() } else { format!("/Envelope/{parent}") };
    let object = message.pointer_mut(&parent).and_then(Value::as_object_mut).expect("a parent");
    object.remove(name).expect("a member");
    message
}

/// A message with header blocks.
pub(crate) fn with_blocks(blocks: Vec<Value>) -> Value {
    with(base(), "Header/headers", Value::Array(blocks))
}

/// The type of the harness's block with this behaviour.
pub(crate) fn known(behaviour: &str) -> String {
    format!("urn:proofmark:mesh:block:{behaviour}")
}

/// A header block; members that are `None` are absent.
pub(crate) fn block(kind: &str, role: Option<&str>, mandatory: Option<bool>, relay: Option<bool>) -> Value {
    let mut block = json!({ "type": kind });
    if let Some(role) = role {
        block["role"] = role.into();
    }
    if let Some(mandatory) = mandatory {
        block["mustUnderstand"] = mandatory.into();
    }
    if let Some(relay) = relay {
        block["relay"] = relay.into();
    }
    block["content"] = json!({});
    block
}

/// A mandatory block of a type that no node understands.
pub(crate) fn unknown(role: &str) -> Value {
    block("urn:x:unknown", Some(role), Some(true), None)
}

/// The node object of binding.md, 9, of this kind.
pub(crate) fn node(kind: &str) -> Value {
    json!({"uri": "urn:x:node:tested", "kind": kind, "roles": [ASSUMED], "memorygram": "validates",
           "header_blocks_at": "/Envelope/Header/headers"})
}

pub(crate) const RECEIVER: &str = "ultimateReceiver";
pub(crate) const RELAY: &str = "intermediary";

pub(crate) fn hex(text: &[u8]) -> String {
    text.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text of a result in hexadecimal digits.
pub(crate) fn unhex(value: &Value) -> String {
    let digits = value.as_str().unwrap_or_else(|| panic!("not a string: {value}"));
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    String::from_utf8((0..digits.len()).step_by(2).map(byte).collect()).expect("UTF-8")
}

/// The library behind its adapter, in this process.
pub(crate) struct Library {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Library {
    pub(crate) fn start(config: Config) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(mesh().serve_adapter(config, Box::new(reader), Box::new(writer)));
        let (reader, writer) = tokio::io::split(ours);
        Self { reader: BufReader::new(reader), writer }
    }

    /// The whole answer to a call.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let method = format!("agentic-mesh/{method}");
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        self.writer.write_all(format!("{request}\n").as_bytes()).await.expect("written");
        let mut answer = String::new();
        self.reader.read_line(&mut answer).await.expect("read");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }

    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Processes a text at a node of a kind.
    pub(crate) async fn process(&mut self, text: &[u8], kind: &str) -> Value {
        self.result("process", json!({ "message_hex": hex(text), "node": node(kind) })).await
    }

    /// Processes a message; the code of its fault, or else its outcome.
    pub(crate) async fn outcome(&mut self, message: &Value, kind: &str) -> String {
        let result = self.process(message.to_string().as_bytes(), kind).await;
        let faults = result["faults"].as_array().expect("faults");
        assert!(faults.len() <= 1, "more than one fault: {result}");
        faults.first().map_or(&result["outcome"], |fault| &fault["code"]).as_str().expect("a string").to_owned()
    }

    /// The text that an intermediary forwards.
    pub(crate) async fn forwarded(&mut self, text: &[u8]) -> String {
        let result = self.process(text, RELAY).await;
        assert_eq!(result["outcome"], "forwarded", "{result}");
        unhex(&result["forwarded_hex"][0])
    }
}

/// A next hop: keeps what arrives, and answers each message in the same way.
#[derive(Clone)]
pub(crate) struct Hop {
    pub(crate) url: String,
    arrived: Arc<Mutex<Vec<String>>>,
}

impl Hop {
    /// Listens, and answers with this status and body.
    pub(crate) async fn start(status: u16, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/next-hop", listener.local_addr().expect("an address"));
        let arrived: Arc<Mutex<Vec<String>>> = Arc::default();
        let hop = Self { url, arrived: Arc::clone(&arrived) };
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let arrived = Arc::clone(&arrived);
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut stream).await else { return };
                    arrived.lock().expect("not poisoned").push(request);
                    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
                    stream.write_all(format!("{head}{body}").as_bytes()).await.ok();
                });
            }
        });
        hop
    }

    /// The messages that have arrived since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.arrived.lock().expect("not poisoned"))
    }
}

/// The body of one request.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())?;
            if bytes.len() >= end + 4 + length {
                return String::from_utf8(bytes[end + 4..].to_vec()).ok();
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// A server with the control interface whose next hop is `hop`.
pub(crate) async fn serve(hop: &Hop, settings: &[(&str, &str)], fault: Option<&str>) -> Handle {
    let all: Vec<(&str, &str)> =
        [("control", "on"), ("next-hop", hop.url.as_str())].into_iter().chain(settings.iter().copied()).collect();
    let config = Config { fault: fault.map(str::to_owned), ..config(&all) };
    mesh().serve(config).await.expect("the server starts")
}

pub(crate) fn address(handle: &Handle) -> SocketAddr {
    handle.socket("http").expect("it listens")
}

/// One exchange on a connection of its own: status and body.
pub(crate) async fn exchange(handle: &Handle, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
    held(handle, method, path, headers, body, 0).await
}

/// The same with a pause between the head and the body.
pub(crate) async fn held(
    handle: &Handle,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
    pause_ms: u64,
) -> (u16, String) {
    let mut stream = TcpStream::connect(address(handle)).await.expect("the server listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    tokio::time::sleep(std::time::Duration::from_millis(pause_ms)).await;
    stream.write_all(body).await.expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"), body.to_owned())
}

/// Posts a message.
pub(crate) async fn post(handle: &Handle, path: &str, message: &Value) -> (u16, String) {
    exchange(handle, "POST", path, "Content-Type: application/amp+json\r\n", message.to_string().as_bytes()).await
}

/// The code of a fault that is a message.
pub(crate) fn code(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {body:?}"));
    value["Envelope"]["Body"]["fault"]["code"]["value"].as_str().unwrap_or_default().to_owned()
}
