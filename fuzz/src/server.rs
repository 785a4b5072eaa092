//! The reference implementation as a server in this process: HTTP over pipes in memory, one server per input.

use proofmark::wire::json;
use proofmark_reference::Implementation;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// The capacity of a pipe.
const PIPE: usize = 1 << 18;

/// A running server.
pub(crate) struct Server {
    runtime: Runtime,
    connections: UnboundedSender<DuplexStream>,
    serving: JoinHandle<Result<(), proofmark_reference::ServeError>>,
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is not JSON.
    pub(crate) fn json(&self) -> proofmark::value::Value {
        json::parse(&self.body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The value of a header field.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

impl Server {
    /// Starts a server with an empty database in memory.
    pub(crate) fn start(implementation: &dyn Implementation) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let (connections, taken) = unbounded_channel();
        let serving = runtime.spawn(implementation.serve_connections(implementation.config(), taken));
        Self { runtime, connections, serving }
    }

    fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        self.connections.send(theirs).expect("the server is there");
        ours
    }

    /// Sends a request and reads its answer. The header fields are given without the length of the body.
    ///
    /// # Panics
    ///
    /// If the answer is incomplete.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: pipe\r\n{headers}content-length: {}\r\n\r\n", body.len());
        let mut connection = self.connect();
        self.runtime.block_on(async {
            let (mut read, mut write) = tokio::io::split(&mut connection);
            let request = [head.as_bytes(), body].concat();
            // It may answer before it has read everything.
            let say = async { write.write_all(&request).await.ok() };
            let (_, answer) = tokio::join!(say, answer(&mut read));
            answer.unwrap_or_else(|got| panic!("no whole answer to {head:?}: {got:?}"))
        })
    }

    /// Writes pieces on a connection, one after the other, and closes it.
    pub(crate) fn say(&self, pieces: &[&[u8]]) {
        let mut connection = self.connect();
        self.runtime.block_on(async {
            for piece in pieces {
                // Earlier pieces may have ended the connection.
                if connection.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    }

    /// Ends the server.
    ///
    /// # Panics
    ///
    /// If it ended before.
    pub(crate) fn stop(self) {
        let Self { runtime, connections, serving } = self;
        drop(connections);
        // Do not wait for a connection that waits for the rest of a request.
        let patience = std::time::Duration::from_millis(50);
        let ended = runtime.block_on(async { tokio::time::timeout(patience, serving).await });
        if let Ok(ended) = ended {
            ended.expect("the server does not panic").expect("the server was started");
        }
        runtime.shutdown_background();
    }
}

/// The only answer of a connection, or the text received instead.
async fn answer(read: &mut (impl AsyncReadExt + Unpin)) -> Result<Answer, String> {
    let mut got = Vec::new();
    loop {
        if let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&got[..end]).into_owned();
            let mut lines = head.split("\r\n");
            let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).ok_or(head.clone())?;
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(':').map(|(key, value)| (key.to_owned(), value.trim().to_owned())))
                .collect();
            let length =
                headers.iter().find(|(key, _)| key == "content-length").and_then(|(_, value)| value.parse().ok());
            let length: usize = length.unwrap_or(0);
            if got.len() >= end + 4 + length {
                return Ok(Answer { status, headers, body: got[end + 4..end + 4 + length].to_vec() });
            }
        }
        match read.read_buf(&mut got).await {
            Ok(0) | Err(_) => return Err(String::from_utf8_lossy(&got).into_owned()),
            Ok(_) => {}
        }
    }
}
