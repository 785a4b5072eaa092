//! A git repository, through the command `git`. The work tree is left alone unless the branch is checked out there.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    path: PathBuf,
}

/// A change on a branch, between two commits.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    pub(super) files: Vec<String>,
    pub(super) added: i64,
    pub(super) removed: i64,
}

impl Repository {
    pub(super) fn at(path: &str) -> Self {
        Self { path: Path::new(path).to_owned() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        // Hooks and settings of the machine are not ours to run.
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"]).arg("-C").arg(&self.path).args(arguments);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "executor");
            command.env(format!("GIT_{who}_EMAIL"), "executor@localhost");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn finish(mut command: Command, input: Option<&[u8]>) -> Result<String, String> {
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|error| format!("git: {error}"))?;
        if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
            pipe.write_all(input).map_err(|error| format!("git: {error}"))?;
        }
        let output = child.wait_with_output().map_err(|error| format!("git: {error}"))?;
        if !output.status.success() {
            return Err(format!("git: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        Self::finish(self.command(arguments), None).map(|text| text.trim_end().to_owned())
    }

    /// The commit of a branch; `None` if there is no such branch.
    pub(super) fn head(&self, branch: &str) -> Option<String> {
        self.git(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}^{{commit}}")]).ok()
    }

    /// The commit that a new branch begins with.
    pub(super) fn start(&self) -> Result<String, String> {
        self.git(&["rev-parse", "--verify", "HEAD^{commit}"])
    }

    /// The text of a file in a commit; empty if it is not there.
    pub(super) fn file(&self, commit: &str, path: &str) -> String {
        Self::finish(self.command(&["cat-file", "blob", &format!("{commit}:{path}")]), None).unwrap_or_default()
    }

    /// Commits a file with a new text on a branch; the new commit.
    pub(super) fn commit(&self, branch: &str, base: &str, path: &str, text: &str, why: &str) -> Result<String, String> {
        let index = tempfile_name(&self.path);
        let blob = Self::finish(self.command(&["hash-object", "-w", "--stdin"]), Some(text.as_bytes()))?;
        let with_index = |arguments: &[&str]| {
            let mut command = self.command(arguments);
            command.env("GIT_INDEX_FILE", &index);
            Self::finish(command, None).map(|text| text.trim_end().to_owned())
        };
        let cache = format!("100644,{},{path}", blob.trim());
        let tree = with_index(&["read-tree", base])
            .and_then(|_| with_index(&["update-index", "--add", "--cacheinfo", &cache]))
            .and_then(|_| with_index(&["write-tree"]));
        std::fs::remove_file(&index).ok(); // only a copy
        let commit = self.git(&["commit-tree", &tree?, "-p", base, "-m", why])?;
        self.advance(branch, &commit)?;
        Ok(commit)
    }

    /// Moves a branch to a commit, and the work tree with it if the branch is checked out there.
    pub(super) fn advance(&self, branch: &str, commit: &str) -> Result<(), String> {
        let name = format!("refs/heads/{branch}");
        let before = self.head(branch);
        let checked_out = self.git(&["symbolic-ref", "--quiet", "HEAD"]).is_ok_and(|head| head == name);
        match &before {
            Some(before) => self.git(&["update-ref", &name, commit, before])?,
            None => self.git(&["update-ref", &name, commit])?,
        };
        match before.filter(|_| checked_out) {
            Some(before) => self.git(&["read-tree", "-m", "-u", &before, commit]).map(drop),
            None => Ok(()),
        }
    }

    /// What differs between two commits.
    pub(super) fn change(&self, from: &str, to: &str) -> Change {
        let Ok(text) = self.git(&["diff", "--numstat", "--no-renames", from, to]) else { return Change::default() };
        let mut change = Change::default();
        for line in text.lines() {
            let mut parts = line.splitn(3, '\t');
            let mut count = || parts.next().and_then(|count| count.parse::<i64>().ok()).unwrap_or(0);
            change.added += count();
            change.removed += count();
            change.files.extend(parts.next().map(str::to_owned));
        }
        change
    }

    /// The commit on a branch whose message names `mark`, with its parent.
    pub(super) fn marked(&self, branch: &str, mark: &str) -> Option<(String, String)> {
        let name = format!("refs/heads/{branch}");
        let found = self.git(&["log", "--fixed-strings", "--grep", mark, "--format=%H %P", "-1", &name]).ok()?;
        let (commit, parents) = found.split_once(' ')?;
        Some((commit.to_owned(), parents.split(' ').next()?.to_owned()))
    }

    /// The difference of two commits as text.
    pub(super) fn diff(&self, from: &str, to: &str) -> String {
        self.git(&["diff", from, to]).unwrap_or_default()
    }

    /// Whether a text may be a branch.
    pub(super) fn is_branch_name(&self, branch: &str) -> bool {
        self.git(&["check-ref-format", &format!("refs/heads/{branch}")]).is_ok()
    }
}

/// A name for an index of our own.
fn tempfile_name(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("proofmark-index-{}-{number}", std::process::id());
    let folder = path.join(".git");
    if folder.is_dir() { folder.join(name) } else { std::env::temp_dir().join(name) }
}
