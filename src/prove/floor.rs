//! Dumb targets: the kinds that know no protocol, and those that replay one answer of the clean subject to every question.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Bench, FloorRow, Jury, Options, exchange, is_open, on_runtime};
use crate::dumb::{self, Endpoint, Kind, Manner};
use crate::exchange::{Ended, Transport};
use crate::judge::{Context, Features};
use crate::plan::Plan;
use crate::transport::{Connections, http};
use crate::verdict::Verdict;

/// How long a silent target is waited for: nothing on this machine needs longer for an answer that it means to give.
const PATIENCE: Duration = Duration::from_millis(400);

/// Every kind of dumb target for the protocol of a bench.
pub(super) fn kinds(bench: &Bench<'_, '_>) -> Vec<Kind> {
    let mut kinds = dumb::kinds();
    // One answer of each operation that succeeded, given to everything.
    let mut answers: BTreeMap<&str, Manner> = BTreeMap::new();
    for exchange in bench.transcript.cases.iter().flatten().flat_map(|case| &case.exchanges) {
        let received = &exchange.received;
        let good = received.status.is_some_and(|status| (200..300).contains(&status)) && !received.body.is_empty();
        if exchange.sent.transport == Transport::Http && received.ended == Ended::Complete && good {
            let status = received.status.unwrap_or(200);
            answers
                .entry(&exchange.operation)
                .or_insert_with(|| Manner::Constant(status, "application/json", received.body.0.clone()));
        }
    }
    kinds.extend(answers.into_iter().map(|(name, manner)| Kind { name: format!("replays {name}"), manner }));
    kinds
}

/// Puts every case to a dumb target.
pub(super) fn put(kind: &Kind, bench: &Bench<'_, '_>, options: &Options) -> FloorRow {
    let mut target = bench.setting.target.clone();
    target.limits.request = PATIENCE;
    target.limits.run = Duration::from_secs(30);
    let knowledge = bench.plan.knowledge;
    let selection = crate::plan::Selection::default();
    let plan: Plan<'_> = crate::plan::build(knowledge, &target, &selection);
    let all: BTreeSet<usize> = (0..plan.cases.len()).collect();
    let transcript = on_runtime(async {
        let endpoint = Endpoint::start(kind.manner.clone()).await.map_err(|error| error.to_string())?;
        let url = url::Url::parse(&endpoint.url).map_err(|error| error.to_string())?;
        let http = http::Http::new(&url, &target).map_err(|error| error.to_string())?;
        let connections = Connections {
            http: Some(http),
            adapter: Some(dumb::library(kind.manner.clone())),
            ..Connections::default()
        };
        Ok::<_, String>(exchange(&plan, &all, options, &connections).await)
    });
    let Ok(Ok(transcript)) = transcript else {
        return FloorRow {
            target: kind.name.clone(),
            put: 0,
            passed: vec!["the target could not be started".to_owned()],
        };
    };
    let features = Features::read(&plan, options.facts, &transcript);
    let context = Context { plan: &plan, facts: options.facts, features };
    let open: Vec<usize> = all.into_iter().filter(|index| is_open(&context, *index)).collect();
    let jury = Jury::new(&context, &transcript);
    let passed = open
        .iter()
        .map(|index| jury.judge(*index))
        .filter(|record| matches!(record.verdict, Verdict::Pass | Verdict::Warn))
        .map(|record| record.id)
        .collect();
    FloorRow { target: kind.name.clone(), put: open.len(), passed }
}
