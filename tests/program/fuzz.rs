//! Campaigns as a user runs them: their findings, the absence of false positives, and the use of a finding.

mod servers;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::Value;
use servers::{Relay, Stub};

use crate::support::port::unused_address;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        a_campaign_finds_nothing_in_the_reference,
        the_same_seed_makes_the_same_inputs,
        the_case_of_a_finding_fails_for_the_same_requirement_and_passes_without_the_fault,
        a_target_that_crashes_and_restarts_is_reported_and_its_case_crashes_it_again,
        a_target_that_stays_down_ends_the_campaign_with_the_suspected_inputs,
        no_finding_for_a_target_that_rejects_the_twin,
        a_minimised_message_is_still_invalid,
        a_campaign_resumes_where_it_stopped,
        wrong_usage_is_reported_before_anything_is_sent,
        a_library_that_exits_at_a_message_is_found,
    ]
}

/// The result of a run of the program.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn proofmark(folder: &Path, words: &[&str]) -> Ran {
    let output =
        Command::new(env!("CARGO_BIN_EXE_proofmark")).args(words).current_dir(folder).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code().expect("an exit code"), out: text(&output.stdout), err: text(&output.stderr) }
}

fn campaign(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("reports/fuzz/fuzz.json")).expect("a campaign leaves a file");
    serde_json::from_str(&text).expect("it is JSON")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("reports/fuzz")).expect("a folder").flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension() == Some("yaml".as_ref())).collect();
    files.sort();
    files
}

fn member<'v>(finding: &'v Value, name: &str) -> &'v str {
    finding[name].as_str().expect("a text")
}

/// Runs the case of a finding with `check`, and gives the exit code, the verdict and the requirement of the first finding.
fn checked(folder: &Path, finding: &Value, file: &Path, target: &[&str]) -> (i32, String, String) {
    let case = member(finding, "case");
    let protocol = case.split('/').next().expect("a slug");
    let file = file.display().to_string();
    let mut words = vec!["check"];
    words.extend(target);
    words.extend(["--protocol", protocol, "--cases", &file, "--only", case, "--quiet", "--out", "reports/check"]);
    let ran = proofmark(folder, &words);
    let record = std::fs::read_to_string(folder.join("reports/check/report.json"));
    let record: Value = serde_json::from_str(&record.unwrap_or_else(|_| panic!("{}", ran.err))).expect("JSON");
    let cases = record["protocols"][0]["cases"].as_array().expect("cases");
    let case =
        cases.iter().find(|found| found["id"] == case).unwrap_or_else(|| panic!("{case} did not run: {}", ran.err));
    let requirement = case["findings"][0]["requirement"].as_str().unwrap_or_default();
    (ran.code, case["verdict"].as_str().expect("a verdict").to_owned(), requirement.to_owned())
}

fn a_campaign_finds_nothing_in_the_reference() {
    for protocol in ["agentic", "amp-core", "task-amp"] {
        let folder = tempfile::tempdir().expect("a folder");
        let words = ["fuzz", "--reference", "--protocol", protocol, "--inputs", "600", "--for", "120s", "--seed", "11"];
        let ran = proofmark(folder.path(), &words);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let campaign = campaign(folder.path());
        assert_eq!(campaign["inputs"], 600);
        assert_eq!(campaign["end"], "all inputs were sent");
        assert_eq!(campaign["findings"], serde_json::json!([]));
        // Every transport was fuzzed, and gave several kinds of answers.
        let answers: Vec<&String> = campaign["answers"].as_object().expect("answers").keys().collect();
        let transports: &[&str] = match protocol {
            "amp-core" => &["http", "ws", "tcp", "adapter"],
            _ => &["http", "adapter"],
        };
        for transport in transports {
            let over = format!("over {transport}: ");
            // A library of task-amp refuses in its result, not by a status.
            let kinds = if (protocol, *transport) == ("task-amp", "adapter") { 1 } else { 3 };
            assert!(
                answers.iter().filter(|answer| answer.contains(&over)).count() >= kinds,
                "{transport}: {answers:?}"
            );
        }
    }
}

/// The description of an edit, without a value that contains the time.
fn timeless(edit: &str) -> &str {
    let is_of_time = |c: char| c.is_ascii_digit() || "T:Z.-".contains(c);
    let has_time = edit.split(|c| !is_of_time(c)).any(|run| run.len() >= 10);
    let value = [" to ", " with "].into_iter().filter_map(|word| edit.find(word)).min();
    if has_time { &edit[..value.unwrap_or(edit.len())] } else { edit }
}

fn the_same_seed_makes_the_same_inputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = |seed: &str, jobs: &str| {
        let words =
            ["fuzz", "--reference", "--protocol", "agentic", "--transport", "http", "--inputs", "150", "--for", "120s"];
        let ran = proofmark(folder.path(), &[&words[..], &["--seed", seed, "--jobs", jobs, "--log", "log"]].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
        let mut lines: Vec<(u64, String)> = log
            .lines()
            .map(|line| {
                let line: Value = serde_json::from_str(line).expect("JSON");
                let edits =
                    line["edits"].as_array().expect("edits").iter().map(|edit| timeless(edit.as_str().expect("text")));
                (line["input"].as_u64().expect("a number"), format!("{} {:?}", line["seed"], edits.collect::<Vec<_>>()))
            })
            .collect();
        lines.sort();
        lines
    };
    let first = inputs("5", "16");
    assert_eq!(first.len(), 150);
    assert_eq!(first, inputs("5", "3"));
    assert_ne!(first, inputs("6", "16"));
}

fn the_case_of_a_finding_fails_for_the_same_requirement_and_passes_without_the_fault() {
    // The seeds find it within some thousand inputs.
    for (protocol, fault, requirement, seed) in [
        ("agentic", "actor-in-a-list", "AGENTIC-6.1-43", "5"),
        ("agentic", "json-nul-panics", "AGENTIC-8.1-03", "2"),
        ("amp-core", "verify-skipped", "AMP-8.2-06", "2"),
        ("task-amp", "payload-in-a-list-panics", "TASK-I-04", "2"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let target = ["--reference", "--fault", fault];
        let words =
            ["fuzz", "--protocol", protocol, "--findings", "1", "--for", "240s", "--seed", seed, "--transport", "http"];
        let ran = proofmark(folder.path(), &[&words[..], &target].concat());
        assert_eq!(ran.code, 1, "{fault}: {}{}", ran.out, ran.err);
        let campaign = campaign(folder.path());
        let finding = &campaign["findings"][0];
        let file = &files(folder.path())[0];
        if fault != "json-nul-panics" {
            assert_eq!(finding["requirement"], requirement, "{finding}");
        }
        assert_eq!(finding["confirmed"], true);
        let (code, verdict, broken) = checked(folder.path(), finding, file, &target);
        assert_eq!((code, verdict.as_str(), broken.as_str()), (1, "fail", member(finding, "requirement")), "{finding}");
        let (_, verdict, _) = checked(folder.path(), finding, file, &["--reference"]);
        assert_eq!(verdict, "pass", "{finding}");

        // A promoted case is part of the suites.
        let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
        copy(&suites, &folder.path().join("suites"));
        let file = file.display().to_string();
        let promote = ["promote", &file, "--suites", "suites", "--name", "found-by-fuzzing"];
        let ran = proofmark(folder.path(), &promote);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let kept = folder.path().join(format!("suites/{protocol}/regressions/found-by-fuzzing.yaml"));
        assert!(kept.is_file());
        let again = proofmark(folder.path(), &promote);
        assert!(again.code == 2 && again.err.contains("already exists"), "{}", again.err);
        let only = format!("{protocol}/found-by-fuzzing#*");
        let ran = proofmark(folder.path(), &["list", "--suites", "suites", "--protocol", protocol, "--only", &only]);
        assert!(ran.out.contains("found-by-fuzzing#"), "{}{}", ran.out, ran.err);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file");
        }
    }
}

/// The input that crashes the relay below: a text that no message of the suites has.
const DEADLY: &str = "DROP TABLE";

/// Whether the case of a finding contains it.
fn is_deadly(finding: &Value) -> bool {
    member(finding, "text").contains(DEADLY)
}

fn a_target_that_crashes_and_restarts_is_reported_and_its_case_crashes_it_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let relay = Relay::start(DEADLY, Some(Duration::from_millis(700)));
    let url = relay.url();
    let words = ["fuzz", &url, "--protocol", "agentic", "--for", "240s", "--seed", "4", "--findings", "1"];
    let ran = proofmark(folder.path(), &words);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let campaign = campaign(folder.path());
    let finding = &campaign["findings"][0];
    assert_eq!((&finding["kind"], &finding["confirmed"]), (&"survival".into(), &true.into()), "{finding}");
    assert!(is_deadly(finding), "{finding}");
    let before = relay.deaths();
    std::thread::sleep(Duration::from_secs(1));
    let (code, verdict, requirement) = checked(folder.path(), finding, &files(folder.path())[0], &[&url, "--new-ids"]);
    assert_eq!((code, verdict.as_str(), requirement.as_str()), (1, "fail", member(finding, "requirement")));
    assert!(relay.deaths() > before, "the case does not crash the target");
}

fn a_target_that_stays_down_ends_the_campaign_with_the_suspected_inputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let relay = Relay::start(DEADLY, None);
    let words = [
        "fuzz",
        &relay.url(),
        "--protocol",
        "agentic",
        "--for",
        "240s",
        "--seed",
        "4",
        "--patience",
        "1s",
        "--jobs",
        "1",
    ];
    let ran = proofmark(folder.path(), &words);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("stopped answering") && ran.out.contains("not confirmed"), "{}", ran.out);
    let campaign = campaign(folder.path());
    let findings = campaign["findings"].as_array().expect("findings");
    assert!(findings.iter().any(is_deadly), "{findings:?}");
}

fn no_finding_for_a_target_that_rejects_the_twin() {
    // It accepts valid messages until the first invalid one, and all invalid ones.
    let folder = tempfile::tempdir().expect("a folder");
    let stub = Stub::start(|good, broken| if good && broken > 2 { 400 } else { 201 });
    let words = [
        "fuzz",
        &stub.url(),
        "--protocol",
        "agentic",
        "--inputs",
        "1500",
        "--for",
        "120s",
        "--seed",
        "1",
        "--transport",
        "http",
    ];
    let ran = proofmark(folder.path(), &words);
    assert_ne!(ran.code, 1, "{}{}", ran.out, ran.err);
    let campaign = campaign(folder.path());
    assert_eq!(campaign["findings"], serde_json::json!([]));
    assert!(ran.out.contains("suspected findings not confirmed") && !ran.out.contains(", 0 suspected"), "{}", ran.out);
}

fn a_minimised_message_is_still_invalid() {
    // It accepts everything, so that the same answer remains with fewer and fewer edits, down to none. The reference,
    // which shares no code with the harness, refuses each message that is left.
    let folder = tempfile::tempdir().expect("a folder");
    let stub = Stub::start(|_, _| 201);
    let words = [
        "fuzz",
        &stub.url(),
        "--protocol",
        "agentic",
        "--inputs",
        "1500",
        "--for",
        "120s",
        "--seed",
        "9",
        "--transport",
        "http",
        "--findings",
        "8",
    ];
    let ran = proofmark(folder.path(), &words);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let campaign = campaign(folder.path());
    let findings = campaign["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 8, "{}", ran.out);
    for finding in findings.iter().take(6) {
        assert_eq!(finding["kind"], "refusal", "{finding}");
        assert!(!finding["edits"].as_array().expect("edits").is_empty());
        let name = member(finding, "case").split(['/', '#']).nth(1).expect("a suite");
        let file = folder.path().join(format!("reports/fuzz/{name}.yaml"));
        let (_, verdict, _) = checked(folder.path(), finding, &file, &["--reference"]);
        assert_eq!(verdict, "pass", "{finding}");
    }
}

fn a_campaign_resumes_where_it_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let fuzz = |words: &[&str]| {
        let common =
            ["fuzz", "--reference", "--protocol", "agentic", "--transport", "adapter", "--for", "120s", "--quiet"];
        proofmark(folder.path(), &[&common, words].concat())
    };
    assert_eq!(fuzz(&["--seed", "3", "--inputs", "130"]).code, 0);
    assert_eq!(fuzz(&["--resume", "--inputs", "70", "--log", "log"]).code, 0);
    let stored = campaign(folder.path());
    assert_eq!((&stored["seed"], &stored["next"], &stored["inputs"]), (&3.into(), &200.into(), &200.into()));
    let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
    let numbers =
        log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["input"].as_u64().expect("a number"));
    assert_eq!(numbers.min(), Some(130));
    let ran = fuzz(&["--resume", "--seed", "3"]);
    assert!(ran.code == 2 && ran.err.contains("--seed"), "{}", ran.err);
}

fn wrong_usage_is_reported_before_anything_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    for (words, message) in [
        (&["fuzz", "--reference"][..], "--protocol"),
        (&["fuzz", "--protocol", "agentic"], "no target given"),
        (&["fuzz", "--reference", "--protocol", "agentic", "--for", "soon"], "invalid duration `soon`"),
        (&["fuzz", "--reference", "--protocol", "agentic", "--transport", "tcp"], "agentic has no transport `tcp`"),
        (&["fuzz", "--reference", "--protocol", "agentic", "--resume"], "no campaign to resume"),
        (&["fuzz", "--reference", "--protocol", "agentic", "--rate", "0"], "--rate"),
        (&["promote", "nowhere.yaml", "--suites", "."], "cannot read nowhere.yaml"),
    ] {
        let ran = proofmark(folder.path(), words);
        assert!(ran.code == 2 && ran.err.contains(message), "{words:?}: {} {}", ran.code, ran.err);
    }
    let unused_address = unused_address();
    let ran = proofmark(
        folder.path(),
        &["fuzz", &format!("http://{unused_address}"), "--protocol", "agentic", "--for", "2s"],
    );
    assert!(ran.code == 3 && ran.out.contains("unreachable"), "{} {}{}", ran.code, ran.out, ran.err);
}

fn a_library_that_exits_at_a_message_is_found() {
    // No other transport: only the adapter itself can show whether it is still alive.
    let folder = tempfile::tempdir().expect("a folder");
    let program = env!("CARGO_BIN_EXE_proofmark");
    let adapter = format!("{program} adapter --protocol agentic --fault json-nul-panics");
    let words =
        ["fuzz", "--adapter", &adapter, "--protocol", "agentic", "--for", "240s", "--seed", "2", "--findings", "1"];
    let ran = proofmark(folder.path(), &words);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let campaign = campaign(folder.path());
    let finding = &campaign["findings"][0];
    assert_eq!((&finding["kind"], &finding["transport"]), (&"survival".into(), &"adapter".into()), "{finding}");
    let (code, verdict, requirement) =
        checked(folder.path(), finding, &files(folder.path())[0], &["--adapter", &adapter]);
    assert_eq!((code, verdict.as_str(), requirement.as_str()), (1, "fail", member(finding, "requirement")));
}
