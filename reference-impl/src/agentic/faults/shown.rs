//! Faults of how records are returned.

use crate::json::{Object, Value};

/// `defaults-misread`: Shows placeholders for members that were left out.
pub(in crate::agentic) fn misread_defaults(object: &mut Object) {
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

/// `status-renamed`: Shows awaiting_review as pending_review.
pub(in crate::agentic) fn rename_status(object: &mut Object) {
    if object.text("status") == Some("awaiting_review") {
        object.set("status", "pending_review");
    }
}

/// `type-renamed`: Shows packages of type question as human_review.
pub(in crate::agentic) fn rename_type(object: &mut Object) {
    if object.text("package_type") == Some("question") {
        object.set("package_type", "human_review");
    }
}

/// `deliverables-as-paths`: Shows deliverables as a list of paths.
pub(in crate::agentic) fn deliverables_as_paths(object: &mut Object) {
    if let Some(Value::List(deliverables)) = object.get_mut("deliverables") {
        for deliverable in deliverables {
            let path = deliverable.as_object().and_then(|deliverable| deliverable.text("path"));
            *deliverable = path.unwrap_or_default().to_owned().into();
        }
    }
}

/// `lists-without-who-and-what`: Leaves version, types and actor out of lists.
pub(in crate::agentic) fn leave_out(object: &mut Object) {
    const LEFT_OUT: [&str; 4] = ["relay_version", "package_type", "review_type", "created_by"];
    object.retain(|name, _| !LEFT_OUT.contains(&name));
}

/// `lists-with-store-names`: Shows columns of its store (project, state, created) in lists.
pub(in crate::agentic) fn package_columns(object: &mut Object) {
    const COLUMNS: [(&str, &str); 3] = [("project_id", "project"), ("status", "state"), ("created_at", "created")];
    *object = renamed(object, &COLUMNS);
}

/// `facts-with-store-names`: Shows relation and object instead of predicate and value.
pub(in crate::agentic) fn fact_columns(object: &mut Object) {
    *object = renamed(object, &[("predicate", "relation"), ("value", "object")]);
}

/// `fact-id-of-the-predicate`: Makes the id of a fact from its predicate.
pub(in crate::agentic) fn id_of_predicate(object: &mut Object) {
    let digits: String = object.text("predicate").unwrap_or_default().bytes().map(|b| format!("{b:02x}")).collect();
    object.set("fact_id", format!("fact_{:0<32.32}", digits));
}

/// `fact-id-short`: Makes ids of facts without the recommended prefix (seen under strict-only).
pub(in crate::agentic) fn shorten_id(object: &mut Object) {
    if let Some(id) = object.text("fact_id").map(|id| id.trim_start_matches("fact_").to_owned()) {
        object.set("fact_id", id);
    }
}

/// `fact-subject-as-list`: Shows subjects as lists.
pub(in crate::agentic) fn subject_as_list(object: &mut Object) {
    if let Some(subject) = object.remove("subject") {
        object.set("subject", Value::List(vec![subject]));
    }
}

/// `fact-times-as-numbers`: Shows times of facts as seconds.
pub(in crate::agentic) fn times_as_numbers(object: &mut Object) {
    for name in ["valid_from", "created_at"] {
        object.set(name, 1_767_225_600);
    }
}

/// `fact-source-as-object`: Shows source_package_id as an object.
pub(in crate::agentic) fn source_as_object(object: &mut Object) {
    if let Some(source) = object.remove("source_package_id") {
        object.set("source_package_id", Object::from([("package_id", source)]));
    }
}

/// `confidence-as-text`: Shows a confidence as text.
pub(in crate::agentic) fn confidence_as_text(object: &mut Object) {
    if let Some(confidence) = object.present("confidence").map(Value::write) {
        object.set("confidence", confidence);
    }
}

/// `asserted-by-as-text`: Shows asserted_by as the id of the actor.
pub(in crate::agentic) fn actor_as_text(object: &mut Object) {
    if let Some(Value::Object(actor)) = object.remove("asserted_by") {
        object.set("asserted_by", actor.text("id").unwrap_or_default());
    }
}

/// `fact-tags-as-text`: Shows tags of facts as one text.
pub(in crate::agentic) fn tags_as_text(object: &mut Object) {
    if let Some(Value::List(tags)) = object.remove("tags") {
        object.set("tags", tags.iter().filter_map(Value::as_text).collect::<Vec<_>>().join(","));
    }
}

/// `sessions-with-store-names`: Shows id, actor and started instead of the members of a session.
pub(in crate::agentic) fn session_columns(object: &mut Object) {
    *object = renamed(object, &[("session_id", "id"), ("actor_id", "actor"), ("started_at", "started")]);
}

/// `session-callsign-in-parts`: Shows callsigns as objects.
pub(in crate::agentic) fn callsign_in_parts(object: &mut Object) {
    object.set("callsign", Object::from([("adjective", "swift".into()), ("noun", "otter".into())]));
}

/// `session-packages-counted`: Shows the number of packages of a session.
pub(in crate::agentic) fn count_packages(object: &mut Object) {
    let count = object.get("packages_deposited").and_then(Value::as_list).map_or(0, <[_]>::len);
    object.set("packages_deposited", i64::try_from(count).unwrap_or(0));
}

fn renamed(object: &Object, names: &[(&str, &str)]) -> Object {
    let other = |name: &str| names.iter().find(|(known, _)| *known == name).map_or(name, |(_, other)| other).to_owned();
    object.iter().map(|(name, value)| (other(name), value.clone())).collect()
}
