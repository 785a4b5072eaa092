//! The file tree of binding.md, section 4, as files (`folder`) or as commits of a repository (`git`); `mirror` keeps tree and bus
//! the same.

mod folder;
mod git;
mod mirror;
mod place;

pub(crate) use mirror::{open, run};
