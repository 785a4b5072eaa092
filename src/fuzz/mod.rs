//! Live fuzzing: generated messages are sent to any target, and findings become cases.
//!
//! An input is a well-formed message of the suites with random edits (`mutate`): the same shape as a negative case. So the
//! engine sends it, the judge evaluates the answer, and a finding is written as a case (`input`). A finding counts only if the
//! target accepted the message without the edits just before, and if the case made of it fails twice (`campaign`). Start with
//! [`run`].

mod campaign;
mod confirm;
mod input;
pub(crate) mod minimise;
pub(crate) mod mutate;
mod oracle;
pub(crate) mod rng;
mod seeds;
pub(crate) mod yaml;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use campaign::run;
pub use input::Kind;

/// Limits of a campaign.
#[derive(Clone, Debug)]
pub struct Options {
    /// Random seed; the same seed gives the same inputs.
    pub seed: u64,
    /// Number of the first input: 0, or where an earlier campaign stopped.
    pub first: u64,
    /// When it ends.
    pub time: Duration,
    /// Maximum number of inputs.
    pub inputs: u64,
    /// Maximum number of inputs per second.
    pub rate: Option<f64>,
    /// How long to wait for a target that stopped answering.
    pub patience: Duration,
    /// Number of findings after which it ends.
    pub findings: usize,
    /// Signatures of earlier findings, which are skipped.
    pub known: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            first: 0,
            time: Duration::from_secs(60),
            inputs: u64::MAX,
            rate: None,
            patience: Duration::from_secs(10),
            findings: 50,
            known: Vec::new(),
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the input.
    pub input: u64,
    /// The case that the unedited message comes from.
    pub seed: String,
    /// What the target did.
    pub kind: Kind,
    /// The requirement that it breaks.
    pub requirement: String,
    /// The operation, and what carried it.
    pub operation: String,
    /// The transport, by name.
    pub transport: String,
    /// What is wrong, in one sentence.
    pub what: String,
    /// The edits in words.
    pub edits: Vec<String>,
    /// Findings with the same signature are one.
    pub signature: String,
    /// The id of the case.
    pub case: String,
    /// The file of the case.
    pub text: String,
    /// Whether the case failed when it was run again. False if the target never came back.
    pub confirmed: bool,
}

/// Progress of a campaign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Inputs that this campaign has run.
    pub inputs: u64,
    /// The number of the next input.
    pub next: u64,
    /// Messages that were sent, set-up and twins included.
    pub requests: u64,
    /// Inputs that could not be built.
    pub unbuilt: u64,
    /// Inputs without an answer where the protocol requires none: they decide nothing.
    pub silent: u64,
    /// Kinds of answers, and how often each came: operation, transport and status or code.
    pub answers: BTreeMap<String, u64>,
    /// Findings.
    pub findings: usize,
    /// Findings with the signature of an earlier one.
    pub repeated: u64,
    /// Suspicions that were not confirmed.
    pub unfounded: u64,
    /// Seeds that the target accepts, of those that were tried.
    pub seeds: (usize, usize),
    /// Since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// Inputs a second.
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "it is for reading")]
        let inputs = self.inputs as f64;
        inputs / self.elapsed.as_secs_f64().max(0.001)
    }
}

/// Why a campaign ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Its time is over.
    Done,
    /// It has run the requested number of inputs.
    AllInputs,
    /// It was interrupted.
    Interrupted,
    /// It has the maximum number of findings.
    Enough,
    /// The target stopped answering and did not come back in time.
    Gone(String),
    /// No seed is usable: the target is unreachable, or accepts none of the messages of the suites.
    Nothing(String),
}

/// The result of a campaign.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its final progress.
    pub progress: Progress,
    /// Its findings, in the order of the inputs.
    pub findings: Vec<Finding>,
    /// Why it ended.
    pub end: End,
}

/// Receives events of a campaign.
pub trait Watcher: Sync {
    /// From time to time.
    fn progress(&self, _progress: &Progress) {}

    /// For each input, in the order of their numbers: its number, its seed, its edits and its answer.
    fn input(&self, _number: u64, _seed: &str, _edits: &[String], _answer: &str) {}

    /// Once for each finding, as soon as it is confirmed.
    fn finding(&self, _finding: &Finding) {}
}

/// Ignores every event.
pub struct Silent;

impl Watcher for Silent {}
