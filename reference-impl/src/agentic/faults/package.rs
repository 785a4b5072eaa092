//! Faults of the schema of a package.

use crate::agentic::refusal::Problem;
use crate::fault::Planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// `actor-in-a-list`: Takes an actor in a list of one for the actor.
pub(in crate::agentic) fn actor(value: &Value, planted: Planted) -> &Value {
    match value {
        Value::List(actors) if actors.len() == 1 && planted.is("actor-in-a-list") => &actors[0],
        other => other,
    }
}

/// `id-pattern-enforced`: Demands the recommended pkg_ form.
pub(in crate::agentic) fn has_recommended_form(id: &str) -> bool {
    let digits = id.strip_prefix("pkg_").unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `offset-accepted`: Takes a created_at with any offset (seen under strict-only).
pub(in crate::agentic) fn is_time_with_offset(time: &str) -> bool {
    let (local, offset) = time.split_at_checked(time.len().saturating_sub(6)).unwrap_or((time, ""));
    offset.starts_with(['+', '-']) && Instant::parse(&format!("{local}Z")).is_some()
}

/// `created-at-iso-8601`: Takes any text with the digits of a date and a time.
pub(in crate::agentic) fn resembles_time(time: &str) -> bool {
    time.bytes().filter(u8::is_ascii_digit).count() >= "202601020304".len()
}

/// `handoff-needs-note`: Refuses packages of type handoff without a note.
pub(in crate::agentic) fn note_missing() -> Problem {
    Problem::new("/handoff_note", "is required")
}

/// `note-on-handoffs-only`: Refuses a note on packages of other types than handoff.
pub(in crate::agentic) fn note_present() -> Problem {
    Problem::new("/handoff_note", "must be absent")
}

/// `unknown-members-refused`: Rejects packages with unknown members.
pub(in crate::agentic) fn unknown_members(package: &Object, known: &[&str]) -> Vec<Problem> {
    let unknown = package.iter().filter(|(name, _)| !known.contains(name));
    unknown.map(|(name, _)| Problem::new(format!("/{name}"), "is not known")).collect()
}
