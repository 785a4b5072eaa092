//! Vector files: any text is vectors or mistakes that can be printed, the order of members does not matter, and a vector
//! with a result that differs from proofmark's own is not confirmed.
//!
//! The input is used twice: as a text, and as the choices that select and change one of our own vectors.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use proofmark::bundle::Bundle;
use proofmark::protocol;
use proofmark::value::Value;
use proofmark::vector::{self, VectorFile};
use proofmark::wire::json::{self, Layout};

use crate::{generate, mistakes};

/// Keys of a kind that hold the result, in hexadecimal or as a text. A change of one is another result.
const RESULTS: &[(&str, &str)] = &[
    ("amp-build-encrypted", "ciphertext"),
    ("amp-build-plain", "sig_input"),
    ("amp-deterministic", "deterministic"),
    ("amp-ed25519-sign", "sig"),
    ("amp-frame-encode", "frame"),
    ("amp-public-key", "public_key"),
    ("amp-sig-input", "sig_input"),
    ("canonical-json", "canonical"),
    ("canonical-json", "sha256"),
    ("content-hash", "sha256"),
];

/// Checks one input.
///
/// # Panics
///
/// If a mistake has no message or place, the order of members changes what is read, a file makes more or fewer cases than it
/// has vectors, or a wrong result is confirmed.
pub fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        look(text);
    }
    // A stream that ends early changes nothing.
    let _ = changed(&mut Unstructured::new(data));
}

fn load(text: &str) -> Option<VectorFile> {
    mistakes::none(vector::load(&mistakes::source("vectors/amp-core/fuzz.json", text), &protocol::vector_kinds()))
}

fn look(text: &str) -> Option<VectorFile> {
    let file = load(text);
    if let Ok(value) = json::parse(text.as_bytes()) {
        for layout in [Layout::Pretty, Layout::Reversed] {
            let again = load(&json::write(&value, layout));
            // The written text has no deviations left, such as a duplicate member.
            if let Some(file) = &file {
                let again = again.unwrap_or_else(|| panic!("{layout:?} of it is refused: {text}"));
                assert_eq!(summary(&again), summary(file), "{layout:?} of {text}");
            }
        }
    }
    let file = file?;
    if let Some(suite) = mistakes::none(vector::suite(&file)) {
        assert_eq!(suite.cases.len(), file.vectors.len(), "{text}");
    }
    confirm(&file);
    Some(file)
}

/// The content of a file, in any order.
fn summary(file: &VectorFile) -> Vec<String> {
    let vector = |vector: &vector::Vector| {
        let mut fields: Vec<String> =
            vector.fields.iter().map(|(key, value)| format!("{key}: {}", sorted(value))).collect();
        fields.sort();
        format!("{} {:?} {:?} {} {fields:?}", *vector.id, vector.result, vector.strict, vector.about)
    };
    file.vectors.iter().map(vector).collect()
}

/// A value with its members in one order.
fn sorted(value: &Value) -> String {
    match value {
        Value::Map(members) => {
            let mut members: Vec<String> =
                members.iter().map(|(key, value)| format!("{key:?}: {}", sorted(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

/// Whether each vector agrees with proofmark's own reading and writing.
fn confirm(file: &VectorFile) -> Vec<bool> {
    let Some(protocol) = protocol::find(&file.protocol) else { return Vec::new() };
    let form = protocol.codec().canonical_form();
    file.vectors.iter().map(|vector| file.kind.confirm(vector, form).is_ok()).collect()
}

/// One of our own vectors in a separate file: the head of its original file, the group, the vector.
struct One {
    head: Value,
    group: Value,
    test: Value,
}

/// All of them that are short.
static VECTORS: LazyLock<Vec<One>> = LazyLock::new(|| {
    let bundle = Bundle::new(proofmark_data::FILES);
    let files = ["agentic", "amp-core"].into_iter().flat_map(|slug| bundle.files(slug, ".json"));
    let mut found = Vec::new();
    for file in files {
        let head = json::parse(file.text.as_bytes()).expect("our own vectors are JSON");
        let array = |value: &Value, name: &str| value.member(name).and_then(Value::as_array).map(<[Value]>::to_vec);
        for group in array(&head, "groups").unwrap_or_default() {
            for test in array(&group, "tests").unwrap_or_default() {
                if test.size() < 64 {
                    found.push(One { head: head.clone(), group: group.clone(), test });
                }
            }
        }
    }
    found
});

impl One {
    fn text(&self) -> String {
        let (mut head, mut group) = (self.head.clone(), self.group.clone());
        group.set_member("tests", Value::Array(vec![self.test.clone()].into()));
        head.set_member("groups", Value::Array(vec![group].into()));
        head.set_member("count", Value::Integer(1));
        json::compact(&head)
    }
}

fn changed(u: &mut Unstructured<'_>) -> Result<()> {
    let one = u.choose(&VECTORS)?;
    let kind = one.head.member("kind").and_then(Value::as_text).unwrap_or_default();
    let mut test = one.test.clone();
    if u.arbitrary()? {
        // Replace any member by any value.
        let Value::Map(members) = &mut test else { return Ok(()) };
        let at = u.choose_index(members.len())?;
        members.make_mut()[at].1 = generate::value(u)?;
        look(&One { head: one.head.clone(), group: one.group.clone(), test }.text());
        return Ok(());
    }
    let own = load(&one.text()).unwrap_or_else(|| panic!("our own vector is refused: {}", one.text()));
    assert_eq!(confirm(&own), [true], "{}", one.text());
    let results: Vec<&str> = RESULTS.iter().filter(|(name, _)| *name == kind).map(|(_, key)| *key).collect();
    let Ok(key) = u.choose(&results) else { return Ok(()) };
    let Some(text) = test.member(key).and_then(Value::as_text).filter(|text| !text.is_empty()) else { return Ok(()) };
    let mut text = text.as_bytes().to_vec();
    let at = u.choose_index(text.len())?;
    text[at] = if text[at] == b'0' { b'1' } else { b'0' };
    // The position may be inside a character of several bytes.
    let Ok(text) = String::from_utf8(text) else { return Ok(()) };
    test.set_member(key, Value::text(text));
    let one = One { head: one.head.clone(), group: one.group.clone(), test };
    if let Some(file) = look(&one.text()) {
        assert_eq!(confirm(&file), [false], "a wrong {key} is confirmed: {}", one.text());
    }
    Ok(())
}
