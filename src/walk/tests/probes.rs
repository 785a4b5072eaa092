//! What the probes show of a target: its features and the levels that it claims.

use super::super::Transcript;
use super::*;
use crate::target::RouteOverride;

const PROBED: &str = "
protocol: desk
levels: [{ name: L0 }, { name: L1, includes: [L0] }, { name: L2, includes: [L1] }]
claims: { level: { feature: whole, at: /body/level }, features: { feature: whole, at: /body/offers }, default: L0 }
features:
  - { feature: whole, about: all of it, if-missing: run, probe: [{ send: ask }], missing: [{ at: /status, equals: 404 }], offered: [{ at: /status, equals: 200 }] }
  - { feature: door, about: a door, if-missing: run, operation: open, probe: [{ send: open }], missing: [{ at: /status, equals: 404 }], offered: [{ at: /status, equals: 200 }] }
  - { feature: spare-key, about: a key, if-missing: run }
  - { feature: here, about: at its place, if-missing: run, probe: [{ send: ask }], missing: [{ at: /target/none, exists: true }], offered: [{ at: /target/none, absent: true }] }
";

/// What is read from an answer to each probe that has one.
fn read<T>(
    answers: Vec<Exchange>,
    change: impl FnOnce(&mut Target),
    use_it: impl FnOnce(&Features, &Plan<'_>) -> T,
) -> T {
    let area = "suite: desk/area\ncases: [{ case: case, covers: [DESK-1], \
                steps: [{ send: ask, expect: [{ at: /status, equals: 200 }] }] }]";
    let files = [
        ("suites/desk/protocol.yaml", PROBED),
        ("suites/desk/requirements.yaml", CATALOGUE),
        ("suites/desk/area.yaml", area),
    ];
    let knowledge = plan::load(&Desk, &Bundle::new(&files)).unwrap_or_else(|error| panic!("{error:?}"));
    let mut target = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"));
    change(&mut target);
    let plan = plan::build(&knowledge, &target, &Selection::default());
    let transcript = Transcript { probes: vec![(Transport::Http, answers)], ..Transcript::default() };
    use_it(&Features::read(&plan, facts(Profile::Lenient), &transcript), &plan)
}

#[test]
fn a_probe_shows_whether_a_feature_is_offered() {
    let door = |exchange: Exchange| read(vec![exchange], |_| (), |features, _| features.state(Transport::Http, "door"));
    for (exchange, state) in [
        (answer(100, 200, ""), FeatureState::Offered),
        (answer(100, 404, ""), FeatureState::Absent),
        (answer(100, 500, ""), FeatureState::Unclear),
        (ended(100, Ended::TimedOut), FeatureState::Unanswered),
        (ended(100, Ended::Closed("gone".to_owned())), FeatureState::Unanswered),
        // An answer that was cut shows nothing, whatever came of it.
        (
            Exchange {
                received: Incoming { status: Some(200), ..Incoming::nothing(Ended::TooLong) },
                ..answer(100, 200, "")
            },
            FeatureState::Unanswered,
        ),
        (answer(0, 200, ""), FeatureState::Unknown),
    ] {
        assert_eq!(door(exchange.clone()), state, "{exchange:?}");
    }
    // What is known of the target holds whatever it answers.
    let here = read(vec![ended(300, Ended::TimedOut)], |_| (), |features, _| features.state(Transport::Http, "here"));
    assert_eq!(here, FeatureState::Offered);
    // Over a connection that stays open, a refusal counts though the peer closes the connection after it.
    let refused = |arrived: Vec<Arrival>, ended: Ended| {
        let mut exchange = over_ws(100, ended, arrived);
        exchange.received.status = Some(404);
        door(exchange)
    };
    let closed = || Ended::Closed("gone".to_owned());
    assert_eq!(refused(vec![arrival(1)], closed()), FeatureState::Absent);
    assert_eq!(refused(vec![], closed()), FeatureState::Unanswered);
    assert_eq!(refused(vec![arrival(1)], Ended::TimedOut), FeatureState::Unanswered);
}

#[test]
fn the_target_file_decides_before_the_probe() {
    let option = |offered: bool| {
        move |target: &mut Target| {
            target.options.insert("door".to_owned(), offered);
            target.options.insert("spare-key".to_owned(), offered);
        }
    };
    let states = |change: &dyn Fn(&mut Target), status: u16| {
        let answers = vec![answer(0, 200, r#"{"offers":["spare_key"]}"#), answer(100, status, "")];
        read(answers, change, |features, _| ["door", "spare-key"].map(|name| features.state(Transport::Http, name)))
    };
    use FeatureState::{Absent, Offered};
    assert_eq!(states(&option(true), 404), [Offered, Offered]);
    assert_eq!(states(&option(false), 200), [Absent, Absent]);
    assert_eq!(states(&|_| (), 404), [Absent, Offered], "a feature without a probe is offered if it is listed");
    let route = |target: &mut Target| {
        target.routes.insert("open".to_owned(), RouteOverride::default());
    };
    assert_eq!(states(&route, 404), [Offered, Offered], "a configured route counts as offered");
    let unlisted = read(
        vec![answer(0, 200, r#"{"offers":["other"]}"#)],
        |_| (),
        |features, _| features.state(Transport::Http, "spare-key"),
    );
    assert_eq!(unlisted, Absent);
}

#[test]
fn a_target_claims_the_levels_that_it_names() {
    let claimed = |body: &str| {
        read(
            vec![answer(0, 200, body)],
            |_| (),
            |features, plan| {
                let levels = &plan.knowledge.manifest.levels;
                let names = ["L0", "L1", "L2"];
                names
                    .into_iter()
                    .filter(|name| features.claimed.includes(levels.closure(name)))
                    .collect::<Vec<_>>()
                    .join(" ")
            },
        )
    };
    for (body, levels) in [
        (r#"{"level":"L1"}"#, "L0 L1"),
        (r#"{"level":["L0","L2"]}"#, "L0 L1 L2"),
        (r#"{"level":["unknown","L1"]}"#, "L0 L1"),
        // A target that names no known level has the default claims.
        (r#"{"level":"unknown"}"#, "L0"),
        (r#"{"level":7}"#, "L0"),
        ("{}", "L0"),
    ] {
        assert_eq!(claimed(body), levels, "{body}");
    }
    let declared = read(vec![answer(0, 200, r#"{"level":"L1"}"#)], |_| (), |features, _| features.declared.clone());
    assert_eq!(declared, Some(Value::map([("level", Value::text("L1"))])));
}

#[test]
fn what_two_runs_found_out_is_joined_unless_they_differ() {
    let features = |states: &[(&str, FeatureState)], declared: Option<&str>| {
        let states = states.iter().map(|(name, state)| ((Transport::Ws, (*name).to_owned()), *state)).collect();
        Features { states, declared: declared.map(Value::text), ..Features::default() }
    };
    use FeatureState::{Absent, Offered, Unknown};
    let mut one = features(&[("bell", Offered), ("door", Unknown)], None);
    one.join(&features(&[("bell", Offered), ("door", Absent), ("key", Offered)], Some("second"))).expect("they agree");
    assert_eq!(["bell", "door", "key"].map(|name| one.state(Transport::Ws, name)), [Offered, Absent, Offered]);
    assert_eq!(one.declared, Some(Value::text("second")));
    one.join(&features(&[("bell", Unknown)], Some("third"))).expect("nothing new");
    assert_eq!((one.state(Transport::Ws, "bell"), one.declared.clone()), (Offered, Some(Value::text("second"))));
    let differ = one.join(&features(&[("door", Offered)], None));
    assert_eq!(differ, Err(("door@ws".to_owned(), Absent, Offered)));
}
