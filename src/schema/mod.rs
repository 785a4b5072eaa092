//! JSON Schemas of the data files, for editors: completion, help and a first check while somebody types.
//!
//! The readers are written by hand, because they point at every mistake at once; the types here mirror what they read and
//! are never filled. The tests hold the two together: a key that a reader asks for and its schema lacks, or the other way
//! round, fails them. A schema promises less than `proofmark lint`, which looks names up.

mod requirements;
mod suite;
mod target;
mod vectors;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::record::RunRecord;

/// The schema of a file of cases.
pub fn suite() -> Schema {
    of::<suite::Suite>("A file of cases")
}

/// The schema of the manifest of a protocol.
pub fn manifest() -> Schema {
    of::<suite::Manifest>("The manifest of a protocol")
}

/// The schema of a catalogue of requirements.
pub fn requirements() -> Schema {
    of::<requirements::Catalogue>("A catalogue of requirements")
}

/// The schema of a file of vectors.
pub fn vectors() -> Schema {
    of::<vectors::VectorFile>("A file of vectors")
}

/// The schema of a target file.
pub fn target() -> Schema {
    of::<target::Target>("A target file")
}

/// The schema of `report.json`.
pub fn record() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<RunRecord>();
    schema.insert("title".into(), json!("The record of a run"));
    schema
}

fn of<T: JsonSchema>(title: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().with_transform(LeftOut);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), json!(title));
    schema
}

/// What need not be written is left out; it is never written as `null`.
#[derive(Clone, Debug)]
struct LeftOut;

impl Transform for LeftOut {
    fn transform(&mut self, schema: &mut Schema) {
        let null = json!({ "type": "null" });
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| *name != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                schema.insert("type".into(), one);
            }
        }
        if let Some(Value::Array(choices)) = schema.get_mut("anyOf")
            && choices.contains(&null)
        {
            choices.retain(|choice| *choice != null);
            if let [Value::Object(one)] = choices.as_slice() {
                let one = one.clone();
                schema.remove("anyOf");
                for (key, value) in one {
                    // What stands at the place itself says more than what stands at the type.
                    schema.ensure_object().entry(key).or_insert(value);
                }
            }
        }
        transform_subschemas(self, schema);
    }
}

/// One text, or several.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Texts {
    One(String),
    Several(Vec<String>),
}

/// A place in a table of cases that a row fills: `${row.NAME}`.
const ROW: &str = r"^\$\{row\.[^}/]+\}$";

/// A value of this type, or `${row.NAME}` where a row of the table gives it.
struct Filled<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Filled<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Filled{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "type": "string", "pattern": ROW }] })
    }
}

/// Any value, with templates in its texts: `${hex 32}`, `${time -1h}`, `${project}`.
struct Expr;

/// A named object of the protocol, or a binding, with changes.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Built {
    /// The object or binding to start from.
    base: String,
    /// Places and the values to put there, in order.
    set: Option<Filled<BTreeMap<String, Expr>>>,
    /// Places to remove, after setting.
    remove: Option<Filled<Texts>>,
}

impl JsonSchema for Expr {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let built = generator.subschema_for::<Built>();
        json_schema!({
            "description": "Any value, with templates in its texts: `${hex 32}`, `${time -1h}`, `${project}`. \
                            `{ json: TEXT }` is the value of a JSON text, `{ base: NAME, set: …, remove: … }` a changed \
                            copy of a named object.",
            "if": { "type": "object", "required": ["base"] },
            "then": built,
        })
    }
}

#[cfg(test)]
mod tests;
