//! Several expectations on one value, and the elements that matchers put them to.

use super::{ArgumentError, Compiler, Expectation, Mismatch, Outcome, Reading, show};
use crate::value::{Path, Value};

/// Expectations that are met together or not at all.
pub(super) struct Conditions {
    pub(super) all: Vec<Expectation>,
    /// They in words: `/type equals "a" and /n exists true`.
    pub(super) wanted: String,
}

impl Conditions {
    /// Reads one expectation or a list of them.
    pub(super) fn compile(argument: &Value, compiler: &Compiler<'_>) -> Result<Self, ArgumentError> {
        Ok(Self { all: compiler.expectations(argument)?, wanted: describe(argument) })
    }

    /// Departs as the first expectation that does. Vacuous if one had nothing to look at: then not all are shown.
    pub(super) fn look(&self, root: Option<&Value>) -> Outcome {
        let mut readings = Vec::new();
        let mut missing = None;
        for expectation in &self.all {
            match expectation.look(root) {
                Outcome::Departs(mismatch) => return Outcome::Departs(mismatch),
                Outcome::Holds(seen) => gather(&mut readings, seen),
                Outcome::Vacuous(text) => missing = missing.or(Some(text)),
            }
        }
        missing.map_or(Outcome::Holds(readings), Outcome::Vacuous)
    }
}

/// Adds readings, each only once: an array of any length has no more of them than its matcher.
pub(super) fn gather(readings: &mut Vec<Reading>, seen: Vec<Reading>) {
    for reading in seen {
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
}

/// Expectations in words, from what the suite says.
pub(super) fn describe(written: &Value) -> String {
    match written {
        Value::Array(items) => items.iter().map(describe).collect::<Vec<_>>().join(" and "),
        Value::Map(members) => {
            let at = written.member("at").and_then(Value::as_text).filter(|at| !at.is_empty());
            let says = members.iter().filter_map(|(key, value)| {
                let name = key.as_text().filter(|name| *name != "at")?;
                Some(format!("{name} {}", show(value)))
            });
            at.map(str::to_owned).into_iter().chain(says).collect::<Vec<_>>().join(" ")
        }
        other => show(other),
    }
}

/// The elements of an array or the values of a map, each with its token; `None` for what has neither.
pub(super) fn elements(value: &Value) -> Option<Box<dyn Iterator<Item = (String, &Value)> + '_>> {
    match value {
        Value::Array(items) => Some(Box::new(items.iter().enumerate().map(|(index, item)| (index.to_string(), item)))),
        Value::Map(members) => Some(Box::new(members.iter().map(|(key, value)| (token(key), value)))),
        _ => None, // Nothing else has elements.
    }
}

/// The token by which a path names the member with this key.
pub(super) fn token(key: &Value) -> String {
    key.as_text().map_or_else(|| show(key), str::to_owned)
}

/// The same mismatch, one step further out.
pub(super) fn inside(token: String, mut mismatch: Mismatch) -> Mismatch {
    mismatch.path = Path::default().child(token).join(&mismatch.path);
    mismatch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::testing::value;

    fn conditions(written: &str) -> Conditions {
        Conditions::compile(&value(written), &Compiler::new(&[])).unwrap()
    }

    #[test]
    fn they_are_described_as_they_are_written() {
        let written = r#"[{"at":"/type","equals":"a"},{"exists":true}]"#;
        assert_eq!(conditions(written).wanted, r#"/type equals "a" and exists true"#);
    }

    #[test]
    fn a_departure_outweighs_a_vacuous_one_and_that_outweighs_the_rest() {
        let each = r#"{"each":{"equals":1}}"#;
        let look = |written: &str| conditions(written).look(Some(&value("[]")));
        assert!(matches!(look(&format!(r#"[{each},{{"length":1}}]"#)), Outcome::Departs(_)));
        assert!(matches!(look(&format!(r#"[{each},{{"length":0}}]"#)), Outcome::Vacuous(_)));
        assert_eq!(look(r#"[{"length":0},{"type":"array"}]"#), Outcome::HOLDS);
    }
}
