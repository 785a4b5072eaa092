//! `tree` in a target file: the files that a target shares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::keys::TREE;
use super::read::read_duration;
use crate::source::{Diagnostic, Fields, Node, Problems, Yaml};

/// Default interval between two scans of a tree.
const POLL: Duration = Duration::from_millis(50);

/// Minimum interval between two scans.
const SHORTEST_POLL: Duration = Duration::from_millis(5);

/// A directory, or a git work tree, in which a target and proofmark exchange files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRoot {
    /// The directory.
    pub root: PathBuf,
    /// Whether it is a git work tree, in which each file that is written is a commit.
    pub git: bool,
    /// The interval between two scans.
    pub poll: Duration,
    /// Paths that differ from the protocol's own, by operation.
    pub paths: BTreeMap<String, String>,
}

impl TreeRoot {
    /// A directory, with nothing configured.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), git: false, poll: POLL, paths: BTreeMap::new() }
    }
}

/// Reads `tree`.
pub(super) fn read_tree(node: &Node, problems: &mut Problems) -> Option<TreeRoot> {
    let mut fields = Fields::new(node, &TREE, problems);
    let root = fields.required_text("root", problems);
    let git = fields.flag("git", problems);
    let poll = fields.text("poll", problems);
    let paths = fields.take("paths");
    fields.finish(problems);
    let poll = poll.and_then(|text| {
        let poll = read_duration(&text, problems)?;
        if poll < SHORTEST_POLL {
            problems.note(Diagnostic::new(&text.span, "`poll` must be at least 5ms"));
        }
        Some(poll)
    });
    let paths = paths.map(|node| read_paths(node, problems)).unwrap_or_default();
    let root = root?;
    // A path in a target file starts where that file is.
    let folder = Path::new(&root.span.source().name).parent().unwrap_or(Path::new("")).to_owned();
    Some(TreeRoot { root: folder.join(&*root), git, poll: poll.unwrap_or(POLL), paths })
}

fn read_paths(node: &Node, problems: &mut Problems) -> BTreeMap<String, String> {
    let Yaml::Map(members) = &node.value else {
        problems.note(Diagnostic::new(&node.span, "`paths` must be a map from operations to paths"));
        return BTreeMap::new();
    };
    let mut paths = BTreeMap::new();
    for (key, value) in members {
        match &value.value {
            Yaml::Text(path) => drop(paths.insert(key.name.clone(), path.clone())),
            _ => problems.note(Diagnostic::new(&value.span, "a path must be text")),
        }
    }
    paths
}
