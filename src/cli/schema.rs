//! `schema`: JSON Schemas for editors.

use std::io::Write;

use super::args::{SchemaKind, SchemaOptions};
use super::exit::Failure;
use crate::schema;

/// Prints a schema.
pub(super) fn run(options: &SchemaOptions) -> Result<u8, Failure> {
    let schema = match options.kind {
        SchemaKind::Suite => schema::suite(),
        SchemaKind::Manifest => schema::manifest(),
        SchemaKind::Requirements => schema::requirements(),
        SchemaKind::Vectors => schema::vectors(),
        SchemaKind::Target => schema::target(),
        SchemaKind::Baseline => schema::baseline(),
        SchemaKind::Record => schema::record(),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(|error| Failure::Internal(error.to_string()))?;
    writeln!(anstream::stdout(), "{text}")?;
    Ok(0)
}
