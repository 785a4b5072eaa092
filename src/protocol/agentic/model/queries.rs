//! What queries and bundles show of facts (sections 7.3, 8.3 and 11.3, E37, E38, E100).

use super::expect::{
    Alternative, any_of, at, covering, integer, literal, map, number, one_of_readings, party, plain, project, step,
    text, word,
};
use super::facts::{STARTS, add_pair, key};
use super::instant::spelled_with_fraction;
use super::state::State;
use super::timeline::{Ending, Key, Moment, Pair, Timeline, given_starts};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

pub(super) fn propose_query(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.may_have("fact-query") || !offers.has("L2") {
        return None;
    }
    let mut step = vec![("do", text(*choices.pick(&["current", "history", "as of", "as of"])?))];
    add_pair(state, choices, &mut step);
    // At a start, an end, or between, mostly of this pair.
    let starts: Vec<i128> = state.facts.get(&key(&Value::map(step.clone()))).map(given_starts).unwrap_or_default();
    let start = if starts.is_empty() || choices.one_in(4) { *choices.pick(STARTS)? } else { *choices.pick(&starts)? };
    step.push(("age", number(start + [0, 0, -1, 1, 60][choices.below(5)])));
    if choices.one_in(3) {
        step.push(("fraction", text(".0")));
    }
    if choices.one_in(2) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// A query for a pair: the current fact, all facts, or those at an instant (sections 7.3 and 11.3, E37, E38).
pub(super) fn query(state: &mut State, given: &Move) -> Option<Predicted> {
    let key = key(given);
    if !state.exists[key.0] {
        return None;
    }
    let pair = state.facts.get(&key).cloned().unwrap_or_default();
    let mut with = vec![("project", project(key.0)), ("subject", literal(&key.1)), ("predicate", literal(&key.2))];
    let (transition, expect) = match word(given, "do")? {
        "current" => current(&pair),
        "history" => {
            with.push(("include_ended", Value::Bool(true)));
            history(&pair)
        }
        _ => {
            let minutes = integer(given, "age").filter(|age| (30..20_000).contains(age)).unwrap_or(600);
            let fraction = word(given, "fraction").filter(|fraction| *fraction == ".0").unwrap_or_default();
            with.push(("as_of", spelled_with_fraction(minutes, fraction)));
            as_of(&pair, minutes)
        }
    };
    let steps = vec![step(party(given), "query-facts", with, expect)];
    Some(Predicted { transition, needs: vec!["fact-query"], bindings: Vec::new(), steps })
}

fn current(pair: &Pair) -> (&'static str, Vec<Value>) {
    let was_invalidated = pair.0.iter().any(|line| !line.rows.is_empty());
    match (pair.current_counts(), was_invalidated) {
        ((0, 0), false) => ("query: the current fact of an unknown pair", nothing("AGENTIC-11.3-04")),
        ((0, 0), true) => ("query: the current fact after an invalidation", nothing("AGENTIC-7.4-03")),
        ((1, 1), _) => {
            let mut expect = vec![
                at("AGENTIC-11.3-04", "/status", "equals", number(200)),
                at("AGENTIC-7.3-05", "/facts", "length", number(1)),
                at("AGENTIC-7.3-10", "/facts/0/value", "one-of", Value::Array(pair.values().into())),
            ];
            if let [line] = pair.0.as_slice() {
                let extras = line.current().map(|row| row.extras.clone()).unwrap_or_default();
                for (place, value) in extras {
                    expect.push(covering(of_extra(place), kept("/facts/0", place, &value)));
                }
            }
            ("query: the current fact", expect)
        }
        _ => ("query: what may be current", vec![answered()]),
    }
}

/// The requirement behind a member that an assertion gives.
fn of_extra(place: &str) -> &'static str {
    match place {
        "/confidence" => "AGENTIC-7.2-06",
        "/tags" => "AGENTIC-7.2-15",
        "/source_package_id" => "AGENTIC-7.2-04",
        _ => "AGENTIC-8.6-08",
    }
}

/// A member that an assertion gives is kept. A default may be left out (section 7.2), and an actor be shown with null members (E48).
fn kept(fact: &str, place: &str, value: &Value) -> Value {
    let place_in_fact = format!("{fact}{place}");
    if place == "/asserted_by" {
        return plain(&place_in_fact, "includes", value.clone());
    }
    let same = plain(&place_in_fact, "equals", value.clone());
    let is_default = match place {
        "/tags" => value.as_array().is_some_and(<[_]>::is_empty),
        "/confidence" => *value == Value::Decimal("1.0".into()),
        _ => false,
    };
    if !is_default {
        return same;
    }
    one_of_readings(vec![
        Alternative::new("as it was given", vec![same]),
        Alternative::new("left out", vec![plain(&place_in_fact, "absent", text("or-null"))]),
    ])
}

/// No fact, or no list of them.
fn nothing(requirement: &str) -> Vec<Value> {
    any_of(
        requirement,
        vec![
            Alternative::new(
                "an empty list",
                vec![plain("/status", "equals", number(200)), plain("/facts", "length", number(0))],
            ),
            Alternative {
                reading: "not found".to_owned(),
                tolerated: true,
                all: vec![plain("/status", "equals", number(404))],
            },
        ],
    )
}

fn answered() -> Value {
    at("AGENTIC-11.3-04", "/status", "within", map([("min", number(200)), ("max", number(499))]))
}

fn history(pair: &Pair) -> (&'static str, Vec<Value>) {
    let some = |all: Vec<Value>| plain("/facts", "some", Value::Array(all.into()));
    match pair.0.as_slice() {
        [line] if line.rows.is_empty() => ("query: the history of an unknown pair", nothing("AGENTIC-11.3-04")),
        [line] if !line.is_vague => {
            let mut expect = vec![
                at("AGENTIC-11.3-04", "/status", "equals", number(200)),
                at("AGENTIC-3-02", "/facts", "length", number(line.rows.len())),
                at("AGENTIC-7.1-02", "/facts", "distinct", map([("by", text("/fact_id"))])),
            ];
            for row in &line.rows {
                let cover = |requirement: &str, all: Vec<Value>| covering(requirement, some(all));
                expect.push(cover("AGENTIC-5.1-02", row.start()));
                let ended = match row.to {
                    None => "AGENTIC-7.3-04",
                    Some((_, Ending::Superseded)) => "AGENTIC-7.3-06",
                    Some((_, Ending::Invalidated)) => "AGENTIC-7.4-01",
                };
                expect.push(cover(ended, row.whole()));
                for (place, value) in &row.extras {
                    let all = row.start().into_iter().chain([kept("", place, value)]).collect();
                    expect.push(cover(of_extra(place), all));
                }
            }
            let transition = match line.rows.len() {
                1 => "query: a history of one fact",
                2..=4 => "query: a history of two to four facts",
                _ => "query: a history of many facts",
            };
            (transition, expect)
        }
        lines if lines.iter().any(|line| line.is_vague) => ("query: a history that is open", vec![answered()]),
        lines => {
            let alternative = |line: &Timeline| {
                let length = plain("/facts", "length", number(line.rows.len()));
                let rows = line.rows.iter().map(|row| some(row.whole()));
                let reading = format!("{} facts", line.rows.len());
                Alternative::new(&reading, [length].into_iter().chain(rows).collect())
            };
            let mut expect = vec![at("AGENTIC-11.3-04", "/status", "equals", number(200))];
            expect.extend(any_of("AGENTIC-8.6-14", lines.iter().map(alternative).collect()));
            ("query: one of several histories", expect)
        }
    }
}

fn as_of(pair: &Pair, minutes: i128) -> (&'static str, Vec<Value>) {
    if pair.0.iter().any(|line| line.is_vague) {
        return ("query: a history that is open", vec![answered()]);
    }
    let mut found: Vec<Option<&Value>> = Vec::new();
    for line in &pair.0 {
        let value = line.rows.iter().find(|row| row.holds_at(minutes)).map(|row| &row.value);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    let rows = || pair.0.iter().flat_map(|line| &line.rows);
    match found.as_slice() {
        [None] if rows().next().is_none() => ("query: an instant of an unknown pair", nothing("AGENTIC-7.3-15")),
        [None] => ("query: an instant before the first fact", nothing("AGENTIC-7.3-15")),
        [Some(value)] => {
            let starts = rows().any(|row| row.from == Moment::Given(minutes));
            let ends = rows().any(|row| matches!(row.to, Some((Moment::Given(to), _)) if to == minutes));
            let is_open = rows().any(|row| row.holds_at(minutes) && row.to.is_none());
            let (transition, requirement) = match (starts, ends, is_open) {
                (_, true, _) => ("query: the instant of a change", "AGENTIC-7.3-12"),
                (true, false, _) => ("query: the instant of the first start", "AGENTIC-7.3-11"),
                (false, false, true) => ("query: an instant of the current fact", "AGENTIC-7.3-14"),
                (false, false, false) => ("query: an instant of an ended fact", "AGENTIC-7.3-13"),
            };
            let expect = vec![
                at("AGENTIC-11.3-05", "/status", "equals", number(200)),
                at(requirement, "/facts", "length", number(1)),
                at(requirement, "/facts/0/value", "equals", (*value).clone()),
            ];
            (transition, expect)
        }
        _ => ("query: a history that is open", vec![answered()]),
    }
}

/// The current facts of a project, wherever they are listed (E100).
pub(super) fn listed(state: &State, project: usize, requirement: &str) -> Vec<Value> {
    let own: Vec<(&Key, &Pair)> = state.facts.iter().filter(|(key, _)| key.0 == project).collect();
    let many = state.many[project];
    let counts = own.iter().map(|(_, pair)| pair.current_counts());
    let (least, most) = counts.fold((many, many), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let length = if least == most { number(least) } else { map([("min", number(least)), ("max", number(most))]) };
    let mut expect = vec![at(requirement, "/facts", "length", length)];
    if many > 0 {
        let of = plain("/subject", "equals", text("many"));
        expect.push(at(requirement, "/facts", "count", map([("of", of), ("is", number(many))])));
    }
    for ((_, subject, predicate), pair) in own {
        let names = [plain("/subject", "equals", literal(subject)), plain("/predicate", "equals", literal(predicate))];
        if pair.current_counts() == (1, 1) {
            let value = plain("/value", "one-of", Value::Array(pair.values().into()));
            let current = plain("/valid_to", "absent", text("or-null"));
            let all = names.into_iter().chain([value, current]);
            expect.push(at(requirement, "/facts", "some", Value::array(all)));
        } else if pair.current_counts() == (0, 0) {
            expect.push(at(requirement, "/facts", "none", Value::array(names)));
        }
    }
    expect
}

/// The number of facts of a project with ended ones, if it is certain.
pub(super) fn total(state: &State, project: usize) -> Option<usize> {
    let own = state.facts.iter().filter(|(key, _)| key.0 == project);
    own.map(|(_, pair)| pair.count()).try_fold(state.many[project], |sum, count| Some(sum + count?))
}

/// The histories of every pair.
pub(super) fn read_back(state: &State, offers: &dyn Offers) -> Vec<Move> {
    if !offers.may_have("fact-query") || !offers.has("L2") {
        return Vec::new();
    }
    let both = |(project, subject, predicate): &Key| {
        ["current", "history"].map(|kind| {
            Value::map([
                ("do", text(kind)),
                ("project", number(*project)),
                ("subject", text(subject)),
                ("predicate", text(predicate)),
                ("as", text("b")),
            ])
        })
    };
    state.facts.keys().flat_map(both).collect()
}
