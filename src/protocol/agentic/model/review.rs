//! Review and the states of a package (sections 5.3, 8.5 and 11.4).

use super::expect::{
    Alternative, any_of, at, literal, map, number, of_project, party, plain, project, small, step, text, word,
};
use super::package::{Package, id, known, whole};
use super::state::State;
use super::values::any_text;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// Most waiting packages that a list without a limit has to show (E19, E65).
const LISTED: usize = 5;

fn reviewed(offers: &dyn Offers) -> bool {
    offers.has("L3")
}

/// A package, more often one that is not complete.
fn any_package(state: &State, choices: &mut dyn Choices) -> Option<usize> {
    let open: Vec<usize> = state.packages.iter().filter(|(_, p)| !p.is_complete()).map(|(n, _)| *n).collect();
    if !open.is_empty() && !choices.one_in(4) {
        return choices.pick(&open).copied();
    }
    let all: Vec<usize> = state.packages.keys().copied().collect();
    choices.pick(&all).copied()
}

pub(super) fn propose_flag(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !reviewed(offers) {
        return None;
    }
    let n = if choices.one_in(10) { state.next } else { any_package(state, choices)? };
    let review = *choices.pick(&["human", "agent", "human", "agent", "none"])?;
    let mut step = vec![("do", text("flag")), ("n", number(n)), ("review", text(review))];
    if choices.one_in(3) && !state.packages.get(&n).is_some_and(Package::has_null) {
        step.push(("note", any_text(choices)));
    }
    Some(Value::map(step))
}

/// A package is marked for review (section 8.5).
pub(super) fn flag(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let review = word(given, "review").and_then(known).unwrap_or("human");
    let mut with = vec![("review_type", text(review))];
    with.extend(word(given, "note").filter(|note| !note.ends_with('$')).map(|note| ("note", text(note))));
    let Some(package) = state.packages.get_mut(&n) else {
        if state.refused.contains(&n) || review == "none" {
            return None;
        }
        with.insert(0, ("package_id", text(format!("${{u{n}}}"))));
        let steps =
            vec![step(party(given), "flag", with, vec![at("AGENTIC-8.5-09", "/status", "equals", number(404))])];
        let bindings = vec![(format!("u{n}"), text("pkg_${hex 32}"))];
        return Some(Predicted { transition: "flag: an unknown package", needs: vec!["flag-route"], bindings, steps });
    };
    with.insert(0, ("package_id", id(n)));
    // With a note the package may have more members, and then it is not compared without those that are null.
    if word(given, "note").is_some() && package.has_null() {
        return None;
    }
    let [status] = package.status.as_slice() else { return None };
    // A draft may be hidden from others (E55), and who may review is open.
    let by = package.owner;
    let (transition, expect) = match (*status, known(review).unwrap_or("none")) {
        ("complete", "none") => return None,
        // A complete package is certainly frozen once another party has read it (E12).
        ("complete", _) if !package.was_read => return None,
        ("complete", _) => {
            let requirement = if package.moved { "AGENTIC-5.3-22" } else { "AGENTIC-8.5-07" };
            ("flag: a complete package", vec![at(requirement, "/status", "equals", number(400))])
        }
        (_, "none") => {
            let refused = Value::array([number(400), number(422)]);
            ("flag: without a reviewer", vec![at("AGENTIC-8.5-03", "/status", "one-of", refused)])
        }
        ("awaiting_review", review) => {
            // A second flag may be refused, ignored or taken (E15).
            package.noted |= word(given, "note").is_some();
            package.touched = true;
            if !package.review.contains(&review) {
                package.review.push(review);
                package.moved = true;
            }
            let allowed = map([("min", number(200)), ("max", number(499))]);
            ("flag: a package that awaits review", vec![at("AGENTIC-5.3-16", "/status", "within", allowed)])
        }
        (before, review) => {
            package.noted |= word(given, "note").is_some();
            let (transition, requirement) = match before {
                "draft" => ("flag: a draft", "AGENTIC-5.3-06"),
                _ => ("flag: a package in revision", "AGENTIC-5.3-12"),
            };
            package.status = vec!["awaiting_review"];
            package.review = vec![review];
            package.moved = true;
            let mut expect = vec![
                at(requirement, "/status", "equals", number(200)),
                at("AGENTIC-8.5-01", "/package/status", "equals", text("awaiting_review")),
                at("AGENTIC-8.5-02", "/package/review_type", "equals", text(review)),
            ];
            expect.extend(whole(n, package, "AGENTIC-8.5-06"));
            (transition, expect)
        }
    };
    let steps = vec![step(by, "flag", with, expect)];
    Some(Predicted { transition, needs: vec!["flag-route"], bindings: Vec::new(), steps })
}

/// Moves from one state to another: how the table of section 5.3 judges each, and the requirement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Allowed,
    /// The table has it, but level L3 does not demand it (E77, E85).
    Tolerated,
    Refused,
    /// To the same state (E15).
    Same,
}

const MOVES: &[(&str, &str, Rule, &str)] = &[
    ("draft", "draft", Rule::Same, "AGENTIC-5.3-15"),
    ("draft", "revision_requested", Rule::Refused, "AGENTIC-5.3-08"),
    ("draft", "complete", Rule::Tolerated, "AGENTIC-5.3-07"),
    ("awaiting_review", "draft", Rule::Refused, "AGENTIC-5.3-11"),
    ("awaiting_review", "awaiting_review", Rule::Same, "AGENTIC-5.3-16"),
    ("awaiting_review", "revision_requested", Rule::Allowed, "AGENTIC-5.3-10"),
    ("awaiting_review", "complete", Rule::Allowed, "AGENTIC-5.3-09"),
    ("revision_requested", "draft", Rule::Refused, "AGENTIC-5.3-14"),
    ("revision_requested", "revision_requested", Rule::Same, "AGENTIC-5.3-17"),
    ("revision_requested", "complete", Rule::Tolerated, "AGENTIC-5.3-13"),
    ("complete", "draft", Rule::Refused, "AGENTIC-5.3-18"),
    ("complete", "awaiting_review", Rule::Refused, "AGENTIC-5.3-19"),
    ("complete", "revision_requested", Rule::Refused, "AGENTIC-5.3-20"),
    ("complete", "complete", Rule::Same, "AGENTIC-5.3-21"),
];

pub(super) fn propose_move(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !reviewed(offers) || !offers.may_have("status-route") {
        return None;
    }
    let n = any_package(state, choices)?;
    let states =
        ["draft", "awaiting_review", "revision_requested", "complete", "complete", "revision_requested", "closed"];
    Some(map([("do", text("move")), ("n", number(n)), ("to", text(*choices.pick(&states)?))]))
}

/// Another state is requested (section 5.3, E14).
pub(super) fn transition(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let to = word(given, "to").unwrap_or("complete");
    let package = state.packages.get_mut(&n)?;
    let [from] = package.status.as_slice() else { return None };
    let from = *from;
    let by = package.owner;
    if from == "complete" && !package.was_read {
        return None;
    }
    let refused = map([("min", number(400)), ("max", number(499))]);
    let success = map([("min", number(200)), ("max", number(299))]);
    let either = map([("min", number(200)), ("max", number(499))]);
    let (transition, expect) = if let Some((.., rule, requirement)) =
        MOVES.iter().find(|(before, after, ..)| *before == from && *after == to)
    {
        match rule {
            Rule::Allowed => {
                package.status = vec![known(to)?];
                reset(package);
                let transition = if to == "complete" { "move: review completed" } else { "move: revision requested" };
                (transition, vec![at(requirement, "/status", "within", success)])
            }
            Rule::Tolerated => {
                package.status.push(known(to)?);
                reset(package);
                ("move: completed without review", vec![at(requirement, "/status", "within", either)])
            }
            Rule::Refused if from == "complete" => {
                let requirement = if package.moved { "AGENTIC-5.3-22" } else { requirement };
                let transition =
                    if package.moved { "move: out of a completed review" } else { "move: out of a complete package" };
                (transition, vec![at(requirement, "/status", "within", refused)])
            }
            Rule::Refused => ("move: not in the table", vec![at(requirement, "/status", "within", refused)]),
            Rule::Same => {
                package.touched = true;
                ("move: to the same state", vec![at(requirement, "/status", "within", either)])
            }
        }
    } else if known(to).is_none() && from != "complete" {
        ("move: to an unknown state", vec![at("AGENTIC-5.3-23", "/status", "within", refused)])
    } else {
        // Whether another way than a flag leads to a review is open (E77).
        return None;
    };
    let with = vec![("package_id", id(n)), ("status", literal(to))];
    let steps = vec![step(by, "transition", with, expect)];
    Some(Predicted { transition, needs: vec!["status-route"], bindings: Vec::new(), steps })
}

/// A review may leave its reviewer or none (E18).
fn reset(package: &mut Package) {
    package.moved = true;
    package.was_read = false;
    if !package.review.contains(&"none") {
        package.review.push("none");
    }
}

pub(super) fn propose_waiting(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    list(state, offers, of)
}

/// The list of waiting packages that the target offers (E19).
fn list(state: &State, offers: &dyn Offers, of: usize) -> Option<Move> {
    if !reviewed(offers) || !state.exists[of] {
        return None;
    }
    let kind = if offers.has("awaiting-status") {
        "status"
    } else if offers.has("no-awaiting-status") && offers.has("review-queue") {
        "queue"
    } else {
        return None;
    };
    Some(Value::map([("do", text("waiting")), ("project", number(of)), ("by", text(kind))]))
}

/// The packages of a project that await review (section 11.4).
pub(super) fn waiting(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    if !state.exists[of] {
        return None;
    }
    let (operation, needs) = match word(given, "by") {
        Some("queue") => ("review-queue", "review-queue"),
        _ => ("awaiting", "awaiting-status"),
    };
    let in_project = |n: &usize| state.packages[n].project == of;
    let with_status = |test: &dyn Fn(&[&'static str]) -> bool| -> Vec<usize> {
        state.packages.iter().filter(|(_, package)| test(&package.status)).map(|(n, _)| *n).collect()
    };
    let certain: Vec<usize> = with_status(&|all| all == ["awaiting_review"]).into_iter().filter(in_project).collect();
    let possible: Vec<usize> =
        with_status(&|all| all.contains(&"awaiting_review")).into_iter().filter(in_project).collect();
    let others: Vec<usize> = state.packages.keys().copied().filter(|n| !in_project(n)).collect();
    let ids = |numbers: &[usize]| Value::array(numbers.iter().map(|n| id(*n)));
    let (transition, expect) = if possible.is_empty() {
        let empty = vec![plain("/status", "equals", number(200)), plain("/ids", "length", number(0))];
        let none = Alternative {
            reading: "not found".to_owned(),
            tolerated: true,
            all: vec![plain("/status", "equals", number(404))],
        };
        let expect = any_of("AGENTIC-11.4-06", vec![Alternative::new("an empty list", empty), none]);
        ("waiting: no package", expect)
    } else {
        let mut expect = vec![at("AGENTIC-11.4-04", "/status", "equals", number(200))];
        if !others.is_empty() {
            expect.push(at("AGENTIC-11.4-05", "/ids", "none", map([("one-of", ids(&others))])));
        }
        if possible.len() > LISTED {
            expect.push(at("AGENTIC-11.4-04", "/ids", "each", map([("one-of", ids(&possible))])));
        } else if certain == possible {
            expect.push(at("AGENTIC-11.4-06", "/ids", "same-items", ids(&certain)));
        } else {
            expect.extend(certain.iter().map(|n| at("AGENTIC-11.4-06", "/ids", "contains", id(*n))));
        }
        (if possible.len() == 1 { "waiting: one package" } else { "waiting: several packages" }, expect)
    };
    let steps = vec![step(party(given), operation, vec![("project", project(of))], expect)];
    Some(Predicted { transition, needs: vec![needs], bindings: Vec::new(), steps })
}

/// The waiting packages of both projects.
pub(super) fn read_back(state: &State, offers: &dyn Offers) -> Vec<Move> {
    (0..2).filter_map(|of| list(state, offers, of)).collect()
}
