//! WebSocket (RFC 002, 5): one binary message is one AMP message.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Duration, timeout};
use tokio_tungstenite::tungstenite;

use super::reply::{empty, principal, text};
use super::server::{IDLE_DEADLINE, MESSAGE_LIMIT, SLACK, Server};
use crate::amp_core::codes::Code;
use crate::amp_core::node::channel::{Carrier, Channel};
use crate::fault::planted;

/// The subprotocol (5.1).
const SUBPROTOCOL: &str = "amp.v1";

/// The header with the maximum size of a message, in bytes (5.3).
const MAX_SIZE: &str = "x-amp-max-message-size";

/// How long a rejected connection stays open, so that the reason arrives before a reset.
const LINGER: Duration = Duration::from_millis(300);

/// Bytes of a connection that are read at once. The buffer is cleared before each read, and most messages are short.
const READ_BUFFER: usize = 8 << 10;

/// The timeout of writing one message.
const SEND_DEADLINE: Duration = Duration::from_secs(30);

/// 5.1: the upgrade.
pub(super) async fn upgrade(
    State(server): State<Server>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response<Body> {
    let principal = match principal(&server, &headers) {
        Ok(principal) => principal.filter(|_| !server.tokens.is_empty()),
        Err(status) => return empty(status),
    };
    let Ok(upgrade) = upgrade else { return empty(StatusCode::UPGRADE_REQUIRED) };
    let upgrade = upgrade.protocols([SUBPROTOCOL]);
    // 5.1: only amp.v1.
    if upgrade.selected_protocol().is_none() && !server.node.rules().fault.is("ws-subprotocol-ignored") {
        return text(StatusCode::BAD_REQUEST, "text/plain", "the subprotocol is amp.v1\n");
    }
    let Ok(permit) = Arc::clone(&server.connections).try_acquire_owned() else {
        return empty(StatusCode::SERVICE_UNAVAILABLE);
    };
    // 5.3, E77: in bytes, declared by both sides; without a declaration the minimum limit applies.
    let wanted = headers.get(MAX_SIZE).and_then(|value| value.to_str().ok()).and_then(|value| value.parse().ok());
    let peer_limit = wanted.unwrap_or(MESSAGE_LIMIT);
    let upgrade = upgrade.max_message_size(MESSAGE_LIMIT + SLACK).max_frame_size(MESSAGE_LIMIT + SLACK);
    let upgrade = upgrade.read_buffer_size(READ_BUFFER);
    let mut response = upgrade.on_upgrade(move |socket| Session { server, peer_limit, permit }.run(socket, principal));
    response.headers_mut().insert(MAX_SIZE, HeaderValue::from(MESSAGE_LIMIT));
    response
}

struct Session {
    server: Server,
    /// The largest message that the peer takes.
    peer_limit: usize,
    permit: OwnedSemaphorePermit,
}

impl Session {
    async fn run(self, mut socket: WebSocket, principal: Option<String>) {
        let (channel, mut outgoing) = self.server.node.connection(Carrier::WebSocket, principal);
        let ended = self.serve_messages(&mut socket, &channel, &mut outgoing).await;
        if let Err(Some((code, reason))) = ended {
            let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
            if timeout(SEND_DEADLINE, socket.send(close)).await.is_ok() {
                // The answer to the close, or data that the peer was still sending.
                let drained = async { while let Some(Ok(_)) = socket.recv().await {} };
                timeout(LINGER, drained).await.ok();
            }
        }
        drop(self.permit);
    }

    /// Serves until the peer goes (`Ok`), or there is a reason to close (`Err`).
    async fn serve_messages(
        &self,
        socket: &mut WebSocket,
        channel: &Channel,
        outgoing: &mut mpsc::Receiver<Bytes>,
    ) -> Result<(), Option<(u16, &'static str)>> {
        loop {
            let received = tokio::select! {
                received = timeout(IDLE_DEADLINE, socket.recv()) => received,
                Some(message) = outgoing.recv() => {
                    self.send(socket, message).await?;
                    continue;
                }
                () = self.server.stopped() => return Err(Some((close_code::AWAY, "the server ends"))),
            };
            let message = match received {
                Err(_) => return Err(Some((close_code::NORMAL, "idle"))),
                Ok(None) => return Ok(()),
                Ok(Some(Err(error))) => return Err(reason(error)),
                Ok(Some(Ok(Message::Close(_)))) => {
                    // The library answers while it is read from; nothing more may be sent (5.4), queued or not.
                    let drained = async { while let Some(Ok(_)) = socket.recv().await {} };
                    timeout(LINGER, drained).await.ok();
                    return Ok(());
                }
                Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue, // 5.3: answered by the library
                Ok(Some(Ok(Message::Binary(message)))) => message,
                // 5.2: text is refused.
                Ok(Some(Ok(Message::Text(text)))) if self.takes_text() => as_bytes(&text),
                Ok(Some(Ok(Message::Text(_)))) => return Err(Some((close_code::UNSUPPORTED, "messages are binary"))),
            };
            self.exchange(socket, channel, message).await?;
        }
    }

    fn takes_text(&self) -> bool {
        self.server.node.rules().fault.is("ws-text-accepted")
    }

    async fn exchange(
        &self,
        socket: &mut WebSocket,
        channel: &Channel,
        message: Bytes,
    ) -> Result<(), Option<(u16, &'static str)>> {
        if message.len() > self.server.limit() {
            return Err(Some((close_code::SIZE, "the message is too large")));
        }
        let taken = self.server.node.take(message, channel).await;
        for reply in &taken.replies {
            self.send(socket, reply.clone()).await?;
        }
        match taken.refusal {
            // RFC 002, A.7: a peer that sends a message before HELLO may be disconnected.
            Some(_) if taken.close => Err(Some((close_code::POLICY, "refused"))),
            // E32: where no ERROR can be addressed, the close is the answer.
            Some(Code::InvalidMessage) if taken.replies.is_empty() && !taken.silent => {
                Err(Some((close_code::PROTOCOL, "not an AMP message")))
            }
            _ => Ok(()), // answered, or no reply
        }
    }

    async fn send(&self, socket: &mut WebSocket, message: Bytes) -> Result<(), Option<(u16, &'static str)>> {
        // 5.3: never more than the limit of the peer. Queued messages can still be polled.
        if message.len() > self.peer_limit {
            return Ok(());
        }
        // 5.2: messages are binary.
        let mut message = Message::Binary(message);
        planted!(self.server.node.rules().fault, "ws-text-replies", message = as_text(message));
        match timeout(SEND_DEADLINE, socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(None), // the peer has disconnected or does not read
        }
    }
}

/// The message that a text is, which the protocol does not have.
fn as_bytes(text: &str) -> Bytes {
    crate::amp_core::node::from_hex(text).unwrap_or_else(|| text.as_bytes().to_vec()).into()
}

/// A message as a text.
fn as_text(message: Message) -> Message {
    Message::Text(crate::amp_core::node::to_hex(&message.into_data()).into())
}

/// 5.4: the close code after an error on the wire; `None` if the connection is closed.
fn reason(error: axum::Error) -> Option<(u16, &'static str)> {
    match error.into_inner().downcast::<tungstenite::Error>().as_deref() {
        Ok(tungstenite::Error::Capacity(_)) => Some((close_code::SIZE, "the message is too large")),
        Ok(tungstenite::Error::Utf8(_)) => Some((close_code::INVALID, "text is UTF-8")),
        Ok(tungstenite::Error::Protocol(_)) => Some((close_code::PROTOCOL, "framing")),
        _ => None, // closed, or an error of the socket
    }
}
