//! Repositories that proofmark makes for a case: the target works on one, and proofmark inspects it afterwards.
//!
//! Each is a copy of one template: a branch `main`, and the branch `feature/proofmark` at the same commit, without a remote. The
//! target may write anything into it, so proofmark runs plumbing commands of git only, without hooks, filters and the
//! configuration of the repository, and never a file of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use sha2::{Digest, Sha256};

use super::{Delivery, git};
use crate::exchange::{Body, Encoded, Ended, Incoming, Outgoing, RepositoryAction, Transport};
use crate::target::Limits;
use crate::value::Value;
use crate::wire::json;

/// The branch that a target works on.
const BRANCH: &str = "refs/heads/feature/proofmark";

/// The branch that it leaves alone.
const MAIN: &str = "refs/heads/main";

/// The files of the first commit.
const FILES: &[(&str, &str)] = &[
    ("FORBIDDEN.txt", "This file must not change.\n"),
    ("NOTES.txt", "Notes.\n"),
    ("README.md", "A repository for a test.\n"),
];

/// NOTES.txt with the work that the dispatch of a case asks for, and with a defect of ten lines.
const WORKED: &str = "Notes.\nok\n";
const DEFECTIVE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// Files of a work tree that are read, and bytes of each.
const READ_FILES: usize = 64;
const READ_BYTES: u64 = 64 << 10;

/// The repositories of a run. Their folders are removed when this is dropped.
#[derive(Default)]
pub struct Repositories {
    made: Mutex<Option<Made>>,
}

struct Made {
    root: tempfile::TempDir,
    template: Template,
}

/// What each repository has.
#[derive(Clone)]
struct Template {
    /// The first commit.
    base: String,
    worked: Change,
    defective: Change,
}

/// A commit after the first one, and its difference.
#[derive(Clone)]
struct Change {
    commit: String,
    diff: String,
}

impl Repositories {
    /// Makes or reads the repository that a message names. The answer is JSON: `path`, `base` (the first commit), `commit` (the one
    /// that was made on the branch), `refs`, `head`,
    /// `commits` (on the branch since then, the newest first), `changed` (paths on the branch), `added` and `removed` (lines),
    /// `changed-anywhere` (paths on any branch and in the work tree), `files` (of the work tree), and `state`, a digest of
    /// branches and work tree.
    pub async fn carry(&self, action: RepositoryAction, message: Encoded, limits: &Limits) -> Delivery {
        let begun = Instant::now();
        let sent = Outgoing {
            transport: Transport::Http,
            method: message.method.clone(),
            url: message.path.clone(),
            headers: Vec::new(),
            body: Body::default(),
        };
        let received = match self.place(&message.path) {
            Err(why) => Incoming::nothing(Ended::Unreachable(why)),
            Ok((folder, template)) => {
                let Template { base, worked, defective } = template;
                let work = tokio::task::spawn_blocking(move || match action {
                    RepositoryAction::Make => copy(&folder).map(|()| shown(&folder, &base)),
                    RepositoryAction::MakeWorked => changed(&folder, &base, &worked),
                    RepositoryAction::MakeDefective => changed(&folder, &base, &defective),
                    RepositoryAction::MakeFolder => plain(&folder).map(|()| shown(&folder, &base)),
                    RepositoryAction::Read => Ok(read(&folder, &base)),
                });
                match tokio::time::timeout(limits.request, work).await {
                    Ok(Ok(Ok(answer))) => Incoming {
                        status: Some(200),
                        headers: Vec::new(),
                        body: Body::from(json::compact(&answer).into_bytes()),
                        arrived: Vec::new(),
                        ended: Ended::Complete,
                    },
                    Ok(Ok(Err(why))) => Incoming::nothing(Ended::Unreachable(why)),
                    Ok(Err(why)) => Incoming::nothing(Ended::Unreachable(why.to_string())),
                    Err(_) => Incoming::nothing(Ended::TimedOut),
                }
            }
        };
        Delivery { sent, received, begun }
    }

    /// The folder of a repository, and its template, which is made at first use.
    fn place(&self, name: &str) -> Result<(PathBuf, Template), String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || name.len() > 80 || !name.bytes().all(plain) || name == "template" {
            return Err(format!("`{name}` is not the name of a repository"));
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.is_none() {
            let root = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
            let template = template(&root.path().join("template"))?;
            *made = Some(Made { root, template });
        }
        let Made { root, template } = made.as_ref().ok_or("no template")?;
        Ok((root.path().join(name), template.clone()))
    }
}

/// Makes the template.
fn template(folder: &Path) -> Result<Template, String> {
    std::fs::create_dir(folder).map_err(|error| format!("cannot make a repository: {error}"))?;
    git(folder, &["init", "--quiet", "--template=", "--initial-branch=main"])?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).map_err(|error| format!("cannot write {name}: {error}"))?;
        git(folder, &["update-index", "--add", name])?;
    }
    let tree = git(folder, &["write-tree"])?;
    let commit = git(folder, &["commit-tree", tree.trim(), "-m", "Begin"])?.trim().to_owned();
    git(folder, &["update-ref", MAIN, &commit])?;
    git(folder, &["update-ref", BRANCH, &commit])?;
    // A committer without configuration of its own.
    git(folder, &["config", "user.name", "proofmark"])?;
    git(folder, &["config", "user.email", "proofmark@example.invalid"])?;
    let change = |text: &str| {
        write_notes(folder, text)?;
        let tree = git(folder, &["write-tree"])?;
        let made =
            git(folder, &["commit-tree", tree.trim(), "-p", &commit, "-m", "Change NOTES.txt"])?.trim().to_owned();
        let diff = git(folder, &["diff-tree", "-p", "--no-ext-diff", "--no-textconv", &commit, &made])?;
        Ok::<_, String>(Change { commit: made, diff })
    };
    let (worked, defective) = (change(WORKED)?, change(DEFECTIVE)?);
    // The work tree and the index are those of the first commit again.
    FILES.iter().filter(|(name, _)| *name == "NOTES.txt").try_for_each(|(_, text)| write_notes(folder, text))?;
    Ok(Template { base: commit, worked, defective })
}

fn write_notes(folder: &Path, text: &str) -> Result<(), String> {
    std::fs::write(folder.join("NOTES.txt"), text).map_err(|error| format!("cannot write NOTES.txt: {error}"))?;
    git(folder, &["update-index", "--add", "NOTES.txt"]).map(drop)
}

/// Makes a repository with a change on its branch, and a file with the difference.
fn changed(folder: &Path, base: &str, change: &Change) -> Result<Value, String> {
    copy(folder)?;
    let failed = |error: std::io::Error| format!("cannot make a repository: {error}");
    std::fs::write(folder.join(".git").join(BRANCH), format!("{}\n", change.commit)).map_err(failed)?;
    std::fs::write(folder.join(".git/proofmark.diff"), &change.diff).map_err(failed)?;
    let mut answer = shown(folder, base);
    answer.set_member("commit", Value::text(change.commit.as_str()));
    Ok(answer)
}

/// Copies the template.
fn copy(folder: &Path) -> Result<(), String> {
    let template = folder.with_file_name("template");
    let failed = |error: std::io::Error| format!("cannot make a repository: {error}");
    let mut open = vec![(template, folder.to_owned())];
    while let Some((from, to)) = open.pop() {
        std::fs::create_dir(&to).map_err(failed)?;
        for entry in std::fs::read_dir(&from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if entry.file_type().map_err(failed)?.is_dir() {
                open.push((from, to));
            } else {
                std::fs::copy(&from, &to).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// Makes a folder with the files of the template and without a repository.
fn plain(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot make a folder: {error}");
    std::fs::create_dir(folder).map_err(failed)?;
    FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text).map_err(failed))
}

fn shown(folder: &Path, base: &str) -> Value {
    Value::map([("path", Value::text(folder.display().to_string())), ("base", Value::text(base))])
}

/// Everything that can be seen of a repository.
fn read(folder: &Path, base: &str) -> Value {
    let lines = |words: &[&str]| -> Vec<String> {
        git(folder, words).unwrap_or_default().lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let mut answer = shown(folder, base);
    let mut refs = BTreeMap::new();
    for line in lines(&["for-each-ref", "--format=%(refname) %(objectname)"]) {
        if let Some((name, commit)) = line.split_once(' ') {
            refs.insert(name.to_owned(), commit.to_owned());
        }
    }
    let diff = |commit: &str| -> Vec<(u64, u64, String)> {
        let words = ["diff-tree", "-r", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", base, commit];
        let line = |line: String| {
            let mut parts = line.splitn(3, '\t');
            let mut number = || parts.next().map_or(0, |part| part.parse().unwrap_or(0));
            let (added, removed) = (number(), number());
            Some((added, removed, parts.next()?.to_owned()))
        };
        lines(&words).into_iter().filter_map(line).collect()
    };
    let branch = refs.get(BRANCH).cloned().unwrap_or_default();
    let on_branch = diff(&branch);
    let mut anywhere: BTreeSet<String> = refs.values().flat_map(|commit| diff(commit)).map(|(.., path)| path).collect();
    let files = work_tree(folder);
    // The work tree may have any branch checked out, so a file counts if it differs from the first commit.
    for (name, text) in FILES {
        if files.get(*name).map(String::as_str) != Some(*text) {
            anywhere.insert((*name).to_owned());
        }
    }
    let range = format!("{base}..{BRANCH}");
    let commits = lines(&["rev-list", "--max-count=1000", &range]);
    let texts = |list: &[String]| Value::Array(list.iter().map(Value::text).collect());
    let changed: Vec<String> = on_branch.iter().map(|(.., path)| path.clone()).collect();
    answer.set_member("head", Value::text(git(folder, &["symbolic-ref", "-q", "HEAD"]).unwrap_or_default().trim()));
    answer.set_member("branch", Value::text(branch));
    answer.set_member("main", Value::text(refs.get(MAIN).cloned().unwrap_or_default()));
    answer.set_member("refs", Value::map(refs.iter().map(|(name, commit)| (name.clone(), Value::text(commit)))));
    answer.set_member("commits", texts(&commits));
    answer.set_member("changed", texts(&changed));
    answer.set_member("added", Value::from(on_branch.iter().map(|(added, ..)| added).sum::<u64>()));
    answer.set_member("removed", Value::from(on_branch.iter().map(|(_, removed, _)| removed).sum::<u64>()));
    answer.set_member("changed-anywhere", texts(&anywhere.into_iter().collect::<Vec<_>>()));
    answer.set_member("files", Value::map(files.iter().map(|(name, text)| (name.clone(), Value::text(text)))));
    let mut state = Sha256::new();
    for (name, text) in refs.iter().chain(&files) {
        state.update(format!("{name}\0{text}\0"));
    }
    answer.set_member("state", Value::text(data_encoding::HEXLOWER.encode(&state.finalize())));
    answer
}

/// The regular files at the top of a work tree.
fn work_tree(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(READ_FILES) {
        let small = entry.metadata().is_ok_and(|found| found.is_file() && found.len() <= READ_BYTES);
        if small && let Ok(bytes) = std::fs::read(entry.path()) {
            files
                .insert(entry.file_name().to_string_lossy().into_owned(), String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    files
}

/// Runs git in a repository. Returns its output.
fn git(folder: &Path, words: &[&str]) -> Result<String, String> {
    let who = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "proofmark"));
    let mail = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "proofmark@example.invalid"));
    // The same first commit in every run.
    let when = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-01T00:00:00Z"));
    let mut command = git::command(folder);
    command.args(words).envs(who.into_iter().chain(mail).chain(when)).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let line = complaint.lines().last().unwrap_or_default();
        return Err(format!("git {}: {line}", words.first().copied().unwrap_or_default()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(name: &str) -> Encoded {
        Encoded {
            transport: Transport::Http,
            action: crate::exchange::ChannelAction::Message,
            base: None,
            operation: "repository".to_owned(),
            method: String::new(),
            path: name.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            params: Vec::new(),
            payload: None,
            spelling: None,
        }
    }

    async fn ask(repositories: &Repositories, action: RepositoryAction, name: &str) -> Option<Value> {
        let delivery = repositories.carry(action, encoded(name), &Limits::default()).await;
        json::parse(&delivery.received.body.0).ok()
    }

    #[tokio::test]
    async fn changes_on_a_branch_and_in_the_work_tree_are_seen() {
        let all = Repositories::default();
        let made = ask(&all, RepositoryAction::Make, "a").await.expect("a repository");
        let folder = PathBuf::from(made.member("path").and_then(Value::as_text).expect("a path"));
        let before = ask(&all, RepositoryAction::Read, "a").await.expect("an answer");
        let at = |answer: &Value, name: &str| answer.member(name).cloned().unwrap_or(Value::Null);
        assert_eq!(at(&before, "commits"), Value::Array(Vec::new().into()));
        assert_eq!(at(&before, "changed-anywhere"), Value::Array(Vec::new().into()));
        assert_eq!(at(&before, "branch"), at(&made, "base"));

        std::fs::write(folder.join("NOTES.txt"), "Notes.\nok\n").expect("written");
        git(&folder, &["update-index", "--add", "NOTES.txt"]).expect("an index");
        let tree = git(&folder, &["write-tree"]).expect("a tree");
        let base = at(&made, "base").as_text().unwrap_or_default().to_owned();
        let commit = git(&folder, &["commit-tree", tree.trim(), "-p", &base, "-m", "x"]).expect("a commit");
        git(&folder, &["update-ref", BRANCH, commit.trim()]).expect("a branch");
        let after = ask(&all, RepositoryAction::Read, "a").await.expect("an answer");
        assert_eq!(at(&after, "commits"), Value::Array(vec![Value::text(commit.trim())].into()));
        assert_eq!(at(&after, "changed"), Value::Array(vec![Value::text("NOTES.txt")].into()));
        assert_eq!((at(&after, "added"), at(&after, "removed")), (Value::Integer(1), Value::Integer(0)));
        assert_eq!(at(&after, "main"), at(&made, "base"));
        assert_ne!(at(&after, "state"), at(&before, "state"));
        // Each repository is separate.
        let other = ask(&all, RepositoryAction::Make, "b").await.expect("a repository");
        assert_ne!(at(&other, "path"), at(&made, "path"));
    }

    #[tokio::test]
    async fn a_worked_repository_has_a_commit_and_its_difference() {
        let all = Repositories::default();
        for (name, action, added) in
            [("a", RepositoryAction::MakeWorked, 1), ("b", RepositoryAction::MakeDefective, 10)]
        {
            let made = ask(&all, action, name).await.expect("a repository");
            let seen = ask(&all, RepositoryAction::Read, name).await.expect("an answer");
            let at = |answer: &Value, name: &str| answer.member(name).cloned().unwrap_or(Value::Null);
            assert_eq!(at(&seen, "branch"), at(&made, "commit"));
            assert_eq!(at(&seen, "main"), at(&made, "base"));
            assert_eq!(at(&seen, "added"), Value::Integer(added));
            assert_eq!(at(&seen, "files").member("NOTES.txt"), Some(&Value::text("Notes.\n")));
            let folder = PathBuf::from(at(&made, "path").as_text().expect("a path"));
            let diff = std::fs::read_to_string(folder.join(".git/proofmark.diff")).expect("a difference");
            assert!(diff.starts_with("diff --git a/NOTES.txt b/NOTES.txt"), "{diff}");
        }
    }

    #[tokio::test]
    async fn names_do_not_leave_the_folder() {
        for name in ["", "../a", "a/b", "template"] {
            assert!(ask(&Repositories::default(), RepositoryAction::Make, name).await.is_none(), "{name}");
        }
    }
}
