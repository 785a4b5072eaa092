//! Tests of trees of files.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::files::{DEPTH, FILES, matches};
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
        let wait =
            Wait { none: false, fail_fast: false, at_least: Duration::ZERO, unrelated: &beside, enough: &mut enough };
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
    let at =
        |value: &Value, path: &Path| crate::value::Path::parse(path.to_str().unwrap()).unwrap().resolve(value).cloned();
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
    for path in
        ["../outside/x", "/tmp/x", "a/../../x", "./x", "a//x", ".git/hooks/post-commit", "a/.GIT/config", &long, "a\0b"]
    {
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
