//! A stream socket that reads while it writes, with and without TLS.
//! Arriving bytes are kept in one bounded buffer, with the times of its parts, until a codec consumes them. If the
//! buffer is full, reading stops until bytes were consumed: the peer waits, this side does
//! not
//! grow.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Bytes that one read may bring.
const CHUNK: usize = 16 << 10;

/// Maximum number of pending bytes to a peer: a peer that requests answers without reading them gets no more of them.
const OWED: usize = 64 << 10;

/// Between two parts of a message that is written in parts.
const BETWEEN_WRITES: Duration = Duration::from_millis(1);

/// How long a failed write waits for earlier data of the peer, which has either already arrived or never will.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// Where a peer listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or IP address, an IPv6 address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether TLS is used.
    pub tls: bool,
}

impl Address {
    /// The address in a URL: `ws` and `http` without TLS, `wss` and `https` with it.
    ///
    /// # Errors
    ///
    /// Another scheme, or no host.
    pub fn of(url: &url::Url) -> Result<Self, String> {
        let (tls, usual) = match url.scheme() {
            "ws" | "http" => (false, 80),
            "wss" | "https" => (true, 443),
            other => return Err(format!("unsupported scheme `{other}`")),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("the URL has no host")?;
        let port = url.port().unwrap_or(usual);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, port, tls })
    }

    /// Host and port as a `Host` header has them: the port only where it is not the usual one of HTTP.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == if self.tls { 443 } else { 80 } { host } else { format!("{host}:{}", self.port) }
    }
}

/// The TLS configuration, the same as for reqwest: the ring provider, certificates checked against those of the system.
///
/// Reading the certificates of the system is slow: call it once, and only for TLS.
///
/// # Errors
///
/// The certificates of this machine cannot be read. The text describes the cause.
pub fn system_tls() -> Result<Arc<ClientConfig>, String> {
    tls_with(&[])
}

/// As [`system_tls`], with the certificates of further authorities (PEM).
///
/// # Errors
///
/// As [`system_tls`], and if a certificate cannot be read.
pub fn tls_with(authorities: &[u8]) -> Result<Arc<ClientConfig>, String> {
    use rustls::pki_types::pem::PemObject;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let more: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(authorities)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificates under `ca`: {error}"))?;
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(more, Arc::clone(&provider))
        .map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous() // as the constructor for this verifier does
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        }
    }

    fn reader(&mut self) -> Pin<&mut (dyn AsyncRead + Send + Unpin)> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp),
            Self::Tls(tls) => Pin::new(&mut **tls),
        }
    }

    fn writer(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp),
            Self::Tls(tls) => Pin::new(&mut **tls),
        }
    }
}

/// How the reading direction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The peer ended it.
    Finished,
    /// It failed. The text describes the cause.
    Failed(String),
    /// It was ended on this side.
    Here,
}

/// The result of waiting for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// There are more than before.
    More,
    /// The stream has ended: see [`Socket::end`].
    Ended,
    /// The deadline passed.
    Nothing,
}

/// A connection, and its bytes that were read but not yet consumed.
pub struct Socket {
    stream: Option<Stream>,
    buffer: Vec<u8>,
    /// Bytes at the start of `buffer` that are taken.
    taken: usize,
    /// Bytes that are kept at most.
    room: usize,
    /// The total number of bytes read at each time, oldest first, without consumed bytes.
    times: VecDeque<(u64, std::time::Instant)>,
    read: u64,
    end: Option<End>,
    /// Bytes that are written before all others, whenever there is an occasion.
    owed: Vec<u8>,
    /// Released when the connection is closed.
    permit: Option<OwnedSemaphorePermit>,
}

impl Socket {
    /// Connects to a peer. `room` is the size of the buffer. Uses TLS if the address requires it, with
    /// `tls` or else [`system_tls`].
    ///
    /// # Errors
    ///
    /// The connection failed or timed out. The text describes the cause.
    pub async fn connect(
        address: &Address,
        tls: Option<Arc<ClientConfig>>,
        room: usize,
        deadline: Instant,
    ) -> Result<Self, String> {
        let late = |what: &str| format!("{what} took too long");
        let tcp = timeout_at(deadline, TcpStream::connect((address.host.as_str(), address.port)))
            .await
            .map_err(|_| late("connecting"))?
            .map_err(|error| error.to_string())?;
        let _ = tcp.set_nodelay(true);
        if !address.tls {
            return Ok(Self::over(Stream::Plain(tcp), room));
        }
        let name = ServerName::try_from(address.host.clone()).map_err(|error| error.to_string())?;
        let config = tls.map_or_else(system_tls, Ok)?;
        let stream = timeout_at(deadline, TlsConnector::from(config).connect(name, tcp))
            .await
            .map_err(|_| late("the TLS handshake"))?
            .map_err(|error| format!("no TLS: {error}"))?;
        Ok(Self::over(Stream::Tls(Box::new(stream)), room))
    }

    /// A connection that was accepted.
    pub(super) fn accepted(tcp: TcpStream, room: usize, permit: Option<OwnedSemaphorePermit>) -> Self {
        let _ = tcp.set_nodelay(true);
        Self { permit, ..Self::over(Stream::Plain(tcp), room) }
    }

    fn over(stream: Stream, room: usize) -> Self {
        Self {
            stream: Some(stream),
            buffer: Vec::new(),
            taken: 0,
            room,
            times: VecDeque::new(),
            read: 0,
            end: None,
            owed: Vec::new(),
            permit: None,
        }
    }

    /// The bytes that were read and not yet taken.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }

    /// Consumes the next `count` bytes, and returns when the last of them was read.
    pub(super) fn take(&mut self, count: usize) -> (Vec<u8>, std::time::Instant) {
        let count = count.min(self.bytes().len());
        let bytes = self.bytes()[..count].to_vec();
        let at = self.skip(count);
        (bytes, at)
    }

    /// As [`Self::take`], without a copy of the bytes.
    pub(super) fn skip(&mut self, count: usize) -> std::time::Instant {
        self.taken = self.taken.saturating_add(count).min(self.buffer.len());
        let upto = self.read - (self.buffer.len() - self.taken) as u64;
        let mut at = None;
        while let Some((read, time)) = self.times.front().copied() {
            at = Some(time);
            if read > upto {
                break;
            }
            self.times.pop_front();
            if read == upto {
                break;
            }
        }
        // Moving the rest to the front only after half was consumed keeps the cost linear in the bytes read.
        if self.taken * 2 >= self.buffer.len() {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        at.unwrap_or_else(std::time::Instant::now)
    }

    /// How the reading direction ended, once all bytes were consumed.
    pub(super) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Sets the size of the buffer.
    pub(super) fn set_room(&mut self, room: usize) {
        self.room = room;
    }

    /// Has bytes written as soon as the peer takes them, without waiting for that. False if it is owed too much already.
    pub(super) fn owe(&mut self, bytes: &[u8]) -> bool {
        if self.owed.len() + bytes.len() > OWED {
            return false;
        }
        self.owed.extend_from_slice(bytes);
        let _ = self.poll_owed(&mut Context::from_waker(std::task::Waker::noop()));
        true
    }

    /// Writes pending bytes.
    fn poll_owed(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(Err(io::Error::other("the connection was closed on this side")));
        };
        if self.owed.is_empty() {
            return Poll::Ready(Ok(()));
        }
        while !self.owed.is_empty() {
            match ready!(stream.writer().poll_write(context, &self.owed)) {
                Ok(count) if count > 0 => drop(self.owed.drain(..count)),
                failed => {
                    // It cannot be delivered any more.
                    self.owed.clear();
                    return Poll::Ready(failed.and(Err(io::ErrorKind::WriteZero.into())));
                }
            }
        }
        stream.writer().poll_flush(context)
    }

    /// Reads once. Pending without a waker if the buffer is full.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Fill> {
        if self.end.is_none() && !self.owed.is_empty() {
            let _ = self.poll_owed(context);
        }
        if self.end.is_some() {
            return Poll::Ready(Fill::Ended);
        }
        let Some(stream) = &mut self.stream else {
            self.end = Some(End::Here);
            return Poll::Ready(Fill::Ended);
        };
        let room = self.room.saturating_sub(self.buffer.len() - self.taken).min(CHUNK);
        if room == 0 {
            return Poll::Pending;
        }
        let mut space = [0; CHUNK];
        let mut chunk = ReadBuf::new(&mut space[..room]);
        let result = ready!(stream.reader().poll_read(context, &mut chunk));
        let bytes = chunk.filled();
        match result {
            Ok(()) if bytes.is_empty() => self.end = Some(End::Finished),
            // A peer that leaves out the goodbye of TLS has ended the stream nevertheless.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.end = Some(End::Finished),
            Err(error) => self.end = Some(End::Failed(error.to_string())),
            Ok(()) => {
                self.buffer.extend_from_slice(bytes);
                self.read += bytes.len() as u64;
                let now = std::time::Instant::now();
                match self.times.back_mut() {
                    // A peer that trickles would fill memory with times instead of bytes.
                    Some((read, time)) if now.duration_since(*time) < Duration::from_millis(1) => *read = self.read,
                    _ => self.times.push_back((self.read, now)),
                }
                return Poll::Ready(Fill::More);
            }
        }
        Poll::Ready(Fill::Ended)
    }

    /// Waits for more bytes. Dropping the future loses no data.
    pub(super) async fn fill(&mut self, deadline: Instant) -> Fill {
        let fill = std::future::poll_fn(|context| self.poll_fill(context));
        timeout_at(deadline, fill).await.unwrap_or(Fill::Nothing)
    }

    /// Writes bytes, and meanwhile reads into the buffer.
    pub(super) async fn write(&mut self, bytes: &[u8], deadline: Instant) -> Result<(), String> {
        let mut rest = bytes;
        let write = std::future::poll_fn(|context| {
            let written = self.poll_write(context, &mut rest);
            if written.is_pending() {
                while self.end.is_none() && self.poll_fill(context).is_ready() {}
            }
            written
        });
        let error = match timeout_at(deadline, write).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => return Err(format!("the peer did not read the last {} bytes in time", rest.len())),
        };
        // Earlier data of the peer is more useful than the error.
        let soon = deadline.min(Instant::now() + LAST_WORDS);
        while self.fill(soon).await == Fill::More {}
        // The system reports a reset only once; later reads see a plain end.
        if error.kind() == io::ErrorKind::ConnectionReset && self.end == Some(End::Finished) {
            self.end = Some(End::Failed(error.to_string()));
        }
        Err(error.to_string())
    }

    /// Writes bytes in parts of these sizes, so that they arrive one after the other; without sizes at once.
    pub(super) async fn write_in(&mut self, bytes: &[u8], sizes: &[usize], deadline: Instant) -> Result<(), String> {
        let mut rest = bytes;
        for size in sizes {
            let (part, after) = rest.split_at((*size).min(rest.len()));
            self.write(part, deadline).await?;
            rest = after;
            if !rest.is_empty() {
                // Without a pause the system would join them.
                self.pause(Instant::now() + BETWEEN_WRITES).await;
            }
        }
        if rest.is_empty() && !bytes.is_empty() { Ok(()) } else { self.write(rest, deadline).await }
    }

    fn poll_write(&mut self, context: &mut Context<'_>, rest: &mut &[u8]) -> Poll<io::Result<()>> {
        ready!(self.poll_owed(context))?;
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(Err(io::Error::other("the connection was closed on this side")));
        };
        while !rest.is_empty() {
            match ready!(stream.writer().poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => *rest = &rest[count..],
            }
        }
        stream.writer().poll_flush(context)
    }

    /// Waits, and meanwhile reads into the buffer.
    pub(super) async fn pause(&mut self, until: Instant) {
        while self.fill(until).await == Fill::More {}
        tokio::time::sleep_until(until).await;
    }

    /// Closes the sending direction; the other one stays open.
    pub(super) async fn half_close(&mut self, deadline: Instant) -> Result<(), String> {
        let Some(stream) = &mut self.stream else { return Err("the connection was closed on this side".to_owned()) };
        let shutdown = std::future::poll_fn(|context| stream.writer().poll_shutdown(context));
        match timeout_at(deadline, shutdown).await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("the peer did not read in time".to_owned()),
        }
    }

    /// Resets the connection (RST). Bytes read before can still be consumed.
    pub(super) fn reset(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = stream.tcp().set_zero_linger();
        }
        self.permit = None;
        self.end.get_or_insert(End::Here);
    }

    /// Closes the connection. Bytes read before can still be consumed.
    pub(super) fn hang_up(&mut self) {
        self.stream = None;
        self.permit = None;
        self.end.get_or_insert(End::Here);
    }
}

#[cfg(test)]
mod tests {
    use rustls::ServerConfig;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// A key for tests only, and its certificate for 127.0.0.1, valid until 2049.
    const KEY: &str = "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b020101042070726f6f666d61726b3a\
        2061206b657920666f72207465737473206f6e6c7921a144034200043ef1034ef5ec123bb2846fccb776eae8b428e44d3a4bcdaa7d6b7259\
        8964a691d244ab3f704e26d45e24ca434f013212aeee0697539d124e62e8dfb013025bbd";
    const CERTIFICATE: &str = "308201183081c0a003020102020101300a06082a8648ce3d040302300c310a300806035504030c0174301e17\
        0d3030303130313030303030305a170d3439303130313030303030305a300c310a300806035504030c01743059301306072a8648ce3d0201\
        06082a8648ce3d030107034200043ef1034ef5ec123bb2846fccb776eae8b428e44d3a4bcdaa7d6b72598964a691d244ab3f704e26d45e24\
        ca434f013212aeee0697539d124e62e8dfb013025bbda3133011300f0603551d110408300687047f000001300a06082a8648ce3d04030203\
        4700304402202641a359a5a61702bea15204760f2cafdf91262b88c318aa89b8dc676028e505022025b9404740e0953aa3bac200b2ebf930\
        1036388a9021e93ebd3d1a3a464e1920";

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    fn certificate() -> CertificateDer<'static> {
        data_encoding::HEXLOWER.decode(CERTIFICATE.as_bytes()).expect("hex").into()
    }

    /// A TLS server on a free port, which sends hello, echoes its input up to a `!`, and closes without `close_notify`.
    async fn tls_server() -> Address {
        let key = data_encoding::HEXLOWER.decode(KEY.as_bytes()).expect("hex");
        let key = PrivateKeyDer::Pkcs8(key.into());
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate()], key)
            .expect("a certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                stream.write_all(b"hello").await.expect("a hello");
                let mut bytes = vec![0; 64 << 10];
                while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                    stream.write_all(&bytes[..count]).await.expect("an echo");
                    stream.flush().await.expect("an echo");
                    if bytes[..count].contains(&b'!') {
                        break;
                    }
                }
            }
        });
        Address { host: "127.0.0.1".to_owned(), port, tls: true }
    }

    fn trusting() -> Arc<ClientConfig> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate()).expect("a root");
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Arc::new(config)
    }

    #[tokio::test]
    async fn tls_transfers_data() {
        let address = tls_server().await;
        let mut socket = Socket::connect(&address, Some(trusting()), 4 << 20, soon()).await.expect("a connection");
        let big = vec![b'x'; 3 << 20];
        socket.write(&big, soon()).await.expect("all of it");
        socket.write(b"!", soon()).await.expect("the end");
        while socket.fill(soon()).await == Fill::More {}
        assert_eq!(socket.end(), Some(&End::Finished));
        assert!(socket.bytes() == [b"hello", &big[..], b"!"].concat());
    }

    #[tokio::test]
    async fn an_untrusted_certificate_is_rejected() {
        let address = tls_server().await;
        let no_roots = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let error =
            Socket::connect(&address, Some(Arc::new(no_roots)), 1_000, soon()).await.err().expect("no connection");
        assert!(error.starts_with("no TLS: "), "{error}");
        let plain = Address { tls: false, ..address };
        let mut socket = Socket::connect(&plain, None, 1_000, soon()).await.expect("a connection");
        socket.write(b"GET / HTTP/1.1\r\n\r\n", soon()).await.expect("bytes");
        while socket.fill(soon()).await == Fill::More {}
        assert!(socket.end().is_some());
    }

    #[tokio::test]
    async fn consumed_bytes_have_their_arrival_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            for part in ["ab", "cd", "ef"] {
                stream.write_all(part.as_bytes()).await.expect("a part");
                stream.read_u8().await.expect("an acknowledgement");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let address = Address { host: "127.0.0.1".to_owned(), port, tls: false };
        let mut socket = Socket::connect(&address, None, 1_000, soon()).await.expect("a connection");
        while socket.fill(soon()).await == Fill::More {
            socket.write(b"!", soon()).await.expect("a byte");
        }
        let (first, one) = socket.take(1);
        let (_, two) = socket.take(1);
        let (_, three) = socket.take(1);
        let (_, four) = socket.take(2);
        let (last, five) = socket.take(9);
        assert_eq!((first.as_slice(), last.as_slice()), (&b"a"[..], &b"f"[..]));
        assert!(one == two && two < three && three < four && four == five);
        assert!(socket.times.is_empty() && socket.bytes().is_empty());
    }

    #[test]
    fn addresses_are_read_from_urls() {
        for (url, host, port, tls, authority) in [
            ("ws://h/ws", "h", 80, false, "h"),
            ("wss://[::1]:8/", "::1", 8, true, "[::1]:8"),
            ("https://h:80/", "h", 80, true, "h:80"),
        ] {
            let address = Address::of(&url::Url::parse(url).expect("a URL")).expect("an address");
            assert_eq!(address, Address { host: host.to_owned(), port, tls });
            assert_eq!(address.authority(), authority);
        }
        for url in ["tcp://h:1", "ftp://h:1", "data:x"] {
            assert!(Address::of(&url::Url::parse(url).expect("a URL")).is_err());
        }
    }
}
