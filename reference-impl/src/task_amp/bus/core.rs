//! The bus itself: its store, its timers, the work that it starts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::state::{Active, Options, State};
use super::turn::{Job, Turn};
use crate::json::Object;
use crate::store::{Database, OpenError, Store};
use crate::task_amp::clock::Clock;
use crate::task_amp::ledger::Ledger;
use crate::task_amp::log;
use crate::task_amp::role::Role;
use crate::task_amp::roles::Event;
use crate::task_amp::rules::Rules;
use crate::task_amp::work;

/// How often timers are looked at.
const TICK: Duration = Duration::from_millis(20);

/// The work on the database failed; a failure of the server.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(super) String);

/// A bus; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Bus {
    pub(crate) options: Arc<Options>,
    pub(super) store: Store,
    state: Arc<Mutex<State>>,
    /// The place of the last row.
    pub(super) changed: watch::Sender<i64>,
}

impl Bus {
    /// Opens the store, and reads what it holds.
    pub(crate) async fn open(database: &Database, options: Options) -> Result<Self, OpenError> {
        let store = Store::open(database, log::SCHEMA)?;
        let state = State {
            ledger: Ledger::new(options.rules, options.heartbeat_sec),
            clock: Clock::new(options.clock),
            active: Active { roles: options.roles.clone(), tasks: Default::default() },
            held: Vec::new(),
        };
        let bus = Self {
            options: Arc::new(options),
            store,
            state: Arc::new(Mutex::new(state)),
            changed: watch::Sender::new(0),
        };
        bus.reload().await;
        Ok(bus)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn rules(&self) -> Rules {
        self.options.rules
    }

    /// The present time, for one task or in general.
    #[must_use]
    pub(crate) fn now(&self, task: Option<&str>) -> i64 {
        self.lock().clock.now(task)
    }

    /// The record of one task, or of all.
    #[must_use]
    pub(crate) fn tasks(&self, id: Option<&str>) -> Vec<Object> {
        let state = self.lock();
        let wanted = state.ledger.tasks.values().filter(|task| id.is_none_or(|id| task.id == id));
        wanted.map(|task| task.record(self.options.rules)).collect()
    }

    /// Sets the roles that work, for all tasks or for one.
    pub(crate) fn activate(&self, task: Option<&str>, roles: Vec<Role>) {
        let mut state = self.lock();
        match task {
            Some(task) => drop(state.active.tasks.insert(task.to_owned(), roles)),
            None => state.active.roles = roles,
        }
    }

    /// The roles that work for all tasks.
    #[must_use]
    pub(crate) fn active(&self) -> Vec<Role> {
        self.lock().active.roles.clone()
    }

    /// Reads the whole store into the ledger, and takes up the work that was not finished (binding.md, section 13).
    async fn reload(&self) {
        let bus = self.clone();
        let read = self.store.read(move |db| {
            let mut state = bus.lock();
            let options = &bus.options;
            state.ledger = Ledger::new(options.rules, options.heartbeat_sec);
            log::replay(db, |what, row| state.replay(what, &row))
        });
        if !matches!(read.await, Ok(Ok(()))) {
            return; // the store is shut
        }
        let jobs = self.lock().unfinished();
        self.start(jobs);
    }

    /// Does one piece of work in a transaction of its own; returns when it is durable.
    pub(crate) async fn transact<T, F>(&self, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&mut Turn<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        let bus = self.clone();
        let done = self.store.write(move |db| {
            let mut state = bus.lock();
            let mut turn = Turn::new(db, &mut state, &bus.options);
            let result = work(&mut turn)?;
            Ok::<_, rusqlite::Error>((result, turn.jobs, turn.last))
        });
        let failure = match done.await {
            Ok(Ok((result, jobs, last))) => {
                self.changed.send_if_modified(|known| std::mem::replace(known, last.max(*known)) < last);
                self.start(jobs);
                return Ok(result);
            }
            Ok(Err(error)) => Failure(error.to_string()),
            Err(error) => Failure(error.to_string()),
        };
        // What was undone on the disk is undone in memory, too.
        self.reload().await;
        Err(failure)
    }

    /// Takes messages and ACKs over that were stored elsewhere; no role acts on them again, but work that was not finished is
    /// taken up.
    pub(crate) async fn recall(&self, rows: Vec<(log::What, Object)>) -> Result<(), Failure> {
        self.transact(move |turn| turn.recall(rows)).await
    }

    fn start(&self, jobs: Vec<Job>) {
        for job in jobs {
            tokio::spawn(self.clone().carry_out(job));
        }
    }

    /// Does the work of the executor or the reviewer, then hands it in.
    async fn carry_out(self, job: Job) {
        let rules = self.rules();
        let event = match job {
            Job::Work(dispatch) => {
                let (order, now) = (dispatch.clone(), self.now(Some(&dispatch.task)));
                let done = tokio::task::spawn_blocking(move || work::git::carry_out(rules, &order, now)).await;
                Event::Worked(dispatch, done.unwrap_or_default())
            }
            Job::Review(request, dispatch, result) => {
                let order = request.clone();
                let review = move || work::review::judge(&order, dispatch.as_deref(), result.as_deref());
                Event::Reviewed(request, tokio::task::spawn_blocking(review).await.unwrap_or_default())
            }
        };
        let late = match &event {
            Event::Worked(dispatch, _) => Some(dispatch.clone()),
            _ => None, // only work changes a repository
        };
        // A failure is reported to nobody: the work is taken up again at the next start.
        self.transact(move |turn| turn.finished(event)).await.ok();
        if let Some(dispatch) = late {
            tokio::task::spawn_blocking(move || work::git::afterwards(rules, &dispatch)).await.ok();
        }
    }

    /// Fires every timer that has run out; returns when its consequences are durable.
    pub(crate) async fn fire(&self) -> Result<(), Failure> {
        let due = {
            let state = self.lock();
            let due = |task: &String| state.ledger.next(task).is_some_and(|at| at <= state.clock.now(Some(task)));
            state.ledger.tasks.keys().any(due)
        };
        if due { self.transact(|turn| turn.fire()).await } else { Ok(()) }
    }

    /// Looks at the timers until the bus is dropped by everybody else.
    pub(crate) async fn run(self) {
        loop {
            tokio::time::sleep(TICK).await;
            self.fire().await.ok(); // tried again at the next tick
        }
    }

    /// Moves the time, for one task or for all; returns when all timers that are due have fired.
    pub(crate) async fn advance(&self, task: Option<&str>, ms: i64) -> Result<i64, Failure> {
        self.lock().clock.advance(task, ms);
        self.fire().await?;
        Ok(self.now(task))
    }

    /// Forgets everything (binding.md, section 7: `/_test/reset`).
    pub(crate) async fn reset(&self) -> Result<(), Failure> {
        let options = Arc::clone(&self.options);
        self.transact(move |turn| {
            log::clear(turn.db)?;
            turn.state.ledger = Ledger::new(options.rules, options.heartbeat_sec);
            turn.state.clock.reset();
            turn.state.active = Active { roles: options.roles.clone(), tasks: Default::default() };
            turn.state.held.clear();
            Ok(())
        })
        .await
    }

    /// Finishes waiting work and closes the store.
    pub(crate) async fn close(&self) {
        self.store.close().await;
    }
}
