//! `list` and `coverage`.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::json;

use super::args::{CoverageOptions, DataFormat, ListOptions, What};
use super::data;
use super::exit::Failure;
use super::program::Program;
use crate::matcher::Compiler;
use crate::plan::{Knowledge, glob};
use crate::requirement::{Catalogue, ClauseId, Requirement, Testable};
use crate::schema::FILES;
use crate::source::{KeyRow, Shape, reachable};
use crate::suite::{Case, CaseId};
use crate::template::FUNCTIONS;

/// Prints the entries of one kind.
pub(super) fn list(options: &ListOptions, program: &Program) -> Result<u8, Failure> {
    let known = if options.what == What::Keys { Vec::new() } else { data::knowledge(&options.data, program)? };
    let mut rows: Vec<(String, Vec<(&str, String)>)> = Vec::new();
    if options.what == What::Keys {
        rows.extend(keys());
    }
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
            What::Hosts => rows.extend(knowledge.manifest.hosts.iter().map(|host| {
                let transports: Vec<_> = host.transports.iter().map(|transport| transport.name()).collect();
                let row = vec![("about", host.about.clone()), ("transports", transports.join(", "))];
                (host.name.value.clone(), row)
            })),
            What::Keys => {}
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
        return Err(Failure::Undecided("no entry matches".into(), None));
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

/// The keys of every data file, by the tables that the readers and the schemas use.
fn keys() -> Vec<(String, Vec<(&'static str, String)>)> {
    let mut shapes: Vec<&'static Shape> = Vec::new();
    for shape in FILES.iter().flat_map(|(_, root)| reachable(root)).chain([&crate::template::BUILT]) {
        if !shapes.iter().any(|known| std::ptr::eq(*known, shape)) {
            shapes.push(shape);
        }
    }
    let row = |shape: &Shape, key: &KeyRow| {
        let required = if key.required { ", required" } else { "" };
        let default = key.default.map(|default| format!("[default: {default}]")).unwrap_or_default();
        let columns = vec![
            ("of", shape.name.to_owned()),
            ("value", format!("{}{required}", key.kind.words())),
            ("about", key.about.to_owned()),
            ("default", default),
            ("example", key.example.to_owned()),
        ];
        (key.name.to_owned(), columns)
    };
    shapes.iter().flat_map(|shape| shape.keys.iter().map(|key| row(shape, key))).collect()
}

fn cases<'k>(knowledge: &'k Knowledge, only: &[String]) -> Vec<(String, Vec<(&'k str, String)>)> {
    knowledge
        .cases()
        .map(|(suite, case)| (CaseId::of(suite, case).to_string(), case))
        .filter(|(id, _)| only.is_empty() || only.iter().any(|pattern| glob(pattern, id)))
        .map(|(id, case)| {
            let covers: Vec<_> = case.covers.iter().map(|covered| covered.value.to_string()).collect();
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

/// The input of a coverage table of one protocol.
struct Subject<'k> {
    catalogue: &'k Catalogue,
    /// The levels in their order, each with those that it includes. If a protocol has only a catalogue, no level includes
    /// another.
    levels: Vec<(&'k str, Vec<&'k str>)>,
    knowledge: Option<&'k Knowledge>,
}

impl Subject<'_> {
    fn coverage(&self, requirement: &Requirement) -> Coverage {
        let id = &requirement.id.value;
        let covers = |case: &Case| case.is_about(id);
        let cases = self.knowledge.map_or(0, |knowledge| knowledge.cases().filter(|(_, case)| covers(case)).count());
        match (cases, requirement.testable) {
            (_, Testable::No) => Coverage::Untestable(requirement.why_not.clone().unwrap_or_default()),
            (0, _) => Coverage::Gap,
            (cases, _) => Coverage::Covered(cases),
        }
    }

    fn position(&self, level: &str) -> usize {
        self.levels.iter().position(|(known, _)| *known == level).unwrap_or(0)
    }

    /// Whether a level is `name` or one that it includes.
    fn is_included(&self, level: &str, name: &str) -> bool {
        self.levels.iter().any(|(known, included)| *known == name && included.contains(&level))
    }
}

/// Prints which requirements cases cover.
pub(super) fn coverage(options: &CoverageOptions, program: &Program) -> Result<u8, Failure> {
    let known = data::spoken(&options.data, program)?
        .map_or_else(|| Ok(Vec::new()), |options| data::knowledge(&options, program))?;
    let bare = data::bare_catalogues(&options.data, program)?;
    let mut subjects: Vec<Subject<'_>> = known
        .iter()
        .map(|knowledge| Subject {
            catalogue: &knowledge.catalogue,
            levels: knowledge
                .manifest
                .levels
                .iter()
                .map(|level| {
                    let names = knowledge.manifest.levels.names().enumerate();
                    let included = names.filter(|(position, _)| level.closure.contains(*position));
                    (level.name.value.as_str(), included.map(|(_, name)| name).collect())
                })
                .collect(),
            knowledge: Some(knowledge),
        })
        .collect();
    for bare in &bare {
        let mut levels: Vec<(&str, Vec<&str>)> = Vec::new();
        for requirement in &bare.catalogue.requirements {
            let level = requirement.level.as_str();
            if !levels.iter().any(|(known, _)| *known == level) {
                levels.push((level, vec![level]));
            }
        }
        subjects.push(Subject { catalogue: &bare.catalogue, levels, knowledge: None });
    }
    for level in &options.level {
        let levels: Vec<_> = subjects.iter().flat_map(|subject| &subject.levels).map(|(level, _)| *level).collect();
        if !levels.contains(&level.as_str()) {
            return Err(Failure::Usage(format!("no level `{level}`"), Some(format!("one of {}", levels.join(", ")))));
        }
    }
    let mut out = anstream::stdout();
    match options.format {
        DataFormat::Json => {
            let rows = |subject| match options.clauses {
                true => clause_rows(subject, options),
                false => coverage_rows(subject, options),
            };
            let rows: Vec<_> = subjects.iter().flat_map(rows).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&rows).unwrap_or_default())?;
        }
        DataFormat::Text => {
            for subject in &subjects {
                match options.clauses {
                    true => clause_table(subject, options, &mut out)?,
                    false => coverage_table(subject, options, &mut out)?,
                }
            }
        }
    }
    Ok(0)
}

/// The requirements that the options select.
fn selected<'k>(subject: &Subject<'k>, options: &CoverageOptions) -> Vec<&'k Requirement> {
    let wanted = |requirement: &&Requirement| {
        options.level.is_empty() || options.level.iter().any(|level| subject.is_included(&requirement.level, level))
    };
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
            "protocol": subject.catalogue.protocol, "id": requirement.id.as_str(), "keyword": requirement.keyword.word(),
            "level": requirement.level.value, "state": state, "detail": detail,
        })
    };
    selected(subject, options).into_iter().map(row).collect()
}

/// A clause of a requirement, and the cases that cover it.
struct ClauseCoverage<'k> {
    id: ClauseId,
    requirement: &'k Requirement,
    text: &'k str,
    /// The cases with their number of rows; all rows of one table count as one case.
    cases: Vec<(String, usize)>,
}

impl ClauseCoverage<'_> {
    /// `covered`, `open` or `untestable`.
    fn state(&self) -> &'static str {
        match (self.requirement.testable, self.cases.is_empty()) {
            (Testable::No, _) => "untestable",
            (_, true) => "open",
            (_, false) => "covered",
        }
    }
}

/// Every clause of the requirements that the options select.
fn clauses<'k>(subject: &Subject<'k>, options: &CoverageOptions) -> Vec<ClauseCoverage<'k>> {
    let mut marked: BTreeMap<&ClauseId, Vec<(String, usize)>> = BTreeMap::new();
    for (suite, case) in subject.knowledge.into_iter().flat_map(Knowledge::cases) {
        let name = CaseId { row: None, ..CaseId::of(suite, case) }.to_string();
        for covered in &case.covers {
            let cases = marked.entry(&covered.value).or_default();
            match cases.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => *rows += 1,
                None => cases.push((name.clone(), 1)),
            }
        }
    }
    let clauses_of = |requirement: &'k Requirement| {
        let texts = requirement.clauses.iter().map(String::as_str);
        let texts: Vec<&str> = if requirement.clauses.is_empty() { vec![""] } else { texts.collect() };
        texts.into_iter().enumerate().map(move |(index, text)| (requirement, index + 1, text))
    };
    selected(subject, options)
        .into_iter()
        .flat_map(clauses_of)
        .map(|(requirement, clause, text)| {
            let id = ClauseId { requirement: requirement.id.value.clone(), clause };
            let cases = marked.get(&id).cloned().unwrap_or_default();
            ClauseCoverage { id, requirement, text, cases }
        })
        .collect()
}

fn clause_rows(subject: &Subject<'_>, options: &CoverageOptions) -> Vec<serde_json::Value> {
    let row = |clause: &ClauseCoverage<'_>| {
        json!({
            "protocol": subject.catalogue.protocol, "id": clause.id.requirement.as_str(), "clause": clause.id.clause,
            "keyword": clause.requirement.keyword.word(), "level": clause.requirement.level.value,
            "text": clause.text, "state": clause.state(),
            "cases": clause.cases.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        })
    };
    clauses(subject, options).iter().map(row).collect()
}

fn clause_table(subject: &Subject<'_>, options: &CoverageOptions, out: &mut dyn Write) -> std::io::Result<()> {
    let clauses = clauses(subject, options);
    writeln!(out, "{} ({})", subject.catalogue.protocol, subject.catalogue.spec)?;
    for clause in &clauses {
        let requirement = clause.requirement;
        if clause.id.clause == 1 {
            let (keyword, level) = (requirement.keyword.word(), &requirement.level.value);
            writeln!(out, "\n{} ({keyword}, {level}): {}", *requirement.id, requirement.summary)?;
        }
        writeln!(out, "  {}/{}: {}", *requirement.id, clause.id.clause, clause.text)?;
        match (clause.state(), &requirement.why_not) {
            ("untestable", Some(why)) => writeln!(out, "    untestable: {why}")?,
            ("covered", _) => {}
            (state, _) => writeln!(out, "    {state}")?,
        }
        for (name, rows) in &clause.cases {
            let rows = if *rows > 1 { format!(" ({rows} rows)") } else { String::new() };
            writeln!(out, "    {name}{rows}")?;
        }
    }
    let count = |state: &str| clauses.iter().filter(|clause| clause.state() == state).count();
    let (covered, open, untestable) = (count("covered"), count("open"), count("untestable"));
    let requirements = clauses.iter().filter(|clause| clause.id.clause == 1).count();
    let total = clauses.len();
    writeln!(
        out,
        "\n{requirements} requirements, {total} clauses: {covered} covered, {open} open, {untestable} untestable"
    )?;
    let open: Vec<_> = clauses.iter().filter(|clause| clause.state() == "open").collect();
    if !open.is_empty() {
        writeln!(out, "\nOpen clauses:")?;
    }
    for clause in open {
        writeln!(out, "  {}/{}: {}", clause.id.requirement, clause.id.clause, clause.text)?;
    }
    writeln!(out)
}

fn coverage_table(subject: &Subject<'_>, options: &CoverageOptions, out: &mut dyn Write) -> std::io::Result<()> {
    let mut levels: BTreeMap<usize, [usize; 3]> = BTreeMap::new();
    let mut keywords: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut gaps = Vec::new();
    for requirement in selected(subject, options) {
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
        row(subject.levels.get(*level).map_or("", |(name, _)| name), *counts)?;
    }
    for (keyword, counts) in &keywords {
        row(keyword, *counts)?;
    }
    let total = levels.values().fold([0; 3], |sum, row| [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2]]);
    row("all", total)?;
    match (subject.knowledge, gaps.len()) {
        (None, _) => writeln!(out, "This protocol has no cases yet.")?,
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
