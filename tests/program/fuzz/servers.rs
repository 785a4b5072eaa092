//! Servers to fuzz: one that crashes on one input, and one that only checks whether a body is valid.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::http::request;
use crate::support::port::unused_address;

/// The reference behind a proxy that stops accepting connections as soon as certain bytes pass through it.
pub(crate) struct Relay {
    address: SocketAddr,
    deaths: Arc<AtomicUsize>,
    server: Child,
}

impl Relay {
    /// `down` is the duration of the outage; forever if `None`.
    pub(crate) fn start(deadly: &'static str, down: Option<Duration>) -> Self {
        let behind = unused_address();
        let server = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(["serve", "--protocol", "agentic", "--listen", &behind.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the reference");
        while TcpStream::connect(behind).is_err() {
            std::thread::sleep(Duration::from_millis(50));
        }
        let first = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = first.local_addr().expect("an address");
        let deaths = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&deaths);
        std::thread::spawn(move || {
            let mut door = first;
            loop {
                let dead = Arc::new(AtomicBool::new(false));
                door.set_nonblocking(true).expect("a socket");
                while !dead.load(Ordering::SeqCst) {
                    match door.accept() {
                        Ok((client, _)) => {
                            let dead = Arc::clone(&dead);
                            std::thread::spawn(move || pass(client, behind, deadly, &dead));
                        }
                        Err(_) => std::thread::sleep(Duration::from_millis(2)),
                    }
                }
                count.fetch_add(1, Ordering::SeqCst);
                drop(door);
                let Some(down) = down else { return };
                std::thread::sleep(down);
                door = loop {
                    match TcpListener::bind(address) {
                        Ok(door) => break door,
                        Err(_) => std::thread::sleep(Duration::from_millis(20)),
                    }
                };
            }
        });
        Self { address, deaths, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn deaths(&self) -> usize {
        self.deaths.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// Forwards bytes in both directions until either side closes or the relay goes down.
fn pass(mut client: TcpStream, behind: SocketAddr, deadly: &str, dead: &AtomicBool) {
    let Ok(mut server) = TcpStream::connect(behind) else { return };
    let pause = Some(Duration::from_millis(5));
    for stream in [&client, &server] {
        stream.set_nonblocking(false).ok();
        stream.set_read_timeout(pause).ok();
        stream.set_nodelay(true).ok();
    }
    let mut seen = Vec::new();
    let mut buffer = [0; 1 << 16];
    while !dead.load(Ordering::SeqCst) {
        match client.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                seen.extend_from_slice(&buffer[..count]);
                if seen.windows(deadly.len()).any(|window| window == deadly.as_bytes()) {
                    dead.store(true, Ordering::SeqCst);
                    return;
                }
                seen.drain(..seen.len().saturating_sub(deadly.len()));
                if server.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
            Err(error) if is_pause(&error) => {}
            Err(_) => return,
        }
        match server.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) if client.write_all(&buffer[..count]).is_err() => return,
            Ok(_) => {}
            Err(error) if is_pause(&error) => {}
            Err(_) => return,
        }
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// A server of agentic without storage: the status of its answer to each POST depends on whether the body is valid,
/// as far as it can tell, and on the number of invalid ones.
pub(crate) struct Stub {
    address: SocketAddr,
}

impl Stub {
    pub(crate) fn start(status: fn(bool, usize) -> u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let count = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                std::thread::spawn(move || serve(stream, status, &count));
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(mut stream: TcpStream, status: fn(bool, usize) -> u16, count: &AtomicUsize) {
    while let Some((head, body)) = request(&mut stream) {
        let posted =
            head.starts_with("POST") && head.lines().next().is_some_and(|line| line.contains("/packages HTTP"));
        let good = is_good(&body);
        let broken = count.fetch_add(usize::from(posted && !good), Ordering::SeqCst);
        let code = match posted {
            true => status(good, broken),
            // It has no facts, which another test covers.
            false if head.starts_with("GET") || head.contains("/facts") => 404,
            false => 201,
        };
        let text = "{}";
        let answer = format!(
            "HTTP/1.1 {code} Whatever\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Whether a body looks like a package: an object whose required members are strings.
fn is_good(body: &[u8]) -> bool {
    let Ok(serde_json::Value::Object(members)) = serde_json::from_slice(body) else { return false };
    let texts = ["project_id", "relay_version", "title", "status", "review_type", "created_at"];
    texts.iter().all(|name| members.get(*name).and_then(serde_json::Value::as_str).is_some_and(|text| !text.is_empty()))
        && members.get("created_by").is_some_and(serde_json::Value::is_object)
}
