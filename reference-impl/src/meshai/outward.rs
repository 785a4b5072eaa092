//! What the server sends by itself: requests that it forwards, callbacks, and its own requests as a client. HTTP by hyper,
//! without TLS; or into a box, for a library without a network.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Uri, header};
use bytes::Bytes;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The timeout of connecting.
const CONNECT_DEADLINE: Duration = Duration::from_secs(2);

/// The largest answer that is read.
const ANSWER_LIMIT: usize = 4 * 1024 * 1024;

/// The header that counts how often a request was forwarded, so that no request goes round for ever.
pub(crate) const HOPS: &str = "x-mesh-hops";

/// A message on its way out: where to, and what.
pub(crate) type Parcel = (String, String);

/// The way out.
#[derive(Debug, Clone)]
pub(crate) enum Outward {
    /// Posts to URLs; `anywhere`: not only to this machine.
    Network {
        /// Whether hosts beside loopback addresses are called.
        anywhere: bool,
    },
    /// Keeps everything; nothing is answered.
    Kept(Arc<Mutex<Vec<Parcel>>>),
}

/// Headers of one request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sending<'a> {
    /// The token of this server as a client.
    pub(crate) token: Option<&'a str>,
    /// How often the message was forwarded.
    pub(crate) hops: u32,
}

fn bad(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

impl Outward {
    /// A way out that keeps everything.
    #[must_use]
    pub(crate) fn kept() -> Self {
        Self::Kept(Arc::default())
    }

    /// Takes out what was kept.
    #[must_use]
    pub(crate) fn take(&self) -> Vec<Parcel> {
        match self {
            Self::Network { .. } => Vec::new(),
            Self::Kept(parcels) => std::mem::take(&mut *parcels.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Whether messages may go to this URL.
    #[must_use]
    pub(crate) fn reaches(&self, url: &str) -> bool {
        let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
        let loopback = |host: &str| host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
        let local = |host: &str| host == "localhost" || host == "[::1]" || loopback(host);
        match self {
            Self::Network { anywhere } => host.is_some_and(|host| *anywhere || local(&host)),
            Self::Kept(_) => host.is_some(),
        }
    }

    /// Posts a message; status and body of the answer. A kept message is not answered: [`io::ErrorKind::NotConnected`].
    ///
    /// # Errors
    ///
    /// Of the URL, the network, and [`io::ErrorKind::TimedOut`] after `limit`.
    pub(crate) async fn post(
        &self,
        url: &str,
        body: String,
        sending: Sending<'_>,
        limit: Duration,
    ) -> io::Result<(u16, Bytes)> {
        if let Self::Kept(parcels) = self {
            parcels.lock().unwrap_or_else(PoisonError::into_inner).push((url.to_owned(), body));
            return Err(io::ErrorKind::NotConnected.into());
        }
        if !self.reaches(url) {
            return Err(bad("only addresses of this machine are called"));
        }
        timeout(limit, exchange(url, body, sending)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

async fn exchange(url: &str, body: String, sending: Sending<'_>) -> io::Result<(u16, Bytes)> {
    let uri: Uri = url.parse().map_err(bad)?;
    if uri.scheme_str() != Some("http") {
        return Err(bad("only http is supported"));
    }
    let host = uri.host().ok_or_else(|| bad("the URL has no host"))?;
    let authority = format!("{host}:{}", uri.port_u16().unwrap_or(80));
    let connect = timeout(CONNECT_DEADLINE, TcpStream::connect(&authority)).await;
    let stream = connect.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(bad)?;
    let connection = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::post(path)
        .header(header::HOST, authority)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json");
    if let Some(token) = sending.token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    if sending.hops > 0 {
        request = request.header(HOPS, sending.hops);
    }
    let response = sender.send_request(request.body(Body::from(body)).map_err(bad)?).await.map_err(bad)?;
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(Body::new(response.into_body()), ANSWER_LIMIT).await.map_err(bad)?;
    connection.abort();
    Ok((status, body))
}
