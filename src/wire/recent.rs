//! What was read from bytes lately. One message is looked at many times: to decide the next step, to judge each expectation, and
//! to judge the run in each profile.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// The lengths of input that are remembered: a shorter one is read as quickly. Few are longer: only the last of them is.
const LENGTHS: std::ops::RangeInclusive<usize> = 48..=32 << 10;

/// Bytes of input that are remembered at most; then all is forgotten.
const MOST: usize = 1 << 20;

/// Results of reading, by input. One for each thread.
pub(super) struct Recent<T> {
    known: RefCell<HashMap<Box<[u8]>, T, foldhash::fast::RandomState>>,
    size: Cell<usize>,
    long: RefCell<Option<(Box<[u8]>, T)>>,
}

impl<T: Clone> Recent<T> {
    pub(super) fn new() -> Self {
        Self { known: RefCell::default(), size: Cell::new(0), long: RefCell::default() }
    }

    /// The result for `bytes`, which `read` depends on alone.
    pub(super) fn get(&self, bytes: &[u8], read: impl FnOnce() -> T) -> T {
        if bytes.len() < *LENGTHS.start() {
            return read();
        }
        if bytes.len() > *LENGTHS.end() {
            return self.long(bytes, read);
        }
        if let Some(found) = self.known.borrow().get(bytes) {
            return found.clone();
        }
        let found = read();
        let mut known = self.known.borrow_mut();
        if self.size.get() + bytes.len() > MOST {
            known.clear();
            self.size.set(0);
        }
        self.size.set(self.size.get() + bytes.len());
        known.insert(bytes.into(), found.clone());
        found
    }

    fn long(&self, bytes: &[u8], read: impl FnOnce() -> T) -> T {
        if let Some((known, found)) = &*self.long.borrow()
            && **known == *bytes
        {
            return found.clone();
        }
        // First the memory of the last one.
        self.long.take();
        let found = read();
        *self.long.borrow_mut() = Some((bytes.into(), found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_read_once_until_too_much_is_remembered() {
        let recent = Recent::new();
        let reads = Cell::new(0);
        let read = |text: &str| {
            recent.get(text.as_bytes(), || {
                reads.set(reads.get() + 1);
                text.len()
            })
        };
        let long = "x".repeat(1000);
        assert_eq!((read(&long), read(&long), reads.get()), (1000, 1000, 1));
        assert_eq!((read("short"), read("short"), reads.get()), (5, 5, 3));
        for length in 0..2000 {
            read(&"y".repeat(100 + length));
        }
        let huge = ["x", "y"].map(|c| c.repeat(LENGTHS.end() + 1));
        let before = reads.get();
        assert_eq!((read(&huge[0]), read(&huge[0]), reads.get()), (huge[0].len(), huge[0].len(), before + 1));
        read(&huge[1]);
        read(&huge[0]);
        assert_eq!(reads.get(), before + 3, "one of them is remembered");
        let before = reads.get();
        read(&long);
        assert_eq!(reads.get(), before + 1, "it was forgotten");
        assert!(recent.size.get() <= MOST);
    }

    #[test]
    fn inputs_at_the_limits_are_remembered() {
        let recent = Recent::new();
        let reads = Cell::new(0);
        let read = |bytes: &[u8]| {
            recent.get(bytes, || reads.set(reads.get() + 1));
            reads.get()
        };
        let longest: Vec<_> = (0..).take(MOST / LENGTHS.end()).map(|byte: u8| vec![byte; *LENGTHS.end()]).collect();
        for input in longest.iter().chain(&longest) {
            read(input);
        }
        assert_eq!(reads.get(), longest.len(), "together they are no more than is remembered");
        let shortest = &longest[0][..*LENGTHS.start()];
        let before = reads.get();
        assert_eq!(
            (read(shortest), read(shortest)),
            (before + 1, before + 1),
            "for this one the others were forgotten"
        );
        assert_eq!((read(&longest[0]), read(&longest[1])), (before + 2, before + 3));
        assert_eq!(
            (read(&shortest[1..]), read(&shortest[1..])),
            (before + 4, before + 5),
            "too short to be remembered"
        );
    }
}
