//! `fits-one`: observations that must fit one explanation as a whole.

use super::argument::{self, members};
use super::conditions::Open;
use super::{ArgumentError, Check, Compiler, Expectation, Matcher, Mismatch, Outcome};
use crate::value::Value;

/// Holds if one of several explanations fits everything that was observed.
pub(super) struct FitsOne;

impl Matcher for FitsOne {
    fn name(&self) -> &'static str {
        "fits-one"
    }

    fn summary(&self) -> &'static str {
        "No expectation of one explanation fails: each has a name as `reading`, and its expectations as `all`. Unlike \
        `any-of`, an explanation also fits if some of its expectations have nothing to check."
    }

    fn example(&self) -> &'static str {
        "{ at: /answers, fits-one: [{ reading: the first won, all: [{ at: /0, equals: 1 }, { at: /1, equals: 2 }] }, \
         { reading: the second won, all: [{ at: /0, equals: 2 }, { at: /1, equals: 1 }] }] }"
    }

    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let explanations = argument::list(argument)?
            .iter()
            .enumerate()
            .map(|(index, written)| explanation(written, compiler).map_err(|error| error.under(index.to_string())))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(Explanations(explanations)))
    }
}

struct Explanation {
    reading: String,
    all: Vec<Expectation>,
}

fn explanation(written: &Value, compiler: &Compiler<'_>) -> Result<Explanation, ArgumentError> {
    let members = members(written, &["reading", "all"])?;
    let reading = members.require("reading", |reading| argument::text(reading).map(str::to_owned))?;
    let all = members.require("all", |all| compiler.expectations(all))?;
    Ok(Explanation { reading, all })
}

struct Explanations(Vec<Explanation>);

impl Check for Explanations {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let mut open = None;
        let mut furthest: Option<(usize, Mismatch)> = None;
        for Explanation { reading, all } in &self.0 {
            let mut shown = Open::default();
            let (mut refuted, mut held) = (None, false);
            for (number, expectation) in all.iter().enumerate() {
                match expectation.look(observed) {
                    Outcome::Mismatch(mismatch) => {
                        refuted = Some((number, mismatch));
                        break;
                    }
                    Outcome::Holds(_) => held = true,
                    other => shown.note(other),
                }
            }
            match refuted {
                Some((number, mismatch)) => {
                    if furthest.as_ref().is_none_or(|(most, _)| number > *most) {
                        let expected = format!("{} ({reading})", mismatch.expected);
                        furthest = Some((number, Mismatch { expected, ..mismatch }));
                    }
                }
                None => match shown.outcome() {
                    None => return Outcome::HOLDS,
                    Some(Outcome::Vacuous(_)) if held => return Outcome::HOLDS,
                    Some(outcome) => open = open.or(Some(outcome)),
                },
            }
        }
        if let Some(open) = open {
            return open;
        }
        let Some((_, nearest)) = furthest else { return Outcome::HOLDS };
        // What the explanation that fits longest needs is the most useful one.
        let expected = match self.0.len() {
            1 => nearest.expected,
            count => format!("one of {count} explanations to fit; the nearest needs {}", nearest.expected),
        };
        Outcome::Mismatch(Mismatch { expected, ..nearest })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look, mismatch, refusal};
    use super::*;

    const WRITTEN: &str = r#"{"at":"/e","fits-one":[
        {"reading":"ab","all":[{"at":"/0","equals":"a"},{"at":"/1","equals":"b"},{"at":"/2","each":{"type":"string"}}]},
        {"reading":"ba","all":[{"at":"/0","equals":"b"},{"at":"/1","equals":"a"}]}
    ]}"#;

    #[test]
    fn one_explanation_has_to_fit_as_a_whole() {
        assert!(holds(WRITTEN, r#"{"e":["a","b",["c"]]}"#));
        assert!(holds(WRITTEN, r#"{"e":["b","a"]}"#));
        let [place, expected, observed] = mismatch(WRITTEN, r#"{"e":["a","a"]}"#);
        assert_eq!((place.as_str(), observed.as_str()), ("/e/1", r#""a""#));
        assert_eq!(expected, r#"one of 2 explanations to fit; the nearest needs "b" (ab)"#);
        // Of two that fit equally long the first one counts.
        let expected = &mismatch(WRITTEN, r#"{"e":["c","c"]}"#)[1];
        assert_eq!(expected, r#"one of 2 explanations to fit; the nearest needs "a" (ab)"#);
    }

    #[test]
    fn an_explanation_that_has_nothing_to_check_is_not_refuted() {
        assert!(holds(WRITTEN, r#"{"e":["a","b",[]]}"#));
        let nothing = r#"{"fits-one":[{"reading":"all","all":[{"each":{"type":"string"}}]}]}"#;
        assert!(matches!(look(nothing, "[]"), Outcome::Vacuous(_)));
    }

    #[test]
    fn an_explanation_has_a_name_and_expectations() {
        for (written, says) in [
            (r#"{"fits-one":[]}"#, "needs a list that is not empty"),
            (r#"{"fits-one":[{"all":[{"equals":1}]}]}"#, "reading"),
            (r#"{"fits-one":[{"reading":"a"}]}"#, "all"),
        ] {
            let refused = format!("{:?}", refusal(written));
            assert!(refused.contains(says), "{written}: {refused}");
        }
    }
}
