//! Running a plan: sends what the walks ask for, side by side, within every limit, and returns what was exchanged.
//!
//! Nothing is judged here but what decides the next step. Start with [`run`].

mod mailbox;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;

use crate::exchange::{Arrival, Body, Encoded, Ended, Exchange, Incoming, Move, Outgoing, Transport, mask};
use crate::judge::{CaseTranscript, Context, Facts, Features, Gate, Part, Planned, Stop, Transcript, Walk, gate};
use crate::plan::{Plan, ReadyCase, SETUP_STEPS};
use crate::suite::{Action, Case};
use crate::target::Limits;
use crate::transport::adapter::Adapter;
use crate::transport::{Carried, Connections, Session, Wait};
use mailbox::Mailbox;

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

/// Cases side by side of those that wait most of their time.
const WAITING_CASES: usize = 64;

/// The time from which on a case counts among them.
const LONG: Duration = Duration::from_millis(500);

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
    /// Whether nothing is waited for once there is an answer that is enough.
    hasty: bool,
    requests: AtomicU64,
    /// Messages in a row that got no answer.
    unanswered: AtomicUsize,
    answered: AtomicU64,
    /// Pauses taken because the target was busy.
    waits: AtomicUsize,
    /// Bytes of bodies held in memory.
    stored: AtomicU64,
    /// How often in a row the target had nothing to fetch answers from.
    fetches_refused: AtomicUsize,
    /// The answers that the target keeps, as far as they have been fetched, by whose they are.
    mailboxes: Mutex<BTreeMap<String, Mailbox>>,
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
    let engine = Engine::new(connections, &plan.target.limits, start);
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

/// Finds out what a target offers, for some of the cases, and puts none of them: for who thinks of cases as he goes. The
/// transcript holds no cases, and says why the target cannot be met if it cannot.
pub async fn meet(
    plan: &Plan<'_>,
    chosen: &BTreeSet<usize>,
    facts: Facts,
    connections: &Connections,
    start: Instant,
) -> Transcript {
    let engine = Engine::new(connections, &plan.target.limits, start);
    let mut transcript = Transcript::default();
    let needed = plan.features_needed(chosen);
    transcript.cut_short = engine.probe(plan, Some(&needed), facts, &mut transcript).await;
    transcript
}

/// Puts one case to a target that has been met, beside others or alone.
pub async fn put(
    context: &Context<'_>,
    ready: &ReadyCase<'_>,
    connections: &Connections,
    start: Instant,
) -> (CaseTranscript, Totals) {
    let engine = Engine::new(connections, &context.plan.target.limits, start);
    let transcript = engine.case(context, ready).await;
    (transcript, Totals { requests: engine.requests.load(Ordering::Relaxed) })
}

/// Takes the steps of one part of a case, and waits for no more than one answer of each: what contradicts it is for [`put`].
/// The text says why it ended if no exchange shows it.
pub async fn put_part(
    context: &Context<'_>,
    ready: &ReadyCase<'_>,
    part: Part,
    connections: &Connections,
    start: Instant,
) -> (Vec<Exchange>, Option<String>) {
    let engine = Engine { hasty: true, ..Engine::new(connections, &context.plan.target.limits, start) };
    engine.walk(context, ready, part, milliseconds(start.elapsed())).await
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

impl<'r> Engine<'r> {
    fn new(connections: &'r Connections, limits: &'r Limits, start: Instant) -> Self {
        Self {
            connections,
            limits,
            start,
            secrets: connections.secrets().map(str::to_owned).collect(),
            hasty: false,
            requests: AtomicU64::new(0),
            unanswered: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            waits: AtomicUsize::new(0),
            stored: AtomicU64::new(0),
            fetches_refused: AtomicUsize::new(0),
            mailboxes: Mutex::default(),
        }
    }

    /// Finds out what the target offers, over each transport. The text says why it cannot be found out.
    async fn probe(
        &self,
        plan: &Plan<'_>,
        needed: Option<&BTreeSet<&str>>,
        facts: Facts,
        transcript: &mut Transcript,
    ) -> Option<String> {
        for transport in &plan.transports {
            let mut probes = plan.probes(*transport);
            if let Some(needed) = needed {
                probes.retain(|probe| needed.contains(probe.case.name.value.as_str()));
            }
            let (first, rest): (Vec<_>, Vec<_>) = probes.iter().partition(|probe| plan.is_first(probe));
            transcript.probes.push((*transport, Vec::new()));
            for batch in [first, rest] {
                let met = Context { plan, facts, features: Features::met(plan, facts, transcript) };
                let begun = milliseconds(self.start.elapsed());
                let found = join_all(batch.iter().map(|probe| self.walk(&met, probe, Part::Probe, begun))).await;
                if let Some((_, exchanges)) = transcript.probes.last_mut() {
                    exchanges.extend(found.into_iter().flat_map(|(exchanges, _)| exchanges));
                }
            }
        }
        (self.answered.load(Ordering::Relaxed) == 0).then(|| self.why_no_answer(transcript))
    }

    /// Probes, then cases. Writes into `transcript` as it goes, so that what was exchanged is kept when it is cut short.
    async fn work(
        &self,
        plan: &Plan<'_>,
        chosen: Option<&BTreeSet<usize>>,
        facts: Facts,
        transcript: &mut Transcript,
        sink: &dyn Sink,
    ) -> Option<String> {
        let needed = chosen.map(|chosen| plan.features_needed(chosen));
        if let Some(why) = self.probe(plan, needed.as_ref(), facts, transcript).await {
            return Some(why);
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
        // What waits most of its time does not stand in the way of what does not.
        let (waiting, brisk): (Vec<_>, Vec<_>) = open.into_iter().partition(|index| waits(plan.cases[*index].case));
        let put = |index: usize| async move { (index, self.case(context, &plan.cases[index]).await) };
        let waiting = stream::iter(waiting).map(put).buffer_unordered(WAITING_CASES.max(self.limits.jobs));
        let brisk = stream::iter(brisk).map(put).buffer_unordered(self.limits.jobs);
        let mut done = stream::select(waiting, brisk);
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
        if ready.case.is_sweep() {
            // What it looks at is what the others were answered.
            return transcript;
        }
        let parts: &[Part] = match (ready.case.has_edits(), ready.case.twin_first) {
            (false, _) => &[Part::Case],
            (true, false) => &[Part::Case, Part::Twin],
            (true, true) => &[Part::Twin, Part::Case],
        };
        for part in parts {
            if transcript.stopped.is_some() {
                break;
            }
            let started_ms = milliseconds(self.start.elapsed());
            let (exchanges, stopped) = self.walk(context, ready, *part, started_ms).await;
            transcript.stopped = stopped;
            if *part == Part::Twin {
                (transcript.twin, transcript.twin_started_ms) = (exchanges, started_ms);
            } else {
                (transcript.exchanges, transcript.started_ms) = (exchanges, started_ms);
            }
        }
        transcript.elapsed_ms = milliseconds(begun.elapsed());
        transcript
    }

    /// Takes the steps of a case until its end, a stop or its deadline. The text says why it ended if no exchange shows it.
    async fn walk(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        part: Part,
        begun_ms: u64,
    ) -> (Vec<Exchange>, Option<String>) {
        let mut exchanges = Vec::new();
        let mut stopped = None;
        let walk = Walk::new(context, ready, part, begun_ms);
        let steps = self.steps(context, walk, &mut exchanges, &mut stopped);
        if tokio::time::timeout(self.limits.case, steps).await.is_err() {
            stopped = Some(format!("the case took longer than {:?}", self.limits.case));
        }
        (exchanges, stopped)
    }

    async fn steps(
        &self,
        context: &Context<'_>,
        mut walk: Walk<'_>,
        exchanges: &mut Vec<Exchange>,
        stopped: &mut Option<String>,
    ) {
        let talk = Talk { context, session: Session::default(), returns: AtomicUsize::new(0) };
        let talk = &talk;
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
                Action::Sweep => {}
                Action::Parallel(children) => {
                    let in_group = !planned.step.expect_all.is_empty();
                    let mut prepared = Vec::new();
                    for step in children {
                        let child = Planned::own(step, in_group);
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
                            Some(quiet) => self.quiet(talk, child, &messages, **quiet).await,
                            None => self.send_all(talk, None, child, messages).await,
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
                            (Some(until), _) => self.until(talk, &mut walk, planned, &messages, **until).await,
                            (None, Some(quiet)) => self.quiet(talk, planned, &messages, **quiet).await,
                            (None, None) => self.send_all(talk, Some(&mut walk), planned, messages).await,
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
        for planned in walk.after() {
            // Nothing is made of it, and a target that does not do it is no worse for it.
            for (round, message) in walk.messages(planned).unwrap_or_default().into_iter().enumerate() {
                self.send(talk, None, planned, round, message).await;
            }
        }
    }

    async fn send_all(
        &self,
        talk: &Talk<'_>,
        mut walk: Option<&mut Walk<'_>>,
        planned: Planned<'_>,
        messages: Vec<Encoded>,
    ) -> Vec<Exchange> {
        let rounds = messages.into_iter().enumerate();
        if planned.step.at_once {
            return join_all(rounds.map(|(round, message)| self.send(talk, None, planned, round, message))).await;
        }
        let mut exchanges = Vec::new();
        for (round, message) in rounds {
            exchanges.push(self.send_patiently(talk, walk.as_deref_mut(), planned, round, message).await);
        }
        exchanges
    }

    /// Sends a message again while the target says that it is busy (RFC 6585 section 4, RFC 9110 section 15.6.4): cases run
    /// side by side, and a target that wants fewer of them is no worse for it. The last answer is the one that counts.
    async fn send_patiently(
        &self,
        talk: &Talk<'_>,
        mut walk: Option<&mut Walk<'_>>,
        planned: Planned<'_>,
        round: usize,
        message: Encoded,
    ) -> Exchange {
        let mut pause = BUSY_PAUSE;
        for _ in 0..BUSY_TRIES {
            let exchange = self.send(talk, walk.as_deref_mut(), planned, round, message.clone()).await;
            let busy = matches!(exchange.received.status, Some(429 | 503));
            if !busy || self.waits.fetch_add(1, Ordering::Relaxed) >= BUSY_WAITS {
                return exchange;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        self.send(talk, walk, planned, round, message).await
    }

    /// Repeats a step until its expectations hold or its time is over.
    async fn until(
        &self,
        talk: &Talk<'_>,
        walk: &mut Walk<'_>,
        planned: Planned<'_>,
        messages: &[Encoded],
        limit: Duration,
    ) -> Vec<Exchange> {
        let begun = Instant::now();
        let mut exchanges = Vec::new();
        let Some(message) = messages.first() else { return exchanges };
        loop {
            let exchange = self.send(talk, Some(walk), planned, exchanges.len(), message.clone()).await;
            let holds = walk.holds(planned, &exchange);
            exchanges.push(exchange);
            if holds || begun.elapsed() + PAUSE > limit || exchanges.len() >= ROUNDS {
                return exchanges;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Repeats a step for a while.
    async fn quiet(
        &self,
        talk: &Talk<'_>,
        planned: Planned<'_>,
        messages: &[Encoded],
        during: Duration,
    ) -> Vec<Exchange> {
        let begun = Instant::now();
        let mut exchanges = Vec::new();
        while exchanges.len() < ROUNDS {
            for message in messages {
                let round = exchanges.len() % messages.len().max(1);
                exchanges.push(self.send(talk, None, planned, round, message.clone()).await);
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

    /// Opens another connection for a party whose connection the target has ended behind an answer, as it may with what it
    /// refuses, and takes the set-up of the party there. A connection that the case has made by itself stays ended: what comes
    /// of that is what it asks. False if there is nothing to return to.
    async fn return_to(&self, talk: &Talk<'_>, walk: &Walk<'_>, planned: Planned<'_>) -> bool {
        if planned.number >= SETUP_STEPS || !talk.session.was_left(planned.actor()).await {
            return false;
        }
        let times = talk.returns.fetch_add(1, Ordering::Relaxed) + 1;
        let setup = walk.anew(planned.actor(), times);
        if setup.is_empty() {
            return false;
        }
        talk.session.forget(planned.actor()).await;
        for (step, messages) in setup {
            for message in messages {
                Box::pin(self.send(talk, None, step, 0, message)).await;
            }
        }
        true
    }

    /// Sends a message and collects its answers. Over a connection that stays open the walk says when they are enough.
    async fn send(
        &self,
        talk: &Talk<'_>,
        mut walk: Option<&mut Walk<'_>>,
        planned: Planned<'_>,
        round: usize,
        message: Encoded,
    ) -> Exchange {
        let actor = planned.actor().to_owned();
        let operation = message.operation.clone();
        let (transport, action) = (message.transport, message.action.clone());
        self.requests.fetch_add(1, Ordering::Relaxed);
        let returned = match walk.as_deref() {
            Some(walk) if message.action == Move::Message => self.return_to(talk, walk, planned).await,
            _ => false,
        };
        let limits = self.limits_left();
        let silent = self.answered.load(Ordering::Relaxed) == 0
            && self.unanswered.load(Ordering::Relaxed) >= PATIENCE_WITH_A_LIBRARY;
        let exchange = |sent: &Outgoing, received: &Incoming| Exchange {
            step: planned.number,
            round,
            actor: actor.clone(),
            operation: operation.clone(),
            sent: sent.clone(),
            received: received.clone(),
            started_ms: 0,
            elapsed_ms: 0,
        };
        let Carried { mut sent, mut received, begun } = if silent && transport == Transport::Adapter {
            // It has not answered anything yet, and would be waited for again and again.
            Carried::unsent(message, "it answered nothing before")
        } else {
            let protocol = talk.context.plan.knowledge.protocol;
            let beside = |sent: &Outgoing, arrival: &Arrival| match action {
                Move::Message => protocol.is_beside(&sent.body.0, arrival),
                _ => arrival.is_ping(),
            };
            let mut enough = |sent: &Outgoing, received: &Incoming| match walk.as_deref_mut() {
                Some(walk) => walk.content(planned, &exchange(sent, received)),
                None => !received.arrived.iter().all(|arrival| beside(sent, arrival)),
            };
            let at_least = planned.step.settle.as_ref().map_or(Duration::ZERO, |settle| **settle);
            // In a set-up nothing is judged, so that nothing that comes late matters.
            let hasty = self.hasty || planned.number >= SETUP_STEPS;
            let wait =
                Wait { none: planned.step.without_waiting, hasty, at_least, beside: &beside, enough: &mut enough };
            let mailbox = self.mailbox(talk, &exchange, &message);
            let mut carried = self.connections.carry(&talk.session, &actor, message, &limits, wait).await;
            if transport == Transport::Http {
                let first = exchange(&carried.sent, &carried.received);
                self.fetch(talk, &first, mailbox, &mut carried, &mut enough).await;
            }
            carried
        };
        if returned {
            sent.method.push_str(" on a new connection");
        }
        let arrived = received.arrived.iter().map(|arrival| arrival.body.len()).sum::<usize>();
        self.stored.fetch_add((received.body.len() + arrived) as u64, Ordering::Relaxed);
        let elapsed_ms = milliseconds(begun.elapsed());
        match received.ended {
            Ended::Complete | Ended::TooLong => {
                self.unanswered.store(0, Ordering::Relaxed);
                self.answered.fetch_add(1, Ordering::Relaxed);
            }
            // Where connections stay open, to close one behind an answer, or in the place of one, is a way of answering.
            Ended::Closed(_) if transport.is_channel() => {
                if !received.arrived.is_empty() {
                    self.unanswered.store(0, Ordering::Relaxed);
                    self.answered.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ended::TimedOut | Ended::Closed(_) | Ended::Unreachable(_) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
            }
        }
        for secret in &self.secrets {
            redact(&mut received.body, secret);
            received.arrived.iter_mut().for_each(|arrival| redact(&mut arrival.body, secret));
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

/// What a walk talks with: the connections that it has open.
struct Talk<'c> {
    context: &'c Context<'c>,
    session: Session,
    /// How often a connection was opened again.
    returns: AtomicUsize,
}

/// Whether a case says itself that it takes a while.
fn waits(case: &Case) -> bool {
    let declared = case.all_steps().into_iter().map(|step| {
        let pause = match step.action {
            Action::Pause(pause) => pause,
            _ => Duration::ZERO,
        };
        let times = [&step.settle, &step.quiet].into_iter().flatten().map(|time| **time);
        pause + times.sum::<Duration>()
    });
    declared.sum::<Duration>() >= LONG
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Replaces a secret that a target repeats in its answer; among bytes that are no text, every length stays as it is.
fn redact(body: &mut Body, secret: &str) {
    match body.text() {
        Some(text) if text.contains(secret) => body.0 = text.replace(secret, "<redacted>").into_bytes(),
        Some(_) => {}
        None => mask(&mut body.0, secret.as_bytes()),
    }
}
