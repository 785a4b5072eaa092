//! Section 7.3, the questions: what holds now, what held at an instant, and what ever held.

use rusqlite::Connection;

use super::faults::intake::{in_nanoseconds, in_seconds};
use super::refusal::Refusal;
use super::rules::Rules;
use super::shown;
use super::tables::{facts, projects};
use crate::fault::{Planted, planted};
use crate::instant::Instant;
use crate::json::Object;

/// The parameters of query-facts.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactQuery {
    pub(crate) subject: Option<String>,
    pub(crate) predicate: Option<String>,
    /// The requested instant, and its spelling.
    pub(crate) as_of: Option<(Instant, String)>,
    pub(crate) include_ended: bool,
    pub(crate) limit: Option<usize>,
}

/// 7.3: the current facts, those valid at an instant, or all with their history; earliest first.
pub(crate) fn query(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    query: FactQuery,
    now: Instant,
) -> Result<Vec<Object>, Refusal> {
    projects::demand_for_reading(db, rules, project_id)?;
    let by_text = rules.fault.is("pit-text-compare");
    let mut as_of = query.as_of.filter(|_| !rules.fault.is("pit-ignores-as-of"));
    // 7.3: instants of any year are compared.
    planted!(rules.fault, "as-of-in-seconds", as_of = as_of.map(|(at, text)| (in_seconds(at), text)));
    planted!(rules.fault, "as-of-in-nanoseconds", as_of = as_of.map(|(at, text)| (in_nanoseconds(at), text)));
    let held = match as_of {
        Some(_) => held_at(rules.fault, by_text),
        // 7.3: the default is the current value.
        None if query.include_ended || rules.fault.is("current-means-history") => "?4 IS ?4".to_owned(),
        None => format!("?4 IS ?4 AND {}", facts::is_current(rules, now)),
    };
    // 5.2: a fact is listed in its own project only.
    let scope = if rules.fault.is("facts-of-all-projects") { "?1 IS ?1" } else { "project_id = ?1" };
    // A bare parameter as limit would have SQLite compile the statement again for each value.
    let condition = format!(
        "WHERE {scope} AND (?2 IS NULL OR subject = ?2) AND (?3 IS NULL OR predicate = ?3) AND {held}
         ORDER BY valid_from, serial LIMIT ?5 + 0"
    );
    let limit = query.limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
    let instant = as_of.map(|(instant, spelling)| if by_text { spelling } else { instant.key() });
    let values =
        vec![project_id.to_owned().into(), query.subject.into(), query.predicate.into(), instant.into(), limit.into()];
    let facts = facts::select(db, &condition, values)?;
    Ok(facts.into_iter().map(|fact| shown::fact(fact, rules)).collect())
}

/// 7.3: valid_from <= instant < valid_to, a null valid_to being plus infinity; as times, not as text.
fn held_at(fault: Planted, by_text: bool) -> String {
    let (from, to) =
        if by_text { ("record ->> '$.valid_from'", "record ->> '$.valid_to'") } else { ("valid_from", "valid_to") };
    let starts = if fault.is("pit-start-exclusive") { "<" } else { "<=" };
    let ends = if fault.is("pit-end-inclusive") { "<=" } else { "<" };
    let open = if fault.is("pit-null-excluded") { String::new() } else { format!("{to} IS NULL OR ") };
    format!("{from} {starts} ?4 AND ({open}?4 {ends} {to})")
}
