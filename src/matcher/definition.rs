//! What a matcher is, and how an expectation is made of it.

use crate::suggest;
use crate::value::{Path, Value};
use crate::wire::show;

/// A family of checks that a suite asks for by name.
pub trait Matcher: Sync {
    /// The key under which suites use it, in kebab-case.
    fn name(&self) -> &'static str;

    /// One sentence for the manual: when it holds.
    fn summary(&self) -> &'static str;

    /// An expectation that uses it, as it stands in a suite, for example `{ at: /status, equals: 200 }`.
    fn example(&self) -> &'static str;

    /// Makes a check from the argument that a suite gives.
    ///
    /// # Errors
    ///
    /// [`ArgumentError`] if the argument makes no sense, with the place inside the argument.
    fn compile(&self, argument: &Value, compiler: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError>;
}

/// A matcher with its argument, ready to look at values.
pub trait Check: Send + Sync {
    /// Looks at one value; `None` if there is nothing at the place that was named.
    fn check(&self, observed: Option<&Value>) -> Outcome;
}

/// What a check made of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is as it should be. Names the permitted readings that were seen, if there was a choice.
    Holds(Vec<Reading>),
    /// It is not.
    Departs(Mismatch),
    /// There was nothing to look at, so nothing was shown; the text says what was missing.
    Vacuous(String),
    /// What was observed decides nothing: it may be right and it may be wrong; the text says why.
    Undecided(String),
}

impl Outcome {
    /// Holds, without a choice of readings.
    pub const HOLDS: Self = Self::Holds(Vec::new());

    /// Departs at the value itself.
    pub fn departs(expected: impl Into<String>, observed: Option<&Value>) -> Self {
        Self::Departs(Mismatch { path: Path::default(), expected: expected.into(), observed: show_or_absent(observed) })
    }
}

/// One of several permitted readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The reading in words.
    pub reading: String,
    /// Whether the ruling only tolerates it.
    pub tolerated: bool,
}

/// Expected and observed, in the same form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The place inside the value that was looked at.
    pub path: Path,
    /// What had to be seen.
    pub expected: String,
    /// What was seen.
    pub observed: String,
}

/// Why an argument of a matcher makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    /// The place inside the argument.
    pub path: Path,
    /// What is wrong, as a fragment that completes "the argument of `equals` …".
    pub message: String,
    /// What to do about it, if that is known.
    pub hint: Option<String>,
}

impl ArgumentError {
    /// An error about the whole argument.
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: Path::default(), message: message.into(), hint: None }
    }

    /// The same error, further inside.
    #[must_use]
    pub fn under(mut self, token: impl Into<String>) -> Self {
        self.path = Path::default().child(token).join(&self.path);
        self
    }

    /// The same error with advice.
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
    /// Looks at the place in `root`. Places in a mismatch start at `root`.
    pub fn check(&self, root: &Value) -> Outcome {
        self.look(Some(root))
    }

    /// As [`Expectation::check`], where there may be no root either.
    pub(super) fn look(&self, root: Option<&Value>) -> Outcome {
        match self.check.check(root.and_then(|root| self.at.resolve(root))) {
            Outcome::Departs(mut mismatch) => {
                mismatch.path = self.at.join(&mismatch.path);
                Outcome::Departs(mismatch)
            }
            other => other,
        }
    }
}

/// Knows the matchers that a suite may use.
pub struct Compiler<'m> {
    general: &'m [&'m dyn Matcher],
    own: &'m [&'m dyn Matcher],
}

impl<'m> Compiler<'m> {
    /// A compiler for general matchers and those that a protocol brings.
    pub(super) fn with(general: &'m [&'m dyn Matcher], own: &'m [&'m dyn Matcher]) -> Self {
        Self { general, own }
    }

    /// The matcher called `name`.
    pub fn find(&self, name: &str) -> Option<&'m dyn Matcher> {
        self.matchers().find(|matcher| matcher.name() == name)
    }

    /// Every matcher, general ones first.
    pub fn matchers(&self) -> impl Iterator<Item = &'m dyn Matcher> {
        self.general.iter().chain(self.own).copied()
    }

    /// Makes an expectation from a map of `at` and one matcher, as it stands inside arguments: `{ at: /x, equals: 1 }`.
    /// `at` may be left out, and keys in `besides` are passed over.
    ///
    /// # Errors
    ///
    /// [`ArgumentError`] if it is not such a map, names no matcher or several, or its argument is invalid.
    pub fn expectation(&self, written: &Value, besides: &[&str]) -> Result<Expectation, ArgumentError> {
        let members = written
            .as_map()
            .ok_or_else(|| ArgumentError::new(format!("needs a map with a matcher in it, not {}", show(written))))
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
            ArgumentError::new("names no matcher").hint("add one, for example `equals: 200` or `exists: true`")
        })?;
        let check = matcher.compile(argument, self).map_err(|error| {
            let error = error.under(name);
            // An example helps with any argument, so that a matcher gives a hint of its own only if it knows better.
            if error.hint.is_some() { error } else { error.hint(format!("for example `{}`", matcher.example())) }
        })?;
        Ok(Expectation { at, check })
    }

    fn unknown(&self, name: &str, besides: &[&str]) -> ArgumentError {
        let error = ArgumentError::new(format!("names an unknown matcher `{name}`")).under(name);
        let mut keys: Vec<&str> = self.matchers().map(Matcher::name).collect();
        keys.extend(besides);
        keys.push("at");
        match suggest::nearest(name, keys) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// Makes a list of expectations, as `each` and `some` have it. One map is the same as a list of one.
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

/// Reads a place that an argument names.
pub(super) fn read_path(written: &Value) -> Result<Path, ArgumentError> {
    const HINT: &str = "for example `/body/items/0`";
    let text = written.as_text().ok_or_else(|| ArgumentError::new("needs a path as text").hint(HINT))?;
    Path::parse(text).map_err(|error| ArgumentError::new(error.to_string()).hint(HINT))
}

/// As [`show`], or `nothing` where there is no value.
pub fn show_or_absent(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), show)
}
