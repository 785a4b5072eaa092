//! Deposits and pulls of single packages (sections 5.3, 6, 8.1, 8.2 and 11.2).

use super::expect::{Alternative, any_of, at, map, number, of_project, party, plain, project, small, step, text, word};
use super::instant::{Age, FRACTIONS, spelled_with_fraction};
use super::package::{Package, id, known, name, sent, whole};
use super::state::{Area, State, prefers};
use super::values::{FLAWS, ID_OF_PROJECT, NO_PACKAGES, VOLCANO, members};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The binding of a new package, from the arguments of its move.
pub(super) fn body(step: &Move) -> Value {
    let base = if step.member("full").is_some() { "lone" } else { "lone_min" };
    let minutes = age(step);
    let fraction = word(step, "fraction").unwrap_or_default();
    let mut set = vec![
        (text("/project_id"), project(of_project(step))),
        (text("/created_at"), spelled_with_fraction(minutes, fraction)),
    ];
    if let Some(status) = word(step, "status").and_then(known) {
        set.push((text("/status"), text(status)));
        set.push((text("/review_type"), text(word(step, "review").and_then(known).unwrap_or("human"))));
    }
    set.extend(step.member("set").and_then(Value::as_map).unwrap_or_default().iter().cloned());
    let mut built = vec![("base", text(base)), ("set", Value::Map(Vec::new().into()))];
    match (step.member("parent"), base) {
        (Some(parent), _) => {
            let parent = small(&map([("n", parent.clone())]), "n");
            set.push((text("/parent_package_id"), id(parent)));
        }
        (None, "lone") => built.push(("remove", Value::array([text("/parent_package_id")]))),
        (None, _) => {}
    }
    built[1].1 = Value::Map(set.into());
    Value::map(built)
}

/// The age of a new package in minutes [default: an hour].
pub(super) fn age(step: &Move) -> i128 {
    super::expect::integer(step, "age").filter(|age| (1..20_000).contains(age)).unwrap_or(60)
}

pub(super) fn propose_deposit(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.has("L1") {
        return None;
    }
    let mut step = vec![("do", text("deposit")), ("n", number(state.next))];
    let in_other = choices.one_in(4);
    if in_other {
        step.push(("project", number(1)));
    }
    if choices.one_in(2) {
        step.push(("full", Value::Bool(true)));
    }
    // Few ages, so that instants are often equal or close.
    step.push(("age", number(*choices.pick(&[60, 60, 90, 120, 600, 1200, 2880, 7200, 12_960]).unwrap_or(&60))));
    if choices.one_in(3) {
        step.push(("fraction", text(choices.pick(FRACTIONS).map_or("", |(text, _)| text))));
    }
    // Lists are exact only where every package is complete.
    if choices.one_in(if prefers(choices, Area::Packages) { 24 } else { 4 }) {
        step.push(("status", text(*choices.pick(&["draft", "draft", "awaiting_review"]).unwrap_or(&"draft"))));
        step.push(("review", text(*choices.pick(&["human", "agent"]).unwrap_or(&"human"))));
    }
    let project = usize::from(in_other);
    let kin: Vec<usize> =
        state.packages.iter().filter(|(_, p)| p.project == project && p.is_complete()).map(|(n, _)| *n).collect();
    if choices.one_in(4)
        && let Some(parent) = choices.pick(&kin)
    {
        step.push(("parent", number(*parent)));
    }
    let set =
        if choices.one_in(16) { VOLCANO.map(|(place, words)| (place, text(words))).to_vec() } else { members(choices) };
    if !set.is_empty() {
        step.push(("set", Value::map(set)));
    }
    if choices.one_in(3) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// A new package is accepted, returned and hashed.
pub(super) fn deposit(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.packages.contains_key(&n) || state.refused.contains(&n) {
        return None;
    }
    if given.member("parent").is_some() {
        // A parent that is not stored may be refused (E78).
        state.packages.get(&small(given, "parent")).filter(|parent| parent.project == of_project(given))?;
    }
    let has_id_of_project = |set: Option<&Value>| {
        set.and_then(|set| set.member("/package_id")).and_then(Value::as_text) == Some(ID_OF_PROJECT)
    };
    if has_id_of_project(given.member("set"))
        && state.packages.values().any(|package| package.given("/package_id") == Some(ID_OF_PROJECT))
    {
        return None;
    }
    let status = word(given, "status").and_then(known).unwrap_or("complete");
    let review = if status == "complete" { "none" } else { word(given, "review").and_then(known).unwrap_or("human") };
    let fraction = word(given, "fraction").unwrap_or_default();
    let questions = given.member("set").and_then(|set| set.member("/open_questions")).and_then(Value::as_array);
    let package = Package {
        project: of_project(given),
        set: given.member("set").and_then(Value::as_map).unwrap_or_default().to_vec(),
        created: Age::with_fraction(age(given), fraction),
        has_fraction: !fraction.is_empty(),
        status: vec![status],
        review: vec![review],
        moved: false,
        touched: false,
        owner: party(given),
        noted: false,
        was_read: false,
        questions: questions.unwrap_or_default().to_vec(),
        clashed: None,
        variant: None,
    };
    state.next = state.next.max(n + 1);
    state.exists[package.project] = true;
    let this = text(format!("${{p{n}}}"));
    let accepted = match status {
        "draft" => "AGENTIC-5.3-04",
        "awaiting_review" => "AGENTIC-5.3-05",
        _ => "AGENTIC-6-03",
    };
    let expect = vec![
        at(accepted, "/status", "one-of", Value::array([number(200), number(201)])),
        at("AGENTIC-8.1-09", "/package", "same-package", this.clone()),
        at("AGENTIC-8.1-11", "", "content-hash", this.clone()),
    ];
    let with = vec![("project", project(package.project)), ("package", this)];
    let transition = match (status, given.member("parent")) {
        ("draft", _) => "deposit: a draft",
        ("awaiting_review", _) => "deposit: a package that awaits review",
        (_, Some(_)) => "deposit: with a parent",
        _ => "deposit: a complete package",
    };
    state.packages.insert(n, package);
    Some(Predicted {
        transition,
        needs: Vec::new(),
        bindings: bindings(given, n),
        steps: vec![step(party(given), "deposit", with, expect)],
    })
}

/// The bindings of a package.
fn bindings(given: &Move, n: usize) -> Vec<(String, Value)> {
    vec![(name(n), body(given))]
}

pub(super) fn propose_many(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    let possible = offers.has("L1") && state.many_packages == [0, 0] && choices.one_in(6);
    possible.then(|| Value::map([("do", text("many packages")), ("project", number(of)), ("count", number(60))]))
}

/// Many packages of one instant before that of any other package.
pub(super) fn many(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    let count = small(given, "count").clamp(1, 150);
    if state.many_packages[of] > 0 {
        return None;
    }
    state.many_packages[of] = count;
    state.exists[of] = true;
    let set = map([
        ("/package_id", text(format!("${{stem{of}}}${{item}}"))),
        ("/project_id", project(of)),
        ("/created_at", spelled_with_fraction(OLDEST, "")),
        ("/title", text("pm one of many ${item}")),
    ]);
    let with = vec![("project", project(of)), ("package", map([("base", text("lone_min")), ("set", set)]))];
    let expect = vec![at("AGENTIC-11.2-01", "/status", "one-of", Value::array([number(200), number(201)]))];
    let mut sent = step(party(given), "deposit", with, expect);
    sent.set_member("for", Value::array((0..count).map(number)));
    Some(Predicted {
        transition: "deposit: many packages",
        needs: Vec::new(),
        bindings: vec![(format!("stem{of}"), text("pkg_${hex 28}"))],
        steps: vec![sent],
    })
}

/// The age in minutes of the packages of [`many`], which no other package has.
const OLDEST: i128 = 13_500;

pub(super) fn propose_again(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.has("L1") {
        return None;
    }
    let numbers: Vec<usize> = state.packages.keys().copied().collect();
    let n = *choices.pick(&numbers)?;
    let mut step = vec![("do", text("again")), ("n", number(n))];
    match choices.below(3) {
        0 => step.push(("layout", text("reversed"))),
        1 if !state.packages[&n].moved => {
            let package = &state.packages[&n];
            let again = package.clashed.clone().filter(|_| choices.one_in(2));
            let counted = package.set.iter().any(|(place, _)| place.as_text() == Some(COUNTED)) && choices.one_in(2);
            let like = counted.then(|| map([(COUNTED, if choices.one_in(2) { text("1") } else { Value::Bool(true) })]));
            step.push(("set", again.or(like).or_else(|| other_content(choices))?));
        }
        _ => {}
    }
    Some(Value::map(step))
}

/// A member that packages may have with the number 1.
const COUNTED: &str = "/x-count";

/// A member with a value that no base has.
pub(super) fn other_content(choices: &mut dyn Choices) -> Option<Value> {
    let changes = [
        ("/title", text("pm changed")),
        ("/description", text("pm changed")),
        ("/x-changed", Value::Bool(true)),
        ("/created_by/type", text("script")),
        ("/significance", number(9)),
        ("/tags", Value::array([text("pm-changed")])),
        ("/x-changed", Value::array([])),
        ("/x-changed", text("")),
        ("/x-changed", map([])),
        (COUNTED, text("1")),
        (COUNTED, Value::Bool(true)),
    ];
    Some(Value::map([choices.pick(&changes)?.clone()]))
}

/// A package is deposited again: the same content succeeds, other content is a clash (sections 8.1 and 11.2, E20, E21).
pub(super) fn again(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let package = state.packages.get_mut(&n)?;
    let this = sent(n, package.variant.as_ref());
    let set = given.member("set").filter(|set| set.as_map().is_some_and(|set| !set.is_empty()));
    let layout = word(given, "layout");
    let (transition, sent, expect) = if let Some(set) = set {
        if package.moved || package.touched || package.variant.is_some() || !changes(package, set) {
            return None;
        }
        let expect = vec![at("AGENTIC-11.2-05", "/status", "equals", number(409))];
        let transition = if package.clashed.as_ref() == Some(set) {
            "deposit again: the same other content"
        } else {
            "deposit again: other content"
        };
        package.clashed = Some(set.clone());
        (transition, map([("base", text(name(n))), ("set", set.clone())]), expect)
    } else if package.moved || package.touched {
        // Success or a clash, but never a change (E21).
        let allowed = Value::array([number(200), number(201), number(409)]);
        ("deposit again: after its status changed", this, vec![at("AGENTIC-11.2-03", "/status", "one-of", allowed)])
    } else {
        let (transition, requirement) = match layout {
            Some(_) => ("deposit again: the same content in another order", "AGENTIC-11.2-04"),
            None => ("deposit again: the same content", "AGENTIC-11.2-03"),
        };
        let expect = vec![
            at(requirement, "/status", "one-of", Value::array([number(200), number(201)])),
            at("AGENTIC-11.2-03", "/package", "same-package", this.clone()),
        ];
        (transition, this, expect)
    };
    let with = vec![("project", project(package.project)), ("package", sent)];
    let mut sent = step(package.owner, "deposit", with, expect);
    if layout.is_some() {
        sent.set_member("layout", text("reversed"));
    }
    Some(Predicted { transition, needs: Vec::new(), bindings: Vec::new(), steps: vec![sent] })
}

/// Whether members certainly differ from those of a package. No base has one of the values of [`other_content`].
pub(super) fn changes(package: &Package, set: &Value) -> bool {
    set.as_map().unwrap_or_default().iter().all(|(place, value)| {
        // An unknown member has no default.
        let is_unknown = place.as_text().is_some_and(|place| place.starts_with("/x-"));
        let is_empty = !is_unknown && (value.as_array().is_some_and(<[_]>::is_empty) || value.as_text() == Some(""));
        let is_known = package.set.iter().any(|(known, given)| known == place && given.same_as(value));
        // A default that is written out may be the same content (E21).
        !is_empty && !is_known && *value != Value::Integer(5)
    })
}

pub(super) fn propose_invalid(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !offers.has("L1") {
        return None;
    }
    if choices.one_in(12) {
        let (kind, ..) = choices.pick(NO_PACKAGES)?;
        return Some(Value::map([("do", text("no package")), ("kind", text(*kind))]));
    }
    let (flaw, ..) = choices.pick(FLAWS)?;
    let mut step = vec![("do", text("invalid")), ("n", number(state.next)), ("flaw", text(*flaw))];
    if choices.one_in(3) {
        step.push(("project", number(1)));
    }
    if choices.one_in(2) {
        step.push(("full", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// An invalid package is refused, and not stored.
pub(super) fn invalid(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.packages.contains_key(&n) || state.refused.contains(&n) {
        return None;
    }
    let (_, place, value, requirement) = FLAWS.iter().find(|(name, ..)| Some(*name) == word(given, "flaw"))?;
    state.refused.insert(n);
    state.next = state.next.max(n + 1);
    let flawed = match value() {
        Some(value) => map([("base", text(name(n))), ("set", Value::map([(*place, value)]))]),
        None => map([("base", text(name(n))), ("remove", Value::array([text(*place)]))]),
    };
    let with = vec![("project", project(of_project(given))), ("package", flawed)];
    let expect = vec![at(requirement, "/status", "equals", number(400))];
    Some(Predicted {
        transition: "deposit: an invalid package",
        needs: Vec::new(),
        bindings: bindings(given, n),
        steps: vec![step(party(given), "deposit", with, expect)],
    })
}

/// JSON that is no package is refused.
pub(super) fn no_package(state: &State, given: &Move) -> Option<Predicted> {
    // A refused first write need not make a project.
    if !state.exists[0] {
        return None;
    }
    let (_, value, requirement) = NO_PACKAGES.iter().find(|(kind, ..)| Some(*kind) == word(given, "kind"))?;
    let expect = vec![at(requirement, "/status", "equals", number(400))];
    let mut sent = step(party(given), "deposit", vec![("package", map([("base", text("min"))]))], expect);
    sent.set_member("edit", Value::array([map([("replace-message", value())])]));
    Some(Predicted { transition: "deposit: no package", needs: Vec::new(), bindings: Vec::new(), steps: vec![sent] })
}

pub(super) fn propose_pull(state: &State, _: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    // A complete package that no other party read is not yet certainly frozen (E12).
    let unread: Vec<usize> =
        state.packages.iter().filter(|(_, p)| p.is_complete() && !p.was_read).map(|(n, _)| *n).collect();
    if choices.one_in(2)
        && let Some(n) = choices.pick(&unread)
    {
        let reader = if state.packages[n].owner == "a" { "b" } else { "a" };
        return Some(Value::map([("do", text("pull")), ("n", number(*n)), ("as", text(reader))]));
    }
    let n = choices.below(state.next + 1);
    let mut step = vec![("do", text("pull")), ("n", number(n))];
    if choices.one_in(6) {
        step.push(("near", text(*choices.pick(&["x", "%", "_", " "])?)));
    }
    if choices.one_in(2) {
        step.push(("as", text("b")));
    }
    Some(Value::map(step))
}

/// A package is pulled by its id, as it has to be; an id that names none gives 404 or null (E26).
pub(super) fn pull(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let near = word(given, "near").filter(|near| !near.is_empty());
    let is_refused = state.refused.contains(&n);
    let found = state.packages.get_mut(&n);
    let unknown = |requirement: &str| {
        any_of(
            requirement,
            vec![
                Alternative::new("not found", vec![plain("/status", "equals", number(404))]),
                Alternative {
                    reading: "null instead of a package".to_owned(),
                    tolerated: true,
                    all: vec![plain("/status", "equals", number(200)), plain("/body", "equals", Value::Null)],
                },
            ],
        )
    };
    let mut bindings = Vec::new();
    let (transition, asked, party, expect) = match (found, near) {
        (Some(_), Some(near)) => {
            let asked = text(format!("${{p{n}/package_id}}{near}"));
            ("pull: an id like that of another package", asked, party(given), unknown("AGENTIC-8.2-10"))
        }
        (Some(package), None) => {
            let party = if package.is_public() { party(given) } else { package.owner };
            package.was_read |= package.is_complete() && party != package.owner;
            let read = if package.is_public() { "AGENTIC-8.2-07" } else { "AGENTIC-5.3-01" };
            let mut expect = vec![at(read, "/status", "equals", number(200))];
            expect.extend(whole(n, package, "AGENTIC-6.6-16"));
            let transition = if package.moved { "pull: a package after its status changed" } else { "pull: a package" };
            (transition, id(n), party, expect)
        }
        (None, _) if is_refused => ("pull: a refused package", id(n), party(given), unknown("AGENTIC-8.1-03")),
        (None, _) => {
            bindings.push((format!("u{n}"), text("pkg_${hex 32}")));
            ("pull: an unknown id", text(format!("${{u{n}}}")), party(given), unknown("AGENTIC-8.2-08"))
        }
    };
    let steps = vec![step(party, "pull-specific", vec![("package_id", asked)], expect)];
    Some(Predicted { transition, needs: Vec::new(), bindings, steps })
}

/// Every package, refused or not, is pulled.
pub(super) fn read_back(state: &State) -> Vec<Move> {
    let numbers = state.packages.keys().chain(&state.refused);
    let pull = |n: &usize| Value::map([("do", text("pull")), ("n", number(*n)), ("as", text("b"))]);
    numbers.map(pull).collect()
}
