//! The choices of a sequence: random numbers and the texts of the fuzzer.

use crate::fuzz::mutate::odd_text;
use crate::fuzz::rng::Rng;
use crate::protocol::Choices;

/// The longest text, in characters: a sequence has many.
const LONGEST: usize = 300;

/// Number of moods.
const MOODS: usize = 60;

/// Choices that follow from a seed and the number of a sequence.
pub(super) struct Seeded {
    rng: Rng,
    mood: usize,
}

impl Seeded {
    /// The choices for one sequence.
    pub(super) fn new(seed: u64, sequence: u64) -> Self {
        let mut rng = Rng::new(seed, sequence);
        let mood = rng.below(MOODS);
        Self { rng, mood }
    }
}

impl Choices for Seeded {
    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound)
    }

    fn mood(&self) -> usize {
        self.mood
    }

    fn odd_text(&mut self) -> String {
        let value = odd_text(&mut self.rng);
        value.as_text().unwrap_or_default().chars().take(LONGEST).collect()
    }
}
