//! What the tests of meshai share: servers in this process, requests to them, and the library.

use proofmark_reference::{Config, Handle, Implementation};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::TcpStream;

pub(crate) fn meshai() -> &'static dyn Implementation {
    proofmark_reference::find("meshai").expect("a row")
}

/// A configuration with settings.
pub(crate) fn config(settings: &[(&str, &str)]) -> Config {
    let mut config = meshai().config();
    for (name, value) in settings {
        config.set(name, value).expect("a valid setting");
    }
    config
}

pub(crate) async fn start(settings: &[(&str, &str)]) -> Handle {
    meshai().serve(config(settings)).await.expect("the server starts")
}

/// Status and body of an exchange.
pub(crate) async fn http(handle: &Handle, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
    let address = handle.socket("http").expect("it listens");
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await.expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("read");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, body.to_owned())
}

/// Posts an envelope. The body is null if it is not JSON.
pub(crate) async fn post(handle: &Handle, envelope: &Value) -> (u16, Value) {
    let (status, body) =
        http(handle, "POST", "/aip/v1/invoke", "Content-Type: application/json\r\n", envelope.to_string().as_bytes())
            .await;
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// Posts a control call.
pub(crate) async fn control(handle: &Handle, call: &Value) -> (u16, Value) {
    let (status, body) = http(handle, "POST", "/aip/v1/control", "", call.to_string().as_bytes()).await;
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// The full message of binding.md section 3, from `source`, with a payload.
#[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
pub(crate) fn message(id: &str, source: &str, payload: Value) -> Value {
    json!({"protocol": "AMP/1.0", "message": {
        "id": id, "type": "request", "timestamp": "2025-01-27T10:00:00Z",
        "source": {"agent_id": source}, "destination": {},
        "headers": {"correlation_id": id, "priority": 5, "timeout_ms": 30000, "routing_hints": {}},
        "payload": payload}})
}

/// A capability request.
#[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
pub(crate) fn request(id: &str, source: &str, capability: &str, parameters: Value) -> Value {
    let mut request = message(id, source, json!({"capability": capability, "parameters": parameters}));
    request["message"]["destination"] = json!({"capability": capability});
    request
}

/// A message to the registry.
pub(crate) fn registry(id: &str, source: &str, operation: &str, payload: Value) -> Value {
    let mut request = message(id, source, payload);
    request["message"]["destination"] = json!({"agent_id": "registry", "capability": operation});
    request
}

/// A registration payload with one capability.
pub(crate) fn registration(id: &str, capability: &str, invoke: &str) -> Value {
    json!({
        "agent": {"id": id, "name": "peer", "version": "1.0.0", "framework": "custom", "protocol_version": "1.0"},
        "capabilities": [{"id": capability, "version": "1.0", "description": "test", "input_schema": {"type": "object"},
            "output_schema": {"type": "object"}, "constraints": {"response_time_ms": 1000}}],
        "endpoints": {"invoke": invoke, "health": "http://127.0.0.1:9/health"},
        "authentication": {"type": "bearer", "credentials": "secret"}})
}

/// The value at a JSON Pointer.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// The code of an error message.
pub(crate) fn code(reply: &Value) -> &str {
    at(reply, "/message/payload/error/code").as_str().unwrap_or_default()
}

/// A conversation with the adapter.
pub(crate) struct Library {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Library {
    pub(crate) fn start(config: Config) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(meshai().serve_adapter(config, Box::new(reader), Box::new(writer)));
        let (reader, writer) = tokio::io::split(ours);
        Self { reader: BufReader::new(reader), writer }
    }

    /// The whole answer to a method, named without its prefix.
    pub(crate) async fn answer(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": format!("meshai/{method}"), "params": params});
        self.writer.write_all(format!("{request}\n").as_bytes()).await.expect("written");
        let mut answer = String::new();
        self.reader.read_line(&mut answer).await.expect("read");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }

    /// The result of a method.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, &params).await;
        assert!(answer["error"].is_null(), "{method} {params}: {answer}");
        answer["result"].clone()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

pub(crate) fn unhex(value: &Value) -> String {
    let bytes = data_encoding::HEXLOWER.decode(value.as_str().expect("hex").as_bytes()).expect("hex");
    String::from_utf8(bytes).expect("UTF-8")
}
