//! Code shared by the kinds: [`expect`] builds the expectations of a correct answer, a rejection, or any answer.

use crate::value::{Text, Value};
use crate::vector::{LibraryCall, Twin, Vector, VectorResult};
use crate::wire::cbor::{self, Limits, OddityKind};

/// Place, matcher, argument, and whether only the strict profile counts it.
pub(super) type Expected = (&'static str, &'static str, Value, bool);

/// The code of JSON-RPC for parameters that a method does not take.
const BAD_PARAMETERS: i128 = -32602;

/// One expectation inside another.
pub(super) fn at(place: &str, matcher: &str, argument: Value) -> Value {
    Value::map([("at", Value::text(place)), (matcher, argument)])
}

/// One of several permitted readings.
pub(super) fn reading(words: impl Into<Text>, tolerated: bool, all: Vec<Value>) -> Value {
    Value::map([
        ("reading", Value::text(words)),
        ("tolerated", Value::Bool(tolerated)),
        ("all", Value::Array(all.into())),
    ])
}

/// What holds of an optional member of a result where the member is there; a library need not report it.
pub(super) fn if_reported(place: &str, matcher: &str, argument: Value) -> Value {
    let reported = reading("reported", false, vec![at(place, matcher, argument)]);
    let not_reported = reading("not in the result", false, vec![at(place, "absent", Value::text("or-null"))]);
    Value::map([("any-of", Value::array([reported, not_reported]))])
}

pub(super) fn any_of(readings: Vec<Value>, strict_only: bool) -> Expected {
    ("", "any-of", Value::Array(readings.into()), strict_only)
}

/// Inputs named as the keys; keys that the vector lacks are omitted.
pub(super) fn inputs(vector: &Vector, names: &[&'static str]) -> Vec<(&'static str, Value)> {
    names.iter().filter_map(|name| Some((*name, vector.value(name)?.clone()))).collect()
}

/// What permits a refusal by a method that answers with a code: the codes, the tolerated codes, or any code if the vector
/// names none. A rejected call is not an answer of the protocol, but it is a rejection.
pub(super) fn refusals(vector: &Vector) -> Vec<Value> {
    let listed = |name| vector.value(name).and_then(Value::as_array).unwrap_or_default();
    let refused = |code: &Value, tolerated| {
        let words = format!("rejected with {}", crate::wire::show(code));
        reading(words, tolerated, vec![at("/result/code", "equals", code.clone())])
    };
    let mut found: Vec<Value> = listed("codes").iter().map(|code| refused(code, false)).collect();
    if found.is_empty() {
        found.push(reading("refused", false, vec![at("/result/code", "exists", Value::Bool(true))]));
    }
    found.extend(listed("tolerate").iter().map(|code| refused(code, true)));
    found.push(refused_call(true));
    found
}

/// A call that is refused for its parameters.
pub(super) fn refused_call(tolerated: bool) -> Value {
    let condition = at("/rpc_code", "equals", Value::Integer(BAD_PARAMETERS));
    reading("refused as a call with bad parameters", tolerated, vec![condition])
}

/// Readings that permit a refusal of CBOR that has a length which is not the shortest, or an indefinite one (E107).
pub(super) fn refusals_of_other_encoding(vector: &Vector, name: &str) -> Vec<Value> {
    let spelled = |kind: &OddityKind| {
        matches!(kind, OddityKind::LongInteger { .. } | OddityKind::LongLength { .. } | OddityKind::Indefinite)
    };
    let document = hex(vector.value(name)).and_then(|bytes| cbor::read(&bytes, Limits::default()).ok());
    if !document.is_some_and(|document| document.oddities.iter().any(|oddity| spelled(&oddity.kind))) {
        return Vec::new();
    }
    let refused = at("/result/code", "exists", Value::Bool(true));
    vec![reading("a decoder that refuses other encodings", true, vec![refused]), refused_call(true)]
}

/// Any answer: for a vector that cannot fail, so that at least an answer was observed.
pub(super) fn any_answer() -> Expected {
    let answered = reading("an answer", false, vec![at("/result", "exists", Value::Bool(true))]);
    any_of(vec![answered, refused_call(false)], false)
}

/// The expectations of a vector, by its result: the correct answer, or one of the rejections.
pub(super) fn expect(vector: &Vector, good: Vec<Value>, refusals: Vec<Value>) -> Vec<Expected> {
    let mut good = vec![reading("as ruled", false, good)];
    good.extend(refusals_of_other_encoding(vector, "cbor"));
    match (vector.result, vector.strict) {
        (VectorResult::Valid, _) => vec![any_of(good, false)],
        (VectorResult::Invalid, _) => vec![any_of(refusals, false)],
        (VectorResult::Acceptable, Some(VectorResult::Valid)) => vec![any_answer(), any_of(good, true)],
        (VectorResult::Acceptable, Some(_)) => vec![any_answer(), any_of(refusals, true)],
        (VectorResult::Acceptable, None) => vec![any_answer()],
    }
}

/// Whether the vector requires a rejection, in the profile that judges it.
pub(super) fn requires_rejection(vector: &Vector) -> bool {
    vector.strict.unwrap_or(vector.result) == VectorResult::Invalid
}

/// The vector with the keys of its twin in the place of its own.
pub(super) fn twin(vector: &Vector) -> Option<Vector> {
    let members = vector.value("twin")?.as_map()?;
    let mut twin = vector.clone();
    for (key, value) in members {
        let key = key.as_text()?;
        twin.fields.retain(|(known, _)| known != key);
        twin.fields.push((key.to_owned(), value.clone()));
    }
    Some(twin)
}

/// A call whose rejection counts only if the twin of the vector gets the answer that `assume` describes.
pub(super) fn library_call(
    vector: &Vector,
    operation: &'static str,
    names: &[&'static str],
    expect: Vec<Expected>,
    assume: impl Fn(&Vector) -> Vec<(&'static str, &'static str, Value)>,
) -> Result<LibraryCall, &'static str> {
    let twin = if requires_rejection(vector) {
        let twin = twin(vector).ok_or("twin")?;
        Some(Twin { with: inputs(&twin, names), assume: assume(&twin) })
    } else {
        None
    };
    Ok(LibraryCall { operation, with: inputs(vector, names), expect, twin })
}

/// The bytes that a key of the vector holds in hex.
pub(super) fn bytes(vector: &Vector, name: &'static str) -> Result<Vec<u8>, String> {
    hex(vector.value(name)).ok_or_else(|| format!("no hex under `{name}`"))
}

/// Bytes of a fixed number.
pub(super) fn fixed<const N: usize>(vector: &Vector, name: &'static str) -> Result<[u8; N], String> {
    let bytes = bytes(vector, name)?;
    bytes.try_into().map_err(|bytes: Vec<u8>| format!("{} bytes under `{name}`, not {N}", bytes.len()))
}

pub(super) fn hex(value: Option<&Value>) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER.decode(value?.as_text()?.as_bytes()).ok()
}

pub(super) fn show_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// Compares the result of proofmark with the vector.
pub(super) fn same(vector: &Vector, name: &'static str, made: &[u8]) -> Result<(), String> {
    if bytes(vector, name)? == made { Ok(()) } else { Err(format!("{name} {}", show_hex(made))) }
}

/// An error with this text unless the condition holds.
pub(super) fn must(holds: bool, words: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(words.to_owned()) }
}

/// An unsigned integer, written as a number or in decimal digits.
pub(super) fn unsigned(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Text(digits) => digits.parse().ok(),
        value => u64::try_from(value.as_integer()?).ok(),
    }
}
