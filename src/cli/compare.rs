//! `compare`: the differences between two records, and one case in several records.

use std::io::Write;
use std::path::PathBuf;

use super::args::{CompareOptions, PageFormat};
use super::exit::Failure;
use super::record::read;
use crate::plan::glob;
use crate::record::RunRecord;
use crate::report::{compare, json};
use crate::suggest::nearest;

/// Compares records.
pub(super) fn run(options: &CompareOptions) -> Result<u8, Failure> {
    match &options.case {
        Some(pattern) => cases(options, pattern),
        None => records(options),
    }
}

fn records(options: &CompareOptions) -> Result<u8, Failure> {
    let [old, new] = options.records.as_slice() else {
        return Err(Failure::Usage(
            format!("expected two records, OLD and NEW, not {}", options.records.len()),
            Some("--case ID compares one case of any number of records".to_owned()),
        ));
    };
    let (before, after) = (read(old)?, read(new)?);
    let names = (old.display().to_string(), new.display().to_string());
    let comparison = compare::compare((&names.0, &before), (&names.1, &after));
    let mut out = anstream::stdout();
    match options.format {
        PageFormat::Text => compare::write_text(&comparison, &mut out)?,
        PageFormat::Markdown => compare::write_markdown(&comparison, &mut out)?,
        PageFormat::Json => json::write_visible(&comparison, &mut out)?,
    }
    out.flush()?;
    Ok(comparison.exit_code)
}

fn cases(options: &CompareOptions, pattern: &str) -> Result<u8, Failure> {
    let read = |path: &PathBuf| Ok((path.display().to_string(), read(path)?));
    let records: Vec<(String, RunRecord)> = options.records.iter().map(read).collect::<Result<_, Failure>>()?;
    let named: Vec<(&str, &RunRecord)> = records.iter().map(|(name, record)| (name.as_str(), record)).collect();
    let found = compare::across(&named, |id| glob(pattern, id));
    if found.is_empty() {
        let all = compare::across(&named, |_| true);
        let near = nearest(pattern, all.iter().map(|case| case.case.as_str()));
        return Err(Failure::Usage(
            format!("no record has a case `{pattern}`"),
            near.map(|id| format!("did you mean `{id}`?")),
        ));
    }
    let mut out = anstream::stdout();
    match options.format {
        PageFormat::Text => compare::write_cases(&found, &mut out)?,
        PageFormat::Markdown => compare::write_cases_markdown(&found, &mut out)?,
        PageFormat::Json => json::write_visible(&found, &mut out)?,
    }
    out.flush()?;
    Ok(0)
}
