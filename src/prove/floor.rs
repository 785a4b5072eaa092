//! Trivial targets: those that implement no protocol, and those that replay one answer of the clean subject to every request.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::baseline::{Baseline, CaseJudge, exchange_within, is_open, on_runtime};
use super::proof::FloorRow;
use super::subject::{Options, Setting};
use crate::exchange::{Ended, Transport};
use crate::plan::{Knowledge, Plan};
use crate::target::{Target, parse_tcp};
use crate::transport::tcp::Framing;
use crate::transport::{Connections, http, session};
use crate::trivial::{self, Behaviour, Endpoint, Kind, Ports};
use crate::verdict::Verdict;
use crate::walk::{Context, Features};

/// Timeout for a silent target: any other target on this machine answers faster.
const PATIENCE: Duration = Duration::from_millis(400);

/// How long one case may take: some wait half a minute for what a trivial target never does.
const CASE: Duration = Duration::from_secs(20);

/// How many runs of cases against trivial targets there are at most, unless every case is to run against every one.
const RUNS: usize = 15_000;

/// The cases that run against each trivial target: all of them, or each case against one of `of` targets, others with another
/// seed.
#[derive(Clone, Copy)]
pub(super) struct Share {
    of: usize,
    offset: usize,
}

/// How many of the cases each of `kinds` trivial targets gets.
pub(super) fn share(kinds: usize, plan: &Plan<'_>, options: &Options) -> Share {
    let runs = kinds * plan.cases.iter().filter(|ready| options.is_chosen(&ready.id)).count();
    let of = if options.all_cases { 1 } else { runs.div_ceil(RUNS).max(1) };
    Share { of, offset: usize::try_from(options.facts.seed % of as u64).unwrap_or_default() }
}

impl Share {
    /// The share of the trivial target with this number.
    pub(super) const fn of(self, number: usize) -> Self {
        Self { offset: self.offset + number, ..self }
    }

    const fn contains(self, case: usize) -> bool {
        (case + self.offset).is_multiple_of(self.of)
    }
}

/// Every kind of trivial target for the protocol of a baseline.
pub(super) fn kinds(baseline: &Baseline<'_, '_>) -> Vec<Kind> {
    let mut kinds = trivial::kinds();
    // One successful answer of each operation, sent to every request over each transport.
    let mut answers: BTreeMap<&str, Behaviour> = BTreeMap::new();
    let exchanges = || baseline.transcript.cases.iter().flatten().flat_map(|case| &case.exchanges);
    for exchange in exchanges().filter(|exchange| exchange.sent.transport == Transport::Http) {
        let received = &exchange.received;
        let good = received.status.filter(|status| (200..300).contains(status) && !received.body.is_empty());
        if let (Ended::Complete, Some(status)) = (&received.ended, good) {
            let media_type = received.header("content-type").unwrap_or("application/json").to_owned();
            let body = || received.body.0.to_vec();
            answers.entry(&exchange.operation).or_insert_with(|| Behaviour::Constant(status, media_type, body()));
        }
    }
    // The operations of connections that stay open.
    for exchange in exchanges().filter(|exchange| exchange.sent.transport.is_channel()) {
        if let Some(arrival) = exchange.received.arrived.iter().find(|arrival| !arrival.body.is_empty()) {
            let media_type = baseline.setting.target.channel.http.media_type.clone();
            let body = || arrival.body.0.to_vec();
            answers.entry(&exchange.operation).or_insert_with(|| Behaviour::Constant(200, media_type, body()));
        }
    }
    kinds.extend(answers.into_iter().map(|(name, behaviour)| Kind { name: format!("replays {name}"), behaviour }));
    kinds
}

/// Points a target at a trivial endpoint, over each transport over which it is reached.
fn point(target: &mut Target, ports: &Ports) -> Result<(), String> {
    let parse = |text: String| url::Url::parse(&text).map_err(|error| error.to_string());
    let path = target.ws.as_ref().map(|url| url.path().to_owned());
    target.url = Some(parse(format!("http://{}", ports.authority))?);
    if let Some(path) = path {
        target.ws = Some(parse(format!("ws://{}{path}", ports.authority))?);
    }
    if target.tcp.is_some() {
        target.tcp = Some(parse_tcp(&ports.tcp_authority, &[])?);
    }
    Ok(())
}

/// Runs cases against a trivial target.
pub(super) fn run(kind: &Kind, setting: &Setting, knowledge: &Knowledge, share: Share, options: &Options) -> FloorRow {
    let failed = |why: String| FloorRow {
        target: kind.name.clone(),
        ran: 0,
        passed: vec![format!("the target could not be started: {why}")],
    };
    let mut target = setting.target.clone();
    target.limits.request = PATIENCE;
    target.limits.reply = PATIENCE;
    target.limits.settle = PATIENCE / 2;
    target.limits.case = CASE;
    target.limits.run = Duration::from_secs(60);
    let ports = match Ports::free() {
        Ok(ports) => ports,
        Err(error) => return failed(error.to_string()),
    };
    if let Err(why) = point(&mut target, &ports) {
        return failed(why);
    }
    let framing = if target.channel.tcp.types.is_some() { Framing::Typed } else { Framing::Bare };
    let selection = crate::plan::Selection::default();
    let plan: Plan<'_> = crate::plan::build(knowledge, &target, &selection);
    let runs = |index: &usize| share.contains(*index) && options.is_chosen(&plan.cases[*index].id);
    let all: BTreeSet<usize> = (0..plan.cases.len()).filter(runs).collect();
    let transcript = on_runtime(async {
        let endpoint = Endpoint::start(kind.behaviour.clone(), ports, framing).map_err(|error| error.to_string())?;
        let url = url::Url::parse(&endpoint.url).map_err(|error| error.to_string())?;
        let http = http::Http::new(&url, &target).map_err(|error| error.to_string())?;
        let connections = Connections {
            http: Some(http),
            dial: session::Dial::new(&target),
            adapter: Some(trivial::library(kind.behaviour.clone())),
            ..Connections::default()
        };
        Ok::<_, String>(exchange_within(&plan, &all, options, &connections, None).await)
    });
    let transcript = match transcript.and_then(|found| found) {
        Ok(transcript) => transcript,
        Err(why) => return failed(why),
    };
    let features = Features::read(&plan, options.facts, &transcript);
    let context = Context { plan: &plan, facts: options.facts, features };
    let open: Vec<usize> = all.into_iter().filter(|index| is_open(&context, *index)).collect();
    let judge = CaseJudge::new(&context, &transcript);
    let ran = open.iter().filter(|index| transcript.cases[**index].is_some()).count();
    let passed = open
        .iter()
        .map(|index| judge.judge(*index))
        .filter(|record| matches!(record.verdict, Verdict::Pass | Verdict::Warn))
        .map(|record| record.id)
        .collect();
    FloorRow { target: kind.name.clone(), ran, passed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_runs_against_one_of_so_many_targets_and_others_with_another_seed() {
        let share = Share { of: 5, offset: 3 };
        let against = |share: Share, case: usize| (0..10).filter(|target| share.of(*target).contains(case)).collect();
        for case in 0..100 {
            let targets: Vec<usize> = against(share, case);
            assert_eq!(targets.len(), 2, "case {case}");
            assert_ne!(targets, against(Share { offset: 4, ..share }, case), "case {case}");
        }
        let all: Vec<usize> = against(Share { of: 1, offset: 0 }, 7);
        assert_eq!(all.len(), 10, "a short suite runs against all of them");
    }
}
