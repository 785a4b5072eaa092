//! Trivial targets: those that implement no protocol, and those that replay one answer of the clean subject to every request.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::baseline::{Baseline, CaseJudge, exchange, is_open, on_runtime};
use super::proof::FloorRow;
use super::subject::Options;
use crate::exchange::{Ended, Transport};
use crate::plan::Plan;
use crate::transport::{Connections, http};
use crate::trivial::{self, Behaviour, Endpoint, Kind};
use crate::verdict::Verdict;
use crate::walk::{Context, Features};

/// Timeout for a silent target: any other target on this machine answers faster.
const PATIENCE: Duration = Duration::from_millis(400);

/// Every kind of trivial target for the protocol of a baseline.
pub(super) fn kinds(baseline: &Baseline<'_, '_>) -> Vec<Kind> {
    let mut kinds = trivial::kinds();
    // One successful answer of each operation, sent to every request.
    let mut answers: BTreeMap<&str, Behaviour> = BTreeMap::new();
    for exchange in baseline.transcript.cases.iter().flatten().flat_map(|case| &case.exchanges) {
        let received = &exchange.received;
        let good = received.status.is_some_and(|status| (200..300).contains(&status)) && !received.body.is_empty();
        if exchange.sent.transport == Transport::Http && received.ended == Ended::Complete && good {
            let status = received.status.unwrap_or(200);
            answers
                .entry(&exchange.operation)
                .or_insert_with(|| Behaviour::Constant(status, "application/json", received.body.0.clone()));
        }
    }
    kinds.extend(answers.into_iter().map(|(name, behaviour)| Kind { name: format!("replays {name}"), behaviour }));
    kinds
}

/// Runs every case against a trivial target.
pub(super) fn run(kind: &Kind, baseline: &Baseline<'_, '_>, options: &Options) -> FloorRow {
    let mut target = baseline.setting.target.clone();
    target.limits.request = PATIENCE;
    target.limits.run = Duration::from_secs(30);
    let knowledge = baseline.plan.knowledge;
    let selection = crate::plan::Selection::default();
    let plan: Plan<'_> = crate::plan::build(knowledge, &target, &selection);
    let all: BTreeSet<usize> = (0..plan.cases.len()).collect();
    let transcript = on_runtime(async {
        let endpoint = Endpoint::start(kind.behaviour.clone()).await.map_err(|error| error.to_string())?;
        let url = url::Url::parse(&endpoint.url).map_err(|error| error.to_string())?;
        let http = http::Http::new(&url, &target).map_err(|error| error.to_string())?;
        let connections = Connections {
            http: Some(http),
            adapter: Some(trivial::library(kind.behaviour.clone())),
            ..Connections::default()
        };
        Ok::<_, String>(exchange(&plan, &all, options, &connections).await)
    });
    let Ok(Ok(transcript)) = transcript else {
        return FloorRow {
            target: kind.name.clone(),
            ran: 0,
            passed: vec!["the target could not be started".to_owned()],
        };
    };
    let features = Features::read(&plan, options.facts, &transcript);
    let context = Context { plan: &plan, facts: options.facts, features };
    let open: Vec<usize> = all.into_iter().filter(|index| is_open(&context, *index)).collect();
    let judge = CaseJudge::new(&context, &transcript);
    let passed = open
        .iter()
        .map(|index| judge.judge(*index))
        .filter(|record| matches!(record.verdict, Verdict::Pass | Verdict::Warn))
        .map(|record| record.id)
        .collect();
    FloorRow { target: kind.name.clone(), ran: open.len(), passed }
}
