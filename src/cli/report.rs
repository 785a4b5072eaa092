//! `report` and `rejudge`: render a record, or judge it again.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use super::args::{ProfileWord, RejudgeOptions, ReportOptions};
use super::check::{print, report_file, target_of_record};
use super::data;
use super::exit::Failure;
use super::program::Program;
use super::record::read;
use crate::exchange::Exchange;
use crate::judge;
use crate::plan::{self, Knowledge, PROBE_STEPS, Plan, SETUP_STEPS, Selection};
use crate::record::{CaseRecord, ProtocolRecord, RunRecord, WaiverRecord};
use crate::report;
use crate::source::{Source, Span};
use crate::target::{Target, Waiver, WaiverSubject};
use crate::template::{Clock, parse_time};
use crate::verdict::Profile;
use crate::walk::{CaseTranscript, Context, Facts, Features, Transcript};

/// Renders reports from a record.
pub(super) fn run(options: &ReportOptions) -> Result<u8, Failure> {
    let path = options.record.as_ref().ok_or_else(|| Failure::usage("no record given"))?;
    let record = read(path)?;
    let reports = options.report.iter().map(|word| report_file(word)).collect::<Result<Vec<_>, _>>()?;
    if reports.is_empty() {
        print(&record, options.verbose, &[])?;
    } else {
        report::files::write_all(&record, &reports)?;
    }
    Ok(0)
}

/// Judges the exchanges of a record again.
pub(super) fn rejudge(options: &RejudgeOptions, program: &Program) -> Result<u8, Failure> {
    let mut record = read(&options.record)?;
    if !record.asked.joined.is_empty() {
        return Err(Failure::Usage(
            format!("{}: a joined record cannot be judged again", options.record.display()),
            Some("judge the records of its shards again, and join them with `proofmark report merge`".to_owned()),
        ));
    }
    let mut data = options.data.clone();
    if data.protocol.is_empty() {
        data.protocol = record.protocols.iter().map(|protocol| protocol.protocol.clone()).collect();
    }
    let known = data::knowledge(&data, program)?;
    if let Some(profile) = options.profile {
        record.profile = match profile {
            ProfileWord::Lenient => Profile::Lenient,
            ProfileWord::Strict => Profile::Strict,
        };
    }
    let facts = facts_of(&options.record, &record)?;
    let mut changed = 0_usize;
    let old = std::mem::take(&mut record.protocols);
    for before in old {
        let Some(knowledge) = known.iter().find(|knowledge| knowledge.protocol.slug() == before.protocol) else {
            continue;
        };
        let after = judge_again(knowledge, &record, facts, &before);
        for case in &after.cases {
            let was = before.cases.iter().find(|old| old.id == case.id);
            changed += usize::from(was.is_none_or(|old| old.verdict != case.verdict));
        }
        record.protocols.push(after);
    }
    judge::conclude(&mut record);
    let mut written = Vec::new();
    if let Some(folder) = &options.out {
        let standard = ["json", "html", "junit", "markdown"];
        let reports: Vec<_> = report::FORMATS
            .iter()
            .filter(|format| standard.contains(&format.name))
            .map(|format| (*format, folder.join(format.file_name)))
            .collect();
        written = report::files::write_all(&record, &reports)?;
    }
    if !options.quiet {
        print(&record, false, &written)?;
        use std::io::Write;
        let mut out = anstream::stdout();
        match changed {
            0 => writeln!(out, "All verdicts are unchanged.")?,
            _ => writeln!(out, "{changed} verdicts differ from those in the record.")?,
        }
    }
    Ok(record.summary.exit_code)
}

fn judge_again(knowledge: &Knowledge, record: &RunRecord, facts: Facts, before: &ProtocolRecord) -> ProtocolRecord {
    let target = target_again(knowledge, record, before);
    let shard = record.asked.shard.as_ref().and_then(|shard| shard.parse().ok());
    let plan = plan::build(knowledge, &target, &Selection { shard, ..selection_without_shard(record) });
    let cut_short = record.summary.cut_short.as_deref().unwrap_or("the record does not contain this case");
    let transcript = transcript_again(&plan, before, cut_short);
    let features = Features::read(&plan, facts, &transcript);
    let context = Context { plan: &plan, facts, features };
    let mut judged = judge::protocol(&context, &transcript);
    let recorded: BTreeMap<&str, &CaseRecord> = before.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    judged.exploration.clone_from(&before.exploration);
    for case in &mut judged.cases {
        case.replay = recorded.get(case.id.as_str()).map(|old| old.replay.clone()).unwrap_or_default();
    }
    judged
}

/// The target of a record, as far as it affects how answers are read.
pub(super) fn target_again(knowledge: &Knowledge, record: &RunRecord, before: &ProtocolRecord) -> Target {
    let mut target = target_of_record(record);
    target.names.objects = knowledge.protocol.named_objects();
    target.waivers = before.waivers.iter().map(|waiver| waiver_of(knowledge, waiver)).collect();
    target
}

/// The selection of a record, other than its shard.
pub(super) fn selection_without_shard(record: &RunRecord) -> Selection {
    Selection {
        only: record.asked.only.clone(),
        requirements: record.asked.requirements.iter().map(|id| id.as_str().into()).collect(),
        levels: record.asked.levels.clone(),
        shard: None,
    }
}

/// The start of the run of a record, and its seeds.
pub(super) fn facts_of(path: &Path, record: &RunRecord) -> Result<Facts, Failure> {
    let clock = parse_time(&record.started_at)
        .map(Clock)
        .ok_or_else(|| Failure::usage(format!("{}: `started_at` is not a timestamp", path.display())))?;
    Ok(Facts { seed: record.seed, identity_seed: record.identity_seed, clock, profile: record.profile })
}

/// The exchanges of a record, by the probes and cases of `plan`.
pub(super) fn transcript_again(plan: &Plan<'_>, before: &ProtocolRecord, cut_short: &str) -> Transcript {
    let recorded: BTreeMap<&str, &CaseRecord> = before.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let mut probes = Vec::new();
    for transport in &plan.transports {
        let suffix = if plan.transports.len() > 1 { transport.suffix() } else { "" };
        let features = plan.knowledge.manifest.features.iter().enumerate();
        let exchanges: Vec<Exchange> = features
            .flat_map(|(index, feature)| {
                let name = format!("{}{suffix}", feature.name.value);
                let feature = before.features.iter().find(move |known| known.feature == name);
                let exchanges = feature.map(|feature| feature.exchanges.clone()).unwrap_or_default();
                exchanges.into_vec().into_iter().map(move |mut exchange| {
                    // The order of the features may have changed since the record was written.
                    exchange.step =
                        exchange.step / SETUP_STEPS * SETUP_STEPS + index * PROBE_STEPS + exchange.step % PROBE_STEPS;
                    exchange
                })
            })
            .collect();
        probes.push((*transport, exchanges));
    }
    let positions: HashMap<&str, usize> =
        plan.cases.iter().enumerate().map(|(position, ready)| (ready.id.as_str(), position)).collect();
    let cases = plan
        .cases
        .iter()
        .map(|ready| {
            // What a sweep keeps are copies of the messages of other cases.
            let case = recorded.get(ready.id.as_str()).filter(|_| !ready.case.is_sweep())?;
            let ran = !case.exchanges.is_empty() || matches!(case.verdict, crate::verdict::Verdict::Error);
            ran.then(|| CaseTranscript {
                started_ms: case.started_ms,
                twin_started_ms: case.twin_started_ms,
                exchanges: case.exchanges.clone(),
                twin: case.twin.clone(),
                twin_of: positions.get(case.twin_of.as_str()).copied(),
                stopped: (!case.because.is_empty()).then(|| case.because.clone()),
                elapsed_ms: case.elapsed_ms,
                retry: case.retry,
            })
        })
        .collect();
    Transcript {
        probes,
        cases,
        hosts: before.hosts.clone(),
        strays: before.strays.clone(),
        more_strays: before.more_strays,
        cut_short: Some(cut_short.to_owned()),
    }
}

fn waiver_of(knowledge: &Knowledge, waiver: &WaiverRecord) -> Waiver {
    let what = match knowledge.catalogue.find(&waiver.what) {
        Some(_) => WaiverSubject::Requirement(waiver.what.clone()),
        None => WaiverSubject::Case(waiver.what.clone()),
    };
    let source = Arc::new(Source { name: waiver.at.clone(), text: String::new().into() });
    Waiver { what, reason: waiver.reason.clone(), span: Span::file(&source) }
}
