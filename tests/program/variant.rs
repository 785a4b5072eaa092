//! The other variant of the reference implementation uses each tolerated reading that the reference itself does not use. It
//! is correct, so no case may fail and no level may be refused.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use libtest_mimic::Trial;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        no_case_fails_for_the_other_legal_readings,
        the_strict_profile_does_not_accept_them,
        the_answers_of_the_variants_differ,
    ]
}

/// The exit code and the record of a check of the reference implementation.
fn check(folder: &Path, words: &[&str]) -> (i32, Value) {
    let status = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--reference", "--protocol", "agentic", "--seed", "7", "--quiet", "--out"])
        .arg(folder)
        .args(words)
        .stdout(Stdio::null())
        .status()
        .expect("the program");
    let record = std::fs::read(folder.join("report.json")).expect("a record");
    (status.code().expect("an exit code"), serde_json::from_slice(&record).expect("JSON"))
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}

/// The cases of the only protocol.
fn cases(record: &Value) -> impl Iterator<Item = &Value> {
    list(&record["protocols"][0], "cases")
}

fn failing(record: &Value) -> Vec<&str> {
    let wrong = |case: &&Value| ["fail", "error", "inconclusive"].iter().any(|verdict| case["verdict"] == *verdict);
    cases(record).filter(wrong).filter_map(|case| case["id"].as_str()).collect()
}

fn no_case_fails_for_the_other_legal_readings() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, record) = check(folder.path(), &["--variant", "other"]);
    assert_eq!(failing(&record), [""; 0]);
    assert!(code == 0 || code == 3, "exit {code}");
    let refused: Vec<&Value> =
        list(&record["protocols"][0], "levels").filter(|level| level["verdict"] == "refused").collect();
    assert!(refused.is_empty(), "{refused:?}");
    let passed = cases(&record).filter(|case| case["verdict"] == "pass" || case["verdict"] == "warn").count();
    let all = cases(&record).count();
    assert!(passed * 4 > all * 3, "of {all} cases only {passed} were decided");
    // The readings that the harness observed, among them those that no other test reaches.
    let seen: BTreeSet<String> = cases(&record)
        .flat_map(|case| list(case, "readings"))
        .filter_map(|reading| reading["reading"].as_str())
        .flat_map(|reading| reading.split(['(', ')', ' ', ',', '+']).map(str::to_owned).collect::<Vec<_>>())
        .filter(|word| word.len() == 3 && word.starts_with('E'))
        .collect();
    for ruling in ["E04", "E05", "E06", "E07", "E09", "E26", "E70", "E90"] {
        assert!(seen.contains(ruling), "{ruling} is not among the readings seen: {seen:?}");
    }
}

fn the_strict_profile_does_not_accept_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, record) =
        check(folder.path(), &["--variant", "other", "--profile", "strict", "--only", "agentic/deposit#*"]);
    assert_eq!(code, 1);
    let failing = cases(&record).find(|case| case["verdict"] == "fail").expect("a failing case");
    let replay = failing["replay"].as_str().unwrap_or_default();
    assert!(replay.contains("--reference --variant other "), "{replay}");
}

/// A served instance, ended when dropped.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(variant: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(["serve", "--protocol", "agentic", "--listen", "127.0.0.1:0", "--variant", variant])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("an output")).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().find_map(|word| word.strip_prefix("http://")).expect("a URL");
        Self { address: url.to_owned(), child }
    }

    /// The head and the body of an answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let mut stream = std::net::TcpStream::connect(&self.address).expect("it listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn the_answers_of_the_variants_differ() {
    let package = r#"{"package_id":"p","project_id":"j","relay_version":"0.1","title":"Größe","status":"complete",
        "package_type":"standard","review_type":"none","created_at":"2026-01-02T03:04:05Z",
        "created_by":{"id":"a","type":"agent"}}"#;
    let (own, other) = (Serving::start("own"), Serving::start("other"));
    let deposit = |serving: &Serving| serving.ask("POST", "/v1/projects/j/packages", package);
    let ((own_head, own_body), (head, body)) = (deposit(&own), deposit(&other));
    assert!(own_head.starts_with("HTTP/1.1 201") && head.starts_with("HTTP/1.1 200"), "{own_head}\n{head}");
    let (own_body, answer): (Value, Value) =
        (serde_json::from_str(&own_body).expect("JSON"), serde_json::from_str(&body).expect("JSON"));
    assert!(own_body["content_hash"].as_str().is_some_and(|hash| hash.starts_with("sha256:")), "{own_body}");
    assert_eq!(own_body["package"]["title"], answer["title"]);
    let hash = answer["content_hash"].as_str().expect("a hash inside the package");
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()), "{hash}");
    assert!(body.contains("Gr\\u00F6\\u00DFe") && !body.trim_start().starts_with("{\""), "{body}");
    let (head, body) = other.ask("GET", "/v1/packages/p", "");
    assert!(head.contains(&format!("etag: \"{hash}\"")) && !body.contains("content_hash"), "{head}\n{body}");
    let (head, body) = other.ask("GET", "/v1/packages/unknown", "");
    assert!(head.starts_with("HTTP/1.1 200") && body.trim() == "null", "{head}\n{body}");
}
