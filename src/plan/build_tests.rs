//! Which cases, probes and steps a plan has for a target, with which ids and numbers, and why the others are left out.

use super::testing::{CALL, GET, MANIFEST, PEEK, TELL, TOY, bundle, knowledge, read, suite};
use super::*;
use crate::exchange::TargetClass;
use crate::target::Credential;
use crate::value::Value;

fn endpoint() -> Target {
    Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"))
}

/// The target with an address for WebSocket.
fn with_socket(mut target: Target) -> Target {
    target.ws = Some("ws://127.0.0.1:1".parse().expect("a URL"));
    target
}

/// The target with an adapter.
fn with_adapter(mut target: Target) -> Target {
    target.adapter = Some(vec!["program".to_owned()]);
    target
}

fn library() -> Target {
    with_adapter(Target::new(TargetClass::Adapter, "library"))
}

/// Checks for each case, of which keys and steps are given, why it does not run.
fn check_reasons(keys: &str, target: &Target, rows: &[(&str, &str, Option<&str>)]) {
    let names: Vec<String> = (0..rows.len()).map(|row| format!("case-{row}")).collect();
    let cases: Vec<_> = names.iter().zip(rows).map(|(name, (keys, steps, _))| (name.as_str(), *keys, *steps)).collect();
    let knowledge = knowledge(keys, &cases);
    let plan = build(&knowledge, target, &Selection::default());
    assert_eq!(plan.cases.len(), rows.len());
    for (ready, (keys, steps, expected)) in plan.cases.iter().zip(rows) {
        let expected = expected.map(|why| (NotRun::Unobservable, why.to_owned()));
        assert_eq!(ready.skip, expected, "{keys}, {steps}");
    }
}

const KINDS: &str = "
target-kinds:
  - { kind: full, reached-over: [http, ws, tcp, tree], levels: [L2] }
  - { kind: small, reached-over: [http, ws, tcp, tree], levels: [L0] }
  - { kind: tiny, reached-over: [http, ws, tcp, tree], levels: [L0] }
  - { kind: shelf, reached-over: [adapter], levels: [L2] }
hosts: [{ host: inbox, about: Where answers go. }]
";

#[test]
fn a_case_that_the_target_cannot_show_says_where_it_could_be_seen() {
    let small = Some("not observable at a target of kind small, tiny");
    let at_library = Some("observable only at a library behind an adapter");
    let no_address = Some("observable only over a transport that the target file has no address for");
    let target = Target { kinds: vec!["small".to_owned(), "tiny".to_owned()], ..endpoint() };
    check_reasons(
        KINDS,
        &target,
        &[
            ("covers: [T-0]", GET, None),
            ("covers: [T-2]", GET, small),
            ("covers: [T-1]", TELL, small),
            ("covers: [T-0], runs-on: [full]", GET, small),
            ("covers: [T-L]", PEEK, at_library),
            ("covers: [T-0]", CALL, at_library),
            ("covers: [T-0], runs-on: [adapter]", GET, at_library),
            ("covers: [T-0], runs-on: [ws]", GET, no_address),
        ],
    );
    let at_endpoint = Some("observable only at an endpoint");
    let receives = format!("{TELL}, {{ receive: inbox, expect: [{{ at: /body, equals: hi }}] }}");
    check_reasons(
        KINDS,
        &library(),
        &[
            ("covers: [T-1]", TELL, None),
            ("covers: [T-L]", CALL, None),
            ("covers: [T-0]", GET, at_endpoint),
            ("covers: [T-0]", PEEK, at_endpoint),
            ("covers: [T-1]", &receives, at_endpoint),
        ],
    );
}

#[test]
fn a_party_without_credentials_is_not_heard_by_an_endpoint_that_requires_them() {
    let mut target = endpoint();
    target.settings.insert("locked".to_owned(), Value::Bool(true));
    let credential = Credential { header: "authorization".to_owned(), value: "Bearer a".to_owned() };
    target.credentials.insert("a".to_owned(), vec![credential]);
    let by_b = TELL.replace("{ send", "{ as: b, send");
    let both = format!("{TELL}, {by_b}");
    let requests = GET.replace("{ request", "{ as: b, request");
    let none = Some("the target requires credentials, and the target file has none for party `b`");
    let rows = [
        ("covers: [T-1]", TELL, None),
        ("covers: [T-1]", both.as_str(), none),
        ("covers: [T-0]", requests.as_str(), None),
    ];
    check_reasons("", &target, &rows);
    let knowledge = knowledge("", &[("told", "covers: [T-1]", &both)]);
    let target = with_adapter(target);
    let plan = build(&knowledge, &target, &Selection::default());
    let skipped: Vec<_> = plan.cases.iter().map(|ready| (ready.transport, ready.skip.is_some())).collect();
    assert_eq!(skipped, [(Transport::Http, true), (Transport::Adapter, false)]);
}

#[test]
fn an_id_names_the_transport_only_of_a_case_that_runs_over_several() {
    let cases = [("told", "covers: [T-1]", TELL), ("calls", "covers: [T-0]", CALL), ("gets", "covers: [T-0]", GET)];
    let knowledge = knowledge("", &cases);
    let ids = |target: &Target| -> Vec<String> {
        build(&knowledge, target, &Selection::default()).cases.iter().map(|ready| ready.id.clone()).collect()
    };
    let all = ["toy/area#told", "toy/area#told@adapter", "toy/area#calls", "toy/area#gets"];
    assert_eq!(ids(&with_adapter(endpoint())), all);
    assert_eq!(ids(&endpoint()), ["toy/area#told", "toy/area#calls", "toy/area#gets"]);
}

#[test]
fn only_a_selection_of_cases_or_requirements_limits_what_is_probed() {
    let knowledge = knowledge("", &[("one", "covers: [T-0]", GET), ("two", "covers: [T-2]", GET)]);
    let target = endpoint();
    let only = Selection { only: vec!["*#two".to_owned()], ..Selection::default() };
    let requirements = Selection { requirements: vec!["T-0".into()], ..Selection::default() };
    let levels = Selection { levels: vec!["L2".to_owned()], ..Selection::default() };
    for (selection, expected) in
        [(Selection::default(), None), (levels, None), (only, Some(vec![1])), (requirements, Some(vec![0]))]
    {
        let selected = build(&knowledge, &target, &selection).selected();
        assert_eq!(selected.map(|cases| cases.into_iter().collect::<Vec<_>>()), expected, "{selection:?}");
    }
}

#[test]
fn a_shard_has_a_third_of_the_cases_over_all_their_transports() {
    let shards = [("a", 2), ("b", 1), ("c", 2), ("d", 2), ("e", 3), ("f", 1), ("g", 3), ("h", 1)];
    let names = shards.map(|(name, _)| format!("case-{name}"));
    let cases = names.each_ref().map(|name| (name.as_str(), "covers: [T-1]", TELL));
    let knowledge = knowledge("", &cases);
    let target = with_adapter(endpoint());
    for index in 1..=3 {
        let selection = Selection { shard: Some(Shard { index, count: 3 }), ..Selection::default() };
        let plan = build(&knowledge, &target, &selection);
        let run: Vec<&str> =
            plan.cases.iter().filter(|ready| ready.skip.is_none()).map(|ready| ready.id.as_str()).collect();
        let expected: Vec<String> = shards
            .iter()
            .filter(|(_, shard)| *shard == index)
            .flat_map(|(name, _)| ["", "@adapter"].map(|suffix| format!("toy/area#case-{name}{suffix}")))
            .collect();
        assert_eq!(run, expected, "shard {index}");
        let why = (NotRun::NotSelected, format!("it is not in shard {index}/3"));
        assert!(plan.cases.iter().filter_map(|ready| ready.skip.as_ref()).all(|skip| *skip == why), "{why:?}");
    }
}

const FEATURES: &str = "
features:
  - { feature: descriptor, about: a, if-missing: run, probe: [{ send: peek }] }
  - { feature: early, about: a, if-missing: run, probe-first: true, probe: [{ send: tell, with: { text: hi } }] }
  - { feature: plain, about: a, if-missing: not-claimed, probe: [{ send: peek }] }
  - { feature: shelved, about: a, if-missing: not-claimed, probe: [{ send: call }] }
  - { feature: listed, about: a, if-missing: not-claimed }
";

/// A protocol whose targets declare their level in the answer to the probe of `descriptor`.
fn declared(cases: &[(&str, &str, &str)]) -> Knowledge {
    let level = "claims: { default: L2, level: { feature: descriptor, at: /body/level } }";
    let manifest = format!("{}{FEATURES}", MANIFEST.replace("claims: { default: L2 }", level));
    let read = read(&bundle(&manifest, super::testing::CATALOGUE, &suite(cases)));
    read.unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

#[test]
fn a_feature_that_the_target_file_decides_is_probed_only_if_claims_or_probes_rest_on_it() {
    let knowledge = declared(&[("gets", "covers: [T-0]", GET)]);
    let probed = |target: &Target, transport: Transport| -> Vec<String> {
        let plan = build(&knowledge, target, &Selection::default());
        plan.probes(transport).iter().map(|ready| ready.id.trim_start_matches("toy/probe#").to_owned()).collect()
    };
    let mut target = with_adapter(endpoint());
    assert_eq!(probed(&target, Transport::Http), ["descriptor", "early", "plain", "listed"]);
    assert_eq!(probed(&target, Transport::Adapter), ["early@adapter", "shelved@adapter", "listed@adapter"]);
    target.options = [("descriptor", true), ("early", false), ("plain", true), ("shelved", false)]
        .map(|(name, offered)| (name.to_owned(), offered))
        .into();
    assert_eq!(probed(&target, Transport::Http), ["descriptor", "early", "listed"]);
    assert_eq!(probed(&target, Transport::Adapter), ["early@adapter", "listed@adapter"]);
}

#[test]
fn only_the_features_that_the_manifest_names_are_probed_first() {
    let knowledge = declared(&[("gets", "covers: [T-0]", GET)]);
    let target = endpoint();
    let plan = build(&knowledge, &target, &Selection::default());
    let probes = plan.probes(Transport::Http);
    let first: Vec<&str> =
        probes.iter().filter(|probe| plan.is_first(probe)).map(|probe| probe.case.name.value.as_str()).collect();
    assert_eq!(first, ["early"]);
}

#[test]
fn no_two_cases_or_probes_have_the_same_number() {
    let names: Vec<String> = (0..30).map(|case| format!("case-{case}")).collect();
    let cases: Vec<_> = names.iter().map(|name| (name.as_str(), "covers: [T-1]", TELL)).collect();
    let knowledge = declared(&cases);
    let target = with_adapter(with_socket(endpoint()));
    let plan = build(&knowledge, &target, &Selection::default());
    let probes: Vec<u64> =
        plan.transports.iter().flat_map(|transport| plan.probes(*transport)).map(|ready| ready.ordinal).collect();
    let cases: Vec<u64> = plan.cases.iter().map(|ready| ready.ordinal).collect();
    assert_eq!((probes.len(), cases.len()), (11, 90));
    for numbers in [&probes, &cases] {
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len(), "{numbers:?}");
    }
    assert!(probes.iter().max() < cases.iter().min(), "{probes:?}, {cases:?}");
}

#[test]
fn the_number_of_a_generated_case_follows_from_its_id() {
    let knowledge = knowledge("", &[("gets", "covers: [T-0]", GET)]);
    let target = endpoint();
    let (_, case) = knowledge.cases().next().expect("a case");
    // From 100000 on: the first four bytes of the SHA-256 of the id, modulo 100000.
    for (id, number) in [("toy/fuzz#first", 157_654), ("toy/fuzz#second", 176_188), ("toy/explore#first", 135_226)] {
        let ready = ready_case(&knowledge, &target, id.to_owned(), case, Transport::Http);
        assert_eq!((ready.id.as_str(), ready.ordinal), (id, number));
    }
}

#[test]
fn a_transport_is_probed_for_what_its_cases_rest_on() {
    let feature = |name: &str, keys: &str| format!("  - {{ feature: {name}, about: a, if-missing: run{keys} }}\n");
    let features = [
        ("early", ", probe-first: true"),
        ("duplex", ""),
        ("beyond-one", ""),
        ("beyond-two", ""),
        ("told", ", prerequisite-of: [tell]"),
        ("told-and-seen", ", prerequisite-of: [tell+peek]"),
        ("things", ", prerequisite-of: [thing]"),
        ("common", ", floor: [endpoint]"),
        ("shelved", ", floor: [adapter]"),
        ("wanted", ""),
    ];
    let features: String = features.iter().map(|(name, keys)| feature(name, keys)).collect();
    let keys = format!(
        "unclaimed-levels: {{ L1: beyond-one, L2: beyond-two }}\ntransports: {{ ws: duplex }}\n\
         objects: {{ thing: {{ a: 1 }} }}\nfeatures:\n{features}"
    );
    let tells_and_peeks = format!("{TELL}, {PEEK}");
    let cases = [
        ("tells", "covers: [T-0]", TELL),
        ("peeks", "covers: [T-0]", PEEK),
        ("of-two", "covers: [T-2]", GET),
        ("does-both", "covers: [T-1], needs: [wanted]", tells_and_peeks.as_str()),
    ];
    let knowledge = knowledge(&keys, &cases);
    let target = with_socket(endpoint());
    let plan = build(&knowledge, &target, &Selection::default());
    for (names, transport, expected) in [
        (&[][..], Transport::Http, &["early"][..]),
        (&["peeks"], Transport::Http, &["common", "early", "things"]),
        (&["peeks"], Transport::Ws, &["common", "duplex", "early", "things"]),
        // The level of an operation counts, and the levels of what a case covers.
        (&["tells"], Transport::Http, &["beyond-one", "common", "early", "things", "told"]),
        (&["of-two"], Transport::Http, &["beyond-one", "beyond-two", "common", "early", "things"]),
        (
            &["does-both"],
            Transport::Http,
            &["beyond-one", "common", "early", "things", "told", "told-and-seen", "wanted"],
        ),
        // The operations that are joined may be in different cases.
        (&["peeks", "tells"], Transport::Http, &["beyond-one", "common", "early", "things", "told", "told-and-seen"]),
    ] {
        let chosen = plan.cases.iter().enumerate();
        let chosen = chosen.filter(|(_, ready)| names.contains(&ready.case.name.value.as_str()));
        let chosen = chosen.map(|(position, _)| position).collect();
        let needed: Vec<&str> = plan.features_needed(&chosen, transport).into_iter().collect();
        assert_eq!(needed, expected, "{names:?} over {transport:?}");
    }
}

#[test]
fn the_operations_of_a_case_are_those_of_all_its_steps() {
    let steps = format!("{{ parallel: [{{ send: tell, with: {{ text: hi }} }}, {{ send: peek }}] }}, {GET}, {CALL}");
    let knowledge = knowledge("", &[("all", "covers: [T-0]", &steps)]);
    let (_, case) = knowledge.cases().next().expect("a case");
    let names: Vec<&str> = operations(&TOY, case).iter().map(|operation| operation.name).collect();
    assert_eq!(names, ["tell", "peek", "call"]);
}

#[test]
fn expectations_with_constant_arguments_are_compiled_once_and_found_by_their_place() {
    let steps = "{ send: peek, assume: [{ at: /first, equals: 1 }], capture: { body: /body } }, \
         { send: peek, expect: [{ at: /constant, equals: 1 }, { at: /captured, equals: '${body}' }, \
         { at: /third, one-of: [1] }], expect-all: [{ at: /answers, length: 1 }] }";
    let knowledge = knowledge("", &[("all", "covers: [T-0]", steps)]);
    let (_, case) = knowledge.cases().next().expect("a case");
    let compiled = Compiled::of(&TOY, case);
    for (key, place) in [
        ((0, 0, 0), Some("/first")),
        ((1, 1, 0), Some("/constant")),
        ((1, 1, 1), None),
        ((1, 1, 2), Some("/third")),
        ((1, 2, 0), Some("/answers")),
        ((1, 0, 0), None),
        ((2, 1, 0), None),
    ] {
        let found = compiled.find(key).map(|expectation| expectation.at.to_string());
        assert_eq!(found.as_deref(), place, "{key:?}");
    }
}
