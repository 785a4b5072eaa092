//! Runs against the subject, and judging single cases of them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;

use super::subject::{Options, Running, Setting, Subject};
use crate::judge::{self, Gate, Swept};
use crate::plan::Plan;
use crate::record::CaseRecord;
use crate::run::{Runner, Silent};
use crate::transport::Connections;
use crate::verdict::Verdict;
use crate::walk::{Context, Facts, Features, Transcript};

/// One setting with its plan and the exchanges of the clean subject in it.
pub(super) struct Baseline<'b, 'k> {
    pub(super) setting: &'b Setting,
    pub(super) plan: &'b Plan<'k>,
    pub(super) features: Features,
    pub(super) transcript: Transcript,
    /// The cases that run in this setting and in no earlier one.
    pub(super) own: BTreeSet<usize>,
}

impl Baseline<'_, '_> {
    pub(super) fn context(&self, facts: Facts) -> Context<'_> {
        Context { plan: self.plan, facts, features: self.features.clone() }
    }
}

/// Starts the subject, with or without a fault, runs cases against it and stops it.
///
/// # Errors
/// The subject or a runtime did not start.
pub(super) fn put(
    subject: &dyn Subject,
    setting: &Setting,
    fault: Option<&str>,
    plan: &Plan<'_>,
    chosen: &BTreeSet<usize>,
    options: &Options,
) -> Result<Transcript, String> {
    on_runtime(async {
        let running = subject.start(setting, fault).await?;
        let transcript = exchange(plan, chosen, options, &running.connections).await;
        stop(running).await;
        Ok(transcript)
    })?
}

/// Runs cases against a subject that runs.
async fn exchange(
    plan: &Plan<'_>,
    chosen: &BTreeSet<usize>,
    options: &Options,
    connections: &Connections,
) -> Transcript {
    let (_keep, cancelled) = watch::channel(false);
    let runner = Runner::new(connections, &plan.target.limits, options.begun).at_every_target();
    runner.run_some(plan, chosen, options.facts, cancelled, &Silent).await
}

/// Runs cases against a target that is meant to fail. Once the time is up, the transcript holds the cases that were done, and
/// says that it was cut short.
pub(super) async fn exchange_within(
    plan: &Plan<'_>,
    chosen: &BTreeSet<usize>,
    options: &Options,
    connections: &Connections,
    time: Option<Duration>,
) -> Transcript {
    let (cancel, cancelled) = watch::channel(false);
    let runner = Runner::new(connections, &plan.target.limits, options.begun).at_every_target().without_retries();
    let run = runner.run_some(plan, chosen, options.facts, cancelled, &Silent);
    let Some(time) = time else { return run.await };
    let timer = async {
        tokio::time::sleep(time).await;
        cancel.send_replace(true);
        std::future::pending::<std::convert::Infallible>().await
    };
    tokio::select! {
        transcript = run => transcript,
        never = timer => match never {},
    }
}

pub(super) async fn stop(running: Running) {
    running.connections.close().await;
    running.stop.await;
    drop(running.keep);
}

/// Runs a future to completion on a new runtime on this thread.
pub(super) fn on_runtime<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the asynchronous runtime: {error}"))?;
    Ok(runtime.block_on(work))
}

/// Judges single cases of one transcript. The messages for sweeps are read once, when first needed.
pub(super) struct CaseJudge<'c, 'k, 't> {
    context: &'c Context<'k>,
    transcript: &'t Transcript,
    swept: OnceCell<Swept<'t>>,
}

impl<'c, 'k, 't> CaseJudge<'c, 'k, 't> {
    pub(super) fn new(context: &'c Context<'k>, transcript: &'t Transcript) -> Self {
        Self { context, transcript, swept: OnceCell::new() }
    }

    /// As [`CaseJudge::new`], with the messages that another judge of the same transcript has read.
    pub(super) fn with_swept(context: &'c Context<'k>, transcript: &'t Transcript, swept: Option<Swept<'t>>) -> Self {
        let swept = swept.map_or_else(OnceCell::new, OnceCell::from);
        Self { context, transcript, swept }
    }

    /// The messages for sweeps, if they were needed.
    pub(super) fn into_swept(self) -> Option<Swept<'t>> {
        self.swept.into_inner()
    }

    pub(super) fn judge(&self, index: usize) -> CaseRecord {
        let ready = &self.context.plan.cases[index];
        let gate = judge::gate(self.context, ready);
        let found = self.transcript.cases.get(index).and_then(Option::as_ref);
        let none = Swept::default();
        let swept = match ready.case.is_sweep() {
            true => self.swept.get_or_init(|| Swept::new(self.context, self.transcript)),
            false => &none,
        };
        judge::case(self.context, ready, &gate, found, swept, self.transcript.cut_short.as_deref())
    }
}

/// Requirements for which a case failed.
pub(super) fn failed(record: &CaseRecord) -> Vec<String> {
    let failed = record.outcomes.iter().filter(|(_, verdict)| **verdict == Verdict::Fail);
    failed.map(|(id, _)| id.clone()).collect()
}

/// Whether a case runs, given the features of the clean subject.
pub(super) fn is_open(context: &Context<'_>, index: usize) -> bool {
    judge::gate(context, &context.plan.cases[index]) == Gate::Open
}
