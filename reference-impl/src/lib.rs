//! A second, independent implementation of the agent protocols that proofmark tests.
//!
//! It is the opinion that proofmark is held against: it shares no code with it and is written from the specifications
//! alone. An implementer reads it to settle a question, so it is clear before it is fast, and each rule stands beside the
//! number of its section.
//!
//! | look here | for |
//! |---|---|
//! | [`serve`], [`Config`], [`Handle`] | running it as a server in this process |
//! | [`serve_connections`] | the same without a socket |
//! | [`serve_adapter`] | calling it as a library, over a pipe |
//! | [`faults`] | the mistakes that can be planted in it |
//! | [`Variant`] | the readings that it takes where the text leaves room |
//! | `agentic` | the Agentic Protocol |
//! | `amp_core` | the Agent Messaging Protocol |
//! | `json`, `cbor`, `instant` | what every protocol needs to read |
//! | `store` | durable state on SQLite |
//! | `server` | sockets and pipes |
//!
//! Dependencies point one way: `json`, `cbor`, `instant`, `fault` and `store` know no protocol; a protocol knows them and not
//! the sockets; `server` knows neither; this file joins them.

mod agentic;
mod amp_core;
mod cbor;
mod config;
mod fault;
mod instant;
mod json;
mod server;
mod store;
mod variant;

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use config::{AmpConfig, Config, Database, Protocol, Role, ServeError};
pub use fault::{Fault, Needs, UnknownFault};
pub use store::OpenError;
pub use variant::Variant;

use agentic::{Level, Rules, Service};
use fault::Planted;
use instant::{Clock, Instant};

/// How long open connections may take to finish after a stop.
const STOP_DEADLINE: Duration = Duration::from_secs(3);

/// The protocols that are implemented.
#[must_use]
pub fn protocols() -> &'static [Protocol] {
    &[Protocol::Agentic, Protocol::AmpCore]
}

/// The faults that can be planted in the implementation of `protocol`.
#[must_use]
pub fn faults(protocol: Protocol) -> &'static [Fault] {
    match protocol {
        Protocol::Agentic => agentic::fault::FAULTS,
        Protocol::AmpCore => amp_core::fault::FAULTS,
    }
}

/// The faults of careless parsers that can be planted in the implementation of `protocol`: no case of the suites looks for
/// them, and a fuzzer has to find them.
#[must_use]
pub fn parser_faults(protocol: Protocol) -> &'static [Fault] {
    match protocol {
        Protocol::Agentic => agentic::careless::FAULTS,
        Protocol::AmpCore => amp_core::careless::FAULTS,
    }
}

/// Starts a server and returns when it is ready.
///
/// # Errors
///
/// [`ServeError`] if the configuration, the database, the file to load or the address is no good.
pub fn serve(config: Config) -> impl Future<Output = Result<Handle, ServeError>> + Send {
    compiled_here(async move {
        match config.protocol {
            Protocol::Agentic => serve_agentic(config).await,
            Protocol::AmpCore => amp_core::serve(config).await,
        }
    })
}

/// A future that is compiled in this crate. What an `async fn` does is compiled where it is polled, and so every program and
/// every test that starts a server would compile the whole of it again.
fn compiled_here<'a, T>(work: impl Future<Output = T> + Send + 'a) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    Box::pin(work)
}

async fn serve_agentic(config: Config) -> Result<Handle, ServeError> {
    let (rules, clock) = rules(&config)?;
    let service = Service::open(config.path(), rules, clock, &config.auth)?;
    if let Some(path) = config.load {
        let refused = |reason: String| ServeError::Load { path: path.clone(), reason };
        let ndjson = tokio::fs::read(&path).await.map_err(|error| refused(error.to_string()))?;
        service.load(ndjson).await.map_err(refused)?;
    }
    let listener = bind(config.listen).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let handler = service.clone();
    let address = local_address(&listener, config.listen)?;
    let server = tokio::spawn(async move {
        let stopped = async {
            stopped.await.ok(); // also when the handle is dropped
        };
        let served = server::http::serve(server::http::without_delay(listener), handler, stopped).await;
        service.close().await;
        served
    });
    Ok(Handle { address, tcp: None, did: None, stop, server })
}

/// Serves HTTP, and with it WebSocket, on connections that are handed in instead of a socket: pipes in memory, for tests and
/// fuzzers. Returns when nobody can hand in more and the exchanges are done.
///
/// # Errors
///
/// As [`serve`]; addresses of the configuration are not looked at.
pub fn serve_connections(
    config: Config,
    connections: UnboundedReceiver<DuplexStream>,
) -> impl Future<Output = Result<(), ServeError>> + Send {
    compiled_here(async move {
        let (pipes, ended) = server::pipes::Pipes::new(connections);
        match config.protocol {
            Protocol::Agentic => {
                let (rules, clock) = rules(&config)?;
                let service = Service::open(config.path(), rules, clock, &config.auth)?;
                server::http::serve(pipes, service.clone(), ended).await.ok(); // pipes cannot fail as sockets do
                service.close().await;
            }
            Protocol::AmpCore => amp_core::serve_connections(config, pipes, ended).await?,
        }
        Ok(())
    })
}

/// Listens on `address`.
async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|source| ServeError::Listen { address, source })
}

/// Where a listener listens; the port is the real one.
fn local_address(listener: &TcpListener, asked: SocketAddr) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(|source| ServeError::Listen { address: asked, source })
}

/// Answers the calls of the library adapter on a pair of pipes until the input ends.
///
/// # Errors
///
/// A bad configuration as [`std::io::ErrorKind::InvalidInput`], and whatever the pipes say.
pub async fn serve_adapter<R, W>(config: Config, mut reader: R, mut writer: W) -> std::io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    answer_calls(config, &mut reader, &mut writer).await
}

/// [`serve_adapter`] on pipes of any kind.
fn answer_calls<'a>(
    config: Config,
    reader: &'a mut (dyn AsyncRead + Unpin + Send),
    writer: &'a mut (dyn AsyncWrite + Unpin + Send),
) -> impl Future<Output = std::io::Result<()>> + Send + 'a {
    let invalid = |error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error);
    compiled_here(async move {
        match config.protocol {
            Protocol::Agentic => {
                let (rules, clock) = rules(&config).map_err(invalid)?;
                server::adapter::serve(agentic::Adapter::new(rules, clock), reader, writer).await
            }
            Protocol::AmpCore => {
                let rules = amp_core::rules_of(&config).map_err(invalid)?;
                server::adapter::serve(amp_core::Adapter::new(rules), reader, writer).await
            }
        }
    })
}

fn rules(config: &Config) -> Result<(Rules, Clock), ServeError> {
    let fault = planted(config)?;
    let level = match &config.level {
        Some(name) => Level::parse(name).ok_or_else(|| ServeError::Level(name.clone()))?,
        None => Level::HIGHEST,
    };
    let clock = match &config.now {
        Some(text) => Clock::Fixed(Instant::parse(text).ok_or_else(|| ServeError::Now(text.clone()))?),
        None => Clock::System,
    };
    let rules = Rules::new(fault, level, config.search, clock.now());
    Ok((Rules { variant: config.variant, ..rules }, clock))
}

fn planted(config: &Config) -> Result<Planted, ServeError> {
    match &config.fault {
        Some(name) => {
            let of_parsers = Planted::find(name, parser_faults(config.protocol));
            Ok(of_parsers.or_else(|_| Planted::find(name, faults(config.protocol)))?)
        }
        None => Ok(Planted::NONE),
    }
}

/// A running server. Dropping it stops the server too, without waiting for it.
#[derive(Debug)]
pub struct Handle {
    address: SocketAddr,
    tcp: Option<SocketAddr>,
    did: Option<String>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Handle {
    /// Where it listens; the port is the real one.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The URL of the WebSocket endpoint; of use for AMP only (RFC 002, 5.1).
    #[must_use]
    pub fn ws_url(&self) -> String {
        format!("ws://{}/amp/v1/ws", self.address)
    }

    /// Where frames are taken over TCP, if anywhere (RFC 002, section 4).
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// The DID of an AMP node.
    #[must_use]
    pub fn did(&self) -> Option<&str> {
        self.did.as_deref()
    }

    /// Finishes the requests in hand, closes the database and returns.
    pub async fn stop(self) {
        let Self { stop, mut server, .. } = self;
        stop.send(()).ok(); // fails only if the server is gone already
        if tokio::time::timeout(STOP_DEADLINE, &mut server).await.is_err() {
            server.abort();
        }
    }

    /// Returns when the server has ended by itself, which it does only if its socket fails.
    pub async fn wait(self) {
        self.server.await.ok();
        drop(self.stop);
    }
}
