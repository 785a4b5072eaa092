//! The state of the model: what is stored, as far as the specification decides it.

use std::collections::{BTreeMap, BTreeSet};

use super::package::Package;
use super::timeline::{Key, Pair};
use crate::protocol::Choices;

/// What is stored, as far as the specification decides it.
#[derive(Clone, Default)]
pub(super) struct State {
    /// Packages by the number that moves give them.
    pub(super) packages: BTreeMap<usize, Package>,
    /// Numbers of packages that were refused.
    pub(super) refused: BTreeSet<usize>,
    /// Whether something was stored in each of the two projects.
    pub(super) exists: [bool; 2],
    /// The next number.
    pub(super) next: usize,
    /// The facts of each pair of subject and predicate.
    pub(super) facts: BTreeMap<Key, Pair>,
    /// The number of facts of the subject that has many, in each project.
    pub(super) many: [usize; 2],
    /// The number of packages of each project that are alike and older than all others.
    pub(super) many_packages: [usize; 2],
    /// The next number of a moment.
    pub(super) moments: usize,
    /// The moment of the next move, if it is one of several that are sent at the same time.
    pub(super) at_once: Option<usize>,
}

impl State {
    /// The number of a new moment.
    pub(super) fn moment(&mut self) -> usize {
        if let Some(number) = self.at_once {
            return number;
        }
        self.moments += 1;
        self.moments - 1
    }
}

/// What a move is mostly about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Area {
    Packages,
    Facts,
    Review,
    Everything,
}

/// The areas that sequences prefer, each as often as another.
const AREAS: &[Area] = &[Area::Packages, Area::Facts, Area::Review, Area::Everything];

/// Whether a sequence prefers moves of an area.
pub(super) fn prefers(choices: &dyn Choices, area: Area) -> bool {
    AREAS[choices.mood() % AREAS.len()] == area
}
