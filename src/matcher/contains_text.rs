//! `contains-text`: a text anywhere inside a value.

use std::borrow::Cow;

use super::conditions::token;
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, argument, show};
use crate::value::{Path, Value};

/// Holds if texts occur, or do not occur, in the strings and keys of a value at any depth.
pub(super) struct ContainsText;

impl Matcher for ContainsText {
    fn name(&self) -> &'static str {
        "contains-text"
    }

    fn summary(&self) -> &'static str {
        "Every text of the argument occurs in some string or key at any depth of the value; with `any` at least one \
         does, with `none` none; `ignore-case` does not tell capitals from small letters."
    }

    fn example(&self) -> &'static str {
        "{ at: /body, contains-text: { none: [\"PRIVATE KEY\", \"stack trace\"], ignore-case: true } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        if argument.as_map().is_none() {
            return Ok(Box::new(Occurrence { wanted: Wanted::All, ignore_case: false, texts: texts(argument)? }));
        }
        let members = argument::members(argument, &["all", "any", "none", "ignore-case"])?;
        let ignore_case = members.flag("ignore-case")?;
        let mut found = None;
        for (name, wanted) in [("all", Wanted::All), ("any", Wanted::Any), ("none", Wanted::None)] {
            if let Some(texts) = members.read(name, texts)? {
                if found.is_some() {
                    return Err(ArgumentError::new("has more than one of the keys `all`, `any` and `none`").under(name));
                }
                found = Some(Occurrence { wanted, ignore_case, texts });
            }
        }
        let found = found.ok_or_else(|| ArgumentError::new("needs the key `all`, `any` or `none`"))?;
        Ok(Box::new(found))
    }
}

fn texts(argument: &Value) -> Result<Vec<String>, ArgumentError> {
    let one = |argument| match argument::text(argument)? {
        "" => Err(ArgumentError::new("is an empty text, which occurs everywhere")),
        text => Ok(text.to_owned()),
    };
    match argument {
        Value::Array(_) => argument::list(argument)?
            .iter()
            .enumerate()
            .map(|(index, item)| one(item).map_err(|error| error.under(index.to_string())))
            .collect(),
        text => Ok(vec![one(text)?]),
    }
}

enum Wanted {
    All,
    Any,
    None,
}

struct Occurrence {
    wanted: Wanted,
    ignore_case: bool,
    texts: Vec<String>,
}

impl Check for Occurrence {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let shown = |text: &String| show(&Value::text(text));
        let Some(value) = observed else {
            return Outcome::mismatch("a value to search for a text", None);
        };
        let places: Vec<_> = self.texts.iter().map(|text| self.find(text, value)).collect();
        match self.wanted {
            Wanted::All => match self.texts.iter().zip(&places).find(|(_, place)| place.is_none()) {
                None => Outcome::HOLDS,
                Some((text, _)) => Outcome::mismatch(format!("a value with the text {} in it", shown(text)), observed),
            },
            Wanted::Any if places.iter().any(Option::is_some) => Outcome::HOLDS,
            Wanted::Any => {
                let texts: Vec<_> = self.texts.iter().map(shown).collect();
                Outcome::mismatch(format!("a value with one of the texts {} in it", texts.join(", ")), observed)
            }
            Wanted::None => match self.texts.iter().zip(places).find_map(|(text, place)| Some((text, place?))) {
                None => Outcome::HOLDS,
                Some((text, (path, found))) => Outcome::Mismatch(Mismatch {
                    path,
                    expected: format!("a value without the text {} in it", shown(text)),
                    observed: shown(&found),
                }),
            },
        }
    }
}

impl Occurrence {
    /// The first string or key that contains `text`, and its place.
    fn find(&self, text: &str, value: &Value) -> Option<(Path, String)> {
        let (tokens, found) = self.search(&self.fold(text), value)?;
        Some((tokens.iter().rev().fold(Path::default(), |path, token| path.child(token)), found))
    }

    /// As [`Occurrence::find`], with the tokens from the inside out. They are collected on return, since one path per
    /// visited value would take too much memory for a deep and broad value.
    fn search(&self, text: &str, value: &Value) -> Option<(Vec<String>, String)> {
        match value {
            Value::Text(found) => self.fold(found).contains(text).then(|| (Vec::new(), found.to_string())),
            Value::Tag(_, inner) => self.search(text, inner),
            Value::Map(members) => members.iter().find_map(|(key, value)| {
                if let Some(name) = key.as_text().filter(|name| self.fold(name).contains(text)) {
                    return Some((vec![name.to_owned()], name.to_owned()));
                }
                let (mut tokens, found) = self.search(text, value)?;
                tokens.push(token(key));
                Some((tokens, found))
            }),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                let (mut tokens, found) = self.search(text, item)?;
                tokens.push(index.to_string());
                Some((tokens, found))
            }),
            _ => None, // Other values have no text.
        }
    }

    fn fold<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.ignore_case {
            return Cow::Borrowed(text);
        }
        // Character by character: context-sensitive lower case, as in Greek, would map a part differently from the
        // whole.
        Cow::Owned(text.chars().flat_map(char::to_lowercase).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{expectation, holds, look_at_nothing, mismatch, refusal};
    use super::*;

    const BODY: &str = r#"{"error":{"message":"Token abc expired","trace":["at line 5"]},"n":5}"#;

    #[test]
    fn strings_and_keys_at_any_depth_are_searched() {
        assert!(holds(r#"{"contains-text":"expired"}"#, BODY));
        assert!(holds(r#"{"contains-text":["line 5","trac","error"]}"#, BODY));
        assert!(holds(r#"{"contains-text":{"any":["missing","expired"]}}"#, BODY));
        assert!(holds(r#"{"contains-text":{"none":"Expired"}}"#, BODY));
        assert!(holds(r#"{"contains-text":{"all":["TOKEN"],"ignore-case":true}}"#, BODY));
        assert!(holds(r#"{"contains-text":{"all":"σα","ignore-case":true}}"#, "\"ΟΔΟΣΑ\""));
    }

    #[test]
    fn a_forbidden_text_is_a_mismatch_at_its_place() {
        let none = r#"{"contains-text":{"none":["TOKEN","5"],"ignore-case":true}}"#;
        assert_eq!(
            mismatch(none, BODY),
            ["/error/message", "a value without the text \"TOKEN\" in it", "\"Token abc expired\""]
        );
        assert_eq!(
            mismatch(r#"{"contains-text":{"none":"trace"}}"#, BODY),
            ["/error/trace", "a value without the text \"trace\" in it", "\"trace\""]
        );
        assert_eq!(mismatch(r#"{"contains-text":{"none":"line"}}"#, BODY)[0], "/error/trace/0");
    }

    #[test]
    fn a_missing_text_is_a_mismatch() {
        assert_eq!(mismatch(r#"{"contains-text":["a","x"]}"#, "[\"a\"]")[1], "a value with the text \"x\" in it");
        let any = r#"{"contains-text":{"any":["x","y"]}}"#;
        assert_eq!(mismatch(any, "[\"a\"]")[1], "a value with one of the texts \"x\", \"y\" in it");
        assert!(matches!(look_at_nothing(r#"{"contains-text":{"none":"x"}}"#), Outcome::Mismatch(_)));
        assert!(!holds(r#"{"contains-text":"5"}"#, "5"));
    }

    #[test]
    fn exactly_one_of_all_any_none_is_allowed() {
        assert_eq!(refusal(r#"{"contains-text":["a",5]}"#)[..2], ["/contains-text/1", "needs a text, not 5"]);
        assert_eq!(refusal(r#"{"contains-text":""}"#)[1], "is an empty text, which occurs everywhere");
        assert_eq!(refusal(r#"{"contains-text":{"any":"a","none":"b"}}"#)[0], "/contains-text/none");
        assert_eq!(refusal(r#"{"contains-text":{"ignore-case":true}}"#)[1], "needs the key `all`, `any` or `none`");
        assert_eq!(refusal(r#"{"contains-text":{"non":"a"}}"#)[2], "did you mean `none`?");
    }

    #[test]
    fn tagged_values_are_searched() {
        let tagged = Value::map([("t", Value::Tag(24, Box::new(Value::array([Value::text("a secret")]))))]);
        assert_eq!(expectation(r#"{"contains-text":"secret"}"#).check(&tagged), Outcome::HOLDS);
        let Outcome::Mismatch(found) = expectation(r#"{"contains-text":{"none":"secret"}}"#).check(&tagged) else {
            panic!("it has the text in it");
        };
        assert_eq!((found.path.to_string(), found.observed), ("/t/0".into(), "\"a secret\"".into()));
    }
}
