//! Targets of agentic-mesh: relays with a broken way to the next hop, nodes of one kind, and first contact with a URL alone.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use serde_json::Value;

use crate::support::http::request;
use crate::support::port::unused_address;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        a_relay_that_never_forwards_fails,
        a_relay_that_forwards_twice_fails_under_strict,
        a_relay_that_forwards_elsewhere_fails,
        a_relay_that_answers_before_it_forwards_passes,
        a_relay_that_was_not_told_its_next_hop_is_asked_for_it,
        a_receiver_that_accepts_the_body_it_should_refuse_fails,
        a_receiver_alone_is_granted_its_levels,
        a_relay_alone_is_granted_its_levels,
        a_server_without_the_path_is_named_in_three_lines,
        a_server_that_takes_no_media_type_is_told_of_the_setting,
        a_server_that_answers_faults_alone_is_told_of_the_body,
    ]
}

/// The time after which a run counts as hanging: several times its timeouts.
const DEADLINE: Duration = Duration::from_secs(120);

/// The cases about the way to the next hop.
const FORWARDING: [&str; 2] = ["--only", "agentic-mesh/forwarding#passes*"];

/// A node in a process of its own.
struct Node {
    child: Child,
    address: String,
}

impl Node {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once("http://").unwrap_or_else(|| panic!("unexpected output {line:?}"));
        let address = rest.split_whitespace().next().expect("an address").to_owned();
        Self { child, address }
    }

    /// The reference implementation, of this kind and with this next hop.
    fn reference(kind: &str, next_hop: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.args(["serve", "--protocol", "agentic-mesh", "--listen", "127.0.0.1:0", "--set", "chain=0"]);
        command.args(["--set", &format!("kind={kind}"), "--set", &format!("next-hop={next_hop}")]);
        Self::start(command)
    }

    /// The target file for it, with proofmark as the next hop at an address.
    fn target(&self, kind: &str, next_hop: SocketAddr, more: &str) -> String {
        let Self { address, .. } = self;
        format!(
            "protocol: agentic-mesh\nurl: http://{address}\nkind: {kind}\n{more}hosts: {{ next-hop: {{ listen: \"{next_hop}\" }} }}\n"
        )
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that gives every request the same answer.
fn constant(status: u16, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                while request(&mut stream).is_some() {
                    let head = format!(
                        "HTTP/1.1 {status} x\r\ncontent-type: application/amp+json\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

/// The exit code, standard output, and record of a run.
fn check(words: &[&str], folder: &Path) -> (Option<i32>, String, Value) {
    let out = folder.join("out");
    let begun = Instant::now();
    let ran = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--out"])
        .arg(&out)
        .args(words)
        .env("COLUMNS", "1000")
        .output()
        .expect("proofmark runs");
    assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
    let record = std::fs::read_to_string(out.join("report.json")).expect("a record");
    let text = String::from_utf8_lossy(&ran.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    (ran.status.code(), text, serde_json::from_str(&record).expect("JSON"))
}

/// As [`check`], for a target file.
fn check_file(target: &str, words: &[&str]) -> (Option<i32>, String, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("target.yaml");
    std::fs::write(&file, target).expect("a file");
    let mut all = vec!["--target", file.to_str().expect("a path in UTF-8")];
    all.extend(words);
    check(&all, folder.path())
}

fn verdict<'r>(record: &'r Value, requirement: &str) -> &'r str {
    let found = record["protocols"][0]["requirements"].as_array().expect("requirements");
    let found = found.iter().find(|found| found["id"] == requirement).expect("the requirement");
    found["verdict"].as_str().expect("a word")
}

fn a_relay_that_never_forwards_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--reference", "--protocol", "agentic-mesh", "--fault", "never-forwards"];
    let (code, text, record) = check(&[&words[..], &FORWARDING].concat(), folder.path());
    assert_eq!((code, verdict(&record, "MESH-4.7-30")), (Some(1), "fail"), "{text}");
}

fn a_relay_that_forwards_twice_fails_under_strict() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--reference", "--protocol", "agentic-mesh", "--fault", "forwards-twice", "--profile", "strict"];
    let (code, text, record) = check(&[&words[..], &FORWARDING].concat(), folder.path());
    assert_eq!((code, verdict(&record, "MESH-4.7-30")), (Some(1), "fail"), "{text}");
}

fn a_relay_that_forwards_elsewhere_fails() {
    let other = Node::reference("ultimateReceiver", "http://127.0.0.1:1/next-hop");
    let relay = Node::reference("intermediary", &format!("http://{}/amp", other.address));
    let (code, text, record) = check_file(&relay.target("relay", unused_address(), ""), &FORWARDING);
    assert_eq!((code, verdict(&record, "MESH-4.7-30")), (Some(1), "fail"), "{text}");
    assert!(text.contains("Set the next hop of the node to http://127.0.0.1:8931/next-hop"), "{text}");
}

fn a_relay_that_answers_before_it_forwards_passes() {
    let next_hop = unused_address();
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/mesh_server.py"));
    command.args(["--port", "0", "--kind", "intermediary", "--choice", "answers-before-forwarding-late"]);
    command.args(["--next-hop", &format!("http://{next_hop}/next-hop")]);
    let relay = Node::start(command);
    let (code, text, record) = check_file(&relay.target("relay", next_hop, ""), &FORWARDING);
    assert_eq!((code, verdict(&record, "MESH-4.7-30")), (Some(0), "pass"), "{text}");
}

fn a_relay_that_was_not_told_its_next_hop_is_asked_for_it() {
    let other = Node::reference("ultimateReceiver", "http://127.0.0.1:1/next-hop");
    let relay = Node::reference("intermediary", &format!("http://{}/amp", other.address));
    let target = relay.target("relay", unused_address(), "");
    let alone: Vec<&str> = target.lines().filter(|line| !line.starts_with("hosts")).collect();
    let (code, text, record) = check_file(&alone.join("\n"), &FORWARDING);
    assert_eq!((code, &record["summary"]["cases"]["fail"]), (Some(3), &0.into()), "{text}");
    let advice =
        ["Set the next hop of the node to http://127.0.0.1:8931/next-hop", "init --protocol agentic-mesh` prints"];
    for word in advice {
        assert!(text.contains(word), "{word}: {text}");
    }
}

fn a_receiver_that_accepts_the_body_it_should_refuse_fails() {
    let next_hop = unused_address();
    let receiver = Node::reference("ultimateReceiver", &format!("http://{next_hop}/next-hop"));
    let accepted = "settings: { refused: { body: { task: echo, expectedOutput: [text] } } }\n";
    let only = ["--only", "agentic-mesh/body#answers-the-refused-body*"];
    let (code, text, record) = check_file(&receiver.target("receiver", next_hop, accepted), &only);
    assert_eq!((code, verdict(&record, "MESH-4.5-01")), (Some(1), "fail"), "{text}");
    // Without the setting the body is a guess, and any answer to it is right.
    let (code, text, record) = check_file(&receiver.target("receiver", next_hop, ""), &only);
    assert_eq!(record["summary"]["cases"]["fail"], 0, "{code:?} {text}");
}

fn granted(kind: &str, node: &str, feature: &str, levels: &[&str]) {
    let next_hop = unused_address();
    let served = Node::reference(node, &format!("http://{next_hop}/next-hop"));
    let features = format!("features: {{ declared-blocks: true, {feature}: true }}\n");
    let (code, text, record) = check_file(&served.target(kind, next_hop, &features), &[]);
    assert_eq!(code, Some(0), "{text}");
    let outcome = |level: &str| {
        let found = record["protocols"][0]["levels"].as_array().expect("levels");
        found.iter().find(|found| found["level"] == level).map(|found| found["outcome"].clone())
    };
    for level in levels {
        assert_eq!(outcome(level), Some("granted".into()), "{level}: {text}");
    }
    let cases = record["protocols"][0]["cases"].as_array().expect("cases");
    let told = |case: &&Value| case["because"].as_str().is_some_and(|why| why.contains("the case needs the role"));
    assert!(cases.iter().any(|case| told(&case)), "{text}");
}

fn a_receiver_alone_is_granted_its_levels() {
    granted("receiver", "ultimateReceiver", "validates-memorygram", &["message", "node", "security"]);
}

fn a_relay_alone_is_granted_its_levels() {
    granted("relay", "intermediary", "relay-validates-memorygram", &["message", "node", "intermediary", "security"]);
}

/// First contact: the URL of a server that gives one answer to everything. The usual address of the next hop may be in use.
fn first_contact(status: u16, body: &'static str) -> (Option<i32>, String, Value) {
    let (url, next_hop) = (constant(status, body), unused_address());
    check_file(
        &format!("protocol: agentic-mesh\nurl: {url}\nhosts: {{ next-hop: {{ listen: \"{next_hop}\" }} }}\n"),
        &[],
    )
}

fn a_server_without_the_path_is_named_in_three_lines() {
    let (code, text, record) = first_contact(404, "");
    assert_eq!((code, &record["summary"]["cases"]["fail"]), (Some(3), &0.into()), "{text}");
    assert!(text.contains("have status 404") && text.contains("check the base path of the URL"), "{text}");
}

fn a_server_that_takes_no_media_type_is_told_of_the_setting() {
    let (code, text, record) = first_contact(415, "");
    // Binding, section 5.3: what the known-good message shows fails, the rest is undecided.
    assert_eq!((code, verdict(&record, "MESH-4-01")), (Some(1), "fail"), "{text}");
    assert!(text.contains("If the answer is 415, set `settings: { content_type: … }`"), "{text}");
}

fn a_server_that_answers_faults_alone_is_told_of_the_body() {
    const FAULT: &str =
        r#"{"Envelope":{"Header":{},"Body":{"fault":{"code":{"value":"amp:Receiver"}}},"MemoryGram":{}}}"#;
    let (code, text, record) = first_contact(500, FAULT);
    assert_eq!((code, verdict(&record, "MESH-4-01")), (Some(1), "fail"), "{text}");
    assert!(text.contains("settings: { accepted: { body: … } }"), "{text}");
}
