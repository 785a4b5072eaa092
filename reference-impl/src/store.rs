//! Durable state: one SQLite database, one thread that writes, a few that read.
//!
//! [`Store::write`] runs a closure inside a transaction and answers after that transaction is on the disk, so
//! an acknowledged write survives the death of the process. Writes that wait together share one transaction
//! (and one flush); each has its own savepoint, so that a rejected one has no effect.
//! [`Store::read`] runs a closure on a snapshot. It is independent of protocols; a protocol provides a [`Schema`].
//!
//! A store in memory has a single connection, which serves reads and writes in turn, and no thread: there is no disk to
//! wait for, and a library opens many of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

/// Marks a database file as one of this crate ("PrfM").
const APPLICATION_ID: i32 = 0x5072_664d;

/// Maximum number of waiting writes in one transaction: enough to make the flush cheap, few enough that the
/// first of them does not wait long.
const BATCH_LIMIT: usize = 128;

const READER_COUNT: usize = 3;

/// The tables that a protocol needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// Grows with every change of [`Self::sql`]; kept in the file as `user_version`.
    pub(crate) version: i32,
    /// Creates everything in an empty database.
    pub(crate) sql: &'static str,
}

/// Why a database file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file belongs to another program.
    #[error("{}: not a database of this program", .0.display())]
    Foreign(PathBuf),
    /// The file was written with another version of the tables.
    #[error("{}: database version {found}, this program supports version {known}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: i32,
        /// The version of this program.
        known: i32,
    },
    /// SQLite refuses the file.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file; `:memory:` without a file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

/// Why work was not completed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum StoreError {
    /// The store is shut.
    #[error("the store is shut")]
    Closed,
    /// The transaction could not be started or committed; it has no effect.
    #[error("transaction: {0}")]
    Transaction(String),
    /// The work panicked; its changes are undone.
    #[error("the work on the database panicked")]
    Panicked,
}

/// A handle on the database; clones share it.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// On a disk.
    File {
        /// To the thread that writes.
        writer: mpsc::Sender<Message>,
        /// To the threads that read.
        readers: mpsc::Sender<Message>,
        /// All of them.
        threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
    },
    /// In memory; `None` once it is closed.
    Memory(Arc<Mutex<Option<Connection>>>),
}

/// A request to a thread of a store.
pub(crate) enum Message {
    Stop,
    Work(Box<dyn Work>),
}

/// One closure with the place its answer goes to.
pub(crate) trait Work: Send {
    /// Runs inside a transaction. `false` means that its changes are to be undone.
    fn run(&mut self, db: &Connection) -> bool;
    /// Hands the answer over, or `error` in its place.
    fn answer(self: Box<Self>, error: Option<StoreError>);
}

struct Task<F, T, E> {
    work: Option<F>,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<Result<T, E>, StoreError>>,
}

impl<F, T, E> Work for Task<F, T, E>
where
    F: FnOnce(&Connection) -> Result<T, E> + Send,
    T: Send,
    E: Send,
{
    fn run(&mut self, db: &Connection) -> bool {
        let work = self.work.take();
        self.result = work.and_then(|work| catch_unwind(AssertUnwindSafe(|| work(db))).ok());
        matches!(self.result, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, error: Option<StoreError>) {
        let outcome = match (error, self.result) {
            (Some(error), _) => Err(error),
            (None, Some(result)) => Ok(result),
            (None, None) => Err(StoreError::Panicked),
        };
        // If the client has disconnected, the receiver is dropped; the write remains valid.
        self.reply.send(outcome).ok();
    }
}

impl Store {
    /// Opens the database at `path`, creating it if missing, or an empty one in memory without a path.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the file is not ours, of another version, or not usable.
    pub(crate) fn open(path: Option<&Path>, schema: Schema) -> Result<Self, OpenError> {
        let connection = connect(path, schema)?;
        let Some(path) = path else { return Ok(Self::Memory(Arc::new(Mutex::new(Some(connection))))) };
        let (writer, inbox) = mpsc::channel();
        let mut threads = vec![thread::spawn(move || write_loop(&connection, &inbox))];
        let (readers, inbox) = mpsc::channel();
        let inbox = Arc::new(Mutex::new(inbox));
        for _ in 0..READER_COUNT {
            let connection = connect_reader(path)?;
            let inbox = Arc::clone(&inbox);
            threads.push(thread::spawn(move || read_loop(&connection, &inbox)));
        }
        Ok(Self::File { writer, readers, threads: Arc::new(Mutex::new(threads)) })
    }

    /// Runs `work` inside a transaction and returns its answer once the transaction is durable.
    ///
    /// An `Err` of `work` rolls back its changes.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the work was not done or not kept, for reasons that are not its own.
    pub(crate) async fn write<T, E, F>(&self, work: F) -> Result<Result<T, E>, StoreError>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        match self {
            Self::File { writer, .. } => Self::submit(writer, work).await,
            Self::Memory(connection) => Self::run_inline(connection, work).await,
        }
    }

    /// Runs `work` on a snapshot that contains every acknowledged write.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub(crate) async fn read<T, E, F>(&self, work: F) -> Result<Result<T, E>, StoreError>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        match self {
            Self::File { readers, .. } => Self::submit(readers, work).await,
            Self::Memory(connection) => Self::run_inline(connection, work).await,
        }
    }

    /// Finishes waiting work, closes the database and returns when the threads have ended.
    pub(crate) async fn close(&self) {
        let (writer, readers, threads) = match self {
            Self::File { writer, readers, threads } => (writer, readers, threads),
            Self::Memory(connection) => {
                connection.lock().unwrap_or_else(PoisonError::into_inner).take();
                return;
            }
        };
        let threads = std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner));
        for _ in 0..READER_COUNT {
            readers.send(Message::Stop).ok();
        }
        writer.send(Message::Stop).ok();
        let join = move || threads.into_iter().for_each(|thread| drop(thread.join()));
        tokio::task::spawn_blocking(join).await.ok();
    }

    async fn submit<T, E, F>(inbox: &mpsc::Sender<Message>, work: F) -> Result<Result<T, E>, StoreError>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let task = Task { work: Some(work), result: None, reply };
        inbox.send(Message::Work(Box::new(task))).map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn run_inline<T, E, F>(connection: &Mutex<Option<Connection>>, work: F) -> Result<Result<T, E>, StoreError>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        // Other tasks can run between two pieces of work, as with a store on disk.
        tokio::task::yield_now().await;
        let (reply, mut answer) = oneshot::channel();
        let mut batch: Vec<Box<dyn Work>> = vec![Box::new(Task { work: Some(work), result: None, reply })];
        {
            let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let db = connection.as_ref().ok_or(StoreError::Closed)?;
            run_and_answer(db, &mut batch);
        }
        answer.try_recv().map_err(|_| StoreError::Closed)?
    }
}

fn write_loop(db: &Connection, inbox: &mpsc::Receiver<Message>) {
    while let Ok(Message::Work(first)) = inbox.recv() {
        let mut batch = vec![first];
        let mut stop = false;
        while batch.len() < BATCH_LIMIT && !stop {
            match inbox.try_recv() {
                Ok(Message::Work(work)) => batch.push(work),
                Ok(Message::Stop) => stop = true,
                Err(_) => break,
            }
        }
        run_and_answer(db, &mut batch);
        if stop {
            return;
        }
    }
}

/// Runs a batch in a transaction and hands every answer over.
fn run_and_answer(db: &Connection, batch: &mut Vec<Box<dyn Work>>) {
    let outcome = run_batch(db, batch);
    if outcome.is_err() && !db.is_autocommit() {
        db.execute_batch("ROLLBACK").ok();
    }
    let error = outcome.err().map(|error| StoreError::Transaction(error.to_string()));
    for work in batch.drain(..) {
        work.answer(error.clone());
    }
}

fn run_batch(db: &Connection, batch: &mut [Box<dyn Work>]) -> rusqlite::Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    for work in batch {
        db.execute_batch("SAVEPOINT request")?;
        if !work.run(db) {
            // Fails if SQLite gave up the whole transaction (disk full, input or output error): so does the batch.
            db.execute_batch("ROLLBACK TO request")?;
        }
        db.execute_batch("RELEASE request")?;
    }
    db.execute_batch("COMMIT")
}

fn read_loop(db: &Connection, inbox: &Mutex<mpsc::Receiver<Message>>) {
    loop {
        let message = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Message::Work(mut work)) = message else {
            return;
        };
        let outcome = db.execute_batch("BEGIN").map(|()| work.run(db));
        db.execute_batch("ROLLBACK").ok(); // ends the snapshot, without changes
        work.answer(outcome.err().map(|error| StoreError::Transaction(error.to_string())));
    }
}

fn connect(path: Option<&Path>, schema: Schema) -> Result<Connection, OpenError> {
    let shown = path.map_or_else(|| PathBuf::from(":memory:"), Path::to_owned);
    let sqlite = |source| OpenError::Sqlite { path: shown.clone(), source };
    let db = path.map_or_else(Connection::open_in_memory, Connection::open).map_err(sqlite)?;
    db.busy_timeout(std::time::Duration::from_secs(5)).map_err(sqlite)?;
    let pragma = |name| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i32>(0)).map_err(sqlite);
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sqlite)?;
    let fresh = application == 0 && version == 0 && tables == 0;
    if !fresh && application != APPLICATION_ID {
        return Err(OpenError::Foreign(shown));
    }
    if !fresh && version != schema.version {
        return Err(OpenError::Version { path: shown, found: version, known: schema.version });
    }
    // FULL: in WAL mode a commit is flushed before it is acknowledged.
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
        .map_err(sqlite)?;
    db.set_prepared_statement_cache_capacity(64);
    if fresh {
        let Schema { version, sql } = schema;
        db.execute_batch(&format!(
            "BEGIN IMMEDIATE; {sql}
             PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}; COMMIT;"
        ))
        .map_err(sqlite)?;
    }
    Ok(db)
}

fn connect_reader(path: &Path) -> Result<Connection, OpenError> {
    let sqlite = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    db.busy_timeout(std::time::Duration::from_secs(5)).map_err(sqlite)?;
    db.execute_batch("PRAGMA query_only = ON;").map_err(sqlite)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: Schema = Schema { version: 1, sql: "CREATE TABLE t (n INTEGER PRIMARY KEY) STRICT;" };

    async fn insert(store: &Store, n: i64) -> Result<Result<usize, rusqlite::Error>, StoreError> {
        store.write(move |db| db.execute("INSERT INTO t VALUES (?)", [n])).await
    }

    async fn count(store: &Store) -> i64 {
        let rows = store.read(|db| db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))).await;
        rows.expect("the store is open").expect("a valid query")
    }

    #[tokio::test]
    async fn a_rejected_write_has_no_effect_on_others() {
        let store = Store::open(None, SCHEMA).expect("memory");
        let good = insert(&store, 1);
        let panics = store.write(|db| -> Result<(), ()> {
            db.execute("INSERT INTO t VALUES (2)", []).ok();
            panic!("planted");
        });
        let refused = store.write(|db| {
            db.execute("INSERT INTO t VALUES (3)", []).ok();
            Err::<(), _>("refused")
        });
        let (good, panics, refused) = tokio::join!(good, panics, refused);
        assert!(matches!(good, Ok(Ok(1))));
        assert!(matches!(panics, Err(StoreError::Panicked)));
        assert!(matches!(refused, Ok(Err("refused"))));
        assert_eq!(count(&store).await, 1);
    }

    #[tokio::test]
    async fn a_file_is_reopened_and_a_foreign_or_newer_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.db");
        let store = Store::open(Some(&path), SCHEMA).expect("a new file");
        insert(&store, 1).await.expect("open").expect("inserted");
        store.close().await;
        assert!(matches!(insert(&store, 2).await, Err(StoreError::Closed)));
        let again = Store::open(Some(&path), SCHEMA).expect("our file");
        assert_eq!(count(&again).await, 1);
        again.close().await;
        let newer = Schema { version: 0, ..SCHEMA };
        assert!(matches!(Store::open(Some(&path), newer), Err(OpenError::Version { found: 1, known: 0, .. })));
        let foreign = folder.path().join("b.db");
        Connection::open(&foreign).and_then(|db| db.execute_batch("CREATE TABLE x (y)")).expect("made");
        assert!(matches!(Store::open(Some(&foreign), SCHEMA), Err(OpenError::Foreign(_))));
        let text = folder.path().join("c.db");
        std::fs::write(&text, "not a database at all, but long enough to have a header".repeat(40)).expect("written");
        assert!(matches!(Store::open(Some(&text), SCHEMA), Err(OpenError::Sqlite { .. })));
    }
}
