//! The constants of a server: the planted fault, the selected readings, and the capabilities.

use super::level::Level;
use crate::fault::Planted;
use crate::instant::Instant;
use crate::variant::Variant;

/// The constants of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) fault: Planted,
    /// Which readings are taken: [`variant`] has the table.
    pub(crate) variant: Variant,
    pub(crate) level: Level,
    /// Whether relevant search is offered.
    pub(crate) search: bool,
    /// Whether a session starts with the first package that names it.
    pub(crate) sessions: bool,
    /// When the server started.
    pub(crate) started: Instant,
}

impl Rules {
    pub(crate) fn new(fault: Planted, level: Level, search: bool, started: Instant) -> Self {
        Self { fault, variant: Variant::Own, level, search, sessions: false, started }
    }

    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self::new(Planted::NONE, Level::HIGHEST, true, Instant::of_system())
    }
}
