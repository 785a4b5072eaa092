//! What a caller of [`prove`](super::prove) supplies: the subject, its settings and faults, and the options of the proof.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use crate::plan::glob;
use crate::target::Target;
use crate::transport::Connections;
use crate::walk::Facts;

/// A fault that can be planted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub name: String,
    /// What it does wrong.
    pub summary: String,
    /// The lowest level at which the fault is observable.
    pub level: String,
    /// The requirements that it breaks.
    pub breaks: Vec<String>,
    /// Requirements that it breaks besides, each with the reason.
    pub also: BTreeMap<String, String>,
    /// The setting in which it is observable, by name.
    pub setting: String,
}

/// A setup of the subject. Cases for options that are off by default need another setup.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name. The first setting is the default.
    pub name: String,
    /// The difference from the default.
    pub about: String,
    /// Whether it uses readings that the errata only tolerate: then only the lenient profile is judged, and a warning counts as
    /// a pass.
    pub tolerated: bool,
    /// The target for a plan. Its URL is a placeholder, since each start of the subject has its own URL.
    pub target: Target,
}

/// A started subject, with the connections to it.
pub struct Running {
    /// The connections to it.
    pub connections: Connections,
    /// Stops it.
    pub stop: Pin<Box<dyn Future<Output = ()>>>,
    /// Values that must live as long as it does.
    pub keep: Box<dyn Any>,
}

/// A correct implementation in which faults can be planted.
pub trait Subject: Sync {
    /// Every fault that can be planted.
    fn faults(&self) -> Vec<Fault>;

    /// Its setups, the default first.
    fn settings(&self) -> Vec<Setting>;

    /// Starts it, with or without a fault.
    fn start<'s>(
        &'s self,
        setting: &'s Setting,
        fault: Option<&'s str>,
    ) -> Pin<Box<dyn Future<Output = Result<Running, String>> + 's>>;
}

/// Options of a proof.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides every generated value.
    pub facts: Facts,
    /// Start time of the clock in `facts`.
    pub begun: Instant,
    /// Faults to plant, by name; empty means all.
    pub faults: Vec<String>,
    /// Patterns of case ids: only these cases are proven, and the faults that they should catch are planted; empty means all.
    pub only: Vec<String>,
    /// Run every case against every fault and every trivial target, not only those that cover a broken requirement, and a sample.
    pub all_cases: bool,
    /// How many faults run against every case, to measure the requirements that one fault fails. With `all_cases` all do;
    /// `None` means fewer, the more cases there are, and in a long suite a share of the cases.
    pub blame: Option<usize>,
    /// Change the answers of the subject one member at a time, and list the members that no case checks.
    pub wire: bool,
    /// How many runs against the subject or a trivial target may be under way, each in a thread that mostly waits.
    pub jobs: usize,
}

impl Options {
    /// Whether a case is proven.
    pub(super) fn is_chosen(&self, case: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| glob(pattern, case))
    }
}

/// Receives the progress of a proof.
pub trait Progress: Sync {
    /// A part of the work begins: its name and number of pieces.
    fn part(&self, what: &str, pieces: usize);
    /// A piece is done.
    fn piece(&self);
}
