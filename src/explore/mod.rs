//! Exploration: sequences of operations that no one wrote, judged by a model of the protocol, and cases made of the findings.
//!
//! The model predicts each answer as expectations of the suite language ([`crate::protocol::Model`]), so a sequence is a case
//! (`sequence`): the engine sends it, the judge evaluates it, and a finding already is a case. A finding counts only if its
//! shortened sequence fails twice more, on new identities (`confirm`). Start with [`run`].

mod campaign;
mod choices;
mod confirm;
mod section;
mod sequence;
mod shrink;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::spelling::Spellings;
use crate::walk::Features;

pub use campaign::run;

/// Limits of an exploration.
#[derive(Clone, Debug)]
pub struct Options {
    /// Random seed; the same seed gives the same sequences.
    pub seed: u64,
    /// When it ends.
    pub time: Duration,
    /// Maximum number of sequences.
    pub sequences: u64,
    /// How long to wait for a target that stopped answering.
    pub patience: Duration,
    /// Number of findings after which it ends.
    pub findings: usize,
    /// In which spellings messages are written, if not in the usual one alone.
    pub spellings: Option<Spellings>,
    /// What a run against the same target has found out about it: a second probe would meet what the first one left. The target
    /// is probed if there was none.
    pub probed: Option<Features>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the sequence.
    pub sequence: u64,
    /// The requirement that the target breaks.
    pub requirement: String,
    /// The operation whose answer shows it.
    pub operation: String,
    /// The place in the answer, as a JSON Pointer into the observation, with `*` for an index.
    pub place: String,
    /// The transport, by name.
    pub transport: String,
    /// The expected observation.
    pub expected: String,
    /// The actual observation.
    pub observed: String,
    /// The kinds of spellings without which the target does not show it; empty if it depends on none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spellings: Vec<String>,
    /// The shortest sequence, a line for each step.
    pub steps: Vec<String>,
    /// The id of the case.
    pub case: String,
    /// The file of the case.
    pub text: String,
}

impl Finding {
    /// Findings with the same signature have the same cause.
    fn signature(requirement: &str, operation: &str, place: &str) -> String {
        format!("{requirement} {operation} {place}")
    }
}

/// Progress of an exploration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Sequences that ran.
    pub sequences: u64,
    /// Sequences that were judged to their end, or to their first finding.
    pub judged: u64,
    /// Why others were not, and how many.
    pub undecided: BTreeMap<String, u64>,
    /// Steps of the sequences that ran.
    pub steps: u64,
    /// Messages that were sent, set-up included.
    pub requests: u64,
    /// Transitions of the model that were reached, and how often each.
    pub reached: BTreeMap<String, u64>,
    /// Findings.
    pub findings: usize,
    /// Sequences that showed a finding again.
    pub repeated: u64,
    /// Suspicions that were not confirmed.
    pub unfounded: u64,
    /// Since the start.
    pub elapsed: Duration,
}

/// Why an exploration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Its time is over.
    Done,
    /// It has run the requested number of sequences.
    AllSequences,
    /// It was interrupted.
    Interrupted,
    /// It has the maximum number of findings.
    Enough,
    /// The target stopped answering.
    Gone(String),
    /// Nothing can be explored: the target is unreachable, or the protocol has no model.
    Nothing(String),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("the time was up"),
            Self::AllSequences => f.write_str("all sequences were sent"),
            Self::Interrupted => f.write_str("it was interrupted"),
            Self::Enough => f.write_str("the maximum number of findings was reached"),
            Self::Gone(why) => write!(f, "no sequence could be judged any more: {why}"),
            Self::Nothing(why) => f.write_str(why),
        }
    }
}

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its final progress.
    pub progress: Progress,
    /// Its findings, in the order of the sequences.
    pub findings: Vec<Finding>,
    /// Every transition of the model.
    pub transitions: Vec<String>,
    /// Why it ended.
    pub end: End,
}

/// Receives events of an exploration.
pub trait Watcher: Sync {
    /// From time to time.
    fn progress(&self, _progress: &Progress) {}

    /// For each sequence, in the order of their numbers: its number, its transport, its steps and its outcome.
    fn sequence(&self, _number: u64, _transport: &str, _steps: &[String], _outcome: &str) {}

    /// Once for each finding, as soon as it is confirmed.
    fn finding(&self, _finding: &Finding) {}
}
