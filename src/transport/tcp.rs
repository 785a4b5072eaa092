//! Frames on a byte stream: a 4-byte big-endian length, then that many bytes, of which the first may be a type.
//! The protocol defines the framing and the meaning of types. A reader never trusts a length: memory grows only with
//! received bytes, and a length beyond the limit is reported
//! immediately.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustls::ClientConfig;
use tokio::time::Instant;

use super::channel::{
    Arrival, ArrivalKind, Bounds, Channel, Closing, Ending, Meter, Received, WireItem, evidence, milliseconds,
};
use super::socket::{Address, End, Fill, Socket};

/// Bytes of the length in front of each frame.
const HEADER: usize = 4;

/// The content of a frame after its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Framing {
    /// A type byte, which the length counts, and a payload.
    #[default]
    Typed,
    /// A payload alone.
    Bare,
}

/// A frame as bytes.
///
/// # Errors
///
/// The length does not fit into four bytes.
pub fn encode(kind: Option<u8>, payload: &[u8]) -> Result<Vec<u8>, String> {
    let length = payload.len() + usize::from(kind.is_some());
    let length = u32::try_from(length).map_err(|_| format!("no frame can have {length} bytes"))?;
    let mut frame = Vec::with_capacity(HEADER + 1 + payload.len());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend(kind);
    frame.extend_from_slice(payload);
    Ok(frame)
}

/// The result of decoding the start of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A frame of `size` bytes.
    Frame {
        /// The type byte, if frames have one.
        kind: Option<u8>,
        /// Where the payload begins.
        payload: usize,
        /// Its size in bytes, length and type included.
        size: usize,
    },
    /// An incomplete frame, and its total size if known.
    Partial(Option<u64>),
    /// A frame with so many bytes behind its length is longer than is read.
    TooLong(u64),
    /// An invalid frame, and the reason.
    Broken(String),
}

/// Looks for a frame at the start of `bytes`, with at most `limit` bytes of payload.
pub fn decode(bytes: &[u8], framing: Framing, limit: usize) -> Decoded {
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Decoded::Partial(None) };
    let declared = u64::from(u32::from_be_bytes(*header));
    let before = u64::from(framing == Framing::Typed);
    if declared < before {
        return Decoded::Broken("a frame of length 0 has no room for its type".to_owned());
    }
    if declared - before > limit as u64 {
        return Decoded::TooLong(declared);
    }
    let size = HEADER as u64 + declared;
    if size > bytes.len() as u64 {
        return Decoded::Partial(Some(size));
    }
    let kind = match framing {
        Framing::Typed => bytes.get(HEADER).copied(),
        Framing::Bare => None,
    };
    Decoded::Frame { kind, payload: HEADER + usize::from(kind.is_some()), size: usize::try_from(size).unwrap_or(0) }
}

/// A connection that carries frames.
pub struct TcpChannel {
    socket: Socket,
    framing: Framing,
    bounds: Bounds,
    meter: Meter,
    since: std::time::Instant,
    ending: Option<Ending>,
}

impl TcpChannel {
    /// Connects to a peer. Arrivals are timed from `since`. Uses TLS if the address requires it, with `tls` or else the
    /// certificates of the system.
    ///
    /// # Errors
    ///
    /// The connection failed or timed out. The text describes the cause.
    pub async fn connect(
        address: &Address,
        tls: Option<Arc<ClientConfig>>,
        framing: Framing,
        bounds: Bounds,
        since: std::time::Instant,
        deadline: Instant,
    ) -> Result<Self, String> {
        let socket = Socket::connect(address, tls, bounds.room(), deadline).await?;
        Ok(Self::over(socket, framing, bounds, since))
    }

    /// Frames on a connection that is there.
    pub(super) fn over(mut socket: Socket, framing: Framing, bounds: Bounds, since: std::time::Instant) -> Self {
        socket.set_room(bounds.room());
        Self { socket, framing, bounds, meter: Meter::new(bounds), since, ending: None }
    }

    async fn write_item(&mut self, item: WireItem, deadline: Instant) -> Result<(), String> {
        match item {
            WireItem::TcpFrame { kind, payload } => self.socket.write(&encode(Some(kind), &payload)?, deadline).await,
            WireItem::TcpBare(payload) => self.socket.write(&encode(None, &payload)?, deadline).await,
            WireItem::TcpWrites { kind, payload, writes } => {
                self.socket.write_in(&encode(kind, &payload)?, &writes, deadline).await
            }
            other => write_plain(&mut self.socket, other, deadline).await,
        }
    }

    async fn next(&mut self, deadline: Instant) -> Received {
        loop {
            if let Some(ending) = &self.ending {
                return Received::Ended(ending.clone());
            }
            let bytes = self.socket.bytes();
            let wanted = match decode(bytes, self.framing, self.bounds.message) {
                Decoded::Frame { kind, payload, size } => {
                    if let Some(ending) = self.meter.count(size) {
                        self.end(ending);
                        continue;
                    }
                    let (mut body, at) = self.socket.take(size);
                    body.drain(..payload);
                    let kind = kind.map_or(ArrivalKind::TcpBare, ArrivalKind::TcpFrame);
                    return Received::Arrived(Arrival { kind, body, at_ms: milliseconds(self.since, at) });
                }
                Decoded::TooLong(declared) => {
                    self.ending = Some(Ending::Overlong { declared });
                    return Received::TooLong { declared };
                }
                Decoded::Broken(why) => {
                    let bytes = evidence(bytes);
                    self.end(Ending::Broken { why, bytes });
                    continue;
                }
                Decoded::Partial(wanted) => wanted,
            };
            match self.socket.fill(deadline).await {
                Fill::More => {}
                Fill::Nothing => return Received::Nothing,
                Fill::Ended => {
                    let ending = ending(&self.socket, wanted);
                    self.end(ending);
                }
            }
        }
    }

    fn end(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }

    async fn finish(&mut self, deadline: Instant) -> Closing {
        let mut arrivals = Vec::new();
        let _ = self.socket.half_close(deadline).await;
        let ending = loop {
            match self.next(deadline).await {
                Received::Arrived(arrival) => arrivals.push(arrival),
                Received::TooLong { .. } => {}
                Received::Nothing => break Ending::Here,
                Received::Ended(ending) => break ending,
            }
        };
        self.socket.hang_up();
        self.end(Ending::Here);
        Closing { arrivals, ending }
    }
}

impl Channel for TcpChannel {
    fn send(&mut self, item: WireItem, deadline: Instant) -> BoxFuture<'_, Result<(), String>> {
        self.write_item(item, deadline).boxed()
    }

    fn receive(&mut self, deadline: Instant) -> BoxFuture<'_, Received> {
        self.next(deadline).boxed()
    }

    fn close(&mut self, _: Option<u16>, deadline: Instant) -> BoxFuture<'_, Closing> {
        self.finish(deadline).boxed()
    }
}

/// Writes an item that needs no framing.
pub(super) async fn write_plain(socket: &mut Socket, item: WireItem, deadline: Instant) -> Result<(), String> {
    match item {
        WireItem::Raw(bytes) => socket.write(&bytes, deadline).await,
        WireItem::Slow { bytes, chunk, pause } => {
            for (number, part) in bytes.chunks(chunk.max(1)).enumerate() {
                if number > 0 {
                    let until = Instant::now() + pause;
                    if until > deadline {
                        return Err("the deadline passed before all bytes were written".to_owned());
                    }
                    socket.pause(until).await;
                }
                socket.write(part, deadline).await?;
            }
            Ok(())
        }
        WireItem::HalfClose => socket.half_close(deadline).await,
        WireItem::Reset => {
            socket.reset();
            Ok(())
        }
        other => Err(format!("{} cannot be sent on this channel", other.name())),
    }
}

/// The ending of a stream whose next frame has `wanted` bytes.
pub(super) fn ending(socket: &Socket, wanted: Option<u64>) -> Ending {
    let rest = socket.bytes();
    match socket.end() {
        None | Some(End::Here) => Ending::Here,
        Some(End::Failed(how)) => Ending::Reset(how.clone()),
        Some(End::Finished) if rest.is_empty() => Ending::Finished,
        Some(End::Finished) => Ending::Cut { rest: evidence(rest), got: rest.len() as u64, wanted },
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    fn in_ms(milliseconds: u64) -> Instant {
        Instant::now() + Duration::from_millis(milliseconds)
    }

    /// A peer that runs `behaviour` on its only connection.
    async fn peer<F>(behaviour: impl FnOnce(TcpStream) -> F + Send + 'static) -> Address
    where
        F: Future<Output = ()> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            behaviour(stream).await;
        });
        Address { host: "127.0.0.1".to_owned(), port, tls: false }
    }

    async fn connect(address: &Address, framing: Framing, bounds: Bounds) -> TcpChannel {
        TcpChannel::connect(address, None, framing, bounds, std::time::Instant::now(), soon()).await.expect("a channel")
    }

    fn small() -> Bounds {
        Bounds { message: 1_000, frames: 50, bytes: 10_000 }
    }

    #[test]
    fn a_frame_is_length_type_and_payload() {
        assert_eq!(encode(Some(3), b"ping").unwrap(), b"\0\0\0\x05\x03ping");
        assert_eq!(encode(None, b"ping").unwrap(), b"\0\0\0\x04ping");
        let frame = b"\0\0\0\x05\x03ping\0";
        assert_eq!(decode(frame, Framing::Typed, 4), Decoded::Frame { kind: Some(3), payload: 5, size: 9 });
        assert_eq!(decode(frame, Framing::Bare, 5), Decoded::Frame { kind: None, payload: 4, size: 9 });
        assert_eq!(decode(frame, Framing::Typed, 3), Decoded::TooLong(5));
        assert_eq!(decode(&frame[..7], Framing::Typed, 4), Decoded::Partial(Some(9)));
        assert_eq!(decode(&frame[..3], Framing::Typed, 4), Decoded::Partial(None));
        assert_eq!(decode(&[0; 4], Framing::Bare, 0), Decoded::Frame { kind: None, payload: 4, size: 4 });
        assert!(matches!(decode(&[0; 4], Framing::Typed, 9), Decoded::Broken(_)));
    }

    #[tokio::test]
    async fn sent_frames_are_echoed() {
        let address = peer(|mut stream| async move {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
        })
        .await;
        let mut channel = connect(&address, Framing::Typed, Bounds::default()).await;
        // More than the buffers of both kernels: it only succeeds if reading continues during the write.
        let big = vec![7; 8 << 20];
        channel.send(WireItem::TcpFrame { kind: 1, payload: big.clone() }, soon()).await.unwrap();
        let whole = encode(Some(4), b"slowly").unwrap();
        let slow = WireItem::Slow { bytes: whole, chunk: 3, pause: Duration::from_millis(5) };
        channel.send(slow, soon()).await.unwrap();
        let Received::Arrived(first) = channel.receive(soon()).await else { panic!("no echo arrived") };
        assert_eq!((first.kind, first.body.len()), (ArrivalKind::TcpFrame(1), big.len()));
        let Received::Arrived(second) = channel.receive(soon()).await else { panic!("no echo arrived") };
        assert_eq!((second.kind, second.body), (ArrivalKind::TcpFrame(4), b"slowly".to_vec()));
        assert!(second.at_ms >= first.at_ms);
        let cut = WireItem::TcpWrites { kind: Some(4), payload: b"in parts".to_vec(), writes: vec![2, 4, 1] };
        channel.send(cut, soon()).await.unwrap();
        let Received::Arrived(third) = channel.receive(soon()).await else { panic!("no echo arrived") };
        assert_eq!((third.kind, third.body), (ArrivalKind::TcpFrame(4), b"in parts".to_vec()));
        assert_eq!(channel.receive(in_ms(20)).await, Received::Nothing);
        channel.send(WireItem::Raw(vec![0, 0, 0, 9, 1]), soon()).await.unwrap();
        channel.send(WireItem::HalfClose, soon()).await.unwrap();
        let cut = Ending::Cut { rest: vec![0, 0, 0, 9, 1], got: 5, wanted: Some(13) };
        assert_eq!(channel.receive(soon()).await, Received::Ended(cut.clone()));
        assert_eq!(cut.to_string(), "the connection was closed after 5 bytes of a frame of 13");
        assert!(channel.send(WireItem::WsText(String::new()), soon()).await.is_err());
    }

    #[tokio::test]
    async fn a_slow_peer_has_until_the_deadline_and_no_data_is_lost() {
        let address = peer(|mut stream| async move {
            for byte in encode(Some(1), b"ab").unwrap() {
                stream.write_all(&[byte]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
        let mut channel = connect(&address, Framing::Typed, small()).await;
        assert_eq!(channel.receive(in_ms(120)).await, Received::Nothing);
        let Received::Arrived(arrival) = channel.receive(soon()).await else { panic!("no frame") };
        assert_eq!(arrival.body, b"ab");
        assert!((250..5_000).contains(&arrival.at_ms), "{}", arrival.at_ms);
        assert_eq!(channel.receive(soon()).await, Received::Ended(Ending::Finished));
    }

    #[tokio::test]
    async fn a_declared_length_is_not_believed() {
        let address = peer(|mut stream| async move {
            stream.write_all(&[0xff; 5]).await.unwrap();
            std::future::pending::<()>().await;
        })
        .await;
        let mut channel = connect(&address, Framing::Typed, Bounds::default()).await;
        assert_eq!(channel.receive(soon()).await, Received::TooLong { declared: 0xffff_ffff });
        assert!(channel.socket.bytes().len() < 10);
        let ended = Received::Ended(Ending::Overlong { declared: 0xffff_ffff });
        assert_eq!(channel.receive(soon()).await, ended);
        assert_eq!(channel.receive(soon()).await, ended);
    }

    #[tokio::test]
    async fn a_flood_is_left_unread() {
        let address = peer(|mut stream| async move { while stream.write_all(&[0, 0, 0, 1, 9]).await.is_ok() {} }).await;
        let mut channel = connect(&address, Framing::Typed, small()).await;
        let mut count = 0;
        let ending = loop {
            match channel.receive(soon()).await {
                Received::Arrived(_) => count += 1,
                Received::Ended(ending) => break ending,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(count, 50);
        assert_eq!(ending, Ending::Flooded("more than 50 frames".to_owned()));
        tokio::time::sleep(Duration::from_millis(50)).await;
        let _ = channel.send(WireItem::TcpFrame { kind: 0, payload: vec![0; 100_000] }, in_ms(50)).await;
        assert!(channel.socket.bytes().len() <= small().room());
    }

    #[tokio::test]
    async fn a_half_open_peer_times_out_at_the_deadline() {
        let address = peer(|stream| async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(stream);
        })
        .await;
        let mut channel = connect(&address, Framing::Bare, Bounds::default()).await;
        let begun = Instant::now();
        let error = channel.send(WireItem::Raw(vec![0; 32 << 20]), in_ms(100)).await.unwrap_err();
        assert!(error.contains("did not read"), "{error}");
        assert_eq!(channel.receive(in_ms(20)).await, Received::Nothing);
        assert_eq!(channel.close(None, in_ms(50)).await, Closing { arrivals: Vec::new(), ending: Ending::Here });
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[tokio::test]
    async fn data_before_a_reset_is_received() {
        let address = peer(|mut stream| async move {
            let _ = stream.read(&mut [0; 100]).await;
            stream.write_all(&encode(Some(6), b"no").unwrap()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.set_zero_linger().unwrap();
        })
        .await;
        let mut channel = connect(&address, Framing::Typed, Bounds::default()).await;
        assert!(channel.send(WireItem::TcpFrame { kind: 1, payload: vec![0; 32 << 20] }, soon()).await.is_err());
        let Received::Arrived(arrival) = channel.receive(soon()).await else { panic!("the data was lost") };
        assert_eq!((arrival.kind, arrival.body), (ArrivalKind::TcpFrame(6), b"no".to_vec()));
        assert!(matches!(channel.receive(soon()).await, Received::Ended(Ending::Reset(_))));
    }

    #[tokio::test]
    async fn a_reset_is_a_reset_at_the_other_end() {
        let (tell, told) = tokio::sync::oneshot::channel();
        let address = peer(|mut stream| async move {
            let error = stream.read(&mut [0; 100]).await.map_err(|error| error.kind());
            let _ = tell.send(error);
        })
        .await;
        let mut channel = connect(&address, Framing::Typed, small()).await;
        channel.send(WireItem::Reset, soon()).await.unwrap();
        assert_eq!(told.await.unwrap(), Err(std::io::ErrorKind::ConnectionReset));
        assert_eq!(channel.receive(soon()).await, Received::Ended(Ending::Here));
        assert!(channel.send(WireItem::Raw(vec![1]), soon()).await.is_err());
    }

    #[tokio::test]
    async fn a_refused_connection_is_reported_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let address = Address { host: "127.0.0.1".to_owned(), port, tls: false };
        let now = std::time::Instant::now();
        let error = TcpChannel::connect(&address, None, Framing::Typed, small(), now, soon()).await.err();
        assert!(error.expect("no connection").contains("refused"));
    }
}
