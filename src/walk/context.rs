//! The input of a walk: the facts of the run, the features of the target, and the exchanges.

use std::collections::BTreeMap;

use super::features::Features;
use crate::exchange::{Exchange, Exchanges, HostUrls, Stray, Transport};
use crate::plan::Plan;
use crate::protocol::ObservationContext;
use crate::template::Clock;
use crate::verdict::Profile;

/// The input of a judgement besides the plan and the transcript. All of it is in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Random seed of generated values.
    pub seed: u64,
    /// Random seed of generated identities.
    pub identity_seed: u64,
    /// Start of the run.
    pub clock: Clock,
    /// Which findings count.
    pub profile: Profile,
}

impl Facts {
    /// The time at `milliseconds` after the start of the run.
    pub fn after(&self, milliseconds: u64) -> Clock {
        Clock(self.clock.0 + i128::from(milliseconds) * 1_000_000)
    }
}

/// The exchanges of one protocol.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The exchanges of each probe, by transport and in the order of the features.
    pub probes: Vec<(Transport, Vec<Exchange>)>,
    /// The exchanges of each case, in the order of the plan; `None` for a case that did not run.
    pub cases: Vec<Option<CaseTranscript>>,
    /// The URLs of the hosts of the run.
    pub hosts: BTreeMap<String, HostUrls>,
    /// Messages at hosts that no case received, up to a limit.
    pub strays: Vec<Stray>,
    /// Number of such messages beyond the limit.
    pub more_strays: u64,
    /// Why the run ended before every case had run, if it did.
    pub cut_short: Option<String>,
}

/// The exchanges of one case.
#[derive(Clone, Debug, Default)]
pub struct CaseTranscript {
    /// The case itself.
    pub exchanges: Exchanges,
    /// The same case without its edits.
    pub twin: Exchanges,
    /// The position in the plan of the case that sent the twin, if another one did: both have the same messages without edits.
    pub twin_of: Option<usize>,
    /// Why it ended before its last step, if no exchange shows the reason.
    pub stopped: Option<String>,
    /// When its first step ran, in milliseconds after the start of the run.
    pub started_ms: u64,
    /// When the first step of its twin ran.
    pub twin_started_ms: u64,
    /// From its first step to its last, in milliseconds.
    pub elapsed_ms: u64,
    /// Number of the retry, 0 for the first try. Each has values of its own.
    pub retry: u64,
}

/// The input of a walk besides the exchanges.
pub struct Context<'p> {
    /// The plan.
    pub plan: &'p Plan<'p>,
    /// The facts of the run.
    pub facts: Facts,
    /// The features of the target.
    pub features: Features,
}

impl Context<'_> {
    /// The context in which answers over `transport` are read.
    pub fn observation_context(&self, transport: Transport) -> ObservationContext<'_> {
        let known = self.features.known(transport);
        ObservationContext { target: self.plan.target, transport, clock: self.facts.clock, known }
    }
}
