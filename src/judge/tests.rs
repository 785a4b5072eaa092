//! The claimed levels, kinds and roles of a target decide which cases run and the reason for those that do not.

use super::*;
use crate::bundle::Bundle;
use crate::plan::{Knowledge, Selection, build, load};
use crate::target::Target;
use crate::template::Clock;
use crate::verdict::Profile;
use crate::walk::{Facts, Features};

/// Levels that do not form a chain: L1 and L2 include L0 but not each other; L3 includes only L1.
const MANIFEST: &str = "
protocol: agentic
levels:
  - { name: L0 }
  - { name: L1, includes: [L0] }
  - { name: L2, includes: [L0] }
  - { name: L3, includes: [L1] }
roles: [{ role: coordinator }, { role: executor }]
target-kinds:
  - { kind: receiver, reached-over: [http], levels: [L2], claims: [L0] }
  - { kind: relay, reached-over: [http], levels: [L3], roles: [executor] }
  - { kind: library, reached-over: [adapter], levels: [L2, L3] }
claims: { default: [L0, L1] }
";

const CATALOGUE: &str = "
protocol: agentic
spec: s
requirements:
  - { id: A-0, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both }
  - { id: A-1, section: '1', keyword: MUST, level: L1, role: server, summary: s, testable: both }
  - { id: A-2, section: '1', keyword: MUST, level: L2, role: server, summary: s, testable: both }
  - { id: A-3, section: '1', keyword: MUST, level: L3, role: server, summary: s, testable: both }
  - { id: A-C, section: '1', keyword: MUST, level: L0, role: sender, actor: coordinator, summary: s, testable: both }
  - { id: A-E, section: '1', keyword: MUST, level: L0, role: executor, summary: s, testable: both }
";

const STEPS: &str = "steps: [{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }]";

fn knowledge() -> Knowledge {
    knowledge_of(MANIFEST)
}

fn knowledge_of(manifest: &str) -> Knowledge {
    let mut suite = "suite: agentic/claims\ncases:\n".to_owned();
    for (case, rest) in [
        ("of-l0", "covers: [A-0]"),
        ("of-l1", "covers: [A-1]"),
        ("of-l2", "covers: [A-2]"),
        ("of-l3", "covers: [A-3]"),
        ("of-l1-or-l2", "covers: [A-1, A-2]"),
        ("needs-l2", "covers: [A-0], needs: [L2]"),
        ("of-the-coordinator", "covers: [A-C]"),
        ("of-both-roles", "covers: [A-C, A-E]"),
        ("at-an-executor", "covers: [A-0], roles: [executor]"),
        ("at-a-relay", "covers: [A-0], runs-on: [relay]"),
    ] {
        suite.push_str(&format!("  - {{ case: {case}, {rest}, {STEPS} }}\n"));
    }
    let bundle = Bundle::default()
        .with_file("suites/agentic/protocol.yaml", manifest)
        .with_file("suites/agentic/requirements.yaml", CATALOGUE)
        .with_file("suites/agentic/claims.yaml", &suite);
    let protocol = crate::protocol::find("agentic").expect("a protocol");
    load(protocol, &bundle).expect("no mistakes")
}

/// An endpoint with these claimed levels, kinds and roles.
fn endpoint(levels: &[&str], kinds: &[&str], roles: Option<&[&str]>) -> Target {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut target = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"));
    target.levels = words(levels);
    target.kinds = words(kinds);
    target.roles = roles.map(words);
    target
}

const FACTS: Facts = Facts { seed: 1, identity_seed: 1, clock: Clock(0), profile: Profile::Lenient };

/// For each case `None` if it runs, or the reason why it does not.
fn gates(target: &Target) -> BTreeMap<String, Option<NotRun>> {
    let knowledge = knowledge();
    let plan = build(&knowledge, target, &Selection::default());
    let features = Features::read(&plan, FACTS, &Transcript::default());
    let context = Context { plan: &plan, facts: FACTS, features };
    let name = |id: &str| id.rsplit('#').next().unwrap_or_default().to_owned();
    let reason = |gate| match gate {
        Gate::Open => None,
        Gate::NotRun { reason, .. } => Some(reason),
        Gate::Inconclusive(why) => panic!("inconclusive: {why}"),
    };
    plan.cases.iter().map(|ready| (name(&ready.id), reason(gate(&context, ready)))).collect()
}

/// The cases that do not run for a given reason.
fn left_out(target: &Target, reason: NotRun) -> Vec<String> {
    gates(target).into_iter().filter(|(_, found)| *found == Some(reason)).map(|(name, _)| name).collect()
}

#[test]
fn a_level_includes_only_the_levels_that_it_names() {
    let target = endpoint(&["L3"], &["receiver", "relay"], None);
    assert_eq!(left_out(&target, NotRun::NotClaimed), ["needs-l2", "of-l2"]);
    assert_eq!(left_out(&target, NotRun::Unobservable), [""; 0]);
    let target = endpoint(&["L1", "L2"], &["receiver", "relay"], None);
    assert_eq!(left_out(&target, NotRun::NotClaimed), ["of-l3"]);
}

#[test]
fn cases_beyond_the_kind_are_unobservable_and_cases_beyond_the_claims_are_not_claimed() {
    // By default it claims only L0; L2 is observable.
    let target = endpoint(&[], &["receiver"], None);
    assert_eq!(left_out(&target, NotRun::Unobservable), ["at-a-relay", "of-l1", "of-l3"]);
    assert_eq!(left_out(&target, NotRun::NotClaimed), ["needs-l2", "of-l1-or-l2", "of-l2"]);
    let target = endpoint(&["L2"], &["receiver"], None);
    assert_eq!(left_out(&target, NotRun::NotClaimed), [""; 0]);
    // By default an endpoint is a receiver, the first kind that is reached over HTTP.
    assert_eq!(gates(&endpoint(&[], &[], None)), gates(&endpoint(&[], &["receiver"], None)));
    // A relay has the default claims of the manifest, and plays one role.
    let target = endpoint(&[], &["relay"], None);
    assert_eq!(left_out(&target, NotRun::Unobservable), ["needs-l2", "of-l2", "of-the-coordinator"]);
    assert_eq!(left_out(&target, NotRun::NotClaimed), ["of-l3"]);
}

#[test]
fn a_role_that_is_not_claimed_is_not_judged() {
    let target = endpoint(&["L2"], &["receiver"], Some(&["coordinator"]));
    assert_eq!(left_out(&target, NotRun::NotClaimed), ["at-an-executor"]);
    let target = endpoint(&["L2"], &["receiver"], Some(&["executor"]));
    assert_eq!(left_out(&target, NotRun::NotClaimed), ["of-the-coordinator"]);
    let knowledge = knowledge();
    let plan = build(&knowledge, &target, &Selection::default());
    let both = plan.cases.iter().find(|ready| ready.id.ends_with("of-both-roles")).expect("a case");
    assert_eq!(
        both.covers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["A-E"],
        "a case decides only what binds a role that is claimed"
    );
}

#[test]
fn the_record_lists_why_a_requirement_did_not_run_and_which_levels_are_unobservable() {
    let knowledge = knowledge();
    let target = endpoint(&["L0"], &["receiver"], Some(&["executor"]));
    let plan = build(&knowledge, &target, &Selection::default());
    let features = Features::read(&plan, FACTS, &Transcript::default());
    let context = Context { plan: &plan, facts: FACTS, features };
    let record = protocol(&context, &Transcript::default());
    let reason = |id: &str| record.requirements.iter().find(|found| found.id == id).and_then(|found| found.reason);
    assert_eq!(reason("A-1"), Some(NotRun::Unobservable));
    assert_eq!(reason("A-2"), Some(NotRun::NotClaimed));
    assert_eq!(reason("A-C"), Some(NotRun::NotClaimed));
    assert!(record.requirements.iter().all(|found| found.uncovered.is_none()), "every requirement has a case");
    let level = |name: &str| record.levels.iter().find(|level| level.level == name).expect("a level");
    assert_eq!(["L0", "L1", "L2", "L3"].map(|name| level(name).claimed), [true, false, false, false]);
    assert_eq!(["L0", "L1", "L2", "L3"].map(|name| level(name).unobservable), [false, true, false, true]);
    assert_eq!(["L0", "L1", "L2", "L3"].map(|name| level(name).not_observable), [0, 1, 0, 2]);
    let because: Vec<&str> = level("L0").because.iter().map(|because| because.requirement.as_str()).collect();
    assert_eq!(because, ["A-0", "A-E"], "a role that is not claimed does not block a level");
}

#[test]
fn a_case_is_an_option_left_out_only_if_the_manifest_says_that_roles_bind_cases() {
    let optional = |binds: &str, target: &Target, selection: &Selection| {
        let knowledge = knowledge_of(&format!("{MANIFEST}roles-bind: {binds}\n"));
        let plan = build(&knowledge, target, selection);
        let features = Features::read(&plan, FACTS, &Transcript::default());
        let context = Context { plan: &plan, facts: FACTS, features };
        let ready = plan.cases.iter().find(|ready| ready.id.ends_with("at-an-executor")).expect("a case");
        match gate(&context, ready) {
            Gate::NotRun { reason, optional, .. } => (reason, optional),
            other => panic!("{other:?}"),
        }
    };
    let (everything, target) = (Selection::default(), endpoint(&["L2"], &["receiver"], Some(&["coordinator"])));
    assert_eq!(optional("cases", &target, &everything), (NotRun::NotClaimed, true));
    assert_eq!(optional("requirements", &target, &everything), (NotRun::NotClaimed, false));
    let selection = Selection { only: vec!["agentic/claims#of-l0".to_owned()], ..Selection::default() };
    let target = endpoint(&["L2"], &["receiver"], Some(&["executor"]));
    assert_eq!(optional("cases", &target, &selection), (NotRun::NotSelected, false));
}

#[test]
fn a_requested_level_skips_cases_of_other_levels() {
    let knowledge = knowledge();
    let target = endpoint(&["L2", "L3"], &["receiver", "relay"], None);
    let left_out = |levels: &[&str]| -> Vec<String> {
        let levels = levels.iter().map(|level| (*level).to_owned()).collect();
        let plan = build(&knowledge, &target, &Selection { levels, ..Selection::default() });
        let skipped = plan.cases.iter().filter(|ready| matches!(ready.skip, Some((NotRun::NotSelected, _))));
        skipped.map(|ready| ready.id.rsplit('#').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(left_out(&["L2"]), ["of-l1", "of-l3"]);
    assert_eq!(left_out(&["L1", "L2"]), ["of-l3"]);
    assert_eq!(left_out(&["core"]), [""; 0], "a level of another protocol skips no case");
}
