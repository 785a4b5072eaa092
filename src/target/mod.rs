//! Targets: the implementation under test, how to reach it, and what its owner says of it.

mod channel;
mod keys;
mod launch;
mod load;
mod read;
mod tree;

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use crate::exchange::{TargetClass, Transport};
use crate::source::Span;
use crate::value::Value;

pub use channel::{ChannelProfile, FrameTypes, HttpProfile, TcpProfile, UrlScheme, WsMessages, WsProfile};
pub use keys::TARGET;
pub use launch::{Filled, Launch, Ready, Variable};
pub use load::{load, load_with, parse_tcp, parse_url};
pub use read::parse_duration;
pub use tree::TreeRoot;

/// The feature that a target has which comes with a second instance.
pub const SECOND_INSTANCE: &str = "second-instance";

/// The party whose messages go to the second instance.
pub const SECOND: &str = "second";

/// What is tested, and how it is reached.
#[derive(Clone, Debug)]
pub struct Target {
    /// How it is called in reports.
    pub name: String,
    /// What it is, for reports.
    pub class: TargetClass,
    /// The protocol that a target file is for.
    pub protocol: Option<String>,
    /// Where its HTTP endpoint is.
    pub url: Option<Url>,
    /// Where its WebSocket endpoint is, if that is not at the protocol's path below [`Target::url`].
    pub ws: Option<Url>,
    /// Where it takes frames over TCP.
    pub tcp: Option<TcpAddress>,
    /// How its protocol uses connections that stay open; the protocol fills it in.
    pub channel: ChannelProfile,
    /// The files that it shares.
    pub tree: Option<TreeRoot>,
    /// The transports that are tried; `None` means each that has an address.
    pub transports: Option<Vec<Transport>>,
    /// What the protocol lets an owner say about the target, by name; [`crate::protocol::Setting`] has the meanings.
    pub settings: BTreeMap<String, Value>,
    /// Further base URLs by name, for operations that are elsewhere than at [`Target::url`].
    pub urls: BTreeMap<String, Url>,
    /// Where the hosts of the run listen, by name.
    pub hosts: BTreeMap<String, HostAddress>,
    /// Where another instance of it is, with a state of its own.
    pub second: Option<Url>,
    /// The program that wraps it as a library, with its arguments.
    pub adapter: Option<Vec<String>>,
    /// How proofmark starts and ends it, if it does.
    pub launch: Option<Launch>,
    /// The levels that its owner claims; empty means what it says itself.
    pub levels: Vec<String>,
    /// The kinds of target of the protocol that it is; empty means the usual kind for the way in which it is reached.
    pub kinds: Vec<String>,
    /// The roles of the protocol that it plays; `None` means all that its kind can play.
    pub roles: Option<Vec<String>>,
    /// Features that it has or lacks, whatever a probe would find.
    pub options: BTreeMap<String, bool>,
    /// Header fields that each actor sends, such as credentials.
    pub credentials: BTreeMap<String, Vec<Credential>>,
    /// Routes that differ from the protocol's own, by operation.
    pub routes: BTreeMap<String, RouteOverride>,
    /// Places in answers that are tried before the protocol's own, by what stands there.
    pub places: BTreeMap<String, Vec<String>>,
    /// Status codes that stand for the one that the protocol names.
    pub statuses: BTreeMap<u16, Vec<u16>>,
    /// Bounds on everything.
    pub limits: Limits,
    /// The times of the protocol that differ at this target, by name.
    pub timeouts: BTreeMap<String, Duration>,
    /// What its owner sets aside.
    pub waivers: Vec<Waiver>,
}

/// Where frames over TCP are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpAddress {
    /// Name or address of the host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether TLS is spoken.
    pub tls: bool,
}

impl std::fmt::Display for TcpAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A header field whose value is never printed or stored.
#[derive(Clone)]
pub struct Credential {
    /// Name of the header field.
    pub header: String,
    /// The secret.
    pub value: String,
}

impl Credential {
    /// The token of a bearer (RFC 6750 section 2.1), if that is what it is.
    pub fn token(&self) -> Option<&str> {
        let (scheme, token) = self.value.split_once(' ')?;
        let bears = self.header.eq_ignore_ascii_case("authorization") && scheme.eq_ignore_ascii_case("bearer");
        bears.then(|| token.trim())
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: <redacted>", self.header)
    }
}

/// Where a host of the run listens, and how the target reaches it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAddress {
    /// The address to bind; a free port on the loopback interface if `None`.
    pub listen: Option<std::net::SocketAddr>,
    /// The URL that the target is given; the listen address if `None`.
    pub announce: Option<String>,
}

/// A route of the target's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteOverride {
    /// Name of the base URL, one of [`Target::urls`].
    pub base: Option<String>,
    /// HTTP method.
    pub method: Option<String>,
    /// Path with `{input}` places.
    pub path: Option<String>,
    /// Query parameters with `{input}` places.
    pub query: Option<Vec<(String, String)>>,
}

/// Bounds on time, size and number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the first byte sent to the last byte read of one answer.
    pub request: Duration,
    /// How long a first answer is waited for where it does not come as the response to a request.
    pub reply: Duration,
    /// How long further answers are waited for after one that is not what was wanted.
    pub settle: Duration,
    /// From the first step of a case to its last.
    pub case: Duration,
    /// The whole run.
    pub run: Duration,
    /// Added to both ends of every span of time that an answer is held against.
    pub clock_skew: Duration,
    /// Bytes of a body that are read.
    pub body: usize,
    /// Cases side by side.
    pub jobs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            reply: Duration::from_secs(5),
            settle: Duration::from_secs(1),
            case: Duration::from_secs(120),
            run: Duration::from_secs(15 * 60),
            clock_skew: Duration::from_secs(5),
            body: 8 << 20,
            jobs: 16,
        }
    }
}

/// A case or requirement that the owner of a target sets aside.
#[derive(Clone, Debug)]
pub struct Waiver {
    /// A pattern of case ids, or the id of a requirement.
    pub what: WaiverSubject,
    /// Why.
    pub reason: String,
    /// Where it is written.
    pub span: Span,
}

/// What a waiver sets aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaiverSubject {
    /// Cases whose id matches a pattern.
    Case(String),
    /// A requirement.
    Requirement(String),
}

impl Target {
    /// A target of a kind, with nothing configured.
    pub fn new(class: TargetClass, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            class,
            protocol: None,
            url: None,
            ws: None,
            tcp: None,
            tree: None,
            channel: ChannelProfile::default(),
            transports: None,
            settings: BTreeMap::new(),
            urls: BTreeMap::new(),
            hosts: BTreeMap::new(),
            second: None,
            adapter: None,
            launch: None,
            levels: Vec::new(),
            kinds: Vec::new(),
            roles: None,
            options: BTreeMap::new(),
            credentials: BTreeMap::new(),
            routes: BTreeMap::new(),
            places: BTreeMap::new(),
            statuses: BTreeMap::new(),
            limits: Limits::default(),
            timeouts: BTreeMap::new(),
            waivers: Vec::new(),
        }
    }

    /// An endpoint at `url`, with nothing configured.
    pub fn endpoint(url: Url) -> Self {
        let mut target = Self::new(TargetClass::Endpoint, url.as_str().trim_end_matches('/'));
        target.url = Some(url);
        target
    }

    /// Whether a transport has an address and is not left out by the owner.
    pub fn is_reached_over(&self, transport: Transport) -> bool {
        let address = match transport {
            Transport::Http => self.url.is_some() || !self.urls.is_empty(),
            Transport::Ws => self.ws.is_some(),
            Transport::Tcp => self.tcp.is_some(),
            Transport::Tree => self.tree.is_some(),
            Transport::Adapter => self.adapter.is_some(),
        };
        address && self.transports.as_ref().is_none_or(|chosen| chosen.contains(&transport))
    }

    /// The base URL with a name, or else the base URL of the target.
    pub fn base(&self, name: Option<&str>) -> Option<&Url> {
        name.and_then(|name| self.urls.get(name)).or(self.url.as_ref())
    }

    /// The setting called `name`, if the owner gave it.
    pub fn setting(&self, name: &str) -> Option<&Value> {
        self.settings.get(name)
    }

    /// The status that the protocol names where the target sends `status`.
    pub fn status(&self, status: u16) -> u16 {
        self.statuses.iter().find(|(_, aliases)| aliases.contains(&status)).map_or(status, |(named, _)| *named)
    }

    /// The places configured for `what`.
    pub fn places(&self, what: &str) -> &[String] {
        self.places.get(what).map_or(&[], Vec::as_slice)
    }
}
