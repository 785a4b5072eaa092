//! `report merge`: joins the records of shards.
//!
//! Each case is judged with the facts of its own run: the start of the run, what the target answered to its probes, and the URLs
//! of its hosts. Requirements and levels are judged on all cases, as in one run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::args::MergeOptions;
use super::check::{print, report_file};
use super::data;
use super::exit::Failure;
use super::program::Program;
use super::record::read;
use super::report::{facts_of, selection_without_shard, target_again, transcript_again};
use crate::judge;
use crate::plan::{self, Knowledge, Shard};
use crate::record::{CaseRecord, KnownFailure, ProtocolRecord, RunRecord};
use crate::report::{self, Format, printable};
use crate::verdict::NotRun;
use crate::walk::{Context, Features};

/// Joins records and writes the reports of the joined one.
pub(super) fn run(options: &MergeOptions, program: &Program) -> Result<u8, Failure> {
    let read = |path: &PathBuf| Ok((path.clone(), read(path)?));
    let shards: Vec<(PathBuf, RunRecord)> = options.records.iter().map(read).collect::<Result<_, Failure>>()?;
    let reports = reports(options)?;
    let mut data = options.data.clone();
    let Some((_, first)) = shards.first() else { return Err(Failure::usage("no record given")) };
    if data.protocol.is_empty() {
        data.protocol = first.protocols.iter().map(|protocol| protocol.protocol.clone()).collect();
    }
    for (path, record) in &shards {
        if !record.asked.joined.is_empty() {
            return Err(refused(path, "it is a joined record", "join the records of the shards"));
        }
    }
    for (path, record) in shards.iter().skip(1) {
        same_run((&shards[0].0, first), (path, record))?;
    }
    let known = data::knowledge(&data, program)?;
    let (record, changed) = join(&shards, &known)?;
    let written = report::files::write_all(&record, &reports)?;
    if !options.quiet {
        use std::io::Write;
        print(&record, false, &written)?;
        if changed > 0 {
            let verdicts = printable::count(changed, "verdict differs", "verdicts differ");
            writeln!(anstream::stdout(), "{verdicts} from those in the records: this proofmark judges otherwise.")?;
        }
    }
    Ok(record.summary.exit_code)
}

fn reports(options: &MergeOptions) -> Result<Vec<(Format, PathBuf)>, Failure> {
    let standard = ["json", "html", "junit", "markdown"];
    let standard = report::FORMATS.iter().filter(|format| standard.contains(&format.name));
    let mut reports: Vec<_> = standard.map(|format| (*format, options.out.join(format.file_name))).collect();
    for word in &options.report {
        reports.push(report_file(word)?);
    }
    Ok(reports)
}

fn refused(path: &Path, why: &str, hint: &str) -> Failure {
    Failure::Usage(format!("cannot join {}: {why}", path.display()), Some(hint.to_owned()))
}

/// Checks that two records are of one run: the same target, seed, selection, profile and suites.
fn same_run((first_path, first): (&Path, &RunRecord), (path, record): (&Path, &RunRecord)) -> Result<(), Failure> {
    let differs = |what: &str, one: &str, other: &str, hint: &str| {
        let (one, other) = (printable::short(one, 200), printable::short(other, 200));
        Err(refused(path, &format!("its {what} is {other}, and that of {} is {one}", first_path.display()), hint))
    };
    if first.seed != record.seed {
        return differs("seed", &first.seed.to_string(), &record.seed.to_string(), "run all shards with one --seed");
    }
    if first.profile != record.profile {
        return differs("profile", first.profile.word(), record.profile.word(), "run all shards with one --profile");
    }
    let target = |record: &RunRecord| format!("{} ({})", without_local_port(&record.target.name), record.target.kind);
    if target(first) != target(record) {
        return differs("target", &target(first), &target(record), "join records of one target");
    }
    let (one, other) = (&first.target.config, &record.target.config);
    let configured = |config: &crate::record::TargetConfig| {
        (
            config.transports.clone(),
            config.levels.clone(),
            config.kinds.clone(),
            config.roles.clone(),
            config.options.clone(),
        )
    };
    if configured(one) != configured(other) {
        let why = format!("its target has another configuration than that of {}", first_path.display());
        return Err(refused(path, &why, "run all shards with one target file"));
    }
    let asked = |record: &RunRecord| {
        (record.asked.levels.clone(), record.asked.only.clone(), record.asked.requirements.clone())
    };
    if asked(first) != asked(record) {
        let why = format!("its --level, --only or --requirement differ from those of {}", first_path.display());
        return Err(refused(path, &why, "run all shards with the same selection"));
    }
    let slugs = |record: &RunRecord| {
        record.protocols.iter().map(|protocol| protocol.protocol.as_str()).collect::<Vec<_>>().join(", ")
    };
    if slugs(first) != slugs(record) {
        return differs("list of protocols", &slugs(first), &slugs(record), "run all shards with the same --protocol");
    }
    for (one, other) in first.protocols.iter().zip(&record.protocols) {
        if one.suite_hash != other.suite_hash {
            let what = format!("suite of {}", one.protocol);
            return differs(&what, &one.suite_hash, &other.suite_hash, "run all shards with one version of the suites");
        }
    }
    let known = |record: &RunRecord| -> Option<(Vec<KnownFailure>, Option<Vec<String>>)> {
        let baseline = record.baseline.as_ref()?;
        let plain = |entry: &KnownFailure| KnownFailure {
            matched: Vec::new(),
            stale: Vec::new(),
            expired: false,
            ..entry.clone()
        };
        Some((baseline.entries.iter().map(plain).collect(), baseline.expected_not_run.clone()))
    };
    if known(first) != known(record) {
        let why = format!("its baseline is not that of {}", first_path.display());
        return Err(refused(path, &why, "run all shards with one --baseline"));
    }
    Ok(())
}

/// A name without the port of this machine, which may be another one in each run.
fn without_local_port(name: &str) -> String {
    let Ok(mut url) = url::Url::parse(name) else { return name.to_owned() };
    if matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]")) && url.set_port(None).is_ok() {
        return url.to_string();
    }
    name.to_owned()
}

/// The joined record, and the number of cases that this proofmark judges otherwise than the one that ran them.
fn join(shards: &[(PathBuf, RunRecord)], known: &[Knowledge]) -> Result<(RunRecord, usize), Failure> {
    let mut joined = shards[0].1.clone();
    let mut names: Vec<Shard> = Vec::new();
    for (_, record) in shards {
        if let Some(shard) = record.asked.shard.as_deref().and_then(|shard| shard.parse::<Shard>().ok())
            && !names.contains(&shard)
        {
            names.push(shard);
        }
    }
    names.sort_by_key(|shard| (shard.count, shard.index));
    let records = || shards.iter().map(|(_, record)| record);
    joined.asked.shard = None;
    joined.asked.joined = match names.as_slice() {
        [] => vec!["1/1".to_owned()],
        names => names.iter().map(|shard| format!("{}/{}", shard.index, shard.count)).collect(),
    };
    joined.started_at = records().map(|record| record.started_at.clone()).min().unwrap_or_default();
    joined.summary.requests = records().map(|record| record.summary.requests).sum();
    joined.summary.elapsed_ms = records().map(|record| record.summary.elapsed_ms).max().unwrap_or_default();
    joined.summary.advice = records().flat_map(|record| record.summary.advice.iter().cloned()).collect();
    joined.summary.cut_short = records().find_map(|record| record.summary.cut_short.clone());
    for record in records() {
        for (slug, declared) in &record.target.declared {
            joined.target.declared.entry(slug.clone()).or_insert_with(|| declared.clone());
        }
    }
    joined.protocols.clear();
    let mut changed = 0;
    for position in 0..shards[0].1.protocols.len() {
        let slug = &shards[0].1.protocols[position].protocol;
        let Some(knowledge) = known.iter().find(|knowledge| knowledge.protocol.slug() == slug) else {
            let slug = printable::short(slug, 60);
            return Err(Failure::usage(format!("{}: no suite for protocol `{slug}`", shards[0].0.display())));
        };
        let parts: Vec<Part<'_>> =
            shards.iter().map(|(path, record)| Part { path, record, protocol: &record.protocols[position] }).collect();
        let (protocol, missing, differ) = join_protocol(knowledge, &parts, &names)?;
        joined.protocols.push(protocol);
        changed += differ;
        if joined.summary.cut_short.is_none() {
            joined.summary.cut_short = missing;
        }
    }
    judge::conclude(&mut joined);
    Ok((joined, changed))
}

/// One protocol of the record of one shard.
struct Part<'r> {
    path: &'r Path,
    record: &'r RunRecord,
    protocol: &'r ProtocolRecord,
}

/// Joins one protocol. Also returns why the joined run is incomplete, if it is, and the number of cases with another verdict.
fn join_protocol(
    knowledge: &Knowledge,
    parts: &[Part<'_>],
    names: &[Shard],
) -> Result<(ProtocolRecord, Option<String>, usize), Failure> {
    let first = &parts[0];
    if knowledge.hash != first.protocol.suite_hash {
        let why = format!("it was made with other suites of {} than these", first.protocol.protocol);
        return Err(refused(
            first.path,
            &why,
            "give the folder of its suites by --suites, or use the proofmark that made it",
        ));
    }
    let missing = missing(names);
    let absent = missing.clone().unwrap_or_else(|| "no record contains this case".to_owned());
    let targets: Vec<_> = parts.iter().map(|part| target_again(knowledge, part.record, part.protocol)).collect();
    let plans: Vec<_> = parts
        .iter()
        .zip(&targets)
        .map(|(part, target)| plan::build(knowledge, target, &selection_without_shard(part.record)))
        .collect();
    let ids = |plan: &plan::Plan<'_>| plan.cases.iter().map(|case| case.id.clone()).collect::<Vec<_>>();
    for (part, plan) in parts.iter().zip(&plans).skip(1) {
        if ids(plan) != ids(&plans[0]) {
            let why = format!("its target is configured for other cases than that of {}", first.path.display());
            return Err(refused(part.path, &why, "run all shards with one target file"));
        }
    }
    let transcripts: Vec<_> = parts
        .iter()
        .zip(&plans)
        .map(|(part, plan)| {
            transcript_again(plan, part.protocol, part.record.summary.cut_short.as_deref().unwrap_or(&absent))
        })
        .collect();
    let mut contexts = Vec::new();
    for (part, (plan, transcript)) in parts.iter().zip(plans.iter().zip(&transcripts)) {
        let facts = facts_of(part.path, part.record)?;
        contexts.push(Context { plan, facts, features: Features::read(plan, facts, transcript) });
    }
    let context = joined_context(parts, &contexts)?;
    let recorded: Vec<BTreeMap<&str, &CaseRecord>> =
        parts.iter().map(|part| part.protocol.cases.iter().map(|case| (case.id.as_str(), case)).collect()).collect();
    let ids: BTreeSet<&str> = context.plan.cases.iter().map(|case| case.id.as_str()).collect();
    for (part, cases) in parts.iter().zip(&recorded) {
        if let Some(id) = cases.keys().find(|id| !ids.contains(**id)) {
            let why = format!("its case {} is not in the suites", printable::short(id, 200));
            return Err(refused(part.path, &why, "join records of one target and one version of the suites"));
        }
    }
    let mut run_of = Vec::with_capacity(context.plan.cases.len());
    let mut is_complete = true;
    for ready in &context.plan.cases {
        let id = ready.id.as_str();
        let ran = |at: &usize| recorded[*at].get(id).is_some_and(|case| case.reason != Some(NotRun::NotSelected));
        let mut candidates = (0..parts.len()).filter(ran);
        let chosen = candidates.next();
        for other in candidates {
            let at = chosen.unwrap_or(other);
            let (one, two) = (recorded[at][id].verdict, recorded[other][id].verdict);
            if one != two {
                let id = printable::short(id, 200);
                let why =
                    format!("it contradicts {}: the verdict on {id} is {two}, and was {one}", parts[at].path.display());
                return Err(refused(parts[other].path, &why, "join one record of each shard"));
            }
        }
        is_complete &= chosen.is_some() || ready.skip.is_some();
        run_of.push(chosen.unwrap_or(0));
    }
    let runs: Vec<_> = contexts.iter().zip(&transcripts).collect();
    let mut judged = judge::joined(&context, &runs, &run_of);
    judged.exploration = parts.iter().find_map(|part| part.protocol.exploration.clone());
    let mut changed = 0;
    for ((case, ready), at) in judged.cases.iter_mut().zip(&context.plan.cases).zip(&run_of) {
        let Some(old) = recorded[*at].get(case.id.as_str()) else { continue };
        case.replay.clone_from(&old.replay);
        // A sweep is judged on the messages of all runs, so that its verdict may be another one.
        let is_comparable = old.reason != Some(NotRun::NotSelected) && !ready.case.is_sweep();
        changed += usize::from(is_comparable && old.verdict != case.verdict);
    }
    let incomplete = (!is_complete).then_some(absent);
    Ok((judged, incomplete, changed))
}

/// The context in which levels are judged: what all runs found out about the target.
fn joined_context<'p>(parts: &[Part<'_>], contexts: &[Context<'p>]) -> Result<Context<'p>, Failure> {
    let mut features = contexts[0].features.clone();
    for (part, context) in parts.iter().zip(contexts).skip(1) {
        let hint = "run the shards again against one target";
        if features.claimed != context.features.claimed {
            let why = format!("the target claims other levels than in {}", parts[0].path.display());
            return Err(refused(part.path, &why, hint));
        }
        features.join(&context.features).map_err(|(feature, one, other)| {
            let state = |state| serde_json::to_value(state).ok().and_then(|word| word.as_str().map(str::to_owned));
            let (one, other) = (state(one).unwrap_or_default(), state(other).unwrap_or_default());
            let why =
                format!("the feature {feature} of the target is {other}, and was {one} in {}", parts[0].path.display());
            refused(part.path, &why, hint)
        })?;
    }
    Ok(Context { plan: contexts[0].plan, facts: contexts[0].facts, features })
}

/// The shards that are missing, in words.
fn missing(names: &[Shard]) -> Option<String> {
    let count = names.iter().map(|shard| shard.count).max()?;
    let is_there = |index: &u64| names.iter().any(|shard| (shard.index, shard.count) == (*index, count));
    // A record may claim any number of shards.
    let missing: Vec<String> =
        (1..=count).filter(|index| !is_there(index)).take(5).map(|index| format!("{index}/{count}")).collect();
    let more = count.saturating_sub(names.len() as u64) > missing.len() as u64;
    let more = if more { " and others" } else { "" };
    (!missing.is_empty()).then(|| format!("no record of shard {}{more}", missing.join(", ")))
}
