//! The state of the model: what was sent, and what the target therefore has to know.

use std::collections::{BTreeMap, BTreeSet};

use super::message::Message;
use super::stream::Stream;
use super::waiting::{READERS, Waiting};
use crate::protocol::Choices;

/// What was sent, and what the target therefore has to know.
#[derive(Clone, Default)]
pub(super) struct State {
    /// Messages to the target, by the number that moves give them.
    pub(super) messages: BTreeMap<usize, Message>,
    /// The next number of a message.
    pub(super) next: usize,
    /// The next number of a captured value.
    pub(super) captures: usize,
    /// The number of the last capture of `effects`, the count of application runs that a library reports, if the count can not
    /// have changed since.
    pub(super) effects: Option<usize>,
    /// Messages that a relay has to store, by the number that moves give them.
    pub(super) queue: BTreeMap<usize, Waiting>,
    /// The numbers of messages that were acknowledged before they came.
    pub(super) ahead: BTreeSet<usize>,
    /// The next number of a stored message.
    pub(super) next_stored: usize,
    /// Further messages to each reader, of which only the number is known.
    pub(super) many: [usize; READERS],
    /// The readers that polled.
    pub(super) seen: [bool; READERS],
    /// The readers that sent something, so that the relay may have a message of its own for them.
    pub(super) busy: [bool; READERS],
    /// The readers to whom something was sent a second time, which a relay may keep beside the first one.
    pub(super) has_copies: [bool; READERS],
    /// Streams to the target, by the number that moves give them.
    pub(super) streams: BTreeMap<usize, Stream>,
    /// The next number of a stream.
    pub(super) next_stream: usize,
}

impl State {
    /// A number that no captured value has.
    pub(super) fn capture(&mut self) -> usize {
        self.captures += 1;
        self.captures - 1
    }
}

/// What a move is mostly about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Area {
    /// Messages to the target as their recipient.
    Recipient,
    /// Messages that a relay stores for others.
    Relay,
    /// Streams.
    Streams,
    /// Any of them.
    Everything,
}

/// The areas that sequences prefer, each as often as another.
pub(super) const AREAS: &[Area] = &[Area::Recipient, Area::Relay, Area::Streams, Area::Everything];

/// Whether a sequence prefers moves of an area.
pub(super) fn prefers(choices: &dyn Choices, area: Area) -> bool {
    AREAS[choices.mood() % AREAS.len()] == area
}
