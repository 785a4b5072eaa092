//! Faults of a pull.

use crate::agentic::hash::content_hash;
use crate::agentic::rules::Rules;
use crate::agentic::tables::packages::Package;
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
