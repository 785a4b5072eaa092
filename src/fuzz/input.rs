//! Inputs: a seed and a list of edits, and the cases made from them.
//!
//! A case is written as a suite file and read back, so that the campaign runs exactly what its files contain.

use std::sync::Arc;

use super::seeds::Seed;
use super::yaml;
use crate::plan::{self, Knowledge};
use crate::source::{Node, Source};
use crate::suite::{Case, read_suite};
use crate::value::Value;

/// Edits of the message of a seed, as a suite writes them.
pub(super) type Edits = Vec<Value>;

/// The property that a case tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The target rejects the message, as every reading requires.
    Refusal,
    /// The message is answered, whatever the answer, and the target still answers afterwards.
    Survival,
}

/// Which steps run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape<'a> {
    /// The seed as it is.
    Seed,
    /// The seed with its edits, and any answer.
    Trial(&'a Edits),
    /// A complete case.
    Case(Kind, &'a Edits),
    /// Only the probe whether the target still answers.
    Alive,
}

/// Name and description of a case.
pub(super) struct Title<'a> {
    /// Name of its suite, behind the slug.
    pub(super) suite: &'a str,
    /// Id of the case in it.
    pub(super) case: &'a str,
    /// One sentence.
    pub(super) about: &'a str,
    /// The requirement that it decides.
    pub(super) requirement: &'a str,
}

/// The file of a suite with one case.
pub(super) fn text(knowledge: &Knowledge, seed: &Seed, shape: Shape<'_>, title: &Title<'_>) -> String {
    let member = |name: &str| {
        let fuzz = knowledge.manifest.fuzz.as_ref();
        fuzz.and_then(|fuzz| fuzz.node.member(name)).map_or(Value::Null, Node::to_value)
    };
    let mut case = vec![
        ("case", Value::text(title.case)),
        ("about", Value::text(title.about)),
        ("covers", Value::array([Value::text(title.requirement)])),
    ];
    if seed.needs.as_array().is_some_and(|needs| !needs.is_empty()) {
        case.push(("needs", seed.needs.clone()));
    }
    // The property holds whatever else the target does wrong.
    case.push(("counts-without-prerequisites", Value::Bool(true)));
    case.push(("runs-on", Value::array([Value::text(seed.transport.name())])));
    let mut steps = seed.steps.clone();
    let last = steps.len().saturating_sub(1);
    let mut with = |name: &str, value: Value| {
        if let Some(step) = steps.get_mut(last) {
            step.set_member(name, value);
        }
    };
    match shape {
        Shape::Seed => {}
        Shape::Trial(edits) => {
            with("edit", Value::Array(edits.clone().into()));
            with("expect", member("answered"));
        }
        Shape::Case(Kind::Refusal, edits) => {
            with("edit", Value::Array(edits.clone().into()));
            let accepted = member("accepted");
            let not = accepted.as_array().unwrap_or_default().iter();
            with("expect", Value::Array(not.map(|one| Value::map([("not", one.clone())])).collect()));
        }
        Shape::Case(Kind::Survival, edits) => {
            with("edit", Value::Array(edits.clone().into()));
            if !seed.transport.is_channel() {
                // On a connection that stays open, silence or a close may be the answer.
                with("must-answer", Value::Bool(true));
            }
            with("expect", member("answered"));
            steps.extend(alive(&member("alive")));
            case.push(("twin-first", Value::Bool(true)));
        }
        Shape::Alive => steps = alive(&member("alive")),
    }
    if shape != Shape::Alive && seed.bindings.as_map().is_some_and(|bindings| !bindings.is_empty()) {
        case.push(("let", seed.bindings.clone()));
    }
    case.push(("steps", Value::Array(steps.into())));
    let slug = knowledge.protocol.slug();
    yaml::write(&Value::map([
        ("suite", Value::text(format!("{slug}/{}", title.suite))),
        ("cases", Value::array([Value::map(case)])),
    ]))
}

fn alive(steps: &Value) -> Vec<Value> {
    let answering = |step: &Value| {
        let mut step = step.clone();
        step.set_member("must-answer", Value::Bool(true));
        step
    };
    steps.as_array().unwrap_or_default().iter().map(answering).collect()
}

/// The single case of a file, if it can be built. A case that is to be written must be valid in a suite.
pub(super) fn read(knowledge: &Knowledge, text: &str, shape: Shape<'_>) -> Option<Case> {
    let source = Arc::new(Source { name: "fuzz.yaml".to_owned(), text: text.to_owned().into() });
    let case = read_suite(&source).ok()?.cases.pop()?;
    let sound = !matches!(shape, Shape::Case(..)) || plan::mistakes(knowledge, &case).is_empty();
    sound.then_some(case)
}

/// The effect of an edit without its values: findings that differ only in values are one.
pub(super) fn skeleton(edits: &Edits) -> String {
    let mut parts: Vec<String> = edits
        .iter()
        .filter_map(|edit| {
            let (key, value) = edit.as_map()?.iter().find(|(key, _)| {
                !["stage", "to", "json", "at", "bit"].iter().any(|beside| key.as_text() == Some(beside))
            })?;
            let key = key.as_text()?;
            let place = match (key, value.as_text()) {
                ("remove" | "set" | "rename" | "duplicate" | "header", Some(place)) => {
                    let tokens = place.split('/').map(|token| if token.parse::<usize>().is_ok() { "*" } else { token });
                    tokens.collect::<Vec<_>>().join("/")
                }
                _ => String::new(),
            };
            Some(format!("{key} {place}"))
        })
        .collect();
    parts.sort();
    parts.dedup();
    parts.join(", ")
}
