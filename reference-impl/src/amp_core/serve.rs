//! From a configuration to a running server.

use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::did;
use super::keys::Identity;
use super::net;
use super::node::clock::Clock;
use super::node::{Node, Settings};
use super::rules::Rules;
use crate::config::{Config, Role, ServeError};
use crate::instant::Instant;
use crate::server::pipes::Pipes;
use crate::{Handle, json};

/// The seed of the identity `target` (binding.md, 6): known to everybody, to be trusted by nobody outside a test.
const TARGET_SEED: [u8; 32] = [
    0xe2, 0x2b, 0xf1, 0x7c, 0x5a, 0x38, 0x02, 0xf5, 0x92, 0x2c, 0x13, 0x64, 0x85, 0x2e, 0xe8, 0x83, 0xd2, 0xc5, 0x12,
    0xac, 0x44, 0x1d, 0xdb, 0x8c, 0x71, 0xb7, 0x8e, 0x67, 0xb0, 0xd4, 0x18, 0x90,
];

/// What the X25519 key of a node with a DID of another method is made of.
const AGREEMENT: &str = "proofmark/amp-core/agreement/target";

/// The fault and the readings that a configuration asks for.
///
/// # Errors
///
/// [`ServeError::Fault`] if there is no such fault.
pub(crate) fn rules_of(config: &Config) -> Result<Rules, ServeError> {
    Ok(Rules { fault: crate::planted(config)?, variant: config.variant })
}

fn settings(config: &Config) -> Result<Settings, ServeError> {
    let seed = config.amp.seed.unwrap_or(TARGET_SEED);
    let me = match &config.amp.did {
        Some(name) if !did::is_did(name) => return Err(ServeError::Identities(format!("not a DID: {name:?}"))),
        Some(name) if did::key_of(name).is_some() => {
            return Err(ServeError::Identities(format!("{name:?} is its own key: it is given by its seed")));
        }
        // Not the derived key: who derives instead of reading the document is found out (binding.md, 6).
        Some(name) => Identity::new(name.clone(), seed, Some(Sha256::digest(AGREEMENT).into())),
        None => Identity::of_seed(seed),
    };
    let trusted_relays = config.amp.trusted_relays.clone();
    if let Some(relay) = trusted_relays.iter().find(|relay| !did::is_did(relay)) {
        return Err(ServeError::Identities(format!("not a DID: {relay:?}")));
    }
    let ack_timeout = u64::try_from(config.amp.ack_timeout.as_millis()).unwrap_or(u64::MAX);
    let (rules, role) = (rules_of(config)?, config.amp.role);
    Ok(Settings { me, rules, role, trusted_relays, versions: super::VERSIONS.to_vec(), ack_timeout, serves: true })
}

fn clock(config: &Config) -> Result<Clock, ServeError> {
    let Some(text) = &config.now else { return Ok(Clock::SYSTEM) };
    let now = Instant::parse(text).ok_or_else(|| ServeError::Now(text.clone()))?;
    Ok(Clock::Frozen(now.unix_milliseconds().max(0).unsigned_abs()))
}

/// A node that knows the documents of its configuration.
async fn node(config: &Config) -> Result<Node, ServeError> {
    let node = Node::open(config.path(), settings(config)?, clock(config)?).await?;
    for text in &config.amp.documents {
        let documents = json::read(text.as_bytes()).map_err(|error| ServeError::Identities(error.to_string()))?;
        node.learn(&documents).await.map_err(ServeError::Identities)?;
    }
    Ok(node)
}

/// Serves a node on connections that are handed in. It has no address that others could reach.
///
/// # Errors
///
/// [`ServeError`] if the configuration or the database is no good.
pub(crate) async fn serve_connections(
    config: Config,
    pipes: Pipes,
    ended: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let server = net::Server::new(node(&config).await?, &config.auth, config.amp.control);
    net::serve_connections(server, pipes, ended).await;
    Ok(())
}

/// Starts a node and its listeners.
///
/// # Errors
///
/// [`ServeError`] if the configuration, the database or an address is no good.
pub(crate) async fn serve(config: Config) -> Result<Handle, ServeError> {
    let node = node(&config).await?;
    let http = crate::bind(config.listen).await?;
    let address = crate::local_address(&http, config.listen)?;
    let (mut tcp, mut tcp_address) = (None, None);
    if let Some(asked) = config.amp.tcp {
        let listener = crate::bind(asked).await?;
        tcp_address = Some(crate::local_address(&listener, asked)?);
        tcp = Some(listener);
    }
    // In the order of preference (RFC 002, 3.5).
    let mut services = Vec::new();
    if let Some(address) = tcp_address {
        services.push(("AgentMessaging", format!("amp://{address}")));
    }
    services.push(("AgentMessaging", format!("ws://{address}/amp/v1/ws")));
    services.push(("AgentMessaging", format!("http://{address}")));
    if config.amp.role != Role::Agent {
        services.push(("AgentMessagingRelay", format!("http://{address}")));
    }
    node.set_services(services);
    let did = Some(node.did().to_owned());
    let server = net::Server::new(node, &config.auth, config.amp.control);
    let (stop, stopped) = oneshot::channel::<()>();
    let ending = server.stop.clone();
    tokio::spawn(async move {
        stopped.await.ok(); // also when the handle is dropped
        ending.send_replace(true);
    });
    let server = tokio::spawn(net::serve(server, http, tcp));
    Ok(Handle { address, tcp: tcp_address, did, stop, server })
}
