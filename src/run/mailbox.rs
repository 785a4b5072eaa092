//! Mailboxes: answers that a target keeps until the sender fetches them.

use std::collections::VecDeque;

use crate::exchange::Body;

/// Pages that are kept for waiting cases.
const PAGES_KEPT: usize = 256;

/// The pages fetched so far for one owner.
#[derive(Default)]
pub(super) struct Mailbox {
    /// The cursor after the last page.
    pub(super) cursor: Option<String>,
    /// Pages that were dropped.
    dropped: usize,
    pages: VecDeque<Body>,
}

impl Mailbox {
    /// How many pages have been fetched.
    pub(super) fn fetched(&self) -> usize {
        self.dropped + self.pages.len()
    }

    /// The pages from number `seen` on; `seen` becomes the number of the next one.
    pub(super) fn since(&mut self, seen: &mut usize) -> Vec<Body> {
        let new = self.pages.iter().skip(seen.saturating_sub(self.dropped)).cloned().collect();
        *seen = self.fetched();
        new
    }

    /// Adds a page, unless it equals the last one.
    pub(super) fn take(&mut self, page: Body, next: Option<String>) {
        if next.is_some() {
            self.cursor = next;
        }
        if self.pages.back() != Some(&page) {
            self.pages.push_back(page);
        }
        if self.pages.len() > PAGES_KEPT {
            self.pages.pop_front();
            self.dropped += 1;
        }
    }
}
