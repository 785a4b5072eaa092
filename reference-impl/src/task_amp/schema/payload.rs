//! Spec 01 to 05: the members of the payloads, chosen by the type.

use super::fields::{Check, Place};
use super::problem::Problem;
use super::{dispatch, escalation, request, result, verdict};
use crate::task_amp::role::Kind;

/// Checks the payload of a message of one type.
pub(super) fn check(check: &mut Check, kind: Kind, payload: &Place<'_>, task: Option<&str>) {
    let found = problems(check, kind, payload, task);
    // 00: the type decides, not whichever schema fits.
    let any = check.rules.fault.is("any-payload-fits");
    if any && Kind::ALL.iter().any(|kind| problems(check, *kind, payload, task).is_empty()) {
        return;
    }
    check.problems.extend(found);
}

fn problems(check: &Check, kind: Kind, payload: &Place<'_>, task: Option<&str>) -> Vec<Problem> {
    let mut inner = Check::new(check.rules);
    match kind {
        Kind::Dispatch => dispatch::check(&mut inner, payload),
        Kind::Result => result::check(&mut inner, payload),
        Kind::Request => request::check(&mut inner, payload, task),
        Kind::Verdict => verdict::check(&mut inner, payload),
        Kind::Escalation => escalation::check(&mut inner, payload),
    }
    inner.problems
}
