//! Comparing runs: `compare`, baselines of known failures, and shards whose records are joined.

use super::*;

pub(super) fn trials() -> Vec<Trial> {
    crate::trials![
        a_new_failure_is_found_and_ends_with_exit_1,
        a_failure_in_both_records_ends_with_exit_0,
        a_failure_for_another_cause_is_a_new_failure,
        cases_of_one_record_are_vanished_or_added,
        cases_that_a_selection_left_out_are_not_compared,
        a_page_for_a_pull_request_contains_no_markup_of_a_target,
        one_case_is_shown_across_records,
        a_file_that_is_not_a_record_is_refused_with_its_place,
        a_known_failure_does_not_fail_the_run_and_grants_nothing,
        a_known_case_that_fails_otherwise_is_a_new_failure,
        a_known_failure_that_is_fixed_is_stale_and_dropped,
        an_expired_known_failure_fails_the_run,
        a_case_that_is_not_run_must_be_listed,
        mistakes_in_a_baseline_are_reported_at_their_places,
        an_update_refuses_a_broken_baseline_and_leaves_it_alone,
        joined_shards_are_the_whole_run,
        a_missing_shard_leaves_the_run_undecided,
        records_of_different_runs_are_not_joined,
    ]
}

/// Fails at a target without hashes, and at one with its own ids.
const CASE: &str = "agentic/deposit#returns-the-stored-package-with-its-hash";
/// Passes at both.
const OTHER: &str = "agentic/deposit#does-not-store-rejected-package[unknown-status]";
const NO_HASH: &str = "hash-missing";
const OWN_IDS: &str = "deposit-returns-row-number";

/// Checks the reference with a planted fault, or none, and more words. Returns the run; the reports are in the folder `out`.
fn check(here: &Place, out: &str, fault: &str, more: &[&str]) -> Ran {
    let mut words = vec!["check", "--reference", "--protocol", "agentic", "--out", out];
    if !fault.is_empty() {
        words.extend(["--fault", fault]);
    }
    words.extend(more);
    here.run(&words)
}

/// The record of [`CASE`] and [`OTHER`] with a planted fault, or none. Returns the path of the record.
fn record(here: &Place, out: &str, fault: &str, seed: &str) -> String {
    let ran = check(here, out, fault, &["--only", CASE, "--only", OTHER, "--seed", seed]);
    assert_eq!(ran.code, i32::from(!fault.is_empty()), "{ran:#?}");
    format!("{out}/report.json")
}

/// What a run printed, without the line ends of a terminal.
fn flat(ran: &Ran) -> String {
    ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The categories of the cases in a comparison.
fn categories(comparison: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let cases = comparison["protocols"][0]["cases"].as_array().expect("cases");
    let mut found: Vec<_> = cases.iter().map(|case| (text(&case["case"]), text(&case["category"]))).collect();
    found.retain(|(case, _)| !case.ends_with("@adapter"));
    found
}

fn compared(here: &Place, code: i32, old: &str, new: &str) -> Value {
    let ran = here.ends(code, &["compare", old, new, "--format", "json"]);
    serde_json::from_str(&ran.out).expect("JSON")
}

fn one(case: &str, category: &str) -> Vec<(String, String)> {
    vec![(case.to_owned(), category.to_owned())]
}

fn a_new_failure_is_found_and_ends_with_exit_1() {
    let here = Place::new();
    let (good, bad) = (record(&here, "good", "", "1"), record(&here, "bad", NO_HASH, "2"));
    let broken = compared(&here, 1, &good, &bad);
    assert_eq!(categories(&broken), one(CASE, "new-failure"));
    assert_eq!(broken["exit_code"], 1);
    let requirements = broken["protocols"][0]["requirements"].as_array().expect("requirements");
    assert!(requirements.iter().any(|change| change["requirement"] == "AGENTIC-8.1-11" && change["new"] == "fail"));
    let levels = broken["protocols"][0]["levels"].as_array().expect("levels");
    assert!(levels.iter().any(|level| level["level"] == "L1" && level["new"] == "refused"), "{levels:?}");
    let mended = compared(&here, 0, &bad, &good);
    assert_eq!(categories(&mended), one(CASE, "fixed"));
    let text = here.ends(1, &["compare", &good, &bad]).out;
    for words in ["NEW FAILURES: 1 case", CASE, "deposit: expected sha256", "1 new failure, 0 fixed", "refused"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

fn a_failure_in_both_records_ends_with_exit_0() {
    let here = Place::new();
    // Other seeds have other ids, digests and ports.
    let (old, new) = (record(&here, "old", NO_HASH, "1"), record(&here, "new", NO_HASH, "2"));
    let same = compared(&here, 0, &old, &new);
    assert_eq!(categories(&same), one(CASE, "still-failing"));
    assert_eq!(same["unchanged"].as_u64().map(|unchanged| unchanged > 0), Some(true));
}

fn a_failure_for_another_cause_is_a_new_failure() {
    let here = Place::new();
    let (old, new) = (record(&here, "old", NO_HASH, "1"), record(&here, "new", OWN_IDS, "1"));
    let changed = compared(&here, 1, &old, &new);
    assert_eq!(categories(&changed), one(CASE, "changed-cause"));
}

fn cases_of_one_record_are_vanished_or_added() {
    let here = Place::new();
    let path = record(&here, "good", "", "1");
    let mut value = here.whole(&path);
    let cases = value["protocols"][0]["cases"].as_array_mut().expect("cases");
    cases.retain(|case| case["id"] != OTHER);
    here.write("less.json", &value.to_string());
    assert_eq!(categories(&compared(&here, 0, &path, "less.json")), one(OTHER, "vanished"));
    assert_eq!(categories(&compared(&here, 0, "less.json", &path)), one(OTHER, "added"));
}

fn cases_that_a_selection_left_out_are_not_compared() {
    let here = Place::new();
    let both = record(&here, "both", NO_HASH, "1");
    check(&here, "one", "", &["--only", OTHER, "--seed", "1"]);
    let narrower = compared(&here, 0, &both, "one/report.json");
    assert_eq!(categories(&narrower), []);
    assert!(narrower["not_selected"].as_u64() > Some(0), "{narrower:#}");
    // What fails and was not run before is a new failure all the same.
    let wider = compared(&here, 1, "one/report.json", &both);
    assert_eq!(categories(&wider), one(CASE, "new-failure"));
}

fn a_page_for_a_pull_request_contains_no_markup_of_a_target() {
    let here = Place::new();
    let (old, new) = (record(&here, "old", "", "1"), record(&here, "new", NO_HASH, "1"));
    let mut value = here.whole(&new);
    value["target"]["name"] = "<img src=x> @everyone \u{1b}[2J".into();
    for case in value["protocols"][0]["cases"].as_array_mut().expect("cases") {
        for finding in case.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
            finding["observed"] = "nothing </details> [x](javascript:1) | `` \u{1b}]0;x\u{7}".into();
        }
    }
    here.write("hostile.json", &value.to_string());
    let page = here.ends(1, &["compare", &old, "hostile.json", "--format", "markdown"]).out;
    assert!(page.starts_with("# proofmark compare: 1 new failure"), "{page}");
    assert!(page.contains("### New failures: 1") && page.contains(CASE), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains('\u{7}'), "{page:?}");
    let outside: String = page.split('`').step_by(2).collect();
    for markup in ["<img", "@everyone", "](", "</details>"] {
        assert!(!outside.contains(markup), "{markup}: {page}");
    }
    let text = here.ends(1, &["compare", &old, "hostile.json"]).out;
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

fn one_case_is_shown_across_records() {
    let here = Place::new();
    let paths =
        [record(&here, "good", "", "1"), record(&here, "bad", NO_HASH, "1"), record(&here, "ids", OWN_IDS, "1")];
    let [good, bad, ids] = &paths;
    let text = here.ends(0, &["compare", "--case", CASE, good, bad, ids]).out;
    let row = |path: &str| text.lines().find(|line| line.contains(path)).unwrap_or_else(|| panic!("{text}"));
    assert!(row(good).contains("pass"), "{text}");
    assert!(row(bad).contains("fail") && row(bad).contains("observed nothing"), "{text}");
    assert!(row(ids).contains("fail") && row(ids).contains("/package/package_id"), "{text}");
    let json =
        here.ends(0, &["compare", "--case", "agentic/deposit#returns-the-stored*", good, bad, "--format", "json"]).out;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json[0]["records"][1]["verdict"], "fail", "{json:#}");
    assert!(here.ends(0, &["compare", "--case", CASE, good, "--format", "markdown"]).out.contains("| record |"));
    refused(&here, &["compare", "--case", &CASE.replace("stored", "sotred"), good], &["no record has a case", CASE]);
}

fn a_file_that_is_not_a_record_is_refused_with_its_place() {
    let here = Place::new();
    here.write("empty.json", "");
    here.write("cut.json", "{\n  \"schema\": \"proofmark-record/1\",\n  \"seed\": ");
    here.write("wrong.json", "{\n  \"schema\": \"proofmark-record/1\",\n  \"proofmark\": 5\n}");
    here.write("new.json", "{ \"schema\": \"proofmark-record/9\" }");
    here.write("deep.json", &"[".repeat(100_000));
    std::fs::write(here.path("bytes.json"), [0xff, 0xfe, 0]).expect("a file");
    for (file, says) in [
        ("nowhere.json", "cannot read nowhere.json"),
        ("empty.json", "empty.json:1:0: not a record"),
        ("cut.json", "cut.json:3:"),
        ("wrong.json", "wrong.json:3:16: not a record: invalid type"),
        ("new.json", "new.json: unsupported schema"),
        ("deep.json", "deep.json:1:"),
        ("bytes.json", "bytes.json:1:1: not a record"),
    ] {
        refused(&here, &["compare", file, file], &[says]);
        refused(&here, &["report", "merge", file, file, "--out", "joined"], &[says]);
        refused(&here, &["baseline", "update", file], &[says]);
        assert!(!here.path("joined").exists() && !here.path("baseline.yaml").exists(), "{file}");
    }
    refused(&here, &["compare", "cut.json"], &["expected two records", "--case"]);
}

// Baselines.

/// Writes the baseline of a run with the fault, and returns the words that select its cases.
fn baseline(here: &Place) -> [&'static str; 6] {
    let path = record(here, "known", NO_HASH, "1");
    let ran = here.ends(0, &["baseline", "update", &path]);
    assert!(ran.out.starts_with("baseline.yaml: 1 entry, 1 added, 0 dropped"), "{}", ran.out);
    ["--only", CASE, "--only", OTHER, "--baseline", "baseline.yaml"]
}

fn a_known_failure_does_not_fail_the_run_and_grants_nothing() {
    let here = Place::new();
    let words = baseline(&here);
    // Another seed: the fingerprint stays the same.
    let ran = check(&here, "out", NO_HASH, &[&words[..], &["--seed", "9"]].concat());
    assert_eq!(ran.code, 0, "{ran:#?}");
    for words in ["BASELINE: 1 known failure of baseline.yaml", "no new failures", "1 known failure"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert!(!ran.out.contains("result    conformant"), "{}", ran.out);
    let record = here.json("out/report.json");
    assert_eq!(record["summary"]["cases"]["fail"], 1, "a known failure is a failure");
    let level = |name: &str| {
        let levels = record["protocols"][0]["levels"].as_array().expect("levels");
        levels.iter().find(|level| level["level"] == name).expect("a level")["outcome"].clone()
    };
    assert_eq!(level("L1"), "refused");
    for (file, says) in
        [("summary.md", "known: `1 case, bug"), ("junit.xml", "known failure: 1 case"), ("report.html", "Baseline")]
    {
        assert!(here.read(&format!("out/{file}")).contains(says), "{file}");
    }
    assert!(!here.read("out/junit.xml").contains("<failure"));
    // A new failure beside the known one fails the run.
    let text = here.read("baseline.yaml");
    here.write("baseline.yaml", &text.replace(CASE, OTHER));
    let ran = check(&here, "out", NO_HASH, &words);
    assert_eq!(ran.code, 1, "{ran:#?}");
    // The baseline is kept in the record, so that a record that is judged again has the same result.
    here.write("baseline.yaml", &text);
    check(&here, "out", NO_HASH, &words);
    let again = here.ends(0, &["rejudge", "out/report.json"]);
    assert!(again.out.contains("no new failures"), "{}", again.out);
}

fn a_known_case_that_fails_otherwise_is_a_new_failure() {
    let here = Place::new();
    let words = baseline(&here);
    let ran = check(&here, "out", OWN_IDS, &words);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.out.contains("1 new failure"), "{}", ran.out);
    assert!(flat(&ran).contains("the case fails for another cause"), "{}", ran.out);
}

fn a_known_failure_that_is_fixed_is_stale_and_dropped() {
    let here = Place::new();
    let words = baseline(&here);
    let ran = check(&here, "out", "", &words);
    assert_eq!(ran.code, 1, "{ran:#?}");
    for words in [&format!("stale {CASE}: the case passes (baseline.yaml:"), "1 stale entry in baseline.yaml"] {
        assert!(flat(&ran).contains(words), "{words}: {}", ran.out);
    }
    let ran = here.ends(0, &["baseline", "update", "out/report.json"]);
    assert!(ran.out.contains("0 entries, 0 added, 1 dropped"), "{}", ran.out);
    assert!(ran.out.contains(&format!("dropped: {CASE}: the case passes")), "{}", ran.out);
    assert_eq!(check(&here, "out", "", &words).code, 0);
    // A run without the case says nothing about it.
    baseline(&here);
    let ran = check(&here, "out", "", &["--only", OTHER, "--baseline", "baseline.yaml"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
}

fn an_expired_known_failure_fails_the_run() {
    let here = Place::new();
    let words = baseline(&here);
    let text = here.read("baseline.yaml");
    here.write("baseline.yaml", &format!("{text}    expires: 2020-01-31\n"));
    let ran = check(&here, "out", NO_HASH, &words);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(flat(&ran).contains("1 entry of baseline.yaml expired"), "{}", ran.out);
    assert!(flat(&ran).contains("expired 1 case, bug, until 2020-01-31"), "{}", ran.out);
    here.write("baseline.yaml", &format!("{text}    expires: 2999-01-31\n"));
    assert_eq!(check(&here, "out", NO_HASH, &words).code, 0);
}

fn a_case_that_is_not_run_must_be_listed() {
    let here = Place::new();
    // At level L1 the review of packages is not claimed.
    let only = ["--only", "agentic/review#returns-hash-of-current-package*", "--only", OTHER];
    here.write("target.yaml", "url: http://127.0.0.1:1\n");
    let words = |baseline: &str| {
        here.write("b.yaml", baseline);
        check(&here, "out", NO_HASH, &[&only[..], &["--baseline", "b.yaml"]].concat())
    };
    let open = words("{}");
    assert_ne!(open.code, 1, "{open:#?}");
    let ran = words("expected-not-run: []\n");
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(flat(&ran).contains("not listed under `expected-not-run` in b.yaml"), "{}", ran.out);
    here.ends(0, &["baseline", "update", "out/report.json", "--baseline", "b.yaml"]);
    assert!(here.read("b.yaml").contains("  - \"agentic/review#"), "{}", here.read("b.yaml"));
    let ran = check(&here, "out", NO_HASH, &[&only[..], &["--baseline", "b.yaml"]].concat());
    assert_ne!(ran.code, 1, "{ran:#?}");
}

fn mistakes_in_a_baseline_are_reported_at_their_places() {
    let here = Place::new();
    here.write(
        "b.yaml",
        "known-failures:\n  - case: x\n    fingerprint: x\n    kind: bgu\n    expire: 2027-01-31\nexpected: []\n",
    );
    let words = ["check", "--reference", "--protocol", "agentic", "--baseline", "b.yaml", "--out", "out"];
    let ran = here.ends(2, &words);
    for says in [
        "b.yaml:3:18",
        "expected `cause-` and twelve hexadecimal digits",
        "b.yaml:4:11",
        "did you mean `bug`?",
        "b.yaml:5:5",
        "did you mean `expires`?",
        "b.yaml:6:1",
        "a baseline has no key `expected`",
    ] {
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
    }
    assert!(!here.path("out").exists(), "the target was checked");
    let missing = ["check", "--reference", "--protocol", "agentic", "--baseline", "nowhere.yaml"];
    refused(&here, &missing, &["cannot read nowhere.yaml", "proofmark baseline update"]);
}

fn an_update_refuses_a_broken_baseline_and_leaves_it_alone() {
    let here = Place::new();
    let path = record(&here, "out", NO_HASH, "1");
    let broken = "known-failures: [\n";
    here.write("baseline.yaml", broken);
    let ran = here.ends(2, &["baseline", "update", &path]);
    assert!(ran.err.contains("baseline.yaml:"), "{}", ran.err);
    assert_eq!(here.read("baseline.yaml"), broken);
}

// Shards.

const SHARDED: [&str; 4] = ["--only", "agentic/deposit#*", "--seed", "5"];

fn shards(here: &Place, fault: &str, which: &[u8]) -> Vec<String> {
    let run = |shard: &u8| {
        let out = format!("shard-{shard}");
        check(here, &out, fault, &[&SHARDED[..], &["--shard", &format!("{shard}/4")]].concat());
        format!("{out}/report.json")
    };
    which.iter().map(run).collect()
}

fn merge(here: &Place, records: &[String]) -> Ran {
    let mut words = vec!["report", "merge"];
    words.extend(records.iter().map(String::as_str));
    words.extend(["--out", "joined"]);
    here.run(&words)
}

/// Verdict and outcomes of each case, the verdict of each requirement, and the outcome of each level.
fn judged(record: &Value) -> BTreeMap<String, String> {
    let protocol = &record["protocols"][0];
    let list = |key: &str| protocol[key].as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut all = BTreeMap::new();
    for case in list("cases") {
        all.insert(text(&case["id"]), format!("{} {} {}", case["verdict"], case["reason"], case["outcomes"]));
    }
    for requirement in list("requirements") {
        all.insert(text(&requirement["id"]), format!("{} {}", requirement["verdict"], requirement["reason"]));
    }
    for level in list("levels") {
        let because = level["because"].as_array().expect("a list").iter();
        // The words may contain digests of timestamps.
        let because: Vec<_> =
            because.map(|entry| [&entry["requirement"], &entry["verdict"], &entry["reason"]]).collect();
        all.insert(text(&level["level"]), format!("{} {} {because:?}", level["outcome"], level["claimed"]));
    }
    all
}

fn joined_shards_are_the_whole_run() {
    let here = Place::new();
    for fault in ["", NO_HASH] {
        let whole = check(&here, "whole", fault, &SHARDED);
        let records = shards(&here, fault, &[1, 2, 3, 4]);
        // Each shard leaves out cases, so that the join is not the record of one of them.
        let joined = merge(&here, &[records[2].clone(), records[0].clone(), records[3].clone(), records[1].clone()]);
        assert_eq!(joined.code, whole.code, "{joined:#?}");
        let (whole, joined) = (here.whole("whole/report.json"), here.whole("joined/report.json"));
        let (expected, found) = (judged(&whole), judged(&joined));
        let differ: Vec<_> = expected.iter().filter(|(id, judged)| found.get(*id) != Some(judged)).collect();
        assert!(differ.is_empty(), "{fault}: {differ:#?}");
        assert_eq!(expected.len(), found.len());
        assert_eq!(whole["summary"]["cases"], joined["summary"]["cases"]);
        assert_eq!(whole["summary"]["conclusion"], joined["summary"]["conclusion"]);
        assert_eq!(joined["asked"]["joined"], serde_json::json!(["1/4", "2/4", "3/4", "4/4"]));
        for file in STANDARD {
            assert!(here.path("joined").join(file).is_file(), "{file}");
        }
        here.ends(0, &["compare", "whole/report.json", "joined/report.json"]);
        refused(&here, &["rejudge", "joined/report.json"], &["a joined record cannot be judged again"]);
    }
}

fn a_missing_shard_leaves_the_run_undecided() {
    let here = Place::new();
    let ran = merge(&here, &shards(&here, "", &[1, 2, 4]));
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert!(ran.out.contains("no record of shard 3/4"), "{}", ran.out);
    let record = here.json("joined/report.json");
    assert!(record["summary"]["cases"]["error"].as_u64() > Some(0), "{}", record["summary"]);
}

fn records_of_different_runs_are_not_joined() {
    let here = Place::new();
    let records = shards(&here, "", &[1, 2]);
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut value = here.whole(&records[1]);
        change(&mut value);
        here.write(name, &value.to_string());
        name.to_owned()
    };
    // The same shard twice, in which one verdict differs.
    let contradicts = |value: &mut Value| {
        value["asked"]["shard"] = "1/4".into();
        let first = here.json(&records[0]);
        let of_first = first["protocols"][0]["cases"].as_array().expect("cases").clone();
        let mut cases = of_first;
        let ran = cases.iter_mut().find(|case| case["verdict"] == "pass").expect("a case");
        ran["verdict"] = "fail".into();
        value["protocols"][0]["cases"] = cases.into();
    };
    for (name, says, change) in [
        (
            "seed.json",
            "its seed is 6, and that of shard-1/report.json is 5",
            &(|v: &mut Value| v["seed"] = 6.into()) as &dyn Fn(&mut Value),
        ),
        ("profile.json", "its profile is strict", &|v: &mut Value| v["profile"] = "strict".into()),
        ("target.json", "its target is other", &|v: &mut Value| v["target"]["name"] = "other".into()),
        ("suite.json", "its suite of agentic is 00", &|v: &mut Value| v["protocols"][0]["suite_hash"] = "00".into()),
        ("protocol.json", "its list of protocols is toy", &|v: &mut Value| {
            v["protocols"][0]["protocol"] = "toy".into();
        }),
        ("selection.json", "--only", &|v: &mut Value| v["asked"]["only"] = serde_json::json!(["*"])),
        ("case.json", "is not in the suites", &|v: &mut Value| {
            v["protocols"][0]["cases"][0]["id"] = "agentic/x#y".into();
        }),
        ("twice.json", "it contradicts shard-1/report.json: the verdict on agentic/deposit#", &contradicts),
    ] {
        let other = changed(name, change);
        let ran = merge(&here, &[records[0].clone(), other]);
        assert_eq!(ran.code, 2, "{name}: {ran:#?}");
        assert!(ran.err.contains(name) && ran.err.contains(says), "{name}: {}", ran.err);
        assert!(!here.path("joined").exists(), "{name}");
    }
    // The same record twice is no contradiction.
    let ran = merge(&here, &[records[0].clone(), records[0].clone()]);
    assert_eq!(ran.code, 3, "{ran:#?}");
}
