//! The present time of a node.

use crate::instant::Instant;

/// The source of the current time, in milliseconds since 1970 (E95).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The clock of the machine, and so many milliseconds.
    Offset(i64),
    /// Always this time.
    Frozen(u64),
}

impl Clock {
    /// The clock of the machine.
    pub(crate) const SYSTEM: Self = Self::Offset(0);

    /// The present time.
    #[must_use]
    pub(crate) fn now(self) -> u64 {
        match self {
            Self::Offset(offset) => {
                Instant::of_system().unix_milliseconds().saturating_add(offset).max(0).unsigned_abs()
            }
            Self::Frozen(now) => now,
        }
    }
}
