//! `schema`: JSON Schemas for editors.

use super::args::SchemaOptions;
use super::exit::Failure;

/// Prints a schema.
pub(super) fn run(_: &SchemaOptions) -> Result<u8, Failure> {
    Err(Failure::usage("in the making"))
}
