//! Sections: moves that are sent at the same time. Their answers, and what is read afterwards, must fit one order in which the
//! moves took effect (linearizability).
//!
//! A section and the moves after it are one expectation of the suite language, with an alternative for each order. So a section
//! is a part of an ordinary case. A section is short, which limits the number of orders.

use crate::protocol::{AtOnce, Model, ModelState, Move, Predicted};
use crate::value::Value;

/// The kind of the move that is a section.
const KIND: &str = "at once";

/// Most moves of a section: three have 16 orders, those with refused moves included.
const MOST: usize = 3;

/// Most moves after a section.
const READS: usize = 16;

/// The section of these moves.
pub(super) fn of(moves: Vec<Move>) -> Move {
    Value::map([("do", Value::text(KIND)), ("moves", Value::Array(moves.into()))])
}

/// The moves of a section, or `None` if the move is none.
pub(super) fn moves(step: &Move) -> Option<&[Move]> {
    let is_section = step.member("do").and_then(Value::as_text) == Some(KIND);
    is_section.then(|| step.member("moves").and_then(Value::as_array).unwrap_or_default())
}

/// The same moves without a section: its own moves come one after the other, as they are written and reversed. Nothing if there
/// is no section.
pub(super) fn in_turn(sequence: &[Move]) -> Vec<Vec<Move>> {
    let Some((index, own)) = sequence.iter().enumerate().find_map(|(index, step)| Some((index, moves(step)?))) else {
        return Vec::new();
    };
    let reversed: Vec<Move> = own.iter().rev().cloned().collect();
    [own.to_vec(), reversed]
        .into_iter()
        .map(|own| [&sequence[..index], own.as_slice(), &sequence[index + 1..]].concat())
        .collect()
}

/// Takes the moves of a section as if they took effect in the order in which they are written, and gives the transition.
pub(super) fn advance(state: &mut dyn ModelState, own: &[Move]) -> Option<&'static str> {
    let order: Vec<usize> = (0..own.len()).collect();
    state.take_at_once(own, &order).map(|taken| taken.transition)
}

/// Whether a requirement, by its id, is observable at the target.
pub(super) type Shows<'s> = &'s dyn Fn(&str) -> bool;

/// One order of the moves of a section.
struct Order {
    /// The moves that took effect, in this order; the others were refused.
    positions: Vec<usize>,
    /// The state that it leads to; `None` once a later move sends something else in it, after which nothing is expected.
    state: Option<Box<dyn ModelState>>,
    /// What holds of the answers: the first is under `/0`.
    all: Vec<Value>,
}

/// What a section and the moves after it send, and what may be observed. A later move that sends several messages is left out.
/// `None` if the section has too few moves, too many, or moves that the model cannot take
/// in each order.
pub(super) fn predict(
    model: &dyn Model,
    state: &dyn ModelState,
    own: &[Move],
    after: &[Move],
    shows: Shows<'_>,
) -> Option<Predicted> {
    if !(2..=MOST).contains(&own.len()) {
        return None;
    }
    let crowded_out = model.crowded_out();
    let mut sent: Vec<Predicted> = Vec::new();
    let mut about = ("", "");
    let mut orders = Vec::new();
    for positions in arrangements(own.len(), crowded_out.is_some()) {
        let mut state = state.duplicate();
        let AtOnce { transition, requirement, taken } = state.take_at_once(own, &positions)?;
        if taken.len() != positions.len() || !taken.iter().all(is_single) {
            return None;
        }
        if sent.is_empty() {
            // In the first order the moves are as they are written.
            (about, sent) = ((transition, requirement), taken.clone());
        }
        let mut all = Vec::new();
        for (position, found) in positions.iter().zip(&taken) {
            if !is_same_request(&sent[*position], found) {
                return None;
            }
            all.extend(expectations(found, shows).map(|one| under(*position, one)));
        }
        let refused = (0..own.len()).filter(|position| !positions.contains(position));
        all.extend(refused.flat_map(|position| crowded_out.iter().map(move |one| under(position, one))));
        orders.push(Order { positions, state: Some(state), all });
    }
    for step in after.iter().take(READS) {
        if let Some(found) = read(step, &mut orders, sent.len(), shows) {
            sent.push(found);
        }
    }
    let mut found = Predicted { transition: about.0, needs: Vec::new(), bindings: Vec::new(), steps: Vec::new() };
    for one in &sent {
        found.needs.extend(&one.needs);
        for (name, value) in &one.bindings {
            match found.bindings.iter().find(|(known, _)| known == name) {
                Some((_, known)) if known != value => return None,
                Some(_) => {}
                None => found.bindings.push((name.clone(), value.clone())),
            }
        }
    }
    found.steps = steps(&sent, own.len(), alternatives(orders)?, about.1);
    Some(found)
}

/// Takes a move after the section in each order: what it sends, whose answer has this position.
fn read(step: &Move, orders: &mut [Order], position: usize, shows: Shows<'_>) -> Option<Predicted> {
    // The first order has the moves as they are written, and decides what is sent.
    let mut state = orders.first()?.state.as_ref()?.duplicate();
    let shown = state.take(step)?;
    if !is_single(&shown) {
        return None;
    }
    for order in orders {
        let Some(mut state) = order.state.take() else { continue };
        if let Some(found) = state.take(step).filter(|found| is_same_request(&shown, found)) {
            order.all.extend(expectations(&found, shows).map(|one| under(position, one)));
            order.state = Some(state);
        }
    }
    Some(shown)
}

/// Each order of `count` moves, the written one first; where moves may be refused, then those of fewer moves.
fn arrangements(count: usize, may_refuse: bool) -> Vec<Vec<usize>> {
    fn extend(chosen: &mut Vec<usize>, length: usize, count: usize, found: &mut Vec<Vec<usize>>) {
        if chosen.len() == length {
            found.push(chosen.clone());
            return;
        }
        for position in 0..count {
            if !chosen.contains(&position) {
                chosen.push(position);
                extend(chosen, length, count, found);
                chosen.pop();
            }
        }
    }
    let mut found = Vec::new();
    let fewest = if may_refuse { 0 } else { count };
    for length in (fewest..=count).rev() {
        extend(&mut Vec::new(), length, count, &mut found);
    }
    found
}

/// Whether it sends one message.
fn is_single(found: &Predicted) -> bool {
    matches!(found.steps.as_slice(), [step] if step.member("for").is_none())
}

/// Whether two predictions send the same, whatever they expect.
fn is_same_request(one: &Predicted, other: &Predicted) -> bool {
    let requests = |found: &Predicted| found.steps.iter().map(|step| without(step, "expect")).collect::<Vec<_>>();
    one.needs == other.needs && one.bindings == other.bindings && requests(one) == requests(other)
}

/// What a prediction with one step expects, without what its requirements do not show: once it is a part of an order, only the
/// requirement of the section is named.
fn expectations<'f>(found: &'f Predicted, shows: Shows<'f>) -> impl Iterator<Item = &'f Value> {
    let all = found.steps.first().and_then(|step| step.member("expect")).and_then(Value::as_array);
    all.unwrap_or_default().iter().filter(move |one| {
        let ids = one.member("covers").and_then(Value::as_array).unwrap_or_default();
        ids.is_empty() || ids.iter().filter_map(Value::as_text).any(shows)
    })
}

/// An expectation on the answer at a position.
fn under(position: usize, expectation: &Value) -> Value {
    let mut moved = without(expectation, "covers");
    let place = expectation.member("at").and_then(Value::as_text).unwrap_or_default();
    moved.set_member("at", Value::text(format!("/{position}{place}")));
    moved
}

fn without(map: &Value, name: &str) -> Value {
    let members = map.as_map().unwrap_or_default();
    Value::Map(members.iter().filter(|(key, _)| key.as_text() != Some(name)).cloned().collect())
}

/// The orders as readings, without those that permit the same as an earlier one. `None` if one permits everything.
fn alternatives(orders: Vec<Order>) -> Option<Vec<Value>> {
    let mut found: Vec<(String, Vec<Value>)> = Vec::new();
    for Order { positions, all, .. } in orders {
        if all.is_empty() {
            return None;
        }
        let names: Vec<String> = positions.iter().map(|position| (position + 1).to_string()).collect();
        let reading = if names.is_empty() { "none".to_owned() } else { names.join(" before ") };
        if !found.iter().any(|(_, known)| *known == all) {
            found.push((format!("took effect: {reading}"), all));
        }
    }
    let written = |(reading, all): (String, Vec<Value>)| {
        Value::map([("reading", Value::text(reading)), ("all", Value::Array(all.into()))])
    };
    Some(found.into_iter().map(written).collect())
}

/// The steps of a section: its moves at once, those after it, and one expectation on all answers.
fn steps(sent: &[Predicted], own: usize, alternatives: Vec<Value>, requirement: &str) -> Vec<Value> {
    let name = |position: usize| format!("answer{position}");
    let mut messages: Vec<Value> = Vec::new();
    for (position, found) in sent.iter().enumerate() {
        let mut step = without(&found.steps[0], "expect");
        let mut captures = step.member("capture").and_then(Value::as_map).unwrap_or_default().to_vec();
        if position < own || position + 1 < sent.len() {
            captures.push((Value::text(name(position)), Value::text("")));
        }
        if !captures.is_empty() {
            step.set_member("capture", Value::Map(captures.into()));
        }
        // Any answer counts: a step without an expectation would have to succeed.
        step.set_member("expect", Value::array([Value::map([("exists", Value::Bool(true))])]));
        messages.push(step);
    }
    let after = messages.split_off(own);
    let mut steps = vec![Value::map([("parallel", Value::Array(messages.into()))])];
    steps.extend(after);
    // The answer to the last step is not captured before it is judged.
    let of = (0..sent.len()).map(|position| match position {
        _ if position < own || position + 1 < sent.len() => Value::text(format!("${{{}}}", name(position))),
        _ => Value::text("${answer/answers/0}"),
    });
    let judged = Value::map([
        ("of", Value::array(of)),
        ("covers", Value::array([Value::text(requirement)])),
        ("fits-one", Value::Array(alternatives.into())),
    ]);
    if let Some(last) = steps.last_mut() {
        last.set_member("expect-all", Value::array([judged]));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_once_and_the_written_one_first() {
        assert_eq!(arrangements(2, false), [vec![0, 1], vec![1, 0]]);
        assert_eq!(arrangements(2, true), [vec![0, 1], vec![1, 0], vec![0], vec![1], vec![]]);
        assert_eq!(arrangements(3, true).len(), 16);
    }

    #[test]
    fn what_its_requirement_does_not_show_is_no_part_of_an_order() {
        let expected =
            |id: &str| Value::map([("exists", Value::Bool(true)), ("covers", Value::array([Value::text(id)]))]);
        let step = Value::map([("expect", Value::array([expected("A-1"), expected("A-2")]))]);
        let found = Predicted { transition: "", needs: Vec::new(), bindings: Vec::new(), steps: vec![step] };
        let shown: Vec<&Value> = expectations(&found, &|id| id == "A-2").collect();
        assert_eq!(shown, [&expected("A-2")]);
    }

    #[test]
    fn a_section_in_turn_has_its_moves_in_both_directions() {
        let named = |name: &str| Value::map([("do", Value::text(name))]);
        let sequence = [named("a"), of(vec![named("b"), named("c")]), named("d")];
        let turns = in_turn(&sequence);
        assert_eq!(turns, [["a", "b", "c", "d"].map(named), ["a", "c", "b", "d"].map(named)]);
        assert!(in_turn(&["a", "b"].map(named)).is_empty());
    }
}
