//! The pace of a target that reacts to a message some time after it was handed over, such as a role that reads its messages at a
//! store one after the other.
//!
//! Such a target gives no sign that it is busy, so what many concurrent cases hand over would wait for its turn longer than the
//! windows of the protocol (its timeouts with `in-turn`) allow. The steps that are repeated until something shows within such a
//! window tell how long reactions take: while they take longer the more cases run, fewer run at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The time of a reaction from which on a target counts as slow, in milliseconds.
const SLOW_MS: u64 = 300;

/// The time of reactions that a run begins with, in milliseconds: so many cases run at once that their messages, one after the
/// other, take about as long.
const BEGIN_MS: u64 = 1_600;

/// By how many cases the window grows after a quick reaction.
const STRIDE: usize = 8;

/// How many reactions longer a window of the protocol is at a slow target: those to messages of other cases come first.
const MARGIN: u32 = 4;

/// The longest time by which a window grows.
const LONGEST_MARGIN: Duration = Duration::from_secs(30);

/// The longest wait for the reactions to the last messages of a case.
const LONGEST_REST: Duration = Duration::from_secs(20);

/// What is known of the reactions of a target.
#[derive(Default)]
pub(super) struct Pace {
    state: Mutex<State>,
    /// A case may start.
    free: Notify,
}

#[derive(Default)]
struct State {
    /// Number of cases that may run at once; `None`: as many as the limits of the run permit.
    window: Option<usize>,
    running: usize,
    /// The shortest reaction to each kind of message, in milliseconds.
    quickest: BTreeMap<String, u64>,
    /// How long reactions take lately, in milliseconds.
    recent_ms: u64,
    /// Number of reactions, one after the other, that took no longer with so many cases than before.
    quick: usize,
    /// When the window shrank last.
    shrunk: Option<Instant>,
}

/// The permission of one case to run.
pub(super) struct Turn<'p>(&'p Pace);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running = state.running.saturating_sub(1);
        self.0.free.notify_one();
    }
}

impl Pace {
    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock only means that another case panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the cases of a run after its probes, which show whether the target reacts late.
    pub(super) fn begin(&self) {
        let mut state = self.state();
        if let Some(window) = BEGIN_MS.checked_div(state.recent_ms) {
            state.window = Some(usize::try_from(window).unwrap_or(1).max(1));
        }
    }

    /// Waits until another case may run.
    pub(super) async fn turn(&self) -> Turn<'_> {
        loop {
            {
                let mut state = self.state();
                if state.window.is_none_or(|window| state.running < window) {
                    state.running += 1;
                    // The next one looks whether there is room for it, too.
                    self.free.notify_one();
                    return Turn(self);
                }
            }
            self.free.notified().await;
        }
    }

    /// Takes note of a reaction: what a step of this kind looks for was there after this time, at this attempt. At most `most`
    /// cases run at once.
    pub(super) fn reacted(&self, kind: &str, after_ms: u64, attempts: usize, most: usize) {
        let mut state = self.state();
        if attempts < 2 {
            // At a slow target it was there before the message was handed over.
            if state.recent_ms < SLOW_MS {
                state.grow(STRIDE, most);
            }
        } else {
            let before = state.quickest.get(kind).copied();
            let quickest = before.map_or(after_ms, |before| before.min(after_ms));
            state.quickest.insert(kind.to_owned(), quickest);
            let recent = state.recent_ms;
            state.recent_ms = if after_ms > recent { after_ms } else { recent - (recent - after_ms) / 8 };
            let since = state.shrunk.is_none_or(|shrunk| shrunk.elapsed() > Duration::from_millis(after_ms));
            // What takes long without others beside it, such as the work of an agent, does not show that there are too many.
            if after_ms > quickest * 2 + SLOW_MS {
                state.quick = 0;
                if since {
                    let running = state.running.min(state.window.unwrap_or(usize::MAX));
                    (state.window, state.shrunk) = (Some((running / 2).max(1)), Some(Instant::now()));
                }
            } else if after_ms < SLOW_MS {
                state.grow(STRIDE, most);
            } else if before.is_some() && after_ms <= quickest + quickest / 2 {
                state.quick += 1;
                if let Some(window) = state.window.filter(|window| state.quick >= *window) {
                    state.quick = 0;
                    state.grow(window, most);
                }
            }
        }
        self.free.notify_one();
    }

    /// How much longer a window of the protocol is at this target.
    pub(super) fn margin(&self) -> Duration {
        let recent_ms = self.state().recent_ms;
        if recent_ms < SLOW_MS { Duration::ZERO } else { LONGEST_MARGIN.min(Duration::from_millis(recent_ms) * MARGIN) }
    }

    /// How long to wait after a case for the reactions to so many messages, before another case starts.
    pub(super) fn rest(&self, messages: usize) -> Duration {
        let recent_ms = self.state().recent_ms;
        if recent_ms < SLOW_MS {
            return Duration::ZERO;
        }
        LONGEST_REST.min(Duration::from_millis(recent_ms) * u32::try_from(messages).unwrap_or(u32::MAX))
    }
}

impl State {
    fn grow(&mut self, by: usize, most: usize) {
        self.window = self.window.map(|window| window + by).filter(|window| *window < most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(pace: &Pace) -> Option<usize> {
        pace.state().window
    }

    #[test]
    fn a_target_that_reacts_at_once_is_not_held_back() {
        let pace = Pace::default();
        pace.reacted("list observe", 2, 1, 80);
        pace.begin();
        assert_eq!((window(&pace), pace.margin(), pace.rest(3)), (None, Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn a_slow_target_begins_with_one_case_and_gets_longer_windows() {
        let pace = Pace::default();
        pace.reacted("list observe", 1_000, 10, 80);
        pace.begin();
        assert_eq!(window(&pace), Some(1));
        assert_eq!((pace.margin(), pace.rest(2)), (Duration::from_secs(4), Duration::from_secs(2)));
    }

    #[test]
    fn more_cases_run_while_reactions_stay_as_quick() {
        let pace = Pace::default();
        pace.reacted("list work", 5_000, 50, 4);
        pace.begin();
        for wanted in [Some(2), Some(2), None] {
            pace.reacted("list work", 5_100, 51, 4);
            assert_eq!(window(&pace), wanted);
        }
        pace.reacted("list log", 9_000, 90, 4);
        assert_eq!(window(&pace), None, "the first of its kind shows nothing");
    }

    #[test]
    fn fewer_cases_run_when_reactions_take_longer() {
        let pace = Pace::default();
        pace.state().running = 40;
        pace.reacted("list observe", 100, 2, 80);
        pace.reacted("list observe", 2_000, 20, 80);
        assert_eq!(window(&pace), Some(20));
        pace.reacted("list observe", 2_100, 21, 80);
        assert_eq!(window(&pace), Some(20), "a message that was handed over before");
    }

    #[tokio::test]
    async fn a_case_waits_for_its_turn() {
        let pace = Pace::default();
        pace.reacted("list observe", 1_000, 10, 80);
        pace.begin();
        let first = pace.turn().await;
        let late = tokio::time::timeout(Duration::from_millis(20), pace.turn()).await;
        assert!(late.is_err(), "one case runs");
        drop(first);
        let next = tokio::time::timeout(Duration::from_secs(5), pace.turn()).await;
        assert!(next.is_ok());
    }
}
