//! A comparison in GitHub's Markdown, for a job summary or a pull request.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::cases::CaseAcross;
use super::change::{Category, Comparison, ProtocolComparison};
use super::text::{
    CAUSE_LENGTH, CAUSES_SHOWN, IDS_NAMED, REQUIREMENTS_SHOWN, groups, outcome, result, side, verdict, why,
};
use crate::report::markdown::{code, escape};
use crate::report::printable;

/// Writes a comparison as Markdown.
///
/// # Errors
///
/// Those of `out`.
pub fn write(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    // Writing to a string cannot fail.
    let mut page = format!("# proofmark compare: {}\n\n", escape(&result(comparison)));
    for (name, record) in [("Old", &comparison.old), ("New", &comparison.new)] {
        let _ = writeln!(page, "- {name}: {}", code(&side(record)));
    }
    for note in &comparison.notes {
        let _ = writeln!(page, "- Note: {}", escape(&printable::short(note, CAUSE_LENGTH)));
    }
    page.push('\n');
    for protocol in &comparison.protocols {
        write_protocol(protocol, &mut page);
    }
    let _ = writeln!(
        page,
        "{} cases are unchanged, {} were not selected in one of the runs.",
        comparison.unchanged, comparison.not_selected
    );
    out.write_all(page.as_bytes())
}

fn write_protocol(protocol: &ProtocolComparison, page: &mut String) {
    if protocol.levels.is_empty() && protocol.requirements.is_empty() && protocol.cases.is_empty() {
        return;
    }
    let _ = writeln!(page, "## {}\n", escape(&printable::short(&protocol.protocol, 60)));
    for level in &protocol.levels {
        let name = escape(&printable::short(&level.level, 30)).into_owned();
        let _ = writeln!(page, "- Level {name}: {} to {}", outcome(level.old), outcome(level.new));
    }
    for category in Category::ALL {
        let groups = groups(protocol, category);
        let number: usize = groups.iter().map(|group| group.cases.len()).sum();
        if number == 0 {
            continue;
        }
        let _ = writeln!(page, "\n### {}: {number}\n", category.title());
        for group in groups.iter().take(CAUSES_SHOWN) {
            let named = group.cases.iter().take(IDS_NAMED).map(|case| code(&printable::short(&case.case, 200)));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = match group.cases.len().saturating_sub(IDS_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let number = printable::count(group.cases.len(), "case", "cases");
            let _ =
                writeln!(page, "- {} ({number}: {named}{more})", code(&printable::short(&group.cause, CAUSE_LENGTH)));
        }
        if groups.len() > CAUSES_SHOWN {
            let _ = writeln!(page, "- and {} more causes", groups.len() - CAUSES_SHOWN);
        }
    }
    if !protocol.requirements.is_empty() {
        let _ = writeln!(page, "\n### Requirements with another verdict: {}\n", protocol.requirements.len());
    }
    for change in protocol.requirements.iter().take(REQUIREMENTS_SHOWN) {
        let id = code(&printable::short(&change.requirement, 60));
        let _ = writeln!(page, "- {id}: {} to {}", verdict(change.old), verdict(change.new));
    }
    if protocol.requirements.len() > REQUIREMENTS_SHOWN {
        let _ = writeln!(page, "- and {} more", protocol.requirements.len() - REQUIREMENTS_SHOWN);
    }
    page.push('\n');
}

/// Writes cases side by side as Markdown: a table for each case, with a row for each record.
///
/// # Errors
///
/// Those of `out`.
pub fn write_cases(cases: &[CaseAcross], out: &mut dyn Write) -> io::Result<()> {
    for case in cases {
        writeln!(out, "### {}\n", code(&printable::short(&case.case, 300)))?;
        writeln!(out, "| record | target | verdict | cause |\n|---|---|---|---|")?;
        for at in &case.records {
            writeln!(
                out,
                "| {} | {} | {} | {} |",
                code(&printable::short(&at.file, 200)),
                code(&printable::short(&at.target, 200)),
                verdict(at.verdict),
                code(&printable::short(&why(at), CAUSE_LENGTH)),
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}
