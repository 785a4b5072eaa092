//! Exploration as a part of `check`: what it finds becomes a case of the run.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;

use super::exit::Failure;
use super::watch::finding_file;
use crate::explore::{self, Finding, Options, Outcome, Watcher};
use crate::judge::{self, Gate, Swept};
use crate::plan::{self, Knowledge, Plan, ReadyCase};
use crate::record::ExplorationRecord;
use crate::report::files;
use crate::run::Runner;
use crate::source::Source;
use crate::spelling::{CaseSpelling, Kind, Spellings};
use crate::suite::{Action, Case, read_suite};
use crate::target::{Target, parse_duration};
use crate::transport::Connections;
use crate::verdict::Verdict;
use crate::walk::{CaseTranscript, Context, Transcript};

/// Findings after which it ends: a target with more of them has other worries.
const FINDINGS: usize = 20;

/// How often a case with requests at the same time is tried.
const RACES: u64 = 80;

/// How long to wait for a target that stopped answering.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time of `--explore`.
///
/// # Errors
///
/// [`Failure::Usage`] if it is none.
pub(super) fn time(text: &str) -> Result<Duration, Failure> {
    parse_duration(text).filter(|time| !time.is_zero()).ok_or_else(|| {
        Failure::Usage(format!("--explore: invalid duration `{text}`"), Some("such as 10s or 2m".into()))
    })
}

/// An exploration that is quiet: the progress of the run stands for it.
struct Quiet;

impl Watcher for Quiet {}

/// Explores a target for a time, with what the run has found out about it.
pub(super) async fn run(
    context: &Context<'_>,
    connections: &Connections,
    time: Duration,
    spellings: Option<Spellings>,
    begun: Instant,
    cancelled: watch::Receiver<bool>,
) -> Outcome {
    let Context { plan, facts, features } = context;
    let options = Options {
        seed: facts.seed,
        time,
        sequences: u64::MAX,
        patience: PATIENCE,
        findings: FINDINGS,
        spellings,
        probed: Some(features.clone()),
    };
    explore::run(plan, *facts, connections, begun, &options, cancelled, &Quiet).await
}

/// What the record of a run keeps of an exploration.
pub(super) fn record(outcome: &Outcome) -> ExplorationRecord {
    let progress = &outcome.progress;
    let times = |name: &String| progress.reached.get(name).copied().unwrap_or(0);
    ExplorationRecord {
        sequences: progress.sequences,
        judged: progress.judged,
        steps: progress.steps,
        elapsed_ms: u64::try_from(progress.elapsed.as_millis()).unwrap_or(u64::MAX),
        end: outcome.end.to_string(),
        transitions: outcome.transitions.iter().map(|name| (name.clone(), times(name))).collect(),
    }
}

/// Removes the files of cases that an earlier run found, and writes those of this one.
///
/// # Errors
///
/// A file cannot be removed or written.
pub(super) fn write(out: &Path, findings: &[Finding]) -> Result<(), Failure> {
    for entry in std::fs::read_dir(out).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let digits = name.strip_prefix("explore-").and_then(|rest| rest.strip_suffix(".yaml"));
        if digits.is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            files::remove(&entry.path())?;
        }
    }
    for finding in findings {
        files::write_bytes(&finding_file(out, &finding.case), finding.text.as_bytes())?;
    }
    Ok(())
}

/// The cases of findings, as their files have them.
pub(super) fn cases(out: &Path, findings: &[Finding]) -> Vec<Case> {
    let read = |finding: &Finding| {
        let name = finding_file(out, &finding.case).display().to_string();
        let suite = read_suite(&Arc::new(Source { name, text: finding.text.clone().into() })).ok()?;
        suite.cases.into_iter().next_back()
    };
    findings.iter().filter_map(read).collect()
}

/// Adds the cases of findings to a plan. `cases` are those of [`cases`].
pub(super) fn add<'k>(
    plan: &mut Plan<'k>,
    knowledge: &'k Knowledge,
    target: &'k Target,
    findings: &[Finding],
    cases: &'k [Case],
    spellings: Option<&Spellings>,
) {
    for (finding, case) in findings.iter().zip(cases) {
        let transport = plan.transports.iter().copied().find(|transport| transport.name() == finding.transport);
        let Some(transport) = transport else { continue };
        let mut ready = plan::ready_case(knowledge, target, finding.case.clone(), case, transport);
        let kinds: Vec<Kind> = finding.spellings.iter().filter_map(|name| Kind::named(name)).collect();
        if let Some(spellings) = spellings.filter(|_| !kinds.is_empty()) {
            ready.spelling = Some(CaseSpelling { spellings: spellings.always(kinds), key: finding.case.clone() });
        }
        plan.cases.push(ready);
    }
}

/// Runs the cases of a plan that have not run yet: those that were added.
pub(super) async fn run_added(runner: &Runner<'_>, context: &Context<'_>, transcript: &mut Transcript) {
    for ready in &context.plan.cases[transcript.cases.len()..] {
        let is_race = ready.case.steps.iter().any(|step| matches!(step.action, Action::Parallel(_)));
        let found = if is_race { race(runner, context, ready).await } else { runner.run_case(context, ready).await };
        transcript.cases.push(Some(found));
    }
}

/// Runs a case with requests at the same time until it fails, because they take effect in another order each time.
async fn race(runner: &Runner<'_>, context: &Context<'_>, ready: &ReadyCase<'_>) -> CaseTranscript {
    let jobs = context.plan.target.limits.jobs.max(1);
    let first = runner.run_case(context, ready).await;
    let fails = |found: &CaseTranscript| {
        judge::case(context, ready, &Gate::Open, Some(found), &Swept::default(), None).verdict == Verdict::Fail
    };
    if fails(&first) {
        return first;
    }
    let tries = stream::iter(1..=RACES).map(|number| runner.run_case_again(context, ready, number));
    let mut running = tries.buffer_unordered(jobs);
    while let Some(found) = running.next().await {
        if fails(&found) {
            return found;
        }
    }
    first
}
