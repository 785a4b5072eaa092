//! The protocol on top of a store: runs an operation at the level of the server, and is durable when it answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::deposit::{self, Deposited};
use super::operation::Operation;
use super::refusal::Refusal;
use super::rules::Rules;
use super::{assert, intake, tables, transfer};
use crate::fault::planted;
use crate::instant::{Clock, Instant};
use crate::json::Object;
use crate::store::{Database, OpenError, Store};

/// The protocol on top of one store. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(super) rules: Rules,
    pub(super) store: Store,
    pub(super) clock: Arc<Mutex<Clock>>,
    pub(super) keys: Arc<[(String, String)]>,
    /// Media types and bodies of answers, by path and query, which some planted faults keep.
    pub(super) kept: Arc<Mutex<BTreeMap<String, (&'static str, String)>>>,
}

impl Service {
    /// Opens a service on a database.
    pub(crate) fn open(
        database: &Database,
        rules: Rules,
        clock: Clock,
        keys: &[(String, String)],
    ) -> Result<Self, OpenError> {
        let store = Store::open(database, tables::SCHEMA)?;
        Ok(Self { rules, store, clock: Arc::new(Mutex::new(clock)), keys: keys.into(), kept: Arc::default() })
    }

    /// Waits for the work in hand and closes the database.
    pub(crate) async fn close(&self) {
        self.store.close().await;
    }

    /// Imports the records of an NDJSON text at any level; the way to load a read-only server (E75).
    pub(crate) async fn load(&self, ndjson: Vec<u8>) -> Result<(), String> {
        let Self { rules, .. } = *self;
        let now = self.now();
        let taken = self.store.write(move |db| transfer::import(db, rules, &ndjson, now)).await;
        let taken = taken.map_err(|error| error.to_string())?;
        taken.map(drop).map_err(|refusal| refusal.message)
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    pub(super) fn set_now(&self, now: Instant) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Clock::Fixed(now);
    }

    /// Section 11: an operation above the level of this server does not exist.
    pub(super) fn demand_level(&self, operation: Operation) -> Result<(), Refusal> {
        if operation.level() > self.rules.level { Err(Refusal::not_implemented(operation.name())) } else { Ok(()) }
    }

    /// Runs a reading operation on a snapshot.
    pub(super) async fn read<T, F>(&self, operation: Operation, work: F) -> Result<T, Refusal>
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
    pub(super) async fn write<T, F>(&self, operation: Operation, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, Rules, Instant) -> Result<T, Refusal> + Send + 'static,
    {
        self.demand_level(operation)?;
        let service = self.clone();
        // The time is taken when the write starts, so that it increases from one write to the next.
        self.store.write(move |db| work(db, service.rules, service.now())).await?
    }

    /// 8.1: validates and hashes a package, then stores it.
    pub(super) async fn deposit(
        &self,
        project_id: &str,
        body: &[u8],
        actor: Option<&str>,
    ) -> Result<Deposited, Refusal> {
        self.demand_level(Operation::Deposit)?;
        let submission = intake::submit(self.rules, body, project_id, actor, self.now());
        // 8.1: validation precedes persistence.
        planted!(self.rules.fault, "store-then-validate", submission.is_err() => self.store_unseen(body).await?);
        // 5.5: a session lists what was deposited.
        planted!(self.rules.fault, "session-before-validate", self.enter_unseen(body).await?);
        let submission = submission?;
        // 8.1, 11.2: looking for the id and inserting under it are one step.
        planted!(self.rules.fault, "duplicate-race", return self.deposit_racing(submission).await);
        // 8.1: the answer is sent after the package is stored.
        planted!(self.rules.fault, "answers-before-storing", return Ok(self.deposit_later(submission)));
        // 8.1: a package is stored completely or not at all.
        planted!(self.rules.fault, "stored-in-two-steps", return self.deposit_in_halves(submission, project_id).await);
        // 8.1: a refused package is not stored, here or in any other place.
        planted!(self.rules.fault, "archived-stores-refused", return self.deposit_anyway(submission).await);
        let package_id = submission.package_id.clone();
        let answer =
            self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, submission, now)).await;
        if answer.is_err() {
            self.after_refusal(&package_id).await?;
        }
        answer
    }

    /// After a request about a package that was refused. A correct server does nothing.
    pub(super) async fn after_refusal(&self, package_id: &str) -> Result<(), Refusal> {
        // 11.4: the package waits as before.
        planted!(self.rules.fault, "refusal-leaves-the-queue", self.leave_queue(package_id).await?);
        // 8.2: the package has the place of its created_at.
        planted!(self.rules.fault, "refusal-moves-to-top", self.move_to_top(package_id).await?);
        Ok(())
    }

    /// 8.6: supersedes and inserts in one transaction.
    pub(super) async fn assert(&self, project_id: &str, body: &[u8], actor: Option<&str>) -> Result<Object, Refusal> {
        let (project_id, body, actor) = (project_id.to_owned(), body.to_vec(), actor.map(str::to_owned));
        // 7.3: a rejected assertion does not change the current fact.
        planted!(self.rules.fault, "supersede-before-validate", self.end_unseen(&project_id, &body).await);
        planted!(self.rules.fault, "source-checked-last", refusal in self.end_for_unknown_source(&project_id, &body).await => return Err(refusal));
        // 7.3: ending the old fact and inserting the new one is atomic.
        planted!(self.rules.fault, "supersede-race", return self.assert_in_steps(project_id, body).await);
        self.write(Operation::AssertFact, move |db, rules, now| {
            assert::assert(db, rules, &project_id, &body, actor.as_deref(), now)
        })
        .await
    }
}
