//! Matchers: what an expectation may say about one value.
//!
//! Each file defines one matcher, but for `argument`, `bounds` and `conditions`, which hold what several share. [`ALL`]
//! lists them in the order in which the manual prints them. A protocol may bring more of its own. A matcher sees one
//! value of one observation and never the transcript: what spans several messages is said with captured values. Start
//! with [`Matcher`] and `equals`.

pub use self::time::is_rfc3339_utc;
use crate::suggest;
use crate::value::{Path, Value};
pub use crate::wire::show;

#[cfg(test)]
mod testing;

mod argument;
mod bounds;
mod conditions;

mod absent;
mod all_of;
mod any_of;
mod byte_length;
mod contains;
mod contains_text;
mod count;
mod distinct;
mod each;
mod equals;
mod exists;
mod includes;
mod json_lines;
mod json_text;
mod length;
mod matches;
mod none;
mod not;
mod not_equals;
mod one_of;
mod ordered;
mod same_items;
mod sha256_of;
mod some;
mod time;
mod type_;
mod within;

/// Every matcher that is not a protocol's own.
pub const ALL: &[&dyn Matcher] = &[
    // The value as a whole.
    &equals::Equals,
    &not_equals::NotEquals,
    &one_of::OneOf,
    &includes::Includes,
    &type_::Type,
    &exists::Exists,
    &absent::Absent,
    // Numbers and texts.
    &within::Within,
    &matches::Matches,
    &length::Length,
    &byte_length::ByteLength,
    &time::Time,
    &json_text::JsonText,
    &json_lines::JsonLines,
    &sha256_of::Sha256Of,
    // What is inside.
    &contains::Contains,
    &contains_text::ContainsText,
    &same_items::SameItems,
    &ordered::Ordered,
    &distinct::Distinct,
    &each::Each,
    &some::SomeOf,
    &none::NoneOf,
    &count::Count,
    // Expectations about expectations.
    &all_of::AllOf,
    &any_of::AnyOf,
    &not::Not,
];

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
    fn look(&self, root: Option<&Value>) -> Outcome {
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
    own: &'m [&'m dyn Matcher],
}

impl<'m> Compiler<'m> {
    /// A compiler for the matchers of [`ALL`] and those that a protocol brings.
    pub fn new(own: &'m [&'m dyn Matcher]) -> Self {
        Self { own }
    }

    /// The matcher called `name`.
    pub fn find(&self, name: &str) -> Option<&'m dyn Matcher> {
        self.matchers().find(|matcher| matcher.name() == name)
    }

    /// Every matcher, general ones first.
    pub fn matchers(&self) -> impl Iterator<Item = &'m dyn Matcher> {
        let own = self.own;
        ALL.iter().copied().map(|matcher| matcher as &'m dyn Matcher).chain(own.iter().copied())
    }

    /// Makes an expectation from a map of `at` and one matcher, as it stands inside arguments: `{ at: /x, equals: 1 }`.
    /// `at` may be left out, and keys in `besides` are passed over.
    ///
    /// # Errors
    ///
    /// [`ArgumentError`] if it is no such map, names no matcher or more than one, or its argument makes no sense.
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
        let error = ArgumentError::new(format!("names no matcher: there is none called `{name}`")).under(name);
        let mut keys: Vec<&str> = self.matchers().map(Matcher::name).collect();
        keys.extend(besides);
        keys.push("at");
        match suggest::nearest(name, keys) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// Makes a list of expectations, as `each`, `some` and their like have it. One map stands for a list of one.
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
fn read_path(written: &Value) -> Result<Path, ArgumentError> {
    const HINT: &str = "for example `/body/items/0`";
    let text = written.as_text().ok_or_else(|| ArgumentError::new("needs a path as text").hint(HINT))?;
    Path::parse(text).map_err(|error| ArgumentError::new(error.to_string()).hint(HINT))
}

/// As [`show`], or `nothing` where there is no value.
pub fn show_or_absent(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    #[test]
    fn names_are_unique_and_every_matcher_is_documented() {
        let mut names: Vec<_> = ALL.iter().map(|matcher| matcher.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for matcher in ALL {
            assert!(matcher.summary().ends_with('.'), "{}", matcher.name());
            assert!(matcher.example().contains(matcher.name()), "{}", matcher.name());
        }
    }

    #[test]
    fn a_mistyped_matcher_is_named_with_the_one_that_was_meant() {
        assert_eq!(
            testing::refusal(r#"{"at":"/x","equal":5}"#),
            ["/equal", "names no matcher: there is none called `equal`", "did you mean `equals`?"]
        );
        assert_eq!(testing::refusal(r#"{"schema":5}"#)[2], "");
    }

    #[test]
    fn what_is_no_expectation_is_refused_with_its_place() {
        for (written, path, message) in [
            ("5", "", "needs a map with a matcher in it, not 5"),
            ("{}", "", "names no matcher"),
            (r#"{"at":5,"equals":1}"#, "/at", "needs a path as text"),
            (r#"{"at":"x","equals":1}"#, "/at", "a path is empty or starts with \"/\""),
            (r#"{"equals":1,"not-equals":1}"#, "/not-equals", "has two matchers in one expectation"),
        ] {
            let [at, said, hint] = testing::refusal(written);
            assert_eq!((at.as_str(), said.as_str()), (path, message));
            assert!(!hint.is_empty(), "{written}");
        }
    }

    /// An example as a value: suites are YAML, and so are the examples.
    fn example(matcher: &dyn Matcher) -> Value {
        let read: serde_json::Value =
            serde_saphyr::from_str(matcher.example()).unwrap_or_else(|error| panic!("{}: {error}", matcher.example()));
        testing::value(&read.to_string())
    }

    #[test]
    fn every_example_is_an_expectation_that_uses_its_matcher() {
        for matcher in ALL {
            let written = example(*matcher);
            assert!(written.member(matcher.name()).is_some(), "{}", matcher.example());
            if let Err(error) = Compiler::new(&[]).expectation(&written, &[]) {
                panic!("{}: {}: {error}", matcher.example(), error.path);
            }
        }
    }

    #[test]
    fn every_wrong_argument_is_refused_with_its_place_and_a_hint() {
        for matcher in ALL {
            // These take any value there is.
            if ["equals", "not-equals", "includes", "contains"].contains(&matcher.name()) {
                continue;
            }
            let written = Value::map([(matcher.name(), Value::Simple(23))]);
            let error = Compiler::new(&[]).expectation(&written, &[]).err();
            let error = error.unwrap_or_else(|| panic!("{} takes `undefined`", matcher.name()));
            assert_eq!(error.path.to_string(), format!("/{}", matcher.name()));
            assert!(error.hint.is_some(), "{}", matcher.name());
        }
    }

    /// Values that only a hostile target, or CBOR, sends.
    fn hostile() -> Vec<Value> {
        let deep = format!("{}{}", "[".repeat(json::DEPTH_LIMIT), "]".repeat(json::DEPTH_LIMIT));
        let text = "2026-02-31T25:61:61Zé\u{0}".repeat(1000);
        let mut values = vec![
            testing::value(&deep),
            testing::value(r#"{"a":1,"a":[],"":{}}"#),
            testing::value("1e999999"),
            testing::value(&"9".repeat(10_000)),
            Value::text(""),
            Value::text(text.clone()),
            Value::Bytes(vec![0xff; 3]),
            Value::Float(f64::NAN),
            Value::Float(f64::NEG_INFINITY),
            Value::Integer(i128::MIN),
            Value::Simple(23),
            Value::Tag(0, Box::new(Value::text(text))),
            Value::Map(vec![
                (Value::Array(vec![Value::Null]), Value::Float(f64::NAN)),
                (Value::Bytes(vec![1]), Value::Null),
            ]),
            Value::Array(vec![]),
            Value::Map(vec![]),
        ];
        values.push(Value::Array(values.clone()));
        values
    }

    #[test]
    fn no_check_panics_whatever_it_looks_at() {
        for matcher in ALL {
            let mut written = example(*matcher);
            written.set_member("at", Value::text(""));
            let expectation = Compiler::new(&[]).expectation(&written, &[]).ok().unwrap();
            expectation.look(None);
            for value in hostile() {
                expectation.check(&value);
            }
        }
    }

    /// Broad, deep, and broad at the bottom of a deep pile. Work that grows with the square of one of them, or with the
    /// product, would take the better part of an hour and gigabytes; a slow machine under load takes seconds.
    #[test]
    fn the_time_of_a_check_grows_with_the_size_of_the_value_only() {
        let depth = json::DEPTH_LIMIT - 1;
        let leaves = vec!["\"x\""; 50_000].join(",");
        let pile = testing::value(&format!("{}[{leaves}]{}", "[".repeat(depth), "]".repeat(depth)));
        let items = Value::Array((0..50_000_u64).map(|n| Value::map([("n", Value::from(n))])).collect());
        let members = Value::map((0..50_000_u64).map(|n| (n.to_string(), Value::from(n))));
        let started = std::time::Instant::now();
        for matcher in ALL {
            let mut written = example(*matcher);
            for (at, value) in [("", &pile), ("/0".repeat(depth).as_str(), &pile), ("", &items), ("", &members)] {
                written.set_member("at", Value::text(at));
                Compiler::new(&[]).expectation(&written, &[]).ok().unwrap().check(value);
            }
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(240), "{:?}", started.elapsed());
    }
}
