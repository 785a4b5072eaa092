//! `list` and `coverage`.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::json;

use super::args::{CoverageOptions, DataFormat, ListOptions, What};
use super::data;
use super::exit::Failure;
use crate::matcher::Compiler;
use crate::plan::{Knowledge, glob};
use crate::requirement::{Catalogue, Requirement, Testable};
use crate::suite::Case;
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
            What::Functions => rows.extend(FUNCTIONS.iter().chain(knowledge.protocol.functions()).map(|function| {
                let row = vec![("summary", function.summary.to_owned()), ("example", function.example.to_owned())];
                (function.name.to_owned(), row)
            })),
            What::Features => rows.extend(
                knowledge.manifest.features.iter().map(|f| (f.name.value.clone(), vec![("about", f.about.clone())])),
            ),
            What::Settings => rows.extend(knowledge.protocol.settings().iter().map(|setting| {
                let row = vec![("summary", setting.summary.to_owned()), ("example", setting.example.to_owned())];
                (setting.name.to_owned(), row)
            })),
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

/// What the coverage of one protocol is drawn from.
struct Subject<'k> {
    catalogue: &'k Catalogue,
    /// The levels in their order; empty for a protocol that has no more than a catalogue.
    levels: Vec<&'k str>,
    knowledge: Option<&'k Knowledge>,
}

impl Subject<'_> {
    fn coverage(&self, requirement: &Requirement) -> Coverage {
        let id = &requirement.id.value;
        let covers = |case: &Case| case.covers.iter().any(|covered| covered.value == *id);
        let cases = self.knowledge.map_or(0, |knowledge| knowledge.cases().filter(|(_, case)| covers(case)).count());
        match (cases, requirement.testable) {
            (_, Testable::No) => Coverage::Untestable(requirement.why_not.clone().unwrap_or_default()),
            (0, _) => Coverage::Gap,
            (cases, _) => Coverage::Covered(cases),
        }
    }

    fn position(&self, level: &str) -> usize {
        self.levels.iter().position(|known| *known == level).unwrap_or(0)
    }
}

/// Prints which requirements cases cover.
pub(super) fn coverage(options: &CoverageOptions) -> Result<u8, Failure> {
    let known = data::spoken(&options.data)?.map_or_else(|| Ok(Vec::new()), |options| data::knowledge(&options))?;
    let bare = data::bare_catalogues(&options.data)?;
    let mut subjects: Vec<Subject<'_>> = known
        .iter()
        .map(|knowledge| Subject {
            catalogue: &knowledge.catalogue,
            levels: knowledge.manifest.levels.iter().map(|level| level.value.as_str()).collect(),
            knowledge: Some(knowledge),
        })
        .collect();
    for bare in &bare {
        let mut levels: Vec<&str> = Vec::new();
        for requirement in &bare.catalogue.requirements {
            if !levels.contains(&requirement.level.as_str()) {
                levels.push(&requirement.level);
            }
        }
        subjects.push(Subject { catalogue: &bare.catalogue, levels, knowledge: None });
    }
    if let Some(level) = &options.level
        && !subjects.iter().any(|subject| subject.levels.contains(&level.as_str()))
    {
        let levels: Vec<_> = subjects.iter().flat_map(|subject| subject.levels.clone()).collect();
        return Err(Failure::Usage(format!("no level `{level}`"), Some(format!("one of {}", levels.join(", ")))));
    }
    let mut out = anstream::stdout();
    match options.format {
        DataFormat::Json => {
            let rows: Vec<_> = subjects.iter().flat_map(|subject| coverage_rows(subject, options)).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&rows).unwrap_or_default())?;
        }
        DataFormat::Text => {
            for subject in &subjects {
                coverage_table(subject, options, &mut out)?;
            }
        }
    }
    Ok(0)
}

/// The requirements that the options ask for.
fn asked<'k>(subject: &Subject<'k>, options: &CoverageOptions) -> Vec<&'k Requirement> {
    let top = options.level.as_ref().map(|level| subject.position(level));
    let wanted = |requirement: &&Requirement| top.is_none_or(|top| subject.position(&requirement.level) <= top);
    subject.catalogue.requirements.iter().filter(wanted).collect()
}

fn coverage_rows(subject: &Subject<'_>, options: &CoverageOptions) -> Vec<serde_json::Value> {
    let row = |requirement: &Requirement| {
        let (state, detail) = match subject.coverage(requirement) {
            Coverage::Covered(cases) => ("covered", json!(cases)),
            Coverage::Gap => ("gap", json!(null)),
            Coverage::Untestable(why) => ("untestable", json!(why)),
        };
        json!({
            "protocol": subject.catalogue.protocol, "id": requirement.id.value, "keyword": requirement.keyword.word(),
            "level": requirement.level.value, "state": state, "detail": detail,
        })
    };
    asked(subject, options).into_iter().map(row).collect()
}

fn coverage_table(subject: &Subject<'_>, options: &CoverageOptions, out: &mut dyn Write) -> std::io::Result<()> {
    let mut levels: BTreeMap<usize, [usize; 3]> = BTreeMap::new();
    let mut keywords: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut gaps = Vec::new();
    for requirement in asked(subject, options) {
        let column = match subject.coverage(requirement) {
            Coverage::Covered(_) => 0,
            Coverage::Gap => 1,
            Coverage::Untestable(_) => 2,
        };
        levels.entry(subject.position(&requirement.level)).or_default()[column] += 1;
        keywords.entry(requirement.keyword.word()).or_default()[column] += 1;
        if column == 1 {
            gaps.push(requirement);
        }
    }
    writeln!(out, "{} ({})", subject.catalogue.protocol, subject.catalogue.spec)?;
    writeln!(out, "{:<12} {:>8} {:>5} {:>11} {:>9}", "", "covered", "gaps", "untestable", "share")?;
    let mut row = |name: &str, [covered, gap, untestable]: [usize; 3]| {
        let share =
            (100 * covered).checked_div(covered + gap).map_or_else(|| "-".to_owned(), |share| format!("{share} %"));
        writeln!(out, "{name:<12} {covered:>8} {gap:>5} {untestable:>11} {share:>9}")
    };
    for (level, counts) in &levels {
        row(subject.levels.get(*level).copied().unwrap_or_default(), *counts)?;
    }
    for (keyword, counts) in &keywords {
        row(keyword, *counts)?;
    }
    let total = levels.values().fold([0; 3], |sum, row| [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2]]);
    row("all", total)?;
    match (subject.knowledge, gaps.len()) {
        (None, _) => writeln!(out, "No cases are written for it yet.")?,
        (Some(_), 0) => {}
        (Some(_), _) => {
            writeln!(out, "\nGaps:")?;
            for requirement in gaps {
                let id = &requirement.id.value;
                let (keyword, level) = (requirement.keyword.word(), &requirement.level.value);
                let testable = requirement.testable.word();
                writeln!(out, "  {id:<18} {level:<3} {keyword:<10} {testable:<8} {}", requirement.summary)?;
            }
        }
    }
    writeln!(out)
}
