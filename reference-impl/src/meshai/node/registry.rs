//! The registry of a server: registration, discovery, deregistration and leases.

use subtle::ConstantTimeEq;

use super::{Node, Outcome, REGISTRY, Role, store};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::meshai::codes::Code;
use crate::meshai::faults::registry as faults;
use crate::meshai::message::Message;
use crate::meshai::refusal::Refusal;
use crate::meshai::registry;
use crate::meshai::reply::Served;
use crate::meshai::store::agents::Registered;

impl Node {
    /// Enters the agents of this server into its own registry.
    pub(super) async fn enter_own(&self, base: &str) -> Result<(), Refusal> {
        let (invoke, health) = (format!("{base}/aip/v1/invoke"), format!("{base}/health"));
        let records = self.agents().into_iter().map(|agent| {
            let endpoints = Object::from([("invoke", invoke.as_str().into()), ("health", health.as_str().into())]);
            let record = Object::from([
                ("agent", agent.identity().into()),
                ("capabilities", agent.declarations().into()),
                ("endpoints", endpoints.into()),
            ]);
            Registered { id: agent.id, record, credentials: String::new(), built_in: true, total: 0, failed: 0 }
        });
        let records: Vec<Registered> = records.collect();
        let now = self.times().now;
        self.write(move |db| {
            for record in records {
                store::agents::put(db, &record.id, &record, now)?;
            }
            Ok(())
        })
        .await
    }

    /// A request to the agent id `registry`.
    pub(super) async fn registry(&self, message: &Message) -> Result<Outcome, Refusal> {
        let (rules, times, payload) = (self.rules(), self.times(), message.payload.clone());
        let named = payload.text("capability").or(message.wanted.as_deref());
        // 3.3, 4.1: the marker stands in the destination.
        let named =
            if rules.fault.is("registry-wants-payload-capability") { payload.text("capability") } else { named };
        let mut served = match named {
            Some("registration") => {
                let result = self.write(move |db| registry::register(db, rules, &payload, times)).await?;
                Served { http: 201, ..Served::new(REGISTRY, result) }
            }
            Some("discovery") => {
                let mut found = self.write(move |db| registry::discover(db, rules, &payload, times)).await?;
                // 3.3: only registered agents.
                planted!(rules.fault, "discovery-lists-sender", found.push(faults::entry_of(&message.source)));
                planted!(rules.fault, "endpoints-left-out", faults::without_endpoints(&mut found));
                // 5.1: discovery is about agents, not about what they keep.
                let contexts =
                    if rules.fault.is("discovery-shows-contexts") { self.contexts_in_full().await } else { Vec::new() };
                planted!(rules.fault, "discovery-shows-contexts", faults::with_contexts(&mut found, &contexts));
                Served::new(REGISTRY, discovered(found, rules.is_other()))
            }
            _ => {
                let available: Vec<Value> = vec!["registration".into(), "discovery".into()];
                let refusal = Refusal::new(Code::CapabilityNotFound, "the registry offers registration and discovery");
                return Err(refusal.with("available_capabilities", available));
            }
        };
        // 3.3: the list stands in the result.
        let renamed = |list| Object::from([("found", list)]);
        planted!(rules.fault, "discovery-list-renamed", served.result = renamed(served.result).into());
        Ok(Outcome::Served(Box::new(served)))
    }

    /// Removes an agent, for who knows its credentials. Returns an HTTP status.
    pub(crate) async fn deregister(&self, id: &str, credentials: &str) -> u16 {
        self.with_entry(id, credentials, |db, id, _| store::agents::remove(db, id)).await
    }

    /// Renews the lease of an agent, for who knows its credentials. Returns an HTTP status.
    pub(crate) async fn renew(&self, id: &str, credentials: &str) -> u16 {
        self.with_entry(id, credentials, store::agents::renew).await
    }

    async fn with_entry(
        &self,
        id: &str,
        credentials: &str,
        work: fn(&rusqlite::Connection, &str, i64) -> rusqlite::Result<()>,
    ) -> u16 {
        if self.settings().role == Role::Agent {
            return 404;
        }
        let (id, credentials, times) = (id.to_owned(), credentials.to_owned(), self.times());
        let done = self.write(move |db| {
            let Some(known) = store::agents::find(db, &id, times.since)? else { return Ok(404) };
            let same = bool::from(known.credentials.as_bytes().ct_eq(credentials.as_bytes()));
            if known.built_in || !same {
                return Ok(403);
            }
            work(db, &id, times.now)?;
            Ok(204)
        });
        done.await.unwrap_or(500)
    }
}

/// E29: the records under `agents`. Other: the result is the list, and an entry names its agent at its top.
fn discovered(found: Vec<Object>, other: bool) -> Value {
    if !other {
        let found: Vec<Value> = found.into_iter().map(Value::Object).collect();
        return Object::from([("agents", found.into())]).into();
    }
    let entry = |mut record: Object| {
        let identity = record.remove("agent").unwrap_or(Value::Null);
        let mut entry = Object::from([("identity", identity)]);
        record.iter().for_each(|(name, value)| entry.set(name, value.clone()));
        Value::Object(entry)
    };
    Value::List(found.into_iter().map(entry).collect())
}
