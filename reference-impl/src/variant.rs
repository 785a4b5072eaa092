//! Which reading is taken where a specification leaves room.

/// The readings that an implementation takes where a specification is silent or contradicts itself.
///
/// Each variant is correct: a test that accepts only one of them goes beyond the specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Variant {
    /// The ruling of each erratum.
    #[default]
    Own,
    /// Wherever a ruling tolerates another reading, that one.
    Other,
}

impl Variant {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Own, Self::Other];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Other => "other",
        }
    }

    /// Whether the readings that no ruling prefers are taken.
    #[must_use]
    pub fn is_other(self) -> bool {
        self == Self::Other
    }
}
