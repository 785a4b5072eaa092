//! Faults of an invalidation.

use rusqlite::Connection;

use crate::agentic::fact::Fact;
use crate::agentic::refusal::Refusal;
use crate::agentic::tables::facts;
use crate::instant::Instant;
use crate::json::Object;

/// `invalidate-inserts-null`: Inserts a row with an empty value.
pub(in crate::agentic) fn insert_empty(db: &Connection, mut fact: Object, at: Instant) -> Result<(), Refusal> {
    fact.set("fact_id", facts::new_id(db)?);
    fact.set("value", "");
    fact.set("valid_from", at.to_string());
    facts::insert(db, &Fact { object: fact, valid_from: at, valid_to: None })
}

/// `invalidate-deletes`: Deletes the row.
pub(in crate::agentic) fn delete(db: &Connection, fact_id: &str) -> Result<bool, Refusal> {
    db.execute("DELETE FROM facts WHERE fact_id = ?", [fact_id])?;
    Ok(true)
}
