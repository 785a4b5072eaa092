//! Messages that wait for a recipient (16.5; RFC 002, 6.2).

use rusqlite::{Connection, OptionalExtension, params};

use super::stored;

/// Maximum number of queued messages per recipient, and in total.
const RECIPIENT_LIMIT: i64 = 2_000;
const TOTAL_LIMIT: i64 = 50_000;

/// Maximum size of the messages of a page in bytes, unless a single message is larger.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The queue has no room for another message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// A message to keep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parcel<'a> {
    /// Without fragment.
    pub(crate) sender: &'a str,
    pub(crate) id: &'a [u8],
    pub(crate) raw: &'a [u8],
    pub(crate) expires_at: u64,
}

/// One page of what waits for a recipient.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    /// Each message with its place.
    pub(crate) messages: Vec<(i64, Vec<u8>)>,
    /// Whether more is waiting behind it.
    pub(crate) more: bool,
}

/// Queues `parcel` for each of `recipients`; an existing entry is kept.
pub(crate) fn put(
    db: &Connection,
    parcel: Parcel<'_>,
    recipients: &[String],
    transfer: Option<&str>,
) -> rusqlite::Result<Result<(), Full>> {
    let total: i64 = db.query_row("SELECT count(*) FROM parcel", [], |row| row.get(0))?;
    if total >= TOTAL_LIMIT {
        return Ok(Err(Full));
    }
    for recipient in recipients {
        let sql = "SELECT count(*) FROM delivery WHERE recipient = ? AND state = 'pending'";
        let waiting: i64 = db.prepare_cached(sql)?.query_row([recipient], |row| row.get(0))?;
        if waiting >= RECIPIENT_LIMIT {
            return Ok(Err(Full));
        }
    }
    let Parcel { sender, id, raw, expires_at } = parcel;
    db.prepare_cached("INSERT OR IGNORE INTO parcel (sender, id, raw, expires_at) VALUES (?, ?, ?, ?)")?
        .execute(params![sender, id, raw, stored(expires_at)])?;
    let sql = "INSERT OR IGNORE INTO delivery (parcel, recipient, state, transfer)
               SELECT parcel, ?, 'pending', ? FROM parcel WHERE sender = ? AND id = ?";
    for recipient in recipients {
        db.prepare_cached(sql)?.execute(params![recipient, transfer, sender, id])?;
    }
    Ok(Ok(()))
}

/// At most `limit` of the messages behind `after` that wait for `recipient` at the time `alive_at`.
pub(crate) fn page(
    db: &Connection,
    recipient: &str,
    after: i64,
    limit: usize,
    alive_at: u64,
) -> rusqlite::Result<Page> {
    // A bare parameter as limit would have SQLite compile the statement again for each value.
    let sql = "SELECT place, raw FROM delivery JOIN parcel USING (parcel)
               WHERE recipient = ? AND state = 'pending' AND place > ? AND expires_at >= ? ORDER BY place LIMIT ? + 0";
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query(params![recipient, after, stored(alive_at), wanted])?;
    let (mut messages, mut bytes, mut more) = (Vec::new(), 0, false);
    while let Some(row) = rows.next()? {
        let (place, raw): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        bytes += raw.len();
        more = messages.len() == limit || (bytes > PAGE_BYTES && !messages.is_empty());
        if more {
            break;
        }
        messages.push((place, raw));
    }
    Ok(Page { messages, more })
}

/// The message of `sender` with this id that is or was queued for `recipient`, and how it arrived.
pub(crate) fn find(
    db: &Connection,
    sender: &str,
    id: &[u8],
    recipient: &str,
) -> rusqlite::Result<Option<(Vec<u8>, Option<String>)>> {
    let sql = "SELECT raw, transfer FROM delivery JOIN parcel USING (parcel)
               WHERE sender = ? AND id = ? AND recipient = ?";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    db.prepare_cached(sql)?.query_row(params![sender, id, recipient], row).optional()
}

/// Notes that `recipient` has the message; the message goes when all of its recipients have it.
pub(crate) fn delivered(db: &Connection, sender: &str, id: &[u8], recipient: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE delivery SET state = 'delivered' WHERE recipient = ?
               AND parcel = (SELECT parcel FROM parcel WHERE sender = ? AND id = ?)";
    db.prepare_cached(sql)?.execute(params![recipient, sender, id])?;
    let sql = "DELETE FROM parcel WHERE sender = ? AND id = ?
               AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.parcel = parcel.parcel AND state = 'pending')";
    db.prepare_cached(sql)?.execute(params![sender, id])?;
    Ok(())
}

/// Removes a message for all of its recipients.
pub(crate) fn delivered_to_all(db: &Connection, sender: &str, id: &[u8]) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM parcel WHERE sender = ? AND id = ?")?.execute(params![sender, id])?;
    Ok(())
}

/// `relay-ack-cumulative`: marks what a recipient was sent before a message as delivered too.
pub(crate) fn up_to(db: &Connection, sender: &str, id: &[u8], recipient: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE delivery SET state = 'delivered' WHERE recipient = ?1 AND place < (SELECT place FROM delivery
               WHERE recipient = ?1 AND parcel = (SELECT parcel FROM parcel WHERE sender = ?2 AND id = ?3))";
    db.prepare_cached(sql)?.execute(params![recipient, sender, id])?;
    Ok(())
}

/// Removes one entry, in any state.
pub(crate) fn drop_place(db: &Connection, place: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM delivery WHERE place = ?")?.execute([place])?;
    Ok(())
}

/// Removes what expired before `now` (8.3).
pub(crate) fn prune(db: &Connection, now: u64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM parcel WHERE expires_at < ?")?.execute([stored(now)])?;
    db.prepare_cached("DELETE FROM transfer WHERE expires_at < ?")?.execute([stored(now)])?;
    Ok(())
}
