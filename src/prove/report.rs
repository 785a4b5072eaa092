//! Renders a proof: a summary for the terminal, all results as Markdown, the matrix as CSV.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::proof::{Blame, FaultRow, Proof};
use crate::exchange::Transport;

/// Maximum number of printed names.
const SHOWN: usize = 8;

/// Writes the terminal summary.
///
/// # Errors
///
/// The writer fails.
pub fn write_text(proof: &Proof, out: &mut dyn Write) -> io::Result<()> {
    for row in &proof.clean {
        let profile = row.profile.word();
        let state = match row.not_passed.len() {
            0 => "all pass".to_owned(),
            count => format!("{count} do not pass"),
        };
        writeln!(out, "clean     {:<10} {profile:<8} {:>5} cases, {state}", row.setting, row.ran)?;
        for case in row.not_passed.iter().take(SHOWN) {
            writeln!(out, "            {} {}: {}", case.verdict, case.case, case.because)?;
        }
    }
    let killed = proof.faults.iter().filter(|row| row.killed).count();
    let strict = proof.faults.iter().filter(|row| row.strict_only).count();
    let survivors: Vec<&FaultRow> = proof.faults.iter().filter(|row| !row.killed).collect();
    write!(out, "faults    {} planted, {killed} killed", proof.faults.len())?;
    if strict > 0 {
        write!(out, " ({strict} under strict only)")?;
    }
    writeln!(out, ", {} survive", survivors.len())?;
    for row in &survivors {
        writeln!(out, "            {} ({}): {}", row.fault, row.breaks.join(", "), row.because)?;
    }
    let single: Vec<String> = one_killer(proof).map(|(fault, case)| format!("{fault} by {case}")).collect();
    list(out, "caught once", &single)?;
    if let Some(blame) = &proof.blame {
        writeln!(out, "{}", blame_line(blame, proof.faults.len()))?;
        let undeclared: Vec<String> =
            blame.undeclared.iter().map(|(fault, ids)| format!("{fault}: {}", ids.join(", "))).collect();
        list(out, "undeclared", &undeclared)?;
    }
    let elsewhere: Vec<String> = fires_elsewhere(proof)
        .map(|(fault, case, ids)| format!("{case} fires on {fault} for {}", ids.join(", ")))
        .collect();
    list(out, "elsewhere", &elsewhere)?;
    if !proof.floor.is_empty() {
        let passed: usize = proof.floor.iter().map(|row| row.passed.len()).sum();
        let ran: usize = proof.floor.iter().map(|row| row.ran).sum();
        writeln!(out, "floor     {} trivial targets, {ran} cases run, {passed} pass", proof.floor.len())?;
        for row in proof.floor.iter().filter(|row| !row.passed.is_empty()) {
            writeln!(out, "            {}: {}", row.target, shown(&row.passed))?;
        }
    }
    if !proof.cases.is_empty() {
        let ran = proof.cases.iter().filter(|row| !row.setting.is_empty());
        let (mut by_fault, mut by_change, mut idle) = (0, 0, Vec::new());
        for row in ran {
            match (row.kills, &row.mutation) {
                (0, None) => idle.push(row.case.clone()),
                (0, Some(_)) => by_change += 1,
                _ => by_fault += 1,
            }
        }
        let never: Vec<String> =
            proof.cases.iter().filter(|row| row.setting.is_empty()).map(|row| row.case.clone()).collect();
        writeln!(
            out,
            "cases     {by_fault} catch a fault, {by_change} only a changed answer, {} are vacuous",
            idle.len()
        )?;
        list(out, "vacuous", &idle)?;
        list(out, "never run", &never)?;
    }
    if !proof.requirements.is_empty() {
        let covered: Vec<_> = proof.requirements.iter().filter(|row| row.cases > 0).collect();
        let by_fault = covered.iter().filter(|row| !row.faults.is_empty()).count();
        let by_change = covered.iter().filter(|row| row.mutation.is_some()).count();
        let unproven: Vec<String> = covered
            .iter()
            .filter(|row| row.faults.is_empty() && row.mutation.is_none())
            .map(|row| row.requirement.clone())
            .collect();
        writeln!(
            out,
            "proven    {} of {} testable requirements have cases; {by_fault} catch a fault, {by_change} a changed answer",
            covered.len(),
            proof.requirements.len(),
        )?;
        list(out, "unproven", &unproven)?;
    }
    if let Some(wire) = &proof.wire {
        writeln!(
            out,
            "wire      {} changes of {} members, {} of them detected",
            wire.tried,
            wire.watched + wire.unwatched.iter().filter(|row| row.watched.is_empty()).count(),
            wire.watched
        )?;
        for row in &wire.unwatched {
            writeln!(out, "            {}: not detected {}", row.member, row.unwatched.join(", "))?;
        }
    }
    for problem in &proof.problems {
        writeln!(out, "problem   {problem}")?;
    }
    let seconds = proof.elapsed_ms / 1000;
    let tenths = proof.elapsed_ms % 1000 / 100;
    let result = if proof.problems.is_empty() { "proven (exit 0)" } else { "not proven (exit 1)" };
    writeln!(out, "result    {result}, {seconds}.{tenths} s")
}

fn list(out: &mut dyn Write, what: &str, names: &[String]) -> io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {what:<10} {}", names.len())?;
    for name in names.iter().take(SHOWN) {
        writeln!(out, "            {name}")?;
    }
    if names.len() > SHOWN {
        writeln!(out, "            and {} more: see proof.md", names.len() - SHOWN)?;
    }
    Ok(())
}

/// How many requirements one fault fails, in one line.
pub(super) fn blame_line(blame: &Blame, planted: usize) -> String {
    let cases = match blame.apart {
        1 => "every case".to_owned(),
        apart => format!("one of {apart} cases"),
    };
    format!(
        "blame     {} of {planted} faults against {cases}: median {} requirements for one fault, 90th percentile {}, \
         worst {} ({}); {} undeclared",
        blame.faults,
        blame.median,
        blame.ninetieth,
        blame.worst,
        blame.worst_fault,
        blame.undeclared.values().map(Vec::len).sum::<usize>()
    )
}

fn shown(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

/// Faults that only one case catches, with the case; all transports count as the same case.
fn one_killer(proof: &Proof) -> impl Iterator<Item = (&str, &str)> {
    proof.faults.iter().filter_map(|row| {
        let first = row.killers.keys().next()?;
        let base = |case: &str| case.trim_end_matches(Transport::Adapter.suffix()).to_owned();
        row.killers.keys().all(|case| base(case) == base(first)).then_some((row.fault.as_str(), first.as_str()))
    })
}

/// Cases that failed at a fault only for requirements that the fault is not declared to break.
fn fires_elsewhere(proof: &Proof) -> impl Iterator<Item = (&str, &str, &[String])> {
    let cells = proof.faults.iter().flat_map(|row| row.elsewhere.iter().map(move |cell| (row, cell)));
    let unexplained = cells.filter(|(row, (_, ids))| !is_explained(row, ids));
    unexplained.map(|(row, (case, ids))| (row.fault.as_str(), case.as_str(), ids.as_slice()))
}

/// Whether there is a reason for each requirement that failed.
fn is_explained(row: &FaultRow, ids: &[String]) -> bool {
    ids.iter().all(|id| row.also.contains_key(id))
}

/// Writes the matrix of cases and faults: a line for each case that failed at a fault.
///
/// # Errors
///
/// The writer fails.
pub fn write_csv(proof: &Proof, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "fault,case,requirements,covered")?;
    for row in &proof.faults {
        let other = |ids: &[String]| if is_explained(row, ids) { "also" } else { "no" };
        let elsewhere = row.elsewhere.iter().map(|cell| (cell, other(cell.1)));
        let cells = row.killers.iter().map(|cell| (cell, "yes")).chain(elsewhere);
        for ((case, ids), covered) in cells {
            // Names and ids contain neither commas nor quotes.
            writeln!(out, "{},{case},{},{covered}", row.fault, ids.join(" "))?;
        }
    }
    Ok(())
}

/// Writes everything as Markdown.
///
/// # Errors
///
/// The writer fails.
pub fn write_markdown(proof: &Proof, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}: proof of the suite\n", proof.protocol)?;
    let result = if proof.problems.is_empty() { "proven" } else { "not proven" };
    writeln!(out, "{result}; proofmark {}, suite {}, seed {}\n", proof.proofmark, proof.suite_hash, proof.seed)?;
    for problem in &proof.problems {
        writeln!(out, "- {problem}")?;
    }
    writeln!(out, "\n## The clean reference\n\n| setting | profile | cases | not passed |\n|---|---|---|---|")?;
    for row in &proof.clean {
        let profile = row.profile.word();
        writeln!(out, "| {} | {profile} | {} | {} |", row.setting, row.ran, row.not_passed.len())?;
    }
    writeln!(out, "\n## Planted faults\n\n| fault | level | breaks | killed by | of |\n|---|---|---|---|---|")?;
    for row in &proof.faults {
        let killers = match row.killers.keys().next() {
            Some(first) if row.killers.len() == 1 => format!("`{first}`"),
            Some(first) => format!("{}, `{first}` first", row.killers.len()),
            None => format!("**survived**: {}", row.because),
        };
        let strict = if row.strict_only { " (strict only)" } else { "" };
        let breaks = row.breaks.join(", ");
        writeln!(out, "| `{}`{strict} | {} | {breaks} | {killers} | {} |", row.fault, row.level, row.ran)?;
    }
    let mut section = |title: &str, about: &str, lines: Vec<String>| -> io::Result<()> {
        writeln!(out, "\n## {title}\n\n{about}\n")?;
        if lines.is_empty() {
            return writeln!(out, "None.");
        }
        lines.iter().try_for_each(|line| writeln!(out, "- {line}"))
    };
    if let Some(blame) = &proof.blame {
        let mut measured: Vec<&FaultRow> = proof.faults.iter().filter(|row| row.blamed.is_some()).collect();
        measured.sort_by_key(|row| std::cmp::Reverse(row.blamed.as_ref().map(BTreeSet::len)));
        let lines = measured.iter().map(|row| {
            let failed = row.blamed.as_ref().map_or(0, BTreeSet::len);
            let undeclared: Vec<&str> = row.undeclared().collect();
            let rest = match undeclared.len() {
                0 => String::new(),
                count => format!("; {count} undeclared: {}", undeclared.join(", ")),
            };
            let reasons: BTreeSet<&str> = row.also.values().map(String::as_str).collect();
            let reasons: String = reasons.iter().map(|why| format!("; {why}")).collect();
            format!("`{}`: {failed} failed, {} declared{rest}{reasons}", row.fault, row.breaks.len())
        });
        section("Requirements that one fault fails", blame_line(blame, proof.faults.len()).trim(), lines.collect())?;
    }
    let single = one_killer(proof).map(|(fault, case)| format!("`{fault}`: `{case}`")).collect();
    section("Faults that only one case catches", "Without this case the fault would survive.", single)?;
    let elsewhere = fires_elsewhere(proof)
        .map(|(fault, case, ids)| format!("`{fault}`: `{case}` for {}", ids.join(", ")))
        .collect();
    section(
        "Cases that fail at faults whose requirements they do not cover",
        "The fault breaks more requirements than declared, or the case checks more than it covers.",
        elsewhere,
    )?;
    let ran = || proof.cases.iter().filter(|row| !row.setting.is_empty());
    let idle = ran().filter(|row| row.kills == 0 && row.mutation.is_none());
    section(
        "Vacuous cases",
        "No fault and no changed answer makes them fail.",
        idle.map(|row| format!("`{}`", row.case)).collect(),
    )?;
    let changed = ran().filter(|row| row.kills == 0).filter_map(|row| Some((row, row.mutation.as_ref()?)));
    section(
        "Cases that no planted fault makes fail",
        "Only a changed answer does.",
        changed.map(|(row, mutation)| format!("`{}`: {mutation}", row.case)).collect(),
    )?;
    let never = proof.cases.iter().filter(|row| row.setting.is_empty());
    section(
        "Cases that never ran",
        "No setting offers the features that they need.",
        never.map(|row| format!("`{}`", row.case)).collect(),
    )?;
    let requirements = |wanted: &dyn Fn(&super::RequirementRow) -> bool| -> Vec<String> {
        let rows = proof.requirements.iter().filter(|row| row.cases > 0 && row.faults.is_empty() && wanted(row));
        rows.map(|row| match &row.mutation {
            Some(mutation) => format!("{} ({}): {mutation}", row.requirement, row.keyword),
            None => format!("{} ({})", row.requirement, row.keyword),
        })
        .collect()
    };
    section(
        "Requirements without evidence",
        "No fault and no changed answer makes a case fail for them.",
        requirements(&|row| row.mutation.is_none()),
    )?;
    section(
        "Requirements that no planted fault breaks",
        "Only a changed answer does.",
        requirements(&|row| row.mutation.is_some()),
    )?;
    section("Demands without a case", "Each testable MUST and MUST NOT.", proof.uncovered.clone())?;
    writeln!(out, "\n## The floor\n\n| trivial target | cases run | passed |\n|---|---|---|")?;
    for row in &proof.floor {
        writeln!(out, "| {} | {} | {} |", row.target, row.ran, row.passed.len())?;
    }
    if let Some(wire) = &proof.wire {
        writeln!(out, "\n## Members of answers that no case checks\n")?;
        writeln!(
            out,
            "{} changes were tried.\n\n| member | cases | not detected | detected |\n|---|---|---|---|",
            wire.tried
        )?;
        for row in &wire.unwatched {
            let watched: Vec<String> = row.watched.keys().cloned().collect();
            writeln!(
                out,
                "| {} | {} | {} | {} |",
                row.member,
                row.cases,
                row.unwatched.join(", "),
                watched.join(", ")
            )?;
        }
    }
    Ok(())
}
