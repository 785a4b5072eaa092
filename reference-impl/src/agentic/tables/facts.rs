//! Facts in the store. An ended fact stays where it is, with its end (7.3, 7.4).

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::object;
use crate::agentic::fact::Fact;
use crate::agentic::refusal::Refusal;
use crate::agentic::rules::Rules;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::Object;

/// 7.3: a fact is current exactly when it has no end.
pub(crate) fn is_current(rules: Rules, now: Instant) -> String {
    // Other, E39: a fact is current while it is valid.
    if rules.variant.is_other() {
        let now = now.key();
        return format!("valid_from <= '{now}' AND (valid_to IS NULL OR valid_to > '{now}')");
    }
    planted!(rules.fault, "current-by-interval", return "valid_from <= strftime('%Y-%m-%dT%H:%M:%fZ')".to_owned());
    "valid_to IS NULL".to_owned()
}

/// 7.1: a new id in the RECOMMENDED form, fact_ and 32 hexadecimal digits.
pub(crate) fn new_id(db: &Connection) -> Result<String, Refusal> {
    Ok(db.query_row("SELECT 'fact_' || lower(hex(randomblob(16)))", [], |row| row.get(0))?)
}

/// The facts that `condition` selects.
pub(crate) fn select(db: &Connection, condition: &str, values: Vec<Sql>) -> Result<Vec<Object>, Refusal> {
    let mut query = db.prepare_cached(&format!("SELECT record FROM facts {condition}"))?;
    let records = query.query_map(params_from_iter(values), |row| row.get::<_, String>(0))?;
    records.map(|record| object(&record?)).collect()
}

/// The current facts of a project, or of all, oldest first.
pub(crate) fn current(
    db: &Connection,
    rules: Rules,
    project_id: Option<&str>,
    now: Instant,
) -> Result<Vec<Object>, Refusal> {
    let current = is_current(rules, now);
    let values = vec![project_id.map(str::to_owned).into()];
    select(db, &format!("WHERE (?1 IS NULL OR project_id = ?1) AND {current} ORDER BY valid_from, serial"), values)
}

pub(crate) fn find(db: &Connection, fact_id: &str) -> Result<Option<Object>, Refusal> {
    let mut query = db.prepare_cached("SELECT record FROM facts WHERE fact_id = ?")?;
    let record = query.query_row([fact_id], |row| row.get::<_, String>(0)).optional()?;
    record.map(|record| object(&record)).transpose()
}

pub(crate) fn insert(db: &Connection, fact: &Fact) -> Result<(), Refusal> {
    let mut statement = db.prepare_cached(
        "INSERT INTO facts (fact_id, project_id, subject, predicate, value, record, valid_from, valid_to)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    statement.execute((
        fact.member("fact_id"),
        fact.member("project_id"),
        fact.member("subject"),
        fact.member("predicate"),
        fact.member("value"),
        fact.object.write(),
        fact.valid_from.key(),
        fact.valid_to.map(Instant::key),
    ))?;
    Ok(())
}

/// 7.3, 7.4: gives a fact its end, spelled `end` in the record.
pub(crate) fn end(db: &Connection, mut fact: Object, end: &str, at: Instant) -> Result<(), Refusal> {
    fact.set("valid_to", end);
    let mut statement = db.prepare_cached("UPDATE facts SET record = ?, valid_to = ? WHERE fact_id = ?")?;
    statement.execute((fact.write(), at.key(), fact.text("fact_id").unwrap_or_default()))?;
    Ok(())
}
