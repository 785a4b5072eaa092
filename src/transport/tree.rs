//! A directory, or a git work tree, as a transport: messages are files.
//! The target can write to the tree too, so its content is not trusted. Every path is opened one component at a time
//! from the root, and links are never followed, so that paths cannot escape. Reads are bounded in files, bytes, depth
//! and time; entries that are not regular files are counted and skipped. Files are written under a temporary name
//! first, so that the target never
//! sees half of one.
//!
//! With git, each written file is one commit on the current branch, and each file that is read comes with
//! the author of the last commit that touched it. The `git` program runs without hooks, filters, network and configuration of
//! the user.

mod files;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;

use super::{Delivery, Wait, git, group};
use crate::exchange::{Body, ChannelAction, Encoded, Ended, Incoming, Outgoing, Transport, TreeAction};
use crate::target::{Limits, TreeRoot};
use crate::value::Value;
use crate::wire::json;
use files::{Failed, File, Found};

/// The shortest pause between two looks at a git work tree, each of which starts a program.
const GIT_POLL: Duration = Duration::from_millis(200);

/// How often a commit is tried while others move the branch or hold its lock.
const COMMITS: usize = 20;

/// Commits that are searched for authors.
const LOG: &str = "--max-count=5000";

/// Bytes of output of git that are read.
const GIT_OUTPUT: u64 = 8 << 20;

/// A tree of files that the target shares.
pub struct Tree {
    config: TreeRoot,
    /// Commits are made one at a time.
    commits: Mutex<()>,
    written: AtomicU64,
}

impl Tree {
    /// The tree of a target. It is not opened yet.
    pub fn new(config: &TreeRoot) -> Self {
        Self { config: config.clone(), commits: Mutex::default(), written: AtomicU64::new(0) }
    }

    /// Writes, reads or waits for files, within the limits.
    pub async fn carry(&self, actor: &str, message: Encoded, limits: &Limits, wait: Wait<'_>) -> Delivery {
        let begun = Instant::now();
        let ChannelAction::Tree(action) = message.action else {
            return Delivery::unsent(message, "the operation has no file action");
        };
        let author =
            message.headers.iter().find(|(name, _)| name == "author").map_or(actor, |(_, value)| value.as_str());
        let author = author.to_owned();
        let sent = Outgoing {
            transport: Transport::Tree,
            method: action.name().to_owned(),
            url: message.path.clone(),
            headers: if action.writes() { vec![("author".to_owned(), author.clone())] } else { Vec::new() },
            body: Body::from(message.body.clone()),
        };
        let deadline = begun + limits.request;
        let received = match action {
            TreeAction::Write | TreeAction::Replace | TreeAction::Append => {
                let result = self.write(action, &message.path, message.body, &author, limits, deadline).await;
                written(result)
            }
            TreeAction::Read => self.look(&message.path, limits, deadline).await,
            TreeAction::Await => {
                let until = begun + limits.reply.max(wait.at_least);
                let poll = if self.config.git { self.config.poll.max(GIT_POLL) } else { self.config.poll };
                loop {
                    let received = self.look(&message.path, limits, Instant::now() + limits.request).await;
                    let enough = received.status == Some(200) && (wait.enough)(&sent, &received);
                    if received.ended != Ended::Complete
                        || (enough && begun.elapsed() >= wait.at_least)
                        || Instant::now() + poll > until
                    {
                        break received;
                    }
                    tokio::time::sleep(poll).await;
                }
            }
        };
        Delivery { sent, received, begun }
    }

    /// Looks at the files that match a pattern.
    async fn look(&self, pattern: &str, limits: &Limits, deadline: Instant) -> Incoming {
        let root = self.config.root.clone();
        let (text, limit) = (pattern.to_owned(), limits.body);
        let found = blocking(deadline, move || files::find(&root, &text, limit, deadline));
        let found = match found.await {
            Ok(found) => found,
            Err(ended) => return Incoming::nothing(ended),
        };
        let authors = if self.config.git && !found.files.is_empty() {
            match self.authors(pattern, deadline).await {
                Ok(authors) => authors,
                Err(why) => return Incoming::nothing(Ended::Unreachable(why)),
            }
        } else {
            BTreeMap::new()
        };
        let status = if found.files.is_empty() { 404 } else { 200 };
        let ended = if found.more { Ended::TooLong } else { Ended::Complete };
        let body = Body::from(json::compact(&found.into_value(&authors)).into_bytes());
        Incoming { status: Some(status), headers: Vec::new(), body, arrived: Vec::new(), ended }
    }

    async fn write(
        &self,
        action: TreeAction,
        path: &str,
        body: Vec<u8>,
        author: &str,
        limits: &Limits,
        deadline: Instant,
    ) -> Result<(), Ended> {
        // With git the file and its commit are one unit; no other write may interleave.
        let _turn = if self.config.git { Some(self.commits.lock().await) } else { None };
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let (root, text, limit) = (self.config.root.clone(), path.to_owned(), limits.body);
        let content = blocking(deadline, move || {
            let written = files::write(&root, &text, action, &body, number)?;
            // The whole file is committed, not only the appended part.
            match action {
                TreeAction::Append => written.content(limit).map(|content| content.unwrap_or(body)),
                _ => Ok(body),
            }
        });
        let content = content.await?;
        if self.config.git {
            self.commit(path, &content, author, deadline).await.map_err(Ended::Unreachable)?;
        }
        Ok(())
    }

    /// Commits one file to the current branch. Only plumbing commands are used: they run no hook and no filter, and
    /// what the target has in its index meanwhile stays out of the commit.
    async fn commit(&self, path: &str, content: &[u8], author: &str, deadline: Instant) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let index = folder.path().join("index");
        let name = if author.trim().is_empty() { "proofmark" } else { author };
        let blob = self.git(&["hash-object", "-w", "--no-filters", "--stdin"], Some(content), &[], deadline).await?;
        let entry = format!("100644,{},{path}", line(&blob));
        let mut last = String::new();
        for _ in 0..COMMITS {
            let _ = std::fs::remove_file(&index);
            let own = [("GIT_INDEX_FILE", index.as_os_str())];
            let head = self.git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], None, &[], deadline).await;
            let head = head.ok().map(|head| line(&head));
            if let Some(head) = &head {
                self.git(&["read-tree", head], None, &own, deadline).await?;
            }
            self.git(&["update-index", "--add", "--cacheinfo", &entry], None, &own, deadline).await?;
            let tree = line(&self.git(&["write-tree"], None, &own, deadline).await?);
            let message = format!("Write {path}");
            let mut words = vec!["commit-tree", &tree, "-m", &message];
            if let Some(head) = &head {
                words.extend(["-p", head]);
            }
            let mail = "proofmark@example.invalid";
            let who = [
                ("GIT_AUTHOR_NAME", OsStr::new(name)),
                ("GIT_AUTHOR_EMAIL", OsStr::new(mail)),
                ("GIT_COMMITTER_NAME", OsStr::new(name)),
                ("GIT_COMMITTER_EMAIL", OsStr::new(mail)),
            ];
            let commit = line(&self.git(&words, None, &who, deadline).await?);
            let none = "0".repeat(commit.len());
            let before = head.as_deref().unwrap_or(&none);
            let who_moves = [("GIT_COMMITTER_NAME", OsStr::new(name)), ("GIT_COMMITTER_EMAIL", OsStr::new(mail))];
            match self.git(&["update-ref", "HEAD", &commit, before], None, &who_moves, deadline).await {
                Ok(_) => {
                    // So that the target does not see its work tree as changed. It may hold the lock; then it goes without.
                    let _ = self.git(&["update-index", "--add", "--cacheinfo", &entry], None, &[], deadline).await;
                    return Ok(());
                }
                // The target has committed in between, or is about to.
                Err(why) => last = why,
            }
            tokio::time::sleep(self.config.poll).await;
        }
        Err(format!("cannot commit {path}: {last}"))
    }

    /// The author of the last commit that touched each file below the fixed part of a pattern.
    async fn authors(&self, pattern: &str, deadline: Instant) -> Result<BTreeMap<Vec<u8>, String>, String> {
        let fixed: Vec<&str> = pattern.split('/').take_while(|component| !component.contains('*')).collect();
        let fixed = fixed.join("/");
        let format = "--format=%x01%an";
        let mut words =
            vec!["log", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", LOG, format, "HEAD"];
        if !fixed.is_empty() {
            words.extend(["--", &fixed]);
        }
        let unborn =
            self.git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], None, &[], deadline).await.is_err();
        if unborn {
            return Ok(BTreeMap::new());
        }
        let log = self.git(&words, None, &[], deadline).await?;
        let mut authors = BTreeMap::new();
        let mut author = String::new();
        for token in log.split(|byte| *byte == 0) {
            let token = token.strip_prefix(b"\n").unwrap_or(token);
            if let Some(name) = token.strip_prefix(b"\x01") {
                author = String::from_utf8_lossy(name).into_owned();
            } else if !token.is_empty() {
                authors.entry(token.to_vec()).or_insert_with(|| author.clone());
            }
        }
        Ok(authors)
    }

    /// Runs `git` in the tree. Returns its output, or the last line of its errors.
    async fn git(
        &self,
        words: &[&str],
        input: Option<&[u8]>,
        variables: &[(&str, &OsStr)],
        deadline: Instant,
    ) -> Result<Vec<u8>, String> {
        let root = std::path::absolute(&self.config.root).unwrap_or_else(|_| self.config.root.clone());
        let mut command = tokio::process::Command::from(git::command(&root));
        command
            .args(words)
            .envs(variables.iter().copied())
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        group::separate(command.as_std_mut());
        let mut child = command.spawn().map_err(|error| format!("cannot run git: {error}"))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let work = async {
            let feed = async {
                if let (Some(mut stdin), Some(input)) = (stdin, input) {
                    let _ = stdin.write_all(input).await;
                }
            };
            let (mut output, mut complaint) = (Vec::new(), Vec::new());
            let read = async {
                if let Some(stdout) = stdout {
                    let _ = stdout.take(GIT_OUTPUT).read_to_end(&mut output).await;
                }
            };
            let listen = async {
                if let Some(stderr) = stderr {
                    let _ = stderr.take(64 << 10).read_to_end(&mut complaint).await;
                }
            };
            tokio::join!(feed, read, listen);
            let status = child.wait().await;
            (status, output, complaint)
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let (status, output, complaint) =
            tokio::time::timeout(left, work).await.map_err(|_| format!("git {} took too long", words[0]))?;
        match status {
            Ok(status) if status.success() => Ok(output),
            Ok(status) => {
                let complaint = String::from_utf8_lossy(&complaint);
                let last = complaint.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message").to_owned();
                Err(format!("git {} failed with {status}: {last}", words[0]))
            }
            Err(error) => Err(format!("git {}: {error}", words[0])),
        }
    }
}

impl Found {
    fn into_value(self, authors: &BTreeMap<Vec<u8>, String>) -> Value {
        let file = |file: File| {
            let mut members = vec![
                ("path".to_owned(), Value::text(&file.path)),
                ("modified_ms".to_owned(), Value::Integer(file.modified_ms)),
                ("size".to_owned(), Value::from(file.size)),
            ];
            if let Some(author) = authors.get(file.path.as_bytes()) {
                members.push(("author".to_owned(), Value::text(author)));
            }
            match file.content {
                Ok(content) => match String::from_utf8(content) {
                    Ok(text) => members.push(("text".to_owned(), Value::text(text))),
                    Err(error) => {
                        let hex = data_encoding::HEXLOWER.encode(error.as_bytes());
                        members.push(("hex".to_owned(), Value::text(hex)));
                    }
                },
                Err(why) => members.push(("left_out".to_owned(), Value::text(why))),
            }
            Value::map(members)
        };
        Value::map([
            ("files", Value::Array(self.files.into_iter().map(file).collect())),
            ("skipped", Value::from(self.skipped)),
        ])
    }
}

/// The result of writing, as an answer.
fn written(result: Result<(), Ended>) -> Incoming {
    let status = |status: u16| Incoming { status: Some(status), ..Incoming::nothing(Ended::Complete) };
    match result {
        Ok(()) => status(201),
        Err(Ended::Complete) => status(409),
        Err(ended) => Incoming::nothing(ended),
    }
}

/// Runs blocking work on a separate thread, until the deadline. [`Ended::Complete`] means that the file already exists.
async fn blocking<T: Send + 'static>(
    deadline: Instant,
    work: impl FnOnce() -> Result<T, Failed> + Send + 'static,
) -> Result<T, Ended> {
    let left = deadline.saturating_duration_since(Instant::now());
    match tokio::time::timeout(left, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(Ok(done))) => Ok(done),
        Ok(Ok(Err(Failed::Exists))) => Err(Ended::Complete),
        Ok(Ok(Err(Failed::Path(why) | Failed::System(why)))) => Err(Ended::Unreachable(why)),
        Ok(Err(error)) => Err(Ended::Unreachable(error.to_string())),
        Err(_) => Err(Ended::TimedOut),
    }
}

fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

#[cfg(all(test, unix))]
mod tests;
