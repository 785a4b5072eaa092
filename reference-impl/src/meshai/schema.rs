//! JSON Schema (2.2, E84): dialect 2020-12 unless `$schema` says otherwise; nothing is fetched.

use jsonschema::Validator;

use crate::json::Value;

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// JSON Pointer to the offending value.
    pub(crate) path: String,
    pub(crate) reason: String,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }
}

/// A schema that is ready for use; `None` if it cannot be used, such as a `$ref` that leads nowhere (E84).
#[must_use]
pub(crate) fn compile(schema: &Value) -> Option<Validator> {
    jsonschema::validator_for(&tree(schema)?).ok()
}

/// Whether a value is a schema of its dialect. A dialect that is not known cannot be judged.
#[must_use]
pub(crate) fn is_schema(schema: &Value) -> bool {
    let known = match schema.as_object().and_then(|schema| schema.get("$schema")) {
        None => true,
        Some(dialect) => dialect.as_text().is_some_and(|uri| uri.contains("json-schema.org/draft")),
    };
    !known || tree(schema).is_some_and(|schema| jsonschema::meta::is_valid(&schema))
}

/// Every violation of a schema.
#[must_use]
pub(crate) fn problems(validator: &Validator, instance: &Value) -> Vec<Problem> {
    let Some(tree) = tree(instance) else { return vec![Problem::new("", "is nested too deeply")] };
    let problem =
        |error: jsonschema::ValidationError<'_>| Problem::new(error.instance_path().to_string(), error.to_string());
    validator.iter_errors(&tree).map(problem).collect()
}

/// The tree of the schema crate.
fn tree(value: &Value) -> Option<serde_json::Value> {
    serde_json::from_str(&value.write()).ok()
}
