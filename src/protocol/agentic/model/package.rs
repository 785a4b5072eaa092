//! A package that was accepted: its possible states, and how it has to come back (sections 5.3, 6 and 6.6).

use super::expect::{Alternative, any_of, map, plain, text};
use super::instant::Age;
use crate::value::Value;

/// A package that was accepted.
#[derive(Clone)]
pub(super) struct Package {
    pub(super) project: usize,
    /// The members that its move gives, by their places.
    pub(super) set: Vec<(Value, Value)>,
    /// Its created_at.
    pub(super) created: Age,
    /// Whether created_at has a fraction, so that text order and time order may differ.
    pub(super) has_fraction: bool,
    /// Its possible states: several where a move may have been refused.
    pub(super) status: Vec<&'static str>,
    /// Its possible reviewers.
    pub(super) review: Vec<&'static str>,
    /// Whether it may have changed since the deposit.
    pub(super) moved: bool,
    /// Whether a move to its own state was asked for, after which it may count as changed (E21).
    pub(super) touched: bool,
    /// The party that deposited it: a draft may be hidden from others (E55).
    pub(super) owner: &'static str,
    /// Whether a note came with a flag, which may be kept in an `x-` member (E72).
    pub(super) noted: bool,
    /// Whether another party read it when it was complete (E12).
    pub(super) was_read: bool,
    /// The texts of its open questions that the move gives.
    pub(super) questions: Vec<Value>,
    /// Other content that was refused under its id.
    pub(super) clashed: Option<Value>,
    /// Places and values in which it differs from its binding, if any: one of several packages with one id was accepted.
    pub(super) variant: Option<Value>,
}

impl Package {
    /// Whether it is certainly complete.
    pub(super) fn is_complete(&self) -> bool {
        self.status == ["complete"]
    }

    /// Whether a member that its move gives is null, or may have one that is.
    pub(super) fn has_null(&self) -> bool {
        self.set.iter().any(|(_, value)| crate::wire::show(value).contains("null"))
    }

    /// The title that its move gives, if it has not that of its base.
    pub(super) fn title(&self) -> Option<&str> {
        self.given("/title")
    }

    /// The text that its move gives a member.
    pub(super) fn given(&self, place: &str) -> Option<&str> {
        self.set.iter().find(|(known, _)| known.as_text() == Some(place)).and_then(|(_, value)| value.as_text())
    }

    /// The matcher that compares it.
    pub(super) fn comparison(&self) -> &'static str {
        if self.noted { "includes" } else { "same-package" }
    }

    /// Whether it is certainly not a draft, so that every party sees it.
    pub(super) fn is_public(&self) -> bool {
        !self.status.contains(&"draft")
    }
}

/// The binding of a package.
pub(super) fn name(number: usize) -> String {
    format!("p{number}")
}

/// The id of a package.
pub(super) fn id(number: usize) -> Value {
    text(format!("${{p{number}/package_id}}"))
}

/// A package as it was sent.
pub(super) fn sent(number: usize, variant: Option<&Value>) -> Value {
    match variant {
        None => text(format!("${{p{number}}}")),
        Some(set) => map([("base", text(name(number))), ("set", set.clone())]),
    }
}

/// A package as it has to come back, for each possible state.
pub(super) fn shapes(number: usize, package: &Package) -> Vec<Value> {
    if !package.moved {
        return vec![sent(number, package.variant.as_ref())];
    }
    let both = |status: &&'static str| {
        let reviews = package.review.clone();
        let status = *status;
        reviews.into_iter().map(move |review| {
            let mut set = package.variant.clone().unwrap_or_else(|| map([]));
            set.set_member("/status", text(status));
            set.set_member("/review_type", text(review));
            map([("base", text(name(number))), ("set", set)])
        })
    };
    package.status.iter().flat_map(both).collect()
}

/// Expects a package, in one of its possible states, at a place of an answer.
pub(super) fn same(number: usize, package: &Package, place: &str, requirement: &str) -> Vec<Value> {
    let alternative = |shape: Value| {
        let reading = format!("it is {}", crate::wire::show(shape.member("set").unwrap_or(&Value::Null)));
        Alternative::new(&reading, vec![plain(place, package.comparison(), shape)])
    };
    any_of(requirement, shapes(number, package).into_iter().map(alternative).collect())
}

/// Expects a package as the answer, and its hash if the answer has one.
pub(super) fn whole(number: usize, package: &Package, requirement: &str) -> Vec<Value> {
    let hash = |of: Value| plain("", "content-hash", map([("of", of), ("if-there", Value::Bool(true))]));
    let mut found = same(number, package, "/package", requirement);
    if package.noted {
        return found;
    }
    let alternative = |shape: Value| Alternative::new("the hash of the package as it is", vec![hash(shape)]);
    let mut hashes: Vec<Alternative> = shapes(number, package).into_iter().map(alternative).collect();
    if package.moved {
        // After a transition the hash of the deposit is tolerated (E11).
        hashes.push(Alternative {
            reading: "the hash of the deposit".to_owned(),
            tolerated: true,
            all: vec![hash(sent(number, package.variant.as_ref()))],
        });
    }
    found.extend(any_of(if package.moved { "AGENTIC-6.6-17" } else { "AGENTIC-6.6-10" }, hashes));
    found
}

/// A status or reviewer by its name.
pub(super) fn known(name: &str) -> Option<&'static str> {
    ["draft", "awaiting_review", "revision_requested", "complete", "none", "human", "agent"]
        .into_iter()
        .find(|known| *known == name)
}
