//! A proof as one HTML file, for a reader who doubts the suite.

use std::collections::BTreeMap;
use std::io;

use askama::Template;

use super::proof::{CaseRow, CleanRow, FaultRow, FloorRow, Proof};
use super::report;
use crate::report::printable;

/// Maximum number of cases that are listed for one fault; the matrix has all.
const KILLERS: usize = 40;

#[derive(Template)]
#[template(path = "proof.html", whitespace = "minimize")]
struct Page<'p> {
    protocol: &'p str,
    proofmark: &'p str,
    result: &'static str,
    class: &'static str,
    conclusion: String,
    problems: &'p [String],
    facts: Vec<(&'static str, String)>,
    tiles: Vec<Tile>,
    faults: Vec<FaultView<'p>>,
    vacuous: Vec<&'p str>,
    never: Vec<&'p str>,
    suites: Vec<SuiteView<'p>>,
    unproven: Vec<&'p str>,
    uncovered: &'p [String],
    requirements: Vec<RequirementView<'p>>,
    blame: String,
    undeclared: Vec<(&'p str, String)>,
    floor: &'p [FloorRow],
    wire: String,
    members: Vec<MemberView<'p>>,
    clean: &'p [CleanRow],
    footer: String,
}

/// A number with its meaning.
struct Tile {
    number: usize,
    of: String,
}

struct FaultView<'p> {
    anchor: String,
    name: &'p str,
    summary: &'p str,
    level: &'p str,
    breaks: String,
    strict_only: bool,
    killed: bool,
    caught: String,
    killers: Vec<(&'p str, String)>,
    more: usize,
    because: &'p str,
}

#[derive(Default)]
struct SuiteView<'p> {
    name: &'p str,
    cases: usize,
    by_fault: usize,
    changed: Vec<(&'p str, &'p str)>,
    vacuous: usize,
}

struct RequirementView<'p> {
    id: &'p str,
    keyword: &'p str,
    cases: usize,
    evidence: String,
}

struct MemberView<'p> {
    member: &'p str,
    cases: usize,
    unwatched: String,
    watched: String,
}

/// Writes a proof as HTML.
///
/// # Errors
///
/// The writer fails.
pub fn write_html(proof: &Proof, out: &mut dyn io::Write) -> io::Result<()> {
    let text = page(proof).render().map_err(io::Error::other)?;
    out.write_all(printable::block(text.trim_end()).as_bytes())?;
    out.write_all(b"\n")
}

fn page(proof: &Proof) -> Page<'_> {
    let proven = proof.problems.is_empty();
    let killed = proof.faults.iter().filter(|row| row.killed).count();
    let ran: Vec<&CaseRow> = proof.cases.iter().filter(|row| !row.setting.is_empty()).collect();
    let vacuous: Vec<&str> = ran.iter().filter(|row| row.is_idle()).map(|row| row.case.as_str()).collect();
    let never = proof.cases.iter().filter(|row| row.setting.is_empty()).map(|row| row.case.as_str()).collect();
    let passed: usize = proof.floor.iter().map(|row| row.passed.len()).sum();
    let covered: Vec<_> = proof.requirements.iter().filter(|row| row.cases > 0).collect();
    let unproven: Vec<&str> = covered
        .iter()
        .filter(|row| row.faults.is_empty() && row.mutation.is_none())
        .map(|row| row.requirement.as_str())
        .collect();
    let conclusion = if proven {
        "Every planted fault is caught, the clean reference passes every case, no trivial target passes one, and every case can fail."
    } else {
        "The suite is not proven, for these reasons:"
    };
    let tile = |number: usize, of: String| Tile { number, of };
    Page {
        protocol: &proof.protocol,
        proofmark: &proof.proofmark,
        result: if proven { "proven" } else { "not proven" },
        class: if proven { "conformant" } else { "not-conformant" },
        conclusion: conclusion.to_owned(),
        problems: &proof.problems,
        facts: vec![
            ("suite", proof.suite_hash.chars().take(16).collect()),
            ("seed", proof.seed.to_string()),
            ("cases against each fault", if proof.all_cases { "all" } else { "those that should catch it" }.to_owned()),
            ("time", format!("{} s", proof.elapsed_ms / 1000)),
        ],
        tiles: vec![
            tile(killed, format!("of {} planted faults caught", proof.faults.len())),
            tile(ran.len() - vacuous.len(), format!("of {} cases can fail", ran.len())),
            tile(vacuous.len(), "vacuous cases".to_owned()),
            tile(covered.len() - unproven.len(), format!("of {} requirements with cases have evidence", covered.len())),
            tile(passed, format!("cases pass at {} trivial targets", proof.floor.len())),
        ],
        faults: proof.faults.iter().map(fault).collect(),
        suites: suites(&ran),
        vacuous,
        never,
        unproven,
        uncovered: &proof.uncovered,
        requirements: covered
            .iter()
            .map(|row| RequirementView {
                id: &row.requirement,
                keyword: &row.keyword,
                cases: row.cases,
                evidence: match (&row.mutation, row.faults.len()) {
                    (None, 0) => "none".to_owned(),
                    (Some(change), 0) => format!("a changed answer: {change}"),
                    _ => row.faults.join(", "),
                },
            })
            .collect(),
        blame: match &proof.blame {
            Some(blame) => report::blame_line(blame, proof.faults.len()).trim_start_matches("blame").trim().to_owned(),
            None => "Not measured.".to_owned(),
        },
        undeclared: proof
            .blame
            .iter()
            .flat_map(|blame| &blame.undeclared)
            .map(|(fault, ids)| (fault.as_str(), ids.join(", ")))
            .collect(),
        floor: &proof.floor,
        wire: proof.wire.as_ref().map_or_else(
            || "Not measured: it takes the option --wire.".to_owned(),
            |wire| {
                format!(
                    "{} changes were tried; {} members have a change that a case detects, {} have one that no case detects.",
                    wire.tried,
                    wire.watched,
                    wire.unwatched.len()
                )
            },
        ),
        members: proof
            .wire
            .iter()
            .flat_map(|wire| &wire.unwatched)
            .map(|row| MemberView {
                member: &row.member,
                cases: row.cases,
                unwatched: row.unwatched.join(", "),
                watched: row.watched.keys().cloned().collect::<Vec<_>>().join(", "),
            })
            .collect(),
        clean: &proof.clean,
        footer: format!("proofmark {}, schema {}", proof.proofmark, proof.schema),
    }
}

fn fault(row: &FaultRow) -> FaultView<'_> {
    let caught = match (row.killers.len(), row.killers.keys().next()) {
        (1, Some(only)) => format!("one of {} cases: {only}", row.ran),
        (killers, Some(first)) => format!("{killers} of {} cases, such as {first}", row.ran),
        (_, None) => String::new(),
    };
    FaultView {
        anchor: format!("fault-{}", row.fault),
        name: &row.fault,
        summary: &row.summary,
        level: &row.level,
        breaks: row.breaks.join(", "),
        strict_only: row.strict_only,
        killed: row.killed,
        caught,
        killers: row.killers.iter().take(KILLERS).map(|(case, ids)| (case.as_str(), ids.join(", "))).collect(),
        more: row.killers.len().saturating_sub(KILLERS),
        because: &row.because,
    }
}

/// The cases that ran, by suite.
fn suites<'p>(ran: &[&'p CaseRow]) -> Vec<SuiteView<'p>> {
    let mut suites: BTreeMap<&str, SuiteView<'p>> = BTreeMap::new();
    for row in ran {
        let name = row.case.split('#').next().unwrap_or_default();
        let suite = suites.entry(name).or_insert_with(|| SuiteView { name, ..SuiteView::default() });
        suite.cases += 1;
        match (row.kills, &row.mutation) {
            (0, None) => suite.vacuous += 1,
            (0, Some(change)) => suite.changed.push((&row.case, change)),
            _ => suite.by_fault += 1,
        }
    }
    suites.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Profile;

    fn proof() -> Proof {
        let row = |case: &str, kills, mutation: Option<&str>| CaseRow {
            case: case.to_owned(),
            setting: "default".to_owned(),
            kills,
            mutation: mutation.map(str::to_owned),
        };
        Proof {
            schema: "proofmark-proof/1".into(),
            proofmark: "0.1.0".into(),
            protocol: "toy".into(),
            suite_hash: "00".into(),
            seed: 7,
            all_cases: false,
            clean: vec![CleanRow {
                setting: "default".into(),
                profile: Profile::Lenient,
                ran: 3,
                not_passed: Vec::new(),
            }],
            faults: vec![FaultRow {
                fault: "deaf".into(),
                summary: "Does <not> answer.".into(),
                level: "L0".into(),
                breaks: vec!["TOY-1".into()],
                also: BTreeMap::new(),
                blamed: None,
                killed: false,
                strict_only: false,
                killers: BTreeMap::new(),
                elsewhere: BTreeMap::new(),
                ran: 3,
                rounds: 1,
                because: "3 pass".into(),
            }],
            blame: None,
            cases: vec![row("toy/a#one", 1, None), row("toy/a#two", 0, Some("/x removed")), row("toy/b#idle", 0, None)],
            requirements: Vec::new(),
            floor: vec![FloorRow { target: "silent".into(), ran: 3, passed: vec!["toy/a#one".into()] }],
            uncovered: Vec::new(),
            wire: None,
            problems: vec!["the fault `deaf` survives".into()],
            elapsed_ms: 1500,
        }
    }

    #[test]
    fn a_page_shows_survivors_vacuous_cases_and_the_floor_and_escapes_text() {
        let mut text = Vec::new();
        write_html(&proof(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for part in ["not proven", "survived", "toy/b#idle", "/x removed", "the fault `deaf` survives", "silent"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("Does <not>"), "{text}");
        assert!(!text.contains("src=") && !text.contains("http://") && !text.contains("https://"), "it loads nothing");
    }
}
