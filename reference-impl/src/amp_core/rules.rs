//! The constants of a node: the planted fault and the selected readings.

use crate::fault::Planted;
use crate::variant::Variant;

/// Carried everywhere: a fault is planted at the line whose sentence it breaks, and a reading is chosen where an erratum
/// leaves room. [`super::variant`] has the table of readings, [`super::fault`] that of faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The fault that is planted.
    pub(crate) fault: Planted,
    /// Which readings are taken.
    pub(crate) variant: Variant,
    /// Whether the types of companion documents are handled.
    pub(crate) companions: bool,
}

impl Rules {
    /// Rules without a fault, in the readings of the rulings.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { fault: Planted::NONE, variant: Variant::Own, companions: false };

    /// Whether the reading that no ruling prefers is taken at the place that asks.
    #[must_use]
    #[track_caller]
    pub(crate) fn is_other(self) -> bool {
        self.variant.is_other()
    }
}
