//! The reader of JSON against serde_json, and against the writer.

use proofmark::value::Value;
use proofmark::wire::json::{Layout, OddityKind, read_with_spans, write};

/// The maximum nesting of serde_json.
const SERDE_DEPTH: usize = 127;

/// Checks one input.
///
/// # Panics
///
/// If the reader and serde_json disagree about what is JSON, a span lies outside the text, or written output does not
/// read back the same.
pub fn run(data: &[u8]) {
    let serde = serde_json::from_slice::<serde_json::Value>(data);
    let shown = String::from_utf8_lossy(data);
    let (document, spans) = match read_with_spans(data) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.offset <= data.len(), "{error} lies outside of {shown}");
            assert!(serde.is_err(), "only serde_json accepts {shown}: {error}");
            return;
        }
    };
    // serde_json keeps the last of two members with one name; it refuses everything else that is not I-JSON.
    let refused_by_serde = |kind: &OddityKind| !matches!(kind, OddityKind::DuplicateMember(_));
    let fine = !document.oddities.iter().any(|oddity| refused_by_serde(&oddity.kind));
    if depth(&document.value) <= SERDE_DEPTH {
        assert_eq!(serde.is_ok(), fine, "{shown}: {serde:?}, {:?}", document.oddities);
    }
    for oddity in &document.oddities {
        assert!(oddity.offset <= data.len(), "{oddity:?} lies outside of {shown}");
    }
    let mut before = 0;
    for (start, end) in spans {
        assert!(before <= start && start < end && end <= data.len(), "{start}..{end} of {shown}");
        before = start;
    }
    for layout in [Layout::Compact, Layout::Pretty, Layout::Reversed] {
        let written = write(&document.value, layout);
        let (again, _) = read_with_spans(written.as_bytes()).unwrap_or_else(|error| panic!("{error}: {written}"));
        let expected = match layout {
            Layout::Reversed => reversed(&document.value),
            Layout::Compact | Layout::Pretty => document.value.clone(),
        };
        assert_eq!(again.value, expected, "{layout:?} of {shown}");
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Map(members) => 1 + members.iter().map(|(_, member)| depth(member)).max().unwrap_or(0),
        _ => 0, // JSON has no other containers
    }
}

/// The value with the members of every object in reverse order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Map(members) => {
            Value::Map(members.iter().rev().map(|(key, member)| (key.clone(), reversed(member))).collect())
        }
        other => other.clone(),
    }
}
