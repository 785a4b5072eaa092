//! The schema (spec, introduction; E01): what a valid message is. One module for the bus, the roles and the library.
//!
//! [`check`] lists every problem of a message. What only the store can know (a used id, an unknown task, a suspended one) is
//! decided in `ledger`.

mod dispatch;
mod envelope;
mod escalation;
mod fields;
mod payload;
mod problem;
mod request;
mod result;
mod verdict;

pub(crate) use dispatch::is_forbidden;
pub(crate) use envelope::{VERSION, route};
pub(crate) use problem::{Code, Problem};

use fields::{Check, Place};

use super::role::Kind;
use super::rules::Rules;
use crate::json::{Object, Value};

/// Every problem of a message; none means that it is valid.
#[must_use]
pub(crate) fn check(rules: Rules, message: &Value) -> Vec<Problem> {
    let Some(message) = message.as_object() else {
        return vec![Problem::new(Code::NotAnObject, "", "a message is a JSON object")];
    };
    let mut check = Check::new(rules);
    envelope::check(&mut check, message);
    check.problems
}

/// Every problem of a payload.
#[must_use]
pub(crate) fn check_payload(rules: Rules, kind: Kind, payload: &Object) -> Vec<Problem> {
    let mut check = Check::new(rules);
    payload::check(&mut check, kind, &Place::new(payload, ""), None);
    check.problems
}

/// Whether a message may have comments (spec, JSON wire format; E06).
#[must_use]
pub(crate) fn takes_comments(rules: Rules) -> bool {
    // Intro: JSON has no comments.
    rules.fault.is("json-comments-allowed")
}
