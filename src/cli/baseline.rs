//! Reading a baseline for `check`, and `baseline update`.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::args::BaselineUpdateOptions;
use super::exit::Failure;
use super::record;
use crate::baseline::{self, Change};
use crate::record::BaselineRecord;
use crate::report::{files, printable};
use crate::source::Source;

/// Bytes of a baseline that are read.
const SIZE_LIMIT: u64 = 16 << 20;
/// Changes of each kind that are listed.
const CHANGES_SHOWN: usize = 20;

/// Reads the file of `--baseline`.
pub(super) fn read(path: &Path) -> Result<BaselineRecord, Failure> {
    let source = source(path)?.ok_or_else(|| {
        Failure::Usage(
            format!("cannot read {}: the file does not exist", path.display()),
            Some("`proofmark baseline update` writes it from a record".to_owned()),
        )
    })?;
    baseline::load(&source).map_err(Failure::Mistakes)
}

/// The text of a baseline; `None` if the file does not exist.
fn source(path: &Path) -> Result<Option<Arc<Source>>, Failure> {
    let name = path.display().to_string();
    let cannot = |error: std::io::Error| Failure::usage(format!("cannot read {name}: {error}"));
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(error)),
    };
    let mut text = String::new();
    file.take(SIZE_LIMIT + 1).read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > SIZE_LIMIT {
        return Err(Failure::usage(format!("cannot read {name}: it is longer than {SIZE_LIMIT} bytes")));
    }
    Ok(Some(Arc::new(Source { name, text: text.into() })))
}

/// Writes a baseline from a record.
pub(super) fn update(options: &BaselineUpdateOptions) -> Result<u8, Failure> {
    let record = record::read(&options.record)?;
    let old = source(&options.baseline)?;
    let updated = baseline::update(old.as_ref(), &record, options.not_run).map_err(Failure::Mistakes)?;
    if old.as_ref().is_none_or(|old| old.text != updated.text) {
        files::write_bytes(&options.baseline, updated.text.as_bytes())?;
    }
    let mut out = anstream::stdout();
    let name = options.baseline.display();
    let number = |is: fn(&Change) -> bool| updated.changes.iter().filter(|change| is(change)).count();
    writeln!(
        out,
        "{name}: {}, {} added, {} dropped",
        printable::count(updated.baseline.entries.len(), "entry", "entries"),
        number(|change| matches!(change, Change::Added { .. } | Change::AddedNotRun(_))),
        number(|change| matches!(change, Change::Dropped { .. } | Change::DroppedNotRun(_))),
    )?;
    let kinds: [fn(&Change) -> Option<String>; 4] = [
        |change| match change {
            Change::Added { case, cause } => Some(format!("added: {case}: {cause}")),
            _ => None,
        },
        |change| match change {
            Change::Dropped { case, why } => Some(format!("dropped: {case}: {why}")),
            _ => None,
        },
        |change| match change {
            Change::AddedNotRun(case) => Some(format!("added to expected-not-run: {case}")),
            _ => None,
        },
        |change| match change {
            Change::DroppedNotRun(case) => {
                Some(format!("dropped from expected-not-run: {case}: no case that it matches was skipped"))
            }
            _ => None,
        },
    ];
    for line_of in kinds {
        let lines: Vec<String> = updated.changes.iter().filter_map(line_of).collect();
        for line in lines.iter().take(CHANGES_SHOWN) {
            writeln!(out, "  {}", printable::short(line, 400))?;
        }
        if lines.len() > CHANGES_SHOWN {
            writeln!(out, "  and {} more", lines.len() - CHANGES_SHOWN)?;
        }
    }
    if updated.comments_lost {
        writeln!(
            out,
            "warning: the comments of {name} are lost, because its lists are not written with one item per line"
        )?;
    }
    Ok(0)
}
