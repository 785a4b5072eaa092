//! Live fuzzing: messages that nobody has thought of, put to any target, and cases made of what they find.
//!
//! An input is a well-built message of the suites with edits thought of at random (`mutate`), which is what every negative
//! case is. So everything else is there already: the engine puts it, the judge weighs it, and what is found is written down as
//! a case (`input`). A finding counts only if the message without the edits was taken just before, and if the case that was
//! made of it fails twice (`campaign`). Start with [`run`].

mod campaign;
mod confirm;
mod dice;
mod input;
mod minimise;
mod mutate;
mod oracle;
mod seeds;
mod yaml;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use campaign::run;
pub use input::Kind;

/// How long a campaign goes on, and how hard it is.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides every input.
    pub seed: u64,
    /// Number of the first input: 0, or where an earlier campaign stopped.
    pub first: u64,
    /// When it ends.
    pub time: Duration,
    /// After how many inputs it ends at the latest.
    pub inputs: u64,
    /// Inputs a second at most.
    pub rate: Option<f64>,
    /// How long a target is waited for that does not answer any more.
    pub patience: Duration,
    /// After how many findings it ends.
    pub findings: usize,
    /// Signatures of what was found before, which is not found again.
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

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the input.
    pub input: u64,
    /// The case that the message without the edits is from.
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
    /// What two findings have in common that are one.
    pub signature: String,
    /// The id of the case.
    pub case: String,
    /// The file of the case.
    pub text: String,
    /// Whether the case has failed when it was put again. A target that is gone for good cannot be asked.
    pub confirmed: bool,
}

/// How far a campaign is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Inputs that were put, in this campaign.
    pub inputs: u64,
    /// The number of the next input.
    pub next: u64,
    /// Messages that were sent, those of set-ups and twins included.
    pub requests: u64,
    /// Inputs that could not be built.
    pub unbuilt: u64,
    /// Inputs whose answer decided nothing, because there was none where none need be.
    pub silent: u64,
    /// Kinds of answers, and how often each came: operation, transport and status or code.
    pub answers: BTreeMap<String, u64>,
    /// Findings.
    pub findings: usize,
    /// Findings that were the same as an earlier one.
    pub repeated: u64,
    /// Suspicions that did not stand when they were looked at again.
    pub unfounded: u64,
    /// Seeds that the target takes, of those that were tried.
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
    /// Its time is over, or it has put as many inputs as it was to.
    Done,
    /// Somebody interrupted it.
    Interrupted,
    /// There are as many findings as were wanted.
    Enough,
    /// The target is gone, and was not back in time.
    Gone(String),
    /// There is nothing to begin with: the target cannot be reached, or takes none of the messages of the suites.
    Nothing(String),
}

/// What a campaign came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How far it went.
    pub progress: Progress,
    /// What it found, in the order of the inputs.
    pub findings: Vec<Finding>,
    /// Why it ended.
    pub end: End,
}

/// Who listens to a campaign.
pub trait Watcher: Sync {
    /// From time to time.
    fn progress(&self, _progress: &Progress) {}

    /// For each input, in the order of their numbers: its number, the seed that it is made of, its edits, and what came of it.
    fn input(&self, _number: u64, _seed: &str, _edits: &[String], _answer: &str) {}

    /// Once for each finding, as soon as it stands.
    fn finding(&self, _finding: &Finding) {}
}

/// Nobody.
pub struct Silent;

impl Watcher for Silent {}
