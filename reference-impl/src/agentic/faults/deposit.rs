//! Faults of a deposit.

use rusqlite::Connection;

use crate::agentic::hash::content_hash;
use crate::agentic::intake::{self, Submission};
use crate::agentic::refusal::{Code, Refusal};
use crate::agentic::rules::Rules;
use crate::agentic::tables::facts;
use crate::agentic::tables::packages::{self, Package};
use crate::instant::Instant;
use crate::json::{Object, Value};

/// `parent-marked`: Writes into the parent of a new package that it was superseded.
pub(in crate::agentic) fn mark_parent(db: &Connection, rules: Rules, submission: &Submission) -> Result<(), Refusal> {
    if let Some(parent) = submission.object.text("parent_package_id")
        && let Some(parent) = packages::find(db, rules, parent)?
    {
        let mut marked = parent.object.clone();
        marked.set("superseded_by", submission.package_id.as_str());
        let hash = content_hash(&marked, b"", rules);
        packages::rewrite(db, parent.id(), &marked, &hash)?;
    }
    Ok(())
}

/// `parent-completed`: Completes the parent of a new package.
pub(in crate::agentic) fn complete_parent(
    db: &Connection,
    rules: Rules,
    submission: &Submission,
) -> Result<(), Refusal> {
    if let Some(parent) = submission.object.text("parent_package_id")
        && let Some(parent) = packages::find(db, rules, parent)?
    {
        let mut completed = parent.object.clone();
        completed.set("status", "complete");
        let hash = content_hash(&completed, b"", rules);
        packages::rewrite(db, parent.id(), &completed, &hash)?;
    }
    Ok(())
}

/// `duplicate-moves-to-top`: Lists a package that is deposited again before the others.
pub(in crate::agentic) fn move_to_top(db: &Connection, package_id: &str, now: Instant) -> Result<(), Refusal> {
    db.execute("UPDATE packages SET created_at = ? WHERE package_id = ?", [&now.key(), package_id])?;
    Ok(())
}

/// `deposit-ends-facts`: Ends current facts whose subject occurs in the description of a deposit.
pub(in crate::agentic) fn end_facts(
    db: &Connection,
    rules: Rules,
    submission: &Submission,
    now: Instant,
) -> Result<(), Refusal> {
    let description = submission.object.text("description").unwrap_or_default();
    for fact in facts::current(db, rules, Some(&submission.project_id), now)? {
        if fact.text("subject").is_some_and(|subject| description.contains(subject)) {
            facts::end(db, fact, &now.to_string(), now)?;
        }
    }
    Ok(())
}

/// `old-packages-forgotten`: Keeps the newest five packages of a project.
pub(in crate::agentic) fn forget_old(db: &Connection, submission: &Submission) -> Result<(), Refusal> {
    let old = "serial NOT IN (SELECT serial FROM packages WHERE project_id = ?1 ORDER BY serial DESC LIMIT 4)";
    db.execute(&format!("DELETE FROM packages WHERE project_id = ?1 AND {old}"), [&submission.project_id])?;
    Ok(())
}

/// `duplicate-overwrites`: Upserts: a second deposit under the same id replaces the first.
pub(in crate::agentic) fn overwrite(db: &Connection, submission: Submission) -> Result<Package, Refusal> {
    packages::rewrite(db, &submission.package_id, &submission.object, &submission.hash)?;
    Ok(submission.into())
}

/// `duplicate-checks-title-only`: Calls content identical when the titles match.
pub(in crate::agentic) fn has_title_of(existing: &Package, submission: &Submission) -> bool {
    existing.object.text("title") == submission.object.text("title")
}

/// Refuses a package because of other packages. A correct server does not.
pub(in crate::agentic) fn refuse_for_others(
    db: &Connection,
    rules: Rules,
    submission: &Submission,
) -> Result<(), Refusal> {
    let clash = |message: &str| Err(Refusal::new(Code::DuplicatePackageId, message));
    let member = |package: &Object, name: &str| {
        package.get("created_by").and_then(Value::as_object).and_then(|actor| actor.text(name)).map(str::to_owned)
    };
    // 16: siblings are both valid.
    if rules.fault.is("one-child-only") && !siblings(db, rules, submission)?.is_empty() {
        return clash("the parent has a child");
    }
    // 5.6: estimated_next_actor is advice.
    if rules.fault.is("next-actor-enforced")
        && let Some(parent) = submission.object.text("parent_package_id")
        && let Some(parent) = packages::find(db, rules, parent)?
        && let Some(next) = parent.object.text("estimated_next_actor")
        && member(&submission.object, "type").as_deref() != Some(next)
    {
        return clash("the next actor is another one");
    }
    // 5.4: an actor is its id and its kind, and ids are not unique.
    for (planted, name) in
        [(rules.fault.is("actor-id-of-one-kind"), "type"), (rules.fault.is("actor-id-of-one-session"), "session_id")]
    {
        let values = vec![submission.project_id.clone().into()];
        let known =
            if planted { packages::select(db, rules, "WHERE project_id = ?", values, 200)? } else { Vec::new() };
        let other = |package: &Package| {
            member(&package.object, "id") == member(&submission.object, "id")
                && member(&package.object, name) != member(&submission.object, name)
        };
        if known.iter().any(other) {
            return clash("another actor has this id");
        }
    }
    Ok(())
}

/// The packages that have the parent of this one.
fn siblings(db: &Connection, rules: Rules, submission: &Submission) -> Result<Vec<Package>, Refusal> {
    let Some(parent) = submission.object.text("parent_package_id") else {
        return Ok(Vec::new());
    };
    let values = vec![submission.project_id.clone().into(), parent.to_owned().into()];
    packages::select(db, rules, "WHERE project_id = ? AND record ->> '$.parent_package_id' = ?", values, 1)
}

/// `siblings-merged`: Returns the first child of a parent instead of storing the second.
pub(in crate::agentic) fn sibling(
    db: &Connection,
    rules: Rules,
    submission: &Submission,
) -> Result<Option<Package>, Refusal> {
    Ok(siblings(db, rules, submission)?.pop())
}

/// `parent-autofilled`: Sets parent_package_id to the newest package of the session when absent.
pub(in crate::agentic) fn fill_parent(
    db: &Connection,
    rules: Rules,
    submission: &mut Submission,
) -> Result<(), Refusal> {
    if submission.object.present("parent_package_id").is_some() {
        return Ok(());
    }
    let values = vec![submission.project_id.clone().into()];
    let newest = packages::select(db, rules, "WHERE project_id = ? ORDER BY serial DESC", values, 1)?;
    if let Some(parent) = newest.first().filter(|parent| parent.id() != submission.package_id) {
        let mut object = submission.object.clone();
        object.set("parent_package_id", parent.id());
        let project_id = std::mem::take(&mut submission.project_id);
        *submission = intake::admit(rules, object, None);
        submission.project_id = project_id;
    }
    Ok(())
}
