//! Summoning: a request makes the target send something, and proofmark listens for it.
//! Each summons has its own host, so that arrivals belong to one case even if their content does not identify it. The
//! address of the host replaces [`PLACEHOLDER`] in the request to the
//! target.

use std::sync::Arc;
use std::time::Instant;

use super::host::{Arrived, Correlate, HostSpec, Hosts, Rules};
use super::http::Http;
use super::{Delivery, Wait};
use crate::exchange::{Arrival, ArrivalKind, Body, Encoded, Ended, HostArrival, HostReply, HostedKind, Peer, Summons};
use crate::target::{ChannelProfile, Limits};
use crate::value::Value;

/// The placeholder for the address of the host in a request.
pub const PLACEHOLDER: &str = "listener.proofmark.invalid";

/// Arrivals of one summons that are kept.
const KEPT: usize = 64;

/// The host of a summons does not correlate: everything that arrives belongs to it.
struct NoRules;

impl Rules for NoRules {
    fn keys(&self, _: &HostArrival) -> Vec<String> {
        Vec::new()
    }

    fn reply(&self, _: &HostArrival, _: &mut Value) -> Option<HostReply> {
        None
    }
}

/// Makes the target send, and collects the messages.
pub async fn carry(
    http: &Http,
    actor: &str,
    mut message: Encoded,
    summons: Summons,
    profile: &ChannelProfile,
    limits: &Limits,
    wait: Wait<'_>,
) -> Delivery {
    let begun = Instant::now();
    let spec = HostSpec {
        name: "summons".to_owned(),
        listen: None,
        announce: None,
        path: profile.http.path.clone(),
        // Frames are accepted only if they are expected.
        transports: vec![summons.via],
        profile: profile.clone(),
        correlate: Correlate { path: false, keys: false, bytes: false },
        shared: false,
        reply: HostReply::status(202),
    };
    let hosts = match Hosts::start(vec![spec], Arc::new(NoRules), begun).await {
        Ok(hosts) => hosts,
        Err(why) => return Delivery::unsent(message, why),
    };
    let mut guest = hosts.join_all();
    let address = hosts.addresses().remove("summons").unwrap_or_default();
    message.body = replace(&message.body, PLACEHOLDER.as_bytes(), address.as_bytes());
    let (sent, mut received) = http.carry(actor, message, limits).await;
    if received.ended != Ended::Complete || !received.status.is_some_and(|status| (200..300).contains(&status)) {
        return Delivery { sent, received, begun };
    }
    let until = tokio::time::Instant::from_std(begun + wait.at_least.max(limits.reply));
    while received.arrived.len() < KEPT {
        let Ok(arrived) = tokio::time::timeout_at(until, guest.next()).await else { break };
        received.arrived.push(take(arrived, &summons, profile));
        if begun.elapsed() >= wait.at_least && (wait.enough)(&sent, &received) {
            break;
        }
    }
    Delivery { sent, received, begun }
}

/// Processes one arrival, and answers its sender with the behaviour of the case. Of a connection that stays open only
/// the first message is taken.
fn take(arrived: Arrived, summons: &Summons, profile: &ChannelProfile) -> Arrival {
    let HostArrival { hosted, body, at_ms, .. } = arrived.arrival.clone();
    let fetches = hosted.method == "GET" && !summons.held.is_empty();
    let (kind, reply) = match (hosted.kind, summons.peer) {
        (HostedKind::Http, Peer::Accept) if fetches => {
            let headers = vec![("content-type".to_owned(), profile.http.media_type.clone())];
            (ArrivalKind::CalledBack, HostReply::Message { status: 200, headers, body: summons.held.clone() })
        }
        (HostedKind::Http, Peer::Accept) => (ArrivalKind::CalledBack, HostReply::status(202)),
        (HostedKind::Http, Peer::Cut) => (ArrivalKind::CalledBack, HostReply::Close),
        (HostedKind::Http, Peer::Silent) => (ArrivalKind::CalledBack, HostReply::Silence),
        (HostedKind::WsUpgrade, _) => (ArrivalKind::WsUpgrade, HostReply::status(202)),
        (HostedKind::WsBinary, _) => (ArrivalKind::WsBinary, HostReply::Close),
        (HostedKind::WsText, _) => (ArrivalKind::WsText, HostReply::Close),
        (HostedKind::TcpFrame, _) => (ArrivalKind::TcpFrame, HostReply::Close),
        (HostedKind::Nothing | HostedKind::Fence, _) => (ArrivalKind::CalledBack, HostReply::Close),
    };
    arrived.reply(reply);
    Arrival { kind, code: hosted.code, body: Body::from(body), at_ms, host: String::new() }
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let Some(at) = bytes.windows(from.len()).position(|window| window == from) else { return bytes.to_vec() };
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}
