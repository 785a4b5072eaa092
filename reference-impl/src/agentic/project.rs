//! Projects and sessions (5.2, 5.5, E33): their operations.

use rusqlite::Connection;

use super::refusal::{Code, Problem, Refusal};
use super::rules::Rules;
use super::shown;
use super::tables::{projects, sessions as table};
use crate::instant::Instant;
use crate::json::{Object, Value};

/// Makes a project out of `{"project_id", "name"?}`.
pub(crate) fn create(db: &Connection, input: &Object, now: Instant) -> Result<Object, Refusal> {
    let id = input.text("project_id").ok_or_else(|| vec![Problem::new("/project_id", "must be a string")])?;
    if input.present("name").is_some_and(|name| name.as_text().is_none()) {
        return Err(vec![Problem::new("/name", "must be a string")].into());
    }
    if projects::find(db, id)?.is_some() {
        return Err(Refusal::new(Code::DuplicateProjectId, format!("project {id:?} exists")).at("/project_id"));
    }
    let record = Object::from([
        ("project_id", id.into()),
        ("name", input.text("name").unwrap_or(id).into()),
        ("created_at", now.to_string().into()),
        ("archived_at", Value::Null),
    ]);
    projects::insert(db, id, &record)?;
    Ok(record)
}

/// The sessions of a project that exists.
pub(crate) fn sessions(db: &Connection, rules: Rules, project_id: &str) -> Result<Vec<Object>, Refusal> {
    projects::demand(db, project_id)?;
    let sessions = table::of_project(db, project_id, rules)?;
    Ok(sessions.into_iter().map(|session| shown::session(session, rules)).collect())
}
