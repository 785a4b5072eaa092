//! `explore`: runs sequences of operations against a target, judged by the model of the protocol.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::args::ExploreOptions;
use super::check::{connect, random, routes, start_hosts, target};
use super::data;
use super::exit::Failure;
use super::fuzz::{replay, transports};
use super::program::Program;
use super::start::{now, runtime};
use super::watch::{Watching, finding_file};
use super::{hooks, interrupt, launch, spellings};
use crate::exchange::Transport;
use crate::explore::{self, End, Finding, Options, Outcome};
use crate::plan::{self, Knowledge, Selection};
use crate::report::{files, printable};
use crate::target::{Target, parse_duration};
use crate::verdict::Profile;
use crate::walk::Facts;

/// The name and version of the result file.
const SCHEMA: &str = "proofmark-explore/1";

/// Maximum number of lines that are printed of a sequence.
const LINES: usize = 12;

/// Maximum number of transitions that are printed as not reached; explore.json has all of them.
const MISSED: usize = 10;

/// The result file of an exploration.
#[derive(Serialize)]
struct Stored<'o> {
    schema: &'static str,
    proofmark: &'static str,
    protocol: &'o str,
    target: &'o str,
    seed: u64,
    sequences: u64,
    judged: u64,
    undecided: &'o BTreeMap<String, u64>,
    steps: u64,
    requests: u64,
    seconds: f64,
    end: String,
    /// How often each transition of the model was reached.
    transitions: BTreeMap<&'o str, u64>,
    findings: &'o [Finding],
}

/// Explores a target.
pub(super) fn run(options: &ExploreOptions, program: &Program) -> Result<u8, Failure> {
    let mut target = target(&options.at)?;
    let mut data = options.data.clone();
    if let Some(protocol) = &target.protocol {
        if data.protocol.is_empty() {
            data.protocol = vec![protocol.clone()];
        } else if !data.protocol.contains(protocol) {
            return Err(Failure::usage(format!("the target file is for protocol `{protocol}`")));
        }
    }
    if data.protocol.len() != 1 {
        return Err(Failure::Usage("explore needs exactly one protocol".into(), Some("give --protocol SLUG".into())));
    }
    let known = data::knowledge(&data, program)?;
    let Some(knowledge) = known.first() else {
        return Err(Failure::usage("no suites found for the protocol"));
    };
    if knowledge.protocol.model().is_none() {
        let with_model = |slug: &&str| program.protocol(slug).is_some_and(|protocol| protocol.model().is_some());
        let slugs: Vec<&str> = crate::protocol::ALL.iter().map(|protocol| protocol.slug()).filter(with_model).collect();
        return Err(Failure::Usage(
            format!("{} has no model yet", knowledge.protocol.slug()),
            Some(format!("explore is available for {}", slugs.join(", "))),
        ));
    }
    routes(&target, &known)?;
    let time = |name: &str, text: &str| {
        parse_duration(text).filter(|time| !time.is_zero()).ok_or_else(|| {
            Failure::Usage(format!("--{name}: invalid duration `{text}`"), Some("such as 500ms, 60s or 10m".into()))
        })
    };
    if options.jobs == 0 || options.findings == 0 || options.sequences == Some(0) {
        return Err(Failure::usage("--jobs, --findings and --sequences must be at least 1"));
    }
    target.limits.request = time("timeout", &options.timeout)?;
    target.limits.jobs = options.jobs;
    let chosen = transports(&options.transport, knowledge)?;
    let seed = options.seed.unwrap_or_else(random);
    let exploration = Options {
        seed,
        probed: None,
        spellings: spellings::chosen(options.spellings.as_deref(), knowledge.protocol, seed)?,
        time: time("for", &options.time)?,
        sequences: options.sequences.unwrap_or(u64::MAX),
        patience: time("patience", &options.patience)?,
        findings: options.findings,
    };
    remove_earlier(&options.out)?;
    let watching = Watching::new(&options.out, options.quiet, options.log.as_deref())?;
    runtime()?.block_on(explore_target(program, options, knowledge, target, chosen, &exploration, watching))
}

/// Removes the files of an earlier exploration, so that none of them seems to be of this one.
fn remove_earlier(out: &Path) -> Result<(), Failure> {
    let path = out.join("explore.json");
    let Ok(bytes) = std::fs::read(&path) else { return Ok(()) };
    let earlier: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if earlier["schema"] != SCHEMA {
        return Err(Failure::Usage(
            format!("{} is not the result of an exploration", path.display()),
            Some("give another folder with --out, or remove the file".into()),
        ));
    }
    for finding in earlier["findings"].as_array().into_iter().flatten() {
        files::remove(&finding_file(out, finding["case"].as_str().unwrap_or_default()))?;
    }
    files::remove(&path)?;
    Ok(())
}

async fn explore_target(
    program: &Program,
    options: &ExploreOptions,
    knowledge: &Knowledge,
    mut target: Target,
    chosen: Option<Vec<Transport>>,
    exploration: &Options,
    watching: Watching<'_>,
) -> Result<u8, Failure> {
    let begun = Instant::now();
    let (clock, _) = now();
    let facts = Facts {
        seed: exploration.seed,
        identity_seed: if options.new_ids { random() } else { exploration.seed },
        clock,
        profile: Profile::Lenient,
    };
    let (reference, mut connections) = connect(program, &options.at, knowledge, &mut target, begun).await?;
    let addresses = start_hosts(knowledge, &mut target, &mut connections, begun).await?;
    if let Some(chosen) = chosen {
        target.transports = Some(chosen);
    }
    hooks::claim(knowledge, &mut target);
    let plan = plan::build(knowledge, &target, &Selection::default());
    if plan.transports.is_empty() {
        return Err(Failure::usage("the target has no address for any of the transports; give one in the target file"));
    }
    let (_cancel, cancelled) = interrupt::flag();
    let (running, cancelled) = launch::start(&target, &addresses, &cancelled).await?;
    if let Err(failure) = hooks::run(knowledge, &target, now().0).await {
        if let Some(running) = running {
            running.stop().await;
        }
        return Err(failure);
    }
    let what = format!("exploring for {:?}, seed {}", exploration.time, exploration.seed);
    watching.begin(knowledge.protocol.slug(), &target.name, &what);
    let outcome = explore::run(&plan, facts, &connections, begun, exploration, cancelled, &watching).await;
    connections.close().await;
    if let Some(running) = running {
        running.stop().await;
    }
    if let Some(reference) = reference {
        reference.stop().await;
    }
    watching.end()?;
    let progress = &outcome.progress;
    let reached = |name: &str| progress.reached.get(name).copied().unwrap_or(0);
    let stored = Stored {
        schema: SCHEMA,
        proofmark: env!("CARGO_PKG_VERSION"),
        protocol: knowledge.protocol.slug(),
        target: &target.name,
        seed: exploration.seed,
        sequences: progress.sequences,
        judged: progress.judged,
        undecided: &progress.undecided,
        steps: progress.steps,
        requests: progress.requests,
        seconds: progress.elapsed.as_secs_f64(),
        end: outcome.end.to_string(),
        transitions: outcome.transitions.iter().map(|name| (name.as_str(), reached(name))).collect(),
        findings: &outcome.findings,
    };
    let path = options.out.join("explore.json");
    let mut text = serde_json::to_vec_pretty(&stored).map_err(|error| Failure::Internal(error.to_string()))?;
    text.push(b'\n');
    files::write_bytes(&path, &text)?;
    summary(options, exploration, &outcome, &path)?;
    Ok(match (&outcome.end, outcome.findings.is_empty()) {
        (_, false) => 1,
        (End::Done | End::AllSequences | End::Enough, true) if progress.judged > 0 => 0,
        (_, true) => 3,
    })
}

fn summary(options: &ExploreOptions, exploration: &Options, outcome: &Outcome, path: &Path) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    let progress = &outcome.progress;
    if !options.quiet {
        let missed: Vec<&str> = outcome
            .transitions
            .iter()
            .map(String::as_str)
            .filter(|name| !progress.reached.contains_key(*name))
            .collect();
        writeln!(
            out,
            "{} sequences, {} steps in {:.1} s, {} requests; seed {}",
            progress.sequences,
            progress.steps,
            progress.elapsed.as_secs_f64(),
            progress.requests,
            exploration.seed
        )?;
        writeln!(
            out,
            "{} of {} transitions of the model reached; {} sequences judged, {} suspected findings not confirmed, {} \
             duplicate findings",
            outcome.transitions.len() - missed.len(),
            outcome.transitions.len(),
            progress.judged,
            progress.unfounded,
            progress.repeated
        )?;
        if !missed.is_empty() && !outcome.transitions.is_empty() {
            let more = missed.len().saturating_sub(MISSED);
            let rest = if more > 0 { format!("; {more} more") } else { String::new() };
            writeln!(out, "not reached: {}{rest}", missed[..missed.len() - more].join("; "))?;
        }
        let mut undecided: Vec<(&String, &u64)> = progress.undecided.iter().collect();
        undecided.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (why, count) in undecided.into_iter().take(3) {
            writeln!(out, "not judged: {count} sequences, {}", printable::short(why, 200))?;
        }
    }
    for finding in &outcome.findings {
        print_finding(&mut out, options, finding)?;
    }
    let count = outcome.findings.len();
    let end = printable::line(&outcome.end.to_string()).into_owned();
    writeln!(out, "{count} finding{}; ended because {end}. {}", if count == 1 { "" } else { "s" }, path.display())?;
    Ok(())
}

fn print_finding(out: &mut dyn Write, options: &ExploreOptions, finding: &Finding) -> Result<(), Failure> {
    let file = finding_file(&options.out, &finding.case);
    let place = if finding.place.is_empty() { "the answer" } else { &finding.place };
    writeln!(
        out,
        "\n{} {} over {}: {} expected {}, observed {}",
        finding.requirement,
        finding.operation,
        finding.transport,
        printable::line(place),
        printable::short(&finding.expected, 200),
        printable::short(&finding.observed, 200)
    )?;
    if !finding.spellings.is_empty() {
        writeln!(out, "  only in these spellings: {}", finding.spellings.join(", "))?;
    }
    for step in finding.steps.iter().take(LINES) {
        writeln!(out, "  {}", printable::short(step, 160))?;
    }
    if finding.steps.len() > LINES {
        writeln!(out, "  … {} more lines", finding.steps.len() - LINES)?;
    }
    writeln!(out, "  case    {}", file.display())?;
    let mut command = replay(&options.at, &options.data, &file, &finding.case);
    if !finding.spellings.is_empty() {
        command.push_str(&format!(" --spellings={}", finding.spellings.join(",")));
    }
    writeln!(out, "  replay  {command}\n")?;
    Ok(())
}
