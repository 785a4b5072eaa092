//! How much the node does for one sender at a time: messages (15.3: 3005) and slow requests (15.3: 5004).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time in which an empty bucket fills.
const REFILL: Duration = Duration::from_secs(60);

/// Maximum number of senders with a bucket of their own: a full one is as good as none, so those are forgotten.
const SENDER_LIMIT: usize = 10_000;

/// A token bucket: each message takes a token.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn refilled(self, rate: u32, now: Instant) -> Self {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() / REFILL.as_secs_f64() * f64::from(rate);
        Self { tokens: (self.tokens + gained).min(f64::from(rate)), at: now }
    }
}

/// What is under way, by sender.
#[derive(Debug, Default)]
pub(crate) struct Load {
    buckets: Mutex<HashMap<String, Bucket>>,
    busy: Arc<Mutex<HashMap<String, u32>>>,
}

impl Load {
    /// Whether another message of `sender` is taken, with at most `rate` at once.
    pub(crate) fn admits(&self, sender: &str, rate: u32) -> bool {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= SENDER_LIMIT {
            buckets.retain(|_, bucket| bucket.refilled(rate, now).tokens < f64::from(rate));
        }
        let full = Bucket { tokens: f64::from(rate), at: now };
        let bucket = buckets.entry(sender.to_owned()).or_insert(full);
        *bucket = bucket.refilled(rate, now);
        let admitted = bucket.tokens >= 1.0;
        if admitted {
            bucket.tokens -= 1.0;
        }
        admitted
    }

    /// A place for another slow request of `sender`, if it has fewer than `capacity`.
    pub(crate) fn slot(&self, sender: &str, capacity: u32) -> Option<Slot> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let count = busy.entry(sender.to_owned()).or_default();
        if *count >= capacity {
            return None;
        }
        *count += 1;
        Some(Slot { busy: Arc::clone(&self.busy), sender: sender.to_owned() })
    }
}

/// A place that is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    busy: Arc<Mutex<HashMap<String, u32>>>,
    sender: String,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        match busy.get_mut(&self.sender) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(busy.remove(&self.sender)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_counts_for_each_sender() {
        let load = Load::default();
        let taken = (0..10).filter(|_| load.admits("a", 3)).count();
        assert_eq!((taken, load.admits("b", 3)), (3, true));
        let later = Instant::now() + REFILL / 2;
        let bucket = Bucket { tokens: 0.0, at: Instant::now() }.refilled(100, later);
        assert!((49.0..=50.5).contains(&bucket.tokens));
    }

    #[test]
    fn a_dropped_slot_is_free_again() {
        let load = Load::default();
        let first = load.slot("a", 1);
        assert!(first.is_some() && load.slot("a", 1).is_none() && load.slot("b", 1).is_some());
        drop(first);
        assert!(load.slot("a", 1).is_some());
    }
}
