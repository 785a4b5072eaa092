//! One HTTP/1.1 connection of a listener: sequential requests, until it becomes a WebSocket or ends.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::channel::{Arrival, ArrivalKind, Bounds, Meter, milliseconds};
use super::documents::Documents;
use super::frame::Side;
use super::http1::{self, Fields, Length};
use super::inbound::{Answer, Caller, Decision, Inbound, Offer, Reply, Request, decision};
use super::socket::{Fill, Socket};
use super::tcp::Framing;
use super::ws::WsChannel;
use crate::exchange::Ended;

/// How long a peer may continue to send after the final answer, so that the answer is not lost by a reset.
const LINGER: Duration = Duration::from_millis(500);

/// Bytes that are kept of a body that is longer than is read.
const EVIDENCE: usize = 64 << 10;

/// Where and within which bounds a listener listens.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where HTTP requests and WebSocket upgrades are taken. Port 0 is a free one.
    pub http: SocketAddr,
    /// Where frames on TCP are taken, if they are.
    pub tcp: Option<SocketAddr>,
    /// What these frames consist of.
    pub framing: Framing,
    /// Limits of one connection; a request counts as a frame, its body as a message.
    pub bounds: Bounds,
    /// Connections at a time.
    pub connections: usize,
    /// Arrivals that were not taken yet.
    pub queue: usize,
    /// Bytes of these.
    pub queue_bytes: usize,
    /// The timeouts of a request, of an idle connection, and of an answer.
    pub patience: Duration,
    /// The answer to every request other than upgrades and fetches of documents. Without it the receiver of the request
    /// answers.
    pub automatic: Option<Reply>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            http: SocketAddr::from(([127, 0, 0, 1], 0)),
            tcp: None,
            framing: Framing::Typed,
            bounds: Bounds { message: 2 << 20, ..Bounds::default() },
            connections: 128,
            queue: 1_024,
            queue_bytes: 64 << 20,
            patience: Duration::from_secs(30),
            automatic: None,
        }
    }
}

/// What every connection of a listener shares.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) documents: Documents,
    pub(super) since: std::time::Instant,
    arrivals: mpsc::Sender<Inbound>,
    /// Bytes of arrivals that were not taken yet.
    queued: AtomicUsize,
    turned_away: AtomicU64,
}

impl Shared {
    pub(super) fn new(
        settings: Settings,
        documents: Documents,
        since: std::time::Instant,
    ) -> (Self, mpsc::Receiver<Inbound>) {
        let (arrivals, taken) = mpsc::channel(settings.queue.max(1));
        let (queued, turned_away) = (AtomicUsize::new(0), AtomicU64::new(0));
        (Self { settings, documents, since, arrivals, queued, turned_away }, taken)
    }

    /// Hands something on. False if the queue is full.
    pub(super) fn hand_on(&self, inbound: Inbound) -> bool {
        let size = inbound.size();
        let queued = self.queued.fetch_add(size, Ordering::Relaxed) + size;
        let handed = queued <= self.settings.queue_bytes && self.arrivals.try_send(inbound).is_ok();
        if !handed {
            self.queued.fetch_sub(size, Ordering::Relaxed);
            self.turn_away();
        }
        handed
    }

    /// Releases the room of a consumed arrival.
    pub(super) fn taken(&self, inbound: &Inbound) {
        self.queued.fetch_sub(inbound.size(), Ordering::Relaxed);
    }

    /// Counts a rejected connection or arrival.
    pub(super) fn turn_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of rejected connections and arrivals.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

/// What becomes of a connection after a request.
enum After {
    Stays,
    Ends,
}

/// Serves a connection to its end.
pub(super) async fn serve(shared: &Shared, from: Caller, socket: Socket) {
    let mut meter = Meter::new(shared.settings.bounds);
    let mut socket = Some(socket);
    while let Some(connection) = socket.as_mut() {
        let deadline = Instant::now() + shared.settings.patience;
        let request = match http1::read_request(connection, deadline).await {
            Ok(request) => request,
            // No data arrived: the peer has finished.
            Err(Ended::Closed(_) | Ended::TimedOut) if connection.bytes().is_empty() => return,
            Err(ended) => return refuse(shared, from, connection, ended).await,
        };
        let length = match http1::request_length(&request.fields) {
            Ok(length) => length,
            Err(why) => return refuse(shared, from, connection, Ended::Closed(why)).await,
        };
        if meter.count(0).is_some() {
            return refuse(shared, from, connection, Ended::TooLong).await;
        }
        if matches!(one(shared, from, &mut socket, &mut meter, request, length, deadline).await, After::Ends) {
            return;
        }
    }
}

/// Processes a request whose start was read, and answers it. An upgrade consumes the socket.
async fn one(
    shared: &Shared,
    from: Caller,
    slot: &mut Option<Socket>,
    meter: &mut Meter,
    request: http1::Request,
    length: Length,
    deadline: Instant,
) -> After {
    let Some(socket) = slot.as_mut() else { return After::Ends };
    let keeps = request.minor >= 1 && !http1::has_token(&request.fields, "connection", "close");
    let mut body = Vec::new();
    if length != Length::Fixed(0) && http1::has_token(&request.fields, "expect", "100-continue") {
        let _ = socket.write(b"HTTP/1.1 100 Continue\r\n\r\n", deadline).await;
    }
    let ended = http1::read_body(socket, length, shared.settings.bounds.message, deadline, &mut body).await;
    let ended = if meter.count_more(body.len()).is_some() { Ended::TooLong } else { ended };
    if ended == Ended::TooLong {
        body.truncate(EVIDENCE);
    }
    if ended == Ended::Complete
        && let Some(reply) = document(shared, &request)
    {
        let head_only = request.method == "HEAD";
        return reply_with(socket, &reply, head_only, keeps, shared.settings.patience).await;
    }
    let websocket = offer(&request);
    // Some answers are decided here and not by the receiver.
    let automatic = match &ended {
        Ended::Complete => {
            shared.settings.automatic.clone().filter(|_| websocket.is_none()).map(|reply| (Answer::Reply(reply), keeps))
        }
        Ended::TooLong => Some((status(413), false)),
        Ended::TimedOut => Some((status(408), false)),
        Ended::Closed(_) | Ended::Unreachable(_) | Ended::NotSent(_) => Some((status(400), false)),
    };
    let (decide, decided) = oneshot::channel();
    let head_only = request.method == "HEAD";
    let kind = ArrivalKind::HttpRequest { method: request.method, target: request.target, headers: request.fields };
    let at_ms = milliseconds(shared.since, std::time::Instant::now());
    let handed = shared.hand_on(Inbound::Request(Request {
        from,
        arrival: Arrival { kind, body, at_ms },
        ended,
        websocket,
        decide: automatic.is_none().then_some(decide),
    }));
    let patience = shared.settings.patience;
    let (decision, keeps) = match automatic {
        _ if !handed => (Decision::Answer(status(503)), false),
        Some((answer, keeps)) => (Decision::Answer(answer), keeps),
        None => (decision(decided, patience).await, keeps),
    };
    match decision {
        Decision::Answer(Answer::Reply(reply)) => reply_with(socket, &reply, head_only, keeps, patience).await,
        Decision::Answer(Answer::Raw(bytes)) => {
            let _ = socket.write(&bytes, Instant::now() + patience).await;
            linger(socket).await;
            After::Ends
        }
        Decision::Answer(Answer::Silence) => {
            // Reading stops when the buffer is full, so that an endless peer is throttled as well.
            let until = Instant::now() + patience;
            while socket.fill(until).await == Fill::More {}
            After::Ends
        }
        Decision::Answer(Answer::Close) => After::Ends,
        Decision::Answer(Answer::Reset) => {
            socket.reset();
            After::Ends
        }
        Decision::Upgrade(fields, taker) => {
            let head = head(101, &fields);
            if socket.write(&head, Instant::now() + patience).await.is_ok()
                && let Some(socket) = slot.take()
            {
                let _ = taker.send(WsChannel::over(socket, Side::Server, shared.settings.bounds, shared.since));
            }
            After::Ends
        }
    }
}

/// Refuses bytes that are not a request.
async fn refuse(shared: &Shared, from: Caller, socket: &mut Socket, ended: Ended) {
    let code = match &ended {
        Ended::TooLong => 431,
        Ended::TimedOut => 408,
        _ => 400,
    };
    shared.hand_on(Inbound::Unreadable { from, ended });
    let reply = Reply { status: code, ..Reply::default() };
    let _ = reply_with(socket, &reply, false, false, LINGER).await;
}

fn status(status: u16) -> Answer {
    Answer::Reply(Reply { status, ..Reply::default() })
}

/// The document that a request fetches.
fn document(shared: &Shared, request: &http1::Request) -> Option<Reply> {
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return None;
    }
    // A request line may name the whole URL (RFC 9112 section 3.2.2).
    let path = match request.target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => &request.target,
    };
    let path = path.split('?').next().unwrap_or_default();
    let (media_type, body) = shared.documents.fetch(path)?;
    Some(Reply { status: 200, headers: vec![("Content-Type".to_owned(), media_type)], body: body.to_vec() })
}

/// The offer of a request for a WebSocket (RFC 6455 section 4.2.1).
fn offer(request: &http1::Request) -> Option<Offer> {
    let fields = &request.fields;
    let upgrade = request.method == "GET"
        && http1::has_token(fields, "upgrade", "websocket")
        && http1::has_token(fields, "connection", "upgrade");
    let key = http1::field(fields, "sec-websocket-key").filter(|_| upgrade)?.trim().to_owned();
    let lists = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
    let subprotocols = lists.flat_map(|(_, list)| list.split(',')).map(|name| name.trim().to_owned());
    Some(Offer { key, subprotocols: subprotocols.filter(|name| !name.is_empty()).collect() })
}

async fn reply_with(socket: &mut Socket, reply: &Reply, head_only: bool, keeps: bool, patience: Duration) -> After {
    let mut fields = reply.headers.clone();
    let bodiless = reply.status < 200 || matches!(reply.status, 204 | 304);
    if !bodiless && http1::field(&fields, "content-length").is_none() {
        fields.push(("Content-Length".to_owned(), reply.body.len().to_string()));
    }
    if !keeps && http1::field(&fields, "connection").is_none() {
        fields.push(("Connection".to_owned(), "close".to_owned()));
    }
    let mut bytes = head(reply.status, &fields);
    if !head_only && !bodiless {
        bytes.extend_from_slice(&reply.body);
    }
    let written = socket.write(&bytes, Instant::now() + patience).await;
    if keeps && written.is_ok() && !http1::has_token(&fields, "connection", "close") {
        return After::Stays;
    }
    linger(socket).await;
    After::Ends
}

/// The start of an answer. The reason phrase is empty: it has no meaning (RFC 9112 section 4).
fn head(status: u16, fields: &Fields) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} \r\n");
    for (name, value) in fields {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Closes a connection so that the peer can read the answer: closing it with unread bytes would reset it.
async fn linger(socket: &mut Socket) {
    let until = Instant::now() + LINGER;
    let _ = socket.half_close(until).await;
    loop {
        socket.skip(usize::MAX);
        if socket.fill(until).await != Fill::More {
            return;
        }
    }
}
