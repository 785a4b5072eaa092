//! A message that a relay has to store, and what becomes of it (section 8.3).

use std::collections::BTreeSet;

/// Readers that a sequence has.
pub(super) const READERS: usize = 2;

/// What becomes of a message that is not simply stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stored,
    /// Its ttl ends soon. Until it has ended for sure, the message may be offered or not.
    Brief,
    /// It has expired, so it is not offered any more.
    Expired,
    /// Its ttl is 0 and its recipient is not there, so it is never offered.
    Immediate,
}

/// Who sent a stored message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// One of two parties that read nothing.
    Party(usize),
    /// A reader, to itself.
    Reader(usize),
}

/// A message to readers.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) from: Sender,
    /// The readers that it is for.
    pub(super) to: BTreeSet<usize>,
    /// The readers that acknowledged it, to whom it need not be offered any more.
    pub(super) acknowledged: BTreeSet<usize>,
    /// The readers that polled since it is there.
    pub(super) seen: BTreeSet<usize>,
    pub(super) fate: Fate,
    /// Pauses since it was sent.
    pub(super) pauses: usize,
    /// Whether another sender's message has its id.
    pub(super) has_twin: bool,
    /// Whether other messages came under its id: a forgery, or other content of its sender.
    pub(super) is_disturbed: bool,
}

impl Waiting {
    /// Whether nothing else came under its id, and another party sent it.
    pub(super) fn is_plain(&self) -> bool {
        self.fate == Fate::Stored && !self.has_twin && matches!(self.from, Sender::Party(_))
    }

    /// Whether it has to be offered to a reader.
    pub(super) fn waits_for(&self, reader: usize) -> bool {
        self.fate == Fate::Stored && self.to.contains(&reader) && !self.acknowledged.contains(&reader)
    }
}
