//! Reads all data files of a protocol.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Knowledge, PROBE_STEPS, check};
use crate::bundle::Bundle;
use crate::parallel;
use crate::protocol::Protocol;
use crate::requirement::{self, errata};
use crate::source::{Diagnostic, Problems, Source};
use crate::suite::{Action, Case, Feature, Step, Suite, read_manifest_partly, read_suite_partly};
use crate::vector;

/// Why the data files of a protocol cannot be used.
#[derive(Debug)]
pub enum LoadError {
    /// A required file is missing.
    Missing(String),
    /// Mistakes in files.
    Mistakes(Vec<Diagnostic>),
}

/// Reads and checks all files of a protocol.
///
/// # Errors
///
/// [`LoadError`] with every mistake in every file.
pub fn load(protocol: &'static dyn Protocol, bundle: &Bundle) -> Result<Knowledge, LoadError> {
    let slug = protocol.slug();
    let need = |name: &str| {
        let missing = || LoadError::Missing(format!("missing file {slug}/{name} in the suites"));
        bundle.file(slug, name).ok_or_else(missing)
    };
    let mut problems = Problems::default();
    let mut hash = Sha256::new();
    let mut add = |file: &crate::source::Source| {
        // The name relative to the protocol's folder, so that a copy elsewhere has the same hash.
        let name = base_name(file);
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name.as_bytes());
        hash.update((file.text.len() as u64).to_be_bytes());
        hash.update(file.text.as_bytes());
    };
    let catalogue_file = need("requirements.yaml")?;
    let manifest_file = need("protocol.yaml")?;
    let register = bundle.file(slug, "errata.md");
    add(catalogue_file);
    add(manifest_file);
    let files: Vec<&Arc<Source>> =
        bundle.files(slug, ".yaml").into_iter().filter(|file| !COMMON.contains(&base_name(file))).collect();
    files.iter().for_each(|file| add(file));
    // Reading YAML is most of the time until a run begins.
    let (common, read) = std::thread::scope(|threads| {
        let common = threads.spawn(|| {
            let mut own = Problems::default();
            let catalogue = requirement::load_partly(catalogue_file, &mut own);
            let manifest = read_manifest_partly(manifest_file, &mut own);
            (catalogue, manifest, own)
        });
        let read = parallel::map(parallel::processors(), &files, |file| {
            let mut own = Problems::default();
            (read_suite_partly(file, &mut own), own)
        });
        (common.join(), read)
    });
    let (catalogue, manifest, own) = common.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let found = own.0.into_iter().chain(read.iter().flat_map(|(_, own)| own.0.iter().cloned()));
    found.for_each(|mistake| problems.note(mistake));
    let mut suites: Vec<Suite> = read.into_iter().map(|(suite, _)| suite).collect();
    for file in bundle.cases() {
        let mut own = Problems::default();
        let suite = read_suite_partly(file, &mut own);
        if own.0.is_empty() && is_of_another(&suite, slug, bundle) {
            continue;
        }
        own.0.into_iter().for_each(|mistake| problems.note(mistake));
        add(file);
        suites.push(suite);
    }
    for file in bundle.files(slug, ".json") {
        add(file);
        match vector::load(file, protocol.vector_kinds()) {
            Ok(vectors) => match vector::suite(&vectors) {
                Ok(suite) => suites.push(suite),
                Err(found) => found.into_iter().for_each(|mistake| problems.note(mistake)),
            },
            Err(found) => found.into_iter().for_each(|mistake| problems.note(mistake)),
        }
    }
    // References can be checked if the two files that define names could be read.
    let (Some(catalogue), Some(manifest)) = (catalogue, manifest) else {
        Diagnostic::sort(&mut problems.0);
        return Err(LoadError::Mistakes(problems.0));
    };
    let read_well = problems.0.is_empty();
    let probes = manifest.features.iter().enumerate().map(|(index, feature)| probe(index, feature)).collect();
    let knowledge = Knowledge {
        probes,
        protocol,
        catalogue,
        errata: register.map(|file| errata(&file.text)).unwrap_or_default(),
        manifest,
        suites,
        hash: data_encoding::HEXLOWER.encode(&hash.finalize()),
    };
    check::check(&knowledge, read_well).into_iter().for_each(|mistake| problems.note(mistake));
    problems.check(knowledge).map_err(LoadError::Mistakes)
}

/// The files of a protocol that are no suites.
const COMMON: [&str; 2] = ["requirements.yaml", "protocol.yaml"];

/// The name of a file in its folder.
fn base_name(file: &Source) -> &str {
    file.name.rsplit('/').next().unwrap_or_default()
}

/// Whether a suite belongs to another protocol in the data files.
fn is_of_another(suite: &Suite, slug: &str, bundle: &Bundle) -> bool {
    let owner = suite.name.value.split('/').next().unwrap_or_default();
    owner != slug && bundle.slugs().contains(&owner)
}

/// The probe of a feature as a case. Its step numbers are unique, so that the judge finds their exchanges.
fn probe(index: usize, feature: &Feature) -> Case {
    fn shift(steps: &mut [Step], by: usize) {
        for step in steps {
            step.number += by;
            if let Action::Parallel(children) = &mut step.action {
                shift(children, by);
            }
        }
    }
    let mut steps = feature.steps.clone();
    shift(&mut steps, index * PROBE_STEPS);
    Case {
        name: feature.name.clone(),
        about: feature.about.clone(),
        covers: Vec::new(),
        needs: Vec::new(),
        reach: feature.reach.clone(),
        roles: Vec::new(),
        strict_only: false,
        without_setup: false,
        stands_alone: false,
        without_prerequisites: false,
        twin_first: false,
        twin_key: None,
        ends_target: false,
        bindings: Vec::new(),
        steps,
        span: feature.name.span.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{CATALOGUE, GET, MANIFEST, bundle, knowledge, read, suite};
    use crate::plan::{SETUP_STEPS, probe_of};

    #[test]
    fn a_file_of_cases_belongs_to_the_protocol_that_it_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("more.yaml");
        let area = suite(&[("gets", "covers: [T-0]", GET)]);
        let suites = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            let bundle = bundle(MANIFEST, CATALOGUE, &area).with_file("suites/agentic/requirements.yaml", "");
            let knowledge = read(&bundle.with_cases(&path).expect("a file"));
            knowledge.map(|found| found.suites.iter().map(|suite| suite.name.value.clone()).collect::<Vec<_>>())
        };
        let own = area.replace("toy/area", "toy/more");
        assert_eq!(suites(&own).expect("no mistakes"), ["toy/area", "toy/more"]);
        let of_another = area.replace("toy/area", "agentic/more");
        assert_eq!(suites(&of_another).expect("no mistakes"), ["toy/area"]);
        let of_none = suites(&area.replace("toy/area", "nowhere/more")).expect_err("a mistake");
        assert!(
            matches!(&of_none[..], [found] if found.contains("the suite `nowhere/more` is not of protocol `toy`")),
            "{of_none:?}"
        );
        // Whose a file with mistakes is may be one of the mistakes.
        let broken = suites(&of_another.replace("covers", "cover")).expect_err("mistakes");
        assert!(broken.iter().any(|found| found.contains("a case has no key `cover`")), "{broken:?}");
    }

    #[test]
    fn the_number_of_a_step_tells_the_probe_to_which_it_belongs() {
        let features = "features:
  - { feature: one, about: a, if-missing: run, probe: [{ send: peek }, { send: peek }, { send: peek }] }
  - { feature: two, about: a, if-missing: run, probe: [{ parallel: [{ send: peek }, { send: peek }] }, { send: peek }] }";
        let knowledge = knowledge(features, &[("gets", "covers: [T-0]", GET)]);
        let numbers: Vec<Vec<usize>> =
            knowledge.probes.iter().map(|probe| probe.all_steps().iter().map(|step| step.number).collect()).collect();
        assert_eq!(numbers, [vec![0, 1, 2], vec![100, 101, 102, 103]], "steps inside a step have numbers, too");
        for (position, number) in [(0, 0), (0, 2), (1, 100), (1, 103), (0, SETUP_STEPS), (1, SETUP_STEPS + 100)] {
            assert_eq!(probe_of(number), position, "{number}");
        }
    }
}
