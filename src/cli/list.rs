//! `list` and `coverage`.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::json;

use super::args::{CoverageOptions, DataFormat, ListOptions, What};
use super::data;
use super::exit::Failure;
use crate::matcher::Compiler;
use crate::plan::{Knowledge, glob};
use crate::requirement::{Requirement, Testable};
use crate::template::FUNCTIONS;

/// Prints what there is.
pub(super) fn list(options: &ListOptions) -> Result<u8, Failure> {
    let known = data::knowledge(&options.data)?;
    let mut rows: Vec<(String, Vec<(&str, String)>)> = Vec::new();
    for knowledge in &known {
        match options.what {
            What::Cases => rows.extend(cases(knowledge, &options.only)),
            What::Operations => rows.extend(knowledge.protocol.operations().iter().map(|operation| {
                let inputs: Vec<_> = operation.inputs.iter().map(|input| input.name).collect();
                let row = vec![
                    ("summary", operation.summary.to_owned()),
                    ("inputs", inputs.join(", ")),
                    ("level", operation.level.to_owned()),
                ];
                (operation.name.to_owned(), row)
            })),
            What::Matchers => rows.extend(Compiler::new(knowledge.protocol.matchers()).matchers().map(|matcher| {
                let row = vec![("summary", matcher.summary().to_owned()), ("example", matcher.example().to_owned())];
                (matcher.name().to_owned(), row)
            })),
            What::Functions => rows.extend(FUNCTIONS.iter().map(|function| {
                let row = vec![("summary", function.summary.to_owned()), ("example", function.example.to_owned())];
                (function.name.to_owned(), row)
            })),
            What::Features => rows.extend(
                knowledge.manifest.features.iter().map(|f| (f.name.value.clone(), vec![("about", f.about.clone())])),
            ),
            What::Protocols => rows.push((
                knowledge.protocol.slug().to_owned(),
                vec![
                    ("spec", knowledge.catalogue.spec.clone()),
                    ("requirements", knowledge.catalogue.requirements.len().to_string()),
                    ("cases", knowledge.cases().count().to_string()),
                ],
            )),
        }
    }
    if rows.is_empty() {
        return Err(Failure::Undecided("nothing matches".into(), None));
    }
    let mut out = anstream::stdout();
    match options.format {
        DataFormat::Json => {
            let rows: Vec<_> = rows
                .iter()
                .map(|(name, columns)| {
                    let mut object = serde_json::Map::from_iter([("name".to_owned(), json!(name))]);
                    object.extend(columns.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
                    object
                })
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&rows).unwrap_or_default())?;
        }
        DataFormat::Text => {
            for (name, columns) in rows {
                writeln!(out, "{name}")?;
                for (_, value) in columns.iter().filter(|(_, value)| !value.is_empty()) {
                    writeln!(out, "    {value}")?;
                }
            }
        }
    }
    Ok(0)
}

fn cases<'k>(knowledge: &'k Knowledge, only: &[String]) -> Vec<(String, Vec<(&'k str, String)>)> {
    knowledge
        .cases()
        .map(|(suite, case)| (format!("{}#{}", suite.name.value, case.name.value), case))
        .filter(|(id, _)| only.is_empty() || only.iter().any(|pattern| glob(pattern, id)))
        .map(|(id, case)| {
            let covers: Vec<_> = case.covers.iter().map(|covered| covered.value.as_str()).collect();
            (id, vec![("about", case.about.clone()), ("covers", covers.join(", "))])
        })
        .collect()
}

/// What covers a requirement.
enum Coverage {
    Covered(usize),
    Gap,
    Untestable(String),
}

fn coverage_of(knowledge: &Knowledge, requirement: &Requirement) -> Coverage {
    let id = &requirement.id.value;
    let cases = knowledge.cases().filter(|(_, case)| case.covers.iter().any(|covered| covered.value == *id)).count();
    match (cases, requirement.testable) {
        (_, Testable::No) => Coverage::Untestable(requirement.why_not.clone().unwrap_or_default()),
        (0, _) => Coverage::Gap,
        (cases, _) => Coverage::Covered(cases),
    }
}

/// Prints which requirements cases cover.
pub(super) fn coverage(options: &CoverageOptions) -> Result<u8, Failure> {
    let known = data::knowledge(&options.data)?;
    let mut out = anstream::stdout();
    let mut json_out = Vec::new();
    for knowledge in &known {
        let top = options.level.as_ref().map(|level| knowledge.level(level));
        let mut levels: BTreeMap<usize, [usize; 3]> = BTreeMap::new();
        let mut keywords: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        let mut gaps = Vec::new();
        for requirement in &knowledge.catalogue.requirements {
            let level = knowledge.level(&requirement.level);
            if top.is_some_and(|top| level > top) {
                continue;
            }
            let coverage = coverage_of(knowledge, requirement);
            let column = match &coverage {
                Coverage::Covered(_) => 0,
                Coverage::Gap => 1,
                Coverage::Untestable(_) => 2,
            };
            levels.entry(level).or_default()[column] += 1;
            keywords.entry(requirement.keyword.word()).or_default()[column] += 1;
            let (state, detail) = match coverage {
                Coverage::Covered(cases) => ("covered", cases.to_string()),
                Coverage::Gap => ("gap", String::new()),
                Coverage::Untestable(why) => ("untestable", why),
            };
            if state == "gap" {
                gaps.push(requirement);
            }
            json_out.push(json!({
                "protocol": knowledge.protocol.slug(), "id": requirement.id.value, "keyword": requirement.keyword.word(),
                "level": requirement.level.value, "state": state, "detail": detail,
            }));
        }
        if options.format == DataFormat::Json {
            continue;
        }
        writeln!(out, "{} ({})", knowledge.protocol.slug(), knowledge.catalogue.spec)?;
        writeln!(out, "{:<12} {:>8} {:>5} {:>11} {:>9}", "", "covered", "gaps", "untestable", "share")?;
        let mut row = |name: &str, [covered, gap, untestable]: [usize; 3]| {
            let testable = covered + gap;
            let share = if testable == 0 { "-".to_owned() } else { format!("{} %", 100 * covered / testable) };
            writeln!(out, "{name:<12} {covered:>8} {gap:>5} {untestable:>11} {share:>9}")
        };
        for (level, counts) in &levels {
            row(knowledge.manifest.levels.get(*level).map_or("", |level| level.value.as_str()), *counts)?;
        }
        for (keyword, counts) in &keywords {
            row(keyword, *counts)?;
        }
        let total = levels.values().fold([0; 3], |sum, row| [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2]]);
        row("all", total)?;
        if !gaps.is_empty() {
            writeln!(out, "\nGaps:")?;
            for requirement in gaps {
                let keyword = requirement.keyword.word();
                writeln!(
                    out,
                    "  {:<18} {:<3} {keyword:<10} {:<8} {}",
                    *requirement.id,
                    *requirement.level,
                    requirement.testable.word(),
                    requirement.summary
                )?;
            }
        }
    }
    if options.format == DataFormat::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&json_out).unwrap_or_default())?;
    }
    Ok(0)
}
