//! Facts and their timelines (sections 7, 8.6 and 8.7).
//!
//! A pair of subject and predicate has one or more possible timelines: several where a reading lets an assertion change
//! nothing (E41), refuse or reorder (E42), or where a source package is unknown.

use super::expect::{
    Alternative, any_of, at, integer, literal, map, number, of_project, party, plain, project, small, step, text, word,
};
use super::instant::spelled;
use super::state::State;
use super::timeline::{Ending, Key, Moment, Row, Timeline, after_assert, latest_start};
use super::values::any_text;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// Subjects that differ little.
const SUBJECTS: &[&str] =
    &["disk", "disk", "Disk", "disk ", "disk-a", "d%", "gr\u{f6}\u{df}e", "gro\u{308}\u{df}e", "a:b"];

/// Predicates that differ little; with some subjects they give equal texts when joined.
const PREDICATES: &[&str] = &["status", "status", "Status", "owner", "b:status", "_tatus"];

/// Values, few, so that they repeat.
pub(super) const VALUES: &[&str] = &["1", "2", "3", "97.0", "97", "1e3", "true", "null"];

/// The starts that assertions give, in minutes before the run.
pub(super) const STARTS: &[i128] = &[9000, 7200, 6000, 4800, 4799, 3600, 2400, 1200, 600];

/// Most possible timelines of a pair that are followed.
const MOST: usize = 6;

/// The pair of a move [default: one plain pair].
pub(super) fn key(given: &Move) -> Key {
    let name =
        |argument: &str, plain: &str| word(given, argument).filter(|text| !text.is_empty()).unwrap_or(plain).to_owned();
    (of_project(given), name("subject", "disk"), name("predicate", "status"))
}

/// A pair that is known, or a new one.
pub(super) fn add_pair(state: &State, choices: &mut dyn Choices, step: &mut Vec<(&'static str, Value)>) {
    let known: Vec<&Key> = state.facts.keys().collect();
    if !choices.one_in(3)
        && let Some((project, subject, predicate)) = choices.pick(&known)
    {
        step.extend([("project", number(*project)), ("subject", text(subject)), ("predicate", text(predicate))]);
        return;
    }
    if choices.one_in(4) {
        step.push(("project", number(1)));
    }
    step.push(("subject", text(*choices.pick(SUBJECTS).unwrap_or(&"disk"))));
    step.push(("predicate", text(*choices.pick(PREDICATES).unwrap_or(&"status"))));
}

pub(super) fn propose_assert(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.has("L2") {
        return None;
    }
    let mut step = vec![("do", text("assert"))];
    add_pair(state, choices, &mut step);
    let value = if choices.one_in(5) { any_text(choices) } else { text(*choices.pick(VALUES)?) };
    step.push(("value", value));
    if !choices.one_in(3) {
        // Mostly a start that no earlier one forbids.
        let given = Value::map(step.clone());
        let latest = state.facts.get(&key(&given)).and_then(latest_start);
        let later: Vec<i128> =
            STARTS.iter().copied().filter(|start| latest.is_none_or(|latest| *start < latest)).collect();
        let start = if choices.one_in(8) { choices.pick(STARTS) } else { choices.pick(&later) };
        step.extend(start.map(|start| ("age", number(*start))));
    }
    if choices.one_in(4) {
        // Facts of less confidence may be left out of lists and bundles.
        step.push(("confidence", Value::Decimal((*choices.pick(&["0.5", "0.75", "0.9", "1.0"])?).into())));
    }
    if choices.one_in(4) {
        const TAGS: &[&[&str]] = &[&["b", "a", "b"], &["c"], &[]];
        let tags = choices.pick(TAGS)?;
        step.push(("tags", Value::array(tags.iter().map(|tag| text(*tag)))));
    }
    if choices.one_in(4) {
        let actors = ["human", "agent", "script"];
        step.push(("by", map([("id", text("kim")), ("type", text(*choices.pick(&actors)?))])));
    }
    if choices.one_in(4) {
        // The number of a package, or of none; often the same one.
        let known = state.packages.iter().find(|(_, package)| package.is_complete()).map(|(n, _)| *n);
        let any = choices.below(state.next + 1);
        step.push(("source", number(known.filter(|_| !choices.one_in(3)).unwrap_or(any))));
    }
    if choices.one_in(3) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// The current fact is superseded, or the first one is stored (sections 7.3 and 8.6).
pub(super) fn assert(state: &mut State, given: &Move) -> Option<Predicted> {
    let key = key(given);
    let pair = state.facts.get(&key).cloned().unwrap_or_default();
    let value = literal_or(given, "value", "1");
    let start = integer(given, "age").filter(|age| (30..20_000).contains(age));
    let number_of_step = state.moment();
    let from = start.map_or(Moment::Now(number_of_step), Moment::Given);
    // An actor has both members (section 6.2).
    if given.member("by").is_some_and(|by| ["id", "type"].iter().any(|name| by.member(name).is_none())) {
        return None;
    }
    let mut extras: Vec<(&'static str, Value)> = Vec::new();
    let mut fact = vec![("subject", literal(&key.1)), ("predicate", literal(&key.2)), ("value", value.clone())];
    fact.extend(start.map(|minutes| ("valid_from", spelled(minutes))));
    for (argument, name, place) in
        [("confidence", "confidence", "/confidence"), ("tags", "tags", "/tags"), ("by", "asserted_by", "/asserted_by")]
    {
        if let Some(given) = given.member(argument) {
            fact.push((name, given.clone()));
            extras.push((place, given.clone()));
        }
    }
    let mut bindings = Vec::new();
    let mut unknown_source = false;
    if given.member("source").is_some() {
        let source = small(given, "source");
        let is_known =
            state.packages.get(&source).is_some_and(|package| package.project == key.0 && package.is_complete());
        let id = if is_known { super::package::id(source) } else { text(format!("${{u{source}}}")) };
        if is_known {
            extras.push(("/source_package_id", id.clone()));
            if given.member("by").is_none() {
                extras.push(("/asserted_by", text(format!("${{p{source}/created_by}}"))));
            }
        } else {
            bindings.push((format!("u{source}"), text("pkg_${hex 32}")));
            unknown_source = true;
        }
        fact.push(("source_package_id", id));
    }
    let row = Row { value: value.clone(), from, to: None, extras };
    let (lines, transition, is_certain) = after_assert(&pair, &row, unknown_source)?;
    if lines.len() > MOST {
        return None;
    }
    let accepted = [number(200), number(201)];
    let mut expect = if is_certain {
        vec![at("AGENTIC-8.6-01", "/status", "one-of", Value::array(accepted))]
    } else {
        let refused = [400, 404, 409, 422].map(number);
        vec![at("AGENTIC-8.6-13", "/status", "one-of", Value::array(accepted.into_iter().chain(refused)))]
    };
    if is_certain && pair.values() != [value.clone()] {
        // The answer may be empty (E40).
        expect.extend(any_of(
            "AGENTIC-8.6-01",
            vec![
                Alternative::new("no fact in the answer", vec![plain("/fact", "exists", Value::Bool(false))]),
                Alternative::new("the stored fact", vec![plain("/fact/value", "equals", value)]),
            ],
        ));
    }
    state.facts.entry(key.clone()).or_default().replace(lines);
    state.exists[key.0] |= is_certain;
    let with = vec![("project", project(key.0)), ("fact", Value::map(fact))];
    let mut sent = step(party(given), "assert-fact", with, expect);
    timed(&mut sent, number_of_step);
    Some(Predicted { transition, needs: Vec::new(), bindings, steps: vec![sent] })
}

/// Keeps the time of the request for later steps.
fn timed(sent: &mut Value, number: usize) {
    let names = [(format!("from{number}"), text("/span/from")), (format!("to{number}"), text("/span/to"))];
    sent.set_member("capture", Value::map(names));
}

/// An argument that is sent as it is; it may already be escaped.
fn literal_or(given: &Move, name: &str, plain: &str) -> Value {
    text(word(given, name).filter(|text| !text.is_empty() && !text.ends_with('$')).unwrap_or(plain))
}

/// Flaws of assertions: the place, the value there (`None`: the member is missing), and the requirement.
type Flaw = (&'static str, &'static str, fn() -> Option<Value>, &'static str);

const FLAWS: &[Flaw] = &[
    ("no subject", "subject", || None, "AGENTIC-8.6-02"),
    ("no predicate", "predicate", || None, "AGENTIC-8.6-03"),
    ("no value", "value", || None, "AGENTIC-8.6-04"),
    ("subject as number", "subject", || Some(number(7)), "AGENTIC-8.6-05"),
    ("predicate as list", "predicate", || Some(Value::array([text("status")])), "AGENTIC-8.6-06"),
    ("prose as valid_from", "valid_from", || Some(text("yesterday")), "AGENTIC-7.1-16"),
    ("month 13 as valid_from", "valid_from", || Some(text("2025-13-01T00:00:00Z")), "AGENTIC-7.1-16"),
    ("confidence above 1", "confidence", || Some(Value::Decimal("1.5".into())), "AGENTIC-7.2-08"),
    ("confidence below 0", "confidence", || Some(Value::Decimal("-0.5".into())), "AGENTIC-7.2-07"),
    ("confidence as text", "confidence", || Some(text("0.9")), "AGENTIC-7.2-09"),
];

pub(super) fn propose_invalid(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.has("L2") {
        return None;
    }
    let (flaw, ..) = choices.pick(FLAWS)?;
    let mut step = vec![("do", text("bad fact")), ("flaw", text(*flaw))];
    add_pair(state, choices, &mut step);
    Some(Value::map(step))
}

/// An invalid assertion is refused, and changes nothing (E40).
pub(super) fn invalid(state: &mut State, given: &Move) -> Option<Predicted> {
    let key = key(given);
    // A refused first write need not make a project.
    if !state.exists[key.0] {
        return None;
    }
    let (_, member, value, requirement) = FLAWS.iter().find(|(name, ..)| Some(*name) == word(given, "flaw"))?;
    let mut fact = vec![("subject", literal(&key.1)), ("predicate", literal(&key.2)), ("value", text("refused"))];
    fact.retain(|(name, _)| name != member);
    fact.extend(value().map(|value| (*member, value)));
    let with = vec![("project", project(key.0)), ("fact", Value::map(fact))];
    let expect = vec![at(requirement, "/status", "one-of", Value::array([number(400), number(422)]))];
    let transition = if state.facts.contains_key(&key) {
        "assert: an invalid value of a known pair"
    } else {
        "assert: an invalid value of an unknown pair"
    };
    let steps = vec![step(party(given), "assert-fact", with, expect)];
    Some(Predicted { transition, needs: Vec::new(), bindings: Vec::new(), steps })
}

pub(super) fn propose_invalidate(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.has("L2") || state.facts.is_empty() {
        return None;
    }
    let mut step = vec![("do", text("invalidate"))];
    add_pair(state, choices, &mut step);
    if choices.one_in(4) {
        step.push(("object", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// The current fact ends now, without a successor (sections 7.4 and 8.7).
pub(super) fn invalidate(state: &mut State, given: &Move) -> Option<Predicted> {
    let key = key(given);
    if !state.exists[key.0] {
        return None;
    }
    let pair = state.facts.get(&key).cloned().unwrap_or_default();
    let values = pair.values();
    let mut with = vec![("project", project(key.0)), ("subject", literal(&key.1)), ("predicate", literal(&key.2))];
    if let ([only], Some(_)) = (values.as_slice(), given.member("object")) {
        // Only a value that matches is sent: whether another one ends nothing is open (E49).
        with.push(("object", only.clone()));
    }
    let (least, most) = pair.current_counts();
    let was_invalidated = pair.0.iter().any(|line| line.rows.last().is_some_and(|row| row.to.is_some()));
    let (transition, expect) = match (least, most) {
        (1, 1) => (
            if pair.0.iter().any(|line| line.rows.len() > 1) {
                "invalidate: a fact with a history"
            } else {
                "invalidate: a lone fact"
            },
            vec![
                at("AGENTIC-8.7-01", "/status", "equals", number(200)),
                at("AGENTIC-8.7-08", "/count", "equals", number(1)),
            ],
        ),
        (0, 0) => (
            if was_invalidated { "invalidate: a second time" } else { "invalidate: nothing" },
            any_of(
                if was_invalidated { "AGENTIC-8.7-10" } else { "AGENTIC-8.7-09" },
                vec![
                    Alternative::new(
                        "nothing ended",
                        vec![plain("/status", "equals", number(200)), plain("/count", "equals", number(0))],
                    ),
                    // E92
                    Alternative {
                        reading: "not found".to_owned(),
                        tolerated: true,
                        all: vec![plain("/status", "equals", number(404))],
                    },
                ],
            ),
        ),
        _ => (
            "invalidate: what may be current",
            vec![at("AGENTIC-8.7-01", "/status", "one-of", Value::array([number(200), number(404)]))],
        ),
    };
    let now = state.moment();
    let ended = pair.0.into_iter().map(|mut line| {
        if let Some(last) = line.rows.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some((Moment::Now(now), Ending::Invalidated));
        }
        line
    });
    let ended: Vec<Timeline> = ended.collect();
    if most > 0 {
        state.facts.entry(key).or_default().replace(ended);
    }
    let mut sent = step(party(given), "invalidate-fact", with, expect);
    timed(&mut sent, now);
    Some(Predicted { transition, needs: Vec::new(), bindings: Vec::new(), steps: vec![sent] })
}

pub(super) fn propose_many(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    let possible = offers.has("L2") && state.many == [0, 0] && choices.one_in(6);
    possible.then(|| Value::map([("do", text("many")), ("project", number(of)), ("count", number(110))]))
}

/// Many facts of one subject.
pub(super) fn many(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    let count = small(given, "count").clamp(1, 150);
    if state.many[of] > 0 {
        return None;
    }
    state.many[of] = count;
    state.exists[of] = true;
    let fact = map([("subject", text("many")), ("predicate", text("p${item}")), ("value", text("v${item}"))]);
    let accepted = Value::array([number(200), number(201)]);
    let expect = vec![at("AGENTIC-8.6-01", "/status", "one-of", accepted)];
    let mut sent = step(party(given), "assert-fact", vec![("project", project(of)), ("fact", fact)], expect);
    sent.set_member("for", Value::array((0..count).map(number)));
    Some(Predicted { transition: "assert: many facts", needs: Vec::new(), bindings: Vec::new(), steps: vec![sent] })
}
