//! `fuzz`: runs a campaign against a target; `promote`: adds a finding to the suites.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::args::{DataOptions, FuzzOptions, PromoteOptions, TargetOptions};
use super::check::{check_words, connect, quote, random, routes, start_hosts, target};
use super::data;
use super::exit::Failure;
use super::program::Program;
use super::start::{now, runtime};
use super::watch::{Watching, finding_file};
use super::{hooks, interrupt, launch};
use crate::exchange::Transport;
use crate::fuzz::{self, End, Finding, Options, Outcome};
use crate::plan::{self, Knowledge, Selection};
use crate::report::{files, printable};
use crate::source::Source;
use crate::suite::{read_suite, written};
use crate::target::{Target, parse_duration};
use crate::verdict::Profile;
use crate::walk::Facts;

/// The name and version of the state file of a campaign.
const SCHEMA: &str = "proofmark-fuzz/1";

/// The state file of a campaign: lets a campaign resume, and makes its findings machine-readable.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    schema: String,
    proofmark: String,
    protocol: String,
    target: String,
    seed: u64,
    /// The number of the next input.
    next: u64,
    /// Inputs and seconds of all campaigns so far.
    inputs: u64,
    seconds: f64,
    end: String,
    /// Kinds of answers and the count of each, of the last campaign.
    answers: std::collections::BTreeMap<String, u64>,
    findings: Vec<Finding>,
}

/// Fuzzes a target with generated messages.
pub(super) fn run(options: &FuzzOptions, program: &Program) -> Result<u8, Failure> {
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
        return Err(Failure::Usage("fuzz needs exactly one protocol".into(), Some("give --protocol SLUG".into())));
    }
    let known = data::knowledge(&data, program)?;
    let Some(knowledge) = known.first() else {
        return Err(Failure::usage("no suites found for the protocol"));
    };
    routes(&target, &known)?;
    let time = |name: &str, text: &str| {
        parse_duration(text).filter(|time| !time.is_zero()).ok_or_else(|| {
            Failure::Usage(format!("--{name}: invalid duration `{text}`"), Some("such as 500ms, 60s or 10m".into()))
        })
    };
    if options.jobs == 0 || options.findings == 0 || options.inputs == Some(0) {
        return Err(Failure::usage("--jobs, --findings and --inputs must be at least 1"));
    }
    if options.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
        return Err(Failure::usage("--rate must be a number above 0"));
    }
    target.limits.request = time("timeout", &options.timeout)?;
    // On a connection that stays open no answer may be correct: wait for a shorter time than `check` does.
    target.limits.reply = target.limits.reply.min(Duration::from_millis(500)).min(target.limits.request);
    target.limits.settle = target.limits.settle.min(Duration::from_millis(100));
    target.limits.jobs = options.jobs;
    let chosen = transports(&options.transport, knowledge)?;
    let stored = stored(options, knowledge, &target)?;
    let campaign = Options {
        seed: stored.seed,
        first: stored.next,
        time: time("for", &options.time)?,
        inputs: options.inputs.unwrap_or(u64::MAX),
        rate: options.rate,
        patience: time("patience", &options.patience)?,
        findings: options.findings,
        known: stored.findings.iter().map(|finding| finding.signature.clone()).collect(),
    };
    let watching = Watching::new(&options.out, options.quiet, options.log.as_deref())?;
    runtime()?.block_on(campaign_against(program, options, knowledge, target, chosen, &campaign, stored, watching))
}

/// The transports that `--transport` names.
pub(super) fn transports(chosen: &[String], knowledge: &Knowledge) -> Result<Option<Vec<Transport>>, Failure> {
    if chosen.is_empty() {
        return Ok(None);
    }
    let spoken = knowledge.protocol.transports();
    let named = |name: &String| {
        spoken.iter().copied().find(|transport| transport.name() == name).ok_or_else(|| {
            let names: Vec<_> = spoken.iter().map(|transport| transport.name()).collect();
            let slug = knowledge.protocol.slug();
            Failure::Usage(format!("{slug} has no transport `{name}`"), Some(format!("one of {}", names.join(", "))))
        })
    };
    chosen.iter().map(named).collect::<Result<_, _>>().map(Some)
}

/// The state of an earlier campaign to resume, or that of a new one. A new campaign first removes the files of an earlier
/// one from the folder.
fn stored(options: &FuzzOptions, knowledge: &Knowledge, target: &Target) -> Result<Stored, Failure> {
    let path = options.out.join("fuzz.json");
    let before = match std::fs::read(&path) {
        Ok(bytes) => Some(serde_json::from_slice::<Stored>(&bytes).map_err(|error| {
            Failure::Usage(
                format!("{} is not the state file of a campaign: {error}", path.display()),
                Some("give another folder with --out, or remove the file".into()),
            )
        })?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
    };
    let slug = knowledge.protocol.slug();
    match (before, options.resume) {
        (Some(before), true) if before.protocol == slug && before.schema == SCHEMA => Ok(before),
        (Some(before), true) => Err(Failure::usage(format!(
            "cannot resume the campaign in {}: it is for {} ({})",
            options.out.display(),
            before.protocol,
            before.schema
        ))),
        (None, true) => Err(Failure::Usage(
            format!("no campaign to resume in {}", options.out.display()),
            Some("start a campaign without --resume".into()),
        )),
        (before, false) => {
            for finding in before.iter().flat_map(|before| &before.findings) {
                files::remove(&finding_file(&options.out, &finding.case))?;
            }
            files::remove(&path)?;
            Ok(Stored {
                schema: SCHEMA.to_owned(),
                proofmark: env!("CARGO_PKG_VERSION").to_owned(),
                protocol: slug.to_owned(),
                target: target.name.clone(),
                seed: options.seed.unwrap_or_else(random),
                next: 0,
                inputs: 0,
                seconds: 0.0,
                end: String::new(),
                answers: std::collections::BTreeMap::new(),
                findings: Vec::new(),
            })
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "each is one part of a campaign, and there is one caller")]
async fn campaign_against(
    program: &Program,
    options: &FuzzOptions,
    knowledge: &Knowledge,
    mut target: Target,
    chosen: Option<Vec<Transport>>,
    campaign: &Options,
    mut stored: Stored,
    watching: Watching<'_>,
) -> Result<u8, Failure> {
    let begun = Instant::now();
    let (clock, _) = now();
    let facts = Facts {
        seed: campaign.seed,
        // The target keeps what the resumed campaign stored.
        identity_seed: if options.new_ids || options.resume { random() } else { campaign.seed },
        clock,
        profile: Profile::Lenient,
    };
    let slug = knowledge.protocol.slug();
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
    watching.begin(slug, &target.name, &format!("fuzzing for {:?}, seed {}", campaign.time, campaign.seed));
    let outcome = fuzz::run(&plan, facts, &connections, begun, campaign, cancelled, &watching).await;
    connections.close().await;
    if let Some(running) = running {
        running.stop().await;
    }
    if let Some(reference) = reference {
        reference.stop().await;
    }
    watching.end()?;
    stored.next = outcome.progress.next;
    stored.inputs += outcome.progress.inputs;
    stored.seconds += outcome.progress.elapsed.as_secs_f64();
    stored.answers.clone_from(&outcome.progress.answers);
    stored.end = end(&outcome.end);
    stored.findings.extend(outcome.findings.iter().cloned());
    let path = options.out.join("fuzz.json");
    let mut text = serde_json::to_vec_pretty(&stored).map_err(|error| Failure::Internal(error.to_string()))?;
    text.push(b'\n');
    files::write_bytes(&path, &text)?;
    summary(options, campaign, &outcome, &path)?;
    Ok(match (&outcome.end, outcome.findings.is_empty()) {
        (_, false) => 1,
        (End::Done | End::AllInputs | End::Enough, true) => 0,
        (End::Interrupted | End::Gone(_) | End::Nothing(_), true) => 3,
    })
}

/// Why a campaign ended, in words.
fn end(end: &End) -> String {
    match end {
        End::Done => "the time was up".to_owned(),
        End::AllInputs => "all inputs were sent".to_owned(),
        End::Interrupted => "it was interrupted".to_owned(),
        End::Enough => "the limit of --findings was reached".to_owned(),
        End::Gone(why) | End::Nothing(why) => why.clone(),
    }
}

fn summary(options: &FuzzOptions, campaign: &Options, outcome: &Outcome, path: &Path) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    let progress = &outcome.progress;
    if !options.quiet {
        writeln!(
            out,
            "{} inputs in {:.1} s ({:.0} a second), {} requests, {} kinds of answers; seed {}, inputs {} to {}",
            progress.inputs,
            progress.elapsed.as_secs_f64(),
            progress.rate(),
            progress.requests,
            progress.answers.len(),
            campaign.seed,
            campaign.first,
            progress.next
        )?;
        writeln!(
            out,
            "{} of {} messages of the suites accepted; {} inputs not built, {} without an answer, {} suspected findings not \
             confirmed, {} duplicate findings",
            progress.seeds.0,
            progress.seeds.1,
            progress.unbuilt,
            progress.silent,
            progress.unfounded,
            progress.repeated
        )?;
    }
    for finding in &outcome.findings {
        print_finding(&mut out, options, finding)?;
    }
    let count = outcome.findings.len();
    let end = printable::line(&end(&outcome.end)).into_owned();
    if matches!(outcome.end, End::Nothing(_)) && !options.new_ids && !options.at.reference {
        writeln!(
            out,
            "hint: a target that kept data of an earlier campaign rejects messages with the same ids; add --new-ids"
        )?;
    }
    writeln!(out, "{count} finding{}; ended because {end}. {}", if count == 1 { "" } else { "s" }, path.display())?;
    Ok(())
}

fn print_finding(out: &mut dyn Write, options: &FuzzOptions, finding: &Finding) -> Result<(), Failure> {
    let show = |text: &str| printable::line(text).into_owned();
    let file = finding_file(&options.out, &finding.case);
    writeln!(out, "\n{} {}", finding.requirement, show(&finding.what))?;
    for edit in &finding.edits {
        writeln!(out, "  edit    {}", printable::short(edit, 160))?;
    }
    writeln!(out, "  input   {}, from {}", finding.input, show(&finding.seed))?;
    if !finding.confirmed {
        writeln!(out, "  not confirmed: the target stopped answering while several inputs were in flight")?;
    }
    writeln!(out, "  case    {}", file.display())?;
    writeln!(out, "  replay  {}\n", replay(&options.at, &options.data, &file, &finding.case))?;
    Ok(())
}

/// The command that runs the case of a file.
pub(super) fn replay(at: &TargetOptions, data: &DataOptions, file: &Path, case: &str) -> String {
    let mut words = check_words(at, data);
    let protocol = case.split('/').next().unwrap_or_default();
    words.extend([
        "--cases".to_owned(),
        quote(&file.display().to_string()),
        "--protocol".to_owned(),
        protocol.to_owned(),
    ]);
    words.extend(["--only".to_owned(), quote(case)]);
    words.join(" ")
}

/// Copies a case that `fuzz` wrote into a suites folder.
pub(super) fn promote(options: &PromoteOptions, program: &Program) -> Result<u8, Failure> {
    let shown = options.file.display().to_string();
    let text = std::fs::read_to_string(&options.file)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let source = Arc::new(Source { name: shown.clone(), text: text.clone().into() });
    let suite = read_suite(&source).map_err(Failure::Mistakes)?;
    let (slug, old) = suite.name.value.split_once('/').ok_or_else(|| {
        Failure::Usage(format!("the suite name `{}` has no protocol", *suite.name), Some("expected SLUG/NAME".into()))
    })?;
    let name = options.name.as_deref().unwrap_or(old);
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if !is_name(name) || !is_name(slug) {
        return Err(Failure::Usage(
            format!("invalid suite name `{name}`"),
            Some("use lower-case letters, digits and hyphens, such as rejects-title-over-1-kib".into()),
        ));
    }
    let folder = options.suites.join(slug);
    if !folder.join("protocol.yaml").is_file() {
        return Err(Failure::Usage(
            format!("{} has no suites for {slug}", options.suites.display()),
            Some("--suites must be a folder with the layout of suites/".into()),
        ));
    }
    let file = folder.join("regressions").join(format!("{name}.yaml"));
    if file.exists() {
        return Err(Failure::Usage(format!("{} already exists", file.display()), Some("give another --name".into())));
    }
    // Rename the suite.
    let case = written(&source).map_err(Failure::Mistakes)?.len();
    let renamed = text.replacen(&format!("suite: {slug}/{old}"), &format!("suite: {slug}/{name}"), 1);
    let renamed = renamed.replacen(&format!("suite: \"{slug}/{old}\""), &format!("suite: {slug}/{name}"), 1);
    // Load all suites together with the new file before writing it.
    let bundle = program.data.clone().with_suites(&options.suites)?;
    let bundle = bundle.with_file(&file.display().to_string(), &renamed);
    let protocol = program.protocol(slug).ok_or_else(|| Failure::usage(format!("no protocol `{slug}`")))?;
    let knowledge = plan::load(protocol, &bundle)?;
    std::fs::create_dir_all(folder.join("regressions"))?;
    files::write_bytes(&file, renamed.as_bytes())?;
    let mut out = anstream::stdout();
    let cases = knowledge.cases().count();
    writeln!(out, "{}: {case} case{}; {slug} now has {cases}", file.display(), if case == 1 { "" } else { "s" })?;
    writeln!(
        out,
        "Next: add a fault to the reference implementation that this case catches, and run `proofmark prove`."
    )?;
    Ok(0)
}
