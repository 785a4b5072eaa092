//! One connection of a target to a host.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::channel::{Arrival, ArrivalKind, Channel, Received, WireItem};
use super::super::inbound::{Answer, Inbound, Reply, Request};
use super::super::tcp::TcpChannel;
use super::route::Router;
use super::{HostSpec, PATIENCE};
use crate::exchange::{Ended, HostArrival, HostReply, Hosted, HostedKind};
use crate::target::WsMessages;

/// The timeout of writing a reply.
const WRITING: Duration = Duration::from_secs(10);

/// Serves what arrived to the end of its connection.
pub(super) async fn serve(inbound: Inbound, spec: Arc<HostSpec>, router: Arc<Router>) {
    match inbound {
        Inbound::Request(request) if request.websocket.is_some() => websocket(request, &spec, &router).await,
        Inbound::Request(request) => http(request, &spec, &router).await,
        Inbound::Tcp { mut channel, .. } => tcp(&mut channel, &spec, &router).await,
        Inbound::Unreadable { .. } => {}
    }
}

fn head(request: &Request, spec: &HostSpec, kind: HostedKind) -> Option<HostArrival> {
    let ArrivalKind::HttpRequest { method, target, headers } = &request.arrival.kind else { return None };
    let hosted = Hosted { host: spec.name.clone(), kind, method: method.clone(), path: target.clone(), code: None };
    Some(HostArrival {
        hosted,
        headers: headers.clone(),
        body: request.arrival.body.clone(),
        is_cut: request.ended != Ended::Complete,
        at_ms: request.arrival.at_ms,
    })
}

async fn http(request: Request, spec: &HostSpec, router: &Router) {
    let Some(arrival) = head(&request, spec, HostedKind::Http) else { return };
    let answer = match router.deliver(spec, arrival, None).await {
        HostReply::Message { status, headers, body } => Answer::Reply(Reply { status, headers, body }),
        HostReply::Silence => Answer::Silence,
        HostReply::Close => Answer::Close,
    };
    // A request that was refused while it was read is answered already.
    let _ = request.answer(answer);
}

async fn websocket(request: Request, spec: &HostSpec, router: &Router) {
    let Some(mut opening) = head(&request, spec, HostedKind::WsUpgrade) else { return };
    let offered = request.websocket.as_ref().map(|offer| offer.subprotocols.join(", ")).unwrap_or_default();
    opening.body = offered.into_bytes();
    let path = opening.hosted.path.clone();
    // Without a token only the messages identify the case.
    let known = router.at(&path, spec.correlate.path);
    if known.is_some() {
        match router.deliver(spec, opening, known).await {
            HostReply::Message { status: 400.., .. } | HostReply::Close => {
                let _ = request.answer(Answer::Close);
                return;
            }
            HostReply::Message { .. } | HostReply::Silence => {}
        }
    }
    let subprotocol = spec.profile.ws.subprotocol.as_deref();
    let Ok(mut channel) = request.accept(subprotocol, Vec::new(), Instant::now() + WRITING).await else { return };
    let text = spec.profile.ws.messages == WsMessages::Text;
    let reply = |body: Vec<u8>, _: Option<u16>| match String::from_utf8(body) {
        Ok(body) if text => WireItem::WsText(body),
        Ok(body) => WireItem::WsBinary(body.into_bytes()),
        Err(error) => WireItem::WsBinary(error.into_bytes()),
    };
    serve_messages(&mut channel, spec, router, &path, known, &reply).await;
}

async fn tcp(channel: &mut TcpChannel, spec: &HostSpec, router: &Router) {
    let reply = |body: Vec<u8>, code: Option<u16>| match code.and_then(|code| u8::try_from(code).ok()) {
        Some(kind) => WireItem::TcpFrame { kind, payload: body },
        None => WireItem::TcpBare(body),
    };
    serve_messages(channel, spec, router, "", None, &reply).await;
}

/// Hands on each message of a connection and sends the replies.
async fn serve_messages(
    channel: &mut dyn Channel,
    spec: &HostSpec,
    router: &Router,
    path: &str,
    known: Option<u64>,
    item: &(dyn Fn(Vec<u8>, Option<u16>) -> WireItem + Sync),
) {
    loop {
        let arrival = match channel.receive(Instant::now() + PATIENCE).await {
            Received::Arrived(arrival) => arrival,
            Received::Nothing | Received::Ended(_) | Received::TooLong { .. } => break,
        };
        let Some(arrival) = message(arrival, spec, path) else { continue };
        let code = arrival.hosted.code;
        match router.deliver(spec, arrival, known).await {
            HostReply::Message { body, .. } if body.is_empty() => {}
            HostReply::Message { body, .. } => {
                if channel.send(item(body, code), Instant::now() + WRITING).await.is_err() {
                    break;
                }
            }
            HostReply::Silence => {}
            HostReply::Close => break,
        }
    }
}

/// A message of a connection; `None` for keep-alives and the end.
fn message(arrival: Arrival, spec: &HostSpec, path: &str) -> Option<HostArrival> {
    let types = spec.profile.tcp.types;
    let (kind, code) = match arrival.kind {
        ArrivalKind::WsBinary => (HostedKind::WsBinary, None),
        ArrivalKind::WsText => (HostedKind::WsText, None),
        ArrivalKind::TcpFrame(kind) if types.is_some_and(|types| [types.ping, types.pong].contains(&Some(kind))) => {
            return None;
        }
        ArrivalKind::TcpFrame(kind) => (HostedKind::TcpFrame, Some(u16::from(kind))),
        ArrivalKind::TcpBare => (HostedKind::TcpFrame, None),
        ArrivalKind::WsPing | ArrivalKind::WsPong | ArrivalKind::WsClose(_) | ArrivalKind::HttpRequest { .. } => {
            return None;
        }
    };
    let hosted = Hosted { host: spec.name.clone(), kind, method: String::new(), path: path.to_owned(), code };
    Some(HostArrival { hosted, headers: Vec::new(), body: arrival.body, is_cut: false, at_ms: arrival.at_ms })
}
