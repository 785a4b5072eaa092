//! Requests of each source within the window of the rate limit.

use rusqlite::{Connection, params};

/// Counts a request at `now`, unless `most` of this source came after `since`. Returns whether it was counted.
pub(in crate::meshai) fn take(
    db: &Connection,
    source: &str,
    now: i64,
    since: i64,
    most: i64,
) -> rusqlite::Result<bool> {
    db.prepare_cached("DELETE FROM rate WHERE source = ? AND at <= ?")?.execute(params![source, since])?;
    let sql = "SELECT count(*) FROM rate WHERE source = ?";
    let taken: i64 = db.prepare_cached(sql)?.query_row([source], |row| row.get(0))?;
    if taken >= most {
        return Ok(false);
    }
    let sql = "INSERT INTO rate (source, at, number)
        VALUES (?1, ?2, (SELECT coalesce(max(number), 0) + 1 FROM rate WHERE source = ?1))";
    db.prepare_cached(sql)?.execute(params![source, now])?;
    Ok(true)
}
