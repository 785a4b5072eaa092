//! Faults of a pull.

use rusqlite::Connection;

use crate::agentic::hash::content_hash;
use crate::agentic::rules::Rules;
use crate::agentic::tables::packages::{self, Package};
use crate::instant::Instant;
use crate::json::{Object, Value};

/// `specific-shortened`: Leaves long members out of a specific pull.
pub(in crate::agentic) fn shorten(package: &mut Object) {
    package.retain(|name, _| !["content_md", "description", "deliverables"].contains(&name));
}

/// `hash-recomputed-per-read`: Adds the time of the read to the hashed object, so each read reports another hash.
pub(in crate::agentic) fn hash_of_reading(package: &Package, rules: Rules, now: Instant) -> String {
    let mut object = package.object.clone();
    object.set("read_at", now.to_string());
    content_hash(&object, package.text.as_bytes(), rules)
}

/// `reading-sorts-lists`: Sorts the lists of a stored package when an answer with several packages shows it.
pub(in crate::agentic) fn sort_stored(db: &Connection, rules: Rules, shown: &[Package]) {
    // The connection of a reader writes nothing; a snapshot that is no longer the newest one cannot be written to.
    db.pragma_update(None, "query_only", false).ok();
    for package in shown {
        let mut sorted = package.object.clone();
        for name in ["tags", "decisions_made", "open_questions"] {
            if let Some(Value::List(items)) = sorted.present(name) {
                let mut items = items.clone();
                items.sort_by(|left, right| left.as_text().cmp(&right.as_text()));
                sorted.set(name, Value::List(items));
            }
        }
        let hash = content_hash(&sorted, b"", rules);
        packages::rewrite(db, package.id(), &sorted, &hash).ok();
    }
}

/// `relevant-returns-chunks`: Returns matching text fragments with a score and a package id.
pub(in crate::agentic) fn chunks(packages: &[Package]) -> Value {
    let chunk = |package: &Package| {
        let text: String = package.object.text("title").unwrap_or_default().chars().take(40).collect();
        Object::from([("package_id", package.id().into()), ("text", text.into()), ("similarity", 1.into())]).into()
    };
    Value::List(packages.iter().map(chunk).collect())
}

/// `latest-of-last-hundred`: the packages of a project that were deposited last.
pub(in crate::agentic) const LAST_HUNDRED: &str =
    "AND serial IN (SELECT serial FROM packages WHERE project_id = ?1 ORDER BY serial DESC LIMIT 100)";
