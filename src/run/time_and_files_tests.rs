//! Whole runs against a target that shares a tree of files: the test clock, times of the protocol, sweeps of one case.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::*;
use crate::exchange::{TargetClass, Transport, TreeAction};
use crate::judge;
use crate::plan::{Knowledge, Selection, build};
use crate::protocol::{Input, ObservationContext, Operation, Protocol, TreePlan, base_view};
use crate::record::ProtocolRecord;
use crate::source::Source;
use crate::target::{Target, TreeRoot};
use crate::template::{Clock, format_time, parse_time};
use crate::transport::Connections;
use crate::value::Value;
use crate::verdict::{NotRun, Profile, Verdict};
use crate::walk::Features;
use crate::wire::json;

/// A protocol of which every message is a file.
struct Files;

const fn input(name: &'static str) -> Input {
    Input { name, required: true, default: None }
}

const fn operation(
    name: &'static str,
    inputs: &'static [Input],
    tree: TreePlan,
    accepted: &'static [(u16, u16)],
) -> Operation {
    Operation {
        name,
        summary: "A test operation.",
        level: "",
        inputs,
        route: None,
        channel: None,
        tree: Some(tree),
        method: None,
        accepted,
    }
}

const fn plan(action: TreeAction, path: &'static str, content: Option<&'static str>) -> TreePlan {
    TreePlan { action, path, content, author: None }
}

static OPERATIONS: [Operation; 4] = [
    operation(
        "put",
        &[input("id"), input("message")],
        plan(TreeAction::Write, "in/{id}.json", Some("message")),
        &[(201, 201)],
    ),
    operation("get", &[input("id")], plan(TreeAction::Await, "out/{id}.json", None), &[(200, 200)]),
    operation("peek", &[input("id")], plan(TreeAction::Read, "out/{id}.json", None), &[(200, 200)]),
    operation(
        "turn-clock",
        &[input("name"), input("by")],
        plan(TreeAction::Write, "clock/{name}", Some("by")),
        &[(201, 201)],
    ),
];

impl Protocol for Files {
    fn slug(&self) -> &'static str {
        "files"
    }

    fn operations(&self) -> &'static [Operation] {
        &OPERATIONS
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tree]
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        base_view(exchange, context.target, context.clock)
    }

    fn emitted(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
        let seen = self.observe(exchange, context);
        let files = seen.member("files").cloned();
        let Some(Value::Array(files)) = files else { return Vec::new() };
        files.iter().filter_map(|file| file.member("json").cloned()).collect()
    }
}

const CATALOGUE: &str = "
protocol: files
spec: Files
requirements:
  - { id: FILES-1, section: '1', keyword: MUST, level: core, role: server, summary: s, testable: both }
";

const MANIFEST: &str = "
protocol: files
levels: [{ name: core, about: everything }]
target-kinds: [{ kind: endpoint, reached-over: [tree], levels: [core], about: A program with a tree. }]
claims: { default: core }
features:
  - feature: answers
    about: It answers.
    if-missing: not-claimed
    probe:
      - { send: put, with: { id: probe, message: { at: '${time}' } } }
      - { send: get, with: { id: probe } }
    offered: [{ at: /status, equals: 200 }]
timeouts:
  patience: { default: 50ms, about: How long an answer may take. }
clock:
  - needs: [NEEDED]
    step: { send: turn-clock, with: { name: '${word}', by: '${advance_ms}' } }
";

const CASES: &str = "
suite: files/all
cases:
  - case: keeps-time
    covers: [FILES-1]
    for-each: [{ row: first }, { row: second }]
    let: { x: 'x_${word}', y: 'y_${word}' }
    steps:
      - { send: put, with: { id: '${x}', message: { at: '${time}' } } }
      - send: get
        with: { id: '${x}' }
        expect: [{ at: /files/0/json/fresh, equals: true }]
      - { advance: 31m }
      - { send: put, with: { id: '${y}', message: { at: '${time}' } } }
      - send: get
        with: { id: '${y}' }
        expect:
          - { at: /files/0/json/fresh, equals: true }
          - { at: /files/0/json/now, time: { form: rfc3339, from: '${answer/span/from}', to: '${answer/span/to}' } }
  - case: has-the-time-of-the-run
    covers: [FILES-1]
    let: { x: 'x_${word}' }
    steps:
      - { send: put, with: { id: '${x}', message: { at: '${time}', n: 9 } } }
      - send: get
        with: { id: '${x}' }
        expect: [{ at: /files/0/json/fresh, equals: true }]
  - case: answers-a-slow-message-in-time
    covers: [FILES-1]
    let: { x: 'x_${word}' }
    steps:
      - { send: put, with: { id: '${x}', message: { at: '${time}', delay_ms: 600, limit: '${timeouts/patience}' } } }
      - send: peek
        with: { id: '${x}' }
        until: patience
        expect: [{ at: /files, length: 1 }]
  - case: sends-small-numbers-in-a-case
    covers: [FILES-1]
    let: { x: 'x_${word}', y: 'y_${word}' }
    steps:
      - { send: put, with: { id: '${x}', message: { at: '${time}', n: 1 } } }
      - { send: get, with: { id: '${x}' }, capture: { first: /files/0/json/id } }
      - { send: put, with: { id: '${y}', message: { at: '${time}', n: 2 } } }
      - { send: get, with: { id: '${y}' } }
      - sweep: true
        assume: [{ at: /id, not-equals: '${y}' }]
        expect: [{ at: /id, equals: '${first}' }, { at: /n, within: { max: 5 } }]
  - case: sends-a-large-number-in-a-case
    covers: [FILES-1]
    let: { x: 'x_${word}' }
    steps:
      - { send: put, with: { id: '${x}', message: { at: '${time}', n: 7 } } }
      - { send: get, with: { id: '${x}' } }
      - sweep: true
        expect: [{ at: /n, within: { max: 5 } }]
  - case: sends-small-numbers-in-the-run
    covers: [FILES-1]
    steps:
      - sweep: true
        assume: [{ at: /n, exists: true }]
        expect: [{ at: /n, within: { max: 8 } }]
";

/// Answers every message until `end` is set: with the time of its clock, and whether the message has that time.
fn answer(root: &Path, end: &AtomicBool) {
    let mut answered: BTreeMap<PathBuf, Instant> = BTreeMap::new();
    let list =
        |name: &str| std::fs::read_dir(root.join(name)).into_iter().flatten().flatten().map(|entry| entry.path());
    while !end.load(Ordering::Relaxed) {
        for path in list("in").filter(|path| path.extension().is_some_and(|end| end == "json")) {
            let Some(message) = std::fs::read(&path).ok().and_then(|bytes| json::parse(&bytes).ok()) else { continue };
            let since = answered.entry(path.clone()).or_insert_with(Instant::now);
            let number = |name: &str| message.member(name).and_then(Value::as_integer);
            let out = root.join("out").join(path.file_name().unwrap());
            let delay = Duration::from_millis(u64::try_from(number("delay_ms").unwrap_or(0)).unwrap());
            if since.elapsed() < delay || out.exists() {
                continue;
            }
            let moved = list("clock").filter_map(|path| std::fs::read_to_string(path).ok()?.parse::<i128>().ok());
            let now = i128::from(chrono::Utc::now().timestamp_millis()) * 1_000_000 + moved.sum::<i128>() * 1_000_000;
            let at = message.member("at").and_then(Value::as_text).and_then(parse_time).unwrap_or(0);
            let mut reply = vec![
                ("id", Value::text(path.file_stem().unwrap().to_str().unwrap())),
                ("now", Value::text(format!("{}Z", format_time(now)))),
                ("fresh", Value::Bool((now - at).abs() < 600_000_000_000)),
            ];
            reply.extend(message.member("n").map(|n| ("n", n.clone())));
            let part = root.join("out/.part");
            std::fs::create_dir_all(root.join("out")).unwrap();
            std::fs::write(&part, json::compact(&Value::map(reply))).unwrap();
            std::fs::rename(&part, &out).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn source(text: &str) -> Arc<Source> {
    Arc::new(Source { name: "text".into(), text: text.to_owned().into() })
}

fn knowledge(manifest: &str) -> Knowledge {
    let manifest = crate::suite::read_manifest(&source(manifest)).unwrap();
    let suite = crate::suite::read_suite(&source(CASES)).unwrap();
    let feature = &manifest.features[0];
    let probe = crate::suite::Case {
        name: feature.name.clone(),
        covers: Vec::new(),
        bindings: Vec::new(),
        steps: feature.steps.clone(),
        ..suite.cases[0].clone()
    };
    Knowledge {
        protocol: &Files,
        catalogue: crate::requirement::load(&source(CATALOGUE)).unwrap(),
        errata: Vec::new(),
        probes: vec![probe],
        manifest,
        suites: vec![suite],
        hash: String::new(),
    }
}

/// The record of a run, and that of the same run judged again from what a record holds.
async fn run(knowledge: &Knowledge) -> (ProtocolRecord, ProtocolRecord) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let end = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&end);
    let target_side = std::thread::spawn(move || answer(&root, &ended));
    let mut target = Target::new(TargetClass::Endpoint, "files");
    target.tree = Some(TreeRoot::new(folder.path()));
    target.timeouts.insert("patience".into(), Duration::from_secs(20));
    let plan = build(knowledge, &target, &Selection::default());
    let facts = Facts {
        seed: 1,
        identity_seed: 1,
        clock: Clock(i128::from(chrono::Utc::now().timestamp_millis()) * 1_000_000),
        profile: Profile::Lenient,
    };
    let connections = Connections::new(&target).unwrap();
    let runner = Runner::new(&connections, &target.limits, Instant::now());
    let (_cancel, cancelled) = watch::channel(false);
    let mut transcript = runner.run_all(&plan, facts, cancelled, &Silent).await;
    end.store(true, Ordering::Relaxed);
    target_side.join().unwrap();
    assert_eq!(transcript.cut_short, None);
    let judged = |transcript: &Transcript| {
        let features = Features::read(&plan, facts, transcript);
        judge::protocol(&Context { plan: &plan, facts, features }, transcript)
    };
    let first = judged(&transcript);
    let again = |exchanges: &mut Vec<Exchange>| {
        *exchanges = serde_json::from_str(&serde_json::to_string(exchanges).unwrap()).unwrap();
    };
    for case in transcript.cases.iter_mut().flatten() {
        again(&mut case.exchanges);
    }
    (first, judged(&transcript))
}

fn verdict<'r>(record: &'r ProtocolRecord, case: &str) -> (Verdict, Option<NotRun>, &'r str) {
    let found = record.cases.iter().find(|found| found.id == format!("files/all#{case}")).unwrap();
    (found.verdict, found.reason, &found.because)
}

#[tokio::test]
async fn a_clock_is_advanced_times_are_overridden_and_a_case_sweeps_its_own_messages() {
    let knowledge = knowledge(&MANIFEST.replace("NEEDED", "answers"));
    let (record, again) = run(&knowledge).await;
    for case in [
        "keeps-time[first]",
        "keeps-time[second]",
        "has-the-time-of-the-run",
        "answers-a-slow-message-in-time",
        "sends-small-numbers-in-a-case",
    ] {
        let found = record.cases.iter().find(|found| found.id.ends_with(case)).unwrap();
        assert_eq!(found.verdict, Verdict::Pass, "{case}: {} {:#?}", found.because, found.findings);
    }
    // The message of this case has too large a number; that of another case belongs to the sweep of the run.
    let failed = record.cases.iter().find(|found| found.id.ends_with("sends-a-large-number-in-a-case")).unwrap();
    assert_eq!(failed.verdict, Verdict::Fail, "{}", failed.because);
    assert_eq!(failed.findings.len(), 1, "{:#?}", failed.findings);
    assert_eq!(failed.findings[0].exchange, Some(1));
    assert_eq!(verdict(&record, "sends-small-numbers-in-the-run").0, Verdict::Fail);
    // The cases that advance the clock ran last, one after the other, and each knew the time of the clock.
    let clocks = |case: &str| {
        let found = record.cases.iter().find(|found| found.id.ends_with(case)).unwrap();
        found.exchanges.iter().map(|exchange| exchange.clock_ms).collect::<Vec<_>>()
    };
    let minutes = 31 * 60_000;
    let (first, second) = (clocks("[first]"), clocks("[second]"));
    let (early, late) = if first[0] == 0 { (first, second) } else { (second, first) };
    assert_eq!(early, [0, 0, 0, minutes, minutes]);
    assert_eq!(late, [minutes, minutes, minutes, 2 * minutes, 2 * minutes]);
    let verdicts = |record: &ProtocolRecord| {
        record.cases.iter().map(|case| (case.id.clone(), case.verdict, case.because.clone())).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&record), verdicts(&again));
}

#[tokio::test]
async fn a_case_that_needs_a_clock_is_not_run_without_one() {
    let knowledge = knowledge(&MANIFEST.replace("needs: [NEEDED]", "runs-on: [adapter]"));
    let (record, again) = run(&knowledge).await;
    let why = "the case advances a test clock, which the target does not have";
    for record in [&record, &again] {
        assert_eq!(verdict(record, "keeps-time[first]"), (Verdict::NotRun, Some(NotRun::Unobservable), why));
        assert_eq!(verdict(record, "has-the-time-of-the-run").0, Verdict::Pass);
    }
}
