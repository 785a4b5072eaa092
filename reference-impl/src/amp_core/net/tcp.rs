//! TCP (RFC 002, 4): frames, the handshake of the transport, then AMP messages.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::server::{IDLE_DEADLINE, MESSAGE_DEADLINE, MESSAGE_LIMIT, Server};
use crate::amp_core::codes::Code;
use crate::amp_core::faults::tcp as faults;
use crate::amp_core::frame::{self, Decoder, Frame, FrameError, kind};
use crate::amp_core::node::channel::{Carrier, Channel};
use crate::amp_core::rules::Rules;
use crate::cbor::{self, Cbor, Limits};
use crate::fault::planted;

/// The version of the transport (4.4).
pub(super) const VERSION: u64 = 1;

/// The timeout of the handshake (3.1).
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// The timeout of writing one frame.
const SEND_DEADLINE: Duration = Duration::from_secs(30);

/// How long incoming data of a rejected connection is still read, so that the reason arrives before a reset.
const LINGER: Duration = Duration::from_millis(300);

/// The size of a read.
const PIECE: usize = 16 * 1024;

/// Accepts connections until the server is stopped; then the connections send GOAWAY.
pub(super) async fn serve(server: Server, listener: TcpListener) {
    let mut sessions = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = sessions.join_next() => continue,
            () = server.stopped() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: it passes.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&server.connections).try_acquire_owned() else { continue };
        let server = server.clone();
        sessions.spawn(async move {
            session(server, stream).await;
            drop(permit);
        });
    }
    let ended = async { while sessions.join_next().await.is_some() {} };
    timeout(Duration::from_secs(2), ended).await.ok();
}

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum End {
    /// The socket failed or the peer has disconnected.
    Gone,
    /// The peer ended it in order.
    Closed,
    /// This side ends it, with the reason in an ERROR frame (4.5).
    Refused(Code, &'static str),
    /// The handshake failed, as its response reported.
    Failed,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The reading half of a connection.
pub(super) struct Reader {
    half: OwnedReadHalf,
    decoder: Decoder,
    rules: Rules,
}

/// The half of a connection that frames go to.
pub(super) struct Writer {
    half: OwnedWriteHalf,
    rules: Rules,
    /// The largest payload that the peer takes.
    pub(super) limit: usize,
}

/// Splits a connection into its halves, which take payloads of up to `limit` bytes.
pub(super) fn halves(stream: TcpStream, limit: usize, rules: Rules) -> (Reader, Writer) {
    stream.set_nodelay(true).ok(); // only affects performance
    let (read, write) = stream.into_split();
    let reader = Reader { half: read, decoder: Decoder::new(limit, rules), rules };
    (reader, Writer { half: write, rules, limit })
}

impl Reader {
    /// The next frame (4.2). Memory grows with received bytes, not with the declared length. A partial frame is kept
    /// if the caller stops waiting.
    pub(super) async fn frame(&mut self) -> Result<(u8, Vec<u8>), End> {
        let mut piece = vec![0; PIECE];
        let mut begun = None;
        loop {
            let mut next = self.decoder.next();
            // 3.2: the maximum of a connection is that of its own handshake.
            planted!(self.rules.fault, "tcp-maximum-shared", next = faults::within_latest_maximum(next));
            let next = next.map_err(|error| match error {
                FrameError::Empty => End::Refused(Code::InvalidMessage, "a frame has a type"),
                FrameError::TooLarge => End::Refused(Code::InvalidMessage, "the frame is too large"),
            })?;
            if let Some(Frame { kind, payload }) = next {
                return Ok((kind, payload));
            }
            let read = if self.decoder.rest().is_empty() {
                self.half.read(&mut piece).await?
            } else {
                let end = *begun.get_or_insert_with(|| Instant::now() + MESSAGE_DEADLINE);
                let late = |_| End::Refused(Code::InvalidMessage, "the frame did not arrive in time");
                timeout_at(end, self.half.read(&mut piece)).await.map_err(late)??
            };
            if read == 0 {
                // 3.2: a frame that ends early is no frame.
                planted!(self.rules.fault, "tcp-cut-frame-taken", frame in self.decoder.cut() => return Ok(frame));
                return Err(End::Closed);
            }
            self.decoder.push(&piece[..read]);
        }
    }

    /// Reads and forgets for a moment.
    async fn drain(&mut self) {
        let mut sink = [0; 4096];
        let drained = async { while self.half.read(&mut sink).await.is_ok_and(|read| read > 0) {} };
        timeout(LINGER, drained).await.ok();
    }
}

impl Writer {
    /// Sends one frame (4.2).
    pub(super) async fn frame(&mut self, kind: u8, payload: &[u8]) -> Result<(), End> {
        let frame = frame::encode(kind, payload, self.rules);
        match timeout(SEND_DEADLINE, self.half.write_all(&frame)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(End::Gone), // the peer has disconnected or does not read
        }
    }

    /// Sends a map as a frame.
    pub(super) async fn map(&mut self, kind: u8, map: &Cbor) -> Result<(), End> {
        // 4.5: an ERROR frame has a code and a message.
        let bare = kind == kind::ERROR && self.rules.fault.is("tcp-error-frame-without-message");
        let code = || Cbor::map([("code", map.get("code").cloned().unwrap_or(Cbor::Null))]);
        let map = if bare { &code() } else { map };
        self.frame(kind, &cbor::encode(map)).await
    }
}

async fn session(server: Server, stream: TcpStream) {
    let rules = server.node.rules();
    let (mut reader, mut writer) = halves(stream, server.limit(), rules);
    let ended = serve_frames(&server, &mut reader, &mut writer).await;
    let said = match ended {
        Err(End::Refused(code, message)) if !rules.is_other() => {
            // 4.5.
            let error = Cbor::map([("code", code.number().into()), ("message", message.into())]);
            writer.map(kind::ERROR, &error).await.is_ok()
        }
        // Other, E72: closing without an ERROR frame is permitted as well.
        Err(End::Refused(..) | End::Failed) => true,
        Err(End::Closed) | Ok(()) => {
            // 4.5: a GOAWAY says why, if there is one.
            planted!(rules.fault, "tcp-goaway-without-reason", writer.map(kind::GOAWAY, &Cbor::map([])).await.ok());
            false
        }
        Err(End::Gone) => return,
    };
    writer.half.shutdown().await.ok();
    if said {
        reader.drain().await;
    }
}

/// Type and payload.
type Early = (u8, Vec<u8>);

async fn serve_frames(server: &Server, reader: &mut Reader, writer: &mut Writer) -> Result<(), End> {
    let (principal, early) = tokio::select! {
        shaken = open(server, reader, writer) => shaken?,
        () = server.stopped() => return Ok(()),
    };
    let (channel, mut outgoing) = server.node.connection(Carrier::Tcp, principal);
    // Frames are read by a separate task, so that a partial frame survives other events.
    let (arrived, mut arrivals) = mpsc::channel(1);
    let reading = async {
        if let Some(frame) = early {
            arrived.send(Ok(frame)).await.ok();
        }
        loop {
            let frame = timeout(IDLE_DEADLINE, reader.frame()).await.unwrap_or(Err(End::Closed));
            let last = frame.is_err();
            if arrived.send(frame).await.is_err() || last {
                return;
            }
        }
    };
    let serving = async {
        loop {
            tokio::select! {
                // 4.6: what has arrived is answered before the connection ends.
                biased;
                Some(frame) = arrivals.recv() => {
                    let (kind, payload) = frame?;
                    receive(server, &channel, writer, kind, payload).await?;
                }
                Some(message) = outgoing.recv() => send(writer, &message).await?,
                () = server.stopped() => {
                    // 4.6.
                    planted!(server.node.rules().fault, "shutdown-without-goaway", return Ok(()));
                    let goaway = Cbor::map([("reason", 0.into()), ("message", "the server is shutting down".into())]);
                    return writer.map(kind::GOAWAY, &goaway).await;
                }
            }
        }
    };
    tokio::select! {
        biased;
        ended = serving => ended,
        () = async { reading.await; std::future::pending().await } => Ok(()),
    }
}

/// The first frame: the identity of the peer, and a frame received instead of it if a fault allows one.
async fn open(
    server: &Server,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<(Option<String>, Option<Early>), End> {
    // 3.1: no message before the handshake.
    let fault = server.node.rules().fault;
    planted!(fault, "tcp-handshake-not-required", return without_handshake(server, reader, writer).await);
    Ok((handshake(server, reader, writer).await?, None))
}

/// Accepts any first frame.
async fn without_handshake(
    server: &Server,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<(Option<String>, Option<Early>), End> {
    let (kind, payload) = timeout(HANDSHAKE_DEADLINE, reader.frame()).await.map_err(|_| End::Closed)??;
    match kind {
        kind::HANDSHAKE => Ok((shake_hands(server, &payload, reader, writer).await?, None)),
        _ => Ok((None, Some((kind, payload)))), // a message
    }
}

/// 4.4: the first frame is a handshake, and soon.
async fn handshake(server: &Server, reader: &mut Reader, writer: &mut Writer) -> Result<Option<String>, End> {
    let first = timeout(HANDSHAKE_DEADLINE, reader.frame()).await;
    let (kind, payload) = first.map_err(|_| End::Refused(Code::InvalidMessage, "no handshake arrived"))??;
    // 4.3: the type of the frame decides, not what its payload looks like.
    let handshake = kind == kind::HANDSHAKE || server.node.rules().fault.is("tcp-handshake-in-any-frame");
    if !handshake {
        return Err(End::Refused(Code::InvalidMessage, "the first frame is a handshake"));
    }
    shake_hands(server, &payload, reader, writer).await
}

async fn shake_hands(
    server: &Server,
    payload: &[u8],
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<Option<String>, End> {
    // 3.2: the declared limit applies, unless a fault lowers it.
    let own = u64::try_from(MESSAGE_LIMIT).unwrap_or(u64::MAX);
    let mut response =
        Cbor::map([("version", VERSION.into()), ("accepted", true.into()), ("max_msg_size", own.into())]);
    match judge(server, payload) {
        Ok((theirs, principal)) => {
            // 2.1: the smaller of both limits.
            let effective = usize::try_from(theirs.min(own)).unwrap_or(MESSAGE_LIMIT);
            reader.decoder.set_max_payload(effective.min(server.limit()));
            writer.limit = effective;
            writer.map(kind::HANDSHAKE, &response).await?;
            Ok(principal)
        }
        Err(reason) => {
            response.set("accepted", false.into());
            response.set("error", reason.into());
            writer.map(kind::HANDSHAKE, &response).await?;
            Err(End::Failed)
        }
    }
}

/// Checks a handshake request (4.4); returns the limit and the identity of the peer.
fn judge(server: &Server, payload: &[u8]) -> Result<(u64, Option<String>), &'static str> {
    let request = cbor::read(payload, Limits::default()).map_err(|_| "not a handshake")?.value;
    let optional = |name: &str, good: fn(&Cbor) -> bool| request.get(name).is_none_or(good);
    let version = request.get("version").and_then(Cbor::as_unsigned).ok_or("version is missing")?;
    let limit = request.get("max_msg_size").and_then(Cbor::as_unsigned).ok_or("max_msg_size is missing")?;
    if !optional("did", |did| did.as_text().is_some())
        || !optional("token", |token| token.as_bytes().is_some())
        || !optional("extensions", |list| {
            list.as_array().is_some_and(|list| list.iter().all(|name| name.as_text().is_some()))
        })
    {
        return Err("a member has another type");
    }
    // 3.1, 4.4: only one version is supported.
    if version != VERSION && !server.node.rules().fault.is("tcp-handshake-any-version") {
        return Err("unsupported version");
    }
    if server.tokens.is_empty() {
        return Ok((limit, None));
    }
    let token = request.get("token").and_then(Cbor::as_bytes).unwrap_or_default();
    let owner = server.owner(token).ok_or("no known token")?;
    Ok((limit, Some(owner.to_owned())))
}

async fn receive(
    server: &Server,
    channel: &Channel,
    writer: &mut Writer,
    kind: u8,
    payload: Vec<u8>,
) -> Result<(), End> {
    match kind {
        kind::AMP_MESSAGE => {
            let taken = server.node.take(Bytes::from(payload), channel).await;
            for reply in &taken.replies {
                send(writer, reply).await?;
            }
            let Some(code) = taken.refusal else { return Ok(()) };
            if taken.close {
                return Err(End::Refused(code, "refused"));
            }
            // E32: if no ERROR message can be addressed, the transport reports the error.
            if taken.replies.is_empty() && !taken.silent {
                let error = Cbor::map([("code", code.number().into()), ("message", code.name().into())]);
                writer.map(kind::ERROR, &error).await?;
            }
            Ok(())
        }
        // 4.3: PONG has the bytes of the PING.
        kind::PING if server.node.rules().fault.is("tcp-pong-empty") => writer.frame(kind::PONG, &[]).await,
        kind::PING => writer.frame(kind::PONG, &payload).await,
        kind::PONG | kind::ERROR => Ok(()),
        kind::GOAWAY => Err(End::Closed),
        kind::HANDSHAKE => Err(End::Refused(Code::InvalidMessage, "the handshake is over")),
        _ => Err(End::Refused(Code::InvalidMessage, "unknown frame type")), // 4.3
    }
}

async fn send(writer: &mut Writer, message: &Bytes) -> Result<(), End> {
    // 2.1: never more than the limit of the peer. Queued messages can still be polled.
    if message.len() > writer.limit {
        return Ok(());
    }
    writer.frame(kind::AMP_MESSAGE, message).await
}
