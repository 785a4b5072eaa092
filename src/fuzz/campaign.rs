//! A campaign: inputs one batch after the other, and what comes of what looks wrong in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;

use super::dice::Dice;
use super::input::{self, Edits, Shape, Title};
use super::mutate::{self, Subject};
use super::oracle;
use super::seeds::{Seed, Seeds, seeds};
use super::{End, Finding, Options, Outcome, Progress, Watcher};
use crate::edit::Edit;
use crate::exchange::{Ended, Exchange, Transport};
use crate::judge::{Context, Facts, Features, Part, Walk};
use crate::plan::{self, Plan, ReadyCase};
use crate::protocol::payload;
use crate::run;
use crate::suite::{Action, Case};
use crate::template::Expr;
use crate::transport::Connections;
use crate::value::Value;
use crate::verdict::Verdict;

/// Inputs of a batch for each that is put at the same time: after a batch the target is asked whether it still answers.
const ROUNDS: usize = 8;

/// Batches after which a library is started anew: what inputs have opened in it and nobody has closed would fill it, and then
/// nothing can be opened any more.
const RENEWAL: usize = 16;

/// How often another seed is drawn for an input in place of one that the target refuses.
const DRAWS: usize = 4;

/// Kinds of messages that a campaign takes seeds from, for each transport and operation, and messages of each: so many that
/// each is changed in many ways.
const FAMILIES: usize = 48;
const ROWS: usize = 4;

/// The pause between two questions whether a target is back.
const PAUSE: Duration = Duration::from_millis(200);

/// Puts inputs to a target until its time is over. `start` is the instant of `facts.clock`; `cancel` turns true when the
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
    let transcript = run::meet(plan, &all, facts, connections, start).await;
    if let Some(why) = transcript.cut_short {
        return nothing(why, progress);
    }
    let features = Features::read(plan, facts, &transcript);
    let context = Context { plan, facts, features };
    let seeds = some(seeds(&context), options.seed);
    if seeds.is_empty() {
        return nothing("no message of the suites can be put to it".to_owned(), progress);
    }
    let campaign = Campaign {
        context: &context,
        connections,
        start,
        options,
        watcher,
        fresh: AtomicU64::new(0),
        requests: AtomicU64::new(0),
    };
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
    pub(super) start: Instant,
    pub(super) options: &'c Options,
    pub(super) watcher: &'c dyn Watcher,
    /// Makes the ids of cases new, whatever the input.
    pub(super) fresh: AtomicU64,
    /// Messages that were sent.
    pub(super) requests: AtomicU64,
}

pub(super) struct State {
    pub(super) progress: Progress,
    pub(super) findings: Vec<Finding>,
    /// Signatures of findings.
    pub(super) known: BTreeSet<String>,
    /// How many findings there are of a kind, an operation and a requirement.
    pub(super) alike: BTreeMap<String, usize>,
    /// What is known of the seeds that were tried: the message as it was taken, if it was.
    live: BTreeMap<String, Option<Taken>>,
    /// The transports over which it has taken a message.
    heard: BTreeSet<Transport>,
    begun: Instant,
}

/// A message as a target took it.
#[derive(Clone)]
struct Taken {
    bytes: Vec<u8>,
    value: Option<Value>,
}

/// An input, before it is put.
pub(super) struct Trial<'s> {
    pub(super) number: u64,
    pub(super) seed: &'s Seed,
    pub(super) edits: Edits,
}

/// What came of an input.
struct Tried<'s> {
    trial: Trial<'s>,
    /// The edits in words, and the answer; `None` if it could not be built.
    answered: Option<(Vec<String>, Exchange)>,
}

impl State {
    /// Whether the target was sent the message of a seed without edits, and did not take it.
    fn refuses(&self, seed: &Seed) -> bool {
        matches!(self.live.get(&seed.id), Some(None))
    }
}

impl Campaign<'_> {
    /// What is counted besides the state.
    fn count(&self, state: &mut State) {
        state.progress.requests = self.requests.load(Ordering::Relaxed);
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
                    None => End::Nothing("the target takes none of the messages of the suites".to_owned()),
                    Some(_) => End::Done,
                };
            }
            let left = self.options.inputs - state.progress.inputs;
            let count = u64::try_from(batch).unwrap_or(1).min(left);
            let numbers = state.progress.next..state.progress.next.saturating_add(count);
            let began = Instant::now();
            let (reached, end) = self.batch(seeds, numbers.clone(), state, &cancel).await;
            state.progress.inputs += reached - numbers.start;
            // Who goes on later begins with this batch again, unless that is what the target died of.
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
        End::Done // never: there is no end of numbers
    }

    /// Finds out which of these seeds the target takes, of those that it was not sent yet.
    async fn meet(&self, mut untried: Vec<&Seed>, state: &mut State) -> Option<End> {
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
        // A message of the suites may be what it dies of: that is for `check` to say, and the campaign goes on without it.
        if !refused.is_empty() && !self.comes_back(state).await {
            let why = "the target does not answer any more, and was not back in time";
            return Some(End::Gone(format!("{why}; it was sent the messages of {} before", refused.join(", "))));
        }
        None
    }

    /// Puts some inputs side by side, and looks again at what looks wrong. Returns the first number that was not put, because
    /// the time was over, and why the campaign ends, if it does.
    async fn batch(
        &self,
        seeds: &Seeds,
        numbers: std::ops::Range<u64>,
        state: &mut State,
        cancel: &watch::Receiver<bool>,
    ) -> (u64, Option<End>) {
        let (first, end) = (numbers.start, numbers.end);
        let jobs = self.context.plan.target.limits.jobs.max(1);
        let draw = |(number, mut dice): (u64, Dice)| {
            let seed = chosen(seeds, &mut dice)?;
            Some((number, dice, seed))
        };
        let mut drawn: Vec<(u64, Dice, &Seed)> =
            numbers.filter_map(|number| draw((number, Dice::new(self.options.seed, number)))).collect();
        for draws_left in (0..DRAWS).rev() {
            if let Some(end) = self.meet(drawn.iter().map(|(.., seed)| *seed).collect(), state).await {
                return (first, Some(end));
            }
            // Another seed in place of one that is refused, by the dice of the same input: the order of what is found out
            // changes nothing.
            let again = |(number, dice, seed): (u64, Dice, _)| match draws_left > 0 && state.refuses(seed) {
                true => draw((number, dice)),
                false => Some((number, dice, seed)),
            };
            drawn = drawn.into_iter().filter_map(again).collect();
        }
        let fuzz = self.context.plan.knowledge.manifest.fuzz.as_ref();
        let members = fuzz.map_or(&[][..], |fuzz| &fuzz.members);
        let mut trials = Vec::new();
        for (number, mut dice, seed) in drawn {
            let Some(Some(taken)) = state.live.get(&seed.id) else {
                self.watcher.input(number, &seed.id, &[], "the target does not take the message without edits");
                continue;
            };
            let subject = Subject::new(taken.value.as_ref(), &taken.bytes, seed.transport, members);
            trials.push(Trial { number, seed, edits: mutate::edits(&subject, &mut dice) });
        }
        let planned: Vec<u64> = trials.iter().map(|trial| trial.number).collect();
        let begun = state.begun;
        let in_time = stream::iter(trials).take_while(|_| std::future::ready(begun.elapsed() < self.options.time));
        let mut tried: Vec<Tried<'_>> = in_time.map(|trial| self.put(trial)).buffer_unordered(jobs).collect().await;
        let reached = planned.get(tried.len()).copied().unwrap_or(end);
        // In the order of their numbers, however long each took.
        tried.sort_by_key(|tried| tried.trial.number);
        let mut suspects = Vec::new();
        for Tried { trial, answered } in tried {
            let Some((words, exchange)) = answered else {
                state.progress.unbuilt += 1;
                self.watcher.input(trial.number, &trial.seed.id, &[], "it cannot be built");
                continue;
            };
            let answer = oracle::answer(self.context, &exchange);
            self.watcher.input(trial.number, &trial.seed.id, &words, &answer);
            let waited = exchange.received.ended == Ended::TimedOut && trial.seed.transport.is_channel();
            state.progress.silent += u64::from(waited && exchange.received.arrived.is_empty());
            let kind = format!("{} over {}: {answer}", trial.seed.operation, trial.seed.transport.name());
            // A target that makes a new answer for each message is not counted without bound.
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

    /// A case that is ready to be put, under an id that no other has had.
    pub(super) fn ready<'a>(&'a self, case: &'a Case, transport: Transport) -> ReadyCase<'a> {
        let number = self.fresh.fetch_add(1, Ordering::Relaxed);
        let id = format!("fuzz {} {number}", self.options.seed);
        ready(self.context, case, transport, id)
    }

    /// The message of a seed without edits, if the target takes it.
    async fn taken(&self, seed: &Seed) -> Option<Taken> {
        let case = self.case(seed, Shape::Seed, "")?;
        // The same id in each campaign with the seed, whatever comes before: what edits are made of is in the message.
        let id = format!("fuzz {} seed {}", self.options.seed, seed.id);
        let ready = ready(self.context, &case, seed.transport, id);
        let (exchanges, stopped) = run::put_part(self.context, &ready, Part::Case, self.connections, self.start).await;
        self.requests.fetch_add(exchanges.len() as u64, Ordering::Relaxed);
        let mut walk = Walk::new(self.context, &ready, Part::Case, self.begun());
        walk.replay(&exchanges, stopped.as_deref());
        if walk.stopped().is_some() {
            return None;
        }
        let last = seed.steps.len() - 1;
        let exchange = exchanges.iter().find(|exchange| exchange.step == last)?;
        let operation = self.context.plan.knowledge.protocol.operation(&seed.operation)?;
        let bytes = payload(operation, exchange)?;
        let value = self.context.plan.knowledge.protocol.decode(&bytes);
        Some(Taken { bytes, value })
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

    async fn put<'s>(&self, mut trial: Trial<'s>) -> Tried<'s> {
        for again in [false, true] {
            if again {
                // What only the message as it is sent has cannot be changed before it is signed.
                for edit in &mut trial.edits {
                    if edit.member("stage").and_then(Value::as_text) == Some("built") {
                        edit.set_member("stage", Value::text("protected"));
                    }
                }
            }
            let Some(case) = self.case(trial.seed, Shape::Trial(&trial.edits), "") else { break };
            let id = format!("fuzz {} input {}", self.options.seed, trial.number);
            let ready = ready(self.context, &case, trial.seed.transport, id);
            let (exchanges, _) = run::put_part(self.context, &ready, Part::Case, self.connections, self.start).await;
            self.requests.fetch_add(exchanges.len() as u64, Ordering::Relaxed);
            let last = trial.seed.steps.len() - 1;
            if let Some(exchange) = exchanges.into_iter().find(|exchange| exchange.step == last) {
                let words = words(self.context, &case, &trial.edits);
                return Tried { trial, answered: Some((words, exchange)) };
            }
        }
        Tried { trial, answered: None }
    }

    /// Whether the target answers what it has answered before.
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
            let (transcript, totals) = run::put(self.context, &ready, self.connections, self.start).await;
            self.requests.fetch_add(totals.requests, Ordering::Relaxed);
            let record = self.judged(&ready, &transcript);
            let broken = matches!(record.verdict, Verdict::Fail | Verdict::Warn | Verdict::Error);
            if broken {
                return false;
            }
        }
        true
    }

    /// Whether the target answers again before patience is at its end.
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

/// Some of the seeds, which the seed of the campaign decides: what is taken once is changed in many ways.
fn some(seeds: Seeds, seed: u64) -> Seeds {
    let mut dice = Dice::new(seed, u64::MAX);
    let thin = |families: Vec<Vec<Seed>>, dice: &mut Dice| -> Vec<Vec<Seed>> {
        let rows = |rows, dice: &mut Dice| dice.draw(rows, ROWS);
        dice.draw(families, FAMILIES).into_iter().map(|family| rows(family, dice)).collect()
    };
    seeds.into_iter().map(|(key, families)| (key, thin(families, &mut dice))).collect()
}

/// A seed: any transport, any operation, any kind of message, any message of it.
fn chosen<'s>(seeds: &'s Seeds, dice: &mut Dice) -> Option<&'s Seed> {
    // Setting up a connection takes longer than all the rest, and a reader is the same behind each transport.
    let mut transports: Vec<&str> = Vec::new();
    for ((name, _), families) in seeds {
        let is_channel = families.iter().flatten().any(|seed| seed.transport.is_channel());
        if !transports.contains(&name.as_str()) {
            transports.extend(std::iter::repeat_n(name.as_str(), if is_channel { 1 } else { 3 }));
        }
    }
    let transport = *dice.pick(&transports)?;
    let operations: Vec<_> =
        seeds.iter().filter(|((name, _), _)| name == transport).map(|(_, families)| families).collect();
    let families = table(&operations, dice)?;
    let family = dice.pick(families)?;
    dice.pick(family)
}

/// One of several tables of seeds, those of many families more often: there is more to vary in them.
fn table<'s>(operations: &[&'s Vec<Vec<Seed>>], dice: &mut Dice) -> Option<&'s Vec<Vec<Seed>>> {
    let weight = |families: &Vec<Vec<Seed>>| families.len().clamp(2, 10);
    let total: usize = operations.iter().map(|families| weight(families)).sum();
    let mut at = dice.below(total);
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
        let text = edit.member("to").or_else(|| edit.member("whole")).and_then(Value::as_text)?;
        let hex = text.strip_prefix("${decoded ")?.strip_suffix('}')?;
        let bytes = data_encoding::HEXLOWER.decode(hex.as_bytes()).ok()?;
        context.plan.knowledge.protocol.decode(&bytes)
    };
    let constant = |edit: &Edit| edit.expr().and_then(Expr::constant).cloned();
    let both = read.flatten().zip(edits);
    both.map(|(edit, written)| edit.describe(constant(edit).or_else(|| decoded(written)).as_ref())).collect()
}
