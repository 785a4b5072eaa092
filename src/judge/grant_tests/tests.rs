//! What waivers, conditions that never came up, shards and unanswered probes make of levels and of the end of a run.

use super::*;
use crate::bundle::Bundle;
use crate::exchange::{Body, Ended, Exchange, Incoming, Transport, testing};
use crate::plan::{Knowledge, PROBE_STEPS, Selection, build, load};
use crate::record::{Asked, LevelRecord, SCHEMA, Summary, TargetConfig, TargetRecord};
use crate::source::{Source, Span};
use crate::target::{Target, Waiver};
use crate::template::Clock;
use crate::verdict::Profile;
use crate::walk::{Facts, Features};

const MANIFEST: &str = "
protocol: agentic
levels:
  - { name: L0 }
  - { name: L1, includes: [L0] }
  - { name: L2, includes: [L1] }
  - { name: L3, includes: [L2] }
target-kinds:
  - { kind: endpoint, reached-over: [http], levels: [L3] }
  - { kind: library, reached-over: [adapter], levels: [L3] }
claims: { default: [L0] }
features:
  - feature: option
    about: An option.
    if-missing: not-claimed
    hint: Configure it.
    probe: [{ request: { method: GET, path: /option } }]
    missing: [{ at: /status, equals: 404 }]
    offered: [{ at: /status, equals: 200 }]
";

const CATALOGUE: &str = "
protocol: agentic
spec: s
requirements:
  - { id: A-1, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both }
  - { id: A-2, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both }
";

const SUITE: &str = "
suite: agentic/grants
cases:
  - { case: first, covers: [A-1], steps: [{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }] }
  - { case: second, covers: [A-2], steps: [{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }] }
";

/// A case for A-2 that says nothing of an answer without items.
const IF_LISTED: &str = "
suite: agentic/grants
cases:
  - { case: first, covers: [A-1], steps: [{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }] }
  - case: second
    covers: [A-2]
    steps: [{ request: { method: GET, path: / }, expect: [{ at: /body, each: [{ type: string }] }] }]
";

/// A case for both, of which what it says of A-2 says nothing of an answer without items.
const PARTLY_IF_LISTED: &str = "
suite: agentic/grants
cases:
  - { case: first, covers: [A-1], steps: [{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }] }
  - case: second
    covers: [A-1, A-2]
    steps:
      - request: { method: GET, path: / }
        expect:
          - { at: /status, equals: 200, covers: [A-1] }
          - { at: /body, each: [{ type: string }], covers: [A-2] }
";

const OF_THE_OPTION: &str = "
suite: agentic/grants
cases:
  - { case: first, covers: [A-1], steps: [{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }] }
  - case: second
    covers: [A-2]
    needs: [option]
    steps: [{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }]
";

fn knowledge(suite: &str) -> Knowledge {
    knowledge_of(MANIFEST, suite)
}

fn knowledge_of(manifest: &str, suite: &str) -> Knowledge {
    let bundle = Bundle::default()
        .with_file("suites/agentic/protocol.yaml", manifest)
        .with_file("suites/agentic/requirements.yaml", CATALOGUE)
        .with_file("suites/agentic/grants.yaml", suite);
    let protocol = crate::protocol::find("agentic").expect("a protocol");
    load(protocol, &bundle).unwrap_or_else(|error| panic!("{error:?}"))
}

fn target(waivers: &[WaiverSubject]) -> Target {
    let mut target = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"));
    let source = Source { name: "target.yaml".to_owned(), text: String::new().into() }.into();
    let span = Span::file(&source);
    let waiver = |what: &WaiverSubject| Waiver { what: what.clone(), reason: "known".to_owned(), span: span.clone() };
    target.waivers = waivers.iter().map(waiver).collect();
    target
}

/// A request that was answered with `status`, or not at all.
fn exchange(step: usize, status: Option<u16>) -> Exchange {
    let ended = if status.is_some() { Ended::Complete } else { Ended::TimedOut };
    let received = Incoming { status, body: Body::from(b"[]".to_vec()), ..Incoming::nothing(ended) };
    testing::exchange(step, Transport::Http, received)
}

/// Judges two cases that were answered so, at a target whose probe was answered so.
fn judge_two(
    suite: &str,
    answers: [u16; 2],
    option: Option<u16>,
    waivers: &[WaiverSubject],
    asked: &Asked,
) -> RunRecord {
    const FACTS: Facts = Facts { seed: 1, identity_seed: 1, clock: Clock(0), profile: Profile::Lenient };
    let knowledge = knowledge(suite);
    let target = target(waivers);
    let selection = Selection {
        levels: asked.levels.clone(),
        only: asked.only.clone(),
        shard: asked.shard.as_ref().map(|shard| shard.parse().expect("a shard")),
        ..Selection::default()
    };
    let plan = build(&knowledge, &target, &selection);
    let case =
        |status: u16| CaseTranscript { exchanges: vec![exchange(0, Some(status))].into(), ..CaseTranscript::default() };
    let transcript = Transcript {
        probes: vec![(Transport::Http, vec![exchange(0, option)])],
        cases: answers.into_iter().map(|status| Some(case(status))).collect(),
        ..Transcript::default()
    };
    let features = Features::read(&plan, FACTS, &transcript);
    let context = Context { plan: &plan, facts: FACTS, features };
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        proofmark: String::new(),
        evidence: None,
        seed: 1,
        identity_seed: 1,
        profile: Profile::Lenient,
        started_at: String::new(),
        asked: asked.clone(),
        target: TargetRecord {
            kind: crate::exchange::TargetClass::Endpoint,
            name: String::new(),
            declared: BTreeMap::new(),
            config: TargetConfig::default(),
        },
        protocols: vec![protocol(&context, &transcript)],
        baseline: None,
        summary: Summary::default(),
    };
    conclude(&mut record);
    record
}

/// Judges all cases of a suite, each answered with `answer`, at a target whose probes were answered so.
fn judge_all(knowledge: &Knowledge, probes: Vec<Exchange>, answer: u16) -> ProtocolRecord {
    const FACTS: Facts = Facts { seed: 1, identity_seed: 1, clock: Clock(0), profile: Profile::Lenient };
    let target = target(&[]);
    let plan = build(knowledge, &target, &Selection::default());
    let case = |_| {
        let exchanges = vec![exchange(0, Some(answer))];
        Some(CaseTranscript { exchanges: exchanges.into(), ..CaseTranscript::default() })
    };
    let transcript = Transcript {
        probes: vec![(Transport::Http, probes)],
        cases: plan.cases.iter().map(case).collect(),
        ..Transcript::default()
    };
    let features = Features::read(&plan, FACTS, &transcript);
    protocol(&Context { plan: &plan, facts: FACTS, features }, &transcript)
}

fn level(record: &RunRecord) -> &LevelRecord {
    &record.protocols[0].levels[0]
}

fn requirement(id: &str) -> WaiverSubject {
    WaiverSubject::Requirement(id.to_owned())
}

fn cases(pattern: &str) -> WaiverSubject {
    WaiverSubject::Case(pattern.to_owned())
}

fn asked_for_l0() -> Asked {
    Asked { levels: vec!["L0".to_owned()], ..Asked::default() }
}

#[test]
fn a_level_that_is_met_except_for_waived_demands_is_not_plainly_granted() {
    let plain = judge_two(SUITE, [200, 200], Some(200), &[], &asked_for_l0());
    assert_eq!(level(&plain).outcome, Grant::Granted);
    for waiver in [requirement("A-2"), cases("agentic/grants#second")] {
        let waived = judge_two(SUITE, [200, 500], Some(200), &[waiver], &asked_for_l0());
        let found = level(&waived);
        assert_eq!((found.outcome, found.waived.as_slice()), (Grant::GrantedWaived, &["A-2".to_owned()][..]));
        assert_eq!(serde_json::to_value(found.outcome).expect("JSON"), "granted-waived");
        assert_eq!(waived.summary.exit_code, 0);
        assert!(waived.summary.conclusion.ends_with("L0 granted, 1 waived"), "{}", waived.summary.conclusion);
    }
}

#[test]
fn a_waiver_of_one_of_several_cases_of_a_demand_is_counted_too() {
    let suite = SUITE.replace("covers: [A-2]", "covers: [A-1]");
    let waived = judge_two(&suite, [200, 500], Some(200), &[cases("agentic/grants#second")], &Asked::default());
    let found = level(&waived);
    assert_eq!(found.waived, ["A-1"], "the other case passes, and the demand is violated all the same");
}

#[test]
fn a_waiver_that_excuses_nothing_is_stale() {
    let stale = |suite: &str, answers, option, waiver: WaiverSubject, asked: &Asked| {
        let record = judge_two(suite, answers, option, &[waiver], asked);
        (record.protocols[0].waivers[0].stale.clone(), record.summary.exit_code)
    };
    let (none, all) = (Asked::default(), cases("agentic/grants#*"));
    let (why, exit) = stale(SUITE, [200, 200], Some(200), all.clone(), &none);
    assert_eq!((why.as_deref(), exit), (Some("the waived cases pass"), 1));
    // One of the cases that it matches is not run, because the target does not offer the option.
    let (why, exit) = stale(OF_THE_OPTION, [200, 200], Some(404), all.clone(), &none);
    assert_eq!((why.as_deref(), exit), (Some("the waived cases pass or were not run"), 1));
    let (why, _) = stale(SUITE, [200, 200], Some(200), cases("agentic/other#*"), &none);
    assert_eq!(why.as_deref(), Some("no case matches it"));
    // A case that was not selected may still need it.
    let only = Asked { only: vec!["agentic/grants#first".to_owned()], ..Asked::default() };
    assert_eq!(stale(SUITE, [200, 500], Some(200), all.clone(), &only), (None, 0));
    assert_eq!(stale(SUITE, [200, 500], Some(200), all, &none), (None, 0));
}

#[test]
fn a_condition_that_never_came_up_does_not_stand_in_the_way_of_a_level() {
    let record = judge_two(IF_LISTED, [200, 200], Some(200), &[], &asked_for_l0());
    let found = level(&record);
    let second = &record.protocols[0].cases[1];
    assert_eq!(second.reason, Some(NotRun::NotExercised), "{second:?}");
    assert_eq!((found.outcome, found.not_exercised.as_slice()), (Grant::Granted, &["A-2".to_owned()][..]));
    assert_eq!((found.held, found.not_observable), (1, 0));
    assert_eq!(record.summary.exit_code, 0);
}

#[test]
fn what_never_came_up_in_a_case_that_passed_is_not_exercised() {
    let record = judge_two(PARTLY_IF_LISTED, [200, 200], Some(200), &[], &asked_for_l0());
    let second = &record.protocols[0].requirements[1];
    assert_eq!((second.verdict, second.reason), (Verdict::NotRun, Some(NotRun::NotExercised)), "{second:?}");
    let found = level(&record);
    assert_eq!((found.outcome, found.not_exercised.as_slice()), (Grant::Granted, &["A-2".to_owned()][..]));
}

#[test]
fn options_that_are_left_out_are_counted_in_the_grant() {
    let record = judge_two(OF_THE_OPTION, [200, 200], Some(404), &[], &Asked::default());
    let found = level(&record);
    assert_eq!((found.outcome, found.not_claimed.as_slice()), (Grant::Granted, &["A-2".to_owned()][..]));
    assert_eq!(found.held, 1);
}

#[test]
fn an_unanswered_probe_of_an_option_causes_no_failure() {
    let record = judge_two(OF_THE_OPTION, [200, 500], None, &[], &asked_for_l0());
    let second = &record.protocols[0].cases[1];
    assert_eq!(second.verdict, Verdict::Inconclusive, "{second:?}");
    assert!(second.because.contains("no answer when it was probed for option"), "{}", second.because);
    assert_eq!(record.protocols[0].features[0].state, FeatureState::Unanswered);
    assert_eq!(record.summary.exit_code, 3);
    let because = &level(&record).because;
    assert_eq!(because.iter().map(|because| because.requirement.as_str()).collect::<Vec<_>>(), ["A-2"]);
    assert!(because[0].why.contains("Configure it."), "{because:?}");
    // A probe that is answered with something else says neither, and the case is judged.
    let record = judge_two(OF_THE_OPTION, [200, 500], Some(500), &[], &Asked::default());
    assert_eq!(record.protocols[0].cases[1].verdict, Verdict::Fail);
}

#[test]
fn a_shard_is_judged_on_its_own_cases() {
    let shard = |part: u64, answers| {
        let asked = Asked { shard: Some(format!("{part}/2")), ..asked_for_l0() };
        judge_two(&SUITE.replace("case: second", "case: fourth"), answers, Some(200), &[], &asked)
    };
    let judged: Vec<u64> = [1, 2].map(|part| shard(part, [200, 200]).summary.cases.pass).to_vec();
    assert_eq!(judged, [1, 1], "the two cases are in different shards");
    for part in [1, 2] {
        let record = shard(part, [200, 200]);
        let conclusion = &record.summary.conclusion;
        assert_eq!(record.summary.exit_code, 0, "{conclusion}");
        assert!(conclusion.contains(&format!("shard {part}/2")) && !conclusion.contains("granted"), "{conclusion}");
        assert_eq!(level(&record).outcome, Grant::Undecided);
        assert!(level(&record).because[0].advice.contains("--shard"), "{:?}", level(&record).because);
    }
    let failed = [1, 2].map(|part| shard(part, [500, 500]).summary.exit_code);
    assert_eq!(failed, [1, 1]);
}

/// Two groups of operations, each with a floor of its own, and a case of each.
#[test]
fn one_broken_operation_says_nothing_about_another_group() {
    const GROUPS: &str = "
features:
  - feature: keeps
    about: It keeps packages.
    if-missing: run
    floor: endpoint
    floor-of: [pull-specific]
    probe: [{ request: { method: GET, path: /keeps } }]
    offered: [{ at: /status, equals: 200 }]
  - feature: lists-facts
    about: It lists facts.
    if-missing: run
    floor: endpoint
    floor-of: [query-facts]
    probe: [{ request: { method: GET, path: /facts } }]
    offered: [{ at: /status, equals: 200 }]
";
    const CASES: &str = "
suite: agentic/grants
cases:
  - case: of-keeping
    covers: [A-1]
    steps: [{ send: pull-specific, with: { package_id: p }, expect: [{ at: /status, equals: 200 }] }]
  - case: of-facts
    covers: [A-2]
    steps: [{ send: query-facts, with: { project: p }, expect: [{ at: /status, equals: 200 }] }]
  - case: of-neither
    covers: [A-2]
    steps: [{ send: project-get, with: { project: p }, expect: [{ at: /status, equals: 200 }] }]
";
    let manifest = MANIFEST.split("features:").next().expect("a part").to_owned() + GROUPS;
    let knowledge = knowledge_of(&manifest, CASES);
    let verdicts = |keeps: u16, facts: u16| {
        let probes = vec![exchange(0, Some(keeps)), exchange(PROBE_STEPS, Some(facts))];
        judge_all(&knowledge, probes, 200).cases.iter().map(|case| case.verdict).collect::<Vec<_>>()
    };
    let (pass, open) = (Verdict::Pass, Verdict::Inconclusive);
    assert_eq!(verdicts(200, 200), [pass, pass, pass]);
    assert_eq!(verdicts(404, 200), [open, pass, pass]);
    assert_eq!(verdicts(200, 404), [pass, open, pass]);
    assert_eq!(verdicts(404, 404), [open, open, open]);
}

/// `signed` in a sweep over messages that are valid, of an unknown sender, and encrypted for another party.
#[test]
fn a_message_of_a_sender_whose_keys_are_unknown_leaves_a_sweep_open() {
    const FACTS: Facts = Facts { seed: 1, identity_seed: 1, clock: Clock(0), profile: Profile::Lenient };
    let found = crate::protocol::find("amp-core").expect("a protocol");
    let knowledge = load(found, &Bundle::new(proofmark_data::FILES)).unwrap_or_else(|error| panic!("{error:?}"));
    let target = target(&[]);
    let only = vec!["amp-core/basics#signs-every-sent-message".to_owned()];
    let plan = build(&knowledge, &target, &Selection { only, ..Selection::default() });
    let ready = plan.cases.iter().find(|ready| ready.skip.is_none()).expect("the case");
    let features = Features::read(&plan, FACTS, &Transcript::default());
    let context = Context { plan: &plan, facts: FACTS, features };
    let outcome = |states: &[&str]| {
        let message = |state: &&str| {
            let signed = crate::value::Value::map([("state", crate::value::Value::text(*state))]);
            crate::value::Value::map([("signed", signed)])
        };
        let messages: Vec<_> = states.iter().map(message).enumerate().collect();
        let mut walk = Walk::new(&context, ready, Part::Case, 0);
        walk.sweep(&messages.into());
        walk.finish().outcomes.values().copied().max().expect("an outcome")
    };
    assert_eq!(outcome(&["valid"]), Verdict::Pass);
    assert_eq!(outcome(&["valid", "sealed", "requested"]), Verdict::Pass);
    assert_eq!(outcome(&["valid", "unresolved"]), Verdict::Inconclusive);
    assert_eq!(outcome(&["valid", "unresolved", "invalid"]), Verdict::Fail);
}

/// Three cases of one operation, at a target that lacks a prerequisite of it: one of a requirement that is about the
/// prerequisite, one of another, and one of both.
#[test]
fn a_missing_prerequisite_is_charged_to_the_requirements_that_are_about_it() {
    const PREREQUISITE: &str = "
features:
  - feature: keeps
    about: It keeps packages.
    if-missing: run
    hint: See A-1.
    prerequisite-of: [pull-specific]
    judged-by: [A-1]
    probe: [{ request: { method: GET, path: /keeps } }]
    missing: [{ at: /status, equals: 404 }]
    offered: [{ at: /status, equals: 200 }]
";
    const CASES: &str = "
suite: agentic/grants
cases:
  - case: about-it
    covers: [A-1]
    steps: [{ send: pull-specific, with: { package_id: p }, expect: [{ at: /status, equals: 200 }] }]
  - case: builds-on-it
    covers: [A-2]
    steps: [{ send: pull-specific, with: { package_id: p }, expect: [{ at: /status, equals: 200 }] }]
  - case: of-both
    covers: [A-1, A-2]
    steps: [{ send: pull-specific, with: { package_id: p }, expect: [{ at: /status, equals: 200 }] }]
  - case: of-another-operation
    covers: [A-2]
    steps: [{ send: project-get, with: { project: p }, expect: [{ at: /status, equals: 200 }] }]
";
    let manifest = MANIFEST.split("features:").next().expect("a part").to_owned() + PREREQUISITE;
    let knowledge = knowledge_of(&manifest, CASES);
    let judged = |keeps: u16, answer: u16| {
        let record = judge_all(&knowledge, vec![exchange(0, Some(keeps))], answer);
        let outcome = |case: &CaseRecord, id: &str| case.outcomes.get(id).copied();
        let outcomes: Vec<_> =
            record.cases.iter().map(|case| (case.verdict, outcome(case, "A-1"), outcome(case, "A-2"))).collect();
        (outcomes, record)
    };
    let (pass, fail, open) = (Verdict::Pass, Verdict::Fail, Verdict::Inconclusive);
    let of = |verdict, first, second| (verdict, first, second);
    let (outcomes, record) = judged(404, 500);
    assert_eq!(
        outcomes,
        [
            of(fail, Some(fail), None),
            of(open, None, Some(open)),
            of(fail, Some(fail), Some(open)),
            of(fail, None, Some(fail)),
        ]
    );
    let why = "the target lacks a prerequisite, keeps: It keeps packages. See A-1.";
    assert_eq!((record.cases[1].because.as_str(), record.cases[2].because.as_str()), (why, why));
    let blamed: Vec<_> = record.cases[2].findings.iter().map(|finding| finding.requirement.as_str()).collect();
    assert_eq!(blamed, ["A-1"]);
    let feature = &record.features[0];
    assert_eq!((feature.blocks, feature.explained_by.as_slice()), (2, &["A-1".to_owned()][..]));
    // What passes is not undecided because of it.
    let (outcomes, _) = judged(404, 200);
    assert_eq!(outcomes[2], of(pass, Some(pass), Some(pass)));
    // A target that has it is judged on everything.
    let (outcomes, record) = judged(200, 500);
    assert_eq!(outcomes[2], of(fail, Some(fail), Some(fail)));
    assert_eq!((record.features[0].blocks, record.features[0].explained_by.len()), (0, 0));
}

#[test]
fn what_an_option_does_to_a_case_depends_on_the_answer_to_its_probe() {
    let verdict = |if_missing: &str, probed: Option<u16>| {
        let manifest = MANIFEST.replace("if-missing: not-claimed", &format!("if-missing: {if_missing}"));
        let record = judge_all(&knowledge_of(&manifest, OF_THE_OPTION), vec![exchange(0, probed)], 200);
        assert_eq!(record.cases[0].verdict, Verdict::Pass, "the other case does not need it");
        (record.cases[1].verdict, record.cases[1].reason)
    };
    let (pass, open) = ((Verdict::Pass, None), (Verdict::Inconclusive, None));
    let left_out = (Verdict::NotRun, Some(NotRun::NotClaimed));
    // Offered, missing, neither, and not answered at all.
    let of_each = |if_missing| [Some(200), Some(404), Some(500), None].map(|probed| verdict(if_missing, probed));
    assert_eq!(of_each("not-claimed"), [pass, left_out, pass, open]);
    assert_eq!(of_each("inconclusive"), [pass, open, pass, open]);
    assert_eq!(of_each("run"), [pass, pass, pass, pass]);
}

#[test]
fn a_level_that_a_feature_suggests_is_measured_though_it_is_not_claimed() {
    let manifest = MANIFEST.replace("features:", "unclaimed-levels: { L1: option }\nfeatures:");
    let suite = SUITE.replace("covers: [A-2]", "covers: [B-1]");
    let catalogue = CATALOGUE
        .replace("id: A-2, section: '1', keyword: MUST, level: L0", "id: B-1, section: '1', keyword: MUST, level: L1");
    let bundle = Bundle::default()
        .with_file("suites/agentic/protocol.yaml", &manifest)
        .with_file("suites/agentic/requirements.yaml", &catalogue)
        .with_file("suites/agentic/grants.yaml", &suite);
    let found = crate::protocol::find("agentic").expect("a protocol");
    let knowledge = load(found, &bundle).unwrap_or_else(|error| panic!("{error:?}"));
    let measured = |probed, answer| {
        let record = judge_all(&knowledge, vec![exchange(0, Some(probed))], answer);
        let beyond = &record.cases[1];
        assert_eq!((beyond.verdict, beyond.reason), (Verdict::NotRun, Some(NotRun::NotClaimed)));
        assert!(beyond.outcomes.values().all(|outcome| *outcome == Verdict::NotRun), "{beyond:?}");
        assert!(
            beyond.findings.is_empty() && beyond.because.starts_with("the case needs level L1; the target claims L0")
        );
        (beyond.because.ends_with("informational only"), record.levels[1].met)
    };
    assert_eq!(measured(200, 200), (true, true));
    assert_eq!(measured(200, 500), (true, false));
    assert_eq!(measured(404, 200), (false, false), "nothing suggests the level");
}
