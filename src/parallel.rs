//! Maps a function over many items in several threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of processors: the number of threads for CPU-bound work.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Maps in up to `jobs` threads; the results are in the order of the items.
pub fn map<I: Sync, O: Send>(jobs: usize, items: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, O)>> = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..500).collect();
        // The first items take longest, so that they finish last.
        let work = |item: &u64| {
            std::thread::sleep(std::time::Duration::from_micros(500 - item));
            item * 2
        };
        assert_eq!(map(7, &items, work), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(map(0, &items[..3], work), [0, 2, 4]);
        assert!(map(4, &[], work).is_empty());
    }
}
