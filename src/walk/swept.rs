//! The messages that sweeps judge.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::suite::Expectation;
use crate::value::Value;

/// Messages that the target made, each with the position of its exchange.
///
/// Hundreds of cases sweep the same messages, and most of them start from the same few assumptions. Which messages an
/// assumption concerns is found once.
#[derive(Debug, Default)]
pub struct Messages {
    list: Vec<(usize, Value)>,
    /// By the assumptions as written: the positions in the list of the messages for which they hold.
    concerned: Mutex<HashMap<String, Arc<[usize]>>>,
}

impl Messages {
    /// The messages, in the order in which they were made.
    pub fn list(&self) -> &[(usize, Value)] {
        &self.list
    }

    /// Takes over the messages, and gives them up as a list.
    pub fn into_list(self) -> Vec<(usize, Value)> {
        self.list
    }

    /// The positions in the list of the messages that `assumptions` concern; `holds` says whether the assumption at a position
    /// holds for a message. The arguments of the assumptions must be the same for every message.
    pub(super) fn concerned(
        &self,
        assumptions: &[Expectation],
        holds: &mut dyn FnMut(usize, &Value) -> bool,
    ) -> Arc<[usize]> {
        let key = key(assumptions);
        let known = self.concerned.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let found: Arc<[usize]> = match assumptions {
                [] => (0..self.list.len()).collect(),
                // Many begin with the same assumptions.
                [before @ .., _] => {
                    let among = self.concerned(before, holds);
                    let last = before.len();
                    among.iter().copied().filter(|at| holds(last, &self.list[*at].1)).collect()
                }
            };
            let mut concerned = self.concerned.lock().unwrap_or_else(PoisonError::into_inner);
            concerned.insert(key, Arc::clone(&found));
            found
        })
    }
}

impl From<Vec<(usize, Value)>> for Messages {
    fn from(list: Vec<(usize, Value)>) -> Self {
        Self { list, concerned: Mutex::default() }
    }
}

/// What decides whether assumptions hold: their places, matchers and arguments.
fn key(assumptions: &[Expectation]) -> String {
    let parts =
        |found: &Expectation| format!("{:?}", (&found.at.value, &found.matcher.value, found.argument.constant()));
    assumptions.iter().map(parts).collect()
}
