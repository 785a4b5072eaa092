//! Reading arguments, so that all matchers report an invalid one in the same way.

use super::{ArgumentError, show};
use crate::suggest;
use crate::value::Value;

/// The members of a map argument.
#[derive(Clone, Copy)]
pub(super) struct Members<'v>(&'v [(Value, Value)]);

/// Reads a map whose keys are all among `known` and not repeated.
pub(super) fn members<'v>(argument: &'v Value, known: &[&str]) -> Result<Members<'v>, ArgumentError> {
    let members = argument
        .as_map()
        .ok_or_else(|| ArgumentError::new(format!("needs a map of {}, not {}", either(known), show(argument))))?;
    for (index, (key, _)) in members.iter().enumerate() {
        let name =
            key.as_text().ok_or_else(|| ArgumentError::new(format!("has a key that is not text: {}", show(key))))?;
        if !known.contains(&name) {
            let error = ArgumentError::new(format!("has no key `{name}`")).under(name);
            return Err(error.hint(match suggest::nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("valid keys: {}", either(known)),
            }));
        }
        if members[..index].iter().any(|(other, _)| other == key) {
            return Err(ArgumentError::new(format!("defines the key `{name}` twice")).under(name));
        }
    }
    Ok(Members(members))
}

impl<'v> Members<'v> {
    /// The member `name`, read by `read`; `None` if it is absent.
    pub(super) fn read<T>(
        self,
        name: &str,
        read: impl FnOnce(&'v Value) -> Result<T, ArgumentError>,
    ) -> Result<Option<T>, ArgumentError> {
        let written = self.0.iter().find(|(key, _)| key.as_text() == Some(name));
        written.map(|(_, value)| read(value).map_err(|error| error.under(name))).transpose()
    }

    /// As [`Members::read`], for a required member.
    pub(super) fn require<T>(
        self,
        name: &str,
        read: impl FnOnce(&'v Value) -> Result<T, ArgumentError>,
    ) -> Result<T, ArgumentError> {
        self.read(name, read)?.ok_or_else(|| ArgumentError::new(format!("needs the key `{name}`")))
    }

    /// The boolean member `name`; false if it is absent.
    pub(super) fn flag(self, name: &str) -> Result<bool, ArgumentError> {
        self.read(name, flag).map(Option::unwrap_or_default)
    }
}

pub(super) fn flag(argument: &Value) -> Result<bool, ArgumentError> {
    match argument {
        Value::Bool(flag) => Ok(*flag),
        other => Err(ArgumentError::new(format!("needs true or false, not {}", show(other)))),
    }
}

pub(super) fn text(argument: &Value) -> Result<&str, ArgumentError> {
    argument.as_text().ok_or_else(|| ArgumentError::new(format!("needs a text, not {}", show(argument))))
}

/// A list that is not empty.
pub(super) fn list(argument: &Value) -> Result<&[Value], ArgumentError> {
    match argument {
        Value::Array(items) if items.is_empty() => Err(ArgumentError::new("needs a list that is not empty")),
        Value::Array(items) => Ok(items),
        other => Err(ArgumentError::new(format!("needs a list, not {}", show(other)))),
    }
}

/// The meaning of one of several words.
pub(super) fn word<T: Copy>(argument: &Value, words: &[(&str, T)]) -> Result<T, ArgumentError> {
    let written = argument.as_text().unwrap_or_default();
    if let Some((_, meant)) = words.iter().find(|(word, _)| *word == written) {
        return Ok(*meant);
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let error = ArgumentError::new(format!("needs {}, not {}", either(&names), show(argument)));
    Err(match suggest::nearest(written, names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    })
}

/// A choice of words: `a`, `a or b`, `a, b or c`.
pub(super) fn either<S: AsRef<str>>(words: &[S]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push_str(if index + 1 == words.len() { " or " } else { ", " });
        }
        text.push_str(word.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::testing::value;

    #[test]
    fn unknown_and_repeated_keys_are_rejected() {
        let refusal = |written: &str| members(&value(written), &["min", "max"]).err().unwrap();
        assert_eq!(refusal("5").to_string(), "needs a map of min or max, not 5");
        let mistyped = refusal(r#"{"mim":1}"#);
        assert_eq!(
            (mistyped.path.to_string().as_str(), mistyped.hint.as_deref()),
            ("/mim", Some("did you mean `min`?"))
        );
        assert_eq!(refusal(r#"{"from":1}"#).hint.as_deref(), Some("valid keys: min or max"));
        assert_eq!(refusal(r#"{"min":1,"min":2}"#).to_string(), "defines the key `min` twice");
    }

    #[test]
    fn an_unknown_word_is_rejected() {
        let words = [("ascending", 1), ("descending", 2)];
        assert_eq!(word(&value("\"descending\""), &words), Ok(2));
        let error = word(&value("\"decending\""), &words).unwrap_err();
        assert_eq!(error.to_string(), "needs ascending or descending, not \"decending\"");
        assert_eq!(error.hint.as_deref(), Some("did you mean `descending`?"));
        assert!(word(&value("7"), &words).is_err());
    }
}
