//! Faults of the intake of a package.

use std::borrow::Cow;

use chrono::DateTime;

use crate::agentic::package::CORE_MEMBERS;
use crate::fault::Planted;
use crate::instant::Instant;
use crate::json::{self, Object, Value};

/// `required-defaulted`: Makes up required members that are missing.
pub(in crate::agentic) fn fill_required(package: &mut Object) {
    let creator = Object::from([("id", "nobody".into()), ("type", "script".into())]);
    for (name, value) in [
        ("relay_version", Value::from("0.1")),
        ("title", "Untitled".into()),
        ("status", "complete".into()),
        ("package_type", "standard".into()),
        ("review_type", "none".into()),
        ("created_by", creator.into()),
    ] {
        if package.get(name).is_none() {
            package.set(name, value);
        }
    }
}

/// `drops-store-names`: The columns beside the members of a package.
pub(in crate::agentic) const STORE_NAMES: [&str; 5] = ["body", "data", "extra", "rowid", "seq"];

/// `created-at-in-nanoseconds`: Keeps an instant as nanoseconds since 1970 in 64 bits, which reach from 1677 to 2262.
pub(in crate::agentic) fn in_nanoseconds(at: Instant) -> Instant {
    DateTime::from_timestamp_nanos(at.unix_milliseconds().wrapping_mul(1_000_000)).into()
}

/// `valid-from-in-seconds`: Keeps an instant as seconds since 1970 in 32 bits, which reach from 1901 to 2038.
pub(in crate::agentic) fn in_seconds(at: Instant) -> Instant {
    let seconds = at.unix_milliseconds().div_euclid(1000);
    let wrapped = seconds.wrapping_add(1 << 31).rem_euclid(1 << 32) - (1 << 31);
    DateTime::from_timestamp(wrapped, 0).map_or(at, Instant::from)
}

/// `names-in-any-case`: Takes a member whose name differs in letter case alone for the member of section 6.
pub(in crate::agentic) fn fold_package(package: &mut Object) {
    fold_names(package, &CORE_MEMBERS);
    if let Some(Value::Object(actor)) = package.get("created_by") {
        let mut actor = actor.clone();
        fold_names(&mut actor, &["id", "type", "session_id"]);
        package.set("created_by", actor);
    }
    if let Some(Value::List(deliverables)) = package.get("deliverables") {
        let mut deliverables = deliverables.clone();
        for deliverable in &mut deliverables {
            if let Value::Object(deliverable) = deliverable {
                fold_names(deliverable, &["path", "type", "hash", "size_bytes"]);
            }
        }
        package.set("deliverables", deliverables);
    }
}

/// Gives a member whose name is one of `names` in another letter case that name.
pub(in crate::agentic) fn fold_names(object: &mut Object, names: &[&str]) {
    for name in names {
        let other =
            object.iter().map(|(found, _)| found).find(|found| found != name && found.eq_ignore_ascii_case(name));
        if let Some(value) = other.map(str::to_owned).and_then(|found| object.remove(&found)) {
            object.set(name, value);
        }
    }
}

/// `created-at-filled`: Fills in a missing created_at instead of refusing.
pub(in crate::agentic) fn fill_created_at(package: &mut Object, now: Instant) {
    if package.present("created_at").is_none() {
        package.set("created_at", now.to_string());
    }
}

/// `title-truncated`: Cuts a long title to 200 instead of refusing.
pub(in crate::agentic) fn truncate_title(package: &mut Object) {
    if let Some(title) = package.text("title").map(|title| title.chars().take(200).collect::<String>()) {
        package.set("title", title);
    }
}

/// `significance-clamped`: Silently clamps 0 to 1 and 11 to 10.
pub(in crate::agentic) fn clamp_significance(package: &mut Object) {
    if let Some(level) = package.get("significance").and_then(Value::as_number).and_then(json::Number::as_integer) {
        package.set("significance", level.clamp(1, 10));
    }
}

/// `id-lowercased`: Folds package ids to lower case.
pub(in crate::agentic) fn lowercase_id(package: &mut Object) {
    if let Some(id) = package.text("package_id").map(str::to_lowercase) {
        package.set("package_id", id);
    }
}

/// `unknown-as-text`: Stores unknown members as strings: numbers and booleans are returned quoted.
pub(in crate::agentic) fn unknown_as_text(package: &mut Object) {
    package.retain(|name, value| {
        if !CORE_MEMBERS.contains(&name) && value.as_text().is_none() {
            *value = value.write().into();
        }
        true
    });
}

/// `x-status-shadows-status`: Strips the x- prefix when mapping members, so x-title overwrites title.
pub(in crate::agentic) fn apply_shadows(package: &mut Object) {
    for name in CORE_MEMBERS {
        if let Some(value) = package.remove(&format!("x-{name}")) {
            package.set(name, value);
        }
    }
}

/// `custom-type-rewritten`: Stores x- package types as standard.
pub(in crate::agentic) fn rewrite_type(package: &mut Object) {
    if package.text("package_type").is_some_and(|kind| kind.starts_with("x-")) {
        package.set("package_type", "standard");
    }
}

/// `created-by-from-token`: Overwrites created_by with the owner of the key.
pub(in crate::agentic) fn take_owner(package: &mut Object, actor: Option<&str>) {
    let owner = Object::from([("id", actor.unwrap_or("anonymous").into()), ("type", "agent".into())]);
    package.set("created_by", owner);
}

/// `significance-computed`: Computes a significance from decisions and notes when none is given.
pub(in crate::agentic) fn compute_significance(package: &mut Object) {
    if package.get("significance").is_none() {
        let decisions = package.get("decisions_made").and_then(Value::as_list).map_or(0, <[_]>::len);
        let noted = i64::from(package.present("handoff_note").is_some());
        package.set("significance", (1 + 2 * noted + i64::try_from(decisions).unwrap_or(9)).min(10));
    }
}

/// `topic-inferred`: Fills topic and artifact_type from the text.
pub(in crate::agentic) fn infer_topic(package: &mut Object) {
    let word = package.text("title").and_then(|title| title.split_whitespace().next()).unwrap_or("note").to_lowercase();
    for (name, value) in [("topic", word), ("artifact_type", "note".to_owned())] {
        if package.present(name).is_none() {
            package.set(name, value);
        }
    }
}

/// `session-reissued`: Replaces a session_id that it did not issue.
pub(in crate::agentic) fn reissue_session(package: &mut Object, now: Instant) {
    if let Some(actor) = package.get_mut("created_by").and_then(Value::as_object_mut)
        && actor.present("session_id").is_some()
    {
        actor.set("session_id", format!("sess_{}", now.key()));
    }
}

/// `storage-path-added`: Adds a storage_path (seen under strict-only).
pub(in crate::agentic) fn add_storage_path(package: &mut Object) {
    if package.present("storage_path").is_none() {
        package.set("storage_path", "blobs/0");
    }
}

/// `storage-path-rewritten`: Replaces the storage_path that was submitted (seen under strict-only).
pub(in crate::agentic) fn rewrite_storage_path(package: &mut Object) {
    if package.present("storage_path").is_some() {
        package.set("storage_path", "blobs/0");
    }
}

/// `questions-and-decisions-sorted`: Sorts decisions and questions.
pub(in crate::agentic) fn sort_lists(package: &mut Object) {
    for name in ["decisions_made", "open_questions"] {
        if let Some(Value::List(texts)) = package.get_mut(name) {
            texts.sort_by(|left, right| left.as_text().cmp(&right.as_text()));
        }
    }
}

/// `deliverables-reversed`: Stores deliverables in reverse order.
pub(in crate::agentic) fn reverse_deliverables(package: &mut Object) {
    if let Some(Value::List(deliverables)) = package.get_mut("deliverables") {
        deliverables.reverse();
    }
}

/// `deliverables-by-path-and-type`: Keeps path and type of deliverables only.
pub(in crate::agentic) fn shorten_deliverables(package: &mut Object) {
    if let Some(Value::List(deliverables)) = package.get_mut("deliverables") {
        for deliverable in deliverables.iter_mut().filter_map(Value::as_object_mut) {
            deliverable.retain(|name, _| ["path", "type"].contains(&name));
        }
    }
}

/// `tags-sorted`: Sorts and deduplicates tags.
pub(in crate::agentic) fn sort_tags(package: &mut Object) {
    if let Some(Value::List(tags)) = package.get_mut("tags") {
        tags.sort_by(|left, right| left.as_text().cmp(&right.as_text()));
        tags.dedup();
    }
}

/// `drops-unknown-nested`: Keeps unknown top-level members but rebuilds created_by and deliverables from columns.
pub(in crate::agentic) fn only_known_nested(package: &mut Object) {
    if let Some(actor) = package.get_mut("created_by").and_then(Value::as_object_mut) {
        actor.retain(|name, _| ["id", "type", "session_id"].contains(&name));
    }
    if let Some(Value::List(deliverables)) = package.get_mut("deliverables") {
        for deliverable in deliverables.iter_mut().filter_map(Value::as_object_mut) {
            deliverable.retain(|name, _| ["path", "type", "hash", "size_bytes"].contains(&name));
        }
    }
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::Text(text) => change(text),
        Value::List(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(object) => object.retain(|_, value| {
            each_text(value, change);
            true
        }),
    }
}

/// A string as it is kept: with the white space around it (6, 7.1).
pub(in crate::agentic) fn trimmed(text: &str, fault: Planted) -> &str {
    if fault.is("trims-strings") { text.trim() } else { text }
}

/// A string as it is kept and hashed: code point for code point (6, Appendix A).
pub(in crate::agentic) fn normalised(text: &str, fault: Planted) -> Cow<'_, str> {
    if !fault.is("normalises-unicode") {
        return Cow::Borrowed(text);
    }
    // Only the accented letters that occur in tests are composed; that suffices for the fault.
    const COMPOSED: [(&str, &str); 8] = [
        ("e\u{301}", "\u{e9}"),
        ("a\u{301}", "\u{e1}"),
        ("o\u{308}", "\u{f6}"),
        ("u\u{308}", "\u{fc}"),
        ("a\u{308}", "\u{e4}"),
        ("n\u{303}", "\u{f1}"),
        ("E\u{301}", "\u{c9}"),
        ("A\u{30a}", "\u{c5}"),
    ];
    let composed = COMPOSED.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    if composed == text { Cow::Borrowed(text) } else { Cow::Owned(composed) }
}

/// `trims-strings`, `normalises-unicode`: every text of a package as these faults keep it.
pub(in crate::agentic) fn change_texts(package: &mut Object, fault: Planted) {
    package.retain(|name, value| {
        each_text(value, &mut |text| {
            if let Cow::Owned(other) = normalised(text, fault) {
                *text = other;
            }
        });
        if let (Value::Text(text), "title") = (value, name) {
            *text = trimmed(text, fault).to_owned();
        }
        true
    });
}

/// `project-taken-from-path`: Fills in a project_id that is missing.
pub(in crate::agentic) fn take_project(package: &mut Object, project_id: &str) {
    if package.get("project_id").is_none() {
        package.set("project_id", project_id);
    }
}
