//! The sent and unconfirmed messages of this node (16.3, 16.5).

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::stored;

/// Maximum number of unconfirmed messages.
const LIMIT: i64 = 10_000;

const COLUMNS: &str = "id, url, path, recipient, message, attempts, expires_at, state";

/// A message on its way.
#[derive(Debug, Clone)]
pub(crate) struct Outbound {
    pub(crate) id: Vec<u8>,
    /// Where to; empty if the caller carries it.
    pub(crate) url: String,
    /// The path for a URL of HTTP without one.
    pub(crate) path: String,
    /// The party at that URL.
    pub(crate) recipient: String,
    pub(crate) message: Vec<u8>,
    /// The number of copies sent.
    pub(crate) attempts: u32,
    /// ts + ttl.
    pub(crate) expires_at: i64,
    /// `waiting`, `confirmed` or `failed`.
    pub(crate) state: String,
}

fn read(row: &Row<'_>) -> rusqlite::Result<Outbound> {
    Ok(Outbound {
        id: row.get(0)?,
        url: row.get(1)?,
        path: row.get(2)?,
        recipient: row.get(3)?,
        message: row.get(4)?,
        attempts: row.get(5)?,
        expires_at: row.get(6)?,
        state: row.get(7)?,
    })
}

/// Adds a message in the waiting state, whatever its `state`; `false` if too many are waiting.
pub(crate) fn insert(db: &Connection, new: &Outbound, next_at: u64) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM outbound WHERE state = 'waiting'";
    let waiting: i64 = db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    if waiting >= LIMIT {
        return Ok(false);
    }
    let sql = "INSERT OR IGNORE INTO outbound (id, url, path, recipient, message, attempts, next_at, expires_at, state)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'waiting')";
    let Outbound { id, url, path, recipient, message, attempts, expires_at, .. } = new;
    let next_at = stored(next_at);
    db.prepare_cached(sql)?.execute(params![id, url, path, recipient, message, attempts, next_at, expires_at])?;
    Ok(true)
}

/// The message with this id, in any state.
pub(crate) fn find(db: &Connection, id: &[u8]) -> rusqlite::Result<Option<Outbound>> {
    let sql = format!("SELECT {COLUMNS} FROM outbound WHERE id = ?");
    db.prepare_cached(&sql)?.query_row([id], read).optional()
}

/// The messages whose next copy is due, the most urgent first.
pub(crate) fn due(db: &Connection, now: u64) -> rusqlite::Result<Vec<Outbound>> {
    let sql =
        format!("SELECT {COLUMNS} FROM outbound WHERE state = 'waiting' AND next_at <= ? ORDER BY next_at LIMIT 64");
    db.prepare_cached(&sql)?.query_map([stored(now)], read)?.collect()
}

/// Counts one more copy and sets when the next one is due. `id` is its id from now on.
pub(crate) fn sent(db: &Connection, old_id: &[u8], id: &[u8], message: &[u8], next_at: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE outbound SET attempts = attempts + 1, id = ?, message = ?, next_at = ? WHERE id = ?";
    db.prepare_cached(sql)?.execute(params![id, message, stored(next_at), old_id])?;
    Ok(())
}

/// Moves the next copy to another time.
pub(crate) fn reschedule(db: &Connection, id: &[u8], next_at: u64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE outbound SET next_at = ? WHERE id = ?")?.execute(params![stored(next_at), id])?;
    Ok(())
}

/// Ends the waiting: `confirmed` or `failed`.
pub(crate) fn settle(db: &Connection, id: &[u8], state: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE outbound SET state = ? WHERE id = ? AND state = 'waiting'";
    db.prepare_cached(sql)?.execute(params![state, id])?;
    Ok(())
}

/// Removes settled and expired messages.
pub(crate) fn prune(db: &Connection, now: u64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM outbound WHERE state <> 'waiting' AND expires_at < ?";
    db.prepare_cached(sql)?.execute([stored(now)])?;
    Ok(())
}
