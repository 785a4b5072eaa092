//! WebSocket (8.1, E78): one envelope is one text frame. Replies come in any order.

use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{Duration, timeout};

use super::server::{Server, empty, presented};
use crate::fault::planted;
use crate::json::{self, Value};
use crate::meshai::auth::Presented;
use crate::meshai::codes::Code;
use crate::meshai::node::{Answer, Arrival};
use crate::meshai::reply::Carrier;

/// The idle timeout of a connection.
const IDLE_DEADLINE: Duration = Duration::from_secs(600);

/// The timeout of writing a frame.
const SEND_DEADLINE: Duration = Duration::from_secs(30);

/// How many messages of a connection are carried out at once.
const OPEN_LIMIT: usize = 256;

/// The upgrade.
pub(super) async fn upgrade(
    State(server): State<Server>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response<Body> {
    let Ok(upgrade) = upgrade else { return empty(StatusCode::UPGRADE_REQUIRED) };
    let presented = presented(&headers);
    let limit = server.limit;
    upgrade.max_message_size(limit).max_frame_size(limit).on_upgrade(move |socket| converse(server, socket, presented))
}

async fn converse(server: Server, mut socket: WebSocket, presented: Presented) {
    let connection = server.number();
    let fault = server.node.rules().fault;
    let (replies, mut outgoing) = mpsc::channel::<Answer>(OPEN_LIMIT);
    let mut open = 0_usize;
    loop {
        let received = tokio::select! {
            received = timeout(IDLE_DEADLINE, socket.recv()) => received,
            Some(answer) = outgoing.recv() => {
                open = open.saturating_sub(1);
                if !send(&server, &mut socket, answer).await {
                    return;
                }
                continue;
            }
            () = server.stopped() => {
                close(&mut socket, close_code::AWAY, "the server ends").await;
                return;
            }
        };
        let text = match received {
            Ok(Some(Ok(Message::Text(text)))) => text.as_bytes().to_vec(),
            // Other frames are no messages.
            Ok(Some(Ok(Message::Binary(bytes)))) if server.node.rules().is_other() => bytes.to_vec(),
            Ok(Some(Ok(Message::Binary(_)))) => {
                close(&mut socket, close_code::UNSUPPORTED, "messages are text").await;
                return;
            }
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_)))) => continue, // the library answers
            _ => return,                                                                       // idle, closed or broken
        };
        // E78: handshakes and heartbeats of published clients are no messages of 2.3.
        if is_heartbeat(&text) {
            continue;
        }
        // 8.1: a malformed frame is nobody's end.
        planted!(fault, "ws-dies-on-garbage", json::read(&text).is_err() => { server.stop.send_replace(true); });
        // 8.1: several exchanges are open at once.
        planted!(fault, "ws-one-at-a-time", open > 0 => continue);
        planted!(fault, "ws-answers-once", connection_is_used(&mut open) => continue);
        if open >= OPEN_LIMIT {
            close(&mut socket, close_code::POLICY, "too many open requests").await;
            return;
        }
        open += 1;
        let arrival = Arrival { carrier: Carrier::WebSocket, presented: presented.clone(), hops: 0, connection };
        let (node, replies) = (server.node.clone(), replies.clone());
        tokio::spawn(async move {
            // A panic must not lose the place of its reply.
            let answered = tokio::spawn(async move { node.answer(&text, &arrival).await }).await;
            let crashed = Answer { status: 500, body: None, refused: Some(Code::Internal) };
            replies.send(answered.unwrap_or(crashed)).await.ok(); // the connection may have ended
        });
    }
}

/// Sends a reply; `false` if the connection is at its end.
async fn send(server: &Server, socket: &mut WebSocket, answer: Answer) -> bool {
    let rules = server.node.rules();
    let Some(body) = answer.body else {
        // E26: silence. A failure ends the connection, since nothing else can be said.
        if answer.status >= 500 {
            close(socket, close_code::ERROR, "the server failed").await;
        }
        return answer.status < 500;
    };
    let text = if rules.is_other() { body.write_otherwise() } else { body.write() };
    // 8.1: the message is the same whatever carries it.
    planted!(rules.fault, "ws-replies-inner-message", inner in body.get("message") => return write(socket, Message::Text(inner.write().into())).await);
    planted!(rules.fault, "ws-binary-replies", return write(socket, Message::Binary(text.into_bytes().into())).await);
    planted!(rules.fault, "ws-errors-dropped", answer.refused.is_some() => return true);
    write(socket, Message::Text(text.into())).await
}

async fn write(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(SEND_DEADLINE, socket.send(message)).await, Ok(Ok(())))
}

async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) {
    let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    timeout(SEND_DEADLINE, socket.send(frame)).await.ok(); // the peer may have gone
}

/// `ws-answers-once`: Whether the connection has carried a request before; it is never free again.
fn connection_is_used(open: &mut usize) -> bool {
    let used = *open > 0;
    *open += 1;
    used
}

/// Whether a frame is a handshake or a heartbeat of a published client.
fn is_heartbeat(text: &[u8]) -> bool {
    match json::read(text) {
        Ok(Value::Object(object)) => {
            object.get("message").is_none()
                && object.text("type").is_some_and(|kind| kind == "handshake" || kind == "heartbeat")
        }
        _ => false, // not an object
    }
}
