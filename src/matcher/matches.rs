//! `matches`: a text that matches a regular expression.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex_automata::meta::{Config, Regex};

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

/// Compiled expressions by their patterns. Suites have a few hundred patterns in thousands of cases, and each expression takes
/// tens of kilobytes and more time than to read its case.
static COMPILED: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);

/// The number of expressions that are kept: patterns with a template in them are different in each run of a case.
const KEPT: usize = 1_000;

/// The expression and its pattern.
fn regex(argument: &Value) -> Result<(String, Regex), ArgumentError> {
    let pattern = argument::text(argument)?;
    if let Some(known) = COMPILED.lock().unwrap_or_else(PoisonError::into_inner).get(pattern) {
        return Ok((pattern.to_owned(), known.clone()));
    }
    let regex = compile(pattern)?;
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.len() >= KEPT {
        compiled.clear();
    }
    compiled.insert(pattern.to_owned(), regex.clone());
    Ok((pattern.to_owned(), regex))
}

/// Compiles an expression as the crate `regex` does, without the engine for captures: no check uses them, and that engine takes
/// more time and memory than all the rest.
fn compile(pattern: &str) -> Result<Regex, ArgumentError> {
    let limits = Config::new().nfa_size_limit(Some(10 << 20)).hybrid_cache_capacity(2 << 20);
    Regex::builder().configure(limits.onepass(false)).build(pattern).map_err(|error| {
        // The report shows the pattern over several lines; the last one is the reason.
        let report = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
        let reason = report.lines().last().unwrap_or_default().trim_start_matches("error: ");
        ArgumentError::new(format!("is not a regular expression: {reason}"))
            .hint("use the syntax of the Rust crate `regex`, without look-around and back references")
    })
}

struct Pattern {
    /// With its pattern.
    regex: (String, Regex),
    wanted: bool,
}

impl Check for Pattern {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        if observed.and_then(Value::as_text).is_some_and(|text| self.regex.1.is_match(text) == self.wanted) {
            return Outcome::HOLDS;
        }
        let verb = if self.wanted { "matches" } else { "does not match" };
        Outcome::mismatch(format!("a text that {verb} {}", self.regex.0), observed)
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
    fn a_bounded_number_of_patterns_is_kept() {
        // Other tests keep patterns at the same time, so the number after one pattern is not known exactly.
        let most = (0..KEPT + 10).map(|number| {
            assert!(holds(&format!(r#"{{"matches":"^a{number}$"}}"#), &format!("\"a{number}\"")));
            COMPILED.lock().unwrap_or_else(PoisonError::into_inner).len()
        });
        let most = most.max().expect("there are patterns");
        assert!((2..=KEPT).contains(&most), "{most}");
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
