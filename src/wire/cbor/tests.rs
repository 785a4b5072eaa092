use proptest::prelude::*;

use super::*;
use crate::value::Value;

fn hex(text: &str) -> Vec<u8> {
    data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap()
}

fn kinds(text: &str) -> Vec<OddityKind> {
    read(&hex(text), Limits::default()).unwrap().oddities.into_iter().map(|odd| odd.kind).collect()
}

/// RFC 8949 appendix A: values, and their preferred encodings.
#[test]
fn rfc_8949_examples_round_trip() {
    let integers = Value::Array((1..=25).map(Value::Integer).collect());
    let rows: Vec<(&str, Value)> = vec![
        ("00", Value::Integer(0)),
        ("17", Value::Integer(23)),
        ("1818", Value::Integer(24)),
        ("1903e8", Value::Integer(1000)),
        ("1a000f4240", Value::Integer(1_000_000)),
        ("1b000000e8d4a51000", Value::Integer(1_000_000_000_000)),
        ("1bffffffffffffffff", Value::Integer(u64::MAX.into())),
        ("3bffffffffffffffff", Value::Integer(-1 - i128::from(u64::MAX))),
        ("20", Value::Integer(-1)),
        ("3903e7", Value::Integer(-1000)),
        ("c249010000000000000000", Value::Tag(2, Box::new(Value::Bytes(vec![1, 0, 0, 0, 0, 0, 0, 0, 0])))),
        ("f90000", Value::Float(0.0)),
        ("f98000", Value::Float(-0.0)),
        ("f93c00", Value::Float(1.0)),
        ("fb3ff199999999999a", Value::Float(1.1)),
        ("f97bff", Value::Float(65504.0)),
        ("fa47c35000", Value::Float(100_000.0)),
        ("fa7f7fffff", Value::Float(3.402_823_466_385_288_6e38)),
        ("fb7e37e43c8800759c", Value::Float(1.0e300)),
        ("f90400", Value::Float(0.000_061_035_156_25)),
        ("f9fc00", Value::Float(f64::NEG_INFINITY)),
        ("f4", Value::Bool(false)),
        ("f5", Value::Bool(true)),
        ("f6", Value::Null),
        ("f7", Value::Simple(23)),
        ("f0", Value::Simple(16)),
        ("f8ff", Value::Simple(255)),
        ("c074323031332d30332d32315432303a30343a30305a", Value::Tag(0, Box::new(Value::text("2013-03-21T20:04:00Z")))),
        ("d74401020304", Value::Tag(23, Box::new(Value::Bytes(vec![1, 2, 3, 4])))),
        ("40", Value::Bytes(vec![])),
        ("6449455446", Value::text("IETF")),
        ("64f0908591", Value::text("\u{10151}")),
        ("98190102030405060708090a0b0c0d0e0f101112131415161718181819", integers),
        (
            "a26161016162820203",
            Value::map([
                ("a", Value::Integer(1)),
                ("b", Value::Array(vec![Value::Integer(2), Value::Integer(3)].into())),
            ]),
        ),
    ];
    for (text, value) in rows {
        let document = read(&hex(text), Limits::default()).unwrap();
        assert_eq!((&document.value, document.is_deterministic()), (&value, true), "{text}");
        assert_eq!(write(&value), hex(text), "{text}");
        assert_eq!(write_as(&value, Layout::AsWritten), hex(text), "{text}");
    }
    assert_eq!(write(&Value::Float(f64::NAN)), hex("f97e00"));
    assert_eq!(write(&Value::Float(-f64::NAN)), hex("f97e00"));
}

#[test]
fn non_deterministic_encodings_are_reported_but_accepted() {
    use OddityKind as K;
    assert_eq!(kinds("1817"), [K::LongInteger { head: 2, shortest: 1 }]);
    assert_eq!(kinds("1a00000018"), [K::LongInteger { head: 5, shortest: 2 }]);
    assert_eq!(kinds("3b00000000ffffffff"), [K::LongInteger { head: 9, shortest: 5 }]);
    assert_eq!(kinds("5800"), [K::LongLength { head: 2, shortest: 1 }]);
    assert_eq!(kinds("79000161"), [K::LongLength { head: 3, shortest: 1 }]);
    assert_eq!(kinds("9800"), [K::LongLength { head: 2, shortest: 1 }]);
    assert_eq!(kinds("b800"), [K::LongLength { head: 2, shortest: 1 }]);
    assert_eq!(kinds("d80100"), [K::LongTag { head: 2, shortest: 1 }]);
    assert_eq!(kinds("9f5f4100580100ff7f6161ffff").len(), 4);
    assert_eq!(kinds("fa3f800000"), [K::LongFloat { width: 4, shortest: 2 }]);
    assert_eq!(kinds("fb47efffffe0000000"), [K::LongFloat { width: 8, shortest: 4 }]);
    assert_eq!(kinds("fb3ff199999999999a"), []);
    assert_eq!(kinds("f97e01"), [K::OtherNan]);
    assert_eq!(kinds("fa7fc00000"), [K::OtherNan]);
    assert_eq!(kinds("c24101"), [K::SmallBignum]);
    assert_eq!(kinds("c348ffffffffffffffff"), [K::SmallBignum]);
    assert_eq!(kinds("c24900ffffffffffffffff"), [K::SmallBignum]);
    assert_eq!(kinds("c24a00010000000000000000"), [K::PaddedBignum]);
    assert_eq!(kinds("a2616201616102"), [K::UnsortedKey { key: "\"a\"".into(), after: "\"b\"".into() }]);
    // RFC 8949 section 4.2.1 has 10, 100, -1, "z", "aa", [100], [-1], false in this order.
    assert_eq!(kinds("a80af61864f620f6617af6626161f6811864f68120f6f4f6"), []);
    assert_eq!(kinds("a20af620f6"), []);
    assert_eq!(kinds("a220f60af6").len(), 1);
    assert_eq!(kinds("a2616101616102"), [K::DuplicateKey { key: "\"a\"".into() }]);
    // The same key in two encodings is also a duplicate.
    assert_eq!(kinds("a20101190001f6"), [K::LongInteger { head: 3, shortest: 1 }, K::DuplicateKey { key: "1".into() }]);
    // Duplicates that are not adjacent.
    assert_eq!(kinds("a3616101616202616103"), [K::DuplicateKey { key: "\"a\"".into() }]);
    let unsorted = || K::UnsortedKey { key: "\"a\"".into(), after: "\"b\"".into() };
    let duplicate = |key: &str| K::DuplicateKey { key: format!("\"{key}\"") };
    assert_eq!(
        kinds("a4616201616101616302616103"),
        [unsorted(), duplicate("a")],
        "found again after one that is in order"
    );
    assert_eq!(kinds("a46162016161016163026163f6"), [unsorted(), duplicate("c")]);
    assert_eq!(kinds("a46162016161016162026161f6"), [unsorted(), duplicate("b"), duplicate("a")]);
    let offsets: Vec<usize> = read(&hex("8301180182f63817"), Limits::default())
        .map(|document| document.oddities.iter().map(|odd| odd.offset).collect())
        .unwrap();
    assert_eq!(offsets, [2, 6]);
}

#[test]
fn malformed_input_is_rejected_with_its_offset() {
    use CborErrorKind as K;
    let truncated = |expected| K::Truncated { expected };
    for (text, offset, kind) in [
        ("", 0, truncated("a data item")),
        ("19ff", 2, truncated("the rest of a head")),
        ("8201", 0, K::LengthBeyondInput { what: "array", declared: 2, available: 1 }),
        ("820118", 3, truncated("the rest of a head")),
        ("9f01", 2, truncated("a data item")),
        ("a101", 0, K::LengthBeyondInput { what: "map", declared: 1, available: 1 }),
        ("c1", 1, truncated("a data item")),
        ("0102", 1, K::TrailingBytes(1)),
        ("f6ff00", 1, K::TrailingBytes(2)),
        ("62c328", 1, K::InvalidUtf8),
        ("63616cff", 3, K::InvalidUtf8),
        ("7f61c361bcff", 2, K::InvalidUtf8),
        ("1c", 0, K::ReservedInformation(28)),
        ("81fe", 1, K::ReservedInformation(30)),
        ("1f", 0, K::NoIndefinite("unsigned integer")),
        ("3f", 0, K::NoIndefinite("negative integer")),
        ("df", 0, K::NoIndefinite("tag")),
        ("ff", 0, K::UnexpectedBreak { expected: "a data item" }),
        ("81ff", 1, K::UnexpectedBreak { expected: "a data item" }),
        ("c1ff", 1, K::UnexpectedBreak { expected: "a data item" }),
        ("bf01ff", 2, K::UnexpectedBreak { expected: "the value of a map key" }),
        ("f814", 0, K::LongSimple(20)),
        ("f815", 0, K::LongSimple(21)),
        ("f816", 0, K::LongSimple(22)),
        ("f81f", 0, K::LongSimple(31)),
        ("5f6161ff", 1, K::WrongChunk { found: "text string", wanted: "byte string" }),
        ("7f7fffff", 1, K::WrongChunk { found: "text string", wanted: "text string" }),
        ("5b7fffffffffffffff00", 0, K::LengthBeyondInput { what: "byte string", declared: u64::MAX / 2, available: 1 }),
        ("6261", 0, K::LengthBeyondInput { what: "text string", declared: 2, available: 1 }),
        ("9bffffffffffffffff", 0, K::LengthBeyondInput { what: "array", declared: u64::MAX, available: 0 }),
        ("ba7fffffff0000", 0, K::LengthBeyondInput { what: "map", declared: 0x7fff_ffff, available: 2 }),
        ("a2000000", 0, K::LengthBeyondInput { what: "map", declared: 2, available: 3 }),
    ] {
        let error = read(&hex(text), Limits::default()).unwrap_err();
        assert_eq!((error.offset, &error.kind), (offset, &kind), "{text}");
    }
    assert!(read(&hex("8201"), Limits::default()).unwrap_err().is_incomplete());
    assert!(!read(&hex("ff"), Limits::default()).unwrap_err().is_incomplete());
    assert_eq!(
        read(&hex("6261"), Limits::default()).unwrap_err().to_string(),
        "text string of declared length 2, but the input has only 1 bytes left at byte 0"
    );
}

#[test]
fn oddities_are_described_with_their_place() {
    use OddityKind as K;
    for (kind, text) in [
        (K::LongInteger { head: 3, shortest: 1 }, "an integer encoded in 3 bytes, 1 suffice"),
        (K::LongLength { head: 5, shortest: 2 }, "a length encoded in 5 bytes, 2 suffice"),
        (K::LongTag { head: 9, shortest: 3 }, "a tag number encoded in 9 bytes, 3 suffice"),
        (K::Indefinite, "an indefinite length"),
        (K::UnsortedKey { key: "\"a\"".into(), after: "\"b\"".into() }, "unsorted map key \"a\", found after \"b\""),
        (K::DuplicateKey { key: "1".into() }, "duplicate map key 1"),
        (K::LongFloat { width: 8, shortest: 2 }, "a float encoded in 8 bytes, 2 suffice"),
        (K::OtherNan, "a NaN other than f97e00"),
        (K::SmallBignum, "a bignum for a value that fits a plain integer"),
        (K::PaddedBignum, "a bignum with leading zeros"),
    ] {
        assert_eq!(kind.to_string(), text);
        assert_eq!(Oddity { offset: 7, kind }.to_string(), format!("{text} at byte 7"));
    }
}

#[test]
fn bytes_with_an_oddity_are_not_deterministic() {
    for (text, expected) in [("17", true), ("1817", false), ("80", true), ("9fff", false)] {
        let document = read(&hex(text), Limits::default()).expect("well-formed");
        assert_eq!(document.is_deterministic(), expected, "{text}");
    }
}

#[test]
fn the_same_bytes_are_read_within_the_limits_of_each_call() {
    let bytes = [vec![0x98, 60], vec![0; 60]].concat();
    let usual = Limits::default();
    for (limits, expected) in [
        (usual, None),
        (Limits { items: 10, ..usual }, Some(CborErrorKind::TooManyItems(10))),
        (Limits { items: 61, ..usual }, None),
        (Limits { depth: 1, ..usual }, Some(CborErrorKind::TooDeep(1))),
        (usual, None),
    ] {
        assert_eq!(read(&bytes, limits).err().map(|error| error.kind), expected, "{limits:?}");
    }
}

#[test]
fn depth_and_items_are_bounded() {
    let limits = Limits { depth: 4, items: 10 };
    for opener in [0x81, 0x9f, 0xc1, 0xbf] {
        let error = read(&vec![opener; 1 << 20], limits).unwrap_err();
        assert_eq!((error.offset, error.kind), (4, CborErrorKind::TooDeep(4)), "{opener:02x}");
    }
    // Maps in values, not in keys: the key of the fourth is already too deep.
    let maps = [hex("a100").repeat(20), hex("00")].concat();
    let error = read(&maps, Limits { items: 100, ..limits }).unwrap_err();
    assert_eq!((error.offset, error.kind), (7, CborErrorKind::TooDeep(4)));
    assert!(read(&hex("81818100"), limits).is_ok());
    assert!(read(&hex("8181818100"), limits).is_err());
    assert!(read(&hex("89000000000000000000"), limits).is_ok());
    // What declares its length is refused before an element is read, also within another container.
    for (input, offset) in
        [("8a00000000000000000000", 0), ("8200890000000000000000", 2), ("a5000000000000000000000000", 0)]
    {
        let found = read(&hex(&format!("{input}{}", "00".repeat(20))), limits).unwrap_err();
        assert_eq!(found, CborError { offset, kind: CborErrorKind::TooManyItems(10) }, "{input}");
    }
    assert_eq!(
        read(&hex("9f00000000000000000000ff"), limits).unwrap_err(),
        CborError { offset: 10, kind: CborErrorKind::TooManyItems(10) }
    );
    let chunks = [vec![0x5f], vec![0x40; 1 << 20], vec![0xff]].concat();
    assert_eq!(read(&chunks, limits).unwrap_err().kind, CborErrorKind::TooManyItems(10));
    // The default depth does not overflow the stack of a test thread.
    let usual = Limits::default();
    assert!(read(&[vec![0x81; 127], vec![0]].concat(), usual).is_ok());
    assert_eq!(read(&[vec![0x81; 128], vec![0]].concat(), usual).unwrap_err().kind, CborErrorKind::TooDeep(128));
}

#[test]
fn maps_as_keys_of_maps_are_written_once() {
    // A hundred maps, each the key of the one before. Writing a key twice at each level takes 2^100 steps.
    let unsorted = [hex("a1").repeat(100), hex("a202000100"), hex("00").repeat(100)].concat();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let document = read(&unsorted, Limits::default()).unwrap();
        let written = Layout::ALL.map(|layout| write_as(&document.value, layout));
        let _ = send.send((document.oddities.len(), written));
    });
    let (oddities, written) = receive.recv_timeout(std::time::Duration::from_secs(60)).expect("it ends");
    assert_eq!(oddities, 1);
    let sorted = [hex("a1").repeat(100), hex("a201000200"), hex("00").repeat(100)].concat();
    assert_eq!(written[0], sorted);
    for bytes in &written {
        assert_eq!(write(&parse(bytes).unwrap()), sorted);
    }
}

#[test]
fn oddities_are_bounded() {
    let bytes = [vec![0x9f], hex("1800").repeat(5000), vec![0xff]].concat();
    assert_eq!(read(&bytes, Limits::default()).unwrap().oddities.len(), 1000);
}

#[test]
fn sequences_are_split() {
    let bytes = hex("01820203f6");
    let (first, rest) = read_prefix(&bytes, Limits::default()).unwrap();
    assert_eq!((first.value, rest), (Value::Integer(1), &bytes[1..]));
    let all = read_sequence(&bytes, Limits::default()).unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(read_sequence(&[], Limits::default()), Ok(vec![]));
    assert_eq!(read_sequence(&hex("0182"), Limits::default()).unwrap_err().offset, 1);
    assert_eq!(read_sequence(&hex("011800"), Limits::default()).unwrap()[1].oddities[0].offset, 1);
}

#[test]
fn each_layout_changes_only_what_it_names() {
    let value = Value::map([
        ("bb", Value::Integer(1)),
        ("a", Value::Bytes(vec![1, 2])),
        ("c", Value::Array(vec![Value::Float(1.5), Value::text("é")].into())),
    ]);
    for (layout, text) in [
        (Layout::Deterministic, "a3616142010261638 2f93e0062c3a962626201"),
        (Layout::AsWritten, "a3626262016161420102616382f93e0062c3a9"),
        (Layout::WideIntegers, "a36161420102616382f93e0062c3a96262621b0000000000000001"),
        (
            Layout::WideLengths,
            "bb00000000000000037b0000000000000001615b000000000000000201027b000000000000000163\
             9b0000000000000002f93e007b0000000000000002c3a97b0000000000000002626201",
        ),
        (Layout::Indefinite, "bf7f6161ff5f41014102ff7f6163ff9ff93e007f62c3a9ffff7f61626162ff01ff"),
        (Layout::TextOrder, "a361614201026262620161638 2f93e0062c3a9"),
        (Layout::LengthFirst, "a36161420102616382f93e0062c3a962626201"),
        (Layout::Reversed, "a362626201616382f93e0062c3a96161420102"),
        (Layout::WideFloats, "a36161420102616382fb3ff800000000000062c3a962626201"),
    ] {
        let bytes = write_as(&value, layout);
        assert_eq!(bytes, hex(&text.replace([' ', '\n'], "")), "{layout:?}");
        assert!(parse(&bytes).unwrap().same_as(&value), "{layout:?}");
    }
}

/// The mixed body of PM-AMP-16 and PM-AMP-17, in both orders.
#[test]
fn length_first_differs_from_bytewise_for_keys_of_mixed_types() {
    let body = parse(&hex("a60a011864022003617a0462616105f406")).unwrap();
    assert_eq!(write(&body), hex("a60a011864022003617a0462616105f406"));
    assert_eq!(write_as(&body, Layout::LengthFirst), hex("a60a012003f406186402617a0462616105"));
}

#[test]
fn json_numbers_are_encoded() {
    for (text, bytes) in [
        ("5.0", "05"),
        ("1e2", "1864"),
        ("-0", "00"),
        ("1.5", "f93e00"),
        ("0.1", "fb3fb999999999999a"),
        ("1e40", "fb483d6329f1c35ca5"),
    ] {
        assert_eq!(write(&Value::Decimal(text.into())), hex(bytes), "{text}");
    }
    assert_eq!(write(&Value::Integer(1 << 64)), hex("c249010000000000000000"));
    assert_eq!(write(&Value::Integer(-1 - (1 << 64))), hex("c349010000000000000000"));
}

#[test]
fn simple_values_from_24_take_two_bytes() {
    for (number, bytes) in [(0, "e0"), (19, "f3"), (23, "f7"), (24, "f818"), (32, "f820"), (255, "f8ff")] {
        assert_eq!(write(&Value::Simple(number)), hex(bytes), "{number}");
    }
}

#[test]
fn duplicates_stay_adjacent_in_their_order() {
    let value = parse(&hex("a3616201616102616203")).unwrap();
    assert_eq!(write(&value), hex("a3616102616201616203"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-1 - i128::from(u64::MAX)..=i128::from(u64::MAX)).prop_map(Value::Integer),
        (-300_i128..300).prop_map(Value::Integer),
        any::<f64>().prop_filter("NaN equals nothing", |float| !float.is_nan()).prop_map(Value::Float),
        any::<f32>().prop_filter("NaN equals nothing", |float| !float.is_nan()).prop_map(|f| Value::Float(f.into())),
        "\\PC{0,30}".prop_map(Value::text),
        prop::collection::vec(any::<u8>(), 0..30).prop_map(Value::Bytes),
        (0_u8..20).prop_map(Value::Simple),
        (32_u8..=255).prop_map(Value::Simple),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::array),
            prop::collection::vec((inner.clone(), inner.clone()), 0..6).prop_map(|members| Value::Map(members.into())),
            (4_u64..100_000, inner).prop_map(|(number, content)| Value::Tag(number, Box::new(content))),
        ]
    })
}

proptest! {
    #[test]
    fn every_layout_reads_back(value in any_value()) {
        prop_assert_eq!(&parse(&write_as(&value, Layout::AsWritten)).unwrap(), &value);
        let deterministic = write(&value);
        for layout in Layout::ALL {
            let bytes = write_as(&value, layout);
            if layout != Layout::Reversed {
                // The deterministic form of the value read is the same for every layout. Duplicates keep their order
                // except in the reverse layout.
                prop_assert_eq!(write(&parse(&bytes).unwrap()), deterministic.clone(), "{:?}", layout);
            }
            prop_assert!(!diagnostic_bytes(&bytes).contains(" at byte "), "{}", diagnostic_bytes(&bytes));
        }
        let oddities = read(&deterministic, Limits::default()).unwrap().oddities;
        prop_assert!(oddities.iter().all(|odd| matches!(odd.kind, OddityKind::DuplicateKey { .. })), "{:?}", oddities);
    }

    /// A document has no oddity if and only if its bytes are the deterministic encoding of its value.
    #[test]
    fn oddities_are_exactly_the_deviations(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok((document, rest)) = read_prefix(&bytes, Limits::default()) {
            let read = &bytes[..bytes.len() - rest.len()];
            if document.is_deterministic() {
                prop_assert_eq!(write(&document.value), read);
            } else if write(&document.value) == read {
                let harmless = |kind: &OddityKind| matches!(kind,
                    OddityKind::DuplicateKey { .. } | OddityKind::SmallBignum | OddityKind::PaddedBignum);
                prop_assert!(document.oddities.iter().all(|odd| harmless(&odd.kind)), "{:?}", document);
            }
        }
    }

    #[test]
    fn hostile_bytes_are_rendered_and_dumped(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = diagnostic_with(&bytes, Notation::PRETTY);
        let _ = annotate(&bytes);
        let _ = read_sequence(&bytes, Limits::default());
    }
}
