//! Files of vectors.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Texts;
use crate::vector::KINDS;

/// Examples with a declared result, in the manner of Wycheproof.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
pub(super) struct VectorFile {
    /// Version of the shape of the file: 1, the only one there is.
    #[schemars(extend("const" = 1))]
    schema: Option<u64>,
    /// Kind of the vectors.
    kind: Kind,
    /// Slug of the protocol.
    protocol: String,
    /// Where the vectors come from: document, section, revision.
    source: String,
    /// How many vectors there are, so that none is lost unnoticed.
    count: u64,
    /// What each flag means.
    notes: Option<BTreeMap<String, String>>,
    /// The vectors, in groups.
    #[schemars(length(min = 1))]
    groups: Vec<Group>,
}

/// The name of a kind of vector.
struct Kind;

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds = KINDS.iter().map(|kind| json!({ "const": kind.name(), "description": kind.summary() }));
        let mut schema = Schema::default();
        schema.insert("description".into(), json!("Kind of the vectors."));
        schema.insert("oneOf".into(), kinds.collect());
        schema
    }
}

/// Vectors about one thing.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Group {
    /// Name of the group.
    group: String,
    /// What its vectors show.
    about: Option<String>,
    /// What each of its vectors has that does not say otherwise.
    with: Option<Shared>,
    /// The vectors.
    tests: Vec<Vector>,
}

/// The keys of every kind.
struct Shared;

impl JsonSchema for Shared {
    fn schema_name() -> Cow<'static, str> {
        "Shared".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Schema::default();
        schema.insert("description".into(), json!("What a group gives to its vectors."));
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), Value::Object(keys_of_kinds()));
        schema.insert("additionalProperties".into(), json!(false));
        schema
    }
}

/// One example.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct VectorKeys {
    /// Unique in its file; never changes.
    id: String,
    /// What it shows.
    about: String,
    /// The ids of the requirements that it decides.
    covers: Option<Texts>,
    /// Flags, each explained in `notes`.
    flags: Option<Texts>,
    /// What a correct implementation does with it.
    result: VectorResult,
    /// For an acceptable vector: what the strict profile wants.
    strict: Option<String>,
    /// Entries of the errata register that bear on it.
    errata: Option<Texts>,
    /// Readings that are tolerated besides the ruled one.
    tolerated: Option<Vec<Tolerated>>,
}

/// [`VectorKeys`] and the keys of every kind.
struct Vector;

impl JsonSchema for Vector {
    fn schema_name() -> Cow<'static, str> {
        "Vector".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = VectorKeys::json_schema(generator);
        let mut properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        properties.extend(keys_of_kinds());
        schema.insert("properties".into(), Value::Object(properties));
        schema.insert("additionalProperties".into(), json!(false));
        schema
    }
}

/// The keys that belong to a kind, each with the kinds that have it.
fn keys_of_kinds() -> Map<String, Value> {
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in KINDS {
        kind.keys().iter().for_each(|key| keys.entry(key).or_default().push(kind.name()));
    }
    let property = |kinds: Vec<_>| json!({ "description": format!("Of kind {}.", kinds.join(", ")) });
    keys.into_iter().map(|(key, kinds)| (key.to_owned(), property(kinds))).collect()
}

/// What a correct implementation does with a vector.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum VectorResult {
    /// It accepts it.
    Valid,
    /// It refuses it.
    Invalid,
    /// Either; `errata` says why.
    Acceptable,
}

/// A reading that the errata tolerate.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Tolerated {
    /// The reading in words.
    reading: String,
    /// The hash that it gives, in hex.
    sha256: String,
    /// Entries of the errata register that tolerate it.
    errata: Option<Texts>,
}
