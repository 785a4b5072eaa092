//! A target that requires tokens from its peers: each party sends its own over every transport, and no report shows one.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use libtest_mimic::Trial;
use proofmark::protocol::amp_core::identity::Identity;
use serde_json::Value;

use crate::support::reports;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![each_party_sends_its_token_over_every_transport_and_no_report_shows_one,]
}

/// The token of each party.
const TOKENS: [(&str, &str); 3] = [("alice", "t0ken-of-alice"), ("bob", "t0ken-of-bob"), ("carol", "t0ken-of-carol")];

/// The reference implementation, served with these tokens.
struct Served {
    child: Child,
    http: String,
    tcp: String,
}

impl Served {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.args(["serve", "--protocol", "amp-core", "--listen", "127.0.0.1:0"]);
        for (name, token) in TOKENS {
            command.arg("--set").arg(format!("auth={token}={}", Identity::named(name).did()));
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let after = |scheme: &str| {
            let (_, rest) = line.split_once(scheme).unwrap_or_else(|| panic!("unexpected output {line:?}"));
            rest.split_whitespace().next().expect("an address").to_owned()
        };
        Self { child, http: after(" http://"), tcp: after(" amp://") }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn each_party_sends_its_token_over_every_transport_and_no_report_shows_one() {
    let served = Served::start();
    let folder = tempfile::tempdir().expect("a folder");
    // Reading all suites would take longer than running these cases.
    let suites = folder.path().join("suites/amp-core");
    std::fs::create_dir_all(&suites).expect("a folder");
    for name in ["protocol.yaml", "requirements.yaml", "basics.yaml", "binding-principals.yaml"] {
        let from = concat!(env!("CARGO_MANIFEST_DIR"), "/suites/amp-core/");
        std::fs::copy(format!("{from}{name}"), suites.join(name)).expect("a copy");
    }
    let credentials: String = TOKENS
        .iter()
        .map(|(name, token)| {
            std::fs::write(folder.path().join(name), token).expect("a file");
            format!("  {name}: {{ file: {name}, prefix: 'Bearer ' }}\n")
        })
        .collect();
    let (http, tcp) = (&served.http, &served.tcp);
    let target = format!(
        "protocol: amp-core\nurl: http://{http}\nws: ws://{http}/amp/v1/ws\ntcp: amp://{tcp}\n\
         features: {{ principals: true }}\ncredentials:\n{credentials}"
    );
    std::fs::write(folder.path().join("target.yaml"), target).expect("a file");

    let ran = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--target", "target.yaml", "--suites", "suites", "--out", "out", "--verbose"])
        .args(["--only", "amp-core/basics#*", "--only", "amp-core/binding-principals#*"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let output = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{output}");

    let record = std::fs::read_to_string(folder.path().join("out/report.json")).expect("a report");
    let report: Value = serde_json::from_str(&record).expect("JSON");
    let cases = report["protocols"][0]["cases"].as_array().expect("cases");
    for transport in ["http", "ws", "tcp"] {
        let passed = |suite: &str| {
            let of_suite = |case: &&Value| {
                case["id"].as_str().is_some_and(|id| id.starts_with(suite))
                    && case["transport"] == transport
                    && case["verdict"] == "pass"
            };
            cases.iter().filter(of_suite).count()
        };
        assert!(passed("amp-core/basics#") > 0, "nothing passed over {transport}: {output}");
        assert!(
            passed("amp-core/binding-principals#") > 0,
            "no case about principals passed over {transport}: {output}"
        );
    }

    let mut texts = vec![("terminal output".to_owned(), output)];
    texts.extend(reports::texts(&folder.path().join("out")));
    // In a record, bytes that are not text are in hex.
    let hidden: Vec<String> =
        TOKENS.iter().map(|(_, token)| data_encoding::HEXLOWER.encode(token.as_bytes())).collect();
    for (name, text) in &texts {
        assert!(!text.contains("t0ken-of"), "{name} holds a token");
        assert!(!hidden.iter().any(|token| text.contains(token)), "{name} holds a token in hex");
    }
}
