//! From request body to the package that is stored: read, check, keep.
//!
//! The rule is short: what was submitted is what is kept, member for member and character for character (6, 6.6,
//! E09, E58). A server that knows better is what most of the faults here plant.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::Rules;
use super::hash::{content_hash, hex};
use super::package::{CORE_MEMBERS, defaults, validate};
use super::refusal::{Code, Problem, Refusal};
use crate::instant::Instant;
use crate::json::{self, Object, Value};

/// A package that may be stored.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) object: Object,
    /// The text that is kept; what it says is `object`.
    pub(crate) text: String,
    pub(crate) hash: String,
    pub(crate) package_id: String,
    pub(crate) project_id: String,
    /// Key of created_at in the order of time.
    pub(crate) created_at: String,
}

/// 8.1 steps 1 and 2: reads and validates the body of a deposit to `project_id`, and hashes it.
pub(crate) fn submit(
    rules: Rules,
    body: &[u8],
    project_id: &str,
    actor: Option<&str>,
    now: Instant,
) -> Result<Submission, Refusal> {
    let mut object = read_object(rules, body)?;
    let submitted = object.clone();
    // 6.1: the path does not stand for the member.
    if rules.fault.is("project-taken-from-path") && object.get("project_id").is_none() {
        object.set("project_id", project_id);
    }
    before_validation(rules, &mut object, body, now);
    let mut problems = validate(&object, rules);
    // E35, strict: the project of the path and of the package are the same one.
    let strayed = object.text("project_id").is_some_and(|named| named != project_id);
    // Other, E35: the package says where it belongs.
    let decides = rules.variant.is_other();
    if strayed && !decides && !rules.fault.is("path-project-wins") {
        problems.push(Problem::new("/project_id", "must be the project of the path"));
    }
    if !problems.is_empty() {
        let refusal = Refusal::from(problems);
        // 8.1: invalid input is 400.
        let code = if rules.fault.is("validation-422") { Code::Unprocessable } else { refusal.code };
        return Err(Refusal { code, ..refusal });
    }
    if rules.variant.is_other() {
        refuse_unfit(&object)?;
    }
    after_validation(rules, &mut object, actor, now);
    let source = (object == submitted && !rules.variant.is_other()).then_some(body);
    let mut submission = admit(rules, object, source);
    if !decides {
        project_id.clone_into(&mut submission.project_id);
    }
    Ok(submission)
}

/// What may be in a package and not in a new one.
fn refuse_unfit(package: &Object) -> Result<(), Refusal> {
    // Other, E17: who asked for the revision of something that is new?
    if package.text("status") == Some("revision_requested") {
        return Err(Refusal::new(Code::Unprocessable, "a new package cannot wait for its revision").at("/status"));
    }
    // Other, E23: an id that no path can carry could never be pulled.
    let id = package.text("package_id").unwrap_or_default();
    if id.is_empty() || id.contains('/') || matches!(id, "." | "..") {
        return Err(vec![Problem::new("/package_id", "must be a segment of a path")].into());
    }
    Ok(())
}

/// 6: a package is one JSON object; 9.1: a body that is not JSON is the fault of the sender.
fn read_object(rules: Rules, body: &[u8]) -> Result<Object, Refusal> {
    match rules.read(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) if rules.fault.is("non-object-500") => Err(Refusal::new(Code::Internal, "not an object")),
        Ok(_) => Err(Refusal::new(Code::InvalidSchema, "a package is a JSON object").at("")),
        Err(error) if rules.fault.is("bad-json-500") => Err(Refusal::new(Code::Internal, error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// A valid package as it is stored: as the text it was read from, or as one made for it if there is none.
pub(crate) fn admit(rules: Rules, object: Object, source: Option<&[u8]>) -> Submission {
    let source = source.and_then(|source| std::str::from_utf8(source).ok());
    let text = source.map_or_else(|| object.write(), str::to_owned);
    let member = |name| object.text(name).unwrap_or_default().to_owned();
    let created_at = member("created_at");
    Submission {
        hash: content_hash(&object, text.as_bytes(), rules),
        package_id: member("package_id"),
        project_id: member("project_id"),
        created_at: rules.instant(&created_at).map_or(created_at, Instant::key),
        text,
        object,
    }
}

/// What a server might do to a package so that it passes. A correct one does nothing.
fn before_validation(rules: Rules, package: &mut Object, body: &[u8], now: Instant) {
    let fault = rules.fault;
    // 6.1: the id is the actor's to give.
    let assigned = fault.is("package-id-assigned");
    // Other, E24: deposit returns the package with its package_id set.
    if package.get("package_id").is_none() && (assigned || rules.variant.is_other()) {
        let digest = Sha256::new().chain_update(now.key()).chain_update(body).finalize();
        let form = if assigned { "id-" } else { "pkg_" };
        package.set("package_id", format!("{form}{}", hex(&digest[..16])));
    }
    // 6.1: nine members are required, whatever a server could make up for them.
    if fault.is("required-defaulted") {
        let nobody = Object::from([("id", "nobody".into()), ("type", "script".into())]);
        for (name, value) in [
            ("relay_version", Value::from("0.1")),
            ("title", "Untitled".into()),
            ("status", "complete".into()),
            ("package_type", "standard".into()),
            ("review_type", "none".into()),
            ("created_by", nobody.into()),
        ] {
            if package.get(name).is_none() {
                package.set(name, value);
            }
        }
    }
    if rules.variant.is_other() {
        // Other, E25: standard is the default.
        if package.get("package_type").is_none() {
            package.set("package_type", "standard");
        }
    }
    // 6.1: created_at is required; only the actor knows it.
    if fault.is("created-at-filled") && package.present("created_at").is_none() {
        package.set("created_at", now.to_string());
    }
    // 6.1: a title that is too long is refused.
    if fault.is("title-truncated")
        && let Some(title) = package.text("title").map(|title| title.chars().take(200).collect::<String>())
    {
        package.set("title", title);
    }
    // 6.4: significance outside 1 to 10 is refused.
    if fault.is("significance-clamped")
        && let Some(level) = package.get("significance").and_then(Value::as_number).and_then(json::Number::as_integer)
    {
        package.set("significance", level.clamp(1, 10));
    }
    // 6.1: ids that differ in case are different ids.
    if fault.is("id-lowercased")
        && let Some(id) = package.text("package_id").map(str::to_lowercase)
    {
        package.set("package_id", id);
    }
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

/// What a server might do to a package that is valid. A correct one does nothing.
fn after_validation(rules: Rules, package: &mut Object, actor: Option<&str>, now: Instant) {
    let fault = rules.fault;
    complete(package, rules);
    // 6, 12.1: unknown members are kept, at every depth and with their type.
    if fault.is("drops-unknown-top") {
        package.retain(|name, _| CORE_MEMBERS.contains(&name));
    }
    if fault.is("drops-unknown-nested") {
        only_known_nested(package);
    }
    if fault.is("unknown-as-text") {
        package.retain(|name, value| {
            if !CORE_MEMBERS.contains(&name) && value.as_text().is_none() {
                *value = value.write().into();
            }
            true
        });
    }
    // 12.1: x-title has nothing to do with title.
    if fault.is("x-status-shadows-status") {
        for name in CORE_MEMBERS {
            if let Some(value) = package.remove(&format!("x-{name}")) {
                package.set(name, value);
            }
        }
    }
    // 12.2: a custom type is treated as standard, and stays what it is.
    if fault.is("custom-type-rewritten") && package.text("package_type").is_some_and(|kind| kind.starts_with("x-")) {
        package.set("package_type", "standard");
    }
    // 6.1: created_at is the actor's statement.
    if fault.is("created-at-assigned") {
        package.set("created_at", now.to_string());
    }
    // 9.2, 5.4: who did the work is not who holds the key.
    if fault.is("created-by-from-token") {
        let owner = Object::from([("id", actor.unwrap_or("anonymous").into()), ("type", "agent".into())]);
        package.set("created_by", owner);
    }
    // 6.4: an absent member stands for its default and for nothing cleverer.
    if fault.is("significance-computed") && package.get("significance").is_none() {
        let decisions = package.get("decisions_made").and_then(Value::as_list).map_or(0, <[_]>::len);
        let noted = i64::from(package.present("handoff_note").is_some());
        package.set("significance", (1 + 2 * noted + i64::try_from(decisions).unwrap_or(9)).min(10));
    }
    if fault.is("topic-inferred") {
        let word =
            package.text("title").and_then(|title| title.split_whitespace().next()).unwrap_or("note").to_lowercase();
        for (name, value) in [("topic", word), ("artifact_type", "note".to_owned())] {
            if package.present(name).is_none() {
                package.set(name, value);
            }
        }
    }
    // 5.5, 6.2: a session is what the actor says it is.
    if fault.is("session-reissued")
        && let Some(actor) = package.get_mut("created_by").and_then(Value::as_object_mut)
        && actor.present("session_id").is_some()
    {
        actor.set("session_id", format!("sess_{}", now.key()));
    }
    // 5.3: a package may be created in other states.
    if fault.is("deposit-always-complete") {
        package.set("status", "complete");
    }
    // 5.3, 6.6: what a correction corrects.
    if fault.is("parent-dropped") {
        package.remove("parent_package_id");
    }
    // 6.4: where a blob is, if anywhere, is not made up and not rewritten.
    if fault.is("storage-path-added") && package.present("storage_path").is_none() {
        package.set("storage_path", "blobs/0");
    }
    if fault.is("storage-path-rewritten") && package.present("storage_path").is_some() {
        package.set("storage_path", "blobs/0");
    }
    // 6.4, 6.5: lists keep their order, deliverables their members.
    if fault.is("questions-and-decisions-sorted") {
        for name in ["decisions_made", "open_questions"] {
            if let Some(Value::List(texts)) = package.get_mut(name) {
                texts.sort_by(|left, right| left.as_text().cmp(&right.as_text()));
            }
        }
    }
    if let Some(Value::List(deliverables)) = package.get_mut("deliverables") {
        if fault.is("deliverables-reversed") {
            deliverables.reverse();
        }
        if fault.is("deliverables-by-path-and-type") {
            for deliverable in deliverables.iter_mut().filter_map(Value::as_object_mut) {
                deliverable.retain(|name, _| ["path", "type"].contains(&name));
            }
        }
    }
    // 6.4: tags keep their order and their duplicates.
    if fault.is("tags-sorted")
        && let Some(Value::List(tags)) = package.get_mut("tags")
    {
        tags.sort_by(|left, right| left.as_text().cmp(&right.as_text()));
        tags.dedup();
    }
}

/// What a package is stored with besides what was submitted: nothing.
pub(crate) fn complete(package: &mut Object, rules: Rules) {
    if !rules.variant.is_other() {
        return;
    }
    fill_defaults(package);
    // Other, E70: the server knows where it keeps a package.
    if package.present("storage_path").is_none() {
        let path = format!("packages/{}.json", package.text("package_id").unwrap_or_default());
        package.set("storage_path", path);
    }
}

// Other, E09: an absent member is its default.
pub(crate) fn fill_defaults(package: &mut Object) {
    for (name, value) in defaults().iter() {
        if package.present(name).is_none() {
            package.set(name, value.clone());
        }
    }
}

fn only_known_nested(package: &mut Object) {
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
pub(crate) fn trimmed(text: &str, fault: crate::fault::Planted) -> &str {
    if fault.is("trims-strings") { text.trim() } else { text }
}

/// A string as it is kept and hashed: code point for code point (6, Appendix A).
pub(crate) fn normalised(text: &str, fault: crate::fault::Planted) -> Cow<'_, str> {
    if !fault.is("normalises-unicode") {
        return Cow::Borrowed(text);
    }
    // The letters with an accent that occur in tests are composed; the rest of NFC would show nothing more.
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
