//! `matches`: a text that matches a regular expression.

use regex::Regex;

use super::{ArgumentError, Check, Compiler, Matcher, Outcome, argument};
use crate::value::Value;

/// Holds if the regular expression matches somewhere in the text.
pub(super) struct Matches;

impl Matcher for Matches {
    fn name(&self) -> &'static str {
        "matches"
    }

    fn summary(&self) -> &'static str {
        "The value is a text that the regular expression matches anywhere (anchor it with `^` and `$`), or \
         with `not: true` a text in which it matches nowhere."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/id, matches: \"^[0-9a-f]{32}$\" }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        if argument.as_text().is_some() {
            return Ok(Box::new(Pattern { regex: regex(argument)?, wanted: true }));
        }
        let members = argument::members(argument, &["pattern", "not"])?;
        Ok(Box::new(Pattern { regex: members.require("pattern", regex)?, wanted: !members.flag("not")? }))
    }
}

fn regex(argument: &Value) -> Result<Regex, ArgumentError> {
    Regex::new(argument::text(argument)?).map_err(|error| {
        // The report shows the pattern over several lines; the last one is the reason.
        let report = error.to_string();
        let reason = report.lines().last().unwrap_or_default().trim_start_matches("error: ");
        ArgumentError::new(format!("is not a regular expression: {reason}"))
            .hint("use the syntax of the Rust crate `regex`, without look-around and back references")
    })
}

struct Pattern {
    regex: Regex,
    wanted: bool,
}

impl Check for Pattern {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        if observed.and_then(Value::as_text).is_some_and(|text| self.regex.is_match(text) == self.wanted) {
            return Outcome::HOLDS;
        }
        let verb = if self.wanted { "matches" } else { "does not match" };
        Outcome::mismatch(format!("a text that {verb} {}", self.regex), observed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn a_match_anywhere_holds_unless_anchored() {
        assert!(holds(r#"{"matches":"b"}"#, "\"abc\""));
        assert!(!holds(r#"{"matches":"^b"}"#, "\"abc\""));
        assert!(holds(r#"{"matches":{"pattern":"^b","not":true}}"#, "\"abc\""));
        assert!(holds(r#"{"matches":{"pattern":"b"}}"#, "\"abc\""));
    }

    #[test]
    fn other_texts_and_other_types_are_mismatches() {
        assert_eq!(
            mismatch(r#"{"at":"/a","matches":"^b"}"#, r#"{"a":"abc"}"#),
            ["/a", "a text that matches ^b", "\"abc\""]
        );
        let none = r#"{"matches":{"pattern":"b","not":true}}"#;
        assert_eq!(mismatch(none, "\"abc\""), ["", "a text that does not match b", "\"abc\""]);
        assert_eq!(mismatch(none, "5"), ["", "a text that does not match b", "5"]);
        assert!(matches!(look_at_nothing(none), Outcome::Mismatch(_)));
    }

    #[test]
    fn an_invalid_pattern_is_rejected_at_load_time() {
        assert_eq!(refusal(r#"{"matches":"(a"}"#)[..2], ["/matches", "is not a regular expression: unclosed group"]);
        assert_eq!(refusal(r#"{"matches":{"pattern":"[a"}}"#)[0], "/matches/pattern");
        assert_eq!(refusal(r#"{"matches":{"not":true}}"#)[1], "needs the key `pattern`");
        assert_eq!(refusal(r#"{"matches":{"pattern":"a","nut":true}}"#)[2], "did you mean `not`?");
        assert!(refusal(r#"{"matches":"a{1000}{1000}{1000}"}"#)[1].starts_with("is not a regular expression"));
    }
}
