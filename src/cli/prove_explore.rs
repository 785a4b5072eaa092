//! `prove --explore`: which planted faults exploration finds without the suites.

use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use serde::Serialize;
use tokio::sync::watch;

use super::args::{DataFormat, ProveOptions};
use super::check::random;
use super::embedded::Embedded;
use super::exit::Failure;
use super::program::Program;
use super::reference;
use super::start::{now, runtime};
use crate::explore::{self, End, Watcher};
use crate::plan::{self, Knowledge, Selection};
use crate::prove::{Fault, Setting, Subject};
use crate::report::{files, printable};
use crate::spelling::Draw;
use crate::target::parse_duration;
use crate::verdict::Profile;
use crate::walk::Facts;

/// The name and version of the result file.
const SCHEMA: &str = "proofmark-prove-explore/1";

/// Faults that are explored at once: both sides run on this machine.
const AT_ONCE: usize = 2;

/// Sequences of one exploration that run at once.
const JOBS: usize = 12;

/// How long to wait for a faulty reference that stopped answering.
const PATIENCE: Duration = Duration::from_secs(3);

/// The result for one protocol.
#[derive(Serialize)]
struct Stored {
    schema: &'static str,
    proofmark: &'static str,
    protocol: String,
    seed: u64,
    seconds_each: f64,
    /// What exploration reports without a fault: nothing, or proofmark is wrong.
    without_fault: Vec<String>,
    found: usize,
    faults: Vec<Explored>,
}

/// What exploration found at one fault.
#[derive(Serialize)]
struct Explored {
    fault: String,
    summary: String,
    breaks: Vec<String>,
    found: bool,
    /// The requirement of the first finding.
    requirement: String,
    /// Whether that is one that the fault breaks.
    named: bool,
    sequences: u64,
    seconds: f64,
    /// Why it ended, if it found nothing.
    end: String,
}

struct Quiet;

impl Watcher for Quiet {}

/// Explores the faults of each protocol that has a model. Exit code 1 if exploration reports something without a fault.
pub(super) fn run(options: &ProveOptions, known: &[Knowledge], program: &Program) -> Result<u8, Failure> {
    let time = parse_duration(&options.time).filter(|time| !time.is_zero()).ok_or_else(|| {
        Failure::Usage(format!("--for: invalid duration `{}`", options.time), Some("such as 10s or 2m".into()))
    })?;
    let seed = options.seed.unwrap_or_else(random);
    let with_model: Vec<&Knowledge> = known.iter().filter(|known| known.protocol.model().is_some()).collect();
    if with_model.is_empty() {
        return Err(Failure::usage("none of the protocols has a model"));
    }
    let mut code = 0;
    for knowledge in with_model {
        let slug = knowledge.protocol.slug();
        let path = options.out.join(slug).join("explore.json");
        files::remove(&path)?;
        let implementation = program.implementation(slug)?;
        for fault in &options.fault {
            reference::check_fault(implementation, fault)?;
        }
        let subject = Embedded::new(implementation, knowledge, now().0, Instant::now())?;
        let faults = chosen(subject.faults(), options, seed);
        let stored = runtime()?.block_on(explore_all(options, knowledge, &subject, faults, time, seed))?;
        let mut json = serde_json::to_vec_pretty(&stored).map_err(|error| Failure::Internal(error.to_string()))?;
        json.push(b'\n');
        files::write_bytes(&path, &json)?;
        match options.format {
            DataFormat::Json => anstream::stdout().write_all(&json)?,
            DataFormat::Text => {
                print(&stored)?;
                writeln!(anstream::stdout(), "Written: {}", path.display())?;
            }
        }
        if !stored.without_fault.is_empty() {
            code = 1;
        }
    }
    Ok(code)
}

/// The faults to explore: the named ones, or a sample.
fn chosen(faults: Vec<Fault>, options: &ProveOptions, seed: u64) -> Vec<Fault> {
    if !options.fault.is_empty() {
        return faults.into_iter().filter(|fault| options.fault.contains(&fault.name)).collect();
    }
    let Some(sample) = options.sample else { return faults };
    let mut order = Draw::new(seed, "faults").order(faults.len());
    order.truncate(sample);
    order.sort_unstable();
    order.into_iter().map(|index| faults[index].clone()).collect()
}

async fn explore_all(
    options: &ProveOptions,
    knowledge: &Knowledge,
    subject: &Embedded<'_>,
    faults: Vec<Fault>,
    time: Duration,
    seed: u64,
) -> Result<Stored, Failure> {
    let mut settings = subject.settings();
    settings.iter_mut().for_each(|setting| setting.target.limits.jobs = JOBS);
    let usual = settings.first().ok_or_else(|| Failure::Internal("the reference has no setup".to_owned()))?;
    let clean = explore_one(knowledge, subject, usual, None, time, seed).await?;
    let count = faults.len();
    let explored = stream::iter(faults).map(|fault| {
        let setting = settings.iter().find(|setting| setting.name == fault.setting).unwrap_or(usual);
        async move {
            let outcome = explore_one(knowledge, subject, setting, Some(&fault.name), time, seed).await?;
            let requirement = outcome.findings.first().map(|found| found.requirement.clone()).unwrap_or_default();
            Ok::<_, Failure>(Explored {
                named: fault.breaks.contains(&requirement) || fault.also.iter().any(|(id, _)| *id == requirement),
                found: !outcome.findings.is_empty(),
                requirement,
                sequences: outcome.progress.sequences,
                seconds: outcome.progress.elapsed.as_secs_f64(),
                end: if outcome.end == End::Enough { String::new() } else { outcome.end.to_string() },
                fault: fault.name,
                summary: fault.summary,
                breaks: fault.breaks,
            })
        }
    });
    let mut explored = explored.buffered(options.jobs.unwrap_or(AT_ONCE).max(1));
    let mut faults: Vec<Explored> = Vec::new();
    while let Some(one) = explored.next().await {
        let one = one?;
        if !options.quiet {
            let how = if one.found { format!("found in {:.1} s", one.seconds) } else { "not found".to_owned() };
            writeln!(anstream::stderr(), "{} of {count}: {}: {how}", faults.len() + 1, one.fault)?;
        }
        faults.push(one);
    }
    let without_fault = clean.findings.iter();
    Ok(Stored {
        schema: SCHEMA,
        proofmark: env!("CARGO_PKG_VERSION"),
        protocol: knowledge.protocol.slug().to_owned(),
        seed,
        seconds_each: time.as_secs_f64(),
        without_fault: without_fault.map(|found| format!("{} {}", found.requirement, found.operation)).collect(),
        found: faults.iter().filter(|one| one.found).count(),
        faults,
    })
}

/// Explores the reference implementation with a fault, or without one, until its first finding.
async fn explore_one(
    knowledge: &Knowledge,
    subject: &Embedded<'_>,
    setting: &Setting,
    fault: Option<&str>,
    time: Duration,
    seed: u64,
) -> Result<explore::Outcome, Failure> {
    let running = subject.start(setting, fault).await.map_err(Failure::Internal)?;
    let begun = Instant::now();
    let facts = Facts { seed, identity_seed: seed, clock: now().0, profile: Profile::Lenient };
    let plan = plan::build(knowledge, &setting.target, &Selection::default());
    let limits = explore::Options {
        seed,
        time,
        sequences: u64::MAX,
        patience: PATIENCE,
        findings: 1,
        spellings: None,
        probed: None,
    };
    let (_cancel, cancelled) = watch::channel(false);
    let outcome = explore::run(&plan, facts, &running.connections, begun, &limits, cancelled, &Quiet).await;
    running.connections.close().await;
    running.stop.await;
    Ok(outcome)
}

fn print(stored: &Stored) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    let count = stored.faults.len();
    let share = if count == 0 { 0.0 } else { stored.found as f64 * 100.0 / count as f64 };
    writeln!(
        out,
        "{}: exploration alone finds {} of {count} faults ({share:.0} %) within {:.0} s each; seed {}",
        stored.protocol, stored.found, stored.seconds_each, stored.seed
    )?;
    for report in &stored.without_fault {
        writeln!(out, "without a fault it reports {}", printable::line(report))?;
    }
    for one in stored.faults.iter().filter(|one| one.found && !one.named) {
        writeln!(out, "found, with a requirement that the fault does not list: {} ({})", one.fault, one.requirement)?;
    }
    for one in stored.faults.iter().filter(|one| !one.found) {
        writeln!(out, "not found: {} ({}): {}", one.fault, one.breaks.join(", "), printable::short(&one.summary, 120))?;
    }
    Ok(())
}
