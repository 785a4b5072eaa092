//! Messages that a target sends to a host of proofmark: a registry, a callback receiver, a next hop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The additional data of an exchange that is a message from the target to a host. `received` has its header fields and
/// its bytes, `sent` the reply of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Hosted {
    /// Name of the host.
    pub host: String,
    /// The kind of the message.
    pub kind: HostedKind,
    /// HTTP method.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Path and query of the request line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Type byte of a TCP frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
}

/// How a message reached a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostedKind {
    /// It timed out: fewer messages than expected arrived in time.
    #[default]
    Nothing,
    /// The fence, a later message of the case, arrived first.
    Fence,
    /// As an HTTP request.
    Http,
    /// As a request for a WebSocket. The body lists the subprotocols that it offers.
    WsUpgrade,
    /// As a binary message over WebSocket.
    WsBinary,
    /// As a text message over WebSocket.
    WsText,
    /// As a frame over TCP.
    TcpFrame,
}

impl HostedKind {
    /// Whether a message arrived.
    pub fn is_arrival(self) -> bool {
        !matches!(self, Self::Nothing | Self::Fence)
    }

    /// Its name in observations and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Fence => "fence",
            Self::Http => "http",
            Self::WsUpgrade => "ws-upgrade",
            Self::WsBinary => "ws-binary",
            Self::WsText => "ws-text",
            Self::TcpFrame => "tcp-frame",
        }
    }
}

/// A message that arrived at a host, before it belongs to a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostArrival {
    /// The host and the kind of the message.
    pub hosted: Hosted,
    /// Header fields in the order received.
    pub headers: Vec<(String, String)>,
    /// Its bytes.
    pub body: Vec<u8>,
    /// Whether the body was longer than is read, and was cut.
    pub is_cut: bool,
    /// When its last byte was read, in milliseconds after the start of the run.
    pub at_ms: u64,
}

/// The reaction of a host to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostReply {
    /// It replies. Over WebSocket and TCP only the body is sent, as one message; an empty one is not sent.
    Message {
        /// HTTP status.
        status: u16,
        /// HTTP header fields.
        headers: Vec<(String, String)>,
        /// The bytes.
        body: Vec<u8>,
    },
    /// It does not reply and keeps the connection open.
    Silence,
    /// It closes the connection without an answer.
    Close,
}

impl HostReply {
    /// An answer without a body.
    pub fn status(status: u16) -> Self {
        Self::Message { status, headers: Vec::new(), body: Vec::new() }
    }

    /// Its name in a record.
    pub fn name(&self) -> String {
        match self {
            Self::Message { status, .. } => format!("reply {status}"),
            Self::Silence => "silence".to_owned(),
            Self::Close => "close".to_owned(),
        }
    }
}

/// A message at a host that no step received, because it belongs to no case or arrived after the end of its case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stray {
    /// The host and the kind of the message.
    #[serde(flatten)]
    pub hosted: Hosted,
    /// The start of its bytes.
    #[serde(default, skip_serializing_if = "super::body::Body::is_empty")]
    pub body: super::body::Body,
    /// Milliseconds after the start of the run.
    pub at_ms: u64,
    /// Its case, if it arrived after the end of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
}

/// Where a host can be reached: URLs by transport.
pub type HostUrls = std::collections::BTreeMap<String, String>;
