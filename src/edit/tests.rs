//! Edits change a message as they say, and say what they change.

use std::sync::Arc;

use super::*;
use crate::source::{Source, parse};
use crate::wire::json;

/// An edit as far as it could be read, and the mistakes in it.
fn read(text: &str) -> (Option<Edit>, Vec<String>) {
    let source = Arc::new(Source { name: "edit.yaml".to_owned(), text: text.to_owned().into() });
    let node = parse(&source).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let mut problems = Problems::default();
    let edit = Edit::read(&node, &mut problems);
    (edit, problems.0.iter().map(ToString::to_string).collect())
}

fn edit(text: &str) -> Edit {
    let (edit, mistakes) = read(text);
    assert_eq!(mistakes, [""; 0], "{text}");
    edit.expect("an edit")
}

/// The new value of an edit without templates.
fn new_value(edit: &Edit) -> Option<Value> {
    edit.expr().and_then(Expr::constant).cloned()
}

#[test]
fn changes_of_values_keep_the_other_members_and_their_order() {
    let message = r#"{"id":1,"title":"t","list":[5,6],"n":2}"#;
    for (text, changed) in [
        ("{ remove: /title }", r#"{"id":1,"list":[5,6],"n":2}"#),
        ("{ remove: /list/0 }", r#"{"id":1,"title":"t","list":[6],"n":2}"#),
        ("{ set: /title, to: x }", r#"{"id":1,"title":"x","list":[5,6],"n":2}"#),
        ("{ set: /new, json: '[true]' }", r#"{"id":1,"title":"t","list":[5,6],"n":2,"new":[true]}"#),
        ("{ rename: /title, to: name }", r#"{"id":1,"name":"t","list":[5,6],"n":2}"#),
        ("{ duplicate: /id, to: x }", r#"{"id":1,"id":"x","title":"t","list":[5,6],"n":2}"#),
        ("{ duplicate: /title, to: x }", r#"{"id":1,"title":"t","title":"x","list":[5,6],"n":2}"#),
        ("{ replace-message: [1] }", "[1]"),
        ("{ truncate: 2 }", message),
    ] {
        let edit = edit(text);
        let mut value = json::parse(message.as_bytes()).expect("JSON");
        edit.apply(&mut value, new_value(&edit)).expect("a change");
        assert_eq!(json::compact(&value), changed, "{text}");
    }
}

#[test]
fn a_change_of_a_value_that_is_not_there_fails() {
    for (text, place) in [
        ("{ remove: /none }", "/none"),
        ("{ rename: /none, to: x }", "/none"),
        ("{ rename: /list/0, to: x }", "/list/0"),
        ("{ duplicate: '', to: x }", ""),
    ] {
        let edit = edit(text);
        let before = json::parse(br#"{"id":1,"list":[5]}"#).expect("JSON");
        let mut value = before.clone();
        assert_eq!(edit.apply(&mut value, new_value(&edit)), Err(ChangeError::Nothing(place.to_owned())), "{text}");
        assert_eq!(value, before, "{text}");
    }
}

#[test]
fn only_changes_that_write_a_value_have_one() {
    for (text, expected) in [
        ("{ set: /title, to: x }", Some("x")),
        ("{ duplicate: /title, to: x }", Some("x")),
        ("{ replace-message: x }", Some("x")),
        ("{ header: accept, to: x }", Some("x")),
        ("{ header: accept }", None),
        ("{ remove: /title }", None),
        ("{ rename: /title, to: x }", None),
        ("{ replace: a, to: x }", None),
    ] {
        assert_eq!(new_value(&edit(text)), expected.map(Value::text), "{text}");
    }
}

#[test]
fn changes_of_bytes_start_where_they_say_and_keep_the_rest() {
    for (text, before, after) in [
        ("{ truncate: 2 }", &b"abcd"[..], &b"ab"[..]),
        ("{ truncate: 9 }", b"abcd", b"abcd"),
        ("{ bytes: xyz }", b"abcd", b"xyz"),
        ("{ bytes: { hex: 00ff } }", b"abcd", b"\x00\xff"),
        ("{ replace: bc, to: X }", b"abcdbc", b"aXdbc"),
        ("{ replace: ab, to: { hex: '00' } }", b"abcd", b"\x00cd"),
        ("{ flip: 0 }", b"\x0f\x0f", b"\x0e\x0f"),
        ("{ flip: 1, bit: 1 }", b"\x0a\x0a", b"\x0a\x08"),
        ("{ flip: 1, bit: 2 }", b"\x0a\x0a", b"\x0a\x0e"),
        // An index past the end starts again at the first byte, and a bit at the first bit.
        ("{ flip: 5, bit: 3 }", b"\0\0\0", b"\0\0\x08"),
        ("{ flip: 0, bit: 11 }", b"\0", b"\x08"),
        ("{ insert: XY, at: 1 }", b"abcd", b"aXYbcd"),
        ("{ insert: XY, at: 9 }", b"abcd", b"abcdXY"),
        ("{ insert: XY }", b"abcd", b"abcdXY"),
        ("{ cut: 1 }", b"abcd", b"bcd"),
        ("{ cut: 2, at: 1 }", b"abcd", b"ad"),
        ("{ cut: 9, at: 3 }", b"abcd", b"abc"),
        ("{ cut: 1, at: 6 }", b"abcd", b"abd"),
        ("{ overwrite: XY }", b"abcd", b"XYcd"),
        ("{ overwrite: XY, at: 1 }", b"abcd", b"aXYd"),
        ("{ overwrite: X, at: 7 }", b"abcd", b"abcX"),
        ("{ remove: /title }", b"abcd", b"abcd"),
        ("{ header: accept }", b"abcd", b"abcd"),
    ] {
        let mut bytes = before.to_vec();
        edit(text).apply_to_bytes(&mut bytes, None).expect("a change");
        assert_eq!(bytes, after, "{text}");
    }
}

#[test]
fn bytes_that_are_not_there_cannot_be_changed() {
    for (text, before, why) in [
        ("{ replace: x, to: y }", &b"abcd"[..], ChangeError::NotThere),
        ("{ replace: x, to: y }", b"", ChangeError::NotThere),
        ("{ flip: 0 }", b"", ChangeError::NoBody),
        ("{ cut: 1 }", b"", ChangeError::NoBody),
        ("{ overwrite: x }", b"", ChangeError::NoBody),
    ] {
        let mut bytes = before.to_vec();
        assert_eq!(edit(text).apply_to_bytes(&mut bytes, None), Err(why), "{text}");
        assert_eq!(bytes, before, "{text}");
    }
}

#[test]
fn an_edit_is_described_with_its_place_and_its_new_value() {
    for (text, described) in [
        ("{ remove: /title }", "remove /title"),
        ("{ set: /title, to: x }", "set /title to \"x\""),
        ("{ rename: /title, to: name }", "rename /title to name"),
        ("{ duplicate: /title, to: 5 }", "duplicate /title with 5"),
        ("{ replace-message: [1] }", "send [1] instead of the message"),
        ("{ truncate: 2 }", "keep the first 2 bytes"),
        ("{ bytes: xyz }", "send the bytes \"xyz\" instead of the body"),
        ("{ replace: bc, to: X }", "replace \"bc\" by \"X\""),
        ("{ flip: 7, bit: 11 }", "invert bit 3 of byte 7"),
        ("{ insert: { hex: 00ff }, at: 1 }", "insert the bytes 00ff before byte 1"),
        ("{ insert: X }", "append the bytes 58 to the message"),
        ("{ cut: 2, at: 1 }", "remove 2 bytes from byte 1 on"),
        ("{ overwrite: X }", "overwrite with the bytes 58 from byte 0 on"),
        ("{ header: accept, to: text/plain }", "set the header accept to \"text/plain\""),
        ("{ header: accept }", "remove the header accept"),
    ] {
        let edit = edit(text);
        assert_eq!(edit.describe(new_value(&edit).as_ref()), described, "{text}");
    }
}

#[test]
fn a_description_shows_the_first_bytes_alone() {
    let described = |count: usize| edit(&format!("{{ insert: {{ hex: '{}' }} }}", "00".repeat(count))).describe(None);
    let zeros = "00".repeat(32);
    assert_eq!(described(32), format!("append the bytes {zeros} to the message"));
    assert_eq!(described(33), format!("append the bytes {zeros}… (33 bytes) to the message"));
    let replaced = |count: usize| edit(&format!("{{ replace: a, to: {} }}", "b".repeat(count))).describe(None);
    assert_eq!(replaced(200), format!("replace \"a\" by \"{}\"", "b".repeat(200)));
    assert_eq!(replaced(201), format!("replace \"a\" by \"{}\"… (201 bytes)", "b".repeat(200)));
}

#[test]
fn an_expression_in_new_bytes_has_the_value_that_it_is_given() {
    let (digits, bytes, number) = (Value::text("99"), Value::Bytes(b"\0\xff".to_vec()), Value::Integer(5));
    for (text, value, after, described) in [
        ("{ insert: '${repeat 2 9}', at: 1 }", &digits, &b"a99bcd"[..], "insert the bytes 3939 before byte 1"),
        ("{ insert: '${item}' }", &bytes, b"abcd\x00\xff", "append the bytes 00ff to the message"),
        ("{ insert: '${item}' }", &number, b"abcd5", "append the bytes 35 to the message"),
        ("{ bytes: 'a ${hex 4}' }", &digits, b"99", "send the bytes \"99\" instead of the body"),
        ("{ overwrite: '${item}' }", &digits, b"99cd", "overwrite with the bytes 3939 from byte 0 on"),
        ("{ replace: bc, to: '${item}' }", &digits, b"a99d", "replace \"bc\" by \"99\""),
    ] {
        let edit = edit(text);
        assert!(edit.expr().is_some(), "{text}");
        let mut changed = b"abcd".to_vec();
        edit.apply_to_bytes(&mut changed, Some(value)).expect("a change");
        assert_eq!((&changed[..], edit.describe(Some(value)).as_str()), (after, described), "{text}");
    }
    let mut literal = Vec::new();
    edit("{ insert: '$${item}' }").apply_to_bytes(&mut literal, None).expect("a change");
    assert_eq!(literal, b"${item}");
}

#[test]
fn an_expression_in_a_text_that_is_taken_as_written_is_a_mistake() {
    for text in ["{ replace: '${item}', to: x }", "{ rename: /title, to: '${item}' }"] {
        let (_, mistakes) = read(text);
        let only = matches!(&mistakes[..], [found] if found.contains("an expression has no value here"));
        assert!(only, "{text}: {mistakes:?}");
    }
    assert_eq!(read("{ replace: '$x {y}', to: z }").1, Vec::<String>::new());
}

#[test]
fn an_edit_makes_exactly_one_change_at_a_stage_that_has_it() {
    for (text, mistake) in [
        ("{ remove: /a, truncate: 1 }", "an edit needs exactly one change, found 2"),
        ("{ stage: built }", "an edit needs exactly one change, found 0"),
        ("{}", "an edit needs exactly one change, found 0"),
        ("remove", "an edit must be a map, not text"),
        ("{ remove: /a, stage: sent }", "unknown stage `sent`"),
        ("{ remove: /a, stage: encoded }", "this change cannot be made at this stage"),
        ("{ truncate: 1, stage: built }", "this change cannot be made at this stage"),
    ] {
        let (_, mistakes) = read(text);
        assert!(matches!(&mistakes[..], [found] if found.contains(mistake)), "{text}: {mistakes:?}");
    }
    for (text, stage) in [
        ("{ remove: /a }", Stage::Built),
        ("{ remove: /a, stage: protected }", Stage::Protected),
        ("{ truncate: 1 }", Stage::Encoded),
        ("{ header: accept }", Stage::Built),
    ] {
        assert_eq!(edit(text).stage, stage, "{text}");
    }
}
