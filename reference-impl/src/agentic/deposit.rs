//! Section 8.1, deposit: steps 3 and 4, after [`super::intake::submit`] did the first two.

use rusqlite::Connection;

use super::Rules;
use super::intake::Submission;
use super::refusal::{Code, Refusal};
use super::tables::packages::{self, Package};
use super::tables::projects;
use super::variant::is_same;
use crate::instant::Instant;

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
