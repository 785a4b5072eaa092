//! Sweeps: requirements on a sender are judged on every message that the target made in the run.

use std::collections::{BTreeMap, BTreeSet};

use super::features;
use super::outcome::write_down;
use crate::exchange::{Exchange, Transport};
use crate::parallel;
use crate::plan::ReadyCase;
use crate::record::CaseRecord;
use crate::value::Value;
use crate::verdict::Verdict;
use crate::walk::{Context, Messages, Part, Transcript, Walk, readiness};

/// Every message that the target made, by transport.
#[derive(Default)]
pub struct Swept<'t>(BTreeMap<Transport, Made<'t>>);

/// The messages of one transport.
#[derive(Default)]
struct Made<'t> {
    exchanges: Vec<Sent<'t>>,
    messages: Messages,
}

/// An exchange, and the position in the plan of the case that it belongs to, unless it is of a probe.
type Sent<'t> = (Option<usize>, &'t Exchange);

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
            let mut exchanges: Vec<Sent> =
                probes.flat_map(|(_, exchanges)| exchanges).map(|sent| (None, sent)).collect();
            let ran = plan.cases.iter().zip(&transcript.cases).enumerate();
            let ran = ran.filter(|(_, (ready, _))| ready.transport == *transport);
            for (index, case) in ran.filter_map(|(index, (_, case))| Some((index, case.as_ref()?))) {
                exchanges.extend(case.exchanges.iter().map(|sent| (Some(index), sent)));
                // A twin that other cases share counts once.
                if case.twin_of.is_none() {
                    exchanges.extend(case.twin.iter().map(|sent| (Some(index), sent)));
                }
            }
            swept.0.append(&mut Self::made(context, *transport, exchanges).0);
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
            let mut messages = std::mem::take(&mut all.messages).into_list();
            messages.extend(made.messages.into_list().into_iter().map(|(at, message)| (before + at, message)));
            all.messages = messages.into();
        }
        joined
    }

    /// The messages of some exchanges over one transport.
    pub fn of(context: &Context<'_>, transport: Transport, exchanges: Vec<&'t Exchange>) -> Self {
        Self::made(context, transport, exchanges.into_iter().map(|sent| (None, sent)).collect())
    }

    fn made(context: &Context<'_>, transport: Transport, exchanges: Vec<Sent<'t>>) -> Self {
        let seen_in = context.observation_context(transport);
        let protocol = context.plan.knowledge.protocol;
        let made = parallel::map(parallel::processors(), &exchanges, |(_, sent)| protocol.emitted(sent, &seen_in));
        let numbered = made.into_iter().enumerate();
        let numbered = numbered.flat_map(|(at, messages)| messages.into_iter().map(move |seen| (at, seen)));
        let messages = numbered.collect::<Vec<_>>().into();
        Self(BTreeMap::from([(transport, Made { exchanges, messages })]))
    }

    /// The first exchanges with a message that a sweeping case judges, at most `limit`.
    pub fn concerning(&self, context: &Context<'_>, ready: &ReadyCase<'_>, limit: usize) -> Vec<&'t Exchange> {
        let Some(made) = self.0.get(&ready.transport) else { return Vec::new() };
        let is_concerned = |message: &&(usize, Value)| {
            let mut walk = Walk::new(context, ready, Part::Case, 0);
            walk.sweep(&vec![(*message).clone()].into());
            walk.finish().outcomes.values().any(|outcome| *outcome != Verdict::NotRun)
        };
        let mut places: Vec<usize> =
            made.messages.list().iter().filter(is_concerned).map(|(at, _)| *at).take(limit).collect();
        places.dedup();
        places.into_iter().map(|at| made.exchanges[at].1).collect()
    }

    /// Judges a sweeping case. Its record keeps the exchanges that its findings refer to, and names cases that they are of: the
    /// sweep alone would not make the target send these messages again.
    pub(super) fn case(&self, context: &Context<'_>, ready: &ReadyCase<'_>, record: &mut CaseRecord) {
        let nothing = Made::default();
        let made = self.0.get(&ready.transport).unwrap_or(&nothing);
        let mut walk = Walk::new(context, ready, Part::Case, 0);
        walk.sweep(&made.messages);
        write_down(walk.finish(), record);
        let mut kinds = BTreeSet::new();
        let first_of_kind =
            record.findings.iter().filter(|finding| kinds.insert((&finding.requirement, finding.verdict)));
        let cases = first_of_kind.filter_map(|finding| made.exchanges.get(finding.exchange?)?.0);
        let cases: BTreeSet<usize> = cases.collect();
        record.swept_from = cases.into_iter().map(|index| context.plan.cases[index].id.clone()).collect();
        let mut kept: Vec<usize> = record.findings.iter().filter_map(|finding| finding.exchange).collect();
        kept.sort_unstable();
        kept.dedup();
        record.exchanges =
            kept.iter().filter_map(|at| made.exchanges.get(*at)).map(|(_, sent)| (*sent).clone()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Body;
    use crate::exchange::Transport::Http;
    use crate::judge::testing::{answer, context, feature, getting, knowledge, probed, target};
    use crate::plan::{Knowledge, Selection, build};
    use crate::walk::CaseTranscript;

    const GOOD: &str = r#"[{"kind":"note","word":"good"}]"#;
    const BAD: &str = r#"[{"kind":"note","word":"bad"}]"#;
    const OTHER: &str = r#"[{"kind":"other","word":"bad"}]"#;

    /// A case of the word in every note that the target made, and one that sends a message.
    fn of_notes() -> Knowledge {
        let swept = "  - { case: swept, covers: [T-1], steps: [{ sweep: true, \
                     assume: [{ at: /kind, equals: note }], expect: [{ at: /word, equals: good }] }] }\n";
        let manifest = format!("features:\n{}", feature("answers", "get", "if-missing: run"));
        let must = "MUST, level: L0, testable: both";
        let cases = swept.to_owned() + &getting("first", "covers: [T-2]");
        knowledge(&manifest, &[("T-1", must), ("T-2", must)], &cases)
    }

    fn made(step: usize, messages: &str) -> Exchange {
        let mut exchange = answer(Http, step, 200);
        exchange.received.body = Body::from(messages.as_bytes().to_vec());
        exchange
    }

    #[test]
    fn a_finding_in_a_later_run_keeps_the_exchange_of_that_run() {
        let (knowledge, target) = (of_notes(), target(&[Http]));
        let plan = build(&knowledge, &target, &Selection::default());
        let transcripts = [GOOD, BAD].map(|messages| {
            let case = CaseTranscript { exchanges: vec![made(0, messages)].into(), ..CaseTranscript::default() };
            let probes = vec![probed(Http, &[Some(200)])];
            Transcript { probes, cases: vec![None, Some(case)], ..Transcript::default() }
        });
        let contexts = transcripts.each_ref().map(|transcript| context(&plan, transcript));
        let runs: Vec<_> = contexts.iter().zip(&transcripts).collect();
        let record = crate::judge::joined(&contexts[0], &runs, &[0, 1]);
        let swept = &record.cases[0];
        assert_eq!((swept.verdict, swept.findings.len()), (Verdict::Fail, 1), "{swept:?}");
        assert_eq!(swept.findings[0].exchange, Some(0));
        let kept: Vec<_> = swept.exchanges.iter().map(|exchange| exchange.received.body.text()).collect();
        assert_eq!(kept, [Some(BAD)]);
        assert_eq!(swept.swept_from, [record.cases[1].id.clone()], "the case that makes the target send it");
    }

    #[test]
    fn a_twin_that_another_case_sent_is_not_swept_again() {
        let (knowledge, target) = (of_notes(), target(&[Http]));
        let plan = build(&knowledge, &target, &Selection::default());
        for (twin_of, swept) in [(None, 1), (Some(0), 0)] {
            let case = CaseTranscript { twin: vec![made(0, GOOD)].into(), twin_of, ..CaseTranscript::default() };
            let probes = vec![probed(Http, &[Some(200)])];
            let transcript = Transcript { probes, cases: vec![None, Some(case)], ..Transcript::default() };
            let context = context(&plan, &transcript);
            let found = Swept::new(&context, &transcript).concerning(&context, &plan.cases[0], 9).len();
            assert_eq!(found, swept, "{twin_of:?}");
        }
    }

    #[test]
    fn the_exchanges_that_concern_a_sweep_are_those_with_a_message_that_it_judges() {
        let (knowledge, target) = (of_notes(), target(&[Http]));
        let plan = build(&knowledge, &target, &Selection::default());
        let context = context(&plan, &Transcript::default());
        let exchanges: Vec<Exchange> =
            [GOOD, OTHER, BAD, "[]", GOOD].into_iter().enumerate().map(|(step, body)| made(step, body)).collect();
        let swept = Swept::of(&context, Http, exchanges.iter().collect());
        let concerning = |limit: usize| {
            let found = swept.concerning(&context, &plan.cases[0], limit);
            found.into_iter().map(|exchange| exchange.step).collect::<Vec<_>>()
        };
        assert_eq!(concerning(9), [0, 2, 4]);
        assert_eq!(concerning(2), [0, 2]);
    }
}
