//! The matchers of the protocol: one file each.

mod fault;
mod kept;
mod processed;
mod words;

use crate::matcher::Matcher;

/// Every matcher.
pub(super) const ALL: &[&dyn Matcher] = &[&processed::Processed, &fault::Fault, &kept::Kept];
