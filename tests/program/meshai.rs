//! Targets of meshai as their implementers meet them: a URL alone, with and without a key that the target needs, a target
//! without optional services, and leaks of private memory.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use libtest_mimic::Trial;
use serde_json::Value;

use crate::support::reports;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        a_url_alone_is_judged_as_an_agent,
        a_needed_key_is_named_and_accuses_nobody,
        a_key_from_the_environment_is_enough_and_never_shown,
        a_target_without_optional_services_is_granted_the_levels_of_its_kind,
        a_leak_of_memory_to_another_agent_is_caught,
        a_low_rate_limit_fails_no_case,
        an_agent_is_started_with_the_hosted_registry,
    ]
}

const KEY: &str = "a-key-that-no-report-shows-0001";

/// The reference implementation as one agent.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(settings: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.args(["serve", "--protocol", "meshai", "--listen", "127.0.0.1:0", "--set", "kind=agent"]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once(" http://").unwrap_or_else(|| panic!("unexpected output {line:?}"));
        let address = rest.split_whitespace().next().expect("an address");
        Self { child, url: format!("http://{address}") }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the cases about requests and errors; more would take longer and show no more.
fn check(url: &str, folder: &Path, more: &[&str]) -> (Output, Value) {
    let out = folder.join("out");
    let ran = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", url, "--protocol", "meshai", "--quiet", "--out"])
        .arg(&out)
        .args([
            "--only",
            "meshai/requests#serves-*",
            "--only",
            "meshai/errors#*",
            "--only",
            "meshai/envelope#rejects-malformed*",
        ])
        .args(more)
        .env("MESHAI_KEY", KEY)
        .output()
        .expect("proofmark runs");
    let record = std::fs::read_to_string(out.join("report.json")).expect("a record");
    (ran, serde_json::from_str(&record).expect("JSON"))
}

/// Runs the cases `only` against the target that a target file describes.
fn check_file(target: &str, only: &[&str], folder: &Path) -> (Output, Value) {
    let file = folder.join("target.yaml");
    std::fs::write(&file, target).expect("written");
    let out = folder.join("out");
    let ran = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--quiet", "--target"])
        .arg(&file)
        .args(only.iter().flat_map(|pattern| ["--only", *pattern]))
        .arg("--out")
        .arg(&out)
        .output()
        .expect("proofmark runs");
    let record = std::fs::read_to_string(out.join("report.json")).expect("a record");
    (ran, serde_json::from_str(&record).expect("JSON"))
}

fn a_url_alone_is_judged_as_an_agent() {
    let (served, folder) = (Served::start(&[]), tempfile::tempdir().expect("a folder"));
    let (ran, record) = check(&served.url, folder.path(), &[]);
    assert_eq!(ran.status.code(), Some(0), "{record:#}");
    assert!(record["summary"]["cases"]["pass"].as_u64() > Some(30), "{}", record["summary"]);
}

fn a_needed_key_is_named_and_accuses_nobody() {
    let key = format!("api-key={KEY}");
    let (served, folder) = (Served::start(&[&key]), tempfile::tempdir().expect("a folder"));
    let (ran, record) = check(&served.url, folder.path(), &[]);
    assert_eq!(ran.status.code(), Some(3), "{record:#}");
    assert_eq!(record["summary"]["cases"]["fail"], 0);
    let advice = record["summary"]["advice"].to_string();
    assert!(advice.contains("credentials") && advice.contains("--bearer-env"), "{advice}");
}

fn a_key_from_the_environment_is_enough_and_never_shown() {
    let key = format!("api-key={KEY}");
    let (served, folder) = (Served::start(&[&key]), tempfile::tempdir().expect("a folder"));
    let (ran, record) = check(&served.url, folder.path(), &["--bearer-env", "MESHAI_KEY"]);
    assert_eq!(ran.status.code(), Some(0), "{record:#}");
    let texts = reports::texts(&folder.path().join("out"));
    assert_eq!(texts.len(), 5);
    for (file, text) in texts {
        assert!(!text.contains(KEY), "{file} shows the key");
    }
}

fn a_target_without_optional_services_is_granted_the_levels_of_its_kind() {
    let without = ["without=context", "without=delegation", "without=negotiation"];
    let (served, folder) = (Served::start(&without), tempfile::tempdir().expect("a folder"));
    let out = folder.path().join("out");
    let ran = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", &served.url, "--protocol", "meshai", "--quiet", "--out"])
        .arg(&out)
        .output()
        .expect("proofmark runs");
    let record = std::fs::read_to_string(out.join("report.json")).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
    let protocol = &record["protocols"][0];
    for level in ["message", "agent", "binding"] {
        let found = protocol["levels"].as_array().expect("levels").iter().find(|row| row["level"] == level);
        assert_eq!(found.expect("the level")["outcome"], "granted", "{level}");
    }
    // Nothing is skipped without a reason.
    for case in protocol["cases"].as_array().expect("cases").iter().filter(|case| case["verdict"] == "not-run") {
        let reason = case["reason"].as_str().unwrap_or_default();
        assert!(!reason.is_empty(), "{case:#}");
    }
    let delegation = protocol["cases"].as_array().expect("cases").iter();
    let delegation: Vec<&Value> =
        delegation.filter(|case| case["id"].as_str().is_some_and(|id| id.starts_with("meshai/delegation#"))).collect();
    assert!(!delegation.is_empty() && delegation.iter().all(|case| case["verdict"] == "not-run"));
}

/// Faults that show the memory of one agent to another.
const LEAKS: &[&str] = &[
    "read-list-ignored",
    "session-bypasses-read-list",
    "denial-quotes-memory",
    "denial-details-context",
    "update-denial-shows-context",
    "event-denial-shows-context",
    "merge-drops-lists",
    "not-found-lists-contexts",
    "discovery-shows-contexts",
    "health-shows-contexts",
    "private-memory-returned",
    "private-memory-counted",
    "private-values-listed",
    "private-copied-to-shared",
    "private-denial-quotes",
    "update-reply-shows-private",
    "fork-leaks-private",
    "fork-reply-shows-private",
    "merge-leaks-private",
];

fn a_leak_of_memory_to_another_agent_is_caught() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(["prove", "--protocol", "meshai", "--quiet", "--out"]).arg(folder.path());
    for fault in LEAKS {
        command.args(["--fault", fault]);
    }
    let ran = command.stdin(Stdio::null()).output().expect("proofmark runs");
    let proof = std::fs::read(folder.path().join("meshai/proof.json")).expect("a proof");
    let proof: Value = serde_json::from_slice(&proof).expect("JSON");
    let caught = proof["faults"].as_array().expect("faults").iter().filter(|row| row["killed"] == true).count();
    assert_eq!(caught, LEAKS.len(), "{}", String::from_utf8_lossy(&ran.stdout));
}

/// Longer cases send more requests than the limit allows in its window, and wait for the next window.
fn a_low_rate_limit_fails_no_case() {
    let served = Served::start(&["kind=mesh", "rate-limit=3", "rate-window=1s"]);
    let folder = tempfile::tempdir().expect("a folder");
    let target = format!(
        "protocol: meshai\nkind: [mesh]\nurl: {}\nsettings: {{ rate_limit: {{ requests: 3, window_ms: 1000 }} }}\nfeatures: \
         {{ rate-limit: true, context: true }}\n",
        served.url
    );
    let only = [
        "meshai/contexts#keeps-*",
        "meshai/contexts#merges-*",
        "meshai/envelope#numbers-*",
        "meshai/requests#correlates-*",
    ];
    let (ran, record) = check_file(&target, &only, folder.path());
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(record["summary"]["cases"]["pass"].as_u64() > Some(10), "{}", record["summary"]);
}

fn an_agent_is_started_with_the_hosted_registry() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = env!("CARGO_BIN_EXE_proofmark");
    let target = format!(
        "protocol: meshai\nkind: [agent]\nurl: 'http://127.0.0.1:{{port}}'\nlaunch:\n  command: ['{program}', serve, \
         --protocol, meshai, --listen, '127.0.0.1:{{port}}', --set, kind=agent, --set, 'registry={{host.registry}}', --set, \
         control=on]\nfeatures: {{ client: true, control: true }}\n"
    );
    let (ran, record) = check_file(&target, &["meshai/client#*"], folder.path());
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(record["summary"]["cases"]["pass"].as_u64() > Some(8), "{}", record["summary"]);
}
