//! The parts of a case, its steps as they are taken, and what a walk ends with.

use std::collections::BTreeMap;

use crate::record::{EditRecord, FindingRecord, ReadingRecord};
use crate::suite::Step;
use crate::verdict::{NotRun, Verdict};

/// Which part of a case is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The case itself.
    Case,
    /// The case without its edits, up to the last step that has any.
    Twin,
    /// The steps that probe whether a feature is offered.
    Probe,
}

/// A step in the order in which it runs.
#[derive(Clone, Copy)]
pub struct Planned<'p> {
    /// The step.
    pub step: &'p Step,
    /// Its number among the exchanges.
    pub number: usize,
    /// For a set-up step, the binding that it sets up.
    pub it: Option<&'p str>,
    /// Whether its answers count only together, in an expectation of its group.
    pub in_group: bool,
    /// The party, if it is not the one that the step names.
    pub as_actor: Option<&'p str>,
}

impl<'p> Planned<'p> {
    /// A step of the case itself.
    pub fn own(step: &'p Step, in_group: bool) -> Self {
        Self { step, number: step.number, it: None, in_group, as_actor: None }
    }

    /// The party that takes the step.
    pub fn actor(&self) -> &'p str {
        self.as_actor.unwrap_or(&self.step.actor.value)
    }
}

/// Why a walk ends before its last step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A step failed, and the results of later steps would only follow from that. Names the step and the failed expectation.
    StepFailed(String),
    /// The target lacks a prerequisite.
    NotAccepted(String),
    /// The target did not answer.
    NoAnswer(String),
    /// A request cannot be built, or the run ended.
    Broken(String),
    /// The adapter does not offer an operation.
    Unsupported(String),
}

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Failed expectations.
    pub findings: Vec<FindingRecord>,
    /// Permitted readings that were seen.
    pub readings: Vec<ReadingRecord>,
    /// The edits in words.
    pub edits: Vec<EditRecord>,
    /// By requirement.
    pub outcomes: BTreeMap<String, Verdict>,
    /// Why it is not run, inconclusive or in error.
    pub because: String,
    /// Why it is not run.
    pub reason: Option<NotRun>,
}
