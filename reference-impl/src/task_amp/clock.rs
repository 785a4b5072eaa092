//! The present time: that of the machine, moved by tests (binding.md, section 7).

use std::collections::HashMap;

use crate::instant;

/// The present time of every task. A test may move all of them, or that of one task.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    base: instant::Clock,
    offset_ms: i64,
    tasks: HashMap<String, i64>,
}

impl Clock {
    #[must_use]
    pub(crate) fn new(base: instant::Clock) -> Self {
        Self { base, offset_ms: 0, tasks: HashMap::new() }
    }

    /// The present time in Unix milliseconds, for one task or in general.
    #[must_use]
    pub(crate) fn now(&self, task: Option<&str>) -> i64 {
        let own = task.and_then(|task| self.tasks.get(task)).copied().unwrap_or(0);
        self.base.now().unix_milliseconds().saturating_add(self.offset_ms).saturating_add(own)
    }

    /// Moves the time by so many milliseconds.
    pub(crate) fn advance(&mut self, task: Option<&str>, ms: i64) {
        match task {
            Some(task) => *self.tasks.entry(task.to_owned()).or_default() += ms,
            None => self.offset_ms = self.offset_ms.saturating_add(ms),
        }
    }

    /// The time of the machine again.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.base);
    }
}
