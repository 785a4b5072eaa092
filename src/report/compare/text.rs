//! A comparison for a terminal: grouped by cause, with at most a few ids under each.

use std::io::{self, Write};

use super::cases::{AtTarget, CaseAcross};
use super::change::{CaseChange, Category, Comparison, ProtocolComparison, Side};
use crate::report::printable;
use crate::verdict::{Grant, Verdict};

/// Causes shown in one category.
pub(super) const CAUSES_SHOWN: usize = 10;
/// Ids named under one cause.
pub(super) const IDS_NAMED: usize = 3;
/// Requirements with another verdict that are listed.
pub(super) const REQUIREMENTS_SHOWN: usize = 10;
/// Characters of a cause.
pub(super) const CAUSE_LENGTH: usize = 300;
/// Columns of a line.
const WIDTH: usize = 100;

/// Cases of one category with the same cause.
pub(super) struct Group<'a> {
    /// The cause in one line, or the change of the verdict for a case that does not fail.
    pub(super) cause: String,
    /// The cases.
    pub(super) cases: Vec<&'a CaseChange>,
}

/// The cases of one category by cause, the cause of most cases first.
pub(super) fn groups(protocol: &ProtocolComparison, category: Category) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for case in protocol.cases.iter().filter(|case| case.category == category) {
        let cause = cause(case);
        let at = *places.entry(cause.clone()).or_insert_with(|| {
            groups.push(Group { cause, cases: Vec::new() });
            groups.len() - 1
        });
        groups[at].cases.push(case);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.cases.len()));
    groups
}

fn cause(case: &CaseChange) -> String {
    let all = |reasons: &[crate::report::cause::Reason]| {
        let mut texts: Vec<&str> = Vec::new();
        for reason in reasons {
            let text = reason.mistake.as_ref().unwrap_or(&reason.text);
            if !texts.contains(&text.as_str()) {
                texts.push(text);
            }
        }
        texts.join("; ")
    };
    let verdicts = || format!("{} -> {}", verdict(case.old), verdict(case.new));
    match case.category {
        Category::NewFailure | Category::StillFailing => all(&case.now),
        Category::ChangedCause => format!("{} (before: {})", all(&case.now), all(&case.was)),
        Category::Fixed => all(&case.was),
        Category::NoLongerDecided if case.now.is_empty() => verdicts(),
        Category::NoLongerDecided => format!("{}: {}", verdicts(), all(&case.now)),
        Category::Vanished => format!("was {}", verdict(case.old)),
        Category::Added => format!("is {}", verdict(case.new)),
        Category::OtherChange => verdicts(),
    }
}

/// A verdict, or that the record does not contain the case or requirement.
pub(super) fn verdict(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("absent", Verdict::word)
}

/// The outcome of a level, or that the record does not contain it.
pub(super) fn outcome(outcome: Option<Grant>) -> &'static str {
    outcome.map_or("absent", Grant::word)
}

/// The result in one sentence.
pub(super) fn result(comparison: &Comparison) -> String {
    let number = |category: Category| comparison.totals.get(category.word()).copied().unwrap_or_default();
    let new = number(Category::NewFailure) + number(Category::ChangedCause);
    let failures = match new {
        0 => "no new failures".to_owned(),
        new => printable::count(new, "new failure", "new failures"),
    };
    format!(
        "{failures}, {} fixed, {} still failing (exit {})",
        number(Category::Fixed),
        number(Category::StillFailing),
        comparison.exit_code
    )
}

/// The record in one line.
pub(super) fn side(side: &Side) -> String {
    format!(
        "{}: {} ({}), {}, seed {}, {}",
        printable::short(&side.file, 200),
        printable::short(&side.target, 200),
        side.kind,
        side.profile.word(),
        side.seed,
        printable::short(&side.started_at, 40)
    )
}

/// Writes a comparison as text.
///
/// # Errors
///
/// Those of `out`.
pub fn write(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    field(out, "old", &side(&comparison.old))?;
    field(out, "new", &side(&comparison.new))?;
    for note in &comparison.notes {
        field(out, "note", &printable::short(note, CAUSE_LENGTH))?;
    }
    for protocol in &comparison.protocols {
        write_protocol(protocol, out)?;
    }
    writeln!(out)?;
    let mut others = format!("{} unchanged", comparison.unchanged);
    if comparison.not_selected > 0 {
        others.push_str(&format!(", {} not selected in one of the runs", comparison.not_selected));
    }
    field(out, "cases", &others)?;
    field(out, "result", &result(comparison))
}

fn write_protocol(protocol: &ProtocolComparison, out: &mut dyn Write) -> io::Result<()> {
    if protocol.levels.is_empty() && protocol.requirements.is_empty() && protocol.cases.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", printable::short(&protocol.protocol, 60))?;
    for level in &protocol.levels {
        let name = printable::short(&level.level, 30);
        writeln!(out, "  level {name}: {} -> {}", outcome(level.old), outcome(level.new))?;
    }
    for category in Category::ALL {
        let groups = groups(protocol, category);
        let number: usize = groups.iter().map(|group| group.cases.len()).sum();
        if number == 0 {
            continue;
        }
        writeln!(out, "\n{}: {}", category.title().to_uppercase(), printable::count(number, "case", "cases"))?;
        for group in groups.iter().take(CAUSES_SHOWN) {
            let number = printable::count(group.cases.len(), "case", "cases");
            paragraph(out, 2, &format!("{number}: {}", printable::short(&group.cause, CAUSE_LENGTH)))?;
            for case in group.cases.iter().take(IDS_NAMED) {
                writeln!(out, "    {}", printable::short(&case.case, 300))?;
            }
            if group.cases.len() > IDS_NAMED {
                writeln!(out, "    and {} more", group.cases.len() - IDS_NAMED)?;
            }
        }
        if groups.len() > CAUSES_SHOWN {
            writeln!(out, "  and {} more causes (--format json)", groups.len() - CAUSES_SHOWN)?;
        }
    }
    if !protocol.requirements.is_empty() {
        let number = printable::count(protocol.requirements.len(), "requirement", "requirements");
        writeln!(out, "\nCHANGED: {number}")?;
    }
    for change in protocol.requirements.iter().take(REQUIREMENTS_SHOWN) {
        let id = printable::short(&change.requirement, 60);
        writeln!(out, "  {id}: {} -> {}", verdict(change.old), verdict(change.new))?;
    }
    if protocol.requirements.len() > REQUIREMENTS_SHOWN {
        writeln!(out, "  and {} more (--format json)", protocol.requirements.len() - REQUIREMENTS_SHOWN)?;
    }
    Ok(())
}

/// Why a case failed, was not decided or did not run, in one line.
pub(super) fn why(at: &AtTarget) -> String {
    let causes: Vec<&str> = at.causes.iter().map(|cause| cause.text.as_str()).collect();
    match (causes.is_empty(), at.not_run) {
        (false, _) => causes.join("; "),
        (true, Some(reason)) if at.because.is_empty() => reason.word().to_owned(),
        (true, Some(reason)) => format!("{}: {}", reason.word(), at.because),
        (true, None) => String::new(),
    }
}

/// Writes cases side by side as text: verdict and cause of each record in one line.
///
/// # Errors
///
/// Those of `out`.
pub fn write_cases(cases: &[CaseAcross], out: &mut dyn Write) -> io::Result<()> {
    for case in cases {
        writeln!(out, "{}", printable::short(&case.case, 300))?;
        let files = case.records.iter().map(|at| printable::width(&printable::short(&at.file, 100))).max().unwrap_or(0);
        for at in &case.records {
            let file = printable::short(&at.file, 100);
            let why = printable::short(&why(at), CAUSE_LENGTH);
            let line = format!("  {file:files$}  {:12}  {why}", verdict(at.verdict));
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}

fn field(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    for (row, part) in printable::wrap(text, WIDTH - 8).iter().enumerate() {
        let label = if row == 0 { label } else { "" };
        writeln!(out, "{}", format!("{label:8}{part}").trim_end())?;
    }
    Ok(())
}

fn paragraph(out: &mut dyn Write, indent: usize, text: &str) -> io::Result<()> {
    for part in printable::wrap(text, WIDTH - indent) {
        writeln!(out, "{:indent$}{part}", "")?;
    }
    Ok(())
}
