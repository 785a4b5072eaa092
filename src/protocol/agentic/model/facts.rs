//! Facts and their timelines (sections 7, 8.6 and 8.7).
//!
//! A pair of subject and predicate has one or more possible timelines: several where a reading lets an assertion change
//! nothing (E41), refuse or reorder (E42), or where a source package is unknown.

use super::State;
use super::expect::{
    Alternative, any_of, at, integer, literal, map, number, of_project, party, plain, project, small, step, text, word,
};
use super::instant::{spelled, spelled_with_fraction};
use super::values::any_text;
use crate::protocol::{Choices, Move, Predicted};
use crate::value::Value;

/// Subjects that differ little.
const SUBJECTS: &[&str] =
    &["disk", "disk", "Disk", "disk ", "disk-a", "d%", "gr\u{f6}\u{df}e", "gro\u{308}\u{df}e", "a:b"];

/// Predicates that differ little; with some subjects they give equal texts when joined.
const PREDICATES: &[&str] = &["status", "status", "Status", "owner", "b:status", "_tatus"];

/// Values, few, so that they repeat.
const VALUES: &[&str] = &["1", "2", "3", "97.0", "97", "1e3", "true", "null"];

/// The starts that assertions give, in minutes before the run.
const STARTS: &[i128] = &[9000, 7200, 6000, 4800, 4799, 3600, 2400, 1200, 600];

/// Most possible timelines of a pair that are followed.
const MOST: usize = 6;

/// When something began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So many minutes before the run.
    Given(i128),
    /// When the step with this number was sent.
    Now(usize),
}

impl Moment {
    /// The matcher for a time that has to be this one.
    fn matcher(self, place: &str) -> Value {
        let (from, to) = match self {
            Self::Given(minutes) => (spelled(minutes), spelled(minutes)),
            Self::Now(number) => (text(format!("${{from{number}}}")), text(format!("${{to{number}}}"))),
        };
        plain(place, "time", map([("form", text("rfc3339-utc")), ("from", from), ("to", to)]))
    }
}

/// One fact of a pair.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    value: Value,
    from: Moment,
    to: Option<(Moment, Ending)>,
    /// Members that the assertion gave, by their places.
    extras: Vec<(&'static str, Value)>,
}

/// How a fact ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Superseded,
    Invalidated,
}

impl Row {
    fn start(&self) -> Vec<Value> {
        vec![plain("/value", "equals", self.value.clone()), self.from.matcher("/valid_from")]
    }

    fn whole(&self) -> Vec<Value> {
        let end = match self.to {
            None => plain("/valid_to", "absent", text("or-null")),
            Some((moment, _)) => moment.matcher("/valid_to"),
        };
        self.start().into_iter().chain([end]).collect()
    }

    /// Whether it holds at an instant, so many minutes before the run.
    fn holds_at(&self, minutes: i128) -> bool {
        let began = matches!(self.from, Moment::Given(from) if from >= minutes);
        let ended = matches!(self.to, Some((Moment::Given(to), _)) if to >= minutes);
        began && !ended
    }
}

/// One possible timeline.
#[derive(Clone, Debug, Default, PartialEq)]
struct Timeline {
    rows: Vec<Row>,
    /// Whether only the current fact is known: an assertion came before its start (E42).
    is_vague: bool,
}

impl Timeline {
    fn current(&self) -> Option<&Row> {
        self.rows.last().filter(|row| row.to.is_none())
    }

    fn with(&self, row: Row) -> Self {
        let mut next = self.clone();
        if let Some(last) = next.rows.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some((row.from, Ending::Superseded));
        }
        next.rows.push(row);
        next
    }

    /// Only the current fact is known.
    fn vague(row: Row) -> Self {
        Self { rows: vec![row], is_vague: true }
    }
}

/// The possible timelines of a pair.
#[derive(Clone, Debug)]
pub(super) struct Pair(Vec<Timeline>);

impl Default for Pair {
    fn default() -> Self {
        Self(vec![Timeline::default()])
    }
}

impl Pair {
    /// The possible numbers of current facts.
    fn current_counts(&self) -> (usize, usize) {
        let counts = || self.0.iter().map(|line| usize::from(line.current().is_some()));
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    }

    /// The possible current values.
    fn values(&self) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        for value in self.0.iter().filter_map(Timeline::current).map(|row| &row.value) {
            if !found.contains(value) {
                found.push(value.clone());
            }
        }
        found
    }

    /// The number of its facts, if it is certain.
    fn count(&self) -> Option<usize> {
        let first = self.0.first()?;
        self.0.iter().all(|line| !line.is_vague && line.rows.len() == first.rows.len()).then_some(first.rows.len())
    }

    fn replace(&mut self, lines: Vec<Timeline>) {
        self.0.clear();
        for line in lines {
            if !self.0.contains(&line) {
                self.0.push(line);
            }
        }
    }
}

/// The names of a pair: its project, subject and predicate.
pub(super) type Key = (usize, String, String);

fn key(given: &Move) -> Key {
    let name =
        |argument: &str, plain: &str| word(given, argument).filter(|text| !text.is_empty()).unwrap_or(plain).to_owned();
    (of_project(given), name("subject", "disk"), name("predicate", "status"))
}

fn add_pair(state: &State, choices: &mut dyn Choices, step: &mut Vec<(&'static str, Value)>) {
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

pub(super) fn propose_assert(state: &State, offers: &dyn Fn(&str) -> bool, choices: &mut dyn Choices) -> Option<Move> {
    if !offers("L2") {
        return None;
    }
    let mut step = vec![("do", text("assert"))];
    add_pair(state, choices, &mut step);
    let value = if choices.one_in(5) { any_text(choices) } else { text(*choices.pick(VALUES)?) };
    step.push(("value", value));
    if choices.one_in(2) {
        // Mostly a start that no earlier one forbids.
        let given = Value::map(step.clone());
        let latest = state.facts.get(&key(&given)).and_then(latest_start);
        let later: Vec<i128> =
            STARTS.iter().copied().filter(|start| latest.is_none_or(|latest| *start < latest)).collect();
        let start = if choices.one_in(8) { choices.pick(STARTS) } else { choices.pick(&later) };
        step.extend(start.map(|start| ("age", number(*start))));
    }
    if choices.one_in(4) {
        step.push(("confidence", Value::Decimal((*choices.pick(&["0.5", "0.75", "0.9"])?).into())));
    }
    if choices.one_in(4) {
        step.push(("tags", Value::array([text("b"), text("a"), text("b")])));
    }
    if choices.one_in(4) {
        let actors = ["human", "agent", "script"];
        step.push(("by", map([("id", text("kim")), ("type", text(*choices.pick(&actors)?))])));
    }
    if choices.one_in(4) {
        // The number of a package, or of none.
        step.push(("source", number(choices.below(state.next + 1))));
    }
    if choices.one_in(3) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// The latest start of the current fact, in minutes before the run; `None` if any start is after it.
fn latest_start(pair: &Pair) -> Option<i128> {
    let starts = pair.0.iter().map(|line| match line.rows.last() {
        None => i128::MAX,
        Some(Row { from: Moment::Given(minutes), to: None, .. }) => *minutes,
        // Whatever ended now forbids an earlier start (E83).
        Some(_) => 0,
    });
    starts.min()
}

/// The current fact is superseded, or the first one is stored (sections 7.3 and 8.6).
pub(super) fn assert(state: &mut State, given: &Move) -> Option<Predicted> {
    let key = key(given);
    let pair = state.facts.get(&key).cloned().unwrap_or_default();
    let number_of_step = state.moments;
    let value = literal_or(given, "value", "1");
    let start = integer(given, "age").filter(|age| (30..20_000).contains(age));
    let from = start.map_or(Moment::Now(number_of_step), Moment::Given);
    let mut extras: Vec<(&'static str, Value)> = Vec::new();
    let mut fact = vec![("subject", literal(&key.1)), ("predicate", literal(&key.2)), ("value", value.clone())];
    fact.extend(start.map(|minutes| ("valid_from", spelled(minutes))));
    for (argument, name, place) in
        [("confidence", "confidence", "/confidence"), ("tags", "tags", "/tags"), ("by", "asserted_by", "/asserted_by")]
    {
        if let Some(given) = given.member(argument).filter(|given| !is_empty(given)) {
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
        let id = if is_known { super::packages::id(source) } else { text(format!("${{u{source}}}")) };
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
    state.moments += 1;
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

fn is_empty(value: &Value) -> bool {
    value.as_map().is_some_and(<[_]>::is_empty) || value.as_array().is_some_and(<[_]>::is_empty)
}

/// An argument that is sent as it is; it may already be escaped.
fn literal_or(given: &Move, name: &str, plain: &str) -> Value {
    text(word(given, name).filter(|text| !text.is_empty() && !text.ends_with('$')).unwrap_or(plain))
}

/// The possible timelines after an assertion, and whether it is certainly accepted. `None` if the specification forbids to
/// rely on anything (E83).
fn after_assert(pair: &Pair, row: &Row, may_be_refused: bool) -> Option<(Vec<Timeline>, &'static str, bool)> {
    let mut lines = Vec::new();
    let mut is_certain = !may_be_refused;
    let mut transition = "assert: the first value";
    for line in &pair.0 {
        let Some(last) = line.rows.last() else {
            lines.push(line.with(row.clone()));
            continue;
        };
        if last.to.is_some() {
            if matches!(row.from, Moment::Given(_)) {
                return None;
            }
            transition =
                if line.rows.iter().filter(|row| row.to.is_some_and(|(_, how)| how == Ending::Invalidated)).count() > 1
                {
                    "assert: after a second invalidation"
                } else {
                    "assert: after an invalidation"
                };
            lines.push(line.with(row.clone()));
            continue;
        }
        let is_later = match (last.from, row.from) {
            (Moment::Given(before), Moment::Given(after)) => after < before,
            (_, Moment::Now(_)) => true,
            (Moment::Now(_), Moment::Given(_)) => false,
        };
        if !is_later {
            // Refused, stored as history, or accepted literally (E42).
            transition = "assert: not after the start of the current fact";
            is_certain = false;
            lines.push(Timeline { is_vague: true, ..line.clone() });
            lines.push(Timeline::vague(row.clone()));
        } else if last.value == row.value {
            // A new fact, or nothing (E41).
            transition = "assert: the current value again";
            lines.push(line.clone());
            lines.push(line.with(row.clone()));
        } else {
            let is_repeated = line.rows.iter().any(|earlier| earlier.value == row.value);
            transition = if is_repeated { "assert: an earlier value again" } else { "assert: another value" };
            lines.push(line.with(row.clone()));
        }
    }
    if may_be_refused {
        transition = "assert: with an unknown source package";
        lines.extend(pair.0.iter().cloned());
    }
    Some((lines, transition, is_certain))
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

pub(super) fn propose_invalid(state: &State, offers: &dyn Fn(&str) -> bool, choices: &mut dyn Choices) -> Option<Move> {
    if !offers("L2") {
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

pub(super) fn propose_invalidate(
    state: &State,
    offers: &dyn Fn(&str) -> bool,
    choices: &mut dyn Choices,
) -> Option<Move> {
    if !offers("L2") || state.facts.is_empty() {
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
    let now = state.moments;
    state.moments += 1;
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

pub(super) fn propose_query(state: &State, offers: &dyn Fn(&str) -> bool, choices: &mut dyn Choices) -> Option<Move> {
    if !offers("fact-query") || !offers("L2") {
        return None;
    }
    let mut step = vec![("do", text(*choices.pick(&["current", "history", "as of", "as of"])?))];
    add_pair(state, choices, &mut step);
    // At a start, an end, or between.
    let start = *choices.pick(STARTS)?;
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
                    expect.push(at(of_extra(place), &format!("/facts/0{place}"), comparison(place), value));
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

/// How a member that an assertion gives is compared: an actor may be shown with null members (E48).
fn comparison(place: &str) -> &'static str {
    if place == "/asserted_by" { "includes" } else { "equals" }
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
                let cover = |requirement: &str, all: Vec<Value>| super::expect::covering(requirement, some(all));
                expect.push(cover("AGENTIC-5.1-02", row.start()));
                let ended = match row.to {
                    None => "AGENTIC-7.3-04",
                    Some((_, Ending::Superseded)) => "AGENTIC-7.3-06",
                    Some((_, Ending::Invalidated)) => "AGENTIC-7.4-01",
                };
                expect.push(cover(ended, row.whole()));
                for (place, value) in &row.extras {
                    let all = row.start().into_iter().chain([plain(place, comparison(place), value.clone())]).collect();
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

pub(super) fn propose_many(state: &State, offers: &dyn Fn(&str) -> bool, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    let possible = offers("L2") && state.many == [0, 0] && choices.one_in(6);
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

/// The histories of every pair.
pub(super) fn read_back(state: &State, offers: &dyn Fn(&str) -> bool) -> Vec<Move> {
    if !offers("fact-query") || !offers("L2") {
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
