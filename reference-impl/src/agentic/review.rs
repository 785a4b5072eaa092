//! Sections 5.3 and 8.5: the four states of a package, and the moves between them.

use rusqlite::Connection;

use super::faults::review as faults;
use super::hash::content_hash;
use super::package::CORE_MEMBERS;
use super::refusal::{Code, Problem, Refusal};
use super::rules::Rules;
use super::tables::packages::{self, Package};
use super::tables::projects;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::Object;

/// 5.3: the table of permitted transitions. It is closed, and has no transition from a state to itself.
pub(crate) fn is_allowed(from: &str, to: &str, rules: Rules) -> bool {
    let fault = rules.fault;
    // Other, E85: only a reviewer completes a package.
    if rules.variant.is_other() && matches!((from, to), ("draft" | "revision_requested", "complete")) {
        return false;
    }
    match (from, to) {
        // 5.3: whichever way a package got there, a draft included.
        ("draft" | "revision_requested", "complete") if fault.is("completes-by-review-only") => false,
        ("draft", "awaiting_review") => !fault.is("draft-cannot-be-flagged"),
        ("awaiting_review", "revision_requested") => !fault.is("review-cannot-revise"),
        ("draft", "revision_requested") => fault.is("draft-to-revision"),
        ("awaiting_review" | "revision_requested", "draft") => fault.is("review-back-to-draft"),
        ("awaiting_review", "complete") => !fault.is("review-must-revise"),
        ("revision_requested", "awaiting_review") => !fault.is("revision-cannot-resubmit"),
        ("draft" | "revision_requested", "complete") => true,
        // Terminal state: corrections are new packages.
        ("complete", "draft" | "revision_requested") => fault.is("complete-can-reopen"),
        _ => false, // every other pair
    }
}

/// 8.5, flag_for_review: the package waits for a human or an agent.
pub(crate) fn flag(
    db: &Connection,
    rules: Rules,
    package_id: &str,
    input: &Object,
    now: Instant,
) -> Result<Package, Refusal> {
    let review_type = match input.text("review_type") {
        Some(kind @ ("human" | "agent")) => kind,
        other if rules.fault.is("flag-accepts-none") => other.unwrap_or("none"),
        // Other, E73: it can be read and not be processed.
        _ if rules.variant.is_other() => {
            return Err(Refusal::new(Code::Unprocessable, "must be human or agent").at("/review_type"));
        }
        _ => return Err(vec![Problem::new("/review_type", "must be human or agent")].into()),
    };
    let note = match input.present("note") {
        None => None,
        // 8.5: a flag may carry a note.
        Some(_) if rules.fault.is("flag-note-refused") => return Err(faults::unknown_note()),
        Some(note) => Some(note.as_text().ok_or_else(|| vec![Problem::new("/note", "must be a string")])?),
    };
    // 8.5: a note of any length.
    let long = note.is_some_and(|note| note.len() > 255);
    planted!(rules.fault, "flag-note-limited", long => return Err(faults::unknown_note()));
    let package = demand(db, rules, package_id)?;
    // 8.5: any package, however old it is.
    let missing = || Err(Refusal::no_package(package_id));
    planted!(rules.fault, "flag-finds-newest-fifty", faults::is_behind_fifty(db, rules, &package)? => return missing());
    planted!(rules.fault, "flag-misses-imported", faults::is_from_before(&package, now) => return missing());
    // Other, E15: a second flag may change the reviewer.
    let waiting = package.status() == "awaiting_review";
    // 5.3: a second flag is refused, or its reviewer counts.
    planted!(rules.fault, "flag-again-ignored", waiting => return Ok(package));
    // 12.2: a custom type is reviewed like any other.
    let custom = package.object.text("package_type").is_some_and(|kind| kind.starts_with("x-"));
    planted!(rules.fault, "custom-type-unreviewed", custom => return Err(faults::unreviewed()));
    // 8.5: what may be flagged depends on its status alone.
    let unfit = faults::is_unfit(&package.object, review_type);
    planted!(rules.fault, "flag-checks-the-author", unfit => return Err(faults::unreviewed()));
    let again = waiting && rules.variant.is_other();
    let skipped = again || package.status() == "complete" && rules.fault.is("complete-can-be-flagged");
    if !skipped {
        demand_move(&package, "awaiting_review", rules)?;
    }
    let mut object = package.object.clone();
    // 3, 8.5: the package itself has the status awaiting_review.
    if !rules.fault.is("flag-beside-the-package") {
        object.set("status", "awaiting_review");
    }
    if !rules.fault.is("flag-keeps-review-type") {
        // 5.3: review_type is the kind of reviewer.
        let reviewer = if rules.fault.is("flag-always-human") { "human" } else { review_type };
        object.set("review_type", reviewer);
    }
    // E72: the note is next to the package; it must not change any member.
    if let Some(note) = note {
        planted!(rules.fault, "flag-note-into-handoff", object.set("handoff_note", note));
        // Other, E72: a member of the server's own.
        if rules.variant.is_other() {
            object.set("x-review-note", note);
        }
        let mut statement = db.prepare_cached(
            "INSERT INTO review_notes (package_id, review_type, note, flagged_at) VALUES (?, ?, ?, ?)",
        )?;
        statement.execute((package_id, review_type, note, now.to_string()))?;
    }
    let updated = store(db, rules, &package, object)?;
    Ok(if rules.fault.is("flag-returns-old-package") { package } else { updated })
}

/// 5.3: the reviewer's decision, and every other legal move (E14).
pub(crate) fn transition(db: &Connection, rules: Rules, package_id: &str, status: &str) -> Result<Package, Refusal> {
    let package = demand(db, rules, package_id)?;
    let known = ["draft", "awaiting_review", "revision_requested", "complete"].contains(&status);
    let unchecked = !known && rules.fault.is("unknown-status-stored");
    // 5.3: a transition from a state to itself changes nothing.
    let still = package.status() == status;
    let retitled = || store(db, rules, &package, faults::retitled(&package));
    planted!(rules.fault, "self-move-resets-review", still => return retitled());
    // Other, E15: it is in that state.
    if rules.variant.is_other() && package.status() == status {
        return Ok(package);
    }
    if !unchecked {
        let illegal = |refusal: Refusal| {
            // Other, E16: no error is defined for this route.
            let code = if rules.variant.is_other() { Code::IllegalMove } else { refusal.code };
            Refusal { code, ..refusal }
        };
        demand_move(&package, status, rules).map_err(illegal)?;
    }
    let mut object = package.object.clone();
    object.set("status", status);
    // Other, E18: no review is required any more.
    if rules.variant.is_other() && status == "complete" {
        object.set("review_type", "none");
    }
    store(db, rules, &package, object)
}

fn demand(db: &Connection, rules: Rules, package_id: &str) -> Result<Package, Refusal> {
    let package = packages::find(db, rules, package_id)?.ok_or_else(|| Refusal::no_package(package_id))?;
    let project_id = package.object.text("project_id").unwrap_or_default();
    let closed = projects::find(db, project_id)?.is_some_and(|project| project.archived);
    if closed && !rules.variant.is_other() {
        return Err(Refusal::new(Code::ProjectArchived, format!("project {project_id:?} is archived")));
    }
    Ok(package)
}

fn demand_move(package: &Package, to: &str, rules: Rules) -> Result<(), Refusal> {
    let from = package.status();
    // 5.3: complete is terminal however it was reached.
    let reviewed = package.hash != package.deposited_hash;
    planted!(rules.fault, "complete-guard-forgets-review", from == "complete" && reviewed => return Ok(()));
    if is_allowed(from, to, rules) {
        return Ok(());
    }
    Err(Refusal::new(Code::InvalidTransition, format!("a package cannot go from {from} to {to}")).at("/status"))
}

/// Writes the new state of a package: status and review_type changed, nothing else (E10), its hash recomputed (E11).
fn store(db: &Connection, rules: Rules, old: &Package, mut object: Object) -> Result<Package, Refusal> {
    planted!(rules.fault, "unknown-lost-on-flag", object.retain(|name, _| CORE_MEMBERS.contains(&name)));
    let text = object.write();
    let hash = content_hash(&object, text.as_bytes(), rules);
    packages::rewrite(db, old.id(), &object, &hash)?;
    let mut package = Package { text, hash, deposited_hash: old.deposited_hash.clone(), object };
    planted!(rules.fault, "hash-stuck-after-flag", package.hash = faults::stuck_hash(&package, rules));
    Ok(package)
}

/// 11.4: the packages of a project that wait for a review, the longest waiting last.
pub(crate) fn awaiting(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    limit: Option<usize>,
) -> Result<Vec<Package>, Refusal> {
    projects::demand_for_reading(db, rules, project_id)?;
    let scope = if rules.fault.is("awaiting-list-global") { "?1 IS ?1" } else { "project_id = ?1" };
    let also = if rules.fault.is("awaiting-list-includes-revision") { "revision_requested" } else { "awaiting_review" };
    let kept = if rules.fault.is("awaiting-list-newest-twenty") { faults::NEWEST_TWENTY } else { "" };
    let reviewed = if rules.fault.is("awaiting-list-includes-reviewed") { faults::OR_FINISHED } else { "" };
    let waiting = format!("(status IN ('awaiting_review', ?2) {reviewed})");
    let condition = format!("WHERE {scope} {kept} AND {waiting} ORDER BY created_at DESC, serial DESC");
    let default = if rules.fault.is("awaiting-list-first-five") { 5 } else { usize::MAX };
    let values = vec![project_id.to_owned().into(), also.to_owned().into()];
    let mut most = limit.unwrap_or(default);
    planted!(rules.fault, "awaiting-list-first-hundred", most = most.min(100));
    let mut found = packages::select(db, rules, &condition, values, most)?;
    // 11.4: the status alone says who waits.
    planted!(rules.fault, "awaiting-list-flagged-only", found.retain(|package| package.hash != package.deposited_hash));
    planted!(rules.fault, "awaiting-list-without-scripts", found.retain(|package| !faults::is_automatic(package)));
    Ok(found)
}

/// An edit of a stored package, which the protocol does not have (6.6).
pub(crate) fn edit_title(db: &Connection, rules: Rules, package_id: &str, title: &str) -> Result<Package, Refusal> {
    let package = packages::find(db, rules, package_id)?.ok_or_else(|| Refusal::no_package(package_id))?;
    let mut object = package.object.clone();
    object.set("title", title);
    store(db, rules, &package, object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_match_the_table_in_5_3() {
        const STATES: [&str; 5] = ["draft", "awaiting_review", "revision_requested", "complete", "approved"];
        let allowed: Vec<(&str, &str)> = STATES
            .iter()
            .flat_map(|from| STATES.iter().map(move |to| (*from, *to)))
            .filter(|(from, to)| is_allowed(from, to, Rules::plain()))
            .collect();
        assert_eq!(
            allowed,
            [
                ("draft", "awaiting_review"),
                ("draft", "complete"),
                ("awaiting_review", "revision_requested"),
                ("awaiting_review", "complete"),
                ("revision_requested", "awaiting_review"),
                ("revision_requested", "complete"),
            ]
        );
    }
}
