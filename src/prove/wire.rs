//! Wire coverage: every member of every kind of answer, changed one at a time between a good target and proofmark, and
//! whether any case detects the change.
//!
//! The recorded answers show which cases receive a member. Judging them again with the change, which needs no target, predicts
//! which case detects it. The final result is that of a run of the same case through a proxy to the same target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::baseline::{Baseline, CaseJudge, exchange_within, failed, on_runtime, stop};
use super::mutate::{self, Change, Member};
use super::proof::{WireMember, WireProof};
use super::search::fails;
use super::subject::{Options, Progress, Subject};
use crate::exchange::Transport;
use crate::parallel;
use crate::verdict::Profile;
use crate::walk::{Context, Facts, Features};

/// Minimum number of cases that receive a member; rarer members belong to the test data or to one unusual case.
const SEEN_IN: usize = 3;

/// Maximum number of cases that are judged again for one change.
const JUDGED: usize = 400;

/// Cases that run again through the proxy where judging predicts that no case detects the change.
const SAMPLE: usize = 12;

/// Cases that run again through the proxy for one change that judging predicts to be detected.
const CONFIRMED: usize = 4;

/// Changes the answers of the clean subject, one member at a time.
pub(super) fn prove(
    baseline: &Baseline<'_, '_>,
    subject: &dyn Subject,
    options: &Options,
    progress: &dyn Progress,
) -> WireProof {
    let mut met: BTreeMap<Member, Vec<usize>> = BTreeMap::new();
    for index in &baseline.own {
        let Some(case) = baseline.transcript.cases[*index].as_ref() else { continue };
        let members: BTreeSet<Member> = case.exchanges.iter().chain(&case.twin).flat_map(mutate::members).collect();
        for member in members {
            met.entry(member).or_default().push(*index);
        }
    }
    let met: Vec<(Member, Vec<usize>)> = met.into_iter().filter(|(_, cases)| cases.len() >= SEEN_IN).collect();
    progress.part("members of answers", met.len());
    let facts = Facts { profile: Profile::Strict, ..options.facts };
    let rows = parallel::map(options.jobs, &met, |(member, cases)| {
        let mut row = WireMember {
            member: member.to_string(),
            cases: cases.len(),
            unwatched: Vec::new(),
            watched: BTreeMap::new(),
        };
        for change in Change::ALL {
            match noticed(baseline, subject, options, facts, member, change, cases, false) {
                Some(Some(case)) => {
                    row.watched.insert(change.word().to_owned(), case);
                }
                // A case that compares answers with each other fails only if they differ, so change every second answer.
                Some(None) => match noticed(baseline, subject, options, facts, member, change, cases, true) {
                    Some(Some(case)) => {
                        row.watched.insert(format!("{} in every second answer", change.word()), case);
                    }
                    _ => row.unwatched.push(change.word().to_owned()),
                },
                None => {}
            }
        }
        progress.piece();
        row
    });
    WireProof {
        tried: rows.iter().map(|row| row.watched.len() + row.unwatched.len()).sum(),
        watched: rows.iter().filter(|row| !row.watched.is_empty()).count(),
        unwatched: rows.into_iter().filter(|row| !row.unwatched.is_empty()).collect(),
    }
}

#[expect(clippy::too_many_arguments, reason = "shared by two callers")]
/// The case that detects a change; `None` if the change cannot be made.
fn noticed(
    baseline: &Baseline<'_, '_>,
    subject: &dyn Subject,
    options: &Options,
    facts: Facts,
    member: &Member,
    change: Change,
    cases: &[usize],
    alternate: bool,
) -> Option<Option<String>> {
    let possible = cases.iter().any(|index| {
        baseline.transcript.cases[*index].iter().flat_map(|case| case.exchanges.iter().chain(&case.twin)).any(
            |exchange| {
                let mut received = exchange.received.clone();
                mutate::apply(
                    baseline.plan.knowledge.protocol,
                    member,
                    change,
                    &exchange.operation,
                    exchange.sent.transport,
                    &mut received,
                )
            },
        )
    });
    if !possible {
        return None;
    }
    let context = baseline.context(facts);
    // Evenly over the suites, so that every area that receives the member is sampled.
    let stride = cases.len().div_ceil(JUDGED).max(1);
    let mut noticing = Vec::new();
    for index in cases.iter().step_by(stride) {
        let Some(case) = baseline.transcript.cases[*index].as_ref() else { continue };
        if !fails(&context, *index, case, member, change, alternate).is_empty() {
            noticing.push(*index);
            if noticing.len() >= CONFIRMED {
                break;
            }
        }
    }
    let chosen: BTreeSet<usize> = if noticing.is_empty() {
        cases.iter().step_by(cases.len().div_ceil(SAMPLE).max(1)).copied().collect()
    } else {
        noticing.into_iter().collect()
    };
    Some(through_proxy(baseline, subject, options, facts, member, change, &chosen, alternate))
}

/// Whether an answer is of another kind than the member.
fn transport_differs(member: &Member, transport: Transport) -> bool {
    member.library != (transport == Transport::Adapter)
}

#[expect(clippy::too_many_arguments, reason = "shared by two callers")]
/// Runs cases against the subject through a proxy, and returns the first that fails.
fn through_proxy(
    baseline: &Baseline<'_, '_>,
    subject: &dyn Subject,
    options: &Options,
    facts: Facts,
    member: &Member,
    change: Change,
    chosen: &BTreeSet<usize>,
    alternate: bool,
) -> Option<String> {
    let shared = Arc::new(member.clone());
    let protocol = baseline.plan.knowledge.protocol;
    let transcript = on_runtime(async {
        let mut running = subject.start(baseline.setting, None).await?;
        let count = AtomicUsize::new(0);
        running.connections.tamper = Some(Box::new(move |operation, transport, received| {
            let other = operation != shared.operation || transport_differs(&shared, transport);
            if other || (alternate && count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)) {
                return;
            }
            mutate::apply(protocol, &shared, change, operation, transport, received);
        }));
        let transcript = exchange_within(baseline.plan, chosen, options, &running.connections, None).await;
        stop(running).await;
        Ok::<_, String>(transcript)
    });
    let Ok(Ok(transcript)) = transcript else { return None };
    let features = Features::read(baseline.plan, facts, &transcript);
    let context = Context { plan: baseline.plan, facts, features };
    let judge = CaseJudge::new(&context, &transcript);
    chosen.iter().map(|index| judge.judge(*index)).find(|record| !failed(record).is_empty()).map(|record| record.id)
}
