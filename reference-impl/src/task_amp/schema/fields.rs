//! Members of objects: presence and types, with a list of every problem.

use super::problem::{Code, Problem};
use crate::fault::planted;
use crate::json::{Number, Object, Value};
use crate::task_amp::message_id;
use crate::task_amp::rules::Rules;

/// The rules, and the problems that were found so far.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) rules: Rules,
    pub(super) problems: Vec<Problem>,
}

impl Check {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, problems: Vec::new() }
    }

    pub(super) fn add(&mut self, code: Code, path: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, path, message));
    }

    /// Adds a problem where a condition does not hold.
    pub(super) fn demand(&mut self, holds: bool, code: Code, path: impl Into<String>, message: &str) {
        if !holds {
            self.add(code, path, message);
        }
    }
}

/// An object and its place in the message.
#[derive(Debug, Clone)]
pub(super) struct Place<'v> {
    pub(super) object: &'v Object,
    pub(super) path: String,
}

impl<'v> Place<'v> {
    pub(super) fn new(object: &'v Object, path: impl Into<String>) -> Self {
        Self { object, path: path.into() }
    }

    /// The path of a member.
    pub(super) fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// A required member. Null is as missing (E07).
    pub(super) fn required(&self, check: &mut Check, name: &str) -> Option<&'v Value> {
        // E07: null is not a value.
        planted!(check.rules.fault, "null-counts-as-present", self.object.get(name) == Some(&Value::Null) => return None);
        // A required member must be there.
        planted!(check.rules.fault, "absent-members-pass", self.object.get(name).is_none() => return None);
        let found = self.object.present(name);
        check.demand(found.is_some(), Code::MissingField, self.at(name), "required");
        found
    }

    /// An optional member.
    pub(super) fn optional(&self, check: &mut Check, name: &str) -> Option<&'v Value> {
        let found = self.object.get(name)?;
        // Other, E72: null is as absent.
        if *found == Value::Null && check.rules.is_other() {
            return None;
        }
        check.demand(*found != Value::Null, Code::WrongType, self.at(name), "null instead of a value");
        self.object.present(name)
    }

    fn of_kind<T>(&self, check: &mut Check, name: &str, found: Option<T>, kind: &str) -> Option<T> {
        check.demand(found.is_some(), Code::WrongType, self.at(name), kind);
        found
    }

    /// A required string.
    pub(super) fn text(&self, check: &mut Check, name: &str) -> Option<&'v str> {
        let value = self.required(check, name)?;
        // A string, not a number.
        planted!(check.rules.fault, "strings-unchecked", value.as_text().is_none() => return None);
        self.of_kind(check, name, value.as_text(), "a string")
    }

    /// A required string that is not blank under the strict reading (E07).
    pub(super) fn filled(&self, check: &mut Check, name: &str) -> Option<&'v str> {
        let text = self.text(check, name)?;
        // Not blank.
        let blank = text.trim().is_empty() && check.rules.is_strict() && !check.rules.fault.is("blank-texts-pass");
        check.demand(!blank, Code::BadFormat, self.at(name), "not blank");
        Some(text)
    }

    /// An optional string.
    pub(super) fn optional_text(&self, check: &mut Check, name: &str) -> Option<&'v str> {
        let value = self.optional(check, name)?;
        self.of_kind(check, name, value.as_text(), "a string")
    }

    /// A required string out of a list.
    pub(super) fn choice(&self, check: &mut Check, name: &str, words: &[&str]) -> Option<&'v str> {
        let text = self.text(check, name)?;
        let alike = words.iter().any(|word| word.eq_ignore_ascii_case(text));
        // A value of the list, to the letter.
        let known = words.contains(&text) || (alike && check.rules.fault.is("enum-case-folded"));
        check.demand(known, Code::BadEnum, self.at(name), &format!("one of {}", words.join(", ")));
        known.then_some(text)
    }

    /// A required boolean.
    pub(super) fn boolean(&self, check: &mut Check, name: &str) -> Option<bool> {
        let value = self.required(check, name)?;
        // A boolean, not a word.
        planted!(check.rules.fault, "booleans-as-text", value.as_text() == Some("true") => return Some(true));
        let found = match value {
            Value::Bool(value) => Some(*value),
            _ => None, // every other type
        };
        self.of_kind(check, name, found, "a boolean")
    }

    /// A required integer.
    pub(super) fn integer(&self, check: &mut Check, name: &str) -> Option<i64> {
        let value = self.required(check, name)?;
        // An integer, not its text.
        planted!(check.rules.fault, "numbers-as-text", value.as_text().is_some_and(|text| text.parse::<i64>().is_ok()) => return None);
        if excused(check, value) {
            return None;
        }
        let found = integer(check.rules, value);
        self.of_kind(check, name, found, "an integer")
    }

    /// A required integer that is not negative under the strict reading.
    pub(super) fn count(&self, check: &mut Check, name: &str) -> Option<i64> {
        let number = self.integer(check, name)?;
        // A count is not negative.
        planted!(check.rules.fault, "negative-counts-pass", return Some(number));
        check.demand(number >= 0 || !check.rules.is_strict(), Code::OutOfRange, self.at(name), "not negative");
        Some(number)
    }

    /// A required object.
    pub(super) fn object(&self, check: &mut Check, name: &str) -> Option<Place<'v>> {
        let value = self.required(check, name)?;
        // An object.
        planted!(check.rules.fault, "objects-unchecked", value.as_object().is_none() => return None);
        let found = self.of_kind(check, name, value.as_object(), "an object")?;
        Some(Place::new(found, self.at(name)))
    }

    /// A required array.
    pub(super) fn list(&self, check: &mut Check, name: &str) -> Option<&'v [Value]> {
        let value = self.required(check, name)?;
        // An array.
        planted!(check.rules.fault, "arrays-unchecked", value.as_list().is_none() => return None);
        self.of_kind(check, name, value.as_list(), "an array")
    }

    /// A required array of strings.
    pub(super) fn texts(&self, check: &mut Check, name: &str) -> Option<&'v [Value]> {
        let items = self.list(check, name)?;
        self.only_texts(check, name, items);
        Some(items)
    }

    /// An optional array of strings.
    pub(super) fn optional_texts(&self, check: &mut Check, name: &str) -> Option<&'v [Value]> {
        let value = self.optional(check, name)?;
        let items = self.of_kind(check, name, value.as_list(), "an array")?;
        self.only_texts(check, name, items);
        Some(items)
    }

    fn only_texts(&self, check: &mut Check, name: &str, items: &[Value]) {
        // Each element is a string.
        planted!(check.rules.fault, "elements-unchecked", return);
        for (index, item) in items.iter().enumerate() {
            check.demand(item.as_text().is_some(), Code::WrongType, format!("{}/{index}", self.at(name)), "a string");
        }
    }

    /// Every object of an array.
    pub(super) fn objects(&self, check: &mut Check, name: &str, items: &'v [Value]) -> Vec<Place<'v>> {
        let mut found = Vec::new();
        // Every element counts, not the first one only.
        let checked = if check.rules.fault.is("second-subtask-unchecked") { 1 } else { items.len() };
        for (index, item) in items.iter().enumerate().take(checked) {
            let path = format!("{}/{index}", self.at(name));
            match item.as_object() {
                Some(object) => found.push(Place::new(object, path)),
                None => check.add(Code::WrongType, path, "an object"),
            }
        }
        found
    }
}

/// The integer that a value is (E07).
#[must_use]
pub(super) fn integer(rules: Rules, value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    // Other, E07: a float is no integer, whatever its fraction.
    if rules.is_other() && number.spelling().contains(['.', 'e', 'E']) {
        return None;
    }
    Number::as_integer(number)
}

/// Words that are not blank, under the strict reading.
pub(super) fn not_blank(check: &mut Check, path: &str, items: &[Value]) {
    for (index, item) in items.iter().enumerate() {
        let blank = item.as_text().is_some_and(|text| text.trim().is_empty()) && check.rules.is_strict();
        check.demand(!blank, Code::BadFormat, format!("{path}/{index}"), "not blank");
    }
}

/// Each entry is a message id (E09: on receipt under the strict reading).
pub(super) fn ids(check: &mut Check, path: &str, items: &[Value]) {
    for (index, text) in items.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_text()?))) {
        // Other, E09, E24: what a reference looks like is not checked.
        let valid = check.rules.is_other() || message_id::parse(check.rules, text).is_some();
        // The form of a msg_id.
        let valid = valid || check.rules.fault.is("references-unformed");
        check.demand(valid, Code::BadFormat, format!("{path}/{index}"), "a msg_id");
    }
}

/// The severities of one kind of object, which are not those of the other.
pub(super) fn severities(rules: Rules, own: &'static [&'static str]) -> &'static [&'static str] {
    // 04.3 and 05: issues and escalations have different lists.
    planted!(rules.fault, "severities-mixed-up", return &["critical", "major", "minor", "warning", "info"]);
    own
}

/// Whether a mistake takes this value for an integer.
pub(super) fn excused(check: &Check, value: &Value) -> bool {
    // A number, not a boolean.
    planted!(check.rules.fault, "booleans-as-numbers", matches!(value, Value::Bool(_)) => return true);
    // Without a fraction.
    planted!(check.rules.fault, "fractions-pass", value.as_number().is_some() => return true);
    false
}
