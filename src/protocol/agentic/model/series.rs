//! Long histories: a pair with many facts, one after the other (section 7.3).

use super::expect::{number, of_project, small, text};
use super::state::State;
use super::{facts, queries};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The ages of the facts of a history, the earliest first.
fn ages(count: usize) -> impl Iterator<Item = i128> {
    (0..count).filter_map(|row| Some(12_000 - 300 * i128::try_from(row).ok()?))
}

/// Number of facts of a long history.
const LONG: usize = 14;

pub(super) fn propose(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    let key = (of, "disk".to_owned(), "series".to_owned());
    let possible = offers.has("L2") && offers.may_have("fact-query") && !state.facts.contains_key(&key);
    (possible && choices.one_in(6))
        .then(|| Value::map([("do", text("series")), ("project", number(of)), ("facts", number(LONG))]))
}

/// A pair gets many values, one after the other, and is asked for what held at first.
pub(super) fn series(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    let pair = || [("project", number(of)), ("subject", text("disk")), ("predicate", text("series"))];
    if state.facts.contains_key(&(of, "disk".to_owned(), "series".to_owned())) {
        return None;
    }
    let count = small(given, "facts").clamp(2, LONG);
    let mut found = Predicted {
        transition: "assert: a long history",
        needs: vec!["fact-query"],
        bindings: Vec::new(),
        steps: Vec::new(),
    };
    for (row, age) in ages(count).enumerate() {
        let one = pair().into_iter().chain([("value", text(format!("v{row}"))), ("age", number(age))]);
        found.steps.extend(facts::assert(state, &Value::map(one))?.steps);
    }
    for age in ages(count).take(3) {
        let asked = pair().into_iter().chain([("do", text("as of")), ("age", number(age))]);
        found.steps.extend(queries::query(state, &Value::map(asked))?.steps);
    }
    Some(found)
}
