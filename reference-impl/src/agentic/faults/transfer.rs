//! Faults of export and import.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::agentic::package::CORE_MEMBERS;
use crate::agentic::refusal::{Problem, Refusal};
use crate::agentic::rules::Rules;
use crate::agentic::tables::{facts, sessions};
use crate::instant::Instant;
use crate::json::{Number, Object, Value};

/// `import-rounds-confidence`: Keeps a confidence of imported facts in hundredths, and none if it is zero.
pub(in crate::agentic) fn round_confidence(fact: &mut Object) {
    let confidence = fact.get("confidence").and_then(Value::as_number).map(Number::as_f64);
    if confidence.is_some_and(|confidence| confidence < 0.01) {
        fact.remove("confidence");
    }
}

/// `import-reads-plain-lines`: What comes before the first blank line, carriage return, or last line without a line feed.
pub(in crate::agentic) fn plain_lines(ndjson: &[u8]) -> &[u8] {
    let last = ndjson.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
    let pair = |pair: &[u8]| ndjson.windows(2).position(|two| two == pair).unwrap_or(last);
    &ndjson[..last.min(pair(b"\n\n")).min(pair(b"\r\n"))]
}

/// `export-drops-unknown`: Leaves unknown members of packages out of an export.
pub(in crate::agentic) fn drop_unknown(package: &mut Object) {
    package.retain(|name, _| CORE_MEMBERS.contains(&name));
}

/// `export-pages-by-start`: The first fifty facts of each start.
pub(in crate::agentic) fn keep_page_of_each_start(facts: &mut Vec<Object>) {
    let mut seen = HashMap::new();
    facts.retain(|fact| {
        let shown = seen.entry(fact.text("valid_from").unwrap_or_default().to_owned()).or_insert(0);
        *shown += 1;
        *shown <= 50
    });
}

/// `export-store-names`: Export writes store columns (relation, object, ended_at) instead of wire names.
pub(in crate::agentic) fn with_store_names(fact: &Object) -> Object {
    let renamed = fact.iter().map(|(name, value)| {
        let name = match name {
            "fact_id" => "id",
            "predicate" => "relation",
            "value" => "object",
            "valid_to" => "ended_at",
            other => other,
        };
        (name.to_owned(), value.clone())
    });
    renamed.collect()
}

/// `import-known-members-only`: Rejects packages with unknown members in an import.
pub(in crate::agentic) fn refuse_unknown(package: &Object) -> Result<(), Refusal> {
    if package.iter().any(|(name, _)| !CORE_MEMBERS.contains(&name)) {
        return Err(vec![Problem::new("", "has members that are not known")].into());
    }
    Ok(())
}

/// `import-respells-times`: Gives imported packages a created_at with milliseconds.
pub(in crate::agentic) fn respell_time(package: &mut Object) {
    if let Some(time) = package.text("created_at").and_then(Instant::parse) {
        package.set("created_at", time.with_milliseconds());
    }
}

/// `import-restamps-facts`: Import gives facts a new created_at and new ids.
pub(in crate::agentic) fn restamp(db: &Connection, fact: &mut Object, now: Instant) -> Result<(), Refusal> {
    fact.set("fact_id", facts::new_id(db)?);
    fact.set("created_at", now.to_string());
    Ok(())
}

/// `callsign-as-key`: Refuses a second session with the same callsign.
pub(in crate::agentic) fn refuse_callsign(db: &Connection, rules: Rules, session: &Object) -> Result<(), Refusal> {
    let known = sessions::of_project(db, session.text("project_id").unwrap_or_default(), rules)?;
    let taken = |other: &Object| other.text("callsign") == session.text("callsign") && other != session;
    if known.iter().any(taken) {
        return Err(vec![Problem::new("/callsign", "must be new")].into());
    }
    Ok(())
}
