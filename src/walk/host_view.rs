//! Hosts as a case sees them: its token, their URLs, and what the target sent to one.

use std::collections::BTreeMap;

use super::context::Context;
use crate::exchange::{Exchange, Transport};
use crate::protocol::hosted_view;
use crate::template::Seed;
use crate::value::Value;

/// The token of a part of a case, by which hosts recognise its messages.
pub(super) fn token(seed: &Seed) -> String {
    seed.part("host").token()
}

/// The URLs of each host for one case, with its token if the host correlates by path.
pub(super) fn urls(context: &Context<'_>, token: &str) -> BTreeMap<String, Value> {
    let declared = &context.plan.knowledge.manifest.hosts;
    let mut hosts = BTreeMap::new();
    for host in declared {
        let Some(urls) = context.features.hosts.get(&host.name.value) else { continue };
        let own = host.transports.iter().filter_map(|transport| {
            let url = urls.get(transport.name())?;
            let has_token = host.correlate[0] && *transport != Transport::Tcp;
            let url = if has_token { format!("{}/{token}", url.trim_end_matches('/')) } else { url.clone() };
            Some((transport.name(), Value::text(url)))
        });
        hosts.insert(host.name.value.clone(), Value::map(own));
    }
    hosts
}

/// A message at a host, as expectations observe it.
pub(super) fn observe(context: &Context<'_>, transport: Transport, exchange: &Exchange) -> Value {
    let protocol = context.plan.knowledge.protocol;
    let own = protocol.hosting().and_then(|hosting| hosting.observe(exchange, &context.observation_context(transport)));
    own.unwrap_or_else(|| hosted_view(protocol, exchange))
}
