//! Sends the outgoing messages of the node: first copies and retries (16.3).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::client;
use super::relay::{COMMIT, FORWARD};
use super::server::Server;
use crate::amp_core::negotiation::State;
use crate::amp_core::node::channel::Carrier;
use crate::amp_core::node::outbound::{MESSAGES, Outgoing};
use crate::cbor::{self, Cbor, Limits};
use crate::fault::planted;

/// The interval between checks for due messages.
const TICK: Duration = Duration::from_millis(50);

/// Maximum number of concurrent deliveries.
const CARRIERS: usize = 64;

/// The timeout of the answer to HELLO.
const HELLO_DEADLINE: Duration = Duration::from_secs(5);

/// Open connections by URL.
type Lines = Arc<Mutex<HashMap<String, mpsc::Sender<Bytes>>>>;

/// Works until the server is stopped.
pub(super) async fn run(server: Server) {
    let (lines, carriers) = (Lines::default(), Arc::new(Semaphore::new(CARRIERS)));
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = server.node.wants_to_send() => {}
            () = server.stopped() => return,
        }
        // A busy database is retried at the next tick.
        let Ok(ticked) = server.node.tick().await else { continue };
        for outgoing in ticked.sent.into_iter().filter(|outgoing| !outgoing.url.is_empty()) {
            let Ok(permit) = Arc::clone(&carriers).acquire_owned().await else { return };
            let (server, lines) = (server.clone(), Arc::clone(&lines));
            tokio::spawn(async move {
                tokio::select! {
                    () = carry(&server, &lines, outgoing) => {}
                    () = server.stopped() => {}
                }
                drop(permit);
            });
        }
    }
}

/// Sends one copy; if that fails, the next one is sent at its time (RFC 002, 8.3).
async fn carry(server: &Server, lines: &Lines, outgoing: Outgoing) {
    if outgoing.url.starts_with("http") {
        let Outgoing { id, url, path, message, .. } = outgoing;
        let Ok((_, answer)) = client::post(&url, &path, message, server.node.did()).await else { return };
        if [FORWARD, COMMIT].contains(&path.as_str()) {
            server.node.handed_over(&id, &answer, path == COMMIT).await;
        } else if !answer.is_empty() {
            server.node.take(answer, &server.node.exchange(Carrier::Http, None)).await;
        }
        return;
    }
    let known = lines.lock().unwrap_or_else(PoisonError::into_inner).get(&outgoing.url).cloned();
    let line = match known.filter(|line| !line.is_closed()) {
        Some(line) => line,
        None => {
            let Ok(opened) = client::open(&outgoing.url, server.node.did(), server.node.rules()).await else { return };
            let (line, messages) = mpsc::channel(16);
            lines.lock().unwrap_or_else(PoisonError::into_inner).insert(outgoing.url.clone(), line.clone());
            tokio::spawn(converse(server.clone(), opened, messages, outgoing.recipient.clone()));
            line
        }
    };
    line.send(outgoing.message).await.ok(); // the line may have broken just now: the next copy opens another
}

/// Fetches the messages that a relay stores for this node (RFC 002, 6.2) once, processes them, and posts the replies.
pub(super) async fn receive(server: Server, url: String) {
    let me = server.node.did();
    let Ok(page) = client::poll(&url, me).await else { return };
    let Ok(page) = cbor::read(&page, Limits::default()) else { return };
    let messages = page.value.get("messages").and_then(Cbor::as_array).unwrap_or_default();
    for message in messages.iter().filter_map(Cbor::as_bytes) {
        let taken = server.node.take(Bytes::copy_from_slice(message), &server.node.exchange(Carrier::Http, None)).await;
        for reply in taken.replies {
            planted!(server.node.rules().fault, "polled-and-silent", continue);
            // The sender of a message retries if a reply is lost (16.3).
            client::post(&url, MESSAGES, reply, me).await.ok();
        }
    }
}

/// Negotiates on a new connection, then sends outgoing and processes incoming messages.
async fn converse(server: Server, line: client::Line, mut messages: mpsc::Receiver<Bytes>, peer: String) {
    let (channel, mut pushed) = server.node.connection(Carrier::WebSocket, None);
    let client::Line { mut incoming, outgoing } = line;
    // RFC 002, 3.3: only HELLO before the answer.
    let Some(hello) = server.node.hello(&peer, &channel) else { return };
    if outgoing.send(hello).await.is_err() {
        return;
    }
    let negotiated = async {
        while let Some(message) = incoming.recv().await {
            for reply in server.node.take(message, &channel).await.replies {
                outgoing.send(reply).await.ok();
            }
            if channel.state() != State::WaitAck {
                break;
            }
        }
    };
    if timeout(HELLO_DEADLINE, negotiated).await.is_err() || channel.state() != State::Negotiated {
        return;
    }
    loop {
        let reply = tokio::select! {
            message = messages.recv() => match message {
                Some(message) => vec![message],
                None => return,
            },
            Some(message) = pushed.recv() => vec![message],
            message = incoming.recv() => match message {
                Some(message) => server.node.take(message, &channel).await.replies,
                None => return,
            },
            () = server.stopped() => return,
        };
        for message in reply {
            if outgoing.send(message).await.is_err() {
                return;
            }
        }
    }
}
