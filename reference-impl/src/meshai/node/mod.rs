//! A server: what it does with a message, independent of how the message arrived (binding.md, 12).
//!
//! The order of the checks: strict JSON, structure, version, credentials, signature, registration if enforced, rate limit,
//! addressing, operation. [`capability`] carries requests out, [`delegation`] works in the background, [`registry`] and
//! [`routing`] are the mesh, [`client`] is this server as a client.

mod capability;
pub(crate) mod client;
mod delegation;
mod registry;
mod routing;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{Notify, Semaphore};

use super::agents::{Agent, Behaviour, Capability};
use super::auth::{Auth, Presented};
use super::codes::Code;
use super::context::{self, Asking};
use super::faults::message as message_faults;
use super::faults::node::{self as faults, Slips};
use super::message::{self, Kind, Message};
use super::origin::Origin;
use super::outward::Outward;
use super::refusal::Refusal;
use super::registry::Times;
use super::reply::{self, Carrier, Served};
use super::rules::Rules;
use super::time::Clock;
use super::{signature, store, version};
use crate::config::ServeError;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};
use crate::store::{Database, Store};

/// The reserved id of the registry (E41).
pub(crate) const REGISTRY: &str = "registry";

/// What a server is (E34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// One agent.
    Agent,
    /// Registration and discovery only.
    Registry,
    /// Registry, router and context store, with two agents.
    Mesh,
}

impl Role {
    /// Their names in settings.
    pub(crate) const NAMES: &[&str] = &["mesh", "agent", "registry"];
}

/// Optional services (binding.md, 2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Features {
    pub(crate) context: bool,
    pub(crate) negotiation: bool,
    pub(crate) delegation: bool,
}

/// What a server is and does.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) rules: Rules,
    pub(crate) role: Role,
    pub(crate) agents: Vec<Agent>,
    pub(crate) features: Features,
    pub(crate) auth: Auth,
    /// So many capability requests of one source within so many milliseconds (E99).
    pub(crate) rate: Option<(i64, i64)>,
    /// Whether requests of sources that never registered are refused (E35).
    pub(crate) enforce: bool,
    /// How long a registration lasts, in milliseconds.
    pub(crate) lease: Option<i64>,
    /// The registry of a lone agent, and its token there.
    pub(crate) registry: Option<String>,
    pub(crate) token: Option<String>,
    /// How many delegations are worked on at once.
    pub(crate) workers: usize,
}

/// How a message arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) carrier: Carrier,
    pub(crate) presented: Presented,
    /// How often it was forwarded.
    pub(crate) hops: u32,
    /// The connection, for what is counted by connection.
    pub(crate) connection: usize,
}

/// The answer: a status and a message, or a bare status.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Option<Object>,
    /// The code of a refusal.
    pub(crate) refused: Option<Code>,
}

/// What became of a message.
#[derive(Debug)]
enum Outcome {
    Served(Box<Served>),
    /// The answer of another agent.
    Relayed(Answer),
    /// Taken, without a message in return.
    Taken,
}

/// A server; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Node(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    store: Store,
    clock: Mutex<Clock>,
    /// Capabilities that were defined at run time, for the first agent.
    defined: RwLock<Vec<Arc<Capability>>>,
    outward: Outward,
    base: OnceLock<String>,
    workers: Arc<Semaphore>,
    /// Delegations that are not reported yet.
    open: Mutex<usize>,
    settled: Notify,
    /// Whether the registry has accepted this agent.
    admitted: Mutex<Option<bool>>,
    /// What planted faults remember.
    slips: Slips,
}

impl Node {
    /// Opens the state, and enters the agents of this server.
    ///
    /// # Errors
    ///
    /// If the database cannot be used.
    pub(crate) async fn open(
        database: &Database,
        settings: Settings,
        clock: Clock,
        outward: Outward,
    ) -> Result<Self, ServeError> {
        let store = Store::open(database, store::SCHEMA)?;
        let workers = Arc::new(Semaphore::new(settings.workers));
        Ok(Self(Arc::new(Inner {
            settings,
            store,
            clock: Mutex::new(clock),
            defined: RwLock::default(),
            outward,
            base: OnceLock::new(),
            workers,
            open: Mutex::new(0),
            settled: Notify::new(),
            admitted: Mutex::new(None),
            slips: Slips::default(),
        })))
    }

    /// Enters the agents of this server, which are reached below `base`.
    ///
    /// # Errors
    ///
    /// If the database cannot be used.
    pub(crate) async fn settle(&self, base: &str) -> Result<(), Refusal> {
        self.0.base.set(base.to_owned()).ok(); // only once
        if self.0.settings.role == Role::Mesh {
            self.enter_own(base).await?;
        }
        Ok(())
    }

    pub(crate) fn rules(&self) -> Rules {
        self.0.settings.rules
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn now(&self) -> Instant {
        self.0.clock.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    pub(crate) fn set_clock(&self, clock: Clock) {
        *self.0.clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
    }

    /// The id of this server where no agent of it is meant.
    pub(crate) fn own_id(&self) -> &str {
        match self.0.settings.role {
            Role::Agent => self.0.settings.agents.first().map_or(REGISTRY, |agent| agent.id.as_str()),
            Role::Mesh | Role::Registry => REGISTRY,
        }
    }

    /// Where this server is reached.
    pub(crate) fn base(&self) -> &str {
        self.0.base.get().map_or("", String::as_str)
    }

    /// What was sent since the last call, without a network.
    pub(crate) fn sent(&self) -> Vec<super::outward::Parcel> {
        self.0.outward.take()
    }

    /// Returns when no delegation is under way, at the latest after `limit`.
    pub(crate) async fn quiet(&self, limit: Duration) {
        let settled = async {
            while *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) > 0 {
                tokio::select! {
                    () = self.0.settled.notified() => {}
                    () = tokio::time::sleep(Duration::from_millis(5)) => {}
                }
            }
        };
        tokio::time::timeout(limit, settled).await.ok(); // what is late comes with the next call
    }

    /// Gives the first agent a capability, in the place of one of the same id.
    pub(crate) fn define(&self, declaration: Object, behaviour: Behaviour) {
        let capability = Arc::new(Capability::new(declaration, behaviour));
        let mut defined = self.0.defined.write().unwrap_or_else(PoisonError::into_inner);
        defined.retain(|known| known.id != capability.id);
        defined.push(capability);
    }

    /// The agents of this server with all their capabilities.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        let mut agents = self.0.settings.agents.clone();
        if let Some(first) = agents.first_mut() {
            let defined = self.0.defined.read().unwrap_or_else(PoisonError::into_inner);
            first.capabilities.retain(|known| !defined.iter().any(|capability| capability.id == known.id));
            first.capabilities.extend(defined.iter().cloned());
        }
        agents
    }

    /// Finishes the database.
    pub(crate) async fn close(&self) {
        self.0.store.close().await;
    }

    /// Runs a function on the state, in a transaction.
    async fn write<T, F>(&self, work: F) -> Result<T, Refusal>
    where
        F: FnOnce(&Connection) -> Result<T, Refusal> + Send + 'static,
        T: Send + 'static,
    {
        self.0.store.write(work).await?
    }

    /// Runs a function on a snapshot of the state.
    async fn read<T, F>(&self, work: F) -> Result<T, Refusal>
    where
        F: FnOnce(&Connection) -> Result<T, Refusal> + Send + 'static,
        T: Send + 'static,
    {
        self.0.store.read(work).await?
    }

    fn times(&self) -> Times {
        let now = self.now().unix_milliseconds();
        Times { now, since: self.0.settings.lease.map_or(i64::MIN, |lease| now - lease) }
    }

    /// Answers a message.
    pub(crate) async fn answer(&self, bytes: &[u8], arrival: &Arrival) -> Answer {
        let rules = self.rules();
        // 13: one message a body.
        planted!(rules.fault, "batch-executed", items in message_faults::batch(bytes) => return self.answer_each(items, arrival).await);
        // 4.3: a report that is not taken ends nothing else.
        planted!(rules.fault, "refused-callback-stops-service", self.0.slips.stopped() => return self.refuse(&Origin::default(), &Refusal::crash("stopped"), arrival));
        let envelope = match message::parse(bytes, rules) {
            Ok(envelope) => envelope,
            Err(refusal) => return self.refuse(&Origin::default(), &refusal, arrival),
        };
        let origin = Origin::of(&envelope);
        // 8.1: each exchange is on its own.
        planted!(rules.fault, "correlation-shared-state", self.0.slips.remember(&origin).await);
        let began = std::time::Instant::now();
        let mut answer = match self.process(&envelope, &origin, arrival).await {
            Ok(Outcome::Served(mut served)) => {
                served.elapsed_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
                let status = if rules.is_other() && served.http < 300 { 200 } else { served.http };
                let body = reply::response(&origin, *served, self.now(), rules);
                Answer { status, body: Some(body), refused: None }
            }
            Ok(Outcome::Relayed(answer)) => return answer,
            Ok(Outcome::Taken) => return Answer { status: 204, body: None, refused: None },
            Err(refusal) => return self.refuse(&origin, &refusal, arrival),
        };
        self.0.slips.spoil(answer.body.as_mut(), arrival.connection, rules.fault);
        self.sign(&mut answer);
        answer
    }

    async fn answer_each(&self, items: Vec<Value>, arrival: &Arrival) -> Answer {
        let mut last = Answer { status: 200, body: None, refused: None };
        for item in items {
            last = Box::pin(self.answer(item.write().as_bytes(), arrival)).await;
        }
        last
    }

    /// The error message for a refusal, or a bare status.
    fn refuse(&self, origin: &Origin, refusal: &Refusal, arrival: &Arrival) -> Answer {
        let rules = self.rules();
        let status = refusal.status(rules);
        let refused = Some(refusal.code);
        // 6.1: an error is a message.
        planted!(rules.fault, "bare-404-page", refusal.code == Code::CapabilityNotFound => return Answer { status: 404, body: None, refused });
        if refusal.is_bare(rules) && (arrival.carrier == Carrier::Http || refusal.code == Code::Internal) {
            return Answer { status, body: None, refused };
        }
        let named = origin.to.as_deref().filter(|to| self.0.settings.agents.iter().any(|agent| agent.id == *to));
        let agent = named.unwrap_or_else(|| self.own_id());
        let body = reply::error(origin, agent, refusal, arrival.carrier, self.now(), rules);
        let mut answer = Answer { status, body: Some(body), refused };
        self.0.slips.spoil(answer.body.as_mut(), arrival.connection, rules.fault);
        self.sign(&mut answer);
        answer
    }

    /// 7.2: replies are signed where messages are.
    fn sign(&self, answer: &mut Answer) {
        let inner = answer.body.as_mut().and_then(|body| body.get_mut("message")).and_then(Value::as_object_mut);
        if let (Some(signing), Some(inner)) = (&self.0.settings.auth.signing, inner) {
            signature::sign(inner, signing, self.rules());
        }
    }

    async fn process(&self, envelope: &Object, origin: &Origin, arrival: &Arrival) -> Result<Outcome, Refusal> {
        let rules = self.rules();
        let message = message::check(envelope, rules)?;
        version::check(origin.protocol.as_deref().unwrap_or_default(), rules)?;
        self.0.settings.auth.admit(&message, &arrival.presented, self.now(), rules)?;
        self.demand_registration(&message).await?;
        match message.kind {
            Kind::Request => self.request(envelope, message, arrival).await,
            Kind::Event => self.event(&message).await,
            Kind::Response | Kind::Error => Err(Refusal::envelope("/message/type", "no request awaits this reply")),
        }
    }

    /// E35, strict: only registered agents take part, where that is enforced.
    async fn demand_registration(&self, message: &Message) -> Result<(), Refusal> {
        let to_registry = message.to.as_deref().is_none_or(|to| to == REGISTRY);
        let named = message.payload.present("capability").is_some();
        let registers = to_registry && !named && message.wanted.as_deref() == Some("registration");
        // 4.1: registration comes first.
        if !self.0.settings.enforce || registers || self.rules().fault.is("enforcement-forgotten") {
            return Ok(());
        }
        let (source, since) = (message.source.clone(), self.times().since);
        match self.read(move |db| Ok(store::agents::find(db, &source, since)?)).await? {
            Some(_) => Ok(()),
            None => Err(Refusal::credentials(format!("{} is not registered", message.source))),
        }
    }

    /// 3.4, E26, E61: an event is taken, wherever its context is.
    async fn event(&self, message: &Message) -> Result<Outcome, Refusal> {
        let rules = self.rules();
        // 3.4: context_update is an event that every agent takes.
        let unknown = || Refusal::new(Code::CapabilityNotFound, "no such capability");
        planted!(rules.fault, "event-answered-with-error", return Err(unknown()));
        planted!(rules.fault, "event-crashes", return Err(Refusal::crash("no handler")));
        let name = message.payload.text("event_type").filter(|name| !name.is_empty());
        if name.is_none() && !rules.is_other() && !rules.fault.is("event-type-optional") {
            return Err(Refusal::schema("/message/payload/event_type", "event_type must be a string"));
        }
        let agent = message.to.clone().filter(|to| self.0.settings.agents.iter().any(|agent| agent.id == *to));
        let agent = agent.unwrap_or_else(|| self.own_id().to_owned());
        let mut result = Object::new();
        // E27: other events are nobody's business here.
        if name.is_none_or(|name| name == "context_update") {
            if message.payload.get("context").and_then(Value::as_object).is_none() {
                return Err(Refusal::schema("/message/payload/context", "context must be an object"));
            }
            if self.0.settings.features.context {
                let (payload, source, now) = (message.payload.clone(), message.source.clone(), self.now());
                let work = move |db: &Connection| context::event(db, &payload, Asking { agent: &source, now, rules });
                let shown = self.write(work).await?;
                // 3.4: the acknowledgement shows nothing.
                result.set("context_id", shown.get("id").cloned());
                planted!(rules.fault, "event-reply-shows-private", result.set("context", shown));
            }
        }
        // Other, E26: an empty success.
        if rules.is_other() {
            return Ok(Outcome::Taken);
        }
        Ok(Outcome::Served(Box::new(Served { http: 202, ..Served::new(&agent, result) })))
    }
}

/// The state of the contexts for faults that show it elsewhere.
impl Node {
    /// `discovery-shows-contexts`, `health-shows-contexts`: Every context with all its memory.
    pub(crate) async fn contexts_in_full(&self) -> Vec<Value> {
        self.read(faults::contexts).await.unwrap_or_default()
    }
}
