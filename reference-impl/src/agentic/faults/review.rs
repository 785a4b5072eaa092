//! Faults of a review.

use rusqlite::Connection;

use crate::agentic::hash::content_hash;
use crate::agentic::refusal::{Code, Problem, Refusal};
use crate::agentic::rules::Rules;
use crate::agentic::tables::packages::{self, Package};
use crate::instant::Instant;
use crate::json::{Object, Value};

/// `flag-note-refused`: Refuses a flag with a note.
pub(in crate::agentic) fn unknown_note() -> Refusal {
    vec![Problem::new("/note", "is not known")].into()
}

/// `custom-type-unreviewed`: Refuses to flag packages of custom types.
pub(in crate::agentic) fn unreviewed() -> Refusal {
    Refusal::new(Code::InvalidTransition, "packages of this type are not reviewed")
}

/// `awaiting-list-without-scripts`: Whether a package is the work of a script.
pub(in crate::agentic) fn is_automatic(package: &Package) -> bool {
    let author = package.object.get("created_by").and_then(Value::as_object);
    author.and_then(|author| author.text("type")) == Some("script")
}

/// `flag-checks-the-author`: Refuses the review of packages by scripts, of some types, and by a reviewer of the kind of the
/// author or not of the kind of the next actor.
pub(in crate::agentic) fn is_unfit(package: &Object, review_type: &str) -> bool {
    let author = package.get("created_by").and_then(Value::as_object).and_then(|author| author.text("type"));
    let next = package.text("estimated_next_actor");
    author == Some("script")
        || author == Some(review_type)
        || matches!(package.text("package_type"), Some("handoff" | "auto_deposit"))
        || next == Some("agent") && review_type == "human"
}

/// `self-move-resets-review`: Renames a package if a transition to its own state is requested.
pub(in crate::agentic) fn retitled(package: &Package) -> Object {
    let mut object = package.object.clone();
    object.set("title", format!("{} ({})", object.text("title").unwrap_or_default(), package.status()));
    object
}

/// `hash-stuck-after-flag`: After a transition reports a hash that fits neither the old nor the new state (hashes status in upper case).
pub(in crate::agentic) fn stuck_hash(package: &Package, rules: Rules) -> String {
    let mut shouting = package.object.clone();
    shouting.set("status", package.status().to_uppercase());
    content_hash(&shouting, package.text.as_bytes(), rules)
}

/// `awaiting-list-newest-twenty`: the newest packages of a project.
pub(in crate::agentic) const NEWEST_TWENTY: &str =
    "AND serial IN (SELECT serial FROM packages WHERE project_id = ?1 ORDER BY created_at DESC, serial DESC LIMIT 20)";

/// `awaiting-list-includes-reviewed`: or finished packages that name a reviewer.
pub(in crate::agentic) const OR_FINISHED: &str =
    "OR status = 'complete' AND json_extract(record, '$.review_type') <> 'none'";

/// `flag-misses-imported`: Whether a package was made a year ago or earlier.
pub(in crate::agentic) fn is_from_before(package: &Package, now: Instant) -> bool {
    let made = package.object.text("created_at").and_then(Instant::parse);
    made.is_some_and(|at| at < now.days_earlier(365))
}

/// `flag-finds-newest-fifty`: Whether a package is not among the fifty newest of its project.
pub(in crate::agentic) fn is_behind_fifty(db: &Connection, rules: Rules, package: &Package) -> Result<bool, Refusal> {
    let project = package.object.text("project_id").unwrap_or_default().to_owned();
    let condition = "WHERE project_id = ? ORDER BY created_at DESC, serial DESC";
    let newest = packages::select(db, rules, condition, vec![project.into()], 50)?;
    Ok(newest.iter().all(|other| other.id() != package.id()))
}
