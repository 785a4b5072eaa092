//! `explain`: a requirement or a case, with its rulings, cases and faults.

use std::io::Write;

use super::args::ExplainOptions;
use super::data;
use super::exit::Failure;
use super::program::Program;
use crate::exchange::Transport;
use crate::plan::{Knowledge, glob};
use crate::requirement::{Catalogue, ClauseId, Erratum, Requirement};
use crate::source::Span;
use crate::suggest::nearest;
use crate::suite::{Case, CaseId};

/// Explains a requirement or a case.
pub(super) fn run(options: &ExplainOptions, program: &Program) -> Result<u8, Failure> {
    let known = data::spoken(&options.data, program)?
        .map_or_else(|| Ok(Vec::new()), |options| data::knowledge(&options, program))?;
    let bare = data::bare_catalogues(&options.data, program)?;
    for bare in &bare {
        if let Some(requirement) = bare.catalogue.find(&options.id) {
            sentence(&bare.catalogue, &bare.errata, requirement)?;
            let mut out = anstream::stdout();
            for (index, clause) in requirement.clauses.iter().enumerate().filter(|_| requirement.clauses.len() > 1) {
                writeln!(out, "  {}/{}: {clause}", requirement.id.value, index + 1)?;
            }
            writeln!(out, "\nCases\n  none yet")?;
            return Ok(0);
        }
    }
    for knowledge in &known {
        if let Some(requirement) = knowledge.catalogue.find(&options.id) {
            return requirement_page(program, knowledge, requirement);
        }
        let found: Vec<(String, &Case)> = knowledge
            .cases()
            .map(|(suite, case)| (CaseId::of(suite, case), case))
            .filter(|(id, _)| Transport::ALL.iter().any(|path| glob(&options.id, &id.over(*path).to_string())))
            .map(|(id, case)| (id.to_string(), case))
            .collect();
        if !found.is_empty() {
            for (id, case) in found {
                case_page(knowledge, &id, case)?;
            }
            return Ok(0);
        }
    }
    let catalogues = known.iter().map(|knowledge| &knowledge.catalogue).chain(bare.iter().map(|bare| &bare.catalogue));
    let ids = catalogues.flat_map(|catalogue| &catalogue.requirements);
    let hint = nearest(&options.id, ids.map(|requirement| requirement.id.value.as_str()));
    Err(Failure::Usage(
        format!("no requirement or case has the id `{}`", options.id),
        hint.map_or_else(
            || Some("`proofmark coverage` and `proofmark list` print the ids".into()),
            |id| Some(format!("did you mean `{id}`?")),
        ),
    ))
}

/// Prints the entries of the catalogue and of the errata register.
fn sentence(catalogue: &Catalogue, errata: &[Erratum], requirement: &Requirement) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    writeln!(
        out,
        "{} ({}, level {}, binds the {})",
        *requirement.id,
        requirement.keyword.word(),
        *requirement.level,
        requirement.role
    )?;
    writeln!(out, "{}, section {}", catalogue.spec, requirement.section)?;
    writeln!(out, "\n  {}", requirement.summary)?;
    if requirement.clauses.len() < 2 {
        writeln!(out, "\nHow it is checked\n  {}", requirement.check())?;
    }
    if let Some(why) = &requirement.why_not {
        writeln!(out, "\nWhy it cannot be tested\n  {why}")?;
    }
    if !requirement.errata.is_empty() {
        writeln!(out, "\nRulings")?;
        for id in &requirement.errata {
            match errata.iter().find(|entry| entry.id == *id) {
                Some(entry) => writeln!(out, "  {}: {}\n    {}", entry.id, entry.title, entry.ruling)?,
                None => writeln!(out, "  {id}")?,
            }
        }
    }
    Ok(())
}

fn requirement_page(program: &Program, knowledge: &Knowledge, requirement: &Requirement) -> Result<u8, Failure> {
    sentence(&knowledge.catalogue, &knowledge.errata, requirement)?;
    let mut out = anstream::stdout();
    let cases_of = |clause: usize| {
        let id = ClauseId { requirement: requirement.id.value.clone(), clause };
        let about = move |case: &Case| case.covers.iter().any(|covered| covered.value == id);
        knowledge.cases().filter(move |(_, case)| about(case))
    };
    if requirement.clauses.len() < 2 {
        writeln!(out, "\nCases")?;
    } else {
        writeln!(out, "\nClauses, and the cases that cover each")?;
    }
    for clause in 1..=requirement.clauses.len().max(1) {
        if requirement.clauses.len() > 1 {
            writeln!(out, "  {}/{clause}: {}", requirement.id.value, requirement.clauses[clause - 1])?;
        }
        let indent = if requirement.clauses.len() > 1 { "    " } else { "  " };
        let mut any = false;
        for (suite, case) in cases_of(clause) {
            any = true;
            writeln!(out, "{indent}{}\n{indent}  {}", CaseId::of(suite, case), case.name.span.place())?;
        }
        if !any {
            writeln!(out, "{indent}none yet")?;
        }
    }
    let faults = program.implementation(knowledge.protocol.slug()).map_or(&[][..], |known| known.faults());
    let caught: Vec<_> = faults.iter().filter(|fault| fault.breaks.contains(&requirement.id.as_str())).collect();
    if !caught.is_empty() {
        writeln!(out, "\nPlanted faults that break it (serve --fault NAME)")?;
        for fault in caught {
            writeln!(out, "  {}: {}", fault.name, fault.summary)?;
        }
    }
    Ok(0)
}

fn case_page(knowledge: &Knowledge, id: &str, case: &Case) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    writeln!(out, "{id}\n  {}", case.name.span.place())?;
    if !case.about.is_empty() {
        writeln!(out, "  {}", case.about)?;
    }
    writeln!(out, "Covers")?;
    for covered in &case.covers {
        let summary = knowledge
            .catalogue
            .find(covered.requirement.as_str())
            .map(|found| found.summary.as_str())
            .unwrap_or_default();
        writeln!(out, "  {} {summary}", covered.value)?;
    }
    writeln!(out, "As written\n{}\n", as_written(&case.span))?;
    Ok(())
}

/// The lines of a case, from the place where its first key is written: a span of a map has its start only.
fn as_written(span: &Span) -> String {
    let (line, column) = span.line_column();
    let margin = " ".repeat(column - 1);
    let mut lines = span.source().text.lines().skip(line - 1);
    let first = lines.next().map(|line| format!("{margin}{}", line.chars().skip(column - 1).collect::<String>()));
    let rest = lines.take_while(|line| line.trim().is_empty() || line.starts_with(&margin)).map(str::to_owned);
    let block: Vec<String> = first.into_iter().chain(rest).collect();
    block.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::source::Source;

    #[test]
    fn a_case_is_shown_from_its_name_to_its_last_step() {
        let text = "cases:\n  - case: one\n    steps:\n      - send: x\n\n      # A comment.\n      - send: y\n\n  \
                    # Of the next.\n  - { case: two,\n      steps: [] }\n";
        let source = Arc::new(Source { name: "t.yaml".to_owned(), text: text.into() });
        let shown = |word: &str| {
            let start = text.find(word).expect("in the text");
            as_written(&Span::new(&source, start, start + 1))
        };
        let one = "    case: one\n    steps:\n      - send: x\n\n      # A comment.\n      - send: y";
        assert_eq!(shown("case: one"), one);
        assert_eq!(shown("{ case: two"), "    { case: two,\n      steps: [] }");
    }
}
