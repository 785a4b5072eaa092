//! Durable state: one SQLite database, one thread that writes, a few that read.
//!
//! [`Store::write`] runs a closure inside a transaction and answers after that transaction is on the disk, so
//! an acknowledged write survives the death of the process. Writes that wait together share one transaction
//! (and one flush); each has its own savepoint, so that a rejected one has no effect.
//! [`Store::read`] runs a closure on a snapshot. It is independent of protocols; a protocol provides a [`Schema`].
//!
//! A store in memory has a single connection, which serves reads and writes in turn, and no thread: there is no disk to
//! wait for. So has one in a file that is removed after a run, where many writes share a transaction although none waits. A
//! library opens and closes thousands of stores in memory, so their connections are used again: all work is one transaction, which
//! is undone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

/// Marks a database file as one of this crate ("PrfM").
const APPLICATION_ID: i32 = 0x5072_664d;

/// Maximum number of waiting writes in one transaction: enough to make the flush cheap, few enough that the
/// first of them does not wait long.
const BATCH_LIMIT: usize = 128;

const READER_COUNT: usize = 3;

/// How many empty connections in memory wait for another store.
const SPARE_LIMIT: usize = 16;

/// Empty connections in memory, each with the tables that it has.
static SPARE: Mutex<Vec<(Schema, Connection)>> = Mutex::new(Vec::new());

/// Where the state of a server lives.
#[derive(Debug, Clone)]
pub enum Database {
    /// In a file, which is created if it does not exist; acknowledged writes survive the death of the process and of the machine.
    File(PathBuf),
    /// In a file that is removed after a run: an answer does not wait for its write to be in the file.
    Scratch(PathBuf),
    /// In memory, lost at the end of the server.
    Memory,
}

/// The tables that a protocol needs.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    /// In memory, or in a file without a disk to wait for.
    Single(Arc<Single>),
}

/// The only connection of a store. One in memory is used again after the last handle on its store.
#[derive(Debug)]
pub(crate) struct Single {
    /// The tables of a store in memory; `None` for a file, which is not used again.
    tables: Option<Schema>,
    /// `None` once the store is closed.
    connection: Mutex<Option<Open>>,
}

/// A connection, and how many pieces of work its transaction holds.
#[derive(Debug)]
struct Open {
    db: Connection,
    pieces: usize,
}

impl Single {
    fn new(db: Connection, tables: Option<Schema>) -> Self {
        Self { tables, connection: Mutex::new(Some(Open { db, pieces: 0 })) }
    }

    /// In memory, empty.
    fn in_memory(schema: Schema) -> Result<Self, OpenError> {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = spare.iter().position(|(tables, _)| *tables == schema).map(|at| spare.swap_remove(at).1);
        drop(spare);
        let db = known.map_or_else(|| connect(&Database::Memory, schema), Ok)?;
        Ok(Self::new(db, Some(schema)))
    }

    /// Runs one piece of work and hands its answer over.
    fn run(&self, mut work: Box<dyn Work>) {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = connection.as_mut() else { return work.answer(Some(StoreError::Closed)) };
        let outcome = open.run(&mut *work, self.tables.is_none());
        work.answer(undone(&open.db, outcome));
    }

    /// Closes a file. Gives a connection in memory away for another store: without the only transaction that it ever had it is
    /// empty.
    fn close(&self) {
        let Some(open) = self.connection.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let end = |statement| open.db.is_autocommit() || run(&open.db, statement).is_ok();
        let Some(schema) = self.tables else {
            end("COMMIT");
            return;
        };
        if end("ROLLBACK") {
            let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() < SPARE_LIMIT {
                spare.push((schema, open.db));
            }
        }
    }
}

impl Open {
    fn run(&mut self, work: &mut dyn Work, commits: bool) -> rusqlite::Result<()> {
        if self.db.is_autocommit() {
            self.pieces = 0;
            begin(&self.db)?;
        }
        run_piece(&self.db, work)?;
        self.pieces += 1;
        if commits && self.pieces >= BATCH_LIMIT {
            run(&self.db, "COMMIT")?;
        }
        Ok(())
    }
}

impl Drop for Single {
    fn drop(&mut self) {
        self.close();
    }
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
    /// Opens the database, creating it if missing.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the file is not ours, of another version, or not usable.
    pub(crate) fn open(database: &Database, schema: Schema) -> Result<Self, OpenError> {
        let path = match database {
            Database::File(path) => path,
            Database::Scratch(_) => {
                return Ok(Self::Single(Arc::new(Single::new(connect(database, schema)?, None))));
            }
            Database::Memory => return Single::in_memory(schema).map(|memory| Self::Single(Arc::new(memory))),
        };
        let connection = connect(database, schema)?;
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
            Self::Single(single) => Self::run_inline(single, work).await,
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
            Self::Single(single) => Self::run_inline(single, work).await,
        }
    }

    /// Finishes waiting work, closes the database and returns when the threads have ended.
    pub(crate) async fn close(&self) {
        let (writer, readers, threads) = match self {
            Self::File { writer, readers, threads } => (writer, readers, threads),
            Self::Single(single) => return single.close(),
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

    async fn run_inline<T, E, F>(single: &Single, work: F) -> Result<Result<T, E>, StoreError>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        // Other tasks can run between two pieces of work, as with a store on disk.
        tokio::task::yield_now().await;
        let (reply, mut answer) = oneshot::channel();
        single.run(Box::new(Task { work: Some(work), result: None, reply }));
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
    let error = undone(db, run_batch(db, batch));
    for work in batch.drain(..) {
        work.answer(error.clone());
    }
}

/// The error of a transaction, which is undone then.
fn undone(db: &Connection, outcome: rusqlite::Result<()>) -> Option<StoreError> {
    let error = outcome.err()?;
    if !db.is_autocommit() {
        db.execute_batch("ROLLBACK").ok();
    }
    Some(StoreError::Transaction(error.to_string()))
}

fn run_batch(db: &Connection, batch: &mut [Box<dyn Work>]) -> rusqlite::Result<()> {
    begin(db)?;
    for work in batch {
        run_piece(db, &mut **work)?;
    }
    run(db, "COMMIT")
}

/// Runs a piece of work. One that is refused has no effect.
fn run_piece(db: &Connection, work: &mut dyn Work) -> rusqlite::Result<()> {
    run(db, "SAVEPOINT request")?;
    if !work.run(db) {
        // Fails if SQLite gave up the whole transaction (disk full, input or output error): so does the batch.
        run(db, "ROLLBACK TO request")?;
    }
    run(db, "RELEASE request")
}

fn begin(db: &Connection) -> rusqlite::Result<()> {
    run(db, "BEGIN IMMEDIATE")
}

/// Runs a statement that is used for every piece of work: it is compiled once.
fn run(db: &Connection, statement: &str) -> rusqlite::Result<()> {
    db.prepare_cached(statement)?.execute([]).map(drop)
}

fn read_loop(db: &Connection, inbox: &Mutex<mpsc::Receiver<Message>>) {
    loop {
        let message = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Message::Work(mut work)) = message else {
            return;
        };
        let outcome = run(db, "BEGIN").map(|()| work.run(db));
        run(db, "ROLLBACK").ok(); // ends the snapshot, without changes
        work.answer(outcome.err().map(|error| StoreError::Transaction(error.to_string())));
    }
}

fn connect(database: &Database, schema: Schema) -> Result<Connection, OpenError> {
    let shown = match database {
        Database::File(path) | Database::Scratch(path) => path.clone(),
        Database::Memory => PathBuf::from(":memory:"),
    };
    let sqlite = |source| OpenError::Sqlite { path: shown.clone(), source };
    let db = Connection::open(&shown).map_err(sqlite)?;
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
    // FULL: in WAL mode a commit is flushed before it is acknowledged. OFF leaves it to the operating system.
    let synchronous = if matches!(database, Database::File(_)) { "FULL" } else { "OFF" };
    if matches!(database, Database::Scratch(_)) {
        // No other connection opens the file, so a transaction needs no lock.
        db.execute_batch("PRAGMA locking_mode = EXCLUSIVE;").map_err(sqlite)?;
    }
    let pragmas = format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA foreign_keys = ON;");
    db.execute_batch(&pragmas).map_err(sqlite)?;
    prepare_once(&db, 128).map_err(sqlite)?;
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
    prepare_once(&db, 64).map_err(sqlite)?;
    Ok(db)
}

/// Keeps so many statements, each as it was first compiled: SQLite would compile some again for each value of a parameter.
fn prepare_once(db: &Connection, statements: usize) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(statements);
    Ok(())
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
        let store = Store::open(&Database::Memory, SCHEMA).expect("memory");
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
    async fn a_store_in_memory_is_empty_whatever_was_in_an_earlier_one() {
        const TABLES: Schema = Schema {
            version: 77, // its connections are of no other test
            sql: "CREATE TABLE a_parent (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
                  CREATE TABLE b_child (
                      number INTEGER PRIMARY KEY AUTOINCREMENT, parent TEXT NOT NULL REFERENCES a_parent
                  ) STRICT;",
        };
        for round in 0..3 {
            let store = Store::open(&Database::Memory, TABLES).expect("memory");
            let number = store.write(|db| {
                db.execute("INSERT INTO a_parent VALUES ('p')", [])?;
                db.execute("INSERT INTO b_child (parent) VALUES ('p')", [])?;
                Ok::<_, rusqlite::Error>(db.last_insert_rowid())
            });
            assert_eq!(number.await.expect("open").expect("an empty store"), 1, "round {round}");
            let orphan = store.write(|db| db.execute("INSERT INTO b_child (parent) VALUES ('unknown')", []));
            assert!(orphan.await.expect("open").is_err(), "references are still checked in round {round}");
            match round {
                0 => store.close().await,
                _ => drop(store),
            }
        }
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(
            spare.iter().filter(|(tables, _)| *tables == TABLES).count(),
            1,
            "one connection served all of them"
        );
    }

    #[tokio::test]
    async fn a_store_in_memory_with_a_search_index_is_empty_again() {
        const INDEXED: Schema = Schema { version: 78, sql: "CREATE VIRTUAL TABLE words USING fts5 (word);" };
        for _ in 0..3 {
            let store = Store::open(&Database::Memory, INDEXED).expect("memory");
            let found = store.write(|db| {
                db.execute("INSERT INTO words VALUES ('apple')", [])?;
                db.query_row("SELECT count(*) FROM words WHERE words MATCH 'apple'", [], |row| row.get::<_, i64>(0))
            });
            assert_eq!(found.await.expect("open").expect("a sound index"), 1);
        }
    }

    #[tokio::test]
    async fn a_store_in_memory_has_its_tables_as_they_were_made() {
        const UNIQUE: Schema =
            Schema { version: 79, sql: "CREATE TABLE t (n INTEGER) STRICT; CREATE UNIQUE INDEX once ON t (n);" };
        for round in 0..3 {
            let store = Store::open(&Database::Memory, UNIQUE).expect("memory");
            insert(&store, 1).await.expect("open").expect("inserted");
            assert!(insert(&store, 1).await.expect("open").is_err(), "the index is there in round {round}");
            store.write(|db| db.execute_batch("DROP INDEX once")).await.expect("open").expect("dropped");
            insert(&store, 1).await.expect("open").expect("inserted twice");
        }
    }

    #[tokio::test]
    async fn a_scratch_file_holds_what_was_written_and_nothing_that_was_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scratch.db");
        let store = Store::open(&Database::Scratch(path.clone()), SCHEMA).expect("a new file");
        let (one, again, two) = tokio::join!(insert(&store, 1), insert(&store, 1), insert(&store, 2));
        // Either of the first two may come first.
        assert_ne!(one.expect("open").is_ok(), again.expect("open").is_ok());
        assert!(two.expect("open").is_ok());
        assert_eq!(count(&store).await, 2);
        // More than one transaction holds.
        for n in 3..300 {
            insert(&store, n).await.expect("open").expect("a new number");
            assert!(insert(&store, n).await.expect("open").is_err());
        }
        store.close().await;
        assert!(matches!(insert(&store, 300).await, Err(StoreError::Closed)));
        let after = Store::open(&Database::File(path), SCHEMA).expect("our file");
        assert_eq!(count(&after).await, 299);
        after.close().await;
    }

    #[tokio::test]
    async fn a_file_is_reopened_and_a_foreign_or_newer_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.db");
        let file = Database::File(path.clone());
        let store = Store::open(&file, SCHEMA).expect("a new file");
        insert(&store, 1).await.expect("open").expect("inserted");
        store.close().await;
        assert!(matches!(insert(&store, 2).await, Err(StoreError::Closed)));
        let again = Store::open(&file, SCHEMA).expect("our file");
        assert_eq!(count(&again).await, 1);
        again.close().await;
        let newer = Schema { version: 0, ..SCHEMA };
        assert!(matches!(Store::open(&file, newer), Err(OpenError::Version { found: 1, known: 0, .. })));
        let foreign = folder.path().join("b.db");
        Connection::open(&foreign).and_then(|db| db.execute_batch("CREATE TABLE x (y)")).expect("made");
        assert!(matches!(Store::open(&Database::File(foreign), SCHEMA), Err(OpenError::Foreign(_))));
        let text = folder.path().join("c.db");
        std::fs::write(&text, "not a database at all, but long enough to have a header".repeat(40)).expect("written");
        assert!(matches!(Store::open(&Database::File(text), SCHEMA), Err(OpenError::Sqlite { .. })));
    }
}
