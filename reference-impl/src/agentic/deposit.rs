//! Section 8.1, deposit: steps 3 and 4, after [`super::intake::submit`] did the first two.

use rusqlite::Connection;

use super::faults::deposit as faults;
use super::intake::Submission;
use super::refusal::{Code, Refusal};
use super::rules::Rules;
use super::session;
use super::tables::packages::{self, Package};
use super::tables::projects;
use super::variant::is_same;
use crate::fault::planted;
use crate::instant::Instant;

/// The answer to a deposit.
#[derive(Debug)]
pub(crate) struct Deposited {
    pub(crate) package: Package,
    /// `false` if the same content was there already.
    pub(crate) created: bool,
}

impl Deposited {
    /// The same content was there already.
    fn known(package: Package) -> Self {
        Self { package, created: false }
    }
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
    // Other, E36: this variant accepts it.
    if project.archived && !rules.variant.is_other() {
        planted!(rules.fault, "archived-swallows-deposit", return Ok(Deposited::known(submission.into())));
        return Err(Refusal::new(Code::ProjectArchived, format!("project {:?} is archived", submission.project_id)));
    }
    // 6.4: the actor defines the parent.
    planted!(rules.fault, "parent-autofilled", faults::fill_parent(db, rules, &mut submission)?);
    if let Some(existing) = packages::find(db, rules, &submission.package_id)? {
        return again(db, rules, existing, submission, now);
    }
    // 5.4, 5.6, 16: only its own content matters.
    faults::refuse_for_others(db, rules, &submission)?;
    // 13, 16: two packages with one parent are two packages.
    let sibling = || faults::sibling(db, rules, &submission);
    planted!(rules.fault, "siblings-merged", known in sibling()? => return Ok(Deposited::known(known)));
    // 6.6: a correction does not change the corrected package.
    planted!(rules.fault, "parent-marked", faults::mark_parent(db, rules, &submission)?);
    // 5.3: a status changes by a review or a flag, not by another package.
    planted!(rules.fault, "parent-completed", faults::complete_parent(db, rules, &submission)?);
    // 3, P2: an event does not change state.
    planted!(rules.fault, "deposit-ends-facts", faults::end_facts(db, rules, &submission, now)?);
    // 5.1: the log of a project only grows.
    planted!(rules.fault, "old-packages-forgotten", faults::forget_old(db, &submission)?);
    // Other, E78: a parent is a package.
    if let Some(parent) = submission.object.text("parent_package_id")
        && rules.variant.is_other()
        && packages::find(db, rules, parent)?.is_none()
    {
        return Err(Refusal::new(Code::Unprocessable, format!("no package {parent:?}")).at("/parent_package_id"));
    }
    packages::insert(db, &submission)?;
    if rules.sessions {
        session::enter(db, rules, &submission, now)?;
    }
    Ok(Deposited { package: submission.into(), created: true })
}

/// 11.2: the same id with identical content succeeds and returns the stored package; with other content it is a
/// conflict.
fn again(
    db: &Connection,
    rules: Rules,
    existing: Package,
    submission: Submission,
    now: Instant,
) -> Result<Deposited, Refusal> {
    planted!(rules.fault, "duplicate-overwrites", return faults::overwrite(db, submission).map(Deposited::known));
    if is_identical(rules, &existing, &submission) {
        // 8.2: a list is in the order of created_at, whatever was deposited last.
        planted!(rules.fault, "duplicate-moves-to-top", faults::move_to_top(db, existing.id(), now)?);
        return Ok(Deposited::known(existing));
    }
    let message = format!("package {:?} exists with other content", submission.package_id);
    Err(Refusal::new(Code::DuplicatePackageId, message).at("/package_id"))
}

/// E21: content is identical if it has the content hash of the package now, or at its deposit.
fn is_identical(rules: Rules, existing: &Package, submission: &Submission) -> bool {
    planted!(rules.fault, "duplicate-always-409", return false);
    planted!(rules.fault, "duplicate-checks-title-only", return faults::has_title_of(existing, submission));
    planted!(rules.fault, "duplicate-by-raw-bytes", return existing.text == submission.text);
    // Other, E21: the same JSON value.
    if rules.variant.is_other() {
        return is_same(&submission.object.clone().into(), &existing.object.clone().into());
    }
    submission.hash == existing.hash || submission.hash == existing.deposited_hash
}
