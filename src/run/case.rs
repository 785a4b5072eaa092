//! Runs one case: its parts, and the steps of each.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::future::join_all;
use tokio::sync::Mutex;

use super::hosts::HostSession;
use super::runner::{Runner, milliseconds};
use super::twins::{Sent, Slot};
use crate::exchange::{Encoded, Ended, Exchange, Exchanges, Transport};
use crate::plan::{ReadyCase, SETUP_STEPS};
use crate::spelling::CaseSpelling;
use crate::suite::{Action, Step};
use crate::transport::Session;
use crate::transport::adapter::Adapter;
use crate::walk::{CaseTranscript, Context, Judged, Part, Planned, Stop, Walk};

/// How often a case runs again because another case crashed the adapter.
const ADAPTER_TRIES: usize = 5;

/// The open connections of one walk through a case, and how it waits.
pub(super) struct CaseSession<'c> {
    pub(super) context: &'c Context<'c>,
    /// Id of the case.
    pub(super) id: &'c str,
    /// How its messages are written, if not in the usual way.
    pub(super) spelling: Option<&'c CaseSpelling>,
    pub(super) session: Session,
    /// Whether a step ends at the first sufficient answer.
    pub(super) fail_fast: bool,
    /// How often a connection was reopened.
    pub(super) returns: AtomicUsize,
    /// How far the clock of the target is ahead, in milliseconds.
    pub(super) clock_ms: AtomicU64,
}

impl Runner<'_> {
    /// Runs a case. One with a position in the plan may share its twin with other cases of the run.
    pub(super) async fn case(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        position: Option<usize>,
    ) -> CaseTranscript {
        let lost = || self.connections.adapter.as_ref().map_or(0, Adapter::lost);
        let mut transcript = CaseTranscript::default();
        for number in 0..ADAPTER_TRIES {
            let before = lost();
            // A twin that the crash of another case cut off is sent again.
            let position = position.filter(|_| number == 0);
            transcript = self.case_once(context, ready, position, 0).await;
            let answers = transcript.exchanges.iter().chain(&transcript.twin);
            let own = answers.filter(|exchange| exchange.received.ended != Ended::Complete).count() as u64;
            // Another case crashed the adapter, so its stores are lost; the failure counts only against that case.
            if ready.transport != Transport::Adapter || lost() - before <= own {
                return transcript;
            }
        }
        // The exchanges are unrelated to the case.
        CaseTranscript {
            stopped: Some("the adapter crashed repeatedly while the case ran".to_owned()),
            elapsed_ms: transcript.elapsed_ms,
            ..CaseTranscript::default()
        }
    }

    /// One try of a case, which was tried so often before.
    pub(super) async fn case_once(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        position: Option<usize>,
        retry: u64,
    ) -> CaseTranscript {
        let begun = Instant::now();
        let mut transcript = CaseTranscript { retry, ..CaseTranscript::default() };
        if ready.case.is_sweep() {
            // A sweep judges the answers of other cases.
            return transcript;
        }
        let parts: &[Part] = match (ready.has_twin, ready.case.twin_first) {
            (false, _) => &[Part::Case],
            (true, false) => &[Part::Case, Part::Twin],
            (true, true) => &[Part::Twin, Part::Case],
        };
        for part in parts {
            if transcript.stopped.is_some() {
                break;
            }
            if *part == Part::Twin {
                self.twin(context, ready, position, &mut transcript).await;
            } else {
                (transcript.exchanges, transcript.started_ms, transcript.stopped) =
                    self.part(context, ready, Part::Case, position, retry).await;
            }
        }
        transcript.elapsed_ms = milliseconds(begun.elapsed());
        transcript
    }

    /// Runs the steps of one part of a case. Returns the exchanges, when the first began, and the reason for an early end that no
    /// exchange shows. What the walk found is kept for a case with a position in the plan.
    async fn part(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        part: Part,
        position: Option<usize>,
        retry: u64,
    ) -> (Exchanges, u64, Option<String>) {
        let started_ms = self.now_ms();
        let walk = Walk::retry(context, ready, part, started_ms, retry);
        let (exchanges, stopped, walked) = self.follow(context, ready, walk, false).await;
        let exchanges = exchanges.into();
        if let (Some(position), Some(walked), None) = (position, walked, &stopped) {
            self.walks.keep(position, part, walked, &exchanges);
        }
        (exchanges, started_ms, stopped)
    }

    /// Sends the twin of a case, unless the case shares one that the target accepted.
    async fn twin(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        position: Option<usize>,
        transcript: &mut CaseTranscript,
    ) {
        let slot = position.and_then(|position| Some((position, self.twins.slot(ready)?)));
        if let Some((position, Slot { of, sent })) = slot {
            let twin = self.shared_twin(context, *of, sent).await;
            let is_own = position == *of;
            if is_own || twin.is_accepted {
                transcript.twin_of = (!is_own).then_some(*of);
                (transcript.twin, transcript.twin_started_ms) = (twin.exchanges, twin.started_ms);
                transcript.stopped = twin.stopped;
                return;
            }
        }
        let (exchanges, started_ms, stopped) = self.part(context, ready, Part::Twin, position, transcript.retry).await;
        (transcript.twin, transcript.twin_started_ms, transcript.stopped) = (exchanges, started_ms, stopped);
    }

    /// The twin of a case that others share, which is sent once.
    async fn shared_twin(&self, context: &Context<'_>, position: usize, sent: &Mutex<Option<Sent>>) -> Sent {
        let mut sent = sent.lock().await;
        if let Some(sent) = &*sent {
            return sent.clone();
        }
        let ready = &context.plan.cases[position];
        let (exchanges, started_ms, stopped) = self.part(context, ready, Part::Twin, Some(position), 0).await;
        let walked = self.walks.over(position, Part::Twin, &exchanges);
        let is_accepted = stopped.is_none() && walked.is_some_and(|walked| walked.refused.is_none());
        sent.insert(Sent { exchanges, started_ms, stopped, is_accepted }).clone()
    }

    /// Runs steps concurrently: first those that send, then those that receive, whose messages may have arrived meanwhile.
    async fn parallel<'p>(
        &self,
        case: &CaseSession<'_>,
        walk: &mut Walk<'p>,
        hosts: &mut Option<HostSession<'p>>,
        planned: Planned<'p>,
        children: &'p [Step],
    ) -> Vec<(Planned<'p>, Vec<Exchange>)> {
        let begun = Instant::now();
        let in_group = !planned.step.expect_all.is_empty();
        let mut prepared = Vec::new();
        for step in children {
            let child = Planned::own(step, in_group);
            if matches!(step.action, Action::Receive(_)) {
                prepared.push((child, Vec::new()));
                continue;
            }
            match walk.messages(child) {
                Ok(messages) => prepared.push((child, messages)),
                Err(stop) => walk.halt(stop),
            }
        }
        if walk.stopped().is_some() {
            return Vec::new();
        }
        for (child, messages) in &prepared {
            if let Some(hosts) = hosts.as_ref() {
                hosts.claim(&walk.step_values(*child));
            }
            claim(case, hosts.as_ref(), messages);
        }
        let sent = prepared.into_iter().map(|(child, messages)| async move {
            let answers = match child.step.quiet.as_ref() {
                _ if matches!(child.step.action, Action::Receive(_)) => Vec::new(),
                Some(quiet) => self.quiet(case, child, &messages, case.context.plan.time(quiet)).await,
                None => self.send_all(case, None, child, messages).await,
            };
            (child, answers)
        });
        let mut answers = self.while_hosting(hosts.as_mut(), join_all(sent)).await;
        for (child, received) in &mut answers {
            if let Action::Receive(receive) = &child.step.action {
                *received = self.receive(hosts.as_mut(), walk, *child, receive, begun).await;
                received.iter_mut().for_each(|exchange| exchange.clock_ms = walk.clock_ms());
            }
        }
        answers
    }

    /// Runs the steps of a case until its end, a stop or its deadline. The text is the reason for an early end that no exchange
    /// shows. With `fail_fast`, each step ends at its first sufficient answer.
    pub(super) async fn walk(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        part: Part,
        begun_ms: u64,
        fail_fast: bool,
    ) -> (Vec<Exchange>, Option<String>) {
        let walk = Walk::new(context, ready, part, begun_ms);
        let (exchanges, stopped, _) = self.follow(context, ready, walk, fail_fast).await;
        (exchanges, stopped)
    }

    /// Runs the steps of a walk. Returns the exchanges, the reason for an early end that no exchange shows, and what the walk
    /// found, unless its time was up.
    async fn follow<'p>(
        &self,
        context: &Context<'_>,
        ready: &ReadyCase<'_>,
        mut walk: Walk<'p>,
        fail_fast: bool,
    ) -> (Vec<Exchange>, Option<String>, Option<(Judged, Option<String>)>) {
        let mut exchanges = Vec::new();
        let mut stopped = None;
        walk.set_clock(self.clock_of(context, ready.transport));
        let session = CaseSession {
            context,
            id: &ready.id,
            spelling: ready.spelling.as_ref(),
            session: Session::default(),
            fail_fast,
            returns: AtomicUsize::new(0),
            clock_ms: AtomicU64::new(walk.clock_ms()),
        };
        let hosts = self.host_session(ready, &walk);
        let steps = self.steps(&session, walk, hosts, &mut exchanges, &mut stopped);
        let walked = tokio::time::timeout(self.limits.case, steps).await.ok();
        if walked.is_none() {
            stopped =
                Some(format!("the case took longer than {:?} (`limits.case` of the target file)", self.limits.case));
        }
        (exchanges, stopped, walked)
    }

    /// How far the clock of the target is ahead when a case starts. A restarted library has a new clock.
    fn clock_of(&self, context: &Context<'_>, transport: Transport) -> u64 {
        if context.plan.clock(transport).is_none_or(|way| way.per_case) {
            return 0;
        }
        let clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        match clocks.get(&transport.reaches()) {
            Some((ahead_ms, lost)) if *lost == self.adapter_lost() => *ahead_ms,
            _ => 0,
        }
    }

    fn adapter_lost(&self) -> u64 {
        self.connections.adapter.as_ref().map_or(0, Adapter::lost)
    }

    /// Stores the clock of the target for later steps and cases.
    fn follow_clock(&self, case: &CaseSession<'_>, walk: &Walk<'_>, planned: Planned<'_>) {
        if let Action::Advance { .. } = planned.step.action {
            case.clock_ms.store(walk.clock_ms(), Ordering::Relaxed);
            let mut clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
            clocks.insert(walk.transport().reaches(), (walk.clock_ms(), self.adapter_lost()));
        }
    }

    async fn steps<'p>(
        &self,
        case: &CaseSession<'_>,
        mut walk: Walk<'p>,
        mut hosts: Option<HostSession<'p>>,
        exchanges: &mut Vec<Exchange>,
        stopped: &mut Option<String>,
    ) -> (Judged, Option<String>) {
        let mut bound = false;
        for planned in walk.steps() {
            if !bound && planned.number < SETUP_STEPS {
                walk.bind();
                bound = true;
                if let Some(hosts) = &hosts {
                    hosts.claim(&walk.host_values());
                }
            }
            if walk.stopped().is_some() {
                break;
            }
            if let Some(hosts) = &mut hosts {
                hosts.claim(&walk.step_values(planned));
                hosts.brief(&walk);
            }
            match &planned.step.action {
                Action::Pause(pause) => {
                    let pause = case.context.plan.time(pause);
                    self.while_hosting(hosts.as_mut(), tokio::time::sleep(pause)).await;
                }
                Action::Sweep => walk.sweep_case(planned),
                Action::Receive(receive) => {
                    let mut received = self.receive(hosts.as_mut(), &mut walk, planned, receive, Instant::now()).await;
                    received.iter_mut().for_each(|exchange| exchange.clock_ms = walk.clock_ms());
                    walk.take(planned, &received);
                    exchanges.extend(received);
                }
                Action::Parallel(children) => {
                    let answers = self.parallel(case, &mut walk, &mut hosts, planned, children).await;
                    if walk.stopped().is_some() {
                        break;
                    }
                    walk.take_parallel(planned, &answers);
                    exchanges.extend(answers.into_iter().flat_map(|(_, answers)| answers));
                }
                Action::Send { .. } | Action::Request { .. } | Action::Advance { .. } => match walk.messages(planned) {
                    Err(stop) => walk.halt(stop),
                    Ok(messages) => {
                        claim(case, hosts.as_ref(), &messages);
                        let sent = async {
                            match (&planned.step.until, &planned.step.quiet) {
                                (Some(until), _) => {
                                    let limit = case.context.plan.time(until);
                                    self.until(case, &mut walk, planned, &messages, limit).await
                                }
                                (None, Some(quiet)) => {
                                    self.quiet(case, planned, &messages, case.context.plan.time(quiet)).await
                                }
                                (None, None) => self.send_all(case, Some(&mut walk), planned, messages).await,
                            }
                        };
                        let answers = self.while_hosting(hosts.as_mut(), sent).await;
                        walk.take(planned, &answers);
                        self.follow_clock(case, &walk, planned);
                        exchanges.extend(answers);
                    }
                },
            }
        }
        if let Some(Stop::Broken(why)) = walk.stopped() {
            *stopped = Some(why.clone());
        }
        for planned in walk.after() {
            // The clean-up is not judged, since it is optional for a target.
            for (round, message) in walk.messages(planned).unwrap_or_default().into_iter().enumerate() {
                self.send(case, None, planned, round, message).await;
            }
        }
        let refused = walk.refused();
        (walk.finish(), refused)
    }
}

/// Claims the keys of the messages that a case sends.
fn claim(case: &CaseSession<'_>, hosts: Option<&HostSession<'_>>, messages: &[Encoded]) {
    let hosting = case.context.plan.knowledge.protocol.hosting();
    if let (Some(hosts), Some(hosting)) = (hosts, hosting) {
        let claimed: Vec<_> =
            messages.iter().flat_map(|message| hosting.claims(message)).map(String::into_bytes).collect();
        hosts.claim(&claimed);
    }
}
