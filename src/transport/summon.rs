//! Summoning: the target is told to send something, and proofmark listens for it.
//!
//! A listener of its own stands for each summons, so that what arrives belongs to one case. Its address takes the place of
//! [`PLACEHOLDER`] in the request that tells the target.

use std::net::SocketAddr;
use std::time::Instant;

use super::channel::{ArrivalKind, Channel, Received};
use super::http::Http;
use super::inbound::{Answer, Inbound, Reply};
use super::listener::{Documents, Listener, Settings};
use super::session::told;
use super::{Carried, Wait};
use crate::exchange::{Arrival, Body, Encoded, Ended, Peer, Summons, Transport};
use crate::target::Limits;

/// What stands for the address of the listener in a request.
pub const PLACEHOLDER: &str = "listener.proofmark.invalid";

/// Arrivals of one summons that are kept.
const KEPT: usize = 64;

/// Tells the target to send, and collects what it sends.
pub async fn carry(
    http: &Http,
    actor: &str,
    mut message: Encoded,
    summons: Summons,
    limits: &Limits,
    wait: Wait<'_>,
) -> Carried {
    let begun = Instant::now();
    // Frames are listened for only where they are what is to come.
    let tcp = (summons.via == Transport::Tcp).then_some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let settings = Settings { tcp, ..Settings::default() };
    let mut listener = match Listener::start(settings, Documents::default(), begun).await {
        Ok(listener) => listener,
        Err(error) => return Carried::unsent(message, format!("nothing can be listened on: {error}")),
    };
    let address = match summons.via {
        Transport::Ws => format!("ws://{}/amp/v1/ws", listener.http()),
        Transport::Tcp => listener.tcp().map(|tcp| format!("amp://{tcp}")).unwrap_or_default(),
        _ => format!("http://{}/amp/v1/messages", listener.http()),
    };
    message.body = replace(&message.body, PLACEHOLDER.as_bytes(), address.as_bytes());
    let (sent, mut received) = http.carry(actor, message, limits).await;
    if received.ended != Ended::Complete || !received.status.is_some_and(|status| (200..300).contains(&status)) {
        return Carried { sent, received, begun };
    }
    let until = begun + wait.at_least.max(limits.reply);
    let deadline = tokio::time::Instant::from_std(until);
    while received.arrived.len() < KEPT {
        let Some(inbound) = listener.next(deadline).await else { break };
        take(inbound, &summons, deadline, &mut received.arrived).await;
        if begun.elapsed() >= wait.at_least && (wait.enough)(&sent, &received) {
            break;
        }
    }
    Carried { sent, received, begun }
}

/// Takes one arrival, and treats its sender as the case wants it.
async fn take(inbound: Inbound, summons: &Summons, deadline: tokio::time::Instant, arrived: &mut Vec<Arrival>) {
    match inbound {
        Inbound::Request(request) if request.websocket.is_some() => {
            let listed = request.websocket.as_ref().map(|offer| offer.subprotocols.join(", ")).unwrap_or_default();
            let at_ms = request.arrival.at_ms;
            arrived.push(Arrival { kind: "ws-upgrade".to_owned(), code: None, body: Body(listed.into_bytes()), at_ms });
            if let Ok(mut channel) = request.accept(Some("amp.v1"), Vec::new(), deadline).await {
                first(&mut channel, deadline, arrived).await;
            }
        }
        Inbound::Request(request) => {
            let arrival = request.arrival.clone();
            let fetches = matches!(&arrival.kind, ArrivalKind::HttpRequest { method, .. } if method == "GET");
            if let ArrivalKind::HttpRequest { .. } = arrival.kind {
                arrived.push(told(arrival, 0));
            }
            // Who does not take the answer has not asked for one.
            let _ = request.answer(match summons.peer {
                Peer::Accept if fetches && !summons.held.is_empty() => Answer::Reply(Reply {
                    status: 200,
                    headers: vec![("content-type".to_owned(), "application/cbor".to_owned())],
                    body: summons.held.clone(),
                }),
                Peer::Accept => Answer::Reply(Reply { status: 202, ..Reply::default() }),
                Peer::Cut => Answer::Close,
                Peer::Silent => Answer::Silence,
            });
        }
        Inbound::Tcp { mut channel, .. } => first(&mut *channel, deadline, arrived).await,
        Inbound::Unreadable { .. } => {}
    }
}

/// The first thing that comes over a connection.
async fn first(channel: &mut (impl Channel + ?Sized), deadline: tokio::time::Instant, arrived: &mut Vec<Arrival>) {
    if let Received::Arrived(arrival) = channel.receive(deadline).await {
        arrived.push(told(arrival, 0));
    }
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let Some(at) = bytes.windows(from.len()).position(|window| window == from) else { return bytes.to_vec() };
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}
