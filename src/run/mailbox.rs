//! Mailboxes: answers that a target keeps until the sender fetches them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

use crate::exchange::Body;
use crate::protocol::Mailbox as Rules;

/// Pages that are kept for waiting cases.
const PAGES_KEPT: usize = 256;

/// Messages and refusals that are remembered.
const MESSAGES_KEPT: usize = 100_000;

/// The pages fetched so far for one owner.
#[derive(Default)]
pub(super) struct Mailbox {
    /// The cursor after the last page.
    pub(super) cursor: Option<String>,
    /// Pages that were dropped.
    dropped: usize,
    pages: VecDeque<Body>,
    hasher: RandomState,
    /// The messages that were sent to the target.
    sent: HashSet<u64>,
    /// Whether a message was sent again since the last page: a page that equals it may be the answer once more.
    is_answered_again: bool,
    /// The refusals that were fetched, each with the number of its first page.
    refusals: HashMap<u64, usize>,
}

/// What is known of a mailbox when a message is sent.
pub(super) struct Known {
    pub(super) owner: String,
    /// How many pages were fetched.
    pub(super) fetched: usize,
    /// Whether the same bytes were sent before.
    pub(super) is_repeat: bool,
}

impl Mailbox {
    /// How many pages have been fetched.
    pub(super) fn fetched(&self) -> usize {
        self.dropped + self.pages.len()
    }

    /// Notes that a message is sent. Returns what is known at that time.
    pub(super) fn sends(&mut self, owner: &str, message: &[u8]) -> Known {
        if self.sent.len() >= MESSAGES_KEPT {
            self.sent.clear();
        }
        let is_repeat = !self.sent.insert(self.hasher.hash_one(message));
        self.is_answered_again |= is_repeat;
        Known { owner: owner.to_owned(), fetched: self.fetched(), is_repeat }
    }

    /// The pages from number `seen` on; `seen` becomes the number of the next one. A refusal that the target offers once more is
    /// an answer to the same bytes only: another message with the same id has an answer of its own.
    pub(super) fn since(&mut self, seen: &mut usize, sent: &Known, rules: &dyn Rules) -> Vec<Body> {
        let mut is_stale = |refusal: &[u8]| {
            let first = self.refusals.get(&self.hasher.hash_one(refusal));
            !sent.is_repeat && first.is_some_and(|first| *first < sent.fetched)
        };
        let mut fresh = |page: &Body| match rules.without_refusals(&page.0, &mut is_stale) {
            Some(rest) => Body::from(rest),
            None => page.clone(),
        };
        let new = self.pages.iter().skip(seen.saturating_sub(self.dropped)).map(&mut fresh).collect();
        *seen = self.fetched();
        new
    }

    /// Adds a page, unless it equals the last one and no message was sent again since.
    pub(super) fn take(&mut self, page: Body, next: Option<String>, rules: &dyn Rules) {
        if next.is_some() {
            self.cursor = next;
        }
        if self.refusals.len() >= MESSAGES_KEPT {
            self.refusals.clear();
        }
        let number = self.fetched();
        let (refusals, hasher) = (&mut self.refusals, &self.hasher);
        rules.without_refusals(&page.0, &mut |refusal| {
            refusals.entry(hasher.hash_one(refusal)).or_insert(number);
            false
        });
        if std::mem::take(&mut self.is_answered_again) || self.pages.back() != Some(&page) {
            self.pages.push_back(page);
        }
        if self.pages.len() > PAGES_KEPT {
            self.pages.pop_front();
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Encoded, Exchange};
    use crate::protocol::ObservationContext;

    /// A page is lines; one that begins with `-` is a refusal.
    struct Lines;

    impl Rules for Lines {
        fn owner(&self, _: &Exchange, _: &ObservationContext<'_>) -> Option<String> {
            None
        }

        fn fetch(&self, _: &Exchange, _: &ObservationContext<'_>, _: Option<&str>) -> Option<Encoded> {
            None
        }

        fn without_refusals(&self, page: &[u8], is_stale: &mut dyn FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
            let lines: Vec<&[u8]> = page.split(|byte| *byte == b'\n').collect();
            let rest: Vec<&[u8]> =
                lines.iter().filter(|line| !(line.starts_with(b"-") && is_stale(line))).copied().collect();
            (rest.len() < lines.len()).then(|| rest.join(&b'\n'))
        }
    }

    fn take(mailbox: &mut Mailbox, page: &str) {
        mailbox.take(Body::from(page.as_bytes().to_vec()), None, &Lines);
    }

    /// The new pages for a message.
    fn pages(mailbox: &mut Mailbox, known: &Known) -> Vec<String> {
        let pages = mailbox.since(&mut known.fetched.clone(), known, &Lines);
        pages.iter().map(|page| String::from_utf8_lossy(&page.0).into_owned()).collect()
    }

    #[test]
    fn a_refusal_that_is_offered_again_answers_no_other_message() {
        let mut mailbox = Mailbox::default();
        let forged = mailbox.sends("alice", b"forged");
        take(&mut mailbox, "-1002");
        assert_eq!(pages(&mut mailbox, &forged), ["-1002"]);
        let genuine = mailbox.sends("alice", b"genuine");
        take(&mut mailbox, "-1002\nack");
        assert_eq!(pages(&mut mailbox, &genuine), ["ack"]);
        // A refusal that was not fetched before is new.
        take(&mut mailbox, "-1002\n-1005\nack");
        assert_eq!(pages(&mut mailbox, &genuine), ["ack", "-1005\nack"]);
    }

    #[test]
    fn a_repeated_message_may_get_the_same_refusal() {
        let mut mailbox = Mailbox::default();
        mailbox.sends("alice", b"message");
        take(&mut mailbox, "-1005");
        let again = mailbox.sends("alice", b"message");
        assert!(again.is_repeat);
        take(&mut mailbox, "-1005\nack");
        assert_eq!(pages(&mut mailbox, &again), ["-1005\nack"]);
    }

    #[test]
    fn a_repeated_message_may_get_the_same_page() {
        let mut mailbox = Mailbox::default();
        mailbox.sends("alice", b"message");
        take(&mut mailbox, "ack");
        take(&mut mailbox, "ack");
        assert_eq!(mailbox.fetched(), 1);
        for _ in 0..2 {
            let again = mailbox.sends("alice", b"message");
            take(&mut mailbox, "ack");
            assert_eq!(pages(&mut mailbox, &again), ["ack"]);
        }
    }

    #[test]
    fn an_answer_that_is_offered_again_is_an_answer() {
        let mut mailbox = Mailbox::default();
        mailbox.sends("alice", b"message");
        take(&mut mailbox, "ack");
        let other = mailbox.sends("alice", b"other content");
        take(&mut mailbox, "ack\nmore");
        assert_eq!(pages(&mut mailbox, &other), ["ack\nmore"]);
    }
}
