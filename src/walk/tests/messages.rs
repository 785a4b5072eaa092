//! The messages that a walk builds: inputs, header fields, edits and their stages, and what is new in each try.

use super::*;
use crate::exchange::Encoded;
use crate::plan::RETRIES;

/// The message of step 0 of a walk.
fn built(scene: Scene<'_>) -> Encoded {
    scene.walk(|walk| {
        let planned = step(walk, 0);
        walk.messages(planned).expect("a message").remove(0)
    })
}

/// A header field of a message.
fn header<'e>(message: &'e Encoded, name: &str) -> Vec<&'e str> {
    let found = message.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str()).collect()
}

#[test]
fn each_part_and_each_retry_of_a_case_has_numbers_and_values_of_its_own() {
    let case = "steps: [{ send: put, with: { body: { n: '${ordinal}', id: '${hex 8}' } } }]";
    scene(case).with(|context, ready| {
        let of = |part: Part, retry: u64| {
            let mut walk = Walk::retry(context, ready, part, 0, retry);
            let planned = step(&walk, 0);
            let body = members(&walk.messages(planned).expect("a message")[0].body);
            (body["n"].as_integer().expect("a number"), body["id"].clone())
        };
        let own = i128::from(ready.ordinal);
        let retries = i128::from(RETRIES);
        let tries = [(Part::Case, 0), (Part::Twin, 0), (Part::Case, 1), (Part::Twin, 1), (Part::Case, 2)];
        let found: Vec<_> = tries.iter().map(|(part, retry)| of(*part, *retry)).collect();
        let numbers: Vec<i128> = found.iter().map(|(number, _)| *number).collect();
        let own = 2 * own;
        assert_eq!(numbers, [own, own + 1, own + 2 * retries, own + 2 * retries + 1, own + 4 * retries]);
        for (index, (_, id)) in found.iter().enumerate() {
            assert!(!found[..index].iter().any(|(_, earlier)| earlier == id), "{found:?}");
        }
        assert_eq!(of(Part::Case, 0), found[0], "the same walk builds the same message");
        let first = Walk::new(context, ready, Part::Case, 0);
        assert_eq!(first.token(), Walk::retry(context, ready, Part::Case, 0, 0).token());
    });
}

#[test]
fn an_input_that_is_not_given_has_its_default_where_that_has_a_value() {
    let given = "steps: [{ send: ask, with: { lamp: own } }]";
    let missing = "steps: [{ send: ask }]";
    let lamp = |case: &str, value: Option<&str>| {
        scene(case).walk(|walk| {
            if let Some(value) = value {
                walk.scope.bind("lamp", Value::text(value));
            }
            let planned = step(walk, 0);
            members(&walk.messages(planned).expect("a message")[0].body).get("lamp").cloned()
        })
    };
    assert_eq!(lamp(given, Some("captured")), Some(Value::text("own")));
    assert_eq!(lamp(missing, Some("captured")), Some(Value::text("captured")));
    assert_eq!(lamp(missing, None), None);
}

#[test]
fn header_fields_replace_each_other_whatever_their_case_and_the_others_stay() {
    let case = "steps: [{ send: put, with: { body: {} }, headers: { X-One: '1', X-Two: 2 }, \
                edit: [{ header: x-one, to: other }] }]";
    let message = built(scene(case));
    assert_eq!(header(&message, "x-one"), ["other"]);
    assert_eq!(header(&message, "x-two"), ["2"], "a value that is not text is written as JSON");
    assert_eq!(header(&message, "x-seal"), ["wax"]);
    let twin = built(Scene { part: Part::Twin, ..scene(case) });
    assert_eq!(header(&twin, "x-one"), ["1"], "a twin has no edits");
    let removed =
        built(scene("steps: [{ send: put, with: { body: {} }, edit: [{ header: X-Seal, stage: protected }] }]"));
    assert_eq!(header(&removed, "x-seal"), [""; 0]);
    let own = built(scene("steps: [{ send: put, with: { body: {} }, headers: { X-Seal: own } }]"));
    assert_eq!(header(&own, "x-seal"), ["own"], "what the case says stays");
}

#[test]
fn an_edit_is_made_before_or_after_the_message_is_protected_or_encoded() {
    let edited = |edit: &str| {
        let case = format!("steps: [{{ send: put, with: {{ body: {{ x: 1 }} }}, edit: [{edit}] }}]");
        String::from_utf8(built(scene(&case)).body).expect("UTF-8")
    };
    for (edit, body) in [
        ("{ set: /x, to: 2 }", r#"{"x":2,"sealed":true}"#),
        ("{ set: /sealed, to: false }", r#"{"x":1,"sealed":true}"#),
        ("{ set: /sealed, to: false, stage: protected }", r#"{"x":1,"sealed":false}"#),
        ("{ remove: /sealed, stage: protected }", r#"{"x":1}"#),
        ("{ truncate: 3 }", r#"{"x"#),
    ] {
        assert_eq!(edited(edit), body, "{edit}");
    }
    // New bytes and names of members may have expressions.
    assert!(edited("{ insert: '${repeat 3 9}' }").ends_with("999"));
    assert!(edited("{ set: /x, to: { '${repeat 2 n}': 1 } }").contains("\"nn\""));
    scene("steps: [{ send: put, with: { body: { x: 1 } }, edit: [{ set: /x, to: 2 }] }]").with(|context, ready| {
        let mut walk = Walk::new(context, ready, Part::Case, 0);
        walk.replay(&[answer(0, 200, "")], None);
        let edits = walk.finish().edits;
        assert_eq!(edits.len(), 1);
        assert_eq!(edits[0].step, 0);
        assert!(edits[0].edit.contains("/x") && edits[0].edit.contains('2'), "{}", edits[0].edit);
    });
}

#[test]
fn what_makes_each_message_of_a_list_wrong_is_described() {
    let described = |items: &str| {
        let case = format!(
            "steps: [{{ send: put, for: {items}, with: {{ body: {{ x: 1 }} }}, edit: [{{ set: /x, to: '${{item}}' }}] }}]"
        );
        scene(&case).with(|context, ready| {
            let mut walk = Walk::new(context, ready, Part::Case, 0);
            walk.replay(&[answer(0, 400, "")], None);
            walk.finish().edits.into_iter().map(|edit| edit.edit).collect::<Vec<_>>()
        })
    };
    assert_eq!(described("[7]"), ["set /x to 7"]);
    assert_eq!(described("[7, [], 7]"), ["set /x to 7", "set /x to []"], "each once");
    assert_eq!(described("[1, 2, 3, 4, 5, 6, 7]").len(), 5);
    assert_eq!(described("[]"), Vec::<String>::new(), "nothing was sent");
}

#[test]
fn the_set_up_of_a_party_is_built_anew_for_each_connection() {
    let case = "steps: [{ send: put, with: { body: {} } }, { send: put, as: b, with: { body: {} } }]";
    Scene { over: Transport::Ws, ..scene(case) }.walk(|walk| {
        let planned = step(walk, 10_000);
        let first = members(&walk.messages(planned).expect("a message")[0].body)["n"].clone();
        let mut seen = vec![first];
        for times in 1..=3 {
            let again = walk.rebuild_setup("a", times);
            let numbers: Vec<usize> = again.iter().map(|(planned, _)| planned.number).collect();
            assert_eq!(numbers, [10_000], "the set-up of party a alone");
            let body = members(&again[0].1[0].body);
            assert_eq!(body["hello"], Value::text("a"));
            assert!(!seen.contains(&body["n"]), "{body:?}");
            seen.push(body["n"].clone());
        }
        assert_eq!(walk.rebuild_setup("b", 1)[0].0.number, 10_001);
        assert!(walk.rebuild_setup("c", 1).is_empty());
    });
}

#[test]
fn a_clock_is_advanced_by_the_operation_of_the_manifest() {
    scene("steps: [{ advance: 5s }, { advance: 2s }]").walk(|walk| {
        let planned = step(walk, 0);
        assert_eq!(members(&walk.messages(planned).expect("a message")[0].body)["ms"], Value::Integer(5_000));
        assert_eq!(walk.clock_ms(), 0, "it advances when the message was answered");
        walk.take(planned, &[answer(0, 200, "")]);
        assert_eq!(walk.clock_ms(), 5_000);
        let planned = step(walk, 1);
        walk.take(planned, &[answer(1, 200, "")]);
        assert_eq!(walk.clock_ms(), 7_000);
    });
}
