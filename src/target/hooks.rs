//! `hooks` in a target file: programs that prepare the target.

use std::path::{Path, PathBuf};

use super::keys::HOOKS;
use crate::source::{Diagnostic, Fields, Located, Node, Problems};

/// Programs that prepare the target before a run; an empty one is not configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Empties its store.
    pub reset: Vec<String>,
    /// Loads the fixture, whose path is the last argument.
    pub load: Vec<String>,
    /// The folder in which they run.
    pub directory: PathBuf,
}

pub(super) fn read_hooks(node: &Node, problems: &mut Problems) -> Hooks {
    let mut fields = Fields::new(node, &HOOKS, problems);
    let mut command = |key| {
        let words: Vec<Located<String>> = fields.texts(key, problems);
        if let Some(word) = words.iter().find(|word| word.value.contains('\0')) {
            problems.note(Diagnostic::new(&word.span, "a command has no NUL characters"));
        }
        words.into_iter().map(|word| word.value).collect::<Vec<_>>()
    };
    let (reset, load) = (command("reset"), command("load"));
    fields.finish(problems);
    // Paths in a target file are relative to the file.
    let folder = Path::new(&node.span.source().name).parent().unwrap_or(Path::new("")).to_owned();
    let directory = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    Hooks { reset, load, directory }
}
