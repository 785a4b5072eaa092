//! Exchanges: sent messages and their answers, as bytes.
//!
//! Exchanges are independent of protocols and expectations; `protocol` decodes them and `judge` checks them. Exchanges
//! are stored whole in the record, so that a run can be judged again without the target.

mod body;
mod hosted;
mod shared;
#[cfg(test)]
pub mod testing;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spelling::Spelling;
use crate::value::Value;

pub use body::{Body, mask};
pub use hosted::{HostArrival, HostReply, HostUrls, Hosted, HostedKind, Stray};
pub use shared::Exchanges;

/// A message as it left proofmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outgoing {
    /// What carries it.
    pub transport: Transport,
    /// HTTP method, or the JSON-RPC method name.
    pub method: String,
    /// Full URL, or the empty string for transports without URLs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Header fields in the order sent, secrets replaced by `<redacted>` in a stored record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    pub body: Body,
}

/// An action on a connection that stays open.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ChannelAction {
    /// Sends the body as one message; opens the connection first if needed.
    #[default]
    Message,
    /// Opens a connection, which replaces an existing one.
    Open,
    /// The body is sent as the payload of a frame: with this type byte over TCP, with this opcode over WebSocket.
    Frame(u8),
    /// The bytes of the body are sent as they are.
    Raw,
    /// Sends nothing and waits for messages.
    Listen,
    /// Closes the connection cleanly, over WebSocket with this code.
    Close(u16),
    /// The sending half is closed.
    HalfClose,
    /// The connection is reset.
    Reset,
    /// Sends the body of a request in pieces, spread over this many milliseconds.
    Paced(u64),
    /// A request that makes the target send a message, and a listener for that message.
    Summon(Summons),
    /// Something is done with files of a tree that the target shares.
    Tree(TreeAction),
    /// Something is done with a repository that proofmark makes for a case.
    Repository(RepositoryAction),
}

/// An action on a repository of the run, which the target works on and proofmark inspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryAction {
    /// Makes a repository.
    Make,
    /// Makes a repository with work on its branch, and a file with the difference.
    MakeWorked,
    /// The same, with work that is wrong in ten lines.
    MakeDefective,
    /// Makes a folder that is not a repository.
    MakeFolder,
    /// Reads its branches, commits and files.
    Read,
}

/// An action on files of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeAction {
    /// A file is written that must not be there yet: answered by 201, or by 409 if it is.
    Write,
    /// A file is written, in the place of one that may be there: answered by 201.
    Replace,
    /// A line is appended to a file: answered by 201.
    Append,
    /// Reads the files whose paths match: status 200, or 404 if no file matches.
    Read,
    /// The same, repeated until the expectations of the step hold or its time is over.
    Await,
}

impl TreeAction {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Read => "read",
            Self::Await => "await",
        }
    }

    /// Whether it changes the tree.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Replace | Self::Append)
    }
}

/// How to receive a message that the target was requested to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summons {
    /// The transport on which it is expected.
    pub via: Transport,
    /// The behaviour of the receiving peer.
    pub peer: Peer,
    /// The body of the answer to a request that fetches messages; empty if there are none.
    pub held: Vec<u8>,
}

/// How proofmark behaves as the peer that a target sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// It acknowledges the message.
    Accept,
    /// It reads the message and closes the connection without an answer.
    Cut,
    /// It reads the message and does not answer.
    Silent,
}

/// A message in bytes, before a transport has addressed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// What carries it.
    pub transport: Transport,
    /// The action, for transports with connections that stay open.
    pub action: ChannelAction,
    /// Name of the base URL of the target; `None` for the default one.
    pub base: Option<String>,
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
    /// How it is written, if not in the usual way.
    pub spelling: Option<Spelling>,
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
    /// Files in a directory or a git work tree.
    Tree,
    /// A library behind JSON-RPC on stdin and stdout.
    Adapter,
}

impl Transport {
    /// Every transport, in the order in which they are tried.
    pub const ALL: [Self; 5] = [Self::Http, Self::Ws, Self::Tcp, Self::Tree, Self::Adapter];

    /// Its name in suites, ids of cases and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Ws => "ws",
            Self::Tcp => "tcp",
            Self::Tree => "tree",
            Self::Adapter => "adapter",
        }
    }

    /// What is reached over it: an endpoint, or a library behind an adapter.
    pub fn reaches(self) -> TargetClass {
        if self == Self::Adapter { TargetClass::Adapter } else { TargetClass::Endpoint }
    }

    /// Whether a word in a suite (the name of a transport or of a kind of target) selects it.
    pub fn is_meant_by(self, word: &str) -> bool {
        word == self.name() || word == self.reaches().name()
    }

    /// Whether messages of both sides share a connection that stays open, so that an answer may be several of them.
    pub fn is_channel(self) -> bool {
        matches!(self, Self::Ws | Self::Tcp)
    }

    /// The suffix of case ids over this transport; empty for HTTP.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Http => "",
            Self::Ws => "@ws",
            Self::Tcp => "@tcp",
            Self::Tree => "@tree",
            Self::Adapter => "@adapter",
        }
    }
}

/// What a run tests: where the messages of proofmark go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetClass {
    /// Something that is reached over a network, or through files.
    Endpoint,
    /// A library behind an adapter.
    Adapter,
    /// The embedded reference implementation.
    Reference,
}

impl TargetClass {
    /// Its name in suites and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Adapter => "adapter",
            Self::Reference => "reference",
        }
    }
}

impl std::fmt::Display for TargetClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
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
    /// The connection was closed, or the framing was invalid, before the answer was complete. The text describes the
    /// cause.
    Closed(String),
    /// The connection could not be established. The text describes the cause.
    Unreachable(String),
    /// The message was not sent, because the peer had closed the connection after an earlier answer, as it may after a
    /// rejection: this shows nothing about the target. The text says how the connection was closed.
    NotSent(String),
}

/// How a message arrived that is not the response to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalKind {
    /// A request for a WebSocket connection.
    WsUpgrade,
    /// A binary WebSocket message.
    WsBinary,
    /// A WebSocket text message.
    WsText,
    /// A WebSocket ping.
    WsPing,
    /// A WebSocket pong.
    WsPong,
    /// A WebSocket close.
    WsClose,
    /// A frame over TCP.
    TcpFrame,
    /// A page that was fetched from a mailbox of the target.
    Polled,
    /// A request to a listener of proofmark.
    CalledBack,
}

impl ArrivalKind {
    /// Its name in observations and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::WsUpgrade => "ws-upgrade",
            Self::WsBinary => "ws-binary",
            Self::WsText => "ws-text",
            Self::WsPing => "ws-ping",
            Self::WsPong => "ws-pong",
            Self::WsClose => "ws-close",
            Self::TcpFrame => "tcp-frame",
            Self::Polled => "polled",
            Self::CalledBack => "called-back",
        }
    }
}

impl std::fmt::Display for ArrivalKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that arrived on its own: a message of a connection that stays open, or one that was fetched later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arrival {
    /// How it arrived.
    pub kind: ArrivalKind,
    /// Type byte of a TCP frame, code of a WebSocket close.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The bytes.
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    pub body: Body,
    /// Milliseconds after the first byte of the message that it may be an answer to.
    pub at_ms: u64,
    /// The host of the run that it arrived at, if it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
}

/// An answer as it arrived, possibly incomplete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incoming {
    /// HTTP status, or `None` if no status line arrived or the transport has none.
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
    /// An empty answer, with the reason.
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

impl Exchange {
    /// Whether it holds a message. The record of a message that did not arrive at a host does not.
    pub fn is_message(&self) -> bool {
        self.hosted.as_ref().is_none_or(|hosted| hosted.kind.is_arrival())
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
    /// The sent message.
    pub sent: Outgoing,
    /// The answer.
    pub received: Incoming,
    /// Milliseconds between the start of the run and the first byte sent.
    pub started_ms: u64,
    /// Milliseconds between the first byte sent and the last byte read.
    pub elapsed_ms: u64,
    /// The additional data of a message that the target sent to a host of proofmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted: Option<Hosted>,
    /// How far cases had advanced the clock of the target when it was sent, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clock_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires this signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
