//! Remembering what follows from its arguments alone and takes long to work out: keys of names, documents of DIDs, and whether
//! a signature verifies. A run repeats the same computation each time that it checks the same message.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Results by input. Bounded: it is cleared when full.
pub(super) struct Memo<K, V>(LazyLock<Mutex<HashMap<K, V, foldhash::fast::RandomState>>>);

/// Answers that are remembered at most.
const MOST: usize = 50_000;

impl<K: Hash + Eq, V: Clone> Memo<K, V> {
    /// An empty memo.
    pub(super) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The stored result for an input, or a new one.
    pub(super) fn known<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The stored result for an input, computed if missing.
    pub(super) fn get(&self, key: K, work_out: impl FnOnce() -> V) -> V {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        // Computed without the lock: two threads may do it concurrently, with the same result.
        let found = work_out();
        let mut known = lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, found.clone());
        found
    }
}
