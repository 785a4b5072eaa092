//! Matchers of AMP: what a message came to, and whether one is signed.

mod accepted;
mod refused;
mod signed;

use crate::matcher::Matcher;

/// Every matcher.
pub(super) const ALL: &[&dyn Matcher] = &[&accepted::Accepted, &refused::Refused, &signed::Signed];
