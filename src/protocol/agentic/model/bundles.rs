//! What a target shows of a project besides its lists: digest, sessions, and what it declares about itself (sections 5.5, 8.4
//! and 11.5).

use super::expect::{
    Alternative, any_of, at, map, number, of_project, one_of_readings, party, plain, project, step, text,
};
use super::package::{Package, id, name};
use super::state::State;
use super::values::ID_OF_PROJECT;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The age in minutes up to which a package is recent under every reading of the window of a digest.
const RECENT: i128 = 120;

/// Most packages of a project whose digest has to mention each of them: a digest may be a selection (E53).
const MENTIONED: usize = 2;

pub(super) fn propose_digest(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let of = choices.below(2);
    let possible = state.exists[of] && offers.has("orchestrate");
    possible.then(|| Value::map([("do", text("digest")), ("project", number(of))]))
}

/// The digest of a project names its recent packages, and nothing of another project. Where they stand is open (E53).
pub(super) fn digest(state: &mut State, given: &Move) -> Option<Predicted> {
    let of = of_project(given);
    if !state.exists[of] {
        return None;
    }
    let (own, others): (Vec<_>, Vec<_>) = state.packages.iter().partition(|(_, package)| package.project == of);
    let mut expect = vec![
        at("AGENTIC-8.4-01", "/status", "equals", number(200)),
        at("AGENTIC-8.4-01", "/body", "type", text("object")),
    ];
    let is_named = |package: &Package| {
        package.is_complete() && package.created.is_within_minutes(RECENT) && package.title().is_none()
    };
    let mut waits = false;
    if own.len() <= MENTIONED && state.many_packages[of] == 0 {
        for (n, _) in own.iter().filter(|(_, package)| is_named(package)) {
            let has = |what: Value| plain("/body", "contains-text", Value::array([what]));
            let title = text(format!("${{{}/title}}", name(**n)));
            expect.extend(any_of(
                "AGENTIC-8.4-02",
                vec![
                    Alternative::new("the digest has the id", vec![has(id(**n))]),
                    Alternative::new("the digest has the title", vec![has(title)]),
                ],
            ));
            waits = true;
        }
    }
    // One that has the id of the project stands in the digest as that.
    let is_foreign = |package: &Package| package.given("/package_id") != Some(ID_OF_PROJECT);
    let foreign: Vec<Value> = others.iter().filter(|(_, package)| is_foreign(package)).map(|(n, _)| id(**n)).collect();
    if !foreign.is_empty() {
        let none = map([("none", Value::Array(foreign.into()))]);
        expect.push(at("AGENTIC-8.4-08", "/body", "contains-text", none));
    }
    let mut sent = step(party(given), "orchestrate", vec![("project", project(of))], expect);
    if waits {
        sent.set_member("until", text("index"));
    }
    Some(Predicted { transition: "digest", needs: vec!["orchestrate"], bindings: Vec::new(), steps: vec![sent] })
}

pub(super) fn propose_sessions(state: &State, offers: &dyn Offers, _: &mut dyn Choices) -> Option<Move> {
    let possible = state.packages.values().any(|package| package.project == 0) && offers.has("sessions");
    possible.then(|| Value::map([("do", text("sessions"))]))
}

/// Each listed session has the members of section 5.5, and only packages of its project. Which sessions there are is open (E71).
pub(super) fn sessions(state: &mut State, given: &Move) -> Option<Predicted> {
    let own: Vec<Value> =
        state.packages.iter().filter(|(_, package)| package.project == 0).map(|(n, _)| id(*n)).collect();
    let each = |requirement: &str, all: Vec<Value>| at(requirement, "/sessions", "each", Value::Array(all.into()));
    let some_text =
        |place: &str| vec![plain(place, "type", text("string")), plain(place, "length", map([("min", number(1))]))];
    let time = |place: &str| plain(place, "time", text("rfc3339-utc"));
    let or_nothing = |nothing: &str, place: &str, something: &str, matched: Value| {
        vec![one_of_readings(vec![
            Alternative::new(nothing, vec![plain(place, "absent", text("or-null"))]),
            Alternative::new(something, vec![matched]),
        ])]
    };
    let is_text = plain("/callsign", "type", text("string"));
    let listed = plain("/packages_deposited", "each", Value::array([map([("one-of", Value::Array(own.into()))])]));
    let of_project = one_of_readings(vec![
        Alternative::new("it deposited nothing", vec![plain("/packages_deposited", "length", number(0))]),
        Alternative::new("ids of packages of the project", vec![listed]),
    ]);
    let kinds = Value::array(["human", "agent", "script"].map(text));
    let expect = vec![
        each("AGENTIC-5.5-03", some_text("/session_id")),
        each("AGENTIC-5.5-04", vec![plain("/project_id", "equals", project(0))]),
        each("AGENTIC-5.5-05", some_text("/actor_id")),
        each("AGENTIC-5.5-06", vec![plain("/actor_type", "one-of", kinds)]),
        each("AGENTIC-5.5-07", or_nothing("no callsign", "/callsign", "a callsign", is_text)),
        each("AGENTIC-5.5-08", vec![time("/started_at")]),
        each("AGENTIC-5.5-09", or_nothing("it is active", "/ended_at", "it is over", time("/ended_at"))),
        each("AGENTIC-5.5-10", vec![plain("/packages_deposited", "type", text("array")), of_project]),
    ];
    let steps = vec![step(party(given), "list-sessions", Vec::new(), expect)];
    Some(Predicted { transition: "sessions", needs: vec!["sessions"], bindings: Vec::new(), steps })
}

pub(super) fn propose_describe(_: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let possible = offers.has("descriptor") && choices.one_in(4);
    possible.then(|| Value::map([("do", text("describe"))]))
}

/// What a target declares about itself has the form of section 11.5, whatever happened before.
pub(super) fn describe() -> Predicted {
    let capabilities = "/body/capabilities";
    let booleans = Value::array([plain("", "type", text("boolean"))]);
    let of_booleans = |matched: Value| vec![plain(capabilities, "type", text("object")), matched];
    let levels = Value::array(["L0", "L1", "L2", "L3"].map(text));
    let mut expect = vec![
        at("AGENTIC-11.5-01", "/status", "equals", number(200)),
        at("AGENTIC-11.5-02", "/body/protocol_version", "equals", text("0.1")),
        at("AGENTIC-11.5-03", "/body/conformance_level", "one-of", levels),
    ];
    expect.extend(any_of(
        "AGENTIC-11.5-04",
        vec![
            Alternative::new("each is true or false", of_booleans(plain(capabilities, "each", booleans))),
            Alternative::new("no capabilities", of_booleans(plain(capabilities, "length", number(0)))),
            Alternative {
                reading: "the descriptor has no capabilities".to_owned(),
                tolerated: true,
                all: vec![plain(capabilities, "absent", text("or-null"))],
            },
        ],
    ));
    Predicted {
        transition: "describe",
        needs: vec!["descriptor"],
        bindings: Vec::new(),
        steps: vec![step("a", "describe", Vec::new(), expect)],
    }
}
