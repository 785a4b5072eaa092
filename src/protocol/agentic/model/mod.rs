//! What an implementation may answer to a sequence of operations: packages, projects, facts with their timelines, review.
//!
//! Written from the specification and the errata register alone; it shares nothing with the implementation of this
//! repository. Where the register leaves a reading open, the state holds each of them, or nothing is expected.

mod archive;
mod bundles;
mod deposits;
mod expect;
mod facts;
mod instant;
mod lists;
mod package;
mod queries;
mod races;
mod review;
mod series;
mod state;
#[cfg(test)]
mod tests;
mod timeline;
mod transfer;
mod values;

use expect::word;
use state::{Area, State, prefers};

use crate::protocol::{AtOnce, Choices, Model, ModelState, Move, Offers, Predicted};
use crate::value::Value;

/// The model of the protocol.
pub(super) struct Sequences;

impl Model for Sequences {
    fn transitions(&self) -> &'static [&'static str] {
        TRANSITIONS
    }

    fn start(&self) -> Box<dyn ModelState> {
        Box::<State>::default()
    }

    fn crowded_out(&self) -> Option<Value> {
        Some(races::crowded_out())
    }
}

/// Every transition.
const TRANSITIONS: &[&str] = &[
    "deposit: a complete package",
    "deposit: a draft",
    "deposit: a package that awaits review",
    "deposit: with a parent",
    "deposit again: the same content",
    "deposit again: the same content in another order",
    "deposit again: other content",
    "deposit again: the same other content",
    "deposit again: after its status changed",
    "deposit: many packages",
    "deposit: an invalid package",
    "deposit: no package",
    "pull: a package",
    "pull: a package after its status changed",
    "pull: a refused package",
    "pull: an unknown id",
    "pull: an id like that of another package",
    "latest: no package",
    "latest: fewer packages than the limit",
    "latest: more packages than the limit",
    "latest: many packages",
    "latest: packages of one instant",
    "latest: with drafts or packages under review",
    "orient: no package",
    "orient: one package",
    "orient: several packages",
    "archive and restore",
    "archive and restore: with the time of it",
    "archive and restore: with a deposit",
    "archive and restore: beside another project",
    "import: a new package",
    "import: a package that awaits review",
    "import: a fact",
    "import: a stored package",
    "import: a package whose status changed",
    "import: other content of a stored package",
    "search",
    "search: for the words of a package",
    "digest",
    "sessions",
    "describe",
    "export: packages",
    "export: packages and facts",
    "list: every current fact",
    "assert: the first value",
    "assert: another value",
    "assert: an earlier value again",
    "assert: the current value again",
    "assert: not after the start of the current fact",
    "assert: after an invalidation",
    "assert: after a second invalidation",
    "assert: with an unknown source package",
    "assert: an invalid value of a known pair",
    "assert: an invalid value of an unknown pair",
    "assert: many facts",
    "assert: a long history",
    "invalidate: a lone fact",
    "invalidate: a fact with a history",
    "invalidate: a second time",
    "invalidate: nothing",
    "invalidate: what may be current",
    "query: the current fact",
    "query: the current fact of an unknown pair",
    "query: the current fact after an invalidation",
    "query: what may be current",
    "query: a history of one fact",
    "query: a history of two to four facts",
    "query: a history of many facts",
    "query: the history of an unknown pair",
    "query: one of several histories",
    "query: a history that is open",
    "query: the instant of the first start",
    "query: the instant of a change",
    "query: an instant of an ended fact",
    "query: an instant of the current fact",
    "query: an instant before the first fact",
    "query: an instant of an unknown pair",
    "flag: a draft",
    "flag: a package in revision",
    "flag: a package that awaits review",
    "flag: a complete package",
    "flag: without a reviewer",
    "flag: an unknown package",
    "move: review completed",
    "move: revision requested",
    "move: completed without review",
    "move: out of a complete package",
    "move: out of a completed review",
    "move: not in the table",
    "move: to the same state",
    "move: to an unknown state",
    "waiting: no package",
    "waiting: one package",
    "waiting: several packages",
    "at once: deposits of one package",
    "at once: deposits of several packages under one id",
    "at once: deposits under several ids",
    "at once: values of one pair",
    "at once: values of one pair and a query",
    "at once: values of several pairs",
    "at once: invalidations of one fact",
];

/// How many times as often a move of the preferred area is proposed.
const PREFERENCE: usize = 6;

/// A kind of move: its area, how often it is proposed, and how.
type Proposal = (Area, usize, fn(&State, &dyn Offers, &mut dyn Choices) -> Option<Move>);

const PROPOSALS: &[Proposal] = &[
    (Area::Packages, 6, deposits::propose_deposit),
    (Area::Packages, 2, deposits::propose_again),
    (Area::Packages, 2, deposits::propose_invalid),
    (Area::Packages, 3, deposits::propose_pull),
    (Area::Packages, 3, lists::propose_latest),
    (Area::Everything, 2, lists::propose_orient),
    (Area::Everything, 1, archive::propose),
    (Area::Everything, 1, lists::propose_export),
    (Area::Everything, 2, transfer::propose_import),
    (Area::Packages, 1, transfer::propose_search),
    (Area::Facts, 1, series::propose),
    (Area::Everything, 1, deposits::propose_many),
    (Area::Review, 1, deposits::propose_many),
    (Area::Facts, 1, transfer::propose_fact),
    (Area::Everything, 1, bundles::propose_digest),
    (Area::Everything, 1, bundles::propose_sessions),
    (Area::Everything, 1, bundles::propose_describe),
    (Area::Facts, 1, lists::propose_list),
    (Area::Facts, 10, facts::propose_assert),
    (Area::Facts, 2, facts::propose_invalid),
    (Area::Facts, 3, facts::propose_invalidate),
    (Area::Facts, 5, queries::propose_query),
    (Area::Facts, 1, facts::propose_many),
    (Area::Review, 4, review::propose_flag),
    (Area::Review, 5, review::propose_move),
    (Area::Review, 2, review::propose_waiting),
];

impl ModelState for State {
    fn duplicate(&self) -> Box<dyn ModelState> {
        Box::new(self.clone())
    }

    fn propose(&self, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
        let weight = |proposal: &Proposal| proposal.1 * if prefers(choices, proposal.0) { PREFERENCE } else { 1 };
        let weights: Vec<usize> = PROPOSALS.iter().map(weight).collect();
        // A kind of move that the state or the target does not permit is drawn again.
        (0..8).find_map(|_| {
            let chosen = choices.weighted(&weights)?;
            PROPOSALS[chosen].2(self, offers, choices)
        })
    }

    fn read_back(&self, offers: &dyn Offers) -> Vec<Move> {
        let mut moves = deposits::read_back(self);
        moves.extend(lists::read_back(self, offers));
        moves.extend(queries::read_back(self, offers));
        moves.extend(review::read_back(self, offers));
        moves
    }

    fn propose_at_once(&self, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Vec<Move>> {
        races::propose(self, offers, choices)
    }

    fn take_at_once(&mut self, moves: &[Move], order: &[usize]) -> Option<AtOnce> {
        races::take(self, moves, order)
    }

    fn take(&mut self, step: &Move) -> Option<Predicted> {
        match word(step, "do")? {
            "deposit" => deposits::deposit(self, step),
            "again" => deposits::again(self, step),
            "invalid" => deposits::invalid(self, step),
            "no package" => deposits::no_package(self, step),
            "pull" => deposits::pull(self, step),
            "latest" => lists::latest(self, step),
            "orient" => lists::orient(self, step),
            "archive" => archive::archive(self, step),
            "export" => lists::export(self, step),
            "import" => transfer::import(self, step),
            "import again" => transfer::import_again(self, step),
            "search" => transfer::search(self, step),
            "series" => series::series(self, step),
            "many packages" => deposits::many(self, step),
            "import fact" => transfer::import_fact(self, step),
            "digest" => bundles::digest(self, step),
            "sessions" => bundles::sessions(self, step),
            "describe" => Some(bundles::describe()),
            "list" => lists::list(self, step),
            "assert" => facts::assert(self, step),
            "bad fact" => facts::invalid(self, step),
            "invalidate" => facts::invalidate(self, step),
            "current" | "history" | "as of" => queries::query(self, step),
            "many" => facts::many(self, step),
            "flag" => review::flag(self, step),
            "move" => review::transition(self, step),
            "waiting" => review::waiting(self, step),
            _ => None,
        }
    }
}
