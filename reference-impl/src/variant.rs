//! Which reading is taken where a specification leaves room.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;

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
    /// Some of the other readings: for each place in the source that chooses, this number decides. Readings that the file of a
    /// target declares are those of [`Variant::Own`].
    Mixed(u64),
}

impl Variant {
    /// Those in which everything is decided alike.
    pub const ALL: [Self; 2] = [Self::Own, Self::Other];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Other => "other",
            Self::Mixed(_) => "mixed",
        }
    }

    /// Whether the reading that no ruling prefers is taken at the place that asks.
    #[must_use]
    #[track_caller]
    pub fn is_other(self) -> bool {
        match self {
            Self::Own => false,
            Self::Other => true,
            Self::Mixed(seed) => {
                let place = Location::caller();
                let mut hasher = DefaultHasher::new();
                (seed, place.file(), place.line(), place.column()).hash(&mut hasher);
                hasher.finish() % 2 == 1
            }
        }
    }

    /// The same for a reading that the file of a target declares, and which therefore is not mixed with others.
    #[must_use]
    pub fn is_other_as_declared(self) -> bool {
        self == Self::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(variant: Variant) -> Vec<bool> {
        let mut choices = Vec::new();
        for _ in 0..2 {
            choices.extend([variant.is_other(), variant.is_other(), variant.is_other(), variant.is_other()]);
        }
        choices
    }

    #[test]
    fn each_place_of_a_mixture_decides_by_itself_and_always_alike() {
        let mixtures: Vec<_> = (0..32).map(|seed| choices(Variant::Mixed(seed))).collect();
        assert!(mixtures.iter().all(|choices| choices[..4] == choices[4..]));
        for place in 0..4 {
            assert!(
                [false, true].iter().all(|choice| mixtures.iter().any(|choices| choices[place] == *choice)),
                "{place}"
            );
        }
        assert!(mixtures.iter().any(|choices| choices[0] != choices[1]));
        assert!(!Variant::Mixed(1).is_other_as_declared());
    }
}
