//! A campaign: runs inputs batch by batch, and confirms what looks wrong in their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;

use super::input::{self, Edits, Shape, Title};
use super::mutate::{self, Subject};
use super::oracle;
use super::rng::Rng;
use super::seeds::{Seed, Seeds, seeds};
use super::{End, Finding, Options, Outcome, Progress, Watcher};
use crate::edit::Edit;
use crate::exchange::{Ended, Exchange, Transport};
use crate::plan::{self, Plan, ReadyCase};
use crate::protocol::payload;
use crate::run::Runner;
use crate::suite::{Action, Case};
use crate::template::Expr;
use crate::transport::Connections;
use crate::value::Value;
use crate::verdict::Verdict;
use crate::walk::{Context, Facts, Features, Part, Walk};

/// Inputs of a batch per concurrent job: after each batch a probe checks that the target still answers.
const ROUNDS: usize = 8;

/// Batches after which a library is restarted: stores that inputs opened and never closed would fill it.
const RENEWAL: usize = 16;

/// How often another seed is drawn for an input when the target rejects its seed.
const DRAWS: usize = 4;

/// Kinds of messages that seeds are taken from, for each transport and operation, and messages of each kind: few enough that
/// each message is edited in many ways.
const FAMILIES: usize = 48;
const ROWS: usize = 4;

/// The pause between two probes of a target that stopped answering.
const PAUSE: Duration = Duration::from_millis(200);

/// Runs inputs against a target until its time is over. `start` is the instant of `facts.clock`; `cancel` turns true when the
/// campaign is to end early.
pub async fn run(
    plan: &Plan<'_>,
    facts: Facts,
    connections: &Connections,
    start: Instant,
    options: &Options,
    cancel: watch::Receiver<bool>,
    watcher: &dyn Watcher,
) -> Outcome {
    let nothing = |why: String, progress: Progress| Outcome { progress, findings: Vec::new(), end: End::Nothing(why) };
    let progress = Progress { next: options.first, ..Progress::default() };
    if plan.knowledge.manifest.fuzz.is_none() {
        return nothing(format!("{} cannot be fuzzed yet", plan.knowledge.protocol.slug()), progress);
    }
    let all: BTreeSet<usize> = (0..plan.cases.len()).filter(|index| plan.cases[*index].skip.is_none()).collect();
    let runner = Runner::new(connections, &plan.target.limits, start);
    let transcript = runner.probe(plan, &all, facts).await;
    if let Some(why) = transcript.cut_short.as_ref().map(|why| why.replace('\n', "; ")) {
        return nothing(why, progress);
    }
    let mut features = Features::read(plan, facts, &transcript);
    features.without_prerequisites = true;
    let context = Context { plan, facts, features };
    let seeds = some(seeds(&context), options.seed);
    if seeds.is_empty() {
        return nothing("none of the suites' messages can be sent to the target".to_owned(), progress);
    }
    let campaign =
        Campaign { context: &context, connections, runner: &runner, start, options, watcher, fresh: AtomicU64::new(0) };
    let mut state = State {
        progress,
        findings: Vec::new(),
        known: options.known.iter().cloned().collect(),
        alike: BTreeMap::new(),
        live: BTreeMap::new(),
        heard: BTreeSet::new(),
        begun: Instant::now(),
    };
    let end = campaign.go(&seeds, &mut state, cancel).await;
    campaign.count(&mut state);
    watcher.progress(&state.progress);
    state.findings.sort_by_key(|finding| finding.input);
    Outcome { progress: state.progress, findings: state.findings, end }
}

pub(super) struct Campaign<'c> {
    pub(super) context: &'c Context<'c>,
    pub(super) connections: &'c Connections,
    pub(super) runner: &'c Runner<'c>,
    pub(super) start: Instant,
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
    /// Number of findings by kind, operation and requirement.
    pub(super) alike: BTreeMap<String, usize>,
    /// Seeds that were tried, each with its message if the target accepted it.
    live: BTreeMap<String, Option<AcceptedMessage>>,
    /// The transports over which it accepted a message.
    heard: BTreeSet<Transport>,
    begun: Instant,
}

/// A message that the target accepted.
#[derive(Clone)]
struct AcceptedMessage {
    bytes: Vec<u8>,
    value: Option<Value>,
}

/// An input before it runs.
pub(super) struct Trial<'s> {
    pub(super) number: u64,
    pub(super) seed: &'s Seed,
    pub(super) edits: Edits,
}

/// The result of an input.
struct Tried<'s> {
    trial: Trial<'s>,
    /// The edits in words, and the answer; `None` if it could not be built.
    answered: Option<(Vec<String>, Exchange)>,
}

impl State {
    /// Whether the target rejected the unedited message of a seed.
    fn refuses(&self, seed: &Seed) -> bool {
        matches!(self.live.get(&seed.id), Some(None))
    }
}

impl Campaign<'_> {
    /// Counters besides the state.
    fn count(&self, state: &mut State) {
        state.progress.requests = self.runner.requests();
        state.progress.elapsed = state.begun.elapsed();
    }

    async fn go(&self, seeds: &Seeds, state: &mut State, cancel: watch::Receiver<bool>) -> End {
        let batch = self.context.plan.target.limits.jobs.max(1) * ROUNDS;
        let mut reported = Instant::now();
        for done in 0_usize.. {
            if done % RENEWAL == RENEWAL - 1
                && let Some(adapter) = &self.connections.adapter
            {
                adapter.close().await;
            }
            if *cancel.borrow() {
                return End::Interrupted;
            }
            if state.findings.len() >= self.options.findings {
                return End::Enough;
            }
            if state.begun.elapsed() >= self.options.time || state.progress.inputs >= self.options.inputs {
                return match state.live.values().flatten().next() {
                    None => End::Nothing("the target accepts none of the suites' messages".to_owned()),
                    Some(_) if state.progress.inputs >= self.options.inputs => End::AllInputs,
                    Some(_) => End::Done,
                };
            }
            let left = self.options.inputs - state.progress.inputs;
            let count = u64::try_from(batch).unwrap_or(1).min(left);
            let numbers = state.progress.next..state.progress.next.saturating_add(count);
            let began = Instant::now();
            let (reached, end) = self.batch(seeds, numbers.clone(), state, &cancel).await;
            state.progress.inputs += reached - numbers.start;
            // A resumed campaign repeats this batch, unless the batch crashed the target.
            if !matches!(end, Some(End::Interrupted | End::Enough)) {
                state.progress.next = reached;
            }
            if let Some(end) = end {
                return end;
            }
            self.count(state);
            if reported.elapsed() >= Duration::from_millis(500) {
                self.watcher.progress(&state.progress);
                reported = Instant::now();
            }
            if let Some(rate) = self.options.rate {
                #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
                let wanted = Duration::from_secs_f64(count as f64 / rate.max(0.001));
                tokio::time::sleep(wanted.saturating_sub(began.elapsed())).await;
            }
        }
        End::Done // unreachable: the numbers do not end
    }

    /// Sends the seeds that were not sent yet, to learn which the target accepts.
    async fn probe_seeds(&self, mut untried: Vec<&Seed>, state: &mut State) -> Option<End> {
        untried.retain(|seed| !state.live.contains_key(&seed.id));
        untried.sort_by(|one, other| one.id.cmp(&other.id));
        untried.dedup_by(|one, other| one.id == other.id);
        let taken = stream::iter(untried).map(|seed| async move { (seed, self.taken(seed).await) });
        let mut taken = taken.buffer_unordered(self.context.plan.target.limits.jobs.max(1));
        let mut refused = Vec::new();
        while let Some((seed, taken)) = taken.next().await {
            state.progress.seeds.0 += usize::from(taken.is_some());
            state.progress.seeds.1 += 1;
            if taken.is_some() {
                state.heard.insert(seed.transport);
            } else {
                refused.push(seed.id.clone());
            }
            state.live.insert(seed.id.clone(), taken);
        }
        drop(taken);
        // A message of the suites may crash the target: `check` reports that, and the campaign continues without it.
        if !refused.is_empty() && !self.comes_back(state).await {
            let why = "the target stopped answering and did not recover in time";
            return Some(End::Gone(format!("{why}; the last messages were those of {}", refused.join(", "))));
        }
        None
    }

    /// Runs some inputs concurrently and confirms suspicions. Returns the first number that did not run because the time was
    /// over, and why the campaign ends, if it does.
    async fn batch(
        &self,
        seeds: &Seeds,
        numbers: std::ops::Range<u64>,
        state: &mut State,
        cancel: &watch::Receiver<bool>,
    ) -> (u64, Option<End>) {
        let (first, end) = (numbers.start, numbers.end);
        let jobs = self.context.plan.target.limits.jobs.max(1);
        let draw = |(number, mut rng): (u64, Rng)| {
            let seed = chosen(seeds, &mut rng)?;
            Some((number, rng, seed))
        };
        let mut drawn: Vec<(u64, Rng, &Seed)> =
            numbers.filter_map(|number| draw((number, Rng::new(self.options.seed, number)))).collect();
        for draws_left in (0..DRAWS).rev() {
            if let Some(end) = self.probe_seeds(drawn.iter().map(|(.., seed)| *seed).collect(), state).await {
                return (first, Some(end));
            }
            // The rng of the same input draws another seed for one that is rejected, so the order of results changes nothing.
            let again = |(number, rng, seed): (u64, Rng, _)| match draws_left > 0 && state.refuses(seed) {
                true => draw((number, rng)),
                false => Some((number, rng, seed)),
            };
            drawn = drawn.into_iter().filter_map(again).collect();
        }
        let fuzz = self.context.plan.knowledge.manifest.fuzz.as_ref();
        let members = fuzz.map_or(&[][..], |fuzz| &fuzz.members);
        let kin = self.context.plan.knowledge.protocol.oracle().map_or(&[][..], |oracle| oracle.kin());
        let mut trials = Vec::new();
        for (number, mut rng, seed) in drawn {
            let Some(Some(taken)) = state.live.get(&seed.id) else {
                self.watcher.input(number, &seed.id, &[], "the target rejects the message without edits");
                continue;
            };
            let subject = Subject::new(taken.value.as_ref(), &taken.bytes, seed.transport, members, kin);
            trials.push(Trial { number, seed, edits: mutate::edits(&subject, &mut rng) });
        }
        let planned: Vec<u64> = trials.iter().map(|trial| trial.number).collect();
        let begun = state.begun;
        let in_time = stream::iter(trials).take_while(|_| std::future::ready(begun.elapsed() < self.options.time));
        let mut tried: Vec<Tried<'_>> =
            in_time.map(|trial| self.run_trial(trial)).buffer_unordered(jobs).collect().await;
        let reached = planned.get(tried.len()).copied().unwrap_or(end);
        // In the order of their numbers, independent of their durations.
        tried.sort_by_key(|tried| tried.trial.number);
        let mut suspects = Vec::new();
        for Tried { trial, answered } in tried {
            let Some((words, exchange)) = answered else {
                state.progress.unbuilt += 1;
                self.watcher.input(trial.number, &trial.seed.id, &[], "cannot be built");
                continue;
            };
            let answer = oracle::answer(self.context, &exchange);
            self.watcher.input(trial.number, &trial.seed.id, &words, &answer);
            let waited = exchange.received.ended == Ended::TimedOut && trial.seed.transport.is_channel();
            state.progress.silent += u64::from(waited && exchange.received.arrived.is_empty());
            let kind = format!("{} over {}: {answer}", trial.seed.operation, trial.seed.transport.name());
            // Limit the memory for a target that sends a different answer to each message.
            if state.progress.answers.len() < 4096 || state.progress.answers.contains_key(&kind) {
                *state.progress.answers.entry(kind).or_default() += 1;
            }
            let suspicion = oracle::suspect(self.context, &exchange);
            suspects.push((trial, words, suspicion));
        }
        if suspects.iter().any(|(.., suspicion)| suspicion.is_some()) || !self.is_alive(state).await {
            return (reached, self.look_again(suspects, state, cancel).await);
        }
        (reached, None)
    }

    /// A case that is ready to run, under a unique id.
    pub(super) fn ready<'a>(&'a self, case: &'a Case, transport: Transport) -> ReadyCase<'a> {
        let number = self.fresh.fetch_add(1, Ordering::Relaxed);
        let id = format!("fuzz {} {number}", self.options.seed);
        ready(self.context, case, transport, id)
    }

    /// The unedited message of a seed, if the target accepts it.
    async fn taken(&self, seed: &Seed) -> Option<AcceptedMessage> {
        let case = self.case(seed, Shape::Seed, "")?;
        // The id depends on the seed alone, because edits are derived from the message, which contains ids.
        let id = format!("fuzz {} seed {}", self.options.seed, seed.id);
        let ready = ready(self.context, &case, seed.transport, id);
        let (exchanges, stopped) = self.runner.run_part(self.context, &ready, Part::Case).await;
        let mut walk = Walk::new(self.context, &ready, Part::Case, self.begun());
        walk.replay(&exchanges, stopped.as_deref());
        if walk.stopped().is_some() {
            return None;
        }
        let last = seed.steps.len() - 1;
        let exchange = exchanges.iter().find(|exchange| exchange.step == last)?;
        let operation = self.context.plan.knowledge.protocol.operation(&seed.operation)?;
        let bytes = payload(operation, exchange)?;
        let value = self.context.plan.knowledge.protocol.codec().decode(&bytes);
        Some(AcceptedMessage { bytes, value })
    }

    fn begun(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn case(&self, seed: &Seed, shape: Shape<'_>, requirement: &str) -> Option<Case> {
        let knowledge = self.context.plan.knowledge;
        let any = || knowledge.manifest.fuzz.as_ref().and_then(|fuzz| fuzz.operations.first());
        let requirement = if requirement.is_empty() { &any()?.1.value } else { requirement };
        let title = Title { suite: "fuzz", case: "input", about: "", requirement };
        input::read(knowledge, &input::text(knowledge, seed, shape, &title), shape)
    }

    async fn run_trial<'s>(&self, mut trial: Trial<'s>) -> Tried<'s> {
        for again in [false, true] {
            if again {
                // A member that exists only in the signed message cannot be changed before signing.
                for edit in &mut trial.edits {
                    if edit.member("stage").and_then(Value::as_text) == Some("built") {
                        edit.set_member("stage", Value::text("protected"));
                    }
                }
            }
            let Some(case) = self.case(trial.seed, Shape::Trial(&trial.edits), "") else { break };
            let id = format!("fuzz {} input {}", self.options.seed, trial.number);
            let ready = ready(self.context, &case, trial.seed.transport, id);
            let (exchanges, _) = self.runner.run_part(self.context, &ready, Part::Case).await;
            let last = trial.seed.steps.len() - 1;
            if let Some(exchange) = exchanges.into_iter().find(|exchange| exchange.step == last) {
                let words = words(self.context, &case, &trial.edits);
                return Tried { trial, answered: Some((words, exchange)) };
            }
        }
        Tried { trial, answered: None }
    }

    /// Whether the target still answers a message that it answered before.
    pub(super) async fn is_alive(&self, state: &State) -> bool {
        for transport in state.heard.iter().copied() {
            let seed = Seed {
                id: String::new(),
                transport,
                operation: String::new(),
                bindings: Value::Null,
                needs: Value::Null,
                steps: Vec::new(),
            };
            let Some(case) = self.case(&seed, Shape::Alive, "") else { continue };
            let ready = self.ready(&case, transport);
            let transcript = self.runner.run_case(self.context, &ready).await;
            let record = self.judged(&ready, &transcript);
            let broken = matches!(record.verdict, Verdict::Fail | Verdict::Warn | Verdict::Error);
            if broken {
                return false;
            }
        }
        true
    }

    /// Whether the target answers again within the patience of the campaign.
    pub(super) async fn comes_back(&self, state: &State) -> bool {
        let begun = Instant::now();
        loop {
            if self.is_alive(state).await {
                return true;
            }
            if begun.elapsed() >= self.options.patience {
                return false;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn ready<'a>(context: &'a Context<'_>, case: &'a Case, transport: Transport, id: String) -> ReadyCase<'a> {
    plan::ready_case(context.plan.knowledge, context.plan.target, id, case, transport)
}

/// A selection of the seeds, by the seed of the campaign: each is edited in many ways.
fn some(seeds: Seeds, seed: u64) -> Seeds {
    let mut rng = Rng::new(seed, u64::MAX);
    let thin = |families: Vec<Vec<Seed>>, rng: &mut Rng| -> Vec<Vec<Seed>> {
        let rows = |rows, rng: &mut Rng| rng.draw(rows, ROWS);
        rng.draw(families, FAMILIES).into_iter().map(|family| rows(family, rng)).collect()
    };
    seeds.into_iter().map(|(key, families)| (key, thin(families, &mut rng))).collect()
}

/// A seed: any transport, any operation, any kind of message, any message of it.
fn chosen<'s>(seeds: &'s Seeds, rng: &mut Rng) -> Option<&'s Seed> {
    // Opening a connection dominates the cost, and the parser is the same behind each transport.
    let mut transports: Vec<&str> = Vec::new();
    for ((name, _), families) in seeds {
        let is_channel = families.iter().flatten().any(|seed| seed.transport.is_channel());
        if !transports.contains(&name.as_str()) {
            transports.extend(std::iter::repeat_n(name.as_str(), if is_channel { 1 } else { 3 }));
        }
    }
    let transport = *rng.pick(&transports)?;
    let operations: Vec<_> =
        seeds.iter().filter(|((name, _), _)| name == transport).map(|(_, families)| families).collect();
    let families = table(&operations, rng)?;
    let family = rng.pick(families)?;
    rng.pick(family)
}

/// One of several tables of seeds; tables with many families are chosen more often.
fn table<'s>(operations: &[&'s Vec<Vec<Seed>>], rng: &mut Rng) -> Option<&'s Vec<Vec<Seed>>> {
    let weight = |families: &Vec<Vec<Seed>>| families.len().clamp(2, 10);
    let total: usize = operations.iter().map(|families| weight(families)).sum();
    let mut at = rng.below(total);
    operations.iter().copied().find(|families| {
        let found = at < weight(families);
        at = at.saturating_sub(weight(families));
        found
    })
}

/// The edits of a case in words; `edits` are the same as they are written.
pub(super) fn words(context: &Context<'_>, case: &Case, edits: &Edits) -> Vec<String> {
    let read = case.steps.iter().filter_map(|step| match &step.action {
        Action::Send { edits, .. } => Some(edits),
        _ => None,
    });
    // What only CBOR has is written as its bytes.
    let decoded = |edit: &Value| {
        let text = edit.member("to").or_else(|| edit.member("replace-message")).and_then(Value::as_text)?;
        let hex = text.strip_prefix("${decoded ")?.strip_suffix('}')?;
        let bytes = data_encoding::HEXLOWER.decode(hex.as_bytes()).ok()?;
        context.plan.knowledge.protocol.codec().decode(&bytes)
    };
    let constant = |edit: &Edit| edit.expr().and_then(Expr::constant).cloned();
    let both = read.flatten().zip(edits);
    both.map(|(edit, written)| edit.describe(constant(edit).or_else(|| decoded(written)).as_ref())).collect()
}
