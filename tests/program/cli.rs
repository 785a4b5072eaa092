//! The program as a user runs it: exit codes, messages about wrong files, reports, and trivial targets.

mod compare;
mod evidence;
mod ready;
mod servers;
mod strangers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::{CommandFactory, Parser};
use libtest_mimic::Trial;
use serde_json::Value;
use servers::{Server, Trivial};

use crate::support::port::unused_address;
use crate::support::reports::{self, whole_record};

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = crate::trials![
        an_unknown_key_is_reported_with_a_suggestion,
        an_unknown_operation_is_reported_with_a_suggestion,
        an_invalid_argument_of_a_matcher_is_reported_at_its_place,
        an_unknown_matcher_is_reported_with_a_suggestion,
        an_unknown_requirement_is_reported_with_a_suggestion,
        a_duplicate_case_id_is_shown_with_both_places,
        every_mistake_of_every_file_is_reported_at_once,
        a_suite_without_mistakes_is_linted_with_exit_0,
        wrong_usage_exits_with_2_and_a_hint,
        a_protocol_without_requirements_is_not_skipped,
        documents_that_an_operator_preloads_are_printed,
        a_read_only_target_with_the_fixture_is_granted_its_level,
        a_library_with_one_broken_group_has_its_other_answers_judged,
        a_mistake_in_a_target_file_is_shown_at_its_place,
        a_target_file_for_another_protocol_is_refused,
        init_writes_a_target_file_once,
        reports_that_cannot_be_written_are_refused_before_the_run,
        a_new_case_lints_with_the_others,
        a_watched_run_runs_again_when_a_file_has_changed,
        a_fixture_without_objects_is_refused_and_with_them_is_ndjson,
        every_schema_is_printed_as_json,
        the_help_of_every_command_has_an_example_that_can_be_typed_and_fits_80_columns,
        help_and_version_go_to_standard_output_with_exit_0,
        a_conformant_target_ends_with_exit_0_and_four_reports_and_is_judged_again_without_it,
        no_escape_codes_without_a_terminal,
        the_same_seed_sends_the_same_bytes,
        nothing_to_judge_ends_with_exit_3,
        old_reports_do_not_outlive_a_run_that_ends_early,
        cases_are_listed_without_contacting_the_target,
        no_secret_is_printed_or_stored,
        a_redirect_to_another_host_passes_nothing_and_is_not_followed,
        an_adapter_that_answers_empty_results_passes_nothing,
        an_adapter_that_answers_null_passes_nothing,
        an_adapter_that_refuses_everything_passes_nothing,
        an_adapter_that_refuses_every_parameter_passes_nothing,
        an_adapter_that_opens_stores_and_refuses_everything_else_passes_nothing,
        an_adapter_that_supports_nothing_passes_nothing,
        an_adapter_that_answers_without_ids_passes_nothing,
        an_adapter_that_repeats_the_call_passes_nothing,
        an_adapter_that_ends_at_once_passes_nothing,
        an_adapter_that_never_answers_passes_nothing,
        a_missing_adapter_passes_nothing,
        a_silent_server_passes_nothing,
        a_closing_server_passes_nothing,
        a_server_that_answers_an_empty_object_passes_nothing,
        a_server_that_answers_an_empty_list_passes_nothing,
        a_server_that_answers_null_passes_nothing,
        a_server_that_answers_nothing_with_200_passes_nothing,
        a_server_that_creates_everything_passes_nothing,
        a_server_that_refuses_everything_passes_nothing,
        a_server_that_finds_nothing_passes_nothing,
        a_server_that_fails_passes_nothing,
        a_server_that_implements_nothing_passes_nothing,
        a_server_that_repeats_the_request_passes_nothing,
        a_server_that_does_not_speak_http_passes_nothing,
        a_server_with_a_body_without_end_passes_nothing,
        a_server_that_redirects_to_itself_passes_nothing,
        a_server_that_answers_with_a_package_of_its_own_passes_nothing,
    ];
    all.extend(compare::trials());
    all.extend(evidence::trials());
    all.extend(ready::trials());
    all.extend(strangers::trials());
    all
}

/// The result of a run of the program.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
    took: Duration,
}

/// A temporary folder for one test, in which the program runs.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }

    /// A record with its exchanges.
    fn whole(&self, name: &str) -> Value {
        serde_json::from_str(&whole_record(&self.path(name))).expect("JSON")
    }

    /// Runs the program; a run that takes longer than five minutes is a failure.
    fn run(&self, words: &[&str]) -> Ran {
        let out = self.path("stdout");
        let err = self.path("stderr");
        let file = |path: &Path| Stdio::from(std::fs::File::create(path).expect("a file"));
        let begun = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(words)
            .current_dir(self.0.path())
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .stdout(file(&out))
            .stderr(file(&err))
            .spawn()
            .expect("the program");
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if begun.elapsed() > Duration::from_secs(300) {
                child.kill().ok();
                panic!("{words:?} did not end");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let took = begun.elapsed();
        let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
        Ran { code: status.code().expect("an exit code"), out: text(&out), err: text(&err), took }
    }

    /// Runs the program and expects this exit code.
    #[track_caller]
    fn ends(&self, code: i32, words: &[&str]) -> Ran {
        let ran = self.run(words);
        assert_eq!(ran.code, code, "{words:?}: {ran:#?}");
        ran
    }

    /// A folder `suites` with the catalogue and manifest of agentic and one suite.
    fn suites(&self, suite: &str) {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/agentic");
        for name in ["requirements.yaml", "protocol.yaml", "errata.md"] {
            self.write(
                &format!("suites/agentic/{name}"),
                &std::fs::read_to_string(shipped.join(name)).expect("a file"),
            );
        }
        self.write("suites/agentic/own.yaml", suite);
    }
}

const SUITE: &str = "suite: agentic/own
about: One case.
cases:
  - case: returns-what-was-deposited
    covers: [AGENTIC-8.1-09]
    let: { p: { base: min } }
    steps:
      - send: deposit
        with: { package: \"${p}\" }
        expect:
          - { at: /status, one-of: [200, 201] }
          - { at: /package, same-package: \"${p}\" }
";

// Mistakes: exit 2, with the place, the mistake and a hint.

/// A mistake in a suite is shown at this place, with an excerpt, a caret under it and these words.
#[track_caller]
fn mistake(change: (&str, &str), place: &str, words: &[&str]) {
    let here = Place::new();
    assert!(SUITE.contains(change.0), "{change:?}");
    here.suites(&SUITE.replacen(change.0, change.1, 1));
    let ran = here.ends(2, &["lint", "--suites", "suites"]);
    let at = format!("suites/agentic/own.yaml:{place}");
    assert!(ran.err.contains(&at), "{at}: {}", ran.err);
    let line: usize = place.split(':').next().and_then(|line| line.parse().ok()).expect("a line");
    let written = SUITE.replacen(change.0, change.1, 1);
    let excerpt = written.lines().nth(line - 1).expect("a line").trim();
    assert!(ran.err.contains(excerpt), "no excerpt {excerpt:?}: {}", ran.err);
    assert!(ran.err.lines().any(|line| line.contains('^')), "no caret: {}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{word:?}: {}", ran.err);
    }
}

fn an_unknown_key_is_reported_with_a_suggestion() {
    mistake(("covers:", "cover:"), "5:5", &["a case has no key `cover`", "did you mean `covers`?"]);
}

fn an_unknown_operation_is_reported_with_a_suggestion() {
    mistake(("send: deposit", "send: desposit"), "8:15", &["no operation named `desposit`", "did you mean `deposit`?"]);
}

fn an_invalid_argument_of_a_matcher_is_reported_at_its_place() {
    mistake(("one-of: [200, 201]", "one-of: 200"), "11:36", &["the argument of `one-of`"]);
}

fn an_unknown_matcher_is_reported_with_a_suggestion() {
    mistake(("one-of:", "oneof:"), "11:28", &["no matcher named `oneof`", "did you mean `one-of`?"]);
}

fn an_unknown_requirement_is_reported_with_a_suggestion() {
    mistake(
        ("AGENTIC-8.1-09", "AGENTIC-8.1-99"),
        "5:14",
        &["no requirement has the id AGENTIC-8.1-99", "did you mean"],
    );
}

fn a_duplicate_case_id_is_shown_with_both_places() {
    let twice = format!("{SUITE}{}", SUITE.split_once("cases:\n").expect("cases").1);
    let here = Place::new();
    here.suites(&twice);
    let ran = here.ends(2, &["lint", "--suites", "suites"]);
    assert!(ran.err.contains("own.yaml:13:11"), "{}", ran.err);
    assert!(ran.err.contains("is used twice; first at suites/agentic/own.yaml:4:11"), "{}", ran.err);
}

fn every_mistake_of_every_file_is_reported_at_once() {
    let here = Place::new();
    here.suites(&SUITE.replace("covers:", "cover:").replace("send:", "sned:").replace("at: /package", "att: /package"));
    here.write(
        "suites/agentic/second.yaml",
        &SUITE.replace("agentic/own", "agentic/second").replace("about:", "abuot:"),
    );
    let ran = here.ends(2, &["lint", "--suites", "suites"]);
    for what in ["`cover`", "`sned`", "own.yaml:12:", "`abuot`"] {
        assert!(ran.err.contains(what), "{what}: {}", ran.err);
    }
    assert!(ran.err.contains("mistakes in data files"), "{}", ran.err);
}

fn a_suite_without_mistakes_is_linted_with_exit_0() {
    let here = Place::new();
    here.suites(SUITE);
    here.ends(0, &["lint", "--suites", "suites"]);
    here.ends(0, &["lint"]);
}

/// Wrong usage: exit 2, these words on standard error, nothing on standard output.
#[track_caller]
fn refused(here: &Place, words: &[&str], says: &[&str]) {
    let ran = here.ends(2, words);
    for word in says {
        assert!(ran.err.contains(word), "{words:?}: {word:?}: {}", ran.err);
    }
    assert_eq!(ran.out, "", "{words:?}");
}

fn wrong_usage_exits_with_2_and_a_hint() {
    let here = Place::new();
    std::fs::create_dir(here.path("empty")).expect("a folder");
    here.write("record.json", "{}");
    let check = |words: &[&'static str]| [&["check", "http://127.0.0.1:1", "--protocol", "agentic"], words].concat();
    refused(&here, &["lint", "--suites", "empty"], &["empty contains no suite"]);
    refused(&here, &check(&["--suites", "empty"]), &["empty contains no suite"]);
    refused(&here, &check(&["--suites", "nowhere"]), &["cannot read nowhere"]);
    refused(&here, &check(&["--level", "L9"]), &["no level `L9`", "one of L0, L1, L2, L3"]);
    refused(
        &here,
        &["check", "http://127.0.0.1:1", "--protocol", "agentik"],
        &["no protocol `agentik`", "did you mean `agentic`?"],
    );
    refused(&here, &check(&["--report", "html5=x.html"]), &["no report format `html5`", "did you mean `html`?"]);
    refused(&here, &check(&["--report", "html"]), &["expected FORMAT=PATH"]);
    refused(&here, &check(&["--requirement", "AGENTIC-8.1-99"]), &["no requirement has the id", "did you mean"]);
    refused(&here, &check(&["--timeout", "soon"]), &["invalid duration `soon`", "500ms"]);
    refused(&here, &check(&["--jobs", "0"]), &["--jobs must be at least 1"]);
    refused(&here, &check(&["--shard", "3/2"]), &["3/2"]);
    refused(
        &here,
        &["check", "--reference", "--protocol", "agentic", "--fault", "title-limit-25"],
        &["no fault `title-limit-25`", "did you mean `title-limit-255`?"],
    );
    refused(&here, &["check", "ftp://127.0.0.1", "--protocol", "agentic"], &["needs http or https", "such as http://"]);
    refused(&here, &["check", "not a url", "--protocol", "agentic"], &["invalid URL"]);
    refused(&here, &["check", "--target", "nowhere.yaml"], &["cannot read nowhere.yaml"]);
    refused(&here, &["check", "http://127.0.0.1:1", "--reference"], &["cannot be used with"]);
    refused(&here, &["check", "http://127.0.0.1:1", "--adapter", "cat"], &["cannot be used with"]);
    refused(&here, &["check", "--protocol", "agentic"], &["no target given", "--target FILE"]);
    refused(&here, &["chekc"], &["unrecognized subcommand"]);
    refused(&here, &["rejudge", "nowhere.json"], &["cannot read nowhere.json"]);
    refused(&here, &["rejudge", "record.json"], &["record.json"]);
    refused(&here, &["explain", "AGENTIC-8.1-99"], &["no requirement or case has the id", "did you mean"]);
    refused(&here, &["new", "case"], &["no requirement given", "--requirement ID"]);
    refused(&here, &["new", "case", "--requirement", "AGENTIC-3-01"], &["cannot be tested"]);
    refused(&here, &["new", "fixture", "--at", "yesterday"], &["invalid timestamp `yesterday`"]);
    refused(&here, &["init", "--url", "localhost"], &["invalid URL", "such as http://"]);
}

fn a_protocol_without_requirements_is_not_skipped() {
    let here = Place::new();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
    for (slug, files) in [
        ("agentic", &["protocol.yaml", "transfer.yaml"][..]),
        ("amp-core", &["protocol.yaml", "requirements.yaml", "errata.md"]),
    ] {
        std::fs::create_dir_all(here.path("suites").join(slug)).expect("a folder");
        for file in files {
            std::fs::copy(shipped.join(slug).join(file), here.path("suites").join(slug).join(file)).expect("a copy");
        }
    }
    for words in [&["lint"][..], &["coverage"], &["list"], &["check", "--reference"]] {
        let words = [words, &["--suites", "suites"]].concat();
        refused(&here, &words, &["suites/agentic/protocol.yaml", "there is no suites/agentic/requirements.yaml"]);
    }
    here.ends(0, &["lint", "--suites", "suites", "--protocol", "amp-core"]);
}

fn documents_that_an_operator_preloads_are_printed() {
    let printed = Place::new().ends(0, &["new", "fixture", "--protocol", "amp-core"]).out;
    let documents: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids: Vec<&str> = documents.iter().filter_map(|document| document["id"].as_str()).collect();
    assert_eq!(ids.len(), 12, "{ids:?}");
    assert!(ids.iter().all(|id| id.starts_with("did:web:fixtures.proofmark.test:")), "{ids:?}");
}

fn a_read_only_target_with_the_fixture_is_granted_its_level() {
    let here = Place::new();
    let words = ["check", "--reference", "--setup", "read-only", "--protocol", "agentic", "--level", "L0"];
    let ran = here.run(&[&words[..], &["--seed", "7", "--out", "out"]].concat());
    let record: Value = serde_json::from_str(&here.read("out/report.json")).expect("JSON");
    let level = &record["protocols"][0]["levels"][0];
    assert_eq!((&level["level"], &level["outcome"]), (&"L0".into(), &"granted".into()), "{level:#}");
    assert_eq!(ran.code, 0, "{}", ran.out);
}

fn a_library_with_one_broken_group_has_its_other_answers_judged() {
    let here = Place::new();
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/cli/one_function.py");
    let adapter = format!("python3 {}", library.display());
    let words = ["check", "--adapter", &adapter, "--protocol", "amp-core", "--seed", "7", "--out", "out", "--quiet"];
    let only = ["--only", "amp-core/encoding#*", "--only", "amp-core/retries#*"];
    here.run(&[&words[..], &only].concat());
    let record: Value = serde_json::from_str(&here.read("out/report.json")).expect("JSON");
    let passed = passing(&record);
    assert!(passed.iter().any(|case| case.contains("amp-core/encoding#")), "{passed:?}");
    let floor = |case: &Value| case["because"].as_str().is_some_and(|why| why.contains("baseline check"));
    let cases = record["protocols"][0]["cases"].as_array().expect("cases");
    let open: Vec<&Value> = cases.iter().filter(|case| floor(case)).map(|case| &case["id"]).collect();
    assert!(open.is_empty(), "{open:?}");
}

fn a_mistake_in_a_target_file_is_shown_at_its_place() {
    let here = Place::new();
    here.write("target.yaml", "protocol: agentic\nurl: http://127.0.0.1:1\nlevle: L1\nlimits: { request: soon }\n");
    let ran = here.ends(2, &["check", "--target", "target.yaml"]);
    for what in [
        "target.yaml:3:1",
        "no key `levle`",
        "did you mean `level`?",
        "target.yaml:4:20",
        "invalid duration `soon`",
        "^",
    ] {
        assert!(ran.err.contains(what), "{what}: {}", ran.err);
    }
}

fn a_target_file_for_another_protocol_is_refused() {
    let here = Place::new();
    here.write("target.yaml", "protocol: agentik\nurl: http://127.0.0.1:1\n");
    refused(&here, &["check", "--target", "target.yaml"], &["agentik"]);
}

// Templates.

fn init_writes_a_target_file_once() {
    let here = Place::new();
    let printed = here.ends(0, &["init", "--url", "http://127.0.0.1:9"]).out;
    here.ends(0, &["init", "--url", "http://127.0.0.1:9", "--out", "target.yaml"]);
    assert_eq!(here.read("target.yaml"), printed);
    refused(&here, &["init", "--out", "target.yaml"], &["cannot write target.yaml", "the file is unchanged"]);
    assert_eq!(here.read("target.yaml"), printed);
    let ran = here.ends(0, &["check", "--target", "target.yaml", "--list", "--only", "agentic/deposit#*"]);
    assert!(ran.out.lines().count() > 0, "{ran:?}");
}

fn reports_that_cannot_be_written_are_refused_before_the_run() {
    let here = Place::new();
    here.write("taken", "");
    let server = Server::start(Trivial::Always(200, "{}"));
    let words = ["check", &server.url(), "--protocol", "agentic", "--out", "taken/reports"];
    refused(&here, &words, &["cannot write taken/reports/report.json", "directory"]);
    assert_eq!(server.connections.load(Ordering::Relaxed), 0, "the target was contacted");
}

fn a_new_case_lints_with_the_others() {
    let here = Place::new();
    let case = here.ends(0, &["new", "case", "--requirement", "AGENTIC-8.1-09"]).out;
    assert!(case.contains("# AGENTIC-8.1-09"), "{case}");
    here.suites(SUITE);
    here.write("suites/agentic/new.yaml", &case);
    here.ends(0, &["lint", "--suites", "suites"]);
    here.write(
        "suites/agentic/new.yaml",
        &case.replace("fill-in", "filled").replace("filled-a-sentence-about-the-target", "answers"),
    );
    here.ends(0, &["lint", "--suites", "suites"]);
}

fn a_watched_run_runs_again_when_a_file_has_changed() {
    let here = Place::new();
    refused(&here, &["check", "--reference", "--watch"], &["no file that could change", "--suites"]);
    here.suites(SUITE);
    let log = here.path("log");
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args([
            "check",
            "--reference",
            "--protocol",
            "agentic",
            "--suites",
            "suites",
            "--only",
            "agentic/own*",
            "--watch",
        ])
        .current_dir(here.0.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).expect("a file"))
        .spawn()
        .expect("the program");
    let waits_for = |word: &str| {
        let begun = Instant::now();
        while !std::fs::read_to_string(&log).unwrap_or_default().contains(word) {
            assert!(begun.elapsed() < Duration::from_secs(120), "{word:?}: {}", here.read("log"));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    waits_for("exit code 0; watching 4 files");
    here.write("suites/agentic/own.yaml", &SUITE.replace("one-of: [200, 201]", "one-of: [418]"));
    waits_for("own.yaml changed");
    waits_for("exit code 1; watching 4 files");
    child.kill().expect("it still runs");
    child.wait().expect("a child");
}

fn a_fixture_without_objects_is_refused_and_with_them_is_ndjson() {
    let here = Place::new();
    here.suites(SUITE);
    let manifest = here.read("suites/agentic/protocol.yaml");
    let without: String = manifest.split_inclusive('\n').filter(|line| !line.starts_with("  fixture_")).collect();
    let without = if manifest.contains("\n  fixture_") { None } else { Some(without) };
    if let Some(without) = without {
        here.write("suites/agentic/protocol.yaml", &without);
        refused(&here, &["new", "fixture", "--suites", "suites"], &["`agentic` has no fixture"]);
        let with = without.replace("\nobjects:\n", "\nobjects:\n  fixture_1: { at: '${time}' }\n");
        here.write("suites/agentic/protocol.yaml", &with);
    }
    let at = ["new", "fixture", "--suites", "suites", "--at", "2026-01-02T03:04:05Z"];
    let first = here.ends(0, &at).out;
    assert!(
        first.lines().all(|line| serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object())),
        "{first}"
    );
    assert!(!first.is_empty());
    assert_eq!(here.ends(0, &at).out, first);
}

fn every_schema_is_printed_as_json() {
    let here = Place::new();
    for kind in ["suite", "manifest", "requirements", "vectors", "target", "baseline", "record"] {
        let printed = here.ends(0, &["schema", kind]).out;
        let schema: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{kind}");
        assert!(schema["title"].is_string(), "{kind}");
    }
}

// Help.

fn commands(command: &clap::Command, way: &[String], visit: &mut dyn FnMut(&clap::Command, &[String])) {
    visit(command, way);
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        commands(inner, &[way, &[inner.get_name().to_owned()]].concat(), visit);
    }
}

fn the_help_of_every_command_has_an_example_that_can_be_typed_and_fits_80_columns() {
    let mut root = proofmark::cli::Arguments::command();
    root.build();
    commands(&root, &[], &mut |command, way| {
        let help = command.clone().term_width(80).render_long_help().to_string();
        assert!(help.contains("\nExample"), "{way:?} has no example");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{way:?}: {line}");
        }
        let examples: Vec<_> = help.lines().filter(|line| line.starts_with("  proofmark ")).collect();
        assert!(!examples.is_empty(), "{way:?}");
        for example in examples {
            let words = words(example);
            if let Err(error) = proofmark::cli::Arguments::try_parse_from(&words) {
                panic!("{example}: {error}");
            }
            assert!(
                way.is_empty() || words.contains(&way[0]) || words.iter().any(|word| word.contains(&way[0])),
                "{example}"
            );
        }
    });
}

/// The words of a command line as a shell reads it, up to where its output goes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '\'' => quoted = !quoted,
            '>' if !quoted => break,
            ' ' if !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn help_and_version_go_to_standard_output_with_exit_0() {
    let here = Place::new();
    assert!(here.ends(0, &["--help"]).out.contains("Exit codes"));
    assert!(here.ends(0, &["--version"]).out.starts_with("proofmark "));
}

// Runs.

const STANDARD: [&str; 4] = ["report.json", "report.html", "junit.xml", "summary.md"];

fn a_conformant_target_ends_with_exit_0_and_four_reports_and_is_judged_again_without_it() {
    let here = Place::new();
    let ran = here
        .ends(0, &["check", "--reference", "--protocol", "agentic", "--only", "agentic/vectors/*", "--out", "first"]);
    for name in STANDARD {
        assert!(!here.read(&format!("first/{name}")).is_empty(), "{name}");
        assert!(ran.out.contains(name), "{name}: {}", ran.out);
    }
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains('\u{1b}'), "an escape code in a pipe: {text:?}");
    }
    let record = here.whole("first/report.json");
    assert!(record["summary"]["cases"]["pass"].as_u64().is_some_and(|count| count > 100), "{}", record["summary"]);

    let again = here.ends(0, &["rejudge", "first/report.json", "--out", "second"]);
    assert!(again.out.contains("All verdicts are unchanged."), "{}", again.out);
    let second = here.whole("second/report.json");
    for (before, after) in
        record["protocols"].as_array().into_iter().flatten().zip(second["protocols"].as_array().into_iter().flatten())
    {
        for section in ["cases", "requirements", "levels", "features"] {
            let text = |value: &Value| serde_json::to_string_pretty(value).expect("JSON");
            for (old, new) in
                before[section].as_array().into_iter().flatten().zip(after[section].as_array().into_iter().flatten())
            {
                assert_eq!(text(old), text(new), "{section}");
            }
            assert_eq!(before[section].as_array().map(Vec::len), after[section].as_array().map(Vec::len), "{section}");
        }
    }

    let drawn = here.ends(0, &["report", "first/report.json"]);
    assert!(drawn.out.contains("conformant"), "{}", drawn.out);
    here.ends(
        0,
        &["report", "first/report.json", "--report", "html=site/index.html", "--report", "junit=site/junit.xml"],
    );
    assert_eq!(here.read("site/index.html"), here.read("first/report.html"));
    assert_eq!(here.read("site/junit.xml"), here.read("first/junit.xml"));

    let schema = proofmark::schema::record();
    let validator = jsonschema::draft202012::new(schema.as_value()).expect("a schema");
    for record in [record, here.json("first/report.json")] {
        let wrong: Vec<_> =
            validator.iter_errors(&record).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

fn no_escape_codes_without_a_terminal() {
    let here = Place::new();
    let out = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["lint", "--suites", "nowhere"])
        .current_dir(here.0.path())
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("the program");
    assert!(!String::from_utf8_lossy(&out.stderr).contains('\u{1b}'));
}

fn the_same_seed_sends_the_same_bytes() {
    let here = Place::new();
    let sent = |out: &str| {
        let ran = here.run(&[
            "check",
            "--reference",
            "--protocol",
            "agentic",
            "--seed",
            "7",
            "--jobs",
            "4",
            "--out",
            out,
            "--quiet",
        ]);
        assert!(matches!(ran.code, 0 | 1 | 3), "{ran:?}");
        let time = regex::Regex::new(r"\d{4}-\d{2}-\d{2}(T|%3A|:|\d|\.|Z|%2B|[+-]\d{2}:\d{2})*").expect("a pattern");
        // A digest over a time stamp varies with it.
        let digest = regex::Regex::new(r"[0-9a-f]{64}").expect("a pattern");
        let port = regex::Regex::new(r"http://127\.0\.0\.1:\d+").expect("a pattern");
        // A target assigns the ids of facts, and its export is sent back to it.
        let fact = regex::Regex::new(r"fact_[0-9a-f]{32}").expect("a pattern");
        let mut sent = BTreeMap::new();
        let record = here.whole(&format!("{out}/report.json"));
        for case in record["protocols"][0]["cases"].as_array().into_iter().flatten() {
            let mut seen = BTreeSet::new();
            for part in ["exchanges", "twin"] {
                let list: Vec<String> = case[part]
                    .as_array()
                    .into_iter()
                    .flatten()
                    // The number of polls of a waiting step depends on timing.
                    .filter(|exchange| seen.insert((part, exchange["step"].to_string(), exchange["round"].to_string())))
                    .map(|exchange| {
                        let mut bytes = exchange["sent"].clone();
                        if bytes["transport"] == "adapter" {
                            number(&mut bytes);
                        }
                        if let Some(hex) = bytes["body"]["hex"].as_str() {
                            let body = data_encoding::HEXLOWER.decode(hex.as_bytes()).expect("hex");
                            bytes["body"] = String::from_utf8_lossy(&body).into();
                        }
                        let text = bytes.to_string();
                        let text = digest.replace_all(&text, "DIGEST");
                        let text = fact.replace_all(&text, "FACT");
                        port.replace_all(&time.replace_all(&text, "TIME"), "TARGET").into_owned()
                    })
                    .collect();
                sent.insert(format!("{} {part}", case["id"]), list);
            }
        }
        sent
    };
    let (first, second) = (sent("first"), sent("second"));
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    assert!(first.values().map(Vec::len).sum::<usize>() > 200);
    let different: Vec<_> =
        first.iter().filter(|(id, sent)| second[*id] != **sent).map(|(id, sent)| (id, sent, &second[id])).collect();
    assert!(different.is_empty(), "{} differ, first {:#?}", different.len(), different.first());
}

/// Removes the numbers of calls to an adapter and of the stores that it opens, which depend on the order of the calls. Bytes
/// in hex are shown as text, so that times in them are found.
fn number(sent: &mut Value) {
    let Some(text) = sent["body"]["text"].as_str() else { return };
    let mut call: Value = serde_json::from_str(text).expect("a call is JSON");
    call["id"] = Value::Null;
    for (name, value) in call["params"].as_object_mut().into_iter().flatten() {
        let hex = value.as_str().filter(|_| name.ends_with("_hex"));
        let bytes = hex.and_then(|hex| data_encoding::HEXLOWER.decode(hex.as_bytes()).ok());
        if let Some(bytes) = bytes {
            *value = Value::String(String::from_utf8_lossy(&bytes).into_owned());
        }
        if name == "store" {
            *value = Value::Null;
        }
    }
    sent["body"]["text"] = Value::String(call.to_string());
}

fn nothing_to_judge_ends_with_exit_3() {
    let here = Place::new();
    let only = ["check", "--reference", "--protocol", "agentic", "--only", "agentic/nothing#*"];
    let ran = here.ends(3, &only);
    assert!(ran.err.contains("no case matches"), "{}", ran.err);
    // The name of a suite, and a part of an id.
    for (only, hint) in [("deposit", "`agentic/deposit#*`"), ("stored-package", "`*stored-package*`")] {
        let ran = here.ends(3, &["check", "--reference", "--protocol", "agentic", "--only", only]);
        assert!(ran.err.contains(&format!("did you mean {hint}?")), "{}", ran.err);
    }
    let url = format!("http://{}", unused_address());
    let ran = here.ends(3, &["check", &url, "--protocol", "agentic", "--out", "out"]);
    assert!(ran.out.contains("unreachable"), "{ran:?}");
    assert_eq!(here.json("out/report.json")["summary"]["exit_code"], 3);
}

fn old_reports_do_not_outlive_a_run_that_ends_early() {
    let here = Place::new();
    let url = format!("http://{}", unused_address());
    for (code, words) in [
        (2, vec!["check", "--reference", "--protocol", "agentic", "--suites", "nowhere"]),
        (2, vec!["check", "--reference", "--protocol", "agentic", "--level", "L9"]),
        (2, vec!["check", "--reference", "--protocol", "agentic", "--fault", "none"]),
        (2, vec!["check", "--target", "nowhere.yaml"]),
        (2, vec!["check", "--reference", "--report", "nothing=x"]),
        (3, vec!["check", "--reference", "--protocol", "agentic", "--only", "agentic/nothing#*"]),
        (3, vec!["check", &url, "--protocol", "agentic"]),
    ] {
        for name in STANDARD {
            here.write(&format!("out/{name}"), "old");
        }
        here.write("own.xml", "old");
        here.write("out/other.txt", "kept");
        let mut words = words;
        words.extend(["--out", "out", "--report", "junit=own.xml"]);
        here.ends(code, &words);
        for name in ["out/report.json", "out/report.html", "out/junit.xml", "out/summary.md", "own.xml"] {
            let left = std::fs::read_to_string(here.path(name)).unwrap_or_default();
            assert_ne!(left, "old", "{words:?}: {name}");
        }
        assert_eq!(here.read("out/other.txt"), "kept");
    }
}

fn cases_are_listed_without_contacting_the_target() {
    let here = Place::new();
    here.write("out/report.json", "old");
    let server = Server::start(Trivial::Closing);
    let ran = here.ends(0, &["check", &server.url(), "--protocol", "agentic", "--list", "--out", "out"]);
    assert!(ran.out.lines().all(|line| line.starts_with("agentic/")), "{}", ran.out);
    assert_eq!(server.connections.load(Ordering::Relaxed), 0);
    assert_eq!(here.read("out/report.json"), "old", "`--list` must not write a report");
}

fn no_secret_is_printed_or_stored() {
    let here = Place::new();
    let server = Server::start(Trivial::Echo);
    here.write("secret-a", "s3cr3t-of-a\n");
    here.write("secret-b", "s3cr3t-of-b\n");
    here.write(
        "target.yaml",
        &format!(
            "protocol: agentic\nurl: {}\ncredentials:\n  a: {{ file: secret-a, prefix: 'Bearer ' }}\n  b: {{ header: x-own-key, file: secret-b }}\n",
            server.url()
        ),
    );
    let words = [
        "check",
        "--target",
        "target.yaml",
        "--only",
        "agentic/deposit#*",
        "--out",
        "out",
        "--verbose",
        "--report",
        "text=out/report.txt",
    ];
    let ran = here.run(&words);
    assert_ne!(ran.code, 0);
    let mut texts = vec![("stdout".to_owned(), ran.out), ("stderr".to_owned(), ran.err)];
    texts.extend(reports::texts(&here.path("out")));
    assert!(texts.len() >= 7, "{}", texts.len());
    for (name, text) in &texts {
        assert!(!text.contains("s3cr3t"), "{name} holds a secret");
    }
    let record = whole_record(&here.path("out/report.json"));
    assert!(record.contains("<redacted>"), "the header is named, its value is not");
}

// Trivial targets: none of their answers may count.

/// Cases with a verdict of conformance.
fn passing(record: &Value) -> Vec<String> {
    let cases = record["protocols"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|protocol| protocol["cases"].as_array().into_iter().flatten());
    cases
        .filter(|case| matches!(case["verdict"].as_str(), Some("pass" | "warn")))
        .map(|case| format!("{} {}", case["verdict"], case["id"]))
        .collect()
}

/// Parts of the cases, of which a trivial target sees one. With `PROOFMARK_WHOLE_SWEEPS=1` it sees all cases.
const PARTS: usize = 6;

/// Runs cases against a trivial target; which part of them depends on its `name`.
#[track_caller]
fn passes_nothing(here: &Place, name: &str, target: &[&str]) {
    let part = name.bytes().map(usize::from).sum::<usize>() % PARTS + 1;
    let shard = format!("{part}/{PARTS}");
    let some = ["--shard", shard.as_str()];
    let part: &[&str] = if std::env::var_os("PROOFMARK_WHOLE_SWEEPS").is_some() { &[] } else { &some };
    let words = [
        &["check"],
        target,
        &["--protocol", "agentic", "--timeout", "300ms", "--seed", "7", "--out", "out", "--quiet"],
        part,
    ]
    .concat();
    let ran = here.run(&words);
    assert!(matches!(ran.code, 1 | 3), "{ran:?}");
    assert!(ran.took < Duration::from_secs(60), "{:?}", ran.took);
    let record = here.json("out/report.json");
    let passing = passing(&record);
    assert!(passing.is_empty(), "{} cases pass: {passing:#?}", passing.len());
    let granted =
        record["protocols"][0]["levels"].as_array().into_iter().flatten().any(|level| level["outcome"] == "granted");
    assert!(!granted);
}

fn server_passes_nothing(trivial: Trivial) {
    passes_nothing(&Place::new(), &format!("{trivial:?}"), &[&Server::start(trivial).url()]);
}

/// A plausible answer to an earlier deposit.
const OWN_PACKAGE: &str = r#"{"package":{"package_id":"pkg_0123456789abcdef0123456789abcdef","project_id":"proj_dev",
    "relay_version":"0.1","title":"replayed","status":"complete","package_type":"standard","review_type":"none",
    "created_at":"2026-01-02T03:04:05Z","created_by":{"id":"jordan","type":"human"}},
    "content_hash":"0efe5d06aaaaf2dc735b3f9ce7cfc1a0f7cd715491ab61d991f57be1d4c0db33"}"#;

macro_rules! trivial_servers {
    ($($name:ident: $trivial:expr;)*) => { $(
        fn $name() {
            server_passes_nothing($trivial);
        }
    )* };
}

trivial_servers! {
    a_silent_server_passes_nothing: Trivial::Silent;
    a_closing_server_passes_nothing: Trivial::Closing;
    a_server_that_answers_an_empty_object_passes_nothing: Trivial::Always(200, "{}");
    a_server_that_answers_an_empty_list_passes_nothing: Trivial::Always(200, "[]");
    a_server_that_answers_null_passes_nothing: Trivial::Always(200, "null");
    a_server_that_answers_nothing_with_200_passes_nothing: Trivial::Always(200, "");
    a_server_that_creates_everything_passes_nothing: Trivial::Always(201, "{}");
    a_server_that_refuses_everything_passes_nothing: Trivial::Always(400, r#"{"error":"invalid"}"#);
    a_server_that_finds_nothing_passes_nothing: Trivial::Always(404, r#"{"error":"not_found"}"#);
    a_server_that_fails_passes_nothing: Trivial::Always(500, r#"{"error":"internal"}"#);
    a_server_that_implements_nothing_passes_nothing: Trivial::Always(501, r#"{"error":"not_implemented"}"#);
    a_server_that_repeats_the_request_passes_nothing: Trivial::Echo;
    a_server_that_does_not_speak_http_passes_nothing: Trivial::Garbage;
    a_server_with_a_body_without_end_passes_nothing: Trivial::Endless;
    a_server_that_redirects_to_itself_passes_nothing: Trivial::RedirectToSelf;
    a_server_that_answers_with_a_package_of_its_own_passes_nothing: Trivial::Always(201, OWN_PACKAGE);
}

fn a_redirect_to_another_host_passes_nothing_and_is_not_followed() {
    let elsewhere = Server::start(Trivial::Always(200, "{}"));
    passes_nothing(&Place::new(), "redirect", &[&Server::start(Trivial::RedirectTo(elsewhere.address)).url()]);
    assert_eq!(elsewhere.connections.load(Ordering::Relaxed), 0, "a redirect to another host was followed");
}

/// A shell script as an adapter.
fn adapter_passes_nothing(script: &str) {
    let here = Place::new();
    here.write("adapter.sh", script);
    passes_nothing(&here, script, &["--adapter", "sh adapter.sh"]);
}

/// Answers each call with this text behind its id.
fn answering(text: &str) -> String {
    format!(
        "while IFS= read -r line; do id=${{line#*\\\"id\\\":}}; id=${{id%%,*}}; printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,{text}}}\\n' \"$id\"; done\n"
    )
}

fn an_adapter_that_answers_empty_results_passes_nothing() {
    adapter_passes_nothing(&answering(r#""result":{}"#));
}

fn an_adapter_that_answers_null_passes_nothing() {
    adapter_passes_nothing(&answering(r#""result":null"#));
}

fn an_adapter_that_refuses_everything_passes_nothing() {
    adapter_passes_nothing(&answering(r#""error":{"code":-32001,"message":"invalid"}"#));
}

fn an_adapter_that_refuses_every_parameter_passes_nothing() {
    adapter_passes_nothing(&answering(r#""error":{"code":-32602,"message":"invalid params"}"#));
}

/// It opens stores, and then rejects every call.
fn an_adapter_that_opens_stores_and_refuses_everything_else_passes_nothing() {
    for answer in [r#""error":{"code":-32001,"message":"invalid"}"#, r#""error":{"code":-32602}"#, r#""result":{}"#] {
        let say = |answer: &str| format!("printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,{answer}}}\\n' \"$id\"");
        adapter_passes_nothing(&format!(
            "while IFS= read -r line; do id=${{line#*\\\"id\\\":}}; id=${{id%%,*}}; case \"$line\" in *agentic/open*) {};; *) {};; esac; done\n",
            say(r#""result":{"store":"s"}"#),
            say(answer)
        ));
    }
}

fn an_adapter_that_supports_nothing_passes_nothing() {
    adapter_passes_nothing(&answering(r#""error":{"code":-32601,"message":"method not found"}"#));
}

fn an_adapter_that_answers_without_ids_passes_nothing() {
    adapter_passes_nothing("while IFS= read -r line; do echo '{}'; done\n");
}

fn an_adapter_that_repeats_the_call_passes_nothing() {
    adapter_passes_nothing("exec cat\n");
}

fn an_adapter_that_ends_at_once_passes_nothing() {
    adapter_passes_nothing("exit 0\n");
}

fn an_adapter_that_never_answers_passes_nothing() {
    adapter_passes_nothing("exec sleep 1000\n");
}

fn a_missing_adapter_passes_nothing() {
    passes_nothing(&Place::new(), "missing", &["--adapter", "no-such-program-anywhere"]);
}
