//! The suites as they ship: they load, they are embedded whole, and they cover what can be tested.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark::bundle::Bundle;
use proofmark::plan::{self, Knowledge, LoadError};
use proofmark::protocol;
use proofmark::requirement::{self, Keyword, Requirement, Testable};
use proofmark::source::Diagnostic;
use proofmark::suite::CaseId;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn from_folder() -> Bundle {
    let embedded = Bundle::new(proofmark_data::FILES);
    let suites = embedded.with_suites(&root().join("suites")).expect("the suites");
    suites.with_vectors(&root().join("vectors")).expect("the vectors")
}

fn load(bundle: &Bundle) -> Vec<Knowledge> {
    protocol::ALL
        .iter()
        .map(|protocol| match plan::load(*protocol, bundle) {
            Ok(knowledge) => knowledge,
            Err(LoadError::Missing(what)) => panic!("{what}"),
            Err(LoadError::Mistakes(found)) => {
                panic!("{:#?}", found.iter().map(Diagnostic::to_string).collect::<Vec<_>>())
            }
        })
        .collect()
}

#[test]
fn every_suite_loads_and_embedded_files_match_the_folders() {
    let (embedded, folder) = (load(&Bundle::new(proofmark_data::FILES)), load(&from_folder()));
    for (embedded, folder) in embedded.iter().zip(&folder) {
        let slug = embedded.protocol.slug();
        assert_eq!(embedded.hash, folder.hash, "{slug}");
        assert_eq!(embedded.cases().count(), folder.cases().count(), "{slug}");
        assert!(embedded.suites.iter().all(|suite| !suite.cases.is_empty()), "{slug}");
        assert!(!embedded.errata.is_empty(), "{slug}");
    }
}

#[test]
fn every_catalogue_loads_also_of_protocols_without_cases() {
    let bundle = from_folder();
    for entry in std::fs::read_dir(root().join("suites")).expect("the suites").flatten() {
        let slug = entry.file_name().to_string_lossy().into_owned();
        let Some(file) = bundle.file(&slug, "requirements.yaml") else { continue };
        let catalogue = requirement::load(file)
            .unwrap_or_else(|found| panic!("{:#?}", found.iter().map(Diagnostic::to_string).collect::<Vec<_>>()));
        assert_eq!(catalogue.protocol, slug);
        // Registers are read by the tools once a protocol has cases.
        if protocol::find(&slug).is_none() {
            continue;
        }
        let register = bundle.file(&slug, "errata.md").map(|file| requirement::errata(&file.text)).unwrap_or_default();
        let known: BTreeSet<&str> = register.iter().map(|entry| entry.id.as_str()).collect();
        for found in &catalogue.requirements {
            let unknown: Vec<_> = found.errata.iter().filter(|id| !known.contains(id.as_str())).collect();
            assert!(unknown.is_empty(), "{}: the register lacks {unknown:?}", *found.id);
        }
    }
}

#[test]
fn ids_are_unique_over_all_suites_and_descriptive() {
    let mut ids = BTreeSet::new();
    for knowledge in load(&Bundle::new(proofmark_data::FILES)) {
        for (suite, case) in knowledge.cases() {
            let id = CaseId::of(suite, case).to_string();
            assert!(ids.insert(id.clone()), "{id} is there twice");
            assert!(!case.covers.is_empty(), "{id} covers nothing");
        }
        for (index, requirement) in knowledge.catalogue.requirements.iter().enumerate() {
            let again = knowledge.catalogue.requirements[..index].iter().any(|earlier| *earlier.id == *requirement.id);
            assert!(!again, "{} is there twice", *requirement.id);
        }
    }
}

/// The requirements of the levels L0 and L1 that something can show, with whether a case covers each.
fn lower(knowledge: &Knowledge) -> Vec<(&Requirement, bool)> {
    let levels = &knowledge.manifest.levels;
    let wanted = levels.closure("L1");
    let covered: BTreeSet<&str> =
        knowledge.cases().flat_map(|(_, case)| case.covers.iter().map(|id| id.requirement.as_str())).collect();
    let requirements = knowledge.catalogue.requirements.iter();
    requirements
        .filter(|requirement| {
            wanted.includes(levels.closure(&requirement.level)) && requirement.testable != Testable::No
        })
        .map(|requirement| (requirement, covered.contains(requirement.id.value.as_str())))
        .collect()
}

fn agentic() -> Knowledge {
    load(&Bundle::new(proofmark_data::FILES))
        .into_iter()
        .find(|knowledge| knowledge.protocol.slug() == "agentic")
        .expect("agentic")
}

#[test]
fn every_must_and_must_not_of_the_levels_l0_and_l1_is_covered() {
    let knowledge = agentic();
    let gaps: Vec<_> = lower(&knowledge)
        .into_iter()
        .filter(|(found, covered)| matches!(found.keyword, Keyword::Must | Keyword::MustNot) && !covered)
        .map(|(found, _)| format!("{} ({}, {}): {}", *found.id, *found.level, found.testable.word(), found.summary))
        .collect();
    assert!(gaps.is_empty(), "{} gaps: {gaps:#?}", gaps.len());
}

#[test]
fn most_of_the_levels_l0_and_l1_is_covered() {
    let knowledge = agentic();
    let lower = lower(&knowledge);
    let covered = lower.iter().filter(|(_, covered)| *covered).count();
    assert!(covered * 100 >= lower.len() * 60, "{covered} of {} testable requirements", lower.len());
}

#[test]
fn mistakes_of_form_and_of_names_are_reported_together_and_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cases.yaml");
    let cases = "suite: agentic/example
cases:
  - case: names-an-unknown-requirement
    covers: [AGENTIC-0-00]
    steps: [{ send: describe, expect: [{ at: /status, equals: 200 }] }]
  - case: uses-an-earlier-spelling
    covers: [AGENTIC-0-01]
    steps: [{ send: describe, settle: 1s, expect: [{ at: /status, equals: 200 }] }]
  - case: names-an-unknown-operation
    covers: [AGENTIC-6.1-20]
    steps: [{ send: descrybe, expect: [{ at: /status, equals: 200 }] }]
";
    std::fs::write(&file, cases).expect("the cases");
    let bundle = from_folder().with_cases(&file).expect("the cases");
    let Err(LoadError::Mistakes(found)) = plan::load(protocol::ALL[0], &bundle) else { panic!("mistakes") };
    let shown: Vec<_> = found.iter().map(|found| (found.span.line_column().0, found.message.as_str())).collect();
    // The names in a case with a syntax mistake are resolved after that mistake is fixed.
    let expected = [
        (4, "no requirement has the id AGENTIC-0-00"),
        (8, "`settle` was renamed to `collect-for`"),
        (11, "no operation named `descrybe` in agentic"),
    ];
    assert_eq!(shown, expected);
}
