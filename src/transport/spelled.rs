//! HTTP/1.1 requests in any legal spelling, on sockets of our own: HTTP libraries write each request in one way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::time::Instant;
use url::{Position, Url};

use super::http1::{self, Fields, Length, Response};
use super::socket::{Address, Fill, Socket, tls_with};
use crate::exchange::{Body, Ended, Incoming, Outgoing};
use crate::spelling::{Draw, Kind, Spelling, fields, json, uri};
use crate::target::Limits;

/// Bytes that are read ahead of a connection.
const ROOM: usize = 128 << 10;

/// Connections of one actor that are kept for its next message.
const IDLE: usize = 16;

/// Actors whose connections are kept.
const ACTORS: usize = 64;

/// Parts in which a body or a message is sent at most.
pub(super) const PARTS: usize = 8;

/// How long to wait for `100 Continue`: a client need not wait for it at all (RFC 9110 section 10.1.1).
const CONTINUE: Duration = Duration::from_millis(300);

/// Header fields that frame a message, or that belong to its connection.
const FRAMING: &[&str] =
    &["transfer-encoding", "content-length", "connection", "expect", "host", "te", "upgrade", "trailer"];

/// Whether a message has header fields about its framing: they are what it is about, so it is sent as it is.
pub(super) fn frames_itself(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| FRAMING.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Sends requests in any legal spelling.
#[derive(Default)]
pub(super) struct Spelled {
    /// Certificates (PEM) of authorities besides those of the system.
    authorities: Vec<u8>,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    /// Open connections, by actor.
    idle: Mutex<BTreeMap<(String, String), Vec<Socket>>>,
}

/// A request as it is written.
struct Written {
    head: String,
    body: Vec<u8>,
    /// The sizes of the writes of head and body.
    writes: Option<Draw>,
    expects: bool,
    closes: bool,
}

impl Spelled {
    pub(super) fn new(authorities: Vec<u8>) -> Self {
        Self { authorities, ..Self::default() }
    }

    /// Sends a request in a spelling, which `outgoing` shows afterwards, and reads the answer.
    pub(super) async fn send(
        &self,
        actor: &str,
        outgoing: &mut Outgoing,
        spelling: &Spelling,
        limits: &Limits,
    ) -> Incoming {
        let mut incoming = Incoming::nothing(Ended::TimedOut);
        incoming.ended = match Url::parse(&outgoing.url) {
            Ok(url) => match Address::of(&url) {
                Ok(address) => self.send_to(actor, &address, &url, outgoing, spelling, limits, &mut incoming).await,
                Err(why) => Ended::Unreachable(why),
            },
            Err(error) => Ended::Unreachable(format!("no URL: {error}")),
        };
        incoming
    }

    #[expect(clippy::too_many_arguments, reason = "the caller keeps what was sent and what arrived")]
    async fn send_to(
        &self,
        actor: &str,
        address: &Address,
        url: &Url,
        outgoing: &mut Outgoing,
        spelling: &Spelling,
        limits: &Limits,
        incoming: &mut Incoming,
    ) -> Ended {
        let deadline = Instant::now() + limits.request;
        let is_plain = |text: &str| http1::is_plain(text);
        if !is_plain(&outgoing.method)
            || outgoing.headers.iter().any(|(name, value)| !is_plain(name) || !is_plain(value))
        {
            return Ended::Unreachable("a header field with a line break cannot be sent".to_owned());
        }
        let target = uri::respell(
            &url[Position::BeforePath..Position::AfterQuery],
            spelling.has(Kind::HexCase),
            spelling.draw(Kind::PercentEncoding),
        );
        let written = write(address, &target, outgoing, spelling);
        outgoing.url = format!("{}{target}", &url[..Position::BeforePath]);
        let place = (actor.to_owned(), address.authority());
        let kept = self.kept(&place);
        let was_kept = kept.is_some();
        let mut ended =
            self.on_connection(kept, address, &target, &written, outgoing, spelling, limits, deadline, incoming).await;
        if was_kept && incoming.status.is_none() && matches!(ended.0, Ended::Closed(_)) {
            // A server may close an idle connection in the very moment in which it is used again, and is in its right.
            ended = self
                .on_connection(None, address, &target, &written, outgoing, spelling, limits, deadline, incoming)
                .await;
        }
        if let Some(socket) = ended.1 {
            self.keep(place, socket);
        }
        ended.0
    }

    fn kept(&self, place: &(String, String)) -> Option<Socket> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_mut(place)?.pop()
    }

    fn keep(&self, place: (String, String), socket: Socket) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= ACTORS && !idle.contains_key(&place) {
            return;
        }
        let kept = idle.entry(place).or_default();
        if kept.len() < IDLE {
            kept.push(socket);
        }
    }

    async fn connect(&self, address: &Address, deadline: Instant) -> Result<Socket, Ended> {
        let tls = match address.tls {
            true => Some(self.tls.get_or_init(|| tls_with(&self.authorities)).clone().map_err(Ended::Unreachable)?),
            false => None,
        };
        Socket::connect(address, tls, ROOM, deadline).await.map_err(Ended::Unreachable)
    }

    /// Sends a request on a connection, an open one or a new one. The socket is given back if another request can follow.
    #[expect(clippy::too_many_arguments, reason = "one request in all its parts, and there is one caller")]
    async fn on_connection(
        &self,
        kept: Option<Socket>,
        address: &Address,
        target: &str,
        written: &Written,
        outgoing: &Outgoing,
        spelling: &Spelling,
        limits: &Limits,
        deadline: Instant,
        incoming: &mut Incoming,
    ) -> (Ended, Option<Socket>) {
        let mut socket = match kept {
            Some(socket) => socket,
            None => match self.connect(address, deadline).await {
                Ok(socket) => socket,
                Err(ended) => return (ended, None),
            },
        };
        if spelling.has(Kind::Head) && outgoing.method == "GET" {
            let head = format!("HEAD {target} HTTP/1.1\r\n{}\r\n", fields::lines(&outgoing.headers, spelling));
            // Refusing HEAD is not judged here, so the GET follows on a connection of its own.
            let may_follow = socket.write(head.as_bytes(), deadline).await.is_ok()
                && http1::read_response(&mut socket, deadline)
                    .await
                    .is_ok_and(|head| head.status < 400 && stays(&head));
            if !may_follow {
                socket = match self.connect(address, deadline).await {
                    Ok(socket) => socket,
                    Err(ended) => return (ended, None),
                };
            }
        }
        let sent = send(&mut socket, written, deadline).await;
        // A peer that closes early may have said why.
        let (early, failure) = match sent {
            Ok(early) => (early, None),
            Err(why) => (None, Some(why)),
        };
        let was_sent = failure.is_none();
        let response = match early {
            Some(response) => Ok(response),
            None => http1::read_response(&mut socket, deadline).await,
        };
        let response = match response {
            Ok(response) => response,
            Err(ended) => return (failure.map_or(ended, Ended::Closed), None),
        };
        let length = http1::response_length(&response);
        incoming.status = Some(response.status);
        incoming.headers =
            response.fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
        incoming.body = Body::default();
        let length = if outgoing.method == "HEAD" { Length::Fixed(0) } else { length };
        let ended = http1::read_body(&mut socket, length, limits.body, deadline, incoming.body.to_mut()).await;
        let may_follow =
            ended == Ended::Complete && !written.closes && stays(&response) && length != Length::UntilEnd && was_sent;
        (ended, may_follow.then_some(socket))
    }
}

fn stays(response: &Response) -> bool {
    !http1::has_token(&response.fields, "connection", "close")
}

/// Writes a request in its spelling, and shows it in `outgoing`.
fn write(address: &Address, target: &str, outgoing: &mut Outgoing, spelling: &Spelling) -> Written {
    let is_json = |(name, value): &(String, String)| {
        let kind = value.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("content-type") && (kind == "application/json" || kind.ends_with("+json"))
    };
    if outgoing.headers.iter().any(is_json) && (spelling.has(Kind::JsonEscapes) || spelling.has(Kind::JsonSpace)) {
        let (escapes, space) = (spelling.draw(Kind::JsonEscapes), spelling.draw(Kind::JsonSpace));
        if let Some(body) = json::respell(&outgoing.body.0, escapes, space) {
            outgoing.body = Body::from(body);
        }
    }
    let has_body = !outgoing.body.is_empty() || outgoing.method == "POST";
    let mut given: Fields = vec![("Host".to_owned(), address.authority())];
    let add = |name: &str, value: &str, given: &mut Fields| {
        if !given.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            given.push((name.to_owned(), value.to_owned()));
        }
    };
    given.append(&mut outgoing.headers);
    add("accept", "*/*", &mut given);
    add("user-agent", concat!("proofmark/", env!("CARGO_PKG_VERSION")), &mut given);
    let is_chunked = spelling.is_chunked() && has_body;
    if is_chunked {
        given.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
    } else if has_body {
        given.push(("content-length".to_owned(), outgoing.body.len().to_string()));
    }
    let expects = spelling.has(Kind::Expect) && !outgoing.body.is_empty();
    if expects {
        given.push(("expect".to_owned(), "100-continue".to_owned()));
    }
    let closes = spelling.has(Kind::Close);
    if closes {
        given.push(("connection".to_owned(), "close".to_owned()));
    }
    outgoing.headers = fields::respell(given, spelling);
    let head = format!("{} {target} HTTP/1.1\r\n{}\r\n", outgoing.method, fields::lines(&outgoing.headers, spelling));
    let body = match spelling.chunks() {
        (cuts, extensions) if is_chunked => in_chunks(&outgoing.body.0, cuts, extensions),
        _ => outgoing.body.0.to_vec(),
    };
    Written { head, body, writes: spelling.draw(Kind::Writes), expects, closes }
}

/// Chunk extensions that no recipient knows, and has to ignore.
const EXTENSIONS: &[&str] = &[";pm", ";pm=1", ";pm=\"a b\"", ";pm=1;more=2"];

/// A body in the chunked transfer coding: in one chunk or cut anywhere, with or without extensions.
fn in_chunks(body: &[u8], mut cuts: Option<Draw>, mut extensions: Option<Draw>) -> Vec<u8> {
    let mut chunked = Vec::with_capacity(body.len() + 128);
    let mut rest = body;
    let sizes = cuts.as_mut().map_or_else(|| vec![body.len()], |draw| draw.parts(body.len(), PARTS));
    let mut is_capital = || cuts.as_mut().is_some_and(|draw| draw.one_in(2));
    for size in sizes.into_iter().filter(|size| *size > 0) {
        let digits = if is_capital() { format!("{size:X}") } else { format!("{size:x}") };
        chunked.extend_from_slice(digits.as_bytes());
        let extension = extensions.as_mut().and_then(|draw| draw.pick(EXTENSIONS));
        chunked.extend_from_slice(extension.copied().unwrap_or_default().as_bytes());
        chunked.extend_from_slice(b"\r\n");
        let (part, after) = rest.split_at(size);
        chunked.extend_from_slice(part);
        chunked.extend_from_slice(b"\r\n");
        rest = after;
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    chunked
}

/// Writes a request. The answer, if it came before the body was sent.
async fn send(socket: &mut Socket, written: &Written, deadline: Instant) -> Result<Option<Response>, String> {
    let mut writes = written.writes.clone();
    let mut sizes = |length: usize| writes.as_mut().map(|draw| draw.parts(length, PARTS)).unwrap_or_default();
    if !written.expects {
        let whole = [written.head.as_bytes(), &written.body].concat();
        let sizes = sizes(whole.len());
        return socket.write_in(&whole, &sizes, deadline).await.map(|()| None);
    }
    let head = sizes(written.head.len());
    socket.write_in(written.head.as_bytes(), &head, deadline).await?;
    let until = deadline.min(Instant::now() + CONTINUE);
    while !has_head(socket.bytes()) {
        if socket.fill(until).await != Fill::More {
            break;
        }
    }
    if has_head(socket.bytes()) {
        let is_provisional = socket.bytes().get(8..).is_some_and(|rest| rest.starts_with(b" 1"));
        if !is_provisional {
            return http1::read_response(socket, deadline).await.map(Some).map_err(|ended| format!("{ended:?}"));
        }
    }
    let body = sizes(written.body.len());
    socket.write_in(&written.body, &body, deadline).await.map(|()| None)
}

fn has_head(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|four| four == b"\r\n\r\n")
}
