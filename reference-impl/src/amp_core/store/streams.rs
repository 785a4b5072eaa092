//! Streams that are being received (6.2): the start, each chunk once, and the expiry.

use rusqlite::{Connection, OptionalExtension, params};

use super::stored;

/// Opens a stream; `false` if the sender has one of this name.
pub(crate) fn open(
    db: &Connection,
    sender: &str,
    stream_id: &str,
    start: &[u8],
    timeout_at: u64,
) -> rusqlite::Result<bool> {
    let sql = "INSERT OR IGNORE INTO stream VALUES (?, ?, ?, ?, 'open')";
    Ok(db.prepare_cached(sql)?.execute(params![sender, stream_id, start, stored(timeout_at)])? == 1)
}

/// The number of open streams of `sender`.
pub(crate) fn count_open(db: &Connection, sender: &str) -> rusqlite::Result<usize> {
    let sql = "SELECT count(*) FROM stream WHERE sender = ? AND state = 'open'";
    db.prepare_cached(sql)?.query_row([sender], |row| row.get::<_, i64>(0)).map(|n| usize::try_from(n).unwrap_or(0))
}

/// The start and the state of a stream.
pub(crate) fn find(db: &Connection, sender: &str, stream_id: &str) -> rusqlite::Result<Option<(Vec<u8>, String)>> {
    let sql = "SELECT start, state FROM stream WHERE sender = ? AND stream_id = ?";
    db.prepare_cached(sql)?.query_row(params![sender, stream_id], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Stores or replaces the chunk with this index.
pub(crate) fn put(db: &Connection, sender: &str, stream_id: &str, place: u64, data: &[u8]) -> rusqlite::Result<()> {
    let sql = "INSERT INTO chunk (sender, stream_id, place, data) VALUES (?, ?, ?, ?)
               ON CONFLICT DO UPDATE SET data = excluded.data";
    db.prepare_cached(sql)?.execute(params![sender, stream_id, stored(place), data])?;
    Ok(())
}

/// The chunk with this index, if it is there.
pub(crate) fn chunk(db: &Connection, sender: &str, stream_id: &str, place: u64) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT data FROM chunk WHERE sender = ? AND stream_id = ? AND place = ?";
    db.prepare_cached(sql)?.query_row(params![sender, stream_id, stored(place)], |row| row.get(0)).optional()
}

/// The chunks in the order of their arrival, each with its index.
pub(crate) fn chunks(db: &Connection, sender: &str, stream_id: &str) -> rusqlite::Result<Vec<(u64, Vec<u8>)>> {
    let sql = "SELECT place, data FROM chunk WHERE sender = ? AND stream_id = ? ORDER BY arrival";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?));
    db.prepare_cached(sql)?.query_map(params![sender, stream_id], row)?.collect()
}

/// Ends a stream and frees its chunks; its name stays taken, so that late chunks find it closed (6.3).
pub(crate) fn close(db: &Connection, sender: &str, stream_id: &str, state: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM chunk WHERE sender = ? AND stream_id = ?")?.execute(params![sender, stream_id])?;
    db.prepare_cached("UPDATE stream SET state = ? WHERE sender = ? AND stream_id = ?")?
        .execute(params![state, sender, stream_id])?;
    Ok(())
}

/// Gives a stream more time.
pub(crate) fn prolong(db: &Connection, sender: &str, stream_id: &str, timeout_at: u64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE stream SET timeout_at = ? WHERE sender = ? AND stream_id = ?")?.execute(params![
        stored(timeout_at),
        sender,
        stream_id
    ])?;
    Ok(())
}

/// Removes expired streams, finished or not.
pub(crate) fn prune(db: &Connection, now: u64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM stream WHERE timeout_at < ?")?.execute([stored(now)])?;
    Ok(())
}

/// The number of received bytes of a stream.
pub(crate) fn size(db: &Connection, sender: &str, stream_id: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE sender = ? AND stream_id = ?";
    db.prepare_cached(sql)?.query_row(params![sender, stream_id], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
