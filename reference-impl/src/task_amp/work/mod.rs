//! What the scripted agents do outside the protocol: changes in a git repository, and the reading of a diff.

pub(super) mod git;
pub(super) mod hint;
pub(super) mod repository;
pub(super) mod review;
