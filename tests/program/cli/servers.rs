//! Servers without a protocol. Nothing that they answer may count as conformance.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::http::request;

/// The constant answer of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trivial {
    /// No answer; it keeps the connection open.
    Silent,
    /// No answer; it closes the connection.
    Closing,
    /// This status and this JSON text.
    Always(u16, &'static str),
    /// The request itself, headers and body.
    Echo,
    /// Bytes that are not HTTP.
    Garbage,
    /// A body that never ends.
    Endless,
    /// A redirect to itself.
    RedirectToSelf,
    /// A redirect to this address.
    RedirectTo(SocketAddr),
}

/// A running server. It ends with the process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The number of accepted connections.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(trivial: Trivial) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || talk(stream, trivial));
            }
        });
        Self { address, connections }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn talk(mut stream: TcpStream, trivial: Trivial) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok();
    while let Some((head, body)) = request(&mut stream) {
        let answer = match trivial {
            Trivial::Silent => {
                std::thread::sleep(Duration::from_secs(600));
                return;
            }
            Trivial::Closing => return,
            Trivial::Always(status, text) => response(status, "content-type: application/json\r\n", text.as_bytes()),
            Trivial::Echo => {
                let headers: String =
                    head.lines().skip(1).filter(|line| repeatable(line)).map(|line| format!("{line}\r\n")).collect();
                let mut whole = head.clone().into_bytes();
                whole.extend_from_slice(&body);
                let is_json = body.first() == Some(&b'{');
                response(200, &headers, if is_json { &body } else { &whole })
            }
            Trivial::Garbage => vec![0x16, 0x03, 0x01, 0xff, 0x00, 0x7b, 0x7d, 0x0d, 0x0a],
            Trivial::Endless => return endless(&mut stream),
            Trivial::RedirectToSelf => {
                let path = head.split_whitespace().nth(1).unwrap_or("/").to_owned();
                response(302, &format!("location: {path}\r\n"), b"{}")
            }
            Trivial::RedirectTo(address) => response(307, &format!("location: http://{address}/x\r\n"), b"{}"),
        };
        if stream.write_all(&answer).is_err() || matches!(trivial, Trivial::Garbage) {
            return;
        }
    }
}

/// Whether a header of a request is valid in a response.
fn repeatable(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
    !name.is_empty() && !["content-length", "transfer-encoding", "connection", "host"].contains(&name.as_str())
}

fn response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status} Whatever\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn endless(stream: &mut TcpStream) {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("4000\r\n{}\r\n", "[".repeat(0x4000));
    let mut going = stream.write_all(head).is_ok();
    while going {
        going = stream.write_all(chunk.as_bytes()).is_ok();
    }
}
