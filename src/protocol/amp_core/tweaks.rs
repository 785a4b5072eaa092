//! The table of single differences from section 8.1 that implementers make; see [`super::alternatives`].

use super::did::without_fragment;
use super::sig_input::CONTEXT;
use crate::value::Value;
use crate::wire::cbor::{Floats, Order, Style, Width};

/// The part of the structure that a tweak bears on; two tweaks of one part are never combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Context,
    Protected,
    Member(&'static str),
    Shape,
    Order,
    Width,
    Body,
    Whole,
}

/// How the body enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Right,
    Inline,
    Wire,
    Reencoded,
    LastWins,
    WholeFloats,
    Twice,
    Tag24,
    Sha256,
    Hex,
    Json,
    JsonText,
    Empty,
    Null,
    InlineNull,
    Absent,
    Ciphertext,
    Enc,
}

/// The bytes that are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    Right,
    Sequence,
    Sha256,
    Sha512,
    Bytes,
    Hex,
    BodyOnly,
    HeadersOnly,
    Envelope,
    EnvelopeAsWritten,
}

/// One difference.
#[derive(Clone, Debug)]
pub(super) enum Tweak {
    Context(Option<Value>),
    Protected(Option<Value>),
    /// Adds a member of the envelope to the headers.
    Add(&'static str),
    Drop(&'static str),
    /// Writes null for an absent header.
    NullFor(&'static str),
    /// Replaces a header.
    Map(&'static str, fn(&Value) -> Option<Value>),
    HeadersAsBytes,
    HeadersAsArray,
    /// Headers in the order of the schema.
    SchemaOrder,
    /// Headers in the order of the envelope.
    EnvelopeOrder,
    /// All maps in this order, including those of the body.
    Everywhere(Order),
    /// The headers in this order.
    Headers(Order),
    WideIntegers,
    WideLengths,
    Indefinite,
    BodyStyle(Style),
    Body(Body),
    Whole(Whole),
}

/// A tweak with its description.
pub(super) struct Named {
    /// The part that it changes.
    pub(super) part: Part,
    /// The difference, fit to follow the word "with".
    pub(super) words: String,
    /// The change.
    pub(super) tweak: Tweak,
}

/// The number of tweaks that are combined with all others, and in triples with each other.
pub(super) const LIKELY: usize = 18;

fn hex_text(value: &Value) -> Option<Value> {
    match value {
        Value::Bytes(bytes) => Some(Value::text(data_encoding::HEXLOWER.encode(bytes))),
        _ => None,
    }
}

fn octets(value: &Value) -> Option<Value> {
    match value {
        Value::Bytes(bytes) => Some(Value::Array(bytes.iter().map(|byte| Value::from(u64::from(*byte))).collect())),
        _ => None,
    }
}

fn seconds(value: &Value) -> Option<Value> {
    value.as_integer().map(|number| Value::Integer(number / 1000))
}

fn double(value: &Value) -> Option<Value> {
    value.as_f64().map(Value::Float)
}

fn type_name(value: &Value) -> Option<Value> {
    let code = u64::try_from(value.as_integer()?).ok()?;
    super::codes::type_name(code).map(Value::text)
}

fn flatten(value: &Value) -> Option<Value> {
    match value {
        Value::Array(items) if items.len() == 1 => items.first().cloned(),
        _ => None,
    }
}

fn first(value: &Value) -> Option<Value> {
    value.as_array().and_then(<[Value]>::first).cloned()
}

fn wrapped(value: &Value) -> Option<Value> {
    value.as_text().map(|_| Value::array([value.clone()]))
}

fn sorted(value: &Value) -> Option<Value> {
    let mut items = value.as_array()?.to_vec();
    items.sort_by(|left, right| left.as_text().cmp(&right.as_text()));
    Some(Value::Array(items.into()))
}

fn bare(value: &Value) -> Option<Value> {
    match value {
        Value::Text(text) => Some(Value::text(without_fragment(text))),
        Value::Array(items) => Some(Value::Array(items.iter().filter_map(bare).collect())),
        _ => None,
    }
}

/// All tweaks, the likeliest first: deviations of public implementations, then likely misreadings, then the rest.
pub(super) fn tweaks() -> Vec<Named> {
    let mut all = Vec::new();
    let mut add = |part, words: &str, tweak| all.push(Named { part, words: words.to_owned(), tweak });
    let text = |order| Style { order, ..Style::default() };

    // The first `LIKELY` ones are combined with all others.
    add(Part::Protected, "the integer 1 as protected header", Tweak::Protected(Some(Value::Integer(1))));
    add(Part::Order, "the headers in the order of the schema, unsorted", Tweak::SchemaOrder);
    add(Part::Body, "the body as received, not encoded again", Tweak::Body(Body::Wire));
    add(Part::Body, "the decrypted body encoded again", Tweak::Body(Body::Reencoded));
    add(Part::Body, "the body as a CBOR value, not as a byte string", Tweak::Body(Body::Inline));
    add(Part::Order, "the headers sorted by raw key text", Tweak::Headers(Order::Text));
    add(Part::Order, "all maps sorted by raw key text", Tweak::Everywhere(Order::Text));
    add(Part::Order, "all maps in length-first key order", Tweak::Everywhere(Order::LengthFirst));
    add(Part::Member("v"), "v among the signed headers", Tweak::Add("v"));
    add(Part::Member("thread_id"), "thread_id left out", Tweak::Drop("thread_id"));
    add(Part::Member("reply_to"), "reply_to left out", Tweak::Drop("reply_to"));
    add(Part::Member("thread_id"), "null for the absent thread_id", Tweak::NullFor("thread_id"));
    add(Part::Member("reply_to"), "null for the absent reply_to", Tweak::NullFor("reply_to"));
    add(Part::Member("to"), "the single element of to as a plain string", Tweak::Map("to", flatten));
    add(Part::Width, "every integer in eight bytes", Tweak::WideIntegers);
    add(Part::Body, "the body in its own member order", Tweak::BodyStyle(text(Order::AsWritten)));
    add(Part::Protected, "no protected header", Tweak::Protected(None));
    add(Part::Order, "the headers in the order of the envelope", Tweak::EnvelopeOrder);

    add(Part::Member("to"), "the recipients sorted", Tweak::Map("to", sorted));
    add(Part::Member("to"), "the recipient as an array of one", Tweak::Map("to", wrapped));
    add(Part::Member("to"), "the first recipient only", Tweak::Map("to", first));
    add(Part::Member("to"), "to without its fragment", Tweak::Map("to", bare));
    add(Part::Member("from"), "from without its fragment", Tweak::Map("from", bare));
    add(Part::Member("ext"), "ext among the signed headers", Tweak::Add("ext"));
    add(Part::Member("enc"), "enc among the signed headers", Tweak::Add("enc"));
    add(Part::Member("body"), "body among the signed headers", Tweak::Add("body"));
    for (name, words) in [
        ("id", "id left out"),
        ("typ", "typ left out"),
        ("ts", "ts left out"),
        ("ttl", "ttl left out"),
        ("from", "from left out"),
        ("to", "to left out"),
    ] {
        add(Part::Member(name), words, Tweak::Drop(name));
    }
    for (name, words) in [("id", "id"), ("reply_to", "reply_to"), ("thread_id", "thread_id")] {
        add(Part::Member(name), &format!("{words} as hex text"), Tweak::Map(name, hex_text));
        add(Part::Member(name), &format!("{words} as an array of numbers"), Tweak::Map(name, octets));
    }
    for (name, words) in [("ts", "ts"), ("ttl", "ttl")] {
        add(Part::Member(name), &format!("{words} in seconds"), Tweak::Map(name, seconds));
        add(Part::Member(name), &format!("{words} as a float"), Tweak::Map(name, double));
    }
    add(Part::Member("typ"), "typ by its name", Tweak::Map("typ", type_name));

    add(Part::Order, "all maps in reverse key order", Tweak::Everywhere(Order::Reversed));
    add(Part::Order, "the headers in reverse key order", Tweak::Headers(Order::Reversed));
    add(
        Part::Order,
        "no sorting: the headers in the order of the schema, the body in its own order",
        Tweak::Everywhere(Order::AsWritten),
    );
    add(Part::Width, "every length in eight bytes", Tweak::WideLengths);
    add(Part::Width, "indefinite lengths", Tweak::Indefinite);
    add(Part::Shape, "the headers as a byte string", Tweak::HeadersAsBytes);
    add(Part::Shape, "the headers as an array without names", Tweak::HeadersAsArray);

    for (words, style) in [
        ("the body in length-first key order", text(Order::LengthFirst)),
        ("the body sorted by raw key text", text(Order::Text)),
        ("the body in reverse key order", text(Order::Reversed)),
        ("the integers of the body in eight bytes", Style { integers: Width::Eight, ..Style::default() }),
        ("the lengths in the body in eight bytes", Style { lengths: Width::Eight, ..Style::default() }),
        ("indefinite lengths in the body", Style { indefinite: true, ..Style::default() }),
        ("the floats of the body in eight bytes", Style { floats: Floats::Double, ..Style::default() }),
    ] {
        add(Part::Body, words, Tweak::BodyStyle(style));
    }
    for (words, body) in [
        ("only the last of equal keys in the body", Body::LastWins),
        ("floats without a fraction as integers in the body", Body::WholeFloats),
        ("the body encoded twice, as a byte string in a byte string", Body::Twice),
        ("tag 24 around the body", Body::Tag24),
        ("the SHA-256 hash of the body in its place", Body::Sha256),
        ("the body as hex text", Body::Hex),
        ("the body as JSON bytes", Body::Json),
        ("the body as JSON text", Body::JsonText),
        ("an empty byte string in place of the body", Body::Empty),
        ("a null body", Body::Null),
        ("a bare null in place of the body", Body::InlineNull),
        ("no body", Body::Absent),
        ("the ciphertext in place of the plaintext body", Body::Ciphertext),
        ("enc in place of the plaintext body", Body::Enc),
    ] {
        add(Part::Body, words, Tweak::Body(body));
    }

    for (words, protected) in [
        ("the integer 0 as protected header", Value::Integer(0)),
        ("null as protected header", Value::Null),
        ("an empty map as protected header", Value::Map(Vec::new().into())),
        ("the bytes of an empty map as protected header", Value::Bytes(vec![0xa0])),
        ("the COSE header of EdDSA as protected header", Value::Bytes(vec![0xa1, 0x01, 0x27])),
        ("an empty text as protected header", Value::text("")),
        ("an empty array as protected header", Value::Array(Vec::new().into())),
    ] {
        add(Part::Protected, words, Tweak::Protected(Some(protected)));
    }
    add(Part::Context, "no context string", Tweak::Context(None));
    add(
        Part::Context,
        "the context string as a byte string",
        Tweak::Context(Some(Value::Bytes(CONTEXT.as_bytes().to_vec()))),
    );
    for other in [
        "amp-v1",
        "AMP-V1",
        "AMP-v1.0",
        "AMP-1",
        "AMP/1",
        "AMP/1.0",
        "AMPv1",
        "AMP v1",
        "AMP",
        "AMP1",
        "AMP-v0",
        "AMP-v0.30",
        "AMP-v0.42",
        "AMP-v2",
        "AMP_v1",
        "Signature1",
        "Sig_Input",
        "AMP-v1\0",
        "",
    ] {
        add(Part::Context, &format!("the context string {other:?}"), Tweak::Context(Some(Value::text(other))));
    }
    for (words, whole) in [
        ("its four elements one after the other, without the array", Whole::Sequence),
        ("the SHA-256 hash of Sig_Input signed, not Sig_Input", Whole::Sha256),
        ("the SHA-512 hash of Sig_Input signed, not Sig_Input", Whole::Sha512),
        ("Sig_Input wrapped in a byte string", Whole::Bytes),
        ("the hex text of Sig_Input signed", Whole::Hex),
        ("the body alone signed", Whole::BodyOnly),
        ("the headers alone signed", Whole::HeadersOnly),
        ("the whole message without sig signed", Whole::Envelope),
        ("the whole message without sig signed, in its own member order", Whole::EnvelopeAsWritten),
    ] {
        add(Part::Whole, words, Tweak::Whole(whole));
    }
    all
}
