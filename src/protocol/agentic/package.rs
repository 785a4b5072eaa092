//! Comparing packages (sections 6 and 6.4, E09, E48, E70): `same-package`.

use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, Reading, show, show_or_absent};
use crate::value::{Value, first_difference};

/// The defaults of section 6.4 for optional core members.
pub(super) fn defaults() -> Vec<(&'static str, Value)> {
    let empty = || Value::Array(Vec::new().into());
    vec![
        ("description", Value::text("")),
        ("tags", empty()),
        ("decisions_made", empty()),
        ("open_questions", empty()),
        ("handoff_note", Value::text("")),
        ("estimated_next_actor", Value::Null),
        ("deliverables", empty()),
        ("parent_package_id", Value::Null),
        ("significance", Value::Integer(5)),
        ("content_md", Value::text("")),
        ("topic", Value::Null),
        ("artifact_type", Value::Null),
        ("storage_path", Value::Null),
    ]
}

/// The value without members that are null, at any depth: null and absent are equal in every comparison (E48).
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Map(members) => Value::Map(
            members
                .iter()
                .filter(|(_, value)| *value != Value::Null)
                .map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

/// Holds if a returned package equals the given one.
pub(super) struct SamePackage;

impl Matcher for SamePackage {
    fn name(&self) -> &'static str {
        "same-package"
    }

    fn summary(&self) -> &'static str {
        "The package equals the given one: the same members, null counting as absent; explicit defaults and an added \
        storage_path are tolerated readings."
    }

    fn example(&self) -> &'static str {
        "{ at: /package, same-package: '${p}' }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        if argument.as_map().is_none() {
            return Err(ArgumentError::new(format!("is a package, not {}", show(argument))));
        }
        Ok(Box::new(Same(without_nulls(argument))))
    }
}

struct Same(Value);

impl Check for Same {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(observed) = observed.filter(|value| value.as_map().is_some()) else {
            return Outcome::mismatch("a package", observed);
        };
        let mut readings = Vec::new();
        let mut observed = without_nulls(observed);
        let mut expected = self.0.clone();
        let tolerate = |readings: &mut Vec<Reading>, reading: &str| {
            if !readings.iter().any(|seen: &Reading| seen.reading == reading) {
                readings.push(Reading { reading: reading.to_owned(), tolerated: true });
            }
        };
        if expected.member("storage_path").is_none()
            && observed.member("storage_path").is_some_and(|path| path.as_text().is_some())
        {
            drop_member(&mut observed, "storage_path");
            tolerate(&mut readings, "a storage_path is added (E70)");
        }
        for (name, default) in defaults() {
            match (expected.member(name), observed.member(name)) {
                (None, Some(shown)) if shown.same_as(&default) => {
                    drop_member(&mut observed, name);
                    tolerate(&mut readings, "defaults are written out (E09)");
                }
                (Some(sent), None) if sent.same_as(&default) => {
                    drop_member(&mut expected, name);
                    tolerate(&mut readings, "defaults are left out (E09)");
                }
                _ => {}
            }
        }
        match first_difference(&expected, &observed) {
            None => Outcome::Holds(readings),
            Some(difference) => Outcome::Mismatch(Mismatch {
                path: difference.path,
                expected: show_or_absent(difference.left.as_ref()),
                observed: show_or_absent(difference.right.as_ref()),
            }),
        }
    }
}

fn drop_member(value: &mut Value, name: &str) {
    if let Value::Map(members) = value {
        members.retain(|(key, _)| key.as_text() != Some(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::parse;

    fn compare(sent: &str, returned: &str) -> Outcome {
        let argument = parse(sent.as_bytes()).unwrap();
        let check = SamePackage.compile(&argument, &Compiler::new(&[])).unwrap();
        check.check(Some(&parse(returned.as_bytes()).unwrap()))
    }

    #[test]
    fn null_is_absent_and_numbers_compare_by_value() {
        assert_eq!(compare(r#"{"a":null,"n":0.870}"#, r#"{"n":87e-2,"b":null}"#), Outcome::HOLDS);
    }

    #[test]
    fn defaults_shown_are_a_tolerated_reading_and_invented_values_are_not() {
        let Outcome::Holds(readings) = compare("{}", r#"{"significance":5,"tags":[]}"#) else { panic!() };
        assert!(readings.iter().all(|reading| reading.tolerated) && readings.len() == 1);
        assert!(matches!(compare("{}", r#"{"significance":7}"#), Outcome::Mismatch(_)));
        assert!(matches!(compare("{}", r#"{"topic":"retrieval"}"#), Outcome::Mismatch(_)));
    }

    #[test]
    fn extra_and_missing_members_are_mismatches() {
        assert!(matches!(compare("{}", r#"{"updated_at":"x"}"#), Outcome::Mismatch(_)));
        assert!(matches!(compare(r#"{"x-a":1}"#, "{}"), Outcome::Mismatch(_)));
    }
}
