//! Sessions (5.5): kept as imported, listed and exported.

use rusqlite::{Connection, OptionalExtension};

use super::object;
use crate::agentic::refusal::Refusal;
use crate::agentic::rules::Rules;
use crate::json::Object;

/// Stores a session; one that is there already stays as it is.
pub(crate) fn insert(
    db: &Connection,
    project_id: &str,
    session_id: &str,
    record: &Object,
    started_at: &str,
) -> Result<(), Refusal> {
    let mut statement = db.prepare_cached(
        "INSERT INTO sessions (project_id, session_id, record, started_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    )?;
    statement.execute((project_id, session_id, record.write(), started_at))?;
    Ok(())
}

/// Replaces a stored session.
pub(crate) fn update(db: &Connection, project_id: &str, session_id: &str, record: &Object) -> Result<(), Refusal> {
    let mut statement = db.prepare_cached("UPDATE sessions SET record = ? WHERE project_id = ? AND session_id = ?")?;
    statement.execute((record.write(), project_id, session_id))?;
    Ok(())
}

/// The stored session of this id, if any.
pub(crate) fn find(db: &Connection, project_id: &str, session_id: &str) -> Result<Option<Object>, Refusal> {
    let mut query = db.prepare_cached("SELECT record FROM sessions WHERE project_id = ? AND session_id = ?")?;
    let record = query.query_row([project_id, session_id], |row| row.get::<_, String>(0)).optional()?;
    record.map(|record| object(&record)).transpose()
}

/// The sessions of a project, oldest first.
pub(crate) fn of_project(db: &Connection, project_id: &str, rules: Rules) -> Result<Vec<Object>, Refusal> {
    // 5.5: a session is scoped to its project.
    let scope = if rules.fault.is("sessions-of-all-projects") { "?1 IS ?1" } else { "project_id = ?1" };
    let mut query =
        db.prepare_cached(&format!("SELECT record FROM sessions WHERE {scope} ORDER BY started_at, rowid"))?;
    let records = query.query_map([project_id], |row| row.get::<_, String>(0))?;
    records.map(|record| object(&record?)).collect()
}
