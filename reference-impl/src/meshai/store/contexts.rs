//! Contexts with their shared and private memory.

use rusqlite::{Connection, OptionalExtension, params};

use crate::json::{self, Object, Value};

/// A stored context without its private memory.
#[derive(Debug, Clone)]
pub(in crate::meshai) struct Context {
    pub(in crate::meshai) id: String,
    pub(in crate::meshai) session: String,
    pub(in crate::meshai) created_at: String,
    pub(in crate::meshai) expires_at: Option<String>,
    /// `expires_at` in milliseconds since 1970.
    pub(in crate::meshai) expiry: Option<i64>,
    pub(in crate::meshai) shared: Object,
    /// `access_control`.
    pub(in crate::meshai) access: Option<Object>,
    pub(in crate::meshai) parent: Option<String>,
    pub(in crate::meshai) root: String,
}

const COLUMNS: &str = "id, session, created_at, expires_at, expiry, shared, access, parent, root";

fn object(text: &str) -> Object {
    match json::read(text.as_bytes()) {
        Ok(Value::Object(object)) => object,
        _ => Object::new(), // only objects are written
    }
}

fn context(row: &rusqlite::Row<'_>) -> rusqlite::Result<Context> {
    let (shared, access): (String, Option<String>) = (row.get(5)?, row.get(6)?);
    Ok(Context {
        id: row.get(0)?,
        session: row.get(1)?,
        created_at: row.get(2)?,
        expires_at: row.get(3)?,
        expiry: row.get(4)?,
        shared: object(&shared),
        access: access.as_deref().map(object),
        parent: row.get(7)?,
        root: row.get(8)?,
    })
}

/// The context of this id.
pub(in crate::meshai) fn find(db: &Connection, id: &str) -> rusqlite::Result<Option<Context>> {
    let sql = format!("SELECT {COLUMNS} FROM context WHERE id = ?");
    db.prepare_cached(&sql)?.query_row([id], context).optional()
}

/// The first context of a session.
pub(in crate::meshai) fn of_session(db: &Connection, session: &str) -> rusqlite::Result<Option<Context>> {
    let sql = format!("SELECT {COLUMNS} FROM context WHERE session = ? ORDER BY number LIMIT 1");
    db.prepare_cached(&sql)?.query_row([session], context).optional()
}

/// Every context, the latest first.
pub(in crate::meshai) fn all(db: &Connection) -> rusqlite::Result<Vec<Context>> {
    let sql = format!("SELECT {COLUMNS} FROM context ORDER BY number DESC");
    db.prepare_cached(&sql)?.query_map([], context)?.collect()
}

/// Writes a context, in the place of an earlier state of it.
pub(in crate::meshai) fn put(db: &Connection, context: &Context) -> rusqlite::Result<()> {
    let sql = "INSERT INTO context (id, number, session, created_at, expires_at, expiry, shared, access, parent, root)
        VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM context), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (id) DO UPDATE SET session = ?2, created_at = ?3, expires_at = ?4, expiry = ?5, shared = ?6, access = ?7,
            parent = ?8, root = ?9";
    let Context { id, session, created_at, expires_at, expiry, shared, access, parent, root } = context;
    let access = access.as_ref().map(Object::write);
    let values = params![id, session, created_at, expires_at, expiry, shared.write(), access, parent, root];
    db.prepare_cached(sql)?.execute(values).map(drop)
}

/// The private memory of an agent in a context.
pub(in crate::meshai) fn private(db: &Connection, id: &str, agent: &str) -> rusqlite::Result<Option<Object>> {
    let sql = "SELECT memory FROM private WHERE context = ? AND agent = ?";
    let text: Option<String> = db.prepare_cached(sql)?.query_row([id, agent], |row| row.get(0)).optional()?;
    Ok(text.as_deref().map(object))
}

/// The private memory of every agent in a context.
pub(in crate::meshai) fn everyones(db: &Connection, id: &str) -> rusqlite::Result<Vec<(String, Object)>> {
    let sql = "SELECT agent, memory FROM private WHERE context = ? ORDER BY agent";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, object(&row.get::<_, String>(1)?)));
    db.prepare_cached(sql)?.query_map([id], row)?.collect()
}

/// Writes the private memory of an agent in a context.
pub(in crate::meshai) fn put_private(db: &Connection, id: &str, agent: &str, memory: &Object) -> rusqlite::Result<()> {
    let sql = "INSERT INTO private (context, agent, memory) VALUES (?1, ?2, ?3)
        ON CONFLICT (context, agent) DO UPDATE SET memory = ?3";
    db.prepare_cached(sql)?.execute(params![id, agent, memory.write()]).map(drop)
}

/// Removes the contexts that have expired by `now`.
pub(in crate::meshai) fn sweep(db: &Connection, now: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM context WHERE expiry <= ?")?.execute([now]).map(drop)
}
