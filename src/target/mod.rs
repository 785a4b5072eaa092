//! Targets: the implementation under test, its addresses, claims and configuration.

mod channel;
mod hooks;
mod keys;
mod launch;
mod load;
mod names;
mod read;
mod tree;

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use crate::exchange::{TargetClass, Transport};
use crate::source::Span;
use crate::value::Value;

pub use channel::{ChannelProfile, FrameTypes, HttpProfile, TcpProfile, UrlScheme, WsMessages, WsProfile};
pub use hooks::Hooks;
pub use keys::TARGET;
pub use launch::{Filled, Launch, Ready, Variable};
pub use load::{load, load_with, parse_tcp, parse_url};
pub use names::{MemberNames, NamedObject, renamed};
pub use read::parse_duration;
pub use tree::TreeRoot;

/// The feature of a target with a second instance.
pub const SECOND_INSTANCE: &str = "second-instance";

/// The feature of a target into which its fixture was loaded.
pub const FIXTURE: &str = "fixture";

/// The party whose messages go to the second instance.
pub const SECOND: &str = "second";

/// The name under which a target has the credentials of every party that has none of its own.
pub const EVERY_PARTY: &str = "*";

/// The implementation under test.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name in reports.
    pub name: String,
    /// Its class, for reports.
    pub class: TargetClass,
    /// The protocol that a target file is for.
    pub protocol: Option<String>,
    /// URL of its HTTP endpoint.
    pub url: Option<Url>,
    /// URL of its WebSocket endpoint, if that is not at the protocol's path below [`Target::url`].
    pub ws: Option<Url>,
    /// Address of its TCP endpoint.
    pub tcp: Option<TcpAddress>,
    /// How its protocol uses connections that stay open; the protocol fills it in.
    pub channel: ChannelProfile,
    /// The files that it shares.
    pub tree: Option<TreeRoot>,
    /// The transports to use; `None` means each that has an address.
    pub transports: Option<Vec<Transport>>,
    /// Settings that the protocol defines, by name; see [`crate::protocol::Setting`].
    pub settings: BTreeMap<String, Value>,
    /// Further base URLs by name, for operations that are not at [`Target::url`].
    pub urls: BTreeMap<String, Url>,
    /// Addresses of the hosts of the run, by name.
    pub hosts: BTreeMap<String, HostAddress>,
    /// URL of a second instance with separate state.
    pub second: Option<Url>,
    /// The program that wraps it as a library, with its arguments.
    pub adapter: Option<Vec<String>>,
    /// How proofmark starts and stops it, if it does.
    pub launch: Option<Launch>,
    /// Programs that prepare it before a run.
    pub hooks: Hooks,
    /// Certificates (PEM) of authorities that are trusted in addition to those of the system.
    pub ca: Option<Vec<u8>>,
    /// The levels that the target file claims; empty means those that the target declares.
    pub levels: Vec<String>,
    /// Its kinds; empty means the default kind for its addresses.
    pub kinds: Vec<String>,
    /// The roles of the protocol that it plays; `None` means all that its kind can play.
    pub roles: Option<Vec<String>>,
    /// Features that it has or lacks; overrides the probes.
    pub options: BTreeMap<String, bool>,
    /// Header fields that each party sends, such as credentials; those of [`EVERY_PARTY`] are sent by parties without own ones.
    pub credentials: BTreeMap<String, Vec<Credential>>,
    /// Routes that differ from the protocol's own, by operation.
    pub routes: BTreeMap<String, RouteOverride>,
    /// Places in answers that are tried before the protocol's own, by the name of the value.
    pub places: BTreeMap<String, Vec<String>>,
    /// Names of members that differ from those of the protocol.
    pub names: MemberNames,
    /// Status codes that replace the specified one.
    pub statuses: BTreeMap<u16, Vec<u16>>,
    /// Limits on time, size and number.
    pub limits: Limits,
    /// Timeouts of the protocol that differ for this target, by name.
    pub timeouts: BTreeMap<String, Duration>,
    /// Known failures.
    pub waivers: Vec<Waiver>,
}

/// Address of a TCP endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpAddress {
    /// Name or address of the host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether to use TLS.
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
    /// The token of a bearer (RFC 6750 section 2.1), if the credential is one.
    pub fn token(&self) -> Option<&str> {
        let (scheme, token) = self.value.split_once(' ')?;
        let is_bearer = self.header.eq_ignore_ascii_case("authorization") && scheme.eq_ignore_ascii_case("bearer");
        is_bearer.then(|| token.trim())
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: <redacted>", self.header)
    }
}

/// The party of a case that sends no credentials, not even those of [`EVERY_PARTY`].
const WITHOUT_CREDENTIALS: &str = "without-credentials";

/// The credentials of a party: its own, or those of [`EVERY_PARTY`].
pub fn credentials_of<'c, T>(credentials: &'c BTreeMap<String, Vec<T>>, party: &str) -> &'c [T] {
    if party == WITHOUT_CREDENTIALS {
        return &[];
    }
    credentials.get(party).or_else(|| credentials.get(EVERY_PARTY)).map_or(&[], Vec::as_slice)
}

/// The listen address of a host of the run, and its URL for the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAddress {
    /// The address to bind; a free port on the loopback interface if `None`.
    pub listen: Option<std::net::SocketAddr>,
    /// The URL for the target; the listen address if `None`.
    pub announce: Option<String>,
}

/// A route that differs from the specified one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteOverride {
    /// Name of the base URL, one of [`Target::urls`].
    pub base: Option<String>,
    /// HTTP method.
    pub method: Option<String>,
    /// Path with `{input}` placeholders.
    pub path: Option<String>,
    /// Query parameters with `{input}` placeholders.
    pub query: Option<Vec<(String, String)>>,
    /// The body, with `{input}` placeholders, and `{body}` for the one of the protocol.
    pub body: Option<Value>,
    /// Header fields in addition to those of the protocol, with `{input}` placeholders.
    pub headers: Vec<(String, String)>,
}

/// Bounds on time, size and number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time from the first byte sent to the last byte read of one answer.
    pub request: Duration,
    /// How long to wait for the first message on a connection without request and response.
    pub reply: Duration,
    /// How long to wait for further answers after one that is not the expected one.
    pub settle: Duration,
    /// Time from the first step of a case to its last.
    pub case: Duration,
    /// Time for the whole run.
    pub run: Duration,
    /// Tolerance for timestamps, in both directions.
    pub clock_skew: Duration,
    /// Maximum number of bytes that are read of a body.
    pub body: usize,
    /// Number of cases that run concurrently. Over connections that stay open, where a case mostly listens, up to three times
    /// as many; cases that mostly wait run beside them. With 1, one case runs at a time.
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

/// A known failure of a case or requirement.
#[derive(Clone, Debug)]
pub struct Waiver {
    /// A pattern of case ids, or the id of a requirement.
    pub what: WaiverSubject,
    /// Why.
    pub reason: String,
    /// Where it is written.
    pub span: Span,
}

/// The subject of a waiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaiverSubject {
    /// Cases whose id matches a pattern.
    Case(String),
    /// A requirement.
    Requirement(String),
}

impl Target {
    /// The header fields that a party sends.
    pub fn credentials_of(&self, party: &str) -> &[Credential] {
        credentials_of(&self.credentials, party)
    }

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
            hooks: Hooks::default(),
            ca: None,
            levels: Vec::new(),
            kinds: Vec::new(),
            roles: None,
            options: BTreeMap::new(),
            credentials: BTreeMap::new(),
            routes: BTreeMap::new(),
            places: BTreeMap::new(),
            names: MemberNames::default(),
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

    /// Whether a transport has an address and is not excluded by the target file.
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

    /// The setting `name`, if the target file has it.
    pub fn setting(&self, name: &str) -> Option<&Value> {
        self.settings.get(name)
    }

    /// The specified status for which the target sends `status`.
    pub fn status(&self, status: u16) -> u16 {
        self.statuses.iter().find(|(_, aliases)| aliases.contains(&status)).map_or(status, |(named, _)| *named)
    }

    /// The places configured for `what`.
    pub fn places(&self, what: &str) -> &[String] {
        self.places.get(what).map_or(&[], Vec::as_slice)
    }
}
