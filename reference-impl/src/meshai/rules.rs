//! The constants of a server: the planted fault and the selected readings.

use crate::fault::Planted;
use crate::variant::Variant;

/// Passed to every function that decides something. [`super::variant`] has the table of readings, [`super::fault`] that of
/// faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The fault that is planted.
    pub(crate) fault: Planted,
    /// Which readings are taken.
    pub(crate) variant: Variant,
}

impl Rules {
    /// Whether the reading that no ruling prefers is taken at the place that asks.
    #[must_use]
    #[track_caller]
    pub(crate) fn is_other(self) -> bool {
        self.variant.is_other()
    }
}
