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

    /// Departs as the first expectation that does. Undecided if one decides nothing, vacuous if one had nothing to look at:
    /// then not all are shown.
    pub(super) fn look(&self, root: Option<&Value>) -> Outcome {
        let mut readings = Vec::new();
        let mut open = Open::default();
        for expectation in &self.all {
            match expectation.look(root) {
                Outcome::Departs(mismatch) => return Outcome::Departs(mismatch),
                Outcome::Holds(seen) => gather(&mut readings, seen),
                other @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open.note(other),
            }
        }
        open.outcome().unwrap_or(Outcome::Holds(readings))
    }
}

/// What looks at several things and found no answer in some: an outcome that decides nothing is never called a departure, and
/// outweighs one that had nothing to look at.
#[derive(Default)]
pub(super) struct Open {
    undecided: Option<String>,
    vacuous: Option<String>,
}

impl Open {
    /// Notes why something is open; what holds or fails is not open.
    pub(super) fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Undecided(why) => {
                self.undecided.get_or_insert(why);
            }
            Outcome::Vacuous(why) => {
                self.vacuous.get_or_insert(why);
            }
            Outcome::Holds(_) | Outcome::Departs(_) => {}
        }
    }

    /// Why something was undecided, if it was.
    pub(super) fn undecided(&mut self) -> Option<Outcome> {
        self.undecided.take().map(Outcome::Undecided)
    }

    /// What is open, if anything is.
    pub(super) fn outcome(mut self) -> Option<Outcome> {
        self.undecided().or(self.vacuous.map(Outcome::Vacuous))
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
    use crate::matcher::{Check, Matcher};

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

    /// Decides nothing about texts, and departs at everything else.
    struct Shrug;

    impl Matcher for Shrug {
        fn name(&self) -> &'static str {
            "shrug"
        }

        fn summary(&self) -> &'static str {
            ""
        }

        fn example(&self) -> &'static str {
            ""
        }

        fn compile(&self, _: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
            Ok(Box::new(Self))
        }
    }

    impl Check for Shrug {
        fn check(&self, observed: Option<&Value>) -> Outcome {
            match observed {
                Some(Value::Text(_)) => Outcome::Undecided("not known".to_owned()),
                other => Outcome::departs("a text", other),
            }
        }
    }

    #[test]
    fn what_is_undecided_is_made_a_departure_by_nothing_around_it() {
        for (written, observed, expected) in [
            (r#"{"any-of":[{"reading":"a","shrug":1},{"reading":"b","type":"integer"}]}"#, r#""t""#, "undecided"),
            (r#"{"any-of":[{"reading":"a","shrug":1},{"reading":"b","type":"string"}]}"#, r#""t""#, "holds"),
            (r#"{"any-of":[{"reading":"a","shrug":1},{"reading":"b","type":"integer"}]}"#, "null", "departs"),
            (r#"{"all-of":[{"shrug":1},{"type":"string"}]}"#, r#""t""#, "undecided"),
            (r#"{"all-of":[{"shrug":1},{"type":"integer"}]}"#, r#""t""#, "departs"),
            (r#"{"not":{"shrug":1}}"#, r#""t""#, "undecided"),
            (r#"{"some":{"shrug":1}}"#, r#"[5,"t"]"#, "undecided"),
            (r#"{"some":{"shrug":1}}"#, "[5]", "departs"),
            (r#"{"none":{"shrug":1}}"#, r#"[5,"t"]"#, "undecided"),
            (r#"{"none":{"shrug":1}}"#, "[5]", "holds"),
            (r#"{"each":{"shrug":1}}"#, r#"["t"]"#, "undecided"),
            (r#"{"each":{"shrug":1}}"#, r#"["t",5]"#, "departs"),
            (r#"{"count":{"of":{"shrug":1},"is":1}}"#, r#"["t"]"#, "undecided"),
            (r#"{"count":{"of":{"shrug":1},"is":{"max":1}}}"#, r#"["t"]"#, "holds"),
            (r#"{"count":{"of":{"shrug":1},"is":2}}"#, r#"["t"]"#, "departs"),
        ] {
            let compiler = Compiler::new(&[&Shrug]);
            let found = match compiler.expectation(&value(written), &[]).unwrap().look(Some(&value(observed))) {
                Outcome::Holds(_) => "holds",
                Outcome::Departs(_) => "departs",
                Outcome::Vacuous(_) => "vacuous",
                Outcome::Undecided(_) => "undecided",
            };
            assert_eq!(found, expected, "{written} at {observed}");
        }
    }
}
