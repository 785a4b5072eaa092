//! The replies to messages that were processed (16.2), keyed by sender and id.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::stored;

/// Maximum number of entries: the oldest are removed first, so that a flood cannot fill the disk.
const ENTRY_LIMIT: i64 = 200_000;

/// The stored replies.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) replies: Vec<Vec<u8>>,
}

/// The entry of `sender` and `id`, if its time is not over.
pub(crate) fn find(db: &Connection, sender: &str, id: &[u8], now: u64) -> rusqlite::Result<Option<Seen>> {
    let sql = "SELECT status, replies FROM seen WHERE sender = ? AND id = ? AND keep_until >= ?";
    db.prepare_cached(sql)?.query_row(params![sender, id, stored(now)], entry).optional()
}

/// Whether any sender used `id`, and the replies.
pub(crate) fn find_by_id(db: &Connection, id: &[u8], now: u64) -> rusqlite::Result<Option<Seen>> {
    let sql = "SELECT status, replies FROM seen WHERE id = ? AND keep_until >= ?";
    db.prepare_cached(sql)?.query_row(params![id, stored(now)], entry).optional()
}

/// The entry of `sender` and `id` among the latest hundred of all senders.
pub(crate) fn find_recent(db: &Connection, sender: &str, id: &[u8]) -> rusqlite::Result<Option<Seen>> {
    let sql = "SELECT status, replies FROM seen WHERE sender = ? AND id = ? AND number > (SELECT max(number) FROM seen) - 100";
    db.prepare_cached(sql)?.query_row(params![sender, id], entry).optional()
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Seen> {
    Ok(Seen { status: row.get(0)?, replies: unpacked(&row.get::<_, Vec<u8>>(1)?) })
}

/// Stores the replies until `keep_until`, replacing an expired entry.
pub(crate) fn remember(
    db: &Connection,
    sender: &str,
    id: &[u8],
    keep_until: u64,
    entry: &Seen,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO seen (sender, id, keep_until, status, replies) VALUES (?, ?, ?, ?, ?)";
    let replies = packed(&entry.replies);
    db.prepare_cached(sql)?.execute(params![sender, id, stored(keep_until), entry.status, replies])?;
    Ok(())
}

/// Adds a reply that was made later than the others.
pub(crate) fn add_reply(db: &Connection, sender: &str, id: &[u8], reply: &[u8]) -> rusqlite::Result<()> {
    let Some(mut entry) = find(db, sender, id, 0)? else { return Ok(()) };
    entry.replies.push(reply.to_vec());
    let replies = packed(&entry.replies);
    db.prepare_cached("UPDATE seen SET replies = ? WHERE sender = ? AND id = ?")?
        .execute(params![replies, sender, id])?;
    Ok(())
}

/// Removes expired entries, and the oldest beyond the limit.
pub(crate) fn prune(db: &Connection, now: u64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM seen WHERE keep_until < ?")?.execute([stored(now)])?;
    db.prepare_cached("DELETE FROM seen WHERE number <= (SELECT max(number) FROM seen) - ?")?.execute([ENTRY_LIMIT])?;
    Ok(())
}

/// Byte strings one after the other, each behind its length.
fn packed(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.iter().map(|item| item.len() + 4).sum());
    for item in items {
        out.extend_from_slice(&u32::try_from(item.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(item);
    }
    out
}

fn unpacked(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut items = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let Some((item, rest)) = rest.split_at_checked(length) else { break };
        items.push(item.to_vec());
        bytes = rest;
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_come_back_byte_for_byte() {
        for items in [vec![], vec![vec![]], vec![vec![1, 2], vec![], vec![0; 300]]] {
            assert_eq!(unpacked(&packed(&items)), items);
        }
    }
}
