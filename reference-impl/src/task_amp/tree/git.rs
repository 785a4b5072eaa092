//! The same tree in a git repository, bare or not: one commit for each written file, with the role as its author.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::folder::{Found, INPUTS, is_name};

/// How often a commit is tried again when somebody else was faster.
const ATTEMPTS: usize = 20;

/// A tree in a repository.
#[derive(Debug)]
pub(super) struct GitTree {
    path: PathBuf,
    branch: String,
    /// The commit that was looked at last.
    seen: Option<String>,
    known: HashSet<String>,
    /// Texts of files to which lines are added.
    logs: HashMap<String, String>,
}

impl GitTree {
    /// The tree on the current branch of the repository at `path`, which is created if there is none.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        let mut tree = Self {
            path: path.to_owned(),
            branch: "refs/heads/main".to_owned(),
            seen: None,
            known: HashSet::new(),
            logs: HashMap::new(),
        };
        std::fs::create_dir_all(path)?;
        let failed = |reason: String| std::io::Error::other(reason);
        if tree.git(&["rev-parse", "--git-dir"], None, &[]).is_err() {
            tree.git(&["init", "-q", "--bare", "-b", "main"], None, &[]).map_err(failed)?;
        }
        if let Ok(branch) = tree.git(&["symbolic-ref", "HEAD"], None, &[]) {
            tree.branch = branch;
        }
        Ok(tree)
    }

    fn git(&self, arguments: &[&str], input: Option<&str>, environment: &[(&str, &str)]) -> Result<String, String> {
        let mut command = Command::new("git");
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"]).arg("-C").arg(&self.path).args(arguments);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").envs(environment.iter().copied());
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        let failed = |error: std::io::Error| format!("git: {error}");
        let child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(failed)?;
        if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
            std::io::Write::write_all(&mut pipe, input.as_bytes()).map_err(failed)?;
        }
        let output = child.wait_with_output().map_err(failed)?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    fn head(&self) -> Option<String> {
        self.git(&["rev-parse", "--verify", "--quiet", &self.branch], None, &[]).ok()
    }

    /// Files that were committed since the last look, in the order of the commits.
    pub(super) fn added(&mut self) -> Vec<Found> {
        let head = self.head();
        if head == self.seen {
            return Vec::new();
        }
        let Some(head) = head else { return Vec::new() };
        let range = self.seen.as_ref().map_or_else(|| head.clone(), |seen| format!("{seen}..{head}"));
        let listed = self.git(
            &["log", "--reverse", "--no-renames", "--diff-filter=A", "--name-only", "--format=%x01%an", &range],
            None,
            &[],
        );
        let Ok(listed) = listed else { return Vec::new() };
        self.seen = Some(head.clone());
        let mut found = Vec::new();
        let mut author = None;
        for line in listed.lines().filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix('\u{1}') {
                author = Some(name.to_owned());
                continue;
            }
            let input = INPUTS.iter().any(|folder| line.starts_with(&format!("{folder}/"))) && line.ends_with(".json");
            if !input || !self.known.insert(line.to_owned()) {
                continue;
            }
            // It may have been removed by a later commit.
            if let Ok(text) = self.git(&["cat-file", "blob", &format!("{head}:{line}")], None, &[]) {
                found.push(Found { name: line.to_owned(), author: author.clone(), bytes: text.into_bytes() });
            }
        }
        found
    }

    /// Commits a file, or its removal (`None`).
    fn commit(&mut self, changes: &[(&str, Option<&str>)], author: &str) -> Result<(), String> {
        let index = std::env::temp_dir().join(format!("proofmark-tree-{}-{author}", std::process::id()));
        let index_path = index.display().to_string();
        let email = format!("{author}@localhost");
        let environment = [
            ("GIT_INDEX_FILE", index_path.as_str()),
            ("GIT_AUTHOR_NAME", author),
            ("GIT_AUTHOR_EMAIL", &email),
            ("GIT_COMMITTER_NAME", author),
            ("GIT_COMMITTER_EMAIL", &email),
        ];
        for _ in 0..ATTEMPTS {
            let head = self.head();
            match &head {
                Some(head) => self.git(&["read-tree", head], None, &environment)?,
                None => self.git(&["read-tree", "--empty"], None, &environment)?,
            };
            for (name, text) in changes {
                match text {
                    Some(text) => {
                        let blob = self.git(&["hash-object", "-w", "--stdin"], Some(text), &[])?;
                        let entry = format!("100644,{blob},{name}");
                        self.git(&["update-index", "--add", "--cacheinfo", &entry], None, &environment)?
                    }
                    None => self.git(&["update-index", "--force-remove", name], None, &environment)?,
                };
            }
            let tree = self.git(&["write-tree"], None, &environment)?;
            let name = changes.first().map_or("", |(name, _)| name);
            let mut arguments = vec!["commit-tree", tree.as_str(), "-m", name];
            arguments.extend(head.as_ref().map(|head| ["-p", head.as_str()]).iter().flatten());
            let commit = self.git(&arguments, None, &environment)?;
            let none = "0".repeat(40);
            let before = head.as_deref().unwrap_or(&none);
            if self.git(&["update-ref", &self.branch, &commit, before], None, &[]).is_ok() {
                return Ok(());
            }
        }
        Err("somebody else always commits first".to_owned())
    }

    /// Commits a file, unless it is there and is `kept`. `false` if a name cannot be a file.
    pub(super) fn write(&mut self, names: &[&str], text: &str, kept: bool, author: &str) -> std::io::Result<bool> {
        if !names.iter().all(|name| name.split('/').all(is_name)) {
            return Ok(false);
        }
        let name = names.join("/");
        let there = || self.git(&["cat-file", "-e", &format!("{}:{name}", self.branch)], None, &[]).is_ok();
        if kept && (self.known.contains(&name) || there()) {
            return Ok(true);
        }
        self.known.insert(name.clone());
        self.commit(&[(&name, Some(text))], author).map(|()| true).map_err(std::io::Error::other)
    }

    /// Adds a line to a file.
    pub(super) fn append(&mut self, name: &str, line: &str) -> std::io::Result<()> {
        let before = self.logs.get(name).cloned();
        let stored = || self.git(&["cat-file", "blob", &format!("{}:{name}", self.branch)], None, &[]);
        let before = before.unwrap_or_else(|| stored().map(|text| text + "\n").unwrap_or_default());
        let text = format!("{before}{line}\n");
        self.commit(&[(name, Some(&text))], "system").map_err(std::io::Error::other)?;
        self.logs.insert(name.to_owned(), text);
        Ok(())
    }

    /// Moves a control input to `done` or `failed`.
    pub(super) fn settle(&mut self, found: &Found, to: &str) {
        let name = format!("ssot/control/{to}/{}", found.name.rsplit('/').next().unwrap_or_default());
        let text = String::from_utf8_lossy(&found.bytes).into_owned();
        // If it cannot be moved it is not looked at again.
        self.commit(&[(&name, Some(&text)), (&found.name, None)], "system").ok();
    }
}
