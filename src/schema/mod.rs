//! JSON Schemas of the data files, for editors: completion, help and a first check while typing.
//! They are generated from the tables of the readers ([`Shape`]), so that each key is defined in one place. A schema
//! checks less than `proofmark lint`, which also resolves
//! names.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::matcher::{self, Matcher};
use crate::record::RunRecord;
use crate::source::{Choice, KeyRow, Kind, Others, Shape, Source, parse, reachable};
use crate::{baseline, protocol, requirement, suite, target, vector};

/// The data files, each with the shape of its root.
pub const FILES: &[(&str, &Shape)] = &[
    ("a file of cases", &suite::SUITE),
    ("the manifest of a protocol", &suite::MANIFEST),
    ("a catalogue of requirements", &requirement::CATALOGUE),
    ("a file of vectors", &vector::FILE),
    ("a target file", &target::TARGET),
    ("a baseline", &baseline::BASELINE),
];

/// The schema of a file of cases.
pub fn suite() -> Schema {
    of(&suite::SUITE, "A file of cases")
}

/// The schema of the manifest of a protocol.
pub fn manifest() -> Schema {
    of(&suite::MANIFEST, "The manifest of a protocol")
}

/// The schema of a catalogue of requirements.
pub fn requirements() -> Schema {
    of(&requirement::CATALOGUE, "A catalogue of requirements")
}

/// The schema of a file of vectors.
pub fn vectors() -> Schema {
    of(&vector::FILE, "A file of vectors")
}

/// The schema of a target file.
pub fn target() -> Schema {
    of(&target::TARGET, "A target file")
}

/// The schema of a baseline.
pub fn baseline() -> Schema {
    of(&baseline::BASELINE, "A baseline")
}

/// The schema of `report.json`.
pub fn record() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<RunRecord>();
    schema.insert("title".into(), json!("The record of a run"));
    schema
}

/// A place in a table of cases that a row fills: `${row.NAME}`.
const ROW: &str = r"^\$\{row\.[^}/]+\}$";

/// A duration, in a file without tables of cases.
const DURATION: &str = "^[0-9]+(ms|s|m)$";

/// A duration, or the name of one.
const TIME: &str = "^([0-9]+(ms|s|m)|[a-z][a-z0-9-]*)$";

fn of(root: &'static Shape, title: &str) -> Schema {
    let shapes = reachable(root);
    let mut definitions: Map<String, Value> =
        shapes.iter().skip(1).map(|shape| (shape.title.to_owned(), definition(shape))).collect();
    // Values with templates may be built values anywhere.
    if shapes.iter().flat_map(|shape| shape.keys).any(|row| has_values(&row.kind)) {
        let built = &crate::template::BUILT;
        definitions.insert(built.title.to_owned(), definition(built));
        definitions.insert("Value".to_owned(), value());
    }
    let mut schema = definition(root);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    Schema::try_from(schema).expect("an object is a schema")
}

fn has_values(kind: &Kind) -> bool {
    match kind {
        Kind::Value | Kind::Values => true,
        Kind::Named(inner) => has_values(inner),
        _ => false,
    }
}

fn reference(title: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{title}") })
}

/// The schema of a value with templates.
fn value() -> Value {
    json!({
        "description": "Any value, with templates in its texts: `${hex 32}`, `${time -1h}`, `${project}`. `{ json: TEXT }` is the \
                        value of a JSON text, `{ base: NAME, set: …, remove: … }` a changed copy of a named object.",
        "if": { "type": "object", "required": ["base"] },
        "then": reference(crate::template::BUILT.title),
    })
}

/// The schema of one kind of map.
fn definition(shape: &Shape) -> Value {
    let mut properties: Map<String, Value> =
        shape.keys.iter().map(|row| (row.name.to_owned(), property(row, shape.rows))).collect();
    let mut schema = json!({ "description": shape.about, "type": "object" });
    match shape.others {
        Others::Mistakes => schema["additionalProperties"] = json!(false),
        Others::Own => {}
        Others::Listed => {
            properties.extend(listed(shape));
            schema["additionalProperties"] = json!(false);
            if shape.rows {
                // The name of a matcher may come from a row.
                schema["patternProperties"] = json!({ ROW: true });
            }
        }
    }
    schema["properties"] = Value::Object(properties);
    let required: Vec<_> = shape.keys.iter().filter(|row| row.required).map(|row| row.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let each = |keys: &[&str]| keys.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>();
    match shape.choice {
        Choice::Any => {}
        Choice::OneOf(keys) => schema["oneOf"] = json!(each(keys)),
        Choice::SomeOf(keys) => schema["anyOf"] = json!(each(keys)),
    }
    let implied = shape.implies.iter().map(|(key, word, other)| {
        json!({ "if": { "properties": { *key: { "const": word } }, "required": [key] }, "then": { "required": [other] } })
    });
    let implied: Vec<_> = implied.collect();
    if !implied.is_empty() {
        schema["allOf"] = json!(implied);
    }
    schema
}

/// The schema of the value of a key, with its description.
fn property(row: &KeyRow, rows: bool) -> Value {
    let mut schema = kind(&row.kind, rows);
    let mut about = row.about.to_owned();
    if let Some(default) = row.default {
        about.push_str(&format!(" [default: {default}]"));
    }
    schema["description"] = json!(about);
    schema
}

/// The schema of a kind of value. `rows`: whether `${row.NAME}` may be written instead.
fn kind(kind: &Kind, rows: bool) -> Value {
    let filled = |schema: Value| {
        if rows { json!({ "anyOf": [schema, { "type": "string", "pattern": ROW }] }) } else { schema }
    };
    let word = |words: &[(&str, &str)]| -> Value {
        let words = words.iter().map(|(word, about)| json!({ "const": word, "description": about }));
        json!({ "oneOf": words.collect::<Vec<_>>() })
    };
    let maps = |shape: &Shape, some: bool| {
        let mut list = json!({ "type": "array", "items": filled(reference(shape.title)) });
        if some {
            list["minItems"] = json!(1);
        }
        filled(list)
    };
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
        Kind::Word(words) => filled(word(words)),
        Kind::Words(words) => {
            let one = filled(word(words));
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Kind::Texts => json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }),
        Kind::Number => filled(json!({ "type": "integer", "minimum": 0 })),
        Kind::Exactly(number) => json!({ "const": number }),
        Kind::Flag => filled(json!({ "type": "boolean" })),
        Kind::Duration => filled(json!({ "type": "string", "pattern": DURATION })),
        Kind::Time => filled(json!({ "type": "string", "pattern": TIME })),
        Kind::Value => json!({ "$ref": "#/$defs/Value" }),
        Kind::Values => json!({ "type": "array", "items": { "$ref": "#/$defs/Value" } }),
        Kind::Plain => json!({}),
        Kind::Map(shape) => filled(reference(shape.title)),
        Kind::Maps(shape) => maps(shape, false),
        Kind::SomeMaps(shape) => maps(shape, true),
        Kind::TextOr(shape) => json!({ "anyOf": [{ "type": "string" }, reference(shape.title)] }),
        Kind::ScalarOr(shape) => {
            json!({ "anyOf": [{ "type": ["string", "number", "boolean"] }, reference(shape.title)] })
        }
        Kind::Named(inner) => filled(json!({ "type": "object", "additionalProperties": self::kind(inner, false) })),
        Kind::Numbers => json!({ "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 65535 } }),
        Kind::VectorKind => {
            let kinds = kinds().map(|kind| json!({ "const": kind.name(), "description": kind.summary() }));
            json!({ "oneOf": kinds.collect::<Vec<_>>() })
        }
    }
}

/// The keys of a shape that other tables list: matchers of an expectation, keys of the kinds of vectors.
fn listed(shape: &Shape) -> Map<String, Value> {
    if std::ptr::eq(shape, &suite::EXPECTATION) { matchers() } else { keys_of_kinds() }
}

/// A property for each matcher.
fn matchers() -> Map<String, Value> {
    let mut properties = Map::new();
    let mut add = |matcher: &dyn Matcher, owner: &str| {
        let mut property =
            json!({ "description": format!("{owner}{} Example: `{}`", matcher.summary(), matcher.example()) });
        if let Some(argument) = example(matcher) {
            property["examples"] = json!([argument]);
        }
        properties.insert(matcher.name().to_owned(), property);
    };
    matcher::ALL.iter().for_each(|matcher| add(*matcher, ""));
    for protocol in protocol::ALL {
        let owner = format!("Only for {}. ", protocol.slug());
        protocol.matchers().iter().for_each(|matcher| add(*matcher, &owner));
    }
    properties
}

/// The argument of a matcher in its example.
fn example(matcher: &dyn Matcher) -> Option<Value> {
    let source = Arc::new(Source { name: matcher.name().to_owned(), text: matcher.example().to_owned().into() });
    let argument = parse(&source).ok()?.member(matcher.name())?.to_value();
    serde_json::from_str(&crate::wire::json::compact(&argument)).ok()
}

/// Every kind of vector: the general ones and those of protocols.
fn kinds() -> impl Iterator<Item = &'static dyn vector::Kind> {
    vector::KINDS.iter().copied().chain(protocol::vector_kinds())
}

/// The keys of the kinds of vectors, each with its kinds.
fn keys_of_kinds() -> Map<String, Value> {
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in kinds() {
        kind.keys().iter().for_each(|key| keys.entry(key).or_default().push(kind.name()));
    }
    let property = |kinds: Vec<_>| json!({ "description": format!("Of kind {}.", kinds.join(", ")) });
    keys.into_iter().map(|(key, kinds)| (key.to_owned(), property(kinds))).collect()
}

#[cfg(test)]
mod tests;
