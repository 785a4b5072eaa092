//! Suites as written: cases, their steps and expectations, and the manifest of a protocol.
//!
//! These types hold what an author wrote, with places. Nothing here knows which operations or matchers exist; `plan`
//! looks them up and turns a [`Case`] into something that can run. Reading is in `read`, tables of cases in `table`.

mod manifest;
mod read;
mod table;

use std::time::Duration;

use crate::edit::Edit;
use crate::source::{Located, Node, Span};
use crate::template::Expr;
use crate::value::Path;

pub use manifest::{Absent, Claims, Feature, Fuzzing, LevelClaim, Manifest, Setup, read_manifest};
pub use read::{read_suite, written};

/// One file of cases about one area of one protocol.
#[derive(Clone, Debug)]
pub struct Suite {
    /// `<protocol>/<area>`.
    pub name: Located<String>,
    /// What the cases are about.
    pub about: String,
    /// In the order of the file, tables expanded.
    pub cases: Vec<Case>,
}

/// The unit that gets a verdict: steps in order, in isolation from every other case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique in its suite; a row of a table ends in `[row]`.
    pub name: Located<String>,
    /// One sentence, or empty.
    pub about: String,
    /// The requirements that it decides.
    pub covers: Vec<Located<String>>,
    /// Features that the target must offer, or levels that it must claim.
    pub needs: Vec<Located<String>>,
    /// The kinds of target that it can be put to; empty means every kind that has its operations.
    pub reach: Vec<Located<String>>,
    /// Whether only the strict profile counts what it finds.
    pub strict_only: bool,
    /// Whether the set-up of the protocol is left out, because the case is about it.
    pub without_setup: bool,
    /// Whether what it finds counts even if the twin was refused: where a target accepts what nobody may accept.
    pub stands_alone: bool,
    /// Whether the twin is sent before the case instead of after it: where the case may be the last thing that is answered.
    pub twin_first: bool,
    /// Names and values, in order.
    pub bindings: Vec<(Located<String>, Expr)>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// Where it is written.
    pub span: Span,
}

/// One action and what is expected of its answers.
#[derive(Clone, Debug)]
pub struct Step {
    /// The party that proofmark plays.
    pub actor: Located<String>,
    /// What is done.
    pub action: Action,
    /// Done once for each element of this list, with `item` and `index` bound.
    pub over: Option<Expr>,
    /// Whether the repetitions are put side by side instead of one after another.
    pub at_once: bool,
    /// Repeated until the expectations hold, for at most this long.
    pub until: Option<Located<Duration>>,
    /// Repeated for this long; the expectations hold all along.
    pub quiet: Option<Located<Duration>>,
    /// Whether the next step is taken at once, over a connection that stays open: what comes is that step's.
    pub without_waiting: bool,
    /// How long answers are collected at least, over a connection that stays open.
    pub settle: Option<Located<Duration>>,
    /// What must hold of each answer for the question to make sense at all.
    pub assume: Vec<Expectation>,
    /// What must hold of each answer.
    pub expect: Vec<Expectation>,
    /// What must hold of all answers of the step together, under `/answers`.
    pub expect_all: Vec<Expectation>,
    /// Names for parts of the answer, for later steps.
    pub capture: Vec<(Located<String>, Path)>,
    /// Whether to go without an answer is a departure, and not only a reason to say nothing.
    pub must_answer: bool,
    /// Whether the step is skipped where its operation is not offered (set-up only).
    pub optional: bool,
    /// Number of the step in its case, counted from 0 through nested steps.
    pub number: usize,
    /// Where it is written.
    pub span: Span,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sends a message of the protocol.
    Send {
        /// The operation.
        operation: Located<String>,
        /// Inputs of the operation.
        with: Vec<(Located<String>, Expr)>,
        /// Header fields besides the operation's own.
        headers: Vec<(String, Expr)>,
        /// Defects. A case that has any is sent a second time without: its twin.
        edits: Vec<Edit>,
        /// How the body is laid out, one of the protocol's layouts.
        layout: Option<Located<String>>,
    },
    /// Sends an HTTP request that is no operation of the protocol.
    Request {
        /// HTTP method.
        method: String,
        /// Path and query, from the root of the target's URL.
        path: Expr,
        /// Header fields.
        headers: Vec<(String, Expr)>,
        /// Body, if there is one.
        body: Option<RequestBody>,
    },
    /// Takes several steps side by side.
    Parallel(Vec<Step>),
    /// Waits.
    Pause(Duration),
    /// Sends nothing and looks at every message that the target made in the run.
    Sweep,
}

/// The body of a raw request.
#[derive(Clone, Debug)]
pub enum RequestBody {
    /// A value, written as the protocol writes values.
    Value(Expr),
    /// These very bytes.
    Bytes(Vec<u8>),
}

/// A place in an answer and a matcher on it, as written.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The place in the observation.
    pub at: Located<Path>,
    /// Name of the matcher.
    pub matcher: Located<String>,
    /// Its argument.
    pub argument: Expr,
    /// The argument as it stands in the file, for the places of mistakes in it.
    pub node: Node,
    /// The requirements that it decides; empty means all that the case covers.
    pub requirements: Vec<Located<String>>,
    /// Whether only the strict profile counts it.
    pub strict_only: bool,
    /// What the author adds for the reader of a finding.
    pub note: String,
    /// Where it is written.
    pub span: Span,
}

impl Case {
    /// Whether any step has edits, so that the case is judged beside its twin.
    pub fn has_edits(&self) -> bool {
        self.steps.iter().any(Step::has_edits)
    }

    /// Whether it sends nothing and looks at what other cases were answered.
    pub fn is_sweep(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::Sweep))
    }

    /// Every step, nested ones included, in the order of their numbers.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        self.steps.iter().for_each(|step| step.collect(&mut all));
        all
    }
}

impl Step {
    /// Whether this step, or one inside it, has edits.
    pub fn has_edits(&self) -> bool {
        match &self.action {
            Action::Send { edits, .. } => !edits.is_empty(),
            Action::Parallel(steps) => steps.iter().any(Self::has_edits),
            Action::Request { .. } | Action::Pause(_) | Action::Sweep => false,
        }
    }

    fn collect<'s>(&'s self, all: &mut Vec<&'s Self>) {
        all.push(self);
        if let Action::Parallel(steps) = &self.action {
            steps.iter().for_each(|step| step.collect(all));
        }
    }

    /// Every expectation of the step itself.
    pub fn expectations(&self) -> impl Iterator<Item = &Expectation> {
        self.assume.iter().chain(&self.expect).chain(&self.expect_all)
    }
}
