//! Projects (5.2): the scope of everything else. An archived project still exists.

use rusqlite::{Connection, OptionalExtension};

use super::object;
use crate::agentic::refusal::Refusal;
use crate::agentic::rules::Rules;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// A project as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) record: Object,
    pub(crate) archived: bool,
}

pub(crate) fn find(db: &Connection, project_id: &str) -> Result<Option<Project>, Refusal> {
    let mut query = db.prepare_cached("SELECT record, archived_at IS NOT NULL FROM projects WHERE project_id = ?")?;
    let row = query.query_row([project_id], |row| Ok((row.get::<_, String>(0)?, row.get(1)?))).optional()?;
    row.map(|(record, archived)| Ok(Project { record: object(&record)?, archived })).transpose()
}

/// The project, or 404 (binding.md section 14).
pub(crate) fn demand(db: &Connection, project_id: &str) -> Result<Project, Refusal> {
    find(db, project_id)?.ok_or_else(|| Refusal::no_project(project_id))
}

/// The project of a query.
pub(crate) fn demand_for_reading(db: &Connection, rules: Rules, project_id: &str) -> Result<Project, Refusal> {
    // Other, E34: a project without content is empty, not unknown.
    if rules.variant.is_other() {
        let unknown = || Project { record: Object::from([("project_id", project_id.into())]), archived: false };
        return Ok(find(db, project_id)?.unwrap_or_else(unknown));
    }
    demand(db, project_id)
}

/// The project, created by the first write to it (E33).
pub(crate) fn find_or_create(db: &Connection, project_id: &str, now: Instant) -> Result<Project, Refusal> {
    if let Some(project) = find(db, project_id)? {
        return Ok(project);
    }
    let record = Object::from([
        ("project_id", project_id.into()),
        ("name", project_id.into()),
        ("created_at", now.to_string().into()),
        ("archived_at", Value::Null),
    ]);
    insert(db, project_id, &record)?;
    Ok(Project { record, archived: false })
}

/// Stores a new project.
pub(crate) fn insert(db: &Connection, project_id: &str, record: &Object) -> Result<(), Refusal> {
    let mut statement = db.prepare_cached("INSERT INTO projects (project_id, record, archived_at) VALUES (?, ?, ?)")?;
    statement.execute((project_id, record.write(), record.text("archived_at")))?;
    Ok(())
}

/// 5.2: archiving sets archived_at and nothing else; restoring sets it to null again.
pub(crate) fn set_archived(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    at: Option<Instant>,
) -> Result<Object, Refusal> {
    let Project { mut record, archived } = demand(db, project_id)?;
    // 5.2: a project that is archived stays so until it is restored.
    planted!(rules.fault, "archive-toggles", archived && at.is_some() => return set_archived(db, rules, project_id, None));
    if archived == at.is_some() {
        return Ok(record);
    }
    record.set("archived_at", at.map(|at| at.to_string()));
    let archived_at = record.text("archived_at").map(str::to_owned);
    // 5.2: archiving is reversible, however often.
    planted!(rules.fault, "restored-once-only", at.is_none() && is_restored_again(&mut record) => return Ok(record));
    // 5.2: archived_at is the time.
    planted!(rules.fault, "archived-at-as-flag", record.set("archived_at", at.is_some()));
    let mut statement = db.prepare_cached("UPDATE projects SET record = ?, archived_at = ? WHERE project_id = ?")?;
    statement.execute((record.write(), archived_at, project_id))?;
    planted!(rules.fault, "archive-deletes", at.is_some() => delete_packages(db, project_id)?);
    planted!(rules.fault, "archive-keeps-newest-five", at.is_some() => delete_older(db, project_id)?);
    planted!(rules.fault, "archive-ends-the-wait", at.is_some() => end_wait(db, project_id)?);
    planted!(rules.fault, "archive-drops-unknown", at.is_some() => drop_unknown(db, project_id)?);
    // 5.2: restoring concerns one project.
    planted!(rules.fault, "restore-restores-all", at.is_none() => restore_all(db)?);
    Ok(record)
}

/// Whether a project was restored before.
fn is_restored_again(record: &mut Object) -> bool {
    let before = record.get("restored").is_some();
    record.set("restored", true);
    before
}

/// Takes the packages of a project off the review list.
fn end_wait(db: &Connection, project_id: &str) -> Result<(), Refusal> {
    db.execute("UPDATE packages SET status = '' WHERE project_id = ?", [project_id])?;
    Ok(())
}

/// Removes a member that is not in the tables of section 6 from the packages of a project.
fn drop_unknown(db: &Connection, project_id: &str) -> Result<(), Refusal> {
    db.execute(
        "UPDATE packages SET record = replace(record, '\"future_field\"', '\"future\"') WHERE project_id = ?",
        [project_id],
    )?;
    Ok(())
}

/// Deletes all packages of a project but the newest five.
fn delete_older(db: &Connection, project_id: &str) -> Result<(), Refusal> {
    let kept = "SELECT package_id FROM packages WHERE project_id = ?1 ORDER BY created_at DESC LIMIT 5";
    db.execute(&format!("DELETE FROM packages WHERE project_id = ?1 AND package_id NOT IN ({kept})"), [project_id])?;
    Ok(())
}

/// Deletes the packages of a project, which the protocol never does.
fn delete_packages(db: &Connection, project_id: &str) -> Result<(), Refusal> {
    db.execute("DELETE FROM packages WHERE project_id = ?", [project_id])?;
    Ok(())
}

/// Restores every archived project, which the protocol never does.
fn restore_all(db: &Connection) -> Result<(), Refusal> {
    db.execute("UPDATE projects SET record = json_set(record, '$.archived_at', NULL), archived_at = NULL", [])?;
    Ok(())
}

/// Every project, oldest first.
pub(crate) fn all(db: &Connection) -> Result<Vec<Object>, Refusal> {
    let mut query = db.prepare_cached("SELECT record FROM projects ORDER BY rowid")?;
    let records = query.query_map([], |row| row.get::<_, String>(0))?;
    records.map(|record| object(&record?)).collect()
}

/// Per project: id, number of packages, number of current facts.
pub(crate) fn counts(db: &Connection) -> Result<Vec<(String, i64, i64)>, Refusal> {
    let mut query = db.prepare_cached(
        "SELECT project_id,
                (SELECT count(*) FROM packages WHERE packages.project_id = projects.project_id),
                (SELECT count(*) FROM facts WHERE facts.project_id = projects.project_id AND valid_to IS NULL)
         FROM projects ORDER BY rowid",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.map(|row| row.map_err(Refusal::from)).collect()
}
