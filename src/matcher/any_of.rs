//! `any-of`: several permitted readings.

use super::argument::{self, members};
use super::conditions::{Conditions, Open, gather};
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, Reading};
use crate::value::Value;

/// Holds if one of the permitted readings is observed, and reports which.
pub(super) struct AnyOf;

impl Matcher for AnyOf {
    fn name(&self) -> &'static str {
        "any-of"
    }

    fn summary(&self) -> &'static str {
        "One of the alternatives holds, and the report names it: each has a `reading` (its description), `tolerated: \
        true` if the ruling only tolerates it, and one expectation, or a list of them as `all`. Tolerated ones are \
        tried last."
    }

    fn example(&self) -> &'static str {
        "{ at: /body, any-of: [{ reading: a code, at: /code, type: integer }, { reading: no code, tolerated: true, \
         all: [{ at: /code, absent: true }, { at: /message, type: string }] }] }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let mut alternatives = argument::list(argument)?
            .iter()
            .enumerate()
            .map(|(index, written)| alternative(written, compiler).map_err(|error| error.under(index.to_string())))
            .collect::<Result<Vec<_>, _>>()?;
        // The sort is stable: within each group the order of the suite is kept.
        alternatives.sort_by_key(|alternative| alternative.reading.tolerated);
        Ok(Box::new(Alternatives(alternatives)))
    }
}

struct Alternative {
    reading: Reading,
    conditions: Conditions,
}

fn alternative(written: &Value, compiler: &Compiler<'_>) -> Result<Alternative, ArgumentError> {
    let all = if written.member("all").is_some() {
        members(written, &["reading", "tolerated", "all"])?.require("all", |all| compiler.expectations(all))?
    } else {
        vec![compiler.expectation(written, &["reading", "tolerated"])?]
    };
    let reading = match written.member("reading").map(argument::text).transpose() {
        Ok(None | Some("")) => {
            return Err(ArgumentError::new("needs the key `reading`, a description of what is permitted"));
        }
        Ok(Some(reading)) => reading.to_owned(),
        Err(error) => return Err(error.under("reading")),
    };
    let tolerated = written.member("tolerated").map(argument::flag).transpose();
    let tolerated = tolerated.map_err(|error| error.under("tolerated"))?.unwrap_or(false);
    let conditions = Conditions { all, wanted: reading.clone() };
    Ok(Alternative { reading: Reading { reading, tolerated }, conditions })
}

struct Alternatives(Vec<Alternative>);

impl Check for Alternatives {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let mut nearest: Option<Mismatch> = None;
        let mut open = Open::default();
        for Alternative { reading, conditions } in &self.0 {
            match conditions.look(observed) {
                Outcome::Mismatch(mismatch) => nearest = nearest.or(Some(mismatch)),
                other @ (Outcome::Vacuous(_) | Outcome::Undecided(_)) => open.note(other),
                Outcome::Holds(inner) => {
                    let mut readings = vec![reading.clone()];
                    gather(&mut readings, inner);
                    return Outcome::Holds(readings);
                }
            }
        }
        // The undecided reading may hold.
        if let Some(undecided) = open.undecided() {
            return undecided;
        }
        let Some(nearest) = nearest else {
            return open.outcome().unwrap_or_else(|| Outcome::Vacuous(String::new()));
        };
        // The ruling prefers the first reading, so its mismatch is the most useful one.
        let mut expected = String::new();
        for (index, alternative) in self.0.iter().enumerate() {
            let reading = &alternative.reading.reading;
            expected.push_str(&match index {
                0 => format!("{} ({reading})", nearest.expected),
                _ => format!("; or {reading}"),
            });
        }
        Outcome::Mismatch(Mismatch { expected, ..nearest })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{look, look_at_nothing, mismatch, refusal};
    use super::*;

    const WRITTEN: &str = r#"{"at":"/e","any-of":[
        {"reading":"a bare text","tolerated":true,"type":"string"},
        {"reading":"a text of two letters","length":2},
        {"reading":"a code and nothing else","all":[{"at":"/code","type":"integer"},{"length":1}]}
    ]}"#;

    fn seen(reading: &str, tolerated: bool) -> Outcome {
        Outcome::Holds(vec![Reading { reading: reading.into(), tolerated }])
    }

    #[test]
    fn the_observed_reading_is_named_and_tolerated_ones_come_last() {
        assert_eq!(look(WRITTEN, r#"{"e":{"code":5}}"#), seen("a code and nothing else", false));
        assert_eq!(look(WRITTEN, r#"{"e":"abc"}"#), seen("a bare text", true));
        assert_eq!(look(WRITTEN, r#"{"e":"ab"}"#), seen("a text of two letters", false));
    }

    #[test]
    fn readings_inside_readings_are_named_too() {
        let inner = r#"{"reading":"inner","tolerated":true,"equals":1}"#;
        let written = format!(r#"{{"any-of":[{{"reading":"outer","each":{{"any-of":[{inner}]}}}}]}}"#);
        let Outcome::Holds(readings) = look(&written, "[1,1]") else { panic!("both elements hold") };
        let names: Vec<_> = readings.iter().map(|seen| (seen.reading.as_str(), seen.tolerated)).collect();
        assert_eq!(names, [("outer", false), ("inner", true)]);
    }

    #[test]
    fn a_value_outside_all_readings_is_a_mismatch_with_all_of_them() {
        let readings = "length 2 (a text of two letters); or a code and nothing else; or a bare text";
        assert_eq!(mismatch(WRITTEN, r#"{"e":[5]}"#), ["/e", readings, "length 1: [5]"]);
        assert!(matches!(look_at_nothing(WRITTEN), Outcome::Mismatch(_)));
    }

    #[test]
    fn a_vacuous_reading_is_not_observed() {
        let each = r#"{"reading":"ones","each":{"equals":1}}"#;
        let text = r#"{"reading":"a text","type":"string"}"#;
        assert!(matches!(look(&format!(r#"{{"any-of":[{each},{text}]}}"#), "[]"), Outcome::Mismatch(_)));
        assert!(matches!(look(&format!(r#"{{"any-of":[{each}]}}"#), "[]"), Outcome::Vacuous(_)));
    }

    #[test]
    fn every_alternative_has_a_reading_and_an_expectation() {
        for (written, path, message) in [
            ("[]", "", "needs a list that is not empty"),
            (r#"[{"equals":1}]"#, "/0", "needs the key `reading`, a description of what is permitted"),
            (r#"[{"reading":5,"equals":1}]"#, "/0/reading", "needs a text, not 5"),
            (r#"[{"reading":"a","tolerated":1,"equals":1}]"#, "/0/tolerated", "needs true or false, not 1"),
            (r#"[{"reading":"a"}]"#, "/0", "has no matcher"),
            (r#"[{"reading":"a","all":[{"equals":1}],"equals":1}]"#, "/0/equals", "has no key `equals`"),
            (r#"[5]"#, "/0", "needs a map with a matcher, not 5"),
        ] {
            let [at, said, hint] = refusal(&format!(r#"{{"any-of":{written}}}"#));
            assert_eq!((at, said.as_str()), (format!("/any-of{path}"), message));
            assert!(!hint.is_empty(), "{written}");
        }
        let mistyped = r#"{"any-of":[{"readin":"a","equals":1}]}"#;
        assert_eq!(refusal(mistyped)[2], "did you mean `reading`?");
    }
}
