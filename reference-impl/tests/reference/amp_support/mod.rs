//! Messages made and read by other code than the server's own: ciborium and ed25519-dalek.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciborium::Value;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use proofmark_reference::{Config, Handle, Implementation};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub(crate) const ACK: u64 = 3;
pub(crate) const ERROR: u64 = 15;
pub(crate) const MESSAGE: u64 = 16;
pub(crate) const REQUEST: u64 = 17;
pub(crate) const RESPONSE: u64 = 18;
pub(crate) const BATCH: u64 = 22;
pub(crate) const HELLO: u64 = 112;
pub(crate) const HELLO_ACK: u64 = 113;

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody with a key.
#[derive(Debug, Clone)]
pub(crate) struct Party {
    key: SigningKey,
    pub(crate) did: String,
}

impl Party {
    /// An identity of binding.md, section 6.
    pub(crate) fn named(name: &str) -> Self {
        let seed = Sha256::digest(format!("proofmark/amp-core/identity/{name}"));
        let key = SigningKey::from_bytes(&seed.into());
        let multicodec = [&[0xed, 0x01], &key.verifying_key().to_bytes()[..]].concat();
        Self { did: format!("did:key:z{}", bs58::encode(multicodec).into_string()), key }
    }

    /// A message with a body, valid for a minute.
    pub(crate) fn message(&self, to: &str, typ: u64, body: Value) -> Sent {
        self.message_with(to, typ, body, now(), 60_000, None)
    }

    pub(crate) fn message_with(
        &self,
        to: &str,
        typ: u64,
        body: Value,
        ts: u64,
        ttl: u64,
        reply_to: Option<&[u8]>,
    ) -> Sent {
        let id = [ts.to_be_bytes(), fresh().to_be_bytes()].concat();
        self.sign(&id, to.into(), typ, body, (ts, ttl), reply_to)
    }

    /// A message to several recipients.
    pub(crate) fn message_to(&self, to: Value, typ: u64, body: Value) -> Sent {
        let ts = now();
        let id = [ts.to_be_bytes(), fresh().to_be_bytes()].concat();
        self.sign(&id, to, typ, body, (ts, 60_000), None)
    }

    /// A message with the id of another.
    pub(crate) fn message_of(&self, id: &[u8], to: &str, typ: u64, body: Value) -> Sent {
        let ts = u64::from_be_bytes(id[..8].try_into().expect("eight bytes"));
        self.sign(id, to.into(), typ, body, (ts, 60_000), None)
    }

    fn sign(
        &self,
        id: &[u8],
        to: Value,
        typ: u64,
        body: Value,
        (ts, ttl): (u64, u64),
        reply_to: Option<&[u8]>,
    ) -> Sent {
        let mut headers = vec![
            ("id", Value::Bytes(id.to_vec())),
            ("to", to),
            ("ts", ts.into()),
            ("ttl", ttl.into()),
            ("typ", typ.into()),
            ("from", self.did.as_str().into()),
        ];
        if let Some(reply_to) = reply_to {
            headers.push(("reply_to", Value::Bytes(reply_to.to_vec())));
        }
        let body = sorted(body);
        let input = Value::Array(vec![
            "AMP-v1".into(),
            Value::Bytes(Vec::new()),
            map(headers.clone()),
            Value::Bytes(encoded(&body)),
        ]);
        let sig = self.key.sign(&encoded(&input)).to_bytes().to_vec();
        headers.extend([("v", 1.into()), ("sig", Value::Bytes(sig)), ("body", body)]);
        Sent { id: id.to_vec(), bytes: encoded(&map(headers)) }
    }
}

/// A message that was made.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) id: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}

impl Sent {
    /// The same message with its members in the opposite order.
    pub(crate) fn reversed(self) -> Self {
        let value: Value = ciborium::from_reader(&self.bytes[..]).expect("CBOR");
        let pairs = value.into_map().expect("a map").into_iter().rev().collect();
        Self { bytes: encoded(&Value::Map(pairs)), ..self }
    }
}

/// A received message with a valid signature.
#[derive(Debug, Clone)]
pub(crate) struct Got(pub(crate) Value);

impl Got {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let value: Value = ciborium::from_reader(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:02x?}"));
        let got = Self(value);
        got.verify();
        got
    }

    fn verify(&self) {
        let from = self.text("from");
        let multicodec = bs58::decode(&from["did:key:z".len()..]).into_vec().expect("base58");
        let key = VerifyingKey::from_bytes(multicodec[2..].try_into().expect("32 bytes")).expect("a key");
        let signed = ["id", "to", "ts", "ttl", "typ", "from", "reply_to", "thread_id"];
        let headers = signed.into_iter().filter_map(|name| Some((name, self.get(name)?.clone()))).collect();
        let body = encoded(&sorted(self.get("body").expect("a body").clone()));
        let input = Value::Array(vec!["AMP-v1".into(), Value::Bytes(Vec::new()), map(headers), Value::Bytes(body)]);
        let sig = self.get("sig").and_then(Value::as_bytes).expect("a signature");
        let sig = ed25519_dalek::Signature::from_slice(sig).expect("64 bytes");
        key.verify_strict(&encoded(&input), &sig).expect("a valid signature");
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        member(&self.0, name)
    }

    pub(crate) fn typ(&self) -> u64 {
        number(self.get("typ").expect("typ"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).and_then(Value::as_text).expect("a text").to_owned()
    }

    pub(crate) fn reply_to(&self) -> Vec<u8> {
        self.get("reply_to").and_then(Value::as_bytes).cloned().unwrap_or_default()
    }

    pub(crate) fn body(&self, name: &str) -> Option<&Value> {
        member(self.get("body")?, name)
    }

    /// The code of an ERROR, else 0.
    pub(crate) fn code(&self) -> u64 {
        self.body("code").filter(|_| self.typ() == ERROR).map_or(0, number)
    }

    /// The messages in a BATCH, or this one.
    pub(crate) fn unpacked(self) -> Vec<Self> {
        if self.typ() != BATCH {
            return vec![self];
        }
        let items = self.body("items").and_then(Value::as_array).expect("items");
        items.iter().map(|item| Self::read(item.as_bytes().expect("bytes"))).collect()
    }
}

pub(crate) fn member<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_integer().and_then(|integer| integer.try_into().ok()).expect("an unsigned integer")
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    since.as_millis().try_into().expect("before the end of time")
}

fn fresh() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) << 16
}

pub(crate) fn map(members: Vec<(&str, Value)>) -> Value {
    sorted(Value::Map(members.into_iter().map(|(name, value)| (name.into(), value)).collect()))
}

/// With every map in the order of RFC 8949, 4.2.1.
fn sorted(value: Value) -> Value {
    match value {
        Value::Map(pairs) => {
            let mut pairs: Vec<_> = pairs.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by_key(|(key, _)| encoded(key));
            Value::Map(pairs)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

pub(crate) fn encoded(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).expect("memory");
    bytes
}

pub(crate) fn text_body(text: &str) -> Value {
    map(vec![("msg", text.into())])
}

pub(crate) fn echo(data: &str) -> Value {
    map(vec![("op", "echo".into()), ("data", data.into())])
}

pub(crate) fn hello() -> Value {
    map(vec![("versions", Value::Array(vec!["1.0".into()]))])
}

pub(crate) fn amp_core() -> &'static dyn Implementation {
    proofmark_reference::find("amp-core").expect("a row")
}

/// An agent with a control endpoint.
pub(crate) fn config() -> Config {
    set(amp_core().config(), &[("role", "agent"), ("control", "on")])
}

/// The configuration with settings.
pub(crate) fn set(mut config: Config, settings: &[(&str, &str)]) -> Config {
    for (name, value) in settings {
        config.set(name, value).expect("a valid setting");
    }
    config
}

pub(crate) async fn start(config: Config) -> Handle {
    amp_core().serve(config).await.expect("the server starts")
}

/// Where its HTTP listener is.
pub(crate) fn address(handle: &Handle) -> SocketAddr {
    handle.socket("http").expect("it listens")
}

/// Where its WebSocket endpoint is.
pub(crate) fn ws_url(handle: &Handle) -> &str {
    handle.url("ws").expect("it listens")
}

/// The DID of the node.
pub(crate) fn did(handle: &Handle) -> &str {
    handle.fact("did").expect("a DID")
}

/// One HTTP exchange on a connection of its own: status, head and body.
pub(crate) async fn http(address: SocketAddr, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await.expect("written");
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("in time").expect("read");
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let status = std::str::from_utf8(&answer[9..12]).expect("ASCII").parse().expect("a status");
    (status, answer[end..].to_vec())
}

/// Posts a message; the status and the replies.
pub(crate) async fn post(address: SocketAddr, message: &[u8]) -> (u16, Vec<Got>) {
    let (status, body) = http(address, "POST", "/amp/v1/messages", "Content-Type: application/cbor\r\n", message).await;
    let replies = if body.is_empty() { Vec::new() } else { Got::read(&body).unpacked() };
    (status, replies)
}

/// Polls as `party`: messages, next cursor, and has_more.
pub(crate) async fn poll(address: SocketAddr, party: &Party, query: &str) -> (Vec<Vec<u8>>, Option<String>, bool) {
    let header = format!("X-Principal-Did: {}\r\n", party.did);
    let (status, body) = http(address, "GET", &format!("/amp/v1/messages{query}"), &header, b"").await;
    assert_eq!(status, 200);
    let page: Value = ciborium::from_reader(&body[..]).expect("CBOR");
    let messages = member(&page, "messages").and_then(Value::as_array).expect("messages");
    let messages = messages.iter().map(|message| message.as_bytes().expect("bytes").clone()).collect();
    let cursor = member(&page, "next_cursor").and_then(Value::as_text).map(str::to_owned);
    (messages, cursor, member(&page, "has_more").and_then(Value::as_bool).expect("has_more"))
}

/// A control request.
pub(crate) async fn control(address: SocketAddr, request: &serde_json::Value) -> serde_json::Value {
    let (status, body) = http(address, "POST", "/amp/v1/control", "", request.to_string().as_bytes()).await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).expect("JSON")
}

/// A connection with framing.
#[derive(Debug)]
pub(crate) struct Frames(pub(crate) TcpStream);

impl Frames {
    pub(crate) async fn connect(handle: &Handle) -> Self {
        let address = handle.socket("tcp").expect("TCP is on");
        Self(TcpStream::connect(address).await.expect("the server listens"))
    }

    pub(crate) async fn send(&mut self, kind: u8, payload: &[u8]) {
        let length = u32::try_from(payload.len() + 1).expect("small").to_be_bytes();
        self.0.write_all(&[&length[..], &[kind], payload].concat()).await.expect("written");
    }

    /// The next frame; `None` at the end.
    pub(crate) async fn receive(&mut self) -> Option<(u8, Vec<u8>)> {
        let length = timeout(PATIENCE, self.0.read_u32()).await.expect("in time").ok()?;
        let mut frame = vec![0; length.try_into().expect("small")];
        timeout(PATIENCE, self.0.read_exact(&mut frame)).await.expect("in time").ok()?;
        Some((frame[0], frame[1..].to_vec()))
    }

    /// Connection, handshake and HELLO.
    pub(crate) async fn open(handle: &Handle, party: &Party) -> Self {
        let mut frames = Self::connect(handle).await;
        let shake =
            map(vec![("version", 1.into()), ("max_msg_size", 1_048_576.into()), ("did", party.did.as_str().into())]);
        frames.send(2, &encoded(&shake)).await;
        let (kind, payload) = frames.receive().await.expect("a handshake");
        let response: Value = ciborium::from_reader(&payload[..]).expect("CBOR");
        assert_eq!((kind, member(&response, "accepted").and_then(Value::as_bool)), (2, Some(true)));
        let greeting = party.message(did(handle), HELLO, hello());
        let ack = frames.exchange(&greeting.bytes).await;
        assert_eq!((ack.typ(), ack.reply_to()), (HELLO_ACK, greeting.id));
        frames
    }

    pub(crate) async fn exchange(&mut self, message: &[u8]) -> Got {
        self.send(1, message).await;
        self.message().await
    }

    pub(crate) async fn message(&mut self) -> Got {
        let (kind, payload) = self.receive().await.expect("a frame");
        assert_eq!(kind, 1, "{}", String::from_utf8_lossy(&payload));
        Got::read(&payload)
    }
}
