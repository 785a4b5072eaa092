//! Section 8.1, deposit: steps 3 and 4, after [`super::intake::submit`] did the first two.

use rusqlite::Connection;

use super::Rules;
use super::intake::Submission;
use super::refusal::{Code, Refusal};
use super::tables::packages::{self, Package};
use super::tables::{facts, projects};
use super::variant::is_same;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// What a deposit answers with.
#[derive(Debug)]
pub(crate) struct Deposited {
    pub(crate) package: Package,
    /// `false` if the same content was there already.
    pub(crate) created: bool,
}

/// Stores a submission in the transaction that `db` has open, or finds that it is there.
pub(crate) fn deposit(
    db: &Connection,
    rules: Rules,
    mut submission: Submission,
    now: Instant,
) -> Result<Deposited, Refusal> {
    let project = projects::find_or_create(db, &submission.project_id, now)?;
    // 8.1: project_archived. The text allows either; this server refuses.
    // Other, E36: and this one takes it.
    if project.archived && !rules.variant.is_other() {
        if rules.fault.is("archived-swallows-deposit") {
            return Ok(Deposited { package: as_package(submission), created: false });
        }
        return Err(Refusal::new(Code::ProjectArchived, format!("project {:?} is archived", submission.project_id)));
    }
    // 6.4: the parent is what the actor says it is.
    if rules.fault.is("parent-autofilled") && submission.object.present("parent_package_id").is_none() {
        fill_parent(db, rules, &mut submission)?;
    }
    if let Some(existing) = packages::find(db, rules, &submission.package_id)? {
        return again(db, rules, existing, submission);
    }
    if let Some(refused) = refused_for_its_kin(db, rules, &submission)? {
        return Err(refused);
    }
    // 13, 16: two packages with one parent are two packages.
    if rules.fault.is("siblings-merged")
        && let Some(sibling) = siblings(db, rules, &submission)?.pop()
    {
        return Ok(Deposited { package: sibling, created: false });
    }
    // 6.6: a correction leaves what it corrects as it was.
    if rules.fault.is("parent-marked")
        && let Some(parent) = submission.object.text("parent_package_id")
        && let Some(parent) = packages::find(db, rules, parent)?
    {
        let mut marked = parent.object.clone();
        marked.set("superseded_by", submission.package_id.as_str());
        let hash = super::hash::content_hash(&marked, b"", rules);
        packages::rewrite(db, parent.id(), &marked, &hash)?;
    }
    // 3, P2: an event is no state.
    if rules.fault.is("deposit-ends-facts") {
        let description = submission.object.text("description").unwrap_or_default();
        for fact in facts::current(db, rules, Some(&submission.project_id), now)? {
            if fact.text("subject").is_some_and(|subject| description.contains(subject)) {
                facts::end(db, fact, &now.to_string(), now)?;
            }
        }
    }
    // 5.1: the log of a project only grows.
    if rules.fault.is("old-packages-forgotten") {
        let old = "serial NOT IN (SELECT serial FROM packages WHERE project_id = ?1 ORDER BY serial DESC LIMIT 4)";
        db.execute(&format!("DELETE FROM packages WHERE project_id = ?1 AND {old}"), [&submission.project_id])?;
    }
    // Other, E78: a parent is a package.
    if let Some(parent) = submission.object.text("parent_package_id")
        && rules.variant.is_other()
        && packages::find(db, rules, parent)?.is_none()
    {
        return Err(Refusal::new(Code::Unprocessable, format!("no package {parent:?}")).at("/parent_package_id"));
    }
    packages::insert(db, &submission)?;
    Ok(Deposited { package: as_package(submission), created: true })
}

/// What a server might refuse because of what else there is. A correct one refuses nothing.
fn refused_for_its_kin(db: &Connection, rules: Rules, submission: &Submission) -> Result<Option<Refusal>, Refusal> {
    let clash = |message: &str| Ok(Some(Refusal::new(Code::DuplicatePackageId, message)));
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
        return clash("somebody else is to go on");
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
    Ok(None)
}

/// The packages that have the parent of this one.
fn siblings(db: &Connection, rules: Rules, submission: &Submission) -> Result<Vec<Package>, Refusal> {
    let Some(parent) = submission.object.text("parent_package_id") else {
        return Ok(Vec::new());
    };
    let values = vec![submission.project_id.clone().into(), parent.to_owned().into()];
    packages::select(db, rules, "WHERE project_id = ? AND record ->> '$.parent_package_id' = ?", values, 1)
}

/// 11.2: the same id with identical content succeeds and returns what is there; with other content it is a clash.
fn again(db: &Connection, rules: Rules, existing: Package, submission: Submission) -> Result<Deposited, Refusal> {
    if rules.fault.is("duplicate-overwrites") {
        packages::rewrite(db, &submission.package_id, &submission.object, &submission.hash)?;
        return Ok(Deposited { package: as_package(submission), created: false });
    }
    if is_identical(rules, &existing, &submission) {
        return Ok(Deposited { package: existing, created: false });
    }
    let message = format!("package {:?} exists with other content", submission.package_id);
    Err(Refusal::new(Code::DuplicatePackageId, message).at("/package_id"))
}

/// E21: content is identical if it has the content hash of the package as it stands, or as it was deposited.
fn is_identical(rules: Rules, existing: &Package, submission: &Submission) -> bool {
    if rules.fault.is("duplicate-always-409") {
        return false;
    }
    if rules.fault.is("duplicate-checks-title-only") {
        return existing.object.text("title") == submission.object.text("title");
    }
    if rules.fault.is("duplicate-by-raw-bytes") {
        return existing.text == submission.text;
    }
    // Other, E21: the same JSON value.
    if rules.variant.is_other() {
        return is_same(&submission.object.clone().into(), &existing.object.clone().into());
    }
    submission.hash == existing.hash || submission.hash == existing.deposited_hash
}

/// A submission as the package that it becomes.
pub(crate) fn as_package(submission: Submission) -> Package {
    let Submission { object, text, hash, .. } = submission;
    Package { object, text, deposited_hash: hash.clone(), hash }
}

fn fill_parent(db: &Connection, rules: Rules, submission: &mut Submission) -> Result<(), Refusal> {
    let values = vec![submission.project_id.clone().into()];
    let newest = packages::select(db, rules, "WHERE project_id = ? ORDER BY serial DESC", values, 1)?;
    if let Some(parent) = newest.first().filter(|parent| parent.id() != submission.package_id) {
        let mut object = submission.object.clone();
        object.set("parent_package_id", parent.id());
        let project_id = std::mem::take(&mut submission.project_id);
        *submission = super::intake::admit(rules, object, None);
        submission.project_id = project_id;
    }
    Ok(())
}

/// The deposit of a server without a transaction: looks, and some time later inserts.
pub(crate) mod race {
    use super::{Connection, Deposited, Refusal, Rules, Submission, as_package, packages};

    /// Whether the id is free.
    pub(crate) fn look(db: &Connection, rules: Rules, package_id: &str) -> Result<bool, Refusal> {
        Ok(packages::find(db, rules, package_id)?.is_none())
    }

    /// Inserts without looking again, the unique key gone.
    pub(crate) fn insert(db: &Connection, submission: Submission) -> Result<Deposited, Refusal> {
        db.execute_batch("DROP INDEX IF EXISTS package_by_id")?;
        packages::insert(db, &submission)?;
        Ok(Deposited { package: as_package(submission), created: true })
    }
}
