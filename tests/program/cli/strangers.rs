//! Implementations that nobody here wrote: what a run says of them, and what it uses of what they say.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;

use super::*;
use crate::support::http;
use crate::support::reference::Reference;

pub(super) fn trials() -> Vec<Trial> {
    crate::trials![
        a_library_is_named_and_claims_as_it_describes_itself,
        an_error_of_an_adapter_is_shown_as_such,
        every_store_of_a_library_is_closed,
        a_target_that_declares_nothing_is_held_against_the_level_asked_for,
        a_declared_level_is_not_replaced_by_the_level_asked_for,
        an_answer_that_lacks_a_captured_member_is_no_error,
        the_text_of_a_refusal_is_shown,
        the_cause_on_which_most_depends_comes_first_in_every_report,
        a_library_with_a_wrong_signature_input_has_one_cause,
        a_server_that_answers_nothing_gets_a_report_of_one_screen,
        frames_without_types_at_a_target_with_types_are_named,
        a_target_without_a_known_did_is_not_judged,
        a_seed_that_the_target_has_seen_is_named,
        own_names_of_an_unknown_kind_are_a_mistake,
        a_placeholder_in_a_body_must_be_an_input,
        a_file_of_authorities_must_have_certificates,
        a_target_behind_a_private_authority_is_checked_over_tls,
        an_authority_that_is_not_known_is_no_violation,
        hooks_prepare_the_target_before_a_run,
        a_hook_that_fails_ends_the_run,
    ]
}

fn manifest(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).display().to_string()
}

/// The record of a library that can do one thing.
fn one_function(here: &Place, only: &str) -> Value {
    let adapter = format!("python3 {}", manifest("tests/program/cli/one_function.py"));
    here.run(&[
        "check",
        "--adapter",
        &adapter,
        "--protocol",
        "amp-core",
        "--seed",
        "7",
        "--out",
        "out",
        "--only",
        only,
    ]);
    here.json("out/report.json")
}

fn cases(record: &Value) -> &Vec<Value> {
    record["protocols"][0]["cases"].as_array().expect("cases")
}

fn levels(record: &Value) -> Vec<(String, bool)> {
    let levels = record["protocols"][0]["levels"].as_array().expect("levels");
    let claimed = |level: &Value| level["claimed"].as_bool().expect("a flag");
    levels.iter().map(|level| (level["level"].as_str().unwrap_or_default().to_owned(), claimed(level))).collect()
}

fn a_library_is_named_and_claims_as_it_describes_itself() {
    let here = Place::new();
    let record = one_function(&here, "amp-core/encoding#*");
    let name = record["target"]["name"].as_str().unwrap_or_default();
    assert!(name.starts_with("one function 1 (python3 "), "{name}");
    // It claims core; a library that says nothing claims binding.
    let expected = [("core", true), ("binding", false), ("full", false)];
    assert_eq!(levels(&record), expected.map(|(level, claimed)| (level.to_owned(), claimed)));
}

fn an_error_of_an_adapter_is_shown_as_such() {
    let here = Place::new();
    // Tags and simple values are beyond the library, which answers with an error.
    let record = one_function(&here, "amp-core/encoding#*");
    let findings = cases(&record).iter().flat_map(|case| case["findings"].as_array().into_iter().flatten());
    let observed: Vec<&str> = findings.filter_map(|finding| finding["observed"].as_str()).collect();
    assert!(observed.contains(&"the adapter answered error -32001: not read"), "{observed:?}");
}

fn every_store_of_a_library_is_closed() {
    let here = Place::new();
    here.write("adapter.sh", &format!("tee calls | python3 {}\n", manifest("adapters/python/agentic_adapter.py")));
    let words =
        ["check", "--adapter", "sh adapter.sh", "--protocol", "agentic", "--seed", "7", "--out", "out", "--quiet"];
    here.run(&[&words[..], &["--only", "agentic/deposit#returns-the-stored-*"]].concat());
    let calls = here.read("calls");
    let count = |method: &str| calls.matches(&format!("\"{method}\"")).count();
    assert!(count("agentic/open") > 0, "{calls}");
    assert_eq!(count("agentic/open"), count("agentic/close"), "opened and closed");
}

fn a_target_that_declares_nothing_is_held_against_the_level_asked_for() {
    let here = Place::new();
    let words = ["check", "--reference", "--fault", "descriptor-hidden", "--protocol", "agentic", "--level", "L2"];
    here.run(&[&words[..], &["--only", "agentic/descriptor#*", "--seed", "7", "--out", "out", "--quiet"]].concat());
    let claimed = levels(&here.json("out/report.json"));
    let expected = [("L0", true), ("L1", true), ("L2", true), ("L3", false)];
    assert_eq!(claimed, expected.map(|(level, claimed)| (level.to_owned(), claimed)));
}

fn a_declared_level_is_not_replaced_by_the_level_asked_for() {
    let here = Place::new();
    let words = ["check", "--reference", "--protocol", "agentic", "--level", "L1"];
    here.run(&[&words[..], &["--only", "agentic/descriptor#*", "--seed", "7", "--out", "out", "--quiet"]].concat());
    let claimed = levels(&here.json("out/report.json"));
    assert_eq!(claimed.last(), Some(&("L3".to_owned(), true)), "{claimed:?}");
}

fn an_answer_that_lacks_a_captured_member_is_no_error() {
    let here = Place::new();
    here.write(
        "own.yaml",
        "suite: agentic/own\nabout: One case.\ncases:\n  - case: compares-with-what-an-answer-lacks\n    covers: [AGENTIC-8.1-09]\n    \
         let: { p: { base: min } }\n    steps:\n      - send: deposit\n        with: { package: \"${p}\" }\n        capture: { answer_of_deposit: /body }\n      \
         - send: pull-specific\n        with: { package_id: \"${p/package_id}\" }\n        expect: [{ at: /body, equals: \"${answer_of_deposit/not/there}\" }]\n  \
         - case: sends-what-an-answer-lacks\n    covers: [AGENTIC-8.1-09]\n    let: { p: { base: min } }\n    steps:\n      - send: deposit\n        with: { package: \"${p}\" }\n        \
         capture: { answer_of_deposit: /body }\n      - send: pull-specific\n        with: { package_id: \"${answer_of_deposit/not/there}\" }\n        expect: [{ at: /status, equals: 200 }]\n",
    );
    here.run(&[
        "check",
        "--reference",
        "--protocol",
        "agentic",
        "--cases",
        "own.yaml",
        "--only",
        "agentic/own#*",
        "--out",
        "out",
        "--quiet",
    ]);
    let record = here.json("out/report.json");
    let own: Vec<&Value> =
        cases(&record).iter().filter(|case| case["id"].as_str().is_some_and(|id| id.contains("/own#"))).collect();
    let verdicts: Vec<(&Value, &Value)> = own.iter().map(|case| (&case["id"], &case["verdict"])).collect();
    let ran = verdicts.iter().filter(|(_, verdict)| **verdict == "inconclusive").count();
    assert!(ran >= 2, "{verdicts:?}");
    assert!(verdicts.iter().all(|(_, verdict)| **verdict != "error"), "{own:#?}");
}

fn the_text_of_a_refusal_is_shown() {
    let here = Place::new();
    let words = ["check", "--reference", "--fault", "newer-types-refused", "--protocol", "agentic", "--seed", "7"];
    let ran = here.run(&[&words[..], &["--requirement", "AGENTIC-6.3-02", "--out", "out"]].concat());
    // The reference names the error; the terminal wraps long lines.
    let printed = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains(r#""code":"invalid_schema""#), "{}", ran.out);
    assert!(here.read("out/junit.xml").contains("invalid_schema"), "junit.xml");
    assert!(here.read("out/summary.md").contains("invalid_schema"), "summary.md");
}

fn the_cause_on_which_most_depends_comes_first_in_every_report() {
    let here = Place::new();
    let words =
        ["check", "--reference", "--fault", "hash-missing", "--protocol", "agentic", "--seed", "7", "--out", "out"];
    let ran = here.run(&[&words[..], &["--only", "agentic/hashing#*", "--only", "agentic/deposit#*"]].concat());
    let record = here.json("out/report.json");
    let features = record["protocols"][0]["features"].as_array().expect("features");
    let lacking = features.iter().find(|feature| feature["feature"] == "hashes-packages").expect("the prerequisite");
    let blocked = lacking["blocks"].as_u64().unwrap_or_default();
    let lacks =
        |case: &&Value| case["because"].as_str().is_some_and(|why| why.contains("prerequisite, hashes-packages"));
    assert!(blocked > 0, "{lacking:#?}");
    assert_eq!(blocked, cases(&record).iter().filter(lacks).count() as u64);
    let explained: Vec<&str> =
        lacking["explained_by"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
    assert!(explained.contains(&"AGENTIC-8.1-11"), "{explained:?}");

    let causes = record["protocols"][0]["causes"].as_array().expect("causes");
    let first = &causes[0];
    let blocks = |cause: &Value| cause["blocks"].as_u64().unwrap_or_default();
    assert!(blocks(first) >= blocked, "{causes:#?}");
    assert!(causes.iter().all(|cause| blocks(cause) <= blocks(first)), "{causes:#?}");
    let text = first["text"].as_str().expect("a text");
    let printed = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains(&format!("fix this first: 1. {text}")), "{text}: {}", ran.out);
    assert!(printed.contains(&format!("and {} are undecided because of it", blocks(first))), "{}", ran.out);
    // 30, and the line of the selection.
    assert!(ran.out.lines().count() <= 31, "{}", ran.out);
    assert!(here.read("out/summary.md").contains("are undecided because of it"), "summary.md");
    let page = here.read("out/report.html");
    assert!(page.contains("are undecided because of it") && page.contains("data-cause=\"agentic-1\""), "report.html");
}

/// The run ends with 3, no case fails, and the terminal says these words.
#[track_caller]
fn a_library_with_a_wrong_signature_input_has_one_cause() {
    let here = Place::new();
    let check = |out: &str, fault: &str| {
        let adapter = format!("{} adapter --protocol amp-core{fault}", env!("CARGO_BIN_EXE_proofmark"));
        let ran = here.run(&["check", "--adapter", &adapter, "--protocol", "amp-core", "--seed", "7", "--out", out]);
        (ran, here.json(&format!("{out}/report.json")))
    };
    for (fault, mistake) in [
        ("sig-other-context", "Sig_Input is not that of section 8.1: with the context string \"AMP-V1\""),
        // Where a message has one of the two, the mistake shows as half of it.
        (
            "sig-null-for-absent",
            "Sig_Input is not that of section 8.1: with null for the absent thread_id and null for the absent reply_to",
        ),
        // Some messages are refused, and others taken that should not be.
        (
            "sig-flatten-single-to",
            "Sig_Input is not that of section 8.1: with the single element of to as a plain string",
        ),
    ] {
        let (ran, record) = check(fault, &format!(" --fault {fault}"));
        let failed = cases(&record).iter().filter(|case| case["verdict"] == "fail").count();
        let causes = record["protocols"][0]["causes"].as_array().expect("causes");
        assert_eq!(causes.len(), 1, "{fault}: {causes:#?}");
        assert_eq!((causes[0]["text"].as_str(), causes[0]["cases"].as_u64()), (Some(mistake), Some(failed as u64)));
        let printed = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(&format!("1 cause 1. {mistake} {failed} cases")), "{}", ran.out);
        for report in ["report.html", "summary.md"] {
            let text = here.read(&format!("{fault}/{report}"));
            assert!(text.contains("Sig_Input is not that of section 8.1"), "{report} of {fault}");
        }
    }
    // After the fix: what is mended, of one cause, and what can be judged now.
    let (_, clean) = check("fixed", "");
    assert!(cases(&clean).iter().all(|case| case["verdict"] != "fail"));
    let text = here.ends(0, &["compare", "sig-other-context/report.json", "fixed/report.json"]).out;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let broken = here.json("sig-other-context/report.json");
    let count = |verdict: &str| cases(&broken).iter().filter(|case| case["verdict"] == verdict).count();
    let fixed = count("fail");
    assert!(
        text.contains(&format!("FIXED: {fixed} cases {fixed} cases: Sig_Input is not that of section 8.1: with")),
        "{text}"
    );
    assert!(text.contains(&format!("{} cases: inconclusive -> pass", count("inconclusive"))), "{text}");
}

fn a_server_that_answers_nothing_gets_a_report_of_one_screen() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                while http::request(&mut stream).is_some() {
                    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                    if stream.write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    let here = Place::new();
    let only = ["agentic/d*#*", "agentic/orient*#*", "agentic/rounds#*"].map(|only| ["--only", only]);
    let words = ["check", &url, "--protocol", "agentic", "--seed", "3", "--out", "out"];
    let ran = here.run(&[&words[..], &only.concat()].concat());
    assert!(ran.out.contains("; fix this first:\n  1. ") && ran.out.contains("\n  10. "), "{}", ran.out);
    assert!(ran.out.lines().count() <= 60, "{}", ran.out);
    // What is cut short is all there with `--verbose`.
    let all = here.run(&[&words[..], &only.concat(), &["--verbose"]].concat());
    assert!(all.out.contains("BY REQUIREMENT") && all.out.contains("\nWARNINGS: "), "{}", all.out);
}

fn is_not_ready(here: &Place, target: &[&str], says: &[&str]) {
    let ran = here.ends(3, &[&["check"], target, &["--out", "out", "--timeout", "2s"]].concat());
    let printed = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in says {
        assert!(printed.contains(word), "{word:?}: {}", ran.out);
    }
    assert_eq!(here.json("out/report.json")["summary"]["cases"]["fail"], 0);
}

fn frames_without_types_at_a_target_with_types_are_named() {
    let (here, served) = (Place::new(), Reference::start().expect("a server"));
    let target = format!(
        "protocol: amp-core\nurl: http://{}\ntcp: amp://{}\ntransports: [tcp]\nsettings: {{ frames: bare, did: did:web:x.example }}\n",
        served.http, served.tcp
    );
    here.write("target.yaml", &target);
    is_not_ready(&here, &["--target", "target.yaml"], &["begins with a type byte", "frames: typed"]);
}

fn a_target_without_a_known_did_is_not_judged() {
    let (here, served) = (Place::new(), Reference::start().expect("a server"));
    here.write("target.yaml", &format!("protocol: amp-core\ntcp: amp://{}\n", served.tcp));
    is_not_ready(&here, &["--target", "target.yaml"], &["DID of the target is unknown", "settings: { did: ... }"]);
}

fn a_seed_that_the_target_has_seen_is_named() {
    let here = Place::new();
    let server = Server::start(Trivial::Always(409, r#"{"error":"duplicate_package_id"}"#));
    is_not_ready(&here, &[&server.url(), "--protocol", "agentic"], &["answered by 409", "same seed", "--new-ids"]);
}

fn own_names_of_an_unknown_kind_are_a_mistake() {
    let here = Place::new();
    here.write("target.yaml", "protocol: agentic\nurl: http://127.0.0.1:1\nnames: { facts: { value: object } }\n");
    refused(&here, &["check", "--target", "target.yaml"], &["unknown kind of object `facts`", "did you mean `fact`?"]);
}

fn a_placeholder_in_a_body_must_be_an_input() {
    let here = Place::new();
    let target = "protocol: agentic\nurl: http://127.0.0.1:1\nroutes: { deposit: { body: { item: \"{body}\", of: \"{projekt}\" } } }\n";
    here.write("target.yaml", target);
    refused(&here, &["check", "--target", "target.yaml"], &["`{projekt}`", "the inputs are project, package, store"]);
}

fn a_file_of_authorities_must_have_certificates() {
    let here = Place::new();
    here.write("ca.pem", "nothing of the kind\n");
    here.write("target.yaml", "protocol: agentic\nurl: https://127.0.0.1:1\nca: ca.pem\n");
    refused(&here, &["check", "--target", "target.yaml"], &["`ca.pem` has no certificate in PEM"]);
}

/// A reference that is reached over https, with a certificate of the test authority. `tls/server.pem` is a key for this test only.
struct Front {
    child: std::process::Child,
    url: String,
}

impl Front {
    fn start(behind: std::net::SocketAddr) -> Self {
        use std::io::{BufRead, BufReader};
        let mut child = std::process::Command::new("python3")
            .arg(manifest("tests/program/cli/tls/front.py"))
            .arg(manifest("tests/program/cli/tls/server.pem"))
            .arg(behind.to_string())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a port");
        Self { child, url: format!("https://127.0.0.1:{}", line.trim()) }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks the reference over https; `more` is added to the target file.
fn over_tls(more: &str) -> (Place, Ran) {
    let (here, served) = (Place::new(), Reference::start().expect("a server"));
    let front = Front::start(served.http);
    here.write("ca.pem", &std::fs::read_to_string(manifest("tests/program/cli/tls/ca.pem")).expect("a file"));
    here.write("target.yaml", &format!("protocol: amp-core\nurl: {}\ntransports: [http, ws]\n{more}", front.url));
    let words = ["check", "--target", "target.yaml", "--only", "amp-core/basics#*", "--seed", "7", "--out", "out"];
    let ran = here.run(&words);
    drop(front);
    (here, ran)
}

fn a_target_behind_a_private_authority_is_checked_over_tls() {
    let (here, ran) = over_tls("ca: ca.pem\n");
    let record = here.json("out/report.json");
    let counts = &record["summary"]["cases"];
    assert_eq!((&counts["fail"], &counts["error"]), (&0.into(), &0.into()), "{}", ran.out);
    for transport in ["http", "ws"] {
        let passed =
            cases(&record).iter().filter(|case| case["transport"] == transport && case["verdict"] == "pass").count();
        assert!(passed > 0, "no case passed over {transport}: {}", ran.out);
    }
}

fn an_authority_that_is_not_known_is_no_violation() {
    let (here, ran) = over_tls("");
    let printed = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(printed.contains("cannot be verified") && printed.contains("under `ca`"), "{}", ran.err);
    assert_eq!(here.json("out/report.json")["summary"]["cases"]["fail"], 0);
}

fn hooks_prepare_the_target_before_a_run() {
    let here = Place::new();
    // The fixture is the last argument, `$0` of the second hook.
    let target = "protocol: agentic\nurl: http://127.0.0.1:1\nhooks:\n  reset: [sh, -c, echo reset >> calls]\n  \
                  load: [sh, -c, 'wc -l < \"$0\" >> calls; cp \"$0\" loaded']\n";
    here.write("target.yaml", target);
    here.ends(
        3,
        &["check", "--target", "target.yaml", "--only", "agentic/fixture#*", "--out", "out", "--timeout", "2s"],
    );
    let printed = here.ends(0, &["new", "fixture"]).out;
    let calls: Vec<String> = here.read("calls").split_whitespace().map(str::to_owned).collect();
    assert_eq!(calls, ["reset".to_owned(), printed.lines().count().to_string()]);
    assert_eq!(here.read("loaded").lines().count(), printed.lines().count());
    assert_eq!(here.json("out/report.json")["target"]["config"]["options"]["fixture"], true);
}

fn a_hook_that_fails_ends_the_run() {
    let here = Place::new();
    let target =
        "protocol: agentic\nurl: http://127.0.0.1:1\nhooks: { reset: [sh, -c, 'echo the disk is full; exit 4'] }\n";
    here.write("target.yaml", target);
    let ran = here.ends(3, &["check", "--target", "target.yaml", "--out", "out"]);
    for word in ["the hook `reset` of the target failed", "exit status: 4", "the disk is full"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}
