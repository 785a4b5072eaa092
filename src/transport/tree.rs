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

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;

use super::{Delivery, Wait, git};
use crate::exchange::{Body, ChannelAction, Encoded, Ended, Incoming, Outgoing, Transport, TreeAction};
use crate::target::{Limits, TreeRoot};
use crate::value::Value;
use crate::wire::json;

/// Components of a path.
const DEPTH: usize = 16;

/// Bytes of one component (NAME_MAX of the usual file systems).
const NAME_BYTES: usize = 255;

/// Entries of directories that are looked at for one answer.
const ENTRIES: usize = 50_000;

/// Files of one answer.
const FILES: usize = 1_000;

/// How often a file that changes while it is read is read again.
const READS: usize = 3;

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

/// Why an operation on a tree failed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failed {
    /// A path that no operation may have.
    Path(String),
    /// There is a file of that name.
    Exists,
    /// The system refused.
    System(String),
}

/// The result of reading a tree.
#[derive(Default)]
struct Found {
    files: Vec<File>,
    /// The number of matching entries that are not regular files.
    skipped: u64,
    /// Whether a bound was reached, so that there may be more.
    more: bool,
    entries: usize,
    bytes: usize,
}

struct File {
    path: String,
    modified_ms: i128,
    size: u64,
    content: Result<Vec<u8>, &'static str>,
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
        let found = blocking(deadline, move || {
            let components = components(&text)?;
            let mut found = Found::default();
            visit(open_root(&root)?.as_fd(), &components, &mut Vec::new(), limit, deadline, &mut found)?;
            Ok(found)
        });
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
            let components = components(&text)?;
            if text.contains('*') {
                return Err(Failed::Path(format!("`{text}` is a pattern, not the path of one file")));
            }
            let Some((name, folders)) = components.split_last() else {
                return Err(Failed::Path("the path is empty".to_owned()));
            };
            let mut folder = open_root(&root)?;
            for component in folders {
                folder = make_folder(folder.as_fd(), component)?;
            }
            write_file(action, folder.as_fd(), name, &body, number)?;
            // The whole file is committed, not only the appended part.
            match action {
                TreeAction::Append => {
                    read_file(folder.as_fd(), name, limit).map(|(_, content)| content.unwrap_or(body))
                }
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
            .process_group(0)
            .kill_on_drop(true);
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
                    Ok(text) => members.push(("text".to_owned(), Value::Text(text))),
                    Err(error) => {
                        let hex = data_encoding::HEXLOWER.encode(error.as_bytes());
                        members.push(("hex".to_owned(), Value::Text(hex)));
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

fn system(what: &str, name: &[u8], error: Errno) -> Failed {
    let error = std::io::Error::from(error);
    Failed::System(format!("cannot {what} `{}`: {error}", String::from_utf8_lossy(name)))
}

/// The components of a path or pattern, if it is one that stays inside.
fn components(text: &str) -> Result<Vec<CString>, Failed> {
    let wrong = |why: &str| Failed::Path(format!("`{text}` is not a path in the tree: {why}"));
    let components: Vec<&str> = text.split('/').collect();
    if components.len() > DEPTH {
        return Err(wrong("it is too deep"));
    }
    let one = |component: &&str| match *component {
        "" => Err(wrong("a component is empty")),
        "." | ".." => Err(wrong("it contains `.` or `..`")),
        name if name.eq_ignore_ascii_case(".git") => Err(wrong("it is inside the repository")),
        name if name.len() > NAME_BYTES => Err(wrong("a component is too long")),
        name => CString::new(name).map_err(|_| wrong("it contains a NUL")),
    };
    components.iter().map(one).collect()
}

fn open_root(root: &Path) -> Result<OwnedFd, Failed> {
    // The target file configures the root, which may be a link; links below it are not followed.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, root, flags, Mode::empty()).map_err(|error| system("open", root.as_os_str().as_bytes(), error))
}

fn open_folder(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    openat(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn make_folder(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Failed> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(system("make folder", name.to_bytes(), error)),
    }
    open_folder(parent, name).map_err(|error| system("open folder", name.to_bytes(), error))
}

fn write_file(action: TreeAction, folder: BorrowedFd<'_>, name: &CStr, body: &[u8], number: u64) -> Result<(), Failed> {
    let mode = Mode::from_raw_mode(0o666);
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let failed = |error| system("write", name.to_bytes(), error);
    if action == TreeAction::Append {
        let file = openat(folder, name, new | OFlags::APPEND, mode).map_err(failed)?;
        if !is_regular(&fstat(&file).map_err(failed)?) {
            return Err(Failed::System(format!("`{}` is not a regular file", name.to_string_lossy())));
        }
        // One call, so that lines of several writers do not mix.
        let mut line = body.to_vec();
        line.push(b'\n');
        return write_all(&file, &line).map_err(failed);
    }
    let temporary = format!(".proofmark-{}-{number}.tmp", std::process::id());
    let file = openat(folder, temporary.as_str(), new | OFlags::EXCL, mode).map_err(failed)?;
    let remove = || rustix::fs::unlinkat(folder, temporary.as_str(), AtFlags::empty());
    let placed = write_all(&file, body).and_then(|()| match action {
        TreeAction::Replace => rustix::fs::renameat(folder, temporary.as_str(), folder, name),
        // Unlike a rename, a link never takes the place of a file that is there.
        _ => rustix::fs::linkat(folder, temporary.as_str(), folder, name, AtFlags::empty()).and_then(|()| remove()),
    });
    match placed {
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = remove();
            if error == Errno::EXIST { Err(Failed::Exists) } else { Err(failed(error)) }
        }
    }
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Visits what matches the components below a folder, links and folders in the place of files left out.
fn visit(
    folder: BorrowedFd<'_>,
    components: &[CString],
    path: &mut Vec<String>,
    limit: usize,
    deadline: Instant,
    found: &mut Found,
) -> Result<(), Failed> {
    let Some((pattern, rest)) = components.split_first() else { return Ok(()) };
    let names =
        if pattern.to_bytes().contains(&b'*') { matching(folder, pattern, found)? } else { vec![pattern.clone()] };
    for name in names {
        if found.files.len() >= FILES || Instant::now() > deadline {
            found.more = true;
            return Ok(());
        }
        path.push(name.to_string_lossy().into_owned());
        if rest.is_empty() {
            take(folder, &name, path, limit, found);
        } else {
            // Links and missing entries have no children.
            match open_folder(folder, &name) {
                Ok(below) => visit(below.as_fd(), rest, path, limit, deadline, found)?,
                Err(Errno::LOOP | Errno::NOTDIR) => found.skipped += 1,
                Err(_) => {}
            }
        }
        path.pop();
    }
    Ok(())
}

/// The names in a folder that match a pattern, in order.
fn matching(folder: BorrowedFd<'_>, pattern: &CStr, found: &mut Found) -> Result<Vec<CString>, Failed> {
    let entries = Dir::read_from(folder).map_err(|error| system("read folder of", pattern.to_bytes(), error))?;
    let mut names = Vec::new();
    for entry in entries {
        // A folder that is removed during the read has no more entries.
        let Ok(entry) = entry else { break };
        found.entries += 1;
        if found.entries > ENTRIES {
            found.more = true;
            break;
        }
        let name = entry.file_name();
        let own = matches!(name.to_bytes(), b"." | b"..") || name.to_bytes().eq_ignore_ascii_case(b".git");
        if !own && matches(pattern.to_bytes(), name.to_bytes()) {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a name matches a pattern with the wildcard `*`. Hidden names match only patterns that start with a dot.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    let (mut at, mut in_name, mut star) = (0, 0, None);
    while in_name < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, in_name));
            at += 1;
        } else if pattern.get(at) == Some(&name[in_name]) {
            at += 1;
            in_name += 1;
        } else if let Some((from, taken)) = star {
            at = from + 1;
            in_name = taken + 1;
            star = Some((from, taken + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

fn take(folder: BorrowedFd<'_>, name: &CStr, path: &[String], limit: usize, found: &mut Found) {
    let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
    if !is_regular(&stat) {
        found.skipped += 1;
        return;
    }
    let left = limit.saturating_sub(found.bytes);
    let Ok((stat, content)) = read_file(folder, name, left) else {
        // It was removed since, or is not readable.
        return found.skipped += 1;
    };
    if let Ok(content) = &content {
        found.bytes += content.len();
    }
    let modified_ms = i128::from(stat.st_mtime) * 1_000 + i128::from(stat.st_mtime_nsec) / 1_000_000;
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    found.files.push(File { path: path.join("/"), modified_ms, size, content });
}

/// A file and its content, or why its content is left out.
fn read_file(
    folder: BorrowedFd<'_>,
    name: &CStr,
    limit: usize,
) -> Result<(Stat, Result<Vec<u8>, &'static str>), Failed> {
    let failed = |error| system("read", name.to_bytes(), error);
    // A named pipe in the place of the file would keep an open that waits for its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut content = Err("changing");
    let mut last = None;
    for _ in 0..READS {
        let file = openat(folder, name, flags, Mode::empty()).map_err(failed)?;
        let before = fstat(&file).map_err(failed)?;
        last = Some(before);
        if !is_regular(&before) {
            return Err(Failed::System(format!("`{}` is not a regular file", name.to_string_lossy())));
        }
        if usize::try_from(before.st_size).unwrap_or(usize::MAX) > limit {
            content = Err("too-large");
            break;
        }
        let bytes = read_bytes(&file, limit).map_err(failed)?;
        let after = fstat(&file).map_err(failed)?;
        let version = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        if version(&before) == version(&after) && i128::from(after.st_size) == bytes.len() as i128 {
            content = Ok(bytes);
            break;
        }
    }
    last.map(|stat| (stat, content)).ok_or_else(|| Failed::System("not read".to_owned()))
}

fn read_bytes(file: &OwnedFd, limit: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while bytes.len() <= limit {
        match rustix::io::read(file, &mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file()
}

fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;
    use crate::exchange::Arrival;

    struct Place {
        folder: tempfile::TempDir,
        tree: Tree,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("root");
            std::fs::create_dir(&root).unwrap();
            let config = TreeRoot { poll: Duration::from_millis(10), ..TreeRoot::new(root) };
            Self { tree: Tree::new(&config), folder }
        }

        fn root(&self) -> std::path::PathBuf {
            self.folder.path().join("root")
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            let path = self.root().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }

        async fn carry(&self, action: TreeAction, path: &str, body: &[u8], limits: &Limits) -> Incoming {
            let message = Encoded {
                transport: Transport::Tree,
                action: ChannelAction::Tree(action),
                operation: "x".into(),
                method: "x".into(),
                base: None,
                path: path.into(),
                headers: Vec::new(),
                body: body.to_vec(),
                params: Vec::new(),
                payload: None,
                spelling: None,
            };
            let beside = |_: &Outgoing, _: &Arrival| false;
            let mut enough = |_: &Outgoing, received: &Incoming| received.body.text().unwrap().contains("wanted");
            let wait = Wait {
                none: false,
                fail_fast: false,
                at_least: Duration::ZERO,
                unrelated: &beside,
                enough: &mut enough,
            };
            self.tree.carry("alice", message, limits, wait).await.received
        }

        async fn read(&self, path: &str) -> (Option<u16>, Value) {
            let received = self.carry(TreeAction::Read, path, b"", &Limits::default()).await;
            (received.status, json::parse(&received.body.0).unwrap_or(Value::Null))
        }

        async fn paths(&self, pattern: &str) -> Vec<String> {
            let (_, found) = self.read(pattern).await;
            let Some(Value::Array(files)) = found.member("files").cloned() else { panic!("{found:?}") };
            files.iter().map(|file| file.member("path").unwrap().as_text().unwrap().to_owned()).collect()
        }
    }

    #[tokio::test]
    async fn files_are_created_replaced_and_appended_to() {
        let place = Place::new();
        let limits = Limits::default();
        assert_eq!(place.carry(TreeAction::Write, "a/b/c.json", b"{}", &limits).await.status, Some(201));
        assert_eq!(place.carry(TreeAction::Write, "a/b/c.json", b"[]", &limits).await.status, Some(409));
        let (status, found) = place.read("a/b/c.json").await;
        assert_eq!(status, Some(200));
        let file = Path::new("/files/0/text");
        let at = |value: &Value, path: &Path| {
            crate::value::Path::parse(path.to_str().unwrap()).unwrap().resolve(value).cloned()
        };
        assert_eq!(at(&found, file), Some(Value::text("{}")));
        assert_eq!(place.carry(TreeAction::Replace, "a/b/c.json", b"\xff", &limits).await.status, Some(201));
        assert_eq!(at(&place.read("a/b/c.json").await.1, Path::new("/files/0/hex")), Some(Value::text("ff")));
        for line in ["one", "two"] {
            assert_eq!(place.carry(TreeAction::Append, "log", line.as_bytes(), &limits).await.status, Some(201));
        }
        assert_eq!(std::fs::read_to_string(place.root().join("log")).unwrap(), "one\ntwo\n");
        assert_eq!(std::fs::read_dir(place.root().join("a/b")).unwrap().count(), 1, "a temporary file is left");
        assert_eq!(place.read("a/b/none.json").await.0, Some(404));
    }

    #[tokio::test]
    async fn a_pattern_matches_names_and_no_hidden_ones() {
        let place = Place::new();
        for name in ["t/1.json", "t/2.json", "t/.3.json", "t/4.txt", "u/1.json", "u/v/1.json"] {
            place.write(name, b"");
        }
        assert_eq!(place.paths("*/*.json").await, ["t/1.json", "t/2.json", "u/1.json"]);
        assert_eq!(place.paths("t/*").await, ["t/1.json", "t/2.json", "t/4.txt"]);
        assert_eq!(place.paths("t/.*").await, ["t/.3.json"]);
        assert_eq!(place.paths("none/*").await, Vec::<String>::new());
        assert!(matches(b"a*b*c", b"aXbXbc") && !matches(b"a*b*c", b"aXbXb") && !matches(b"*", b".x"));
    }

    #[tokio::test]
    async fn paths_cannot_escape_the_tree() {
        let place = Place::new();
        let outside = place.folder.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret.json"), "secret").unwrap();
        place.write("real/x.json", b"{}");
        symlink(&outside, place.root().join("linked")).unwrap();
        symlink(outside.join("secret.json"), place.root().join("real/link.json")).unwrap();
        symlink("/dev/zero", place.root().join("real/zero.json")).unwrap();
        let made = Command::new("mkfifo").arg(place.root().join("real/pipe.json")).status().unwrap();
        assert!(made.success());
        assert_eq!(place.paths("*/*.json").await, ["real/x.json"]);
        assert_eq!(place.read("real/*.json").await.1.member("skipped"), Some(&Value::Integer(3)));
        for path in ["linked/secret.json", "real/link.json", "real/pipe.json"] {
            assert_eq!(place.read(path).await.0, Some(404), "{path}");
        }
        let limits = Limits::default();
        let long = "x/".repeat(DEPTH) + "x";
        for path in [
            "../outside/x",
            "/tmp/x",
            "a/../../x",
            "./x",
            "a//x",
            ".git/hooks/post-commit",
            "a/.GIT/config",
            &long,
            "a\0b",
        ] {
            for action in [TreeAction::Write, TreeAction::Append, TreeAction::Read] {
                let received = place.carry(action, path, b"x", &limits).await;
                assert!(matches!(received.ended, Ended::Unreachable(_)), "{path}: {received:?}");
            }
        }
        for (action, path) in [
            (TreeAction::Write, "linked/new"),
            (TreeAction::Append, "real/link.json"),
            (TreeAction::Append, "real/pipe.json"),
            (TreeAction::Write, "real/*.json"),
        ] {
            let received = place.carry(action, path, b"x", &limits).await;
            assert!(matches!(received.ended, Ended::Unreachable(_)), "{path}: {received:?}");
        }
        // A link at the place of the file is replaced, and its destination is unchanged.
        assert_eq!(place.carry(TreeAction::Replace, "real/link.json", b"mine", &limits).await.status, Some(201));
        assert_eq!(std::fs::read_to_string(outside.join("secret.json")).unwrap(), "secret");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn reads_are_bounded() {
        let place = Place::new();
        for number in 0..FILES + 5 {
            place.write(&format!("many/{number}"), b"x");
        }
        let received = place.carry(TreeAction::Read, "many/*", b"", &Limits::default()).await;
        assert_eq!(received.ended, Ended::TooLong);
        place.write("large/a", &[b'a'; 5_000]);
        place.write("large/b", &[b'b'; 50]);
        let limits = Limits { body: 1_000, ..Limits::default() };
        let received = place.carry(TreeAction::Read, "large/*", b"", &limits).await;
        let text = received.body.text().unwrap();
        assert!(text.contains("too-large") && text.contains("bbb") && !text.contains("aaa"), "{text}");
        let file = std::fs::File::create(place.root().join("large/huge")).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(place.paths("large/huge").await, ["large/huge"]);
    }

    #[tokio::test]
    async fn non_utf8_names_and_changing_files_are_handled() {
        let place = Place::new();
        std::fs::write(place.root().join(OsStr::from_bytes(b"bad\xff\x1b.json")), "{}").unwrap();
        place.write("changing", &[b'x'; 100_000]);
        let path = place.root().join("changing");
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = std::sync::Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            let mut size = 100_000;
            while !stopped.load(Ordering::Relaxed) {
                size = if size == 100_000 { 60_000 } else { 100_000 };
                std::fs::write(&path, vec![b'y'; size]).unwrap();
            }
        });
        for _ in 0..30 {
            let (status, found) = place.read("changing").await;
            assert_eq!(status, Some(200));
            let text = json::compact(&found);
            // Either the whole file, or a report that it is changing; never a part.
            let whole = [0, 60_000, 100_000].iter().any(|size| text.matches('y').count() == *size);
            assert!(whole || text.contains("changing\"") || text.matches('x').count() >= 100_000, "{}", text.len());
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert_eq!(place.paths("bad*").await, ["bad\u{fffd}\u{1b}.json"]);
    }

    #[tokio::test]
    async fn await_ends_with_the_expected_content_or_the_timeout() {
        let place = Place::new();
        let limits = Limits { reply: Duration::from_secs(20), ..Limits::default() };
        let root = place.root();
        let writer = std::thread::spawn(move || {
            for text in ["early", "wanted"] {
                std::thread::sleep(Duration::from_millis(100));
                std::fs::write(root.join(format!("{text}.json")), text).unwrap();
            }
        });
        let begun = Instant::now();
        let received = place.carry(TreeAction::Await, "*.json", b"", &limits).await;
        writer.join().unwrap();
        assert!(received.body.text().unwrap().contains("wanted"));
        assert!(begun.elapsed() >= Duration::from_millis(200) && begun.elapsed() < Duration::from_secs(15));
        let limits = Limits { reply: Duration::from_millis(150), ..Limits::default() };
        let received = place.carry(TreeAction::Await, "none/*", b"", &limits).await;
        assert_eq!((received.status, received.ended), (Some(404), Ended::Complete));
    }

    /// A git work tree whose configuration, attributes and hooks would run programs of the target.
    fn hostile_repository(place: &Place) {
        let git = |words: &[&str]| {
            let done = Command::new("git").arg("-C").arg(place.root()).args(words).output().unwrap();
            assert!(done.status.success(), "{words:?}: {done:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        let trap = |name: &str| {
            let path = place.folder.path().join(name);
            let sprung = place.folder.path().join("sprung");
            std::fs::write(&path, format!("#!/bin/sh\necho {name} >> '{}'\ncat\n", sprung.display())).unwrap();
            let mode = Command::new("chmod").arg("+x").arg(&path).status().unwrap();
            assert!(mode.success());
            path.display().to_string()
        };
        for hook in ["pre-commit", "post-commit", "reference-transaction", "post-index-change"] {
            std::fs::rename(trap(hook), place.root().join(".git/hooks").join(hook)).unwrap();
        }
        for key in ["core.fsmonitor", "filter.trap.clean", "filter.trap.process", "gpg.program", "diff.trap.textconv"] {
            git(&["config", key, &trap(key)]);
        }
        git(&["config", "commit.gpgSign", "true"]);
        place.write(".gitattributes", b"* filter=trap diff=trap\n");
    }

    #[tokio::test]
    async fn with_git_each_file_is_a_commit_and_no_code_of_the_target_runs() {
        let mut place = Place::new();
        hostile_repository(&place);
        place.tree = Tree::new(&TreeRoot { git: true, ..place.tree.config.clone() });
        let limits = Limits { request: Duration::from_secs(60), ..Limits::default() };
        for (path, body) in [("m/1.json", "1"), ("m/2.json", "2")] {
            let received = place.carry(TreeAction::Write, path, body.as_bytes(), &limits).await;
            assert_eq!(received.status, Some(201), "{received:?}");
        }
        place.carry(TreeAction::Append, "log", b"one", &limits).await;
        place.carry(TreeAction::Append, "log", b"two", &limits).await;
        place.write("m/3.json", b"not committed");
        let received = place.carry(TreeAction::Read, "m/*.json", b"", &limits).await;
        let found = json::parse(&received.body.0).unwrap();
        let Some(Value::Array(files)) = found.member("files").cloned() else { panic!("{received:?}") };
        let authors: Vec<_> = files.iter().map(|file| file.member("author").and_then(Value::as_text)).collect();
        assert_eq!(authors, [Some("alice"), Some("alice"), None]);
        let sprung = std::fs::read_to_string(place.folder.path().join("sprung")).unwrap_or_default();
        assert_eq!(sprung, "");
        let log = Command::new("git").arg("-C").arg(place.root()).args(["log", "--format=%an %s"]).output().unwrap();
        let log = String::from_utf8(log.stdout).unwrap();
        assert_eq!(log, "alice Write log\nalice Write log\nalice Write m/2.json\nalice Write m/1.json\n");
        let show = Command::new("git").arg("-C").arg(place.root()).args(["show", "HEAD:log"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&show.stdout), "one\ntwo\n");
    }

    #[tokio::test]
    async fn a_tree_that_is_not_a_repository_is_reported() {
        let mut place = Place::new();
        // The repository around it is not the target's.
        let done = Command::new("git").args(["init", "-q"]).arg(place.folder.path()).status().unwrap();
        assert!(done.success());
        place.tree = Tree::new(&TreeRoot { git: true, ..place.tree.config.clone() });
        let received = place.carry(TreeAction::Write, "x", b"x", &Limits::default()).await;
        assert!(matches!(&received.ended, Ended::Unreachable(why) if why.contains("git")), "{received:?}");
    }
}
