//! Samples: a check that takes most of the time of a target runs for a part of the inputs, so that a fuzzer tries many more.

use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

static WHOLE: AtomicBool = AtomicBool::new(false);

/// From now on every input is in every sample: for inputs that are kept because they once failed.
pub fn take_all() {
    WHOLE.store(true, Ordering::Relaxed);
}

/// Whether an input is in the sample of one in `of`. An input always is or never is, so that a failure can be repeated.
pub(crate) fn has(data: &[u8], of: u64) -> bool {
    let mut hasher = DefaultHasher::new();
    hasher.write(data);
    WHOLE.load(Ordering::Relaxed) || hasher.finish() % of == 0
}
