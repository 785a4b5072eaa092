//! Faults of the content hash.

use crate::agentic::package::defaults;
use crate::fault::Planted;
use crate::json::{Object, Value};

/// Faults that leave members out of the hash, for each member that could be forgotten.
const IGNORED: &[(&str, &[&str])] = &[
    ("hash-ignores-ids", &["package_id", "project_id"]),
    ("hash-ignores-version", &["relay_version"]),
    ("hash-ignores-title", &["title"]),
    ("hash-ignores-status", &["status", "review_type"]),
    ("hash-ignores-type", &["package_type"]),
    ("hash-ignores-time", &["created_at"]),
    ("hash-ignores-description", &["description"]),
    ("hash-ignores-lists", &["tags", "decisions_made", "open_questions", "deliverables"]),
    ("hash-ignores-tags", &["tags"]),
    ("hash-ignores-note", &["handoff_note"]),
    ("hash-ignores-next-actor", &["estimated_next_actor"]),
    ("hash-ignores-significance", &["significance"]),
    ("hash-ignores-content", &["content_md"]),
    ("hash-ignores-topic", &["topic"]),
    ("hash-ignores-artifact-type", &["artifact_type"]),
];

/// The members of nested objects that a struct would have.
const NESTED: &[(&str, &[&str])] =
    &[("created_by", &["id", "type", "session_id"]), ("deliverables", &["path", "type", "hash", "size_bytes"])];

/// `hash-known-nested-only`: Hashes nested objects as structs, so unknown members of created_by and deliverables do not count.
pub(in crate::agentic) fn only_known_nested(hashed: &mut Object) {
    for (name, known) in NESTED {
        let mut inner: Vec<&mut Object> = match hashed.get_mut(name) {
            Some(Value::Object(inner)) => vec![inner],
            Some(Value::List(items)) => items.iter_mut().filter_map(Value::as_object_mut).collect(),
            _ => Vec::new(),
        };
        inner.iter_mut().for_each(|inner| inner.retain(|name, _| known.contains(&name)));
    }
}

/// `hash-without-session`: Leaves created_by.session_id out of the hashed form.
pub(in crate::agentic) fn remove_session(hashed: &mut Object) {
    if let Some(actor) = hashed.get_mut("created_by").and_then(Value::as_object_mut) {
        actor.remove("session_id");
    }
}

/// `hash-fills-defaults`: Writes the defaults of 6.4 into the package before hashing (seen under strict-only).
pub(in crate::agentic) fn fill_defaults(hashed: &mut Object) {
    for (name, value) in defaults().iter() {
        if hashed.get(name).is_none() {
            hashed.set(name, value.clone());
        }
    }
}

/// `hash-strips-defaults`: Leaves out members that equal their default before hashing.
pub(in crate::agentic) fn strip_defaults(hashed: &mut Object) {
    let defaults = defaults();
    hashed.retain(|name, value| defaults.get(name) != Some(value));
}

/// Leaves the members of [`IGNORED`] out.
pub(in crate::agentic) fn ignore_members(planted: Planted, hashed: &mut Object) {
    for (name, members) in IGNORED {
        if planted.is(name) {
            hashed.retain(|member, _| !members.contains(&member));
        }
    }
}
