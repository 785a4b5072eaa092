//! Exchanges: what was sent and what came back, as bytes.
//!
//! An exchange knows no protocol and no expectation; `protocol` decodes it and `judge` looks at it. Exchanges are
//! stored whole in the record, so that a run can be judged again without the target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::Value;

/// The bytes of a message body: as text where they are UTF-8, as lower-case hex otherwise.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Body(pub Vec<u8>);

impl Body {
    /// The body as text, if it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.text() {
            Some(text) => write!(f, "Body({text:?})"),
            None => write!(f, "Body({} bytes)", self.len()),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum BodyForm {
    /// The body, which is UTF-8.
    Text(String),
    /// The body in lower-case hex, because it is not UTF-8.
    Hex(String),
}

impl Serialize for Body {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            Some(text) => BodyForm::Text(text.to_owned()),
            None => BodyForm::Hex(data_encoding::HEXLOWER.encode(&self.0)),
        }
        .serialize(serializer)
    }
}

/// Covers every occurrence of a secret with asterisks, and leaves every length as it is.
pub fn mask(bytes: &mut [u8], secret: &[u8]) {
    let mut from = 0;
    while let Some(at) = bytes[from..].windows(secret.len().max(1)).position(|window| window == secret) {
        bytes[from + at..][..secret.len()].fill(b'*');
        from += at + secret.len();
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match BodyForm::deserialize(deserializer)? {
            BodyForm::Text(text) => Ok(Self(text.into_bytes())),
            BodyForm::Hex(hex) => {
                data_encoding::HEXLOWER.decode(hex.as_bytes()).map(Self).map_err(serde::de::Error::custom)
            }
        }
    }
}

impl JsonSchema for Body {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Body".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BodyForm::json_schema(generator)
    }
}

/// A message as it left proofmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outgoing {
    /// What carries it.
    pub transport: Transport,
    /// HTTP method, or the JSON-RPC method name.
    pub method: String,
    /// Full URL, or the empty string where the transport has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Header fields in the order sent, secrets replaced by `<redacted>` in a stored record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    pub body: Body,
}

/// What is done with a connection that stays open.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Move {
    /// The body is sent as one message; the connection is opened first where there is none.
    #[default]
    Message,
    /// A connection is opened, in the place of one that there is.
    Open,
    /// The body is sent as the payload of a frame: with this type byte over TCP, with this opcode over WebSocket.
    Frame(u8),
    /// The bytes of the body are sent as they are.
    Raw,
    /// Nothing is sent; what comes is waited for.
    Listen,
    /// The connection is closed in good order, over WebSocket with this code.
    Close(u16),
    /// The sending half is closed.
    HalfClose,
    /// The connection is reset.
    Reset,
    /// A request that tells the target to send something, which is listened for.
    Summon(Summons),
}

/// How something that the target is told to send is listened for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summons {
    /// What it is to come over.
    pub via: Transport,
    /// How it is treated.
    pub peer: Peer,
    /// What a request that fetches gets as the body of its answer; empty if there is nothing to fetch.
    pub held: Vec<u8>,
}

/// How proofmark behaves as the peer that a target sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// It says that the message has come.
    Accept,
    /// It reads the message and ends the connection without a word.
    Cut,
    /// It reads the message and says nothing.
    Silent,
}

/// A message in bytes, before a transport has addressed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// What carries it.
    pub transport: Transport,
    /// What is done, where the transport keeps connections open.
    pub action: Move,
    /// Name of the operation.
    pub operation: String,
    /// HTTP method or adapter method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// Bytes of the body, or of the payload of an adapter call.
    pub body: Vec<u8>,
    /// Parameters of an adapter call.
    pub params: Vec<(String, Value)>,
    /// The parameter of an adapter call that carries `body` in hex.
    pub payload: Option<String>,
}

/// The means by which bytes reach a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// HTTP/1.1 or HTTP/2.
    Http,
    /// Messages over WebSocket.
    Ws,
    /// Frames over TCP.
    Tcp,
    /// A library behind JSON-RPC on stdin and stdout.
    Adapter,
}

impl Transport {
    /// Every transport, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Http, Self::Ws, Self::Tcp, Self::Adapter];

    /// Its name in suites, ids of cases and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Ws => "ws",
            Self::Tcp => "tcp",
            Self::Adapter => "adapter",
        }
    }

    /// The kind of target that is reached by it: `endpoint` or `adapter`.
    pub fn kind(self) -> &'static str {
        if self == Self::Adapter { "adapter" } else { "endpoint" }
    }

    /// Whether a word in a suite, the name of a transport or of a kind of target, means it.
    pub fn is_meant_by(self, word: &str) -> bool {
        word == self.name() || word == self.kind()
    }

    /// Whether messages of both sides share a connection that stays open, so that an answer may be several of them.
    pub fn is_channel(self) -> bool {
        matches!(self, Self::Ws | Self::Tcp)
    }

    /// The end that tells the id of a case over this transport from that of the same case over HTTP.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Http => "",
            Self::Ws => "@ws",
            Self::Tcp => "@tcp",
            Self::Adapter => "@adapter",
        }
    }
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The whole answer arrived.
    Complete,
    /// The answer was longer than proofmark reads; the rest was left unread.
    TooLong,
    /// The time limit passed first.
    TimedOut,
    /// The connection closed, or broke the framing, before the answer was whole. The text says how.
    Closed(String),
    /// There was no connection at all. The text says why.
    Unreachable(String),
}

/// Something that arrived on its own: a message of a connection that stays open, or one that was fetched later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arrival {
    /// What it came as: `ws-binary`, `ws-text`, `ws-ping`, `ws-pong`, `ws-close`, `tcp-frame`, `polled` or `called-back`.
    pub kind: String,
    /// Type byte of a TCP frame, code of a WebSocket close.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The bytes.
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    pub body: Body,
    /// Milliseconds after the first byte of the message that it may be an answer to.
    pub at_ms: u64,
}

impl Arrival {
    /// Whether it only keeps a connection alive, or answers what does: a control frame of a WebSocket (RFC 6455 section 5.5), or
    /// PING and PONG over TCP (RFC 002 section 4.3). Such a one may come at any time, and is no answer to a message.
    pub fn is_keep_alive(&self) -> bool {
        self.is_ping() || matches!((self.kind.as_str(), self.code), ("ws-pong", _) | ("tcp-frame", Some(4)))
    }

    /// Whether it asks whether the connection is alive, which answers nothing, whatever was said.
    pub fn is_ping(&self) -> bool {
        matches!((self.kind.as_str(), self.code), ("ws-ping", _) | ("tcp-frame", Some(3)))
    }
}

/// An answer as it arrived, however far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incoming {
    /// HTTP status, or `None` if no status line came or the transport has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Header fields in the order received; bytes outside UTF-8 are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The bytes of the body that arrived.
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    pub body: Body,
    /// What arrived besides, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrived: Vec<Arrival>,
    /// How it ended.
    pub ended: Ended,
}

impl Incoming {
    /// Nothing at all, and why.
    pub fn nothing(ended: Ended) -> Self {
        Self { status: None, headers: Vec::new(), body: Body::default(), arrived: Vec::new(), ended }
    }
}

impl Incoming {
    /// The first value of the header `name`, in any letter case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// One message and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// The step of the case that made it, counted from 0 over the steps as they are run.
    pub step: usize,
    /// Which repetition of the step this is, from 0: a race, `until` and `quiet` make several.
    #[serde(default)]
    pub round: usize,
    /// The party that proofmark played.
    pub actor: String,
    /// The operation of the protocol, or `request` for a raw one.
    pub operation: String,
    /// What was sent.
    pub sent: Outgoing,
    /// What came back.
    pub received: Incoming,
    /// Milliseconds between the start of the run and the first byte sent.
    pub started_ms: u64,
    /// Milliseconds between the first byte sent and the last byte read.
    pub elapsed_ms: u64,
}
