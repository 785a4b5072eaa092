//! Sequences with what the specification and the errata say of their last answers.

use super::expect::{map, number, text, word};
use super::state::State;
use super::{PROPOSALS, TRANSITIONS, values};
use crate::protocol::model_testing::Counting;
use crate::protocol::{Choices, Model, ModelState, Move, Offers, Predicted};
use crate::value::Value;
use crate::wire::json;

/// Moves as JSON, `;` between them.
fn moves(text: &str) -> Vec<Move> {
    text.split(';').map(|one| json::parse(one.trim().as_bytes()).unwrap_or_else(|_| panic!("{one}"))).collect()
}

fn after(text: &str) -> Option<Predicted> {
    let mut state = State::default();
    let mut last = None;
    for step in moves(text) {
        last = state.take(&step);
    }
    last
}

fn expectations(predicted: &Predicted) -> String {
    let steps = predicted.steps.iter().filter_map(|step| step.member("expect"));
    steps.map(json::compact).collect::<Vec<_>>().join("\n")
}

const ASSERT_1: &str = r#"{"do":"assert","value":"1","age":600}"#;
const ASSERT_2: &str = r#"{"do":"assert","value":"2","age":300}"#;

#[test]
fn a_pair_is_queried_as_the_specification_has_it() {
    let table: &[(&[&str], &str, &str, &[&str])] = &[
        // Section 7.3: the successor ends the fact before it at its own start.
        (
            &[ASSERT_1, ASSERT_2],
            r#"{"do":"current"}"#,
            "query: the current fact",
            &[r#""length":1"#, r#""one-of":["2"]"#],
        ),
        (
            &[ASSERT_1, ASSERT_2],
            r#"{"do":"history"}"#,
            "query: a history of two to four facts",
            &[
                r#""length":2"#,
                r#"{"at":"/valid_to","time":{"form":"rfc3339-utc","from":"${time -300m}","to":"${time -300m}"}}"#,
            ],
        ),
        // Half-open intervals: the start belongs to a fact, the end does not.
        (
            &[ASSERT_1, ASSERT_2],
            r#"{"do":"as of","age":601}"#,
            "query: an instant before the first fact",
            &[r#""length":0"#],
        ),
        (
            &[ASSERT_1, ASSERT_2],
            r#"{"do":"as of","age":600}"#,
            "query: the instant of the first start",
            &[r#""equals":"1""#],
        ),
        (
            &[ASSERT_1, ASSERT_2],
            r#"{"do":"as of","age":301}"#,
            "query: an instant of an ended fact",
            &[r#""equals":"1""#],
        ),
        (&[ASSERT_1, ASSERT_2], r#"{"do":"as of","age":300}"#, "query: the instant of a change", &[r#""equals":"2""#]),
        (
            &[ASSERT_1, ASSERT_2],
            r#"{"do":"as of","age":60}"#,
            "query: an instant of the current fact",
            &[r#""equals":"2""#],
        ),
        // Section 7.4: no row is current after an invalidation, and the past stays.
        (
            &[ASSERT_1, r#"{"do":"invalidate"}"#],
            r#"{"do":"current"}"#,
            "query: the current fact after an invalidation",
            &[r#""length":0"#],
        ),
        (
            &[ASSERT_1, r#"{"do":"invalidate"}"#],
            r#"{"do":"as of","age":60}"#,
            "query: an instant of an ended fact",
            &[r#""equals":"1""#],
        ),
        (&[ASSERT_1, r#"{"do":"invalidate"}"#], r#"{"do":"history"}"#, "query: a history of one fact", &["${from1}"]),
        // E41: the value that is current may add a fact, or nothing.
        (
            &[ASSERT_1, r#"{"do":"assert","value":"1","age":300}"#],
            r#"{"do":"history"}"#,
            "query: one of several histories",
            &[r#""reading":"1 facts""#, r#""reading":"2 facts""#],
        ),
        // E42: an assertion before the current fact leaves one current fact, whichever it is.
        (
            &[ASSERT_2, ASSERT_1],
            r#"{"do":"current"}"#,
            "query: the current fact",
            &[r#""length":1"#, r#""one-of":["2","1"]"#],
        ),
        (&[ASSERT_2, ASSERT_1], r#"{"do":"as of","age":60}"#, "query: a history that is open", &[]),
        // Another subject is another pair.
        (
            &[ASSERT_1],
            r#"{"do":"current","subject":"Disk"}"#,
            "query: the current fact of an unknown pair",
            &[r#""length":0"#],
        ),
    ];
    for (before, query, transition, parts) in table {
        let all = [before.join(";"), (*query).to_owned()].join(";");
        let predicted = after(&all).unwrap_or_else(|| panic!("{all}"));
        assert_eq!(predicted.transition, *transition, "{all}");
        for part in *parts {
            assert!(expectations(&predicted).contains(part), "{all}: {part} in {}", expectations(&predicted));
        }
    }
}

#[test]
fn an_invalidation_counts_what_it_ends() {
    let table: &[(&[&str], &str, &str)] = &[
        (&[ASSERT_1], "invalidate: a lone fact", r#""equals":1"#),
        (&[ASSERT_1, ASSERT_2], "invalidate: a fact with a history", r#""equals":1"#),
        (&[ASSERT_1, r#"{"do":"invalidate"}"#], "invalidate: a second time", r#""equals":0"#),
        (&[r#"{"do":"assert","subject":"Disk"}"#], "invalidate: nothing", r#""equals":0"#),
    ];
    for (before, transition, count) in table {
        let predicted = after(&format!("{};{}", before.join(";"), r#"{"do":"invalidate"}"#)).expect("a prediction");
        assert_eq!(predicted.transition, *transition);
        assert!(expectations(&predicted).contains(count), "{transition}: {}", expectations(&predicted));
    }
}

#[test]
fn nothing_is_expected_of_a_start_before_an_end_at_the_present_time() {
    // E83
    assert_eq!(after(&[ASSERT_1, r#"{"do":"invalidate"}"#, ASSERT_2].join(";")), None);
}

const DRAFT: &str = r#"{"do":"deposit","n":0,"status":"draft"}"#;
const FLAG: &str = r#"{"do":"flag","n":0,"review":"agent"}"#;
const COMPLETE: &str = r#"{"do":"move","n":0,"to":"complete"}"#;
const READ: &str = r#"{"do":"pull","n":0,"as":"b"}"#;

#[test]
fn states_change_as_the_table_of_section_5_3_has_it() {
    let table: &[(&[&str], &str, &str)] = &[
        (&[DRAFT, FLAG], "flag: a draft", r#""equals":"awaiting_review""#),
        (&[DRAFT, FLAG, COMPLETE], "move: review completed", r#""within":{"min":200,"max":299}"#),
        (&[DRAFT, r#"{"do":"move","n":0,"to":"revision_requested"}"#], "move: not in the table", r#""min":400"#),
        (&[DRAFT, FLAG, r#"{"do":"move","n":0,"to":"draft"}"#], "move: not in the table", r#""min":400"#),
        // E77: only a review has to be able to complete a package.
        (&[DRAFT, COMPLETE], "move: completed without review", r#""min":200,"max":499"#),
        (&[DRAFT, FLAG, COMPLETE, READ, FLAG], "flag: a complete package", r#""equals":400"#),
        (&[DRAFT, r#"{"do":"move","n":0,"to":"closed"}"#], "move: to an unknown state", r#""min":400"#),
        (&[DRAFT, FLAG, r#"{"do":"waiting"}"#], "waiting: one package", "same-items"),
        (&[DRAFT, FLAG, COMPLETE, r#"{"do":"waiting"}"#], "waiting: no package", r#""length":0"#),
    ];
    for (before, transition, part) in table {
        let all = before.join(";");
        let predicted = after(&all).unwrap_or_else(|| panic!("{all}"));
        assert_eq!(predicted.transition, *transition, "{all}");
        assert!(expectations(&predicted).contains(part), "{all}: {}", expectations(&predicted));
    }
    // E12: whether a complete package is frozen before another party has read it is open.
    assert_eq!(after(&[DRAFT, FLAG, COMPLETE, FLAG].join(";")), None);
}

#[test]
fn lists_are_in_order_of_time_and_ties_are_open() {
    let deposit = |n: usize, age: usize| format!(r#"{{"do":"deposit","n":{n},"age":{age}}}"#);
    let list = |ages: &[usize], limit: usize| {
        let deposits: Vec<String> = ages.iter().enumerate().map(|(n, age)| deposit(n, *age)).collect();
        let all = format!(r#"{};{{"do":"latest","limit":{limit}}}"#, deposits.join(";"));
        after(&all).expect("a prediction")
    };
    let ordered = list(&[600, 60, 120], 3);
    let ids = r#"{"at":"/ids","equals":["${p1/package_id}","${p2/package_id}","${p0/package_id}"]"#;
    assert!(expectations(&ordered).contains(ids), "{}", expectations(&ordered));
    let tied = list(&[60, 60, 120], 1);
    assert_eq!(tied.transition, "latest: packages of one instant");
    assert!(!expectations(&tied).contains("equals\":[\"${p0"), "either of two packages of one instant");
    assert!(expectations(&tied).contains(r#""none":{"one-of":["${p2/package_id}"]}"#), "{}", expectations(&tied));
}

/// A target that offers everything.
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
fn every_transition_can_be_proposed_and_every_prediction_names_its_requirements() {
    let mut reached = std::collections::BTreeSet::new();
    for seed in 0..3000 {
        let mut choices = Counting { number: seed, mood: usize::try_from(seed).unwrap_or(0) };
        let choices: &mut dyn Choices = &mut choices;
        let mut state = super::Sequences.start();
        let offers = Everything;
        let mut all: Vec<Move> = (0..25)
            .filter_map(|_| {
                let step = state.propose(&offers, choices)?;
                state.take(&step).map(|_| step)
            })
            .collect();
        all.extend(state.read_back(&offers));
        let at_once = state.propose_at_once(&offers, choices).and_then(|moves| {
            let order: Vec<usize> = (0..moves.len()).rev().collect();
            state.take_at_once(&moves, &order)
        });
        reached.extend(at_once.iter().map(|found| found.transition));
        let mut state = State::default();
        let one_by_one: Vec<Predicted> = all.iter().filter_map(|step| state.take(step)).collect();
        for predicted in one_by_one.into_iter().chain(at_once.into_iter().flat_map(|found| found.taken)) {
            assert!(TRANSITIONS.contains(&predicted.transition), "{}", predicted.transition);
            reached.insert(predicted.transition);
            for step in &predicted.steps {
                let expectations = step.member("expect").and_then(Value::as_array).unwrap_or_default();
                assert!(!expectations.is_empty(), "{}", predicted.transition);
                let named =
                    |one: &Value| one.member("covers").and_then(Value::as_array).is_some_and(|ids| ids.len() == 1);
                assert!(expectations.iter().all(named), "{}", predicted.transition);
            }
        }
    }
    let missing: Vec<&&str> = TRANSITIONS.iter().filter(|name| !reached.contains(**name)).collect();
    assert_eq!(missing, Vec::<&&str>::new());
}

#[test]
fn a_move_without_its_arguments_has_plain_ones() {
    for kind in ["deposit", "latest", "orient", "assert", "many", "import"] {
        let step = map([("do", text(kind))]);
        assert!(State::default().take(&step).is_some(), "{kind}");
    }
    // What refers to an object that is not there means nothing.
    for kind in ["again", "archive", "move", "invalidate", "export", "waiting", "import again", "search"] {
        let step = map([("do", text(kind)), ("n", number(3))]);
        assert_eq!(State::default().take(&step), None, "{}", word(&step, "do").unwrap_or_default());
    }
    assert!(PROPOSALS.iter().all(|(_, weight, _)| *weight > 0));
}

#[test]
fn flaws_are_of_distinct_names() {
    let names: std::collections::BTreeSet<&str> = values::FLAWS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), values::FLAWS.len());
}

#[test]
fn an_import_is_a_deposit_and_changes_nothing_that_is_stored() {
    let brought = after(r#"{"do":"import","n":0};{"do":"pull","n":0}"#).expect("a pull");
    assert!(expectations(&brought).contains(r#""same-package":"${p0}""#), "{}", expectations(&brought));
    // E109: any answer but 5xx, and the content stays.
    let again = r#"{"do":"deposit","n":0};{"do":"import again","n":0,"changed":true}"#;
    let answer = after(again).expect("an import");
    assert!(expectations(&answer).contains(r#""max":499"#), "{}", expectations(&answer));
    let kept = after(&format!(r#"{again};{{"do":"pull","n":0}}"#)).expect("a pull");
    assert!(expectations(&kept).contains(r#""same-package":"${p0}""#), "{}", expectations(&kept));
    // Nor does the deposited form change the status that a package has by now.
    let flagged =
        r#"{"do":"deposit","n":0,"status":"draft"};{"do":"flag","n":0,"review":"human"};{"do":"import again","n":0}"#;
    let kept = after(&format!(r#"{flagged};{{"do":"pull","n":0}}"#)).expect("a pull");
    assert!(expectations(&kept).contains(r#""/status":"awaiting_review""#), "{}", expectations(&kept));
    // Where it has one of two reviewers, nothing is imported again.
    let twice = r#"{"do":"deposit","n":0,"status":"draft"};{"do":"flag","n":0,"review":"human"};{"do":"flag","n":0,"review":"agent"}"#;
    assert_eq!(after(&format!(r#"{twice};{{"do":"import again","n":0}}"#)), None);
}

#[test]
fn a_search_stays_in_its_project_and_within_its_limit() {
    let found =
        after(r#"{"do":"deposit","n":0};{"do":"deposit","n":1,"project":1};{"do":"search","query":"pm","limit":3}"#)
            .expect("a search");
    let text = expectations(&found);
    assert!(text.contains(r#""none":{"one-of":["${p1/package_id}"]}"#) && !text.contains("${p0"), "{text}");
    assert!(text.contains(r#""max":3"#), "{text}");
}

/// What may be observed of moves at once, in this order: their expectations, and those of a move after them.
fn at_once(before: &str, together: &str, order: &[usize], then: &str) -> (&'static str, Vec<String>) {
    let mut state = State::default();
    for step in moves(before) {
        state.take(&step);
    }
    let found = state.take_at_once(&moves(together), order).expect("moves that are possible");
    let mut shown: Vec<String> = found.taken.iter().map(expectations).collect();
    shown.extend(state.take(&moves(then)[0]).iter().map(expectations));
    (found.transition, shown)
}

#[test]
fn of_several_packages_under_one_id_the_first_in_the_order_is_stored() {
    let rivals = r#"{"do":"rival","n":0};{"do":"rival","n":0,"variant":{"/topic":"other"}}"#;
    let pull = r#"{"do":"pull","n":0}"#;
    let (transition, shown) = at_once(ASSERT_1, rivals, &[0, 1], pull);
    assert_eq!(transition, "at once: deposits of several packages under one id");
    assert!(shown[0].contains("[200,201]") && shown[1].contains(r#""equals":409"#), "{shown:?}");
    assert!(shown[2].contains(r#""same-package":"${p0}""#), "{shown:?}");
    let (_, shown) = at_once(ASSERT_1, rivals, &[1, 0], pull);
    assert!(shown[1].contains(r#""equals":409"#), "{shown:?}");
    assert!(shown[2].contains(r#""same-package":{"base":"p0","set":{"/topic":"other"}}"#), "{shown:?}");
    let same = r#"{"do":"rival","n":0};{"do":"rival","n":0}"#;
    let (transition, shown) = at_once(ASSERT_1, same, &[1, 0], pull);
    assert_eq!(transition, "at once: deposits of one package");
    assert!(shown[0].contains("[200,201]") && shown[1].contains("[200,201]"), "{shown:?}");
}

#[test]
fn of_several_values_at_once_the_last_in_the_order_is_current_and_the_history_is_open() {
    let together = r#"{"do":"assert","value":"2"};{"do":"assert","value":"3"}"#;
    let (_, shown) = at_once(ASSERT_1, together, &[1, 0], r#"{"do":"current"}"#);
    assert!(shown[2].contains(r#""one-of":["2"]"#), "{shown:?}");
    let (_, shown) = at_once(ASSERT_1, together, &[0], r#"{"do":"current"}"#);
    assert!(shown[1].contains(r#""one-of":["2"]"#), "the other was refused: {shown:?}");
    let (_, shown) = at_once(ASSERT_1, together, &[0, 1], r#"{"do":"history"}"#);
    assert!(!shown[2].contains("length"), "{shown:?}");
}

#[test]
fn of_several_invalidations_at_once_one_ends_the_fact() {
    let together = r#"{"do":"invalidate"};{"do":"invalidate","as":"b"}"#;
    let (_, shown) = at_once(ASSERT_1, together, &[1, 0], r#"{"do":"current"}"#);
    assert!(shown[0].contains(r#""at":"/count","equals":1"#), "{shown:?}");
    assert!(shown[1].contains(r#""at":"/count","equals":0"#), "{shown:?}");
}

#[test]
fn moves_whose_common_effect_is_not_specified_are_not_taken_at_once() {
    for together in [
        r#"{"do":"assert","value":"2"};{"do":"invalidate"}"#,
        r#"{"do":"flag","n":0};{"do":"move","n":0}"#,
        r#"{"do":"assert","value":"2","age":30};{"do":"assert","value":"3"}"#,
    ] {
        let mut state = State::default();
        state.take(&moves(ASSERT_1)[0]);
        assert_eq!(state.take_at_once(&moves(together), &[0, 1]), None, "{together}");
    }
}

#[test]
fn a_long_history_is_asked_for_what_held_at_first() {
    let found = after(r#"{"do":"series","facts":12}"#).expect("a series");
    assert_eq!(found.steps.len(), 12 + 3);
    let text = expectations(&found);
    // Each start belongs to its own fact.
    assert!(["v0", "v1", "v2"].iter().all(|value| text.contains(&format!(r#""equals":"{value}""#))), "{text}");
    assert_eq!(after(r#"{"do":"series"};{"do":"series"}"#), None);
}

#[test]
fn many_packages_fill_a_list_behind_the_others() {
    let listed = after(r#"{"do":"deposit","n":0};{"do":"many packages","count":60};{"do":"latest","limit":5}"#);
    let listed = listed.expect("a list");
    assert_eq!(listed.transition, "latest: many packages");
    let text = expectations(&listed);
    assert!(text.contains(r#""length":5"#) && text.contains(r#""contains":"${p0/package_id}""#), "{text}");
}

#[test]
fn an_archived_project_shows_when_it_was_archived_and_the_other_one_stays_archived() {
    let timed = after(r#"{"do":"deposit","n":0};{"do":"archive","read":"project"}"#).expect("an archive");
    let text = expectations(&timed);
    let time = r#"{"at":"/project/archived_at","time":{"form":"rfc3339-utc","from":"${from0}","to":"${to0}"}"#;
    assert!(text.contains(time) && text.contains(r#""absent":"or-null""#), "{text}");
    let one = r#"{"do":"deposit","n":0};{"do":"archive","read":"project","both":true}"#;
    assert_eq!(after(one), None, "the other project is not there");
    let both =
        r#"{"do":"deposit","n":0};{"do":"deposit","n":1,"project":1};{"do":"archive","read":"orient","both":true}"#;
    let text = expectations(&after(both).expect("an archive"));
    assert!(text.contains(r#"{"at":"/body/project/archived_at","time":"rfc3339-utc""#), "{text}");
    // E36: what an archived project accepts is there once it is restored.
    let kept = after(r#"{"do":"deposit","n":0};{"do":"archive","n":1};{"do":"pull","n":1}"#).expect("a pull");
    assert!(expectations(&kept).contains(r#""same-package":"${p1}""#), "{}", expectations(&kept));
}

#[test]
fn a_digest_names_what_is_recent_and_nothing_of_another_project() {
    let found =
        after(r#"{"do":"deposit","n":0};{"do":"deposit","n":1,"project":1};{"do":"digest"}"#).expect("a digest");
    let text = expectations(&found);
    assert!(text.contains(r#""contains-text":["${p0/package_id}"]"#), "{text}");
    assert!(text.contains(r#""contains-text":{"none":["${p1/package_id}"]}"#), "{text}");
    // E53: a digest may be a selection, and its window may end.
    let old = after(r#"{"do":"deposit","n":0,"age":2880};{"do":"digest"}"#).expect("a digest");
    assert!(!expectations(&old).contains("${p0/package_id}"), "{}", expectations(&old));
}

#[test]
fn defaults_that_an_assertion_gives_may_be_left_out() {
    let none = r#""at":"/facts/0/tags","equals":[]"#;
    let found = after(r#"{"do":"assert","value":"1","tags":[]};{"do":"current"}"#).expect("a query");
    let text = expectations(&found);
    assert!(text.contains(none) && text.contains(r#""at":"/facts/0/tags","absent":"or-null""#), "{text}");
    let given = after(r#"{"do":"assert","value":"1","tags":["c"]};{"do":"current"}"#).expect("a query");
    assert!(!expectations(&given).contains("or-null"), "{}", expectations(&given));
}
