//! Exploration as a user runs it: no false positives, findings that only sequences show, and the use of a finding.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        an_exploration_finds_nothing_in_the_reference,
        an_exploration_of_amp_core_finds_nothing_in_the_reference_and_finds_what_is_planted,
        faults_that_only_sequences_show_are_found_and_their_cases_fail_at_them_alone,
        each_case_of_a_run_decides_at_a_target_that_lacks_a_prerequisite_and_passes_at_another,
        races_are_found_and_their_cases_fail_at_them_alone,
        the_same_seed_makes_the_same_sequences,
        wrong_usage_is_reported_before_anything_is_sent,
        a_target_that_cannot_be_judged_is_undecided,
        what_an_exploration_of_a_check_finds_is_a_case_of_the_run,
        prove_tells_which_faults_exploration_finds_alone,
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

fn result(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("reports/explore/explore.json")).expect("a result");
    serde_json::from_str(&text).expect("JSON")
}

fn an_exploration_finds_nothing_in_the_reference() {
    for variant in ["own", "other"] {
        let folder = tempfile::tempdir().expect("a folder");
        let words = ["explore", "--reference", "--variant", variant, "--protocol", "agentic", "--sequences", "120"];
        let ran = proofmark(folder.path(), &[&words[..], &["--for", "120s", "--seed", "11"]].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let result = result(folder.path());
        assert_eq!(result["judged"], 120, "{}", result["undecided"]);
        assert_eq!(result["findings"], serde_json::json!([]));
        let transitions = result["transitions"].as_object().expect("transitions");
        let reached = transitions.values().filter(|times| times.as_u64() > Some(0)).count();
        assert!(reached * 10 >= transitions.len() * 9, "{reached} of {}: {transitions:?}", transitions.len());
    }
}

fn an_exploration_of_amp_core_finds_nothing_in_the_reference_and_finds_what_is_planted() {
    let words =
        ["explore", "--reference", "--protocol", "amp-core", "--sequences", "40", "--for", "120s", "--seed", "11"];
    let folder = tempfile::tempdir().expect("a folder");
    let ran = proofmark(folder.path(), &words);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let clean = result(folder.path());
    assert_eq!(clean["findings"], serde_json::json!([]));
    // A slow machine may leave some of them undecided.
    assert!(clean["judged"].as_u64() >= Some(36), "{}", clean["undecided"]);
    for fault in ["replay-key-id-only", "stream-duplicate-overwrites"] {
        let folder = tempfile::tempdir().expect("a folder");
        let words = ["explore", "--reference", "--fault", fault, "--protocol", "amp-core", "--findings", "1"];
        let ran = proofmark(folder.path(), &[&words[..], &["--for", "120s", "--seed", "5"]].concat());
        assert_eq!(ran.code, 1, "{fault}: {}{}", ran.out, ran.err);
    }
}

/// Runs the case of a finding with `check`, and gives the exit code, the verdict and the requirement of the first finding.
fn checked(folder: &Path, finding: &Value, target: &[&str]) -> (i32, String, String) {
    let case = finding["case"].as_str().expect("an id");
    let suite = case.split(['/', '#']).nth(1).expect("a suite");
    let file: PathBuf = folder.join("reports/explore").join(format!("{suite}.yaml"));
    let file = file.display().to_string();
    let mut words = vec!["check"];
    words.extend(target);
    words.extend(["--protocol", "agentic", "--cases", &file, "--only", case, "--quiet", "--out", "reports/check"]);
    let ran = proofmark(folder, &words);
    let record = std::fs::read_to_string(folder.join("reports/check/report.json"));
    let record: Value = serde_json::from_str(&record.unwrap_or_else(|_| panic!("{}", ran.err))).expect("JSON");
    let cases = record["protocols"][0]["cases"].as_array().expect("cases");
    let is_of_it = |found: &&Value| {
        let id = found["id"].as_str().unwrap_or_default();
        id == case || id.strip_prefix(case).is_some_and(|row| row.starts_with('['))
    };
    // Of several rows, the first that fails.
    let own = || cases.iter().filter(is_of_it);
    let case = own().find(|found| found["verdict"] == "fail").or_else(|| own().next());
    let case = case.unwrap_or_else(|| panic!("{finding} did not run: {}", ran.err));
    let requirement = case["findings"][0]["requirement"].as_str().unwrap_or_default();
    (ran.code, case["verdict"].as_str().expect("a verdict").to_owned(), requirement.to_owned())
}

fn faults_that_only_sequences_show_are_found_and_their_cases_fail_at_them_alone() {
    let faults = [
        "duplicate-overwrites",
        "store-then-validate",
        "supersede-ignores-predicate",
        "invalidate-rewrites-history",
        "pit-end-inclusive",
        "complete-guard-forgets-review",
    ];
    for fault in faults {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let words = ["explore", "--reference", "--fault", fault, "--protocol", "agentic", "--findings", "1"];
        let ran = proofmark(folder, &[&words[..], &["--for", "120s", "--seed", "2"]].concat());
        assert_eq!(ran.code, 1, "{fault}: {}{}", ran.out, ran.err);
        let finding = result(folder)["findings"][0].clone();
        let requirement = finding["requirement"].as_str().expect("a requirement");
        assert!(
            ran.out.contains(requirement) && ran.out.contains("  replay  proofmark check --reference"),
            "{}",
            ran.out
        );
        let steps = finding["steps"].as_array().expect("steps").len();
        assert!(steps <= 10, "{fault} is shown in {steps} lines: {}", finding["steps"]);
        let at_the_fault = checked(folder, &finding, &["--reference", "--fault", fault]);
        assert_eq!(at_the_fault, (1, "fail".to_owned(), requirement.to_owned()), "{fault}");
        let clean = checked(folder, &finding, &["--reference"]);
        assert_eq!((clean.0, clean.1.as_str()), (0, "pass"), "{fault}");
    }
}

fn each_case_of_a_run_decides_at_a_target_that_lacks_a_prerequisite_and_passes_at_another() {
    // At the first, facts have names on which most cases build; a case that is shortened too far for the second fails at any target.
    for fault in ["facts-with-store-names", "human-reviews-refused"] {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let words = ["explore", "--reference", "--fault", fault, "--protocol", "agentic", "--findings", "3"];
        let ran = proofmark(folder, &[&words[..], &["--for", "120s", "--seed", "5"]].concat());
        assert_eq!(ran.code, 1, "{fault}: {}{}", ran.out, ran.err);
        let result = result(folder);
        let findings = result["findings"].as_array().expect("findings");
        assert_eq!(findings.len(), 3, "{fault}: {}{}", ran.out, ran.err);
        for finding in findings {
            let at_the_fault = checked(folder, finding, &["--reference", "--fault", fault]);
            assert_eq!((at_the_fault.0, at_the_fault.1.as_str()), (1, "fail"), "{fault}: {finding}");
            let clean = checked(folder, finding, &["--reference"]);
            assert_eq!((clean.0, clean.1.as_str()), (0, "pass"), "{fault}: {finding}");
        }
    }
}

fn races_are_found_and_their_cases_fail_at_them_alone() {
    for (fault, requirements) in [
        ("supersede-race", ["AGENTIC-7.3-07"].as_slice()),
        ("duplicate-race", ["AGENTIC-11.2-06", "AGENTIC-11.2-07"].as_slice()),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let words = ["explore", "--reference", "--fault", fault, "--protocol", "agentic", "--findings", "1"];
        let ran = proofmark(folder, &[&words[..], &["--for", "120s", "--seed", "2"]].concat());
        assert_eq!(ran.code, 1, "{fault}: {}{}", ran.out, ran.err);
        let finding = result(folder)["findings"][0].clone();
        let requirement = finding["requirement"].as_str().expect("a requirement");
        assert!(requirements.contains(&requirement), "{fault}: {finding}");
        assert_eq!(finding["operation"], "requests-at-once", "{fault}: {finding}");
        // Its case has a row for each attempt.
        let at_the_fault = checked(folder, &finding, &["--reference", "--fault", fault]);
        assert_eq!(at_the_fault, (1, "fail".to_owned(), requirement.to_owned()), "{fault}");
        let clean = checked(folder, &finding, &["--reference"]);
        assert_eq!((clean.0, clean.1.as_str()), (0, "pass"), "{fault}");
    }
}

fn the_same_seed_makes_the_same_sequences() {
    let folder = tempfile::tempdir().expect("a folder");
    let sequences = |seed: &str, jobs: &str| {
        let words = ["explore", "--reference", "--protocol", "agentic", "--sequences", "40", "--for", "120s"];
        let ran = proofmark(folder.path(), &[&words[..], &["--seed", seed, "--jobs", jobs, "--log", "log"]].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
        let lines = log.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        lines
            .map(|line: Value| format!("{} {} {}", line["sequence"], line["transport"], line["steps"]))
            .collect::<Vec<_>>()
    };
    let first = sequences("5", "8");
    assert_eq!(first.len(), 40);
    assert_eq!(first, sequences("5", "3"));
    assert_ne!(first, sequences("6", "8"));
}

fn wrong_usage_is_reported_before_anything_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let table: &[(&[&str], &str)] = &[
        (&["--reference"], "explore needs exactly one protocol"),
        (&["--reference", "--protocol", "meshai"], "meshai has no model yet"),
        (&["--reference", "--protocol", "agentic", "--for", "soon"], "--for: invalid duration `soon`"),
        (&["--reference", "--protocol", "agentic", "--jobs", "0"], "must be at least 1"),
    ];
    for (words, message) in table {
        let ran = proofmark(folder.path(), &[&["explore"], *words].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.out);
        assert!(ran.err.contains(message), "{words:?}: {}", ran.err);
    }
}

fn a_target_that_cannot_be_judged_is_undecided() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}", crate::support::port::unused_address());
    let ran = proofmark(folder.path(), &["explore", &url, "--protocol", "agentic", "--for", "2s"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("0 findings"), "{}", ran.out);
}

/// A run with an exploration: its exit code, its output and its record.
fn checked_with_exploration(folder: &Path, fault: &[&str]) -> (i32, String, Value) {
    let words = ["check", "--reference", "--protocol", "agentic", "--only", "agentic/descriptor#*", "--seed", "2"];
    let more = ["--explore", "20s", "--out", "out"];
    let ran = proofmark(folder, &[&words[..], fault, &more].concat());
    let text = std::fs::read_to_string(folder.join("out/report.json")).unwrap_or_else(|_| panic!("{}", ran.err));
    (ran.code, ran.out, serde_json::from_str(&text).expect("JSON"))
}

fn what_an_exploration_of_a_check_finds_is_a_case_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (code, out, record) = checked_with_exploration(folder, &["--fault", "duplicate-overwrites"]);
    assert_eq!(code, 1, "{out}");
    let cases = record["protocols"][0]["cases"].as_array().expect("cases");
    let found = |case: &&Value| case["id"].as_str().is_some_and(|id| id.starts_with("agentic/explore-"));
    let found: Vec<&Value> = cases.iter().filter(found).collect();
    assert!(!found.is_empty() && found.iter().all(|case| case["verdict"] == "fail"), "{out}");
    assert!(cases.iter().all(|case| case["verdict"] != "fail" || found.contains(&case)), "{out}");
    let requirements = record["protocols"][0]["requirements"].as_array().expect("requirements");
    let failed = requirements.iter().filter(|requirement| requirement["verdict"] == "fail").count();
    assert!(failed > 0, "{out}");
    let replay = found[0]["replay"].as_str().expect("a command");
    assert!(replay.contains("--cases out/explore-"), "{replay}");
    let words: Vec<&str> = replay.split_whitespace().skip(1).map(|word| word.trim_matches('\'')).collect();
    assert_eq!(proofmark(folder, &words).code, 1, "{replay}");
    let page = std::fs::read_to_string(folder.join("out/report.html")).expect("a page");
    assert!(page.contains("Exploration: ") && page.contains("class=\"cells\""));
    // The files of an earlier run are not left behind.
    let (code, out, record) = checked_with_exploration(folder, &[]);
    assert_eq!(code, 0, "{out}");
    let exploration = &record["protocols"][0]["exploration"];
    assert!(exploration["judged"].as_u64() > Some(20), "{exploration}");
    let reached = exploration["transitions"].as_object().expect("transitions").values();
    // It knows of the target what the run has found out, although the run has few cases.
    assert!(reached.filter(|times| times.as_u64() > Some(0)).count() > 70, "{exploration}");
    let files = std::fs::read_dir(folder.join("out")).expect("a folder").flatten();
    assert!(files.into_iter().all(|file| !file.file_name().to_string_lossy().starts_with("explore-")));
}

fn prove_tells_which_faults_exploration_finds_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["prove", "--explore", "--protocol", "agentic", "--for", "20s", "--seed", "2"];
    // The second one shows in a body that is no JSON, which no sequence sends.
    let faults = ["--fault", "duplicate-overwrites", "--fault", "bad-json-500"];
    let ran = proofmark(folder.path(), &[&words[..], &faults].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("exploration alone finds 1 of 2 faults (50 %)"), "{}", ran.out);
    assert!(ran.out.contains("not found: bad-json-500"), "{}", ran.out);
    let text = std::fs::read_to_string(folder.path().join("reports/prove/agentic/explore.json")).expect("a result");
    let result: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(result["without_fault"], serde_json::json!([]));
    assert_eq!(result["faults"][0]["found"], true, "{result}");
}
