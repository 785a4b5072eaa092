//! What every rule is told: the planted fault, and the readings that are taken.

use crate::fault::Planted;
use crate::variant::Variant;

/// The fault and the readings of one program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) fault: Planted,
    pub(crate) variant: Variant,
}

impl Rules {
    /// Whether the reading that no ruling prefers is taken at the place that asks.
    #[must_use]
    #[track_caller]
    pub(crate) fn is_other(self) -> bool {
        self.variant.is_other()
    }

    /// Whether what a ruling demands under the profile `strict` only is demanded of received messages.
    #[must_use]
    pub(crate) fn is_strict(self) -> bool {
        !self.is_other()
    }

    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { fault: Planted::NONE, variant: Variant::Own };
}
