//! What happens to messages while a relay stores them: time passes, they come again, and several come at the same time
//! (sections 8.3 and 16.5).

use super::expect::{Step, map, number, plain, small, text};
use super::relay::{self, is_relay, reader_name, sender_name};
use super::state::State;
use super::waiting::{Fate, Waiting};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The pause of one move, and the pauses after which a message that expires soon has expired at any clock that is used in
/// practice: the catalogue waits twice the ttl.
const PAUSE: &str = "3s";
const PAUSES: usize = 2;

/// Fewest and most messages at once.
const FEWEST: usize = 2;
const MOST: usize = 3;

pub(super) fn propose_pause(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let is_due = is_relay(offers) && state.queue.values().any(|one| one.fate == Fate::Brief);
    (is_due && choices.one_in(2)).then(|| map([("do", text("pause"))]))
}

/// Time passes, and what was to live shortly expires.
pub(super) fn pause(state: &mut State, _: &Move) -> Option<Predicted> {
    let mut brief = state.queue.values_mut().filter(|one| one.fate == Fate::Brief).peekable();
    brief.peek()?;
    for one in brief {
        one.pauses += 1;
        if one.pauses >= PAUSES {
            one.fate = Fate::Expired;
        }
    }
    Some(Predicted {
        transition: "store: time passes",
        needs: vec!["relay", "poll"],
        bindings: Vec::new(),
        steps: vec![map([("pause", text(PAUSE))])],
    })
}

pub(super) fn propose_again(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !is_relay(offers) {
        return None;
    }
    let known: Vec<usize> = state.queue.iter().filter(|(_, one)| may_come_again(one)).map(|(n, _)| *n).collect();
    Some(map([("do", text("store again")), ("n", number(*choices.pick(&known)?))]))
}

fn may_come_again(one: &Waiting) -> bool {
    matches!(one.fate, Fate::Stored | Fate::Brief) && !one.is_disturbed
}

/// A message comes once more: neither is the first one lost, nor does it live longer. Whether the relay keeps both is open.
pub(super) fn again(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let one = state.queue.get(&n).filter(|one| may_come_again(one))?;
    for reader in &one.to {
        state.has_copies[*reader] = true;
    }
    let step = Step {
        party: sender_name(one.from),
        operation: "submit",
        with: vec![("message", text(format!("${{b{n}}}")))],
        assume: vec![plain("/outcome", "type", text("string"))],
        ..Step::default()
    };
    Some(Predicted {
        transition: "store: a message again",
        needs: vec!["relay", "poll"],
        bindings: Vec::new(),
        steps: vec![step.written()],
    })
}

pub(super) fn propose_at_once(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    // Messages at once run many times before they are a finding, so few sequences have them.
    if !is_relay(offers) || !choices.one_in(3) {
        return None;
    }
    let mut step = vec![
        ("do", text("store at once")),
        ("n", number(state.next_stored)),
        ("count", number(FEWEST + choices.below(MOST + 1 - FEWEST))),
    ];
    if choices.one_in(3) {
        step.push(("reader", number(1)));
    }
    if choices.one_in(3) {
        step.push(("other", Value::Bool(true)));
    }
    if choices.one_in(2) {
        step.push(("poll", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// Messages to one reader come at the same time, sometimes while it polls: the relay keeps each of them.
pub(super) fn at_once(state: &mut State, given: &Move) -> Option<Predicted> {
    let first = small(given, "n");
    let reader = relay::reader(given);
    let count = small(given, "count").clamp(FEWEST, MOST);
    if (first..first + count).any(|n| state.queue.contains_key(&n)) {
        return None;
    }
    let mut sent = Vec::new();
    let mut bindings: Vec<(String, Value)> = Vec::new();
    for index in 0..count {
        let from = if given.member("other").is_some() { index % 2 } else { 0 };
        let one = map([
            ("do", text("store")),
            ("n", number(first + index)),
            ("reader", number(reader)),
            ("from", number(from)),
        ]);
        let found = relay::store(state, &one)?;
        sent.extend(found.steps);
        for binding in found.bindings {
            if !bindings.iter().any(|(name, _)| *name == binding.0) {
                bindings.push(binding);
            }
        }
    }
    if given.member("poll").is_some() {
        let name = reader_name(reader);
        let step = Step {
            party: name.clone(),
            operation: "poll",
            with: vec![("principal", text(format!("${{did ${name}}}"))), ("limit", number(50))],
            assume: vec![plain("/status", "equals", number(200))],
            ..Step::default()
        };
        sent.push(step.written());
    }
    Some(Predicted {
        transition: "store: several messages at once",
        needs: vec!["relay", "poll"],
        bindings,
        steps: vec![map([("parallel", Value::Array(sent.into()))])],
    })
}
