//! The end of a run: totals, exit code and conclusion.

use serde_json::{Value, json};

use super::*;

/// A case: its id, its verdict, the requirement that it covers, and what was observed.
type Row<'t> = (&'t str, &'t str, &'t str, &'t str);

const PASS: Row<'_> = ("p/a#good", "pass", "X-1", "");
const PASS_TOO: Row<'_> = ("p/a#good-too", "pass", "X-1", "");
const WARN: Row<'_> = ("p/a#warned", "warn", "X-ADVICE", "");
const FAIL: Row<'_> = ("p/a#bad", "fail", "X-2", "500");
const FAIL_TOO: Row<'_> = ("p/a#bad-too", "fail", "X-2", "404");
const OPEN: Row<'_> = ("p/a#open", "inconclusive", "X-2", "the answer is empty");
const OPEN_ADVICE: Row<'_> = ("p/a#open-advice", "inconclusive", "X-ADVICE", "the answer is empty");
const ERROR: Row<'_> = ("p/a#error", "error", "X-2", "cannot connect");
const NOT_RUN: Row<'_> = ("p/a#left-out", "not-run", "X-2", "");
const NOT_RUN_TOO: Row<'_> = ("p/a#left-out-too", "not-run", "X-2", "");

fn case_of((id, verdict, requirement, observed): Row<'_>) -> Value {
    let finding = json!({
        "requirement": requirement, "verdict": verdict, "expected": "200", "observed": observed, "path": "/status",
        "at": "x.yaml:1:1",
    });
    json!({
        "id": id, "transport": "http", "verdict": verdict, "covers": [requirement], "because": observed,
        "reason": (verdict == "not-run").then_some("not-claimed"), "outcomes": { requirement: verdict },
        "at": "x.yaml:1:1", "findings": if verdict == "fail" { vec![finding] } else { Vec::new() },
    })
}

/// A baseline in which these cases are known, as long as they show the same.
fn baseline(known: &[Row<'_>], expires: Option<&str>) -> Value {
    let entry = |row: &Row<'_>| {
        let case: CaseRecord = serde_json::from_value(case_of(*row)).expect("a case");
        let fingerprint = crate::report::reasons(&case).remove(0).fingerprint;
        json!({
            "cases": [row.0], "fingerprint": fingerprint, "kind": "bug", "expires": expires, "at": "known.yaml:1:1",
        })
    };
    json!({ "file": "known.yaml", "entries": known.iter().map(entry).collect::<Vec<_>>() })
}

/// A level with the requirements that stand in its way, and those without a case.
fn level(name: &str, outcome: &str, because: &[(&str, &str)], uncovered: &[&str]) -> Value {
    let because = because.iter().map(|(id, verdict)| json!({ "requirement": id, "verdict": verdict }));
    let because: Vec<_> = because.collect();
    let waived: &[&str] = if outcome == "granted-waived" { &["X-2"] } else { &[] };
    json!({
        "level": name, "outcome": outcome, "claimed": true, "because": because, "uncovered": uncovered,
        "waived": waived,
    })
}

/// The end of a run that started on 2026-11-20. `more` has what was asked, the levels, the waivers and the baseline.
fn concluded(cases: &[Row<'_>], more: &Value) -> RunRecord {
    let part = |key: &str, usual: Value| more.get(key).cloned().unwrap_or(usual);
    let requirement = |(id, keyword): (&str, &str)| {
        json!({
            "id": id, "section": "1", "keyword": keyword, "level": "core", "summary": "s", "verdict": "pass",
            "cases": [],
        })
    };
    let requirements = [("X-1", "MUST"), ("X-2", "MUST NOT"), ("X-ADVICE", "SHOULD")].map(requirement);
    let mut record: RunRecord = serde_json::from_value(json!({
        "schema": crate::record::SCHEMA, "proofmark": "0", "seed": 1, "identity_seed": 1, "profile": "lenient",
        "started_at": "2026-11-20T12:00:00.000Z", "asked": part("asked", json!({})),
        "target": { "kind": "endpoint", "name": "x" },
        "protocols": [{
            "protocol": "p", "spec": "s", "suite_hash": "h", "levels": part("levels", json!([])), "features": [],
            "requirements": requirements,
            "cases": cases.iter().copied().map(case_of).collect::<Vec<_>>(), "waivers": part("waivers", json!([])),
        }],
        "baseline": part("baseline", Value::Null),
        "summary": {
            "cases": { "pass": 0, "warn": 0, "fail": 0, "inconclusive": 0, "error": 0, "not-run": 0 },
            "requests": 0, "elapsed_ms": 0, "exit_code": 0, "conclusion": "",
            "cut_short": part("cut_short", Value::Null),
        },
    }))
    .expect("a record");
    conclude(&mut record);
    record
}

fn all_conclude(rows: &[(&[Row<'_>], Value, u8, &str)]) {
    for (cases, more, exit_code, conclusion) in rows {
        let summary = concluded(cases, more).summary;
        assert_eq!((summary.exit_code, summary.conclusion.as_str()), (*exit_code, *conclusion), "{cases:?} {more}");
    }
}

#[test]
fn a_run_is_conformant_if_all_that_was_asked_for_was_shown() {
    let asked = json!({ "levels": ["core"] });
    let granted = json!([level("core", "granted", &[], &[]), level("extra", "undecided", &[("X-2", "not-run")], &[])]);
    let waived = json!([level("core", "granted-waived", &[], &[])]);
    all_conclude(&[
        (&[PASS], json!({}), 0, "conformant: 1 case passed"),
        (&[PASS, PASS_TOO, WARN], json!({}), 0, "conformant: 3 cases passed"),
        (&[PASS, NOT_RUN], json!({ "levels": granted }), 0, "conformant: 1 case passed"),
        (&[PASS], json!({ "asked": asked, "levels": granted }), 0, "conformant: 1 case passed, core granted"),
        (&[PASS], json!({ "asked": asked, "levels": waived }), 0, "conformant: 1 case passed, core granted, 1 waived"),
        (&[PASS, OPEN_ADVICE], json!({}), 0, "conformant: 1 case passed"),
        (
            &[PASS, PASS_TOO, WARN],
            json!({ "asked": { "levels": ["core"], "shard": "1/2" } }),
            0,
            "conformant as far as shard 1/2 goes: 3 cases passed; it decides no level",
        ),
    ]);
}

#[test]
fn violations_and_stale_waivers_end_a_run_with_1() {
    let asked = json!({ "levels": ["core"] });
    let refused = json!([level("core", "refused", &[("X-2", "fail")], &[])]);
    let waiver = |stale: Option<&str>| json!({ "what": "X-1", "reason": "r", "at": "t.yaml:1:1", "stale": stale });
    let (holds, stale) = (waiver(None), waiver(Some("the waived cases pass")));
    all_conclude(&[
        (&[PASS, FAIL], json!({}), 1, "not conformant: 1 case fails"),
        (&[PASS, FAIL, FAIL_TOO, OPEN], json!({}), 1, "not conformant: 2 cases fail"),
        (&[PASS, FAIL], json!({ "asked": asked, "levels": refused }), 1, "not conformant: 1 case fails"),
        (&[FAIL], json!({ "waivers": [stale] }), 1, "not conformant: 1 case fails"),
        (&[PASS], json!({ "waivers": [holds, stale] }), 1, "1 stale waiver: remove from the target file"),
        (&[OPEN], json!({ "waivers": [stale, stale] }), 1, "2 stale waivers: remove from the target file"),
        (&[PASS], json!({ "waivers": [holds] }), 0, "conformant: 1 case passed"),
    ]);
}

#[test]
fn what_could_not_be_decided_ends_a_run_with_3() {
    let both = json!({ "levels": ["core", "extra"] });
    // Nothing of `core` was shown, and a case of `extra` was left out.
    let core = level("core", "undecided", &[], &[]);
    let extra = level("extra", "undecided", &[("X-2", "not-run")], &[]);
    all_conclude(&[
        (&[NOT_RUN], json!({}), 3, "undecided: no case was judged"),
        (&[], json!({ "cut_short": "it took too long" }), 3, "undecided: no case was judged: it took too long"),
        (&[PASS], json!({ "cut_short": "it took too long" }), 3, "undecided: the run was cut short: it took too long"),
        (&[PASS, OPEN], json!({}), 3, "undecided: 1 case was inconclusive"),
        (&[PASS, OPEN, ERROR], json!({}), 3, "undecided: 2 cases were inconclusive"),
        (
            &[PASS],
            json!({ "asked": { "levels": ["core"] }, "levels": [core, extra] }),
            3,
            "undecided: p core could not be granted",
        ),
        (
            &[PASS],
            json!({ "asked": both, "levels": [core, extra] }),
            3,
            "undecided: p core, p extra could not be granted",
        ),
    ]);
}

#[test]
fn known_failures_do_not_fail_a_run_and_grant_no_level() {
    let core = json!({ "levels": ["core"] });
    let known = baseline(&[FAIL], None);
    let known_open = baseline(&[OPEN], None);
    let refused = level("core", "refused", &[("X-2", "fail")], &[]);
    let granted = level("extra", "granted", &[], &[]);
    let and_not_run = level("core", "refused", &[("X-2", "fail"), ("X-1", "not-run")], &[]);
    let and_gap = level("core", "refused", &[("X-2", "fail")], &["X-3"]);
    let open = level("core", "undecided", &[("X-2", "inconclusive")], &[]);
    let nothing_shown = level("core", "undecided", &[], &[]);
    let (once, none_granted) = ("no new failures: 1 case passed", "not granted because of known failures: p core");
    all_conclude(&[
        (&[PASS, FAIL], json!({ "baseline": known }), 0, &format!("{once}, 1 known failure")),
        (
            &[PASS, FAIL, FAIL_TOO],
            json!({ "baseline": baseline(&[FAIL, FAIL_TOO], None) }),
            0,
            &format!("{once}, 2 known failures"),
        ),
        (&[PASS, OPEN], json!({ "baseline": known_open }), 0, &format!("{once}, 1 known failure")),
        (
            &[PASS, FAIL],
            json!({ "baseline": known, "asked": core, "levels": [refused] }),
            0,
            &format!("{once}, 1 known failure; {none_granted}"),
        ),
        (
            &[PASS, OPEN],
            json!({ "baseline": known_open, "asked": core, "levels": [open] }),
            0,
            &format!("{once}, 1 known failure; {none_granted}"),
        ),
        (
            &[PASS, FAIL],
            json!({ "baseline": known, "asked": { "levels": ["core", "extra"] }, "levels": [refused, granted] }),
            0,
            &format!("{once}, extra granted, 1 known failure; {none_granted}"),
        ),
        (
            &[PASS, FAIL],
            json!({ "baseline": known, "asked": { "shard": "1/2" } }),
            0,
            "no new failures as far as shard 1/2 goes: 1 case passed, 1 known failure; it decides no level",
        ),
        (&[PASS, FAIL, FAIL_TOO], json!({ "baseline": known }), 1, "not conformant: 1 new failure, 1 known failure"),
        (
            &[PASS, FAIL, FAIL_TOO],
            json!({ "baseline": known, "asked": core, "levels": [refused] }),
            1,
            "not conformant: 1 new failure, 1 known failure",
        ),
        (&[PASS, FAIL, OPEN], json!({ "baseline": known }), 3, "undecided: 1 case was inconclusive"),
        // The level is refused for a known failure, and another case of the same requirement decided nothing.
        (
            &[PASS, FAIL, ERROR],
            json!({ "baseline": known, "asked": core, "levels": [refused] }),
            3,
            "undecided: 1 case was inconclusive",
        ),
        // Something else stands in the way of the level as well.
        (
            &[PASS, FAIL],
            json!({ "baseline": known, "asked": core, "levels": [and_not_run] }),
            3,
            "undecided: p core could not be granted",
        ),
        (
            &[PASS, FAIL],
            json!({ "baseline": known, "asked": core, "levels": [and_gap] }),
            3,
            "undecided: p core could not be granted",
        ),
        (
            &[PASS, FAIL],
            json!({ "baseline": known, "asked": core, "levels": [nothing_shown] }),
            3,
            "undecided: p core could not be granted",
        ),
    ]);
}

#[test]
fn a_baseline_that_no_longer_holds_ends_a_run_with_1() {
    // An entry for a case that passes by now.
    let mended = (PASS.0, "fail", "X-1", "500");
    let must_run = |expected: &[&str]| {
        let mut baseline = baseline(&[], None);
        baseline["expected_not_run"] = json!(expected);
        baseline
    };
    let update = "`proofmark baseline update` removes what no longer fails";
    let unlisted = "not listed under `expected-not-run` in known.yaml";
    all_conclude(&[
        (
            &[PASS],
            json!({ "baseline": baseline(&[mended], None) }),
            1,
            &format!("1 stale entry in known.yaml: {update}"),
        ),
        (
            &[PASS, FAIL],
            json!({ "baseline": baseline(&[mended, FAIL], None) }),
            1,
            &format!("1 stale entry in known.yaml: {update}, 1 known failure"),
        ),
        (&[PASS], json!({ "baseline": baseline(&[mended], Some("2026-11-19")) }), 1, "1 entry of known.yaml expired"),
        (
            &[PASS, FAIL],
            json!({ "baseline": baseline(&[FAIL], Some("2026-11-19")) }),
            1,
            "not conformant: 1 new failure; 1 entry of known.yaml expired",
        ),
        (
            &[PASS, FAIL],
            json!({ "baseline": baseline(&[FAIL], Some("2026-11-20")) }),
            0,
            "no new failures: 1 case passed, 1 known failure",
        ),
        (&[PASS, NOT_RUN], json!({ "baseline": must_run(&[]) }), 1, &format!("1 case did not run and is {unlisted}")),
        (
            &[PASS, NOT_RUN, NOT_RUN_TOO, OPEN],
            json!({ "baseline": must_run(&[]) }),
            1,
            &format!("2 cases did not run and are {unlisted}"),
        ),
        (&[PASS, NOT_RUN], json!({ "baseline": must_run(&[NOT_RUN.0]) }), 0, "conformant: 1 case passed"),
    ]);
}

#[test]
fn the_totals_count_every_case_by_its_verdict() {
    let all = [PASS, PASS_TOO, WARN, FAIL, FAIL_TOO, OPEN, OPEN_ADVICE, ERROR, NOT_RUN];
    let totals = concluded(&all, &json!({})).summary.cases;
    assert_eq!(totals.rows().map(|(_, count)| count), [2, 1, 2, 2, 1, 1]);
}

#[test]
fn what_to_do_about_a_run_that_was_cut_short_is_kept_apart_from_the_reason() {
    let summary =
        concluded(&[PASS], &json!({ "cut_short": "the port is closed\nNothing listens.\nStart it." })).summary;
    assert_eq!(summary.cut_short.as_deref(), Some("the port is closed"));
    assert_eq!(summary.advice, ["Nothing listens.", "Start it."]);
    assert_eq!(summary.conclusion, "undecided: the run was cut short: the port is closed");
}
