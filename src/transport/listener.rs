//! The server side: HTTP/1.1 requests, WebSocket upgrades, frames on TCP, and documents to fetch.
//!
//! The listener reads arrivals and hands them on; the receiver decides on the answer. Peers are counted, timed and
//! bounded: connections beyond the limit are rejected and counted.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::channel::milliseconds;
pub use super::documents::Documents;
pub use super::inbound::{Answer, Caller, Inbound, Offer, Reply, Request};
pub use super::serve::Settings;
use super::serve::{Shared, serve};
use super::socket::Socket;
use super::tcp::TcpChannel;

/// Size of the buffer of a connection before its protocol is known.
const ROOM: usize = 128 << 10;

/// The pause after a failed accept, which usually means that the system has no more descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listener. It ends when it is dropped, with every connection that was not handed on.
pub struct Listener {
    http: SocketAddr,
    tcp: Option<SocketAddr>,
    arrivals: mpsc::Receiver<Inbound>,
    shared: Arc<Shared>,
    tasks: Vec<AbortHandle>,
}

impl Listener {
    /// Starts to listen. Arrivals are timed from `since`.
    ///
    /// # Errors
    ///
    /// A port cannot be had.
    pub async fn start(settings: Settings, documents: Documents, since: std::time::Instant) -> io::Result<Self> {
        let http = TcpListener::bind(settings.http).await?;
        let tcp = match settings.tcp {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let places =
            Arc::new(Places { free: Arc::new(Semaphore::new(settings.connections)), taken: AtomicU64::new(0) });
        let (shared, arrivals) = Shared::new(settings, documents, since);
        let shared = Arc::new(shared);
        let mut listener =
            Self { http: http.local_addr()?, tcp: None, arrivals, shared: Arc::clone(&shared), tasks: Vec::new() };
        let task = accept(http, Arc::clone(&places), Arc::clone(&shared), |shared, from, socket| async move {
            serve(&shared, from, socket).await;
        });
        listener.tasks.push(tokio::spawn(task).abort_handle());
        if let Some(tcp) = tcp {
            listener.tcp = Some(tcp.local_addr()?);
            let task = accept(tcp, places, shared, |shared, from, socket| async move {
                let (framing, bounds) = (shared.settings.framing, shared.settings.bounds);
                let channel = Box::new(TcpChannel::over(socket, framing, bounds, shared.since));
                shared.hand_on(Inbound::Tcp { from, channel });
            });
            listener.tasks.push(tokio::spawn(task).abort_handle());
        }
        Ok(listener)
    }

    /// Where HTTP requests and WebSocket upgrades are taken.
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// Where frames on TCP are taken.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// The documents that can be fetched.
    pub fn documents(&self) -> &Documents {
        &self.shared.documents
    }

    /// The number of connections and arrivals rejected because of limits.
    pub fn turned_away(&self) -> u64 {
        self.shared.turned_away()
    }

    /// Waits for the next arrival; `None` at the deadline. Dropping the future loses no arrivals.
    pub async fn next(&mut self, deadline: Instant) -> Option<Inbound> {
        let inbound = timeout_at(deadline, self.arrivals.recv()).await.ok().flatten()?;
        self.shared.taken(&inbound);
        Some(inbound)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Accepts connections up to the limit.
async fn accept<F>(
    listener: TcpListener,
    places: Arc<Places>,
    shared: Arc<Shared>,
    serve: impl Fn(Arc<Shared>, Caller, Socket) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    // The tasks of its connections end with this task.
    let mut running = JoinSet::new();
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            Some(_) = running.join_next() => continue,
        };
        let Ok(permit) = Arc::clone(&places.free).try_acquire_owned() else {
            shared.turn_away();
            continue;
        };
        let (from, socket) = places.caller(shared.since, stream, address, permit);
        running.spawn(serve(Arc::clone(&shared), from, socket));
    }
}

/// The places for connections, on all ports together.
struct Places {
    free: Arc<Semaphore>,
    /// The total number of accepted connections.
    taken: AtomicU64,
}

impl Places {
    fn caller(
        &self,
        since: std::time::Instant,
        stream: TcpStream,
        address: SocketAddr,
        permit: OwnedSemaphorePermit,
    ) -> (Caller, Socket) {
        let connection = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
        let at_ms = milliseconds(since, std::time::Instant::now());
        (Caller { connection, address, at_ms }, Socket::accepted(stream, ROOM, Some(permit)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::exchange::Ended;
    use crate::transport::channel::{ArrivalKind, Bounds, Channel, Ending, Received, WireItem};
    use crate::transport::socket::Address;
    use crate::transport::tcp::Framing;
    use crate::transport::ws::{self, Upgrade};

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    async fn listener(settings: Settings) -> Listener {
        Listener::start(settings, Documents::default(), std::time::Instant::now()).await.expect("a listener")
    }

    fn small() -> Settings {
        let bounds = Bounds { message: 1_000, frames: 5, bytes: 10_000 };
        Settings { bounds, ..Settings::default() }
    }

    fn impatient() -> Settings {
        Settings { patience: Duration::from_millis(200), ..small() }
    }

    /// Sends bytes and returns the answer up to the end of the connection.
    async fn send_and_read(listener: &Listener, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(listener.http()).await.expect("a connection");
        stream.write_all(bytes).await.expect("a request");
        rest(&mut stream).await
    }

    async fn rest(stream: &mut TcpStream) -> String {
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer));
        let ended = read.await.expect("an end");
        String::from_utf8(answer).expect("text") + if ended.is_err() { "!" } else { "" }
    }

    async fn request(listener: &mut Listener) -> Request {
        match listener.next(soon()).await {
            Some(Inbound::Request(request)) => request,
            Some(Inbound::Unreadable { ended, .. }) => panic!("{ended:?}"),
            _ => panic!("no request"),
        }
    }

    fn here(address: SocketAddr) -> Address {
        Address { host: address.ip().to_string(), port: address.port(), tls: false }
    }

    fn post(body: &str) -> Vec<u8> {
        format!("POST /in?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    #[tokio::test]
    async fn a_script_answers_what_arrives() {
        let mut listener = listener(small()).await;
        let mut stream = TcpStream::connect(listener.http()).await.unwrap();
        stream.write_all(&post("one")).await.unwrap();
        let chunked = b"POST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\ntw\r\n1\r\no\r\n0\r\n\r\n";
        stream.write_all(chunked).await.unwrap();
        let first = request(&mut listener).await;
        let ArrivalKind::HttpRequest { method, target, headers } = &first.arrival.kind else { panic!("no request") };
        assert_eq!((method.as_str(), target.as_str(), headers.len()), ("POST", "/in?x=1", 2));
        assert_eq!((first.arrival.body.as_slice(), &first.ended), (&b"one"[..], &Ended::Complete));
        let headers = vec![("X-Is".to_owned(), "1".to_owned())];
        first.answer(Answer::Reply(Reply { status: 202, headers, body: b"yes".to_vec() })).unwrap();
        let second = request(&mut listener).await;
        assert_eq!((second.arrival.body.as_slice(), second.from.connection), (&b"two"[..], 1));
        second.answer(Answer::Raw(b"bits".to_vec())).unwrap();
        assert_eq!(rest(&mut stream).await, "HTTP/1.1 202 \r\nX-Is: 1\r\nContent-Length: 3\r\n\r\nyesbits");
    }

    #[tokio::test]
    async fn a_script_leaves_peers_without_an_answer() {
        for (answer, end) in
            [(Some(Answer::Close), ""), (Some(Answer::Reset), "!"), (Some(Answer::Silence), ""), (None, "")]
        {
            let mut listener = listener(if answer == Some(Answer::Silence) { impatient() } else { small() }).await;
            let mut stream = TcpStream::connect(listener.http()).await.unwrap();
            stream.write_all(&post("x")).await.unwrap();
            let request = request(&mut listener).await;
            let begun = Instant::now();
            let silent = answer == Some(Answer::Silence);
            match answer {
                Some(answer) => request.answer(answer).unwrap(),
                None => drop(request),
            }
            assert_eq!(rest(&mut stream).await, end);
            assert!(!silent || begun.elapsed() >= Duration::from_millis(150));
        }
    }

    #[tokio::test]
    async fn documents_are_served_and_counted() {
        let mut listener = listener(small()).await;
        listener.documents().set("/amp/alice/did.json", "application/json", &b"{}"[..]);
        let get = b"GET /amp/alice/did.json?now HTTP/1.0\r\n\r\n";
        let answer =
            "HTTP/1.1 200 \r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
        assert_eq!(send_and_read(&listener, get).await, format!("{answer}{{}}"));
        assert_eq!(send_and_read(&listener, &[b"HEAD", &get[3..]].concat()).await, answer);
        assert_eq!(listener.documents().fetched("/amp/alice/did.json"), 2);
        assert!(listener.next(Instant::now()).await.is_none());
        listener.documents().remove("/amp/alice/did.json");
        let mut stream = TcpStream::connect(listener.http()).await.unwrap();
        stream.write_all(get).await.unwrap();
        request(&mut listener).await;
    }

    #[tokio::test]
    async fn excess_data_is_rejected() {
        let automatic = Some(Reply { status: 202, ..Reply::default() });
        let settings = Settings { queue: 1, automatic, ..small() };
        let mut listener = listener(settings).await;
        assert!(send_and_read(&listener, &post(&"x".repeat(1_001))).await.starts_with("HTTP/1.1 413"));
        let long = request(&mut listener).await;
        assert_eq!((long.arrival.body.len(), &long.ended), (1_000, &Ended::TooLong));
        assert!(long.answer(Answer::Close).is_err());
        let many = send_and_read(&listener, &post("x").repeat(6)).await;
        let statuses: Vec<&str> = many.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")).collect();
        assert_eq!(statuses, ["202 ", "503 "]);
        assert_eq!(listener.turned_away(), 1);
        assert_eq!(request(&mut listener).await.arrival.body, b"x");
    }

    #[tokio::test]
    async fn there_is_an_end_to_the_places() {
        let patience = Duration::from_secs(1);
        let listener = listener(Settings { connections: 1, patience, ..small() }).await;
        let mut first = TcpStream::connect(listener.http()).await.unwrap();
        first.write_all(b"G").await.unwrap();
        let mut second = TcpStream::connect(listener.http()).await.unwrap();
        assert!(rest(&mut second).await.len() <= 1);
        assert_eq!(listener.turned_away(), 1);
        assert!(rest(&mut first).await.starts_with("HTTP/1.1 408"));
        drop(first);
        // The place is free as soon as the listener has seen that.
        while !send_and_read(&listener, b"\x16\x03\x01\r\n").await.starts_with("HTTP/1.1 400") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn invalid_requests_are_reported() {
        for (bytes, status) in [
            (&b"\x16\x03\x01\x02\n"[..], "400"),
            (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
            (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
            (b"GET / HTTP/1.1\r\nA", "408"),
        ] {
            let mut listener = listener(impatient()).await;
            let answer = send_and_read(&listener, bytes).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
            assert!(matches!(listener.next(soon()).await, Some(Inbound::Unreadable { .. })));
        }
        let mut listener = listener(small()).await;
        drop(TcpStream::connect(listener.http()).await.unwrap());
        assert!(listener.next(Instant::now() + Duration::from_millis(50)).await.is_none());
    }

    #[tokio::test]
    async fn a_websocket_is_accepted_or_refused() {
        let mut listener = listener(Settings::default()).await;
        let address = here(listener.http());
        let upgrade =
            Upgrade { target: "/ws".to_owned(), subprotocols: vec!["x".into(), "amp.v1".into()], ..Upgrade::default() };
        let now = std::time::Instant::now();
        let client = ws::open(&address, None, &upgrade, Bounds::default(), now, soon());
        let server = async {
            let request = request(&mut listener).await;
            assert_eq!(request.websocket.as_ref().unwrap().subprotocols, ["x", "amp.v1"]);
            request.accept(Some("amp.v1"), Vec::new(), soon()).await.unwrap()
        };
        let ((opened, client), mut server) = tokio::join!(client, server);
        assert_eq!(opened.subprotocol(), Some("amp.v1"));
        let mut client = client.unwrap();
        client.send(WireItem::WsBinary(vec![1]), soon()).await.unwrap();
        let Received::Arrived(arrival) = server.receive(soon()).await else { panic!("nothing arrived") };
        assert_eq!((arrival.kind, arrival.body), (ArrivalKind::WsBinary, vec![1]));
        server.send(WireItem::WsText("t".to_owned()), soon()).await.unwrap();
        let Received::Arrived(arrival) = client.receive(soon()).await else { panic!("nothing arrived") };
        assert_eq!((arrival.kind, arrival.body), (ArrivalKind::WsText, b"t".to_vec()));
        let (client, server) = tokio::join!(client.close(Some(1000), soon()), server.close(None, soon()));
        assert!(matches!(server.ending, Ending::Closed { code: Some(1000), .. }), "{server:?}");
        assert!(matches!(client.ending, Ending::Closed { .. }), "{client:?}");
        let client = ws::open(&address, None, &upgrade, Bounds::default(), now, soon());
        let server = async {
            let reply = Reply { status: 401, body: b"unauthorized".to_vec(), ..Reply::default() };
            request(&mut listener).await.answer(Answer::Reply(reply)).unwrap();
        };
        let ((opened, client), ()) = tokio::join!(client, server);
        assert_eq!((opened.status, opened.body.as_slice(), client.is_none()), (Some(401), &b"unauthorized"[..], true));
    }

    #[tokio::test]
    async fn another_implementation_connects() {
        let mut listener = listener(Settings::default()).await;
        let url = format!("ws://{}/", listener.http());
        let stream = TcpStream::connect(listener.http()).await.unwrap();
        let server = async {
            let mut channel = request(&mut listener).await.accept(None, Vec::new(), soon()).await.unwrap();
            channel.send(WireItem::WsBinary(vec![7; 70_000]), soon()).await.unwrap();
            channel.close(Some(1001), soon()).await
        };
        let client = async {
            use futures_util::{SinkExt, StreamExt};
            let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.expect("a handshake");
            let message = socket.next().await.expect("a message").expect("a message");
            socket.send(message).await.expect("an echo");
            while socket.next().await.is_some_and(|message| message.is_ok()) {}
        };
        let (closing, ()) = tokio::join!(server, client);
        assert_eq!(closing.arrivals[0].body, vec![7; 70_000]);
        assert!(matches!(closing.ending, Ending::Closed { code: Some(1001), .. }), "{closing:?}");
    }

    #[tokio::test]
    async fn frames_arrive_on_a_port_of_their_own() {
        let tcp = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        let mut listener = listener(Settings { tcp, ..Settings::default() }).await;
        let address = here(listener.tcp().expect("a port"));
        let now = std::time::Instant::now();
        for number in 1..=20 {
            let mut client =
                TcpChannel::connect(&address, None, Framing::Typed, Bounds::default(), now, soon()).await.unwrap();
            client.send(WireItem::TcpFrame { kind: 2, payload: vec![number] }, soon()).await.unwrap();
            let Some(Inbound::Tcp { mut channel, from }) = listener.next(soon()).await else { panic!("no channel") };
            assert_eq!(from.connection, u64::from(number));
            let Received::Arrived(arrival) = channel.receive(soon()).await else { panic!("nothing arrived") };
            assert_eq!((arrival.kind, arrival.body), (ArrivalKind::TcpFrame(2), vec![number]));
            channel.send(WireItem::Reset, soon()).await.unwrap();
            assert!(matches!(client.receive(soon()).await, Received::Ended(Ending::Reset(_))));
        }
        drop(listener);
        while TcpStream::connect((address.host.as_str(), address.port)).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
