//! What is stored (binding.md, 11): the configuration of the nodes, the delivery log and the fault log. No message needs any
//! of it to be processed.

use rusqlite::{Connection, Result, params};

use super::body::Delivery;
use super::node::Kind;
use crate::json::{self, Object, Value};
use crate::store::Schema;

/// Maximum number of entries of a log; older ones are removed.
const LOG_LIMIT: i64 = 100_000;

/// The tables.
pub(super) const SCHEMA: Schema = Schema {
    version: 2001, // distinct from the numbers of other protocols, so that their files are not confused
    sql: "
CREATE TABLE node (
    kind TEXT PRIMARY KEY,                  -- ultimateReceiver or intermediary
    object TEXT NOT NULL                    -- the members of the node object that differ from the start
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    nonce TEXT,
    message_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    task TEXT NOT NULL,
    time TEXT NOT NULL
) STRICT;

CREATE TABLE fault (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT,
    code TEXT NOT NULL,
    reason TEXT NOT NULL,
    hop TEXT NOT NULL,                      -- the URI of the node
    time TEXT NOT NULL
) STRICT;
",
};

/// An entry of the fault log.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) message_id: Option<String>,
    pub(super) code: String,
    pub(super) reason: String,
    pub(super) hop: String,
}

/// Keeps the configuration of a node.
pub(super) fn put_node(db: &Connection, kind: Kind, object: &Object) -> Result<()> {
    let sql = "INSERT INTO node VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET object = excluded.object";
    db.prepare_cached(sql)?.execute(params![kind.name(), object.write()]).map(drop)
}

/// Forgets every configuration.
pub(super) fn delete_nodes(db: &Connection) -> Result<()> {
    db.execute("DELETE FROM node", []).map(drop)
}

/// The kept configuration of a node.
pub(super) fn node(db: &Connection, kind: Kind) -> Result<Option<Object>> {
    let mut query = db.prepare_cached("SELECT object FROM node WHERE kind = ?")?;
    let mut rows = query.query([kind.name()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let text: String = row.get(0)?;
    Ok(json::read(text.as_bytes()).ok().and_then(|value| value.as_object().cloned()))
}

/// Adds an entry to the delivery log.
pub(super) fn log_delivery(db: &Connection, delivery: &Delivery, time: &str) -> Result<()> {
    let Delivery { nonce, message_id, trace_id, task } = delivery;
    let sql = "INSERT INTO delivery (nonce, message_id, trace_id, task, time) VALUES (?, ?, ?, ?, ?)";
    db.prepare_cached(sql)?.execute(params![nonce, message_id, trace_id, task, time])?;
    trim(db, "DELETE FROM delivery WHERE number <= ?")
}

/// Adds an entry to the fault log.
pub(super) fn log_fault(db: &Connection, fault: &Fault, time: &str) -> Result<()> {
    let Fault { message_id, code, reason, hop } = fault;
    let sql = "INSERT INTO fault (message_id, code, reason, hop, time) VALUES (?, ?, ?, ?, ?)";
    db.prepare_cached(sql)?.execute(params![message_id, code, reason, hop, time])?;
    trim(db, "DELETE FROM fault WHERE number <= ?")
}

fn trim(db: &Connection, sql: &str) -> Result<()> {
    db.prepare_cached(sql)?.execute([db.last_insert_rowid() - LOG_LIMIT]).map(drop)
}

/// The delivery log, the oldest entry first.
pub(super) fn deliveries(db: &Connection) -> Result<Vec<Value>> {
    let names = ["nonce", "messageId", "traceId", "task", "time"];
    rows(db, "SELECT nonce, message_id, trace_id, task, time FROM delivery ORDER BY number", names)
}

/// The fault log, the oldest entry first.
pub(super) fn faults(db: &Connection) -> Result<Vec<Value>> {
    let names = ["messageId", "code", "reason", "hop", "time"];
    rows(db, "SELECT message_id, code, reason, hop, time FROM fault ORDER BY number", names)
}

fn rows(db: &Connection, sql: &str, names: [&str; 5]) -> Result<Vec<Value>> {
    let mut query = db.prepare_cached(sql)?;
    let entry = |row: &rusqlite::Row<'_>| {
        let mut entry = Object::new();
        for (index, name) in names.into_iter().enumerate() {
            entry.set(name, row.get::<_, Option<String>>(index)?);
        }
        Ok(entry.into())
    };
    query.query_map([], entry)?.collect()
}

/// Empties the delivery log.
pub(super) fn clear_deliveries(db: &Connection) -> Result<()> {
    db.execute("DELETE FROM delivery", []).map(drop)
}
