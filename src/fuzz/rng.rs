//! Random numbers of a campaign: the same seed and input give the same choices, in any order of inputs.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

/// A source of choices.
pub(crate) struct Rng(ChaCha8Rng);

impl Rng {
    /// The choices for one input of a campaign.
    pub(crate) fn new(seed: u64, input: u64) -> Self {
        let mut hash = Sha256::new_with_prefix("proofmark/fuzz/");
        hash.update(seed.to_be_bytes());
        hash.update(input.to_be_bytes());
        Self(ChaCha8Rng::from_seed(hash.finalize().into()))
    }

    /// A number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { usize::try_from(self.0.next_u64() % bound as u64).unwrap_or(0) }
    }

    /// True once in `times` on average.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A random element.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// Some of several things.
    pub(crate) fn draw<T>(&mut self, mut from: Vec<T>, count: usize) -> Vec<T> {
        let mut drawn = Vec::new();
        while drawn.len() < count && !from.is_empty() {
            drawn.push(from.swap_remove(self.below(from.len())));
        }
        drawn
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
