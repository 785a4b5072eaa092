//! What an implementation may answer to a sequence of messages: as their recipient, as a relay, and for batches and streams.
//!
//! Written from the specification and the errata register alone; it shares nothing with the implementation of this
//! repository. Where the register leaves a reading open, each of them is permitted, or nothing is expected.

mod batch;
mod broken;
mod custody;
mod delivery;
mod expect;
mod flaws;
mod hello;
mod message;
mod polls;
mod relay;
mod state;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod waiting;

use expect::word;
use state::{Area, State, prefers};

use crate::protocol::{Choices, Model, ModelState, Move, Offers, Predicted};

/// The model of the protocol.
pub(super) struct Sequences;

impl Model for Sequences {
    fn transitions(&self) -> &'static [&'static str] {
        TRANSITIONS
    }

    fn start(&self) -> Box<dyn ModelState> {
        Box::<State>::default()
    }
}

/// Every transition.
const TRANSITIONS: &[&str] = &[
    "send: a message",
    "send: an encrypted message",
    "send: a message to an array of recipients",
    "send: a request",
    "send: a request for the number of requests",
    "send: a PING",
    "send: an old message",
    "send: a message ahead of the clock",
    "send: a message for immediate delivery",
    "send: an id that another sender used",
    "send: a message to other parties",
    "deliver: after a forgery of it",
    "deliver: after a refused message of its id",
    "repeat: a message",
    "repeat: an encrypted message",
    "repeat: a request",
    "repeat: a request for the number of requests",
    "repeat: a PING",
    "repeat: a copy with another ext",
    "other content: another body",
    "other content: another request",
    "other content: another ttl",
    "other content: a request for the number of requests",
    "refuse: a forgery",
    "refuse: a forgery of a known message",
    "refuse: a forgery with other content",
    "refuse: a forgery of a known message with other content",
    "refuse: a changed signature",
    "refuse: a changed signature of a known message",
    "refuse: no signature",
    "refuse: no signature of a known message",
    "refuse: another version",
    "refuse: another version of a known message",
    "refuse: an expired message",
    "refuse: a known message with an expired ttl",
    "refuse: a message of the future",
    "refuse: an id of another time",
    "refuse: an unknown type",
    "refuse: a broken message",
    "store: a message",
    "store: a message to two readers",
    "store: a message of another type",
    "store: an id that another sender used",
    "store: an expired message",
    "store: a message for immediate delivery",
    "store: a message that expires soon",
    "store: time passes",
    "store: a message again",
    "store: several messages at once",
    "store: more than ten messages",
    "store: other content under a known id",
    "acknowledge: by the recipient",
    "acknowledge: a second time",
    "acknowledge: before it comes",
    "acknowledge: by a stranger",
    "acknowledge: forged",
    "acknowledge: an ERROR that allows a retry",
    "poll: the first time",
    "poll: again",
    "poll: page by page",
    "batch: a new message",
    "batch: a known message",
    "batch: a known request for the number of requests",
    "batch: a forged message",
    "stream: a start",
    "stream: a start beside another stream",
    "stream: many chunks",
    "stream: a forged chunk",
    "stream: a forged end",
    "stream: a start after a failed stream",
    "stream: an id that another sender used",
    "stream: the next chunk",
    "stream: a chunk out of order",
    "stream: a chunk again",
    "stream: a known index with other bytes",
    "stream: a chunk beyond the end",
    "stream: the end",
    "stream: the end again",
    "stream: the end with a gap",
    "stream: a wrong hash",
    "hello: with a compatible version",
    "hello: with one compatible version of two",
    "hello: without a compatible version",
];

/// How many times as often a move of the preferred area is proposed.
const PREFERENCE: usize = 6;

/// A kind of move: its area, how often it is proposed, and how.
type Proposal = (Area, usize, fn(&State, &dyn Offers, &mut dyn Choices) -> Option<Move>);

const PROPOSALS: &[Proposal] = &[
    (Area::Recipient, 8, delivery::propose_send),
    (Area::Recipient, 3, delivery::propose_deliver),
    (Area::Recipient, 4, delivery::propose_repeat),
    (Area::Recipient, 2, delivery::propose_other),
    (Area::Recipient, 1, delivery::propose_elsewhere),
    (Area::Recipient, 4, flaws::propose),
    (Area::Recipient, 3, broken::propose),
    (Area::Relay, 6, relay::propose_store),
    (Area::Relay, 1, relay::propose_many),
    (Area::Relay, 2, custody::propose_pause),
    (Area::Relay, 1, custody::propose_again),
    (Area::Relay, 1, custody::propose_at_once),
    (Area::Relay, 3, relay::propose_acknowledge),
    (Area::Relay, 1, relay::propose_disturb),
    (Area::Relay, 4, polls::propose_poll),
    (Area::Recipient, 2, batch::propose),
    (Area::Recipient, 1, hello::propose),
    (Area::Streams, 3, streams::propose_start),
    (Area::Streams, 1, streams::propose_long),
    (Area::Streams, 1, streams::propose_forged),
    (Area::Streams, 8, streams::propose_chunk),
    (Area::Streams, 3, streams::propose_end),
];

impl ModelState for State {
    fn duplicate(&self) -> Box<dyn ModelState> {
        Box::new(self.clone())
    }

    fn propose(&self, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
        // A target with a rate limit may refuse any message.
        if offers.has("rate-limit") {
            return None;
        }
        let weight = |proposal: &Proposal| proposal.1 * if prefers(choices, proposal.0) { PREFERENCE } else { 1 };
        let weights: Vec<usize> = PROPOSALS.iter().map(weight).collect();
        // A kind of move that the state or the target does not permit is drawn again.
        (0..8).find_map(|_| {
            let chosen = choices.weighted(&weights)?;
            PROPOSALS[chosen].2(self, offers, choices)
        })
    }

    fn read_back(&self, _: &dyn Offers) -> Vec<Move> {
        let mut moves = delivery::read_back(self);
        moves.extend(polls::read_back(self));
        moves.extend(streams::read_back(self));
        moves
    }

    fn take(&mut self, step: &Move) -> Option<Predicted> {
        match word(step, "do")? {
            "send" => delivery::send(self, step),
            "deliver" => delivery::deliver(self, step),
            "repeat" => delivery::repeat(self, step),
            "other" => delivery::other(self, step),
            "elsewhere" => delivery::elsewhere(self, step),
            "broken" => broken::broken(self, step),
            "flawed" => flaws::flawed(self, step),
            "store" => relay::store(self, step),
            "store many" => relay::store_many(self, step),
            "store again" => custody::again(self, step),
            "store at once" => custody::at_once(self, step),
            "pause" => custody::pause(self, step),
            "acknowledge" => relay::acknowledge(self, step),
            "acknowledge ahead" => relay::acknowledge_ahead(self, step),
            "disturb" => relay::disturb(self, step),
            "long" => streams::long(self, step),
            "poll" => polls::poll(self, step),
            "batch" => batch::batch(self, step),
            "hello" => hello::hello(self, step),
            "start" => streams::start(self, step),
            "forged part" => streams::forged(self, step),
            "chunk" => streams::chunk(self, step),
            "end" => streams::end(self, step),
            _ => None,
        }
    }
}
