//! A protocol is its folders and its rows: a toy protocol, added through them alone, is checked end to end.
//!
//! It uses features that the shipped protocols did not need when the engine was written: a peer that proofmark hosts,
//! roles, and levels that are not a chain.

#[path = "toy/protocol.rs"]
mod protocol;
#[path = "toy/reference.rs"]
mod reference;

use std::ffi::OsString;
use std::path::Path;

use proofmark::bundle::Bundle;
use proofmark::cli::{self, Program};
use proofmark_reference::Implementation;
use serde_json::Value;

/// Runs a command line of a program whose only protocol is the toy. Returns the exit code.
fn run(words: &[&str]) -> u8 {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/toy/suites");
    let program = Program {
        protocols: &[&protocol::Toy],
        implementations: &[&reference::Toy],
        data: Bundle::default().with_suites(&suites).expect("the suites of the toy"),
    };
    let words = ["proofmark"].iter().chain(words).map(OsString::from);
    cli::execute(words, &program)
}

/// Checks the toy's own implementation. Returns the exit code and the record.
fn check(words: &[&str]) -> (u8, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("a path");
    let words: Vec<&str> = ["check", "--reference", "--quiet", "--out", out].iter().chain(words).copied().collect();
    let code = run(&words);
    let record = std::fs::read(folder.path().join("report.json")).expect("a record");
    (code, serde_json::from_slice(&record).expect("JSON"))
}

/// Everything about the only protocol of a record.
fn toy(record: &Value) -> &Value {
    &record["protocols"][0]
}

/// The outcome of each level, in order.
fn levels(record: &Value) -> Vec<(&str, &str)> {
    let levels = toy(record)["levels"].as_array().expect("levels");
    levels.iter().map(|level| (text(&level["level"]), text(&level["outcome"]))).collect()
}

/// The requirements with a verdict.
fn with_verdict<'r>(record: &'r Value, verdict: &str) -> Vec<&'r str> {
    let requirements = toy(record)["requirements"].as_array().expect("requirements");
    requirements.iter().filter(|found| found["verdict"] == verdict).map(|found| text(&found["id"])).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[test]
fn a_clean_implementation_is_granted_levels_that_do_not_include_each_other() {
    let (code, record) = check(&["--level", "echo", "--level", "forwarding"]);
    assert_eq!(levels(&record), [("basic", "granted"), ("echo", "granted"), ("forwarding", "granted")], "{record:#}");
    assert_eq!(code, 0);
}

#[test]
fn each_planted_fault_breaks_its_requirement() {
    for fault in reference::Toy.faults() {
        let (code, record) = check(&["--fault", fault.name]);
        assert_eq!(code, 1, "{}", fault.name);
        let failed = with_verdict(&record, "fail");
        assert!(fault.breaks.iter().all(|id| failed.contains(id)), "{}: {failed:?}", fault.name);
    }
}

#[test]
fn a_fault_of_one_level_does_not_affect_a_sibling_level() {
    let (_, record) = check(&["--fault", "never-forwards"]);
    assert_eq!(levels(&record), [("basic", "granted"), ("echo", "granted"), ("forwarding", "refused")]);
}

#[test]
fn unclaimed_kinds_and_roles_are_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    for (claim, level, reason) in
        [("kind: answerer", "forwarding", "unobservable"), ("roles: [answerer]", "forwarding", "not-claimed")]
    {
        let file = folder.path().join("target.yaml");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let handle = runtime.block_on(reference::Toy.serve((&reference::Toy as &dyn Implementation).config()));
        let handle = handle.expect("a server");
        let url = handle.url("http").expect("an address");
        std::fs::write(&file, format!("protocol: toy\nurl: {url}\n{claim}\n")).expect("a target file");
        let out = folder.path().join("out");
        let words = ["check", "--quiet", "--target", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
        assert_eq!(run(&words), 0, "{claim}");
        let record = std::fs::read(out.join("report.json")).expect("a record");
        let record: Value = serde_json::from_slice(&record).expect("JSON");
        let requirements = toy(&record)["requirements"].as_array().expect("requirements");
        let of_level: Vec<_> = requirements.iter().filter(|found| found["level"] == level).collect();
        assert_eq!(of_level.len(), 3);
        for requirement in of_level {
            assert_eq!(requirement["verdict"], "not-run", "{claim}");
            assert_eq!(requirement["reason"], reason, "{claim}: {requirement}");
        }
    }
}

#[test]
fn trivial_targets_pass_no_case_and_no_case_is_vacuous() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run(&["prove", "--quiet", "--out", folder.path().to_str().expect("a path")]), 0);
    let proof = std::fs::read(folder.path().join("toy/proof.json")).expect("a proof");
    let proof: Value = serde_json::from_slice(&proof).expect("JSON");
    let floor = proof["floor"].as_array().expect("trivial targets");
    assert!(floor.len() > 5 && floor.iter().all(|row| row["passed"].as_array().is_none_or(Vec::is_empty)), "{floor:?}");
}
