//! Records as an answer shows them: as they are stored, member for member (6, 7, 5.5). A server that shows columns of
//! its store instead is what the faults here plant.

use super::Rules;
use super::package::CORE_MEMBERS;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// A package: the stored JSON and nothing else (6, E02).
pub(crate) fn package(mut object: Object, rules: Rules, now: Instant) -> Object {
    let fault = rules.fault;
    if fault.is("adds-updated-at") {
        object.set("updated_at", now.to_string());
    }
    // 6.4: what was left out stands for its default, and may be shown as that.
    if fault.is("defaults-misread") {
        let one = |text: &str| Value::List(vec![text.into()]);
        let nothing = Object::from([("path", "none".into()), ("type", "none".into())]);
        for (name, value) in [
            ("description", "none".into()),
            ("tags", one("untagged")),
            ("decisions_made", one("none")),
            ("open_questions", one("none")),
            ("handoff_note", "none".into()),
            ("estimated_next_actor", "agent".into()),
            ("deliverables", Value::List(vec![nothing.into()])),
            ("parent_package_id", "none".into()),
            ("significance", 1.into()),
            ("content_md", "none".into()),
            ("storage_path", 0.into()),
        ] {
            if object.present(name).is_none() {
                object.set(name, value);
            }
        }
    }
    // 6.1: the four words for a status.
    if fault.is("status-renamed") && object.text("status") == Some("awaiting_review") {
        object.set("status", "pending_review");
    }
    // 6.3: no type but the eight and those in the x- namespace.
    if fault.is("type-renamed") && object.text("package_type") == Some("question") {
        object.set("package_type", "human_review");
    }
    // 6.5: a deliverable is an object.
    if fault.is("deliverables-as-paths")
        && let Some(Value::List(deliverables)) = object.get_mut("deliverables")
    {
        for deliverable in deliverables {
            let path = deliverable.as_object().and_then(|deliverable| deliverable.text("path"));
            *deliverable = path.unwrap_or_default().to_owned().into();
        }
    }
    object
}

/// A package in a list: as complete as alone (6, 12.1).
pub(crate) fn listed_package(object: Object, rules: Rules, now: Instant) -> Object {
    let fault = rules.fault;
    let mut object = package(object, rules, now);
    if fault.is("unknown-lost-in-lists") {
        object.retain(|name, _| CORE_MEMBERS.contains(&name));
    }
    if fault.is("lists-without-who-and-what") {
        const LEFT_OUT: [&str; 4] = ["relay_version", "package_type", "review_type", "created_by"];
        object.retain(|name, _| !LEFT_OUT.contains(&name));
    }
    if fault.is("lists-with-store-names") {
        const COLUMNS: [(&str, &str); 3] = [("project_id", "project"), ("status", "state"), ("created_at", "created")];
        object = renamed(&object, &COLUMNS);
    }
    object
}

/// A fact (7.1, 7.2).
pub(crate) fn fact(mut object: Object, rules: Rules) -> Object {
    let fault = rules.fault;
    if fault.is("facts-with-store-names") {
        object = renamed(&object, &[("predicate", "relation"), ("value", "object")]);
    }
    // 7.1: an id of its own for every fact.
    if fault.is("fact-id-of-the-predicate") {
        let digits: String = object.text("predicate").unwrap_or_default().bytes().map(|b| format!("{b:02x}")).collect();
        object.set("fact_id", format!("fact_{:0<32.32}", digits));
    }
    if fault.is("fact-id-number") {
        object.set("fact_id", 7);
    }
    // 7.1: the form that is RECOMMENDED.
    if fault.is("fact-id-short")
        && let Some(id) = object.text("fact_id").map(|id| id.trim_start_matches("fact_").to_owned())
    {
        object.set("fact_id", id);
    }
    if fault.is("fact-without-project") {
        object.remove("project_id");
    }
    if fault.is("fact-subject-as-list")
        && let Some(subject) = object.remove("subject")
    {
        object.set("subject", Value::List(vec![subject]));
    }
    // 7.1, 9.1: times are RFC 3339.
    if fault.is("fact-times-as-numbers") {
        for name in ["valid_from", "created_at"] {
            object.set(name, 1_767_225_600);
        }
    }
    // 7.2: a current fact has no end, however it is shown.
    if fault.is("fact-end-as-empty-text") && object.present("valid_to").is_none() {
        object.set("valid_to", "");
    }
    if fault.is("fact-source-as-object")
        && let Some(source) = object.remove("source_package_id")
    {
        object.set("source_package_id", Object::from([("package_id", source)]));
    }
    if fault.is("confidence-as-text")
        && let Some(confidence) = object.present("confidence").map(Value::write)
    {
        object.set("confidence", confidence);
    }
    if fault.is("asserted-by-as-text")
        && let Some(Value::Object(actor)) = object.remove("asserted_by")
    {
        object.set("asserted_by", actor.text("id").unwrap_or_default());
    }
    if fault.is("fact-tags-as-text")
        && let Some(Value::List(tags)) = object.remove("tags")
    {
        object.set("tags", tags.iter().filter_map(Value::as_text).collect::<Vec<_>>().join(","));
    }
    object
}

/// A session (5.5).
pub(crate) fn session(mut object: Object, rules: Rules) -> Object {
    let fault = rules.fault;
    if fault.is("sessions-with-store-names") {
        object = renamed(&object, &[("session_id", "id"), ("actor_id", "actor"), ("started_at", "started")]);
    }
    if fault.is("session-actor-renamed") {
        object.set("actor_type", "bot");
    }
    if fault.is("session-callsign-in-parts") {
        object.set("callsign", Object::from([("adjective", "swift".into()), ("noun", "otter".into())]));
    }
    // 5.5: null while the session lasts.
    if fault.is("session-end-as-empty-text") && object.present("ended_at").is_none() {
        object.set("ended_at", "");
    }
    if fault.is("session-packages-counted") {
        let count = object.get("packages_deposited").and_then(Value::as_list).map_or(0, <[_]>::len);
        object.set("packages_deposited", i64::try_from(count).unwrap_or(0));
    }
    object
}

fn renamed(object: &Object, names: &[(&str, &str)]) -> Object {
    let other = |name: &str| names.iter().find(|(known, _)| *known == name).map_or(name, |(_, other)| other).to_owned();
    object.iter().map(|(name, value)| (other(name), value.clone())).collect()
}
