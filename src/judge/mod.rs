//! Judging: from exchanges to verdicts. Pure: no clock, no network, no environment.
//!
//! A verdict is the result of a [`Walk`] over the finished [`Transcript`], which `rejudge` repeats. Start with [`protocol`].

#[cfg(test)]
mod conclude_tests;
mod features;
#[cfg(test)]
#[path = "grant_tests/tests.rs"]
mod grant_tests;
mod levels;
mod mistakes;
mod outcome;
#[cfg(test)]
mod protocol_tests;
mod sweep;
#[cfg(test)]
#[path = "testing/tests.rs"]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::exchange::Exchanges;
use crate::parallel;
use crate::plan::{Plan, ReadyCase};
use crate::record::{
    Because, CaseRecord, FeatureRecord, FeatureState, ProtocolRecord, RequirementRecord, RunRecord, WaiverRecord,
};
use crate::requirement::{RequirementId, Testable};
use crate::suite::{Absent, Feature, LevelSet};
use crate::target::WaiverSubject;
use crate::verdict::{Grant, NotRun, Verdict};
use crate::walk::{CaseTranscript, Context, Part, Transcript, Walk, Walks};
use outcome::write_down;

pub use sweep::Swept;

/// Whether a case runs against the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It runs.
    Open,
    /// It does not run.
    NotRun {
        /// The reason.
        reason: NotRun,
        /// The reason in words.
        because: String,
        /// Whether the only reason is that the target lacks an optional feature.
        optional: bool,
    },
    /// It cannot run, so its requirements are undecided; the text says why.
    Inconclusive(String),
}

/// Decides whether a case runs.
pub fn gate(context: &Context<'_>, ready: &ReadyCase<'_>) -> Gate {
    if let Some((reason, because)) = &ready.skip {
        // A role that the target leaves out binds it at no level.
        let optional = *reason == NotRun::NotClaimed && context.plan.knowledge.manifest.roles_bind_cases;
        return Gate::NotRun { reason: *reason, because: because.clone(), optional };
    }
    let manifest = &context.plan.knowledge.manifest;
    let transport = manifest.transports.iter().find(|(word, _)| word.value == ready.transport.name());
    if let Some((word, feature)) = transport
        && context.features.state(ready.transport, feature) != FeatureState::Offered
    {
        let because = format!("the target does not offer {} here", word.value);
        return Gate::NotRun { reason: NotRun::NotClaimed, because, optional: true };
    }
    let claimed = context.features.claimed;
    if !ready.demand.is_met_by(claimed) && !may_reach(context, ready) {
        // An option that the target leaves out binds it at no level.
        if let Some(left_out) = option_left_out(context, ready) {
            return left_out;
        }
        return Gate::NotRun { reason: NotRun::NotClaimed, because: beyond_claim(context, ready), optional: false };
    }
    if ready.case.advances_clock() {
        let offered = |need: &crate::source::Located<String>| {
            context.features.state(ready.transport, need) == FeatureState::Offered
        };
        if !context.plan.clock(ready.transport).is_some_and(|way| way.needs.iter().all(offered)) {
            let because = "the case advances a test clock, which the target does not have".to_owned();
            return Gate::NotRun { reason: NotRun::Unobservable, because, optional: true };
        }
    }
    for need in &ready.case.needs {
        let Some(feature) = manifest.features.iter().find(|feature| feature.name.value == need.value) else { continue };
        let state = context.features.state(ready.transport, need);
        if state == FeatureState::Unanswered && feature.absent != Absent::Run {
            // Whether the target offers the option is open, so its cases accuse it of nothing.
            let because =
                format!("the target gave no answer when it was probed for {}: {}", feature.name.value, feature.about);
            return Gate::Inconclusive(format!("{because} {}", feature.advice).trim_end().to_owned());
        }
        if state != FeatureState::Absent {
            continue;
        }
        let because = format!("the target does not offer {}: {}", feature.name.value, feature.about);
        match feature.absent {
            Absent::NotClaimed => {
                return Gate::NotRun { reason: NotRun::NotClaimed, because, optional: true };
            }
            Absent::Inconclusive => return Gate::Inconclusive(format!("{because} {}", feature.advice)),
            Absent::Run => {}
        }
    }
    let is_judged = |feature: &Feature| ready.covers.iter().any(|id| feature.is_judged_by(id.as_str()));
    let unmet = context.unmet_prerequisites(ready);
    if let Some(feature) = unmet.into_iter().find(|feature| !is_judged(feature)) {
        return Gate::Inconclusive(lacks(feature));
    }
    Gate::Open
}

/// Why a case, or a requirement in it, decides nothing at a target that lacks a prerequisite.
fn lacks(feature: &Feature) -> String {
    let about = format!("the target lacks a prerequisite, {}: {}", feature.name.value, feature.about);
    if feature.advice.is_empty() { about } else { format!("{about} {}", feature.advice) }
}

/// Why a case is not run, if it needs an option that the target leaves out, as it may.
fn option_left_out(context: &Context<'_>, ready: &ReadyCase<'_>) -> Option<Gate> {
    let features = &context.plan.knowledge.manifest.features;
    let needed = |feature: &&Feature| ready.case.needs.iter().any(|need| need.value == feature.name.value);
    let is_absent = |feature: &&Feature| context.features.state(ready.transport, &feature.name) == FeatureState::Absent;
    let mut needed = features.iter().filter(needed).filter(|feature| feature.absent == Absent::NotClaimed);
    let feature = needed.find(is_absent)?;
    let because = format!("the target does not offer {}: {}", feature.name.value, feature.about);
    Some(Gate::NotRun { reason: NotRun::NotClaimed, because, optional: true })
}

/// Whether a target offers a feature that suggests the level of a case, although the target does not claim that level.
fn may_reach(context: &Context<'_>, ready: &ReadyCase<'_>) -> bool {
    let manifest = &context.plan.knowledge.manifest;
    let is_offered = |feature: &str| context.features.state(ready.transport, feature) == FeatureState::Offered;
    let shown = manifest.beyond.iter().filter(|(_, feature)| is_offered(feature));
    let shown: LevelSet = shown.filter_map(|(level, _)| manifest.levels.position(level)).map(LevelSet::of).collect();
    ready.demand.is_met_by(context.features.claimed.union(shown))
}

/// Why a case is beyond the claims of the target.
fn beyond_claim(context: &Context<'_>, ready: &ReadyCase<'_>) -> String {
    let levels = &context.plan.knowledge.manifest.levels;
    let claimed = context.features.claimed;
    let needed = levels.highest(ready.demand.missing(claimed));
    if claimed.is_empty() {
        return format!("the case needs level {needed}; the target claims no level");
    }
    format!("the case needs level {needed}; the target claims {}", levels.highest(claimed))
}

/// Marks the cases beyond the claims of the target as not claimed, so that they do not count.
fn set_beyond_aside(context: &Context<'_>, cases: &mut [CaseRecord]) {
    for (ready, case) in context.plan.cases.iter().zip(cases.iter_mut()) {
        if ready.demand.is_met_by(context.features.claimed) || case.reason.is_some() {
            continue;
        }
        case.because = format!(
            "{}; it ran to see whether that level is met, and is informational only",
            beyond_claim(context, ready)
        );
        case.verdict = Verdict::NotRun;
        case.reason = Some(NotRun::NotClaimed);
        case.outcomes.values_mut().for_each(|outcome| *outcome = Verdict::NotRun);
        // The exchanges are kept, so that `rejudge` finds the same levels met.
        case.findings.clear();
        case.readings.clear();
    }
}

/// Judges the exchanges of one protocol.
pub fn protocol(context: &Context<'_>, transcript: &Transcript) -> ProtocolRecord {
    joined(context, &[(context, transcript)], &vec![0; context.plan.cases.len()])
}

/// As [`protocol`], right after the run: what its walks found, in the same context, is not looked for again.
pub fn protocol_of_run(context: &Context<'_>, transcript: &Transcript, walks: &Walks) -> ProtocolRecord {
    of_runs(context, &[(context, transcript)], &vec![0; context.plan.cases.len()], Some(walks))
}

/// Judges the exchanges of several runs against one target, such as the shards of a run, as those of one run. Each case is
/// judged in the run that `run_of` names for its position in the plan; levels are judged in `context`, on all cases. All plans
/// have the same cases in the same order.
pub fn joined(context: &Context<'_>, runs: &[(&Context<'_>, &Transcript)], run_of: &[usize]) -> ProtocolRecord {
    of_runs(context, runs, run_of, None)
}

fn of_runs(
    context: &Context<'_>,
    runs: &[(&Context<'_>, &Transcript)],
    run_of: &[usize],
    walks: Option<&Walks>,
) -> ProtocolRecord {
    let plan = context.plan;
    let knowledge = plan.knowledge;
    let swept = Swept::join(runs.iter().map(|(context, transcript)| Swept::new(context, transcript)));
    let indices: Vec<usize> = (0..plan.cases.len()).collect();
    let judged = parallel::map(parallel::processors(), &indices, |index| {
        let (context, transcript) = runs[run_of[*index]];
        let ready = &context.plan.cases[*index];
        let gate = gate(context, ready);
        let found = transcript.cases.get(*index).and_then(Option::as_ref);
        let known = walks.map(|walks| Known { walks, position: *index });
        let record = case_of_run(context, ready, &gate, (found, known), &swept, transcript.cut_short.as_deref());
        (matches!(gate, Gate::NotRun { optional: true, .. }), record)
    });
    let optional: BTreeMap<String, bool> =
        judged.iter().filter(|(is_optional, _)| *is_optional).map(|(_, record)| (record.id.clone(), true)).collect();
    let mut cases: Vec<CaseRecord> = judged.into_iter().map(|(_, record)| record).collect();
    let claimed = context.features.claimed;
    let out_of_reach: BTreeSet<&str> =
        plan.cases.iter().filter(|ready| is_out_of_reach(context, ready)).map(|ready| ready.id.as_str()).collect();
    let measured =
        cases.iter().zip(&plan.cases).any(|(case, ready)| !ready.demand.is_met_by(claimed) && case.reason.is_none());
    let measured = measured.then(|| {
        let all = plan.knowledge.manifest.levels.all();
        levels::levels(
            context,
            &requirements(plan, &cases, all, &out_of_reach),
            &cases,
            &optional,
            all,
            &BTreeSet::new(),
        )
    });
    set_beyond_aside(context, &mut cases);
    let (waivers, waived) = waive(plan, &mut cases);
    mistakes::name(&mut cases, |index| runs[run_of[index]].0);
    let requirements = requirements(plan, &cases, claimed, &out_of_reach);
    let mut levels = levels::levels(context, &requirements, &cases, &optional, claimed, &waived);
    for (level, measured) in levels.iter_mut().zip(measured.into_iter().flatten()) {
        level.met = !level.claimed && measured.outcome == Grant::Granted;
    }
    let mut features = features_of(runs);
    explain_blocked(context, &mut features, &cases, &requirements);
    ProtocolRecord {
        protocol: knowledge.protocol.slug().to_owned(),
        spec: knowledge.catalogue.spec.clone(),
        suite_hash: knowledge.hash.clone(),
        replay: String::new(),
        exploration: None,
        levels,
        // The report derives them.
        causes: Vec::new(),
        features,
        requirements,
        cases,
        hosts: runs.first().map(|(_, transcript)| transcript.hosts.clone()).unwrap_or_default(),
        strays: runs.iter().flat_map(|(_, transcript)| transcript.strays.iter().cloned()).collect(),
        more_strays: runs.iter().map(|(_, transcript)| transcript.more_strays).sum(),
        waivers,
    }
}

/// The features for the record, each from the first run that probed it.
fn features_of(runs: &[(&Context<'_>, &Transcript)]) -> Vec<FeatureRecord> {
    let mut records: Vec<FeatureRecord> = Vec::new();
    for record in runs.iter().flat_map(|(context, transcript)| features::records(context, transcript)) {
        match records.iter_mut().find(|known| known.feature == record.feature) {
            None => records.push(record),
            Some(known) if known.state == FeatureState::Unknown => *known = record,
            Some(_) => {}
        }
    }
    records
}

/// Writes down for each prerequisite that the target lacks how many cases it blocks, and which violated requirements are about it.
fn explain_blocked(
    context: &Context<'_>,
    records: &mut [FeatureRecord],
    cases: &[CaseRecord],
    requirements: &[RequirementRecord],
) {
    let features = &context.plan.knowledge.manifest.features;
    // Where several transports were probed, the name of a feature ends with the suffix of its transport.
    let has_several = records.iter().any(|record| record.feature.contains('@'));
    for feature in features.iter().filter(|feature| !feature.prerequisite_of.is_empty()) {
        let why = lacks(feature);
        for record in records.iter_mut().filter(|record| record.state == FeatureState::Absent) {
            let Some(suffix) = record.feature.strip_prefix(feature.name.value.as_str()) else { continue };
            if !suffix.is_empty() && !suffix.starts_with('@') {
                continue;
            }
            let here = |case: &&CaseRecord| !has_several || case.transport.suffix() == suffix;
            let blocked = cases.iter().filter(here).filter(|case| case.because == why).count();
            record.blocks = u64::try_from(blocked).unwrap_or(u64::MAX);
            if blocked > 0 {
                let violated = requirements.iter().filter(|found| found.verdict == Verdict::Fail);
                let about = violated.filter(|found| feature.is_judged_by(&found.id));
                record.explained_by = about.map(|found| found.id.clone()).collect();
            }
        }
    }
}

/// Judges one case.
pub fn case(
    context: &Context<'_>,
    ready: &ReadyCase<'_>,
    gate: &Gate,
    transcript: Option<&CaseTranscript>,
    swept: &Swept<'_>,
    cut_short: Option<&str>,
) -> CaseRecord {
    case_of_run(context, ready, gate, (transcript, None), swept, cut_short)
}

/// Judges the case at a position of the plan right after it ran, as [`protocol_of_run`] does.
pub fn case_that_ran(context: &Context<'_>, position: usize, transcript: &CaseTranscript, walks: &Walks) -> CaseRecord {
    let known = (Some(transcript), Some(Known { walks, position }));
    case_of_run(context, &context.plan.cases[position], &Gate::Open, known, &Swept::default(), None)
}

/// What the walks of a run found, and the position in the plan of the case that is judged.
#[derive(Clone, Copy)]
struct Known<'w> {
    walks: &'w Walks,
    position: usize,
}

fn case_of_run(
    context: &Context<'_>,
    ready: &ReadyCase<'_>,
    gate: &Gate,
    (transcript, known): (Option<&CaseTranscript>, Option<Known<'_>>),
    swept: &Swept<'_>,
    cut_short: Option<&str>,
) -> CaseRecord {
    let mut record = CaseRecord {
        id: ready.id.clone(),
        transport: ready.transport,
        started_ms: 0,
        twin_started_ms: 0,
        retry: 0,
        about: ready.case.about.clone(),
        verdict: Verdict::NotRun,
        reason: None,
        because: String::new(),
        covers: ready.covers.iter().map(ToString::to_string).collect(),
        outcomes: BTreeMap::new(),
        elapsed_ms: 0,
        at: ready.case.name.span.place(),
        findings: Vec::new(),
        readings: Vec::new(),
        exchanges: Exchanges::default(),
        twin: Exchanges::default(),
        twin_of: String::new(),
        swept_from: Vec::new(),
        edits: Vec::new(),
        replay: String::new(),
    };
    let all = |record: &mut CaseRecord, verdict: Verdict| {
        record.verdict = verdict;
        record.outcomes = record.covers.iter().map(|id| (id.clone(), verdict)).collect();
    };
    match (gate, transcript) {
        (Gate::NotRun { reason, because, .. }, _) => {
            record.reason = Some(*reason);
            record.because.clone_from(because);
            all(&mut record, Verdict::NotRun);
        }
        (Gate::Inconclusive(because), _) => {
            record.because.clone_from(because);
            all(&mut record, Verdict::Inconclusive);
        }
        (Gate::Open, _) if ready.case.is_sweep() => swept.case(context, ready, &mut record),
        (Gate::Open, None) => {
            let why = cut_short.and_then(|why| why.lines().next());
            record.because = why.unwrap_or("the case did not run").to_owned();
            all(&mut record, Verdict::Error);
        }
        (Gate::Open, Some(transcript)) => {
            record.started_ms = transcript.started_ms;
            record.twin_started_ms = transcript.twin_started_ms;
            record.retry = transcript.retry;
            record.elapsed_ms = transcript.elapsed_ms;
            record.exchanges.clone_from(&transcript.exchanges);
            record.twin.clone_from(&transcript.twin);
            if let Some(of) = sender_of_twin(context, transcript) {
                record.twin_of.clone_from(&of.id);
            }
            walk_through(context, ready, transcript, known, &mut record);
            charge_once(context, ready, &mut record);
        }
    }
    record
}

/// Where the target lacks a prerequisite, a failure is charged to the requirements that are about it, and not to the others
/// that the case covers.
fn charge_once(context: &Context<'_>, ready: &ReadyCase<'_>, record: &mut CaseRecord) {
    if record.verdict != Verdict::Fail {
        return;
    }
    for feature in context.unmet_prerequisites(ready) {
        let excused = |id: &str, verdict: Verdict| verdict == Verdict::Fail && !feature.is_judged_by(id);
        record.findings.retain(|finding| !excused(&finding.requirement, finding.verdict));
        for (id, outcome) in &mut record.outcomes {
            if excused(id, *outcome) {
                *outcome = Verdict::Inconclusive;
                record.because = lacks(feature);
            }
        }
    }
    record.verdict = record.outcomes.values().copied().max().unwrap_or(Verdict::NotRun);
}

/// The case that sent the twin of a case, if another one did.
fn sender_of_twin<'c>(context: &'c Context<'_>, transcript: &CaseTranscript) -> Option<&'c ReadyCase<'c>> {
    transcript.twin_of.and_then(|of| context.plan.cases.get(of))
}

fn walk_through(
    context: &Context<'_>,
    ready: &ReadyCase<'_>,
    transcript: &CaseTranscript,
    known: Option<Known<'_>>,
    record: &mut CaseRecord,
) {
    let again = || {
        let mut walk = Walk::retry(context, ready, Part::Case, transcript.started_ms, transcript.retry);
        walk.replay(&transcript.exchanges, transcript.stopped.as_deref());
        walk.finish()
    };
    let walked = known.and_then(|known| known.walks.over(known.position, Part::Case, &transcript.exchanges));
    let judged = walked.map(|walked| walked.judged);
    debug_assert!(judged.as_ref().is_none_or(|judged| *judged == again()), "{}: {judged:?}", ready.id);
    write_down(judged.unwrap_or_else(again), record);
    let decided = matches!(record.verdict, Verdict::Pass | Verdict::Warn | Verdict::Fail);
    if ready.has_twin && decided {
        let (sender, retry) = match sender_of_twin(context, transcript) {
            Some(sender) => (sender, 0),
            None => (ready, transcript.retry),
        };
        let again = || {
            let mut walk = Walk::retry(context, sender, Part::Twin, transcript.twin_started_ms, retry);
            walk.replay(&transcript.twin, transcript.stopped.as_deref());
            walk.refused()
        };
        let sent_by = |known: Known<'_>| transcript.twin_of.unwrap_or(known.position);
        let walked = known.and_then(|known| known.walks.over(sent_by(known), Part::Twin, &transcript.twin));
        let refused = walked.map(|walked| walked.refused);
        debug_assert!(refused.as_ref().is_none_or(|refused| *refused == again()), "{}: {refused:?}", ready.id);
        let conclusive = ready.case.stands_alone && record.verdict == Verdict::Fail;
        if let Some(why) = refused.unwrap_or_else(again).filter(|_| !conclusive) {
            // The verdict on an edited message is meaningless if the target also rejects the valid message.
            record.verdict = Verdict::Inconclusive;
            record.because = format!("the target rejected the twin (the same message without the edits): {why}");
            for outcome in record.outcomes.values_mut() {
                *outcome = Verdict::Inconclusive;
            }
        }
    }
    if matches!(record.verdict, Verdict::Pass | Verdict::Warn)
        && let Some(floor) = features::below_floor(context, ready)
    {
        // A target that accepts everything, or sends the same answer to everything, passes by chance.
        record.verdict = Verdict::Inconclusive;
        record.because = features::below_floor_because(floor);
        for outcome in record.outcomes.values_mut() {
            *outcome = Verdict::Inconclusive;
        }
    }
    if record.verdict != Verdict::NotRun {
        record.reason = None;
    }
}

/// Applies waivers: a waived failure counts as not run; a waiver without a failure is stale. Returns the requirements that
/// were not met and are waived, too.
fn waive(plan: &Plan<'_>, cases: &mut [CaseRecord]) -> (Vec<WaiverRecord>, BTreeSet<String>) {
    let mut records = Vec::new();
    let mut waived = BTreeSet::new();
    for (index, waiver) in plan.target.waivers.iter().enumerate() {
        let what = match &waiver.what {
            WaiverSubject::Case(pattern) => pattern.clone(),
            WaiverSubject::Requirement(id) => id.clone(),
        };
        let (mut excuses, mut passes, mut not_run, mut not_selected) = (false, false, false, false);
        for (ready, case) in plan.cases.iter().zip(cases.iter_mut()) {
            let excused: Vec<String> = match &waiver.what {
                WaiverSubject::Case(_) if ready.waiver == Some(index) => case.covers.clone(),
                WaiverSubject::Requirement(id) => {
                    case.covers.iter().filter(|covered| *covered == id).cloned().collect()
                }
                WaiverSubject::Case(_) => Vec::new(),
            };
            if excused.is_empty() {
                continue;
            }
            let bad = |verdict: &Verdict| matches!(verdict, Verdict::Fail | Verdict::Error | Verdict::Inconclusive);
            if excused.iter().filter_map(|id| case.outcomes.get(id)).any(bad) {
                excuses = true;
                for id in &excused {
                    if case.outcomes.insert(id.clone(), Verdict::NotRun).is_some_and(|verdict| bad(&verdict)) {
                        waived.insert(id.clone());
                    }
                }
                case.verdict = case.outcomes.values().copied().max().unwrap_or(Verdict::NotRun);
                if case.verdict == Verdict::NotRun {
                    case.reason = Some(NotRun::Waived);
                    case.because.clone_from(&waiver.reason);
                }
                for finding in &mut case.findings {
                    if excused.contains(&finding.requirement) {
                        finding.verdict = Verdict::NotRun;
                    }
                }
            } else if case.reason == Some(NotRun::NotSelected) {
                not_selected = true;
            } else if case.verdict == Verdict::NotRun {
                not_run = true;
            } else {
                passes = true;
            }
        }
        let stale = match (passes, not_run) {
            // A case that was not selected might still need it.
            _ if excuses || not_selected => None,
            (true, false) => Some("the waived cases pass".to_owned()),
            (true, true) => Some("the waived cases pass or were not run".to_owned()),
            (false, true) => Some("the waived cases were not run".to_owned()),
            (false, false) => Some("no case matches it".to_owned()),
        };
        records.push(WaiverRecord { what, reason: waiver.reason.clone(), at: waiver.span.place(), stale });
    }
    (records, waived)
}

/// Whether a case cannot run because the target has no way to it that proofmark knows.
fn is_out_of_reach(context: &Context<'_>, ready: &ReadyCase<'_>) -> bool {
    let features = &context.plan.knowledge.manifest.features;
    let is_absent = |feature: &Feature| {
        feature.absent == Absent::Inconclusive
            && context.features.state(ready.transport, &feature.name) == FeatureState::Absent
    };
    features
        .iter()
        .any(|feature| ready.case.needs.iter().any(|need| need.value == feature.name.value) && is_absent(feature))
}

/// The verdict of a requirement from those of its cases: the worst. A case that is out of reach does not undo what the others
/// have shown.
fn verdict_of(id: &str, covering: &[&CaseRecord], out_of_reach: &BTreeSet<&str>) -> Verdict {
    let outcomes = |reachable: bool| {
        let cases = covering.iter().filter(move |case| reachable != out_of_reach.contains(case.id.as_str()));
        cases.filter_map(|case| case.outcomes.get(id)).copied().max().unwrap_or(Verdict::NotRun)
    };
    match (outcomes(true), outcomes(false)) {
        (shown @ (Verdict::Pass | Verdict::Warn), Verdict::Inconclusive) => shown,
        (shown, other) => shown.max(other),
    }
}

fn requirements(
    plan: &Plan<'_>,
    cases: &[CaseRecord],
    claimed: LevelSet,
    out_of_reach: &BTreeSet<&str>,
) -> Vec<RequirementRecord> {
    let knowledge = plan.knowledge;
    let levels = &knowledge.manifest.levels;
    let covered: BTreeSet<&RequirementId> =
        knowledge.cases().flat_map(|(_, case)| &case.covers).map(|covered| &covered.requirement).collect();
    let mut covering_of: BTreeMap<&str, Vec<&CaseRecord>> = BTreeMap::new();
    for case in cases {
        for (position, id) in case.covers.iter().enumerate() {
            if !case.covers[..position].contains(id) {
                covering_of.entry(id).or_default().push(case);
            }
        }
    }
    knowledge
        .catalogue
        .requirements
        .iter()
        .map(|requirement| {
            let id = &requirement.id.value;
            let covering: &[&CaseRecord] = covering_of.get(id.as_str()).map_or(&[], Vec::as_slice);
            let verdict = verdict_of(id.as_str(), covering, out_of_reach);
            let reason = (verdict == Verdict::NotRun).then(|| {
                let of_this_kind = plan.transports.iter().any(|transport| plan.scope.shows(*transport, requirement));
                if !of_this_kind && requirement.testable != Testable::No {
                    return Some(NotRun::Unobservable);
                }
                if !plan.scope.claims_role_of(requirement) {
                    return Some(NotRun::NotClaimed);
                }
                let reasons = || covering.iter().filter_map(|case| case.reason);
                // The most informative reason first.
                [NotRun::Waived, NotRun::NotExercised, NotRun::NotSelected, NotRun::NotClaimed, NotRun::Unobservable]
                    .into_iter()
                    .find(|wanted| reasons().any(|reason| reason == *wanted))
                    // A case ran, but what it says of this requirement never came up.
                    .or_else(|| {
                        covering.iter().any(|case| case.verdict != Verdict::NotRun).then_some(NotRun::NotExercised)
                    })
                    .or_else(|| (!claimed.includes(levels.closure(&requirement.level))).then_some(NotRun::NotClaimed))
            });
            let reason = reason.flatten();
            // A case that cannot run at this target still covers the requirement.
            let is_covered = !covering.is_empty() || reason.is_some() && covered.contains(id);
            let uncovered = (!is_covered).then(|| match (&requirement.testable, &requirement.why_not) {
                (Testable::No, Some(why)) => format!("untestable: {why}"),
                _ => "gap".to_owned(),
            });
            RequirementRecord {
                id: id.to_string(),
                section: requirement.section.clone(),
                keyword: requirement.keyword.word().to_owned(),
                level: requirement.level.value.clone(),
                summary: requirement.summary.clone(),
                verdict,
                reason,
                uncovered,
                errata: requirement.errata.clone(),
                cases: covering.iter().map(|case| case.id.clone()).collect(),
            }
        })
        .collect()
}

/// Whether known failures are the only reason why a requirement was not met.
fn is_known(protocol: &ProtocolRecord, because: &Because, known: &BTreeSet<&str>) -> bool {
    if known.is_empty() || !matches!(because.verdict, Verdict::Fail | Verdict::Inconclusive) {
        return false;
    }
    let stands_in_the_way = |case: &&CaseRecord| {
        let outcome = case.outcomes.get(&because.requirement);
        matches!(outcome, Some(Verdict::Fail | Verdict::Inconclusive | Verdict::Error))
    };
    protocol.cases.iter().filter(stands_in_the_way).all(|case| known.contains(case.id.as_str()))
}

/// Whether a requirement is violated by a case that is not a known failure.
fn is_violated_anew(protocol: &ProtocolRecord, because: &Because, known: &BTreeSet<&str>) -> bool {
    let fails = |case: &&CaseRecord| case.outcomes.get(&because.requirement) == Some(&Verdict::Fail);
    let mut failing = protocol.cases.iter().filter(fails);
    because.verdict == Verdict::Fail && (known.is_empty() || failing.any(|case| !known.contains(case.id.as_str())))
}

/// Totals, exit code and conclusion of a run whose protocols are judged (DESIGN section 3).
pub fn conclude(record: &mut RunRecord) {
    if let Some((why, advice)) = record.summary.cut_short.as_deref().and_then(|why| why.split_once('\n')) {
        record.summary.advice = advice.lines().map(str::to_owned).collect();
        record.summary.cut_short = Some(why.to_owned());
    }
    crate::baseline::apply(record);
    let known: BTreeSet<&str> =
        record.baseline.iter().flat_map(|baseline| &baseline.known).map(String::as_str).collect();
    let mut known_failures = 0_u64;
    let mut not_granted_as_known = Vec::new();
    let mut totals = crate::record::CaseTotals::default();
    let mut undecided = 0_u64;
    let mut stale = 0_u64;
    let mut waived = 0_u64;
    let mut refused = Vec::new();
    let mut not_granted = Vec::new();
    for protocol in &record.protocols {
        let demands = |requirement: &&RequirementRecord| requirement.is_demand();
        let demanded: BTreeSet<&str> =
            protocol.requirements.iter().filter(demands).map(|requirement| requirement.id.as_str()).collect();
        for case in &protocol.cases {
            totals.count(case.verdict);
            let open = |(id, verdict): (&String, &Verdict)| {
                matches!(verdict, Verdict::Inconclusive | Verdict::Error) && demanded.contains(id.as_str())
            };
            let is_known = known.contains(case.id.as_str());
            known_failures += u64::from(is_known && case.verdict == Verdict::Fail);
            undecided += u64::from(!is_known && case.outcomes.iter().any(open));
        }
        stale += protocol.waivers.iter().filter(|waiver| waiver.stale.is_some()).count() as u64;
        for level in protocol.levels.iter().filter(|level| record.asked.levels.contains(&level.level)) {
            let name = format!("{} {}", protocol.protocol, level.level);
            match level.outcome {
                Grant::Granted => {}
                Grant::GrantedWaived => waived += level.waived.len() as u64,
                Grant::Refused | Grant::Undecided => {
                    // A level that only known failures stand in the way of is not granted, and does not fail the run.
                    let mut others =
                        level.because.iter().filter(|because| !is_known(protocol, because, &known)).peekable();
                    let is_as_known =
                        others.peek().is_none() && !level.because.is_empty() && level.uncovered.is_empty();
                    if others.any(|because| is_violated_anew(protocol, because, &known)) {
                        refused.push(name);
                    } else if is_as_known {
                        not_granted_as_known.push(name);
                    } else {
                        not_granted.push(name);
                    }
                }
            }
        }
    }
    let plural = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let new_failures = totals.fail - known_failures;
    let also_known = match known.len() as u64 {
        0 => String::new(),
        known => format!(", {}", plural(known, "known failure", "known failures")),
    };
    let baseline = record.baseline.as_ref();
    let entries = || baseline.into_iter().flat_map(|baseline| &baseline.entries);
    let expired = entries().filter(|entry| entry.expired).count() as u64;
    let stale_entries = entries().filter(|entry| !entry.stale.is_empty()).count() as u64;
    let unexpected = baseline.map_or(0, |baseline| baseline.unexpected_not_run.len() as u64);
    let file = baseline.map_or("", |baseline| baseline.file.as_str());
    let (exit_code, conclusion) = if new_failures > 0 || !refused.is_empty() {
        let expired = match expired {
            0 => String::new(),
            expired => format!("; {} of {file} expired", plural(expired, "entry", "entries")),
        };
        let failures = match baseline {
            None => plural(totals.fail, "case fails", "cases fail"),
            Some(_) => format!("{}{also_known}", plural(new_failures, "new failure", "new failures")),
        };
        (1, format!("not conformant: {failures}{expired}"))
    } else if stale > 0 {
        (1, format!("{}: remove from the target file", plural(stale, "stale waiver", "stale waivers")))
    } else if expired > 0 {
        (1, format!("{} of {file} expired{also_known}", plural(expired, "entry", "entries")))
    } else if stale_entries > 0 {
        let entries = plural(stale_entries, "stale entry", "stale entries");
        (1, format!("{entries} in {file}: `proofmark baseline update` removes what no longer fails{also_known}"))
    } else if totals.judged() == 0 {
        let why = record.summary.cut_short.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        (3, format!("undecided: no case was judged{why}"))
    } else if let Some(why) = &record.summary.cut_short {
        (3, format!("undecided: the run was cut short: {why}"))
    } else if unexpected > 0 {
        let cases = plural(unexpected, "case did not run and is", "cases did not run and are");
        (1, format!("{cases} not listed under `expected-not-run` in {file}{also_known}"))
    } else if undecided > 0 {
        (3, format!("undecided: {} inconclusive", plural(undecided, "case was", "cases were")))
    } else if let Some(shard) = &record.asked.shard {
        // A shard has too few cases for a level.
        let passed = plural(totals.pass + totals.warn, "case", "cases");
        let result = if known.is_empty() { "conformant" } else { "no new failures" };
        (0, format!("{result} as far as shard {shard} goes: {passed} passed{also_known}; it decides no level"))
    } else if !not_granted.is_empty() {
        (3, format!("undecided: {} could not be granted", not_granted.join(", ")))
    } else {
        // A level that is not granted is not named as one that is.
        let is_granted =
            |level: &&String| !not_granted_as_known.iter().any(|name: &String| name.ends_with(&format!(" {level}")));
        let asked = record.asked.levels.iter().filter(is_granted).cloned().collect::<Vec<_>>().join(", ");
        let granted = match (asked.as_str(), waived) {
            ("", 0) => String::new(),
            ("", waived) => format!(", {waived} waived"),
            (_, 0) => format!(", {asked} granted"),
            (_, waived) => format!(", {asked} granted, {waived} waived"),
        };
        let refused = match not_granted_as_known.as_slice() {
            [] => String::new(),
            names => format!("; not granted because of known failures: {}", names.join(", ")),
        };
        let result = if known.is_empty() { "conformant" } else { "no new failures" };
        let passed = plural(totals.pass + totals.warn, "case", "cases");
        (0, format!("{result}: {passed} passed{granted}{also_known}{refused}"))
    };
    record.summary.cases = totals;
    record.summary.exit_code = exit_code;
    record.summary.conclusion = conclusion;
}
