//! Reading a record that a command names.

use std::io::Read;
use std::path::Path;

use super::exit::Failure;
use crate::record::RunRecord;
use crate::report::json::{self, ReadError};
use crate::report::printable;

/// Bytes of a record that are read: far more than any run writes.
const SIZE_LIMIT: u64 = 1 << 30;

/// Reads `report.json`. A mistake in it is reported with line and column.
pub(super) fn read(path: &Path) -> Result<RunRecord, Failure> {
    let name = path.display();
    let cannot = |error: std::io::Error| Failure::usage(format!("cannot read {name}: {error}"));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(Failure::usage(format!("cannot read {name}: it is longer than {SIZE_LIMIT} bytes")));
    }
    json::read(&bytes).map_err(|error| {
        let hint = Some("expected the report.json that `proofmark check` writes".to_owned());
        match error {
            ReadError::Malformed(error) => {
                let text = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                let what = printable::short(text.strip_suffix(&place).unwrap_or(&text), 300);
                let at = format!("{name}:{}:{}", error.line(), error.column());
                Failure::Usage(format!("{at}: not a record: {what}"), hint)
            }
            other => Failure::Usage(format!("{name}: {other}"), hint),
        }
    })
}
