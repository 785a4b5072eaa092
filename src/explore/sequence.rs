//! Sequences: how moves are generated, and the cases made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::choices::Seeded;
use super::section::{self, Shows};
use super::shrink;
use crate::fuzz::yaml;
use crate::plan::{self, Knowledge};
use crate::protocol::{Choices, Model, Move, Offers, Predicted};
use crate::source::Source;
use crate::suite::{Case, case_of, read_suite};
use crate::value::Value;

/// Fewest and most moves of a sequence, before everything is read back.
const FEWEST: usize = 3;
const MOST: usize = 26;

/// Draws without a possible move after which a sequence ends: a target that offers little has few.
const FAILURES: usize = 32;

/// Possible moves among which the one with the rarest transition is taken.
const CANDIDATES: usize = 3;

/// A sequence has a section once in so many times, and after it few moves besides those that read everything back.
const SECTIONS: usize = 5;
const AFTER_SECTION: usize = 3;

/// One sequence in so many also reads between its moves what it reads back at its end, after one move in so many: a server that
/// keeps an answer too long shows it only if the same was read before.
const READERS: usize = 3;
const BETWEEN_READS: usize = 3;

/// One sequence in so many has up to so many arguments left out or shortened, as shrinking does: what a shrunk sequence expects
/// is then exercised as much as the rest of the model.
const PLAINER: usize = 8;
const SIMPLIFICATIONS: usize = 4;

/// How often the case of a section repeats: what happens at the same time happens in another order each time.
const ROUNDS: usize = 24;

/// How often each transition was planned: what was planned rarely is preferred.
pub(super) type Planned = BTreeMap<&'static str, u64>;

/// Which part of a sequence is judged.
#[derive(Clone, Copy)]
pub(super) enum Shape<'a> {
    /// Every step.
    Whole,
    /// The last move, and of it what this requirement demands.
    Last(&'a str),
}

/// Name and description of a case.
pub(super) struct Title<'a> {
    /// Name of its suite, behind the slug.
    pub(super) suite: &'a str,
    /// Id of the case in it.
    pub(super) case: &'a str,
    /// One sentence.
    pub(super) about: &'a str,
    /// The transport.
    pub(super) transport: &'a str,
}

/// The moves of one sequence, the reading back included.
pub(super) fn generate(
    model: &dyn Model,
    offers: &dyn Offers,
    seed: u64,
    number: u64,
    planned: &mut Planned,
) -> Vec<Move> {
    let choices: &mut dyn Choices = &mut Seeded::new(seed, number);
    let count = FEWEST + choices.below(MOST - FEWEST);
    let steered = choices.one_in(2);
    let reads = choices.one_in(READERS);
    let section_at = choices.one_in(SECTIONS).then(|| choices.below(count));
    let mut end = count;
    let mut state = model.start();
    let mut moves = Vec::new();
    let mut failures = 0;
    while moves.len() < end && failures < FAILURES {
        if section_at.is_some_and(|at| at <= moves.len())
            && end == count
            && let Some(own) = state.propose_at_once(offers, choices)
            && let Some(transition) = section::advance(state.as_mut(), &own)
        {
            *planned.entry(transition).or_default() += 1;
            moves.push(section::of(own));
            end = end.min(moves.len() + AFTER_SECTION);
            continue;
        }
        let mut best: Option<(u64, Move, &'static str)> = None;
        for _ in 0..if steered { CANDIDATES } else { 1 } {
            let Some(step) = state.propose(offers, choices) else { continue };
            let Some(predicted) = state.duplicate().take(&step) else { continue };
            let times = planned.get(predicted.transition).copied().unwrap_or(0);
            if best.as_ref().is_none_or(|(least, ..)| times < *least) {
                best = Some((times, step, predicted.transition));
            }
        }
        let Some((_, step, transition)) = best else {
            failures += 1;
            continue;
        };
        state.take(&step);
        *planned.entry(transition).or_default() += 1;
        moves.push(step);
        if reads && choices.one_in(BETWEEN_READS) {
            let mut all = state.read_back(offers);
            if !all.is_empty() {
                let read = all.swap_remove(choices.below(all.len()));
                moves.extend(state.take(&read).is_some().then_some(read));
            }
        }
    }
    moves.extend(state.read_back(offers));
    if choices.one_in(PLAINER) {
        for _ in 0..=choices.below(SIMPLIFICATIONS) {
            let mut plainer = shrink::plainer(&moves);
            if !plainer.is_empty() {
                moves = plainer.swap_remove(choices.below(plainer.len()));
            }
        }
    }
    moves
}

/// What each move sends and what may be observed. Moves that mean nothing are `None`.
pub(super) fn predict(model: &dyn Model, moves: &[Move], shows: Shows<'_>) -> Vec<Option<Predicted>> {
    let mut state = model.start();
    let mut found = Vec::with_capacity(moves.len());
    for (index, step) in moves.iter().enumerate() {
        let Some(own) = section::moves(step) else {
            found.push(state.take(step));
            continue;
        };
        let predicted = section::predict(model, state.as_ref(), own, &moves[index + 1..], shows);
        let takes_all = predicted.is_some();
        found.push(predicted);
        if takes_all {
            // What comes after a section is a part of it.
            found.resize(moves.len(), None);
            break;
        }
    }
    found
}

/// The move that each step of a case belongs to.
pub(super) fn owners(predictions: &[Option<Predicted>]) -> Vec<usize> {
    let nested = |step: &Value| step.member("parallel").and_then(Value::as_array).map_or(0, <[_]>::len);
    let count = |found: &Predicted| found.steps.iter().map(|step| 1 + nested(step)).sum();
    let steps = predictions.iter().enumerate().filter_map(|(index, found)| Some((index, count(found.as_ref()?))));
    steps.flat_map(|(index, count)| std::iter::repeat_n(index, count)).collect()
}

/// Whether a move sends messages at the same time.
pub(super) fn is_at_once(found: &Predicted) -> bool {
    found.steps.iter().any(|step| step.member("parallel").is_some())
}

/// Whether moves have a section that is judged: what they show depends on what runs at the same time.
pub(super) fn has_section(predictions: &[Option<Predicted>]) -> bool {
    predictions.iter().flatten().any(is_at_once)
}

/// The file of a suite with one case, or `None` if a part to be judged has no expectation.
pub(super) fn text(
    knowledge: &Knowledge,
    predictions: &[Option<Predicted>],
    shape: Shape<'_>,
    title: &Title<'_>,
) -> Option<String> {
    Some(yaml::write(&Value::map([
        ("suite", Value::text(format!("{}/{}", knowledge.protocol.slug(), title.suite))),
        ("cases", Value::array([case(predictions, shape, title)?])),
    ])))
}

/// The case of [`text`] as a value.
pub(super) fn case(predictions: &[Option<Predicted>], shape: Shape<'_>, title: &Title<'_>) -> Option<Value> {
    let mut steps: Vec<Value> = predictions.iter().flatten().flat_map(|found| found.steps.iter().cloned()).collect();
    let repeats = matches!(shape, Shape::Last(_)) && has_section(predictions);
    if let Shape::Last(requirement) = shape {
        let last = if repeats { predictions.iter().flatten().next_back()? } else { predictions.last()?.as_ref()? };
        let first = steps.len() - last.steps.len();
        let judged = steps.iter().rposition(|step| demands(step, requirement)).filter(|judged| *judged >= first)?;
        steps.truncate(judged + 1);
        // The answers of a section are judged together.
        let section = steps.iter().position(|step| step.member("parallel").is_some()).unwrap_or(steps.len());
        for (index, step) in steps.iter_mut().take(section).enumerate() {
            *step = narrowed(step, (index == judged).then_some(requirement));
        }
    }
    let covers: BTreeSet<String> = steps.iter().flat_map(covered).collect();
    if covers.is_empty() {
        return None;
    }
    let needs: BTreeSet<&str> = predictions.iter().flatten().flat_map(|found| found.needs.iter().copied()).collect();
    let mut bindings: Vec<(String, Value)> = Vec::new();
    for (name, value) in predictions.iter().flatten().flat_map(|found| &found.bindings) {
        if !bindings.iter().any(|(known, _)| known == name) {
            bindings.push((name.clone(), value.clone()));
        }
    }
    let mut case = vec![
        ("case", Value::text(title.case)),
        ("about", Value::text(title.about)),
        ("covers", Value::array(covers.into_iter().map(Value::text))),
    ];
    if !needs.is_empty() {
        case.push(("needs", Value::array(needs.into_iter().map(Value::text))));
    }
    if steps.iter().any(|step| step.member("edit").is_some()) {
        // The model says that the target accepts what has no defect, and the sequence without its edits is another one.
        case.push(("counts-without-twin", Value::Bool(true)));
    }
    // What the model permits does not depend on what else the target does wrong.
    case.push(("counts-without-prerequisites", Value::Bool(true)));
    case.push(("runs-on", Value::array([Value::text(title.transport)])));
    if repeats {
        let rows = (1..=ROUNDS).map(|round| Value::map([("row", Value::text(format!("round-{round}")))]));
        case.push(("for-each", Value::array(rows)));
    }
    if !bindings.is_empty() {
        case.push(("let", Value::map(bindings)));
    }
    case.push(("steps", Value::Array(steps.into())));
    Some(Value::map(case))
}

/// The case of a value that is in no file: much faster than to write and to read a file.
///
/// # Errors
///
/// The mistakes in it.
pub(super) fn built(knowledge: &Knowledge, value: &Value) -> Result<Case, String> {
    let case = case_of(value, "explore.yaml").map_err(|problems| format!("{problems:?}"))?;
    let mistakes = plan::mistakes(knowledge, &case);
    if mistakes.is_empty() { Ok(case) } else { Err(format!("{mistakes:?}")) }
}

/// The single case of a file, or the mistakes in it: a case that is to be written must be valid in a suite.
pub(super) fn read(knowledge: &Knowledge, text: &str) -> Result<Case, String> {
    let source = Arc::new(Source { name: "explore.yaml".to_owned(), text: text.to_owned().into() });
    let suite = read_suite(&source).map_err(|problems| format!("{problems:?}"))?;
    let case = suite.cases.into_iter().next_back().ok_or("no case")?;
    let mistakes = plan::mistakes(knowledge, &case);
    if mistakes.is_empty() { Ok(case) } else { Err(format!("{mistakes:?}")) }
}

/// The requirements that the expectations of a step decide, and of the steps in it.
fn covered(step: &Value) -> Vec<String> {
    let list = |name: &str| step.member(name).and_then(Value::as_array).unwrap_or_default();
    let nested = list("parallel").iter().flat_map(covered);
    let ids = list("expect")
        .iter()
        .chain(list("expect-all"))
        .filter_map(|one| one.member("covers"))
        .filter_map(Value::as_array)
        .flatten();
    ids.filter_map(Value::as_text).map(str::to_owned).chain(nested).collect()
}

fn demands(step: &Value, requirement: &str) -> bool {
    covered(step).iter().any(|id| id == requirement)
}

/// A step of which only what `requirement` demands is judged, or nothing. Its status is a precondition.
fn narrowed(step: &Value, requirement: Option<&str>) -> Value {
    let Some(members) = step.as_map().filter(|_| step.member("pause").is_none()) else { return step.clone() };
    let expectations = step.member("expect").and_then(Value::as_array).unwrap_or_default();
    let is_judged = |one: &&Value| {
        let ids = one.member("covers").and_then(Value::as_array).unwrap_or_default();
        requirement.is_some_and(|requirement| ids.iter().any(|id| id.as_text() == Some(requirement)))
    };
    let judged: Vec<Value> = expectations.iter().filter(is_judged).map(without_covers).collect();
    // What was assumed stays assumed, and so does the outcome of a step that is not judged.
    let of_outcome = |one: &&Value| {
        let is_outcome = one.member("at").and_then(Value::as_text) == Some("/status")
            || ["accepted", "refused"].iter().any(|name| one.member(name).is_some());
        is_outcome && !is_judged(one)
    };
    let mut assumed = step.member("assume").and_then(Value::as_array).unwrap_or_default().to_vec();
    assumed.extend(expectations.iter().filter(of_outcome).map(without_covers));
    if judged.is_empty() && assumed.is_empty() {
        // Over a connection there is no status.
        let failed =
            Value::map([("at", Value::text("/status")), ("within", Value::map([("min", Value::Integer(500))]))]);
        assumed.push(Value::map([("not", failed)]));
    }
    // Without an expectation there is nothing to wait for.
    let left_out: &[&str] = if judged.is_empty() { &["expect", "until", "quiet"] } else { &["expect"] };
    let kept = members.iter().filter(|(key, _)| !key.as_text().is_some_and(|key| left_out.contains(&key))).cloned();
    let mut narrowed = Value::Map(kept.collect());
    if !assumed.is_empty() {
        narrowed.set_member("assume", Value::Array(assumed.into()));
    }
    if !judged.is_empty() {
        let id = requirement.map(Value::text).into_iter();
        let ids = Value::array(id);
        let judged = judged.into_iter().map(|mut one| {
            one.set_member("covers", ids.clone());
            one
        });
        narrowed.set_member("expect", Value::Array(judged.collect()));
    }
    narrowed
}

fn without_covers(expectation: &Value) -> Value {
    let members = expectation.as_map().unwrap_or_default();
    Value::Map(members.iter().filter(|(key, _)| key.as_text() != Some("covers")).cloned().collect())
}

/// A step on one line: the operation and its inputs.
pub(super) fn line(step: &Value) -> String {
    if let Some(own) = step.member("parallel").and_then(Value::as_array) {
        return format!("at once: {}", own.iter().map(line).collect::<Vec<_>>().join(" | "));
    }
    if let Some(pause) = step.member("pause").and_then(Value::as_text) {
        return format!("pause: {pause}");
    }
    let operation = step.member("send").and_then(Value::as_text).unwrap_or("request");
    let party = step.member("as").and_then(Value::as_text).map(|party| format!("{party}: ")).unwrap_or_default();
    let inputs = step.member("with").map(|with| format!(" {}", crate::wire::show(with))).unwrap_or_default();
    format!("{party}{operation}{inputs}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ModelState;

    struct Toy;

    /// Writes that say the same each time, and one read.
    struct Written;

    fn named(kind: &str) -> Move {
        Value::map([("do", Value::text(kind)), ("text", Value::text("abcd"))])
    }

    impl Model for Toy {
        fn transitions(&self) -> &'static [&'static str] {
            &["toy"]
        }

        fn start(&self) -> Box<dyn ModelState> {
            Box::new(Written)
        }
    }

    impl ModelState for Written {
        fn duplicate(&self) -> Box<dyn ModelState> {
            Box::new(Self)
        }

        fn propose(&self, _: &dyn Offers, _: &mut dyn Choices) -> Option<Move> {
            Some(named("write"))
        }

        fn read_back(&self, _: &dyn Offers) -> Vec<Move> {
            vec![named("read")]
        }

        fn take(&mut self, _: &Move) -> Option<Predicted> {
            Some(Predicted { transition: "toy", needs: Vec::new(), bindings: Vec::new(), steps: Vec::new() })
        }
    }

    struct Everything;

    impl Offers for Everything {
        fn has(&self, _: &str) -> bool {
            true
        }

        fn may_have(&self, _: &str) -> bool {
            true
        }
    }

    #[test]
    fn some_sequences_read_before_their_end_and_some_have_plainer_moves() {
        let all: Vec<Vec<Move>> =
            (0..100).map(|number| generate(&Toy, &Everything, 1, number, &mut Planned::new())).collect();
        let is = |kind: &'static str| move |step: &Move| step.member("do") == Some(&Value::text(kind));
        assert!(all.iter().all(|moves| moves.last().is_some_and(is("read"))));
        let reads_and_writes = |moves: &&Vec<Move>| {
            let first = moves.iter().position(is("read")).unwrap_or(moves.len());
            moves[first..].iter().any(is("write"))
        };
        let readers = all.iter().filter(reads_and_writes).count();
        assert!((10..60).contains(&readers), "{readers}");
        let plainer =
            all.iter().filter(|moves| moves.iter().any(|step| *step != named("write") && *step != named("read")));
        let plainer = plainer.count();
        assert!((3..30).contains(&plainer), "{plainer}");
    }

    #[test]
    fn a_step_covers_what_the_steps_in_it_expect() {
        let inner = r#"{"send":"submit","expect":[{"covers":["A-2"]}]}"#;
        let step = format!(r#"{{"parallel":[{inner}],"expect-all":[{{"covers":["A-1"]}}]}}"#);
        let step = crate::wire::json::parse(step.as_bytes()).unwrap();
        assert_eq!(covered(&step), ["A-1", "A-2"]);
    }
}
