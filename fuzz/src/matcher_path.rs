//! Places and matchers over any value.
//!
//! The input is text in up to three parts, divided by lines of `---`: a place, an expectation as JSON, a value as JSON.
//! All bytes are also the choices for a value with all features that CBOR adds.

use arbitrary::Unstructured;
use proofmark::matcher::Compiler;
use proofmark::protocol;
use proofmark::value::{Path, Value, first_difference, remove, set};
use proofmark::wire::{json, show};

use crate::generate;

/// Checks one input.
///
/// # Panics
///
/// If a place does not print as it reads, or a set value is missing afterwards. The property is that nothing else
/// panics.
pub fn run(data: &[u8]) {
    let any = generate::value(&mut Unstructured::new(data)).unwrap_or(Value::Null);
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split("\n---\n");
    let place = parts.next().unwrap_or_default();
    let expectation = parts.next().and_then(|part| json::parse(part.as_bytes()).ok());
    let given = parts.next().and_then(|part| json::parse(part.trim_end().as_bytes()).ok()).unwrap_or(Value::Null);
    for value in [&given, &any] {
        look(place, value);
        let agentic = protocol::find("agentic").expect("agentic is implemented");
        if let Some(Ok(expectation)) =
            expectation.as_ref().map(|written| Compiler::new(agentic.matchers()).expectation(written, &[]))
        {
            let _ = expectation.check(value);
        }
    }
    let _ = first_difference(&given, &any);
    assert!(first_difference(&given, &given).is_none(), "a value differs from itself: {given:?}");
}

fn look(place: &str, value: &Value) {
    let _ = show(value);
    let Ok(path) = Path::parse(place) else { return };
    assert_eq!(Path::parse(&path.to_string()).as_ref(), Ok(&path), "{place:?}");
    let _ = path.resolve(value);
    let mut changed = value.clone();
    let mark = Value::text("mark");
    let appends = path.tokens().last().is_some_and(|last| last == "-");
    if set(&mut changed, &path, mark.clone()).is_ok() && !appends {
        assert_eq!(path.resolve(&changed), Some(&mark), "{place:?} in {value:?}");
    }
    let _ = remove(&mut changed, &path);
}
