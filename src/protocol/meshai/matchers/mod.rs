//! Matchers of this protocol.

mod outcome;
mod schema;

use crate::matcher::Matcher;

/// Every matcher.
pub(super) const ALL: &[&dyn Matcher] = &[
    &outcome::Served,
    &outcome::Rejected,
    &schema::ValidSchema,
    &schema::AcceptsInstance,
    &schema::ResolvesReferences,
];
