//! Reading data files for a command; `lint` and `vectors`.

use std::collections::BTreeSet;
use std::io::Write;

use super::args::{DataOptions, VectorsOptions};
use super::exit::Failure;
use super::program::Program;
use crate::bundle::Bundle;
use crate::plan::{self, Knowledge, LoadError};
use crate::protocol::Protocol;
use crate::requirement::{self, Catalogue, Erratum, errata};
use crate::source::{Diagnostic, Span};
use crate::suggest::nearest;
use crate::vector;

/// The data files that the options name, instead of or in addition to those that ship with the program.
pub(super) fn bundle(options: &DataOptions, program: &Program) -> Result<Bundle, Failure> {
    let mut bundle = program.data.clone();
    if let Some(folder) = &options.suites {
        bundle = bundle.with_suites(folder)?;
    }
    if let Some(folder) = &options.vectors {
        bundle = bundle.with_vectors(folder)?;
    }
    for file in &options.cases {
        bundle = bundle.with_cases(file)?;
    }
    without_catalogue(&bundle, options, program)?;
    Ok(bundle)
}

/// Whether each protocol with suites has its requirements. Without them it would be skipped, as if it conformed.
fn without_catalogue(bundle: &Bundle, options: &DataOptions, program: &Program) -> Result<(), Failure> {
    let known = program.protocols.iter().map(|protocol| protocol.slug());
    let slugs = known.chain(bundle.manifests()).collect::<BTreeSet<_>>();
    let asked = |slug: &&str| options.protocol.is_empty() || options.protocol.iter().any(|asked| asked == slug);
    let missing = slugs.into_iter().filter(asked).filter_map(|slug| {
        let suites = bundle.files(slug, ".yaml");
        let first = suites.first().filter(|_| bundle.file(slug, "requirements.yaml").is_none())?;
        let manifest = bundle.file(slug, "protocol.yaml").unwrap_or(first);
        let folder = manifest.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let message = format!("there is no {folder}/requirements.yaml, so none of these cases can be judged");
        let hint = "restore the file, or remove the folder";
        Some(Diagnostic::new(&Span::file(manifest), message).hint(hint))
    });
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() { Ok(()) } else { Err(Failure::Mistakes(missing)) }
}

/// The protocols that the options name.
pub(super) fn protocols(program: &Program, slugs: &[String]) -> Result<Vec<&'static dyn Protocol>, Failure> {
    if slugs.is_empty() {
        return Ok(program.protocols.to_vec());
    }
    slugs
        .iter()
        .map(|slug| {
            program.protocol(slug).ok_or_else(|| {
                let known = || program.protocols.iter().map(|protocol| protocol.slug());
                let hint = match nearest(slug, known()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("one of {}", known().collect::<Vec<_>>().join(", ")),
                };
                Failure::Usage(format!("no protocol `{slug}`"), Some(hint))
            })
        })
        .collect()
}

/// Loads the suites of the protocols that the options name. Mistakes in all of them are reported together.
pub(super) fn knowledge(options: &DataOptions, program: &Program) -> Result<Vec<Knowledge>, Failure> {
    let bundle = bundle(options, program)?;
    let mut known = Vec::new();
    let mut mistakes = Vec::new();
    for protocol in protocols(program, &options.protocol)? {
        // A suites folder may lack a protocol, unless the protocol is named by an option.
        let absent = bundle.file(protocol.slug(), "requirements.yaml").is_none();
        if absent && options.protocol.is_empty() && !bundle.slugs().is_empty() {
            continue;
        }
        match plan::load(protocol, &bundle) {
            Ok(knowledge) => known.push(knowledge),
            Err(LoadError::Mistakes(found)) => mistakes.extend(found),
            Err(missing) => return Err(missing.into()),
        }
    }
    // A file of additional cases is read once for each protocol, so its mistakes are found several times.
    Diagnostic::sort(&mut mistakes);
    mistakes.dedup();
    if mistakes.is_empty() { Ok(known) } else { Err(Failure::Mistakes(mistakes)) }
}

/// The catalogue of a protocol that has no cases yet.
pub(super) struct BareCatalogue {
    /// Its requirements.
    pub(super) catalogue: Catalogue,
    /// Rulings on its contradictions.
    pub(super) errata: Vec<Erratum>,
}

/// The catalogues of the protocols that the options name and that proofmark does not support yet.
pub(super) fn bare_catalogues(options: &DataOptions, program: &Program) -> Result<Vec<BareCatalogue>, Failure> {
    let bundle = bundle(options, program)?;
    let mut found = Vec::new();
    for slug in bundle.slugs() {
        let asked = options.protocol.is_empty() || options.protocol.iter().any(|wanted| wanted == slug);
        if !asked || program.protocol(slug).is_some() {
            continue;
        }
        if let Some(file) = bundle.file(slug, "requirements.yaml") {
            let catalogue = requirement::load(file).map_err(Failure::Mistakes)?;
            let errata = bundle.file(slug, "errata.md").map(|file| errata(&file.text)).unwrap_or_default();
            found.push(BareCatalogue { catalogue, errata });
        }
    }
    Ok(found)
}

/// The options without the protocols that have only a catalogue; `None` if no protocol is left.
pub(super) fn spoken(options: &DataOptions, program: &Program) -> Result<Option<DataOptions>, Failure> {
    let bundle = bundle(options, program)?;
    let slugs = bundle.slugs();
    let mut spoken = options.clone();
    spoken.protocol.retain(|slug| program.protocol(slug).is_some() || !slugs.contains(&slug.as_str()));
    Ok((options.protocol.is_empty() || !spoken.protocol.is_empty()).then_some(spoken))
}

/// Reads all data files and reports every mistake.
pub(super) fn lint(options: &DataOptions, program: &Program) -> Result<u8, Failure> {
    let mut out = anstream::stdout();
    for bare in bare_catalogues(options, program)? {
        let count = bare.catalogue.requirements.len();
        writeln!(out, "{}: {count} requirements, no cases yet, no mistakes", bare.catalogue.protocol)?;
    }
    let Some(options) = spoken(options, program)? else { return Ok(0) };
    for knowledge in knowledge(&options, program)? {
        let cases = knowledge.cases().count();
        writeln!(
            out,
            "{}: {} requirements, {cases} cases in {} suites, no mistakes",
            knowledge.protocol.slug(),
            knowledge.catalogue.requirements.len(),
            knowledge.suites.len()
        )?;
    }
    Ok(0)
}

/// Compares vectors with proofmark's own encoders and decoders.
pub(super) fn vectors(options: &VectorsOptions, program: &Program) -> Result<u8, Failure> {
    let bundle = bundle(&options.data, program)?;
    let mut out = anstream::stdout();
    let mut failed = 0_u32;
    let mut total = 0_u32;
    for protocol in protocols(program, &options.data.protocol)? {
        for file in bundle.files(protocol.slug(), ".json") {
            let vectors = vector::load(file, protocol.vector_kinds()).map_err(Failure::Mistakes)?;
            let mut bad = 0_u32;
            for vector in &vectors.vectors {
                total += 1;
                if let Err(observed) = vectors.kind.confirm(vector, protocol.codec().canonical_form()) {
                    bad += 1;
                    writeln!(out, "{}: {}: proofmark computed {observed}", vector.id.span.place(), *vector.id)?;
                }
            }
            failed += bad;
            writeln!(out, "{}: {} vectors, {bad} not confirmed", file.name, vectors.vectors.len())?;
        }
    }
    if total == 0 {
        return Err(Failure::Undecided("no vectors found".into(), None));
    }
    writeln!(out, "{} passed, {failed} failed", total - failed)?;
    Ok(u8::from(failed > 0))
}
