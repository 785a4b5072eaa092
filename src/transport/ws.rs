//! WebSocket (RFC 6455), for client and server, on a custom socket: any answer to an upgrade can be observed, and
//! invalid framing is described instead of repaired.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustls::ClientConfig;
use sha1::{Digest, Sha1};
use tokio::time::Instant;

use super::channel::{
    Arrival, ArrivalKind, Bounds, Channel, Closing, Ending, Meter, Received, WireItem, evidence, milliseconds,
};
use super::frame::{Decoded, Frame, Header, Side, decode, mask, opcode as op};
use super::http1;
use super::socket::{Address, Fill, Socket};
use super::tcp::{ending, write_plain};
use crate::exchange::Ended;

/// Bytes that are read of the body of an answer that refuses an upgrade.
const REFUSAL: usize = 64 << 10;

/// The request of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Upgrade {
    /// Path and query, with the slash in front.
    pub target: String,
    /// Header fields. One that the handshake has too takes the place of that one, and an empty value leaves it out.
    pub headers: Vec<(String, String)>,
    /// What `Sec-WebSocket-Protocol` lists; the field is left out if this is empty.
    pub subprotocols: Vec<String>,
    /// The seed of `Sec-WebSocket-Key` and of the masking keys.
    pub key: [u8; 16],
}

/// The result of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Header fields that were sent.
    pub sent: Vec<(String, String)>,
    /// Status of the answer, or `None` without an answer.
    pub status: Option<u16>,
    /// Header fields of the answer in the order received; bytes outside UTF-8 are shown as U+FFFD.
    pub headers: Vec<(String, String)>,
    /// Body of an answer that refuses.
    pub body: Vec<u8>,
    /// How the answer ended.
    pub ended: Ended,
    /// Why an answer 101 does not open a WebSocket (RFC 6455 section 4.1).
    pub fault: Option<String>,
}

impl Opened {
    /// The subprotocol in the answer. The caller checks whether it was requested: the channel exists in any case.
    pub fn subprotocol(&self) -> Option<&str> {
        http1::field(&self.headers, "sec-websocket-protocol")
    }
}

/// What `Sec-WebSocket-Accept` has to be for a `Sec-WebSocket-Key` (RFC 6455 section 4.2.2).
pub fn accept_key(key: &str) -> String {
    let hash = Sha1::new().chain_update(key).chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11").finalize();
    data_encoding::BASE64.encode(&hash)
}

/// Connects to a peer and requests an upgrade. The result has a channel if the answer is a valid 101; arrivals on it
/// are timed from `since`. Uses TLS if the address requires it, with `tls` or else the certificates of the system.
pub async fn open(
    address: &Address,
    tls: Option<Arc<ClientConfig>>,
    upgrade: &Upgrade,
    bounds: Bounds,
    since: std::time::Instant,
    deadline: Instant,
) -> (Opened, Option<WsChannel>) {
    let key = data_encoding::BASE64.encode(&upgrade.key);
    let sent = request_fields(address, upgrade, &key);
    let mut opened =
        Opened { sent, status: None, headers: Vec::new(), body: Vec::new(), ended: Ended::Complete, fault: None };
    let request = match request(upgrade, &opened.sent) {
        Ok(request) => request,
        Err(why) => {
            opened.ended = Ended::Unreachable(why);
            return (opened, None);
        }
    };
    let mut socket = match Socket::connect(address, tls, bounds.room(), deadline).await {
        Ok(socket) => socket,
        Err(why) => {
            opened.ended = Ended::Unreachable(why);
            return (opened, None);
        }
    };
    // A peer may answer before it has read the whole request.
    let _ = socket.write(request.as_bytes(), deadline).await;
    let response = match http1::read_response(&mut socket, deadline).await {
        Ok(response) => response,
        Err(ended) => {
            opened.ended = ended;
            return (opened, None);
        }
    };
    opened.status = Some(response.status);
    if response.status != 101 {
        let length = http1::response_length(&response);
        opened.ended = http1::read_body(&mut socket, length, REFUSAL, deadline, &mut opened.body).await;
        opened.headers = response.fields;
        return (opened, None);
    }
    opened.headers = response.fields;
    opened.fault = fault(&opened);
    if opened.fault.is_some() {
        return (opened, None);
    }
    let mut channel = WsChannel::over(socket, Side::Client, bounds, since);
    let [a, b, c, d, ..] = upgrade.key;
    channel.masks = u32::from_be_bytes([a, b, c, d]);
    (opened, Some(channel))
}

fn request_fields(address: &Address, upgrade: &Upgrade, key: &str) -> http1::Fields {
    let mut fields: http1::Fields = [
        ("Host", address.authority().as_str()),
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", key),
        ("Sec-WebSocket-Version", "13"),
        ("User-Agent", concat!("proofmark/", env!("CARGO_PKG_VERSION"))),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    if !upgrade.subprotocols.is_empty() {
        fields.push(("Sec-WebSocket-Protocol".to_owned(), upgrade.subprotocols.join(", ")));
    }
    fields.retain(|(name, _)| http1::field(&upgrade.headers, name).is_none());
    fields.extend(upgrade.headers.iter().filter(|(_, value)| !value.is_empty()).cloned());
    fields
}

fn request(upgrade: &Upgrade, fields: &http1::Fields) -> Result<String, String> {
    let mut request = format!("GET {} HTTP/1.1\r\n", upgrade.target);
    if !http1::is_plain(&upgrade.target) || upgrade.target.contains(' ') {
        return Err(format!("`{}` cannot be sent as a path", upgrade.target));
    }
    for (name, value) in fields {
        if !http1::is_plain(name) || !http1::is_plain(value) {
            return Err(format!("the header {name} cannot be sent"));
        }
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    Ok(request)
}

/// The defect of an answer 101, if any.
fn fault(opened: &Opened) -> Option<String> {
    let fields = &opened.headers;
    let key = http1::field(&opened.sent, "sec-websocket-key").unwrap_or_default();
    let expected = accept_key(key);
    if !http1::has_token(fields, "upgrade", "websocket") {
        return Some("the answer 101 has no `Upgrade: websocket`".to_owned());
    }
    if !http1::has_token(fields, "connection", "upgrade") {
        return Some("the answer 101 has no `Connection: Upgrade`".to_owned());
    }
    match http1::field(fields, "sec-websocket-accept") {
        None => return Some("the answer 101 has no Sec-WebSocket-Accept".to_owned()),
        Some(accept) if accept.trim() != expected => {
            return Some(format!("Sec-WebSocket-Accept is `{accept}` and would have to be `{expected}`"));
        }
        Some(_) => {}
    }
    let extension = http1::field(fields, "sec-websocket-extensions").filter(|value| !value.trim().is_empty());
    match extension {
        Some(extension) if http1::field(&opened.sent, "sec-websocket-extensions").is_none() => {
            Some(format!("the answer names the extension `{extension}`, which was not requested"))
        }
        _ => None,
    }
}

/// A WebSocket.
pub struct WsChannel {
    socket: Socket,
    side: Side,
    bounds: Bounds,
    meter: Meter,
    since: std::time::Instant,
    /// The opcode and the first fragments of a message that is not whole yet.
    begun: Option<(u8, Vec<u8>)>,
    /// The seed of the masking keys.
    masks: u32,
    /// Whether this side has sent a close.
    closing: bool,
    /// Whether raw bytes were sent last: then no frame may be inserted before the next item.
    raw: bool,
    ending: Option<Ending>,
}

impl WsChannel {
    /// A WebSocket on a connection on which the handshake is over.
    pub(super) fn over(mut socket: Socket, side: Side, bounds: Bounds, since: std::time::Instant) -> Self {
        socket.set_room(bounds.room());
        Self {
            socket,
            side,
            bounds,
            meter: Meter::new(bounds),
            since,
            begun: None,
            masks: 0,
            closing: false,
            raw: false,
            ending: None,
        }
    }

    /// The next masking key. It need not be secret.
    fn mask_key(&mut self) -> Option<[u8; 4]> {
        self.masks = self.masks.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.side == Side::Client).then(|| self.masks.to_be_bytes())
    }

    /// The bytes of a whole frame of this side.
    fn frame(&mut self, opcode: u8, payload: Vec<u8>) -> Vec<u8> {
        Frame { mask: self.mask_key(), ..Frame::whole(opcode, payload) }.encode()
    }

    /// The bytes of a message in several frames of this side (RFC 6455 section 5.4).
    fn fragments(&mut self, opcode: u8, parts: Vec<Vec<u8>>) -> Vec<u8> {
        let count = parts.len();
        let mut bytes = Vec::new();
        for (number, payload) in parts.into_iter().enumerate() {
            let opcode = if number == 0 { opcode } else { op::CONTINUATION };
            let last = number + 1 == count;
            bytes.extend(Frame { last, mask: self.mask_key(), ..Frame::whole(opcode, payload) }.encode());
        }
        bytes
    }

    async fn write_item(&mut self, item: WireItem, deadline: Instant) -> Result<(), String> {
        let (opcode, payload) = match item {
            WireItem::WsBinary(payload) => (op::BINARY, payload),
            WireItem::WsText(text) => (op::TEXT, text.into_bytes()),
            WireItem::WsPing(payload) => (op::PING, payload),
            WireItem::WsPong(payload) => (op::PONG, payload),
            WireItem::WsClose(code) => {
                self.closing = true;
                (op::CLOSE, code.map(|code| code.to_be_bytes().to_vec()).unwrap_or_default())
            }
            WireItem::WsFragments { text, parts, writes } => {
                self.raw = false;
                let bytes = self.fragments(if text { op::TEXT } else { op::BINARY }, parts);
                return self.socket.write_in(&bytes, &writes, deadline).await;
            }
            other => {
                self.raw |= matches!(other, WireItem::Raw(_) | WireItem::Slow { .. });
                return write_plain(&mut self.socket, other, deadline).await;
            }
        };
        self.raw = false;
        let bytes = self.frame(opcode, payload);
        self.socket.write(&bytes, deadline).await
    }

    /// Answers a control frame on its own account, unless that could end up in the middle of raw bytes.
    fn answer(&mut self, opcode: u8, payload: Vec<u8>) {
        if !self.raw && !self.closing {
            self.closing = opcode == op::CLOSE;
            let bytes = self.frame(opcode, payload);
            self.socket.owe(&bytes);
        }
    }

    async fn next(&mut self, deadline: Instant) -> Received {
        loop {
            if let Some(ending) = &self.ending {
                return Received::Ended(ending.clone());
            }
            let sender = if self.side == Side::Client { Side::Server } else { Side::Client };
            let begun = self.begun.as_ref().map_or(0, |(_, begun)| begun.len());
            let limit = self.bounds.message.saturating_sub(begun);
            let wanted = match decode(self.socket.bytes(), sender, limit) {
                Decoded::Frame(header) => {
                    if let Some(received) = self.take(header) {
                        return received;
                    }
                    continue;
                }
                Decoded::TooLong(declared) => {
                    let declared = declared.saturating_add(begun as u64);
                    self.ending = Some(Ending::Overlong { declared });
                    return Received::TooLong { declared };
                }
                Decoded::Broken(why) => {
                    self.broken(why);
                    continue;
                }
                Decoded::Partial(wanted) => wanted,
            };
            match self.socket.fill(deadline).await {
                Fill::More => {}
                Fill::Nothing => return Received::Nothing,
                Fill::Ended => {
                    let mut ending = ending(&self.socket, wanted);
                    if let (Ending::Finished, Some((_, begun))) = (&ending, &self.begun) {
                        ending = Ending::Cut { rest: evidence(begun), got: begun.len() as u64, wanted: None };
                    }
                    self.ending = Some(ending);
                }
            }
        }
    }

    /// Processes a frame, and returns the arrival that it completes. `None` for a fragment, or the end.
    fn take(&mut self, header: Header) -> Option<Received> {
        if let Some(ending) = self.meter.count(header.size) {
            self.ending = Some(ending);
            return None;
        }
        let whole = matches!(header.opcode, op::TEXT | op::BINARY);
        match (header.opcode, &self.begun) {
            (op::CONTINUATION, None) => {
                self.broken("a fragment continues no message".to_owned());
                return None;
            }
            (_, Some(_)) if whole => {
                self.broken("a message begins within the fragments of another".to_owned());
                return None;
            }
            _ => {}
        }
        let (mut payload, at) = self.socket.take(header.size);
        payload.drain(..header.payload);
        if let Some(key) = header.mask {
            mask(&mut payload, key);
        }
        let (kind, body) = match header.opcode {
            op::PING => {
                self.answer(op::PONG, payload.clone());
                (ArrivalKind::WsPing, payload)
            }
            op::PONG => (ArrivalKind::WsPong, payload),
            op::CLOSE => {
                let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                if payload.len() == 1 {
                    self.ending = Some(Ending::Broken {
                        why: "a close frame with one byte has no valid code".to_owned(),
                        bytes: payload,
                    });
                    return None;
                }
                self.answer(op::CLOSE, payload.iter().take(2).copied().collect());
                payload.drain(..payload.len().min(2));
                let reason = String::from_utf8_lossy(&payload).into_owned();
                self.ending = Some(Ending::Closed { code, reason });
                (ArrivalKind::WsClose(code), payload)
            }
            opcode => {
                let (opcode, body) = match self.begun.take() {
                    Some((opcode, mut begun)) => {
                        begun.extend_from_slice(&payload);
                        (opcode, begun)
                    }
                    None => (opcode, payload),
                };
                if !header.last {
                    self.begun = Some((opcode, body));
                    return None;
                }
                (if opcode == op::TEXT { ArrivalKind::WsText } else { ArrivalKind::WsBinary }, body)
            }
        };
        Some(Received::Arrived(Arrival { kind, body, at_ms: milliseconds(self.since, at) }))
    }

    fn broken(&mut self, why: String) {
        let bytes = evidence(self.socket.bytes());
        self.ending = Some(Ending::Broken { why, bytes });
    }

    async fn finish(&mut self, code: Option<u16>, deadline: Instant) -> Closing {
        let mut arrivals = Vec::new();
        if !self.closing {
            let _ = self.write_item(WireItem::WsClose(code), deadline).await;
        }
        let ending = loop {
            match self.next(deadline).await {
                Received::Arrived(arrival) => arrivals.push(arrival),
                Received::TooLong { .. } => {}
                Received::Nothing => break Ending::Here,
                Received::Ended(ending) => break ending,
            }
        };
        // Pending data, such as the answer to a close, is sent before the end.
        let _ = self.socket.write(&[], deadline).await;
        let _ = self.socket.half_close(deadline).await;
        self.socket.hang_up();
        self.ending.get_or_insert(Ending::Here);
        Closing { arrivals, ending }
    }
}

impl Channel for WsChannel {
    fn send(&mut self, item: WireItem, deadline: Instant) -> BoxFuture<'_, Result<(), String>> {
        self.write_item(item, deadline).boxed()
    }

    fn receive(&mut self, deadline: Instant) -> BoxFuture<'_, Received> {
        self.next(deadline).boxed()
    }

    fn close(&mut self, code: Option<u16>, deadline: Instant) -> BoxFuture<'_, Closing> {
        self.finish(code, deadline).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{SinkExt, StreamExt};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;

    use super::*;

    /// The key of the example in RFC 6455 section 1.3.
    const KEY: [u8; 16] = *b"the sample nonce";
    const ACCEPTED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    fn in_ms(milliseconds: u64) -> Instant {
        Instant::now() + Duration::from_millis(milliseconds)
    }

    async fn bound() -> (TcpListener, Address) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        (listener, Address { host: "127.0.0.1".to_owned(), port, tls: false })
    }

    /// A peer that sends `answer` when it has read a request, and `then` after that; it stays until the other end goes.
    async fn peer(answer: &str, then: Vec<u8>) -> Address {
        let (listener, address) = bound().await;
        let answer = answer.to_owned();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.expect("a request"));
            }
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.write_all(&then).await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        });
        address
    }

    fn upgrade() -> Upgrade {
        Upgrade { target: "/ws".to_owned(), subprotocols: vec!["amp.v1".to_owned()], key: KEY, ..Upgrade::default() }
    }

    async fn try_open(address: &Address) -> (Opened, Option<WsChannel>) {
        let bounds = Bounds { message: 1_000, frames: 50, bytes: 20_000 };
        open(address, None, &upgrade(), bounds, std::time::Instant::now(), soon()).await
    }

    async fn opened(then: Vec<u8>) -> WsChannel {
        let (opened, channel) = try_open(&peer(ACCEPTED, then).await).await;
        channel.unwrap_or_else(|| panic!("{opened:?}"))
    }

    fn frames(frames: &[(bool, u8, &str)]) -> Vec<u8> {
        let frame = |(last, opcode, text): &(bool, u8, &str)| Frame { last: *last, ..Frame::whole(*opcode, *text) };
        frames.iter().flat_map(|part| frame(part).encode()).collect()
    }

    async fn arrival(channel: &mut WsChannel) -> (ArrivalKind, Vec<u8>) {
        match channel.receive(soon()).await {
            Received::Arrived(arrival) => (arrival.kind, arrival.body),
            other => panic!("{other:?}"),
        }
    }

    async fn broken(then: Vec<u8>) -> String {
        let mut channel = opened(then).await;
        match channel.receive(soon()).await {
            Received::Ended(Ending::Broken { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_example_of_the_specification() {
        assert_eq!(data_encoding::BASE64.encode(&KEY), "dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[tokio::test]
    async fn a_refused_upgrade_is_seen_with_status_and_body() {
        let address =
            peer("HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\nX-Why: no\r\n\r\nnopeextra", Vec::new()).await;
        let (refused, channel) = try_open(&address).await;
        assert!(channel.is_none());
        assert_eq!(
            (refused.status, refused.body.as_slice(), refused.ended),
            (Some(400), &b"nope"[..], Ended::Complete)
        );
        assert_eq!(refused.headers[1], ("X-Why".to_owned(), "no".to_owned()));
        let chunked = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 426 Upgrade Required\r\nTransfer-Encoding: chunked\r\n\r\n\
            3;x=y\r\nnop\r\n1\r\ne\r\n0\r\nX: y\r\n\r\n";
        let (refused, _) = try_open(&peer(chunked, Vec::new()).await).await;
        assert_eq!(
            (refused.status, refused.body.as_slice(), refused.ended),
            (Some(426), &b"nope"[..], Ended::Complete)
        );
    }

    #[tokio::test]
    async fn an_answer_101_is_not_believed() {
        for (from, to, part) in [
            ("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "AAAALMBiTxaQ9kYGzzhZRbK+xOo=", "would have to be"),
            ("Upgrade: websocket", "Upgrade: h2c", "Upgrade: websocket"),
            ("Connection: keep-alive, Upgrade", "Connection: close", "Connection: Upgrade"),
            ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "not requested"),
        ] {
            let (opened, channel) = try_open(&peer(&ACCEPTED.replace(from, to), Vec::new()).await).await;
            assert_eq!(opened.status, Some(101));
            let fault = opened.fault.expect(part);
            assert!(fault.contains(part) && channel.is_none(), "{fault}");
        }
        let (opened, channel) = try_open(&peer("SSH-2.0-OpenSSH\r\n", Vec::new()).await).await;
        assert!(matches!(opened.ended, Ended::Closed(why) if why.contains("invalid HTTP")) && channel.is_none());
    }

    #[tokio::test]
    async fn headers_can_be_changed_but_not_smuggled() {
        let (_, address) = bound().await;
        let headers = [("sec-websocket-version", "99"), ("Connection", ""), ("X-Other", "1")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let sent = request_fields(&address, &Upgrade { headers, ..upgrade() }, "k");
        assert_eq!(http1::field(&sent, "Sec-WebSocket-Version"), Some("99"));
        assert_eq!(http1::field(&sent, "Connection"), None);
        assert_eq!(http1::field(&sent, "Sec-WebSocket-Protocol"), Some("amp.v1"));
        assert!(request(&upgrade(), &vec![("A".to_owned(), "b\r\nC: d".to_owned())]).is_err());
    }

    #[tokio::test]
    async fn fragments_are_joined_around_control_frames() {
        let then = frames(&[
            (false, op::BINARY, "a"),
            (true, op::PING, "?"),
            (false, op::CONTINUATION, ""),
            (true, op::CONTINUATION, "b"),
            (true, op::TEXT, "t"),
            (true, op::CLOSE, "\u{3}\u{0}bye"),
            (true, op::TEXT, "late"),
        ]);
        let mut channel = opened(then).await;
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsPing, b"?".to_vec()));
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsBinary, b"ab".to_vec()));
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsText, b"t".to_vec()));
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsClose(Some(768)), b"bye".to_vec()));
        let ending = Ending::Closed { code: Some(768), reason: "bye".to_owned() };
        assert_eq!(channel.receive(soon()).await, Received::Ended(ending.clone()));
        assert_eq!(channel.close(Some(1000), soon()).await, Closing { arrivals: Vec::new(), ending });
    }

    #[tokio::test]
    async fn invalid_framing_is_described() {
        assert!(broken(frames(&[(true, op::CONTINUATION, "")])).await.contains("continues no message"));
        assert!(broken(frames(&[(false, op::TEXT, ""), (true, op::TEXT, "")])).await.contains("within the fragments"));
        assert!(broken(frames(&[(true, op::CLOSE, "x")])).await.contains("no valid code"));
        let masked = Frame { mask: Some([1; 4]), ..Frame::whole(op::TEXT, "x") }.encode();
        assert!(broken(masked).await.contains("masked"));
    }

    #[tokio::test]
    async fn memory_is_bounded_for_declared_and_repeated_data() {
        let mut channel = opened(b"\x82\x7f\0\0\0\x01\0\0\0\0".to_vec()).await;
        assert_eq!(channel.receive(soon()).await, Received::TooLong { declared: 1 << 32 });
        assert!(matches!(channel.receive(soon()).await, Received::Ended(Ending::Overlong { .. })));
        let text = "x".repeat(600);
        let mut channel = opened(frames(&[(false, op::TEXT, &text), (false, op::CONTINUATION, &text)])).await;
        assert_eq!(channel.receive(soon()).await, Received::TooLong { declared: 1_200 });
        let mut channel = opened(frames(&vec![(false, op::CONTINUATION, ""); 100])).await;
        channel.begun = Some((op::TEXT, Vec::new()));
        let Received::Ended(Ending::Flooded(what)) = channel.receive(soon()).await else { panic!("no end") };
        assert_eq!(what, "more than 50 frames");
    }

    /// Another implementation at the other end, which echoes messages.
    async fn echo() -> Address {
        let (listener, address) = bound().await;
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
            while let Some(Ok(message)) = socket.next().await {
                if message.is_text() || message.is_binary() {
                    socket.send(message).await.expect("an echo");
                }
            }
        });
        address
    }

    #[tokio::test]
    async fn another_implementation_agrees() {
        let (opened, channel) =
            open(&echo().await, None, &upgrade(), Bounds::default(), std::time::Instant::now(), soon()).await;
        assert_eq!((opened.status, opened.subprotocol()), (Some(101), None));
        let mut channel = channel.expect("a channel");
        for length in [0, 125, 126, 65_536, 4 << 20] {
            channel.send(WireItem::WsBinary(vec![5; length]), soon()).await.unwrap();
            let (kind, body) = arrival(&mut channel).await;
            assert!(kind == ArrivalKind::WsBinary && body == vec![5; length], "{length}");
        }
        channel.send(WireItem::WsText("\u{20ac}".to_owned()), soon()).await.unwrap();
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsText, "\u{20ac}".into()));
        channel.send(WireItem::WsPing(b"ping".to_vec()), soon()).await.unwrap();
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsPong, b"ping".to_vec()));
        let fragment =
            |last, opcode, text: &str| Frame { last, mask: Some([9, 8, 7, 6]), ..Frame::whole(opcode, text) }.encode();
        let parts =
            [fragment(false, op::BINARY, "a"), fragment(true, op::PING, "?"), fragment(true, op::CONTINUATION, "b")];
        let spelled = WireItem::WsFragments {
            text: true,
            parts: vec!["\u{20ac}".as_bytes()[..1].to_vec(), "\u{20ac}".as_bytes()[1..].to_vec(), b"x".to_vec()],
            writes: vec![1, 3, 9],
        };
        channel.send(spelled, soon()).await.unwrap();
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsText, "\u{20ac}x".into()));
        channel.send(WireItem::Raw(parts.concat()), soon()).await.unwrap();
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsPong, b"?".to_vec()));
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsBinary, b"ab".to_vec()));
        channel.send(WireItem::WsClose(Some(1000)), soon()).await.unwrap();
        assert_eq!(arrival(&mut channel).await.0, ArrivalKind::WsClose(Some(1000)));
    }

    #[tokio::test]
    async fn pings_and_a_close_are_answered() {
        let (listener, address) = bound().await;
        let peer = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
            socket.send(Message::Ping("are you there".into())).await.expect("a ping");
            let pong = socket.next().await.expect("an answer").expect("a frame");
            socket.close(Some(CloseFrame { code: 1008.into(), reason: "token".into() })).await.expect("a close");
            (pong, socket.next().await)
        });
        let mut channel = try_open(&address).await.1.expect("a channel");
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsPing, b"are you there".to_vec()));
        assert_eq!(arrival(&mut channel).await, (ArrivalKind::WsClose(Some(1008)), b"token".to_vec()));
        let Received::Ended(ending) = channel.receive(soon()).await else { panic!("no end") };
        assert_eq!(ending.to_string(), "the WebSocket was closed with 1008: token");
        let (pong, close) = peer.await.expect("a peer");
        assert_eq!(pong, Message::Pong("are you there".into()));
        assert!(matches!(close, Some(Ok(Message::Close(Some(frame)))) if frame.code == 1008.into()));
    }

    #[tokio::test]
    async fn an_unanswered_close_ends_at_the_deadline() {
        let mut channel = opened(frames(&[(true, op::TEXT, "still")])).await;
        let begun = Instant::now();
        let closing = channel.close(Some(1000), in_ms(50)).await;
        assert_eq!((closing.arrivals.len(), closing.ending), (1, Ending::Here));
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(channel.receive(soon()).await, Received::Ended(Ending::Here));
    }

    #[tokio::test]
    async fn a_silent_peer_times_out_at_the_deadline() {
        let (listener, address) = bound().await;
        let begun = Instant::now();
        let (silent, channel) =
            open(&address, None, &upgrade(), Bounds::default(), std::time::Instant::now(), in_ms(50)).await;
        assert_eq!((silent.status, silent.ended, channel.is_none()), (None, Ended::TimedOut, true));
        assert!(begun.elapsed() < Duration::from_secs(5));
        drop::<(TcpListener, Option<TcpStream>)>((listener, None));
    }
}
