//! Requests that are sent at the same time (sections 7.3, 8.1, 11.2 and 13, E78).
//!
//! Only those are modelled of which a requirement says what they may do together: deposits, assertions and invalidations.

use super::deposits;
use super::expect::{at, map, number, of_project, plain, project, small, step, text, word};
use super::facts::{self, VALUES, add_pair, key};
use super::package::{name, sent, whole};
use super::queries;
use super::state::State;
use super::timeline::{Key, Timeline};
use crate::protocol::{AtOnce, Choices, Move, Offers, Predicted};
use crate::value::Value;

/// Fewest and most moves at once.
const FEWEST: usize = 2;
const MOST: usize = 3;

/// A refusal because other requests came at the same time (E78).
pub(super) fn crowded_out() -> Value {
    plain("/status", "one-of", Value::array([409, 429, 503].map(number)))
}

pub(super) fn propose(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Vec<Move>> {
    let count = FEWEST + choices.below(MOST + 1 - FEWEST);
    match choices.below(5) {
        0 => rivals(state, offers, choices, count),
        1 => several_deposits(state, offers, choices, count),
        2 => invalidations(state, offers, choices, count),
        _ => assertions(state, offers, choices, count),
    }
}

/// Packages with one id, of the same or of other content.
fn rivals(state: &State, offers: &dyn Offers, choices: &mut dyn Choices, count: usize) -> Option<Vec<Move>> {
    let mut deposit = deposits::propose_deposit(state, offers, choices)?;
    deposit.set_member("do", text("rival"));
    let deposit = Value::Map(
        deposit
            .as_map()?
            .iter()
            .filter(|(key, _)| !matches!(key.as_text(), Some("as" | "status" | "review")))
            .cloned()
            .collect(),
    );
    let differ = !choices.one_in(3);
    let rival = |index: usize| {
        let mut rival = deposit.clone();
        if differ && index > 0 {
            rival.set_member("variant", map([("/handoff_note", Value::text(format!("pm rival {index}")))]));
        }
        rival
    };
    Some((0..count).map(rival).collect())
}

/// Packages with different ids.
fn several_deposits(state: &State, offers: &dyn Offers, choices: &mut dyn Choices, count: usize) -> Option<Vec<Move>> {
    let mut found = Vec::new();
    for index in 0..count {
        let mut deposit = deposits::propose_deposit(state, offers, choices)?;
        deposit.set_member("n", number(state.next + index));
        found.push(deposit);
    }
    Some(found)
}

/// Values of one pair, or of several; sometimes the current fact is read meanwhile.
fn assertions(state: &State, offers: &dyn Offers, choices: &mut dyn Choices, count: usize) -> Option<Vec<Move>> {
    if !offers.has("L2") {
        return None;
    }
    let mut pair = Vec::new();
    add_pair(state, choices, &mut pair);
    let of_one = !choices.one_in(4);
    let reads = of_one
        && offers.may_have("fact-query")
        && state.facts.get(&key(&Value::map(pair.clone()))).is_some_and(|known| known.current_counts() == (1, 1))
        && choices.one_in(2);
    let assertion = |index: usize, choices: &mut dyn Choices| {
        let mut members = vec![("do", text("assert"))];
        if of_one {
            members.extend(pair.clone());
        } else {
            add_pair(state, choices, &mut members);
        }
        members.push(("value", Value::text(format!("{} {index}", choices.pick(VALUES).unwrap_or(&"1")))));
        if choices.one_in(2) {
            members.push(("as", text("b")));
        }
        Value::map(members)
    };
    let mut found: Vec<Move> = (0..count).map(|index| assertion(index, choices)).collect();
    if reads {
        let mut members = vec![("do", text("current"))];
        members.extend(pair);
        members.push(("as", text("b")));
        *found.last_mut()? = Value::map(members);
    }
    Some(found)
}

/// Invalidations of one current fact.
fn invalidations(state: &State, offers: &dyn Offers, choices: &mut dyn Choices, count: usize) -> Option<Vec<Move>> {
    let current: Vec<&Key> =
        state.facts.iter().filter(|(_, pair)| pair.current_counts() == (1, 1)).map(|(key, _)| key).collect();
    let (of, subject, predicate) = choices.pick(&current).filter(|_| offers.has("L2"))?;
    let invalidation = |index: usize| {
        let pair = [("project", number(*of)), ("subject", text(subject)), ("predicate", text(predicate))];
        let by = if index == 0 { "a" } else { "b" };
        Value::map([("do", text("invalidate"))].into_iter().chain(pair).chain([("as", text(by))]))
    };
    Some((0..count).map(invalidation).collect())
}

/// Takes moves as if they took effect in this order.
pub(super) fn take(state: &mut State, moves: &[Move], order: &[usize]) -> Option<AtOnce> {
    let first = state.moments;
    let mut taken = Vec::new();
    for position in order {
        state.at_once = Some(first + position);
        let given = moves.get(*position)?;
        taken.push(match word(given, "do")? {
            "rival" => rival(state, given)?,
            "deposit" => deposits::deposit(state, given)?,
            "assert" if given.member("age").is_none() => facts::assert(state, given)?,
            "invalidate" if given.member("object").is_none() => facts::invalidate(state, given)?,
            "current" => queries::query(state, given)?,
            _ => return None,
        });
    }
    state.at_once = None;
    state.moments = first + moves.len();
    forget_order(state, moves);
    let (transition, requirement) = about(moves)?;
    Some(AtOnce { transition, requirement, taken })
}

/// The transition, and the requirement behind it. `None` if it is not specified what the moves may do together.
fn about(moves: &[Move]) -> Option<(&'static str, &'static str)> {
    let all = |kinds: &[&str]| moves.iter().all(|given| word(given, "do").is_some_and(|kind| kinds.contains(&kind)));
    let is_one_pair = moves.iter().all(|given| key(given) == key(&moves[0]));
    let is_one_package = moves.iter().all(|given| small(given, "n") == small(&moves[0], "n"));
    if all(&["rival"]) && is_one_package {
        return Some(if moves.iter().all(|given| given.member("variant") == moves[0].member("variant")) {
            ("at once: deposits of one package", "AGENTIC-11.2-06")
        } else {
            ("at once: deposits of several packages under one id", "AGENTIC-11.2-07")
        });
    }
    if all(&["deposit"]) {
        return Some(("at once: deposits under several ids", "AGENTIC-13-01"));
    }
    if all(&["invalidate"]) && is_one_pair {
        return Some(("at once: invalidations of one fact", "AGENTIC-8.7-08"));
    }
    if all(&["assert", "current"]) {
        return Some(match (is_one_pair, all(&["assert"])) {
            (true, true) => ("at once: values of one pair", "AGENTIC-7.3-07"),
            (true, false) => ("at once: values of one pair and a query", "AGENTIC-7.3-07"),
            (false, _) => ("at once: values of several pairs", "AGENTIC-7.3-07"),
        });
    }
    None
}

/// Which of several assertions at the same time began first is open: only the current fact is known (E42, E78).
fn forget_order(state: &mut State, moves: &[Move]) {
    for (index, given) in moves.iter().enumerate() {
        let is_assertion = |given: &Move| word(given, "do") == Some("assert");
        let of = key(given);
        let has_rival = moves.iter().skip(index + 1).any(|other| is_assertion(other) && key(other) == of);
        if is_assertion(given)
            && has_rival
            && let Some(pair) = state.facts.get_mut(&of)
        {
            let vague = |line: &Timeline| line.rows.last().cloned().map_or_else(|| line.clone(), Timeline::vague);
            let lines = pair.0.iter().map(vague).collect();
            pair.replace(lines);
        }
    }
}

/// The first of several deposits under one id is accepted; after it the same content succeeds, and other content is a clash.
fn rival(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let variant = given.member("variant").filter(|set| set.as_map().is_some_and(|set| !set.is_empty()));
    let this = sent(n, variant);
    let accepted = [200, 201].map(number);
    let expect = if let Some(package) = state.packages.get(&n) {
        if package.variant.as_ref() == variant {
            vec![at("AGENTIC-11.2-03", "/status", "one-of", Value::array(accepted))]
        } else {
            vec![at("AGENTIC-11.2-05", "/status", "equals", number(409))]
        }
    } else {
        deposits::deposit(state, given)?;
        let package = state.packages.get_mut(&n)?;
        if variant.is_some_and(|set| !deposits::changes(package, set)) {
            return None;
        }
        package.variant = variant.cloned();
        let mut expect = vec![at("AGENTIC-6-03", "/status", "one-of", Value::array(accepted))];
        expect.extend(whole(n, package, "AGENTIC-8.1-09"));
        expect
    };
    Some(Predicted {
        transition: "at once: deposits of one package",
        needs: Vec::new(),
        bindings: vec![(name(n), deposits::body(given))],
        steps: vec![step("a", "deposit", vec![("project", project(of_project(given))), ("package", this)], expect)],
    })
}
