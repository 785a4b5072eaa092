//! Sessions that start by themselves (5.5): with the first package that names them.

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::intake::Submission;
use super::refusal::Refusal;
use super::rules::Rules;
use super::tables::sessions as table;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

const ADJECTIVES: [&str; 16] = [
    "amber", "brave", "calm", "dusty", "early", "faint", "gentle", "hidden", "ivory", "keen", "lunar", "mellow",
    "noble", "quiet", "rapid", "solar",
];

const NOUNS: [&str; 16] = [
    "badger", "cedar", "delta", "ember", "falcon", "glacier", "harbor", "island", "juniper", "lantern", "meadow",
    "nebula", "otter", "prairie", "river", "willow",
];

/// Starts the session that a package names, or adds the package to it. A session belongs to the actor that started it, so
/// packages of other actors leave it as it is. An actor is an id and a kind (5.4).
pub(crate) fn enter(db: &Connection, rules: Rules, package: &Submission, now: Instant) -> Result<(), Refusal> {
    let Some(actor) = package.object.get("created_by").and_then(Value::as_object) else { return Ok(()) };
    let (Some(actor_id), Some(session_id)) = (actor.text("id"), actor.text("session_id")) else { return Ok(()) };
    let project = &package.project_id;
    if let Some(mut session) = table::find(db, project, session_id)? {
        // 5.5: a session groups packages of a single actor.
        let same_kind = session.text("actor_type") == actor.text("type") || rules.fault.is("session-ignores-kind");
        if session.text("actor_id") == Some(actor_id) && same_kind {
            let known = session.get("packages_deposited").and_then(Value::as_list).unwrap_or_default();
            let deposited: Vec<Value> = known.iter().cloned().chain([package.package_id.as_str().into()]).collect();
            session.set("packages_deposited", deposited);
            table::update(db, project, session_id, &session)?;
        }
        return Ok(());
    }
    let mut session = Object::from([
        ("session_id", session_id.into()),
        ("project_id", project.as_str().into()),
        ("actor_id", actor_id.into()),
        ("actor_type", actor.text("type").into()),
        ("callsign", callsign(session_id).into()),
        ("started_at", now.to_string().into()),
        ("ended_at", Value::Null),
        ("packages_deposited", vec![package.package_id.as_str().into()].into()),
    ]);
    // 5.5: a callsign is generated at the start of a session, as an adjective and a noun.
    planted!(rules.fault, "callsign-not-generated", session.set("callsign", Value::Null));
    planted!(rules.fault, "callsign-with-number", session.set("callsign", format!("{}-7", callsign(session_id))));
    table::insert(db, project, session_id, &session, &now.key())
}

/// The callsign of a session: the same for the same id.
fn callsign(session_id: &str) -> String {
    let digest = Sha256::digest(session_id);
    let word = |words: &[&'static str; 16], byte: u8| words[usize::from(byte % 16)];
    format!("{}-{}", word(&ADJECTIVES, digest[0]), word(&NOUNS, digest[1]))
}
