//! What a walk depends on: the facts of the run, what the target offers, and what was exchanged.

use std::collections::BTreeMap;

use super::features::Features;
use crate::exchange::{Exchange, HostUrls, Stray, Transport};
use crate::plan::Plan;
use crate::protocol::ObservationContext;
use crate::template::Clock;
use crate::verdict::Profile;

/// What a judgement depends on besides the plan and the transcript. All of it is in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Decides generated values.
    pub seed: u64,
    /// Decides generated identities.
    pub identity_seed: u64,
    /// Start of the run.
    pub clock: Clock,
    /// Which findings count.
    pub profile: Profile,
}

impl Facts {
    /// The instant that many milliseconds after the start of the run.
    pub fn after(&self, milliseconds: u64) -> Clock {
        Clock(self.clock.0 + i128::from(milliseconds) * 1_000_000)
    }
}

/// What was exchanged over one protocol.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// What each probe exchanged, by path and in the order of the features.
    pub probes: Vec<(Transport, Vec<Exchange>)>,
    /// What each case exchanged, in the order of the plan; `None` for a case that was not run.
    pub cases: Vec<Option<CaseTranscript>>,
    /// Where the hosts of the run were reached.
    pub hosts: BTreeMap<String, HostUrls>,
    /// Messages at hosts that no case received, as far as they are kept.
    pub strays: Vec<Stray>,
    /// How many more there were.
    pub more_strays: u64,
    /// Why the run ended before every case had run, if it did.
    pub cut_short: Option<String>,
}

/// What one case exchanged.
#[derive(Clone, Debug, Default)]
pub struct CaseTranscript {
    /// The case itself.
    pub exchanges: Vec<Exchange>,
    /// The same case without its edits.
    pub twin: Vec<Exchange>,
    /// Why it ended before its last step, if it did for a reason that no exchange shows.
    pub stopped: Option<String>,
    /// When its first step was taken, in milliseconds after the start of the run.
    pub started_ms: u64,
    /// When the first step of its twin was taken.
    pub twin_started_ms: u64,
    /// From its first step to its last, in milliseconds.
    pub elapsed_ms: u64,
}

/// Everything that a walk looks at besides the exchanges.
pub struct Context<'p> {
    /// The plan.
    pub plan: &'p Plan<'p>,
    /// The facts of the run.
    pub facts: Facts,
    /// What the target offers.
    pub features: Features,
}

impl Context<'_> {
    /// The context in which answers over `transport` are read.
    pub fn observation_context(&self, transport: Transport) -> ObservationContext<'_> {
        let known = self.features.known(transport);
        ObservationContext { target: self.plan.target, transport, clock: self.facts.clock, known }
    }
}
