//! Imports and searches (sections 5.2, 8.2 and 10.3, E69 and E109).

use super::deposits::{age, body};
use super::expect::{at, integer, literal, map, number, of_project, party, project, small, step, text, word};
use super::facts::key;
use super::instant::{Age, spelled};
use super::package::{Package, id, known, name};
use super::state::State;
use super::timeline::{Moment, Row, Timeline};
use super::values::{VOLCANO, VOLCANO_WORDS};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The limits that have to be exact (E65).
const LIMITS: &[usize] = &[1, 3, 5];

/// Words of a query: of a title that packages have, of none, and of other letters.
const QUERIES: &[&str] = &["pm", VOLCANO_WORDS, VOLCANO_WORDS, "changed", "größenprüfung", "a%b_c*"];

pub(super) fn propose_import(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.has("import") || !offers.has("L1") {
        return None;
    }
    let stored: Vec<usize> =
        state.packages.iter().filter(|(_, package)| is_settled(package)).map(|(n, _)| *n).collect();
    if choices.one_in(2)
        && let Some(n) = choices.pick(&stored)
    {
        let mut step = vec![("do", text("import again")), ("n", number(*n))];
        if choices.one_in(2) {
            step.push(("changed", Value::Bool(true)));
        }
        return Some(Value::map(step));
    }
    let of = choices.below(2);
    if !state.exists[of] && !offers.has("project-create") {
        return None;
    }
    let mut step = vec![("do", text("import")), ("n", number(state.next))];
    if of == 1 {
        step.push(("project", number(1)));
    }
    if choices.one_in(2) {
        step.push(("full", Value::Bool(true)));
    }
    step.push(("age", number(*choices.pick(&[60, 90, 120, 1200, 7200]).unwrap_or(&60))));
    if choices.one_in(4) && offers.has("L3") {
        step.push(("status", text("awaiting_review")));
        step.push(("review", text(*choices.pick(&["human", "agent"])?)));
    }
    if choices.one_in(2) {
        let unknown = map([("k", text("pm kept")), ("z", Value::array([number(1)]))]);
        step.push(("set", map([("/x-trust", unknown), ("/future_field", number(3))])));
    }
    Some(Value::map(step))
}

/// Whether nothing about a package is open.
fn is_settled(package: &Package) -> bool {
    package.status.len() == 1 && package.review.len() == 1 && package.variant.is_none()
}

/// A package that an import brings is stored as if it had been deposited.
pub(super) fn import(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.packages.contains_key(&n) || state.refused.contains(&n) {
        return None;
    }
    let of = of_project(given);
    let awaits = word(given, "status") == Some("awaiting_review");
    let needs = if state.exists[of] { vec!["import"] } else { vec!["import", "project-create"] };
    let package = Package {
        project: of,
        set: given.member("set").and_then(Value::as_map).unwrap_or_default().to_vec(),
        created: Age::with_fraction(age(given), ""),
        has_fraction: false,
        status: vec![if awaits { "awaiting_review" } else { "complete" }],
        review: vec![if awaits { word(given, "review").and_then(known).unwrap_or("human") } else { "none" }],
        moved: false,
        // Whether a deposit of a package that an import brought is a repetition is open.
        touched: true,
        owner: "a",
        noted: false,
        was_read: false,
        questions: Vec::new(),
        clashed: None,
        variant: None,
    };
    state.next = state.next.max(n + 1);
    state.exists[of] = true;
    state.packages.insert(n, package);
    let success = map([("min", number(200)), ("max", number(299))]);
    let expect = vec![at("AGENTIC-5.2-07", "/status", "within", success)];
    let with = vec![("records", Value::text(format!("${{p{n}}}\n")))];
    Some(Predicted {
        transition: if awaits { "import: a package that awaits review" } else { "import: a new package" },
        needs,
        bindings: vec![(name(n), body(given))],
        steps: vec![step("a", "import", with, expect)],
    })
}

pub(super) fn propose_fact(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    if !offers.has("fact-import") || !offers.has("L2") || !state.exists[of] {
        return None;
    }
    let mut step = vec![("do", text("import fact")), ("project", number(of)), ("age", number(6000))];
    step.push(("subject", text(*choices.pick(&["disk", "Disk", "shelf"])?)));
    step.push(("predicate", text(*choices.pick(&["status", "owner", "Status"])?)));
    step.push(("value", text(*choices.pick(&["1", "2", "97.0"])?)));
    Some(Value::map(step))
}

/// A fact of a pair without facts that an import brings is the current one, as if it had been asserted.
pub(super) fn import_fact(state: &mut State, given: &Move) -> Option<Predicted> {
    let key = key(given);
    if !state.exists[key.0] || state.facts.contains_key(&key) {
        return None;
    }
    let minutes = integer(given, "age").filter(|age| (30..20_000).contains(age)).unwrap_or(6000);
    let value = literal(word(given, "value").unwrap_or("1"));
    let row = Row { value: value.clone(), from: Moment::Given(minutes), to: None, extras: Vec::new() };
    let this = format!("i{}", state.moment());
    let set = map([
        ("/project_id", project(key.0)),
        ("/subject", literal(&key.1)),
        ("/predicate", literal(&key.2)),
        ("/value", value),
        ("/valid_from", spelled(minutes)),
        ("/created_at", spelled(minutes)),
    ]);
    state.facts.entry(key).or_default().replace(vec![Timeline::default().with(row)]);
    let success = map([("min", number(200)), ("max", number(299))]);
    let with = vec![("records", Value::text(format!("${{{this}}}\n")))];
    Some(Predicted {
        transition: "import: a fact",
        needs: vec!["fact-import"],
        bindings: vec![(this, map([("base", text("fact")), ("set", set)]))],
        steps: vec![step("a", "import", with, vec![at("AGENTIC-5.2-07", "/status", "within", success)])],
    })
}

/// An import of what is stored already changes nothing, whatever it has under that id (E109).
pub(super) fn import_again(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let package = state.packages.get_mut(&n).filter(|package| is_settled(package))?;
    // Whether a later deposit is a repetition may depend on what the import brought.
    package.touched = true;
    let is_changed = given.member("changed").is_some();
    let record = if is_changed { format!("c{n}") } else { name(n) };
    let changed = map([("base", text(name(n))), ("set", map([("/description", text("pm imported otherwise"))]))]);
    let answered = map([("min", number(100)), ("max", number(499))]);
    let expect = vec![at("AGENTIC-5.2-07", "/status", "within", answered)];
    let with = vec![("records", Value::text(format!("${{{record}}}\n")))];
    Some(Predicted {
        transition: match (is_changed, package.moved) {
            (true, _) => "import: other content of a stored package",
            (false, true) => "import: a package whose status changed",
            (false, false) => "import: a stored package",
        },
        needs: vec!["import"],
        bindings: if is_changed { vec![(record, changed)] } else { Vec::new() },
        steps: vec![step("a", "import", with, expect)],
    })
}

pub(super) fn propose_search(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    if !offers.has("search") || !state.packages.values().any(|package| package.project == of) {
        return None;
    }
    let mut step = vec![("do", text("search")), ("query", text(*choices.pick(QUERIES)?))];
    if of == 1 {
        step.push(("project", number(1)));
    }
    step.push(("limit", number(*choices.pick(LIMITS)?)));
    if choices.one_in(2) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// A search gives packages of its project, at most so many. Which are related to the query is open to the target.
pub(super) fn search(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    let in_project = |package: &Package| package.project == of;
    state.packages.values().find(|package| in_project(package))?;
    let limit = Some(small(given, "limit")).filter(|limit| LIMITS.contains(limit)).unwrap_or(5);
    let query = word(given, "query").filter(|query| QUERIES.contains(query)).unwrap_or(QUERIES[0]);
    let mut expect = vec![
        at("AGENTIC-10.2-06", "/status", "equals", number(200)),
        at("AGENTIC-8.2-16", "/packages", "length", map([("min", number(0)), ("max", number(limit))])),
        at("AGENTIC-8.2-12", "/packages", "each", Value::array([map([("valid-package", Value::Bool(true))])])),
    ];
    let ids = |numbers: Vec<usize>| map([("one-of", Value::array(numbers.into_iter().map(id)))]);
    let others: Vec<usize> =
        state.packages.iter().filter(|(_, package)| !in_project(package)).map(|(n, _)| *n).collect();
    if !others.is_empty() {
        expect.push(at("AGENTIC-8.2-14", "/ids", "none", ids(others)));
    }
    if !state.refused.is_empty() {
        expect.push(at("AGENTIC-8.1-03", "/ids", "none", ids(state.refused.iter().copied().collect())));
    }
    // Where a project has no more packages than a search gives, one with the words of the query is among them.
    let own: Vec<(&usize, &Package)> = state.packages.iter().filter(|(_, package)| in_project(package)).collect();
    let has_words = |package: &Package| {
        package.is_complete()
            && !package.noted
            && VOLCANO.iter().all(|(place, words)| package.given(place) == Some(words))
    };
    let wanted: Vec<usize> = own.iter().filter(|(_, package)| has_words(package)).map(|(n, _)| **n).collect();
    let finds = query == VOLCANO_WORDS && !wanted.is_empty() && own.len() <= limit && state.many_packages[of] == 0;
    if finds {
        expect.extend(wanted.iter().map(|n| at("AGENTIC-8.2-11", "/ids", "contains", id(*n))));
    }
    let with = vec![("project", project(of)), ("query", text(query)), ("limit", number(limit))];
    let mut sent = step(party(given), "pull-relevant", with, expect);
    if finds {
        sent.set_member("until", text("index"));
    }
    Some(Predicted {
        transition: if finds { "search: for the words of a package" } else { "search" },
        needs: if finds { vec!["search", "search-answers"] } else { vec!["search"] },
        bindings: Vec::new(),
        steps: vec![sent],
    })
}
