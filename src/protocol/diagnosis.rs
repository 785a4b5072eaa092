//! Recognises the mistakes of implementers behind what a target does.

use super::context::ObservationContext;
use crate::exchange::Exchange;

/// Known mistakes of a protocol's implementers, so that a report names the one that many failures come from.
///
/// It changes no verdict: it only says which failures have one cause.
pub trait Diagnosis: Sync {
    /// The mistakes each of which alone explains a failure, the likeliest first, in words that depend on nothing but the
    /// mistake. Empty: none is known.
    fn mistakes(&self, failure: &Failure<'_>) -> Vec<String>;

    /// Whether a mistake that other failures of the run show explains this one, too: it shows the same in another way, or
    /// follows from it.
    fn explains(&self, mistake: &str, failure: &Failure<'_>) -> bool;
}

/// A failed expectation, and the exchange that shows it.
#[derive(Clone, Copy)]
pub struct Failure<'a> {
    /// The place that was checked, as a JSON Pointer into the observation.
    pub path: &'a str,
    /// What was observed there, in words.
    pub observed: &'a str,
    /// The exchange.
    pub exchange: &'a Exchange,
    /// How it is read.
    pub context: ObservationContext<'a>,
}
