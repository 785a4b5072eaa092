//! Models: what a target may answer to operations in an order that no case has.

use crate::exchange::Transport;
use crate::value::Value;

/// One move of a sequence, in the words of its model: a map with the kind of the move and its arguments. A model fills in a
/// plain value for an argument that is left out, so that a sequence is simplified by leaving arguments out.
pub type Move = Value;

/// A pure model of a protocol, written from its specification and errata alone.
///
/// It predicts the permitted observations of each operation as expectations of the suite language: a tolerated reading is an
/// alternative, and what the specification leaves open has no expectation. So a sequence is a case.
pub trait Model: Sync {
    /// The transitions that a sequence can take, each by name. Coverage counts them.
    fn transitions(&self) -> &'static [&'static str];

    /// The state before the first move: nothing is stored.
    fn start(&self) -> Box<dyn ModelState>;

    /// An expectation on an answer: if it holds, the request was refused because others ran at the same time, and changed
    /// nothing. `None` if no such refusal is permitted.
    fn crowded_out(&self) -> Option<Value> {
        None
    }
}

/// The state of a model after some moves.
pub trait ModelState {
    /// A copy.
    fn duplicate(&self) -> Box<dyn ModelState>;

    /// A possible next move, or `None` if there is none at a target that offers so little. `offers` tells what the target
    /// offers and claims.
    fn propose(&self, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move>;

    /// The moves that read back everything that the target has to hold now.
    fn read_back(&self, offers: &dyn Offers) -> Vec<Move>;

    /// Takes a move, and says what it sends and what may be observed. `None` if the move means nothing in this state, such as
    /// one about an object that an earlier move no longer makes.
    fn take(&mut self, step: &Move) -> Option<Predicted>;

    /// Two or more moves that may be sent at the same time, because the specification decides what they may do together.
    fn propose_at_once(&self, _offers: &dyn Offers, _choices: &mut dyn Choices) -> Option<Vec<Move>> {
        None
    }

    /// Takes moves that are sent at the same time, as if they took effect in this order: `order` has positions in `moves`.
    /// Moves that it leaves out had no effect. What each move sends must not depend on the order. `None` if the moves mean
    /// nothing in this state.
    fn take_at_once(&mut self, _moves: &[Move], _order: &[usize]) -> Option<AtOnce> {
        None
    }
}

/// What moves send that are sent at the same time, and what may be observed if they take effect in one order.
#[derive(Clone, Debug, PartialEq)]
pub struct AtOnce {
    /// The transition, one of [`Model::transitions`].
    pub transition: &'static str,
    /// The requirement that no order at all breaks.
    pub requirement: &'static str,
    /// Each move that took effect, in this order.
    pub taken: Vec<Predicted>,
}

/// What a move sends, and what may be observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The transition, one of [`Model::transitions`].
    pub transition: &'static str,
    /// Features of the manifest without which the move is not possible.
    pub needs: Vec<&'static str>,
    /// Names that the steps use, as `let` of a case has them.
    pub bindings: Vec<(String, Value)>,
    /// Steps as a suite writes them. Each expectation names in `covers` the one requirement behind it.
    pub steps: Vec<Value>,
}

/// What a target offers and claims, by the names of the manifest.
pub trait Offers {
    /// Whether it offers a feature, or claims a level.
    fn has(&self, name: &str) -> bool;

    /// Whether it offers a feature, or its answer to the probe shows neither that it does nor that it does not.
    fn may_have(&self, name: &str) -> bool;

    /// The transport of the sequence.
    fn transport(&self) -> Transport {
        Transport::Http
    }
}

/// A source of choices. The same seed gives the same choices.
pub trait Choices {
    /// A number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize;

    /// A number that stays the same for a whole sequence, so that sequences differ in what they do most.
    fn mood(&self) -> usize;

    /// A text that parsers, templates or shells may interpret, or an unusually long one.
    fn odd_text(&mut self) -> String;
}

impl dyn Choices + '_ {
    /// True once in `times` on average.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// The position of one of several weights, each as often as it says. `None` if all are 0.
    pub fn weighted(&mut self, weights: &[usize]) -> Option<usize> {
        let mut at = self.below(weights.iter().sum());
        weights.iter().position(|weight| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        })
    }

    /// One of several things.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(self.below(of.len()))
    }
}
