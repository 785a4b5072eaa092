//! A second, independent implementation of the agent protocols that proofmark tests.
//!
//! It is the opinion that proofmark is held against: it shares no code with it and is written from the specifications
//! alone. An implementer reads it to settle a question, so it is clear before it is fast, and each rule stands beside the
//! number of its section.
//!
//! | look here | for |
//! |---|---|
//! | [`serve`], [`Config`], [`Handle`] | running it as a server in this process |
//! | [`serve_adapter`] | calling it as a library, over a pipe |
//! | [`faults`] | the mistakes that can be planted in it |
//! | [`Variant`] | the readings that it takes where the text leaves room |
//! | `agentic` | the Agentic Protocol |
//! | `json`, `instant` | what every protocol needs to read |
//! | `store` | durable state on SQLite |
//! | `server` | sockets and pipes |
//!
//! Dependencies point one way: `json`, `instant`, `fault` and `store` know no protocol; a protocol knows them and not
//! the sockets; `server` knows neither; this file joins them.

mod agentic;
mod config;
mod fault;
mod instant;
mod json;
mod server;
mod store;
mod variant;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use config::{Config, Database, Protocol, ServeError};
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
    &[Protocol::Agentic]
}

/// The faults that can be planted in the implementation of `protocol`.
#[must_use]
pub fn faults(protocol: Protocol) -> &'static [Fault] {
    match protocol {
        Protocol::Agentic => agentic::fault::FAULTS,
    }
}

/// Starts a server and returns when it is ready.
///
/// # Errors
///
/// [`ServeError`] if the configuration, the database, the file to load or the address is no good.
pub async fn serve(config: Config) -> Result<Handle, ServeError> {
    let (rules, clock) = rules(&config)?;
    let path = match &config.database {
        Database::File(path) => Some(path.as_path()),
        Database::Memory => None,
    };
    let service = Service::open(path, rules, clock, &config.auth)?;
    if let Some(path) = config.load {
        let refused = |reason: String| ServeError::Load { path: path.clone(), reason };
        let ndjson = tokio::fs::read(&path).await.map_err(|error| refused(error.to_string()))?;
        service.load(ndjson).await.map_err(refused)?;
    }
    let listen = |source| ServeError::Listen { address: config.listen, source };
    let listener = TcpListener::bind(config.listen).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let handler = service.clone();
    let server = tokio::spawn(async move {
        let stopped = async {
            stopped.await.ok(); // also when the handle is dropped
        };
        let served = server::http::serve(listener, handler, stopped).await;
        service.close().await;
        served
    });
    Ok(Handle { address, stop, server })
}

/// Answers the calls of the library adapter on a pair of pipes until the input ends.
///
/// # Errors
///
/// A bad configuration as [`std::io::ErrorKind::InvalidInput`], and whatever the pipes say.
pub async fn serve_adapter<R, W>(config: Config, reader: R, writer: W) -> std::io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let (rules, clock) =
        rules(&config).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error))?;
    match config.protocol {
        Protocol::Agentic => server::adapter::serve(agentic::Adapter::new(rules, clock), reader, writer).await,
    }
}

fn rules(config: &Config) -> Result<(Rules, Clock), ServeError> {
    let fault = match &config.fault {
        Some(name) => Planted::find(name, faults(config.protocol))?,
        None => Planted::NONE,
    };
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

/// A running server. Dropping it stops the server too, without waiting for it.
#[derive(Debug)]
pub struct Handle {
    address: SocketAddr,
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
