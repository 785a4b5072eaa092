//! Harness and reference accept the same JSON and write the same canonical form; and if the form is that of RFC 8785, the
//! harness writes the same as another library of that standard.
//!
//! The input is used twice: as a text, and as the choices for a well-formed text.

use arbitrary::Unstructured;
use proofmark::protocol;
use proofmark::wire::canonical::{Form, write};
use proofmark::wire::json;

use crate::{reference, tree};

/// Checks one input.
///
/// # Panics
///
/// If the implementations disagree, or a canonical form is not its own canonical form.
pub fn run(data: &[u8]) {
    agree(data);
    agree(tree::text(&mut Unstructured::new(data)).as_bytes());
}

fn agree(text: &[u8]) {
    let form = protocol::find("agentic").and_then(|agentic| agentic.codec().canonical_form()).expect("agentic has one");
    let ours = ours(text, form);
    let theirs = reference::canonical(text);
    let shown = || String::from_utf8_lossy(text).into_owned();
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "the canonical form of {}", shown()),
        (Err(_), Err(_)) => return,
        _ => panic!("harness: {ours:?}, reference: {theirs:?} for {}", shown()),
    }
    standard(text);
    let once = ours.expect("both are forms");
    assert_eq!(self::ours(once.as_bytes(), form).as_deref(), Ok(once.as_str()), "the form of the form of {}", shown());
}

/// RFC 8785 by the other library, for input that serde_json can read.
fn standard(text: &[u8]) {
    let Ok(theirs) = serde_json::from_slice::<serde_json::Value>(text) else { return };
    let theirs = serde_json_canonicalizer::to_string(&theirs).expect("what was read can be written");
    assert_eq!(ours(text, Form::JCS).as_ref(), Ok(&theirs), "by RFC 8785: {}", String::from_utf8_lossy(text));
}

/// Refuses input that is not I-JSON, as the reference does.
fn ours(text: &[u8], form: Form) -> Result<String, String> {
    let document = json::read(text).map_err(|error| error.to_string())?;
    match document.oddities.first() {
        Some(oddity) => Err(format!("{oddity:?}")),
        None => Ok(write(&document.value, form)),
    }
}
