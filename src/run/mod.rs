//! Running a plan: sends what the walks ask for, side by side, within every limit, and returns what was exchanged.
//!
//! Nothing is judged here but what decides the next step. Start with [`run`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;

use crate::exchange::{Body, Encoded, Ended, Exchange, Incoming, Outgoing, Transport};
use crate::judge::{CaseTranscript, Context, Facts, Features, Gate, Part, Planned, Stop, Transcript, Walk, gate};
use crate::plan::{Plan, ReadyCase, SETUP_STEPS};
use crate::suite::Action;
use crate::target::Limits;
use crate::transport::adapter::Adapter;
use crate::transport::{Carried, Connections};

/// What a run tells while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This many cases will be put.
    Planned(usize),
    /// A case is through.
    Done(String),
}

/// Who listens to a run.
pub trait Sink: Sync {
    /// Takes an event.
    fn event(&self, event: Event);
}

/// Nobody.
pub struct Silent;

impl Sink for Silent {
    fn event(&self, _: Event) {}
}

/// How many messages in a row may go without an answer before the target counts as gone.
const PATIENCE: usize = 24;

/// The same for a library, which is asked one thing at a time, so that each is waited for by itself.
const PATIENCE_WITH_A_LIBRARY: usize = 6;

/// Bytes of bodies that a run holds in memory before it reads less of each.
const STORED_BYTES: u64 = 256 << 20;

/// The pause between two tries of a step that waits.
const PAUSE: Duration = Duration::from_millis(100);

/// Messages that one waiting step may send.
const ROUNDS: usize = 600;

/// How often a case is put while the adapter ends under the hands of other cases.
const ADAPTER_TRIES: usize = 5;

/// How often a message is sent again to a target that says that it is busy.
const BUSY_TRIES: u32 = 4;

/// How often that happens in a whole run: a target that is always busy is not waited for by every case.
const BUSY_WAITS: usize = 1_000;

/// The first pause before that; each further one is twice as long.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

struct Engine<'r> {
    connections: &'r Connections,
    limits: &'r Limits,
    start: Instant,
    secrets: Vec<String>,
    requests: AtomicU64,
    /// Messages in a row that got no answer.
    unanswered: AtomicUsize,
    answered: AtomicU64,
    /// Pauses taken because the target was busy.
    waits: AtomicUsize,
    /// Bytes of bodies held in memory.
    stored: AtomicU64,
}

/// What a run came to, besides the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Messages sent.
    pub requests: u64,
}

/// Puts the cases of `plan` to its target. `start` is the instant of `facts.clock`; `cancel` turns true when the run is to
/// end early.
pub async fn run(
    plan: &Plan<'_>,
    facts: Facts,
    connections: &Connections,
    start: Instant,
    cancel: watch::Receiver<bool>,
    sink: &dyn Sink,
) -> (Transcript, Totals) {
    run_some(plan, None, facts, connections, start, cancel, sink).await
}

/// As [`run`], for some of the cases: `chosen` holds their positions in the plan. Only what those cases, the floor and the
/// claim rest on is probed for; every other feature stays unknown.
pub async fn run_some(
    plan: &Plan<'_>,
    chosen: Option<&BTreeSet<usize>>,
    facts: Facts,
    connections: &Connections,
    start: Instant,
    cancel: watch::Receiver<bool>,
    sink: &dyn Sink,
) -> (Transcript, Totals) {
    let engine = Engine {
        connections,
        limits: &plan.target.limits,
        start,
        secrets: connections.http.iter().flat_map(|http| http.secrets().map(str::to_owned)).collect(),
        requests: AtomicU64::new(0),
        unanswered: AtomicUsize::new(0),
        answered: AtomicU64::new(0),
        waits: AtomicUsize::new(0),
        stored: AtomicU64::new(0),
    };
    let mut transcript = Transcript::default();
    let deadline = tokio::time::sleep(engine.limits.run);
    tokio::pin!(deadline);
    let cut_short = {
        let work = engine.work(plan, chosen, facts, &mut transcript, sink);
        tokio::pin!(work);
        tokio::select! {
            ended = &mut work => ended,
            () = &mut deadline => Some(format!("the run took longer than {:?}", engine.limits.run)),
            () = cancelled(cancel) => Some("it was interrupted".to_owned()),
        }
    };
    transcript.cut_short = cut_short;
    transcript.cases.resize_with(plan.cases.len(), || None);
    (transcript, Totals { requests: engine.requests.load(Ordering::Relaxed) })
}

async fn cancelled(mut cancel: watch::Receiver<bool>) {
    loop {
        if *cancel.borrow() {
            return;
        }
        if cancel.changed().await.is_err() {
            // Nobody can cancel any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Engine<'_> {
    /// Probes, then cases. Writes into `transcript` as it goes, so that what was exchanged is kept when it is cut short.
    async fn work(
        &self,
        plan: &Plan<'_>,
        chosen: Option<&BTreeSet<usize>>,
        facts: Facts,
        transcript: &mut Transcript,
        sink: &dyn Sink,
    ) -> Option<String> {
        let unprobed = Context { plan, facts, features: Features::default() };
        let needed = chosen.map(|chosen| plan.features_needed(chosen));
        for transport in &plan.transports {
            let mut probes = plan.probes(*transport);
            if let Some(needed) = &needed {
                probes.retain(|probe| needed.contains(probe.case.name.value.as_str()));
            }
            let found = join_all(probes.iter().map(|probe| self.walk(&unprobed, probe, Part::Probe))).await;
            let exchanges: Vec<Exchange> = found.into_iter().flat_map(|(exchanges, _)| exchanges).collect();
            transcript.probes.push((*transport, exchanges));
        }
        if self.answered.load(Ordering::Relaxed) == 0 {
            return Some(self.why_no_answer(transcript));
        }
        let features = Features::read(plan, facts, transcript);
        let context = Context { plan, facts, features };
        let open: Vec<usize> = (0..plan.cases.len())
            .filter(|index| chosen.is_none_or(|chosen| chosen.contains(index)))
            .filter(|index| gate(&context, &plan.cases[*index]) == Gate::Open)
            .collect();
        sink.event(Event::Planned(open.len()));
        transcript.cases.resize_with(plan.cases.len(), || None);
        let patience = if plan.transports == [Transport::Adapter] { PATIENCE_WITH_A_LIBRARY } else { PATIENCE };
        let context = &context;
        let mut done = stream::iter(open)
            .map(|index| async move { (index, self.case(context, &plan.cases[index]).await) })
            .buffer_unordered(self.limits.jobs);
        while let Some((index, case)) = done.next().await {
            if let Some(slot) = transcript.cases.get_mut(index) {
                *slot = Some(case);
            }
            sink.event(Event::Done(plan.cases[index].id.clone()));
            if self.unanswered.load(Ordering::Relaxed) >= patience {
                return Some("the target stopped answering".to_owned());
            }
        }
        None
    }

    fn why_no_answer(&self, transcript: &Transcript) -> String {
        let first = transcript.probes.iter().flat_map(|(_, exchanges)| exchanges).next();
        match first.map(|exchange| &exchange.received.ended) {
            Some(Ended::Unreachable(why)) => format!("the target is unreachable: {why}"),
            Some(Ended::TimedOut) => format!("the target does not answer within {:?}", self.limits.request),
            Some(Ended::Closed(why)) => format!("the target closes every connection without an answer: {why}"),
            _ => "the target does not answer".to_owned(),
        }
    }

    async fn case(&self, context: &Context<'_>, ready: &ReadyCase<'_>) -> CaseTranscript {
        let lost = || self.connections.adapter.as_ref().map_or(0, Adapter::lost);
        let mut transcript = CaseTranscript::default();
        for _ in 0..ADAPTER_TRIES {
            let before = lost();
            transcript = self.case_once(context, ready).await;
            let answers = transcript.exchanges.iter().chain(&transcript.twin);
            let own = answers.filter(|exchange| exchange.received.ended != Ended::Complete).count() as u64;
            // What another case did to the adapter is held against that case alone: here its stores are gone.
            if ready.transport != Transport::Adapter || lost() - before <= own {
                return transcript;
            }
        }
        // Nothing of what was exchanged can be held against anything.
        CaseTranscript {
            stopped: Some("the adapter ended again and again while the case ran".to_owned()),
            elapsed_ms: transcript.elapsed_ms,
            ..CaseTranscript::default()
        }
    }

    async fn case_once(&self, context: &Context<'_>, ready: &ReadyCase<'_>) -> CaseTranscript {
        let begun = Instant::now();
        let mut transcript = CaseTranscript::default();
        let (exchanges, stopped) = self.walk(context, ready, Part::Case).await;
        transcript.exchanges = exchanges;
        transcript.stopped = stopped;
        if ready.case.has_edits() && transcript.stopped.is_none() {
            let (twin, stopped) = self.walk(context, ready, Part::Twin).await;
            transcript.twin = twin;
            transcript.stopped = stopped;
        }
        transcript.elapsed_ms = milliseconds(begun.elapsed());
        transcript
    }

    /// Takes the steps of a case until its end, a stop or its deadline. The text says why it ended if no exchange shows it.
    async fn walk(&self, context: &Context<'_>, ready: &ReadyCase<'_>, part: Part) -> (Vec<Exchange>, Option<String>) {
        let mut exchanges = Vec::new();
        let mut stopped = None;
        let steps = self.steps(context, ready, part, &mut exchanges, &mut stopped);
        if tokio::time::timeout(self.limits.case, steps).await.is_err() {
            stopped = Some(format!("the case took longer than {:?}", self.limits.case));
        }
        (exchanges, stopped)
    }

    async fn steps(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        part: Part,
        exchanges: &mut Vec<Exchange>,
        stopped: &mut Option<String>,
    ) {
        let mut walk = Walk::new(context, ready, part);
        let mut bound = false;
        for planned in walk.steps() {
            if !bound && planned.number < SETUP_STEPS {
                walk.bind();
                bound = true;
            }
            if walk.stopped().is_some() {
                break;
            }
            match &planned.step.action {
                Action::Pause(duration) => tokio::time::sleep(*duration).await,
                Action::Parallel(children) => {
                    let in_group = !planned.step.expect_all.is_empty();
                    let mut prepared = Vec::new();
                    for step in children {
                        let child = Planned { step, number: step.number, it: None, in_group };
                        match walk.messages(child) {
                            Ok(messages) => prepared.push((child, messages)),
                            Err(stop) => walk.halt(stop),
                        }
                    }
                    if walk.stopped().is_some() {
                        break;
                    }
                    let sent = prepared.into_iter().map(|(child, messages)| async move {
                        let answers = match child.step.quiet.as_ref() {
                            Some(quiet) => self.quiet(child, &messages, **quiet).await,
                            None => self.send_all(child, messages).await,
                        };
                        (child, answers)
                    });
                    let answers = join_all(sent).await;
                    walk.take_parallel(planned, &answers);
                    exchanges.extend(answers.into_iter().flat_map(|(_, answers)| answers));
                }
                Action::Send { .. } | Action::Request { .. } => match walk.messages(planned) {
                    Err(stop) => walk.halt(stop),
                    Ok(messages) => {
                        let answers = match (&planned.step.until, &planned.step.quiet) {
                            (Some(until), _) => self.until(&mut walk, planned, &messages, **until).await,
                            (None, Some(quiet)) => self.quiet(planned, &messages, **quiet).await,
                            (None, None) => self.send_all(planned, messages).await,
                        };
                        walk.take(planned, &answers);
                        exchanges.extend(answers);
                    }
                },
            }
        }
        if let Some(Stop::Broken(why)) = walk.stopped() {
            *stopped = Some(why.clone());
        }
    }

    async fn send_all(&self, planned: Planned<'_>, messages: Vec<Encoded>) -> Vec<Exchange> {
        let rounds = messages.into_iter().enumerate();
        if planned.step.at_once {
            return join_all(rounds.map(|(round, message)| self.send(planned, round, message))).await;
        }
        let mut exchanges = Vec::new();
        for (round, message) in rounds {
            exchanges.push(self.send_patiently(planned, round, message).await);
        }
        exchanges
    }

    /// Sends a message again while the target says that it is busy (RFC 6585 section 4, RFC 9110 section 15.6.4): cases run
    /// side by side, and a target that wants fewer of them is no worse for it. The last answer is the one that counts.
    async fn send_patiently(&self, planned: Planned<'_>, round: usize, message: Encoded) -> Exchange {
        let mut pause = BUSY_PAUSE;
        for _ in 0..BUSY_TRIES {
            let exchange = self.send(planned, round, message.clone()).await;
            let busy = matches!(exchange.received.status, Some(429 | 503));
            if !busy || self.waits.fetch_add(1, Ordering::Relaxed) >= BUSY_WAITS {
                return exchange;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        self.send(planned, round, message).await
    }

    /// Repeats a step until its expectations hold or its time is over.
    async fn until(
        &self,
        walk: &mut Walk<'_>,
        planned: Planned<'_>,
        messages: &[Encoded],
        limit: Duration,
    ) -> Vec<Exchange> {
        let begun = Instant::now();
        let mut exchanges = Vec::new();
        let Some(message) = messages.first() else { return exchanges };
        loop {
            let exchange = self.send(planned, exchanges.len(), message.clone()).await;
            let holds = walk.holds(planned, &exchange);
            exchanges.push(exchange);
            if holds || begun.elapsed() + PAUSE > limit || exchanges.len() >= ROUNDS {
                return exchanges;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Repeats a step for a while.
    async fn quiet(&self, planned: Planned<'_>, messages: &[Encoded], during: Duration) -> Vec<Exchange> {
        let begun = Instant::now();
        let mut exchanges = Vec::new();
        while exchanges.len() < ROUNDS {
            for message in messages {
                let round = exchanges.len() % messages.len().max(1);
                exchanges.push(self.send(planned, round, message.clone()).await);
            }
            if begun.elapsed() >= during || messages.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE / 4).await;
        }
        exchanges
    }

    /// The limits, with less room for a body once the target has filled much of what a run may hold in memory.
    fn limits_left(&self) -> Limits {
        let mut limits = self.limits.clone();
        if self.stored.load(Ordering::Relaxed) > STORED_BYTES {
            limits.body = limits.body.min(64 << 10);
        }
        limits
    }

    async fn send(&self, planned: Planned<'_>, round: usize, message: Encoded) -> Exchange {
        let actor = planned.step.actor.value.clone();
        let operation = message.operation.clone();
        self.requests.fetch_add(1, Ordering::Relaxed);
        let limits = self.limits_left();
        let silent = self.answered.load(Ordering::Relaxed) == 0
            && self.unanswered.load(Ordering::Relaxed) >= PATIENCE_WITH_A_LIBRARY;
        let Carried { sent, mut received, begun } = if silent && message.transport == Transport::Adapter {
            // It has not answered anything yet, and would be waited for again and again.
            given_up(message)
        } else {
            self.connections.carry(&actor, message, &limits).await
        };
        self.stored.fetch_add(received.body.len() as u64, Ordering::Relaxed);
        let elapsed_ms = milliseconds(begun.elapsed());
        match received.ended {
            Ended::Complete | Ended::TooLong => {
                self.unanswered.store(0, Ordering::Relaxed);
                self.answered.fetch_add(1, Ordering::Relaxed);
            }
            Ended::TimedOut | Ended::Closed(_) | Ended::Unreachable(_) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
            }
        }
        for secret in &self.secrets {
            redact(&mut received.body, secret);
            for (_, value) in &mut received.headers {
                *value = value.replace(secret.as_str(), "<redacted>");
            }
        }
        Exchange {
            step: planned.number,
            round,
            actor,
            operation,
            sent,
            received,
            started_ms: milliseconds(begun.saturating_duration_since(self.start)),
            elapsed_ms,
        }
    }
}

/// A message that is not sent any more.
fn given_up(message: Encoded) -> Carried {
    let sent = Outgoing {
        transport: message.transport,
        method: message.method,
        url: String::new(),
        headers: Vec::new(),
        body: Body(message.body),
    };
    let ended = Ended::Unreachable("it answered nothing before".to_owned());
    let received = Incoming { status: None, headers: Vec::new(), body: Body::default(), ended };
    Carried { sent, received, begun: Instant::now() }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Replaces a secret that a target repeats in its answer.
fn redact(body: &mut Body, secret: &str) {
    if let Some(text) = body.text()
        && text.contains(secret)
    {
        body.0 = text.replace(secret, "<redacted>").into_bytes();
    }
}
