//! Timelines of a pair of subject and predicate: its facts in the order of their starts (sections 7.3 and 7.4).

use super::expect::{map, plain, text};
use super::instant::spelled;
use crate::value::Value;

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
    pub(super) fn matcher(self, place: &str) -> Value {
        let (from, to) = match self {
            Self::Given(minutes) => (spelled(minutes), spelled(minutes)),
            Self::Now(number) => (text(format!("${{from{number}}}")), text(format!("${{to{number}}}"))),
        };
        plain(place, "time", map([("form", text("rfc3339-utc")), ("from", from), ("to", to)]))
    }
}

/// One fact of a pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) value: Value,
    pub(super) from: Moment,
    pub(super) to: Option<(Moment, Ending)>,
    /// Members that the assertion gave, by their places.
    pub(super) extras: Vec<(&'static str, Value)>,
}

/// How a fact ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Superseded,
    Invalidated,
}

impl Row {
    pub(super) fn start(&self) -> Vec<Value> {
        vec![plain("/value", "equals", self.value.clone()), self.from.matcher("/valid_from")]
    }

    pub(super) fn whole(&self) -> Vec<Value> {
        let end = match self.to {
            None => plain("/valid_to", "absent", text("or-null")),
            Some((moment, _)) => moment.matcher("/valid_to"),
        };
        self.start().into_iter().chain([end]).collect()
    }

    /// Whether it holds at an instant, so many minutes before the run.
    pub(super) fn holds_at(&self, minutes: i128) -> bool {
        let began = matches!(self.from, Moment::Given(from) if from >= minutes);
        let ended = matches!(self.to, Some((Moment::Given(to), _)) if to >= minutes);
        began && !ended
    }
}

/// One possible timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Timeline {
    pub(super) rows: Vec<Row>,
    /// Whether only the current fact is known: an assertion came before its start (E42).
    pub(super) is_vague: bool,
}

impl Timeline {
    pub(super) fn current(&self) -> Option<&Row> {
        self.rows.last().filter(|row| row.to.is_none())
    }

    pub(super) fn with(&self, row: Row) -> Self {
        let mut next = self.clone();
        if let Some(last) = next.rows.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some((row.from, Ending::Superseded));
        }
        next.rows.push(row);
        next
    }

    /// Only the current fact is known.
    pub(super) fn vague(row: Row) -> Self {
        Self { rows: vec![row], is_vague: true }
    }
}

/// The possible timelines of a pair.
#[derive(Clone, Debug)]
pub(super) struct Pair(pub(super) Vec<Timeline>);

impl Default for Pair {
    fn default() -> Self {
        Self(vec![Timeline::default()])
    }
}

impl Pair {
    /// The possible numbers of current facts.
    pub(super) fn current_counts(&self) -> (usize, usize) {
        let counts = || self.0.iter().map(|line| usize::from(line.current().is_some()));
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    }

    /// The possible current values.
    pub(super) fn values(&self) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        for value in self.0.iter().filter_map(Timeline::current).map(|row| &row.value) {
            if !found.contains(value) {
                found.push(value.clone());
            }
        }
        found
    }

    /// The number of its facts, if it is certain.
    pub(super) fn count(&self) -> Option<usize> {
        let first = self.0.first()?;
        self.0.iter().all(|line| !line.is_vague && line.rows.len() == first.rows.len()).then_some(first.rows.len())
    }

    pub(super) fn replace(&mut self, lines: Vec<Timeline>) {
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

/// The latest start of the current fact, in minutes before the run; `None` if any start is after it.
pub(super) fn latest_start(pair: &Pair) -> Option<i128> {
    let starts = pair.0.iter().map(|line| match line.rows.last() {
        None => i128::MAX,
        Some(Row { from: Moment::Given(minutes), to: None, .. }) => *minutes,
        // Whatever ended now forbids an earlier start (E83).
        Some(_) => 0,
    });
    starts.min()
}

/// The starts that were given, in minutes before the run.
pub(super) fn given_starts(pair: &Pair) -> Vec<i128> {
    let rows = pair.0.iter().flat_map(|line| &line.rows);
    rows.filter_map(|row| if let Moment::Given(minutes) = row.from { Some(minutes) } else { None }).collect()
}

/// The possible timelines after an assertion, and whether it is certainly accepted. `None` if the specification forbids to
/// rely on anything (E83).
pub(super) fn after_assert(
    pair: &Pair,
    row: &Row,
    may_be_refused: bool,
) -> Option<(Vec<Timeline>, &'static str, bool)> {
    if let Moment::Given(start) = row.from {
        // Inside a fact that has ended, no start is given (E83): it is after every start and end, or there is one fact.
        let is_after = |time: Moment| matches!(time, Moment::Given(minutes) if start < minutes);
        let rows = || pair.0.iter().flat_map(|line| &line.rows);
        let is_last = rows().all(|row| is_after(row.from) && row.to.is_none_or(|(to, _)| is_after(to)));
        let is_second =
            pair.0.iter().all(|line| line.rows.len() < 2 && !line.is_vague) && rows().all(|row| row.to.is_none());
        if !is_last && !is_second {
            return None;
        }
    }
    let mut lines = Vec::new();
    let mut is_certain = !may_be_refused;
    let mut transition = "assert: the first value";
    for line in &pair.0 {
        let Some(last) = line.rows.last() else {
            lines.push(line.with(row.clone()));
            continue;
        };
        if last.to.is_some() {
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
