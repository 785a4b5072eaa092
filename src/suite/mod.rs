//! Suites as written: cases, their steps and expectations, and the manifest of a protocol.
//! These types are the source text, with places. They do not resolve operations or matchers; `plan` does, and turns a
//! [`Case`] into an executable
//! plan. Reading is in `read`, tables of cases in `table`, and what the twins of cases have in common in `twin`.

mod keys;
mod levels;
mod manifest;
mod read;
mod table;
mod twin;

use std::time::Duration;

use crate::edit::Edit;
use crate::exchange::Transport;
use crate::requirement::{ClauseId, RequirementId};
use crate::source::{Located, Node, Span};
use crate::template::Expr;
use crate::value::Path;

pub use keys::{EXPECTATION, MANIFEST, SUITE};
pub use levels::{Level, LevelSet, Levels, Role, TargetKind};
pub use manifest::{
    Absent, Claims, ClockWay, Feature, Fuzzing, HostDecl, LevelClaim, Manifest, Setup, Timeout, read_manifest,
    read_manifest_partly,
};
pub use read::{case_of, read_suite, read_suite_partly, written};

/// One file of cases about one area of one protocol.
#[derive(Clone, Debug)]
pub struct Suite {
    /// `<protocol>/<area>`.
    pub name: Located<String>,
    /// The subject of the cases.
    pub about: String,
    /// In the order of the file, tables expanded.
    pub cases: Vec<Case>,
}

/// A length of time, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeSpan {
    /// As written.
    Fixed(Duration),
    /// The name of a time of the protocol, which the owner of a target may change.
    Named(String),
}

/// The unit that gets a verdict: steps in order, in isolation from every other case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique in its suite; a row of a table ends in `[row]`.
    pub name: Located<String>,
    /// One sentence, or empty.
    pub about: String,
    /// The clauses of requirements that it decides.
    pub covers: Vec<Located<ClauseId>>,
    /// Features that the target must offer, or levels that it must claim.
    pub needs: Vec<Located<String>>,
    /// The kinds of target and transports that it runs at; empty means every one that has its operations.
    pub reach: Vec<Located<String>>,
    /// The roles that the target must play.
    pub roles: Vec<Located<String>>,
    /// Whether its findings count only in the strict profile.
    pub strict_only: bool,
    /// Whether the set-up of the protocol is left out, because the case is about it.
    pub without_setup: bool,
    /// Whether its findings count even if the twin was rejected: where a target accepts an invalid message.
    pub stands_alone: bool,
    /// Whether it is judged even where the target lacks a prerequisite that it uses: a finding of `fuzz` or `explore`, which
    /// was seen at such a target.
    pub without_prerequisites: bool,
    /// Whether the twin is sent before the case instead of after it: where the target may not answer after the case.
    pub twin_first: bool,
    /// Whether it stops the target, so that it runs alone, after all others.
    pub ends_target: bool,
    /// A number for what its twin sends, if it has one: cases with the same number send the same, but for random values.
    pub twin_key: Option<u64>,
    /// Names and values, in order.
    pub bindings: Vec<(Located<String>, Expr)>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// Where it is written.
    pub span: Span,
}

/// One action and what is expected of its answers.
#[derive(Clone, Debug)]
pub struct Step {
    /// The party that proofmark plays.
    pub actor: Located<String>,
    /// The action.
    pub action: Action,
    /// Runs once for each element of this list, with `item` and `index` bound.
    pub over: Option<Box<Expr>>,
    /// Whether the repetitions run concurrently.
    pub at_once: bool,
    /// Repeated until the expectations hold, for at most this long.
    pub until: Option<Box<Located<TimeSpan>>>,
    /// Repeated for this long; the expectations hold all along.
    pub quiet: Option<Box<Located<TimeSpan>>>,
    /// Whether the next step runs immediately, over a connection that stays open: that step receives the answers.
    pub without_waiting: bool,
    /// The minimum time to collect answers, over a connection that stays open.
    pub settle: Option<Box<Located<TimeSpan>>>,
    /// Preconditions on each answer; if one fails, the case is inconclusive.
    pub assume: Vec<Expectation>,
    /// The expectations on each answer.
    pub expect: Vec<Expectation>,
    /// The expectations on all answers of the step together, under `/answers`.
    pub expect_all: Vec<Expectation>,
    /// Names for parts of the answer, for later steps.
    pub capture: Vec<(Located<String>, Path)>,
    /// Values of the case that identify its messages at a host, claimed before the step runs.
    pub correlate: Vec<Expr>,
    /// Whether a missing answer is a failure, and not only a reason to be inconclusive.
    pub must_answer: bool,
    /// Whether the step is skipped where its operation is not offered (set-up only).
    pub optional: bool,
    /// Number of the step in its case, counted from 0 through nested steps.
    pub number: usize,
    /// Where it is written.
    pub span: Span,
}

/// The action of a step.
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
    /// Sends an HTTP request that is not an operation of the protocol.
    Request {
        /// Name of the base URL; that of the target if `None`.
        base: Option<String>,
        /// HTTP method.
        method: String,
        /// Path and query, from the root of the target's URL.
        path: Expr,
        /// Header fields.
        headers: Vec<(String, Expr)>,
        /// The body, if any.
        body: Option<RequestBody>,
    },
    /// Takes several steps concurrently.
    Parallel(Vec<Step>),
    /// Waits.
    Pause(Located<TimeSpan>),
    /// Advances the clock of the target, by the operation that the manifest names.
    Advance {
        /// The distance.
        by: Located<TimeSpan>,
        /// Inputs of that operation, which replace those in the manifest.
        with: Vec<(Located<String>, Expr)>,
    },
    /// Sends nothing and checks every message that the target sent: in the case, or in the run if the case has no other
    /// steps.
    Sweep,
    /// Takes messages that the target sends to a host.
    Receive(Receive),
}

/// The messages at a host that a step takes.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The host.
    pub host: Located<String>,
    /// The number of messages to wait for; with 0 no message may arrive.
    pub count: u64,
    /// The timeout.
    pub within: Option<Located<TimeSpan>>,
    /// What holds for a message that the step takes; the others are left to later steps.
    pub selects: Vec<Expectation>,
    /// With `count` 0: the expectations on a later message, which shows that the target has gone on and ends the wait.
    pub fence: Vec<Expectation>,
    /// The reply of the host to each; its default reply if `None`.
    pub reply: Option<HostReplyPlan>,
}

/// A reply of a host, as written.
#[derive(Clone, Debug)]
pub enum HostReplyPlan {
    /// It answers.
    Message {
        /// HTTP status.
        status: u16,
        /// HTTP header fields.
        headers: Vec<(String, Expr)>,
        /// The body, if any.
        body: Option<RequestBody>,
    },
    /// It does not reply.
    Silence,
    /// It closes the connection.
    Close,
}

impl HostReplyPlan {
    /// The expressions in it.
    pub fn exprs(&self) -> Vec<&Expr> {
        let Self::Message { headers, body, .. } = self else { return Vec::new() };
        let body = match body {
            Some(RequestBody::Value(expr)) => Some(expr),
            _ => None,
        };
        headers.iter().map(|(_, expr)| expr).chain(body).collect()
    }
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
    /// The value that is judged instead of the observation, if any.
    pub of: Option<Expr>,
    /// Name of the matcher.
    pub matcher: Located<String>,
    /// Its argument.
    pub argument: Expr,
    /// The argument as a node, for the places of mistakes in it.
    pub node: Node,
    /// The clauses of requirements that it decides; empty means all that the case covers.
    pub covers: Vec<Located<ClauseId>>,
    /// Whether only the strict profile counts it.
    pub strict_only: bool,
    /// A note of the author for the reader of a finding.
    pub note: String,
    /// Where it is written.
    pub span: Span,
}

/// The id of a case, as reports and `--only` have it: `<suite>#<name>[<row>]@<transport>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaseId {
    /// `<protocol>/<area>`.
    pub suite: String,
    /// Its name in the suite.
    pub name: String,
    /// The row of a table that it is.
    pub row: Option<String>,
    /// The transport that its id names, where it runs over several; HTTP is never named.
    pub transport: Option<Transport>,
}

impl CaseId {
    /// The id of a case of `suite`, without a transport.
    pub fn of(suite: &Suite, case: &Case) -> Self {
        let name = case.name.value.as_str();
        let row = name.strip_suffix(']').and_then(|name| name.split_once('['));
        let (name, row) = row.map_or((name, None), |(name, row)| (name, Some(row)));
        Self { suite: suite.name.value.clone(), name: name.to_owned(), row: row.map(str::to_owned), transport: None }
    }

    /// The same case over a transport.
    #[must_use]
    pub fn over(&self, transport: Transport) -> Self {
        let named = !transport.suffix().is_empty();
        Self { transport: named.then_some(transport), ..self.clone() }
    }
}

impl std::fmt::Display for CaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.suite, self.name)?;
        if let Some(row) = &self.row {
            write!(f, "[{row}]")?;
        }
        f.write_str(self.transport.map_or("", Transport::suffix))
    }
}

impl Case {
    /// The requirements that it checks a clause of, without duplicates.
    pub fn requirements(&self) -> Vec<&RequirementId> {
        let mut requirements: Vec<&RequirementId> = Vec::new();
        for covered in &self.covers {
            if !requirements.contains(&&covered.requirement) {
                requirements.push(&covered.requirement);
            }
        }
        requirements
    }

    /// Whether it decides a clause of a requirement.
    pub fn is_about(&self, requirement: &RequirementId) -> bool {
        self.covers.iter().any(|covered| covered.requirement == *requirement)
    }

    /// Whether any step has edits, so that the case is judged together with its twin.
    pub fn has_edits(&self) -> bool {
        self.steps.iter().any(Step::has_edits)
    }

    /// Whether it sends nothing and checks the answers of other cases.
    pub fn is_sweep(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| matches!(step.action, Action::Sweep))
    }

    /// Whether it looks at every message that the target made in it.
    pub fn sweeps_itself(&self) -> bool {
        !self.is_sweep() && self.steps.iter().any(|step| matches!(step.action, Action::Sweep))
    }

    /// Whether it advances the clock of the target.
    pub fn advances_clock(&self) -> bool {
        self.all_steps().iter().any(|step| matches!(step.action, Action::Advance { .. }))
    }

    /// Whether it takes messages that the target sends to a host.
    pub fn receives(&self) -> bool {
        self.all_steps().iter().any(|step| matches!(step.action, Action::Receive(_)))
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
            Action::Request { .. } | Action::Pause(_) | Action::Sweep | Action::Receive(_) | Action::Advance { .. } => {
                false
            }
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
        let chosen = match &self.action {
            Action::Receive(receive) => [receive.selects.as_slice(), receive.fence.as_slice()],
            _ => [&[][..], &[][..]],
        };
        chosen.into_iter().flatten().chain(&self.assume).chain(&self.expect).chain(&self.expect_all)
    }
}
