//! Reading a record that a command names.

use std::path::Path;

use super::exit::Failure;
use crate::record::RunRecord;
use crate::report::evidence::{self, Error};
use crate::report::json::ReadError;
use crate::report::printable;

/// Reads `report.json` and the evidence beside it. A mistake in it is reported with line and column.
pub(super) fn read(path: &Path) -> Result<RunRecord, Failure> {
    evidence::read(path).map_err(|error| refused(path, error))
}

/// Reads `report.json` alone: what needs no exchanges works without the evidence.
pub(super) fn read_without_evidence(path: &Path) -> Result<RunRecord, Failure> {
    evidence::read_without(path).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: Error) -> Failure {
    let name = path.display();
    let expected = "expected the report.json that `proofmark check` writes";
    match error {
        Error::Record { source: ReadError::Malformed(error), .. } => {
            let text = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let what = printable::short(text.strip_suffix(&place).unwrap_or(&text), 300);
            let at = format!("{name}:{}:{}", error.line(), error.column());
            Failure::Usage(format!("{at}: not a record: {what}"), Some(expected.to_owned()))
        }
        Error::Record { source, .. } => Failure::Usage(format!("{name}: {source}"), Some(expected.to_owned())),
        Error::Unreadable { path, source } => Failure::usage(format!("cannot read {}: {source}", path.display())),
        error @ (Error::Missing { .. } | Error::OfAnotherRun { .. } | Error::Malformed { .. }) => {
            let hint = "keep the two files that one run writes, or run the check again";
            Failure::Usage(error.to_string(), Some(hint.to_owned()))
        }
    }
}
