//! Mistakes in references between catalogue, manifest and cases.

use super::testing::{self, CATALOGUE as TOY_CATALOGUE, GET, MANIFEST as TOY_MANIFEST, TELL, bundle, knowledge, suite};
use super::*;
use crate::bundle::Bundle;
use crate::suite::case_of;
use crate::wire::json;

const MANIFEST: &str = "
protocol: agentic
levels: [{ name: L0 }, { name: L1, includes: [L0] }, { name: L2, includes: [L1] }, { name: L3, includes: [L2] }]
claims: { default: L0 }
";

const CATALOGUE: &str = "
protocol: agentic
spec: s
requirements:
  - id: A-1
    section: '1'
    keyword: MUST
    level: L0
    role: server
    summary: s
    testable: both
    check: [The first demand., The second demand.]
  - { id: A-2, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both, check: One demand. }
";

fn read(case: &str) -> Result<Knowledge, Vec<String>> {
    let suite = format!("suite: agentic/clauses\ncases:\n  - {case}\n");
    let bundle = Bundle::default()
        .with_file("suites/agentic/protocol.yaml", MANIFEST)
        .with_file("suites/agentic/requirements.yaml", CATALOGUE)
        .with_file("suites/agentic/clauses.yaml", &suite);
    load(crate::protocol::find("agentic").expect("a protocol"), &bundle).map_err(|error| match error {
        LoadError::Mistakes(found) => found.iter().map(ToString::to_string).collect(),
        LoadError::Missing(what) => vec![what],
    })
}

fn case(covers: &str, expect: &str) -> String {
    format!("{{ case: c, covers: [{covers}], steps: [{{ request: {{ method: GET, path: / }}, expect: [{expect}] }}] }}")
}

#[test]
fn a_case_covers_clauses_and_a_bare_id_stands_for_the_first() {
    let text = case("A-1, A-1/2", "{ at: /status, equals: 200, covers: [A-1] }, { equals: 1, covers: [A-1/2] }");
    let knowledge = read(&text).expect("no mistakes");
    let (_, case) = knowledge.cases().next().expect("a case");
    let clauses: Vec<usize> = case.covers.iter().map(|covered| covered.clause).collect();
    assert_eq!(clauses, [1, 2]);
    assert_eq!(case.requirements().len(), 1, "the requirement is decided once");
    assert_eq!(knowledge.catalogue.find("A-1").expect("a requirement").clauses.len(), 2);
    assert_eq!(knowledge.catalogue.find("A-2").expect("a requirement").clauses, ["One demand."]);
}

#[test]
fn an_unknown_or_undecided_clause_is_a_mistake() {
    let status = "{ at: /status, equals: 200 }";
    let mistakes = |covers: &str, expect: &str| read(&case(covers, expect)).expect_err("mistakes");
    let found = mistakes("A-1/3", status);
    assert!(found[0].starts_with("suites/agentic/clauses.yaml:3:25: A-1 has 2 clauses"), "{found:?}");
    let found = mistakes("A-2/2", status);
    assert!(found[0].contains("A-2 has one clause"), "{found:?}");
    for invalid in ["A-1/0", "A-1/", "A-1/x"] {
        let found = mistakes(invalid, status);
        let wanted = format!("invalid clause `{invalid}`");
        assert!(found.iter().any(|mistake| mistake.contains(&wanted)), "{found:?}");
    }
    let found = mistakes("A-1, A-1/2", "{ at: /status, equals: 200, covers: [A-1/2] }");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("no expectation of the case decides A-1 "), "{found:?}");
    let found = mistakes("A-1", "{ at: /status, equals: 200, covers: [A-1, A-1/2] }");
    assert!(found[0].contains("the case does not cover A-1/2"), "{found:?}");
}

const SPARE: &str = "
features: [{ feature: spare, about: a, if-missing: not-claimed }]
roles: [{ role: sender }]
timeouts: { soon: { default: 1s, about: a } }
";

const CLOCK: &str = "clock: [{ step: { send: skip, with: { ms: '${advance_ms}' } } }]";

/// The mistakes in these files of the small protocol.
fn mistakes_in(manifest: &str, catalogue: &str, suite: &str) -> Vec<String> {
    testing::read(&bundle(manifest, catalogue, suite)).err().unwrap_or_default()
}

#[test]
fn an_unknown_name_in_the_manifest_or_catalogue_is_a_mistake() {
    let plain = format!("{TOY_MANIFEST}{SPARE}");
    let gets = suite(&[("gets", "covers: [T-0]", GET)]);
    let fuzz = |operations: &str, answered: &str| {
        format!(
            "fuzz: {{ operations: {{ {operations} }}, answered: [{{ at: /status, {answered} }}], \
             accepted: [{{ at: /status, equals: 200 }}], alive: [{{ send: peek }}] }}"
        )
    };
    let (no_feature, no_kind) = ("no feature or level `spar`", "no kind of target and no transport `boat`");
    for (keys, mistake) in [
        ("transports: { htpp: spare, ws: spare }", "no transport `htpp`"),
        ("transports: { ws: spar }", no_feature),
        ("unclaimed-levels: { L9: spare }", "no level `L9`"),
        ("unclaimed-levels: { L1: spar }", no_feature),
        ("setup: [{ needs: [spar], steps: [{ send: peek }] }]", no_feature),
        ("setup: [{ runs-on: [boat], steps: [{ send: peek }] }]", no_kind),
        (&CLOCK.replace("{ step", "{ needs: [spar], step"), no_feature),
        (&CLOCK.replace("{ step", "{ runs-on: [boat], step"), no_kind),
        (&fuzz("peeek: T-0", "equals: 200"), "no operation `peeek` (did you mean `peek`?)"),
        (&fuzz("peek: T-9", "equals: 200"), "no requirement has the id T-9"),
        (&fuzz("peek: T-0", "equal: 200"), "no matcher named `equal` (did you mean `equals`?)"),
    ] {
        let found = mistakes_in(&format!("{plain}{keys}\n"), TOY_CATALOGUE, &gets);
        assert!(matches!(&found[..], [found] if found.contains(mistake)), "{keys}: {found:?}");
    }
    let looked_for = plain.replace("about: a, if-missing", "about: a, runs-on: [boat], if-missing");
    let found = mistakes_in(&looked_for, TOY_CATALOGUE, &gets);
    assert!(matches!(&found[..], [found] if found.contains(no_kind)), "{found:?}");
    for (name, mistake) in [
        ("greeting", "the binding `greeting` has no effect: the protocol itself gives that name a value"),
        ("hex", "`hex` cannot be the name of a binding"),
    ] {
        let found = mistakes_in(&plain.replace("mood: calm", &format!("{name}: calm")), TOY_CATALOGUE, &gets);
        assert!(matches!(&found[..], [found] if found.contains(mistake)), "{name}: {found:?}");
    }
    let found = mistakes_in(&plain.replace("default: L2", "default: L7"), TOY_CATALOGUE, &gets);
    assert!(matches!(&found[..], [found] if found.contains("no level `L7`")), "{found:?}");
    let found = mistakes_in(&plain, &TOY_CATALOGUE.replace("level: L2", "level: L8"), &gets);
    assert!(matches!(&found[..], [found] if found.contains("no level `L8`")), "{found:?}");
    let all = "transports: { ws: spare }\nunclaimed-levels: { L1: spare }\n\
         setup: [{ needs: [spare], runs-on: [endpoint], steps: [{ send: peek }] }]";
    let all = format!("{plain}{CLOCK}\n{}\n{all}\n", fuzz("peek: T-0", "equals: 200"));
    assert_eq!(mistakes_in(&all, TOY_CATALOGUE, &gets), [""; 0]);
}

#[test]
fn a_case_names_only_what_there_is_and_is_possible() {
    let manifest = format!("{TOY_MANIFEST}{SPARE}{CLOCK}\n");
    let found = |keys: &str, steps: &str| {
        let suite = suite(&[("c", &format!("covers: [T-0]{keys}"), steps)]);
        mistakes_in(&manifest, TOY_CATALOGUE, &suite)
    };
    let get = |more: &str| GET.replace("path: / }", &format!("path: / }}, {more}"));
    let expecting = |argument: &str| GET.replace("equals: 200", argument);
    let advances = |more: &str| format!("{{ advance: 5s, {more} }}, {GET}");
    let until = "until: 1s, expect: [{ at: /status, equals: 200 }]";
    let (twice, once) = ("a step repeats over a list or over time, not both", "the clock is advanced once");
    for (keys, steps, mistake) in [
        (", roles: [captain]", GET, "no role `captain`"),
        (", needs: [spar]", GET, "no feature or level `spar`"),
        (", runs-on: [boat]", GET, "no kind of target and no transport `boat`"),
        (", let: { Bad: 1 }", GET, "`Bad` cannot be the name of a binding"),
        (", let: { answer: 1 }", GET, "`answer` cannot be the name of a binding"),
        (", let: { hex: 1 }", GET, "`hex` cannot be the name of a binding"),
        ("", &get("capture: { Bad: /body }"), "`Bad` cannot be the name of a binding"),
        ("", &get("until: later"), "invalid duration `later`"),
        ("", &get("collect-for: later"), "invalid duration `later`"),
        ("", &format!("{{ pause: later }}, {GET}"), "invalid duration `later`"),
        ("", &get("for: [1], until: 1s"), twice),
        ("", &get("for: [1], quiet: 1s"), twice),
        ("", &advances("for: [1]"), once),
        ("", &advances(until), once),
        ("", &advances("quiet: 1s"), once),
        ("", &advances("with: { sm: 1 }"), "the operation that advances the clock has no input `sm`"),
        ("", &TELL.replace("with: { text: hi }, ", ""), "`tell` needs `text`"),
        ("", &TELL.replace("text: hi", "text: hi, tone: 1"), "`tell` has no input `tone`"),
        ("", &GET.replace("path: /", "path: '/${nope}'"), "undefined name `nope`"),
        ("", &expecting("equals: '${nope}'"), "undefined name `nope`"),
        ("", &expecting("equal: 200"), "no matcher named `equal`"),
        ("", &expecting("one-of: 200"), "the argument of `one-of` needs a list"),
    ] {
        let found = found(keys, steps);
        assert!(matches!(&found[..], [found] if found.contains(mistake)), "{keys} {steps}: {found:?}");
    }
    for (keys, steps) in [
        (", roles: [sender], needs: [spare, L1], runs-on: [http, endpoint]", GET),
        (", let: { a_1: 1 }", &GET.replace("path: /", "path: '/${a_1}/${mood}/${greeting}/${hex 4}'")),
        ("", &get("until: soon")),
        ("", &advances("with: { ms: 1 }")),
        ("", TELL),
    ] {
        assert_eq!(found(keys, steps), [""; 0], "{keys} {steps}");
    }
    let untestable = suite(&[("c", "covers: [T-N]", GET)]);
    let found = mistakes_in(&manifest, TOY_CATALOGUE, &untestable);
    let why = "T-N cannot be tested (the catalogue says: Internal.)";
    assert!(matches!(&found[..], [found] if found.contains(why)), "{found:?}");
}

#[test]
fn an_input_that_is_a_binding_by_default_must_be_given_only_without_that_binding() {
    let told = suite(&[("told", "covers: [T-0]", TELL)]);
    assert_eq!(mistakes_in(TOY_MANIFEST, TOY_CATALOGUE, &told), [""; 0]);
    let without = TOY_MANIFEST.replace("let: { mood: calm }\n", "");
    let found = mistakes_in(&without, TOY_CATALOGUE, &told);
    assert!(matches!(&found[..], [found] if found.contains("`tell` needs `mood`")), "{found:?}");
    let of_the_case = suite(&[("told", "covers: [T-0], let: { mood: calm }", TELL)]);
    assert_eq!(mistakes_in(&without, TOY_CATALOGUE, &of_the_case), [""; 0]);
}

#[test]
fn a_wrong_protocol_is_reported_beside_other_mistakes_but_a_missing_one_only_once() {
    let gets = suite(&[("gets", "covers: [T-0]", GET)]);
    let broken = gets.replace("covers", "cover");
    let of_another = TOY_MANIFEST.replace("protocol: toy", "protocol: other");
    let of_none = TOY_MANIFEST.replace("protocol: toy\n", "");
    let wrong = "wrong protocol in the manifest: expected `toy`";
    for (manifest, suite, expected) in
        [(&of_another, &gets, true), (&of_another, &broken, true), (&of_none, &gets, false), (&of_none, &broken, false)]
    {
        let found = mistakes_in(manifest, TOY_CATALOGUE, suite);
        assert_eq!(found.iter().any(|mistake| mistake.contains(wrong)), expected, "{found:?}");
        assert!(!found.is_empty(), "{manifest}");
    }
    for (suite, wrong) in [
        (gets.replace("toy/area", "other/area"), Some("the suite `other/area` is not of protocol `toy`")),
        (broken.replace("toy/area", "other/area"), Some("the suite `other/area` is not of protocol `toy`")),
        (gets.replace("suite: toy/area\n", ""), None),
    ] {
        let found = mistakes_in(TOY_MANIFEST, TOY_CATALOGUE, &suite);
        let reported = found.iter().any(|mistake| mistake.contains(wrong.unwrap_or("is not of protocol")));
        assert_eq!(reported, wrong.is_some(), "{found:?}");
        assert!(!found.is_empty(), "{suite}");
    }
}

#[test]
fn a_generated_case_may_use_what_every_case_may_use() {
    let setup = "setup: [{ steps: [{ send: peek, capture: { token: /body/token } }] }]";
    let knowledge = knowledge(setup, &[("gets", "covers: [T-0]", GET)]);
    let found = |path: &str| -> Vec<String> {
        let case = format!(
            r#"{{"case":"generated","covers":["T-0"],"steps":[{{"request":{{"method":"GET","path":"{path}"}},
            "expect":[{{"at":"/status","equals":200}}]}}]}}"#
        );
        let case = case_of(&json::parse(case.as_bytes()).expect("JSON"), "generated").expect("a case");
        mistakes(&knowledge, &case).iter().map(|mistake| mistake.message.clone()).collect()
    };
    assert_eq!(found("/${mood}/${token}/${greeting}"), [""; 0]);
    assert_eq!(found("/${nope}"), ["undefined name `nope`"]);
}
