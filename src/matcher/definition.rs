//! Matchers, and the expectations that use them.

use std::fmt;

use crate::suggest;
use crate::value::{Path, Value};
use crate::wire::show;

/// A family of checks that a suite uses by name.
pub trait Matcher: Sync {
    /// The key under which suites use it, in kebab-case.
    fn name(&self) -> &'static str;

    /// One sentence for the manual: when it holds.
    fn summary(&self) -> &'static str;

    /// An expectation that uses it, as a suite writes it, for example `{ at: /status, equals: 200 }`.
    fn example(&self) -> &'static str;

    /// Compiles the argument of a suite to a check.
    ///
    /// # Errors
    ///
    /// [`ArgumentError`] if the argument is invalid, with the place inside the argument.
    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError>;

    /// Whether it holds for refusals alone: what a step with it sends is no valid message.
    fn needs_refusal(&self) -> bool {
        false
    }
}

/// A matcher with its argument, ready to check values.
pub trait Check: Send + Sync {
    /// Checks one value; `None` if the place does not resolve to a value.
    fn check(&self, observed: Option<&Value>) -> Outcome;
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The value is as expected. Names the permitted readings that were observed, if there was a choice.
    Holds(Vec<Reading>),
    /// The value is not as expected.
    Mismatch(Mismatch),
    /// There was no value to check, so the check shows nothing; the text names what was missing.
    Vacuous(String),
    /// The observation neither confirms nor refutes the expectation; the text gives the reason.
    Undecided(String),
}

impl Outcome {
    /// Holds, without a choice of readings.
    pub const HOLDS: Self = Self::Holds(Vec::new());

    /// A mismatch at the value itself.
    pub fn mismatch(expected: impl Into<String>, observed: Option<&Value>) -> Self {
        Self::Mismatch(Mismatch {
            path: Path::default(),
            expected: expected.into(),
            observed: show_or_absent(observed),
        })
    }
}

/// One of several permitted readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The description of the reading.
    pub reading: String,
    /// Whether the ruling only tolerates it.
    pub tolerated: bool,
}

/// Expected and observed, in the same form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The place inside the checked value.
    pub path: Path,
    /// The expected value.
    pub expected: String,
    /// The observed value.
    pub observed: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expected, observed } = self;
        let path = path.to_string();
        let at = if path.is_empty() { "" } else { " at " };
        write!(f, "expected {expected}{at}{path}, observed {observed}")
    }
}

/// Why an argument of a matcher is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    /// The place inside the argument.
    pub path: Path,
    /// The message, a fragment that completes "the argument of `equals` …".
    pub message: String,
    /// How to fix it, if known.
    pub hint: Option<String>,
}

impl ArgumentError {
    /// An error about the whole argument.
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: Path::default(), message: message.into(), hint: None }
    }

    /// The same error, one level deeper in the argument.
    #[must_use]
    pub fn under(mut self, token: impl Into<String>) -> Self {
        self.path = Path::default().child(token).join(&self.path);
        self
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// An expectation ready to be checked: a place, and a check on the value there.
pub struct Expectation {
    /// The place.
    pub at: Path,
    /// The check.
    pub check: Box<dyn Check>,
}

impl Expectation {
    /// Checks the value at the place in `root`. Places in a mismatch start at `root`.
    pub fn check(&self, root: &Value) -> Outcome {
        self.look(Some(root))
    }

    /// As [`Expectation::check`], for a root that may be absent.
    pub(super) fn look(&self, root: Option<&Value>) -> Outcome {
        match self.check.check(root.and_then(|root| self.at.resolve(root))) {
            Outcome::Mismatch(mut mismatch) => {
                mismatch.path = self.at.join(&mismatch.path);
                Outcome::Mismatch(mismatch)
            }
            other => other,
        }
    }
}

/// The matchers that a suite may use.
pub struct Compiler<'m> {
    general: &'m [&'m dyn Matcher],
    own: &'m [&'m dyn Matcher],
}

impl<'m> Compiler<'m> {
    /// A compiler for the general matchers and those of a protocol.
    pub(super) fn with(general: &'m [&'m dyn Matcher], own: &'m [&'m dyn Matcher]) -> Self {
        Self { general, own }
    }

    /// The matcher `name`.
    pub fn find(&self, name: &str) -> Option<&'m dyn Matcher> {
        self.matchers().find(|matcher| matcher.name() == name)
    }

    /// Every matcher, general ones first.
    pub fn matchers(&self) -> impl Iterator<Item = &'m dyn Matcher> {
        self.general.iter().chain(self.own).copied()
    }

    /// Compiles an expectation from a map of `at` and one matcher, as in arguments: `{ at: /x, equals: 1 }`. `at` is
    /// optional, and keys in `besides` are ignored.
    ///
    /// # Errors
    ///
    /// [`ArgumentError`] if it is not such a map, does not have exactly one matcher, or the argument is invalid.
    pub fn expectation(&self, written: &Value, besides: &[&str]) -> Result<Expectation, ArgumentError> {
        let members = written
            .as_map()
            .ok_or_else(|| ArgumentError::new(format!("needs a map with a matcher, not {}", show(written))))
            .map_err(|error| error.hint("for example `{ at: /status, equals: 200 }`"))?;
        let mut at = Path::default();
        let mut found = None;
        for (key, argument) in members {
            let name = key.as_text().unwrap_or_default();
            if name == "at" {
                at = read_path(argument).map_err(|error| error.under("at"))?;
            } else if !besides.contains(&name) {
                let matcher = self.find(name).ok_or_else(|| self.unknown(name, besides))?;
                if found.is_some() {
                    let error = ArgumentError::new("has two matchers in one expectation").under(name);
                    return Err(error.hint("give each its own expectation, in a list or under `all-of`"));
                }
                found = Some((name, matcher, argument));
            }
        }
        let (name, matcher, argument) = found.ok_or_else(|| {
            ArgumentError::new("has no matcher").hint("add one, for example `equals: 200` or `exists: true`")
        })?;
        let check = matcher.compile(argument, self).map_err(|error| {
            let error = error.under(name);
            // The example is the default hint; a matcher gives its own only where it is more helpful.
            if error.hint.is_some() { error } else { error.hint(format!("for example `{}`", matcher.example())) }
        })?;
        Ok(Expectation { at, check })
    }

    fn unknown(&self, name: &str, besides: &[&str]) -> ArgumentError {
        let error = ArgumentError::new(format!("has an unknown matcher `{name}`")).under(name);
        let mut keys: Vec<&str> = self.matchers().map(Matcher::name).collect();
        keys.extend(besides);
        keys.push("at");
        match suggest::nearest(name, keys) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// Compiles a list of expectations, as for `each` and `some`. A single map is a list of one.
    ///
    /// # Errors
    ///
    /// As [`Compiler::expectation`].
    pub fn expectations(&self, written: &Value) -> Result<Vec<Expectation>, ArgumentError> {
        match written {
            Value::Array(items) if items.is_empty() => {
                Err(ArgumentError::new("is an empty list, which checks nothing").hint("add an expectation to it"))
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.expectation(item, &[]).map_err(|error| error.under(index.to_string())))
                .collect(),
            one => Ok(vec![self.expectation(one, &[])?]),
        }
    }
}

/// Reads a path in an argument.
pub(super) fn read_path(written: &Value) -> Result<Path, ArgumentError> {
    const HINT: &str = "for example `/body/items/0`";
    let text = written.as_text().ok_or_else(|| ArgumentError::new("needs a path, which is text").hint(HINT))?;
    Path::parse(text).map_err(|error| ArgumentError::new(error.to_string()).hint(HINT))
}

/// As [`show`], or `nothing` for an absent value.
pub fn show_or_absent(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_is_described_with_its_place_if_it_is_inside_the_value() {
        for (path, text) in [("", "expected 1, observed nothing"), ("/a/0", "expected 1 at /a/0, observed nothing")] {
            let path = Path::parse(path).expect("a path");
            let mismatch = Mismatch { path, expected: "1".into(), observed: show_or_absent(None) };
            assert_eq!(mismatch.to_string(), text);
        }
    }
}
