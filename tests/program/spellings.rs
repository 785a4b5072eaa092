//! `--spellings`: legal spellings reach the wire, correct targets pass, and a failure says on which spelling it depends.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use libtest_mimic::Trial;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        spellings_reach_the_wire_and_the_reference_takes_them,
        a_failure_says_on_which_spelling_it_depends,
        a_refusal_that_a_target_has_a_right_to_is_no_failure,
        exploration_finds_what_fails_in_one_spelling_alone,
        an_unknown_spelling_is_wrong_usage,
    ]
}

/// The reference implementation of a protocol as a process.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.args(["serve", "--protocol", "agentic", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once("http://").unwrap_or_else(|| panic!("unexpected output {line:?}"));
        let address = rest.split_whitespace().next().expect("an address").parse().expect("an address");
        Self { child, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status with which a proxy refuses a request because of its start line and header fields, and because of its body in the
/// chunked transfer coding, if it does.
type Refusal = fn(&str, &str) -> Option<u16>;

/// The starts of the requests that passed.
type Heads = Arc<Mutex<Vec<String>>>;

/// A proxy in front of a target, for one request a connection.
fn proxy(behind: SocketAddr, refusal: Refusal) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let heads = Heads::default();
    let seen = Arc::clone(&heads);
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || pass(near, behind, refusal, &seen));
        }
    });
    (format!("http://{address}"), heads)
}

fn pass(mut near: TcpStream, behind: SocketAddr, refusal: Refusal, heads: &Heads) -> Option<()> {
    let mut bytes = Vec::new();
    let end = loop {
        let mut part = [0; 4096];
        let count = near.read(&mut part).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 2;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    heads.lock().expect("no panic").push(head.clone());
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding:");
    if is_chunked && head.to_ascii_lowercase().contains("expect:") {
        near.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    while is_chunked && !bytes.ends_with(b"\r\n0\r\n\r\n") {
        let mut part = [0; 4096];
        let count = near.read(&mut part).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
    }
    let body = String::from_utf8_lossy(&bytes[end + 2..]).into_owned();
    if let Some(status) = refusal(&head, &body) {
        let answer = format!("HTTP/1.1 {status} no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        near.write_all(answer.as_bytes()).ok()?;
        // Without reading what is left, the answer would be lost by a reset.
        near.shutdown(std::net::Shutdown::Write).ok()?;
        return near.read_to_end(&mut Vec::new()).ok().map(drop);
    }
    let mut far = TcpStream::connect(behind).ok()?;
    let kept = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let mut forwarded = kept.map(|line| format!("{line}\r\n")).collect::<String>().into_bytes();
    forwarded.extend_from_slice(b"connection: close\r\n");
    forwarded.extend_from_slice(&bytes[end..]);
    far.write_all(&forwarded).ok()?;
    let (mut from, mut to) = (near.try_clone().ok()?, far.try_clone().ok()?);
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    std::io::copy(&mut far, &mut near).ok()?;
    near.shutdown(std::net::Shutdown::Both).ok()
}

fn proofmark(folder: &Path, words: &[&str]) -> (i32, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_proofmark")).args(words).current_dir(folder).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().expect("an exit code"), String::from_utf8_lossy(&text).into_owned())
}

/// A check of the read and write operations of packages; what was found.
fn check(url: &str, spellings: &str, seed: &str) -> (i32, String, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["check", url, "--protocol", "agentic", "--only", "agentic/deposit#*", "--only", "agentic/pull#*"];
    let (code, text) =
        proofmark(folder.path(), &[&words[..], &["--seed", seed, "--new-ids", "--out", "out", spellings]].concat());
    let record = std::fs::read_to_string(folder.path().join("out/report.json")).unwrap_or_else(|_| panic!("{text}"));
    let record: Value = serde_json::from_str(&record).expect("JSON");
    let cases = record["protocols"][0]["cases"].as_array().expect("cases");
    let failed = cases.iter().filter(|case| case["verdict"] == "fail").cloned().collect();
    (code, text, failed)
}

fn spellings_reach_the_wire_and_the_reference_takes_them() {
    let served = Served::start();
    let (url, heads) = proxy(served.address, |_, _| None);
    let (_, text, failed) = check(&url, "--spellings", "5");
    assert!(failed.is_empty(), "{text}");
    let heads = heads.lock().expect("no panic").clone();
    let has = |what: &str, found: &dyn Fn(&str) -> bool| {
        let count = heads.iter().filter(|head| found(head)).count();
        assert!(count > 0 && count * 2 < heads.len(), "{what}: {count} of {}", heads.len());
    };
    let line = |head: &str| head.lines().next().unwrap_or_default().to_owned();
    has("HEAD", &|head| head.starts_with("HEAD "));
    has("the chunked coding", &|head| head.to_ascii_lowercase().contains("transfer-encoding:"));
    has("capitals in names", &|head| head.contains("ACCEPT:"));
    has("other letters in names", &|head| head.contains("aCcEpT:"));
    has("no space", &|head| head.contains(":application/json") || head.contains(":*/*"));
    has("a quoted parameter", &|head| head.contains("charset=\"utf-8\""));
    has("Expect", &|head| head.to_ascii_lowercase().contains("100-continue"));
    has("an encoded letter", &|head| line(head).contains("%70"));
    has("small digits", &|head| line(head).contains("%c3") || line(head).contains("%2f") || line(head).contains("%6c"));
    has("the end of a connection", &|head| head.to_ascii_lowercase().contains("connection:"));
    has("another order", &|head| {
        !line(head).is_empty()
            && head.to_ascii_lowercase().trim_end().rsplit("\r\n").next().is_some_and(|last| last.starts_with("host:"))
    });
    // The same seed sends the same.
    let (url, again) = proxy(served.address, |_, _| None);
    check(&url, "--spellings", "5");
    let names =
        |heads: &[String]| heads.iter().flat_map(|head| head.lines().skip(1).map(name)).collect::<BTreeSet<_>>();
    fn name(line: &str) -> String {
        line.split(':').next().unwrap_or_default().to_owned()
    }
    assert_eq!(names(&heads), names(&again.lock().expect("no panic")));
}

/// The distinct notes of violations.
fn notes(failed: &[Value]) -> BTreeSet<String> {
    let findings = failed.iter().flat_map(|case| case["findings"].as_array().expect("findings"));
    findings.map(|finding| finding["note"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The number of chunks in a body, the last one left out.
fn chunks(body: &str) -> usize {
    let mut rest = body;
    let mut found = 0;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        found += 1;
        rest = after.get(size + 2..).unwrap_or_default();
    }
    found
}

fn a_failure_says_on_which_spelling_it_depends() {
    let served = Served::start();
    let behind = served.address;
    let faults: &[(&str, Refusal)] = &[
        ("chunked", |head, body| {
            let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding:");
            (is_chunked && !body.contains(";pm")).then_some(500)
        }),
        ("content-type", |head, _| head.contains("charset=\"").then_some(415)),
        ("percent-encoding", |head, _| {
            let line = head.lines().next().unwrap_or_default();
            line.contains("%70").then_some(404)
        }),
    ];
    // A target that takes one chunk knows the coding, so it has to take several, and to ignore extensions.
    let more: &[(&str, Refusal)] = &[
        ("chunked", |head, body| (head.contains("POST") && chunks(body) > 1).then_some(400)),
        ("chunk-extensions", |_, body| body.contains(";pm").then_some(400)),
    ];
    let depends = |kind: &str, refusal: Refusal| {
        let (url, _) = proxy(behind, refusal);
        let (code, text, failed) = check(&url, "--spellings", "8");
        assert_eq!(code, 1, "{kind}: {text}");
        let found = notes(&failed);
        let expected = format!("only in this spelling: {kind}");
        assert!(found.iter().any(|note| note.ends_with(&expected)), "{kind}: {found:?}");
        (url, text, failed, expected)
    };
    // Side by side, because each of them mostly waits.
    std::thread::scope(|scope| {
        for (kind, refusal) in faults {
            scope.spawn(move || {
                let (url, text, failed, expected) = depends(kind, *refusal);
                assert!(text.contains(&expected) && text.contains(" --spellings"), "{kind}: {text}");
                // Without the option only the cases fail that are about a spelling themselves.
                let (_, text, plain) = check(&url, "--jobs=8", "8");
                let depends = |case: &&Value| notes(&[(*case).clone()]).iter().any(|note| note.ends_with(&expected));
                for case in failed.iter().filter(depends) {
                    assert!(
                        plain.iter().all(|other| other["id"] != case["id"]),
                        "{kind} in the plain spelling: {text}"
                    );
                }
            });
        }
        for (kind, refusal) in more {
            scope.spawn(move || depends(kind, *refusal));
        }
        // What fails in any spelling depends on none.
        scope.spawn(move || {
            let (url, _) = proxy(behind, |head, _| head.contains("mode=").then_some(500));
            let (code, text, failed) = check(&url, "--spellings", "8");
            assert_eq!(code, 1, "{text}");
            assert!(notes(&failed).iter().all(|note| !note.contains("spelling")), "{:?}", notes(&failed));
        });
    });
}

fn a_refusal_that_a_target_has_a_right_to_is_no_failure() {
    let served = Served::start();
    let refusals: &[Refusal] = &[
        |head, _| head.to_ascii_lowercase().contains("transfer-encoding:").then_some(411),
        |head, _| head.to_ascii_lowercase().contains("transfer-encoding:").then_some(400),
        |head, _| head.to_ascii_lowercase().contains("expect:").then_some(417),
        |head, _| head.starts_with("HEAD ").then_some(405),
    ];
    let behind = served.address;
    std::thread::scope(|scope| {
        for refusal in refusals {
            scope.spawn(move || {
                let (url, _) = proxy(behind, *refusal);
                let (_, text, failed) = check(&url, "--spellings", "9");
                assert!(failed.is_empty(), "{text}");
            });
        }
    });
}

fn exploration_finds_what_fails_in_one_spelling_alone() {
    let served = Served::start();
    let (url, _) =
        proxy(served.address, |head, _| head.to_ascii_lowercase().contains("transfer-encoding:").then_some(500));
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let words = ["explore", &url, "--protocol", "agentic", "--for", "60s", "--findings", "1", "--seed", "3"];
    let (code, text) = proofmark(folder, &[&words[..], &["--spellings"]].concat());
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("only in these spellings: chunked") && text.contains("--spellings=chunked"), "{text}");
    let result = std::fs::read_to_string(folder.join("reports/explore/explore.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let finding = &result["findings"][0];
    assert_eq!(finding["spellings"], serde_json::json!(["chunked"]));
    let case = finding["case"].as_str().expect("an id");
    let suite = case.split(['/', '#']).nth(1).expect("a suite");
    let file = format!("reports/explore/{suite}.yaml");
    let again = |spellings: &str| {
        let words = ["check", &url, "--protocol", "agentic", "--cases", &file, "--only", case, "--new-ids", spellings];
        proofmark(folder, &words)
    };
    let (code, text) = again("--spellings=chunked");
    assert_eq!(code, 1, "{text}");
    let (code, text) = again("--quiet");
    assert_eq!(code, 0, "{text}");
}

fn an_unknown_spelling_is_wrong_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    for (slug, kind, message) in [
        ("agentic", "chunk", "did you mean `chunked`?"),
        ("amp-core", "json-space", "does not permit the spelling `json-space`"),
    ] {
        for command in ["check", "explore"] {
            let words = [command, "--reference", "--protocol", slug, &format!("--spellings={kind}")];
            let (code, text) = proofmark(folder.path(), &words);
            assert_eq!(code, 2, "{words:?}: {text}");
            assert!(text.contains(message), "{words:?}: {text}");
        }
    }
}
