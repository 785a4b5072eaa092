//! The peers that a run hosts, and what one case receives at them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::Future;

use super::runner::{Runner, milliseconds};
use crate::exchange::{
    Body, Ended, Exchange, HostArrival, HostReply, HostUrls, Hosted, HostedKind, Incoming, Outgoing, Transport,
};
use crate::plan::{Knowledge, ReadyCase};
use crate::protocol::{Protocol, Resident};
use crate::suite::{HostDecl, Receive};
use crate::target::Target;
use crate::template::{Clock, Objects, Scope, Seed};
use crate::transport::host::{Arrived, Correlate, Guest, HostSpec, Hosts, Rules};
use crate::value::Value;
use crate::walk::{Choice, Planned, Responder, Walk, host_reply};

/// How long to wait after a fence: a message that the fence overtook follows shortly after it.
pub(super) const FENCE_GRACE: Duration = Duration::from_millis(50);

/// Number of messages that are kept for one case until a step receives them.
const INBOX: usize = 256;

/// The hooks of a protocol for its hosts.
struct ProtocolRules {
    protocol: &'static dyn Protocol,
    /// The services that reside at hosts, by the name of the host.
    residents: BTreeMap<String, Mutex<Box<dyn Resident>>>,
}

impl Rules for ProtocolRules {
    fn keys(&self, arrival: &HostArrival) -> Vec<String> {
        self.protocol.hosting().map(|hosting| hosting.keys(arrival)).unwrap_or_default()
    }

    fn reply(&self, arrival: &HostArrival, state: &mut Value) -> Option<HostReply> {
        self.protocol.hosting()?.reply(arrival, state)
    }

    fn resident(&self, arrival: &HostArrival) -> Option<HostReply> {
        let resident = self.residents.get(&arrival.hosted.host)?;
        Some(resident.lock().unwrap_or_else(PoisonError::into_inner).reply(arrival))
    }

    fn patience(&self, arrival: &HostArrival) -> Duration {
        let resident = self.residents.get(&arrival.hosted.host);
        let asked = |resident: &Mutex<Box<dyn Resident>>| {
            resident.lock().unwrap_or_else(PoisonError::into_inner).patience(arrival)
        };
        resident.map_or(Duration::ZERO, asked)
    }
}

/// Starts the hosts that a protocol declares, at the addresses of the target file. `None` if it declares none. `start` is the
/// start time of the run.
///
/// # Errors
///
/// A host cannot bind its address, or its default reply cannot be rendered.
pub async fn start_hosts(knowledge: &Knowledge, target: &Target, start: Instant) -> Result<Option<Arc<Hosts>>, String> {
    let declared = &knowledge.manifest.hosts;
    if declared.is_empty() {
        return Ok(None);
    }
    if let Some(unknown) = target.hosts.keys().find(|name| declared.iter().all(|host| host.name.value != **name)) {
        let names: Vec<_> = declared.iter().map(|host| host.name.value.as_str()).collect();
        return Err(format!("unknown host `{unknown}` in the target file: expected one of {}", names.join(", ")));
    }
    let (objects, lazy) = (Objects::default(), Objects::default());
    let mut specs = Vec::new();
    for host in declared {
        let mut scope = Scope::new(&objects, &lazy, Seed::new(0), Clock(0));
        let reply = host_reply(knowledge.protocol, &target.channel.http.media_type, &mut scope, &host.reply)
            .map_err(|error| format!("cannot render the reply of the host `{}`: {error}", *host.name))?;
        let address = target.hosts.get(&host.name.value).cloned().unwrap_or_default();
        let [path, keys, bytes] = host.correlate;
        specs.push(HostSpec {
            name: host.name.value.clone(),
            listen: address.listen,
            announce: address.announce,
            path: host.path.clone(),
            transports: host.transports.clone(),
            profile: target.channel.clone(),
            correlate: Correlate { path, keys, bytes },
            shared: host.shared,
            reply,
        });
    }
    let resident = |host: &HostDecl| {
        let resident = knowledge.protocol.hosting()?.resident(&host.name, target)?;
        Some((host.name.value.clone(), Mutex::new(resident)))
    };
    let residents = declared.iter().filter_map(resident).collect();
    let rules = Arc::new(ProtocolRules { protocol: knowledge.protocol, residents });
    Hosts::start(specs, rules, start).await.map(|hosts| Some(Arc::new(hosts)))
}

/// The messages that one walk receives at the hosts of the run.
pub(super) struct HostSession<'p> {
    guest: Guest,
    responder: Responder<'p>,
    urls: BTreeMap<String, HostUrls>,
    /// Messages that have arrived and that no step has received yet.
    inbox: Vec<Exchange>,
}

impl<'p> HostSession<'p> {
    /// Has messages with these bytes routed to the walk.
    pub(super) fn claim(&self, values: &[Vec<u8>]) {
        values.iter().filter(|value| !value.is_empty()).for_each(|value| self.guest.claim(value));
    }

    /// Updates the responder with the current bindings of the walk.
    pub(super) fn brief(&mut self, walk: &Walk<'p>) {
        walk.brief(&mut self.responder);
    }

    /// Replies to a message and keeps it.
    fn take(&mut self, arrived: Arrived, runner: &Runner<'_>) {
        let arrival = arrived.arrival.clone();
        let mut exchange = exchange(arrival, &self.urls);
        runner.redact(&mut exchange.received);
        let reply = self.responder.respond(&exchange).unwrap_or_else(|| arrived.usual.clone());
        exchange.sent.method = reply.name();
        if let HostReply::Message { headers, body, .. } = &reply {
            exchange.sent.headers.clone_from(headers);
            exchange.sent.body = Body::from(body.clone());
        }
        arrived.reply(reply);
        runner.counted(&mut exchange.received);
        if self.inbox.len() < INBOX {
            self.inbox.push(exchange);
        }
    }
}

impl Runner<'_> {
    /// The hosts of the run; starts them unless they run already.
    pub(super) async fn hosts(&self, knowledge: &Knowledge, target: &Target) -> Result<Option<Arc<Hosts>>, String> {
        let start = || async {
            match &self.connections.hosts {
                Some(hosts) => Ok(Some(Arc::clone(hosts))),
                None => start_hosts(knowledge, target, self.start).await,
            }
        };
        self.hosts.get_or_try_init(start).await.cloned()
    }

    /// The session of a walk at the hosts of the run, if there are any.
    pub(super) fn host_session<'p>(&self, ready: &ReadyCase<'_>, walk: &Walk<'p>) -> Option<HostSession<'p>> {
        let hosts = self.hosts.get()?.as_ref()?;
        let guest = hosts.join(&ready.id, walk.token(), ready.case.receives());
        Some(HostSession { guest, responder: walk.responder(), urls: hosts.urls(), inbox: Vec::new() })
    }

    /// Awaits `work`, and replies to arriving messages meanwhile.
    pub(super) async fn while_hosting<T>(
        &self,
        session: Option<&mut HostSession<'_>>,
        work: impl Future<Output = T>,
    ) -> T {
        let Some(session) = session else { return work.await };
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                arrived = session.guest.next() => session.take(arrived, self),
            }
        }
    }

    /// Receives messages at a host until there are enough, or the time is up.
    pub(super) async fn receive<'p>(
        &self,
        session: Option<&mut HostSession<'p>>,
        walk: &mut Walk<'p>,
        planned: Planned<'p>,
        receive: &'p Receive,
        begun: Instant,
    ) -> Vec<Exchange> {
        let limits = self.limits;
        let usual = if receive.count == 0 && receive.fence.is_empty() { limits.settle } else { limits.reply };
        let within = receive.within.as_ref().map_or(usual, |within| walk.time(within));
        let at_least = planned.step.settle.as_ref().map_or(Duration::ZERO, |settle| walk.time(settle));
        let count = usize::try_from(receive.count).unwrap_or(usize::MAX);
        let mut end = begun + within.max(at_least);
        let mut found: Vec<Exchange> = Vec::new();
        let mut fenced = false;
        let none = session.is_none();
        if let Some(session) = session {
            loop {
                let mut at = 0;
                let full = |found: &[Exchange]| count > 0 && at_least.is_zero() && found.len() >= count;
                while at < session.inbox.len() && !full(&found) {
                    let here =
                        session.inbox[at].hosted.as_ref().is_some_and(|hosted| hosted.host == receive.host.value);
                    match if here { walk.choose(receive, &session.inbox[at]) } else { Choice::Leaves } {
                        Choice::Takes => found.push(session.inbox.remove(at)),
                        Choice::Fence => {
                            session.inbox.remove(at);
                            fenced = true;
                            end = end.min(Instant::now() + FENCE_GRACE);
                        }
                        Choice::Leaves => at += 1,
                    }
                }
                let enough = count > 0 && found.len() >= count && begun.elapsed() >= at_least;
                if enough || Instant::now() >= end {
                    break;
                }
                // Enough messages may arrive before the minimum time of collecting is up.
                let until = if count > 0 && found.len() >= count { begun + at_least } else { end };
                let next = tokio::time::timeout_at(tokio::time::Instant::from_std(until), session.guest.next());
                if let Ok(arrived) = next.await {
                    session.take(arrived, self);
                }
            }
        }
        if found.len() < count || count == 0 {
            let kind = if fenced { HostedKind::Fence } else { HostedKind::Nothing };
            let why = if none { Ended::Unreachable("the run has no hosts".to_owned()) } else { Ended::TimedOut };
            found.push(nothing(receive, kind, if fenced { Ended::Complete } else { why }, self.now_ms(), begun));
        }
        for (round, exchange) in found.iter_mut().enumerate() {
            exchange.step = planned.number;
            exchange.round = round;
            planned.actor().clone_into(&mut exchange.actor);
        }
        found
    }
}

/// A message at a host as an exchange: the message is what was received, the reply what was sent.
fn exchange(arrival: HostArrival, urls: &BTreeMap<String, HostUrls>) -> Exchange {
    let transport = match arrival.hosted.kind {
        HostedKind::WsUpgrade | HostedKind::WsBinary | HostedKind::WsText => Transport::Ws,
        HostedKind::TcpFrame => Transport::Tcp,
        HostedKind::Http | HostedKind::Nothing | HostedKind::Fence => Transport::Http,
    };
    let url = urls.get(&arrival.hosted.host).and_then(|urls| urls.get(transport.name())).cloned().unwrap_or_default();
    let ended = if arrival.is_cut { Ended::TooLong } else { Ended::Complete };
    let received =
        Incoming { status: None, headers: arrival.headers, body: Body::from(arrival.body), arrived: Vec::new(), ended };
    Exchange {
        step: 0,
        round: 0,
        actor: String::new(),
        operation: "receive".to_owned(),
        sent: Outgoing { transport, method: String::new(), url, headers: Vec::new(), body: Body::default() },
        received,
        started_ms: arrival.at_ms,
        elapsed_ms: 0,
        clock_ms: 0,
        hosted: Some(arrival.hosted),
    }
}

/// The exchange that represents missing messages.
fn nothing(receive: &Receive, kind: HostedKind, ended: Ended, now_ms: u64, begun: Instant) -> Exchange {
    let elapsed_ms = milliseconds(begun.elapsed());
    Exchange {
        step: 0,
        round: 0,
        actor: String::new(),
        operation: "receive".to_owned(),
        sent: Outgoing {
            transport: Transport::Http,
            method: "wait".to_owned(),
            url: String::new(),
            headers: Vec::new(),
            body: Body::default(),
        },
        received: Incoming::nothing(ended),
        started_ms: now_ms.saturating_sub(elapsed_ms),
        elapsed_ms,
        clock_ms: 0,
        hosted: Some(Hosted { host: receive.host.value.clone(), kind, ..Hosted::default() }),
    }
}
