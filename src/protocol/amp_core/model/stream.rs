//! A stream to the target, as far as it was sent (section 6.2).

use std::collections::BTreeMap;

/// A stream to the target.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) from: usize,
    pub(super) chunks: usize,
    /// The number of the stream with whose id it was named; its own number if it has an id of its own.
    pub(super) named: usize,
    /// How often each chunk was sent.
    pub(super) sent: BTreeMap<usize, usize>,
    /// The index of the last new chunk.
    pub(super) last: Option<usize>,
    pub(super) in_order: bool,
    pub(super) has_other_bytes: bool,
    pub(super) end: End,
    /// Whether its end was encrypted.
    pub(super) is_end_sealed: bool,
}

/// What became of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Open,
    /// It was verified.
    Verified,
    /// It failed: whether it is answered again in the same way is open.
    Failed,
}

impl Stream {
    /// Whether each of its chunks was sent.
    pub(super) fn is_complete(&self) -> bool {
        self.sent.len() == self.chunks
    }
}
