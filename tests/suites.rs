//! The suites as they ship: they load, they are embedded whole, and they cover what can be tested.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark::bundle::Bundle;
use proofmark::plan::{self, Knowledge, LoadError};
use proofmark::protocol;
use proofmark::requirement::{self, Keyword, Requirement, Testable};
use proofmark::source::Diagnostic;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn from_folder() -> Bundle {
    let embedded = Bundle::embedded();
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
fn every_suite_loads_and_what_is_embedded_is_what_lies_in_the_folders() {
    let (embedded, folder) = (load(&Bundle::embedded()), load(&from_folder()));
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
            assert!(unknown.is_empty(), "{}: the register has no {unknown:?}", *found.id);
        }
    }
}

#[test]
fn ids_are_unique_over_all_suites_and_say_what_they_are_about() {
    let mut ids = BTreeSet::new();
    for knowledge in load(&Bundle::embedded()) {
        for (suite, case) in knowledge.cases() {
            let id = format!("{}#{}", suite.name.value, case.name.value);
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
    let top = knowledge.level("L1");
    let covered: BTreeSet<&str> =
        knowledge.cases().flat_map(|(_, case)| case.covers.iter().map(|id| id.value.as_str())).collect();
    let requirements = knowledge.catalogue.requirements.iter();
    requirements
        .filter(|requirement| knowledge.level(&requirement.level) <= top && requirement.testable != Testable::No)
        .map(|requirement| (requirement, covered.contains(requirement.id.value.as_str())))
        .collect()
}

fn agentic() -> Knowledge {
    load(&Bundle::embedded()).into_iter().find(|knowledge| knowledge.protocol.slug() == "agentic").expect("agentic")
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
