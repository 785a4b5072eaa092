//! From request body to the package that is stored: read, check, keep.
//! The rule: a submitted package is stored unchanged, member for member and character for character (6, 6.6, E09,
//! E58). Most of the faults here plant a server that modifies
//! it.

use sha2::{Digest, Sha256};

use super::faults::intake as faults;
use super::hash::{content_hash, hex};
use super::package::{CORE_MEMBERS, defaults, validate};
use super::refusal::{Code, Problem, Refusal};
use super::rules::Rules;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// A package that may be stored.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) object: Object,
    /// The stored text; `object` is its content.
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
    // 6.1: the path does not replace the member.
    planted!(rules.fault, "project-taken-from-path", faults::take_project(&mut object, project_id));
    before_validation(rules, &mut object, body, now);
    let mut problems = validate(&object, rules);
    // E35, strict: the project of the path and of the package are the same one.
    let strayed = object.text("project_id").is_some_and(|named| named != project_id);
    // Other, E35: the package determines its project.
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

/// The additional rules for a new package.
fn refuse_unfit(package: &Object) -> Result<(), Refusal> {
    // Other, E17: a new package cannot have a requested revision.
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

/// A valid package as stored: the text it was read from, or a new text if there is none.
pub(crate) fn admit(rules: Rules, object: Object, source: Option<&[u8]>) -> Submission {
    let source = source.and_then(|source| std::str::from_utf8(source).ok());
    let text = source.map_or_else(|| object.write(), str::to_owned);
    let member = |name| object.text(name).unwrap_or_default().to_owned();
    let created_at = member("created_at");
    let mut at = rules.instant(&created_at);
    // 8.2: an instant of any year has its place in the order.
    planted!(rules.fault, "created-at-in-nanoseconds", at = at.map(faults::in_nanoseconds));
    Submission {
        hash: content_hash(&object, text.as_bytes(), rules),
        package_id: member("package_id"),
        project_id: member("project_id"),
        created_at: at.map_or(created_at, Instant::key),
        text,
        object,
    }
}

/// Repairs of an invalid package by a faulty server. A correct server does nothing.
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
    // 6: a name counts letter by letter.
    planted!(fault, "names-in-any-case", faults::fold_package(package));
    // 6.1: nine members are required and have no defaults.
    planted!(fault, "required-defaulted", faults::fill_required(package));
    if rules.variant.is_other() {
        // Other, E25: standard is the default.
        if package.get("package_type").is_none() {
            package.set("package_type", "standard");
        }
    }
    // 6.1: created_at is required; only the actor can provide it.
    planted!(fault, "created-at-filled", faults::fill_created_at(package, now));
    // 6.1: a title that is too long is refused.
    planted!(fault, "title-truncated", faults::truncate_title(package));
    // 6.4: significance outside 1 to 10 is refused.
    planted!(fault, "significance-clamped", faults::clamp_significance(package));
    // 6.1: ids that differ in case are different ids.
    planted!(fault, "id-lowercased", faults::lowercase_id(package));
    // 6: a string is kept code point for code point, with the white space around it.
    faults::change_texts(package, fault);
}

/// Changes of a valid package by a faulty server. A correct server does nothing.
fn after_validation(rules: Rules, package: &mut Object, actor: Option<&str>, now: Instant) {
    let fault = rules.fault;
    complete(package, rules);
    // 6, 12.1: unknown members are kept, at every depth and with their type.
    planted!(fault, "drops-store-names", package.retain(|name, _| !faults::STORE_NAMES.contains(&name)));
    planted!(fault, "drops-unknown-top", package.retain(|name, _| CORE_MEMBERS.contains(&name)));
    planted!(fault, "drops-unknown-nested", faults::only_known_nested(package));
    planted!(fault, "unknown-as-text", faults::unknown_as_text(package));
    // 12.1: x-title is independent of title.
    planted!(fault, "x-status-shadows-status", faults::apply_shadows(package));
    // 12.2: a custom type is treated as standard, and is not changed.
    planted!(fault, "custom-type-rewritten", faults::rewrite_type(package));
    // 6.1: created_at is the actor's statement.
    planted!(fault, "created-at-assigned", package.set("created_at", now.to_string()));
    // 9.2, 5.4: the author of the work is not the owner of the key.
    planted!(fault, "created-by-from-token", faults::take_owner(package, actor));
    // 6.4: an absent member means its default, nothing else.
    planted!(fault, "significance-computed", faults::compute_significance(package));
    planted!(fault, "topic-inferred", faults::infer_topic(package));
    // 5.5, 6.2: the actor defines the session.
    planted!(fault, "session-reissued", faults::reissue_session(package, now));
    // 5.3: a package may be created in other states.
    planted!(fault, "deposit-always-complete", package.set("status", "complete"));
    // 5.3, 6.6: the package that a correction replaces.
    planted!(fault, "parent-dropped", package.remove("parent_package_id"));
    // 6.4: where a blob is, if anywhere, is not made up and not rewritten.
    planted!(fault, "storage-path-added", faults::add_storage_path(package));
    planted!(fault, "storage-path-rewritten", faults::rewrite_storage_path(package));
    // 6.4, 6.5: lists keep their order, deliverables their members.
    planted!(fault, "questions-and-decisions-sorted", faults::sort_lists(package));
    planted!(fault, "deliverables-reversed", faults::reverse_deliverables(package));
    planted!(fault, "deliverables-by-path-and-type", faults::shorten_deliverables(package));
    // 6.4: tags keep their order and their duplicates.
    planted!(fault, "tags-sorted", faults::sort_tags(package));
}

/// Members added to a stored package: none in a correct server.
pub(crate) fn complete(package: &mut Object, rules: Rules) {
    if !rules.variant.is_other() {
        return;
    }
    fill_defaults(package);
    // Other, E70: the server adds the storage path of a package.
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
