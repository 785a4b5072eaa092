//! What is stored: one table, in the order in which things happened.
//!
//! Messages, ACKs, entries of the error log, audit lines and the inputs of the admin are its rows. Tasks, timers and suspensions
//! follow from them (see `ledger`), so one transaction keeps all of them together.

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params_from_iter};

use crate::store::Schema;

pub(crate) const SCHEMA: Schema = Schema {
    version: 5001,
    sql: "CREATE TABLE log (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, at INTEGER NOT NULL, task TEXT, message TEXT,
            type TEXT, sender TEXT, receiver TEXT, actor TEXT, body TEXT NOT NULL) STRICT;
          CREATE INDEX log_by_kind ON log (kind, seq);
          CREATE INDEX log_by_message ON log (message, kind);
          CREATE INDEX log_by_task ON log (task, kind, seq);",
};

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Message,
    Ack,
    Error,
    Audit,
    Plan,
    Approval,
    Control,
    Ci,
}

impl What {
    const ALL: [Self; 8] =
        [Self::Message, Self::Ack, Self::Error, Self::Audit, Self::Plan, Self::Approval, Self::Control, Self::Ci];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Ack => "ack",
            Self::Error => "error",
            Self::Audit => "audit",
            Self::Plan => "plan",
            Self::Approval => "approval",
            Self::Control => "control",
            Self::Ci => "ci",
        }
    }
}

/// A row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// Its place; 0 before it is stored.
    pub(crate) seq: i64,
    /// Unix milliseconds.
    pub(crate) at: i64,
    pub(crate) task: Option<String>,
    pub(crate) message: Option<String>,
    /// Of a message.
    pub(crate) kind: Option<String>,
    pub(crate) sender: Option<String>,
    pub(crate) receiver: Option<String>,
    /// Who wrote it.
    pub(crate) actor: Option<String>,
    /// JSON.
    pub(crate) body: String,
}

/// Which rows are wanted; members that are `None` do not matter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) task: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) sender: Option<String>,
    pub(crate) receiver: Option<String>,
    /// Rows behind this place only.
    pub(crate) after: i64,
    pub(crate) limit: i64,
}

const COLUMNS: &str = "seq, at, task, message, type, sender, receiver, actor, body";

fn read(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        seq: row.get(0)?,
        at: row.get(1)?,
        task: row.get(2)?,
        message: row.get(3)?,
        kind: row.get(4)?,
        sender: row.get(5)?,
        receiver: row.get(6)?,
        actor: row.get(7)?,
        body: row.get(8)?,
    })
}

/// Adds a row; its place.
pub(crate) fn append(db: &Connection, what: What, row: &Row) -> rusqlite::Result<i64> {
    let sql =
        "INSERT INTO log (kind, at, task, message, type, sender, receiver, actor, body) VALUES (?,?,?,?,?,?,?,?,?)";
    db.prepare_cached(sql)?.execute(rusqlite::params![
        what.name(),
        row.at,
        row.task,
        row.message,
        row.kind,
        row.sender,
        row.receiver,
        row.actor,
        row.body
    ])?;
    Ok(db.last_insert_rowid())
}

/// The first row of a message.
pub(crate) fn message(db: &Connection, id: &str) -> rusqlite::Result<Option<Row>> {
    let sql = format!("SELECT {COLUMNS} FROM log WHERE message = ? AND kind = 'message' ORDER BY seq LIMIT 1");
    db.prepare_cached(&sql)?.query_row([id], read).optional()
}

/// Replaces the body of a message: what no correct program does.
pub(crate) fn replace(db: &Connection, id: &str, body: &str) -> rusqlite::Result<usize> {
    db.execute("UPDATE log SET body = ?2 WHERE message = ?1 AND kind = 'message'", [id, body])
}

/// Rows of one sort, in order.
pub(crate) fn list(db: &Connection, what: What, filter: &Filter) -> rusqlite::Result<Vec<Row>> {
    let mut sql = format!("SELECT {COLUMNS} FROM log WHERE kind = ? AND seq > ?");
    let mut cells: Vec<Cell> = vec![what.name().to_owned().into(), filter.after.into()];
    let wanted = [
        ("task", &filter.task),
        ("message", &filter.message),
        ("type", &filter.kind),
        ("sender", &filter.sender),
        ("receiver", &filter.receiver),
    ];
    for (column, value) in wanted {
        if let Some(value) = value {
            sql.push_str(&format!(" AND {column} = ?"));
            cells.push(value.clone().into());
        }
    }
    // A bare parameter as limit would have SQLite compile the statement again for each value.
    sql.push_str(" ORDER BY seq LIMIT ? + 0");
    cells.push(filter.limit.into());
    let mut statement = db.prepare_cached(&sql)?;
    statement.query_map(params_from_iter(cells), read)?.collect()
}

/// Hands every row that the ledger is made of to `take`, in order.
pub(crate) fn replay(db: &Connection, mut take: impl FnMut(What, Row)) -> rusqlite::Result<()> {
    let sql = format!("SELECT {COLUMNS}, kind FROM log WHERE kind <> 'audit' ORDER BY seq");
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let kind: String = row.get(9)?;
        if let Some(what) = What::ALL.into_iter().find(|what| what.name() == kind) {
            take(what, read(row)?);
        }
    }
    Ok(())
}

/// Removes everything.
pub(crate) fn clear(db: &Connection) -> rusqlite::Result<()> {
    db.execute("DELETE FROM log", []).map(drop)
}
