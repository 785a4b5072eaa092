//! Documents, credentials, delegations, counters, and documents of other parties.

use rusqlite::{Connection, OptionalExtension, params};

use super::stored;

/// The counter of application runs: MESSAGE and REQUEST.
pub(crate) const RUNS: &str = "runs";

/// Maximum number of entries of each kind, and of DID documents.
const LIMIT: i64 = 10_000;

/// Stores the body of a message under its hash, unless it exists.
pub(crate) fn put(
    db: &Connection,
    kind: &str,
    hash: &[u8],
    sender: &str,
    name: &str,
    body: &[u8],
) -> rusqlite::Result<bool> {
    let count: i64 =
        db.prepare_cached("SELECT count(*) FROM kept WHERE kind = ?")?.query_row([kind], |row| row.get(0))?;
    if count >= LIMIT {
        return Ok(false);
    }
    let sql = "INSERT OR IGNORE INTO kept VALUES (?, ?, ?, ?, ?)";
    db.prepare_cached(sql)?.execute(params![kind, hash, sender, name, body])?;
    Ok(true)
}

/// The entry with this hash: sender and body.
pub(crate) fn by_hash(db: &Connection, kind: &str, hash: &[u8]) -> rusqlite::Result<Option<(String, Vec<u8>)>> {
    let sql = "SELECT sender, body FROM kept WHERE kind = ? AND hash = ?";
    db.prepare_cached(sql)?.query_row(params![kind, hash], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// The entry with this name: sender and body.
pub(crate) fn by_name(db: &Connection, kind: &str, name: &str) -> rusqlite::Result<Option<(String, Vec<u8>)>> {
    let sql = "SELECT sender, body FROM kept WHERE kind = ? AND name = ?";
    db.prepare_cached(sql)?.query_row(params![kind, name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Whether `sender` sent an entry with this name.
pub(crate) fn is_from(db: &Connection, kind: &str, sender: &str, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM kept WHERE kind = ? AND sender = ? AND name = ?)";
    db.prepare_cached(sql)?.query_row(params![kind, sender, name], |row| row.get(0))
}

/// Adds one to a counter and returns its new value.
pub(crate) fn count(db: &Connection, name: &str) -> rusqlite::Result<u64> {
    let sql = "INSERT INTO counter VALUES (?, 1) ON CONFLICT DO UPDATE SET value = value + 1 RETURNING value";
    db.prepare_cached(sql)?.query_row([name], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// The value of a counter.
pub(crate) fn counted(db: &Connection, name: &str) -> rusqlite::Result<u64> {
    let found = db.prepare_cached("SELECT value FROM counter WHERE name = ?")?;
    let mut found = found;
    let value: Option<i64> = found.query_row([name], |row| row.get(0)).optional()?;
    Ok(value.unwrap_or(0).unsigned_abs())
}

/// Stores or replaces the DID document of another party.
pub(crate) fn put_document(db: &Connection, did: &str, json: &str, now: u64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO did_document SELECT ?1, ?2, ?3 WHERE (SELECT count(*) FROM did_document) < ?4
               ON CONFLICT DO UPDATE SET json = excluded.json, fetched_at = excluded.fetched_at";
    db.prepare_cached(sql)?.execute(params![did, json, stored(now), LIMIT])?;
    Ok(())
}

/// Every known DID document.
pub(crate) fn documents(db: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    db.prepare_cached("SELECT did, json FROM did_document")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
