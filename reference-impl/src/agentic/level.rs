//! The levels of section 11.

/// The levels of an implementation; each level includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    L0,
    L1,
    L2,
    L3,
}

impl Level {
    pub(crate) const HIGHEST: Self = Self::L3;

    /// The names of all levels, the lowest first.
    pub(crate) const NAMES: &[&str] = &["L0", "L1", "L2", "L3"];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::L0, Self::L1, Self::L2, Self::L3].into_iter().find(|level| level.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }
}
