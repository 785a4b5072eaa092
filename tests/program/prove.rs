//! `prove` as a user runs it: it confirms a suite that detects all faults, and names the gaps of one that does not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        a_fault_is_killed_by_the_case_of_its_requirement,
        a_fault_that_few_of_many_cases_catch_is_killed,
        a_survivor_is_named_with_its_requirement_and_the_exit_code_is_1,
        a_vacuous_case_is_found_by_changed_answers,
        the_requirements_that_one_fault_fails_are_measured,
        a_defect_is_charged_to_the_requirements_that_are_about_it,
        an_unknown_fault_is_a_usage_error_with_the_nearest_name,
        a_report_has_a_known_format_and_is_of_one_protocol,
        a_level_that_is_met_but_not_claimed_is_informational_only,
        a_level_that_is_claimed_but_not_met_is_named,
    ]
}

/// A folder with a small part of the suites.
struct Suites {
    folder: tempfile::TempDir,
}

impl Suites {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/agentic");
        std::fs::create_dir(folder.path().join("agentic")).expect("made");
        for name in ["protocol.yaml", "requirements.yaml", "errata.md"] {
            std::fs::copy(own.join(name), folder.path().join("agentic").join(name)).expect("copied");
        }
        Self { folder }
    }

    fn with(self, cases: &str) -> Self {
        let path = self.folder.path().join("agentic/small.yaml");
        std::fs::write(path, format!("suite: agentic/small\nabout: A few cases.\ncases:\n{cases}")).expect("written");
        self
    }

    /// Proves the suites; returns the exit code, the output, and the proof.
    fn prove(&self, words: &[&str]) -> (i32, String, Value) {
        let out = self.folder.path().join("out");
        let vectors = self.folder.path().join("vectors");
        std::fs::create_dir_all(vectors.join("agentic")).expect("made");
        let output = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(["prove", "--protocol", "agentic", "--quiet", "--seed", "7", "--suites"])
            .arg(self.folder.path())
            .arg("--vectors")
            .arg(vectors)
            .arg("--out")
            .arg(&out)
            .args(words)
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let proof: PathBuf = out.join("agentic/proof.json");
        let json = std::fs::read(&proof).unwrap_or_else(|error| panic!("no {}: {error}\n{text}", proof.display()));
        (output.status.code().unwrap_or(-1), text, serde_json::from_slice(&json).expect("JSON"))
    }
}

const TAGS: &str = r#"
  - case: keeps-tags-as-they-were-sent
    covers: [AGENTIC-6.4-34]
    let:
      p: { base: min, set: { /tags: [b, a, b] } }
    steps:
      - send: deposit
        with: { package: "${p}" }
      - send: pull-specific
        with: { package_id: "${p/package_id}" }
        expect: [{ at: /package/tags, equals: [b, a, b] }]
"#;

/// It checks something that the fault does not affect.
const SHORT_TAGS: &str = r#"
  - case: keeps-one-tag
    covers: [AGENTIC-6.4-34]
    let:
      p: { base: min, set: { /tags: [a] } }
    steps:
      - send: deposit
        with: { package: "${p}" }
      - send: pull-specific
        with: { package_id: "${p/package_id}" }
        expect: [{ at: /package/tags, equals: [a] }]
"#;

const NOTHING: &str = r#"
  - case: answers
    covers: [AGENTIC-8.1-09]
    let:
      p: { base: min }
    steps:
      - send: deposit
        with: { package: "${p}" }
        expect: [{ at: /elapsed_ms, within: { min: 0 } }]
"#;

fn a_fault_is_killed_by_the_case_of_its_requirement() {
    let (_, text, proof) = Suites::new().with(TAGS).prove(&["--fault", "tags-sorted"]);
    assert_eq!(proof["faults"][0]["killed"], true, "{text}");
    let killers = &proof["faults"][0]["killers"];
    assert_eq!(killers["agentic/small#keeps-tags-as-they-were-sent"][0], "AGENTIC-6.4-34", "{killers}");
    assert!(text.contains("1 planted, 1 killed, 0 survive"), "{text}");
}

fn a_fault_that_few_of_many_cases_catch_is_killed() {
    let numbered = |n: usize| SHORT_TAGS.replace("keeps-one-tag", &format!("keeps-one-tag-{n}"));
    let others: String = (1..130).map(numbered).collect();
    // The second is not among those that run first.
    let (_, text, proof) =
        Suites::new().with(&format!("{SHORT_TAGS}{TAGS}{others}")).prove(&["--fault", "tags-sorted"]);
    let row = &proof["faults"][0];
    assert_eq!(row["killed"], true, "{text}");
    assert_eq!(row["ran"], 262, "each case ran, over HTTP and as a library: {text}");
    // Where those that run first are enough, the others do not run.
    let many: String = (1..130).map(|n| TAGS.replace("keeps-tags", &format!("keeps-{n}-tags"))).collect();
    let (_, text, proof) = Suites::new().with(&many).prove(&["--fault", "tags-sorted"]);
    let row = &proof["faults"][0];
    assert_eq!(row["killed"], true, "{text}");
    assert!(row["ran"].as_u64().is_some_and(|ran| ran <= 60), "{}", row["ran"]);
}

fn a_survivor_is_named_with_its_requirement_and_the_exit_code_is_1() {
    let (code, text, proof) = Suites::new().with(SHORT_TAGS).prove(&["--fault", "tags-sorted"]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(proof["faults"][0]["killed"], false);
    assert!(text.contains("tags-sorted (AGENTIC-6.4-34)"), "{text}");
    assert!(proof["problems"].to_string().contains("1 faults survive: tags-sorted"), "{}", proof["problems"]);
}

fn a_vacuous_case_is_found_by_changed_answers() {
    let suites = Suites::new().with(&format!("{TAGS}{NOTHING}"));
    // Without `--fault` everything runs: the floor, and the search for an edit that makes each case fail.
    let (code, text, proof) = suites.prove(&[]);
    assert_eq!(code, 1, "{text}");
    let idle: Vec<&str> = proof["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .filter(|case| case["kills"] == 0 && case["mutation"].is_null() && case["setting"] != "")
        .filter_map(|case| case["case"].as_str())
        .collect();
    assert_eq!(idle, ["agentic/small#answers", "agentic/small#answers@adapter"], "{text}");
    let tags = proof["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .find(|case| case["case"] == "agentic/small#keeps-tags-as-they-were-sent");
    assert!(tags.is_some_and(|case| case["kills"].as_u64() > Some(0)), "{tags:?}");
    // A target that stores no packages passes no case.
    for row in proof["floor"].as_array().expect("the floor") {
        assert_eq!(row["passed"].as_array().map(Vec::len), Some(0), "{row}");
    }
    let uncovered = proof["uncovered"].as_array().expect("a list");
    assert!(uncovered.iter().any(|id| id == "AGENTIC-6-05"), "demands without a case are named: {uncovered:?}");
}

/// It builds on tags, and charges whatever happens to them to another requirement.
const DECISIONS: &str = r#"
  - case: keeps-decisions-beside-tags
    covers: [AGENTIC-6.4-35]
    let:
      p: { base: min, set: { /tags: [b, a, b], /decisions_made: [b, a] } }
    steps:
      - send: deposit
        with: { package: "${p}" }
      - send: pull-specific
        with: { package_id: "${p/package_id}" }
        expect: [{ at: /package, same-package: "${p}" }]
"#;

fn the_requirements_that_one_fault_fails_are_measured() {
    let suites = Suites::new().with(&format!("{TAGS}{DECISIONS}"));
    let (_, text, proof) = suites.prove(&["--fault", "tags-sorted", "--all-cases"]);
    assert!(text.contains("1 of 1 faults against every case: median 2 requirements"), "{text}");
    assert!(text.contains("worst 2 (tags-sorted); 1 undeclared"), "{text}");
    assert!(text.contains("tags-sorted: AGENTIC-6.4-35"), "{text}");
    assert_eq!(proof["blame"]["worst"], 2, "{}", proof["blame"]);
    assert_eq!(proof["blame"]["undeclared"]["tags-sorted"][0], "AGENTIC-6.4-35", "{}", proof["blame"]);
    assert_eq!(proof["faults"][0]["blamed"].as_array().map(Vec::len), Some(2), "{}", proof["faults"][0]);
    // Without the case that builds on what it does not judge, the fault fails what it is declared to break.
    let (_, text, proof) = Suites::new().with(TAGS).prove(&["--fault", "tags-sorted", "--all-cases"]);
    assert!(text.contains("worst 1 (tags-sorted); 0 undeclared"), "{text}");
    assert_eq!(proof["blame"]["undeclared"].as_object().map(serde_json::Map::len), Some(0));
}

/// The first judges the form of facts; the second builds on it, and the third covers both.
const FACTS: &str = r#"
  - case: shows-times-as-text
    covers: [AGENTIC-7.1-12]
    steps: &steps
      - send: assert-fact
        with: { fact: { subject: "pm-${word}", predicate: status, value: one } }
      - send: orient
        expect: [{ at: /facts, each: [{ valid-fact: true }] }]
  - case: supersedes
    covers: [AGENTIC-7.3-05]
    steps: *steps
  - case: does-both
    covers: [AGENTIC-7.1-12, AGENTIC-8.6-10]
    steps: *steps
"#;

fn a_defect_is_charged_to_the_requirements_that_are_about_it() {
    let (_, text, proof) = Suites::new().with(FACTS).prove(&["--fault", "fact-times-as-numbers", "--all-cases"]);
    assert!(text.contains("worst 1 (fact-times-as-numbers); 0 undeclared"), "{text}");
    assert_eq!(proof["faults"][0]["blamed"].as_array().map(Vec::len), Some(1), "{}", proof["faults"][0]);
    assert_eq!(proof["faults"][0]["blamed"][0], "AGENTIC-7.1-12");
}

fn an_unknown_fault_is_a_usage_error_with_the_nearest_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["prove", "--protocol", "agentic", "--fault", "tag-sorted"])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean `tags-sorted`?"));
}

/// A reference server, until it is dropped.
struct Serving(std::process::Child, String);

impl Serving {
    fn start(words: &[&str]) -> Self {
        use std::io::{BufRead, BufReader};
        let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(["serve", "--protocol", "agentic", "--listen", "127.0.0.1:0"])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("output")).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().find(|word| word.starts_with("http")).expect("a URL").to_owned();
        Self(child, url)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Checks a server with the whole suite; returns the exit code, the terminal output and the record.
fn check(target: &Path, out: &Path) -> (i32, String, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--protocol", "agentic", "--seed", "7", "--target"])
        .arg(target)
        .arg("--out")
        .arg(out)
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let record = std::fs::read(out.join("report.json")).expect("a report");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().unwrap_or(-1), text, serde_json::from_slice(&record).expect("JSON"))
}

fn a_level_that_is_met_but_not_claimed_is_informational_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("target.yaml");
    // One violation of L3, which this target does not claim: only claimed levels count.
    for (words, met) in
        [(&[][..], [false, false, true, true]), (&["--fault", "draft-to-revision"], [false, false, true, false])]
    {
        let server = Serving::start(words);
        std::fs::write(&target, format!("protocol: agentic\nurl: {}\nlevel: L1\n", server.1)).expect("written");
        let (code, text, record) = check(&target, &folder.path().join("out"));
        assert_eq!(code, 0, "{text}");
        let levels = record["protocols"][0]["levels"].as_array().expect("levels");
        let seen: Vec<bool> = levels.iter().map(|level| level["met"] == true).collect();
        assert_eq!(seen, met, "{text}");
        let line = "L2  undecided  not claimed  met, though the target does not claim it";
        assert!(text.contains(line), "{text}");
        let again = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .arg("rejudge")
            .arg(folder.path().join("out/report.json"))
            .output()
            .expect("it runs");
        let again = String::from_utf8_lossy(&again.stdout).into_owned();
        assert!(again.contains(line) && again.contains("All verdicts are unchanged."), "{again}");
    }
}

fn a_level_that_is_claimed_but_not_met_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("target.yaml");
    let server = Serving::start(&["--fault", "draft-to-revision"]);
    std::fs::write(&target, format!("protocol: agentic\nurl: {}\n", server.1)).expect("written");
    let (code, text, _) = check(&target, &folder.path().join("out"));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("L2  granted    claimed"), "{text}");
    assert!(text.contains("L3  refused    claimed      not met:"), "{text}");
}

fn a_report_has_a_known_format_and_is_of_one_protocol() {
    for (words, says) in [
        (&["prove", "--protocol", "agentic", "--report", "pdf=x"][..], "one of html, json, markdown, csv"),
        (&["prove", "--protocol", "agentic", "--report", "html"], "expected FORMAT=PATH"),
        (&["prove", "--report", "html=x"], "name one with --protocol"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_proofmark")).args(words).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(says), "{words:?}: {text}");
    }
}
