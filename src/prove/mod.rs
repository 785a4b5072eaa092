//! Proves the suites: which faults they catch and miss (DESIGN section 2, invariants 2 and 3).
//!
//! A suite that every target passes is worthless. So it runs against a correct implementation, against the same implementation
//! with each planted fault in turn, and against trivial targets. If no planted fault makes a case fail, the answers that it
//! received are changed one member at a time until a change makes it fail.
//! Start with [`prove`], then [`Proof`], which contains all results.

mod baseline;
mod blame;
mod floor;
pub mod mutate;
mod page;
mod proof;
mod report;
mod search;
mod subject;
mod wanted;
mod wire;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::exchange::{HostUrls, Transport};
use crate::parallel;
use crate::plan::{self, Knowledge, Plan, ReadyCase, Selection};
use crate::requirement::{Keyword, Testable};
use crate::run;
use crate::target::HostAddress;
use crate::verdict::{NotRun, Profile, Verdict};
use crate::walk::{Context, Facts, Features, Transcript};
use baseline::{Baseline, CaseJudge, exchange_within, failed, on_runtime, put, stop};
use blame::{Charges, Planted};

pub use mutate::{Change, Member};
pub use page::write_html;
pub use proof::{
    Blame, CaseRow, CleanRow, FaultRow, FloorRow, NotPassed, Proof, RequirementRow, SCHEMA, WireMember, WireProof,
};
pub use report::{write_csv, write_markdown, write_text};
pub use subject::{Fault, Options, Progress, Running, Setting, Subject};

/// How often a surviving fault is tried, since a race may not show the fault every time.
const ROUNDS: usize = 4;

/// How long the first round of a fault with many cases may take: one that keeps something from ever showing makes hundreds of
/// cases wait for it, and the first that fail are enough. A round without such a case is repeated whole.
const FIRST_ROUND: Duration = Duration::from_secs(8);

/// About how many other cases run first so that a case that sweeps has messages to judge.
const FED: usize = 120;

/// The number of cases from which they are many.
const MANY: usize = 60;

/// How many cases of each broken requirement run at first, spread over all that cover it. A thousand may, and some of them are
/// enough for a fault; the rest run if none of these catches it.
const OF_EACH: u32 = 60;

/// What one of the cases that should catch a fault may add to the time of all of them, because it waits for what never comes. An
/// estimate, by which the longest start first.
const IN_VAIN: Duration = Duration::from_millis(300);

/// As [`FIRST_ROUND`], for a fault that runs against every case, whose failures are counted. A fault without a case that should catch it by
/// then is repeated with these cases only.
const FIRST_ROUND_OF_ALL: Duration = Duration::from_secs(30);

/// How many faults run against every case, to measure blame, and how many runs of cases that may be: then it is as quick for
/// every suite. Of a longer suite, the same share of the other cases runs for each.
const BLAMED: std::ops::RangeInclusive<usize> = 2..=12;
const RUNS_OF_BLAMED: usize = 3_000;

/// Proves the suites of one protocol.
///
/// # Errors
///
/// The subject cannot be started, or a requested fault is unknown.
pub fn prove(
    knowledge: &Knowledge,
    subject: &dyn Subject,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Proof, String> {
    let settings = subject.settings();
    let mut faults = subject.faults();
    if let Some(unknown) = options.faults.iter().find(|name| !faults.iter().any(|fault| fault.name == **name)) {
        return Err(format!("no fault `{unknown}`"));
    }
    if !options.faults.is_empty() {
        faults.retain(|fault| options.faults.contains(&fault.name));
    }
    let plans: Vec<Plan<'_>> =
        settings.iter().map(|setting| plan::build(knowledge, &setting.target, &Selection::default())).collect();
    if !options.only.is_empty() {
        let chosen = plans.iter().flat_map(|plan| &plan.cases).filter(|ready| options.is_chosen(&ready.id));
        let covered: BTreeSet<&str> = chosen.flat_map(|ready| &ready.covers).map(|id| id.as_str()).collect();
        if covered.is_empty() {
            return Err(format!("no case matches {}", options.only.join(" or ")));
        }
        faults.retain(|fault| fault.breaks.iter().any(|id| covered.contains(id.as_str())));
    }
    let sample = sample(faults.len(), plans.first().map_or(0, |plan| plan.cases.len()), options);
    let runs = plans.first().map_or(0, |plan| plan.cases.len()) * sample.len();
    let apart = if options.blame.is_some() || options.all_cases { 1 } else { runs.div_ceil(RUNS_OF_BLAMED).max(1) };
    let only_some = !options.faults.is_empty();
    progress.part("the clean subject, planted faults and trivial targets", settings.len() + faults.len());
    // Trivial targets are mostly waited for, so the last of them are still running while all else is judged.
    std::thread::scope(|aside| {
        // Faults need only the plans, not the exchanges of the clean subject, so both run concurrently.
        let (laid, planted) = std::thread::scope(|scope| {
            let clean = scope.spawn(|| lay_all(aside, subject, &settings, &plans, options, progress));
            let mut numbered: Vec<(usize, &Fault)> = faults.iter().enumerate().collect();
            // Those against every case first, then those that take longest: they must not be left at the end.
            numbered.sort_by_cached_key(|(number, fault)| {
                (!sample.contains(number), Reverse(estimate(fault, &settings, &plans)))
            });
            let mut rows = parallel::map(options.jobs, &numbered, |(number, fault)| {
                let others = if options.all_cases { Some(1) } else { sample.contains(number).then_some(apart) };
                let planted = plant(fault, &settings, &plans, subject, options, others);
                progress.piece();
                (*number, planted)
            });
            rows.sort_by_key(|(number, _)| *number);
            (clean.join(), rows.into_iter().map(|(_, planted)| planted).collect::<Vec<_>>())
        });
        let rows = blame::confirm(planted, &settings, &plans, subject, options);
        let (mut benches, floor) = laid.map_err(|_| "the clean run panicked".to_owned())??;
        benches.iter_mut().for_each(|baseline| clean_again(baseline, subject, options));
        let judged: Vec<(&Baseline<'_, '_>, Profile)> = benches
            .iter()
            .flat_map(|baseline| [(baseline, Profile::Lenient), (baseline, Profile::Strict)])
            .filter(|(baseline, profile)| !baseline.setting.tolerated || *profile == Profile::Lenient)
            .collect();
        let clean = parallel::map(parallel::processors(), &judged, |(baseline, profile)| {
            judge_clean(baseline, Facts { profile: *profile, ..options.facts })
        });
        let (mut cases, requirements) = if only_some {
            (Vec::new(), Vec::new())
        } else {
            search::rows(knowledge, &benches, &rows, options, progress)
        };
        again(&mut cases, &faults, &settings, &plans, subject, options);
        let floor = floor.join().map_err(|_| "a run against a trivial target panicked".to_owned())?;
        let wire = options.wire.then(|| wire::prove(&benches[0], subject, options, progress));
        let uncovered = if options.only.is_empty() { uncovered(knowledge) } else { Vec::new() };
        let mut proof = Proof {
            schema: SCHEMA.to_owned(),
            proofmark: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: knowledge.protocol.slug().to_owned(),
            suite_hash: knowledge.hash.clone(),
            seed: options.facts.seed,
            all_cases: options.all_cases,
            clean,
            blame: Blame::of(&rows, apart),
            faults: rows,
            cases,
            requirements,
            floor,
            uncovered,
            wire,
            problems: Vec::new(),
            elapsed_ms: u64::try_from(options.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        proof.problems = problems(&proof, options);
        Ok(proof)
    })
}

/// The faults that run against every case: so many, as far apart as they can be, and others with another seed.
fn sample(faults: usize, cases: usize, options: &Options) -> BTreeSet<usize> {
    let affordable = || (RUNS_OF_BLAMED / cases.max(1)).clamp(*BLAMED.start(), *BLAMED.end());
    let whole = options.faults.is_empty() && options.only.is_empty();
    let wanted = if whole { options.blame.unwrap_or_else(affordable).min(faults) } else { 0 };
    let first = usize::try_from(options.facts.seed % faults.max(1) as u64).unwrap_or_default();
    (0..wanted).map(|index| (first + index * faults / wanted) % faults).collect()
}

/// A case over a transport: what runs once for all settings.
type Ran = BTreeSet<(String, Transport)>;

fn name_of(ready: &ReadyCase<'_>) -> (String, Transport) {
    (ready.id.clone(), ready.transport)
}

/// Runs the clean subject in every setting. The cases against trivial targets run `aside`, beside the later settings and what follows.
fn lay_all<'a, 'b: 'a, 'k>(
    aside: &'a Scope<'a, 'b>,
    subject: &dyn Subject,
    settings: &'b [Setting],
    plans: &'b [Plan<'k>],
    options: &'b Options,
    progress: &dyn Progress,
) -> Result<(Vec<Baseline<'b, 'k>>, ScopedJoinHandle<'a, Vec<FloorRow>>), String> {
    let mut ran = BTreeSet::new();
    let mut all = settings.iter().zip(plans);
    let (setting, plan) = all.next().ok_or("the subject has no setting")?;
    let first = lay(subject, setting, plan, options, &mut ran)?;
    progress.piece();
    // Trivial targets answer as the clean subject did.
    let kinds = if options.faults.is_empty() { floor::kinds(&first) } else { Vec::new() };
    let floor = aside.spawn(move || {
        let share = floor::share(kinds.len(), plan, options);
        let numbered: Vec<_> = kinds.iter().enumerate().collect();
        parallel::map(options.jobs, &numbered, |(number, kind)| {
            floor::run(kind, setting, plan.knowledge, share.of(*number), options)
        })
    });
    let mut laid = vec![first];
    for (setting, plan) in all {
        laid.push(lay(subject, setting, plan, options, &mut ran)?);
        progress.piece();
    }
    adopt_idle(&mut laid, &mut ran);
    Ok((laid, floor))
}

/// Runs the clean subject in one setting. `ran` contains the cases that ran in earlier settings.
fn lay<'b, 'k>(
    subject: &dyn Subject,
    setting: &'b Setting,
    plan: &'b Plan<'k>,
    options: &Options,
    ran: &mut Ran,
) -> Result<Baseline<'b, 'k>, String> {
    let cases = || plan.cases.iter().enumerate();
    // A sweep needs the messages of the other cases.
    let every = cases().any(|(_, ready)| options.is_chosen(&ready.id) && ready.case.is_sweep());
    let runs = |ready: &ReadyCase<'_>| (every || options.is_chosen(&ready.id)) && !ran.contains(&name_of(ready));
    let new: BTreeSet<usize> = cases().filter(|(_, ready)| runs(ready)).map(|(index, _)| index).collect();
    let transcript = put(subject, setting, None, plan, &new, options)?;
    let features = Features::read(plan, options.facts, &transcript);
    let mut baseline = Baseline { setting, plan, features, transcript, own: BTreeSet::new() };
    let context = baseline.context(options.facts);
    let judge = CaseJudge::new(&context, &baseline.transcript);
    // A sweep belongs to the setting whose subject writes the messages that it judges.
    let judges_something =
        |index: &usize| !plan.cases[*index].case.is_sweep() || judge.judge(*index).reason != Some(NotRun::NotExercised);
    let ran_here = new.into_iter().filter(|index| baseline.transcript.cases[*index].is_some());
    let own: BTreeSet<usize> = ran_here.filter(judges_something).collect();
    ran.extend(own.iter().map(|index| name_of(&plan.cases[*index])));
    baseline.own = own;
    Ok(baseline)
}

/// Gives each sweep that had nothing to judge in any setting to the first one in which it ran.
fn adopt_idle(laid: &mut [Baseline<'_, '_>], ran: &mut Ran) {
    for baseline in laid {
        let ran_here = (0..baseline.plan.cases.len()).filter(|index| baseline.transcript.cases[*index].is_some());
        let idle: Vec<usize> = ran_here.filter(|index| ran.insert(name_of(&baseline.plan.cases[*index]))).collect();
        baseline.own.extend(idle);
    }
}

/// Runs the cases again that the clean subject did not pass, now that nothing runs beside them: a case whose message expires
/// meanwhile, for example, decides nothing on a busy machine.
fn clean_again(baseline: &mut Baseline<'_, '_>, subject: &dyn Subject, options: &Options) {
    let (plan, setting) = (baseline.plan, baseline.setting);
    let passes = |context: &Context<'_>, transcript: &Transcript, index: usize| {
        let verdict = CaseJudge::new(context, transcript).judge(index).verdict;
        matches!(verdict, Verdict::Pass | Verdict::NotRun) || (setting.tolerated && verdict == Verdict::Warn)
    };
    let context = baseline.context(options.facts);
    // A sweep judges the messages of the other cases.
    let own = baseline.own.iter().copied().filter(|index| !plan.cases[*index].case.is_sweep());
    let missed: BTreeSet<usize> = own.filter(|index| !passes(&context, &baseline.transcript, *index)).collect();
    if missed.is_empty() || missed.len() > MANY {
        return;
    }
    // Judging needs the addresses of the hosts of a run, so they listen where they did.
    let mut setting = setting.clone();
    setting.target.hosts.extend(listening(&baseline.transcript.hosts));
    let Ok(mut again) = put(subject, &setting, None, plan, &missed, options) else { return };
    if again.hosts != baseline.transcript.hosts {
        return;
    }
    let passed: Vec<usize> = missed.into_iter().filter(|index| passes(&context, &again, *index)).collect();
    for index in passed {
        baseline.transcript.cases[index] = again.cases[index].take();
    }
}

/// The hosts of a run, at the addresses where they listened. Those on more than one port are left out: one address does not say
/// which.
fn listening(hosts: &BTreeMap<String, HostUrls>) -> BTreeMap<String, HostAddress> {
    let address = |urls: &HostUrls| {
        let ports = urls.values().filter_map(|url| url::Url::parse(url).ok()?.socket_addrs(|| None).ok()?.pop());
        let ports: BTreeSet<SocketAddr> = ports.collect();
        (ports.len() == 1).then(|| HostAddress { listen: ports.first().copied(), announce: None })
    };
    hosts.iter().filter_map(|(name, urls)| Some((name.clone(), address(urls)?))).collect()
}

fn judge_clean(baseline: &Baseline<'_, '_>, facts: Facts) -> CleanRow {
    let context = baseline.context(facts);
    let mut not_passed = Vec::new();
    if let Some(why) = &baseline.transcript.cut_short {
        not_passed.push(NotPassed { case: String::new(), verdict: Verdict::Error, because: why.clone() });
    }
    let judge = CaseJudge::new(&context, &baseline.transcript);
    for index in &baseline.own {
        let record = judge.judge(*index);
        let passed = matches!(record.verdict, Verdict::Pass | Verdict::NotRun)
            || (baseline.setting.tolerated && record.verdict == Verdict::Warn);
        if !passed {
            let finding = record.findings.first();
            let because =
                finding.map(|finding| format!("expected {}, observed {}", finding.expected, finding.observed));
            not_passed.push(NotPassed {
                case: record.id,
                verdict: record.verdict,
                because: because.unwrap_or(record.because),
            });
        }
    }
    CleanRow { setting: baseline.setting.name.clone(), profile: facts.profile, ran: baseline.own.len(), not_passed }
}

/// Plants a fault and runs the cases that should catch it; with `others` = n also every n-th other case, to measure blame.
fn plant<'f>(
    fault: &'f Fault,
    settings: &[Setting],
    plans: &[Plan<'_>],
    subject: &dyn Subject,
    options: &Options,
    others: Option<usize>,
) -> Planted<'f> {
    let mut charges = Charges::new();
    let mut row = FaultRow {
        fault: fault.name.clone(),
        summary: fault.summary.clone(),
        level: fault.level.clone(),
        breaks: fault.breaks.clone(),
        also: fault.also.clone(),
        blamed: None,
        killed: false,
        strict_only: false,
        killers: BTreeMap::new(),
        elsewhere: BTreeMap::new(),
        ran: 0,
        rounds: 0,
        because: String::new(),
    };
    // A fault is observable in the setting that it names, with the cases for the options of that setting.
    let found = settings.iter().zip(plans).find(|(setting, _)| setting.name == fault.setting);
    let Some((setting, plan)) = found else {
        row.because = format!("unknown setting `{}`", fault.setting);
        return Planted { fault, row, charges };
    };
    let runs = |index: &usize| plan.cases[*index].skip.is_none() && options.is_chosen(&plan.cases[*index].id);
    let should_fail = |index: &usize| should_catch(fault, &plan.cases[*index]);
    let offset = |apart: usize| usize::try_from(options.facts.seed % apart as u64).unwrap_or_default();
    let is_sampled = |index: &usize| others.is_some_and(|apart| (index + offset(apart)).is_multiple_of(apart));
    let concerned: BTreeSet<usize> = (0..plan.cases.len()).filter(|index| runs(index) && should_fail(index)).collect();
    let mut chosen = if others.is_some() {
        concerned
            .iter()
            .copied()
            .chain((0..plan.cases.len()).filter(|index| runs(index) && is_sampled(index)))
            .collect()
    } else {
        some_of_each(&fault.breaks, plan, &concerned)
    };
    row.ran = chosen.len();
    // A sweep judges the messages of the other cases, so all of them run if those that should catch the fault do not.
    let all: BTreeSet<usize> = (0..plan.cases.len()).filter(|index| plan.cases[*index].skip.is_none()).collect();
    let mut time = match others {
        Some(_) => Some(FIRST_ROUND_OF_ALL),
        None => (chosen.len() >= MANY).then_some(FIRST_ROUND),
    };
    let mut round = 0;
    // Of a selection, other cases may catch it.
    let rounds = if options.only.is_empty() { ROUNDS } else { 1 };
    while round < rounds {
        round += 1;
        row.rounds = round;
        let sweeps = chosen.iter().map(|index| &plan.cases[*index]).filter(|ready| ready.case.is_sweep());
        let swept: Vec<Transport> = sweeps.map(|ready| ready.transport).collect();
        let fed: BTreeSet<usize>;
        let running_cases = match round {
            _ if swept.is_empty() => &chosen,
            1 => {
                // Mostly a sample is enough, of the cases whose messages those that sweep may judge.
                let senders = all.iter().filter(|index| swept.contains(&plan.cases[**index].transport));
                let senders: Vec<usize> = senders.copied().collect();
                let apart = (senders.len() / FED).max(1);
                fed = chosen.iter().copied().chain(senders.into_iter().step_by(apart)).collect();
                &fed
            }
            _ => &all,
        };
        let ran = on_runtime(async {
            let running = subject.start(setting, Some(&fault.name)).await?;
            let transcript = exchange_within(plan, running_cases, options, &running.connections, time).await;
            stop(running).await;
            Ok::<_, String>(transcript)
        });
        let transcript = match ran {
            Ok(Ok(transcript)) => transcript,
            Ok(Err(why)) | Err(why) => {
                row.because = why;
                return Planted { fault, row, charges };
            }
        };
        // The strict profile counts everything that the lenient profile counts.
        let mut facts = Facts { profile: Profile::Lenient, ..options.facts };
        let mut context = Context { plan, facts, features: Features::read(plan, facts, &transcript) };
        let judge = CaseJudge::new(&context, &transcript);
        let failed = weigh(&mut row, &judge, &chosen);
        let lenient = row.killed;
        let swept = judge.into_swept();
        facts.profile = Profile::Strict;
        context.facts = facts;
        let strict = weigh(&mut row, &CaseJudge::with_swept(&context, &transcript, swept), &chosen);
        if others.is_some() {
            row.blamed.get_or_insert_default();
            charges.extend(if lenient { failed } else { strict });
        }
        let cut = time.take().is_some() && transcript.cut_short.is_some();
        // The cases that did not run may show it, or show it in the lenient profile.
        let partial = cut || !concerned.is_subset(&chosen);
        if lenient || (row.killed && !partial) {
            row.strict_only = !lenient;
            row.because.clear();
            return Planted { fault, row, charges };
        }
        if partial {
            round -= 1;
        }
        // Blame is known well enough by now.
        chosen.clone_from(&concerned);
        row.ran = row.ran.max(chosen.len());
    }
    Planted { fault, row, charges }
}

/// About how long the cases that should catch a fault take: the longest wait of one, and for each what it may wait for in vain.
fn estimate(fault: &Fault, settings: &[Setting], plans: &[Plan<'_>]) -> Duration {
    let found = settings.iter().zip(plans).find(|(setting, _)| setting.name == fault.setting);
    let waits = found.into_iter().flat_map(|(_, plan)| {
        let concerned = plan.cases.iter().filter(|ready| ready.skip.is_none() && should_catch(fault, ready));
        concerned.map(|ready| run::longest(plan, ready.case))
    });
    let (count, longest) = waits.fold((0, Duration::ZERO), |(count, longest), wait| (count + 1, longest.max(wait)));
    longest + IN_VAIN * count.min(OF_EACH)
}

/// Whether a case covers a requirement that a fault breaks.
fn should_catch(fault: &Fault, ready: &ReadyCase<'_>) -> bool {
    ready.covers.iter().any(|id| fault.breaks.iter().any(|broken| broken == id.as_str()))
}

/// Of the cases, by index in the plan, at most [`OF_EACH`] for each requirement.
fn some_of_each(requirements: &[String], plan: &Plan<'_>, cases: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut some = BTreeSet::new();
    for requirement in requirements {
        let covers = |index: &&usize| plan.cases[**index].covers.iter().any(|id| id.as_str() == requirement);
        let covering: Vec<usize> = cases.iter().filter(covers).copied().collect();
        some.extend(covering.iter().step_by(covering.len().div_ceil(OF_EACH as usize).max(1)));
    }
    some
}

/// Plants faults again for the cases that nothing made fail: another case may have caught the fault in a round in which this one
/// got no answer in time.
fn again(
    cases: &mut [CaseRow],
    faults: &[Fault],
    settings: &[Setting],
    plans: &[Plan<'_>],
    subject: &dyn Subject,
    options: &Options,
) {
    let idle: Vec<String> = cases.iter().filter(|row| row.is_idle()).map(|row| row.case.clone()).collect();
    if idle.is_empty() || idle.len() > MANY {
        return;
    }
    let ready = plans.iter().flat_map(|plan| &plan.cases).filter(|ready| idle.contains(&ready.id));
    let covered: BTreeSet<&str> = ready.flat_map(|ready| &ready.covers).map(|id| id.as_str()).collect();
    let concerns = |fault: &&Fault| fault.breaks.iter().any(|id| covered.contains(id.as_str()));
    let concerned: Vec<&Fault> = faults.iter().filter(concerns).collect();
    let narrow = Options { only: idle, ..options.clone() };
    let rows = parallel::map(parallel::processors(), &concerned, |fault| {
        plant(fault, settings, plans, subject, &narrow, None).row
    });
    for killer in rows.iter().flat_map(|row| row.killers.keys()) {
        if let Some(row) = cases.iter_mut().find(|row| row.case == *killer) {
            row.kills += 1;
        }
    }
}

/// Divides the failed cases into those that cover a broken requirement and others. Returns all of them.
fn weigh(row: &mut FaultRow, judge: &CaseJudge<'_, '_, '_>, chosen: &BTreeSet<usize>) -> Charges {
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    let mut charges = Charges::new();
    for index in chosen {
        let record = judge.judge(*index);
        let failed = failed(&record);
        if failed.is_empty() {
            *others.entry(record.verdict.word()).or_default() += 1;
            continue;
        }
        charges.entry(record.id.clone()).or_default().extend(failed.iter().cloned());
        let (own, other): (Vec<_>, Vec<_>) = failed.into_iter().partition(|id| row.breaks.contains(id));
        if own.is_empty() {
            row.elsewhere.insert(record.id, other);
        } else {
            row.killers.insert(record.id, own);
        }
    }
    row.killed = !row.killers.is_empty();
    if !row.killed {
        let words: Vec<String> = others.iter().map(|(word, count)| format!("{count} {word}")).collect();
        row.because = if chosen.is_empty() {
            "no case covers a requirement that it breaks".to_owned()
        } else {
            format!(
                "{} of {} cases fail for another reason; the rest: {}",
                row.elsewhere.len(),
                row.ran,
                words.join(", ")
            )
        };
    }
    charges
}

fn uncovered(knowledge: &Knowledge) -> Vec<String> {
    let covered: BTreeSet<&str> =
        knowledge.cases().flat_map(|(_, case)| &case.covers).map(|id| id.requirement.as_str()).collect();
    let demands = knowledge.catalogue.requirements.iter().filter(|requirement| {
        requirement.testable != Testable::No && matches!(requirement.keyword, Keyword::Must | Keyword::MustNot)
    });
    demands
        .map(|requirement| &requirement.id.value)
        .filter(|id| !covered.contains(id.as_str()))
        .map(ToString::to_string)
        .collect()
}

/// Why a suite is not proven.
fn problems(proof: &Proof, options: &Options) -> Vec<String> {
    let mut problems = Vec::new();
    let names = |names: Vec<&str>| {
        let shown = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        if names.len() > 5 { format!("{shown} and {} more", names.len() - 5) } else { shown }
    };
    for row in proof.clean.iter().filter(|row| !row.not_passed.is_empty()) {
        let cases = names(row.not_passed.iter().map(|case| case.case.as_str()).collect());
        problems.push(format!(
            "the clean subject does not pass {} of {} cases ({}, {}): {cases}",
            row.not_passed.len(),
            row.ran,
            row.setting,
            row.profile.word(),
        ));
    }
    // Of a selection, other cases may catch them.
    let counts = |row: &&FaultRow| !row.killed && options.only.is_empty();
    let survivors: Vec<&str> = proof.faults.iter().filter(counts).map(|row| row.fault.as_str()).collect();
    if !survivors.is_empty() {
        problems.push(format!("{} faults survive: {}", survivors.len(), names(survivors)));
    }
    for row in proof.floor.iter().filter(|row| !row.passed.is_empty()) {
        let cases = names(row.passed.iter().map(String::as_str).collect());
        problems.push(format!("{} cases pass at the trivial target `{}`: {cases}", row.passed.len(), row.target));
    }
    if !proof.uncovered.is_empty() {
        let ids = names(proof.uncovered.iter().map(String::as_str).collect());
        problems.push(format!("{} testable demands have no case: {ids}", proof.uncovered.len()));
    }
    let idle: Vec<&str> = proof.cases.iter().filter(|row| row.is_idle()).map(|row| row.case.as_str()).collect();
    if !idle.is_empty() {
        problems.push(format!(
            "{} cases are vacuous (no fault and no changed answer makes them fail): {}",
            idle.len(),
            names(idle)
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_listen_again_where_they_did() {
        let host = |urls: &[(&str, &str)]| -> HostUrls {
            urls.iter().map(|(transport, url)| ((*transport).to_owned(), (*url).to_owned())).collect()
        };
        let hosts = BTreeMap::from([
            ("peer".to_owned(), host(&[("http", "http://127.0.0.1:4001/peer"), ("ws", "ws://127.0.0.1:4001/ws")])),
            ("relay".to_owned(), host(&[("tcp", "amp://127.0.0.1:4002")])),
            ("both".to_owned(), host(&[("http", "http://127.0.0.1:4003/"), ("tcp", "amp://127.0.0.1:4004")])),
        ]);
        let found: Vec<(String, String)> = listening(&hosts)
            .into_iter()
            .map(|(name, address)| (name, address.listen.map(|listen| listen.to_string()).unwrap_or_default()))
            .collect();
        let expected = [("peer", "127.0.0.1:4001"), ("relay", "127.0.0.1:4002")];
        assert_eq!(found, expected.map(|(name, address)| (name.to_owned(), address.to_owned())));
    }
}
