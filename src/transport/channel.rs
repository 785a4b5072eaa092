//! Channels: connections whose messages are not strictly requests and responses.
//!
//! Misbehaviour of a peer on a channel is an observation, never an error: an early end, excess data, invalid framing.
//! Every wait has a deadline, and everything that is kept of a peer is bounded by [`Bounds`].

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

/// A message, or a control frame, that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// What carried it.
    pub kind: ArrivalKind,
    /// Its bytes: the message, the payload of the frame, the body of the request, the reason of a WebSocket close.
    pub body: Vec<u8>,
    /// When its last byte was read: milliseconds since the instant that the owner of the channel gave.
    pub at_ms: u64,
}

/// What carried an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalKind {
    /// A binary WebSocket message, its fragments joined.
    WsBinary,
    /// A WebSocket text message, its fragments joined. UTF-8 is checked by the reader of the body.
    WsText,
    /// A WebSocket ping.
    WsPing,
    /// A WebSocket pong.
    WsPong,
    /// A WebSocket close, with its code if it has one (RFC 6455 section 7.4). The channel has ended with it.
    WsClose(Option<u16>),
    /// A frame on TCP, with its type byte.
    TcpFrame(u8),
    /// A frame on TCP, for framing without a type byte.
    TcpBare,
    /// A request to a listener.
    HttpRequest {
        /// Its method.
        method: String,
        /// Path and query of the request line.
        target: String,
        /// Header fields in the order received; bytes outside UTF-8 are shown as U+FFFD.
        headers: Vec<(String, String)>,
    },
}

/// What can be sent on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireItem {
    /// A binary message in one WebSocket frame.
    WsBinary(Vec<u8>),
    /// A text message in one WebSocket frame.
    WsText(String),
    /// A WebSocket ping.
    WsPing(Vec<u8>),
    /// A WebSocket pong.
    WsPong(Vec<u8>),
    /// A WebSocket close, with or without a code, and without a reason.
    WsClose(Option<u16>),
    /// A frame on TCP.
    TcpFrame {
        /// The type byte.
        kind: u8,
        /// What follows it.
        payload: Vec<u8>,
    },
    /// A frame on TCP without a type byte.
    TcpBare(Vec<u8>),
    /// A WebSocket message in several frames, in writes of these sizes.
    WsFragments {
        /// Whether it is a text message.
        text: bool,
        /// The payloads of the frames.
        parts: Vec<Vec<u8>>,
        /// The sizes of the writes; empty for one.
        writes: Vec<usize>,
    },
    /// A frame on TCP, with or without a type byte, in writes of these sizes.
    TcpWrites {
        /// The type byte.
        kind: Option<u8>,
        /// What follows it.
        payload: Vec<u8>,
        /// The sizes of the writes.
        writes: Vec<usize>,
    },
    /// Raw bytes, written without framing.
    Raw(Vec<u8>),
    /// Bytes as they are, a few at a time.
    Slow {
        /// All of them.
        bytes: Vec<u8>,
        /// The size of a chunk; 0 counts as 1.
        chunk: usize,
        /// The pause between two chunks.
        pause: Duration,
    },
    /// Closes the sending direction, while the other one stays open: FIN, over TLS after a `close_notify`.
    HalfClose,
    /// Closes both directions immediately: RST.
    Reset,
}

impl WireItem {
    /// Its name in messages and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WsBinary(_) => "a binary WebSocket message",
            Self::WsText(_) => "a WebSocket text message",
            Self::WsPing(_) => "a WebSocket ping",
            Self::WsPong(_) => "a WebSocket pong",
            Self::WsClose(_) => "a WebSocket close",
            Self::TcpFrame { .. } => "a typed frame",
            Self::TcpBare(_) => "a frame without a type",
            Self::WsFragments { .. } => "a WebSocket message in several frames",
            Self::TcpWrites { .. } => "a frame in several writes",
            Self::Raw(_) | Self::Slow { .. } => "raw bytes",
            Self::HalfClose => "the end of one direction",
            Self::Reset => "a reset",
        }
    }
}

/// The result of waiting for an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Something arrived.
    Arrived(Arrival),
    /// The deadline passed.
    Nothing,
    /// The channel has ended. Every later call returns this again.
    Ended(Ending),
    /// The peer announced, or sent, more than the limit of one message. Nothing is read after it: the next result is
    /// [`Ending::Overlong`].
    TooLong {
        /// The announced size of the message in bytes.
        declared: u64,
    },
}

/// How a channel ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The peer closed the stream between two frames, without a close frame.
    Finished,
    /// The peer ended the stream in the middle of a frame.
    Cut {
        /// The first bytes of the partial frame.
        rest: Vec<u8>,
        /// The number of received bytes.
        got: u64,
        /// The announced size of the frame, header included, if the header is complete.
        wanted: Option<u64>,
    },
    /// The peer reset the connection, or it failed. The text describes the cause.
    Reset(String),
    /// The peer closed the WebSocket.
    Closed {
        /// The code of its close frame.
        code: Option<u16>,
        /// The reason in it; bytes outside UTF-8 are shown as U+FFFD.
        reason: String,
    },
    /// The peer broke the framing.
    Broken {
        /// How.
        why: String,
        /// The start of the bytes that do.
        bytes: Vec<u8>,
    },
    /// A message was longer than is read.
    Overlong {
        /// The announced size in bytes.
        declared: u64,
    },
    /// The peer sent more, or more often, than is read on one channel.
    Flooded(String),
    /// The channel was ended on this side: by [`WireItem::Reset`], or by closing it and not waiting any longer.
    Here,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Finished => f.write_str("the connection was closed"),
            Self::Cut { got, wanted: Some(wanted), .. } => {
                write!(f, "the connection was closed after {got} bytes of a frame of {wanted}")
            }
            Self::Cut { got, wanted: None, .. } => {
                write!(f, "the connection was closed after {got} bytes of a frame")
            }
            Self::Reset(how) => write!(f, "the connection was lost: {how}"),
            Self::Closed { code: Some(code), reason } if reason.is_empty() => {
                write!(f, "the WebSocket was closed with {code}")
            }
            Self::Closed { code: Some(code), reason } => write!(f, "the WebSocket was closed with {code}: {reason}"),
            Self::Closed { code: None, .. } => f.write_str("the WebSocket was closed without a code"),
            Self::Broken { why, .. } => write!(f, "the framing is broken: {why}"),
            Self::Overlong { declared } => write!(f, "a message of {declared} bytes is longer than is read"),
            Self::Flooded(what) => write!(f, "too much arrived: {what}"),
            Self::Here => f.write_str("the connection was ended on this side"),
        }
    }
}

/// What closing a channel brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The remaining arrivals.
    pub arrivals: Vec<Arrival>,
    /// How it ended.
    pub ending: Ending,
}

/// Limits on the data read from a peer on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of one message.
    pub message: usize,
    /// Frames in all, control frames and fragments included.
    pub frames: u64,
    /// Bytes in all.
    pub bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { message: 8 << 20, frames: 100_000, bytes: 32 << 20 }
    }
}

impl Bounds {
    /// Size of the buffer of unread bytes: the longest message with its framing, and part of the next.
    pub(super) fn room(&self) -> usize {
        self.message.saturating_add(64 << 10)
    }
}

/// A connection with messages in both directions.
///
/// Writes are sequential, but incoming data is read during a write, so that neither
/// side waits for the other with full buffers, and so that an answer to half a message is not lost.
pub trait Channel: Send {
    /// Writes an item. Writing stops at the deadline; a partial write is not undone.
    ///
    /// # Errors
    /// It could not be written, or not in time: the peer has disconnected or does not read. The text describes the
    /// cause. Earlier arrivals can still be
    /// received.
    fn send(&mut self, item: WireItem, deadline: Instant) -> BoxFuture<'_, Result<(), String>>;

    /// Waits for the next arrival. Dropping the future loses no arrivals.
    fn receive(&mut self, deadline: Instant) -> BoxFuture<'_, Received>;

    /// Closes the channel according to its protocol, and waits until the deadline for the peer to do the same: a
    /// WebSocket by a close with `code`, plain TCP by closing the sending direction.
    fn close(&mut self, code: Option<u16>, deadline: Instant) -> BoxFuture<'_, Closing>;
}

/// Whole milliseconds from one instant to another.
pub(super) fn milliseconds(since: std::time::Instant, at: std::time::Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(since).as_millis()).unwrap_or(u64::MAX)
}

/// Maximum number of bytes kept as evidence of an invalid or truncated frame.
pub(super) const EVIDENCE: usize = 256;

/// The start of `bytes`, as evidence.
pub(super) fn evidence(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(EVIDENCE)].to_vec()
}

/// Counts the data of a peer against its limits.
#[derive(Debug)]
pub(super) struct Meter {
    bounds: Bounds,
    frames: u64,
    bytes: u64,
}

impl Meter {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, frames: 0, bytes: 0 }
    }

    /// Counts a frame of so many bytes. `Some` if that is too much.
    pub(super) fn count(&mut self, bytes: usize) -> Option<Ending> {
        self.frames += 1;
        self.count_more(bytes)
    }

    /// Counts bytes that belong to a frame which is counted.
    pub(super) fn count_more(&mut self, bytes: usize) -> Option<Ending> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.frames > self.bounds.frames {
            Some(Ending::Flooded(format!("more than {} frames", self.bounds.frames)))
        } else if self.bytes > self.bounds.bytes {
            Some(Ending::Flooded(format!("more than {} bytes", self.bounds.bytes)))
        } else {
            None
        }
    }
}
