//! The constants of a node: the planted fault, the selected readings, and what is the same for all messages.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Memory;
use crate::fault::Planted;
use crate::instant::Clock;
use crate::variant::Variant;

/// Passed to every function that decides something: a fault is planted at the line whose sentence it breaks, and a reading
/// is chosen where an erratum leaves room. [`super::variant`] has the table of readings, [`super::fault`] that of faults.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// The planted fault.
    pub(crate) fault: Planted,
    /// Which readings are taken.
    pub(crate) variant: Variant,
    /// The source of the current time, for time stamps of annotations and logs. No rule of processing depends on it.
    pub(crate) clock: Clock,
    /// The key of encrypted fields and sections.
    pub(crate) key: [u8; 32],
    /// What is kept between messages. Section 4 keeps nothing; E51 tolerates a filter of repeats.
    pub(crate) memory: Arc<Memory>,
    /// How long the message in hand has been held: from the head of its request to its last byte.
    pub(crate) held: Duration,
}

impl Rules {
    /// Rules for a node that has received nothing yet.
    pub(crate) fn new(fault: Planted, variant: Variant, clock: Clock, key: [u8; 32]) -> Self {
        Self { fault, variant, clock, key, memory: Arc::default(), held: Duration::ZERO }
    }

    /// Whether the reading that no ruling prefers is taken at the place that asks.
    #[must_use]
    #[track_caller]
    pub(crate) fn is_other(&self) -> bool {
        self.variant.is_other()
    }
}
