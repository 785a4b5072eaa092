//! Faults of the conformance descriptor.

use crate::json::{self, Object, Value};

/// `descriptor-version-number`: protocol_version is the number 0.1.
pub(in crate::agentic) fn version() -> Value {
    json::read(b"0.1").unwrap_or(Value::Null)
}

/// `capabilities-in-words`: Declares capabilities as yes and no.
pub(in crate::agentic) fn in_words(capabilities: &Object) -> Object {
    let word = |value: &Value| if *value == Value::Bool(true) { "yes" } else { "no" };
    capabilities.iter().map(|(name, value)| (name.to_owned(), word(value).into())).collect()
}
