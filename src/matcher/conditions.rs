//! Several expectations on one value, and the elements to which matchers apply them.

use super::{ArgumentError, Compiler, Expectation, Mismatch, Outcome, Reading, show};
use crate::value::{Path, Value};

/// Expectations that must all be met.
pub(super) struct Conditions {
    pub(super) all: Vec<Expectation>,
    /// Their description: `/type equals "a" and /n exists true`.
    pub(super) wanted: String,
}

impl Conditions {
    /// Reads one expectation or a list of them.
    pub(super) fn compile(argument: &Value, compiler: &Compiler<'_>) -> Result<Self, ArgumentError> {
        Ok(Self { all: compiler.expectations(argument)?, wanted: describe(argument) })
    }

    /// A mismatch if any expectation is one, the first of them; else undecided if one is undecided; else vacuous if one is
    /// vacuous.
    pub(super) fn look(&self, root: Option<&Value>) -> Outcome {
        let mut readings = Vec::new();
        let mut open = Open::default();
        for expectation in &self.all {
            match expectation.look(root) {
                Outcome::Mismatch(mismatch) => return Outcome::Mismatch(mismatch),
                Outcome::Holds(seen) => gather(&mut readings, seen),
                other @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open.note(other),
            }
        }
        open.outcome().unwrap_or(Outcome::Holds(readings))
    }
}

/// The open outcomes of a check of several values. An undecided outcome is never a mismatch, and outweighs a vacuous
/// one.
#[derive(Default)]
pub(super) struct Open {
    undecided: Option<String>,
    vacuous: Option<String>,
}

impl Open {
    /// Records an undecided or vacuous outcome; ignores all others.
    pub(super) fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Undecided(why) => {
                self.undecided.get_or_insert(why);
            }
            Outcome::Vacuous(why) => {
                self.vacuous.get_or_insert(why);
            }
            Outcome::Holds(_) | Outcome::Mismatch(_) => {}
        }
    }

    /// The undecided outcome, if there was one.
    pub(super) fn undecided(&mut self) -> Option<Outcome> {
        self.undecided.take().map(Outcome::Undecided)
    }

    /// The open outcome, if there was one.
    pub(super) fn outcome(mut self) -> Option<Outcome> {
        self.undecided().or(self.vacuous.map(Outcome::Vacuous))
    }
}

/// Adds readings without duplicates, so that their number is bounded by the matcher and not by the length of an array.
pub(super) fn gather(readings: &mut Vec<Reading>, seen: Vec<Reading>) {
    for reading in seen {
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
}

/// The description of expectations as the suite writes them.
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

/// The elements of an array or the values of a map, each with its token; `None` for other values.
pub(super) fn elements(value: &Value) -> Option<Box<dyn Iterator<Item = (String, &Value)> + '_>> {
    match value {
        Value::Array(items) => Some(Box::new(items.iter().enumerate().map(|(index, item)| (index.to_string(), item)))),
        Value::Map(members) => Some(Box::new(members.iter().map(|(key, value)| (token(key), value)))),
        _ => None, // Other values have no elements.
    }
}

/// The token by which a path names the member with this key.
pub(super) fn token(key: &Value) -> String {
    key.as_text().map_or_else(|| show(key), str::to_owned)
}

/// The same mismatch, with its path prefixed by `token`.
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
    fn descriptions_follow_the_suite() {
        let written = r#"[{"at":"/type","equals":"a"},{"exists":true}]"#;
        assert_eq!(conditions(written).wanted, r#"/type equals "a" and exists true"#);
    }

    #[test]
    fn a_mismatch_outweighs_a_vacuous_one_and_that_outweighs_the_rest() {
        let each = r#"{"each":{"equals":1}}"#;
        let look = |written: &str| conditions(written).look(Some(&value("[]")));
        assert!(matches!(look(&format!(r#"[{each},{{"length":1}}]"#)), Outcome::Mismatch(_)));
        assert!(matches!(look(&format!(r#"[{each},{{"length":0}}]"#)), Outcome::Vacuous(_)));
        assert_eq!(look(r#"[{"length":0},{"type":"array"}]"#), Outcome::HOLDS);
    }

    /// Undecided about texts, and a mismatch at all other values.
    struct Undecidable;

    impl Matcher for Undecidable {
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

    impl Check for Undecidable {
        fn check(&self, observed: Option<&Value>) -> Outcome {
            match observed {
                Some(Value::Text(_)) => Outcome::Undecided("not known".to_owned()),
                other => Outcome::mismatch("a text", other),
            }
        }
    }

    #[test]
    fn an_undecided_outcome_never_becomes_a_mismatch() {
        for (written, observed, expected) in [
            (r#"{"any-of":[{"reading":"a","shrug":1},{"reading":"b","type":"integer"}]}"#, r#""t""#, "undecided"),
            (r#"{"any-of":[{"reading":"a","shrug":1},{"reading":"b","type":"string"}]}"#, r#""t""#, "holds"),
            (r#"{"any-of":[{"reading":"a","shrug":1},{"reading":"b","type":"integer"}]}"#, "null", "mismatch"),
            (r#"{"all-of":[{"shrug":1},{"type":"string"}]}"#, r#""t""#, "undecided"),
            (r#"{"all-of":[{"shrug":1},{"type":"integer"}]}"#, r#""t""#, "mismatch"),
            (r#"{"not":{"shrug":1}}"#, r#""t""#, "undecided"),
            (r#"{"some":{"shrug":1}}"#, r#"[5,"t"]"#, "undecided"),
            (r#"{"some":{"shrug":1}}"#, "[5]", "mismatch"),
            (r#"{"none":{"shrug":1}}"#, r#"[5,"t"]"#, "undecided"),
            (r#"{"none":{"shrug":1}}"#, "[5]", "holds"),
            (r#"{"each":{"shrug":1}}"#, r#"["t"]"#, "undecided"),
            (r#"{"each":{"shrug":1}}"#, r#"["t",5]"#, "mismatch"),
            (r#"{"count":{"of":{"shrug":1},"is":1}}"#, r#"["t"]"#, "undecided"),
            (r#"{"count":{"of":{"shrug":1},"is":{"max":1}}}"#, r#"["t"]"#, "holds"),
            (r#"{"count":{"of":{"shrug":1},"is":{"max":1}}}"#, r#"["t",5]"#, "holds"),
            (r#"{"count":{"of":{"shrug":1},"is":2}}"#, r#"["t"]"#, "mismatch"),
        ] {
            let compiler = Compiler::new(&[&Undecidable]);
            let found = match compiler.expectation(&value(written), &[]).unwrap().look(Some(&value(observed))) {
                Outcome::Holds(_) => "holds",
                Outcome::Mismatch(_) => "mismatch",
                Outcome::Vacuous(_) => "vacuous",
                Outcome::Undecided(_) => "undecided",
            };
            assert_eq!(found, expected, "{written} at {observed}");
        }
    }
}
