//! Which steps a walk takes, what a later step uses of earlier answers, and how a walk ends.

use super::super::parts::Stop;
use super::super::swept::Messages;
use super::*;
use crate::template::RenderError;

/// Each step: its number, its operation, its party, and what it sets up.
fn steps(scene: Scene<'_>) -> Vec<String> {
    scene.walk(|walk| shown(&walk.steps()))
}

fn shown(steps: &[Planned<'_>]) -> Vec<String> {
    let show = |planned: &Planned<'_>| {
        let operation = match &planned.step.action {
            crate::suite::Action::Send { operation, .. } => operation.value.as_str(),
            _ => "-",
        };
        format!("{} {operation} {}", planned.number, planned.actor())
    };
    steps.iter().map(show).collect()
}

#[test]
fn a_case_takes_the_set_ups_for_what_it_uses_then_its_own_steps() {
    let put = "steps: [{ send: put, with: { body: {} } }]";
    let two = "steps: [{ send: put, with: { body: {} } }, { send: put, as: b, with: { body: {} } }]";
    let edited = "steps: [{ send: put, with: { body: {} } }, \
                  { send: put, as: b, with: { body: {} }, edit: [{ set: /x, to: 1 }] }, { send: put, with: { body: {} } }]";
    let (ws, twin) = (Transport::Ws, Part::Twin);
    let ask = "steps: [{ send: ask }]";
    let no_setup = "no-setup: true\n    steps: [{ send: ask }]";
    let mention = "steps: [{ send: put, with: { body: '${drawer}' } }]";
    for (scene, taken) in [
        (scene(put), vec!["0 put a"]),
        (scene(two), vec!["0 put a", "1 put b"]),
        // The set-up of each party is for connections that stay open.
        (Scene { over: ws, ..scene(two) }, vec!["10000 put a", "10001 put b", "0 put a", "1 put b"]),
        (Scene { bell: true, ..scene(put) }, vec!["10000 put a", "0 put a"]),
        // What a case uses may use something in turn.
        (scene(ask), vec!["10000 open a", "10001 light a", "0 ask a"]),
        (scene(mention), vec!["10000 open a", "0 put a"]),
        (Scene { bell: true, ..scene(ask) }, vec!["10000 open a", "10001 light a", "10002 put a", "0 ask a"]),
        (Scene { bell: true, ..scene(no_setup) }, vec!["0 ask a"]),
        // A twin ends with the last step that has edits.
        (Scene { part: twin, ..scene(edited) }, vec!["0 put a", "1 put b"]),
        (scene(edited), vec!["0 put a", "1 put b", "2 put a"]),
        // The set-up of a probe has numbers by which its exchanges are found; none of it rests on a feature that is probed.
        (
            Scene { part: Part::Probe, declared: &["badge", "bell"], ..scene(put) },
            vec!["10000 open a", "10001 light a", "10002 tick a", "0 ask a"],
        ),
        (Scene { part: Part::Probe, bell: true, ..scene(put) }, vec!["10200 open a", "10201 light a", "200 ask a"]),
    ] {
        assert_eq!(steps(scene), taken, "{} {:?}", scene.case, scene.part);
        assert_eq!(scene.walk(|walk| walk.is_probing()), scene.part == Part::Probe);
    }
}

#[test]
fn what_a_set_up_made_is_cleaned_up() {
    let case = "steps: [{ send: put, with: { body: '${drawer}' } }]";
    scene(case).walk(|walk| {
        assert!(walk.after().is_empty(), "nothing was opened yet");
        let planned = step(walk, 10_000);
        walk.take(planned, &[answer(10_000, 200, r#"{"drawer":"left"}"#)]);
        let after = walk.after();
        assert_eq!(after.len(), 1);
        let message = walk.messages(after[0]).expect("a message").remove(0);
        assert_eq!(members(&message.body)["close"], Value::text("left"));
    });
}

#[test]
fn later_steps_use_what_earlier_ones_captured() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }], capture: { x: /body/x } }, \
                { send: put, with: { body: { x: '${x}' } }, expect: [{ at: /body/x, equals: '${x}' }] }]";
    let x = |value: u8| format!("{{\"x\":{value}}}");
    assert_eq!(scene(case).verdict(&[answer(0, 200, &x(1)), answer(1, 200, &x(1))]), Verdict::Pass);
    assert_eq!(scene(case).verdict(&[answer(0, 200, &x(1)), answer(1, 200, &x(2))]), Verdict::Fail);
    let judged = scene(case).judged(&[answer(0, 200, "{}"), answer(1, 200, &x(1))]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Inconclusive);
    assert_eq!(judged.because, "the answer to step 1 has no value at /body/x, which later steps need");
    scene(case).walk(|walk| {
        let planned = step(walk, 0);
        walk.take(planned, &[answer(0, 200, &x(3))]);
        assert_eq!(walk.captured(), BTreeMap::from([("x".to_owned(), Value::Integer(3))]));
    });
}

#[test]
fn a_list_of_answers_is_captured_as_a_list_and_an_empty_list_sends_nothing() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }], capture: { xs: /body/xs } }, \
                { send: put, for: '${xs}', with: { body: { x: '${item}' } }, expect: [{ at: /body, equals: '${item}' }], \
                  capture: { all: /body } }]";
    let scene = scene(case);
    let round = |round: usize, body: &str| Exchange { round, ..answer(1, 200, body) };
    let list = || answer(0, 200, r#"{"xs":["a","b"]}"#);
    assert_eq!(scene.verdict(&[list(), round(0, "\"a\""), round(1, "\"b\"")]), Verdict::Pass);
    assert_eq!(scene.verdict(&[list(), round(0, "\"a\""), round(1, "\"a\"")]), Verdict::Fail);
    let judged = scene.judged(&[answer(0, 200, r#"{"xs":["a"]}"#)]);
    assert_eq!(judged.because, "the record has no exchange for a step of the case");
    scene.walk(|walk| {
        walk.replay(&[list(), round(0, "\"a\""), round(1, "\"b\"")], None);
        assert_eq!(walk.captured()["all"], Value::Array(vec![Value::text("a"), Value::text("b")].into()));
    });
    // Without elements there is nothing to send, so nothing is missing.
    let plain = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }], capture: { xs: /body/xs } }, \
                 { send: put, for: '${xs}', with: { body: '${item}' } }]";
    let judged = super::scene(plain).judged(&[answer(0, 200, r#"{"xs":[]}"#)]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Pass, "{}", judged.because);
}

#[test]
fn a_failed_step_ends_the_case_and_says_so() {
    let put = |id: &str| {
        format!("{{ send: put, with: {{ body: {{}} }}, expect: [{{ at: /status, equals: 200, covers: [{id}] }}] }}")
    };
    let both = |first: &str| format!("covers: [DESK-1, DESK-2]\n    steps: [{first}, {}]", put("DESK-2"));
    let sent = both(&put("DESK-1"));
    let raw = both("{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200, covers: [DESK-1] }] }");
    for (case, name) in [(&sent, " (put)"), (&raw, "")] {
        let judged = scene(case).judged(&[answer(0, 500, ""), answer(1, 200, "")]);
        assert_eq!((of(&judged, "DESK-1"), of(&judged, "DESK-2")), (Verdict::Fail, Verdict::Inconclusive));
        let why = format!("step 1{name} failed: expected 200, observed 500; later steps did not run");
        assert_eq!(judged.because, why);
    }
    let judged = scene(&sent).judged(&[answer(0, 200, ""), answer(1, 500, "")]);
    assert_eq!((of(&judged, "DESK-1"), of(&judged, "DESK-2")), (Verdict::Pass, Verdict::Fail));
    assert!(judged.because.starts_with("step 2 (put) failed"), "{}", judged.because);
    // A finding that only warns ends nothing.
    let warned = sent.replacen("covers: [DESK-1] }", "covers: [DESK-1], strict-only: true }", 1);
    let judged = scene(&warned).judged(&[answer(0, 500, ""), answer(1, 200, "")]);
    assert_eq!((of(&judged, "DESK-1"), of(&judged, "DESK-2")), (Verdict::Warn, Verdict::Pass));
    // The walk is refused only where something else than a finding ended it.
    scene(&sent).walk(|walk| {
        walk.replay(&[answer(0, 500, "")], None);
        assert!(matches!(walk.stopped(), Some(Stop::StepFailed(_))));
        assert_eq!(walk.refused(), None);
    });
}

#[test]
fn a_step_without_exchanges_says_why() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }, \
                { send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }]";
    for (exchanges, stopped, verdict, why) in [
        (vec![], None, Verdict::Error, "the record has no exchange for a step of the case"),
        (vec![], Some("the time is up"), Verdict::Error, "the time is up"),
        (vec![answer(0, 200, "")], None, Verdict::Error, "the record has no exchange for a step of the case"),
        // It answered until the time was up, so it is only slow.
        (vec![answer(0, 200, "")], Some("the time is up"), Verdict::Inconclusive, "the time is up"),
    ] {
        let judged = scene(case).judged_until(&exchanges, stopped);
        assert_eq!((of(&judged, "DESK-1"), judged.because.as_str()), (verdict, why));
    }
}

#[test]
fn the_answers_of_a_group_are_judged_one_by_one_and_together() {
    let case = "steps: [{ parallel: [{ send: put, with: { body: {} }, expect: [{ at: /status, within: { min: 200, max: 299 } }] }, \
                { send: put, as: b, with: { body: {} }, expect: [{ at: /status, within: { min: 200, max: 299 } }] }], \
                expect-all: [{ at: /answers, some: { at: /status, equals: 201 } }] }]";
    for (first, second, verdict) in
        [(200, 201, Verdict::Pass), (200, 200, Verdict::Fail), (201, 500, Verdict::Fail), (500, 201, Verdict::Fail)]
    {
        let judged = scene(case).judged(&[answer(1, first, ""), answer(2, second, "")]);
        assert_eq!(of(&judged, "DESK-1"), verdict, "{first} {second}: {}", judged.because);
        // Answers of steps that ran at the same time may be mixed in the record.
        let judged = scene(case).judged(&[answer(2, second, ""), answer(1, first, "")]);
        assert_eq!(of(&judged, "DESK-1"), verdict, "{first} {second}: {}", judged.because);
    }
    let judged = scene(case).judged(&[answer(1, 200, "")]);
    assert_eq!(judged.because, "the record has no exchange for a step of the case");
    let judged = scene(case).judged(&[ended(1, Ended::TimedOut), answer(2, 500, "")]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Error, "{}", judged.because);
    assert!(judged.findings.is_empty(), "what follows a missing answer is not judged");
}

#[test]
fn only_the_last_answer_of_a_step_that_repeats_until_something_shows_is_judged() {
    let case = "steps: [{ send: put, with: { body: {} }, until: 2s, expect: [{ at: /status, equals: 200 }] }]";
    let round = |round: usize, status: u16| Exchange { round, ..answer(0, status, "") };
    assert_eq!(scene(case).verdict(&[round(0, 404), round(1, 200)]), Verdict::Pass);
    let judged = scene(case).judged(&[round(0, 404), round(1, 404)]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Fail);
    assert_eq!(judged.findings[0].exchange, Some(1));
    scene(case).walk(|walk| {
        let planned = step(walk, 0);
        assert!(!walk.holds(planned, &answer(0, 404, "")));
        assert!(walk.holds(planned, &answer(0, 200, "")));
    });
    let quiet = case.replace("until", "quiet");
    let judged = scene(&quiet).judged(&[round(0, 200), round(1, 404), round(2, 200)]);
    assert_eq!(judged.findings[0].exchange, Some(1));
}

#[test]
fn findings_name_their_exchange_among_all_of_the_case() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, exists: true }] }, \
                { send: put, repeat: 2, with: { body: {} }, expect: [{ at: /status, exists: true }] }, \
                { send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }]";
    let again = |round: usize| Exchange { round, ..answer(1, 200, "") };
    let judged = scene(case).judged(&[answer(0, 200, ""), again(0), again(1), answer(2, 500, "")]);
    assert_eq!(judged.findings[0].exchange, Some(3), "{}", judged.because);
}

#[test]
fn an_answer_suffices_if_what_is_expected_of_it_holds_or_else_if_it_accepts() {
    let put = |rest: &str| format!("steps: [{{ send: put, with: {{ body: {{}} }}{rest} }}]");
    let plain = put("");
    let expecting = put(", expect: [{ at: /status, equals: 404 }]");
    let assuming = put(", assume: [{ at: /status, equals: 404 }]");
    let strict = put(", expect: [{ at: /status, exists: true }, { at: /status, equals: 200, strict-only: true }]");
    let edited = put(", edit: [{ set: /x, to: 1 }], expect: [{ at: /status, equals: 404 }]");
    for (case, part, status, suffices) in [
        (&plain, Part::Case, 200, true),
        (&plain, Part::Case, 404, false),
        (&expecting, Part::Case, 404, true),
        (&expecting, Part::Case, 200, false),
        (&assuming, Part::Case, 404, true),
        (&assuming, Part::Case, 200, false),
        (&assuming, Part::Twin, 404, true),
        (&strict, Part::Case, 404, true),
        // A twin has only to be accepted.
        (&edited, Part::Twin, 200, true),
        (&edited, Part::Twin, 404, false),
    ] {
        let scene = Scene { part, ..scene(case) };
        let found = scene.walk(|walk| {
            let planned = step(walk, 0);
            walk.content(planned, answer(0, status, ""))
        });
        assert_eq!(found, suffices, "{case} {part:?} {status}");
    }
}

#[test]
fn a_request_that_cannot_be_built_for_lack_of_a_value_decides_nothing() {
    let plain = "steps: [{ send: put, with: { body: {} } }]";
    let capturing = "steps: [{ send: put, with: { body: {} }, capture: { x: /body } }]";
    let (wrong, absent) = (RenderError::new("too short"), RenderError::absent("no such member"));
    for (case, error, broken) in
        [(plain, &wrong, true), (plain, &absent, false), (capturing, &wrong, false), (capturing, &absent, false)]
    {
        scene(case).walk(|walk| {
            walk.break_off(error);
            let stop = walk.stopped().cloned().expect("it ended");
            assert_eq!(matches!(stop, Stop::Broken(_)), broken, "{case} {error}");
            assert_eq!(walk.refused(), Some(format!("cannot build the request: {error}")));
        });
    }
}

#[test]
fn a_case_judges_every_message_that_the_target_made_in_it() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, exists: true }] }, \
                { sweep: true, assume: [{ at: /kind, equals: note }], expect: [{ at: /lines, each: [{ type: string }] }] }]";
    let made = |made: &str| answer(0, 200, &format!("{{\"made\":[{made}]}}"));
    let (good, bad, empty) =
        (r#"{"kind":"note","lines":["a"]}"#, r#"{"kind":"note","lines":[1]}"#, r#"{"kind":"note","lines":[]}"#);
    let other = r#"{"kind":"other","lines":[1]}"#;
    for (messages, verdict) in [
        (good.to_owned(), Verdict::Pass),
        (bad.to_owned(), Verdict::Fail),
        (format!("{good},{bad}"), Verdict::Fail),
        (format!("{bad},{bad}"), Verdict::Fail),
        // A message that the expectation is not about says nothing where others are.
        (format!("{empty},{good}"), Verdict::Pass),
        (empty.to_owned(), Verdict::NotRun),
        (format!("{other},{good}"), Verdict::Pass),
    ] {
        let judged = scene(case).judged(&[made(&messages)]);
        assert_eq!(of(&judged, "DESK-1"), verdict, "{messages}: {}", judged.because);
        assert_eq!(judged.findings.len(), usize::from(verdict == Verdict::Fail), "{messages}");
    }
    let failed = scene(case).judged(&[made(bad)]);
    assert!(failed.because.starts_with("step 2 failed"), "{}", failed.because);
    let twice = case.replacen("send: put,", "send: put, repeat: 2,", 1);
    let second = Exchange { round: 1, ..made(bad) };
    assert_eq!(scene(&twice).judged(&[made(good), second]).findings[0].exchange, Some(1), "the answer that had it");
    // At most 2000 different messages are kept.
    let line = |n: usize| format!("{{\"kind\":\"note\",\"lines\":[\"{n}\"]}}");
    let lines = |count: usize| (0..count).map(line).collect::<Vec<_>>().join(",");
    assert_eq!(scene(case).verdict(&[made(&format!("{},{bad}", lines(1_999)))]), Verdict::Fail);
    assert_eq!(scene(case).verdict(&[made(&format!("{},{bad}", lines(2_000)))]), Verdict::Pass);
    assert_eq!(scene(case).verdict(&[made(&format!("{},{good},{}", lines(1), lines(1)))]), Verdict::Pass);
}

#[test]
fn sweeps_of_the_same_messages_judge_those_that_their_own_assumptions_concern() {
    let numbers = [("note", 0), ("note", 1), ("other", 2), ("note", 3)].into_iter();
    let message = |(kind, n): (&str, u64)| Value::map([("kind", Value::text(kind)), ("n", Value::from(n))]);
    let messages: Messages = numbers.map(message).enumerate().collect::<Vec<_>>().into();
    let judged_by = |assume: &str| {
        let case = format!("steps: [{{ sweep: true, assume: [{assume}], expect: [{{ at: /n, equals: 9 }}] }}]");
        scene(&case).with(|context, ready| {
            let mut walk = Walk::new(context, ready, Part::Case, 0);
            walk.sweep(&messages);
            walk.finish().findings.iter().filter_map(|finding| finding.exchange).collect::<Vec<_>>()
        })
    };
    let note = "{ at: /kind, equals: note }";
    for (assume, places) in [
        (note.to_owned(), &[0, 1, 3][..]),
        (format!("{note}, {{ at: /n, within: {{ min: 1 }} }}"), &[1, 3]),
        (format!("{note}, {{ at: /n, within: {{ min: 2 }} }}"), &[3]),
        (format!("{note}, {{ at: /n, equals: 1 }}"), &[1]),
        (format!("{note}, {{ at: /m, equals: 1 }}"), &[]),
        (format!("{{ at: /n, within: {{ min: 1 }} }}, {note}"), &[1, 3]),
        ("{ at: /kind, not-equals: note }".to_owned(), &[2]),
        (String::new(), &[0, 1, 2, 3]),
        // A template has another value for each message.
        (format!("{note}, {{ at: /n, equals: \"${{answer/n}}\" }}"), &[0, 1, 3]),
    ] {
        assert_eq!(judged_by(&assume), places, "{assume}");
        assert_eq!(judged_by(&assume), places, "{assume}, once more");
    }
}

#[test]
fn a_sweep_evaluates_what_depends_on_the_message_for_each() {
    let message = |(n, m): (u64, u64)| Value::map([("n", Value::from(n)), ("m", Value::from(m))]);
    let messages: Messages = [(1, 1), (9, 2), (3, 3)].into_iter().map(message).enumerate().collect::<Vec<_>>().into();
    for (expect, wrong) in [
        ("{ at: /n, equals: \"${answer/m}\" }", &[1][..]),
        ("{ at: /n, equals: \"${nine}\" }", &[0, 2]),
        ("{ at: /n, one-of: [\"${nine}\", \"${answer/m}\"] }", &[]),
        ("{ at: /n, one-of: [\"${nine}\", 3] }", &[0]),
        ("{ at: /n, equals: \"${nine}\" }, { at: /m, equals: \"${answer/n}\" }", &[0, 1, 2]),
        // Not decided, since there is no such value.
        ("{ at: /n, equals: \"${answer/other}\" }", &[]),
    ] {
        let case = format!("let: {{ nine: 9 }}\n    steps: [{{ sweep: true, expect: [{expect}] }}]");
        let found: std::collections::BTreeSet<_> = scene(&case).with(|context, ready| {
            let mut walk = Walk::new(context, ready, Part::Case, 0);
            walk.sweep(&messages);
            walk.finish().findings.iter().filter_map(|finding| finding.exchange).collect()
        });
        assert_eq!(found.into_iter().collect::<Vec<_>>(), wrong, "{expect}");
    }
}

#[test]
fn a_sweep_of_the_run_stops_after_six_findings() {
    let case = "steps: [{ sweep: true, assume: [{ at: /kind, equals: note }], expect: [{ at: /n, equals: 0 }] }]";
    let message = |kind: &str, n: u64| Value::map([("kind", Value::text(kind)), ("n", Value::from(n))]);
    let swept = |messages: &[Value]| {
        let numbered: Vec<(usize, Value)> = messages.iter().cloned().enumerate().collect();
        scene(case).with(|context, ready| {
            let mut walk = Walk::new(context, ready, Part::Case, 0);
            walk.sweep(&numbered.clone().into());
            walk.finish()
        })
    };
    let notes = |numbers: std::ops::Range<u64>| numbers.map(|n| message("note", n)).collect::<Vec<_>>();
    for (messages, findings, verdict) in [
        (notes(0..1), 0, Verdict::Pass),
        (notes(1..3), 2, Verdict::Fail),
        (notes(1..20), 6, Verdict::Fail),
        (vec![message("other", 1)], 0, Verdict::NotRun),
        (vec![message("other", 1), message("note", 0)], 0, Verdict::Pass),
    ] {
        let judged = swept(&messages);
        assert_eq!((judged.findings.len(), of(&judged, "DESK-1")), (findings, verdict), "{messages:?}");
    }
}

#[test]
fn a_sweep_of_the_run_finds_a_mistake_after_many_of_another_requirement() {
    let case = "covers: [DESK-1, DESK-2]\n    steps: [{ sweep: true, expect: [\
                { at: /n, equals: 0, covers: DESK-1 }, { at: /m, equals: 0, covers: DESK-2 }] }]";
    let message = |(n, m): (u64, u64)| Value::map([("n", Value::from(n)), ("m", Value::from(m))]);
    let long = std::iter::repeat_n((1, 0), 20);
    for (numbers, first, second) in [
        (long.clone().collect::<Vec<_>>(), 6, 0),
        (long.clone().chain([(0, 1)]).collect(), 6, 1),
        (long.chain(std::iter::repeat_n((1, 1), 20)).collect(), 6, 6),
    ] {
        let messages: Messages = numbers.into_iter().map(message).enumerate().collect::<Vec<_>>().into();
        let findings = scene(case).with(|context, ready| {
            let mut walk = Walk::new(context, ready, Part::Case, 0);
            walk.sweep(&messages);
            walk.finish().findings
        });
        let of = |id: &str| findings.iter().filter(|finding| finding.requirement.as_str() == id).count();
        assert_eq!((of("DESK-1"), of("DESK-2")), (first, second));
    }
}

#[test]
fn a_walk_ends_for_the_first_reason() {
    scene("steps: [{ send: put, with: { body: {} } }]").walk(|walk| {
        walk.halt(Stop::NotAccepted("first".to_owned()));
        walk.halt(Stop::Broken("second".to_owned()));
        assert_eq!(walk.stopped(), Some(&Stop::NotAccepted("first".to_owned())));
    });
}
