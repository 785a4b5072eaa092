//! The inputs that the reader accepts and rejects.

use super::reader::{DEPTH_LIMIT, ReadErrorKind, read};

fn kind(text: &[u8]) -> ReadErrorKind {
    read(text).expect_err("the text is refused").kind
}

#[test]
fn order_and_number_spelling_survive() {
    let text = r#"{"b":1.50,"a":[-0.0,1E2,{}],"é":"\u00e9\n"}"#;
    let value = read(text.as_bytes()).expect("valid JSON");
    assert_eq!(value.write(), r#"{"b":1.50,"a":[-0.0,1E2,{}],"é":"é\n"}"#);
}

#[test]
fn what_two_readers_would_see_differently_is_refused() {
    assert_eq!(kind(br#"{"a":1,"\u0061":2}"#), ReadErrorKind::DuplicateName("a".into()));
    assert_eq!(kind(br#""\ud800""#), ReadErrorKind::LoneSurrogate);
    assert_eq!(kind(br#""\udc00""#), ReadErrorKind::LoneSurrogate);
    assert_eq!(kind(br#""\ud800\u0041""#), ReadErrorKind::LoneSurrogate);
    assert_eq!(kind(b"\xef\xbb\xbf{}"), ReadErrorKind::ByteOrderMark);
    assert_eq!(kind(b"\"\xff\""), ReadErrorKind::Encoding);
    assert_eq!(kind(b"\"\xed\xa0\x80\""), ReadErrorKind::Encoding);
    assert_eq!(kind(b"1e400"), ReadErrorKind::NumberOverflow);
    assert_eq!(kind(b"{}{}"), ReadErrorKind::Trailing);
}

#[test]
fn a_duplicate_is_found_in_a_large_object_too() {
    let mut text = String::from("{");
    for index in 0..100 {
        text.push_str(&format!("\"n{index}\":0,"));
    }
    text.push_str("\"n40\":1}");
    assert_eq!(kind(text.as_bytes()), ReadErrorKind::DuplicateName("n40".into()));
    let unique = text.replace("\"n40\":1", "\"new\":1");
    assert!(read(unique.as_bytes()).is_ok());
}

#[test]
fn broken_grammar_is_refused() {
    for text in [
        "",
        " ",
        "{\"a\":1",
        "{\"a\":1,}",
        "{'a':1}",
        "[01]",
        "[+1]",
        "[.5]",
        "[1.]",
        "[1e]",
        "[NaN]",
        "\"\t\"",
        "\"\\x41\"",
        "\"\\u12\"",
        "[1 2]",
        "nul",
        "-",
        "[",
        "]",
        "{\"a\"}",
        "{1:2}",
        "\"",
        "[,]",
        "\u{a0}1",
    ] {
        assert!(read(text.as_bytes()).is_err(), "{text:?} was taken");
    }
}

#[test]
fn nesting_is_bounded_without_using_the_stack() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(read(deep(DEPTH_LIMIT).as_bytes()).is_ok());
    assert_eq!(kind(deep(DEPTH_LIMIT + 1).as_bytes()), ReadErrorKind::TooDeep);
    assert_eq!(kind("[".repeat(1_000_000).as_bytes()), ReadErrorKind::TooDeep);
}

#[test]
fn integers_are_judged_by_value() {
    let integer = |text: &str| read(text.as_bytes()).ok()?.as_number()?.as_integer();
    assert_eq!(integer("5.0"), Some(5));
    assert_eq!(integer("50e-1"), Some(5));
    assert_eq!(integer("-0"), Some(0));
    assert_eq!(integer("5.5"), None);
    assert_eq!(integer("1e300"), None);
}
