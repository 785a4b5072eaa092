//! What to serve, and why it could not be served.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::fault::UnknownFault;
use crate::store::OpenError;
use crate::variant::Variant;

/// A protocol that this crate implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The Agentic Protocol, version 0.1.
    Agentic,
}

impl Protocol {
    /// The name in data, folders and commands.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Agentic => "agentic",
        }
    }
}

/// Where the state of a server lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// In a file, created if there is none; acknowledged writes survive the death of the process.
    File(PathBuf),
    /// In memory, gone with the server.
    Memory,
}

/// What to serve and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// The protocol.
    pub protocol: Protocol,
    /// The address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the state lives.
    pub database: Database,
    /// The name of a fault to plant, one of [`crate::faults`].
    pub fault: Option<String>,
    /// Which reading to take where the specification leaves room.
    pub variant: Variant,
    /// The level to serve, `L0` to `L3`; `None` is the highest. Operations above it answer 501.
    pub level: Option<String>,
    /// Whether relevant search is offered.
    pub search: bool,
    /// Keys and the actors that they belong to; without any, everybody may do everything.
    pub auth: Vec<(String, String)>,
    /// A fixed present time in RFC 3339; `None` is the clock of the machine.
    pub now: Option<String>,
    /// An NDJSON file whose records are taken before the first request.
    pub load: Option<PathBuf>,
}

impl Config {
    /// A free port of 127.0.0.1, state in memory, everything switched on, no keys, no fault, the rulings of
    /// the errata.
    #[must_use]
    pub fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            database: Database::Memory,
            fault: None,
            variant: Variant::Own,
            level: None,
            search: true,
            auth: Vec::new(),
            now: None,
            load: None,
        }
    }
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The database cannot be used.
    #[error("open database: {0}")]
    Database(#[from] OpenError),
    /// No fault has the configured name.
    #[error(transparent)]
    Fault(#[from] UnknownFault),
    /// No level has the configured name.
    #[error("no level named {0:?}; levels are L0, L1, L2, L3")]
    Level(String),
    /// The address cannot be listened on.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file to load cannot be read, or a record in it is refused.
    #[error("load {}: {reason}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// Which record, and why.
        reason: String,
    },
    /// The fixed present time is not RFC 3339 in UTC.
    #[error("not an RFC 3339 time in UTC: {0:?}")]
    Now(String),
}
