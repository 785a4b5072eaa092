//! Either form of the tree.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::folder::{Folder, Found};
use super::git::GitTree;

/// A tree.
#[derive(Debug)]
pub(super) enum Place {
    /// Files of a directory.
    Files(Folder),
    /// Commits of a repository.
    Git(GitTree),
}

impl Place {
    pub(super) fn open(root: &Path, git: bool) -> io::Result<Self> {
        Ok(if git { Self::Git(GitTree::open(root)?) } else { Self::Files(Folder::open(root)?) })
    }

    /// How often it is looked at (binding.md, section 4).
    pub(super) fn poll(&self) -> Duration {
        match self {
            Self::Files(_) => Duration::from_millis(25),
            Self::Git(_) => Duration::from_millis(100),
        }
    }

    /// Files that appeared since the last look, the oldest first.
    pub(super) fn added(&mut self) -> Vec<Found> {
        match self {
            Self::Files(folder) => folder.added(),
            Self::Git(tree) => tree.added(),
        }
    }

    /// Writes a file in the name of a role, unless it is there and is `kept`.
    pub(super) fn write(&mut self, names: &[&str], text: &str, kept: bool, author: &str) -> io::Result<bool> {
        match self {
            Self::Files(folder) => folder.write(names, text, kept),
            Self::Git(tree) => tree.write(names, text, kept, author),
        }
    }

    /// Adds a line to a file.
    pub(super) fn append(&mut self, name: &str, line: &str) -> io::Result<()> {
        match self {
            Self::Files(folder) => folder.append(name, line),
            Self::Git(tree) => tree.append(name, line),
        }
    }

    /// Moves a control input to `done` or `failed`.
    pub(super) fn settle(&mut self, found: &Found, to: &str) {
        match self {
            Self::Files(folder) => folder.settle(found, to),
            Self::Git(tree) => tree.settle(found, to),
        }
    }
}
