//! Instants before the start of a run.

use crate::value::Value;

/// An instant, as nanoseconds before the start of the run; a larger number is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age(pub(super) i128);

const MINUTE: i128 = 60_000_000_000;

/// Fractions of a second, each with its nanoseconds. Text order is not time order. A nanosecond counts as nothing: stores that
/// compare microseconds see a tie.
pub(super) const FRACTIONS: &[(&str, i128)] =
    &[("", 0), (".5", 500_000_000), (".25", 250_000_000), (".900", 900_000_000), (".000000001", 0), (".0", 0)];

impl Age {
    /// So many minutes before the start, and a fraction of a second later.
    pub(super) fn with_fraction(minutes: i128, fraction: &str) -> Self {
        let known = FRACTIONS.iter().find(|(text, _)| *text == fraction).map_or(0, |(_, nanoseconds)| *nanoseconds);
        Self(minutes * MINUTE - known)
    }

    /// An instant before any other.
    pub(super) const EARLIEST: Self = Self(i128::MAX);

    /// Whether it is at most so many minutes before the start.
    pub(super) fn is_within_minutes(self, minutes: i128) -> bool {
        self.0 <= minutes * MINUTE
    }

    /// Whether it is within so many days before the start.
    pub(super) fn is_within_days(self, days: i128) -> bool {
        self.0 < days * 1440 * MINUTE
    }
}

/// The template of an instant in whole seconds.
pub(super) fn spelled(minutes: i128) -> Value {
    Value::text(format!("${{time -{minutes}m}}"))
}

/// The template of an instant with a fraction.
pub(super) fn spelled_with_fraction(minutes: i128, fraction: &str) -> Value {
    let known = FRACTIONS.iter().any(|(text, _)| *text == fraction);
    if fraction.is_empty() || !known {
        return spelled(minutes);
    }
    Value::text(format!("${{second -{minutes}m}}{fraction}Z"))
}
