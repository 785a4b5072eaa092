//! Two ways to do the same work, alternately.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The time of a piece of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Wall time.
    pub wall: Duration,
    /// Processor time, which does not depend on other programs.
    pub processor: Duration,
}

impl Cost {
    /// Does work that stays on this thread.
    pub fn of_thread<T>(work: impl FnOnce() -> T) -> (Self, T) {
        Self::of(ClockId::ThreadCPUTime, work)
    }

    /// Does work on all threads of this program. Their other work in the meantime counts too.
    pub fn of_program<T>(work: impl FnOnce() -> T) -> (Self, T) {
        Self::of(ClockId::ProcessCPUTime, work)
    }

    fn of<T>(clock: ClockId, work: impl FnOnce() -> T) -> (Self, T) {
        let (begun, before) = (Instant::now(), processor(clock));
        let result = work();
        (Self { wall: begun.elapsed(), processor: processor(clock).saturating_sub(before) }, result)
    }
}

fn processor(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

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

/// The same for both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Ratios {
    /// Wall time.
    pub wall: Ratio,
    /// Processor time.
    pub processor: Ratio,
}

/// Measures `first` and `second` in turn, `rounds` times each, after one round that does not count.
///
/// Both return their time, so that their preparation does not count. The order changes with every round. Under
/// `--test`, which `cargo test --benches` passes, there is one round.
pub fn side_by_side(rounds: usize, mut first: impl FnMut() -> Cost, mut second: impl FnMut() -> Cost) -> Ratios {
    let rounds = if std::env::args().any(|word| word == "--test") { 1 } else { rounds.max(1) };
    let mut costs = Vec::new();
    for round in 0..=rounds {
        let pair = if round % 2 == 0 {
            let first = first();
            (first, second())
        } else {
            let second = second();
            (first(), second)
        };
        if round > 0 {
            costs.push(pair);
        }
    }
    let times = |clock: fn(&Cost) -> Duration| costs.iter().map(|(a, b)| (clock(a), clock(b))).collect::<Vec<_>>();
    Ratios { wall: ratio(&times(|cost| cost.wall)), processor: ratio(&times(|cost| cost.processor)) }
}

fn ratio(times: &[(Duration, Duration)]) -> Ratio {
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

impl std::fmt::Display for Ratios {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of processor time, {:.2} of wall time", self.processor, self.wall.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(milliseconds: u64) -> Cost {
        let wall = Duration::from_millis(milliseconds);
        Cost { wall, processor: wall / 2 }
    }

    #[test]
    fn the_first_round_does_not_count_and_the_median_is_one_that_was_seen() {
        let mut calls = 0_u64;
        let first = || {
            calls += 1;
            // The warm-up would distort the median.
            cost(if calls == 1 { 10_000 } else { 10 * calls })
        };
        let ratio = side_by_side(3, first, || cost(10)).wall;
        assert!((ratio.median - 3.0).abs() < 1e-9, "{ratio}");
        assert!((ratio.least - 2.0).abs() < 1e-9 && (ratio.most - 4.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn a_wait_takes_time_on_the_wall_only() {
        let (cost, ()) = Cost::of_thread(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(cost.wall >= Duration::from_millis(30) && cost.processor < cost.wall, "{cost:?}");
    }
}
