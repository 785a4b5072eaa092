//! Lists of packages, bundles and projects (sections 5.2, 8.2 and 8.3).

use super::expect::{at, map, number, of_project, party, plain, project, small, step, text};
use super::instant::Age;
use super::package::{Package, id, same, shapes};
use super::queries;
use super::state::State;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The limits that have to be exact (E65), besides none.
const LIMITS: &[usize] = &[1, 3, 5];

/// The age up to which a package is inside every window but that of one day, which may be a calendar day.
const FRESH_DAYS: i128 = 10;

/// The windows that have to be echoed (E52), besides none.
const WINDOWS: &[usize] = &[1, 14, 30];

pub(super) fn propose_latest(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let mut step = vec![("do", text("latest"))];
    add_project(state, offers, choices, &mut step)?;
    // Where no package was deposited, a list may not know the project (E34).
    let of = of_project(&Value::map(step.clone()));
    if !has_packages(state, of) && !offers.has("project-create") {
        return None;
    }
    if let Some(limit) = choices.pick(&[0, 0, 1, 3, 5]).filter(|limit| **limit > 0) {
        step.push(("limit", number(*limit)));
    }
    if choices.one_in(2) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// A project that exists, or can be made.
fn add_project(
    state: &State,
    offers: &dyn Offers,
    choices: &mut dyn Choices,
    step: &mut Vec<(&'static str, Value)>,
) -> Option<()> {
    let other = choices.one_in(3);
    if other {
        step.push(("project", number(1)));
    }
    (state.exists[usize::from(other)] || offers.has("project-create")).then_some(())
}

fn has_packages(state: &State, of: usize) -> bool {
    state.many_packages[of] > 0 || state.packages.values().any(|package| package.project == of)
}

/// Reading a project to which nothing was written decides only where projects can be created (E34).
fn needs(state: &State, project: usize) -> Vec<&'static str> {
    if state.exists[project] { Vec::new() } else { vec!["project-create"] }
}

/// The packages of a project, the newest first, and those of the other.
fn split(state: &State, project: usize) -> (Vec<(usize, &Package)>, Vec<usize>) {
    let mut own: Vec<(usize, &Package)> = state
        .packages
        .iter()
        .filter(|(_, package)| package.project == project)
        .map(|(n, package)| (*n, package))
        .collect();
    own.sort_by_key(|(_, package)| package.created);
    let others = state.packages.iter().filter(|(_, package)| package.project != project).map(|(n, _)| *n).collect();
    (own, others)
}

/// Expects that a list of ids has none of these packages.
fn without(requirement: &str, numbers: &[usize]) -> Option<Value> {
    let ids = Value::array(numbers.iter().map(|n| id(*n)));
    (!numbers.is_empty()).then(|| at(requirement, "/ids", "none", map([("one-of", ids)])))
}

/// The newest packages of a project, in order, and no others.
pub(super) fn latest(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    let given_limit = Some(small(given, "limit")).filter(|limit| LIMITS.contains(limit));
    let limit = given_limit.unwrap_or(5);
    let (own, others) = split(state, of);
    let mut with = vec![("project", project(of))];
    if let Some(limit) = given_limit {
        with.push(("limit", number(limit)));
    }
    let first = if own.is_empty() { "AGENTIC-8.2-06" } else { "AGENTIC-8.2-01" };
    let mut expect = vec![at(first, "/status", "equals", number(200))];
    expect.extend(without("AGENTIC-5.2-01", &others));
    let many = state.many_packages[of];
    let shown = (own.len() + many).min(limit);
    let is_settled = own.iter().all(|(_, package)| package.is_complete());
    let mut ties = false;
    if is_settled {
        let length = match (own.len() + many, given_limit) {
            (0, _) => "AGENTIC-8.2-06",
            (total, _) if total < limit => "AGENTIC-8.2-04",
            (_, None) => "AGENTIC-8.2-05",
            (_, Some(_)) => "AGENTIC-8.2-03",
        };
        expect.push(at(length, "/packages", "length", number(shown)));
        // The many of one instant are older than all others.
        ties = shown > own.len() || own.windows(2).take(shown).any(|pair| pair[0].1.created == pair[1].1.created);
        let order =
            if own.iter().any(|(_, package)| package.has_fraction) { "AGENTIC-8.2-02" } else { "AGENTIC-8.2-01" };
        if shown > 0 && !ties {
            let ids = own.iter().take(shown).map(|(n, _)| id(*n));
            expect.push(at(order, "/ids", "equals", Value::array(ids)));
            let (newest, package) = own[0];
            expect.extend(same(newest, package, "/packages/0", "AGENTIC-6-02"));
        } else if shown > 0 {
            // Packages of one instant come in any order, and at the limit any of them (E65).
            let last = own.get(shown - 1).map_or(Age::EARLIEST, |(_, package)| package.created);
            let fit = own.iter().filter(|(_, package)| package.created <= last).count() == shown;
            let certain = own.iter().filter(|(_, package)| package.created < last || fit && package.created == last);
            expect.extend(certain.map(|(n, _)| at("AGENTIC-8.2-01", "/ids", "contains", id(*n))));
            let late: Vec<usize> = own.iter().filter(|(_, package)| package.created > last).map(|(n, _)| *n).collect();
            expect.extend(without("AGENTIC-8.2-01", &late));
            expect.push(at("AGENTIC-8.2-01", "/ids", "distinct", Value::Map(Vec::new().into())));
        }
    }
    // Whether drafts and packages under review are listed is open (E55); their order is not.
    let by = map([("by", text("/created_at")), ("as", text("time")), ("direction", text("descending"))]);
    if own.len() > 1 {
        expect.push(at("AGENTIC-8.2-01", "/packages", "ordered", by));
    }
    let transition = match own.len() + many {
        0 => "latest: no package",
        _ if many > 0 => "latest: many packages",
        _ if !is_settled => "latest: with drafts or packages under review",
        _ if ties => "latest: packages of one instant",
        total if total > limit => "latest: more packages than the limit",
        _ => "latest: fewer packages than the limit",
    };
    let steps = vec![step(party(given), "pull-latest", with, expect)];
    let needs = if own.is_empty() && many == 0 { vec!["project-create"] } else { Vec::new() };
    Some(Predicted { transition, needs, bindings: Vec::new(), steps })
}

pub(super) fn propose_orient(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let mut step = vec![("do", text("orient"))];
    add_project(state, offers, choices, &mut step)?;
    if let Some(window) = choices.pick(&[0, 1, 14, 30]).filter(|window| **window > 0) {
        step.push(("window", number(*window)));
    }
    if choices.one_in(2) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// The bundle of a project: the only package of it if that is fresh, its questions, and no package of another project (E51).
pub(super) fn orient(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    let given_window = Some(small(given, "window")).filter(|window| WINDOWS.contains(window));
    let mut with = vec![("project", project(of))];
    if let Some(window) = given_window {
        with.push(("window_days", number(window)));
    }
    let (own, others) = split(state, of);
    let (echo, window) = given_window.map_or(("AGENTIC-8.3-10", 14), |window| ("AGENTIC-8.3-09", window));
    let mut expect = vec![
        at("AGENTIC-8.3-01", "/status", "equals", number(200)),
        at(echo, "/body/window_days", "equals", number(window)),
    ];
    expect.extend(without("AGENTIC-8.3-04", &others));
    if let [(n, package)] = own.as_slice()
        && package.is_complete()
        && state.many_packages[of] == 0
        && window > 1
        && package.created.is_within_days(FRESH_DAYS)
    {
        expect.push(at("AGENTIC-8.3-04", "/ids", "equals", Value::array([id(*n)])));
        expect.extend(same(*n, package, "/packages/0", "AGENTIC-8.3-03"));
        if !package.questions.is_empty() {
            let questions = Value::Array(package.questions.clone().into());
            expect.push(at("AGENTIC-8.3-08", "/body/open_questions", "contains-text", questions));
        }
    }
    expect.extend(queries::listed(state, of, "AGENTIC-8.3-07"));
    let transition = match own.len() {
        0 => "orient: no package",
        1 => "orient: one package",
        _ => "orient: several packages",
    };
    let steps = vec![step(party(given), "orient", with, expect)];
    Some(Predicted { transition, needs: needs(state, of), bindings: Vec::new(), steps })
}

pub(super) fn propose_export(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    let possible = state.exists[of] && offers.has("export");
    possible.then(|| Value::map([("do", text("export")), ("project", number(of))]))
}

/// Most packages of an export that are compared member by member.
const COMPARED: usize = 8;

/// An export has each package and each fact of its project once (sections 5.2 and 10.1, E69).
pub(super) fn export(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    if !state.exists[of] {
        return None;
    }
    let (own, others) = split(state, of);
    let kind = |kind: &str| plain("/kind", "equals", text(kind));
    let success = map([("min", number(200)), ("max", number(299))]);
    let mut expect = vec![at("AGENTIC-5.2-06", "/status", "within", success)];
    if !others.is_empty() {
        let ids = Value::array(others.iter().map(|n| id(*n)));
        expect.push(at("AGENTIC-5.2-06", "/records", "none", plain("/record/package_id", "one-of", ids)));
    }
    // A draft of another actor may be hidden (E55).
    let seen: Vec<&(usize, &Package)> =
        own.iter().filter(|(_, package)| package.is_public() || package.owner == "a").collect();
    let many = state.many_packages[of];
    let count = if seen.len() == own.len() {
        number(own.len() + many)
    } else {
        map([("min", number(seen.len() + many)), ("max", number(own.len() + many))])
    };
    let packages = map([("of", kind("package")), ("is", count)]);
    expect.push(at("AGENTIC-10.1-05", "/records", "count", packages));
    for (n, package) in seen.into_iter().take(COMPARED) {
        if let [shape] = shapes(*n, package).as_slice() {
            let same = plain("/record", package.comparison(), shape.clone());
            expect.push(at("AGENTIC-10.1-05", "/records", "some", Value::array([kind("package"), same])));
        }
    }
    let total = queries::total(state, of);
    if let Some(total) = total {
        let facts = map([("of", kind("fact")), ("is", number(total))]);
        expect.push(at("AGENTIC-10.1-06", "/records", "count", facts));
    }
    let transition =
        if total.is_some_and(|total| total > 0) { "export: packages and facts" } else { "export: packages" };
    let steps = vec![step("a", "export", vec![("project", project(of))], expect)];
    Some(Predicted { transition, needs: vec!["export"], bindings: Vec::new(), steps })
}

pub(super) fn propose_list(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    // Without a limit a list may end after a hundred facts (E37).
    let possible = state.exists[of] && state.many[of] == 0 && offers.has("fact-lists") && offers.has("L2");
    possible.then(|| Value::map([("do", text("list")), ("project", number(of))]))
}

/// A query that names no subject lists the current facts of its project.
pub(super) fn list(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    if !state.exists[of] || state.many[of] > 0 {
        return None;
    }
    let mut expect = vec![at("AGENTIC-11.3-04", "/status", "equals", number(200))];
    expect.extend(queries::listed(state, of, "AGENTIC-11.3-04"));
    expect.push(at("AGENTIC-7.1-02", "/facts", "distinct", map([("by", text("/fact_id"))])));
    let steps = vec![step(party(given), "query-facts", vec![("project", project(of))], expect)];
    Some(Predicted { transition: "list: every current fact", needs: vec!["fact-lists"], bindings: Vec::new(), steps })
}

/// The lists and bundles of both projects.
pub(super) fn read_back(state: &State, offers: &dyn Offers) -> Vec<Move> {
    let readable = (0..2).filter(|of| state.exists[*of] || offers.has("project-create"));
    let both = |of: usize| {
        let kinds = ["latest", "orient"].into_iter();
        let listed =
            kinds.filter(move |kind| *kind == "orient" || has_packages(state, of) || offers.has("project-create"));
        listed.map(move |kind| Value::map([("do", text(kind)), ("project", number(of)), ("as", text("b"))]))
    };
    let exported = (0..2).filter(|of| state.exists[*of] && offers.has("export"));
    let export = |of: usize| Value::map([("do", text("export")), ("project", number(of))]);
    readable.flat_map(both).chain(exported.map(export)).collect()
}
