//! Two ways to do the same work, in turn.

use std::time::Duration;

/// How much longer one thing takes than another.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// Median over the rounds of the time of the first divided by the time of the second.
    pub median: f64,
    /// The smallest of them.
    pub least: f64,
    /// The largest of them.
    pub most: f64,
    /// Median time of the first.
    pub first: Duration,
    /// Median time of the second.
    pub second: Duration,
}

/// Measures `first` and `second` in turn, `rounds` times each, after one round that does not count.
///
/// Both return the time that they took, so that what they prepare does not count. Which goes first changes with every
/// round. Under `--test`, as `cargo test --benches` has it, there is one round.
pub fn side_by_side(rounds: usize, mut first: impl FnMut() -> Duration, mut second: impl FnMut() -> Duration) -> Ratio {
    let rounds = if std::env::args().any(|word| word == "--test") { 1 } else { rounds.max(1) };
    let mut times = Vec::new();
    for round in 0..=rounds {
        let pair = if round % 2 == 0 {
            let first = first();
            (first, second())
        } else {
            let second = second();
            (first(), second)
        };
        if round > 0 {
            times.push(pair);
        }
    }
    let ratios = sorted(times.iter().map(|(first, second)| first.as_secs_f64() / second.as_secs_f64()));
    let firsts = sorted(times.iter().map(|(first, _)| first.as_secs_f64()));
    let seconds = sorted(times.iter().map(|(_, second)| second.as_secs_f64()));
    Ratio {
        median: middle(&ratios),
        least: ratios.first().copied().unwrap_or_default(),
        most: ratios.last().copied().unwrap_or_default(),
        first: Duration::from_secs_f64(middle(&firsts)),
        second: Duration::from_secs_f64(middle(&seconds)),
    }
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ratio {:.2} (from {:.2} to {:.2})", self.median, self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_does_not_count_and_the_median_is_one_that_was_seen() {
        let mut calls = 0_u64;
        let ratio = side_by_side(
            3,
            || {
                calls += 1;
                // The warm-up would spoil the median by far.
                Duration::from_millis(if calls == 1 { 10_000 } else { 10 * calls })
            },
            || Duration::from_millis(10),
        );
        assert!((ratio.median - 3.0).abs() < 1e-9, "{ratio}");
        assert!((ratio.least - 2.0).abs() < 1e-9 && (ratio.most - 4.0).abs() < 1e-9, "{ratio}");
    }
}
