//! `prove`: runs the suites against the reference implementation with planted faults.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::{DataFormat, ProveOptions};
use super::check::random;
use super::data;
use super::embedded::Embedded;
use super::exit::Failure;
use super::program::Program;
use super::prove_explore;
use super::reference;
use super::start::now;
use crate::parallel;
use crate::plan::Knowledge;
use crate::prove::{self, Options, Progress, Proof};
use crate::report::files;
use crate::verdict::Profile;
use crate::walk::Facts;

/// The files that a proof is written to.
const FILES: [&str; 3] = ["proof.json", "proof.md", "matrix.csv"];

/// How many runs are under way at once for each processor: nearly all of their time they wait.
const RUNS_EACH: usize = 16;

/// How many protocols are proven at once: the runs of one wait while another computes.
const PROTOCOLS: usize = 2;

/// Proves the suites of each protocol that has a reference implementation.
pub(super) fn run(options: &ProveOptions, program: &Program) -> Result<u8, Failure> {
    let known = data::knowledge(&options.data, program)?;
    let reports = options.report.iter().map(|text| report(text)).collect::<Result<Vec<_>, _>>()?;
    if !reports.is_empty() && known.len() > 1 {
        let hint = "name one with --protocol";
        return Err(Failure::Usage("--report writes the report of one protocol".into(), Some(hint.into())));
    }
    for (_, path) in &reports {
        files::remove(path)?;
    }
    if options.explore {
        return prove_explore::run(options, &known, program);
    }
    let mut begun = Vec::new();
    for knowledge in &known {
        let slug = knowledge.protocol.slug();
        for name in FILES {
            files::remove(&options.out.join(slug).join(name))?;
        }
        let implementation = program.implementation(slug)?;
        for fault in &options.fault {
            reference::check_fault(implementation, fault)?;
        }
        begun.push((knowledge, implementation));
    }
    // The longest first.
    begun.sort_by_key(|(knowledge, _)| std::cmp::Reverse(knowledge.cases().count()));
    let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let proven = parallel::map(PROTOCOLS, &begun, |(knowledge, implementation)| {
        let slug = knowledge.protocol.slug();
        (slug, one(options, knowledge, *implementation, &Bar::new(options.quiet, slug, &bars)))
    });
    let mut proofs: BTreeMap<&str, Proof> = BTreeMap::new();
    for (slug, proof) in proven {
        proofs.insert(slug, proof?);
    }
    let mut code = 0;
    for slug in known.iter().map(|knowledge| knowledge.protocol.slug()) {
        let Some(proof) = proofs.get(slug) else { continue };
        write(options, slug, proof)?;
        for (write, path) in &reports {
            let mut bytes = Vec::new();
            write(proof, &mut bytes)?;
            files::write_bytes(path, &bytes)?;
        }
        if !proof.problems.is_empty() {
            code = 1;
        }
    }
    Ok(code)
}

/// Writes a proof in one format.
type Format = fn(&Proof, &mut dyn Write) -> std::io::Result<()>;

/// Reads a report option: a format and a path.
fn report(text: &str) -> Result<(Format, PathBuf), Failure> {
    const FORMATS: &[(&str, Format)] = &[
        ("html", prove::write_html),
        ("json", |proof, out| out.write_all(&json(proof)?)),
        ("markdown", prove::write_markdown),
        ("csv", prove::write_csv),
    ];
    let names = || FORMATS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let (name, path) = text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or_else(|| {
        Failure::Usage(format!("--report `{text}`: expected FORMAT=PATH"), Some("such as html=proof.html".into()))
    })?;
    let (_, format) = FORMATS.iter().find(|(known, _)| *known == name).ok_or_else(|| {
        Failure::Usage(format!("unknown report format `{name}`"), Some(format!("one of {}", names())))
    })?;
    Ok((*format, path.into()))
}

fn json(proof: &Proof) -> std::io::Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(proof)?;
    json.push(b'\n');
    Ok(json)
}

fn one(
    options: &ProveOptions,
    knowledge: &Knowledge,
    implementation: &'static dyn proofmark_reference::Implementation,
    bar: &Bar,
) -> Result<Proof, Failure> {
    let begun = Instant::now();
    let (clock, _) = now();
    let seed = options.seed.unwrap_or_else(random);
    let subject = Embedded::new(implementation, knowledge, clock, begun)?;
    let options = Options {
        facts: Facts { seed, identity_seed: seed, clock, profile: Profile::Lenient },
        begun,
        faults: options.fault.clone(),
        only: options.only.clone(),
        all_cases: options.all_cases,
        blame: options.blame,
        wire: options.wire,
        jobs: options.jobs.unwrap_or_else(|| RUNS_EACH * parallel::processors()),
    };
    prove::prove(knowledge, &subject, &options, bar).map_err(Failure::Internal)
}

/// Writes the files of a proof, and prints it.
fn write(options: &ProveOptions, slug: &str, proof: &Proof) -> Result<(), Failure> {
    let folder = options.out.join(slug);
    let json = json(proof)?;
    let mut markdown = Vec::new();
    prove::write_markdown(proof, &mut markdown)?;
    let mut csv = Vec::new();
    prove::write_csv(proof, &mut csv)?;
    for (name, bytes) in FILES.iter().zip([&json, &markdown, &csv]) {
        files::write_bytes(&folder.join(name), bytes)?;
    }
    let mut out = anstream::stdout();
    match options.format {
        DataFormat::Json => out.write_all(&json)?,
        DataFormat::Text => {
            writeln!(out, "{slug}: {} cases, {} faults", proof.cases.len(), proof.faults.len())?;
            prove::write_text(proof, &mut out)?;
            let names: Vec<String> = FILES.iter().map(|name| folder.join(name).display().to_string()).collect();
            writeln!(out, "Written: {}", names.join("  "))?;
        }
    }
    Ok(())
}

/// Shows the progress of a proof.
struct Bar {
    bar: ProgressBar,
    slug: String,
    plain: bool,
}

impl Bar {
    fn new(quiet: bool, slug: &str, bars: &MultiProgress) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = if terminal && !quiet { bars.add(ProgressBar::new(0)) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {msg} {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(slug.to_owned());
        Self { bar, slug: slug.to_owned(), plain: !terminal && !quiet }
    }
}

impl Progress for Bar {
    fn part(&self, what: &str, pieces: usize) {
        self.bar.set_position(0);
        self.bar.set_length(pieces as u64);
        self.bar.set_message(what.to_owned());
        if self.plain {
            let _ = writeln!(anstream::stderr(), "{}: {what} ({pieces})", self.slug);
        }
    }

    fn piece(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
