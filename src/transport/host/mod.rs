//! Hosts: named peers that proofmark simulates for the target, such as a registry, a callback receiver or a next hop.
//!
//! Each host has one listener for the whole run. What arrives is routed to the case that it belongs to (`route`): by a token in
//! the path that was announced to the case, by keys that the protocol finds in the message, or by values of the case that are
//! searched in the raw bytes. A message that belongs to no case is a stray. Everything is bounded: bytes of a message,
//! connections, arrivals that wait, strays that are kept.

mod connection;
mod route;
mod spec;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::listener::{Documents, Inbound, Listener, Settings};
use super::tcp::Framing;
use crate::exchange::{HostUrls, Stray, Transport};

pub use route::{Arrived, Guest};
use spec::PATIENCE;
pub use spec::{Correlate, HostSpec, Rules};

/// The running hosts of a run. They end when this is dropped.
pub struct Hosts {
    hosts: Vec<Host>,
    router: Arc<route::Router>,
    tasks: Vec<AbortHandle>,
}

struct Host {
    name: String,
    first: Transport,
    urls: HostUrls,
}

impl Hosts {
    /// Starts a listener for each host. Arrivals are timed from `since`.
    ///
    /// # Errors
    ///
    /// A host cannot listen where it should. The text names it.
    pub async fn start(specs: Vec<HostSpec>, rules: Arc<dyn Rules>, since: Instant) -> Result<Self, String> {
        let router = Arc::new(route::Router::new(rules));
        let mut hosts = Self { hosts: Vec::new(), router: Arc::clone(&router), tasks: Vec::new() };
        for spec in specs {
            let mut listener = listener(&spec, since)
                .await
                .map_err(|error| format!("cannot bind a listener for the host `{}`: {error}", spec.name))?;
            let first = spec.transports.first().copied().unwrap_or(Transport::Http);
            hosts.hosts.push(Host { name: spec.name.clone(), first, urls: urls(&spec, &listener) });
            let (spec, router) = (Arc::new(spec), Arc::clone(&router));
            let pump = async move {
                // The tasks of its connections end with this task.
                let mut running = tokio::task::JoinSet::new();
                loop {
                    let far = tokio::time::Instant::now() + Duration::from_secs(3600);
                    let inbound = tokio::select! {
                        Some(_) = running.join_next() => continue,
                        inbound = listener.next(far) => inbound,
                    };
                    let Some(inbound) = inbound else { continue };
                    if !matches!(inbound, Inbound::Unreadable { .. }) {
                        running.spawn(connection::serve(inbound, Arc::clone(&spec), Arc::clone(&router)));
                    }
                }
            };
            hosts.tasks.push(tokio::spawn(pump).abort_handle());
        }
        Ok(hosts)
    }

    /// Where each host is reached, by its name.
    pub fn urls(&self) -> std::collections::BTreeMap<String, HostUrls> {
        self.hosts.iter().map(|host| (host.name.clone(), host.urls.clone())).collect()
    }

    /// The addresses that a target which is launched is given: `NAME` for the first transport of a host, and `NAME.TRANSPORT`
    /// for each.
    pub fn addresses(&self) -> std::collections::BTreeMap<String, String> {
        let mut addresses = std::collections::BTreeMap::new();
        for host in &self.hosts {
            let first = host.urls.get(host.first.name()).cloned().unwrap_or_default();
            addresses.insert(host.name.clone(), first);
            addresses.extend(host.urls.iter().map(|(word, url)| (format!("{}.{word}", host.name), url.clone())));
        }
        addresses
    }

    /// Registers a case at the hosts: its messages are delivered to the guest, until the guest is dropped. Without
    /// `receives` each message is replied to immediately and not delivered.
    pub fn join(&self, case: &str, token: &str, receives: bool) -> Guest {
        route::Router::join(&self.router, case, token, receives)
    }

    /// As [`Hosts::join`], for messages that belong to no case.
    pub fn join_all(&self) -> Guest {
        let guest = self.join("", "", true);
        self.router.take_all(&guest);
        guest
    }

    /// The messages that no case received so far, and the number of further ones that were not kept.
    pub fn strays(&self) -> (Vec<Stray>, u64) {
        self.router.strays()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

async fn listener(spec: &HostSpec, since: Instant) -> io::Result<Listener> {
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let tcp_only = spec.transports == [Transport::Tcp];
    let tcp = spec.transports.contains(&Transport::Tcp).then(|| match spec.listen {
        // One port takes one kind of connection.
        Some(listen) if tcp_only => listen,
        Some(listen) => SocketAddr::new(listen.ip(), 0),
        None => free,
    });
    let http = spec.listen.filter(|_| !tcp_only).unwrap_or(free);
    let framing = if spec.profile.tcp.types.is_some() { Framing::Typed } else { Framing::Bare };
    let settings = Settings { http, tcp, framing, connections: 1_024, patience: PATIENCE, ..Settings::default() };
    Listener::start(settings, Documents::default(), since).await
}

/// The URLs of a host, by transport: the announced address, or else the address of the listener.
fn urls(spec: &HostSpec, listener: &Listener) -> HostUrls {
    let announced = spec.announce.as_deref().map(|url| url.trim_end_matches('/').to_owned());
    let mut urls = HostUrls::new();
    for transport in &spec.transports {
        let url = match transport {
            Transport::Http => {
                let base = announced.clone().unwrap_or_else(|| format!("http://{}", listener.http()));
                format!("{base}{}", spec.path)
            }
            Transport::Ws => {
                let base = announced.clone().unwrap_or_else(|| format!("http://{}", listener.http()));
                let path = spec.profile.ws.path.as_deref().unwrap_or(&spec.path);
                format!("{}{path}", base.replacen("http", "ws", 1))
            }
            Transport::Tcp => {
                let own = listener.tcp().map(|tcp| format!("{}://{tcp}", spec.profile.tcp_scheme(false)));
                let tcp_only = spec.transports.len() == 1;
                announced.clone().filter(|_| tcp_only).or(own).unwrap_or_default()
            }
            _ => continue,
        };
        urls.insert(transport.name().to_owned(), url);
    }
    urls
}
