//! The channel profile of a protocol: how connections that stay open are opened and framed.
//!
//! Plain data, so that transports are independent of protocols. A protocol supplies it after the target file is read
//! (`protocol::complete`).

use crate::exchange::{Arrival, ArrivalKind, Transport};

/// How a protocol uses connections that stay open, and what it expects of a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelProfile {
    /// Messages over WebSocket.
    pub ws: WsProfile,
    /// Frames over TCP.
    pub tcp: TcpProfile,
    /// Messages that reach a listener of proofmark over HTTP.
    pub http: HttpProfile,
    /// The URL schemes of the protocol.
    pub schemes: &'static [UrlScheme],
}

/// The form of messages over WebSocket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WsProfile {
    /// Path of the endpoint below the URL of its party. Without a path an endpoint has no default address.
    pub path: Option<String>,
    /// The subprotocol that the client offers and the server selects; none if `None`.
    pub subprotocol: Option<String>,
    /// The form of one message.
    pub messages: WsMessages,
}

/// The form of one message over WebSocket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WsMessages {
    /// A binary message.
    #[default]
    Binary,
    /// A text message.
    Text,
}

/// The form of messages over TCP: frames with a length prefix of four bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpProfile {
    /// Type bytes, which follow the length; `None` if frames have no type.
    pub types: Option<FrameTypes>,
    /// Length in bytes that no frame may exceed, whatever the two sides have agreed. A longer one is broken framing; one that is
    /// only longer than proofmark reads decides nothing.
    pub longest: Option<u64>,
}

/// The type bytes of frames over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTypes {
    /// A message.
    pub message: u8,
    /// A ping.
    pub ping: Option<u8>,
    /// The answer to a ping.
    pub pong: Option<u8>,
}

/// How messages reach a listener of proofmark over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpProfile {
    /// Path that messages are sent to.
    pub path: String,
    /// Media type of the messages.
    pub media_type: String,
}

impl Default for HttpProfile {
    fn default() -> Self {
        Self { path: "/".to_owned(), media_type: "application/json".to_owned() }
    }
}

/// A URL scheme that belongs to one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlScheme {
    /// The scheme, in lower case.
    pub name: &'static str,
    /// The transport of the scheme.
    pub transport: Transport,
    /// Whether it uses TLS.
    pub tls: bool,
}

impl ChannelProfile {
    /// The scheme of a TCP address: that of the protocol, or `tcp`.
    pub fn tcp_scheme(&self, tls: bool) -> &'static str {
        let own = self.schemes.iter().find(|scheme| scheme.transport == Transport::Tcp && scheme.tls == tls);
        own.map_or("tcp", |scheme| scheme.name)
    }

    /// Whether an arrival is a keep-alive or the answer to one: a control frame of WebSocket (RFC 6455 section 5.5), or a TCP
    /// frame of a type that the protocol reserves for it. It may arrive at any time and is not an answer to a message.
    pub fn is_keep_alive(&self, arrival: &Arrival) -> bool {
        let pong = self.tcp.types.and_then(|types| types.pong);
        self.is_ping(arrival) || arrival.kind == ArrivalKind::WsPong || is_frame(arrival, pong)
    }

    /// Whether an arrival is a ping.
    pub fn is_ping(&self, arrival: &Arrival) -> bool {
        arrival.kind == ArrivalKind::WsPing || is_frame(arrival, self.tcp.types.and_then(|types| types.ping))
    }
}

fn is_frame(arrival: &Arrival, kind: Option<u8>) -> bool {
    kind.is_some() && arrival.kind == ArrivalKind::TcpFrame && arrival.code == kind.map(u16::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Body;

    #[test]
    fn only_the_types_of_the_protocol_keep_a_connection_alive() {
        let arrival =
            |kind: ArrivalKind, code| Arrival { kind, code, body: Body::default(), at_ms: 0, host: String::new() };
        let types = Some(FrameTypes { message: 1, ping: Some(3), pong: Some(4) });
        let typed = ChannelProfile { tcp: TcpProfile { types, ..TcpProfile::default() }, ..ChannelProfile::default() };
        let bare = ChannelProfile::default();
        for (kind, code, ping, keep_alive) in [
            (ArrivalKind::WsPing, None, true, true),
            (ArrivalKind::WsPong, None, false, true),
            (ArrivalKind::WsBinary, None, false, false),
            (ArrivalKind::TcpFrame, Some(3), true, true),
            (ArrivalKind::TcpFrame, Some(4), false, true),
            (ArrivalKind::TcpFrame, Some(1), false, false),
            (ArrivalKind::TcpFrame, None, false, false),
        ] {
            let arrival = arrival(kind, code);
            assert_eq!((typed.is_ping(&arrival), typed.is_keep_alive(&arrival)), (ping, keep_alive), "{kind} {code:?}");
            let control = matches!(kind, ArrivalKind::WsPing | ArrivalKind::WsPong);
            assert_eq!(bare.is_keep_alive(&arrival), control, "{kind} {code:?}");
        }
    }
}
