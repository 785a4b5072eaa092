//! What a target of task-amp must show: every invalid message is refused and logged, a target that does only one of the two is
//! caught, and a URL alone is enough for a first run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use data_encoding::HEXLOWER;
use libtest_mimic::Trial;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::http::request;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        every_invalid_message_is_refused_and_logged,
        a_target_that_refuses_and_logs_passes,
        a_target_that_refuses_without_logging_is_caught,
        a_target_that_logs_without_refusing_is_caught,
        a_url_alone_is_judged_as_a_bundle,
        a_url_below_which_there_is_nothing_accuses_nobody,
        a_needed_token_is_named_and_accuses_nobody,
    ]
}

/// The reference implementation behind a socket.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn start(settings: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.args(["serve", "--protocol", "task-amp", "--listen", "127.0.0.1:0"]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once(" http://").unwrap_or_else(|| panic!("unexpected output {line:?}"));
        let address = rest.split_whitespace().next().expect("an address").parse().expect("a socket");
        Self { child, address }
    }

    /// A bus without roles: proofmark plays all of them.
    fn bus() -> Self {
        Self::start(&["roles=system", "test-hooks=on"])
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request on a connection of its own: the status line and header fields, and the body.
fn ask(address: SocketAddr, head: &str, body: &[u8]) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("the target accepts connections");
    let head = format!("{head}\r\nhost: target\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).expect("it is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).expect("a head is text"), body)
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status")
}

/// Every invalid vector, sent to a bus: 4xx, and an entry of the error log with its msg_id or its digest.
fn every_invalid_message_is_refused_and_logged() {
    let served = Served::bus();
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/task-amp/messages.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(vectors).expect("vectors")).expect("JSON");
    let mut sent = 0;
    for group in vectors["groups"].as_array().expect("groups") {
        for test in group["tests"].as_array().expect("tests") {
            let result = test.get("result").or_else(|| group["with"].get("result"));
            if result != Some(&json!("invalid")) {
                continue;
            }
            let message = test["message"].as_str().expect("a text").as_bytes();
            let parsed: Option<Value> = serde_json::from_slice(message).ok();
            let member = |name: &str| Some(parsed.as_ref()?[name].as_str()?.to_owned());
            let role = member("from").unwrap_or_else(|| "coordinator".to_owned());
            let (_, before) = ask(served.address, "GET /api/amp/v1/errors HTTP/1.1\r\nx-amp-role: admin", b"");
            let before: Value = serde_json::from_slice(&before).expect("JSON");
            let head = format!(
                "POST /api/amp/v1/messages HTTP/1.1\r\ncontent-type: application/json\r\nx-amp-role: {}",
                role.trim()
            );
            let (head, _) = ask(served.address, &head, message);
            assert!((400..500).contains(&status(&head)), "{}: {head}", test["id"]);
            let after = format!("GET /api/amp/v1/errors?after={} HTTP/1.1\r\nx-amp-role: admin", before["next"]);
            let (_, log) = ask(served.address, &after, b"");
            let log: Value = serde_json::from_slice(&log).expect("JSON");
            let digest = HEXLOWER.encode(&Sha256::digest(message));
            let names_it = |entry: &Value| {
                entry["body_sha256"] == digest.as_str()
                    || member("msg_id").is_some_and(|id| entry["msg_id"] == id.as_str())
            };
            assert!(log["errors"].as_array().expect("entries").iter().any(names_it), "{}: {log}", test["id"]);
            sent += 1;
        }
    }
    assert!(sent > 100, "{sent} messages");
}

/// What a proxy does with an answer of the target.
type Change = fn(&str, String, Vec<u8>) -> (String, Vec<u8>);

/// A proxy in front of a target; one request a connection.
fn proxy(behind: SocketAddr, change: Change) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || pass(client, behind, change));
        }
    });
    address
}

fn pass(mut client: TcpStream, behind: SocketAddr, change: Change) {
    let Some((head, body)) = request(&mut client) else { return };
    let line = head.lines().next().unwrap_or_default().to_owned();
    let hop = |field: &&str| {
        let name = field.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !field.is_empty() && !["host", "connection", "content-length"].contains(&name.as_str())
    };
    let head: Vec<&str> = head.lines().filter(hop).collect();
    let (answer, body) = ask(behind, &head.join("\r\n"), &body);
    let (answer, body) = change(&line, answer, body);
    let kept = |field: &&str| {
        let name = field.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !field.is_empty() && !["connection", "content-length"].contains(&name.as_str())
    };
    let head: Vec<&str> = answer.lines().filter(kept).collect();
    let head = format!("{}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", head.join("\r\n"), body.len());
    // The client may be gone.
    let _ = client.write_all(&[head.as_bytes(), &body].concat());
    let _ = client.shutdown(Shutdown::Write);
}

/// Runs `check`, and gives the exit code and the record.
fn check(folder: &Path, words: &[&str]) -> (Option<i32>, Value) {
    let ran = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--protocol", "task-amp", "--quiet", "--out", "out"])
        .args(words)
        .current_dir(folder)
        .output()
        .expect("proofmark runs");
    let record = std::fs::read_to_string(folder.join("out/report.json"));
    let record = record.unwrap_or_else(|_| panic!("no record: {}", String::from_utf8_lossy(&ran.stderr)));
    (ran.status.code(), serde_json::from_str(&record).expect("JSON"))
}

/// The cases that send an invalid message to a bus and look into its error log, as far as they ran.
fn refusals(address: SocketAddr, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let target = format!("url: http://{address}\nprotocol: task-amp\nkind: ssot\n");
    std::fs::write(folder.path().join("target.yaml"), target).expect("a target file");
    let words = ["--target", "target.yaml", "--profile", "strict", "--only", "task-amp/*#refuses-and-logs*"];
    let (code, record) = check(folder.path(), &[&words, more].concat());
    let cases = record["protocols"][0]["cases"].as_array().expect("cases").iter();
    (code, cases.filter(|case| case["verdict"] != "not-run").cloned().collect())
}

/// The verdict of a case about one requirement: that of the case, unless the record says otherwise.
fn outcome<'r>(case: &'r Value, requirement: &str) -> &'r Value {
    case["outcomes"].get(requirement).unwrap_or(&case["verdict"])
}

fn a_target_that_refuses_and_logs_passes() {
    let served = Served::bus();
    let (code, cases) = refusals(served.address, &[]);
    let reasons: Vec<_> = cases.iter().filter(|case| case["verdict"] != "pass").map(|case| &case["because"]).collect();
    assert_eq!(code, Some(0), "{reasons:#?}");
    assert!(cases.len() > 400, "{} cases", cases.len());
    for case in &cases {
        assert_eq!(*outcome(case, "TASK-I-02"), "pass", "{}", case["id"]);
        assert_eq!(*outcome(case, "TASK-I-03"), "pass", "{}", case["id"]);
    }
}

/// Part of the cases: each waits for an entry of the log that does not come.
const PART: &[&str] = &["--shard", "1/10"];

fn a_target_that_refuses_without_logging_is_caught() {
    let served = Served::bus();
    let silent: Change = |line, head, body| match line.contains("/errors") {
        true => (head, br#"{"errors":[],"next":0}"#.to_vec()),
        false => (head, body),
    };
    let (code, cases) = refusals(proxy(served.address, silent), PART);
    assert_eq!(code, Some(1));
    assert!(cases.len() > 20, "{} cases", cases.len());
    for case in &cases {
        assert_eq!(*outcome(case, "TASK-I-03"), "fail", "{}: {}", case["id"], case["because"]);
        assert_ne!(*outcome(case, "TASK-I-02"), "fail", "{}: {}", case["id"], case["because"]);
    }
}

fn a_target_that_logs_without_refusing_is_caught() {
    let served = Served::bus();
    let agreeable: Change = |line, head, body| match line.starts_with("POST") && (400..500).contains(&status(&head)) {
        true => (head.replacen(&status(&head).to_string(), "202", 1), br#"{"accepted":true}"#.to_vec()),
        false => (head, body),
    };
    let (code, cases) = refusals(proxy(served.address, agreeable), PART);
    assert_eq!(code, Some(1));
    assert!(cases.len() > 20, "{} cases", cases.len());
    for case in &cases {
        assert_eq!(*outcome(case, "TASK-I-02"), "fail", "{}: {}", case["id"], case["because"]);
    }
}

/// All roles work there, so proofmark can play none of them and says so.
fn a_url_alone_is_judged_as_a_bundle() {
    let (served, folder) = (Served::start(&[]), tempfile::tempdir().expect("a folder"));
    let (code, record) = check(folder.path(), &[&format!("http://{}", served.address)]);
    assert_eq!(code, Some(0), "{record:#}");
    assert!(record["summary"]["cases"]["pass"].as_u64() > Some(80), "{}", record["summary"]);
    let features = record["protocols"][0]["features"].to_string();
    assert!(features.contains("Start the target with one role at a time"), "{features}");
}

fn a_url_below_which_there_is_nothing_accuses_nobody() {
    let (served, folder) = (Served::start(&[]), tempfile::tempdir().expect("a folder"));
    let (code, record) = check(folder.path(), &[&format!("http://{}/nowhere", served.address)]);
    assert_eq!(code, Some(3), "{record:#}");
    assert_eq!(record["summary"]["cases"]["fail"], 0);
    let advice = record["summary"]["advice"].to_string();
    assert!(advice.contains("base path"), "{advice}");
}

fn a_needed_token_is_named_and_accuses_nobody() {
    let (served, folder) = (Served::start(&["token=a-token=coordinator"]), tempfile::tempdir().expect("a folder"));
    let (code, record) = check(folder.path(), &[&format!("http://{}", served.address)]);
    assert_eq!(code, Some(3), "{record:#}");
    assert_eq!(record["summary"]["cases"]["fail"], 0);
    let advice = record["summary"]["advice"].to_string();
    assert!(advice.contains("credentials") && advice.contains("--bearer-env"), "{advice}");
}
