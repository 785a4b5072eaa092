//! The choices of a sequence: random numbers and the texts of the fuzzer.

use crate::fuzz::mutate::odd_text;
use crate::fuzz::rng::Rng;
use crate::protocol::Choices;

/// The longest text, in characters: a sequence has many.
const LONGEST: usize = 300;

/// Choices that follow from a seed and the number of a sequence.
pub(super) struct Seeded(Rng);

impl Seeded {
    /// The choices for one sequence.
    pub(super) fn new(seed: u64, sequence: u64) -> Self {
        Self(Rng::new(seed, sequence))
    }
}

impl Choices for Seeded {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    fn odd_text(&mut self) -> String {
        let value = odd_text(&mut self.0);
        value.as_text().unwrap_or_default().chars().take(LONGEST).collect()
    }
}
