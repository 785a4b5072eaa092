//! Custody that went from one relay to another (RFC 003, 5.6).

use rusqlite::{Connection, OptionalExtension, params};

use super::stored;

/// What identifies a transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    pub(crate) sender: &'a str,
    pub(crate) id: &'a [u8],
    pub(crate) recipient: &'a str,
    /// Whether the transfer is incoming; otherwise it is outgoing.
    pub(crate) upstream: bool,
}

/// A transfer: the other relay, the state, and the receipt.
#[derive(Debug, Clone)]
pub(crate) struct Transfer {
    pub(crate) peer: String,
    pub(crate) state: String,
    pub(crate) receipt: Option<Vec<u8>>,
}

/// Notes a transfer, or what became of it.
pub(crate) fn put(db: &Connection, key: Key<'_>, transfer: &Transfer, expires_at: u64) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO transfer (sender, id, recipient, peer, upstream, state, receipt, expires_at)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    let Key { sender, id, recipient, upstream } = key;
    let Transfer { peer, state, receipt } = transfer;
    let expires_at = stored(expires_at);
    db.prepare_cached(sql)?.execute(params![sender, id, recipient, peer, upstream, state, receipt, expires_at])?;
    Ok(())
}

/// A transfer that is known.
pub(crate) fn find(db: &Connection, key: Key<'_>) -> rusqlite::Result<Option<Transfer>> {
    let sql = "SELECT peer, state, receipt FROM transfer
               WHERE sender = ? AND id = ? AND recipient = ? AND upstream = ?";
    let row = |row: &rusqlite::Row<'_>| Ok(Transfer { peer: row.get(0)?, state: row.get(1)?, receipt: row.get(2)? });
    let Key { sender, id, recipient, upstream } = key;
    db.prepare_cached(sql)?.query_row(params![sender, id, recipient, upstream], row).optional()
}

/// Moves a transfer to another state.
pub(crate) fn advance(db: &Connection, key: Key<'_>, peer: &str, state: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE transfer SET state = ?, peer = ? WHERE sender = ? AND id = ? AND recipient = ? AND upstream = ?";
    let Key { sender, id, recipient, upstream } = key;
    db.prepare_cached(sql)?.execute(params![state, peer, sender, id, recipient, upstream])?;
    Ok(())
}
