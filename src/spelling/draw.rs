//! Choices that follow from a seed and a key.

/// A source of choices: SplitMix64, started with the FNV-1a hash of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw(u64);

impl Draw {
    /// The choices for a key.
    pub fn new(seed: u64, key: &str) -> Self {
        let hash = key
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Self(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `bound`, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        if bound == 0 { 0 } else { usize::try_from(mixed % bound as u64).unwrap_or(0) }
    }

    /// True once in `times` on average.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several things.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(self.below(of.len()))
    }

    /// The order of so many things.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    /// The sizes of at least one and at most `most` parts of `length` bytes, none of them empty, except that nothing is one
    /// empty part.
    pub fn parts(&mut self, length: usize, most: usize) -> Vec<usize> {
        let cuts = self.below(most.min(length)) + usize::from(length > 1);
        self.cut(length, cuts.min(most.saturating_sub(1)))
    }

    /// The sizes of nearly `most` parts of `length` bytes, if there are so many bytes, none of them empty.
    pub fn many_parts(&mut self, length: usize, most: usize) -> Vec<usize> {
        self.cut(length, most.saturating_sub(1))
    }

    fn cut(&mut self, length: usize, cuts: usize) -> Vec<usize> {
        let cuts: std::collections::BTreeSet<usize> =
            (0..cuts).map(|_| 1 + self.below(length.saturating_sub(1))).collect();
        let mut from = 0;
        let mut parts = Vec::new();
        for cut in cuts.into_iter().filter(|cut| *cut < length).chain([length]) {
            parts.push(cut - from);
            from = cut;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_not_empty_and_are_all_there_is() {
        for length in [0, 1, 2, 3, 10, 5000] {
            for seed in 0..50 {
                let parts = Draw::new(seed, "parts").parts(length, 6);
                assert_eq!(parts.iter().sum::<usize>(), length);
                assert!(parts.len() <= 6 && (length == 0 || parts.iter().all(|part| *part > 0)), "{parts:?}");
                assert!(length < 2 || parts.len() > 1, "{parts:?}");
                let many = Draw::new(seed, "parts").many_parts(length, 100);
                assert_eq!(many.iter().sum::<usize>(), length);
                assert!(many.len() <= 100 && (length < 5000 || many.len() > 80), "{many:?}");
            }
        }
    }
}
