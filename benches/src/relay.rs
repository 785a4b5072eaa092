//! A relay between programs and the server that they are measured at, which counts their requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use url::Url;

/// Passes on what arrives at its address, and counts the requests in it.
///
/// A client of HTTP/1.1 that does not pipeline sends its next request after the answer to the last one. So what begins with a
/// method, and arrives first or first after something for the client, begins a request.
pub struct Relay {
    /// Its base URL.
    pub url: Url,
    requests: Arc<AtomicUsize>,
    _runtime: Runtime,
}

impl Relay {
    /// Starts one before `server`, on its own thread.
    ///
    /// # Panics
    ///
    /// If the machine has no thread or no port left.
    pub fn start(server: &Url) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("the machine can start a thread");
        let to = server.socket_addrs(|| None).expect("the server has an address")[0];
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let requests = Arc::new(AtomicUsize::new(0));
        runtime.spawn(accept(listener, to, Arc::clone(&requests)));
        let url = Url::parse(&format!("http://{address}")).expect("an address is a URL");
        Self { url, requests, _runtime: runtime }
    }

    /// How many requests have begun.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, to: SocketAddr, requests: Arc<AtomicUsize>) {
    while let Ok((client, _)) = listener.accept().await {
        let requests = Arc::clone(&requests);
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(to).await else { return };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            let idle = AtomicBool::new(true);
            tokio::join!(
                pass(from_client, to_server, |piece| {
                    let begins = begins_with_method(piece) && idle.swap(false, Ordering::Relaxed);
                    requests.fetch_add(usize::from(begins), Ordering::Relaxed);
                }),
                pass(from_server, to_client, |_| idle.store(true, Ordering::Relaxed)),
            );
        });
    }
}

fn begins_with_method(piece: &[u8]) -> bool {
    let letters = piece.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    letters >= 3 && piece[letters..].starts_with(b" ")
}

/// Passes everything on, and calls `seen` before each piece.
async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, seen: impl Fn(&[u8])) {
    let mut piece = vec![0; 64 << 10];
    while let Ok(length) = from.read(&mut piece).await
        && length > 0
    {
        seen(&piece[..length]);
        if to.write_all(&piece[..length]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Server;

    #[test]
    fn requests_are_counted_and_not_connections() {
        let server = Server::start();
        let relay = Relay::start(&server.url);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let client = reqwest::Client::builder().no_proxy().build().expect("a client");
            for _ in 0..7 {
                // The body is longer than a piece, so that it arrives in several.
                let answer = client.post(relay.url.clone()).body(vec![b'x'; 200_000]).send().await.expect("an answer");
                answer.bytes().await.expect("it is whole");
            }
        });
        assert_eq!(relay.requests(), 7);
    }
}
