//! Records as an answer shows them: as they are stored, member for member (6, 7, 5.5). A server that shows columns of
//! its store instead is what the faults here plant.

use super::faults::shown as faults;
use super::package::CORE_MEMBERS;
use super::rules::Rules;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::Object;

/// A package: exactly the stored JSON (6, E02).
pub(crate) fn package(mut object: Object, rules: Rules, now: Instant) -> Object {
    let fault = rules.fault;
    planted!(fault, "adds-updated-at", object.set("updated_at", now.to_string()));
    // 6.4: an absent member means its default, and may be returned as such.
    planted!(fault, "defaults-misread", faults::misread_defaults(&mut object));
    // 6.1: the four status values.
    planted!(fault, "status-renamed", faults::rename_status(&mut object));
    // 6.3: only the eight types and those in the x- namespace.
    planted!(fault, "type-renamed", faults::rename_type(&mut object));
    // 6.5: a deliverable is an object.
    planted!(fault, "deliverables-as-paths", faults::deliverables_as_paths(&mut object));
    object
}

/// A package in a list: as complete as alone (6, 12.1).
pub(crate) fn listed_package(object: Object, rules: Rules, now: Instant) -> Object {
    let fault = rules.fault;
    let mut object = package(object, rules, now);
    planted!(fault, "unknown-lost-in-lists", object.retain(|name, _| CORE_MEMBERS.contains(&name)));
    planted!(fault, "lists-without-who-and-what", faults::leave_out(&mut object));
    planted!(fault, "lists-with-store-names", faults::package_columns(&mut object));
    object
}

/// A fact (7.1, 7.2).
pub(crate) fn fact(mut object: Object, rules: Rules) -> Object {
    let fault = rules.fault;
    planted!(fault, "facts-with-store-names", faults::fact_columns(&mut object));
    // 7.1: an id of its own for every fact.
    planted!(fault, "fact-id-of-the-predicate", faults::id_of_predicate(&mut object));
    planted!(fault, "fact-id-number", object.set("fact_id", 7));
    // 7.1: the form that is RECOMMENDED.
    planted!(fault, "fact-id-short", faults::shorten_id(&mut object));
    planted!(fault, "fact-without-project", object.remove("project_id"));
    planted!(fault, "fact-subject-as-list", faults::subject_as_list(&mut object));
    // 7.1, 9.1: times are RFC 3339.
    planted!(fault, "fact-times-as-numbers", faults::times_as_numbers(&mut object));
    // 7.2: a current fact has no end, in every representation.
    planted!(fault, "fact-end-as-empty-text", object.present("valid_to").is_none() => object.set("valid_to", ""));
    planted!(fault, "fact-source-as-object", faults::source_as_object(&mut object));
    planted!(fault, "confidence-as-text", faults::confidence_as_text(&mut object));
    planted!(fault, "asserted-by-as-text", faults::actor_as_text(&mut object));
    planted!(fault, "fact-tags-as-text", faults::tags_as_text(&mut object));
    object
}

/// A session (5.5).
pub(crate) fn session(mut object: Object, rules: Rules) -> Object {
    let fault = rules.fault;
    planted!(fault, "sessions-with-store-names", faults::session_columns(&mut object));
    planted!(fault, "session-actor-renamed", object.set("actor_type", "bot"));
    planted!(fault, "session-callsign-in-parts", faults::callsign_in_parts(&mut object));
    // 5.5: null while the session lasts.
    planted!(fault, "session-end-as-empty-text", object.present("ended_at").is_none() => object.set("ended_at", ""));
    planted!(fault, "session-packages-counted", faults::count_packages(&mut object));
    object
}
