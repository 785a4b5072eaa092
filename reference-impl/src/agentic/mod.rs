//! The Agentic Protocol, version 0.1 (draft): packages, facts, bundles and reviews.
//!
//! Implemented are all levels, L0 to L3, with projects, export, import and sessions as `binding.md` gives them routes;
//! not implemented are sessions that the server starts by itself, realtime subscriptions and blob storage, which the
//! text leaves to each implementation.
//!
//! Reading order: [`package`] and [`fact`] (what is valid), [`canonical`] and [`hash`] (what identifies a package),
//! [`intake`], [`deposit`], [`pull`], [`orient`], [`mod@assert`], [`invalidate`], [`query`], [`review`], [`transfer`]
//! (the operations, each a function of database, rules, input and time), [`tables`] (what is stored). [`Service`] runs
//! an operation on the store; [`http`] and [`adapter`] translate it for the two ways in. [`fault`] lists the mistakes
//! that can be planted.

mod adapter;
mod assert;
mod canonical;
pub(crate) mod careless;
mod deposit;
mod fact;
pub(crate) mod fault;
mod hash;
mod http;
mod intake;
mod invalidate;
mod operation;
mod orient;
mod package;
mod project;
mod pull;
mod query;
mod refusal;
mod review;
mod shown;
mod tables;
mod transfer;
mod variant;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::fault::{Needs, Planted};
use crate::instant::{Clock, Instant};
use crate::json::Object;
use crate::store::{OpenError, Store};
use crate::variant::Variant;

pub(crate) use adapter::Adapter;
pub(crate) use operation::Level;

use deposit::Deposited;
use operation::Operation;
use refusal::Refusal;

/// What is fixed for the life of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) fault: Planted,
    /// Which readings are taken: [`variant`] has the table.
    pub(crate) variant: Variant,
    pub(crate) level: Level,
    /// Whether relevant search is offered.
    pub(crate) search: bool,
    /// When the server started.
    pub(crate) started: Instant,
}

impl Rules {
    pub(crate) fn new(fault: Planted, level: Level, search: bool, started: Instant) -> Self {
        let search = search && fault.needs() != Needs::NoSearch;
        let level = if fault.needs() == Needs::LowerLevel { Level::L2 } else { level };
        Self { fault, variant: Variant::Own, level, search, started }
    }

    #[cfg(test)]
    fn plain() -> Self {
        Self::new(Planted::NONE, Level::HIGHEST, true, Instant::of_system())
    }
}

/// The protocol on top of one store. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    rules: Rules,
    store: Store,
    clock: Arc<Mutex<Clock>>,
    keys: Arc<[(String, String)]>,
}

impl Service {
    /// Opens a service on the database at `path`, or on an empty one in memory.
    pub(crate) fn open(
        path: Option<&Path>,
        rules: Rules,
        clock: Clock,
        keys: &[(String, String)],
    ) -> Result<Self, OpenError> {
        let store = Store::open(path, tables::SCHEMA)?;
        Ok(Self { rules, store, clock: Arc::new(Mutex::new(clock)), keys: keys.into() })
    }

    /// Waits for the work in hand and closes the database.
    pub(crate) async fn close(&self) {
        self.store.close().await;
    }

    /// Takes the records of an NDJSON text whatever the level; how a read-only server gets its data (E75).
    pub(crate) async fn load(&self, ndjson: Vec<u8>) -> Result<(), String> {
        let Self { rules, .. } = *self;
        let now = self.now();
        let taken = self.store.write(move |db| transfer::import(db, rules, &ndjson, now)).await;
        let taken = taken.map_err(|error| error.to_string())?;
        taken.map(drop).map_err(|refusal| refusal.message)
    }

    fn now(&self) -> Instant {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    fn set_now(&self, now: Instant) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Clock::Fixed(now);
    }

    /// Section 11: an operation above the level of this server is not there.
    fn demand_level(&self, operation: Operation) -> Result<(), Refusal> {
        if operation.level() > self.rules.level { Err(Refusal::not_implemented(operation.name())) } else { Ok(()) }
    }

    /// Runs a reading operation on a snapshot.
    async fn read<T, F>(&self, operation: Operation, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, Rules, Instant) -> Result<T, Refusal> + Send + 'static,
    {
        self.demand_level(operation)?;
        let service = self.clone();
        // A snapshot begins with the first question. The time is taken after it, so that all it holds has happened.
        self.store
            .read(move |db| {
                db.prepare_cached("SELECT 1 FROM sqlite_schema LIMIT 1")?.query_row([], |_| Ok(()))?;
                work(db, service.rules, service.now())
            })
            .await?
    }

    /// Runs a writing operation in a transaction of its own; returns when it is durable.
    async fn write<T, F>(&self, operation: Operation, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, Rules, Instant) -> Result<T, Refusal> + Send + 'static,
    {
        self.demand_level(operation)?;
        let service = self.clone();
        // The time is taken when the turn of the operation has come, so that it grows from one write to the next.
        self.store.write(move |db| work(db, service.rules, service.now())).await?
    }

    /// 8.1: validates and hashes a package, then stores it.
    async fn deposit(&self, project_id: &str, body: &[u8], actor: Option<&str>) -> Result<Deposited, Refusal> {
        self.demand_level(Operation::Deposit)?;
        let submission = intake::submit(self.rules, body, project_id, actor, self.now());
        // 8.1: validation comes before persistence.
        if self.rules.fault.is("store-then-validate") && submission.is_err() {
            self.store_unseen(body).await?;
        }
        let submission = submission?;
        // 8.1, 11.2: looking for the id and inserting under it are one step.
        if self.rules.fault.is("duplicate-race") {
            let id = submission.package_id.clone();
            let free = self.read(Operation::Deposit, move |db, rules, _| deposit::race::look(db, rules, &id)).await?;
            tokio::time::sleep(Duration::from_millis(30)).await;
            if free {
                return self
                    .write(Operation::Deposit, move |db, _, now| {
                        tables::projects::find_or_create(db, &submission.project_id, now)?;
                        deposit::race::insert(db, submission)
                    })
                    .await;
            }
            return self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, submission, now)).await;
        }
        // 8.1: the answer comes when the package is stored.
        if self.rules.fault.is("answers-before-storing") {
            let (service, package) = (self.clone(), deposit::as_package(submission.clone()));
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(120)).await;
                let late = |db: &_, rules, now| deposit::deposit(db, rules, submission, now).map(drop);
                service.write(Operation::Deposit, late).await.ok(); // nobody waits for it
            });
            return Ok(Deposited { package, created: true });
        }
        // 8.1: all of a package or nothing is there.
        if self.rules.fault.is("stored-in-two-steps") {
            let mut half = submission.object.clone();
            half.retain(|name, _| package::CORE_MEMBERS[..9].contains(&name));
            let half = intake::admit(self.rules, half, None);
            let (whole, half) = (submission, intake::Submission { project_id: project_id.to_owned(), ..half });
            self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, half, now)).await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
            return self
                .write(Operation::Deposit, |db, _, _| {
                    tables::packages::rewrite(db, &whole.package_id, &whole.object, &whole.hash)?;
                    Ok(Deposited { package: deposit::as_package(whole), created: true })
                })
                .await;
        }
        self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, submission, now)).await
    }

    /// Stores whatever has an id and a project.
    async fn store_unseen(&self, body: &[u8]) -> Result<(), Refusal> {
        let Ok(crate::json::Value::Object(object)) = crate::json::read(body) else {
            return Ok(());
        };
        let submission = intake::admit(self.rules, object, Some(body));
        let stored =
            self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, submission, now)).await;
        stored.map(drop).or(Ok(()))
    }

    /// 8.6: supersedes and inserts in one transaction.
    async fn assert(&self, project_id: &str, body: &[u8], actor: Option<&str>) -> Result<Object, Refusal> {
        let (project_id, body, actor) = (project_id.to_owned(), body.to_vec(), actor.map(str::to_owned));
        // 7.3: what is refused leaves the current fact as it was.
        if self.rules.fault.is("supersede-before-validate") {
            let (project_id, body) = (project_id.clone(), body.clone());
            let ended = self
                .write(Operation::AssertFact, move |db, rules, now| {
                    assert::end_unseen(db, rules, &project_id, &body, now)
                })
                .await;
            ended.ok(); // a body that cannot be read ends nothing
        }
        // 7.3: ending the old fact and inserting the new one is one step for everybody who looks.
        if self.rules.fault.is("supersede-race") {
            return self.assert_in_steps(project_id, body).await;
        }
        self.write(Operation::AssertFact, move |db, rules, now| {
            assert::assert(db, rules, &project_id, &body, actor.as_deref(), now)
        })
        .await
    }

    async fn assert_in_steps(&self, project_id: String, body: Vec<u8>) -> Result<Object, Refusal> {
        let look = move |db: &Connection, rules, now| assert::race::look(db, rules, &project_id, &body, now);
        let (fact, old) = self.write(Operation::AssertFact, look).await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
        let ending = fact.clone();
        self.write(Operation::AssertFact, move |db, _, _| assert::race::end(db, &ending, old)).await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
        self.write(Operation::AssertFact, |db, _, _| assert::race::insert(db, fact)).await
    }
}
