//! Judging: from what was exchanged to verdicts. Pure: no clock, no network, no environment.
//!
//! `run` drives the same [`Walk`] while it sends, so that what is sent next depends on nothing that a later judgement
//! would not see; what counts is always the walk over the finished [`Transcript`], which `rejudge` repeats. Start with
//! [`protocol`], then [`Walk`].

mod features;
mod levels;
mod sweep;
mod tally;
mod walk;

use std::collections::BTreeMap;

use crate::exchange::{Exchange, Transport};
use crate::parallel;
use crate::plan::{Plan, ReadyCase};
use crate::protocol::Sight;
use crate::record::{CaseRecord, FeatureState, ProtocolRecord, RequirementRecord, RunRecord, WaiverRecord};
use crate::requirement::Testable;
use crate::suite::Absent;
use crate::target::WaiverSubject;
use crate::template::Clock;
use crate::verdict::{Grant, NotRun, Profile, Verdict};

pub use features::Features;
pub use sweep::Swept;
pub use walk::{Part, Planned, Stop, Walk};

/// What a judgement depends on besides the plan and the transcript. All of it is in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Decides generated values.
    pub seed: u64,
    /// Decides generated identities.
    pub identity_seed: u64,
    /// Start of the run.
    pub clock: Clock,
    /// Which findings count.
    pub profile: Profile,
}

impl Facts {
    /// The instant that many milliseconds after the start of the run.
    pub fn after(&self, milliseconds: u64) -> Clock {
        Clock(self.clock.0 + i128::from(milliseconds) * 1_000_000)
    }
}

/// What was exchanged over one protocol.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// What each probe exchanged, by path and in the order of the features.
    pub probes: Vec<(Transport, Vec<Exchange>)>,
    /// What each case exchanged, in the order of the plan; `None` for a case that was not put.
    pub cases: Vec<Option<CaseTranscript>>,
    /// Why the run ended before every case was put, if it did.
    pub cut_short: Option<String>,
}

/// What one case exchanged.
#[derive(Clone, Debug, Default)]
pub struct CaseTranscript {
    /// The case itself.
    pub exchanges: Vec<Exchange>,
    /// The same case without its edits.
    pub twin: Vec<Exchange>,
    /// Why it ended before its last step, if it did for a reason that no exchange shows.
    pub stopped: Option<String>,
    /// When its first step was taken, in milliseconds after the start of the run.
    pub started_ms: u64,
    /// When the first step of its twin was taken.
    pub twin_started_ms: u64,
    /// From its first step to its last, in milliseconds.
    pub elapsed_ms: u64,
}

/// Everything that a walk looks at besides the exchanges.
pub struct Context<'p> {
    /// The plan.
    pub plan: &'p Plan<'p>,
    /// The facts of the run.
    pub facts: Facts,
    /// What the target offers.
    pub features: Features,
}

impl Context<'_> {
    /// What an answer over `transport` is seen in the light of.
    pub fn sight(&self, transport: Transport) -> Sight<'_> {
        let known = self.features.known(transport);
        Sight { target: self.plan.target, transport, clock: self.facts.clock, known }
    }
}

/// Whether a case is put to the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is.
    Open,
    /// It is not.
    NotRun {
        /// Why.
        reason: NotRun,
        /// Why, in words.
        because: String,
        /// Whether it is only that the target leaves out an option that it may leave out.
        optional: bool,
    },
    /// It cannot be, and that leaves the question open.
    Inconclusive(String),
}

/// Decides whether a case is put.
pub fn gate(context: &Context<'_>, ready: &ReadyCase<'_>) -> Gate {
    if let Some((reason, because)) = &ready.skip {
        return Gate::NotRun { reason: *reason, because: because.clone(), optional: false };
    }
    let manifest = &context.plan.knowledge.manifest;
    let transport = manifest.transports.iter().find(|(word, _)| word.value == ready.transport.name());
    if let Some((word, feature)) = transport
        && context.features.state(ready.transport, feature) != FeatureState::Offered
    {
        let because = format!("the target does not offer {} here", word.value);
        return Gate::NotRun { reason: NotRun::NotClaimed, because, optional: true };
    }
    if ready.level > context.features.claimed && !may_reach(context, ready) {
        let name = |index: usize| manifest.levels.get(index).map_or("", |level| level.value.as_str());
        return Gate::NotRun {
            reason: NotRun::NotClaimed,
            because: format!(
                "it needs {}, and the target claims {}",
                name(ready.level),
                name(context.features.claimed)
            ),
            optional: false,
        };
    }
    for need in &ready.case.needs {
        let Some(feature) = manifest.features.iter().find(|feature| feature.name.value == need.value) else { continue };
        if context.features.state(ready.transport, need) != FeatureState::Absent {
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
    Gate::Open
}

/// Whether a target shows that it may have the level of a case although it does not claim it.
fn may_reach(context: &Context<'_>, ready: &ReadyCase<'_>) -> bool {
    let knowledge = context.plan.knowledge;
    let between = (context.features.claimed + 1)..=ready.level;
    between.into_iter().all(|position| {
        let level = knowledge.manifest.levels.get(position).map(|level| level.value.as_str());
        let shown = knowledge.manifest.beyond.iter().find(|(beyond, _)| Some(beyond.value.as_str()) == level);
        shown.is_some_and(|(_, feature)| context.features.state(ready.transport, feature) == FeatureState::Offered)
    })
}

/// Takes what was put beyond the claim of the target out of the reckoning: nobody is held to what he did not promise.
fn set_beyond_aside(context: &Context<'_>, cases: &mut [CaseRecord]) {
    let manifest = &context.plan.knowledge.manifest;
    let name = |index: usize| manifest.levels.get(index).map_or("", |level| level.value.as_str());
    for (ready, case) in context.plan.cases.iter().zip(cases.iter_mut()) {
        if ready.level <= context.features.claimed || case.reason.is_some() {
            continue;
        }
        case.because = format!(
            "it needs {}, and the target claims {}; it was put to see whether that level is met, and counts for nothing else",
            name(ready.level),
            name(context.features.claimed),
        );
        case.verdict = Verdict::NotRun;
        case.reason = Some(NotRun::NotClaimed);
        case.outcomes.values_mut().for_each(|outcome| *outcome = Verdict::NotRun);
        // The exchanges stay, so that judging the record again finds the same levels met.
        case.findings.clear();
        case.readings.clear();
    }
}

/// Judges what was exchanged over one protocol.
pub fn protocol(context: &Context<'_>, transcript: &Transcript) -> ProtocolRecord {
    let plan = context.plan;
    let knowledge = plan.knowledge;
    let mut optional = BTreeMap::new();
    let mut cases: Vec<CaseRecord> = Vec::with_capacity(plan.cases.len());
    let swept = Swept::new(context, transcript);
    let indices: Vec<usize> = (0..plan.cases.len()).collect();
    let judged = parallel::map(parallel::processors(), &indices, |index| {
        let ready = &plan.cases[*index];
        let gate = gate(context, ready);
        let found = transcript.cases.get(*index).and_then(Option::as_ref);
        let record = case(context, ready, &gate, found, &swept, transcript.cut_short.as_deref());
        (matches!(gate, Gate::NotRun { optional: true, .. }), record)
    });
    for (is_optional, record) in judged {
        if is_optional {
            optional.insert(record.id.clone(), true);
        }
        cases.push(record);
    }
    let claimed = context.features.claimed;
    let measured = cases.iter().zip(&plan.cases).any(|(case, ready)| ready.level > claimed && case.reason.is_none());
    let measured = measured.then(|| {
        let top = plan.knowledge.manifest.levels.len();
        levels::levels(context, &requirements(plan, &cases, top), &cases, &optional, top)
    });
    set_beyond_aside(context, &mut cases);
    let waivers = waive(plan, &mut cases);
    let requirements = requirements(plan, &cases, claimed);
    let mut levels = levels::levels(context, &requirements, &cases, &optional, claimed);
    for (level, measured) in levels.iter_mut().zip(measured.into_iter().flatten()) {
        level.met = !level.claimed && measured.outcome == Grant::Granted;
    }
    ProtocolRecord {
        protocol: knowledge.protocol.slug().to_owned(),
        spec: knowledge.catalogue.spec.clone(),
        suite_hash: knowledge.hash.clone(),
        levels,
        features: features::records(context, transcript),
        requirements,
        cases,
        waivers,
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
    let mut record = CaseRecord {
        id: ready.id.clone(),
        transport: ready.transport,
        started_ms: 0,
        twin_started_ms: 0,
        about: ready.case.about.clone(),
        verdict: Verdict::NotRun,
        reason: None,
        because: String::new(),
        covers: ready.covers.iter().map(|id| (*id).to_owned()).collect(),
        outcomes: BTreeMap::new(),
        elapsed_ms: 0,
        at: ready.case.name.span.place(),
        findings: Vec::new(),
        readings: Vec::new(),
        exchanges: Vec::new(),
        twin: Vec::new(),
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
            record.because = cut_short.unwrap_or("the case was not put").to_owned();
            all(&mut record, Verdict::Error);
        }
        (Gate::Open, Some(transcript)) => {
            record.started_ms = transcript.started_ms;
            record.twin_started_ms = transcript.twin_started_ms;
            record.elapsed_ms = transcript.elapsed_ms;
            record.exchanges.clone_from(&transcript.exchanges);
            record.twin.clone_from(&transcript.twin);
            walk_through(context, ready, transcript, &mut record);
        }
    }
    record
}

/// What a walk found, into the record of its case.
fn write_down(judged: walk::Judged, record: &mut CaseRecord) {
    record.findings = judged.findings;
    record.readings = judged.readings;
    record.edits = judged.edits;
    record.outcomes = judged.outcomes;
    record.because = judged.because;
    record.reason = judged.reason;
    record.verdict = record.outcomes.values().copied().max().unwrap_or(Verdict::NotRun);
}

fn walk_through(context: &Context<'_>, ready: &ReadyCase<'_>, transcript: &CaseTranscript, record: &mut CaseRecord) {
    let mut walk = Walk::new(context, ready, walk::Part::Case, transcript.started_ms);
    walk.replay(&transcript.exchanges, transcript.stopped.as_deref());
    write_down(walk.finish(), record);
    let decided = matches!(record.verdict, Verdict::Pass | Verdict::Warn | Verdict::Fail);
    if ready.case.has_edits() && decided {
        let mut walk = Walk::new(context, ready, walk::Part::Twin, transcript.twin_started_ms);
        walk.replay(&transcript.twin, transcript.stopped.as_deref());
        let conclusive = ready.case.stands_alone && record.verdict == Verdict::Fail;
        if let Some(why) = walk.refused().filter(|_| !conclusive) {
            // A refusal, or an acceptance, means nothing beside a well-built message that is refused too.
            record.verdict = Verdict::Inconclusive;
            record.because = format!("the twin, which is the same case without its edits, was not accepted: {why}");
            for outcome in record.outcomes.values_mut() {
                *outcome = Verdict::Inconclusive;
            }
        }
    }
    if matches!(record.verdict, Verdict::Pass | Verdict::Warn)
        && let Some(floor) = features::below_floor(context, ready.transport)
    {
        // Who accepts everything, or answers everything alike, agrees by chance.
        record.verdict = Verdict::Inconclusive;
        record.because = format!("the target did not show what nothing passes without: {}", floor.about);
        for outcome in record.outcomes.values_mut() {
            *outcome = Verdict::Inconclusive;
        }
    }
    if record.verdict != Verdict::NotRun {
        record.reason = None;
    }
}

/// Applies waivers: what is excused counts as not run; what needs no excuse makes the waiver stale.
fn waive(plan: &Plan<'_>, cases: &mut [CaseRecord]) -> Vec<WaiverRecord> {
    let mut records = Vec::new();
    for (index, waiver) in plan.target.waivers.iter().enumerate() {
        let what = match &waiver.what {
            WaiverSubject::Case(pattern) => pattern.clone(),
            WaiverSubject::Requirement(id) => id.clone(),
        };
        let mut stale = Some("it matches nothing".to_owned());
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
                stale = None;
                for id in &excused {
                    case.outcomes.insert(id.clone(), Verdict::NotRun);
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
            } else if case.verdict == Verdict::NotRun {
                // What was not put needs an excuse no more and no less than before.
                stale = stale.filter(|_| false).or(None);
            } else if stale.is_some() {
                stale = Some("what it excuses passes now".to_owned());
            }
        }
        records.push(WaiverRecord { what, reason: waiver.reason.clone(), at: waiver.span.place(), stale });
    }
    records
}

fn requirements(plan: &Plan<'_>, cases: &[CaseRecord], claimed: usize) -> Vec<RequirementRecord> {
    let knowledge = plan.knowledge;
    knowledge
        .catalogue
        .requirements
        .iter()
        .map(|requirement| {
            let id = &requirement.id.value;
            let covering: Vec<&CaseRecord> = cases.iter().filter(|case| case.covers.contains(id)).collect();
            let verdict =
                covering.iter().filter_map(|case| case.outcomes.get(id)).copied().max().unwrap_or(Verdict::NotRun);
            let reason = (verdict == Verdict::NotRun).then(|| {
                let of_this_kind = plan.transports.iter().any(|transport| requirement.testable.at(transport.kind()));
                if !of_this_kind && requirement.testable != Testable::No {
                    return Some(NotRun::Unobservable);
                }
                let reasons = || covering.iter().filter_map(|case| case.reason);
                // The reason that says most: what was set aside, then what never came up, then what was not asked.
                [NotRun::Waived, NotRun::NotExercised, NotRun::NotSelected, NotRun::NotClaimed, NotRun::Unobservable]
                    .into_iter()
                    .find(|wanted| reasons().any(|reason| reason == *wanted))
                    .or_else(|| (knowledge.level(&requirement.level) > claimed).then_some(NotRun::NotClaimed))
            });
            let uncovered = covering.is_empty().then(|| match (&requirement.testable, &requirement.why_not) {
                (Testable::No, Some(why)) => format!("untestable: {why}"),
                _ => "gap".to_owned(),
            });
            RequirementRecord {
                id: id.clone(),
                section: requirement.section.clone(),
                keyword: requirement.keyword.word().to_owned(),
                level: requirement.level.value.clone(),
                summary: requirement.summary.clone(),
                verdict,
                reason: reason.flatten(),
                uncovered,
                errata: requirement.errata.clone(),
                cases: covering.iter().map(|case| case.id.clone()).collect(),
            }
        })
        .collect()
}

/// Totals, exit code and conclusion of a run whose protocols are judged (DESIGN section 3).
pub fn conclude(record: &mut RunRecord) {
    let mut totals = crate::record::CaseTotals::default();
    let mut undecided = 0_u64;
    let mut stale = 0_u64;
    let mut refused = Vec::new();
    let mut not_granted = Vec::new();
    for protocol in &record.protocols {
        for case in &protocol.cases {
            totals.count(case.verdict);
            let demanded = |id: &String| {
                let found = protocol.requirements.iter().find(|requirement| requirement.id == *id);
                found.is_some_and(|requirement| matches!(requirement.keyword.as_str(), "MUST" | "MUST NOT" | "SHAPE"))
            };
            let open = |(id, verdict): (&String, &Verdict)| {
                matches!(verdict, Verdict::Inconclusive | Verdict::Error) && demanded(id)
            };
            undecided += u64::from(case.outcomes.iter().any(open));
        }
        stale += protocol.waivers.iter().filter(|waiver| waiver.stale.is_some()).count() as u64;
        let asked = record.asked.level.as_deref();
        for level in protocol.levels.iter().filter(|level| Some(level.level.as_str()) == asked) {
            let name = format!("{} {}", protocol.protocol, level.level);
            match level.outcome {
                Grant::Granted => {}
                Grant::Refused => refused.push(name),
                Grant::Undecided => not_granted.push(name),
            }
        }
    }
    let plural = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let (exit_code, conclusion) = if totals.fail > 0 || !refused.is_empty() {
        (1, format!("not conformant: {}", plural(totals.fail, "case fails", "cases fail")))
    } else if stale > 0 {
        (1, format!("{} no longer needed: remove it", plural(stale, "waiver is", "waivers are")))
    } else if totals.judged() == 0 {
        let why = record.summary.cut_short.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        (3, format!("undecided: nothing was judged{why}"))
    } else if let Some(why) = &record.summary.cut_short {
        (3, format!("undecided: the run was cut short: {why}"))
    } else if undecided > 0 {
        (3, format!("undecided: {} no answer that decides", plural(undecided, "case got", "cases got")))
    } else if !not_granted.is_empty() {
        (3, format!("undecided: {} could not be granted", not_granted.join(", ")))
    } else {
        let granted = record.asked.level.as_ref().map(|level| format!(", {level} granted")).unwrap_or_default();
        (0, format!("conformant: {} passed{granted}", plural(totals.pass + totals.warn, "case", "cases")))
    };
    record.summary.cases = totals;
    record.summary.exit_code = exit_code;
    record.summary.conclusion = conclusion;
}
