//! Progress of a run.

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This many cases will be run.
    Planned(usize),
    /// A case has ended.
    Done(String),
}

/// Receives the progress of a run.
pub trait Sink: Sync {
    /// Handles an event.
    fn event(&self, event: Event);
}

/// Ignores every event.
pub struct Silent;

impl Sink for Silent {
    fn event(&self, _: Event) {}
}
