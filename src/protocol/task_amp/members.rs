//! Members of objects: what each must be, and the requirement that another value breaks.

use crate::value::Value;
use crate::wire::show;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The requirement.
    pub requirement: &'static str,
    /// The place in the message, as a JSON Pointer.
    pub place: String,
    /// The defect, fit to follow the words "the message has".
    pub because: String,
}

/// The value that a member must have.
pub(super) enum Kind {
    /// A string.
    Text,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction; a zero fraction is tolerated (E07).
    Whole,
    /// A number.
    Number,
    /// A number without a fraction, or null (E49).
    WholeOrNull,
    /// A boolean, or null (E47).
    BooleanOrNull,
    /// A string, or null (E59).
    TextOrNull,
    /// An object with any members.
    Object,
    /// An array of strings.
    Texts,
    /// An array of true, false and null (E33).
    Ternaries,
    /// An object with these members.
    Members(&'static [Rule]),
    /// An array of objects with these members.
    Elements(&'static [Rule]),
}

/// A member: its name, the requirement that it is present (empty if it is optional), the requirement on its value, and its
/// kind.
pub(super) struct Rule {
    /// The name.
    pub name: &'static str,
    /// The requirement that is broken where it is missing or null; empty if it is optional.
    pub missing: &'static str,
    /// The requirement that is broken by a value of another kind.
    pub wrong: &'static str,
    /// What it must be.
    pub kind: Kind,
}

/// A required member.
pub(super) const fn must(name: &'static str, missing: &'static str, wrong: &'static str, kind: Kind) -> Rule {
    Rule { name, missing, wrong, kind }
}

/// An optional member. Null in its place is tolerated (E72).
pub(super) const fn may(name: &'static str, wrong: &'static str, kind: Kind) -> Rule {
    Rule { name, missing: "", wrong, kind }
}

/// A violation at a place.
pub(super) fn violation(requirement: &'static str, place: impl Into<String>, because: String) -> Violation {
    Violation { requirement, place: place.into(), because }
}

/// Checks the members of an object.
pub(super) fn members(object: &Value, rules: &'static [Rule], place: &str, found: &mut Vec<Violation>) {
    for rule in rules {
        let here = format!("{place}/{}", rule.name);
        match object.member(rule.name) {
            // Null is a value only where the kind has it.
            Some(Value::Null) if rule.kind.allows_null() => {}
            None | Some(Value::Null) => {
                if !rule.missing.is_empty() {
                    found.push(violation(rule.missing, here, format!("no {}", rule.name)));
                }
            }
            Some(value) => check(rule, value, here, found),
        }
    }
}

fn check(rule: &Rule, value: &Value, place: String, found: &mut Vec<Violation>) {
    let fits = match &rule.kind {
        Kind::Text | Kind::TextOrNull => value.as_text().is_some(),
        Kind::OneOf(words) => value.as_text().is_some_and(|text| words.contains(&text)),
        Kind::Boolean | Kind::BooleanOrNull => matches!(value, Value::Bool(_)),
        Kind::Whole | Kind::WholeOrNull => value.as_integer().is_some(),
        Kind::Number => value.is_number(),
        Kind::Object => value.as_map().is_some(),
        Kind::Texts => value.as_array().is_some_and(|items| items.iter().all(|item| item.as_text().is_some())),
        Kind::Ternaries => {
            value.as_array().is_some_and(|items| items.iter().all(|item| matches!(item, Value::Bool(_) | Value::Null)))
        }
        Kind::Members(rules) => {
            if value.as_map().is_some() {
                members(value, rules, &place, found);
                return;
            }
            false
        }
        Kind::Elements(rules) => match value.as_array() {
            Some(items) => {
                for (index, item) in items.iter().enumerate() {
                    let here = format!("{place}/{index}");
                    if item.as_map().is_some() {
                        members(item, rules, &here, found);
                    } else if let Some(first) = rules.iter().find(|rule| !rule.missing.is_empty()) {
                        found.push(violation(first.missing, here, format!("{} as an element", show(item))));
                    }
                }
                return;
            }
            None => false,
        },
    };
    if !fits {
        found.push(violation(rule.wrong, place, format!("{} as {}", show(value), rule.name)));
    }
}

impl Kind {
    fn allows_null(&self) -> bool {
        matches!(self, Self::WholeOrNull | Self::BooleanOrNull | Self::TextOrNull)
    }
}
