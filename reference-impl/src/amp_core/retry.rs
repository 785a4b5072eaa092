//! When to send again (16.3, E48).

use std::time::Duration;

use super::rules::Rules;

/// Maximum number of copies of a message.
pub(crate) const MAX_ATTEMPTS: u32 = 5;

/// The wait before jitter after the first attempt.
const BASE_MS: f64 = 1000.0;

/// The longest wait before jitter.
const MAX_BACKOFF_MS: f64 = 60_000.0;

/// The most that chance adds to the half of the wait that is sure.
pub(crate) const MAX_JITTER: f64 = 0.5;

/// The answer of the peer to the last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastError {
    /// The number of the error.
    pub(crate) code: u64,
    /// Its `retry`; if absent, the table of 15.3 applies (E33).
    pub(crate) retry: Option<bool>,
}

/// The delay after attempt number `attempt`, counted from one; `None` to stop.
///
/// `random` is from 0 to [`MAX_JITTER`]. The caller enforces [`MAX_ATTEMPTS`].
#[must_use]
pub(crate) fn delay(
    attempt: u32,
    random: f64,
    last: Option<LastError>,
    ttl_left: Option<Duration>,
    rules: Rules,
) -> Option<Duration> {
    let fault = rules.fault;
    // 16.3: an error that no retry helps ends the attempts.
    let helps = |last: LastError| {
        last.retry.unwrap_or_else(|| super::codes::Code::from_number(last.code).is_none_or(super::codes::Code::retry))
    };
    if last.is_some_and(|last| !helps(last)) && !fault.is("retry-after-permanent-error") {
        return None;
    }
    // 16.3, E48: the table starts with one second at attempt 1. Other, E48: the formula starts with two.
    let doublings = if rules.is_other() { attempt } else { attempt.saturating_sub(1) };
    // 16.3: the wait doubles.
    let factor =
        if fault.is("retry-linear-backoff") { f64::from(attempt) } else { 2f64.powi(doublings.min(30).cast_signed()) };
    // 16.3: at most a minute.
    let base = if fault.is("retry-uncapped") { BASE_MS * factor } else { (BASE_MS * factor).min(MAX_BACKOFF_MS) };
    let random = random.clamp(0.0, MAX_JITTER);
    let jitter = match () {
        () if fault.is("retry-without-jitter") => 1.0,
        // 16.3: half of the wait is sure.
        () if fault.is("retry-full-jitter") => random / MAX_JITTER,
        () => 0.5 + random,
    };
    let wait = Duration::from_secs_f64(base * jitter / 1000.0);
    // E48: nothing is sent after ts + ttl.
    if ttl_left.is_some_and(|left| wait > left) && expiry_counts(rules) {
        return None;
    }
    Some(wait)
}

/// Whether a message that is out of date is sent no more (E48).
#[must_use]
pub(crate) fn expiry_counts(rules: Rules) -> bool {
    !rules.fault.is("retry-after-expiry")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(attempt: u32, random: f64) -> u128 {
        delay(attempt, random, None, None, Rules::PLAIN).map_or(0, |wait| wait.as_millis())
    }

    #[test]
    fn the_delays_match_the_table() {
        let waits: Vec<[u128; 2]> = (1..=5).map(|attempt| [wait(attempt, 0.0), wait(attempt, 0.5)]).collect();
        assert_eq!(waits, [[500, 1000], [1000, 2000], [2000, 4000], [4000, 8000], [8000, 16000]]);
        assert_eq!((wait(10, 0.5), wait(u32::MAX, 0.5), wait(0, 0.5)), (60_000, 60_000, 1000));
    }

    #[test]
    fn a_permanent_error_and_expiry_end_the_attempts() {
        let after = |code, retry| delay(1, 0.5, Some(LastError { code, retry }), None, Rules::PLAIN);
        assert_eq!((after(1002, None), after(5002, Some(false))), (None, None));
        assert!(after(5002, None).is_some() && after(1002, Some(true)).is_some());
        let left = |ms| delay(1, 0.5, None, Some(Duration::from_millis(ms)), Rules::PLAIN);
        assert!(left(999).is_none() && left(1000).is_some());
    }
}
