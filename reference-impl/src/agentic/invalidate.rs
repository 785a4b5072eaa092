//! Sections 7.4 and 8.7, invalidate_fact: a fact ends without a successor.

use rusqlite::Connection;

use super::faults::assert::was_recorded_before;
use super::faults::invalidate as faults;
use super::refusal::{Code, Refusal};
use super::rules::Rules;
use super::tables::{facts, projects, texts};
use crate::fault::planted;
use crate::instant::Instant;

/// 8.7: ends the current facts of a subject and predicate now; returns their number.
pub(crate) fn invalidate(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    subject: Option<&str>,
    predicate: Option<&str>,
    object: Option<&str>,
    now: Instant,
) -> Result<i64, Refusal> {
    let project = projects::demand(db, project_id)?;
    if project.archived && !rules.variant.is_other() {
        return Err(Refusal::new(Code::ProjectArchived, format!("project {project_id:?} is archived")));
    }
    let fault = rules.fault;
    // 8.7: subject and predicate together; without a predicate no fact is selected, rather than all.
    let predicated = match predicate {
        _ if fault.is("invalidate-by-subject") => "?3 IS ?3",
        Some(_) => "predicate = ?3",
        None => {
            return Err(Refusal::new(Code::InvalidParameter, "parameter predicate is required"));
        }
    };
    // 8.7: subject is required and not empty; only a faulty server reaches this without it.
    let subjects = if subject.is_none() { "?2 IS ?2" } else { "subject = ?2" };
    // 8.7: object, if given, limits the operation to facts with that value.
    // Other, E49: it is reserved for facts with several values.
    let reserved = rules.variant.is_other();
    let object = object.filter(|_| !reserved && !fault.is("invalidate-ignores-object"));
    let open = if fault.is("invalidate-rewrites-history") { "?1 IS ?1" } else { "valid_to IS NULL" };
    // 8.7: selects facts with the value, not those without.
    let mut limited = if fault.is("invalidate-other-values") { "value <> ?4" } else { "value = ?4" };
    // 8.7: the value itself, not what resembles it.
    planted!(fault, "invalidate-by-pattern", limited = "value LIKE ?4");
    let pair = format!("WHERE project_id = ?1 AND {subjects} AND {predicated} AND (?4 IS NULL OR {limited})");
    let mut values = texts(&[project_id, subject.unwrap_or_default(), predicate.unwrap_or_default()]);
    values.push(object.map(str::to_owned).into());
    let mut ended = facts::select(db, &format!("{pair} AND {open} ORDER BY serial"), values.clone())?;
    // 8.7: a current fact ends, whichever way it came.
    planted!(fault, "invalidate-misses-imported", ended.retain(|fact| !was_recorded_before(fact, now)));
    let mut count = ended.len();
    planted!(fault, "invalidate-count-total", count = facts::select(db, &pair, values.clone())?.len());
    planted!(fault, "invalidate-zero-500", count == 0 => return Err(Refusal::new(Code::Internal, "no fact matches")));
    for fact in ended {
        let id = fact.text("fact_id").unwrap_or_default().to_owned();
        // 7.4: valid_to is now; a fact that was to start later gets an empty interval instead of a negative one.
        let start = fact.text("valid_from").and_then(Instant::parse).unwrap_or(now);
        // 7.4: the present time.
        let present = if fault.is("invalidate-at-the-start") { start } else { now };
        let at = present.max(start);
        let before = fact.clone();
        planted!(fault, "invalidate-deletes", faults::delete(db, &id)? => continue);
        facts::end(db, fact, &rules.spelled(at), at)?;
        planted!(fault, "invalidate-inserts-null", faults::insert_empty(db, before, at)?);
    }
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}
