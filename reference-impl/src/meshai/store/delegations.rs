//! Delegations and the state of their callbacks.

use rusqlite::{Connection, params};

/// Writes an accepted delegation.
pub(in crate::meshai) fn accept(
    db: &Connection,
    id: &str,
    parent_task: &str,
    agent: &str,
    callback: Option<&str>,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO delegation (id, parent_task, agent, callback, state, attempts)
        VALUES (?, ?, ?, ?, 'accepted', 0)";
    db.prepare_cached(sql)?.execute(params![id, parent_task, agent, callback]).map(drop)
}

/// Writes how a delegation ended, and how often its callback was called.
pub(in crate::meshai) fn end(db: &Connection, id: &str, reported: bool, attempts: u32) -> rusqlite::Result<()> {
    let sql = "UPDATE delegation SET state = ?, attempts = ? WHERE id = ?";
    let state = if reported { "done" } else { "failed" };
    db.prepare_cached(sql)?.execute(params![state, attempts, id]).map(drop)
}
