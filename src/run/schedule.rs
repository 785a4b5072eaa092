//! The order of a run: first probes, then cases, as many concurrently as the limits permit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use tokio::sync::Semaphore;

use super::progress::{Event, Sink};
use super::runner::Runner;
use crate::exchange::{Exchange, HostUrls, Transport};
use crate::judge::{Gate, gate};
use crate::plan::Plan;
use crate::protocol::PACE;
use crate::source::Located;
use crate::suite::{Action, Case};
use crate::template::Expr;
use crate::value::Value;
use crate::walk::{Context, Facts, Features, Part, Transcript, readiness};

/// Number of consecutive messages without an answer after which the target counts as gone.
const PATIENCE: usize = 24;

/// The same for a library, which handles one call at a time, so that the timeouts add up.
pub(super) const PATIENCE_WITH_A_LIBRARY: usize = 6;

/// Maximum number of concurrent cases that mostly wait, unless there is only one job.
const WAITING_CASES: usize = 64;

/// How many times as many cases may run concurrently over connections that stay open: after each answer they listen for one
/// that contradicts it, and the target is idle.
const LISTENING: usize = 3;

/// The declared waiting time above which a case counts among them.
const LONG: Duration = Duration::from_millis(500);

/// The time above which the wait for a message at a host counts as declared waiting.
const LATE: Duration = Duration::from_secs(3);

impl Runner<'_> {
    /// Runs probes, then cases. Writes to `transcript` continuously, so that the exchanges are kept if the run is cut short.
    pub(super) async fn probe_and_run(
        &self,
        plan: &Plan<'_>,
        chosen: Option<&BTreeSet<usize>>,
        facts: Facts,
        transcript: &mut Transcript,
        sink: &dyn Sink,
    ) -> Option<String> {
        if let Some(why) = self.probe_features(plan, chosen, facts, transcript).await {
            return Some(why);
        }
        // Over a transport that the target lacks no probe was answered, which says nothing of the others.
        self.unanswered.store(0, Ordering::Relaxed);
        let features = Features::read(plan, facts, transcript);
        let context = Context { plan, facts, features };
        let open: Vec<usize> = (0..plan.cases.len())
            .filter(|index| chosen.is_none_or(|chosen| chosen.contains(index)))
            .filter(|index| gate(&context, &plan.cases[*index]) == Gate::Open)
            .collect();
        self.twins.prepare(plan, &open);
        sink.event(Event::Planned(open.len()));
        transcript.cases.resize_with(plan.cases.len(), || None);
        let patience = if plan.transports == [Transport::Adapter] { PATIENCE_WITH_A_LIBRARY } else { PATIENCE };
        let context = &context;
        // All cases share the clock of the target: those that advance it run last and alone.
        let alone = |index: &usize| {
            let ready = &plan.cases[*index];
            ready.case.advances_clock() && plan.clock(ready.transport).is_some_and(|way| !way.per_case)
        };
        let (last, open): (Vec<_>, Vec<_>) = open.into_iter().partition(|index| plan.cases[*index].case.ends_target);
        let (alone, together): (Vec<_>, Vec<_>) = open.into_iter().partition(alone);
        // Cases that mostly wait must not delay the others. The longest start first.
        let (mut waiting, mut brisk): (Vec<_>, Vec<_>) =
            together.into_iter().partition(|index| waits(plan, plan.cases[*index].case) >= LONG);
        waiting.sort_by_key(|index| std::cmp::Reverse(waits(plan, plan.cases[*index].case)));
        // A step that is repeated until something shows takes all of its time where that never shows.
        brisk.sort_by_key(|index| std::cmp::Reverse(until(plan, plan.cases[*index].case)));
        let (talking, brisk): (Vec<_>, Vec<_>) =
            brisk.into_iter().partition(|index| plan.cases[*index].transport.is_channel());
        let jobs = self.limits.jobs;
        // One job means one case at a time, for a target that takes long for each message.
        let only = &Semaphore::new(1);
        let run = |index: usize| async move {
            let _turn = if jobs == 1 { only.acquire().await.ok() } else { None };
            (index, self.case(context, &plan.cases[index], Some(index)).await)
        };
        let waiting = stream::iter(waiting).map(run).buffer_unordered(WAITING_CASES.max(jobs));
        let turns = &Semaphore::new(jobs.max(1));
        let talk = |index: usize| async move {
            // A slow target gets no more messages at once than over any other transport.
            let _turn = if self.is_slow() { turns.acquire().await.ok() } else { None };
            run(index).await
        };
        let talking = stream::iter(talking).map(talk).buffer_unordered(1 + jobs.saturating_sub(1) * LISTENING);
        let brisk = stream::iter(brisk).map(run).buffer_unordered(jobs);
        let mut together = stream::select(waiting, stream::select(talking, brisk)).fuse();
        let mut alone = stream::iter(alone.into_iter().chain(last)).map(run).buffered(1).fuse();
        let mut retried = false;
        loop {
            let found = match together.next().await {
                Some(found) => Some(found),
                None => {
                    if !std::mem::replace(&mut retried, true) {
                        self.retry(context, transcript).await;
                    }
                    alone.next().await
                }
            };
            let Some((index, case)) = found else { break };
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

    /// Probes the features of the target over one transport, first those that others build on. Returns the exchanges.
    async fn probe_over(
        &self,
        plan: &Plan<'_>,
        chosen: Option<&BTreeSet<usize>>,
        facts: Facts,
        transport: Transport,
        hosts: &BTreeMap<String, HostUrls>,
    ) -> Vec<Exchange> {
        let mut probes = plan.probes(transport);
        if let Some(chosen) = chosen {
            let needed = plan.features_needed(chosen, transport);
            probes.retain(|probe| needed.contains(probe.case.name.value.as_str()));
        }
        let (first, rest): (Vec<_>, Vec<_>) = probes.iter().partition(|probe| plan.is_first(probe));
        let mut own =
            Transcript { probes: vec![(transport, Vec::new())], hosts: hosts.clone(), ..Transcript::default() };
        for batch in [first, rest] {
            let met = Context { plan, facts, features: Features::met(plan, facts, &own) };
            let begun = self.now_ms();
            let walks = batch.iter().map(|probe| self.walk(&met, probe, Part::Probe, begun, false));
            let found = join_all(walks).await;
            own.probes[0].1.extend(found.into_iter().flat_map(|(exchanges, _)| exchanges));
        }
        own.probes.into_iter().flat_map(|(_, exchanges)| exchanges).collect()
    }

    /// Probes the features of the target over all transports. The text says why it cannot be probed.
    pub(super) async fn probe_features(
        &self,
        plan: &Plan<'_>,
        chosen: Option<&BTreeSet<usize>>,
        facts: Facts,
        transcript: &mut Transcript,
    ) -> Option<String> {
        match self.hosts(plan.knowledge, plan.target).await {
            Ok(hosts) => transcript.hosts = hosts.map(|hosts| hosts.urls()).unwrap_or_default(),
            Err(why) => return Some(why),
        }
        let hosts = &transcript.hosts;
        let probed = plan.transports.iter().map(|transport| self.probe_over(plan, chosen, facts, *transport, hosts));
        let probed = join_all(probed).await;
        transcript.probes.extend(plan.transports.iter().copied().zip(probed));
        if self.judges_every_target {
            return (self.answered.load(Ordering::Relaxed) == 0).then(|| "the target did not answer".to_owned());
        }
        let general = readiness::not_ready(plan.knowledge.protocol, transcript, self.limits.request);
        let of_protocol = || plan.knowledge.protocol.not_ready(plan.target, &transcript.probes);
        general.map(|found| found.lines().join("\n")).or_else(|| of_protocol().map(|lines| lines.join("\n")))
    }
}

/// The pauses and waits that a case declares, and the time that its slow messages take.
fn waits(plan: &Plan<'_>, case: &Case) -> Duration {
    let declared = case.all_steps().into_iter().map(|step| {
        let pause = match &step.action {
            Action::Pause(pause) => plan.time(pause),
            Action::Send { with, .. } => pace(with),
            // A message that may come late is waited for most of its time.
            Action::Receive(receive) => {
                receive.within.as_ref().map(|within| plan.time(within)).filter(|time| *time > LATE).unwrap_or_default()
            }
            _ => Duration::ZERO,
        };
        let times = [&step.settle, &step.quiet].into_iter().flatten().map(|time| plan.time(time));
        pause + times.sum::<Duration>()
    });
    declared.sum()
}

/// How long a case may have to wait, as far as its steps say.
pub fn longest(plan: &Plan<'_>, case: &Case) -> Duration {
    waits(plan, case) + until(plan, case)
}

/// The longest time for which a case repeats a step.
fn until(plan: &Plan<'_>, case: &Case) -> Duration {
    let times = case.all_steps().into_iter().filter_map(|step| step.until.as_ref());
    times.map(|time| plan.time(time)).max().unwrap_or_default()
}

/// The time over which the inputs of an operation have its message sent.
fn pace(inputs: &[(Located<String>, Expr)]) -> Duration {
    let given = inputs.iter().find(|(name, _)| name.value == PACE);
    let Some((_, Expr::Constant(Value::Integer(ms)))) = given else { return Duration::ZERO };
    Duration::from_millis(u64::try_from(*ms).unwrap_or_default())
}
