//! What one answer decides: how it ended, when it came, and which expectations hold.

use super::*;
use crate::verdict::NotRun;

const OK: &str = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }]";

#[test]
fn how_an_answer_ended_decides_what_it_shows() {
    let must = "steps: [{ send: put, with: { body: {} }, must-answer: true, expect: [{ at: /status, equals: 200 }] }]";
    let edited = "steps: [{ send: put, with: { body: {} }, edit: [{ set: /x, to: 1 }], \
                  expect: [{ at: /status, equals: 200 }] }]";
    let both = "steps: [{ send: put, with: { body: {} }, edit: [{ set: /x, to: 1 }], must-answer: true, \
                expect: [{ at: /status, equals: 200 }] }]";
    let timed_out = || ended(0, Ended::TimedOut);
    let closed = || ended(0, Ended::Closed("gone".to_owned()));
    let unreachable = || ended(0, Ended::Unreachable("refused".to_owned()));
    let not_sent = || ended(0, Ended::NotSent("gone".to_owned()));
    let too_long = || ended(0, Ended::TooLong);
    let (no_time, is_gone) = ("the time limit passed before an answer", "the connection closed before an answer: gone");
    for (case, exchange, verdict, why) in [
        (OK, answer(0, 200, ""), Verdict::Pass, ""),
        (OK, answer(0, 500, ""), Verdict::Fail, "observed 500"),
        (OK, timed_out(), Verdict::Error, no_time),
        (OK, closed(), Verdict::Error, is_gone),
        (OK, unreachable(), Verdict::Error, "step 1 (put): cannot connect: refused"),
        (OK, not_sent(), Verdict::Inconclusive, "step 1 (put): the message was not sent: gone"),
        (OK, too_long(), Verdict::Inconclusive, "step 1 (put): the answer is longer than"),
        (must, timed_out(), Verdict::Fail, no_time),
        (must, closed(), Verdict::Fail, is_gone),
        (must, unreachable(), Verdict::Fail, "cannot connect: refused"),
        (edited, timed_out(), Verdict::Error, no_time),
        (edited, closed(), Verdict::Fail, is_gone),
        (edited, unreachable(), Verdict::Error, "cannot connect: refused"),
        (both, timed_out(), Verdict::Fail, no_time),
        (both, closed(), Verdict::Fail, is_gone),
        (both, unreachable(), Verdict::Error, "cannot connect: refused"),
    ] {
        let judged = scene(case).judged(&[exchange]);
        let found = of(&judged, "DESK-1");
        let observed: Vec<&str> = judged.findings.iter().map(|finding| finding.observed.as_str()).collect();
        assert_eq!(found, verdict, "{case}: {}", judged.because);
        assert!(judged.because.contains(why), "{case}: {} {observed:?}", judged.because);
        assert_eq!(judged.findings.len(), usize::from(verdict == Verdict::Fail), "{case}");
    }
}

#[test]
fn a_twin_that_is_not_answered_is_refused_and_never_judged() {
    let case = "steps: [{ send: put, with: { body: {} }, edit: [{ set: /x, to: 1 }], must-answer: true, \
                expect: [{ at: /status, equals: 400 }] }]";
    let scene = Scene { part: Part::Twin, ..scene(case) };
    for (exchange, refused) in [
        (answer(0, 200, ""), None),
        (answer(0, 400, ""), Some("step 1 (put) was not accepted: status 400")),
        (ended(0, Ended::TimedOut), Some("step 1 (put): the time limit passed before an answer")),
        (
            ended(0, Ended::Closed("gone".to_owned())),
            Some("step 1 (put): the connection closed before an answer: gone"),
        ),
    ] {
        let (found, judged) = scene.with(|context, ready| {
            let mut walk = Walk::new(context, ready, Part::Twin, 0);
            walk.replay(&[exchange], None);
            (walk.refused(), walk.finish())
        });
        assert_eq!(found.as_deref(), refused);
        assert!(judged.findings.is_empty());
        assert!(judged.edits.is_empty(), "a twin has no edits");
    }
}

#[test]
fn a_step_that_expects_nothing_has_to_be_accepted() {
    let after = |first: &str| {
        format!("steps: [{first}, {{ send: put, with: {{ body: {{}} }}, expect: [{{ at: /status, equals: 200 }}] }}]")
    };
    let plain = after("{ send: put, with: { body: {} } }");
    let expecting = after("{ send: put, with: { body: {} }, expect: [{ at: /status, exists: true }] }");
    let together = after("{ send: put, with: { body: {} }, expect-all: [{ at: /answers/0/status, exists: true }] }");
    let assuming = after("{ send: put, with: { body: {} }, assume: [{ at: /status, exists: true }] }");
    let edited = after("{ send: put, with: { body: {} }, edit: [{ set: /x, to: 1 }] }");
    let parallel = after(
        "{ parallel: [{ send: put, with: { body: {} } }], expect-all: [{ at: /answers/0/status, exists: true }] }",
    );
    let advance = after("{ advance: 5s }");
    let tested = after("{ advance: 5s, expect: [{ at: /status, exists: true }] }");
    let request = after("{ request: { method: GET, path: / } }");
    // Over HTTP every answer belongs to its request.
    let no_wait = after("{ send: put, no-wait: true, with: { body: {} } }");
    for (case, steps, verdict) in [
        (&plain, [0, 1], Verdict::Inconclusive),
        (&expecting, [0, 1], Verdict::Pass),
        (&together, [0, 1], Verdict::Pass),
        (&assuming, [0, 1], Verdict::Pass),
        (&edited, [0, 1], Verdict::Pass),
        (&parallel, [1, 2], Verdict::Pass),
        (&advance, [0, 1], Verdict::Inconclusive),
        (&tested, [0, 1], Verdict::Pass),
        (&request, [0, 1], Verdict::Pass),
        (&no_wait, [0, 1], Verdict::Inconclusive),
    ] {
        let judged = scene(case).judged(&[answer(steps[0], 404, ""), answer(steps[1], 200, "")]);
        assert_eq!(of(&judged, "DESK-1"), verdict, "{case}: {}", judged.because);
        let accepted = scene(case).judged(&[answer(steps[0], 204, ""), answer(steps[1], 200, "")]);
        assert_eq!(of(&accepted, "DESK-1"), Verdict::Pass, "{case}: {}", accepted.because);
    }
    let judged = scene(&plain).judged(&[answer(0, 404, ""), answer(1, 200, "")]);
    assert_eq!(judged.because, "step 1 (put) was not accepted: status 404");
}

#[test]
fn a_step_of_the_twin_has_to_be_accepted_where_the_case_expects_nothing_of_it_or_edits_it() {
    let twin = |first: &str, statuses: [u16; 2]| {
        let last =
            "{ send: put, with: { body: {} }, edit: [{ set: /x, to: 1 }], expect: [{ at: /status, equals: 400 }] }";
        let case = format!("steps: [{first}, {last}]");
        let scene = Scene { part: Part::Twin, ..scene(&case) };
        scene.with(|context, ready| {
            let mut walk = Walk::new(context, ready, Part::Twin, 0);
            walk.replay(&[answer(0, statuses[0], ""), answer(1, statuses[1], "")], None);
            walk.refused().is_none()
        })
    };
    let expecting = "{ send: put, with: { body: {} }, expect: [{ at: /status, exists: true }] }";
    let assuming = "{ send: put, with: { body: {} }, assume: [{ at: /status, exists: true }] }";
    let plain = "{ send: put, with: { body: {} } }";
    for (first, statuses, accepted) in [
        (plain, [200, 200], true),
        (plain, [404, 200], false),
        (expecting, [404, 200], true),
        (assuming, [404, 200], true),
        (plain, [200, 404], false),
    ] {
        assert_eq!(twin(first, statuses), accepted, "{first} {statuses:?}");
    }
}

#[test]
fn a_precondition_that_does_not_hold_decides_nothing() {
    let case = "steps: [{ send: put, with: { body: {} }, assume: [{ at: /status, equals: 200 }], \
                expect: [{ at: /body/x, equals: 1 }] }]";
    let judged = scene(case).judged(&[answer(0, 201, r#"{"x":2}"#)]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Inconclusive);
    assert!(judged.because.starts_with("step 1 (put) precondition not met: "), "{}", judged.because);
    assert!(judged.findings.is_empty());
    assert_eq!(scene(case).verdict(&[answer(0, 200, r#"{"x":2}"#)]), Verdict::Fail);
}

#[test]
fn an_answer_that_was_cut_is_judged_only_where_its_end_is() {
    let end = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /ended, equals: too-long }] }]";
    assert_eq!(scene(end).verdict(&[ended(0, Ended::TooLong)]), Verdict::Pass);
    assert_eq!(scene(end).verdict(&[answer(0, 200, "")]), Verdict::Fail);
    let ws = Scene { over: Transport::Ws, ..scene(OK) };
    let page = Arrival { kind: ArrivalKind::Polled, ..arrival(5) };
    let hello = || over_ws(10_000, Ended::Complete, vec![arrival(1)]);
    for (arrived, why) in [(vec![page.clone()], "more pages of answers"), (vec![arrival(5)], "longer than")] {
        let judged = ws.judged(&[hello(), over_ws(0, Ended::TooLong, arrived)]);
        assert!(judged.because.contains(why), "{}", judged.because);
    }
    // A page among whole answers says nothing of the kind.
    let judged = ws.judged(&[hello(), over_ws(0, Ended::Complete, vec![page])]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Fail, "{}", judged.because);
}

#[test]
fn an_answer_with_more_levels_than_are_read_decides_nothing() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }]";
    let judged = scene(case).judged(&[answer(0, 500, &deep(200_000))]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Inconclusive, "{}", judged.because);
    assert!(judged.because.contains("more values or levels than are read"), "{}", judged.because);
    // Long and flat is fine.
    let long = format!("\"{}\"", "x".repeat(300_000));
    assert_eq!(scene(case).verdict(&[answer(0, 500, &long)]), Verdict::Fail);
    // What arrived over a connection is looked at alike.
    let ws = Scene { over: Transport::Ws, ..scene(OK) };
    let far = Arrival { body: Body::from(deep(200_000).into_bytes()), ..arrival(1) };
    let judged =
        ws.judged(&[over_ws(10_000, Ended::Complete, vec![arrival(1)]), over_ws(0, Ended::Complete, vec![far])]);
    assert!(judged.because.contains("more values or levels"), "{}", judged.because);
}

#[test]
fn on_a_connection_that_stays_open_silence_and_closing_are_answers() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /ended, one-of: [timed-out, closed] }] }]";
    let ws = Scene { over: Transport::Ws, ..scene(case) };
    let hello = |ended: Ended, arrived: Vec<Arrival>| over_ws(10_000, ended, arrived);
    let fine = || hello(Ended::Complete, vec![arrival(1)]);
    let closed = || Ended::Closed("gone".to_owned());
    for (set_up, last, verdict) in [
        (fine(), Ended::TimedOut, Verdict::Pass),
        (fine(), closed(), Verdict::Pass),
        (fine(), Ended::Complete, Verdict::Fail),
        (fine(), Ended::Unreachable("no".to_owned()), Verdict::Error),
        // A set-up that the peer answers by closing the connection leaves nothing to test.
        (hello(closed(), Vec::new()), Ended::TimedOut, Verdict::Error),
    ] {
        let judged = ws.judged(&[set_up, over_ws(0, last.clone(), Vec::new())]);
        assert_eq!(of(&judged, "DESK-1"), verdict, "{last:?}: {}", judged.because);
    }
    let judged = ws.judged(&[hello(closed(), Vec::new()), over_ws(0, Ended::TimedOut, Vec::new())]);
    assert_eq!(judged.because, "step 1 (put): gone");
    let case = "steps: [{ send: put, no-wait: true, with: { body: {} } }, \
                { send: put, with: { body: {} }, expect: [{ at: /ended, equals: timed-out }] }]";
    let open = Scene { over: Transport::Ws, ..scene(case) };
    let silence = |step| over_ws(step, Ended::TimedOut, Vec::new());
    assert_eq!(open.verdict(&[fine(), silence(0), silence(1)]), Verdict::Pass, "the next step takes the answers");
}

#[test]
fn a_method_that_an_adapter_does_not_offer_is_not_run() {
    let library = Scene { over: Transport::Adapter, ..scene(OK) };
    let rpc = |body: &str| {
        let body = Body::from(body.as_bytes().to_vec());
        exchange(0, Transport::Adapter, Incoming { body, ..Incoming::nothing(Ended::Complete) })
    };
    let judged = library.judged(&[rpc(r#"{"error":{"code":-32601,"message":"no such method"}}"#)]);
    assert_eq!((of(&judged, "DESK-1"), judged.reason), (Verdict::NotRun, Some(NotRun::NotClaimed)));
    assert_eq!(judged.because, "the adapter does not offer put");
    // Another error in the place of a result is what was observed.
    let judged = library.judged(&[rpc(r#"{"error":{"code":-32000,"message":"out of paper"}}"#)]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Fail);
    assert_eq!(judged.findings[0].observed, "the adapter answered error -32000: out of paper");
    // What has a value is observed as it is.
    let ended = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /ended, equals: never }] }]";
    let library = Scene { over: Transport::Adapter, ..scene(ended) };
    let judged = library.judged(&[rpc(r#"{"error":{"code":-32000,"message":"out of paper"}}"#)]);
    assert!(judged.findings[0].observed.contains("complete"), "{}", judged.findings[0].observed);
    // Over HTTP the same number means nothing.
    let judged = scene(OK).judged(&[answer(0, 500, r#"{"error":{"code":-32601}}"#)]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Fail);
    // A step that expects nothing is not accepted with an error.
    let plain = "steps: [{ send: put, with: { body: {} } }]";
    let library = Scene { over: Transport::Adapter, ..scene(plain) };
    let judged = library.judged(&[rpc(r#"{"error":{"code":-32000,"message":"out of paper"}}"#)]);
    assert_eq!(judged.because, "step 1 (put) was not accepted: the adapter answered error -32000: out of paper");
}

#[test]
fn a_message_that_had_expired_before_the_target_read_it_decides_nothing() {
    let put = "{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }";
    let plain = format!("steps: [{put}]");
    let pause = |ms: u64| format!("steps: [{{ pause: {ms}ms }}, {put}]");
    let (five, six) = (pause(5_000), pause(6_000));
    let quiet =
        "steps: [{ send: put, with: { body: {} }, quiet: 6s, expect: [{ at: /status, equals: 200 }] }]".to_owned();
    let held = format!(
        "steps: [{{ send: put, with: {{ body: {{}} }}, quiet: 6s, expect: [{{ at: /ended, exists: true }}] }}, {put}]"
    );
    let (late, slow) = ("ms late and had expired", "after the message had expired");
    let at = |step: usize, expires: i64, started: u64, elapsed: u64| {
        timed(sending(answer(step, 500, ""), &format!("{{\"expires\":{expires}}}")), started, elapsed)
    };
    let whole = || answer(0, 200, "");
    for (case, exchanges, why) in [
        (&plain, vec![at(0, 5_000, 0, 10)], None),
        (&plain, vec![at(0, 5_000, 4_500, 10)], Some(late)),
        // A second is allowed for the transfer.
        (&plain, vec![at(0, 5_000, 4_000, 10)], None),
        (&plain, vec![at(0, 5_000, 4_001, 10)], Some(late)),
        // A second of delay counts as in time.
        (&plain, vec![at(0, 1_500, 1_000, 10)], None),
        (&plain, vec![at(0, 1_500, 1_001, 10)], Some(late)),
        (&plain, vec![at(0, 5_000, 0, 4_999)], None),
        (&plain, vec![at(0, 5_000, 0, 5_000)], Some(slow)),
        // A message that is meant to have expired is judged.
        (&six, vec![at(1, 5_000, 6_000, 10)], None),
        (&five, vec![at(1, 5_000, 5_000, 10)], None),
        (&five, vec![at(1, 5_001, 6_002, 10)], Some(late)),
        (&held, vec![whole(), at(1, 5_000, 6_000, 10)], None),
        // The time that the step itself lasts does not count.
        (&quiet, vec![at(0, 5_000, 4_500, 10)], Some(late)),
    ] {
        let judged = scene(case).judged(&exchanges);
        let verdict = if why.is_some() { Verdict::Inconclusive } else { Verdict::Fail };
        assert_eq!(of(&judged, "DESK-1"), verdict, "{case} {exchanges:?}: {}", judged.because);
        assert!(judged.because.contains(why.unwrap_or_default()), "{}", judged.because);
        assert_eq!(judged.findings.is_empty(), why.is_some());
        // In time or not, the right answer passes.
        let right: Vec<Exchange> = exchanges
            .iter()
            .cloned()
            .map(|mut exchange| {
                exchange.received.status = Some(200);
                exchange
            })
            .collect();
        assert_eq!(scene(case).verdict(&right), Verdict::Pass, "{case}");
    }
    let judged = scene(&plain).judged(&[at(0, 5_000, 4_500, 10)]);
    assert_eq!(judged.because, "step 1 (put): the message was sent 4500 ms late and had expired");
    let judged = scene(&five).judged(&[at(1, 5_001, 6_002, 10)]);
    assert!(judged.because.starts_with("step 2 (put): "), "{}", judged.because);
    let judged = scene(&plain).judged(&[at(0, 5_000, 0, 5_200)]);
    assert!(judged.because.contains("the answer came 200 ms after"), "{}", judged.because);
}

#[test]
fn on_a_connection_the_first_arrival_shows_when_the_target_had_read_the_message() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }]";
    let ws = Scene { over: Transport::Ws, ..scene(case) };
    let at = |ended: Ended, arrived: &[u64]| {
        let arrived = arrived.iter().map(|at| arrival(*at)).collect();
        timed(sending(over_ws(0, ended, arrived), "{\"expires\":5000}"), 0, 9_000)
    };
    let hello = || over_ws(10_000, Ended::Complete, vec![arrival(1)]);
    for (exchange, verdict) in [
        (at(Ended::Complete, &[6_000, 100]), Verdict::Fail),
        (at(Ended::Complete, &[5_000, 6_000]), Verdict::Inconclusive),
        (at(Ended::Complete, &[]), Verdict::Inconclusive),
        // Nothing shows that it was read late.
        (at(Ended::TimedOut, &[]), Verdict::Fail),
    ] {
        assert_eq!(ws.verdict(&[hello(), exchange.clone()]), verdict, "{exchange:?}");
    }
}

#[test]
fn the_profile_and_the_keyword_give_a_finding_its_weight() {
    let strict =
        "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200, strict-only: true }] }]";
    let whole =
        "strict-only: true\n    steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }]";
    let one_of_two = "covers: [DESK-1, DESK-2]\n    steps: [{ send: put, with: { body: {} }, \
                      expect: [{ at: /status, equals: 200, covers: [DESK-1] }, { at: /ended, equals: complete, covers: [DESK-2] }] }]";
    for (case, profile, verdict, only_strict) in [
        (OK, Profile::Lenient, Verdict::Fail, false),
        (OK, Profile::Strict, Verdict::Fail, false),
        (strict, Profile::Lenient, Verdict::Warn, true),
        (strict, Profile::Strict, Verdict::Fail, true),
        (whole, Profile::Lenient, Verdict::Warn, true),
        (whole, Profile::Strict, Verdict::Fail, true),
    ] {
        let judged = Scene { profile, ..scene(case) }.judged(&[answer(0, 500, "")]);
        assert_eq!(of(&judged, "DESK-1"), verdict, "{case} {profile:?}");
        let finding = &judged.findings[0];
        assert_eq!((finding.verdict, finding.strict_only, finding.exchange), (verdict, only_strict, Some(0)));
    }
    let judged = scene(one_of_two).judged(&[answer(0, 500, "")]);
    assert_eq!((of(&judged, "DESK-1"), of(&judged, "DESK-2")), (Verdict::Fail, Verdict::Pass));
    assert_eq!(judged.findings.len(), 1);
}

#[test]
fn a_reading_that_the_errata_tolerate_is_noted_and_counts_in_the_strict_profile() {
    let case = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, any-of: [\
                { reading: said, equals: 200 }, { reading: other, equals: 201, tolerated: true }] }] }]";
    for (status, profile, verdict, seen) in [
        (200, Profile::Lenient, Verdict::Pass, ("said", false)),
        (201, Profile::Lenient, Verdict::Warn, ("other", true)),
        (201, Profile::Strict, Verdict::Fail, ("other", true)),
    ] {
        let judged = Scene { profile, ..scene(case) }.judged(&[answer(0, status, "")]);
        assert_eq!(of(&judged, "DESK-1"), verdict, "{status} {profile:?}");
        let readings: Vec<_> = judged.readings.iter().map(|seen| (seen.reading.as_str(), seen.tolerated)).collect();
        assert_eq!(readings, [seen]);
        assert!(judged.findings.iter().all(|finding| finding.strict_only && finding.observed == "other"));
    }
}

#[test]
fn what_the_answers_lack_leaves_the_requirement_open() {
    let argument =
        "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, equals: '${answer/body/none}' }] }]";
    let judged = scene(argument).judged(&[answer(0, 200, "{}")]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Inconclusive);
    assert!(judged.because.contains("the answers lack what the expectation compares with"), "{}", judged.because);
    let subject =
        "steps: [{ send: put, with: { body: {} }, expect-all: [{ of: '${answer/answers/0/body/none}', equals: 1 }] }]";
    let judged = scene(subject).judged(&[answer(0, 200, "{}")]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Inconclusive);
    assert!(judged.because.contains("the answers lack what is judged"), "{}", judged.because);
    let empty = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /body, each: [{ type: string }] }] }]";
    let judged = scene(empty).judged(&[answer(0, 200, "[]")]);
    assert_eq!((of(&judged, "DESK-1"), judged.reason), (Verdict::NotRun, Some(NotRun::NotExercised)));
    assert_eq!(judged.because, "the answers contained nothing to judge");
}
