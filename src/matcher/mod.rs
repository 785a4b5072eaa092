//! Matchers: the checks that an expectation may apply to one value.
//!
//! Each file defines one matcher, except `definition`, `argument`, `bounds` and `conditions`, which hold shared code.
//! [`ALL`] lists them in the order in which the manual prints them. A protocol may add its own. A matcher sees one
//! value of one observation and never the transcript: expectations across several messages use captured values. Start
//! with [`Matcher`] and `equals`.

use self::definition::read_path;
pub use self::definition::{
    ArgumentError, Check, Compiler, Expectation, Matcher, Mismatch, Outcome, Reading, show_or_absent,
};
pub use self::time::is_rfc3339_utc;
pub use crate::wire::show;

#[cfg(test)]
mod testing;

mod argument;
mod bounds;
mod conditions;
mod definition;

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
mod fits_one;
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

/// Every general matcher.
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
    // Elements and members.
    &contains::Contains,
    &contains_text::ContainsText,
    &same_items::SameItems,
    &ordered::Ordered,
    &distinct::Distinct,
    &each::Each,
    &some::SomeOf,
    &none::NoneOf,
    &count::Count,
    // Combinations of expectations.
    &all_of::AllOf,
    &any_of::AnyOf,
    &fits_one::FitsOne,
    &not::Not,
];

impl<'m> Compiler<'m> {
    /// A compiler for the matchers of [`ALL`] and those of a protocol.
    pub fn new(own: &'m [&'m dyn Matcher]) -> Self {
        Self::with(ALL, own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
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
    fn a_misspelled_matcher_is_reported_with_a_suggestion() {
        assert_eq!(
            testing::refusal(r#"{"at":"/x","equal":5}"#),
            ["/equal", "has an unknown matcher `equal`", "did you mean `equals`?"]
        );
        assert_eq!(testing::refusal(r#"{"schema":5}"#)[2], "");
    }

    #[test]
    fn an_invalid_expectation_is_rejected_with_its_place() {
        for (written, path, message) in [
            ("5", "", "needs a map with a matcher, not 5"),
            ("{}", "", "has no matcher"),
            (r#"{"at":5,"equals":1}"#, "/at", "needs a path, which is text"),
            (r#"{"at":"x","equals":1}"#, "/at", "a path must be empty or start with \"/\""),
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
            // These accept any value.
            if ["equals", "not-equals", "includes", "contains"].contains(&matcher.name()) {
                continue;
            }
            let written = Value::map([(matcher.name(), Value::Simple(23))]);
            let error = Compiler::new(&[]).expectation(&written, &[]).err();
            let error = error.unwrap_or_else(|| panic!("{} accepts `undefined`", matcher.name()));
            assert_eq!(error.path.to_string(), format!("/{}", matcher.name()));
            assert!(error.hint.is_some(), "{}", matcher.name());
        }
    }

    /// Values that only a hostile target sends, or only CBOR has.
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
            Value::Map(
                vec![
                    (Value::Array(vec![Value::Null].into()), Value::Float(f64::NAN)),
                    (Value::Bytes(vec![1]), Value::Null),
                ]
                .into(),
            ),
            Value::Array(vec![].into()),
            Value::Map(vec![].into()),
        ];
        values.push(Value::Array(values.clone().into()));
        values
    }

    #[test]
    fn no_check_panics() {
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

    /// Broad, deep, and broad at the bottom of a deep value. Quadratic work would take most of an hour and gigabytes;
    /// linear work takes seconds even on a slow machine under load.
    #[test]
    fn checks_take_linear_time() {
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
