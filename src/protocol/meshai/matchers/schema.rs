//! `valid-schema`, `accepts-instance` and `resolves-references`: JSON Schemas in declarations (section 2.2, E84).

use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;
use crate::wire::json;

/// Deepest nesting of a declared schema that is compiled; a deeper one decides nothing.
const DEEPEST: usize = 64;

/// Holds for a valid JSON Schema.
pub(super) struct ValidSchema;

impl Matcher for ValidSchema {
    fn name(&self) -> &'static str {
        "valid-schema"
    }

    fn summary(&self) -> &'static str {
        "The value is a JSON Schema by the meta-schema of its dialect [default: 2020-12]; whether a reference in it resolves is \
         not judged."
    }

    fn example(&self) -> &'static str {
        "{ at: /payload/capabilities/0/input_schema, valid-schema: true }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        match argument {
            Value::Bool(true) => Ok(Box::new(IsSchema)),
            other => Err(ArgumentError::new(format!("is true, not {}", show(other)))),
        }
    }
}

struct IsSchema;

impl Check for IsSchema {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let mismatch = || Outcome::mismatch("a JSON Schema", observed);
        let Some(value @ Value::Map(_)) = observed else { return mismatch() };
        let Some(schema) = native(value) else {
            return Outcome::Undecided("the schema is nested too deep".to_owned());
        };
        // A schema may name a dialect that proofmark does not have.
        let Ok(meta) = jsonschema::meta::validator_for(&schema) else {
            return Outcome::Undecided("the dialect of the schema is unknown".to_owned());
        };
        match meta.validate(&schema) {
            Ok(()) => Outcome::HOLDS,
            Err(error) => {
                let why = Value::text(format!("{} ({error})", show(value)));
                Outcome::mismatch("a JSON Schema", Some(&why))
            }
        }
    }
}

/// Holds for a schema that a value satisfies.
pub(super) struct AcceptsInstance;

impl Matcher for AcceptsInstance {
    fn name(&self) -> &'static str {
        "accepts-instance"
    }

    fn summary(&self) -> &'static str {
        "The value is a JSON Schema that the argument satisfies; a schema with a reference that does not resolve decides nothing."
    }

    fn example(&self) -> &'static str {
        "{ at: /output_schema, accepts-instance: { label: positive } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let instance = native(argument).ok_or_else(|| ArgumentError::new("is nested too deep"))?;
        Ok(Box::new(Accepts(instance)))
    }
}

struct Accepts(serde_json::Value);

impl Check for Accepts {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(value @ Value::Map(_)) = observed else { return Outcome::mismatch("a JSON Schema", observed) };
        let Some(validator) = native(value).and_then(|schema| jsonschema::validator_for(&schema).ok()) else {
            return Outcome::Vacuous("the schema does not resolve".to_owned());
        };
        match validator.validate(&self.0) {
            Ok(()) => Outcome::HOLDS,
            Err(error) => {
                let why = Value::text(format!("{} ({error} at {})", show(value), error.instance_path()));
                Outcome::mismatch("a schema that the result satisfies", Some(&why))
            }
        }
    }
}

/// Holds if every local reference of the schemas in a declaration resolves in it.
pub(super) struct ResolvesReferences;

impl Matcher for ResolvesReferences {
    fn name(&self) -> &'static str {
        "resolves-references"
    }

    fn summary(&self) -> &'static str {
        "Every `$ref` of a text that starts with # resolves in the value itself, or in the element of `capabilities` or schema \
         that it stands in."
    }

    fn example(&self) -> &'static str {
        "{ at: /payload, resolves-references: true }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        match argument {
            Value::Bool(true) => Ok(Box::new(Resolves)),
            other => Err(ArgumentError::new(format!("is true, not {}", show(other)))),
        }
    }
}

struct Resolves;

impl Check for Resolves {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(root) = observed else { return Outcome::mismatch("a declaration", None) };
        match dangling(root, &[root]) {
            None => Outcome::HOLDS,
            Some(reference) => {
                Outcome::mismatch("references that resolve in the declaration", Some(&Value::text(reference)))
            }
        }
    }
}

/// The first reference that resolves in none of the values that enclose it.
fn dangling(value: &Value, around: &[&Value]) -> Option<String> {
    if around.len() > DEEPEST {
        return None;
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| dangling(item, around)),
        Value::Map(members) => {
            if let Some(Value::Text(reference)) = value.member("$ref") {
                let path = reference.strip_prefix('#').and_then(|path| crate::value::Path::parse(path).ok());
                let resolves = |root: &&Value| path.as_ref().is_some_and(|path| path.resolve(root).is_some());
                // A reference to another document cannot be followed.
                if reference.starts_with('#') && !around.iter().any(resolves) {
                    return Some(reference.to_string());
                }
            }
            let mut around = around.to_vec();
            around.push(value);
            members.iter().find_map(|(_, member)| dangling(member, &around))
        }
        _ => None,
    }
}

/// A value as the schema library has it; `None` if it is nested too deep.
fn native(value: &Value) -> Option<serde_json::Value> {
    if depth(value) > DEEPEST {
        return None;
    }
    serde_json::from_str(&json::compact(value)).ok()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Map(members) => 1 + members.iter().map(|(_, member)| depth(member)).max().unwrap_or(0),
        _ => 1,
    }
}
