use super::*;

fn hex(text: &str) -> Vec<u8> {
    data_encoding::HEXLOWER.decode(text.as_bytes()).expect("hexadecimal digits")
}

fn item(text: &str) -> Item {
    read(&hex(text), Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn kind(text: &str) -> ReadErrorKind {
    read(&hex(text), Limits::default()).expect_err(text).kind
}

/// Examples of RFC 8949, appendix A, that are in deterministic form.
#[test]
fn the_published_examples_survive_a_round_trip() {
    let examples = [
        "00",
        "17",
        "1818",
        "1903e8",
        "1a000f4240",
        "1bffffffffffffffff",
        "3bffffffffffffffff",
        "20",
        "3863",
        "3903e7",
        "f90000",
        "f98000",
        "f93c00",
        "fb3ff199999999999a",
        "f93e00",
        "f97bff",
        "fa47c35000",
        "fa7f7fffff",
        "fb7e37e43c8800759c",
        "f90001",
        "f90400",
        "f9c400",
        "fbc010666666666666",
        "f97c00",
        "f97e00",
        "f9fc00",
        "f4",
        "f5",
        "f6",
        "f7",
        "f0",
        "f8ff",
        "c11a514b67b0",
        "d74401020304",
        "40",
        "4401020304",
        "60",
        "6161",
        "62225c",
        "62c3bc",
        "80",
        "83010203",
        "a0",
        "a201020304",
        "a26161016162820203",
        "f90002",
        "f903ff",
        "f983ff",
    ];
    for example in examples {
        let read = item(example);
        assert!(read.form.is_deterministic(), "{example}: {:?}", read.form);
        assert_eq!(encode(&read.value), hex(example), "{example}");
    }
}

#[test]
fn other_forms_are_read_and_noted() {
    let indefinite = item("9f01ff");
    assert_eq!((indefinite.value, indefinite.form.indefinite), (Cbor::Array(vec![Cbor::Unsigned(1)]), true));
    assert_eq!(item("7f61616162ff").value, Cbor::Text("ab".into()));
    assert_eq!(item("bf616101ff").value, Cbor::map([("a", Cbor::Unsigned(1))]));
    for wide in ["1800", "1b0000000000000001", "5800", "fb3ff0000000000000", "fa7fc00000", "f97e01", "d80b00"] {
        assert!(item(wide).form.wide, "{wide}");
    }
    assert!(item("a2616202616101").form.unsorted);
    let twice = item("a2616101616102");
    assert!(twice.form.repeated_key && !twice.form.unsorted);
    assert_eq!(twice.value.get("a"), Some(&Cbor::Unsigned(2)));
    assert!(item("a20101180102").form.repeated_key);
}

#[test]
fn invalid_items_are_rejected() {
    for malformed in ["1c", "ff", "3f", "df00", "f800", "f818", "7f4100ff", "5f5f41ffff", "81ff", "bf00ff", "fe"] {
        assert_eq!(kind(malformed), ReadErrorKind::Malformed, "{malformed}");
    }
    for short in [
        "",
        "18",
        "41",
        "61",
        "81",
        "a1",
        "a100",
        "c1",
        "9f",
        "5f",
        "bf",
        "5bffffffffffffffff",
        "9bffffffffffffffff",
        "bbffffffffffffffff",
    ] {
        assert_eq!(kind(short), ReadErrorKind::End, "{short}");
    }
    assert_eq!(kind("61ff"), ReadErrorKind::Encoding);
    assert_eq!(kind("7f61c361bcff"), ReadErrorKind::Encoding);
    assert_eq!(kind("0000"), ReadErrorKind::Trailing);
    assert_eq!(read(&[0x81; 5000], Limits::default()).expect_err("deep").kind, ReadErrorKind::TooDeep);
    assert!(read(&[vec![0x81; 8], vec![0]].concat(), Limits { depth: 8, ..Limits::default() }).is_ok());
}

#[test]
fn spans_cover_the_outermost_values() {
    let bytes = hex("a2616182010261628100");
    let item = read(&bytes, Limits::default()).expect("well-formed");
    let values: Vec<&[u8]> = item.spans.iter().map(|span| &bytes[span.clone()]).collect();
    assert_eq!(values, [&[0x82, 1, 2][..], &[0x81, 0]]);
}

#[test]
fn keys_are_ordered_by_their_encodings() {
    // RFC 8949, 4.2.1 has this example.
    let keys = [Cbor::Unsigned(10), Cbor::Unsigned(100), Cbor::Negative(0), "z".into(), "aa".into()];
    let more = [Cbor::Array(vec![Cbor::Unsigned(100)]), Cbor::Array(vec![Cbor::Negative(0)]), Cbor::Bool(false)];
    let sorted: Vec<(Cbor, Cbor)> = keys.into_iter().chain(more).map(|key| (key, Cbor::Null)).collect();
    let shuffled = Cbor::Map(sorted.iter().rev().cloned().collect());
    assert_eq!(encode(&shuffled), encode_as(&Cbor::Map(sorted), Style { order: KeyOrder::AsIs, ..Style::default() }));
    let first = |order| encode_as(&shuffled, Style { order, ..Style::default() })[1];
    assert_eq!((first(KeyOrder::Encoded), first(KeyOrder::LengthFirst)), (0x0a, 0x0a));
    let two = Cbor::map([("from", Cbor::Null), ("id", Cbor::Null)]);
    assert_eq!(encode_as(&two, Style { order: KeyOrder::RawText, ..Style::default() })[1], 0x64);
}

#[test]
fn every_half_is_written_as_it_was_read() {
    for bits in 0..=u16::MAX {
        let bytes = [&[0xf9][..], &bits.to_be_bytes()].concat();
        let value = read(&bytes, Limits::default()).expect("well-formed").value;
        let nan = matches!(value, Cbor::Float(number) if number.is_nan());
        assert_eq!(encode(&value), if nan { vec![0xf9, 0x7e, 0] } else { bytes });
    }
}
