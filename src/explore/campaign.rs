//! An exploration: runs sequences batch by batch, and confirms what fails in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;

use super::sequence::{self, Planned, Shape, Title};
use super::{End, Finding, Options, Outcome, Progress, Watcher};
use crate::exchange::{Exchange, Transport};
use crate::judge::{self, Gate, Swept};
use crate::plan::{self, Plan};
use crate::protocol::{Model, Move, Offers, Predicted};
use crate::record::{CaseRecord, FeatureState};
use crate::run::Runner;
use crate::spelling::{CaseSpelling, Spellings};
use crate::suite::Case;
use crate::transport::Connections;
use crate::value::Value;
use crate::verdict::Verdict;
use crate::walk::{Context, Facts, Features};

/// Sequences of a batch per concurrent job.
const ROUNDS: usize = 4;

/// Batches without a judged sequence after which the target counts as gone.
const SILENT_BATCHES: usize = 3;

/// Suspicions of one signature that are looked at again, if none is confirmed: each may take seconds.
const TRIES: usize = 4;

/// The operation that a suspicion names if it follows from all answers of a section.
const OF_SECTION: &str = "requests-at-once";

/// Runs sequences against a target until its time is over. `start` is the instant of `facts.clock`; `cancel` turns true when
/// the exploration is to end early.
pub async fn run(
    plan: &Plan<'_>,
    facts: Facts,
    connections: &Connections,
    start: Instant,
    options: &Options,
    cancel: watch::Receiver<bool>,
    watcher: &dyn Watcher,
) -> Outcome {
    let nothing = |why: String| Outcome {
        progress: Progress::default(),
        findings: Vec::new(),
        transitions: Vec::new(),
        end: End::Nothing(why),
    };
    let Some(model) = plan.knowledge.protocol.model() else {
        return nothing(format!("{} has no model yet", plan.knowledge.protocol.slug()));
    };
    let runner = Runner::new(connections, &plan.target.limits, start);
    let features = match options.probed.clone() {
        Some(features) => features,
        None => {
            let all = (0..plan.cases.len()).filter(|index| plan.cases[*index].skip.is_none()).collect();
            let transcript = runner.probe(plan, &all, facts).await;
            if let Some(why) = transcript.cut_short.as_ref().map(|why| why.replace('\n', "; ")) {
                return nothing(why);
            }
            Features::read(plan, facts, &transcript)
        }
    };
    let context = Context { plan, facts, features };
    let campaign = Campaign { model, context: &context, runner: &runner, options, watcher, fresh: AtomicU64::new(0) };
    let mut state = State {
        progress: Progress::default(),
        findings: Vec::new(),
        known: BTreeSet::new(),
        tries: BTreeMap::new(),
        planned: BTreeMap::new(),
        next: 0,
        begun: Instant::now(),
    };
    let end = campaign.go(&mut state, &cancel).await;
    campaign.count(&mut state);
    watcher.progress(&state.progress);
    let transitions = model.transitions().iter().map(|name| (*name).to_owned()).collect();
    Outcome { progress: state.progress, findings: state.findings, transitions, end }
}

pub(super) struct Campaign<'c> {
    pub(super) model: &'c dyn Model,
    pub(super) context: &'c Context<'c>,
    pub(super) runner: &'c Runner<'c>,
    pub(super) options: &'c Options,
    pub(super) watcher: &'c dyn Watcher,
    /// A counter that makes every case id unique.
    pub(super) fresh: AtomicU64,
}

pub(super) struct State {
    pub(super) progress: Progress,
    pub(super) findings: Vec<Finding>,
    /// Signatures of findings.
    pub(super) known: BTreeSet<String>,
    /// How often suspicions of a signature were not confirmed.
    tries: BTreeMap<String, usize>,
    /// How often each transition was planned, by transport: a library may offer less than an endpoint.
    planned: BTreeMap<&'static str, Planned>,
    next: u64,
    begun: Instant,
}

/// A sequence before it runs.
pub(super) struct Sequence {
    pub(super) number: u64,
    pub(super) transport: Transport,
    pub(super) moves: Vec<Move>,
    pub(super) predictions: Vec<Option<Predicted>>,
}

/// What a sequence showed.
pub(super) struct Ran {
    pub(super) sequence: Sequence,
    pub(super) result: Result<(CaseRecord, Vec<Exchange>), String>,
}

/// What a target did that the model does not permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspicion {
    pub(super) requirement: String,
    pub(super) operation: String,
    pub(super) place: String,
    pub(super) expected: String,
    pub(super) observed: String,
    /// The step of the case whose answer shows it.
    pub(super) step: usize,
}

impl Suspicion {
    /// The first violation in a record.
    pub(super) fn of(record: &CaseRecord, exchanges: &[Exchange]) -> Option<Self> {
        let mut violations =
            record.findings.iter().filter(|found| found.verdict == Verdict::Fail && !found.strict_only);
        violations.find_map(|found| {
            let Some(index) = found.exchange else {
                // It follows from all answers of a section.
                return Some(Self {
                    requirement: found.requirement.clone(),
                    operation: OF_SECTION.to_owned(),
                    place: String::new(),
                    expected: "answers that fit an order in which the requests took effect".to_owned(),
                    observed: "answers that fit none".to_owned(),
                    step: exchanges.last()?.step,
                });
            };
            let exchange = exchanges.get(index)?;
            let tokens = found.path.split('/').map(|token| if token.parse::<usize>().is_ok() { "*" } else { token });
            Some(Self {
                requirement: found.requirement.clone(),
                operation: exchange.operation.clone(),
                place: tokens.collect::<Vec<_>>().join("/"),
                expected: found.expected.clone(),
                observed: found.observed.clone(),
                step: exchange.step,
            })
        })
    }

    /// Whether it follows from all answers of a section, and not from one.
    pub(super) fn is_of_section(&self) -> bool {
        self.operation == OF_SECTION
    }

    pub(super) fn signature(&self) -> String {
        Finding::signature(&self.requirement, &self.operation, &self.place)
    }
}

/// What the probes found over one transport.
struct Offered<'c> {
    context: &'c Context<'c>,
    transport: Transport,
}

impl Offers for Offered<'_> {
    fn has(&self, name: &str) -> bool {
        match self.context.plan.knowledge.manifest.levels.position(name) {
            Some(level) => self.context.features.claimed.contains(level),
            None => self.context.features.state(self.transport, name) == FeatureState::Offered,
        }
    }

    fn may_have(&self, name: &str) -> bool {
        let state = self.context.features.state(self.transport, name);
        matches!(state, FeatureState::Offered | FeatureState::Unclear)
    }

    fn transport(&self) -> Transport {
        self.transport
    }
}

impl State {
    /// Notes that a suspicion was not confirmed. It may be the effect of another bug, so in another sequence it is looked at
    /// again, some times.
    pub(super) fn dismiss(&mut self, suspicion: &Suspicion) {
        self.progress.unfounded += 1;
        *self.tries.entry(suspicion.signature()).or_default() += 1;
    }
}

impl Campaign<'_> {
    fn count(&self, state: &mut State) {
        state.progress.requests = self.runner.requests();
        state.progress.elapsed = state.begun.elapsed();
        state.progress.findings = state.findings.len();
    }

    async fn go(&self, state: &mut State, cancel: &watch::Receiver<bool>) -> End {
        let jobs = self.context.plan.target.limits.jobs.max(1);
        let mut silent = 0;
        let mut reported = Instant::now();
        loop {
            if *cancel.borrow() {
                return End::Interrupted;
            }
            if state.findings.len() >= self.options.findings {
                return End::Enough;
            }
            if state.next >= self.options.sequences {
                return End::AllSequences;
            }
            if state.begun.elapsed() >= self.options.time {
                return End::Done;
            }
            let count = u64::try_from(jobs * ROUNDS).unwrap_or(1).min(self.options.sequences - state.next);
            let before = state.progress.judged;
            self.batch(state.next..state.next + count, jobs, state, cancel).await;
            state.next += count;
            silent = if state.progress.judged == before { silent + 1 } else { 0 };
            if silent >= SILENT_BATCHES {
                let commonest = state.progress.undecided.iter().max_by_key(|(_, count)| **count);
                let why = commonest.map_or("no sequence was judged", |(why, _)| why.as_str());
                return End::Gone(why.to_owned());
            }
            if silent > 0 {
                tokio::time::sleep(self.options.patience / u32::try_from(SILENT_BATCHES).unwrap_or(1)).await;
            }
            self.count(state);
            if reported.elapsed() >= Duration::from_millis(500) {
                self.watcher.progress(&state.progress);
                reported = Instant::now();
            }
        }
    }

    /// Runs some sequences concurrently, and confirms what fails in them.
    async fn batch(
        &self,
        numbers: std::ops::Range<u64>,
        jobs: usize,
        state: &mut State,
        cancel: &watch::Receiver<bool>,
    ) {
        let transports = &self.context.plan.transports;
        let drawn: Vec<Sequence> = numbers
            .map(|number| {
                let turn = usize::try_from(number).unwrap_or(0) % transports.len();
                let transport = transports[turn];
                let planned = state.planned.entry(transport.name()).or_default();
                let offers = Offered { context: self.context, transport };
                let moves = sequence::generate(self.model, &offers, self.options.seed, number, planned);
                let predictions = self.predict(&moves, transport);
                Sequence { number, transport, moves, predictions }
            })
            .collect();
        let begun = state.begun;
        let in_time = stream::iter(drawn).take_while(|_| std::future::ready(begun.elapsed() < self.options.time));
        let mut ran: Vec<Ran> = in_time
            .map(|sequence| {
                let id = format!("explore {} sequence {}", self.options.seed, sequence.number);
                self.run_whole(sequence, id)
            })
            .buffer_unordered(jobs)
            .collect()
            .await;
        // In the order of their numbers, independent of their durations.
        ran.sort_by_key(|ran| ran.sequence.number);
        for Ran { sequence, result } in ran {
            if *cancel.borrow() || state.findings.len() >= self.options.findings {
                return;
            }
            self.evaluate(&sequence, result, state).await;
        }
    }

    async fn evaluate(
        &self,
        sequence: &Sequence,
        result: Result<(CaseRecord, Vec<Exchange>), String>,
        state: &mut State,
    ) {
        state.progress.sequences += 1;
        let steps: Vec<&Value> = sequence.predictions.iter().flatten().flat_map(|found| &found.steps).collect();
        let note = |outcome: &str| {
            let lines: Vec<String> = steps.iter().map(|step| sequence::line(step)).collect();
            self.watcher.sequence(sequence.number, sequence.transport.name(), &lines, outcome);
        };
        let (record, exchanges) = match result {
            Ok(found) => found,
            Err(why) => {
                note(&format!("not built: {why}"));
                *state.progress.undecided.entry(format!("not built: {why}")).or_default() += 1;
                return;
            }
        };
        let suspicion = Suspicion::of(&record, &exchanges);
        let owners = sequence::owners(&sequence.predictions);
        let failed = suspicion.as_ref().map_or(usize::MAX, |found| found.step);
        let done: BTreeSet<usize> = exchanges
            .iter()
            .map(|exchange| exchange.step)
            .filter(|step| *step < owners.len() && *step < failed)
            .collect();
        state.progress.steps += done.len() as u64;
        let reached: BTreeSet<usize> = done.iter().map(|step| owners[*step]).collect();
        for found in reached.into_iter().filter_map(|index| sequence.predictions[index].as_ref()) {
            *state.progress.reached.entry(found.transition.to_owned()).or_default() += 1;
        }
        let Some(suspicion) = suspicion else {
            if matches!(record.verdict, Verdict::Pass | Verdict::Warn) {
                state.progress.judged += 1;
                note("as the model permits");
            } else {
                let why = format!("{:?}: {}", record.verdict, record.because);
                note(&why);
                // Limit the memory for a target that fails in a different way each time.
                if state.progress.undecided.len() < 64 || state.progress.undecided.contains_key(&why) {
                    *state.progress.undecided.entry(why).or_default() += 1;
                }
            }
            return;
        };
        state.progress.judged += 1;
        note(&format!("{}: expected {}, observed {}", suspicion.signature(), suspicion.expected, suspicion.observed));
        if state.known.contains(&suspicion.signature()) {
            state.progress.repeated += 1;
            return;
        }
        if state.tries.get(&suspicion.signature()).is_some_and(|tries| *tries >= TRIES) {
            state.progress.unfounded += 1;
            return;
        }
        self.look_again(sequence, &suspicion, &owners, state).await;
    }

    /// Runs a sequence as it is. `id` decides the identities, so an id that was used meets what was stored before.
    pub(super) async fn run_whole(&self, sequence: Sequence, id: String) -> Ran {
        let title = Title { suite: "explore", case: "sequence", about: "", transport: sequence.transport.name() };
        let knowledge = self.context.plan.knowledge;
        let case = match self.lacks(&sequence.predictions, sequence.transport) {
            Some(need) => Err(format!("the target does not offer {need}")),
            None => sequence::case(&sequence.predictions, Shape::Whole, &title)
                .ok_or_else(|| "no step has an expectation".to_owned())
                .and_then(|case| sequence::built(knowledge, &case)),
        };
        let spellings = self.options.spellings.as_ref();
        let result = match case {
            Ok(case) => Ok(self.judged(&case, sequence.transport, id, spellings).await),
            Err(why) => Err(why),
        };
        Ran { sequence, result }
    }

    /// What each move sends over a transport and what may be observed. Moves that mean nothing are `None`.
    pub(super) fn predict(&self, moves: &[Move], transport: Transport) -> Vec<Option<Predicted>> {
        let Plan { knowledge, scope, .. } = self.context.plan;
        let shows =
            |id: &str| knowledge.catalogue.find(id).is_some_and(|requirement| scope.shows(transport, requirement));
        sequence::predict(self.model, moves, &shows)
    }

    /// A feature that moves need and that the target does not show to offer. A model proposes none of them, but shortening may
    /// leave a move that needs more without those before it.
    pub(super) fn lacks(&self, predictions: &[Option<Predicted>], transport: Transport) -> Option<&'static str> {
        let mut needs = predictions.iter().flatten().flat_map(|found| found.needs.iter().copied());
        let state = |need: &str| self.context.features.state(transport, need);
        needs.find(|need| matches!(state(need), FeatureState::Absent | FeatureState::Unknown))
    }

    /// Runs a case, in spellings if there are any, and judges it.
    pub(super) async fn judged(
        &self,
        case: &Case,
        transport: Transport,
        id: String,
        spellings: Option<&Spellings>,
    ) -> (CaseRecord, Vec<Exchange>) {
        let plan = self.context.plan;
        let spelling = spellings.map(|spellings| CaseSpelling { spellings: spellings.clone(), key: id.clone() });
        let mut ready = plan::ready_case(plan.knowledge, plan.target, id, case, transport);
        ready.spelling = spelling;
        // Without its edits a sequence would be another one, of which the model says nothing.
        ready.has_twin = false;
        let transcript = self.runner.run_case(self.context, &ready).await;
        // No sequence is a sweep over the answers of others.
        let record = judge::case(self.context, &ready, &Gate::Open, Some(&transcript), &Swept::default(), None);
        (record, transcript.exchanges.into_vec())
    }

    /// An id that no case had before, and with it new identities.
    pub(super) fn fresh_id(&self) -> String {
        format!("explore {} again {}", self.options.seed, self.fresh.fetch_add(1, Ordering::Relaxed))
    }
}
