//! `includes`: a value with at least these members.

use super::conditions::token;
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show, show_or_absent};
use crate::value::{ByMeaning, FEW, Path, Value, first_difference};

/// Holds if the value has every member of the argument; further members are ignored.
pub(super) struct Includes;

impl Matcher for Includes {
    fn name(&self) -> &'static str {
        "includes"
    }

    fn summary(&self) -> &'static str {
        "Every member of the argument is in the value, at any depth; further members are ignored; arrays have the \
         same length and include each other element by element; other values are the same."
    }

    fn example(&self) -> &'static str {
        "{ at: /body, includes: { error: { code: 404 } } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        Ok(Box::new(Including(argument.clone())))
    }
}

struct Including(Value);

impl Check for Including {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(value) = observed else {
            return Outcome::mismatch(show(&self.0), None);
        };
        lack(&self.0, value, &Path::default()).map_or(Outcome::HOLDS, Outcome::Mismatch)
    }
}

/// The first difference: a value of `wanted` that `value` lacks.
fn lack(wanted: &Value, value: &Value, path: &Path) -> Option<Mismatch> {
    match (wanted, value) {
        (Value::Map(members), Value::Map(present)) => {
            // Both may come from the target, with hundreds of thousands of members.
            let places = (members.len() > FEW).then(|| ByMeaning::of(present.iter().map(|(key, _)| key)));
            members.iter().find_map(|(key, wanted)| match &places {
                Some(places) => lack_of_member(key, wanted, places.alike(key).map(|at| &present[at]), path),
                None => lack_of_member(key, wanted, present.iter(), path),
            })
        }
        (Value::Array(wanteds), Value::Array(values)) if wanteds.len() == values.len() => wanteds
            .iter()
            .zip(values)
            .enumerate()
            .find_map(|(index, (wanted, value))| lack(wanted, value, &path.child(index.to_string()))),
        (Value::Array(wanteds), Value::Array(values)) => Some(Mismatch {
            path: path.clone(),
            expected: format!("{} elements: {}", wanteds.len(), show(wanted)),
            observed: format!("{} elements: {}", values.len(), show(value)),
        }),
        _ => first_difference(wanted, value).map(|difference| Mismatch {
            path: path.join(&difference.path),
            expected: show_or_absent(difference.left.as_ref()),
            observed: show_or_absent(difference.right.as_ref()),
        }),
    }
}

/// `present` are the members that may have this key.
fn lack_of_member<'v>(
    key: &Value,
    wanted: &Value,
    present: impl Iterator<Item = &'v (Value, Value)>,
    path: &Path,
) -> Option<Mismatch> {
    let path = path.child(token(key));
    let mut found = present.filter(|(other, _)| key.same_as(other)).map(|(_, value)| value);
    match (found.next(), found.count()) {
        (Some(value), 0) => lack(wanted, value, &path),
        (None, _) => Some(Mismatch { path, expected: show(wanted), observed: show_or_absent(None) }),
        // A receiver may use either one, so neither is accepted.
        (Some(_), more) => Some(Mismatch {
            path,
            expected: format!("one member of this name: {}", show(wanted)),
            observed: format!("{} members of this name", more + 1),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch};
    use super::*;

    #[test]
    fn many_members_are_found_as_few_are() {
        let object = |members: &[String]| format!("{{{}}}", members.join(","));
        let mut members: Vec<String> = (0..40).map(|at| format!("\"m{at}\":{at}")).collect();
        let written = format!("{{\"includes\":{}}}", object(&members));
        assert!(holds(&written, &object(&members)));
        members.push("\"m7\":7".to_owned());
        assert_eq!(mismatch(&written, &object(&members))[2], "2 members of this name");
        members.truncate(39);
        assert_eq!(mismatch(&written, &object(&members))[0], "/m39");
    }

    #[test]
    fn further_members_hold_at_any_depth() {
        let written = r#"{"includes":{"a":{"b":1},"l":[{"x":1},2]}}"#;
        assert!(holds(written, r#"{"z":0,"a":{"c":2,"b":1.0},"l":[{"y":0,"x":1},2]}"#));
        assert!(holds(r#"{"includes":{}}"#, r#"{"a":1}"#));
        assert!(holds(r#"{"includes":5}"#, "5.0"));
    }

    #[test]
    fn a_missing_member_is_reported_at_its_place() {
        let written = r#"{"includes":{"a":{"b":1}}}"#;
        assert_eq!(mismatch(written, r#"{"a":{"b":2}}"#), ["/a/b", "1", "2"]);
        assert_eq!(mismatch(written, r#"{"a":{}}"#), ["/a/b", "1", "nothing"]);
        assert_eq!(mismatch(written, r#"{"a":[]}"#), ["/a", r#"{"b":1}"#, "[]"]);
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn arrays_have_the_same_length() {
        assert_eq!(
            mismatch(r#"{"includes":{"l":[1]}}"#, r#"{"l":[1,2]}"#),
            ["/l", "1 elements: [1]", "2 elements: [1,2]"]
        );
        assert_eq!(mismatch(r#"{"includes":[1,{"a":1}]}"#, r#"[1,{"a":2}]"#), ["/1/a", "1", "2"]);
    }

    #[test]
    fn a_repeated_member_is_a_mismatch_only_if_it_is_expected() {
        let written = r#"{"includes":{"a":1}}"#;
        let expected = ["/a", "one member of this name: 1", "2 members of this name"];
        assert_eq!(mismatch(written, r#"{"a":1,"a":1}"#), expected);
        assert!(holds(written, r#"{"b":1,"b":2,"a":1}"#));
    }
}
