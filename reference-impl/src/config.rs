//! What to serve, and why it could not be served.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fault::UnknownFault;
use crate::store::OpenError;
use crate::variant::Variant;

/// A protocol that this crate implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The Agentic Protocol, version 0.1.
    Agentic,
    /// The Agent Messaging Protocol, RFC 001 v0.30 with RFC 002 v0.15.
    AmpCore,
}

impl Protocol {
    /// The name in data, folders and commands.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Agentic => "agentic",
            Self::AmpCore => "amp-core",
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

/// What an AMP node is to others (RFC 001, 1.6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// Takes messages that are addressed to it.
    #[default]
    Agent,
    /// Keeps messages for others until they are fetched; has no application of its own.
    Relay,
    /// An agent for its own DID, a relay for everybody else.
    Both,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Relay, Self::Both];

    /// How it is asked for.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Relay => "relay",
            Self::Both => "both",
        }
    }
}

/// What only an AMP node is asked.
#[derive(Debug, Clone)]
pub struct AmpConfig {
    /// Where frames are taken over TCP (RFC 002, section 4); `None` for nowhere.
    pub tcp: Option<SocketAddr>,
    /// What the node is to others.
    pub role: Role,
    /// Whether `POST /amp/v1/control` is there. Whoever reaches it can send in the name of the node.
    pub control: bool,
    /// DID documents that are known from the start, as JSON: an object from DIDs to documents, an array, or one document.
    pub documents: Vec<String>,
    /// DIDs of relays whose acknowledgements and transfers are believed (RFC 001, 16.1).
    pub trusted_relays: Vec<String>,
    /// The Ed25519 seed of the node; `None` is the public test key of the identity `target`.
    pub seed: Option<[u8; 32]>,
    /// The DID, for one that is no did:key; `None` is the did:key of the seed.
    pub did: Option<String>,
    /// How long a confirmation may take before a message is sent again. The suggestion of RFC 001, 16.4 is 10 s; the
    /// default is shorter, since a peer on the same machine is quick and a test waits for every repeat.
    pub ack_timeout: Duration,
}

impl Default for AmpConfig {
    fn default() -> Self {
        Self {
            tcp: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            role: Role::Agent,
            control: false,
            documents: Vec::new(),
            trusted_relays: Vec::new(),
            seed: None,
            did: None,
            ack_timeout: Duration::from_secs(1),
        }
    }
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
    /// Keys and the actors that they belong to; without any, everybody may do everything. For AMP: bearer tokens and DIDs.
    pub auth: Vec<(String, String)>,
    /// A fixed present time in RFC 3339; `None` is the clock of the machine.
    pub now: Option<String>,
    /// An NDJSON file whose records are taken before the first request.
    pub load: Option<PathBuf>,
    /// What only an AMP node is asked.
    pub amp: AmpConfig,
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
            amp: AmpConfig::default(),
        }
    }

    /// The file of the database, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.database {
            Database::File(path) => Some(path),
            Database::Memory => None,
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
    /// A DID document, the DID or a relay of the configuration is none.
    #[error("identities: {0}")]
    Identities(String),
    /// The fixed present time is not RFC 3339 in UTC.
    #[error("not an RFC 3339 time in UTC: {0:?}")]
    Now(String),
}
