//! JUnit XML: a suite for each suite file, a test for each case.
//!
//! `fail` is a failure; `inconclusive` and `error` are errors, because they do not decide about the target; `warn` is a
//! success with an explanation in its output; `not-run` is skipped with its reason.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use chrono::DateTime;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::{baseline, cause, printable, view};
use crate::record::{CaseRecord, KnownFailure, ProtocolRecord, RunRecord};
use crate::verdict::{NotRun, Verdict};

/// Characters of one value in a message or text.
const VALUE_LENGTH: usize = 4096;

/// Writes `record` as JUnit XML.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let mut report = Report::new("proofmark");
    let started = DateTime::parse_from_rfc3339(&record.started_at).ok();
    if let Some(started) = started {
        report.set_timestamp(started);
    }
    report.set_time(Duration::from_millis(record.summary.elapsed_ms));
    let known = baseline::known(record);
    for protocol in &record.protocols {
        for (name, cases) in by_suite(protocol) {
            let mut suite = TestSuite::new(safe(name).as_ref());
            suite.add_properties(run_properties(record, protocol));
            if let Some(started) = started {
                suite.set_timestamp(started);
            }
            suite.set_time(Duration::from_millis(cases.iter().map(|case| case.elapsed_ms).sum()));
            suite.add_test_cases(cases.into_iter().map(|case| test_case(case, known_failure(record, &known, case))));
            report.add_test_suite(suite);
        }
    }
    let text = report.to_string().map_err(io::Error::other)?;
    out.write_all(text.trim_end().as_bytes())?;
    out.write_all(b"\n")
}

/// Cases by suite, suites in the order in which the plan first names them.
fn by_suite(protocol: &ProtocolRecord) -> Vec<(&str, Vec<&CaseRecord>)> {
    let mut suites: Vec<(&str, Vec<&CaseRecord>)> = Vec::new();
    for case in protocol.cases.iter().filter(|case| !view::is_not_selected(case)) {
        let name = match view::split_id(&case.id).0 {
            "" => protocol.protocol.as_str(),
            name => name,
        };
        match suites.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cases)) => cases.push(case),
            None => suites.push((name, vec![case])),
        }
    }
    suites
}

fn run_properties(record: &RunRecord, protocol: &ProtocolRecord) -> Vec<Property> {
    let mut properties = vec![
        property("proofmark.version", &record.proofmark),
        property("proofmark.seed", &record.seed.to_string()),
        property("proofmark.profile", record.profile.word()),
        property("proofmark.protocol", &protocol.protocol),
        property("proofmark.spec", &protocol.spec),
        property("proofmark.suite-hash", &protocol.suite_hash),
        property("proofmark.target", &record.target.name),
        property("proofmark.target-kind", record.target.kind.name()),
        property("proofmark.conclusion", &record.summary.conclusion),
    ];
    let not_selected = protocol.cases.iter().filter(|case| view::is_not_selected(case)).count();
    if not_selected > 0 {
        properties.push(property("proofmark.not-selected", &not_selected.to_string()));
    }
    if !record.summary.advice.is_empty() {
        properties.push(property("proofmark.advice", &record.summary.advice.join("; ")));
    }
    for level in &protocol.levels {
        properties.push(property(&format!("level.{}", level.level), &view::outcome_words(level)));
    }
    properties
}

/// The entry of the baseline that lists a case, if each of its causes is known.
fn known_failure<'r>(record: &'r RunRecord, known: &BTreeSet<&str>, case: &CaseRecord) -> Option<&'r KnownFailure> {
    let is_known = matches!(case.verdict, Verdict::Fail | Verdict::Inconclusive) && known.contains(case.id.as_str());
    if is_known { baseline::entry_of(record, &case.id) } else { None }
}

fn test_case(case: &CaseRecord, known: Option<&KnownFailure>) -> TestCase {
    let (suite, name) = view::split_id(&case.id);
    let status = match case.verdict {
        Verdict::Pass | Verdict::Warn => TestCaseStatus::success(),
        // A CI system fails a build for each failure, whatever the exit code is.
        Verdict::Fail | Verdict::Inconclusive if let Some(entry) = known => {
            let mut status = TestCaseStatus::skipped();
            status.set_type("known-failure");
            status.set_message(format!("known failure: {}", value(&baseline::described(entry))));
            status
        }
        Verdict::Fail => non_success(NonSuccessKind::Failure, case),
        Verdict::Inconclusive | Verdict::Error => non_success(NonSuccessKind::Error, case),
        Verdict::NotRun => {
            let mut status = TestCaseStatus::skipped();
            let reason = case.reason.map_or("not-run", NotRun::word);
            status.set_type(reason);
            status.set_message(match case.because.as_str() {
                "" => reason.to_owned(),
                because => format!("{reason}: {}", value(because)),
            });
            status
        }
    };
    let mut test = TestCase::new(safe(name).as_ref(), status);
    test.set_classname(safe(suite).as_ref());
    test.set_time(Duration::from_millis(case.elapsed_ms));
    for id in &case.covers {
        test.add_property(property("requirement", id));
    }
    test.add_property(property("transport", case.transport.name()));
    test.add_property(property("verdict", case.verdict.word()));
    test.add_property(property("at", &case.at));
    if case.verdict == Verdict::Warn {
        test.set_system_out(description(case));
    }
    test
}

fn non_success(kind: NonSuccessKind, case: &CaseRecord) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(case.verdict.word());
    let worst = case.findings.iter().max_by_key(|finding| finding.verdict);
    status.set_message(match worst {
        Some(f) if case.because.is_empty() => {
            format!("{}: {}", safe(&f.requirement), printable::short(&cause::sentence(case, f), 1000))
        }
        _ => value(&case.because),
    });
    status.set_description(description(case));
    status
}

/// All information that is needed in a CI log to understand and repeat the case.
fn description(case: &CaseRecord) -> String {
    let mut text = String::from("\n");
    let mut say = |label: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label:12}{value}");
    };
    if !case.because.is_empty() {
        say("because", &value(&case.because));
    }
    for finding in &case.findings {
        say("requirement", &format!("{} ({})", value(&finding.requirement), finding.verdict));
        say("expected", &value(&finding.expected));
        say("observed", &value(&finding.observed));
        say("path", &value(&finding.path));
        if !finding.note.is_empty() {
            say("note", &value(&finding.note));
        }
        say("defined at", &value(&finding.at));
    }
    for edit in &case.edits {
        say("edited", &value(&edit.edit));
    }
    for exchange in case.exchanges.iter().take(50) {
        let (request, answer) = (view::request_line(exchange), view::answer_line(exchange));
        say("exchange", &format!("{request} -> {answer}"));
        if let Some(text) = view::refusal_text(exchange) {
            say("", &text);
        }
    }
    if case.exchanges.len() > 50 {
        say("", &format!("and {} more exchanges", case.exchanges.len() - 50));
    }
    say("replay", &safe(&case.replay));
    text
}

fn property(name: &str, text: &str) -> Property {
    Property::new(safe(name).as_ref(), value(text))
}

fn value(text: &str) -> String {
    printable::short(text, VALUE_LENGTH)
}

/// `text` without characters that XML forbids; `printable` also removes others, for the terminals that show CI logs.
fn safe(text: &str) -> Cow<'_, str> {
    printable::line(text)
}
