//! Registered agents and their counters.

use rusqlite::{Connection, OptionalExtension, params};

use crate::json::{self, Object, Value};

/// A registered agent.
#[derive(Debug, Clone)]
pub(in crate::meshai) struct Registered {
    pub(in crate::meshai) id: String,
    /// `agent`, `capabilities` and `endpoints`.
    pub(in crate::meshai) record: Object,
    pub(in crate::meshai) credentials: String,
    pub(in crate::meshai) built_in: bool,
    pub(in crate::meshai) total: i64,
    pub(in crate::meshai) failed: i64,
}

const COLUMNS: &str = "key, record, credentials, built_in, total, failed";

fn registered(row: &rusqlite::Row<'_>) -> rusqlite::Result<Registered> {
    let text: String = row.get(1)?;
    let record = match json::read(text.as_bytes()) {
        Ok(Value::Object(record)) => record,
        _ => Object::new(), // only objects are written
    };
    Ok(Registered {
        id: row.get(0)?,
        record,
        credentials: row.get(2)?,
        built_in: row.get(3)?,
        total: row.get(4)?,
        failed: row.get(5)?,
    })
}

/// The agent of this id, unless its lease is over: `since` is the earliest renewal that counts.
pub(in crate::meshai) fn find(db: &Connection, id: &str, since: i64) -> rusqlite::Result<Option<Registered>> {
    let sql = format!("SELECT {COLUMNS} FROM agent WHERE key = ? AND (built_in OR renewed_at >= ?)");
    db.prepare_cached(&sql)?.query_row(params![id, since], registered).optional()
}

/// Every agent whose lease is not over, in the order of registration.
pub(in crate::meshai) fn all(db: &Connection, since: i64) -> rusqlite::Result<Vec<Registered>> {
    let sql = format!("SELECT {COLUMNS} FROM agent WHERE built_in OR renewed_at >= ? ORDER BY number");
    db.prepare_cached(&sql)?.query_map([since], registered)?.collect()
}

/// Writes an agent, in the place of an earlier one of this key.
pub(in crate::meshai) fn put(db: &Connection, key: &str, agent: &Registered, now: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO agent (key, number, record, credentials, renewed_at, built_in)
        VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM agent), ?2, ?3, ?4, ?5)
        ON CONFLICT (key) DO UPDATE SET record = ?2, credentials = ?3, renewed_at = ?4, built_in = ?5";
    let values = params![key, agent.record.write(), agent.credentials, now, agent.built_in];
    db.prepare_cached(sql)?.execute(values).map(drop)
}

/// Removes an agent.
pub(in crate::meshai) fn remove(db: &Connection, id: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM agent WHERE key = ?")?.execute([id]).map(drop)
}

/// Renews the lease of an agent.
pub(in crate::meshai) fn renew(db: &Connection, id: &str, now: i64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE agent SET renewed_at = ? WHERE key = ?")?.execute(params![now, id]).map(drop)
}

/// Removes the agents whose lease is over.
pub(in crate::meshai) fn sweep(db: &Connection, since: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM agent WHERE NOT built_in AND renewed_at < ?")?.execute([since]).map(drop)
}

/// Counts a request that was routed to an agent.
pub(in crate::meshai) fn count(db: &Connection, id: &str, failed: bool) -> rusqlite::Result<()> {
    let sql = "UPDATE agent SET total = total + 1, failed = failed + ? WHERE key = ?";
    db.prepare_cached(sql)?.execute(params![failed, id]).map(drop)
}
