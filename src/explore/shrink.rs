//! Shrinking: shorter sequences and plainer values that may show the same, in the order in which they are tried.

use crate::fuzz::minimise::simpler_values;
use crate::protocol::Move;
use crate::value::Value;

/// Sequences without some of the moves, the shortest first. The last move stays: it shows the violation.
pub(super) fn shorter(moves: &[Move]) -> Vec<Vec<Move>> {
    let before = moves.len().saturating_sub(1);
    let mut found = Vec::new();
    let mut size = before;
    while size > 0 {
        for first in (0..before).step_by(size) {
            let end = (first + size).min(before);
            let kept = moves.iter().enumerate().filter(|(index, _)| !(first..end).contains(index));
            found.push(kept.map(|(_, step)| step.clone()).collect());
        }
        size /= 2;
    }
    found
}

/// Sequences of as many moves with one argument left out, or with a simpler value for it.
pub(super) fn plainer(moves: &[Move]) -> Vec<Vec<Move>> {
    let mut found = Vec::new();
    for (index, step) in moves.iter().enumerate() {
        let Some(members) = step.as_map() else { continue };
        let mut with = |changed: Value| {
            let mut moves = moves.to_vec();
            moves[index] = changed;
            found.push(moves);
        };
        // The first argument says what kind of move it is.
        for left_out in 1..members.len() {
            let kept = members.iter().enumerate().filter(|(position, _)| *position != left_out);
            with(Value::Map(kept.map(|(_, member)| member.clone()).collect()));
        }
        for (position, (_, value)) in members.iter().enumerate().skip(1) {
            for simpler in simpler_values(value) {
                let mut members = members.to_vec();
                members[position].1 = simpler;
                with(Value::Map(members.into()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Move {
        Value::map([("do", Value::text(name)), ("text", Value::text("abcd"))])
    }

    #[test]
    fn the_shortest_sequence_comes_first_and_the_last_move_stays() {
        let moves: Vec<Move> = ["a", "b", "c", "d", "e"].map(named).to_vec();
        let found = shorter(&moves);
        assert_eq!(found[0], [named("e")]);
        assert_eq!(found[1], [named("c"), named("d"), named("e")]);
        assert!(found.iter().all(|moves| moves.last() == Some(&named("e"))));
        assert!(found.contains(&["a", "b", "d", "e"].map(named).to_vec()));
    }

    #[test]
    fn arguments_are_left_out_or_shortened_and_the_kind_of_move_stays() {
        let found = plainer(&[named("a")]);
        assert_eq!(found[0], [Value::map([("do", Value::text("a"))])]);
        assert!(found.contains(&vec![Value::map([("do", Value::text("a")), ("text", Value::text("a"))])]));
        assert!(found.iter().all(|moves| moves[0].member("do") == Some(&Value::text("a"))));
    }
}
