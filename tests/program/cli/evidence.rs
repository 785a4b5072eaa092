//! The evidence of a run: its exchanges, compressed in a file beside the record.

use sha2::Digest as _;

use super::*;

pub(super) fn trials() -> Vec<Trial> {
    crate::trials![
        the_exchanges_lie_beside_a_small_record,
        both_files_may_be_renamed,
        evidence_that_is_missing_or_of_another_run_is_refused,
        evidence_that_is_damaged_is_refused_at_its_line,
        a_record_in_one_piece_is_written_to_a_pipe_and_read,
        a_name_of_evidence_does_not_leave_the_folder,
        only_what_failed_runs_again,
        a_run_and_a_judgement_of_its_record_agree_in_every_case,
    ]
}

const RECORD: &str = "out/report.json";
const EVIDENCE: &str = "out/report.evidence.jsonl.zst";

fn check(here: &Place, out: &str, seed: &str) {
    let words = ["check", "--reference", "--protocol", "agentic", "--only", "agentic/deposit#*", "--quiet"];
    here.ends(0, &[&words[..], &["--out", out, "--seed", seed]].concat());
}

fn lines(here: &Place) -> Vec<Value> {
    let text = zstd::decode_all(&std::fs::read(here.path(EVIDENCE)).expect("evidence")[..]).expect("compressed");
    let text = String::from_utf8(text).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Replaces the evidence, and what the record says about it.
fn replace(here: &Place, lines: &[String]) {
    let bytes = zstd::encode_all(lines.concat().as_bytes(), 1).expect("compressed");
    std::fs::write(here.path(EVIDENCE), &bytes).expect("written");
    let mut record = here.json(RECORD);
    record["evidence"]["sha256"] = data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(&bytes)).into();
    here.write(RECORD, &record.to_string());
}

fn the_exchanges_lie_beside_a_small_record() {
    let here = Place::new();
    check(&here, "out", "7");
    let record = here.json(RECORD);
    let cases = record["protocols"][0]["cases"].as_array().expect("cases");
    assert!(cases.iter().all(|case| case.get("exchanges").is_none() && case.get("twin").is_none()));
    let ran: Vec<&Value> = cases.iter().filter(|case| case["verdict"] == "pass").map(|case| &case["id"]).collect();
    let lines = lines(&here);
    let shown: Vec<&Value> = lines.iter().filter_map(|line| line.get("case")).collect();
    assert!(ran.len() > 50 && ran.iter().all(|id| shown.contains(id)));
    let sent = lines.iter().any(|line| line["exchanges"][0]["sent"]["method"] == "POST");
    let twin = lines.iter().any(|line| line["twin"][0]["sent"]["method"] == "POST");
    assert!(sent && twin, "no message was sent");
    // A line for each case, which is what a comparison of two files shows.
    let text = here.read(RECORD);
    assert!(text.lines().any(|line| line.trim_start().starts_with(r#"{"id":"agentic/deposit#"#)));
    let size = |name: &str| std::fs::metadata(here.path(name)).expect("a file").len();
    assert!(
        size(EVIDENCE) * 10 < text.len() as u64 + lines.iter().map(|line| line.to_string().len() as u64).sum::<u64>()
    );
}

/// A run judges its cases from the walks that sent them, `rejudge` from what was recorded.
fn a_run_and_a_judgement_of_its_record_agree_in_every_case() {
    let here = Place::new();
    // Twins, lists, captures, hosts and connections, with passes, failures, and mistakes that a sweep finds.
    for (words, code) in [
        ("--protocol agentic --shard 1/7", 0),
        ("--protocol agentic --fault hash-missing --only agentic/deposit#*", 1),
        ("--protocol amp-core --only amp-core/acknowledgement#* --profile strict", 0),
        ("--protocol amp-core --fault hello-ack-with-selected-v --only amp-core/versions#*", 1),
        ("--protocol agentic-mesh --shard 1/3", 0),
        ("--protocol meshai --shard 2/5 --variant other", 0),
        ("--protocol task-amp --shard 1/3", 0),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        here.ends(code, &[&["check", "--reference", "--quiet", "--out", "out"], &words[..]].concat());
        here.ends(code, &["rejudge", RECORD, "--out", "again"]);
        let cases = |record: &str| {
            let cases = here.json(record)["protocols"][0]["cases"].take();
            cases.as_array().expect("cases").clone()
        };
        let (ran, again) = (cases(RECORD), cases("again/report.json"));
        assert_eq!(ran.len(), again.len());
        for (ran, again) in ran.iter().zip(&again) {
            assert_eq!(ran, again, "{words:?}");
        }
    }
}

fn both_files_may_be_renamed() {
    let here = Place::new();
    check(&here, "out", "7");
    check(&here, "other", "8");
    for (from, to) in [(RECORD, "other/main.json"), (EVIDENCE, "other/main.evidence.jsonl.zst")] {
        std::fs::rename(here.path(from), here.path(to)).expect("renamed");
    }
    let again = here.ends(0, &["rejudge", "other/main.json"]);
    assert!(again.out.contains("All verdicts are unchanged."), "{}", again.out);
}

fn evidence_that_is_missing_or_of_another_run_is_refused() {
    let here = Place::new();
    check(&here, "out", "7");
    check(&here, "other", "8");
    std::fs::copy(here.path("other/report.evidence.jsonl.zst"), here.path(EVIDENCE)).expect("a copy");
    let says = ["out/report.evidence.jsonl.zst is not the evidence of out/report.json", "keep the two files"];
    refused(&here, &["rejudge", RECORD], &says);
    std::fs::remove_file(here.path(EVIDENCE)).expect("removed");
    let says = ["out/report.json: its evidence out/report.evidence.jsonl.zst is missing", "keep the two files"];
    for words in [
        &["rejudge", RECORD][..],
        &["report", RECORD],
        &["compare", RECORD, "other/report.json"],
        &["report", "merge", RECORD, "--out", "joined"],
    ] {
        refused(&here, words, &says);
    }
    assert!(!here.path("joined").exists());
}

fn evidence_that_is_damaged_is_refused_at_its_line() {
    let here = Place::new();
    check(&here, "out", "7");
    let first = lines(&here).into_iter().find(|line| line.get("case").is_some()).expect("a case").to_string() + "\n";
    let line = |text: &str| format!("{text}\n");
    for (lines, says) in [
        (vec![first.clone(), line("{\"protocol\": \u{1b}}")], "line 2: not evidence: expected value"),
        (vec![first.clone(), "{\"protocol\":".to_owned()], "line 2: not evidence: it ends in the middle"),
        (vec![line(r#"{"protocol":"agentic","case":"x"}"#)], "line 1: not evidence: a case that the record lacks"),
        (
            vec![line(r#"{"protocol":"agentic","feature":"x"}"#)],
            "line 1: not evidence: a feature that the record lacks",
        ),
        (vec![line(r#"{"protocol":"agentic"}"#)], "line 1: not evidence: expected either `case` or `feature`"),
    ] {
        replace(&here, &lines);
        refused(&here, &["rejudge", RECORD], &[says]);
    }
    let mut record = here.json(RECORD);
    std::fs::write(here.path(EVIDENCE), "no zstd").expect("written");
    record["evidence"]["sha256"] = data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(b"no zstd")).into();
    here.write(RECORD, &record.to_string());
    refused(&here, &["rejudge", RECORD], &["line 1: not evidence"]);
}

fn a_record_in_one_piece_is_written_to_a_pipe_and_read() {
    let here = Place::new();
    check(&here, "out", "7");
    let whole = here.ends(0, &["report", RECORD, "--report", "json=/dev/stdout"]).out;
    // A record of the first version has everything in one file.
    here.write("whole.json", &whole.replacen("proofmark-record/2", "proofmark-record/1", 1));
    let again = here.ends(0, &["rejudge", "whole.json"]);
    assert!(again.out.contains("All verdicts are unchanged."), "{}", again.out);
    assert_eq!(here.whole("whole.json")["protocols"], here.whole(RECORD)["protocols"]);
}

fn a_name_of_evidence_does_not_leave_the_folder() {
    let here = Place::new();
    check(&here, "out", "7");
    std::fs::rename(here.path(EVIDENCE), here.path("elsewhere.zst")).expect("renamed");
    for name in ["../elsewhere.zst", "..", "/", ""] {
        let mut record = here.json(RECORD);
        record["evidence"]["file"] = name.into();
        here.write(RECORD, &record.to_string());
        refused(&here, &["rejudge", RECORD], &["its evidence", "is missing"]);
    }
}

fn only_what_failed_runs_again() {
    let here = Place::new();
    let words = ["check", "--reference", "--protocol", "agentic", "--only", "agentic/deposit#*", "--quiet"];
    here.ends(1, &[&words[..], &["--fault", "hash-missing", "--out", "bad"]].concat());
    // It needs no exchanges.
    std::fs::remove_file(here.path("bad/report.evidence.jsonl.zst")).expect("removed");
    let failed = |record: &Value| -> BTreeSet<String> {
        let cases = record["protocols"][0]["cases"].as_array().expect("cases").iter();
        cases.filter(|case| case["verdict"] == "fail").map(|case| case["id"].to_string()).collect()
    };
    let judged = |record: &Value| -> BTreeSet<String> {
        let cases = record["protocols"][0]["cases"].as_array().expect("cases").iter();
        cases.filter(|case| case["verdict"] != "not-run").map(|case| case["id"].to_string()).collect()
    };
    let before = failed(&here.json("bad/report.json"));
    assert!(!before.is_empty());
    // The protocol is that of the failed cases.
    here.ends(0, &["check", "--reference", "--failed", "bad/report.json", "--quiet", "--out", "again"]);
    assert_eq!(judged(&here.json("again/report.json")), before);
    let ran = here.ends(3, &["check", "--reference", "--failed", "again/report.json", "--out", "again"]);
    assert!(ran.err.contains("no case failed or stayed undecided"), "{}", ran.err);
    refused(&here, &["check", "--reference", "--failed", "nowhere.json"], &["cannot read nowhere.json"]);
    let both = ["check", "--reference", "--failed", "bad/report.json", "--only", "agentic/deposit#*"];
    refused(&here, &both, &["cannot be used with"]);
}
