//! What a caller of [`prove`](super::prove) supplies: the subject, its settings and faults, and the options of the proof.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use crate::target::Target;
use crate::transport::Connections;
use crate::walk::Facts;

/// A mistake that can be planted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub name: String,
    /// What it does wrong.
    pub summary: String,
    /// The lowest level of an implementation that shows it.
    pub level: String,
    /// The requirements that it breaks.
    pub breaks: Vec<String>,
    /// The setting in which it shows, by name.
    pub setting: String,
}

/// A way to set up the subject: the cases for options that it does not have by default need another one.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name. The first setting is the ordinary one.
    pub name: String,
    /// What is different.
    pub about: String,
    /// Whether it takes readings that the errata only tolerate: then the lenient profile alone is judged, and a warning is no
    /// departure.
    pub tolerated: bool,
    /// The target as a plan sees it. Its URL is a stand-in: every start of the subject has one of its own.
    pub target: Target,
}

/// A subject that was started, with the way to it.
pub struct Running {
    /// The way to it.
    pub connections: Connections,
    /// Ends it.
    pub stop: Pin<Box<dyn Future<Output = ()>>>,
    /// What must live as long as it does.
    pub keep: Box<dyn Any>,
}

/// An implementation that is known to be right and in which mistakes can be planted.
pub trait Subject: Sync {
    /// Every mistake that can be planted.
    fn faults(&self) -> Vec<Fault>;

    /// The ways to set it up, the ordinary one first.
    fn settings(&self) -> Vec<Setting>;

    /// Starts it, with a fault or without.
    fn start<'s>(
        &'s self,
        setting: &'s Setting,
        fault: Option<&'s str>,
    ) -> Pin<Box<dyn Future<Output = Result<Running, String>> + 's>>;
}

/// What is to be proven, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides every generated value.
    pub facts: Facts,
    /// Instant of the clock in `facts`.
    pub begun: Instant,
    /// Faults to plant, by name; empty means all.
    pub faults: Vec<String>,
    /// Put every case to every fault, not only those that cover what it breaks.
    pub all_cases: bool,
    /// Change the answers of the subject one member at a time, and see which member no case watches.
    pub wire: bool,
    /// Threads.
    pub jobs: usize,
}

/// Tells how far a proof is.
pub trait Progress: Sync {
    /// A part of the work begins: what, and how many pieces it has.
    fn part(&self, what: &str, pieces: usize);
    /// A piece is through.
    fn piece(&self);
}
