//! What follows from a key alone, and is asked for with every message of its owner.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// How many values are remembered; then all are forgotten, since anybody can send others.
const MOST: usize = 1_000;

/// The latest results of a function of `K`. A static, since its results depend on nothing else.
pub(crate) struct Remembered<K, V>(LazyLock<Mutex<HashMap<K, V>>>);

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// What `make` returns for `key`. It is not called under the lock: others need not wait for it.
    pub(crate) fn get(&self, key: K, make: impl FnOnce(&K) -> V) -> V {
        self.find(&key).unwrap_or_else(|| {
            let made = make(&key);
            self.keep(key, made)
        })
    }

    /// The same for a function that can fail. A failure is not remembered.
    pub(crate) fn try_get(&self, key: K, make: impl FnOnce(&K) -> Option<V>) -> Option<V> {
        self.find(&key).or_else(|| make(&key).map(|made| self.keep(key, made)))
    }

    fn find(&self, key: &K) -> Option<V> {
        self.known().get(key).cloned()
    }

    fn keep(&self, key: K, made: V) -> V {
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, made.clone());
        made
    }

    fn known(&self) -> MutexGuard<'_, HashMap<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_made_once_and_a_failure_again() {
        static SQUARES: Remembered<u64, u64> = Remembered::new();
        assert_eq!(SQUARES.get(7, |seven| seven * seven), 49);
        assert_eq!(SQUARES.try_get(7, |_| panic!("it is known")), Some(49));
        assert_eq!(SQUARES.try_get(8, |_| None), None);
        assert_eq!(SQUARES.try_get(8, |_| Some(64)), Some(64));
        for other in 1_000..2_000 {
            SQUARES.get(other, |_| 1);
        }
        assert_eq!(SQUARES.get(7, |_| 50), 50, "forgotten since");
    }
}
