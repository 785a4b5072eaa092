//! Helpers that apply one expectation to one value, for the tests of matchers.

use super::{Compiler, Expectation, Outcome};
use crate::value::Value;
use crate::wire::json::parse;

#[track_caller]
pub(super) fn value(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

#[track_caller]
pub(super) fn expectation(written: &str) -> Expectation {
    Compiler::new(&[]).expectation(&value(written), &[]).unwrap()
}

#[track_caller]
pub(super) fn look(written: &str, observed: &str) -> Outcome {
    expectation(written).check(&value(observed))
}

#[track_caller]
pub(super) fn look_at_nothing(written: &str) -> Outcome {
    expectation(written).look(None)
}

#[track_caller]
pub(super) fn holds(written: &str, observed: &str) -> bool {
    matches!(look(written, observed), Outcome::Holds(_))
}

/// Place, expected and observed value of a mismatch, in this order.
#[track_caller]
pub(super) fn mismatch(written: &str, observed: &str) -> [String; 3] {
    match look(written, observed) {
        Outcome::Mismatch(mismatch) => [mismatch.path.to_string(), mismatch.expected, mismatch.observed],
        other => panic!("{written} on {observed}: {other:?}"),
    }
}

/// Place, message and hint of the error of an invalid expectation, in this order.
#[track_caller]
pub(super) fn refusal(written: &str) -> [String; 3] {
    match Compiler::new(&[]).expectation(&value(written), &[]) {
        Err(error) => [error.path.to_string(), error.message, error.hint.unwrap_or_default()],
        Ok(_) => panic!("{written} was accepted"),
    }
}
