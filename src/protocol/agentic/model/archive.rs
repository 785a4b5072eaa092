//! Projects that are archived and restored (section 5.2, E36).

use super::deposits;
use super::expect::{at, covering, map, number, of_project, plain, project, small, step, text};
use super::package::{id, name};
use super::state::State;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// Where the time of archiving is read: the name in a move, the feature, the operation and the place in its answer.
const READS: &[(&str, &str, &str, &str)] = &[
    ("project", "project-get", "project-get", "/project/archived_at"),
    ("orient", "orient-archived", "orient", "/body/project/archived_at"),
];

pub(super) fn propose(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    if !state.exists[of] || !offers.has("archive") {
        return None;
    }
    let mut given = vec![("do", text("archive")), ("project", number(of))];
    let reads: Vec<&str> = READS.iter().filter(|read| offers.has(read.1)).map(|read| read.0).collect();
    if choices.one_in(2) {
        given.extend(choices.pick(&reads).map(|read| ("read", text(*read))));
        if state.exists == [true, true] && choices.one_in(2) {
            given.push(("both", Value::Bool(true)));
        }
    } else if offers.has("archived-deposits") && choices.one_in(2) {
        given.extend([("n", number(state.next)), ("full", Value::Bool(true))]);
    }
    Some(Value::map(given))
}

/// A project is archived and restored, after which everything is there as before, and a deposit that was accepted meanwhile.
pub(super) fn archive(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    if !state.exists[of] {
        return None;
    }
    let success = || map([("min", number(200)), ("max", number(299))]);
    let with = || vec![("project", project(of))];
    let one =
        |operation: &str| step("a", operation, with(), vec![at("AGENTIC-5.2-04", "/status", "within", success())]);
    let (mut archived, restored) = (one("project-archive"), one("project-restore"));
    let mut found = Predicted {
        transition: "archive and restore",
        needs: vec!["archive"],
        bindings: Vec::new(),
        steps: Vec::new(),
    };
    let read = given.member("read").and_then(Value::as_text);
    if let Some((_, feature, operation, place)) = READS.iter().find(|(name, ..)| Some(*name) == read) {
        found.needs.push(feature);
        let look = |project_of: usize, requirement: &str, expected: Value| {
            let expect = vec![covering(requirement, expected)];
            let mut look = step("a", operation, vec![("project", project(project_of))], expect);
            look.set_member("assume", Value::array([plain("/status", "equals", number(200))]));
            look
        };
        if given.member("both").is_some() {
            // The other project stays archived.
            if state.exists != [true, true] {
                return None;
            }
            let other = |operation: &str| {
                let expect = vec![at("AGENTIC-5.2-04", "/status", "within", success())];
                step("a", operation, vec![("project", project(1 - of))], expect)
            };
            found.transition = "archive and restore: beside another project";
            let is_archived = plain(place, "time", text("rfc3339-utc"));
            let looked = look(1 - of, "AGENTIC-5.2-03", is_archived);
            found.steps = vec![archived, other("project-archive"), restored, looked, other("project-restore")];
            return Some(found);
        }
        let moment = state.moment();
        let (from, to) = (format!("from{moment}"), format!("to{moment}"));
        let captures = [(from.as_str(), text("/span/from")), (to.as_str(), text("/span/to"))];
        archived.set_member("capture", Value::map(captures));
        let reference = |name: &str| text(format!("${{{name}}}"));
        let form = [("form", text("rfc3339-utc")), ("from", reference(&from)), ("to", reference(&to))];
        found.transition = "archive and restore: with the time of it";
        found.steps = vec![
            archived,
            look(of, "AGENTIC-5.2-03", plain(place, "time", map(form))),
            restored,
            look(of, "AGENTIC-5.2-04", plain(place, "absent", text("or-null"))),
        ];
    } else if given.member("n").is_some() {
        // Its answer is that of any deposit (E36).
        let deposited = deposits::deposit(state, given)?;
        found.transition = "archive and restore: with a deposit";
        found.needs.push("archived-deposits");
        found.bindings = deposited.bindings;
        let n = small(given, "n");
        let kept = vec![
            at("AGENTIC-8.1-16", "/status", "equals", number(200)),
            at("AGENTIC-8.1-16", "/package", "same-package", text(format!("${{{}}}", name(n)))),
        ];
        let pulled = step("a", "pull-specific", vec![("package_id", id(n))], kept);
        found.steps = std::iter::once(archived).chain(deposited.steps).chain([restored, pulled]).collect();
    } else {
        found.steps = vec![archived, restored];
    }
    Some(found)
}
