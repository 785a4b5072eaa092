//! Choices for the tests of models.

use super::Choices;

/// Numbers that follow from a start.
pub(super) struct Counting {
    /// The start, and then the last number.
    pub(super) number: u64,
    /// What [`Choices::mood`] gives.
    pub(super) mood: usize,
}

impl Choices for Counting {
    fn below(&mut self, bound: usize) -> usize {
        // The constants of a usual linear congruential generator.
        self.number = self.number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if bound == 0 { 0 } else { usize::try_from(self.number >> 33).unwrap_or(0) % bound }
    }

    fn mood(&self) -> usize {
        self.mood
    }

    fn odd_text(&mut self) -> String {
        ["", " ", "a\0b", "${x}", "'; --"][self.below(5)].to_owned()
    }
}
