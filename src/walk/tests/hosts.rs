//! Messages that the target sends to a host: what they decide, and the replies to them.

use super::super::Choice;
use super::*;
use crate::exchange::{HostReply, Hosted, HostedKind};
use crate::suite::Action;

/// What a host received in a step.
fn hosted(step: usize, host: &str, kind: HostedKind, body: &str) -> Exchange {
    let mut exchange = answer(step, 200, body);
    exchange.hosted =
        Some(Hosted { host: host.to_owned(), kind, method: "POST".to_owned(), path: "/in".to_owned(), code: None });
    exchange
}

/// A message at the host `in`.
fn arrived(step: usize, body: &str) -> Exchange {
    hosted(step, "in", HostedKind::Http, body)
}

/// Nothing more came in time.
fn nothing(step: usize) -> Exchange {
    hosted(step, "in", HostedKind::Nothing, "")
}

#[test]
fn messages_at_a_host_are_judged_and_missing_ones_violate_what_is_expected_of_them() {
    let one = "steps: [{ receive: in, expect: [{ at: /body/n, equals: 1 }] }]";
    let two = "steps: [{ receive: in, count: 2, expect: [{ at: /body/n, equals: 1 }] }]";
    let after = "steps: [{ send: put, with: { body: {} }, expect: [{ at: /status, exists: true }] }, \
                 { receive: in, count: 2, expect: [{ at: /body/n, equals: 1 }] }, \
                 { send: put, with: { body: {} }, expect: [{ at: /status, equals: 200 }] }]";
    let (right, wrong) = (r#"{"n":1}"#, r#"{"n":2}"#);
    for (case, exchanges, observed, index) in [
        (one, vec![arrived(0, right)], None, 0),
        (one, vec![arrived(0, wrong)], Some("2"), 0),
        (one, vec![nothing(0)], Some("no message"), 0),
        (two, vec![arrived(0, right), arrived(0, right)], None, 0),
        (two, vec![arrived(0, right), arrived(0, wrong)], Some("2"), 1),
        (two, vec![arrived(0, right), nothing(0)], Some("1 of 2"), 1),
        (after, vec![answer(0, 200, ""), arrived(1, right), nothing(1)], Some("1 of 2"), 2),
        (after, vec![answer(0, 200, ""), arrived(1, right), arrived(1, right), answer(2, 500, "")], Some("500"), 3),
    ] {
        let judged = scene(case).judged(&exchanges);
        let found = judged.findings.first().map(|finding| (finding.observed.as_str(), finding.exchange));
        assert_eq!(found, observed.map(|observed| (observed, Some(index))), "{case}: {}", judged.because);
        assert_eq!(of(&judged, "DESK-1") == Verdict::Pass, observed.is_none(), "{case}");
    }
    let expected = |case: &str| scene(case).judged(&[nothing(0)]).findings.remove(0).expected;
    assert_eq!(expected(one), "a message at the host in");
    assert_eq!(expected(two), "2 messages at the host in");
    let failed = scene(one).judged(&[arrived(0, wrong)]);
    assert!(failed.because.starts_with("step 1 (receive in) failed"), "{}", failed.because);
}

#[test]
fn a_message_that_later_steps_need_decides_nothing_where_it_is_missing() {
    let last = "{ send: put, with: { body: '${n}' }, expect: [{ at: /status, equals: 200 }] }";
    let plain = format!("steps: [{{ receive: in, capture: {{ n: /body/n }} }}, {last}]");
    let judged = scene(&plain).judged(&[nothing(0)]);
    assert_eq!(of(&judged, "DESK-1"), Verdict::Inconclusive);
    assert_eq!(judged.because, "step 1 (receive in): no message arrived in time");
    assert_eq!(scene(&plain).verdict(&[arrived(0, r#"{"n":1}"#), answer(1, 200, "")]), Verdict::Pass);
    let judged = scene(&plain).judged(&[arrived(0, "{}"), answer(1, 200, "")]);
    assert!(judged.because.contains("has no value at /body/n"), "{}", judged.because);
    let assuming =
        format!("steps: [{{ receive: in, assume: [{{ at: /body/n, equals: 1 }}] }}, {last}]").replace("'${n}'", "1");
    let judged = scene(&assuming).judged(&[arrived(0, r#"{"n":2}"#), answer(1, 200, "")]);
    assert!(judged.because.starts_with("step 1 (receive in): precondition not met: "), "{}", judged.because);
    // What is expected of all messages together may hold without any.
    let together = "steps: [{ receive: in, expect-all: [{ at: /answers, equals: [] }] }]";
    assert_eq!(scene(together).verdict(&[nothing(0)]), Verdict::Pass);
}

#[test]
fn that_no_message_comes_shows_only_once_the_fence_has_come() {
    let case = "steps: [{ receive: in, count: 0, where: [{ at: /body/kind, equals: note }], \
                fence: [{ at: /body/kind, equals: done }], expect-all: [{ at: /answers, equals: [] }] }]";
    let note = || arrived(0, r#"{"kind":"note"}"#);
    let fence = || hosted(0, "in", HostedKind::Fence, r#"{"kind":"done"}"#);
    for (exchanges, verdict) in [
        (vec![fence()], Verdict::Pass),
        (vec![note(), fence()], Verdict::Fail),
        (vec![nothing(0)], Verdict::Inconclusive),
    ] {
        assert_eq!(scene(case).verdict(&exchanges), verdict, "{exchanges:?}");
    }
    let judged = scene(case).judged(&[nothing(0)]);
    assert_eq!(judged.because, "step 1 (receive in): the fence did not arrive, so the step is inconclusive");
    scene(case).walk(|walk| {
        let Action::Receive(receive) = &step(walk, 0).step.action else { panic!("it receives") };
        for (message, choice) in
            [(note(), Choice::Takes), (fence(), Choice::Fence), (arrived(0, r#"{"kind":"other"}"#), Choice::Leaves)]
        {
            assert_eq!(walk.choose(receive, &message), choice);
        }
    });
}

/// Status, header fields and body of a reply.
fn shown(reply: Option<HostReply>) -> (u16, Vec<String>, String) {
    match reply {
        Some(HostReply::Message { status, headers, body }) => {
            let headers = headers.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
            (status, headers, String::from_utf8(body).expect("UTF-8"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_receiving_step_replies_to_its_own_messages_and_the_last_to_what_is_left() {
    let receive = |rest: &str| format!("{{ receive: in, expect: [{{ at: /body, exists: true }}], {rest} }}");
    let twice = format!("steps: [{}, {}]", receive("reply: { status: 201 }"), receive("reply: { status: 202 }"));
    let parallel = format!(
        "steps: [{{ parallel: [{}, {}] }}]",
        receive("reply: { status: 201 }"),
        receive("where: [{ at: /body/kind, equals: note }], reply: { status: 202 }")
    );
    let none = "steps: [{ receive: in, count: 0, reply: { status: 203 }, expect-all: [{ at: /answers, equals: [] }] }, \
                { receive: in, reply: { status: 204 }, expect: [{ at: /body, exists: true }] }]";
    let (note, other) = (r#"{"kind":"note"}"#, "{}");
    for (case, messages, statuses) in [
        (twice.as_str(), vec![other, other, other], vec![201, 202, 202]),
        (parallel.as_str(), vec![other, note, other], vec![201, 202, 201]),
        (none, vec![other, other], vec![203, 203]),
    ] {
        let found: Vec<u16> = scene(case).walk(|walk| {
            let mut responder = walk.responder();
            messages.iter().map(|body| shown(responder.respond(&arrived(0, body))).0).collect()
        });
        assert_eq!(found, statuses, "{case}");
    }
    scene(&twice).walk(|walk| {
        let mut responder = walk.responder();
        assert_eq!(responder.respond(&hosted(0, "out", HostedKind::Http, other)), None, "another host");
    });
}

#[test]
fn a_reply_has_the_values_of_the_case_and_a_media_type_if_it_has_a_body() {
    let case = |reply: &str| {
        format!(
            "steps: [{{ send: put, with: {{ body: {{}} }}, capture: {{ x: /body/x }} }}, \
             {{ receive: in, reply: {reply}, expect: [{{ at: /body, exists: true }}] }}]"
        )
    };
    let reply = |text: &str| {
        scene(&case(text)).walk(|walk| {
            let mut responder = walk.responder();
            let planned = step(walk, 0);
            walk.take(planned, &[answer(0, 200, r#"{"x":7}"#)]);
            walk.brief(&mut responder);
            responder.respond(&arrived(1, "{}"))
        })
    };
    let media_type = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL")).channel.http.media_type;
    for (text, status, headers, body) in [
        ("{ body: { x: '${x}' } }", 200, vec![format!("content-type: {media_type}")], r#"{"x":7}"#),
        ("{ status: 202 }", 202, vec![], ""),
        (
            "{ headers: { Content-Type: text/x, X-N: '${x}' }, text: hi }",
            200,
            vec!["Content-Type: text/x".to_owned(), "X-N: 7".to_owned()],
            "hi",
        ),
        ("{ headers: { X-N: a } }", 200, vec!["X-N: a".to_owned()], ""),
    ] {
        assert_eq!(shown(reply(text)), (status, headers, body.to_owned()), "{text}");
    }
    assert_eq!(reply("{ silence: true }"), Some(HostReply::Silence));
    assert_eq!(reply("{ close: true }"), Some(HostReply::Close));
}
