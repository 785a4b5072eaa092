//! Sessions: the open connections of one walk through a case, and their messages.
//!
//! A message on a connection has no response: arrivals are collected until they are sufficient, until no more arrive,
//! or until the peer has had its time. Each party of a case has a connection of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use tokio::sync::Mutex;

use super::channel::{self, ArrivalKind, Bounds, Channel, Ending, Received, WireItem};
use super::frame::Frame;
use super::socket::{Address, tls_with};
use super::spelled::PARTS;
use super::tcp::{Framing, TcpChannel};
use super::ws::{self, Upgrade};
use super::{Delivery, Wait};
use crate::exchange::{Arrival, Body, ChannelAction, Encoded, Ended, Incoming, Outgoing, Transport, mask};
use crate::spelling::{Draw, Kind};
use crate::target::{ChannelProfile, Limits, Target, WsMessages, credentials_of};

/// How long to wait after sufficient arrivals: an answer that contradicts the first one follows shortly.
const AFTERWARDS: Duration = Duration::from_millis(30);

/// Where connections are opened.
#[derive(Clone, Default)]
pub struct Dial {
    ws: Option<(Address, String)>,
    tcp: Option<Address>,
    profile: ChannelProfile,
    credentials: BTreeMap<String, Vec<(String, String)>>,
    /// The credentials that a handshake may carry; not those short enough to occur in messages by chance.
    tokens: Vec<String>,
    /// Certificates (PEM) of authorities besides those of the system.
    authorities: Vec<u8>,
    /// The TLS configuration, once a connection has needed it.
    tls: Arc<OnceLock<Result<Arc<ClientConfig>, String>>>,
    /// Bytes of the answers that are being collected, over all connections.
    collected: Arc<AtomicUsize>,
}

impl Dial {
    /// Where `target` takes connections.
    pub fn new(target: &Target) -> Self {
        let ws = target.ws.as_ref().and_then(|url| Some((Address::of(url).ok()?, url.path().to_owned())));
        let tcp = target.tcp.as_ref().map(|tcp| Address { host: tcp.host.clone(), port: tcp.port, tls: tcp.tls });
        let header = |credential: &crate::target::Credential| (credential.header.clone(), credential.value.clone());
        let credentials = target.credentials.iter();
        let credentials = credentials.map(|(actor, list)| (actor.clone(), list.iter().map(header).collect())).collect();
        let tokens = target.credentials.values().flatten().filter_map(crate::target::Credential::token);
        let tokens = tokens.filter(|token| token.len() > 3).map(str::to_owned).collect();
        let authorities = target.ca.clone().unwrap_or_default();
        Self {
            ws,
            tcp,
            profile: target.channel.clone(),
            credentials,
            tokens,
            authorities,
            tls: Arc::default(),
            collected: Arc::default(),
        }
    }

    /// The TLS configuration for an address that needs one.
    fn tls(&self, address: &Address) -> Result<Option<Arc<ClientConfig>>, String> {
        if !address.tls {
            return Ok(None);
        }
        self.tls.get_or_init(|| tls_with(&self.authorities)).clone().map(Some)
    }
}

/// Arrivals of one answer that are kept: far more than a batch of messages is answered with. A peer that sends more is cut off.
const KEPT: usize = 1024;

/// Bytes of all answers that are collected at one time. Beyond, an answer is cut: many connections at once, each within its own
/// limits, could exhaust memory together.
const COLLECTED: usize = 64 << 20;

/// The number of arrivals that are each checked. Beyond, the check runs at every eighth more, as it takes a time
/// that grows with their number.
const LOOKED_AT: usize = 64;

/// The connections that one walk through a case has open, by party.
#[derive(Default)]
pub struct Session {
    connections: Mutex<BTreeMap<String, Arc<Mutex<Connection>>>>,
}

/// The connection of one party.
#[derive(Default)]
struct Connection {
    channel: Option<Box<dyn Channel>>,
    /// What arrivals are timed from.
    since: Option<Instant>,
    /// How it ended, if it has.
    ended: Option<String>,
    /// Whether it ended after the answer to a message, as a peer may do after a rejection.
    answered: bool,
    /// The longest time to a first answer so far.
    slowest: Duration,
    /// Messages that were sent without waiting since the last answer. A peer may handle one message at a time.
    ahead: u32,
}

impl Session {
    /// Whether the peer has closed the connection of a party after its answer to a message, as it may after a
    /// rejection.
    pub async fn was_left(&self, actor: &str) -> bool {
        let found = self.connections.lock().await.get(actor).cloned();
        let Some(connection) = found else { return false };
        let connection = connection.lock().await;
        connection.channel.is_none() && connection.answered
    }

    /// Forgets the connection of a party: its next move opens another one.
    pub async fn forget(&self, actor: &str) {
        self.connections.lock().await.remove(actor);
    }

    /// Runs an action on the connection of a party and collects the arrivals.
    pub async fn carry(
        &self,
        dial: &Dial,
        actor: &str,
        message: Encoded,
        limits: &Limits,
        mut wait: Wait<'_>,
    ) -> Delivery {
        let connection = Arc::clone(self.connections.lock().await.entry(actor.to_owned()).or_default());
        let mut connection = connection.lock().await;
        let begun = Instant::now();
        let mut sent = Outgoing {
            transport: message.transport,
            method: words(&message.action).to_owned(),
            url: dial.address(message.transport),
            headers: Vec::new(),
            body: Body::from(message.body.clone()),
        };
        let mut received = Incoming::nothing(Ended::Complete);
        if message.action == ChannelAction::Open || (connection.channel.is_none() && connection.ended.is_none()) {
            let opened = connection.open(dial, actor, &message, limits, &mut sent, &mut received).await;
            if !opened {
                // A party whose connection was rejected does not retry.
                connection.ended = Some("the connection was refused".to_owned());
            }
            if !opened || message.action == ChannelAction::Open {
                return Delivery { sent, received, begun };
            }
        }
        connection.send_and_collect(dial, &message, limits, &mut wait, &sent, &mut received, begun).await;
        dial.mask(sent.body.to_mut());
        Delivery { sent, received, begun }
    }
}

impl Dial {
    /// How the protocol uses connections.
    pub(super) fn profile(&self) -> &ChannelProfile {
        &self.profile
    }

    /// Every secret that is sent, so that answers that repeat one can be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(String::as_str)
    }

    /// Masks the tokens in a sent message, keeping its length.
    fn mask(&self, bytes: &mut [u8]) {
        self.tokens.iter().for_each(|token| mask(bytes, token.as_bytes()));
    }

    fn address(&self, transport: Transport) -> String {
        match (transport, &self.ws, &self.tcp) {
            (Transport::Ws, Some((address, path)), _) => {
                format!("{}://{}{path}", if address.tls { "wss" } else { "ws" }, address.authority())
            }
            (Transport::Tcp, _, Some(address)) => {
                format!("{}://{}", self.profile.tcp_scheme(address.tls), address.authority())
            }
            _ => String::new(),
        }
    }
}

/// The name of an action in a record.
fn words(action: &ChannelAction) -> &'static str {
    match action {
        ChannelAction::Message => "message",
        ChannelAction::Open => "open",
        ChannelAction::Frame(_) => "frame",
        ChannelAction::Raw => "bytes",
        ChannelAction::Listen => "listen",
        ChannelAction::Close(_) => "close",
        ChannelAction::HalfClose => "half-close",
        ChannelAction::Reset => "reset",
        ChannelAction::Paced(_) => "paced",
        ChannelAction::Summon(_) => "summon",
        ChannelAction::Tree(action) => action.name(),
        ChannelAction::Repository(_) => "repository",
    }
}

impl Connection {
    /// Opens the connection. False on failure, with the reason in `received`.
    async fn open(
        &mut self,
        dial: &Dial,
        actor: &str,
        message: &Encoded,
        limits: &Limits,
        sent: &mut Outgoing,
        received: &mut Incoming,
    ) -> bool {
        let since = Instant::now();
        let deadline = tokio::time::Instant::from_std(since + limits.request);
        // Two of the longest messages: the memory that a hostile target can use grows with the connections.
        let bytes = (2 * limits.body).max(Bounds::default().message) as u64;
        let bounds = Bounds { message: limits.body, bytes, ..Bounds::default() };
        *self =
            Self { channel: None, since: Some(since), ended: None, answered: false, slowest: self.slowest, ahead: 0 };
        match (message.transport, &dial.ws, &dial.tcp) {
            (Transport::Ws, Some((address, path)), _) => {
                let asked = message.action == ChannelAction::Open;
                let path = if asked && !message.path.is_empty() { &message.path } else { path };
                let listed = message.headers.iter().find(|(name, _)| name == "sec-websocket-protocol");
                let subprotocols = match listed {
                    // `none` requests no subprotocol.
                    Some((_, list)) if list == "none" => Vec::new(),
                    Some((_, list)) => list.split(',').map(|word| word.trim().to_owned()).collect(),
                    None => dial.profile.ws.subprotocol.iter().cloned().collect(),
                };
                let mut headers: Vec<(String, String)> = message
                    .headers
                    .iter()
                    .filter(|(name, _)| asked && name != "sec-websocket-protocol")
                    .cloned()
                    .collect();
                headers.extend(credentials_of(&dial.credentials, actor).iter().cloned());
                // The key need not be secret, only there (RFC 6455 section 4.1).
                let upgrade = Upgrade { target: path.clone(), headers, subprotocols, key: [0x70; 16] };
                let tls = match dial.tls(address) {
                    Ok(tls) => tls,
                    Err(why) => {
                        received.ended = Ended::Unreachable(why);
                        return false;
                    }
                };
                let (opened, channel) = ws::open(address, tls, &upgrade, bounds, since, deadline).await;
                let secret = |name: &str| {
                    dial.credentials.values().flatten().any(|(header, _)| header.eq_ignore_ascii_case(name))
                };
                sent.headers = opened.sent;
                sent.headers.iter_mut().filter(|(name, _)| secret(name)).for_each(|(_, value)| {
                    "<redacted>".clone_into(value);
                });
                received.status = opened.status;
                received.headers = opened.headers;
                received.body = Body::from(opened.body);
                received.ended = match (&channel, opened.fault) {
                    (Some(_), _) => opened.ended,
                    (None, Some(fault)) => Ended::Closed(fault),
                    (None, None) if asked => opened.ended,
                    (None, None) => match opened.ended {
                        Ended::Complete => Ended::Unreachable(match received.status {
                            Some(status) => format!("the upgrade to WebSocket was answered with {status}"),
                            None => "the upgrade to WebSocket was not answered".to_owned(),
                        }),
                        Ended::TimedOut => {
                            Ended::Unreachable("the upgrade to WebSocket was not answered in time".to_owned())
                        }
                        other => other,
                    },
                };
                self.channel = channel.map(|channel| Box::new(channel) as Box<dyn Channel>);
            }
            (Transport::Tcp, _, Some(address)) => {
                let framing = if dial.profile.tcp.types.is_some() { Framing::Typed } else { Framing::Bare };
                let opened = match dial.tls(address) {
                    Ok(tls) => TcpChannel::connect(address, tls, framing, bounds, since, deadline).await,
                    Err(why) => Err(why),
                };
                match opened {
                    Ok(channel) => self.channel = Some(Box::new(channel)),
                    Err(why) => received.ended = Ended::Unreachable(why),
                }
            }
            _ => received.ended = Ended::Unreachable("the target has no path for this message".to_owned()),
        }
        self.channel.is_some()
    }

    /// Sends a message and collects what arrives.
    #[expect(clippy::too_many_arguments, reason = "the caller keeps the sent message and the arrivals")]
    async fn send_and_collect(
        &mut self,
        Dial { profile, collected, .. }: &Dial,
        message: &Encoded,
        limits: &Limits,
        wait: &mut Wait<'_>,
        sent: &Outgoing,
        received: &mut Incoming,
        begun: Instant,
    ) {
        // Frames without a type byte are always messages: other frames cannot be sent.
        let is_bare = message.transport == Transport::Tcp && profile.tcp.types.is_none();
        if is_bare && matches!(message.action, ChannelAction::Frame(_)) {
            received.ended = Ended::Complete;
            return;
        }
        let Some(channel) = self.channel.as_mut() else {
            let why = self.ended.clone().unwrap_or_else(|| "the connection is not open".to_owned());
            received.ended = match message.action {
                ChannelAction::Message if self.answered => Ended::NotSent(why),
                _ => Ended::Closed(why),
            };
            return;
        };
        let offset = self.since.map_or(0, |since| milliseconds(begun.saturating_duration_since(since)));
        let deadline = tokio::time::Instant::from_std(begun + limits.request);
        if let ChannelAction::Close(code) = message.action {
            let code = (message.transport == Transport::Ws).then_some(code);
            let closing = channel.close(code, deadline).await;
            received.arrived.extend(closing.arrivals.into_iter().map(|arrival| to_arrival(arrival, offset)));
            self.end(closing.ending.to_string());
            return;
        }
        if let Some(item) = item(message, profile)
            && let Err(why) = channel.send(item, deadline).await
        {
            // Earlier arrivals can still be received, and may contain the reason.
            received.ended = Ended::Closed(why);
        }
        if wait.none {
            self.ahead = self.ahead.saturating_add(1);
            return;
        }
        let ahead = std::mem::take(&mut self.ahead);
        let mut collecting =
            Collecting { wait, limits, begun, last: None, content: None, look_at: 0, slowest: self.slowest, ahead };
        let mut collected = Collected { all: Arc::clone(collected), own: 0 };
        loop {
            let until = tokio::time::Instant::from_std(collecting.until());
            match channel.receive(until).await {
                Received::Arrived(arrival) => {
                    let mut arrival = to_arrival(arrival, offset);
                    // What is sent again and again is kept once.
                    match received.arrived.last() {
                        Some(last) if last.body == arrival.body => arrival.body = last.body.clone(),
                        _ if !collected.add(arrival.body.len()) => {
                            received.ended = Ended::TooLong;
                            self.end(Ending::Flooded("answers on all connections together".to_owned()).to_string());
                            // Nothing that follows is the fault of this connection.
                            self.answered = true;
                            return;
                        }
                        _ => {}
                    }
                    let unrelated = (collecting.wait.unrelated)(sent, &arrival);
                    received.arrived.push(arrival);
                    collecting.arrived(sent, received, unrelated);
                    self.slowest = collecting.slowest;
                    if received.arrived.len() >= KEPT {
                        let why = Ending::Flooded(format!("more than {KEPT} messages in answer to one")).to_string();
                        received.ended = Ended::Closed(why.clone());
                        self.end(why);
                        return;
                    }
                    if received.arrived.len() > LOOKED_AT && collecting.is_late() {
                        return;
                    }
                }
                Received::Nothing if collecting.is_over(sent, received) => {
                    let nothing = received.arrived.iter().all(|arrival| profile.is_keep_alive(arrival))
                        && collecting.content.is_none();
                    if nothing && received.ended == Ended::Complete && message.action == ChannelAction::Message {
                        received.ended = Ended::TimedOut;
                    }
                    return;
                }
                Received::Nothing => {}
                Received::TooLong { declared } => {
                    let impossible = |longest| message.transport == Transport::Tcp && declared > longest;
                    received.ended = Ended::TooLong;
                    if profile.tcp.longest.is_some_and(impossible) {
                        let why = Ending::Overlong { declared }.to_string();
                        received.ended = Ended::Closed(why.clone());
                        self.end(why);
                    }
                    return;
                }
                Received::Ended(ending) => {
                    let why = ending.to_string();
                    received.ended = Ended::Closed(why.clone());
                    self.end(why);
                    let answered = !received.arrived.iter().all(|arrival| profile.is_keep_alive(arrival));
                    self.answered = message.action == ChannelAction::Message && answered;
                    return;
                }
            }
        }
    }

    fn end(&mut self, why: String) {
        self.channel = None;
        self.ended = Some(why);
    }
}

/// The bytes of an answer that is being collected, counted among those of all connections while it lives.
struct Collected {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl Collected {
    /// Counts more bytes. False if they are too many.
    fn add(&mut self, bytes: usize) -> bool {
        self.own += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed) + bytes <= COLLECTED
    }
}

impl Drop for Collected {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// What masks a frame that is written by hand: any key does (RFC 6455 section 5.3).
const MASK: [u8; 4] = [0x70, 0x6d, 0x61, 0x6d];

/// The state of a collection.
struct Collecting<'c, 'w> {
    wait: &'c mut Wait<'w>,
    limits: &'c Limits,
    begun: Instant,
    /// The time of the last arrival that may be part of an answer.
    last: Option<Instant>,
    /// The time at which the arrivals were sufficient.
    content: Option<Instant>,
    /// The number of arrivals at which the next check runs.
    look_at: usize,
    /// The longest time to a first answer on this connection.
    slowest: Duration,
    /// Messages that were sent before and may be handled first.
    ahead: u32,
}

impl Collecting<'_, '_> {
    /// The next moment at which the collection may be over.
    fn until(&self) -> Instant {
        let end = match (self.content, self.last) {
            (Some(content), _) if self.wait.fail_fast => content,
            (Some(content), _) => content + AFTERWARDS,
            (None, Some(last)) => {
                // A peer that was slow to send the first message may be as slow with the next. What comes at once may belong
                // to an earlier message, so the time of other answers counts too.
                let taken = last.saturating_duration_since(self.begun).max(self.slowest);
                let pace = (taken * 2).min(self.limits.reply);
                (last + self.limits.settle.max(pace)).min(self.begun + self.limits.request)
            }
            (None, None) if self.begun.elapsed() < self.settle() => self.begun + self.settle(),
            (None, None) => self.begun + self.patience(),
        };
        end.max(self.begun + self.wait.at_least)
    }

    /// How long silence has to last until it counts as an answer where none is owed.
    fn settle(&self) -> Duration {
        self.limits.settle.max((self.slowest * 2).min(self.limits.reply))
    }

    /// How long an answer may take, with those to the messages before it.
    fn patience(&self) -> Duration {
        (self.limits.reply + self.slowest.saturating_mul(self.ahead)).min(self.limits.request.max(self.limits.reply))
    }

    /// Records an arrival, which may be unrelated to the expected answer.
    fn arrived(&mut self, sent: &Outgoing, received: &Incoming, unrelated: bool) {
        let now = Instant::now();
        if !unrelated {
            if self.last.is_none() {
                self.slowest = now.saturating_duration_since(self.begun).max(self.slowest);
            }
            self.last = Some(now);
        } else if self.begun.elapsed() < self.settle() {
            // Unrelated arrivals alone do not shorten the wait for an answer.
            return;
        }
        if received.arrived.len() >= self.look_at && self.content.is_none() {
            self.look_at = if self.look_at < LOOKED_AT { self.look_at + 1 } else { self.look_at + self.look_at / 8 };
            if (self.wait.enough)(sent, received) {
                self.content = Some(now);
            }
        }
    }

    /// Whether the time of an answer is over although more keeps coming.
    fn is_late(&self) -> bool {
        self.begun.elapsed() > self.limits.request.max(self.wait.at_least) + self.limits.settle
    }

    /// Whether the collection ends at [`Collecting::until`], which has passed. Silence may be the expected result.
    fn is_over(&mut self, sent: &Outgoing, received: &Incoming) -> bool {
        let silent = self.content.is_none() && self.last.is_none();
        if silent && self.begun.elapsed() < self.patience().max(self.wait.at_least) {
            if (self.wait.enough)(sent, received) {
                self.content = Some(Instant::now());
                return self.begun.elapsed() >= self.wait.at_least;
            }
            return false;
        }
        true
    }
}

/// Frames of a message that has many of them, at most.
const MANY_FRAGMENTS: usize = 100;

/// A message in another than the usual spelling: in several frames, or in several writes.
fn spelled(message: &Encoded, profile: &ChannelProfile) -> Option<WireItem> {
    let spelling = message.spelling.as_ref().filter(|_| message.action == ChannelAction::Message)?;
    let body = &message.body;
    let (fragments, writes) = (spelling.draw(Kind::Fragments), spelling.draw(Kind::Writes));
    if message.transport == Transport::Tcp {
        let kind = profile.tcp.types.map(|types| types.message);
        // Length and type come before the body.
        let size = body.len() + 4 + usize::from(kind.is_some());
        return writes.map(|mut draw| WireItem::TcpWrites {
            kind,
            payload: body.clone(),
            writes: draw.parts(size, PARTS),
        });
    }
    if fragments.is_none() && writes.is_none() {
        return None;
    }
    let text = profile.ws.messages == WsMessages::Text;
    if text && std::str::from_utf8(body).is_err() {
        return None;
    }
    let in_fragments = |mut draw: Draw| {
        // The standard limits the number of frames of a message as little as their size.
        match spelling.has_many_parts(&mut draw) {
            true => draw.many_parts(body.len(), MANY_FRAGMENTS),
            false => draw.parts(body.len(), PARTS),
        }
    };
    let sizes = fragments.map_or_else(|| vec![body.len()], in_fragments);
    let mut rest = body.as_slice();
    let mut parts = Vec::new();
    for size in sizes {
        let (part, after) = rest.split_at(size);
        parts.push(part.to_vec());
        rest = after;
    }
    // The head of each frame is at least 6 bytes.
    let writes = writes.map(|mut draw| draw.parts(body.len() + 6, PARTS)).unwrap_or_default();
    Some(WireItem::WsFragments { text, parts, writes })
}

/// The item to send for an action, if any.
fn item(message: &Encoded, profile: &ChannelProfile) -> Option<WireItem> {
    if let Some(item) = spelled(message, profile) {
        return Some(item);
    }
    let body = message.body.clone();
    let ws = message.transport == Transport::Ws;
    Some(match message.action {
        ChannelAction::Message if ws => match profile.ws.messages {
            WsMessages::Binary => WireItem::WsBinary(body),
            WsMessages::Text => match String::from_utf8(body) {
                Ok(text) => WireItem::WsText(text),
                // A text message that is not UTF-8 is a defect on purpose and goes out as it is.
                Err(error) => raw_frame(TEXT, error.into_bytes()),
            },
        },
        ChannelAction::Message => match profile.tcp.types {
            Some(types) => WireItem::TcpFrame { kind: types.message, payload: body },
            None => WireItem::TcpBare(body),
        },
        ChannelAction::Frame(kind) if !ws => WireItem::TcpFrame { kind, payload: body },
        ChannelAction::Frame(9) => WireItem::WsPing(body),
        ChannelAction::Frame(10) => WireItem::WsPong(body),
        ChannelAction::Frame(8) => WireItem::WsClose(body.first_chunk().map(|code| u16::from_be_bytes(*code))),
        // Invalid UTF-8 in text and reserved opcodes are sent as they are (RFC 6455 section 5.2).
        ChannelAction::Frame(kind) => raw_frame(kind, body),
        ChannelAction::Raw => WireItem::Raw(body),
        ChannelAction::HalfClose => WireItem::HalfClose,
        ChannelAction::Reset => WireItem::Reset,
        ChannelAction::Open
        | ChannelAction::Listen
        | ChannelAction::Close(_)
        | ChannelAction::Paced(_)
        | ChannelAction::Summon(_)
        | ChannelAction::Tree(_)
        | ChannelAction::Repository(_) => return None,
    })
}

/// The opcode of a text frame (RFC 6455 section 5.2).
const TEXT: u8 = 1;

/// A WebSocket frame with any opcode and payload.
fn raw_frame(opcode: u8, payload: Vec<u8>) -> WireItem {
    WireItem::Raw(Frame { mask: Some(MASK), ..Frame::whole(opcode, payload) }.encode())
}

/// An arrival as an exchange holds it.
pub(super) fn to_arrival(arrival: channel::Arrival, offset: u64) -> Arrival {
    let (kind, code) = match arrival.kind {
        ArrivalKind::WsBinary => (crate::exchange::ArrivalKind::WsBinary, None),
        ArrivalKind::WsText => (crate::exchange::ArrivalKind::WsText, None),
        ArrivalKind::WsPing => (crate::exchange::ArrivalKind::WsPing, None),
        ArrivalKind::WsPong => (crate::exchange::ArrivalKind::WsPong, None),
        ArrivalKind::WsClose(code) => (crate::exchange::ArrivalKind::WsClose, code),
        ArrivalKind::TcpFrame(kind) => (crate::exchange::ArrivalKind::TcpFrame, Some(u16::from(kind))),
        ArrivalKind::TcpBare => (crate::exchange::ArrivalKind::TcpFrame, None),
        ArrivalKind::HttpRequest { .. } => (crate::exchange::ArrivalKind::CalledBack, None),
    };
    Arrival {
        kind,
        code,
        body: Body::from(arrival.body),
        at_ms: arrival.at_ms.saturating_sub(offset),
        host: String::new(),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
