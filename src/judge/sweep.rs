//! Sweeps: requirements on a sender are judged on every message that the target made in the run.

use std::collections::BTreeMap;

use super::features;
use super::outcome::write_down;
use crate::exchange::{Exchange, Transport};
use crate::plan::ReadyCase;
use crate::record::CaseRecord;
use crate::value::Value;
use crate::verdict::Verdict;
use crate::walk::{Context, Part, Transcript, Walk, readiness};

/// Every message that the target made, by transport.
#[derive(Default)]
pub struct Swept<'t>(BTreeMap<Transport, Made<'t>>);

/// The messages of one transport.
#[derive(Default)]
struct Made<'t> {
    exchanges: Vec<&'t Exchange>,
    /// The messages, each with the position of its exchange.
    messages: Vec<(usize, Value)>,
}

impl<'t> Swept<'t> {
    /// Reads the messages of a run, if a case sweeps them.
    pub fn new(context: &Context<'_>, transcript: &'t Transcript) -> Self {
        let plan = context.plan;
        let mut swept = Self::default();
        if readiness::not_ready(plan.knowledge.protocol, transcript, plan.target.limits.request).is_some() {
            // These answers are not those of an implementation of the protocol.
            return swept;
        }
        for transport in &plan.transports {
            let sweeps = |ready: &&ReadyCase<'_>| ready.transport == *transport && ready.case.is_sweep();
            if !plan.cases.iter().any(|ready| sweeps(&ready) && ready.skip.is_none()) {
                continue;
            }
            let probes = transcript.probes.iter().filter(|(path, _)| path == transport);
            let mut exchanges: Vec<&Exchange> = probes.flat_map(|(_, exchanges)| exchanges).collect();
            let ran = plan.cases.iter().zip(&transcript.cases).filter(|(ready, _)| ready.transport == *transport);
            for case in ran.filter_map(|(_, case)| case.as_ref()) {
                exchanges.extend(case.exchanges.iter().chain(&case.twin));
            }
            swept.0.append(&mut Self::of(context, *transport, exchanges).0);
        }
        swept
    }

    /// The messages of several runs, each observed in its own run.
    pub(super) fn join(runs: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::default();
        for (transport, made) in runs.into_iter().flat_map(|run| run.0) {
            let all = joined.0.entry(transport).or_default();
            let before = all.exchanges.len();
            all.exchanges.extend(made.exchanges);
            all.messages.extend(made.messages.into_iter().map(|(at, message)| (before + at, message)));
        }
        joined
    }

    /// The messages of some exchanges over one transport.
    pub fn of(context: &Context<'_>, transport: Transport, exchanges: Vec<&'t Exchange>) -> Self {
        let seen_in = context.observation_context(transport);
        let protocol = context.plan.knowledge.protocol;
        let made = exchanges.iter().enumerate();
        let made = made
            .flat_map(|(at, exchange)| protocol.emitted(exchange, &seen_in).into_iter().map(move |seen| (at, seen)));
        let messages = made.collect();
        Self(BTreeMap::from([(transport, Made { exchanges, messages })]))
    }

    /// The first exchanges with a message that a sweeping case judges, at most `limit`.
    pub fn concerning(&self, context: &Context<'_>, ready: &ReadyCase<'_>, limit: usize) -> Vec<&'t Exchange> {
        let Some(made) = self.0.get(&ready.transport) else { return Vec::new() };
        let is_concerned = |message: &&(usize, Value)| {
            let mut walk = Walk::new(context, ready, Part::Case, 0);
            walk.sweep(std::slice::from_ref(*message));
            walk.finish().outcomes.values().any(|outcome| *outcome != Verdict::NotRun)
        };
        let mut places: Vec<usize> = made.messages.iter().filter(is_concerned).map(|(at, _)| *at).take(limit).collect();
        places.dedup();
        places.into_iter().map(|at| made.exchanges[at]).collect()
    }

    /// Judges a sweeping case. Its record keeps the exchanges that its findings refer to.
    pub(super) fn case(&self, context: &Context<'_>, ready: &ReadyCase<'_>, record: &mut CaseRecord) {
        let nothing = Made::default();
        let made = self.0.get(&ready.transport).unwrap_or(&nothing);
        let mut walk = Walk::new(context, ready, Part::Case, 0);
        walk.sweep(&made.messages);
        write_down(walk.finish(), record);
        let mut kept: Vec<usize> = record.findings.iter().filter_map(|finding| finding.exchange).collect();
        kept.sort_unstable();
        kept.dedup();
        record.exchanges = kept.iter().filter_map(|at| made.exchanges.get(*at)).map(|found| (*found).clone()).collect();
        for finding in &mut record.findings {
            finding.exchange = finding.exchange.and_then(|at| kept.binary_search(&at).ok());
        }
        if matches!(record.verdict, Verdict::Pass | Verdict::Warn)
            && let Some(floor) = features::below_floor(context, ready)
        {
            record.verdict = Verdict::Inconclusive;
            record.because = features::below_floor_because(floor);
            record.outcomes.values_mut().for_each(|outcome| *outcome = Verdict::Inconclusive);
        }
    }
}
