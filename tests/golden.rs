//! Every report format for a real run against the reference implementation, compared with `reports/reference/`; and checks of
//! what no report may contain, with a hand-written record.
//!
//! `INSTA_UPDATE=always cargo test --test golden` writes the files under `reports/reference/`; review them like code.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use proofmark::protocol::report_formats;
use proofmark::record::{CaseRecord, RunRecord};
use proofmark::report::{self, files, printable, text};
use proofmark::verdict::{Grant, Verdict};
use regex::Regex;
use serde_json::Value;

#[path = "golden/record.rs"]
mod record;

fn written(name: &str, record: &RunRecord) -> String {
    let mut out = Vec::new();
    let format = report_formats().into_iter().find(|format| format.name == name).expect("a format of that name");
    (format.write)(record, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("UTF-8")
}

/// Runs the cases of `golden/golden.yaml`, or the vectors of amp-core, and returns the record with varying values normalised.
fn run(protocol: &str, words: &[&str]) -> RunRecord {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("suites").join(protocol)).expect("a folder");
    for name in ["protocol.yaml", "requirements.yaml", "errata.md"] {
        let from = root.join("suites").join(protocol).join(name);
        std::fs::copy(from, at("suites").join(protocol).join(name)).expect(name);
    }
    if protocol == "agentic" {
        std::fs::create_dir_all(at("vectors/agentic")).expect("a folder");
        std::fs::copy(root.join("tests/golden/golden.yaml"), at("suites/agentic/golden.yaml")).expect("the cases");
    } else {
        // The report of this protocol covers only vectors.
        for entry in std::fs::read_dir(root.join("vectors").join(protocol)).expect("the vectors").flatten() {
            std::fs::create_dir_all(at("vectors").join(protocol)).expect("a folder");
            std::fs::copy(entry.path(), at("vectors").join(protocol).join(entry.file_name())).expect("a copy");
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--reference", "--protocol", protocol, "--seed", "7", "--jobs", "1", "--quiet"])
        .args(["--suites", "suites", "--vectors", "vectors", "--out", "out"])
        .args(words)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let mut record =
        report::evidence::read(&at("out/report.json")).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    // A time of 0 is left out, and some cases take less than a millisecond on a fast machine.
    let cases = record.protocols.iter_mut().flat_map(|protocol| &mut protocol.cases);
    for case in cases.filter(|case| !case.exchanges.is_empty()) {
        case.started_ms = case.started_ms.max(1);
        case.elapsed_ms = case.elapsed_ms.max(1);
        if !case.twin.is_empty() {
            case.twin_started_ms = case.twin_started_ms.max(1);
        }
    }
    let mut record = serde_json::to_value(record).expect("JSON");
    for protocol in record["protocols"].as_array_mut().into_iter().flatten() {
        // The results of feature probes, and requirements without a case, fill pages.
        for feature in protocol["features"].as_array_mut().into_iter().flatten() {
            feature["exchanges"] = Value::Array(Vec::new());
        }
        let covered = |requirement: &Value| requirement["cases"].as_array().is_some_and(|cases| !cases.is_empty());
        protocol["requirements"].as_array_mut().expect("requirements").retain(covered);
    }
    normalise(&mut record);
    report::json::read(record.to_string().as_bytes()).expect("a record")
}

/// Patterns of values that vary between runs, each with a constant that replaces it.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let varying = [
        (r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT", "Fri, 20 Nov 2026 12:00:00 GMT"),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", "2026-11-20T12:00:00.000Z"),
        // The same in hex.
        (
            r"(3\d){4}2d(3\d){2}2d(3\d){2}54(3\d){2}3a(3\d){2}3a(3\d){2}(2e(3\d)+)?5a",
            "323032362d31312d32305431323a30303a30302e3030305a",
        ),
        // Digests of what holds a time.
        (r"\b[0-9a-f]{64}\b", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        // Numbers of calls and stores: probes that wait make more calls on a slow machine.
        (r#""jsonrpc":"2\.0","id":\d+"#, r#""jsonrpc":"2.0","id":7"#),
        (r"\bstore-\d+\b", "store-1"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:8787"),
        (r"\d+ ms\b", "5 ms"),
    ];
    varying.map(|(pattern, constant)| (Regex::new(pattern).expect("a pattern"), constant)).into()
});

/// Replaces times, and values that depend on them or on the machine, by constants.
fn normalise(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name.ends_with("_ms") && value.is_u64() {
                    *value = 5.into();
                } else {
                    normalise(value);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(normalise),
        Value::String(text) => {
            for (pattern, constant) in VARYING.iter() {
                *text = pattern.replace_all(text, *constant).into_owned();
            }
        }
        _ => {}
    }
}

#[test]
fn every_format_shows_a_real_run_as_before() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../reports/reference");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    let agentic = run("agentic", &["--fault", "title-empty-accepted"]);
    let verdicts: Vec<&str> = agentic.protocols[0].cases.iter().map(|case| case.verdict.word()).collect();
    for verdict in ["pass", "fail", "warn", "inconclusive"] {
        assert!(verdicts.contains(&verdict), "no case ends with {verdict}: {verdicts:?}");
    }
    let amp_core = run("amp-core", &["--fault", "verify-skipped"]);
    for format in report_formats() {
        // The report of one protocol is empty for all others.
        let record = if format.file_name == "interop-report.json" { &amp_core } else { &agentic };
        insta::assert_snapshot!(format.file_name, written(format.name, record));
    }
}

#[test]
fn no_format_lets_a_hidden_character_through() {
    let large = record::large_record();
    for format in report_formats() {
        let mut texts = vec![written(format.name, &record::record())];
        // The whole record is large by design, and writes every string alike.
        if format.name != "json" {
            texts.push(written(format.name, &large));
        }
        for text in texts {
            let hidden = text.chars().find(|&c| c != '\n' && c != '\t' && printable::is_hidden(c));
            assert_eq!(hidden, None, "in {}", format.name);
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{}", format.name);
        }
    }
}

#[test]
fn every_report_says_what_a_grant_leaves_out_and_why_a_level_is_undecided() {
    let record = record::record();
    for format in report_formats() {
        let text = written(format.name, &record).split_whitespace().collect::<Vec<_>>().join(" ");
        match format.name {
            "interop" | "sarif" => {}
            "badge-svg" | "badge-json" => assert!(text.contains("(waived: 2)"), "{text}"),
            "json" => assert!(text.contains(r#""outcome":"granted-waived""#)),
            name => assert!(text.contains("granted, 2 waived"), "{name}: {text}"),
        }
        if ["text", "html", "markdown"].contains(&format.name) {
            for words in
                ["AGENTIC-7-01", "set `routes` in the target file", "31 held, 1 not exercised", "2 not observable"]
            {
                let found = text.contains(words) || text.contains(&words.replace('`', "&#96;"));
                assert!(found || text.replace('\\', "").contains(words), "{}: {words}: {text}", format.name);
            }
        }
    }
}

/// A vector of amp-core with two cases, the first of which passes.
#[test]
fn the_evidence_for_a_failed_vector_is_a_case_that_failed() {
    let mut record = record::record();
    let protocol = &mut record.protocols[0];
    protocol.protocol = "amp-core".to_owned();
    let mut cases: Vec<CaseRecord> = protocol.cases.iter().take(2).cloned().collect();
    for (case, (id, verdict)) in cases.iter_mut().zip([("builds", Verdict::Pass), ("signs", Verdict::Fail)]) {
        case.id = format!("amp-core/published#{id}");
        case.outcomes = [("AMP-A.4-03".to_owned(), verdict)].into();
    }
    let mut requirement = protocol.requirements[0].clone();
    requirement.id = "AMP-A.4-03".to_owned();
    requirement.section = "A.4".to_owned();
    requirement.verdict = Verdict::Fail;
    requirement.cases = cases.iter().map(|case| case.id.clone()).collect();
    (protocol.cases, protocol.requirements) = (cases, vec![requirement]);
    let report: Value = serde_json::from_str(&written("interop", &record)).expect("JSON");
    let entry = &report["results"][0];
    assert_eq!((&entry["vector_id"], &entry["status"]), (&"001:A.4".into(), &"fail".into()), "{entry}");
    assert_eq!(entry["evidence_ref"], "amp-core/published#signs");
}

#[test]
fn no_markup_of_a_target_survives() {
    for record in [record::record(), record::large_record()] {
        let html = written("html", &record);
        let junit = written("junit", &record);
        for (name, text) in [("html", &html), ("junit", &junit)] {
            assert!(!text.contains("<img") && !text.contains("<!-- {{"), "{name}");
            assert_eq!(text.matches("]]>").count(), 0, "{name}");
        }
        assert_eq!(html.matches("</script>").count(), 1);
        assert_eq!(html.matches("<script").count(), 1);
        assert!(!html.contains(" style=") && !html.contains("src=\"") && !html.contains("http-equiv=\"refresh"));
    }
}

#[test]
fn only_the_script_and_style_of_the_page_itself_may_act() {
    use sha2::Digest as _;
    let html = written("html", &record::record());
    for tag in ["script", "style"] {
        let (_, rest) = html.split_once(&format!("<{tag}>")).expect("one of them");
        let (text, _) = rest.split_once(&format!("</{tag}>")).expect("its end");
        let hash = data_encoding::BASE64.encode(&sha2::Sha256::digest(text));
        assert!(html.contains(&format!("{tag}-src 'sha256-{hash}';")), "{tag}");
    }
    assert!(html.contains("content=\"default-src 'none'; ") && !html.contains("unsafe-inline"));
}

#[test]
fn markdown_shows_a_target_only_as_code() {
    let text = written("markdown", &record::record());
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && line.ends_with("text") => fence = Some(ticks),
            None => {
                let outside = without_code_spans(line);
                let own = ["<code>", "</code>", "<br>", "<details>", "</details>", "<summary>", "</summary>"];
                let outside = own.iter().fold(outside, |line, tag| line.replace(tag, ""));
                assert!(!outside.contains(['<', '>', '@']) && !outside.contains("]("), "{line}");
            }
        }
    }
    assert_eq!(fence, None, "a fence is left open");
}

/// `line` without its code spans, as CommonMark finds them: a run of backticks closes at the next run of its length.
fn without_code_spans(line: &str) -> String {
    let mut outside = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        let run = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let after = &rest[start + run..];
        let mut at = 0;
        let mut close = None;
        while let Some(next) = after[at..].find('`') {
            let from = at + next;
            let length = after[from..].len() - after[from..].trim_start_matches('`').len();
            if length == run {
                close = Some(from + length);
                break;
            }
            at = from + length;
        }
        rest = &after[close.expect("a code span that closes on its line")..];
    }
    outside + rest
}

#[test]
fn markdown_tables_keep_their_columns_and_rows() {
    let text = written("markdown", &record::record());
    let mut columns = None;
    let mut violations = 0;
    for line in text.lines() {
        if !line.starts_with('|') {
            columns = None;
            continue;
        }
        let pipes = line.matches('|').count();
        assert_eq!(*columns.get_or_insert(pipes), pipes, "{line}");
        violations += usize::from(line.starts_with("| `AGENTIC-"));
    }
    // Seven rows of one requirement and one of another.
    assert_eq!(violations, 8);
}

#[test]
fn markdown_stays_below_the_limit_of_a_job_summary() {
    let mut record = record::large_record();
    let cases = record::record().protocols.remove(0).cases;
    for round in 0..300 {
        let renamed = |case: &CaseRecord| CaseRecord { id: format!("{}+{round}", case.id), ..case.clone() };
        record.protocols[0].cases.extend(cases.iter().map(renamed));
    }
    let text = written("markdown", &record);
    assert!(text.len() < 900_000, "{} bytes", text.len());
    assert!(text.contains("## Totals"));
}

#[test]
fn junit_is_xml_with_the_right_counts() {
    let record = record::record();
    let text = written("junit", &record);
    let read = quick_junit::Report::deserialize_from_str(&text).expect("well-formed JUnit");
    let cases = &record.summary.cases;
    assert_eq!(read.tests as u64, record.protocols[0].cases.len() as u64);
    assert_eq!(read.failures as u64, cases.fail);
    assert_eq!(read.errors as u64, cases.error + cases.inconclusive);
    assert!(text.contains(r#"<property name="requirement" value="AGENTIC-6.1-01"/>"#));
}

#[test]
fn no_line_of_the_summary_is_wider_than_the_terminal() {
    for width in [80, 120] {
        for verbose in [false, true] {
            let mut out = Vec::new();
            let style = text::TerminalStyle { colour: false, width, verbose };
            text::write_terminal(&record::large_record(), &mut out, &style).expect("writing to memory");
            for line in String::from_utf8(out).expect("UTF-8").lines() {
                let copied = ["target ", "replay ", "request ", "agentic/"];
                if !copied.iter().any(|label| line.trim_start().starts_with(label)) {
                    assert!(printable::width(line) <= width, "{width}: {line}");
                }
            }
        }
    }
}

#[test]
fn colour_does_not_change_the_text() {
    let mut out = Vec::new();
    let style = text::TerminalStyle { colour: true, ..text::TerminalStyle::default() };
    text::write_terminal(&record::record(), &mut out, &style).expect("writing to memory");
    let coloured = String::from_utf8(out).expect("UTF-8");
    assert!(coloured.contains("\u{1b}["));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), written("text", &record::record()));
}

#[test]
fn a_record_round_trips() {
    let record = record::record();
    let text = written("json", &record);
    assert_eq!(proofmark::report::json::read(text.as_bytes()).expect("a record"), record);
}

#[test]
fn a_large_page_stays_usable() {
    let html = written("html", &record::large_record());
    assert!(html.len() < 12_000_000, "{} bytes", html.len());
    assert!(html.contains("Omitted to keep this page small"));
    assert!(html.contains("/last: "), "the mismatched member beyond the cut is shown");
}

#[test]
fn report_files_are_replaced_whole_or_not_at_all() {
    let dir = tempfile::tempdir().expect("a directory");
    let nested = dir.path().join("a/b");
    let targets: Vec<_> = report_formats().into_iter().map(|format| (format, nested.join(format.file_name))).collect();
    let record = record::record();
    let paths = files::write_all(&record, &targets).expect("all formats");
    assert_eq!(paths.len(), report_formats().len());
    let entries = || std::fs::read_dir(&nested).expect("the directory").count();
    let files = report_formats().len() + 1; // the evidence beside the record
    assert_eq!(entries(), files, "no temporary file stays");

    let mut broken = targets.clone();
    broken[1].0.write = |_, out| {
        out.write_all(b"<html>")?;
        Err(std::io::Error::other("the disk is full"))
    };
    let error = files::write_all(&record, &broken).expect_err("the second format fails");
    assert_eq!(error.path, paths[1]);
    let message = format!("{:#}", anyhow::Error::from(error));
    assert!(message.ends_with("report.html: the disk is full"), "{message}");
    assert_eq!(entries(), 0, "neither old nor half-written reports are left");

    files::write_all(&record, &targets).expect("all formats");
    let removed = files::remove_old(&nested, &report_formats()).expect("removable");
    assert_eq!((removed.len(), &removed[0]), (files, &paths[0]));
    assert_eq!(entries(), 0, "the evidence stays");
    assert_eq!(files::remove_old(&nested, &report_formats()).expect("nothing to do").len(), 0);
    assert!(files::remove(&nested).is_err(), "a directory is never removed");
}

#[test]
fn sarif_has_a_rule_and_a_place_for_each_violation() {
    let record = record::record();
    let log: Value = serde_json::from_str(&written("sarif", &record)).expect("JSON");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let results = run["results"].as_array().expect("results");
    let findings = record.protocols[0].cases.iter().flat_map(|case| &case.findings);
    let violations: Vec<_> =
        findings.filter(|finding| matches!(finding.verdict, Verdict::Fail | Verdict::Warn)).collect();
    assert_eq!(results.len(), violations.len());
    for (result, finding) in results.iter().zip(violations) {
        let at = result["ruleIndex"].as_u64().and_then(|at| usize::try_from(at).ok()).expect("a number");
        assert_eq!(rules[at]["id"], result["ruleId"]);
        assert_eq!(result["ruleId"], finding.requirement.as_str());
        assert_eq!(result["level"], if finding.verdict == Verdict::Fail { "error" } else { "warning" });
        let place = &result["locations"][0]["physicalLocation"];
        let (line, column) = (&place["region"]["startLine"], &place["region"]["startColumn"]);
        let at = format!("{}:{line}:{column}", place["artifactLocation"]["uri"].as_str().expect("a file"));
        assert_eq!(at, finding.at);
    }
    let ids: std::collections::BTreeSet<_> = rules.iter().map(|rule| rule["id"].as_str()).collect();
    assert_eq!(ids.len(), rules.len(), "a rule twice");
}

#[test]
fn a_badge_names_only_what_is_granted() {
    let mut record = record::record();
    let message = |record: &RunRecord| -> (Value, Value) {
        let badge: Value = serde_json::from_str(&written("badge-json", record)).expect("JSON");
        let svg = written("badge-svg", record);
        assert!(svg.contains(&format!(">{}</text>", badge["message"].as_str().expect("a text"))), "{svg}");
        (badge["message"].clone(), badge["color"].clone())
    };
    record.summary.exit_code = 0;
    for (outcomes, words, colour) in [
        ([Grant::Granted, Grant::Granted], "L0 L1", "brightgreen"),
        ([Grant::Granted, Grant::Refused], "L0", "red"),
        ([Grant::Granted, Grant::Undecided], "L0", "lightgrey"),
        ([Grant::Refused, Grant::Refused], "no level", "red"),
    ] {
        let levels = &mut record.protocols[0].levels;
        levels.truncate(2);
        for ((level, outcome), name) in levels.iter_mut().zip(outcomes).zip(["L0", "L1"]) {
            (level.outcome, level.claimed, level.level) = (outcome, true, name.to_owned());
        }
        assert_eq!(message(&record), (words.into(), colour.into()));
    }
}

#[test]
fn a_page_of_ten_thousand_cases_stays_small_and_loses_none() {
    let record = record::long_record(10_000);
    let html = written("html", &record);
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    let anchors: BTreeSet<&str> = html.split(" id=\"case-").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(anchors.len(), 10_000, "each case has one place on the page");
    assert_eq!(
        html.matches("<details class=\"case ").count(),
        400,
        "200 that failed and 200 that passed are shown whole"
    );
    // A line says why a case failed, and a requirement of many cases says how many it does not link.
    assert!(html.contains("expected the thing at ") && html.contains("observed another</p>"));
    assert!(html.contains("more; search the cases below for"));
}

#[test]
fn of_ten_thousand_inconclusive_cases_a_page_names_some_and_counts_all() {
    let mut record = record::long_record(10_000);
    for case in &mut record.protocols[0].cases {
        (case.verdict, case.because) = (Verdict::Inconclusive, "the target cannot do that".to_owned());
        case.findings.clear();
    }
    let html = written("html", &record);
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    assert!(html.contains("<span class=\"meta\">10000 cases to review</span>"));
    assert_eq!(html.matches(" id=\"case-").count(), 1_500);
    assert!(
        html.contains(" more, named in <code>report.json</code>")
            || html.contains(" cases, named in <code>report.json</code>")
    );
}

#[test]
fn a_summary_of_hundreds_of_failures_stays_readable_and_says_what_each_requirement_demands() {
    let record = record::long_record(10_000);
    let page = written("markdown", &record);
    let (_, table) = page.split_once("## Violations").expect("a table of violations");
    let rows: Vec<&str> = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1).collect();
    let rows: Vec<&str> = rows.into_iter().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 100);
    let demand = &record.protocols[0].requirements[0].summary;
    assert!(!demand.is_empty() && rows[0].contains("<br>"), "{}", rows[0]);
    assert!(table.contains(" more rows are in `report.html`"));
}
