//! Matchers of AMP: the outcome of a message, and its signature.

mod accepted;
mod refused;
mod signed;

use crate::matcher::Matcher;

/// Every matcher.
pub(super) const ALL: &[&dyn Matcher] = &[&accepted::Accepted, &refused::Refused, &signed::Signed];
